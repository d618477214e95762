/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
#ifndef TTM_RECORD_HEADER_H
#define TTM_RECORD_HEADER_H

#include "shm/layout.h"

/* Field 22 of /proc/PID/stat; 0 if there is no such process to be seen. */
uint64_t ttm_start_time_read(const char *stat_path);

void ttm_boot_id_read(uint8_t ret_id[16]); /* zeroed by the caller */
uint64_t ttm_pid_namespace_read(void);     /* 0: unknown */

/* Writes who and where we are into a zeroed header and seals it. */
void ttm_header_fill(struct ttm_header *header, uint32_t extents_max);

#endif

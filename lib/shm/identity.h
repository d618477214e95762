/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process, which boot, which pid namespace: what a segment's header says about
 * its writer. Without stdio or allocation; async-signal-safe.
 */
#ifndef TTM_SHM_IDENTITY_H
#define TTM_SHM_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

/* Reads at most `size` bytes; returns how many, 0 when there are none. */
size_t ttm_file_read(const char *path, char *ret_bytes, size_t size);

/* Field 22 of /proc/PID/stat; 0 if there is no such process to be seen. */
uint64_t ttm_start_time_read(const char *stat_path);

void ttm_boot_id_read(uint8_t ret_id[16]); /* zeroed by the caller */
uint64_t ttm_pid_namespace_read(void);     /* 0: unknown */

#endif

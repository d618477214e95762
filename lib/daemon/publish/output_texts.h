/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/* Scope names, marks and failures of a process, as rows. */
#ifndef TTM_DAEMON_OUTPUT_TEXTS_H
#define TTM_DAEMON_OUTPUT_TEXTS_H

#include "daemon/publish/output.h"

/* Reference of the row of a scope's name; 0 for none. */
uint64_t ttm_output_name(
	struct ttm_output *output, struct ttm_process *process, uint32_t id);

/* Marks and failures, if there may be new ones. 0 or a negative errno. */
int ttm_output_texts(struct ttm_output *output, struct ttm_process *process);

void ttm_output_texts_forget(
	struct ttm_output *output, struct ttm_process *process);

#endif

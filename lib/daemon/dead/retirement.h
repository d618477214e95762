/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/* A process that ended, as an entry of the file of retired ones. */
#ifndef TTM_DAEMON_RETIREMENT_H
#define TTM_DAEMON_RETIREMENT_H

#include "daemon/dead/retired.h"
#include "daemon/follow/process.h"
#include "daemon/publish/output.h"

/*
 * After the last round and ttm_output_process(): from the rows of the process. Its
 * live objects are survivors, orphaned in the entry. Returns 0 or -ENOMEM.
 */
int ttm_retirement_entry(struct ttm_output *output, struct ttm_process *process,
	uint64_t now_ns, struct ttm_retired_entry *ret_entry);

/* What was live in it is left behind; nothing of it is open or in use. */
void ttm_share_retire(struct ttm_share_row *row);

#endif

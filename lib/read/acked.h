/* SPDX-License-Identifier: Apache-2.0 */
/* Which dead processes are acknowledged: their leaks were reported for the last time. */
#ifndef TTM_READ_ACKED_H
#define TTM_READ_ACKED_H

#include "read/search.h"
#include "read/snapshot.h"

/*
 * Sets `acknowledged` of all processes, by the files "acknowledged" in the caller's
 * own directories, and in root's where the aggregate is: 32 hexadecimal digits of a
 * uuid in each line. Root's acknowledgement holds for everybody. Returns 0 or -ENOMEM.
 */
int ttm_acked_mark(const struct ttm_search *search,
	const struct ttm_found *found, struct ttmem_snapshot *snapshot);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
#ifndef TTM_RECORD_SCOPE_H
#define TTM_RECORD_SCOPE_H

#include "record/process.h"

/* Returns the innermost scope of the thread; name 0 if there is none. */
static inline struct ttm_scope ttm_scope_now(const struct ttm_seat *seat)
{
	uint32_t len = seat->scopes_len;

	return seat->scopes[len < TTM_SCOPES_MAX ? len : TTM_SCOPES_MAX];
}

/*
 * Returns the id of a text inside the scope `parent` (0: none): the same pair has the
 * same id. Returns 0 without room.
 */
uint16_t ttm_name_intern(
	struct ttm_process *process, const char *text, uint32_t parent);

#endif

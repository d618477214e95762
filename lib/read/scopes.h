/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of scopes, and their paths: a scope and those around it. */
#ifndef TTM_READ_SCOPES_H
#define TTM_READ_SCOPES_H

#include <stddef.h>
#include <stdint.h>

struct ttm_convert;

struct ttm_scope {
	const char *text; /* NULL: not made yet */
	const char *path;
};

struct ttm_scope_key;

struct ttm_scopes {
	struct ttm_scope *list; /* by row of the aggregate's names */
	/* Rows by process and name id, sorted; NULL: no parent was needed yet. */
	struct ttm_scope_key *keys;
	size_t keys_len;
};

/* Returns 0 or -ENOMEM. */
int ttm_scopes_make(struct ttm_convert *c);
void ttm_scopes_free(struct ttm_scopes *scopes);

/*
 * The text of a scope and "outer > inner", NULL if there is none. A cycle and a parent
 * that is not listed end the path. Returns 0 or -ENOMEM.
 */
int ttm_scopes_find(const struct ttm_convert *c, uint64_t ref,
	const char **ret_text, const char **ret_path);

#endif

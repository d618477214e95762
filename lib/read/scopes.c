/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include "read/scopes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "read/convert.h"

#define DEPTH_MAX 32u
#define SEPARATOR " > "

struct ttm_scope_key {
	uint64_t process;
	uint64_t id;
	size_t row;
};

static const struct ttm_name_row *name_at(
	const struct ttm_convert *c, size_t row)
{
	return (const void *)((const char *)c->copy->rows[TTM_TABLE_NAMES] +
		row * c->copy->stride[TTM_TABLE_NAMES]);
}

int ttm_scopes_make(struct ttm_convert *c)
{
	c->scopes = calloc(1, sizeof(*c->scopes));
	if (!c->scopes)
		return -ENOMEM;
	c->scopes->list = calloc(
		c->copy->len[TTM_TABLE_NAMES] + 1, sizeof(*c->scopes->list));
	return c->scopes->list ? 0 : -ENOMEM;
}

void ttm_scopes_free(struct ttm_scopes *scopes)
{
	if (!scopes)
		return;
	free(scopes->list);
	free(scopes->keys);
	free(scopes);
}

/* -- parents ------------------------------------------------------------------- */

static int key_compare(const void *a, const void *b)
{
	const struct ttm_scope_key *one = a, *other = b;

	if (one->process != other->process)
		return one->process < other->process ? -1 : 1;
	return one->id < other->id ? -1 : one->id > other->id;
}

static int keys_make(const struct ttm_convert *c)
{
	size_t len = c->copy->len[TTM_TABLE_NAMES], n = 0, i;
	struct ttm_scope_key *keys = malloc((len + 1) * sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	for (i = 0; i < len; i++) {
		const struct ttm_name_row *name = name_at(c, i);

		if (name->self && TTM_REF_INDEX(name->self) == i)
			keys[n++] = (struct ttm_scope_key){ name->process,
				name->id, i };
	}
	qsort(keys, n, sizeof(*keys), key_compare);
	c->scopes->keys = keys;
	c->scopes->keys_len = n;
	return 0;
}

/* The row of the scope around one; false: there is none. */
static bool parent_find(
	const struct ttm_convert *c, size_t row, size_t *ret_row)
{
	const struct ttm_name_row *name = name_at(c, row);
	const struct ttm_scope_key key = { name->process, name->parent, 0 };
	const struct ttm_scope_key *found;

	if (!name->parent)
		return false;
	found = bsearch(&key, c->scopes->keys, c->scopes->keys_len, sizeof(key),
		key_compare);
	if (found)
		*ret_row = found->row;
	return found != NULL;
}

/* -- texts --------------------------------------------------------------------- */

static const char *text_make(const struct ttm_convert *c, size_t row)
{
	struct ttm_scope *scope = &c->scopes->list[row];
	const struct ttm_name_row *name = name_at(c, row);

	if (!scope->text)
		scope->text = ttm_pool_text(&c->snapshot->pool, name->text,
			ttm_length_within(name->length, sizeof(name->text)));
	return scope->text;
}

/* The scopes around one, itself first. Returns how many. */
static size_t chain_find(
	const struct ttm_convert *c, size_t row, size_t ret_rows[DEPTH_MAX])
{
	size_t len = 0, i;

	do {
		for (i = 0; i < len; i++)
			if (ret_rows[i] == row)
				return len;
		ret_rows[len++] = row;
	} while (len < DEPTH_MAX && parent_find(c, row, &row));
	return len;
}

static int path_make(const struct ttm_convert *c, size_t row)
{
	struct ttm_scope *scope = &c->scopes->list[row];
	size_t rows[DEPTH_MAX], len, size = 1, i;
	char *path, *end;

	if (!c->scopes->keys && keys_make(c) < 0)
		return -ENOMEM;
	len = chain_find(c, row, rows);
	if (len == 1) {
		scope->path = scope->text;
		return 0;
	}
	for (i = 0; i < len; i++) {
		const char *text = text_make(c, rows[i]);

		if (!text)
			return -ENOMEM;
		size += strlen(text) + strlen(SEPARATOR);
	}
	end = path = ttm_pool_take(&c->snapshot->pool, size);
	if (!path)
		return -ENOMEM;
	for (i = len; i > 0; i--) {
		end = stpcpy(end, c->scopes->list[rows[i - 1]].text);
		if (i > 1)
			end = stpcpy(end, SEPARATOR);
	}
	scope->path = path;
	return 0;
}

int ttm_scopes_find(const struct ttm_convert *c, uint64_t ref,
	const char **ret_text, const char **ret_path)
{
	size_t row = TTM_REF_INDEX(ref);
	struct ttm_scope *scope;
	int r = 0;

	*ret_text = *ret_path = NULL;
	if (!ttm_view_row(c->copy, TTM_TABLE_NAMES, ref))
		return 0;
	scope = &c->scopes->list[row];
	if (!text_make(c, row))
		return -ENOMEM;
	if (!scope->path)
		r = path_make(c, row);
	*ret_text = scope->text;
	*ret_path = scope->path;
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include <errno.h>
#include <stdlib.h>

#include "read/convert.h"

/* What an object has from its share; looked up once per share. */
struct owner {
	uint64_t self; /* of the share; 0: unused */
	uint64_t share;
	uint64_t process;
	uint64_t device;
	uint16_t epoch;
	bool is_known; /* its process: else nobody can tell who owns it */
	bool is_retired;
};

struct owners {
	struct owner *owners; /* by row of the shares */
	size_t len;
	const char **scopes; /* by row of the names */
	size_t scopes_len;
};

static void owner_set(const struct ttm_convert *c,
	const struct ttm_share_row *share, struct owner *ret_owner)
{
	const struct ttm_process_row *process = ttm_view_row(
		c->copy, TTM_TABLE_PROCESSES, share->process);

	ret_owner->self = share->self;
	ret_owner->share = ttm_convert_ref(c, TTM_TABLE_SHARES, share->self);
	ret_owner->process = ttm_convert_ref(
		c, TTM_TABLE_PROCESSES, share->process);
	ret_owner->device = ttm_convert_ref(
		c, TTM_TABLE_DEVICES, share->device);
	ret_owner->epoch = (uint16_t)share->epoch;
	ret_owner->is_known = process != NULL;
	ret_owner->is_retired = process &&
		(process->state == TTM_PROCESS_EXITED ||
			process->state == TTM_PROCESS_DIED);
}

static int owners_make(const struct ttm_convert *c, struct owners *ret_owners)
{
	const struct ttm_view_copy *copy = c->copy;
	const char *row = copy->rows[TTM_TABLE_SHARES];
	struct owners o = { .len = copy->len[TTM_TABLE_SHARES],
		.scopes_len = copy->len[TTM_TABLE_NAMES] };
	size_t i;

	o.owners = calloc(o.len ? o.len : 1, sizeof(*o.owners));
	o.scopes = calloc(o.scopes_len ? o.scopes_len : 1, sizeof(*o.scopes));
	if (!o.owners || !o.scopes) {
		free(o.owners);
		free(o.scopes);
		return -ENOMEM;
	}
	for (i = 0; i < o.len; i++, row += copy->stride[TTM_TABLE_SHARES]) {
		const struct ttm_share_row *share = (const void *)row;

		if (share->self && TTM_REF_INDEX(share->self) == i)
			owner_set(c, share, &o.owners[i]);
	}
	*ret_owners = o;
	return 0;
}

static const struct owner *owner_find(const struct owners *o, uint64_t ref)
{
	size_t index = TTM_REF_INDEX(ref);

	if (ref == 0 || index >= o->len || o->owners[index].self != ref)
		return NULL;
	return &o->owners[index];
}

static int scope_find(const struct ttm_convert *c, struct owners *o,
	uint64_t ref, const char **ret_scope)
{
	size_t index = TTM_REF_INDEX(ref);
	int r = 0;

	if (!ttm_view_row(c->copy, TTM_TABLE_NAMES, ref))
		return 0;
	if (!o->scopes[index])
		r = ttm_convert_scope(c, ref, &o->scopes[index]);
	*ret_scope = o->scopes[index];
	return r;
}

static void object_own(const struct owner *owner,
	const struct ttm_object_row *row, struct ttmem_object_row *to)
{
	if (owner) {
		to->share = owner->share;
		to->process = owner->process;
		to->device = owner->device;
	}
	if (owner && owner->is_known)
		to->orphaned = owner->is_retired ||
			TTM_W1_EPOCH(row->w1) != owner->epoch;
	if (to->persistent)
		to->leak_class = TTMEM_CLASS_PERSISTENT;
	else if (to->orphaned == 1)
		to->leak_class = TTMEM_CLASS_ORPHANED;
	else if (to->orphaned == 0)
		to->leak_class = TTMEM_CLASS_LIVE;
}

static void object_measure(
	const struct ttm_object_row *row, struct ttmem_object_row *to)
{
	struct ttm_words words = { { 0, row->w1, row->id, row->address,
		row->size, row->w5, 0, row->w7 } };

	to->figure = ttm_named_or_unknown(
		TTMEM_NAMES_FIGURE, TTM_W1_FIGURE(row->w1));
	to->bytes = ttm_words_bytes(&words);
	to->size = row->size;
	to->id = row->id;
	to->stack = TTM_W7_STACK(row->w7);
	if (to->figure < TTMEM_FIGURE_CB) {
		to->charged = row->w5;
		to->address = row->address;
		return;
	}
	to->program = row->w5;
	to->cores = TTM_W7_CORES(row->w7);
	if (to->figure == TTMEM_FIGURE_CB)
		to->address = row->address;
}

static void object_convert(const struct ttm_convert *c,
	const struct owner *owner, const struct ttm_object_row *row,
	struct ttmem_object_row *to)
{
	unsigned flags = TTM_W1_FLAGS(row->w1);
	uint64_t now = c->taken_ns;

	to->persistent = (flags & TTM_FLAG_PERSISTENT) != 0;
	to->borrowed = (flags & TTM_FLAG_BORROWED) != 0;
	to->in_ring = (flags & TTM_FLAG_IN_RING) != 0;
	object_measure(row, to);
	object_own(owner, row, to);
	if (row->allocated_ns) {
		to->allocated_ns = row->allocated_ns;
		/* Clocks are not causal: a young one may be of the future. */
		to->age_ns = now > row->allocated_ns ? now - row->allocated_ns :
						       0;
	}
}

int ttm_convert_objects(struct ttm_convert *c,
	const struct ttm_object_row *objects, size_t objects_len)
{
	struct ttmem_object_row *to;
	struct owners o;
	size_t i;
	int r;

	r = ttm_snapshot_make_rows(
		c->snapshot, TTM_RECORD_OBJECTS, objects_len);
	if (r < 0)
		return r;
	r = owners_make(c, &o);
	if (r < 0)
		return r;
	to = c->snapshot->tables[TTM_RECORD_OBJECTS].rows;
	for (i = 0; r == 0 && i < objects_len; i++) {
		object_convert(c, owner_find(&o, objects[i].share), &objects[i],
			&to[i]);
		r = scope_find(c, &o, objects[i].scope, &to[i].scope);
	}
	free(o.owners);
	free(o.scopes);
	return r;
}

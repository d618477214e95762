/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* Scopes: names that attribute allocations, interned in the segment. */
#include <stddef.h>
#include <string.h>

#include "record/index.h"
#include "record/ring.h"
#include "record/segment.h"

/* Twice the number of names: probes are short. */
#define NAME_TABLE_LEN 131072u
#define NAMES_WITH_PARENT_MAX (TTM_NAMES_MAX / 4 * 3)
#define NAME_TABLE_SIZE (NAME_TABLE_LEN * sizeof(uint64_t))

struct name_text {
	uint64_t length; /* as in ttm_name, parent included */
	uint64_t hash;
	uint64_t words[TTM_NAME_SIZE / 8];
};

static void name_text_set(
	struct name_text *ret_text, const char *text, uint32_t parent)
{
	size_t length = strnlen(text, TTM_NAME_SIZE + 1), i;

	memset(ret_text, 0, sizeof(*ret_text));
	ret_text->length = length <= TTM_NAME_SIZE ?
		length :
		(TTM_NAME_SIZE | TTM_NAME_TRUNCATED);
	ret_text->length |= (uint64_t)parent << 40;
	memcpy(ret_text->words, text,
		length <= TTM_NAME_SIZE ? length : TTM_NAME_SIZE);
	ret_text->hash = ret_text->length;
	for (i = 0; i < TTM_NAME_SIZE / 8 && i * 8 < length; i++)
		ret_text->hash = ttm_hash(ret_text->words[i], ret_text->hash);
}

static const struct ttm_items names = {
	.type = TTM_EXTENT_NAMES,
	.size = sizeof(struct ttm_name),
	.max = TTM_NAMES_MAX,
	.extents_off = offsetof(struct ttm_process, names),
	.len_off = offsetof(struct ttm_header_live, names_len),
};

static bool name_is(
	struct ttm_process *process, uint32_t id, const struct name_text *text)
{
	const struct ttm_name *name = ttm_item_at(process, &names, id - 1);
	size_t i;

	/* relaxed: the table's word has published the name */
	if (!name || ttm_load(&name->length) != text->length)
		return false;
	for (i = 0; i < TTM_NAME_SIZE / 8; i++)
		if (ttm_load(&name->text[i]) != text->words[i])
			return false;
	return true;
}

static uint32_t name_new(
	struct ttm_process *process, const struct name_text *text)
{
	struct ttm_name *name;
	uint64_t number;
	size_t i;

	name = ttm_item_take(process, &names, &number);
	if (!name)
		return 0;
	/* relaxed: before the length */
	for (i = 0; i < TTM_NAME_SIZE / 8; i++)
		ttm_store(&name->text[i], text->words[i]);
	ttm_store(&name->hash, text->hash);
	/* pairs(name-text): release, with the aggregator's read of the length:
	 * the text is there */
	ttm_store_release(&name->length, text->length);
	TTM_TESTPOINT("name written");
	return (uint32_t)number + 1;
}

static uint64_t *name_table_get(struct ttm_process *process)
{
	uint64_t *table = ttm_pointer_load(&process->name_table);

	if (table)
		return table;
	table = ttm_private_memory(NAME_TABLE_SIZE);
	if (table && !ttm_pointer_set_once(&process->name_table, table))
		ttm_private_memory_drop(table, NAME_TABLE_SIZE);
	return ttm_pointer_load(&process->name_table);
}

/* Finds or adds a name. A word of the table is the hash's upper 48 bits and the id. */
static uint16_t name_intern(struct ttm_process *process, uint64_t *table,
	const struct name_text *text)
{
	uint64_t word, at;
	uint32_t id = 0;

	for (at = text->hash % NAME_TABLE_LEN;;
		at = (at + 1) % NAME_TABLE_LEN) {
		/* pairs(name): acquire, with the CAS below: the text is there */
		word = ttm_load_acquire(&table[at]);
		if (word == 0) {
			if (id == 0)
				id = name_new(process, text);
			if (id == 0)
				return 0;
			/* pairs(name): full, with the load above */
			if (ttm_cas(&table[at], 0,
				    (text->hash & ~0xffffull) | id))
				return (uint16_t)id;
			word = ttm_load_acquire(&table[at]);
		}
		if ((word ^ text->hash) >> 16 == 0 &&
			name_is(process, word & 0xffff, text))
			return (uint16_t)(word & 0xffff);
	}
}

/*
 * Returns the id of a name inside a scope. A program that names each iteration has as
 * many names as operations x iterations. When names run short, new ones are kept
 * without the scope around them.
 */
static uint16_t scope_intern(
	struct ttm_process *process, const char *string, uint32_t parent)
{
	uint64_t *table = name_table_get(process);
	struct name_text text;

	if (!table)
		return 0;
	/* relaxed: the exact moment does not matter */
	if (ttm_load(&process->header->live.names_len) >= NAMES_WITH_PARENT_MAX)
		parent = 0;
	name_text_set(&text, string, parent);
	return name_intern(process, table, &text);
}

/*
 * Adds a scope. A handler may push and pop in between and leave its scope above the
 * length, so ours is stored again once the length protects it.
 */
static void scope_add(struct ttm_ring *ring, struct ttm_scope scope)
{
	uint32_t at = ring->scopes_len;

	if (at < TTM_SCOPES_MAX)
		ring->scopes[at + 1] = scope;
	ttm_fence_signal();
	ring->scopes_len = at + 1;
	ttm_fence_signal();
	if (at < TTM_SCOPES_MAX)
		ring->scopes[at + 1] = scope;
}

static TTM_SLOW uint32_t scope_push(const char *name, uint32_t flags)
{
	struct ttm_scope scope, around;
	struct ttm_ring *ring = ttm_hook_enter(TTM_ENTRY_STARTS, 0);
	uint32_t depth;

	if (!ring)
		return 0;
	depth = ring->scopes_len;
	around = ttm_scope_now(ring);
	/* A scope inside a persistent scope is persistent, too. */
	scope.flags = around.flags |
		(flags & TTMEM_SCOPE_PERSISTENT ? TTM_FLAG_PERSISTENT : 0);
	scope.name = name && *name ?
		scope_intern(ring->process, name, (uint32_t)around.name) :
		0;
	if (scope.name == 0 && name && *name)
		ttm_loss(ring, TTMEM_LOSS_NO_NAME, 0, TTM_FIGURE_NONE, 0, 0);
	if (flags & ~TTMEM_SCOPE_PERSISTENT)
		ttm_anomaly(ring, TTMEM_ANOMALY_BAD_KIND, 0, TTM_FIGURE_NONE,
			flags);
	if (depth >= TTM_SCOPES_MAX)
		ttm_anomaly(ring, TTMEM_ANOMALY_SCOPE_TOO_DEEP, 0,
			TTM_FIGURE_NONE, 0);
	scope_add(ring, scope);
	ttm_hook_leave(ring);
	return depth;
}

static TTM_SLOW void scope_pop(void)
{
	struct ttm_ring *ring = ttm_hook_enter(TTM_ENTRY_NO_START, 0);

	if (!ring)
		return;
	if (ring->scopes_len)
		ring->scopes_len--;
	else
		ttm_anomaly(ring, TTMEM_ANOMALY_SCOPE_UNDERFLOW, 0,
			TTM_FIGURE_NONE, 0);
	ttm_hook_leave(ring);
}

static TTM_SLOW void scope_pop_to(uint32_t depth)
{
	struct ttm_ring *ring = ttm_hook_enter(TTM_ENTRY_NO_START, 0);

	if (!ring)
		return;
	if (ring->scopes_len > depth)
		ring->scopes_len = depth;
	ttm_hook_leave(ring);
}

uint32_t ttmem_scope_push(const char *name, uint32_t flags)
{
	return ttm_switch_is_off() ? 0 : scope_push(name, flags);
}

void ttmem_scope_pop(void)
{
	if (!ttm_switch_is_off())
		scope_pop();
}

void ttmem_scope_pop_to(uint32_t depth)
{
	if (!ttm_switch_is_off())
		scope_pop_to(depth);
}

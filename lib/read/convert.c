/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include "read/convert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "read/convert_row.h"

#define SILENT_NS 10000000000ull

uint64_t ttm_convert_tables(uint32_t flags)
{
	uint64_t tables = 1u << TTM_TABLE_HEALTH | 1u << TTM_TABLE_DIRECTORIES |
		1u << TTM_TABLE_DEVICES | 1u << TTM_TABLE_PROCESSES |
		1u << TTM_TABLE_SHARES | 1u << TTM_TABLE_NAMES |
		1u << TTM_TABLE_MARKS | 1u << TTM_TABLE_FAILURES |
		1u << TTM_TABLE_QUARANTINE | 1u << TTM_TABLE_UNTRACKED |
		1u << TTM_TABLE_TELEMETRY | 1u << TTM_TABLE_HOLDERS;

	if (flags & TTMEM_SNAPSHOT_HISTORIES)
		tables |= 1u << TTM_TABLE_HISTORY_1S |
			1u << TTM_TABLE_HISTORY_10S |
			1u << TTM_TABLE_HISTORY_1M;
	if (flags & TTMEM_SNAPSHOT_DISTRIBUTIONS)
		tables |= 1u << TTM_TABLE_DISTRIBUTIONS;
	return tables;
}

static const void *row_at(
	const struct ttm_convert *c, enum ttm_table_id table, size_t i)
{
	return (const char *)c->copy->rows[table] + i * c->copy->stride[table];
}

static uint64_t row_self(
	const struct ttm_convert *c, enum ttm_table_id table, size_t i)
{
	uint64_t self;

	memcpy(&self, row_at(c, table, i), sizeof(self));
	return self;
}

/* Numbers the rows in use from `first` on; a row says which one it is itself. */
static int rows_number(struct ttm_convert *c, enum ttm_table_id table,
	size_t first, size_t *ret_next)
{
	size_t len = c->copy->len[table], i;

	c->index[table] = malloc((len ? len : 1) * sizeof(uint64_t));
	if (!c->index[table])
		return -ENOMEM;
	for (i = 0; i < len; i++) {
		uint64_t self = row_self(c, table, i);

		c->index[table][i] = self && TTM_REF_INDEX(self) == i ?
			first++ :
			TTMEM_NONE;
	}
	*ret_next = first;
	return 0;
}

uint64_t ttm_convert_ref(
	const struct ttm_convert *c, enum ttm_table_id table, uint64_t ref)
{
	if (!c->index[table] || !ttm_view_row(c->copy, table, ref))
		return TTMEM_NONE;
	return c->index[table][TTM_REF_INDEX(ref)];
}

void ttm_convert_free(struct ttm_convert *c)
{
	size_t i;

	for (i = 0; i < TTM_TABLES; i++) {
		free(c->index[i]);
		c->index[i] = NULL;
	}
	ttm_places_free(c->places);
	ttm_scopes_free(c->scopes);
	c->places = NULL;
	c->scopes = NULL;
}

/* -- one row ------------------------------------------------------------------ */

static int health_convert(const struct ttm_convert *c,
	const struct ttm_health_row *row, struct ttmem_health_row *to)
{
	(void)c;
#include "read/health.def"
	return 0;
}

static int directory_convert(const struct ttm_convert *c,
	const struct ttm_directory_row *row, struct ttmem_directory_row *to)
{
#include "read/directory.def"
	return 0;
}

static int device_texts(const struct ttm_convert *c,
	const struct ttm_device_facts *facts, struct ttmem_device_row *to)
{
	char text[16];

	if (facts->known & TTM_FACT_ARCH) {
		memcpy(text, facts->arch, sizeof(text));
		to->arch = ttm_pool_text(
			&c->snapshot->pool, text, sizeof(text));
		if (!to->arch)
			return -ENOMEM;
	}
	if (facts->known & TTM_FACT_BOARD) {
		memcpy(text, facts->board, sizeof(text));
		to->board = ttm_pool_text(
			&c->snapshot->pool, text, sizeof(text));
		if (!to->board)
			return -ENOMEM;
	}
	return 0;
}

static void device_facts(
	const struct ttm_device_facts *facts, struct ttmem_device_row *to)
{
#define FACT(bit, name)                                                        \
	to->name = facts->known & (bit) ? facts->name : TTMEM_UNKNOWN
	FACT(TTM_FACT_CHIP_ID, chip_id);
	FACT(TTM_FACT_PCI_ADDRESS, pci_address);
	FACT(TTM_FACT_DRAM_BYTES, dram_bytes);
	FACT(TTM_FACT_L1_BYTES_PER_CORE, l1_bytes_per_core);
	FACT(TTM_FACT_CORES, cores);
	FACT(TTM_FACT_L1_SMALL_BYTES, l1_small_bytes);
	FACT(TTM_FACT_TRACE_BYTES, trace_bytes);
	FACT(TTM_FACT_L1_BASE, l1_base);
	FACT(TTM_FACT_L1_TOP, l1_top);
	FACT(TTM_FACT_DRAM_BANKS, dram_banks);
	FACT(TTM_FACT_DRAM_BANK_BYTES, dram_bank_bytes);
	FACT(TTM_FACT_DRAM_BASE, dram_base);
	FACT(TTM_FACT_L1_BANKS, l1_banks);
	FACT(TTM_FACT_GATEWAY, gateway);
#undef FACT
	if (to->l1_bytes_per_core != TTMEM_UNKNOWN &&
		to->cores != TTMEM_UNKNOWN &&
		__builtin_mul_overflow(
			to->l1_bytes_per_core, to->cores, &to->l1_bytes))
		to->l1_bytes = TTMEM_UNKNOWN;
}

#define CAPACITIES                                                             \
	(TTM_FACT_DRAM_BYTES | TTM_FACT_L1_BYTES_PER_CORE | TTM_FACT_CORES)

static void device_capacity_source(
	const struct ttm_device_row *row, struct ttmem_device_row *to)
{
	uint64_t known = row->facts.known & CAPACITIES;

	if (known)
		to->capacity_source = known & row->by_board ?
			TTMEM_CAPACITY_BOARD :
			TTMEM_CAPACITY_TOLD;
}

static int device_convert(const struct ttm_convert *c,
	const struct ttm_device_row *row, struct ttmem_device_row *to)
{
#include "read/device.def"
	device_facts(&row->facts, to);
	device_capacity_source(row, to);
	to->clash_process = ttm_convert_ref(
		c, TTM_TABLE_PROCESSES, row->clash_process);
	if (to->clash_process != TTMEM_NONE)
		to->clash_program = row->clash_program;
	return device_texts(c, &row->facts, to);
}

int ttm_convert_arguments(const struct ttm_convert *c, const char *bytes,
	size_t size, const char *const **ret_arguments, uint64_t *ret_len)
{
	const char **arguments;
	size_t len = 0, at, i;

	while (size && bytes[size - 1] == '\0')
		size--;
	for (at = 0; at < size; at += strnlen(bytes + at, size - at) + 1)
		len++;
	*ret_len = len;
	if (len == 0)
		return 0;
	arguments = ttm_pool_take(&c->snapshot->pool, len * sizeof(*arguments));
	if (!arguments)
		return -ENOMEM;
	for (at = 0, i = 0; i < len; i++) {
		arguments[i] = ttm_pool_text(
			&c->snapshot->pool, bytes + at, size - at);
		if (!arguments[i])
			return -ENOMEM;
		at += strnlen(bytes + at, size - at) + 1;
	}
	*ret_arguments = arguments;
	return 0;
}

/* Whether it has said nothing for long; ttmemd knows no such state. */
static bool process_is_silent(
	const struct ttm_convert *c, const struct ttm_process_row *row)
{
	uint64_t last = row->last_event_ns ? row->last_event_ns :
					     row->started_ns;
	uint64_t now = c->copy->copy.monotonic_ns;

	return row->state == TTM_PROCESS_REPORTING && last < now &&
		now - last >= SILENT_NS;
}

static int process_convert(const struct ttm_convert *c,
	const struct ttm_process_row *row, struct ttmem_process_row *to)
{
	const struct ttm_command *command;

#include "read/process.def"
	to->state = process_is_silent(c, row) ?
		(uint64_t)TTMEM_PROCESS_SILENT :
		ttm_named_or_unknown(TTMEM_NAMES_PROCESS, row->state);
	command = row->cmdline[0] ? NULL : ttm_commands_find(c->commands, row);
	if (command)
		return ttm_convert_arguments(c, command->bytes, command->size,
			&to->cmdline, &to->cmdline_len);
	return ttm_convert_arguments(c, row->cmdline, sizeof(row->cmdline),
		&to->cmdline, &to->cmdline_len);
}

static int share_convert(const struct ttm_convert *c,
	const struct ttm_share_row *row, struct ttmem_share_row *to)
{
#include "read/share.def"
	/* Without a headroom there is nobody to clash. */
	if (row->headroom != TTM_HEADROOM_UNKNOWN)
		to->clash_program = row->clash_program;
	return 0;
}

static int mark_convert(const struct ttm_convert *c,
	const struct ttm_mark_row *row, struct ttmem_mark_row *to)
{
#include "read/mark.def"
	to->text = ttm_pool_text(&c->snapshot->pool, row->text,
		ttm_length_within(row->length, sizeof(row->text)));
	return to->text ? 0 : -ENOMEM;
}

static int failure_convert(const struct ttm_convert *c,
	const struct ttm_failure_row *row, struct ttmem_failure_row *to)
{
	int r;

#include "read/failure.def"
	r = ttm_places_add(c, row->process, row->members, &to->place);
	if (r < 0)
		return r;
	return ttm_scopes_find(c, row->scope, &to->scope, &to->scope_path);
}

static int quarantined_convert(const struct ttm_convert *c,
	const struct ttm_quarantine_row *row, struct ttmem_quarantined_row *to)
{
#include "read/quarantined.def"
	return 0;
}

static int untracked_convert(const struct ttm_convert *c,
	const struct ttm_untracked_row *row, struct ttmem_untracked_row *to)
{
#include "read/untracked.def"
	return 0;
}

static int distribution_convert(const struct ttm_convert *c,
	const struct ttm_distribution_row *row,
	struct ttmem_distribution_row *to)
{
#include "read/distribution.def"
	if (row->total == 0)
		to->min = to->max = to->mean = to->p50 = to->p90 = to->p99 =
			to->p999 = TTMEM_UNKNOWN;
	return 0;
}

static void point_convert(const struct ttm_point *row, struct ttmem_point *to)
{
#include "read/point.def"
}

static int history_convert(const struct ttm_convert *c,
	const struct ttm_history_row *row, size_t stride,
	struct ttmem_history_row *to)
{
	size_t room = (stride - sizeof(*row)) / sizeof(row->points[0]);
	size_t capacity = (size_t)row->capacity, len, first, i;
	struct ttmem_point *points;

#include "read/history.def"
	if (row->capacity == 0 || row->capacity > room)
		return 0; /* told nothing that can be true */
	len = ttm_length_within(row->points_len, capacity);
	if (len == 0)
		return 0;
	first = (size_t)((row->points_len - len) % capacity);
	points = ttm_pool_take(&c->snapshot->pool, len * sizeof(*points));
	if (!points)
		return -ENOMEM;
	for (i = 0; i < len; i++)
		point_convert(&row->points[(first + i) % capacity], &points[i]);
	to->points = points;
	to->points_len = len;
	return 0;
}

/* -- all rows ------------------------------------------------------------------ */

static int row_convert(const struct ttm_convert *c, enum ttm_table_id table,
	const void *row, void *to)
{
	switch (table) {
	case TTM_TABLE_HEALTH:
		return health_convert(c, row, to);
	case TTM_TABLE_DIRECTORIES:
		return directory_convert(c, row, to);
	case TTM_TABLE_DEVICES:
		return device_convert(c, row, to);
	case TTM_TABLE_PROCESSES:
		return process_convert(c, row, to);
	case TTM_TABLE_SHARES:
		return share_convert(c, row, to);
	case TTM_TABLE_MARKS:
		return mark_convert(c, row, to);
	case TTM_TABLE_FAILURES:
		return failure_convert(c, row, to);
	case TTM_TABLE_QUARANTINE:
		return quarantined_convert(c, row, to);
	case TTM_TABLE_UNTRACKED:
		return untracked_convert(c, row, to);
	case TTM_TABLE_TELEMETRY:
		return ttm_convert_telemetry(c, row, to);
	case TTM_TABLE_HOLDERS:
		return ttm_convert_holder(c, row, to);
	case TTM_TABLE_DISTRIBUTIONS:
		return distribution_convert(c, row, to);
	default:
		return history_convert(c, row, c->copy->stride[table], to);
	}
}

/* Which table becomes which; the three histories become one. */
static const struct {
	enum ttm_table_id table;
	enum ttm_record_id record;
} pairs_of_tables[] = {
	{ TTM_TABLE_HEALTH, TTM_RECORD_HEALTH },
	{ TTM_TABLE_DIRECTORIES, TTM_RECORD_DIRECTORIES },
	{ TTM_TABLE_DEVICES, TTM_RECORD_DEVICES },
	{ TTM_TABLE_PROCESSES, TTM_RECORD_PROCESSES },
	{ TTM_TABLE_SHARES, TTM_RECORD_SHARES },
	{ TTM_TABLE_MARKS, TTM_RECORD_MARKS },
	{ TTM_TABLE_FAILURES, TTM_RECORD_FAILURES },
	{ TTM_TABLE_QUARANTINE, TTM_RECORD_QUARANTINE },
	{ TTM_TABLE_UNTRACKED, TTM_RECORD_UNTRACKED },
	{ TTM_TABLE_TELEMETRY, TTM_RECORD_TELEMETRY },
	{ TTM_TABLE_HOLDERS, TTM_RECORD_HOLDERS },
	{ TTM_TABLE_DISTRIBUTIONS, TTM_RECORD_DISTRIBUTIONS },
	{ TTM_TABLE_HISTORY_1S, TTM_RECORD_HISTORIES },
	{ TTM_TABLE_HISTORY_10S, TTM_RECORD_HISTORIES },
	{ TTM_TABLE_HISTORY_1M, TTM_RECORD_HISTORIES },
};

#define PAIRS (sizeof(pairs_of_tables) / sizeof(pairs_of_tables[0]))

static int table_convert(struct ttm_convert *c, enum ttm_table_id table,
	enum ttm_record_id record)
{
	size_t i;
	int r;

	for (i = 0; i < c->copy->len[table]; i++) {
		uint64_t index = c->index[table][i];

		if (index == TTMEM_NONE ||
			index >= c->snapshot->tables[record].len)
			continue;
		r = row_convert(c, table, row_at(c, table, i),
			ttm_snapshot_row(c->snapshot, record, (size_t)index));
		if (r < 0)
			return r;
	}
	return 0;
}

int ttm_convert_copy(struct ttm_convert *c)
{
	size_t next[TTM_RECORD_TABLES] = { 0 };
	unsigned i;
	int r;

	for (i = 0; i < PAIRS; i++) {
		size_t *len = &next[pairs_of_tables[i].record];

		r = rows_number(c, pairs_of_tables[i].table, *len, len);
		if (r < 0)
			return r;
	}
	if (next[TTM_RECORD_HEALTH] > 1)
		next[TTM_RECORD_HEALTH] = 1;
	for (i = 0; i < TTM_RECORD_TABLES; i++) {
		r = ttm_snapshot_make_rows(c->snapshot, i, next[i]);
		if (r < 0)
			return r;
	}
	r = ttm_places_make(c);
	if (r == 0)
		r = ttm_scopes_make(c);
	if (r < 0)
		return r;
	for (i = 0; i < PAIRS; i++) {
		r = table_convert(
			c, pairs_of_tables[i].table, pairs_of_tables[i].record);
		if (r < 0)
			return r;
	}
	return 0;
}

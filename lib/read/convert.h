/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of an aggregate segment become rows of a snapshot. */
#ifndef TTM_READ_CONVERT_H
#define TTM_READ_CONVERT_H

#include "read/commands.h"
#include "read/places.h"
#include "read/scopes.h"
#include "read/snapshot.h"
#include "shm/view.h"

struct ttm_convert {
	const struct ttm_view_copy *copy;
	struct ttmem_snapshot *snapshot;
	const struct ttm_commands *commands; /* up to date with the copy */
	bool same_pids;    /* ttmemd is in our pid namespace */
	uint64_t taken_ns; /* when the snapshot is taken: ages count to it */
	uint64_t *index[TTM_TABLES]; /* of rows: their index in the snapshot */
	struct ttm_places *places;
	struct ttm_scopes *scopes;
};

/* Tables of the copy that a snapshot with these flags needs: bits 1 << id. */
uint64_t ttm_convert_tables(uint32_t flags);

/*
 * Fills everything but the info and the places. `c` has copy and snapshot; its index,
 * places and scopes are made here and needed by ttm_convert_objects(). At the end,
 * ttm_places_fill() makes the rows of the places. Returns 0 or -ENOMEM.
 */
int ttm_convert_copy(struct ttm_convert *c);
int ttm_convert_objects(struct ttm_convert *c,
	const struct ttm_object_row *objects, size_t objects_len);
void ttm_convert_free(struct ttm_convert *c);

/* The index of the row that a reference means, or TTMEM_NONE. */
uint64_t ttm_convert_ref(
	const struct ttm_convert *c, enum ttm_table_id table, uint64_t ref);

/*
 * Arguments, each ended by NUL; what is behind the last is padding. Returns 0 or
 * -ENOMEM.
 */
int ttm_convert_arguments(const struct ttm_convert *c, const char *bytes,
	size_t size, const char *const **ret_arguments, uint64_t *ret_len);

/* -- convert_telemetry.c; 0 or -ENOMEM -------------------------------------------- */

int ttm_convert_telemetry(const struct ttm_convert *c,
	const struct ttm_telemetry_row *row, struct ttmem_telemetry_row *to);
int ttm_convert_holder(const struct ttm_convert *c,
	const struct ttm_holder_row *row, struct ttmem_holder_row *to);

/* A value that has no name here is a newer ttmemd's, or nonsense. */
static inline uint64_t ttm_named_or_unknown(
	enum ttmem_names set, uint64_t value)
{
	return ttmem_name(set, value) ? value : TTMEM_UNKNOWN;
}

static inline uint64_t ttm_flag_or_unknown(uint64_t word)
{
	return word <= 1 ? word : TTMEM_UNKNOWN;
}

/* Of counted text in a field of `size` bytes: a length is input, too. */
static inline size_t ttm_length_within(uint64_t length, size_t size)
{
	return length < size ? (size_t)length : size;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of the view of processes: snapshot to rows, without a clock, a file or a
 * terminal. Texts belong to the snapshot.
 */
#ifndef TTM_TOP_ROWS_H
#define TTM_TOP_ROWS_H

#include "devices.h"
#include "peaks.h"

enum top_row_kind {
	TOP_ROW_PROCESS,   /* reports, or did */
	TOP_ROW_HOLDER,    /* has a device open and does not report */
	TOP_ROW_UNTRACKED, /* asked to be tracked and could not be */
	TOP_ROW_DEVICE,    /* of the tree */
	TOP_ROW_SCOPE,     /* objects of the process above */
	TOP_ROW_NOTE,      /* in place of them */
};

enum top_row_state {
	TOP_STATE_NONE,
	TOP_STATE_REPORTING,
	TOP_STATE_SILENT,
	TOP_STATE_ENDED,
	TOP_STATE_UNTRACKED,
	TOP_STATE_UNKNOWN,
	TOP_STATE_EXITED,
	TOP_STATE_DIED,
	TOP_STATE_EXITED_LEAK,
	TOP_STATE_DIED_LEAK,
	TOP_STATES
};

const char *top_state_name(enum top_row_state state);

#define TOP_ROW_DEVICES 256u

struct top_row {
	enum top_row_kind kind;
	enum top_row_state state;
	struct top_id id;
	unsigned depth;
	bool last;        /* of its siblings */
	bool expanded;    /* to scopes */
	uint64_t process; /* index, TTMEM_NONE */
	uint64_t device;  /* index: bytes on this one only; TTMEM_NONE: all */
	uint64_t pid;
	uint64_t uid;
	uint64_t start_time;
	uint64_t pid_namespace; /* unknown: ttmemd's */
	uint64_t bytes[TTMEM_FIGURES];
	uint64_t peak;
	uint64_t objects;
	uint64_t events_per_s;
	uint64_t
		devices[TOP_ROW_DEVICES / 64]; /* places in the list, as bits */
	const char *comm; /* of a scope its name; NULL: unknown */
	const char *cgroup;
	const char *const *cmdline;
	uint64_t cmdline_len;
};

struct top_rows {
	struct top_row *list;
	size_t len;
	size_t size;
	size_t processes; /* before filtering, those that report */
	size_t untracked; /* those that do not */
	size_t hidden;    /* by the filter */
};

/* Which rows are expanded; with `all` those that are not. All zero: none. */
struct top_expanded {
	bool all;
	struct top_id *ids;
	size_t len, size;
};

/* Returns 0 or -ENOMEM. */
int top_expanded_set(struct top_expanded *expanded, struct top_id id, bool on);
void top_expanded_free(struct top_expanded *expanded);
/* Whether objects are needed. */
bool top_expanded_any(const struct top_expanded *expanded);

struct top_query {
	const char *filter; /* "": all */
	size_t sort;        /* enum top_process_column */
	bool reverse;
	bool tree;
	bool retired;         /* those that left nothing, too */
	struct top_id device; /* only of this one; zeros: all */
	const struct top_expanded *expanded;
	const struct top_peaks *peaks;
};

/* Returns 0 or -ENOMEM. `ret_rows` may hold old ones, whose memory is used again. */
int top_rows_make(const struct ttmem_snapshot *snapshot,
	const struct top_devices *devices, const struct top_query *query,
	struct top_rows *rows);
void top_rows_free(struct top_rows *rows);

/* Place of the row; `len`: none. */
size_t top_rows_find(const struct top_rows *rows, struct top_id id);

/* "0-3,6" */
#define TOP_DEVICES_TEXT_SIZE 128u
const char *top_row_devices(const struct top_row *row,
	const struct top_devices *devices,
	char buffer[static TOP_DEVICES_TEXT_SIZE]);
/* Escaped, with or without the path of the program. */
const char *top_row_command(
	const struct top_row *row, bool path, char *buffer, size_t buffer_size);

/* The kind of memory that a column is about; TTMEM_FIGURES: none. */
unsigned top_column_figure(size_t column);

/* Within the folder: rows_sort.c, rows_scope.c. */
bool top_row_matches(const struct top_row *row, const char *filter);
void top_rows_sort(
	struct top_row *rows, size_t len, size_t column, bool reverse);
/* A row to be filled; NULL: no memory. The others may move. */
struct top_row *top_rows_add(struct top_rows *rows);
/* Puts the scopes of all expanded rows below them. Returns 0 or -ENOMEM. */
int top_rows_expand(const struct ttmem_snapshot *snapshot,
	const struct top_expanded *expanded, struct top_rows *rows);

/* Whether it is on the device; TTMEM_NONE: on any. */
bool top_object_is_on(const struct ttmem_snapshot *snapshot,
	const struct ttmem_object_row *object, uint64_t device);

/* The bytes that it uses there; TTMEM_NONE: on all its devices. */
uint64_t top_object_bytes(
	const struct ttmem_object_row *object, uint64_t device);

#endif

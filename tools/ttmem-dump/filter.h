/* SPDX-License-Identifier: Apache-2.0 */
/* --device, --pid, --kind, --scope: what of a snapshot is asked for. */
#ifndef TTM_DUMP_FILTER_H
#define TTM_DUMP_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ttmem/reader.h>

#include "common/choice.h"
#include "common/device.h"
#include "part.h"

#define DUMP_FIGURES_ALL ((1u << TTMEM_FIGURES) - 1)
#define DUMP_SELECTORS_MAX 64u
#define DUMP_PIDS_MAX 256u
#define DUMP_SCOPES_MAX 64u

/* Zeroed: everything. Texts are kept, not copied. */
struct dump_filter {
	struct ttm_device_selector devices[DUMP_SELECTORS_MAX];
	size_t devices_len;
	uint64_t pids[DUMP_PIDS_MAX];
	size_t pids_len;
	const char *scopes[DUMP_SCOPES_MAX];
	size_t scopes_len;
	uint32_t figures; /* 1 << enum ttmem_figure; 0: all */
};

/*
 * Adds what the value of an option says. Ends the program with TTM_EXIT_USAGE for
 * a wrong one; `option` is its name, for that.
 */
void dump_filter_add_devices(
	struct dump_filter *filter, const char *option, const char *value);
void dump_filter_add_pids(
	struct dump_filter *filter, const char *option, const char *value);
void dump_filter_add_scope(
	struct dump_filter *filter, const char *option, const char *value);
void dump_filter_add_kinds(
	struct dump_filter *filter, const char *option, const char *value);

/* "dram,cb": a set of figures, as above. */
uint32_t dump_kinds_parse(const char *option, const char *value);

/* Returns the text that suggests a kind, or lists all; it is in `choice`. */
const char *dump_kind_choice(struct ttm_choice *choice, const char *given);

/* Whether anything is left out. */
bool dump_filter_is_set(const struct dump_filter *filter);

bool dump_filter_has_figure(const struct dump_filter *filter, uint64_t figure);
/* No scope is the text "". */
bool dump_filter_has_scope(const struct dump_filter *filter, const char *scope);

/*
 * What a filter leaves of one snapshot. A device is selected if it is asked for
 * and, with --pid, one of those processes has to do with it; a process likewise.
 */
struct dump_selection {
	const struct ttmem_snapshot *snapshot;
	const struct dump_filter *filter;
	bool *devices;   /* by index */
	bool *processes; /* by index */
	bool *places;    /* by index: at least one device is selected */
	/* Of each process on the selected devices; TTMEM_FIGURES for each. */
	struct ttmem_sums *sums;
};

/* Returns 0 or -ENOMEM. Both arguments must outlive it. */
int dump_selection_make(const struct ttmem_snapshot *snapshot,
	const struct dump_filter *filter, struct dump_selection *ret_selection);
void dump_selection_free(struct dump_selection *selection);

/*
 * A figure of a process over all its selected devices; its peak is unknown: peaks do
 * not add up. The index must be one of a process.
 */
const struct ttmem_sums *dump_selection_sums(
	const struct dump_selection *selection, uint64_t process,
	unsigned figure);

/* Constant time. An index that is none is in no selection of some, but in all. */
bool dump_selection_has_device(
	const struct dump_selection *selection, uint64_t index);
bool dump_selection_has_process(
	const struct dump_selection *selection, uint64_t index);
bool dump_selection_has_share(const struct dump_selection *selection,
	const struct ttmem_share_row *share);
/* On one of the selected devices at least; no place is as no device. */
bool dump_selection_has_place(
	const struct dump_selection *selection, uint64_t index);
bool dump_selection_has_object(const struct dump_selection *selection,
	const struct ttmem_object_row *object);
bool dump_selection_has_part(
	const struct dump_selection *selection, const struct dump_part *part);
bool dump_selection_has_failure(const struct dump_selection *selection,
	const struct ttmem_failure_row *failure);

/* -- names of things, short and usable as selectors ----------------------------- */

/* As ttm_device_name(), for a buffer of any size. */
const char *dump_device_name(const struct ttmem_snapshot *snapshot,
	uint64_t index, char *buffer, size_t buffer_size);

/* The indexes of all devices as ttm_device_compare() sorts them; NULL: no memory. */
uint64_t *dump_devices_sorted(const struct ttmem_snapshot *snapshot);

#endif

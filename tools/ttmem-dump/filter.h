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
#include "common/options.h"
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

/* Values of options, for tables: a filter, of --kind a set of figures. */
ttm_option_take dump_filter_add_devices;
ttm_option_take dump_filter_add_kinds;
ttm_option_take dump_filter_add_pids;
ttm_option_take dump_filter_add_scope;

/* clang-format off */
#define DUMP_OPTIONS_FILTER \
	TTM_OPTION_CALLS(dump_filter_add_devices, filter, "device", "SEL,..", \
		.help = "0, 2-3, logical:0, ..HEX, asic:HEX or pci:BDF"), \
	TTM_OPTION_CALLS(dump_filter_add_pids, filter, "pid", "P,..", .help = ""), \
	TTM_OPTION_CALLS(dump_filter_add_kinds, filter.figures, "kind", "K,..", \
		.help = "dram, l1, l1_small, trace, system_memory, cb,\n" \
			"kernel_application, kernel_fabric, kernel_dispatch,\n" \
			"or kernel for the three"), \
	TTM_OPTION_CALLS(dump_filter_add_scope, filter, "scope", "PATTERN", \
		.help = "objects of scopes like 'ttnn.*'; may be repeated")
/* clang-format on */

/* The figures of a kind, "kernel" for three; 0: unknown. */
uint32_t dump_kind_find(const char *name);

/* Returns the text that suggests a kind, or lists all; it is in `choice`. */
const char *dump_kind_choice(struct ttm_choice *choice, const char *given);

/* Whether anything is left out. */
bool dump_filter_is_set(const struct dump_filter *filter);

bool dump_has_figure(const struct dump_filter *filter, uint64_t figure);
/* No scope is the text "". */
bool dump_has_scope(const struct dump_filter *filter, const char *scope);

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

/*
 * Adds what is there: bytes and objects that are live or orphaned. The peak is unknown
 * then: those of several were not at one time.
 */
void dump_sums_add(struct ttmem_sums *sums, const struct ttmem_sums *more);

/* Constant time. An index that is none is in no selection of some, but in all. */
bool dump_has_device(const struct dump_selection *selection, uint64_t index);
bool dump_has_process(const struct dump_selection *selection, uint64_t index);
bool dump_has_share(const struct dump_selection *selection,
	const struct ttmem_share_row *share);
/* On one of the selected devices at least; no place is as no device. */
bool dump_has_place(const struct dump_selection *selection, uint64_t index);
bool dump_has_object(const struct dump_selection *selection,
	const struct ttmem_object_row *object);
bool dump_has_part(
	const struct dump_selection *selection, const struct dump_part *part);
bool dump_has_failure(const struct dump_selection *selection,
	const struct ttmem_failure_row *failure);

/* -- names of things, short and usable as selectors ----------------------------- */

/* As ttm_device_name(), for a buffer of any size. */
const char *dump_device_name(const struct ttmem_snapshot *snapshot,
	uint64_t index, char *buffer, size_t buffer_size);

/* The indexes of all devices as ttm_device_compare() sorts them; NULL: no memory. */
uint64_t *dump_devices_sorted(const struct ttmem_snapshot *snapshot);

#endif

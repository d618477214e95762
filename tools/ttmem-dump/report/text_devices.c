/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* Each chip: what is where, against what there is. */
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

struct device_part {
	const struct dump_report *report;
	const struct ttmem_device_row *device;
	bool requested;    /* some figures differ from the used bytes */
	uint64_t unbanked; /* buffers without bank figures */
	struct dump_table table;
};

static bool has_figure(const struct device_part *part, unsigned figure)
{
	return dump_has_figure(&part->report->options->filter, figure);
}

/* Name, live, requested, objects, peak, capacity, percent, orphaned. */
static void row_add(struct device_part *part, const char *name,
	const struct ttmem_sums *sums, uint64_t capacity)
{
	struct dump_table *table = &part->table;
	char cell[DUMP_CELL_SIZE];

	dump_table_add(table, "pb", name, sums->live_bytes);
	if (part->requested)
		dump_table_add(table, "b", sums->requested_bytes);
	dump_table_add(table, "nbbpb", sums->live_objects, sums->peak_bytes,
		capacity, dump_percent(sums->live_bytes, capacity, cell),
		sums->orphaned_bytes);
}

static void figure_add(struct device_part *part, const char *name,
	unsigned figure, uint64_t capacity)
{
	if (has_figure(part, figure))
		row_add(part, name, &part->device->figures[figure], capacity);
}

/* Only what is used and its peak: totals have no objects of their own. */
static void total_add(struct device_part *part, const char *name, uint64_t use,
	uint64_t peak, uint64_t capacity)
{
	struct ttmem_sums sums;

	memset(&sums, 0xff, sizeof(sums)); /* unknown */
	sums.live_bytes = use;
	sums.peak_bytes = peak;
	row_add(part, name, &sums, capacity);
}

/* Peaks of several do not add up: they were not at one time. */
static void kernels_add(struct device_part *part)
{
	static const char *const names[] = { "    Application",
		"    Fabric (ethernet cores)", "    Dispatch" };
	const struct ttmem_device_row *d = part->device;
	const struct ttmem_sums *figures = &d->figures[TTMEM_FIGURE_KERNEL];
	struct ttmem_sums all = figures[0];
	uint64_t ring = 0, capacity;
	unsigned i;

	for (i = 0; i < TTMEM_KERNEL_TYPES; i++)
		ring = ttm_value_add(ring, d->ring_bytes[i]);
	/* The ring is reserved: those in it are held against nothing. */
	capacity = ring ? TTMEM_UNKNOWN : d->l1_bytes;
	dump_sums_add(&all, &figures[1]);
	dump_sums_add(&all, &figures[2]);
	if (has_figure(part, TTMEM_FIGURE_KERNEL_APPLICATION) &&
		has_figure(part, TTMEM_FIGURE_KERNEL_FABRIC) &&
		has_figure(part, TTMEM_FIGURE_KERNEL_DISPATCH))
		row_add(part, "  Kernels", &all, capacity);
	for (i = 0; i < TTMEM_KERNEL_TYPES; i++)
		figure_add(part, names[i], TTMEM_FIGURE_KERNEL + i,
			i == TTMEM_KERNEL_FABRIC ? TTMEM_UNKNOWN : capacity);
	if (ring != 0 && has_figure(part, TTMEM_FIGURE_KERNEL_APPLICATION))
		total_add(part, "    of these in the ring", ring, TTMEM_UNKNOWN,
			TTMEM_UNKNOWN);
}

static uint64_t region_bytes(uint64_t per_core, uint64_t cores)
{
	uint64_t bytes;

	if (per_core == TTMEM_UNKNOWN || cores == TTMEM_UNKNOWN ||
		__builtin_mul_overflow(per_core, cores, &bytes))
		return TTMEM_UNKNOWN;
	return bytes;
}

static void rows_add(struct device_part *part)
{
	const struct ttmem_device_row *d = part->device;
	bool whole = !part->report->options->filter.figures;

	figure_add(part, "  L1 buffers", TTMEM_FIGURE_L1, d->l1_bytes);
	figure_add(part, "  L1_SMALL", TTMEM_FIGURE_L1_SMALL,
		region_bytes(d->l1_small_bytes, d->cores));
	/* Programs take turns: the sum is held against nothing. */
	figure_add(part, "  CBs", TTMEM_FIGURE_CB, TTMEM_UNKNOWN);
	if (has_figure(part, TTMEM_FIGURE_CB))
		total_add(part,
			d->cb_footprint_exact == 1 ? "    footprint" :
						     "    footprint, at least",
			d->cb_footprint, TTMEM_UNKNOWN, d->l1_bytes);
	kernels_add(part);
	if (whole)
		total_add(part, "  L1 total", d->l1_tensix_use,
			d->l1_tensix_peak, d->l1_bytes);
	figure_add(part, "  DRAM buffers", TTMEM_FIGURE_DRAM, d->dram_bytes);
	figure_add(part, "  TRACE", TTMEM_FIGURE_TRACE, d->trace_bytes);
	if (whole)
		total_add(part, "  DRAM total", d->dram_use, d->dram_peak,
			d->dram_bytes);
	figure_add(part, "  System memory", TTMEM_FIGURE_SYSTEM_MEMORY,
		TTMEM_UNKNOWN);
}

static void title_print(const struct device_part *part, size_t index)
{
	const struct ttmem_device_row *d = part->device;
	char name[DUMP_NAME_SIZE], cell[DUMP_CELL_SIZE], text[DUMP_CELL_SIZE];
	FILE *file = part->report->file;

	fprintf(file, "\nDevice %s",
		dump_device_name(
			part->report->snapshot, index, name, sizeof(name)));
	if (d->arch)
		fprintf(file, ", %s",
			ttm_text_escape(d->arch, text, sizeof(text)));
	if (d->board)
		fprintf(file, " %s",
			ttm_text_escape(d->board, text, sizeof(text)));
	if (d->chip_id != TTMEM_UNKNOWN)
		fprintf(file, ", asic:%llx", (unsigned long long)d->chip_id);
	if (d->pci_address != TTMEM_UNKNOWN)
		fprintf(file, ", pci:%s", ttm_pci_text(d->pci_address, cell));
	if (d->identity == TTMEM_IDENTITY_LOGICAL)
		fputs(", unidentified: may be several chips", file);
	fprintf(file, ", %s process%s\n", ttm_count_text(d->processes, cell),
		d->processes == 1 ? "" : "es");
}

static void headroom_print(const struct device_part *part)
{
	const struct ttmem_device_row *d = part->device;
	char cell[DUMP_CELL_SIZE], program[DUMP_CELL_SIZE];
	char name[DUMP_NAME_SIZE];
	FILE *file = part->report->file;

	fprintf(file, "  Headroom of L1: %s",
		dump_bytes_signed(
			d->headroom, part->report->options->exact, cell));
	if (d->clash_process != TTMEM_NONE)
		fprintf(file, ", %s",
			dump_process_name(part->report->snapshot,
				d->clash_process, name));
	/* Without CBs it is the base of L1 that ends it. */
	if (d->clash_program != TTMEM_UNKNOWN && d->cb_footprint != 0)
		fprintf(file, ", program %s",
			dump_hex(d->clash_program, program));
	if (d->headroom != TTMEM_HEADROOM_UNKNOWN && d->headroom < 0)
		fputs(": CLASH with an L1 buffer if it runs", file);
	fputc('\n', file);
}

static void flows_print(const struct device_part *part)
{
	const struct ttmem_device_row *d = part->device;
	bool exact = part->report->options->exact;
	char a[DUMP_CELL_SIZE], b[DUMP_CELL_SIZE], c[DUMP_CELL_SIZE];
	FILE *file = part->report->file;
	uint64_t failures = 0;
	unsigned i;

	fprintf(file, "  Flow: %s events/s, %s/s allocated, %s/s freed\n",
		ttm_count_text(d->events_per_s, a),
		dump_bytes(d->alloc_bytes_per_s, exact, b),
		dump_bytes(d->free_bytes_per_s, exact, c));
	fprintf(file, "  Dispatches: application %s, fabric %s, dispatch %s\n",
		ttm_count_text(d->dispatches[TTMEM_KERNEL_APPLICATION], a),
		ttm_count_text(d->dispatches[TTMEM_KERNEL_FABRIC], b),
		ttm_count_text(d->dispatches[TTMEM_KERNEL_DISPATCH], c));
	for (i = 0; i < TTMEM_FAILURE_KINDS; i++)
		failures = ttm_value_add(failures, d->failures[i]);
	if (failures)
		fprintf(file, "  Failed allocations: %s\n",
			ttm_count_text(failures, a));
}

static bool requested_differs(const struct device_part *part)
{
	const struct ttmem_sums *sums = part->device->figures;
	unsigned i;

	for (i = 0; i < TTMEM_FIGURES; i++)
		if (has_figure(part, i) &&
			sums[i].requested_bytes != TTMEM_UNKNOWN &&
			sums[i].requested_bytes != sums[i].live_bytes)
			return true;
	return false;
}

static void unbanked_print(const struct device_part *part)
{
	char cell[DUMP_CELL_SIZE];

	if (part->unbanked)
		fprintf(part->report->file,
			"  Of %s buffer%s, requested bytes count as used: no bank "
			"figures were told\n",
			ttm_count_text(part->unbanked, cell),
			part->unbanked == 1 ? "" : "s");
}

static int device_print(
	const struct dump_report *report, size_t index, uint64_t unbanked)
{
	struct device_part part;
	int r;

	memset(&part, 0, sizeof(part));
	part.report = report;
	part.device = ttmem_snapshot_device(report->snapshot, index);
	part.requested = requested_differs(&part);
	part.unbanked = unbanked;
	part.table.exact = report->options->exact;
	dump_table_columns(
		&part.table, part.requested ? ",>LIVE,>REQUESTED" : ",>LIVE");
	dump_table_columns(
		&part.table, ">OBJECTS,>PEAK,>CAPACITY,>USED,>ORPHANED");
	title_print(&part, index);
	rows_add(&part);
	r = dump_table_print(&part.table, report->file, 0);
	unbanked_print(&part);
	headroom_print(&part);
	flows_print(&part);
	return r;
}

int dump_text_devices(const struct dump_report *report)
{
	size_t len = ttmem_snapshot_devices_len(report->snapshot), i;
	uint64_t *unbanked = dump_unbanked_count(report);
	uint64_t *sorted = dump_devices_sorted(report->snapshot);
	bool some = false;
	int r = sorted && unbanked ? 0 : -ENOMEM;

	for (i = 0; r == 0 && i < len; i++) {
		if (!dump_has_device(&report->selection, sorted[i]))
			continue;
		some = true;
		r = device_print(report, sorted[i], unbanked[sorted[i]]);
	}
	free(sorted);
	free(unbanked);
	if (!some)
		dump_title(report, "No device%s.",
			len ? " of those asked for" :
			      " that a process has named");
	else if (!report->options->filter.figures)
		fputs("\nL1 total: buffers, L1_SMALL, footprint of CBs, kernels; "
		      "without those in the\nring and on ethernet cores. Peaks "
		      "are sampled.\n",
			report->file);
	return r;
}

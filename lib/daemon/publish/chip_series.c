/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/* What a chip's past was: distributions from records, histories from samples. */
#include <hdr/hdr_histogram.h>
#include <string.h>

#include "daemon/publish/chip.h"

/* -- distributions ----------------------------------------------------------- */

#define DIGITS 2
#define BYTES_HIGHEST ((int64_t)1 << 46)
#define LIFETIME_HIGHEST ((int64_t)1 << 50) /* ns: thirteen days */

static int64_t highest_of(enum ttm_distribution_kind kind)
{
	return kind == TTM_DISTRIBUTION_BYTES ? BYTES_HIGHEST :
						LIFETIME_HIGHEST;
}

static bool histogram_make(
	struct hdr_histogram **histogram, enum ttm_distribution_kind kind)
{
	return *histogram ||
		hdr_init(1, highest_of(kind), DIGITS, histogram) == 0;
}

void ttm_chip_record(struct ttm_chip *chip, unsigned figure,
	enum ttm_distribution_kind kind, uint64_t value)
{
	struct ttm_distribution
		*distribution = &chip->distributions[figure][kind];
	int64_t highest = highest_of(kind);

	if (!histogram_make(&distribution->histogram, kind))
		return;
	if (hdr_record_value(distribution->histogram,
		    value < (uint64_t)highest ? (int64_t)value : highest))
		distribution->changed = true;
}

/*
 * The index of a value in the counts, as hdr_record_value() finds it: 256 counts for the
 * first 8 bits, 128 for each bit more.
 */
static uint32_t index_of(uint64_t value)
{
	uint32_t bits = 63u - (uint32_t)__builtin_clzll(value | 255);
	uint32_t shift = bits - 7;

	return (shift << 7) + (uint32_t)(value >> shift);
}

/* Returns the number of the value's entry, a new one if need be; len: there is no room. */
static uint32_t entry_of(struct ttm_values *values, uint32_t at)
{
	uint32_t hash = (at * 0x9e3779b1u) >> 16, n;

	for (;; hash++) {
		hash %= 2 * TTM_VALUES_MAX;
		n = values->found[hash];
		if (!n || values->at[n - 1] == at)
			break;
	}
	if (n)
		return n - 1;
	if (values->len == TTM_VALUES_MAX)
		return TTM_VALUES_MAX;
	values->at[values->len] = at;
	values->times[values->len] = 0;
	values->found[hash] = (uint16_t)++values->len;
	return values->len - 1;
}

bool ttm_values_add(struct ttm_values *values, unsigned figure,
	enum ttm_distribution_kind kind, uint64_t value)
{
	int64_t highest = highest_of(kind), known;
	unsigned of = 2 * figure + kind;
	uint32_t entry;

	known = value < (uint64_t)highest ? (int64_t)value : highest;
	entry = entry_of(values, of << 16 | index_of((uint64_t)known));
	if (entry == TTM_VALUES_MAX)
		return false;
	values->times[entry]++;
	if (known && (!values->kinds[of].min || known < values->kinds[of].min))
		values->kinds[of].min = known;
	if (known > values->kinds[of].max)
		values->kinds[of].max = known;
	values->kinds[of].len++;
	return true;
}

void ttm_values_clear(struct ttm_values *values)
{
	if (values->len) {
		memset(values->kinds, 0, sizeof(values->kinds));
		memset(values->found, 0, sizeof(values->found));
	}
	values->len = 0;
}

/* The counts that the values belong to; NULL: there are none, or no memory. */
static int64_t *counts_open(
	struct ttm_chip *chip, const struct ttm_values *values, unsigned of)
{
	struct ttm_distribution
		*distribution = &chip->distributions[of / 2][of % 2];
	struct hdr_histogram *histogram;

	if (!values->kinds[of].len ||
		!histogram_make(&distribution->histogram,
			(enum ttm_distribution_kind)(of % 2)))
		return NULL;
	histogram = distribution->histogram;
	histogram->total_count += values->kinds[of].len;
	if (values->kinds[of].min &&
		values->kinds[of].min < histogram->min_value)
		histogram->min_value = values->kinds[of].min;
	if (values->kinds[of].max > histogram->max_value)
		histogram->max_value = values->kinds[of].max;
	distribution->changed = true;
	return histogram->counts;
}

void ttm_chip_record_values(
	struct ttm_chip *chip, const struct ttm_values *values)
{
	int64_t *counts[TTM_VALUES_KINDS];
	uint32_t i;

	for (i = 0; i < TTM_VALUES_KINDS; i++)
		counts[i] = counts_open(chip, values, i);
	for (i = 0; i < values->len; i++)
		if (counts[values->at[i] >> 16])
			counts[values->at[i] >> 16]
			      [values->at[i] & 0xffff] += values->times[i];
}

static uint64_t unsigned_of(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

/*
 * Mean and percentiles as hdr_mean() and hdr_value_at_percentiles() give them, which
 * go through all counts one by one by function calls, each for itself. There may be
 * hundreds of distributions.
 */
static void counts_describe(
	const struct hdr_histogram *histogram, struct ttm_distribution_row *row)
{
	static const double percents[4] = { 50, 90, 99, 99.9 };
	uint64_t *const results[4] = { &row->p50, &row->p90, &row->p99,
		&row->p999 };
	int64_t wanted[4], seen = 0, value;
	double sum = 0;
	unsigned at = 0;
	int32_t i;

	for (i = 0; i < 4; i++) {
		wanted[i] = (int64_t)(percents[i] / 100 *
				(double)histogram->total_count +
			0.5);
		if (wanted[i] < 1)
			wanted[i] = 1;
	}
	for (i = 0; i < histogram->counts_len && seen < histogram->total_count;
		i++) {
		if (!histogram->counts[i])
			continue;
		value = hdr_value_at_index(histogram, i);
		seen += histogram->counts[i];
		sum += (double)histogram->counts[i] *
			(double)hdr_median_equivalent_value(histogram, value);
		for (; at < 4 && seen >= wanted[at]; at++)
			*results[at] = unsigned_of(
				hdr_next_non_equivalent_value(
					histogram, value) -
				1);
	}
	if (seen)
		row->mean = unsigned_of((int64_t)(sum / (double)seen));
}

static void distribution_publish(struct ttm_chips *chips, struct ttm_chip *chip,
	unsigned figure, unsigned kind)
{
	struct ttm_distribution
		*distribution = &chip->distributions[figure][kind];
	struct hdr_histogram *histogram = distribution->histogram;
	struct ttm_distribution_row row;

	if (!distribution->row)
		distribution->row = ttm_image_add(
			chips->image, TTM_TABLE_DISTRIBUTIONS);
	if (!distribution->row) {
		chips->memory_errors++;
		return;
	}
	memset(&row, 0, sizeof(row));
	row.device = chip->row;
	row.figure = figure;
	row.kind = kind;
	row.total = unsigned_of(histogram->total_count);
	row.min = unsigned_of(hdr_min(histogram));
	row.max = unsigned_of(hdr_max(histogram));
	counts_describe(histogram, &row);
	ttm_image_set(
		chips->image, TTM_TABLE_DISTRIBUTIONS, distribution->row, &row);
	distribution->changed = false;
}

void ttm_chips_describe(struct ttm_chips *chips)
{
	struct ttm_chip *chip;
	unsigned figure, kind;

	for (chip = chips->first; chip; chip = chip->next)
		for (figure = 0; figure < TTMEM_FIGURES; figure++)
			for (kind = 0; kind < 2; kind++)
				if (chip->distributions[figure][kind].changed)
					distribution_publish(
						chips, chip, figure, kind);
}

/* -- histories --------------------------------------------------------------- */

static const struct resolution {
	enum ttm_table_id table;
	uint64_t seconds;
	uint64_t capacity;
} resolutions[TTM_RESOLUTIONS] = {
	{ TTM_TABLE_HISTORY_1S, 1, TTM_HISTORY_1S },
	{ TTM_TABLE_HISTORY_10S, 10, TTM_HISTORY_10S },
	{ TTM_TABLE_HISTORY_1M, 60, TTM_HISTORY_1M },
};

static uint64_t events_of(const struct ttm_sums figures[TTMEM_FIGURES],
	const uint64_t dispatches[3])
{
	uint64_t events = 0;
	unsigned i;

	for (i = 0; i < TTMEM_FIGURES; i++)
		events += figures[i].alloc_objects + figures[i].free_objects;
	for (i = 0; i < 3; i++)
		events += dispatches[i];
	return events;
}

static bool history_add_row(struct ttm_chips *chips, struct ttm_chip *chip,
	unsigned at, struct ttm_history_row *ret_head)
{
	const struct resolution *resolution = &resolutions[at];
	const struct ttm_history_row *row;

	if (!chip->history_rows[at]) {
		chip->history_rows[at] = ttm_image_add(
			chips->image, resolution->table);
		if (!chip->history_rows[at]) {
			chips->memory_errors++;
			return false;
		}
		memset(ret_head, 0, sizeof(*ret_head));
		ret_head->device = chip->row;
		ret_head->interval_ns = resolution->seconds * 1000000000u;
		ret_head->capacity = resolution->capacity;
		return true;
	}
	row = ttm_image_row(
		chips->image, resolution->table, chip->history_rows[at]);
	memcpy(ret_head, row, sizeof(*ret_head));
	return true;
}

static void point_add(struct ttm_chips *chips, struct ttm_chip *chip,
	unsigned at, uint64_t now_ns)
{
	const struct ttm_device_row *total = &chip->total;
	enum ttm_table_id table = resolutions[at].table;
	struct ttm_point point = { .time_ns = now_ns };
	struct ttm_history_row head;
	unsigned i;

	if (!history_add_row(chips, chip, at, &head))
		return;
	point.dram_use = total->dram_use;
	point.l1_use = total->l1_use;
	point.dram_use_max = chip->dram_max[at];
	point.l1_use_max = chip->l1_max[at];
	point.events = events_of(total->figures, total->dispatches);
	point.processes = total->processes;
	for (i = 0; i < TTMEM_FIGURES; i++)
		point.live_bytes[i] = total->figures[i].live_bytes;
	ttm_image_set_part(chips->image, table, chip->history_rows[at],
		sizeof(head) + head.points_len % head.capacity * sizeof(point),
		&point, sizeof(point));
	head.points_len++;
	head.self = chip->history_rows[at];
	ttm_image_set_part(chips->image, table, chip->history_rows[at], 0,
		&head, sizeof(head));
	chip->dram_max[at] = total->dram_use;
	chip->l1_max[at] = total->l1_use;
}

static uint64_t rate(uint64_t now, uint64_t *before)
{
	uint64_t moved = now - *before;

	*before = now;
	/* Nothing here goes back; what cannot be is not shown as a rate. */
	return moved > INT64_MAX ? 0 : moved;
}

static void rates_set(struct ttm_chip *chip)
{
	uint64_t alloc_bytes = 0, free_bytes = 0;
	struct ttm_device_row *total = &chip->total;
	unsigned i;

	for (i = 0; i < TTMEM_FIGURES; i++) {
		alloc_bytes += total->figures[i].alloc_bytes;
		free_bytes += total->figures[i].free_bytes;
	}
	total->events_per_s = rate(events_of(total->figures, total->dispatches),
		&chip->rate_events);
	total->alloc_bytes_per_s = rate(alloc_bytes, &chip->rate_alloc_bytes);
	total->free_bytes_per_s = rate(free_bytes, &chip->rate_free_bytes);
	/* What was before the first look happened in no second. */
	if (!chip->rated) {
		total->events_per_s = 0;
		total->alloc_bytes_per_s = 0;
		total->free_bytes_per_s = 0;
	}
	chip->rated = true;
	chip->changed = true;
}

void ttm_chip_rates_skip(
	struct ttm_chip *chip, const struct ttm_share_row *share, uint64_t sign)
{
	unsigned i;

	chip->rate_events += sign *
		events_of(share->figures, share->dispatches);
	for (i = 0; i < TTMEM_FIGURES; i++) {
		chip->rate_alloc_bytes += sign * share->figures[i].alloc_bytes;
		chip->rate_free_bytes += sign * share->figures[i].free_bytes;
	}
}

void ttm_chips_tick(struct ttm_chips *chips, uint64_t now_ns)
{
	struct ttm_chip *chip;
	unsigned at;

	chips->tick++;
	for (chip = chips->first; chip; chip = chip->next) {
		if (!chip->claimed)
			continue; /* no process has ever used it */
		rates_set(chip);
		for (at = 0; at < TTM_RESOLUTIONS; at++)
			if (chips->tick % resolutions[at].seconds == 0)
				point_add(chips, chip, at, now_ns);
	}
}

void ttm_chip_resume_history(struct ttm_chips *chips, struct ttm_chip *chip,
	unsigned resolution, const struct ttm_history_row *row, size_t size)
{
	enum ttm_table_id table = resolutions[resolution].table;
	struct ttm_history_row head;

	if (row->capacity != resolutions[resolution].capacity ||
		chip->history_rows[resolution] ||
		size < sizeof(*row) + row->capacity * sizeof(row->points[0]))
		return;
	if (!history_add_row(chips, chip, resolution, &head))
		return;
	head.self = chip->history_rows[resolution];
	head.points_len = row->points_len;
	ttm_image_set_part(
		chips->image, table, head.self, 0, &head, sizeof(head));
	ttm_image_set_part(chips->image, table, head.self, sizeof(head),
		row->points, row->capacity * sizeof(row->points[0]));
}

void ttm_chip_inherit_histories(
	struct ttm_chips *chips, struct ttm_chip *to, struct ttm_chip *from)
{
	unsigned at;

	for (at = 0; at < TTM_RESOLUTIONS; at++) {
		if (to->history_rows[at] || !from->history_rows[at])
			continue;
		to->history_rows[at] = from->history_rows[at];
		from->history_rows[at] = 0;
		ttm_image_set_part(chips->image, resolutions[at].table,
			to->history_rows[at],
			offsetof(struct ttm_history_row, device), &to->row,
			sizeof(to->row));
	}
}

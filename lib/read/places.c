/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include "read/places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/convert.h"

#define FIRST_SIZE 64u
#define ENTRIES 64u
/* Of 64 devices, each by its PCI address or chip id. */
#define LABEL_SIZE 2048u

static const struct ttm_share_row *usage_row(
	const struct ttm_convert *c, size_t process, unsigned entry)
{
	uint32_t row = c->places->usages[process][entry];

	if (!row)
		return NULL;
	return (const void *)((const char *)c->copy->rows[TTM_TABLE_SHARES] +
		(row - 1) * c->copy->stride[TTM_TABLE_SHARES]);
}

int ttm_places_make(struct ttm_convert *c)
{
	size_t processes = c->copy->len[TTM_TABLE_PROCESSES], i;
	const char *row = c->copy->rows[TTM_TABLE_SHARES];
	struct ttm_places *places = calloc(1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	places->usages = calloc(processes + 1, sizeof(*places->usages));
	places->table = calloc(FIRST_SIZE, sizeof(*places->table));
	places->table_size = FIRST_SIZE;
	c->places = places;
	if (!places->usages || !places->table)
		return -ENOMEM;
	for (i = 0; i < c->copy->len[TTM_TABLE_SHARES];
		i++, row += c->copy->stride[TTM_TABLE_SHARES]) {
		const struct ttm_share_row *share = (const void *)row;

		if (share->self && TTM_REF_INDEX(share->self) == i &&
			share->entry < ENTRIES &&
			ttm_view_row(
				c->copy, TTM_TABLE_PROCESSES, share->process))
			places->usages[TTM_REF_INDEX(share->process)]
				      [share->entry] = (uint32_t)i + 1;
	}
	return 0;
}

void ttm_places_free(struct ttm_places *places)
{
	if (!places)
		return;
	free(places->list);
	free(places->table);
	free(places->usages);
	free(places);
}

/* -- the table ----------------------------------------------------------------- */

static uint64_t place_hash(size_t process, uint64_t members)
{
	uint64_t hash = (members ^ process << 1) * 0x9e3779b97f4a7c15ull;

	return hash ^ hash >> 32;
}

static void table_put(struct ttm_places *places, size_t index)
{
	const struct ttm_place *place = &places->list[index];
	size_t at = place_hash(place->process, place->members);

	while (places->table[at & (places->table_size - 1)])
		at++;
	places->table[at & (places->table_size - 1)] = index + 1;
}

static int table_grow(struct ttm_places *places)
{
	size_t size = places->table_size * 2, i;
	size_t *table = calloc(size, sizeof(*table));

	if (!table)
		return -ENOMEM;
	free(places->table);
	places->table = table;
	places->table_size = size;
	for (i = 0; i < places->len; i++)
		table_put(places, i);
	return 0;
}

static struct ttm_place *place_append(struct ttm_places *places)
{
	size_t room = places->room ? places->room * 2 : FIRST_SIZE;
	struct ttm_place *list;

	if (places->len == places->room) {
		list = realloc(places->list, room * sizeof(*list));
		if (!list)
			return NULL;
		places->list = list;
		places->room = room;
	}
	return &places->list[places->len];
}

static void place_set(const struct ttm_convert *c, size_t process,
	uint64_t members, struct ttm_place *ret_place)
{
	struct ttm_place place = { members, process, true, 0 };
	unsigned entry;

	for (entry = 0; entry < ENTRIES; entry++) {
		const struct ttm_share_row *share;

		if (!(members >> entry & 1))
			continue;
		share = usage_row(c, process, entry);
		if (!share)
			place.listed = false;
		else if ((uint32_t)share->epoch > place.epoch)
			place.epoch = (uint32_t)share->epoch;
	}
	*ret_place = place;
}

int ttm_places_add(const struct ttm_convert *c, uint64_t process,
	uint64_t members, uint64_t *ret_index)
{
	struct ttm_places *places = c->places;
	size_t row = TTM_REF_INDEX(process), at, index;
	struct ttm_place *place;

	*ret_index = TTMEM_NONE;
	if (!members || !ttm_view_row(c->copy, TTM_TABLE_PROCESSES, process))
		return 0;
	at = place_hash(row, members);
	while ((index = places->table[at & (places->table_size - 1)]) != 0) {
		place = &places->list[index - 1];
		if (place->process == row && place->members == members) {
			*ret_index = index - 1;
			return 0;
		}
		at++;
	}
	place = place_append(places);
	if (!place)
		return -ENOMEM;
	place_set(c, row, members, place);
	*ret_index = places->len++;
	if (2 * places->len > places->table_size)
		return table_grow(places);
	table_put(places, (size_t)*ret_index);
	return 0;
}

bool ttm_place_orphaned(const struct ttm_convert *c, uint64_t place,
	uint16_t stamp, uint64_t *ret_members)
{
	const struct ttm_place *p = &c->places->list[place];
	const struct ttm_process_row *process = (const void
			*)((const char *)c->copy->rows[TTM_TABLE_PROCESSES] +
		p->process * c->copy->stride[TTM_TABLE_PROCESSES]);
	unsigned entry;

	*ret_members = 0;
	if (!p->listed)
		return false;
	/* Nearly always no member was closed since. */
	if (!ttm_stamp_is_orphaned(process->closes, stamp, p->epoch))
		return true;
	for (entry = 0; entry < ENTRIES; entry++) {
		const struct ttm_share_row *share = usage_row(
			c, p->process, entry);

		if (p->members >> entry & 1 && share &&
			ttm_stamp_is_orphaned(
				process->closes, stamp, (uint32_t)share->epoch))
			*ret_members |= 1ull << entry;
	}
	return true;
}

/* -- labels -------------------------------------------------------------------- */

struct label {
	char text[LABEL_SIZE];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void label_add(
	struct label *label, const char *format, ...)
{
	size_t room = sizeof(label->text) - label->length;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(
		label->text + label->length, room, format, arguments);
	va_end(arguments);
	if (length > 0 && (size_t)length < room)
		label->length += (size_t)length;
}

static const char *label_comma(const struct label *label)
{
	return label->length ? "," : "";
}

static int number_compare(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

/* "0-3,7": numbers without a gap are a range. */
static void label_add_numbers(
	struct label *label, uint64_t *numbers, size_t len)
{
	size_t i, end;

	qsort(numbers, len, sizeof(*numbers), number_compare);
	for (i = 0; i < len; i = end + 1) {
		end = i;
		while (end + 1 < len && numbers[end + 1] <= numbers[end] + 1)
			end++;
		label_add(label, "%s%" PRIu64, label_comma(label), numbers[i]);
		if (numbers[end] != numbers[i])
			label_add(label, "-%" PRIu64, numbers[end]);
	}
}

static bool device_is_named(const struct ttmem_device_row *device,
	const uint64_t *logicals, size_t len)
{
	size_t low = 0, high = len, middle;

	if (device->chip_id == TTMEM_UNKNOWN &&
		device->pci_address == TTMEM_UNKNOWN)
		return true; /* by nothing better */
	while (low < high) {
		middle = low + (high - low) / 2;
		if (logicals[middle] < device->logical)
			low = middle + 1;
		else
			high = middle;
	}
	return low + 1 >= len || logicals[low + 1] != device->logical;
}

/*
 * Devices are called as the selectors of the tools call them: by the logical id unless
 * several devices have it. `logicals` has those of all devices, sorted.
 */
static void label_make(const struct ttmem_snapshot *snapshot,
	const uint64_t *logicals, const struct ttmem_place_row *place,
	struct label *ret_label)
{
	size_t devices = snapshot->tables[TTM_RECORD_DEVICES].len, i, len = 0;
	uint64_t numbers[ENTRIES];
	bool named[ENTRIES], unlisted = false;

	ret_label->length = 0;
	ret_label->text[0] = '\0';
	for (i = 0; i < place->devices_len; i++) {
		const struct ttmem_device_row *device = ttmem_snapshot_device(
			snapshot, place->devices[i]);

		named[i] = device && device->logical != TTMEM_UNKNOWN &&
			device_is_named(device, logicals, devices);
		if (named[i])
			numbers[len++] = device->logical;
	}
	label_add_numbers(ret_label, numbers, len);
	for (i = 0; i < place->devices_len; i++) {
		const struct ttmem_device_row *device = ttmem_snapshot_device(
			snapshot, place->devices[i]);

		if (named[i])
			continue;
		if (device && device->chip_id != TTMEM_UNKNOWN)
			label_add(ret_label, "%sasic:%" PRIx64,
				label_comma(ret_label), device->chip_id);
		else if (device && device->pci_address != TTMEM_UNKNOWN)
			label_add(ret_label,
				"%spci:%04" PRIx64 ":%02" PRIx64 ":%02" PRIx64
				".%" PRIx64,
				label_comma(ret_label),
				device->pci_address >> 16,
				device->pci_address >> 8 & 0xff,
				device->pci_address >> 3 & 0x1f,
				device->pci_address & 7);
		else
			unlisted = true;
	}
	if (unlisted)
		label_add(ret_label, "%s-", label_comma(ret_label));
}

/* -- rows ---------------------------------------------------------------------- */

static int row_fill(const struct ttm_convert *c, const struct ttm_place *place,
	struct ttmem_place_row *to)
{
	size_t len = (size_t)__builtin_popcountll(place->members), n = 0;
	uint64_t *indexes = ttm_pool_take(
		&c->snapshot->pool, 2 * len * sizeof(*indexes));
	unsigned entry;

	if (!indexes)
		return -ENOMEM;
	to->process = c->index[TTM_TABLE_PROCESSES][place->process];
	to->devices = indexes;
	to->usages = indexes + len;
	to->devices_len = to->usages_len = len;
	for (entry = 0; entry < ENTRIES; entry++) {
		const struct ttm_share_row *share;

		if (!(place->members >> entry & 1))
			continue;
		share = usage_row(c, place->process, entry);
		indexes[n] = share ?
			ttm_convert_ref(c, TTM_TABLE_DEVICES, share->device) :
			TTMEM_NONE;
		indexes[len + n] = share ?
			ttm_convert_ref(c, TTM_TABLE_SHARES, share->self) :
			TTMEM_NONE;
		n++;
	}
	return 0;
}

/* The logical ids of all devices, sorted. */
static uint64_t *logicals_sort(const struct ttmem_snapshot *snapshot)
{
	size_t len = snapshot->tables[TTM_RECORD_DEVICES].len, i;
	uint64_t *logicals = malloc((len + 1) * sizeof(*logicals));

	for (i = 0; logicals && i < len; i++)
		logicals[i] = ttmem_snapshot_device(snapshot, i)->logical;
	if (logicals)
		qsort(logicals, len, sizeof(*logicals), number_compare);
	return logicals;
}

int ttm_places_fill(const struct ttm_convert *c)
{
	size_t len = c->places->len, i;
	struct ttmem_place_row *to;
	struct label label;
	uint64_t *logicals;
	int r = ttm_snapshot_make_rows(c->snapshot, TTM_RECORD_PLACES, len);

	if (r < 0)
		return r;
	logicals = logicals_sort(c->snapshot);
	if (!logicals)
		return -ENOMEM;
	to = c->snapshot->tables[TTM_RECORD_PLACES].rows;
	for (i = 0; r == 0 && i < len; i++) {
		r = row_fill(c, &c->places->list[i], &to[i]);
		if (r < 0)
			break;
		label_make(c->snapshot, logicals, &to[i], &label);
		to[i].label = ttm_pool_text(
			&c->snapshot->pool, label.text, label.length);
		if (!to[i].label)
			r = -ENOMEM;
	}
	free(logicals);
	return r;
}

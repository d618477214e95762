/* SPDX-License-Identifier: Apache-2.0 */
/* telemetry: sysfs -> probe -> report -> [rows] */
#include "daemon/publish/telemetry_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/find/registry.h"
#include "shm/atomics.h"

/* Who reports may change though the reports do not. */
#define REPORTING_INTERVAL_NS 1000000000ull

/* A place of a worker, as it is shown. */
struct shown {
	uint64_t serial; /* of the report, 0: nothing is shown */
	uint64_t busy_ns;
	uint64_t row;
	struct ttm_chip *chip;         /* NULL: not to be identified */
	struct ttm_device_facts facts; /* that said so */
	struct ttm_holder_row *holders;
	size_t holders_len;
};

struct reporting {
	uint32_t pid;
	uint64_t row;
};

struct ttm_telemetry_rows {
	struct shown shown[TTM_WORKERS_MAX];
	uint64_t reporting_ns; /* when it was looked who reports */
};

int ttm_telemetry_rows_new(struct ttm_telemetry_rows **ret_rows)
{
	*ret_rows = calloc(1, sizeof(**ret_rows));
	return *ret_rows ? 0 : -ENOMEM;
}

void ttm_telemetry_rows_free(struct ttm_telemetry_rows **rows)
{
	size_t i;

	for (i = 0; *rows && i < TTM_WORKERS_MAX; i++)
		free((*rows)->shown[i].holders);
	free(*rows);
	*rows = NULL;
}

/* -- which device ------------------------------------------------------------- */

static void facts_of(
	const struct ttm_telemetry_row *row, struct ttm_device_facts *ret_facts)
{
	struct ttm_device_facts *facts = ret_facts;

	memset(facts, 0, sizeof(*facts));
	if (row->chip_id != TTMEM_UNKNOWN)
		facts->known |= TTM_FACT_CHIP_ID;
	facts->chip_id = row->chip_id;
	if (row->pci_address != TTMEM_UNKNOWN)
		facts->known |= TTM_FACT_PCI_ADDRESS;
	facts->pci_address = row->pci_address;
	if (row->arch[0])
		facts->known |= TTM_FACT_ARCH;
	memcpy(facts->arch, row->arch, sizeof(facts->arch));
	/* The driver's word for not knowing. */
	if (row->card_type[0] && strcmp(row->card_type, "unknown") != 0)
		facts->known |= TTM_FACT_BOARD;
	memcpy(facts->board, row->card_type, sizeof(facts->board));
}

static void chip_assign(struct shown *shown,
	const struct ttm_telemetry_row *row, struct ttm_output *output)
{
	struct ttm_chip *before = shown->chip;
	struct ttm_device_facts facts;

	facts_of(row, &facts);
	/* An id is for ever; an address means who is there now. */
	if (before && (facts.known & TTM_FACT_CHIP_ID) &&
		memcmp(&facts, &shown->facts, sizeof(facts)) == 0)
		return;
	shown->facts = facts;
	/* A device that only telemetry knew of goes with it. */
	ttm_chip_point(&shown->chip, ttm_chip_see(&output->chips, &facts));
	if (shown->chip != before)
		output->changed = true;
}

/* -- holders ------------------------------------------------------------------ */

static int reporting_order(const void *a, const void *b)
{
	const struct reporting *one = a, *other = b;

	return one->pid < other->pid ? -1 : one->pid > other->pid;
}

/* Those that report, by the pid that we see; NULL: none, or no memory. */
static struct reporting *reporting_list(
	struct ttm_registry *registry, size_t *ret_len)
{
	struct reporting *list = NULL, *more;
	struct ttm_attached *attached;
	struct ttm_cursor cursor;
	size_t len = 0;

	ttm_registry_for_each(registry, &cursor, attached)
	{
		/* relaxed: a number by itself */
		uint32_t pid = ttm_load32(&attached->pid);

		if (!pid || !attached->process ||
			attached->process->quarantined)
			continue;
		if ((len & (len + 1)) == 0) {
			more = realloc(list, 2 * (len + 1) * sizeof(*list));
			if (!more)
				break;
			list = more;
		}
		list[len].pid = pid;
		list[len++].row = attached->process->row;
	}
	if (len)
		qsort(list, len, sizeof(*list), reporting_order);
	*ret_len = len;
	return list;
}

static void holder_set(struct shown *shown, struct ttm_holder_row *row,
	const struct reporting *list, size_t list_len,
	struct ttm_output *output)
{
	const struct reporting key = { .pid = row->pid };
	const struct reporting *found = list ?
		bsearch(&key, list, list_len, sizeof(key), reporting_order) :
		NULL;

	row->telemetry = shown->row;
	row->device = shown->chip ? shown->chip->row : 0;
	row->reporting = found != NULL;
	row->process = found ? found->row : 0;
	ttm_image_set(output->image, TTM_TABLE_HOLDERS, row->self, row);
}

static void holders_hide(struct shown *shown, struct ttm_output *output)
{
	size_t i;

	for (i = 0; i < shown->holders_len; i++)
		ttm_image_remove(output->image, TTM_TABLE_HOLDERS,
			shown->holders[i].self);
	free(shown->holders);
	shown->holders = NULL;
	shown->holders_len = 0;
}

static bool holders_are_same(
	const struct shown *shown, const struct ttm_report *report)
{
	size_t i;

	for (i = 0; i < shown->holders_len && i < report->holders_len; i++)
		if (shown->holders[i].pid != report->holders[i].pid ||
			shown->holders[i].start_time !=
				report->holders[i].start_time)
			return false;
	return shown->holders_len == report->holders_len;
}

/* Rows keep their places as long as the same processes have it open. */
static void holders_take(struct shown *shown, const struct ttm_report *report,
	struct ttm_output *output)
{
	struct ttm_holder_row *row;
	size_t i;

	if (!holders_are_same(shown, report)) {
		output->changed = true;
		holders_hide(shown, output);
		shown->holders = calloc(
			report->holders_len, sizeof(*shown->holders));
		if (!shown->holders) {
			output->memory_errors++;
			return;
		}
		shown->holders_len = report->holders_len;
		for (i = 0; i < shown->holders_len; i++)
			shown->holders[i].self = ttm_image_add(
				output->image, TTM_TABLE_HOLDERS);
	}
	for (i = 0; i < shown->holders_len; i++) {
		row = &shown->holders[i];
		row->pid = report->holders[i].pid;
		row->uid = report->holders[i].uid;
		row->start_time = report->holders[i].start_time;
		row->seen_ns = report->holders[i].seen_ns;
		memcpy(row->comm, report->holders[i].comm, sizeof(row->comm));
		if (!output->names_only)
			memcpy(row->cmdline, report->holders[i].cmdline,
				sizeof(row->cmdline));
	}
}

static void holders_show(struct ttm_telemetry_rows *rows,
	struct ttm_registry *registry, struct ttm_output *output)
{
	struct reporting *list = NULL;
	size_t list_len = 0, i, h;
	bool listed = false;

	for (i = 0; i < TTM_WORKERS_MAX; i++) {
		struct shown *shown = &rows->shown[i];

		if (shown->holders_len && !listed)
			list = reporting_list(registry, &list_len);
		listed = listed || shown->holders_len;
		for (h = 0; h < shown->holders_len; h++)
			holder_set(shown, &shown->holders[h], list, list_len,
				output);
	}
	free(list);
}

/* -- devices ------------------------------------------------------------------ */

static void device_hide(struct shown *shown, struct ttm_output *output)
{
	holders_hide(shown, output);
	ttm_image_remove(output->image, TTM_TABLE_TELEMETRY, shown->row);
	ttm_chip_point(&shown->chip, NULL);
	memset(shown, 0, sizeof(*shown));
	output->changed = true;
}

static void device_show(struct shown *shown, const struct ttm_report *report,
	uint64_t busy_ns, struct ttm_output *output)
{
	struct ttm_telemetry_row row = report->row;

	if (!shown->row)
		shown->row = ttm_image_add(output->image, TTM_TABLE_TELEMETRY);
	if (!shown->row) {
		output->memory_errors++;
		return;
	}
	/* New values wait for the publication that every second has. */
	if (!shown->serial || busy_ns != shown->busy_ns)
		output->changed = true;
	shown->serial = report->serial;
	shown->busy_ns = busy_ns;
	chip_assign(shown, &row, output);
	row.device = shown->chip ? shown->chip->row : 0;
	row.busy_ns = busy_ns;
	ttm_image_set(output->image, TTM_TABLE_TELEMETRY, shown->row, &row);
	holders_take(shown, report, output);
}

void ttm_telemetry_rows_show(struct ttm_telemetry_rows *rows,
	const struct ttm_telemetry *telemetry, struct ttm_registry *registry,
	struct ttm_output *output, uint64_t now_ns)
{
	bool changed = now_ns - rows->reporting_ns >= REPORTING_INTERVAL_NS;
	size_t places = ttm_telemetry_places(telemetry), i;

	for (i = 0; i < places; i++) {
		struct shown *shown = &rows->shown[i];
		const struct ttm_report *report;
		uint64_t busy_ns;

		report = ttm_telemetry_report(telemetry, i, now_ns, &busy_ns);
		if (!report && shown->serial) {
			device_hide(shown, output);
		} else if (report &&
			(report->serial != shown->serial ||
				busy_ns != shown->busy_ns)) {
			device_show(shown, report, busy_ns, output);
			changed = true;
		}
	}
	if (!changed)
		return;
	rows->reporting_ns = now_ns;
	holders_show(rows, registry, output);
}

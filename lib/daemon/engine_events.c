/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> [apply] -> publish -> read -> render */
/* What records tell besides the state: distributions, and lines for people. */
#include <inttypes.h>
#include <stdio.h>

#include "daemon/engine_state.h"
#include "daemon/follow/drain_state.h"

#define MIB (1024.0 * 1024.0)

/*
 * Whose share a device entry is. What its process told of the device is older than a
 * record that names it, but may be newer than what was read of it.
 */
static struct ttm_chip *chip_of(
	struct ttm_engine *engine, struct ttm_process *process, unsigned entry)
{
	if (entry >= process->parts_len)
		return NULL;
	if (!process->parts[entry]->usage.chip &&
		ttm_drain_devices(process) == 0)
		ttm_output_tell(
			&engine->output, process, process->parts[entry]);
	return process->parts[entry]->usage.chip;
}

/* What a record tells a distribution. */
static uint64_t value_of(struct ttm_process *process,
	const struct ttm_words *record, enum ttm_distribution_kind *ret_kind)
{
	uint64_t ticks;

	*ret_kind = TTM_DISTRIBUTION_BYTES;
	if (TTM_W1_TYPE(record->w[1]) == TTM_RECORD_ALLOC)
		return ttm_words_bytes(record);
	*ret_kind = TTM_DISTRIBUTION_LIFETIME_NS;
	/* The clock is not causal: an object may seem to end before it began. */
	ticks = record->w[3] > record->w[6] ? record->w[3] - record->w[6] : 0;
	return ttm_ticks_to_ns(&process->timescale, ticks);
}

/* Gives the values to each of the devices. */
static void values_settle(struct ttm_engine *engine,
	struct ttm_process *process, uint64_t members)
{
	struct ttm_values *values = &engine->values;
	struct ttm_chip *chip;

	for (; values->len && members; members &= members - 1) {
		chip = chip_of(
			engine, process, (unsigned)__builtin_ctzll(members));
		if (chip)
			ttm_chip_record_values(chip, values);
	}
	ttm_values_clear(values);
}

/*
 * A distribution belongs to a device, so an object counts on each of its devices: its
 * bytes when it is allocated, its lifetime when it is freed, on those that it still has
 * then. A SHRINK counts nowhere: the object lives on. *members: whose the values in
 * engine->values are.
 */
static void distributions_add(struct ttm_engine *engine,
	struct ttm_process *process, const struct ttm_words *record,
	uint64_t *members)
{
	uint64_t devices = ttm_model_members(
		&process->model, TTM_W0_PLACE(record->w[0]));
	unsigned figure = TTM_W1_FIGURE(record->w[1]);
	enum ttm_distribution_kind kind;
	struct ttm_chip *chip;
	uint64_t value = value_of(process, record, &kind);

	if (!devices || (TTM_W1_FLAGS(record->w[1]) & TTM_FLAG_UNCOUNTED))
		return;
	if (!(devices & (devices - 1))) {
		chip = chip_of(
			engine, process, (unsigned)__builtin_ctzll(devices));
		if (chip)
			ttm_chip_record(chip, figure, kind, value);
		return;
	}
	if (*members != devices)
		values_settle(engine, process, *members);
	*members = devices;
	if (ttm_values_add(&engine->values, figure, kind, value))
		return;
	values_settle(engine, process, devices);
	ttm_values_add(&engine->values, figure, kind, value);
}

/* -- lines ------------------------------------------------------------------------ */

static const char *const kinds[TTMEM_FIGURES] = { "DRAM", "L1", "SYSTEM_MEMORY",
	"L1_SMALL", "TRACE", "Circular buffer", "Application", "Fabric",
	"Dispatch" };

/* All of the class on the device, now: kernels of the three types together. */
static uint64_t total_of(
	struct ttm_process *process, unsigned entry, unsigned figure)
{
	const struct ttm_part *part = process->parts[entry];
	const struct ttm_share *share = &process->model.shares[entry];
	unsigned last = figure;
	uint64_t total = 0;

	if (figure >= TTMEM_FIGURE_KERNEL) {
		figure = TTMEM_FIGURE_KERNEL;
		last = TTMEM_FIGURE_KERNEL_DISPATCH;
	}
	/* What others have is as it was published last. */
	for (; figure <= last; figure++)
		total += part->usage.chip->total.figures[figure].live_bytes -
			part->usage.published.figures[figure].live_bytes +
			share->live[figure].bytes;
	return total;
}

/*
 * Without the scan of its slots that is still to come, the mirror has only what the
 * records told: that is all if they were read from the first one on. An object that is
 * orphaned by now is in no total.
 */
static bool total_is_known(
	const struct ttm_process *process, unsigned entry, uint64_t w1)
{
	const struct ttm_model *model = &process->model;

	if (ttm_stamp_is_orphaned(
		    model->closes, TTM_W1_STAMP(w1), model->epochs[entry]))
		return false;
	return !process->scan_wanted ||
		(!process->scanned_ns && !process->missed);
}

/* A device that an object left by a SHRINK has seen it freed. */
static void object_tell(struct ttm_engine *engine, struct ttm_process *process,
	const struct ttm_words *record, unsigned entry)
{
	unsigned figure = TTM_W1_FIGURE(record->w[1]);
	bool alloc = TTM_W1_TYPE(record->w[1]) == TTM_RECORD_ALLOC;
	uint32_t logical;
	const char *what;
	char text[256], total[32] = "unknown";

	if (!chip_of(engine, process, entry) ||
		(TTM_W1_FLAGS(record->w[1]) & TTM_FLAG_UNCOUNTED))
		return;
	logical = TTM_DEVICE_LOGICAL(process->parts[entry]->device.head);
	if (figure >= TTMEM_FIGURE_KERNEL)
		what = alloc ? "KERNEL_LOAD" : "KERNEL_UNLOAD";
	else if (figure == TTMEM_FIGURE_CB)
		what = alloc ? "CB_ALLOC" : "CB_FREE";
	else
		what = alloc ? "ALLOC" : "FREE";
	if (total_is_known(process, entry, record->w[1]))
		snprintf(total, sizeof(total), "%.3f MiB",
			(double)total_of(process, entry, figure) / MIB);
	snprintf(text, sizeof(text),
		"[%s] %s%s on device %" PRIu32 ": %c%.3f MiB (total %s)", what,
		kinds[figure],
		figure >= TTMEM_FIGURE_KERNEL    ? " kernel" :
			figure < TTMEM_FIGURE_CB ? " buffer" :
						   "",
		logical, alloc ? '+' : '-',
		(double)ttm_words_bytes(record) / MIB, total);
	engine->config.event(text);
}

/* As readers call them (lib/read/names.c). */
static const char *const anomalies[TTMEM_ANOMALIES] = { "free_unknown",
	"alloc_live", "bad_device", "too_many_devices", "bad_kind", "overflow",
	"late_free", "scope_underflow", "scope_too_deep", "device_changed" };
static const char *const losses[TTMEM_LOSSES] = { "no_slot", "no_index",
	"no_lane", "nested", "no_name", "no_place" };

/* The number is a program's: it may be anything. */
static const char *reason_of(unsigned type, uint64_t reason)
{
	if (type == TTM_RECORD_ANOMALY && reason < TTMEM_ANOMALIES)
		return anomalies[reason];
	if (type == TTM_RECORD_LOSS && reason < TTMEM_LOSSES)
		return losses[reason];
	return "unknown";
}

/* `device` is empty, or has the device that the record is about. */
static void other_tell(struct ttm_engine *engine, struct ttm_process *process,
	const struct ttm_words *record, const char *device)
{
	static const char *const names[] = { [TTM_RECORD_DISPATCH] = "DISPATCH",
		[TTM_RECORD_ANOMALY] = "ANOMALY",
		[TTM_RECORD_LOSS] = "LOSS",
		[TTM_RECORD_FAILURE] = "ALLOC_FAILED",
		[TTM_RECORD_MARK] = "MARK",
		[TTM_RECORD_DEVICE_OPEN] = "DEVICE_OPEN",
		[TTM_RECORD_DEVICE_CLOSE] = "DEVICE_CLOSE" };
	unsigned type = TTM_W1_TYPE(record->w[1]);
	char text[256];

	if (type == TTM_RECORD_FAILURE && record->w[4] != TTMEM_UNKNOWN)
		snprintf(text, sizeof(text), "[%s]%s: %.3f MiB", names[type],
			device, (double)record->w[4] / MIB);
	else if (type == TTM_RECORD_ANOMALY || type == TTM_RECORD_LOSS)
		snprintf(text, sizeof(text), "[%s]%s: %s", names[type], device,
			reason_of(type, record->w[4]));
	else
		snprintf(text, sizeof(text), "[%s]%s by process %" PRIu32,
			names[type], device, process->attached->header.pid);
	engine->config.event(text);
}

static void other_tell_of(struct ttm_engine *engine,
	struct ttm_process *process, const struct ttm_words *record,
	unsigned entry)
{
	char device[32] = "";

	if (chip_of(engine, process, entry))
		snprintf(device, sizeof(device), " on device %" PRIu32,
			TTM_DEVICE_LOGICAL(process->parts[entry]->device.head));
	other_tell(engine, process, record, device);
}

void ttm_engine_records(void *context, struct ttm_process *process,
	const struct ttm_words *records, uint32_t len)
{
	uint64_t members = 0;
	unsigned type;
	uint32_t i;

	for (i = 0; i < len; i++) {
		type = TTM_W1_TYPE(records[i].w[1]);
		if (type == TTM_RECORD_ALLOC || type == TTM_RECORD_FREE)
			distributions_add(
				context, process, &records[i], &members);
	}
	values_settle(context, process, members);
}

void ttm_engine_record(void *context, struct ttm_process *process,
	const struct ttm_words *record, uint64_t members)
{
	unsigned type = TTM_W1_TYPE(record->w[1]), entry;

	if (!members && type != TTM_RECORD_SHRINK)
		other_tell(context, process, record, "");
	for (; members; members &= members - 1) {
		entry = (unsigned)__builtin_ctzll(members);
		if (type == TTM_RECORD_ALLOC || type == TTM_RECORD_FREE ||
			type == TTM_RECORD_SHRINK)
			object_tell(context, process, record, entry);
		else
			other_tell_of(context, process, record, entry);
	}
}

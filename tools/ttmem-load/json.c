/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/output.h"
#include "pattern.h"
#include "process.h"
#include "worker.h"

static const char *const flow_names[TRUTH_FLOWS] = { "alloc_objects",
	"alloc_bytes", "free_objects", "free_bytes", "orphan_objects",
	"orphan_bytes", "alloc_requested", "free_requested",
	"orphan_requested" };
static const char *const object_names[TRUTH_OBJECTS] = { "allocated", "freed",
	"shrunk" };
static const char *const type_names[TRUTH_KERNEL_TYPES] = { "application",
	"fabric", "dispatch" };
static const char *const anomaly_names[TTMEM_ANOMALIES] = { "free_unknown",
	"alloc_live", "bad_device", "too_many_devices", "bad_kind", "overflow",
	"late_free", "scope_underflow", "scope_too_deep", "device_changed" };
static const char *const call_names[TRUTH_CALLS] = { "none", "device_open",
	"device_close", "mesh_open", "mesh_close", "alloc", "free", "cb_alloc",
	"cb_free", "cb_free_all", "kernel_load", "kernel_unload",
	"program_destroy", "alloc_failed", "mark", "peak_reset", "scope_push",
	"scope_pop", "scope_pop_to" };

static void set_integer(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

/* Ids have all 64 bits, and JSON's numbers may not: text, or null for unknown. */
static void set_hex(json_t *object, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_object_set_new(object, key,
		value == TTMEM_UNKNOWN ? json_null() : json_string(text));
}

static void set_named(json_t *object, const char *key, const char *const *names,
	const uint64_t *values, size_t len)
{
	json_t *named = json_object();
	size_t i;

	for (i = 0; i < len; i++)
		set_integer(named, names[i], values[i]);
	json_object_set_new(object, key, named);
}

/* Figures, dispatches, failures: into the object itself. */
static void set_counters(json_t *object, const struct truth_counters *c)
{
	json_t *figures = json_object();
	unsigned figure, flow;

	for (figure = 0; figure < TTMEM_FIGURES; figure++) {
		json_t *flows = json_object();

		for (flow = 0; flow < TRUTH_FLOWS; flow++)
			set_integer(flows, flow_names[flow],
				c->flows[figure][flow]);
		set_integer(flows, "live_objects",
			truth_live_objects(c->flows[figure]));
		set_integer(flows, "live_bytes",
			truth_live_bytes(c->flows[figure]));
		set_integer(flows, "live_requested",
			truth_live_requested(c->flows[figure]));
		json_object_set_new(figures, load_figure_names[figure], flows);
	}
	json_object_set_new(object, "figures", figures);
	set_named(object, "dispatches", type_names, c->dispatches,
		TRUTH_KERNEL_TYPES);
	set_named(object, "failures", load_figure_names, c->failures,
		TRUTH_FAILURES);
}

static void counters_add(
	struct truth_counters *to, const struct truth_counters *from)
{
	const uint64_t *words = (const void *)from;
	uint64_t *sums = (void *)to;
	size_t i;

	for (i = 0; i < sizeof(*to) / sizeof(*sums); i++)
		sums[i] += words[i];
}

/* -- calls in doubt -------------------------------------------------------------- */

/* The name of a word of a thread, and the target it belongs to, if any. */
static const char *word_name(
	uint64_t offset, char *buffer, size_t buffer_size, int *ret_target)
{
	uint64_t first = offsetof(struct truth_thread, targets);
	uint64_t word = (offset - first) % sizeof(struct truth_counters) / 8;

	*ret_target = -1;
	if (offset == offsetof(struct truth_thread, events))
		return "events";
	if (offset == offsetof(struct truth_thread, marks))
		return "marks";
	if (offset == offsetof(struct truth_thread, failed))
		return "failed";
	if (offset < offsetof(struct truth_thread, anomalies)) {
		word = (offset - offsetof(struct truth_thread, objects)) / 8;
		snprintf(buffer, buffer_size, "objects.%s",
			object_names[word % TRUTH_OBJECTS]);
		return buffer;
	}
	if (offset < first) {
		word = (offset - offsetof(struct truth_thread, anomalies)) / 8;
		snprintf(buffer, buffer_size, "anomalies.%s",
			anomaly_names[word % TTMEM_ANOMALIES]);
		return buffer;
	}
	*ret_target = (int)((offset - first) / sizeof(struct truth_counters));
	if (word < TTMEM_FIGURES * TRUTH_FLOWS)
		snprintf(buffer, buffer_size, "figures.%s.%s",
			load_figure_names[word / TRUTH_FLOWS],
			flow_names[word % TRUTH_FLOWS]);
	else if ((word -= TTMEM_FIGURES * TRUTH_FLOWS) < TRUTH_KERNEL_TYPES)
		snprintf(
			buffer, buffer_size, "dispatches.%s", type_names[word]);
	else
		snprintf(buffer, buffer_size, "failures.%s",
			load_figure_names[(word - TRUTH_KERNEL_TYPES) %
				TRUTH_FAILURES]);
	return buffer;
}

/* What the call changes, if it came to that: [{logical or null, name, by}]. */
static json_t *doubt_changes(
	const struct truth_process *process, const struct truth_thread *now)
{
	json_t *changes = json_array();
	char buffer[64];
	uint64_t i, value;
	int target, entry;

	for (i = 0; i < now->undo_len; i++) {
		json_t *change = json_object();
		json_t *logical = json_array();

		memcpy(&value, (const char *)now + now->undo[i].offset, 8);
		json_object_set_new(change, "name",
			json_string(word_name(now->undo[i].offset, buffer,
				sizeof(buffer), &target)));
		set_integer(change, "by", value - now->undo[i].before);
		for (entry = 0; entry < TRUTH_ENTRIES_MAX && target >= 0;
			entry++)
			if (process->targets[target] >> entry & 1)
				json_array_append_new(logical,
					json_integer(process->entries[entry]
							     .logical));
		json_object_set_new(change, "logical", logical);
		json_array_append_new(changes, change);
	}
	return changes;
}

static json_t *doubt_json(const struct truth_process *process, size_t number,
	const struct truth_thread *now)
{
	json_t *doubt = json_object();

	set_integer(doubt, "thread", number);
	json_object_set_new(doubt, "call",
		json_string(call_names[now->call % TRUTH_CALLS]));
	set_hex(doubt, "device", now->device);
	set_hex(doubt, "id", now->id);
	json_object_set_new(doubt, "changes", doubt_changes(process, now));
	return doubt;
}

/* -- processes ------------------------------------------------------------------- */

struct sums {
	uint64_t events;
	uint64_t calls;
	uint64_t marks;
	uint64_t failed;
	uint64_t objects[TRUTH_OBJECTS];
	uint64_t anomalies[TTMEM_ANOMALIES];
	struct truth_counters counters;
	json_t *chips;
	struct truth_counters *chip_counters;
};

static json_t *threads_json(
	const struct truth *truth, size_t number, struct sums *own)
{
	static struct truth_thread settled;
	const struct truth_process *process = &truth->processes[number];
	json_t *doubts = json_array();
	size_t i, k;

	for (i = 0; i < process->threads_len; i++) {
		const struct truth_thread *thread = truth_thread(
			truth, number, i);

		if (truth_thread_settle(thread, &settled))
			json_array_append_new(
				doubts, doubt_json(process, i, thread));
		own->events += settled.events;
		own->calls += settled.done;
		own->marks += settled.marks;
		own->failed += settled.failed;
		for (k = 0; k < TRUTH_OBJECTS; k++)
			own->objects[k] += settled.objects[k];
		for (k = 0; k < TTMEM_ANOMALIES; k++)
			own->anomalies[k] += settled.anomalies[k];
	}
	return doubts;
}

/* Each object once; "live" are also those that are orphaned. */
static void set_objects(json_t *object, const struct sums *sums)
{
	set_named(
		object, "objects", object_names, sums->objects, TRUTH_OBJECTS);
	set_integer(json_object_get(object, "objects"), "live",
		sums->objects[TRUTH_OBJECTS_ALLOCATED] -
			sums->objects[TRUTH_OBJECTS_FREED]);
}

static void set_sums(json_t *object, const struct sums *sums)
{
	set_integer(object, "events", sums->events);
	set_integer(object, "calls", sums->calls);
	set_integer(object, "marks", sums->marks);
	set_integer(object, "failed", sums->failed);
	set_objects(object, sums);
	set_named(object, "anomalies", anomaly_names, sums->anomalies,
		TTMEM_ANOMALIES);
	set_counters(object, &sums->counters);
}

static json_t *entry_json(const struct truth_entry *entry)
{
	json_t *object = json_object();

	set_integer(object, "logical", entry->logical);
	set_hex(object, "chip_id", entry->chip_id);
	set_hex(object, "pci_address", entry->pci_address);
	json_object_set_new(object, "arch", json_string(entry->arch));
	json_object_set_new(object, "board", json_string(entry->board));
	json_object_set_new(object, "open", json_boolean(entry->open));
	return object;
}

/* By chip id, else PCI address, else logical id: as an aggregator has to. */
static void chip_key(const struct truth_entry *entry, char *ret, size_t size)
{
	if (entry->chip_id != TTMEM_UNKNOWN)
		snprintf(ret, size, "chip 0x%" PRIx64, entry->chip_id);
	else if (entry->pci_address != TTMEM_UNKNOWN)
		snprintf(ret, size, "pci 0x%" PRIx64, entry->pci_address);
	else
		snprintf(ret, size, "logical %" PRIu32, entry->logical);
}

static void chip_add(struct sums *all, const struct truth_entry *entry,
	const struct truth_counters *counters)
{
	char key[40];
	json_t *chip;
	size_t number;

	chip_key(entry, key, sizeof(key));
	chip = json_object_get(all->chips, key);
	if (chip) {
		number = (size_t)json_integer_value(chip);
	} else {
		number = json_object_size(all->chips);
		set_integer(all->chips, key, number);
		all->chip_counters = realloc(all->chip_counters,
			(number + 1) * sizeof(all->chip_counters[0]));
		if (!all->chip_counters)
			abort();
		memset(&all->chip_counters[number], 0,
			sizeof(all->chip_counters[0]));
	}
	counters_add(&all->chip_counters[number], counters);
}

static void set_end(json_t *object, const struct truth_process *process)
{
	int status = (int)process->status;
	json_t *exited = json_null();
	json_t *killed = json_null();

	if (process->ended && WIFEXITED(status))
		exited = json_integer(WEXITSTATUS(status));
	if (process->ended && WIFSIGNALED(status))
		killed = json_integer(WTERMSIG(status));
	json_object_set_new(object, "exit_status", exited);
	json_object_set_new(object, "signal", killed);
}

static json_t *process_json(const struct load_options *options,
	const struct truth *truth, size_t number, struct sums *all)
{
	static struct truth_counters entries[TRUTH_ENTRIES_MAX];
	const struct truth_process *process = &truth->processes[number];
	json_t *object = json_object();
	json_t *devices = json_array();
	json_t *doubts;
	struct sums own = { 0 };
	size_t i;

	truth_process_sum(truth, number, entries);
	doubts = threads_json(truth, number, &own);
	for (i = 0; i < process->entries_len; i++) {
		json_t *device = entry_json(&process->entries[i]);

		set_counters(device, &entries[i]);
		json_array_append_new(devices, device);
		counters_add(&own.counters, &entries[i]);
		chip_add(all, &process->entries[i], &entries[i]);
	}
	set_integer(object, "process", number);
	set_integer(object, "pid", process->pid);
	set_integer(object, "threads", options->threads);
	set_end(object, process);
	set_sums(object, &own);
	json_object_set_new(object, "devices", devices);
	json_object_set_new(object, "in_doubt", doubts);
	all->events += own.events;
	all->calls += own.calls;
	all->marks += own.marks;
	all->failed += own.failed;
	for (i = 0; i < TRUTH_OBJECTS; i++)
		all->objects[i] += own.objects[i];
	for (i = 0; i < TTMEM_ANOMALIES; i++)
		all->anomalies[i] += own.anomalies[i];
	counters_add(&all->counters, &own.counters);
	return object;
}

/* -- the document ------------------------------------------------------------------- */

static json_t *leaks_json(
	const struct load_options *options, const struct truth *truth)
{
	json_t *leaks = json_array();
	struct load_leak leak;
	uint64_t i;

	for (i = 0; i < options->leak && !options->script; i++) {
		const struct truth_process *process;
		json_t *object;

		load_leak_describe(options, i, &leak);
		process = &truth->processes[leak.process];
		/* A process may have died before it made all of its own. */
		if (i / options->processes >= process->leaks_made)
			continue;
		object = json_object();
		set_integer(object, "process", leak.process);
		set_integer(object, "pid", process->pid);
		set_integer(object, "device",
			process->entries[leak.device].logical);
		set_hex(object, "chip_id",
			process->entries[leak.device].chip_id);
		json_object_set_new(object, "kind",
			json_string(load_figure_names[options->leak_kind]));
		set_integer(object, "id", leak.id);
		set_integer(object, "size", options->leak_size);
		json_object_set_new(object, "scope", json_string(leak.scope));
		json_array_append_new(leaks, object);
	}
	return leaks;
}

static json_t *chips_json(const struct sums *all)
{
	json_t *chips = json_object();
	const char *key;
	json_t *number;

	json_object_foreach(all->chips, key, number)
	{
		json_t *chip = json_object();

		set_counters(
			chip, &all->chip_counters[json_integer_value(number)]);
		json_object_set_new(chips, key, chip);
	}
	return chips;
}

static json_t *document(const struct load_options *options,
	const struct truth *truth, const char *phase, uint64_t elapsed_ns)
{
	json_t *object = json_object();
	json_t *processes = json_array();
	struct sums all = { .chips = json_object() };
	size_t i;

	for (i = 0; i < truth_processes(truth); i++)
		json_array_append_new(
			processes, process_json(options, truth, i, &all));
	set_integer(object, "schema_version", 1);
	json_object_set_new(object, "tool", json_string("ttmem-load"));
	json_object_set_new(object, "phase", json_string(phase));
	json_object_set_new(object, "pattern",
		options->script ? json_null() :
				  json_string(options->pattern->name));
	json_object_set_new(
		object, "tracked", json_boolean(!options->untracked));
	set_hex(object, "seed", options->seed);
	set_integer(object, "elapsed_ns", elapsed_ns);
	set_sums(object, &all);
	json_object_set_new(object, "chips", chips_json(&all));
	json_object_set_new(object, "leaks", leaks_json(options, truth));
	json_object_set_new(object, "processes", processes);
	json_decref(all.chips);
	free(all.chip_counters);
	return object;
}

/* Whoever reads the file finds a whole document: the old one or the new one. */
static int file_replace(const char *path, const char *text)
{
	struct ttm_output output;
	int r = ttm_output_open(path, true, &output);

	if (r < 0)
		return r;
	fprintf(output.file, "%s\n", text);
	return ttm_output_close(&output, true);
}

int load_json_write(const struct load_options *options,
	const struct truth *truth, const char *phase, uint64_t elapsed_ns)
{
	json_t *object = document(options, truth, phase, elapsed_ns);
	char *text = json_dumps(object, JSON_COMPACT);
	int r = 0;

	json_decref(object);
	if (!text)
		return -ENOMEM;
	if (strcmp(options->json, "-") == 0)
		r = printf("%s\n", text) < 0 || fflush(stdout) ? -EIO : 0;
	else
		r = file_replace(options->json, text);
	free(text);
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ttmem_usage() against an exact model, after each of a million random events of
 * one thread: all hooks, three devices, a mesh, chips that change, and what no
 * correct program does. TTMEM_TEST_SEED repeats a run.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "record/usage_model.h"
#include "support/calls.h"
#include "support/test_dir.h"
#include "support/test_segment.h"

static uint32_t mesh;
static uint64_t random_state;
static uint64_t seed;
static uint64_t step;
static char last_event[160];

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

/* -- chance ------------------------------------------------------------------- */

static uint64_t chance(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state * 0x2545f4914f6cdd1du >> 11) % below;
}

static uint64_t any_size(void)
{
	switch (chance(8)) {
	case 0:
		return 0;
	case 1:
	case 2:
		return chance(256);
	case 3:
	case 4:
		return 65530 + chance(12);
	case 5:
		return 32 * chance(4096);
	case 6:
		return chance(1 << 24);
	default:
		return chance(1ull << 34);
	}
}

static uint32_t any_cores(void)
{
	return chance(8) ? (uint32_t)chance(4) : (uint32_t)chance(140);
}

/* -- events: the hook, then the model of each device it names ------------------ */

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(last_event, sizeof(last_event), format, ap);
	va_end(ap);
}

/* The mesh is devices 0 and 2. */
static bool is_meant(uint32_t device, unsigned d)
{
	return device == mesh ? d != CHANGING : device == d;
}

#define FOR_EACH_MEANT(device, d)                                              \
	for (d = 0; d < DEVICES; d++)                                          \
		if (is_meant(device, d))

static void event_alloc(uint32_t device)
{
	unsigned kind = (unsigned)chance(5);
	uint64_t id = chance(IDS);
	uint64_t size = any_size();
	unsigned d;

	say("alloc(%x, %u, %" PRIu64 ", %" PRIu64 ")", device, kind, id, size);
	if (chance(2))
		ttmem_alloc(device, (enum ttmem_kind)kind, id, step, size);
	else
		call_buffer_alloc(device, (enum ttmem_kind)kind, id, step, size,
			size + 31);
	FOR_EACH_MEANT(device, d)
	if (model_put(entry_of(d), &entry_of(d)->buffers[kind][id], kind, size,
		    0, size))
		anomalies[TTMEM_ANOMALY_ALLOC_LIVE]++;
}

static void event_free(uint32_t device)
{
	unsigned kind = (unsigned)chance(5);
	uint64_t id = chance(IDS);
	unsigned d;

	say("free(%x, %u, %" PRIu64 ")", device, kind, id);
	ttmem_free(device, (enum ttmem_kind)kind, id);
	FOR_EACH_MEANT(device, d)
	model_free_counted(entry_of(d), &entry_of(d)->buffers[kind][id]);
}

static void event_cb_alloc(uint32_t device)
{
	uint64_t program = chance(PROGRAMS);
	uint64_t cb = chance(CBS);
	uint64_t size = any_size();
	uint32_t cores = any_cores();
	uint32_t flags = chance(4) ? 0 : TTMEM_CB_BORROWED;
	unsigned d;

	say("cb_alloc(%x, %" PRIu64 ", %" PRIu64 ", %" PRIu64 " x %u, %u)",
		device, program, cb, size, cores, flags);
	ttmem_cb_alloc(device, program, cb, step, size, cores, flags);
	FOR_EACH_MEANT(device, d)
	model_put(entry_of(d), &entry_of(d)->cbs[program][cb], TTMEM_FIGURE_CB,
		size, cores, flags ? 0 : size * cores);
}

static void event_cb_free(uint32_t device)
{
	uint64_t program = chance(PROGRAMS);
	uint64_t cb = chance(CBS);
	unsigned d;

	say("cb_free(%x, %" PRIu64 ", %" PRIu64 ")", device, program, cb);
	ttmem_cb_free(device, program, cb);
	FOR_EACH_MEANT(device, d)
	model_free_counted(entry_of(d), &entry_of(d)->cbs[program][cb]);
}

static void event_cb_free_all(uint32_t device)
{
	unsigned program;
	unsigned cb;
	unsigned d;

	say("cb_free_all(%x)", device);
	ttmem_cb_free_all(device);
	FOR_EACH_MEANT(device, d)
	for (program = 0; program < PROGRAMS; program++)
		for (cb = 0; cb < CBS; cb++)
			model_free_all(
				entry_of(d), &entry_of(d)->cbs[program][cb]);
}

static void event_kernel_load(uint32_t device)
{
	uint64_t kernel = chance(PROGRAMS);
	unsigned type = (unsigned)chance(3);
	uint64_t size = 1024 * chance(3);
	uint32_t cores = 1 + (uint32_t)chance(2);
	uint32_t flags = chance(4) ? 0 : TTMEM_KERNEL_IN_RING;
	unsigned d;

	say("kernel_load(%x, %" PRIu64 ", %u, %" PRIu64 " x %u, %u)", device,
		kernel, type, size, cores, flags);
	ttmem_kernel_load(device, kernel, (enum ttmem_kernel_type)type, size,
		cores, flags);
	FOR_EACH_MEANT(device, d)
	{
		struct model_object *o = &entry_of(d)->kernels[kernel];
		unsigned figure = TTMEM_FIGURE_KERNEL + type;

		if (o->live && o->figure == figure && o->size == size &&
			o->cores == cores && o->flags == flags) {
			entry_of(d)->dispatches++;
			continue;
		}
		model_put(entry_of(d), o, figure, size, cores, size * cores);
		o->flags = flags;
	}
}

static void event_kernel_unload(uint32_t device)
{
	uint64_t kernel = chance(PROGRAMS);
	unsigned d;

	say("kernel_unload(%x, %" PRIu64 ")", device, kernel);
	ttmem_kernel_unload(device, kernel);
	FOR_EACH_MEANT(device, d)
	model_free_counted(entry_of(d), &entry_of(d)->kernels[kernel]);
}

static void event_program_destroy(uint32_t device)
{
	uint64_t program = chance(PROGRAMS);
	unsigned cb;
	unsigned d;

	say("program_destroy(%x, %" PRIu64 ")", device, program);
	ttmem_program_destroy(device, program);
	FOR_EACH_MEANT(device, d)
	{
		for (cb = 0; cb < CBS; cb++)
			model_free_all(
				entry_of(d), &entry_of(d)->cbs[program][cb]);
		model_free_all(entry_of(d), &entry_of(d)->kernels[program]);
	}
}

static void event_peak_reset(uint32_t device)
{
	unsigned figure;
	unsigned d;

	say("peak_reset(%x)", device);
	ttmem_peak_reset(device);
	FOR_EACH_MEANT(device, d)
	for (figure = 0; figure < TTMEM_FIGURES; figure++)
		entry_of(d)
			->figures[figure]
			.peak_bytes = entry_of(d)->figures[figure].live_bytes;
}

static void event_device_close(uint32_t device)
{
	unsigned d;

	say("device_close(%x)", device);
	ttmem_device_close(device);
	FOR_EACH_MEANT(device, d)
	model_close(entry_of(d));
}

static void event_device_open(uint32_t device)
{
	struct ttmem_device_info info;
	unsigned d = device < DEVICES ? device : 0;
	unsigned chip = d == CHANGING ? (unsigned)chance(CHIPS) : 0;

	say("device_open(%u, chip %u)", d, chip);
	ttmem_device_info_init(&info, d);
	info.chip_id = 100 * d + chip;
	info.cores = chance(100);
	ttmem_device_open(&info);
	if (chip != chips[d]) {
		if (entry_of(d)->open)
			anomalies[TTMEM_ANOMALY_DEVICE_CHANGED]++;
		model_close(entry_of(d));
		chips[d] = chip;
	}
	entry_of(d)->open = true;
}

static void event_scope(uint32_t device)
{
	static unsigned depth;

	(void)device;
	say("scope");
	if (depth && chance(2)) {
		ttmem_scope_pop();
		depth--;
	} else if (depth < 8) {
		ttmem_scope_push(chance(2) ? "one" : "two",
			(uint32_t)chance(2) ? TTMEM_SCOPE_PERSISTENT : 0);
		depth++;
	}
}

static void event_bad(uint32_t device)
{
	unsigned d;

	say("something bad");
	switch (chance(5)) {
	case 0:
		ttmem_alloc(device, (enum ttmem_kind)200, 1, 0, 10);
		anomalies[TTMEM_ANOMALY_BAD_KIND]++;
		break;
	case 1:
		ttmem_alloc(UINT32_MAX, TTMEM_DRAM, 1, 0, 10);
		anomalies[TTMEM_ANOMALY_BAD_DEVICE]++;
		break;
	case 2:
		ttmem_cb_alloc(device, 1, 1, 0, UINT64_MAX, 2, 0);
		anomalies[TTMEM_ANOMALY_OVERFLOW]++;
		break;
	case 3:
		ttmem_free(device, TTMEM_DRAM, UINT64_MAX);
		FOR_EACH_MEANT(device, d)
		anomalies[TTMEM_ANOMALY_FREE_UNKNOWN]++;
		break;
	default:
		call_alloc_failed(device, TTMEM_L1, any_size(), 0);
		ttmem_mark("failed");
		break;
	}
}

static const struct {
	void (*run)(uint32_t device);
	unsigned weight;
} events[] = {
	{ event_alloc, 300 },
	{ event_free, 260 },
	{ event_cb_alloc, 120 },
	{ event_cb_free, 60 },
	{ event_cb_free_all, 1 },
	{ event_kernel_load, 100 },
	{ event_kernel_unload, 30 },
	{ event_program_destroy, 30 },
	{ event_peak_reset, 20 },
	{ event_device_close, 4 },
	{ event_device_open, 4 },
	{ event_scope, 40 },
	{ event_bad, 20 },
};

static void event_any(void)
{
	uint32_t device = (uint32_t)chance(DEVICES + 1);
	uint64_t sum = 0;
	uint64_t pick;
	size_t i;

	if (device == DEVICES)
		device = mesh;
	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		sum += events[i].weight;
	pick = chance(sum);
	for (i = 0; pick >= events[i].weight; i++)
		pick -= events[i].weight;
	events[i].run(device);
}

/* -- comparing ---------------------------------------------------------------- */

static void differ(
	const char *what, unsigned figure, uint64_t expected, uint64_t found)
{
	char text[400];

	snprintf(text, sizeof(text),
		"seed %" PRIu64 ", step %" PRIu64 ", after %s: %s of figure %u "
		"is %" PRIu64 ", not %" PRIu64,
		seed, step, last_event, what, figure, found, expected);
	TEST_FAIL_MESSAGE(text);
}

static void compare_figure(unsigned figure,
	const struct ttmem_usage_figure *expected,
	const struct ttmem_usage_figure *found)
{
	if (expected->live_objects != found->live_objects)
		differ("live objects", figure, expected->live_objects,
			found->live_objects);
	if (expected->live_bytes != found->live_bytes)
		differ("live bytes", figure, expected->live_bytes,
			found->live_bytes);
	if (expected->peak_bytes != found->peak_bytes)
		differ("peak bytes", figure, expected->peak_bytes,
			found->peak_bytes);
}

static void compare_usage(uint32_t device)
{
	struct ttmem_usage expected = { .size = sizeof(expected) };
	struct ttmem_usage found = { .size = sizeof(found) };
	unsigned figure;
	unsigned d;

	FOR_EACH_MEANT(device, d)
	for (figure = 0; figure < TTMEM_FIGURES; figure++) {
		const struct ttmem_usage_figure *f = &entry_of(d)
							      ->figures[figure];

		expected.figures[figure].live_objects += f->live_objects;
		expected.figures[figure].live_bytes += f->live_bytes;
		expected.figures[figure].peak_bytes += f->peak_bytes;
	}
	TEST_ASSERT_EQUAL_INT(0, ttmem_usage(device, &found));
	for (figure = 0; figure < TTMEM_FIGURES; figure++)
		compare_figure(figure, &expected.figures[figure],
			&found.figures[figure]);
}

static uint64_t orphans_found;

static void object_count_orphans(
	struct model_entry *entry, struct model_object *object)
{
	(void)entry;
	orphans_found += object->orphans;
}

/* Slots, dispatches and anomalies: too slow to look at after each event. */
static void compare_segment(void)
{
	struct segment *segment = test_segment_at_rest();
	uint64_t live = 0;
	uint64_t orphans = 0;
	size_t i;
	unsigned d;
	unsigned chip;
	unsigned figure;

	orphans_found = 0;
	for (d = 0; d < DEVICES; d++) {
		const struct segment_device
			*found = &segment->devices[segment_entry(segment, d)];

		for (chip = 0; chip < CHIPS; chip++)
			model_visit(&entries[d][chip], object_count_orphans);
		for (figure = 0; figure < TTMEM_FIGURES; figure++) {
			const struct ttmem_usage_figure
				*f = &entry_of(d)->figures[figure];

			live += f->live_objects;
			if (f->live_bytes != found->figures[figure].slot_bytes)
				differ("bytes in slots", figure, f->live_bytes,
					found->figures[figure].slot_bytes);
		}
		if (entry_of(d)->dispatches !=
			found->dispatches[0] + found->dispatches[1] +
				found->dispatches[2])
			differ("dispatches", d, entry_of(d)->dispatches,
				found->dispatches[0] + found->dispatches[1] +
					found->dispatches[2]);
	}
	for (i = 0; i < segment->objects_len; i++)
		orphans += segment->objects[i].orphan;
	if (orphans != orphans_found)
		differ("orphans", 0, orphans_found, orphans);
	if (live + orphans != segment->objects_len)
		differ("slots", 0, live + orphans, segment->objects_len);
	segment_unref(&segment);
	for (i = 0; i < TTMEM_ANOMALIES; i++)
		if (anomalies[i] != test_anomalies((unsigned)i))
			differ("anomaly count", (unsigned)i, anomalies[i],
				test_anomalies((unsigned)i));
}

static void model_begin(void)
{
	const char *text = getenv("TTMEM_TEST_SEED");
	uint32_t members[] = { 0, 2 };
	struct timespec now;
	uint32_t d;

	clock_gettime(CLOCK_REALTIME, &now);
	seed = text ? strtoull(text, NULL, 10) :
		      (uint64_t)now.tv_nsec << 20 ^ (uint64_t)now.tv_sec;
	random_state = seed ? seed : 1;
	for (d = 0; d < DEVICES; d++)
		event_device_open(d);
	mesh = ttmem_mesh_open(members, 2);
}

static void test_usage_equals_the_model_after_each_event(void)
{
	uint64_t steps = test_scale(1000000);
	uint32_t d;

	model_begin();
	for (step = 1; step <= steps; step++) {
		event_any();
		for (d = 0; d < DEVICES; d++)
			compare_usage(d);
		compare_usage(mesh);
		if (step % 50000 == 0)
			compare_segment();
	}
	compare_segment();
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_usage_equals_the_model_after_each_event);
	return UNITY_END();
}

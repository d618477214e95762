/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ttmem_usage() and the segment against a simple model, through random events on devices
 * and overlapping meshes: objects that are freed in parts, devices that are closed and
 * opened again, chips that change, forked children. First one thread, which is compared
 * after each event, then several with ids of their own. TTMEM_TEST_SEED repeats a run.
 * Built as serve/places, a ttmemd follows and what it publishes is compared, too.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "record/places_model.h"
#include "support/calls.h"
#include "support/test_dir.h"
#include "support/test_segment.h"

enum {
	THREADS = 4,
	IDS = 12,
	PROGRAMS = 5,
	CBS = 3,
	ID_STEP = 1000, /* between the ids of two threads */
	HANDLES = DEVICES + 14,
	CORE_SETS = 4,
	STEPS = 1000000,
	COMPARE_EACH = 20000,
	ROUNDS = 100,
	ROUND_STEPS = 2500, /* of each thread */
	FORKS = 20,
};

/* A thread: its model, its chance, its ids. */
struct actor {
	struct model model;
	uint64_t random;
	uint64_t first_id;
	uint64_t steps;
	char last_event[160];
};

static struct actor *actors;
static unsigned actors_len;
static uint32_t handles[HANDLES];
static uint64_t handle_devices[HANDLES]; /* logical ids, a bit for each */
static uint32_t core_sets[CORE_SETS];
static uint32_t core_set_cores[CORE_SETS];
static unsigned changing_entry; /* of the chip that CHANGING is now */
static uint64_t open_entries;
static uint64_t seed;

/* -- chance --------------------------------------------------------------------- */

static uint64_t chance(struct actor *a, uint64_t below)
{
	a->random ^= a->random << 13;
	a->random ^= a->random >> 7;
	a->random ^= a->random << 17;
	return (a->random * 0x2545f4914f6cdd1du >> 11) % below;
}

static uint64_t any_size(struct actor *a)
{
	switch (chance(a, 6)) {
	case 0:
		return chance(a, 256);
	case 1:
		return 4090 + chance(a, 12);
	case 2:
		return 65530 + chance(a, 12);
	case 3:
		return (16 << 20) - 6 + chance(a, 12);
	case 4:
		return 32 * chance(a, 4096);
	default:
		return chance(a, 1ull << 32);
	}
}

static uint64_t any_address(struct actor *a)
{
	return 0x1000 * chance(a, 64);
}

/* A count of cores, or a handle of a core set; *ret_count: how many these are. */
static uint32_t any_cores(struct actor *a, uint32_t *ret_count)
{
	unsigned set = (unsigned)chance(a, CORE_SETS);

	if (chance(a, 2)) {
		*ret_count = (uint32_t)chance(a, 140);
		return *ret_count;
	}
	*ret_count = core_set_cores[set];
	return core_sets[set];
}

/* -- devices ---------------------------------------------------------------------- */

static unsigned entry_of(unsigned device)
{
	return device == CHANGING ? changing_entry : device;
}

static uint64_t chip_of(unsigned entry)
{
	return entry == DEVICES ? 1000 : 100 + entry;
}

/* The entries that a handle means now. */
static uint64_t members_of(unsigned handle)
{
	uint64_t members = 0;
	unsigned d;

	for (d = 0; d < DEVICES; d++)
		if (handle_devices[handle] >> d & 1)
			members |= 1ull << entry_of(d);
	return members;
}

static unsigned any_handle(struct actor *a)
{
	return (unsigned)chance(a, HANDLES);
}

/*
 * A handle for a new object: what is left of an earlier one with the same id must have
 * come through the same devices, for ids are unique. HANDLES if there is none.
 */
static unsigned handle_for(
	struct actor *a, unsigned figure, uint64_t id, uint64_t program)
{
	const struct model_object *o = model_next(
		&a->model, NULL, figure, id, program);
	unsigned first = any_handle(a), i, handle;

	if (!o)
		return first;
	for (i = 0; i < HANDLES; i++) {
		handle = (first + i) % HANDLES;
		if (members_of(handle) == o->place)
			return handle;
	}
	return HANDLES;
}

#include "record/places_events.h"

/* -- events about all threads, when only the first is there --------------------------- */

/* Frees what makes a close ambiguous; false if a part is on another chip now. */
static bool close_prepare(struct actor *a, uint64_t members)
{
	uint64_t all = members_of(HANDLES - 1);
	struct model_object *o;

	while (model_close_is_ambiguous(&a->model, members, &o)) {
		if (!(o->members & all))
			return false;
		if (o->figure < TTMEM_FIGURE_CB) {
			ttmem_free(handles[HANDLES - 1],
				(enum ttmem_kind)o->figure, o->id);
			model_free_counted(&a->model, o->figure, o->id, 0, all);
		} else {
			uint64_t program = o->figure == TTMEM_FIGURE_CB ?
				o->program :
				o->id;

			ttmem_program_destroy(handles[HANDLES - 1], program);
			model_destroy(&a->model, program, false, all);
		}
	}
	return true;
}

static bool closes_prepare(uint64_t members)
{
	unsigned i;

	for (i = 0; i < actors_len; i++)
		if (!close_prepare(&actors[i], members))
			return false;
	return true;
}

static void models_close(uint64_t members)
{
	unsigned i;

	for (i = 0; i < actors_len; i++)
		model_close(&actors[i].model, members);
	open_entries &= ~members;
}

static void event_close(struct actor *a)
{
	unsigned handle = any_handle(a);

	if (!closes_prepare(members_of(handle)))
		return;
	say(a, "device_close(%" PRIx64 ")", members_of(handle));
	ttmem_device_close(handles[handle]);
	models_close(members_of(handle));
}

static void device_open(unsigned device, unsigned entry)
{
	struct ttmem_device_info info;

	ttmem_device_info_init(&info, device);
	info.chip_id = chip_of(entry);
	ttmem_device_open(&info);
	open_entries |= 1ull << entry;
}

static void event_open(struct actor *a)
{
	unsigned device = (unsigned)chance(a, DEVICES), entry = device;
	uint64_t old = 1ull << entry_of(device);

	if (device == CHANGING && chance(a, 2))
		entry = DEVICES;
	if (entry != entry_of(device) && !closes_prepare(old))
		return;
	say(a, "device_open(%u, entry %u)", device, entry);
	if (entry != entry_of(device) && open_entries & old)
		a->model.anomalies[TTMEM_ANOMALY_DEVICE_CHANGED]++;
	device_open(device, entry);
	if (entry != entry_of(device))
		models_close(old);
	if (device == CHANGING)
		changing_entry = entry;
}

static void event_peak_reset(struct actor *a)
{
	unsigned handle = any_handle(a), e, figure;
	struct ttmem_usage_figure *f;

	say(a, "peak_reset(%" PRIx64 ")", members_of(handle));
	ttmem_peak_reset(handles[handle]);
	for (e = 0; e < ENTRIES; e++)
		for (figure = 0; figure < TTMEM_FIGURES; figure++) {
			f = &a->model.figures[e][figure];
			if (members_of(handle) >> e & 1)
				f->peak_bytes = f->live_bytes;
		}
}

static void event_cb_free_all(struct actor *a)
{
	unsigned handle = any_handle(a), i;

	say(a, "cb_free_all(%" PRIx64 ")", members_of(handle));
	ttmem_cb_free_all(handles[handle]);
	for (i = 0; i < actors_len; i++)
		model_destroy(&actors[i].model, 0, true, members_of(handle));
}

static void event_for_all(struct actor *a)
{
	static void (*const runs[])(struct actor * a) = {
		event_close,
		event_close,
		event_open,
		event_open,
		event_peak_reset,
		event_cb_free_all,
	};

	runs[chance(a, sizeof(runs) / sizeof(runs[0]))](a);
}

/* A child owns nothing, and its parent's handles are its own. */
static void event_fork(unsigned handle)
{
	struct ttmem_usage usage = { .size = sizeof(usage) };
	uint64_t devices = (uint64_t)__builtin_popcountll(
		handle_devices[handle]);
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (ttmem_usage(handles[handle], &usage) == 0)
			_exit(1);
		ttmem_alloc(handles[handle], TTMEM_L1, 1, 0, 10);
		if (ttmem_usage(handles[handle], &usage) != 0)
			_exit(2);
		ttmem_free(handles[handle], TTMEM_L1, 1);
		if (usage.figures[TTMEM_L1].live_objects != devices ||
			usage.figures[TTMEM_L1].live_bytes != 10 * devices ||
			usage.figures[TTMEM_DRAM].live_objects)
			_exit(3);
		_exit(0);
	}
	TEST_ASSERT_TRUE(pid > 0);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_EQUAL_INT(0, status);
}

#include "record/places_compare.h"

#ifdef PLACES_WITH_TTMEMD
#include "record/places_ttmemd.h"
#else
static void ttmemd_start(void)
{
}

static void ttmemd_stop(void)
{
}

static void compare_ttmemd(void)
{
}
#endif

void setUp(void)
{
	test_tracking_start();
	ttmemd_start();
}

void tearDown(void)
{
	free(actors);
	actors = NULL;
	ttmemd_stop();
	test_tracking_stop();
}

/* -- the tests ---------------------------------------------------------------------- */

static void mesh_add(unsigned handle, uint64_t devices)
{
	uint32_t members[DEVICES], d;
	size_t len = 0;

	for (d = 0; d < DEVICES; d++)
		if (devices >> d & 1)
			members[len++] = d;
	handles[handle] = ttmem_mesh_open(members, len);
	handle_devices[handle] = devices;
}

static void handles_make(struct actor *a)
{
	static const uint64_t meshes[] = { 0x0f, 0x3c, 0xf0, 0x81, 0x02, 0x03,
		0x0c, 0x0c };
	unsigned h = 0, i;

	for (; h < DEVICES; h++) {
		handles[h] = h;
		handle_devices[h] = 1ull << h;
	}
	for (i = 0; i < sizeof(meshes) / sizeof(meshes[0]); i++)
		mesh_add(h++, meshes[i]);
	for (; h < HANDLES - 1; h++)
		mesh_add(h, 1 + chance(a, (1 << DEVICES) - 1));
	mesh_add(h, (1 << DEVICES) - 1);
	for (i = 0; i < CORE_SETS; i++) {
		struct ttmem_core_range range = { i, 0, i + 3, i };

		core_sets[i] = ttmem_core_set(&range, 1);
		core_set_cores[i] = 4 * (i + 1);
	}
}

static void model_begin(unsigned threads)
{
	const char *text = getenv("TTMEM_TEST_SEED");
	struct timespec now;
	unsigned i;

	clock_gettime(CLOCK_REALTIME, &now);
	seed = text ? strtoull(text, NULL, 10) :
		      (uint64_t)now.tv_nsec << 20 ^ (uint64_t)now.tv_sec;
	actors = calloc(threads, sizeof(*actors));
	TEST_ASSERT_NOT_NULL(actors);
	actors_len = threads;
	for (i = 0; i < threads; i++) {
		actors[i].random = (seed ^ i * 0x9e3779b97f4a7c15u) | 1;
		actors[i].first_id = i * ID_STEP;
	}
	open_entries = 0;
	device_open(CHANGING, DEVICES);
	for (i = 0; i < DEVICES; i++)
		device_open(i, i);
	actors[0].model.anomalies[TTMEM_ANOMALY_DEVICE_CHANGED]++;
	open_entries &= ~(1ull << DEVICES);
	changing_entry = CHANGING;
	handles_make(&actors[0]);
}

static void test_one_thread_equals_the_model_after_each_event(void)
{
	uint64_t steps = test_scale(STEPS), step;
	struct actor *a;

	model_begin(1);
	a = &actors[0];
	for (step = 1; step <= steps; step++) {
		if (chance(a, 300))
			event_any(a);
		else
			event_for_all(a);
		compare_usage(true);
		if (step % 100 == 0)
			compare_anomalies();
		if (step % COMPARE_EACH == 0) {
			compare_segment();
			compare_ttmemd();
		}
		if (step % (STEPS / FORKS) == 0)
			event_fork(any_handle(a));
	}
	compare_segment();
	compare_ttmemd();
}

static void *round_main(void *argument)
{
	struct actor *a = argument;
	unsigned i;

	for (i = 0; i < ROUND_STEPS; i++)
		event_any(a);
	return NULL;
}

static void test_threads_equal_their_models_at_rest(void)
{
	uint64_t rounds = test_scale(ROUNDS), round;
	pthread_t threads[THREADS];
	unsigned i;

	model_begin(THREADS);
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < THREADS; i++)
			TEST_ASSERT_EQUAL_INT(0,
				pthread_create(&threads[i], NULL, round_main,
					&actors[i]));
		for (i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		compare_usage(false);
		compare_segment();
		compare_ttmemd();
		for (i = 0; i < 3; i++)
			event_for_all(&actors[0]);
		compare_usage(false);
	}
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_one_thread_equals_the_model_after_each_event);
	RUN_TEST(test_threads_equal_their_models_at_rest);
	return UNITY_END();
}

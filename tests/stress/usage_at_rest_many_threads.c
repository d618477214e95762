/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ttmem_usage() after many threads: what is live is exact as soon as no hook is
 * running, a peak is within 64 KiB per thread (L1_SMALL: 4 KiB), and exact if one
 * thread did it.
 *
 * Threads only allocate until all have met, then only free: so the true peak is
 * what is live where they meet, and the test knows it.
 */
#include "stress/stress.h"

#define THREADS 8u
#define DEVICES 2u
#define OBJECTS 200u /* of one thread on all devices, at most */
/* By figure: how far a peak may be off for each thread. docs/promises.md says so. */
static const struct {
	const char *name;
	uint64_t slack;
} figures[TTMEM_FIGURES] = {
	{ "dram", 16 << 20 },
	{ "l1", 64 << 10 },
	{ "system memory", 16 << 20 },
	{ "l1_small", 4 << 10 },
	{ "trace", 64 << 10 },
	{ "cb", 64 << 10 },
	{ "application kernel", 64 << 10 },
	{ "fabric kernel", 64 << 10 },
	{ "dispatch kernel", 64 << 10 },
};

struct object {
	uint64_t id;
	uint64_t size; /* 0: none */
	uint32_t device;
	unsigned figure;
};

/* What a thread did; read by others only where all have met. */
static struct object objects[THREADS][OBJECTS];
static struct ttmem_usage_figure model[DEVICES][TTMEM_FIGURES];
static struct stress_gate meeting;
static unsigned round_number;
static uint64_t rounds;

void setUp(void)
{
	struct ttmem_device_info info;
	uint32_t device;

	memset(objects, 0, sizeof(objects));
	memset(model, 0, sizeof(model));
	meeting.threads = THREADS;
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	for (device = 0; device < DEVICES; device++) {
		ttmem_device_info_init(&info, device);
		ttmem_device_open(&info);
	}
}

void tearDown(void)
{
	ttmem_stop();
}

static void object_make(struct object *object, uint64_t id, uint64_t *seed)
{
	/* Small ones stay unfolded for long, large ones fold at once. */
	uint64_t size = stress_below(seed, 8) ? 1 + stress_below(seed, 2000) :
						1 + stress_below(seed, 400000);

	object->id = id;
	object->size = size;
	object->device = stress_below(seed, DEVICES);
	object->figure = stress_below(seed, TTMEM_FIGURES);
	if (object->figure < TTMEM_FIGURE_CB) {
		ttmem_alloc(object->device, (enum ttmem_kind)object->figure, id,
			id << 4, size);
	} else if (object->figure == TTMEM_FIGURE_CB) {
		object->size = size * 2;
		ttmem_cb_alloc(object->device, id, 0, 0, size, 2, 0);
	} else {
		object->size = size * 3;
		ttmem_kernel_load(object->device, id,
			(enum ttmem_kernel_type)(
				object->figure - TTMEM_FIGURE_KERNEL),
			size, 3, 0);
	}
}

static void object_end(struct object *object)
{
	if (object->figure < TTMEM_FIGURE_CB)
		ttmem_free(object->device, (enum ttmem_kind)object->figure,
			object->id);
	else if (object->figure == TTMEM_FIGURE_CB)
		ttmem_cb_free(object->device, object->id, 0);
	else
		ttmem_kernel_unload(object->device, object->id);
	object->size = 0;
}

static void model_make(void)
{
	unsigned i;
	unsigned j;

	for (i = 0; i < DEVICES; i++)
		for (j = 0; j < TTMEM_FIGURES; j++) {
			model[i][j].live_bytes = 0;
			model[i][j].live_objects = 0;
		}
	for (i = 0; i < THREADS; i++)
		for (j = 0; j < OBJECTS; j++) {
			const struct object *o = &objects[i][j];

			model[o->device][o->figure].live_bytes += o->size;
			model[o->device][o->figure].live_objects += o->size > 0;
		}
}

/* Fills what is free, then frees some of what another thread allocated. */
static void allocate_then_free(unsigned number)
{
	struct object *mine = objects[number];
	struct object *other = objects[(number + round_number) % THREADS];
	uint64_t seed = round_number * 100 + number;
	unsigned i;

	for (i = 0; i < OBJECTS; i++)
		if (!mine[i].size)
			object_make(&mine[i],
				(uint64_t)round_number << 32 | number << 16 | i,
				&seed);
	stress_gate_wait(&meeting);
	if (number == 0)
		model_make();
	stress_gate_wait(&meeting);
	for (i = 0; i < OBJECTS; i++)
		if (stress_below(&seed, 4))
			object_end(&other[i]);
}

static void check_usage(
	uint32_t device, const struct ttmem_usage_figure *at_meeting)
{
	struct ttmem_usage usage = { .size = sizeof(usage) };
	unsigned i;

	TEST_ASSERT_EQUAL_INT(0, ttmem_usage(device, &usage));
	for (i = 0; i < TTMEM_FIGURES; i++) {
		const struct ttmem_usage_figure *is = &usage.figures[i];
		const struct ttmem_usage_figure *live = &model[device][i];
		uint64_t peak = at_meeting[i].live_bytes;

		TEST_ASSERT_EQUAL_UINT64(live->live_bytes, is->live_bytes);
		TEST_ASSERT_EQUAL_UINT64(live->live_objects, is->live_objects);
		TEST_ASSERT_TRUE(is->peak_bytes >= is->live_bytes);
		TEST_ASSERT_UINT64_WITHIN_MESSAGE(THREADS * figures[i].slack,
			peak, is->peak_bytes, figures[i].name);
	}
}

static void test_usage_at_rest_is_the_model_and_peaks_are_close(void)
{
	struct ttmem_usage_figure at_meeting[DEVICES][TTMEM_FIGURES];
	struct segment *segment;
	uint32_t device;

	rounds = test_scale(300);
	for (round_number = 1; round_number <= rounds; round_number++) {
		for (device = 0; device < DEVICES; device++)
			ttmem_peak_reset(device);
		stress_run(THREADS, allocate_then_free);
		memcpy(at_meeting, model, sizeof(at_meeting));
		model_make();
		for (device = 0; device < DEVICES; device++)
			check_usage(device, at_meeting[device]);
	}
	segment = stress_at_rest(DEVICES);
	TEST_ASSERT_EQUAL_UINT64(0, stress_sum(segment).anomalies);
	segment_unref(&segment);
}

/* -- one thread ----------------------------------------------------------- */

static void model_add(const struct object *object)
{
	struct ttmem_usage_figure
		*figure = &model[object->device][object->figure];

	figure->live_bytes += object->size;
	figure->live_objects++;
	if (figure->peak_bytes < figure->live_bytes)
		figure->peak_bytes = figure->live_bytes;
}

static void model_remove(const struct object *object)
{
	struct ttmem_usage_figure
		*figure = &model[object->device][object->figure];

	figure->live_bytes -= object->size;
	figure->live_objects--;
}

static void usage_is_the_model(void)
{
	struct ttmem_usage usage = { .size = sizeof(usage) };
	uint32_t device;

	for (device = 0; device < DEVICES; device++) {
		TEST_ASSERT_EQUAL_INT(0, ttmem_usage(device, &usage));
		TEST_ASSERT_EQUAL_MEMORY(
			model[device], usage.figures, sizeof(usage.figures));
	}
}

static void peaks_start_again(uint32_t device)
{
	unsigned i;

	ttmem_peak_reset(device);
	for (i = 0; i < TTMEM_FIGURES; i++)
		model[device][i].peak_bytes = model[device][i].live_bytes;
}

static void test_peaks_of_one_thread_are_exact(void)
{
	uint64_t seed = 1;
	uint64_t events = test_scale(200000);
	struct object *object;
	uint64_t i;

	for (i = 1; i <= events; i++) {
		object = &objects[0][stress_below(&seed, OBJECTS)];
		if (object->size) {
			model_remove(object);
			object_end(object);
		} else {
			object_make(object, i, &seed);
			model_add(object);
		}
		if (i % 97 == 0)
			usage_is_the_model();
		if (i % 10000 == 0)
			peaks_start_again((uint32_t)(i / 10000 % DEVICES));
	}
	usage_is_the_model();
}

int main(void)
{
	test_dir_make();
	UNITY_BEGIN();
	RUN_TEST(test_usage_at_rest_is_the_model_and_peaks_are_close);
	RUN_TEST(test_peaks_of_one_thread_are_exact);
	test_dir_remove();
	return UNITY_END();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads on one key, step by step: at each place where the first thread's
 * operation changes something, the second thread does a whole operation of its
 * own. Whatever the place, at rest slots, counters and records agree, and of two
 * objects one stands. And a thread steps into another one's start.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_dir.h"
#include "support/test_segment.h"

void ttm_testpoint(const char *label);

static __thread bool is_first_thread;
static uint64_t points;
static uint64_t step_in_at;      /* 0: never */
static const char *step_in_name; /* instead of a number */
static char step_in_label[64];
static void (*second)(void);

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

static void *second_run(void *argument)
{
	(void)argument;
	second();
	return NULL;
}

/* Called by the library's test form. */
void ttm_testpoint(const char *label)
{
	pthread_t thread;

	if (!is_first_thread ||
		(step_in_name ? strcmp(label, step_in_name) != 0 :
				++points != step_in_at))
		return;
	snprintf(step_in_label, sizeof(step_in_label), "%s", label);
	if (pthread_create(&thread, NULL, second_run, NULL) == 0)
		pthread_join(thread, NULL);
}

/* -- operations, all on the same keys ------------------------------------------ */

static void buffer_put(void)
{
	ttmem_alloc(0, TTMEM_L1, 1, 0x1000, 100);
}

static void buffer_put_large(void)
{
	ttmem_alloc(0, TTMEM_L1, 1, 0x2000, 100000);
}

static void buffer_free(void)
{
	ttmem_free(0, TTMEM_L1, 1);
}

static void program_destroy(void)
{
	ttmem_program_destroy(0, 1);
}

static void cb_put(void)
{
	ttmem_cb_alloc(0, 1, 1, 0x1000, 10, 10, 0);
}

static void cb_put_large(void)
{
	ttmem_cb_alloc(0, 1, 1, 0x2000, 1000, 100, 0);
}

static void cb_free(void)
{
	ttmem_cb_free(0, 1, 1);
}

static void cb_free_all(void)
{
	ttmem_cb_free_all(0);
}

/* Of the same program; and two of a program that comes after it. */
static void neighbour_put(void)
{
	ttmem_cb_alloc(0, 1, 2, 0x3000, 20, 10, 0);
}

static void neighbour_free(void)
{
	ttmem_cb_free(0, 1, 2);
}

static void successor_put(void)
{
	program_destroy();
	ttmem_cb_alloc(0, 2, 1, 0x4000, 30, 10, 0);
	ttmem_cb_alloc(0, 2, 2, 0x4000, 30, 10, 0);
}

static void kernel_put(void)
{
	ttmem_kernel_load(0, 1, TTMEM_KERNEL_APPLICATION, 10, 10, 0);
}

static void kernel_put_other(void)
{
	ttmem_kernel_load(0, 1, TTMEM_KERNEL_FABRIC, 100, 1000, 0);
}

static void kernel_free(void)
{
	ttmem_kernel_unload(0, 1);
}

static void device_close(void)
{
	ttmem_device_close(0);
}

static void peak_reset(void)
{
	ttmem_peak_reset(0);
}

/* -- the same keys on meshes: device 0 is in each of them ------------------------- */

static uint32_t pair, eight;

static void meshes_open(void)
{
	static const uint32_t members[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

	pair = ttmem_mesh_open(members, 2);
	eight = ttmem_mesh_open(members, 8);
}

static void pair_put(void)
{
	ttmem_alloc(pair, TTMEM_L1, 1, 0x3000, 200);
}

static void pair_free(void)
{
	ttmem_free(pair, TTMEM_L1, 1);
}

static void eight_put(void)
{
	ttmem_alloc(eight, TTMEM_L1, 1, 0x4000, 70000);
}

static void eight_free(void)
{
	ttmem_free(eight, TTMEM_L1, 1);
}

static void other_free(void)
{
	ttmem_free(1, TTMEM_L1, 1);
}

static void meshes_free(void)
{
	eight_free();
	pair_free();
	buffer_free();
}

static void pair_load(void)
{
	ttmem_kernel_load(pair, 1, TTMEM_KERNEL_APPLICATION, 10, 10, 0);
}

static void pair_load_other(void)
{
	ttmem_kernel_load(pair, 1, TTMEM_KERNEL_FABRIC, 100, 1000, 0);
}

static void eight_load(void)
{
	ttmem_kernel_load(eight, 1, TTMEM_KERNEL_APPLICATION, 10, 10, 0);
}

static void pair_unload(void)
{
	ttmem_kernel_unload(pair, 1);
}

static void eight_unload(void)
{
	ttmem_kernel_unload(eight, 1);
}

static void eight_destroy(void)
{
	ttmem_program_destroy(eight, 1);
}

static void eight_close(void)
{
	ttmem_device_close(eight);
}

/* A member by itself, then all: what a mesh finds is a mixture. */
static void pair_put_around(void)
{
	static unsigned times;

	if (++times % 2)
		buffer_put();
	pair_put();
}

static void device_reopen(void)
{
	static uint64_t chip;
	struct ttmem_device_info info;

	ttmem_device_info_init(&info, 0);
	info.chip_id = ++chip % 2;
	ttmem_device_open(&info);
}

struct operation {
	const char *name;
	void (*run)(void);
	unsigned puts; /* devices of the handle; 0: puts nothing */
	bool frees;
	bool ends_epoch;
};

static const struct operation buffers[] = {
	{ "alloc", buffer_put, 1, false, false },
	{ "alloc large", buffer_put_large, 1, false, false },
	{ "free", buffer_free, 0, true, false },
	{ "close", device_close, 0, false, true },
	{ "peak reset", peak_reset, 0, false, false },
	{ "reopen", device_reopen, 0, false, true },
};

static const struct operation meshes[] = {
	{ "mesh alloc", pair_put, 2, false, false },
	{ "mesh free", pair_free, 0, true, false },
	{ "wide mesh alloc", eight_put, 8, false, false },
	{ "wide mesh free", eight_free, 0, true, false },
	{ "alloc", buffer_put, 1, false, false },
	{ "free", buffer_free, 0, true, false },
	{ "free on another", other_free, 0, false, false },
	{ "close", device_close, 0, false, true },
	{ "peak reset", peak_reset, 0, false, false },
};

static const struct operation mesh_kernels[] = {
	{ "load on two", pair_load, 0, false, false },
	{ "load on eight", eight_load, 0, false, false },
	{ "load other on two", pair_load_other, 0, false, false },
	{ "load", kernel_put, 0, false, false },
	{ "unload of two", pair_unload, 0, true, false },
	{ "unload of eight", eight_unload, 0, true, false },
	{ "destroy on eight", eight_destroy, 0, true, false },
	{ "destroy", program_destroy, 0, true, false },
	{ "close", device_close, 0, false, true },
	{ "close of eight", eight_close, 0, false, true },
};

static const struct operation cbs[] = {
	{ "cb alloc", cb_put, 1, false, false },
	{ "cb alloc large", cb_put_large, 1, false, false },
	{ "cb free", cb_free, 0, true, false },
	{ "cb free all", cb_free_all, 0, true, false },
	{ "destroy", program_destroy, 0, true, false },
	{ "close", device_close, 0, false, true },
};

static const struct operation programs[] = {
	{ "cb alloc", cb_put, 0, false, false },
	{ "cb free", cb_free, 0, true, false },
	{ "neighbour alloc", neighbour_put, 0, false, false },
	{ "neighbour free", neighbour_free, 0, false, false },
	{ "destroy", program_destroy, 0, true, false },
	{ "successor", successor_put, 0, true, false },
	{ "cb free all", cb_free_all, 0, true, false },
	{ "close", device_close, 0, false, true },
};

static const struct operation kernels[] = {
	{ "load", kernel_put, 1, false, false },
	{ "load other", kernel_put_other, 1, false, false },
	{ "unload", kernel_free, 0, true, false },
	{ "destroy", program_destroy, 0, true, false },
	{ "close", device_close, 0, false, true },
};

/* -- all pairs ---------------------------------------------------------------- */

/* The objects allocated through the handle of devices 0 to `devices` - 1. */
static uint64_t live_of_epoch(const struct segment *segment, unsigned devices)
{
	uint64_t members = 0, live = 0;
	size_t i;

	for (i = 0; i < devices; i++)
		if (segment_entry(segment, (uint32_t)i) >= 0)
			members |= 1ull << segment_entry(segment, (uint32_t)i);
	for (i = 0; i < segment->objects_len; i++)
		live += !segment->objects[i].orphan &&
			segment->objects[i].alloc_place ==
				segment_place(segment, members);
	return live;
}

static void judge(const struct operation *a, const struct operation *b)
{
	struct segment *segment = test_segment_read();
	char why[300] = "";
	char text[500];
	uint64_t live = live_of_epoch(segment, a->puts);

	if (!segment_check_at_rest(segment, why, sizeof(why)) && a->puts &&
		a->puts == b->puts && live != 1)
		snprintf(why, sizeof(why), "%d objects stand", (int)live);
	segment_unref(&segment);
	if (!why[0])
		return;
	snprintf(text, sizeof(text), "%s in %s at point %d \"%s\": %s", b->name,
		a->name, (int)step_in_at, step_in_label, why);
	TEST_FAIL_MESSAGE(text);
}

/* Runs `a` with `b` at the given point; false if `a` has no such point. */
static bool pair_run(const struct operation *a, const struct operation *b,
	uint64_t at, unsigned turns, void (*make)(void))
{
	unsigned i;

	/* Each replacement is a turn; afterwards the key is live or not. */
	for (i = 0; i < turns; i++)
		make();
	second = b->run;
	points = 0;
	step_in_at = at;
	is_first_thread = true;
	a->run();
	is_first_thread = false;
	judge(a, b);
	return points >= at;
}

static void pairs_run(const struct operation *operations, size_t len,
	void (*make)(void), void (*unmake)(void))
{
	/* Turns are compared as signed 8-bit numbers. */
	static const unsigned turns[] = { 130, 0, 1 };
	size_t turns_len = test_scale(100) < 100 ? 2 : 3;
	size_t i;
	size_t j;
	size_t k;
	uint64_t at;

	for (i = 0; i < len; i++)
		for (j = 0; j < len; j++)
			for (k = 0; k < turns_len; k++) {
				at = 1;
				while (pair_run(&operations[i], &operations[j],
					at++, turns[k], make))
					unmake();
				unmake();
			}
}

static void test_buffers_agree_wherever_another_thread_steps_in(void)
{
	pairs_run(buffers, sizeof(buffers) / sizeof(buffers[0]),
		buffer_put_large, buffer_free);
}

static void test_meshes_agree_wherever_another_thread_steps_in(void)
{
	meshes_open();
	pairs_run(meshes, sizeof(meshes) / sizeof(meshes[0]), pair_put,
		meshes_free);
	pairs_run(meshes, sizeof(meshes) / sizeof(meshes[0]), pair_put_around,
		meshes_free);
}

static void test_mesh_kernels_agree_wherever_another_thread_steps_in(void)
{
	meshes_open();
	pairs_run(mesh_kernels, sizeof(mesh_kernels) / sizeof(mesh_kernels[0]),
		pair_load, eight_destroy);
}

static void test_cbs_agree_wherever_another_thread_steps_in(void)
{
	pairs_run(cbs, sizeof(cbs) / sizeof(cbs[0]), cb_put_large, cb_free);
}

/* One CB, or two, on this thread, or on another one. */
static void program_make(void)
{
	static unsigned times;
	pthread_t thread;

	second = neighbour_put;
	if (++times % 3 == 1)
		neighbour_put();
	else if (times % 3 == 2 &&
		pthread_create(&thread, NULL, second_run, NULL) == 0)
		pthread_join(thread, NULL);
	cb_put_large();
}

/* What is live is found: nothing stays when all programs end. */
static void programs_unmake(void)
{
	struct segment *segment;
	char text[100];

	ttmem_program_destroy(0, 1);
	ttmem_program_destroy(0, 2);
	segment = test_segment_read();
	snprintf(text, sizeof(text), "after \"%s\"", step_in_label);
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(0, live_of_epoch(segment, 1), text);
	segment_unref(&segment);
}

static void test_programs_agree_wherever_another_thread_steps_in(void)
{
	pairs_run(programs, sizeof(programs) / sizeof(programs[0]),
		program_make, programs_unmake);
}

static void kernel_put_alternating(void)
{
	static unsigned size;

	ttmem_kernel_load(0, 1, TTMEM_KERNEL_DISPATCH, 50 + ++size % 2, 1, 0);
}

static void test_kernels_agree_wherever_another_thread_steps_in(void)
{
	pairs_run(kernels, sizeof(kernels) / sizeof(kernels[0]),
		kernel_put_alternating, kernel_free);
}

/* Whether what it has done is in a file that others find, if it is killed now. */
static void buffer_put_and_look(void)
{
	struct ttmem_status status = { .size = sizeof(status) };

	buffer_put();
	if (ttmem_status(&status) < 0 || status.state != TTMEM_STATE_ON)
		_exit(3);
	_exit(access(status.segment, F_OK) == 0 ? 0 : 4);
}

/* A forked child starts with its first event, with the hooks on. */
static void test_nothing_is_recorded_in_a_file_without_a_name(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		second = buffer_put_and_look;
		step_in_name = "process published";
		is_first_thread = true;
		buffer_put();
		_exit(5);
	}
	TEST_ASSERT_TRUE(pid > 0);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_TRUE(WIFEXITED(status));
	TEST_ASSERT_EQUAL_INT(0, WEXITSTATUS(status));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_buffers_agree_wherever_another_thread_steps_in);
	RUN_TEST(test_meshes_agree_wherever_another_thread_steps_in);
	RUN_TEST(test_mesh_kernels_agree_wherever_another_thread_steps_in);
	RUN_TEST(test_cbs_agree_wherever_another_thread_steps_in);
	RUN_TEST(test_programs_agree_wherever_another_thread_steps_in);
	RUN_TEST(test_kernels_agree_wherever_another_thread_steps_in);
	RUN_TEST(test_nothing_is_recorded_in_a_file_without_a_name);
	return UNITY_END();
}

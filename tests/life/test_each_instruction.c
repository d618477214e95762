/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hook is interrupted at each single one of its instructions: by a handler that
 * calls hooks, by one that forks, and by a cancellation.
 */
#include "life/life.h"

#include <pthread.h>
#include <signal.h>

#include "support/test_segment.h"

#if defined(__x86_64__) && !LIFE_SANITIZED

#include "life/stepping.h"

/* A process stopped is not one that never started: that comes first. */
static bool has_started;
static const char *dir;

void setUp(void)
{
	trap_set();
	if (has_started)
		test_tracking_start();
	else
		dir = test_dir_make();
}

void tearDown(void)
{
	signal(SIGTRAP, SIG_DFL);
	if (has_started)
		test_tracking_stop();
	else
		test_dir_remove();
	has_started = true;
}

/* -- hooks, each on fresh ids -------------------------------------------------- */

static uint64_t next;
static uint32_t mesh;

static void buffer_alloc(void)
{
	ttmem_alloc(0, TTMEM_DRAM, next, 0, 1000);
}

static void buffer_free(void)
{
	ttmem_free(0, TTMEM_DRAM, next);
}

static void buffer_alloc_large(void)
{
	ttmem_alloc(0, TTMEM_DRAM, next, 0, 100000);
}

static void cb_alloc(void)
{
	ttmem_cb_alloc(0, next, 1, 0, 10, 10, 0);
}

static void cb_alloc_other(void)
{
	ttmem_cb_alloc(0, next, 1, 0, 20, 10, 0);
}

static void kernel_load(void)
{
	ttmem_kernel_load(0, next, TTMEM_KERNEL_APPLICATION, 10, 10, 0);
}

static void program_destroy(void)
{
	ttmem_program_destroy(0, next);
}

static void mesh_alloc(void)
{
	ttmem_alloc(mesh, TTMEM_L1_SMALL, next, 0, 10);
}

static void mesh_free(void)
{
	ttmem_free(mesh, TTMEM_L1_SMALL, next);
}

static void scope_push(void)
{
	static const char *const names[] = { "a", "b", "c" };

	ttmem_scope_push(names[next % 3], 0);
}

static void scope_pop(void)
{
	ttmem_scope_pop();
}

/* What comes before the hook, the hook, what comes after. */
static const struct stepped {
	void (*before)(void);
	void (*hook)(void);
	void (*after)(void);
} all[] = {
	{ NULL, buffer_alloc, buffer_free },
	{ buffer_alloc, buffer_free, NULL },
	{ buffer_alloc, buffer_alloc_large, buffer_free }, /* replaces */
	{ NULL, buffer_alloc_large, buffer_free },
	{ NULL, cb_alloc, program_destroy },
	{ cb_alloc, cb_alloc_other, program_destroy },
	{ cb_alloc, program_destroy, NULL },
	{ NULL, kernel_load, program_destroy },
	{ kernel_load, kernel_load, program_destroy }, /* a dispatch */
	{ NULL, mesh_alloc, mesh_free },
	{ mesh_alloc, mesh_free, NULL },
	{ NULL, scope_push, scope_pop },
	{ scope_push, scope_pop, NULL },
};

#define ALL (sizeof(all) / sizeof(all[0]))

static void mesh_open(void)
{
	uint32_t members[] = { 0, 1 };

	mesh = ttmem_mesh_open(members, 2);
}

static void stepped_trace(const struct stepped *what)
{
	unsigned i;

	/* Once without, so that all is there that has to be made. */
	for (i = 0; i < 2; i++) {
		next++;
		if (what->before)
			what->before();
		if (i == 0)
			what->hook();
		else
			step_through(what->hook);
		if (what->after)
			what->after();
	}
	trace_make_unique();
}

/* Runs it, acting when it first comes to a place; false if it does not. */
static bool stepped_run(const struct stepped *what, size_t place)
{
	next++;
	if (what->before)
		what->before();
	plant(trace->places[place]);
	what->hook();
	unplant();
	if (what->after)
		what->after();
	return has_acted;
}

/* -- a handler ---------------------------------------------------------------- */

static uint64_t handled;

#define ACT_HOOKS 8u

/* The same objects as the hook it comes in, and some of its own. */
static void act_hooks(void)
{
	uint64_t id = ++handled << 40;

	ttmem_alloc(0, TTMEM_DRAM, id, 0, 70000);
	ttmem_cb_alloc(0, next, 2, 0, 10, 10, 0);
	ttmem_scope_push("handler", 0);
	ttmem_alloc(mesh, TTMEM_TRACE, id, 0, 10);
	ttmem_scope_pop();
	ttmem_cb_free(0, next, 2);
	ttmem_free(mesh, TTMEM_TRACE, id);
	ttmem_free(0, TTMEM_DRAM, id);
}

/* How many handlers were recorded: the others interrupted a hook, and were lost. */
static uint64_t handled_recorded(const struct segment *segment)
{
	uint64_t lost = segment->lost_events[TTMEM_LOSS_NESTED];

	expect(lost % ACT_HOOKS == 0);
	expect(lost / ACT_HOOKS <= handled);
	expect(life_lost_only_nested(segment));
	return handled - lost / ACT_HOOKS;
}

static void nothing_is_left(void)
{
	struct segment *segment = test_segment_at_rest();
	int entry = segment_entry(segment, 0);

	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(handled_recorded(segment),
		segment->devices[entry]
			.figures[TTMEM_FIGURE_TRACE]
			.free_objects);
	TEST_ASSERT_EQUAL_UINT64(
		0, segment->anomalies[TTMEM_ANOMALY_FREE_UNKNOWN]);
	TEST_ASSERT_EQUAL_UINT64(
		0, segment->anomalies[TTMEM_ANOMALY_SCOPE_UNDERFLOW]);
	segment_unref(&segment);
}

static void test_handler_at_any_instruction_of_a_hook(void)
{
	size_t acted;
	size_t at;
	size_t i;

	mesh_open();
	handled = 0;
	act = act_hooks;
	act_hooks();
	for (i = 0; i < ALL; i++) {
		stepped_trace(&all[i]);
		for (at = 0, acted = 0; at < trace->len; at++) {
			acted += stepped_run(&all[i], at);
			nothing_is_left();
		}
		TEST_ASSERT_TRUE(acted > 30);
	}
}

/* -- the first hook of a thread ------------------------------------------------ */

static size_t thread_at;

static void *first_of_thread(void *argument)
{
	(void)argument;
	next++;
	if (thread_at == SIZE_MAX) {
		step_through(buffer_alloc);
	} else {
		plant(trace->places[thread_at]);
		buffer_alloc();
		unplant();
	}
	ttmem_free(0, TTMEM_DRAM, next);
	return NULL;
}

static void thread_run(size_t at)
{
	pthread_t thread;

	thread_at = at;
	TEST_ASSERT_EQUAL_INT(
		0, pthread_create(&thread, NULL, first_of_thread, NULL));
	pthread_join(thread, NULL);
}

static void test_handler_at_any_instruction_of_a_threads_first_hook(void)
{
	struct segment *segment;
	size_t acted = 0;
	size_t at;

	mesh_open();
	handled = 0;
	act = act_hooks;
	act_hooks();
	thread_run(SIZE_MAX);
	thread_run(SIZE_MAX);
	trace_make_unique();
	for (at = 0; at < trace->len; at++) {
		thread_run(at);
		acted += has_acted;
		nothing_is_left();
	}
	TEST_ASSERT_TRUE(acted > 100);
	/* Seats that a handler took apart are found again. */
	segment = test_segment_at_rest();
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(64, segment->lanes_count);
	segment_unref(&segment);
}

/* -- the first hook of a process ----------------------------------------------- */

static size_t start_at;

static void start_trace(void)
{
	next = 1;
	step_through(buffer_alloc);
	buffer_free();
	ttmem_stop();
}

static void first_of_process(void)
{
	struct segment *segment;
	char *path;
	bool lost;

	handled = 0;
	act = act_hooks;
	next = 1;
	mesh = UINT32_MAX; /* of no use before there is a process */
	plant(trace->places[start_at]);
	buffer_alloc();
	unplant();
	expect(handled == has_acted);
	segment = life_segment(dir, getpid());
	expect(segment);
	expect(segment->objects_len == 1);
	expect(segment->objects[0].id == 1);
	expect(life_allocs(segment, TTMEM_FIGURE_DRAM) ==
		1 + handled_recorded(segment));
	expect(life_allocs(segment, TTMEM_FIGURE_CB) ==
		handled_recorded(segment));
	lost = handled_recorded(segment) != handled;
	segment_unref(&segment);
	path = test_dir_segment(dir, getpid(), NULL);
	ttmem_free(0, TTMEM_DRAM, 1);
	ttmem_stop();
	/* A segment with losses stays, for whoever wants to know. */
	expect(life_segments(dir, 0) == lost);
	unlink(path);
	free(path);
}

/* Thousands of places: some of them. */
static void test_handler_anywhere_in_a_processes_first_hook(void)
{
	size_t runs = test_scale(300);
	size_t i;

	life_run(start_trace);
	trace_make_unique();
	TEST_ASSERT_TRUE(trace->len > 1000);
	for (i = 0; i < runs; i++) {
		start_at = i * trace->len / runs;
		life_run(first_of_process);
		TEST_ASSERT_EQUAL_UINT64(0, life_segments(dir, 0));
	}
}

/* -- fork --------------------------------------------------------------------- */

static bool is_child;
static unsigned fork_faults;
static uint8_t *bytes_before;
static size_t size_before;
static char path_before[300];

static void child_goes_on(void)
{
	struct segment *segment;
	uint64_t id = 1ull << 50;

	ttmem_alloc(0, TTMEM_DRAM, id, 0, 10);
	segment = life_segment(dir, getpid());
	expect(segment);
	expect(segment->objects_len == 1 && segment->objects[0].id == id);
	expect(segment->objects[0].scope == 0);
	expect(segment->pid == (uint32_t)getpid());
	segment_unref(&segment);
	ttmem_free(0, TTMEM_DRAM, id);
	ttmem_stop();
	_exit(0);
}

static void act_fork(void)
{
	size_t size;
	uint8_t *bytes;
	pid_t pid;

	bytes_before = life_bytes(path_before, &size_before);
	pid = fork();
	if (pid == 0) {
		is_child = true;
		return;
	}
	expect(pid > 0 && life_ended_well(pid));
	bytes = life_bytes(path_before, &size);
	expect(size == size_before);
	/* The child did not write to its parent's segment. */
	if (memcmp(bytes, bytes_before, size)) {
		dprintf(STDERR_FILENO, "forked at %p\n", (void *)act_place);
		fork_faults++;
	}
	free(bytes);
	free(bytes_before);
}

static void test_fork_at_any_instruction_of_a_hook(void)
{
	size_t stride = 400 / test_scale(100);
	size_t at;
	size_t i;

	mesh_open();
	handled = 0;
	act_hooks();
	snprintf(path_before, sizeof(path_before), "%s", test_segment_path());
	dir = getenv("TTMEM_DIR");
	act = act_fork;
	for (i = 0; i < ALL; i++) {
		stepped_trace(&all[i]);
		for (at = i % stride; at < trace->len; at += stride) {
			stepped_run(&all[i], at);
			if (is_child)
				child_goes_on();
			nothing_is_left();
		}
	}
	TEST_ASSERT_EQUAL_UINT_MESSAGE(
		0, fork_faults, "the child wrote to its parent's segment");
}

/* -- cancellation ------------------------------------------------------------- */

static void act_cancel(void)
{
	pthread_cancel(pthread_self());
}

static const struct stepped *cancelled;

static void *cancelled_in_hook(void *argument)
{
	int before;

	(void)argument;
	ttmem_scope_push("cancelled", 0);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
	stepped_run(cancelled, thread_at);
	return NULL;
}

static uint64_t cancel_everywhere(void)
{
	uint64_t cancels = 0;
	pthread_t thread;

	for (thread_at = 0; thread_at < trace->len; thread_at++) {
		if (pthread_create(&thread, NULL, cancelled_in_hook, NULL))
			TEST_FAIL_MESSAGE("pthread_create");
		pthread_join(thread, NULL);
		unplant();
		cancels += has_acted;
		/* What a replacement left: the reader counts only a few. */
		ttmem_free(0, TTMEM_DRAM, next);
		ttmem_free(0, TTMEM_DRAM, next);
		ttmem_program_destroy(0, next);
	}
	return cancels;
}

static void *next_on_the_lane(void *argument)
{
	act_hooks();
	return argument;
}

/* Asynchronous cancellation is not for hooks; even so it spoils little. */
static void test_cancellation_at_any_instruction_spoils_one_operation(void)
{
	struct segment *segment;
	uint64_t cancels = 0;
	uint64_t allocs;
	char why[512] = "";
	pthread_t thread;
	size_t i;

	mesh_open();
	for (i = 0; i < ALL; i++) {
		cancelled = &all[i];
		stepped_trace(cancelled);
		act = act_cancel;
		cancels += cancel_everywhere();
	}
	TEST_ASSERT_TRUE(cancels > 1000);
	segment = test_segment_read();
	TEST_ASSERT_EQUAL_INT_MESSAGE(0,
		segment_check_half_done(segment, 2 * cancels, why, sizeof(why)),
		why);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(2, segment->lanes_count);
	allocs = life_allocs(segment, TTMEM_FIGURE_TRACE);
	segment_unref(&segment);
	/* The next one on that lane finds it in order. */
	if (pthread_create(&thread, NULL, next_on_the_lane, NULL))
		TEST_FAIL_MESSAGE("pthread_create");
	pthread_join(thread, NULL);
	segment = test_segment_read();
	TEST_ASSERT_EQUAL_UINT64(0, segment->lanes_broken);
	TEST_ASSERT_EQUAL_UINT64(
		allocs + 2, life_allocs(segment, TTMEM_FIGURE_TRACE));
	TEST_ASSERT_EQUAL_UINT64(
		allocs + 2, life_frees(segment, TTMEM_FIGURE_TRACE));
	TEST_ASSERT_TRUE(life_lost_nothing(segment));
	segment_unref(&segment);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_handler_anywhere_in_a_processes_first_hook);
	RUN_TEST(test_handler_at_any_instruction_of_a_hook);
	RUN_TEST(test_handler_at_any_instruction_of_a_threads_first_hook);
	RUN_TEST(test_fork_at_any_instruction_of_a_hook);
	RUN_TEST(test_cancellation_at_any_instruction_spoils_one_operation);
	return UNITY_END();
}

#else

void setUp(void)
{
}

void tearDown(void)
{
}

/* A sanitizer has its own idea of signals, and its steps are not ours. */
int main(void)
{
	return 77;
}

#endif

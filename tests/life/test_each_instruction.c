/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hook is interrupted after each single one of its instructions: by a handler
 * that calls hooks, by one that forks, and by a cancellation. The processor's
 * single-step flag delivers a SIGTRAP after each instruction; one of them acts.
 */
#include "life/life.h"

#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include "support/test_segment.h"

#if defined(__x86_64__) && !LIFE_SANITIZED

#define TRAP_FLAG 0x100ull

static volatile unsigned long steps;
static volatile unsigned long act_at;
static void (*act)(void);
static volatile bool steps_end; /* no more of them in this process */

static void on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)number;
	(void)info;
	steps++;
	if (steps == act_at)
		act();
	if (steps_end)
		interrupted->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

static inline __attribute__((always_inline)) void stepping_on(void)
{
	__asm__ volatile("pushfq; orq %0, (%%rsp); popfq"
			 :
			 : "i"(TRAP_FLAG)
			 : "memory", "cc");
}

static inline __attribute__((always_inline)) void stepping_off(void)
{
	__asm__ volatile("pushfq; andq %0, (%%rsp); popfq"
			 :
			 : "i"(~TRAP_FLAG)
			 : "memory", "cc");
}

static __attribute__((noinline)) void step_through(void (*hook)(void))
{
	steps = 0;
	stepping_on();
	hook();
	stepping_off();
}

static void trap_set(void)
{
	struct sigaction action = { .sa_sigaction = on_trap,
		.sa_flags = SA_SIGINFO | SA_NODEFER };

	steps_end = false;
	sigaction(SIGTRAP, &action, NULL);
}

void setUp(void)
{
	trap_set();
	test_tracking_start();
}

void tearDown(void)
{
	signal(SIGTRAP, SIG_DFL);
	test_tracking_stop();
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

/* Steps once through it, acting after the given instruction. */
static bool stepped_run(const struct stepped *what, unsigned long at)
{
	next++;
	if (what->before)
		what->before();
	act_at = at;
	step_through(what->hook);
	act_at = 0;
	if (what->after)
		what->after();
	return steps >= at;
}

/* -- a handler ---------------------------------------------------------------- */

static uint64_t handled;

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

static void nothing_is_left(void)
{
	struct segment *segment = test_segment_at_rest();
	int entry = segment_entry(segment, 0);

	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(handled,
		segment->devices[entry].figures[TTMEM_FIGURE_TRACE].free_objects);
	TEST_ASSERT_TRUE(life_lost_nothing(segment));
	TEST_ASSERT_EQUAL_UINT64(
		0, segment->anomalies[TTMEM_ANOMALY_FREE_UNKNOWN]);
	TEST_ASSERT_EQUAL_UINT64(
		0, segment->anomalies[TTMEM_ANOMALY_SCOPE_UNDERFLOW]);
	segment_unref(&segment);
}

static void test_handler_after_any_instruction_of_a_hook(void)
{
	unsigned long at;
	size_t i;

	mesh_open();
	handled = 0;
	act = act_hooks;
	act_hooks();
	for (i = 0; i < ALL; i++) {
		for (at = 1; stepped_run(&all[i], at); at++)
			nothing_is_left();
		nothing_is_left();
		TEST_ASSERT_TRUE(at > 20);
		if (getenv("DBG")) fprintf(stderr, "%d: %ld\n", (int)i, at);
	}
}

/* -- the first hook of a thread ------------------------------------------------ */

static unsigned long thread_at;
static bool thread_had_it;

static void *first_of_thread(void *argument)
{
	(void)argument;
	next++;
	act_at = thread_at;
	step_through(buffer_alloc);
	act_at = 0;
	thread_had_it = steps >= thread_at;
	ttmem_free(0, TTMEM_DRAM, next);
	return NULL;
}

static void thread_run(void)
{
	pthread_t thread;

	TEST_ASSERT_EQUAL_INT(
		0, pthread_create(&thread, NULL, first_of_thread, NULL));
	pthread_join(thread, NULL);
}

static void test_handler_after_any_instruction_of_a_threads_first_hook(void)
{
	struct segment *segment;

	mesh_open();
	handled = 0;
	act = act_hooks;
	act_hooks();
	thread_at = 0;
	do {
		thread_at++;
		thread_run();
		nothing_is_left();
	} while (thread_had_it);
	TEST_ASSERT_TRUE(thread_at > 100);
	/* Seats that a handler took apart are found again. */
	segment = test_segment_at_rest();
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(64, segment->lanes_count);
	segment_unref(&segment);
}

/* -- the first hook of a process ----------------------------------------------- */

static unsigned long *start_steps; /* shared */
static unsigned long start_at;
static const char *start_dir;

static void first_of_process(void)
{
	struct segment *segment;

	handled = 0;
	act = act_hooks;
	act_at = start_at;
	next = 1;
	mesh = UINT32_MAX; /* of no use before there is a process */
	step_through(buffer_alloc);
	act_at = 0;
	*start_steps = steps;
	segment = life_segment(start_dir, getpid());
	expect(segment);
	expect(segment->objects_len == 1);
	expect(segment->objects[0].id == 1);
	expect(life_allocs(segment, TTMEM_FIGURE_DRAM) == 1 + handled);
	expect(life_allocs(segment, TTMEM_FIGURE_CB) == handled);
	expect(handled == (start_at && start_at <= steps));
	expect(life_lost_nothing(segment));
	segment_unref(&segment);
	ttmem_free(0, TTMEM_DRAM, 1);
	ttmem_stop();
}

/* Thousands of instructions: each run takes others of them. */
static void test_handler_anywhere_in_a_processes_first_hook(void)
{
	unsigned long runs = test_scale(200);
	unsigned long i;

	test_tracking_stop();
	start_dir = test_dir_make();
	start_steps = life_shared(sizeof(*start_steps));
	start_at = 0;
	life_run(first_of_process);
	TEST_ASSERT_TRUE(*start_steps > 1000);
	for (i = 0; i < runs; i++) {
		start_at = 1 + (i * *start_steps + (unsigned)getpid() % runs) /
				runs;
		life_run(first_of_process);
		TEST_ASSERT_EQUAL_UINT64(0, life_segments(start_dir, 0));
	}
	munmap(start_steps, sizeof(*start_steps));
}

/* -- fork --------------------------------------------------------------------- */

static bool is_child;
static uint8_t *bytes_before;
static size_t size_before;
static char path_before[300];
static char dir_before[300];

static void child_goes_on(void)
{
	struct segment *segment;
	uint64_t id = 1ull << 50;

	ttmem_alloc(0, TTMEM_DRAM, id, 0, 10);
	segment = life_segment(dir_before, getpid());
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
		steps_end = true;
		return;
	}
	expect(pid > 0 && life_ended_well(pid));
	bytes = life_bytes(path_before, &size);
	expect(size == size_before);
	expect(!memcmp(bytes, bytes_before, size));
	free(bytes);
	free(bytes_before);
}

static void test_fork_after_any_instruction_of_a_hook(void)
{
	unsigned long step = test_scale(100) < 100 ? 7 : 2;
	unsigned long at;
	size_t i;

	mesh_open();
	handled = 0;
	act_hooks();
	snprintf(path_before, sizeof(path_before), "%s", test_segment_path());
	snprintf(dir_before, sizeof(dir_before), "%s", getenv("TTMEM_DIR"));
	act = act_fork;
	for (i = 0; i < ALL; i++) {
		bool more = true;

		for (at = 1 + i % step; more; at += step) {
			more = stepped_run(&all[i], at);
			if (is_child)
				child_goes_on();
			nothing_is_left();
		}
	}
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
	if (!stepped_run(cancelled, thread_at))
		thread_had_it = false;
	return NULL;
}

/* Asynchronous cancellation is not for hooks; even so it spoils little. */
static void test_cancellation_after_any_instruction_spoils_one_operation(void)
{
	struct segment *segment;
	uint64_t cancels = 0;
	uint64_t allocs;
	pthread_t thread;
	char why[512] = "";
	size_t i;

	mesh_open();
	act = act_cancel;
	for (i = 0; i < ALL; i++) {
		cancelled = &all[i];
		thread_had_it = true;
		for (thread_at = 1; thread_had_it; thread_at++) {
			if (pthread_create(
				    &thread, NULL, cancelled_in_hook, NULL))
				TEST_FAIL_MESSAGE("pthread_create");
			pthread_join(thread, NULL);
			cancels++;
		}
	}
	segment = test_segment_read();
	TEST_ASSERT_EQUAL_INT_MESSAGE(0,
		segment_check_half_done(
			segment, 2 * cancels, why, sizeof(why)),
		why);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(2, segment->lanes_count);
	allocs = life_allocs(segment, TTMEM_FIGURE_TRACE);
	segment_unref(&segment);
	/* The next one on that lane finds it in order. */
	act = act_hooks;
	handled = 0;
	thread_at = 1;
	thread_run();
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
	RUN_TEST(test_handler_after_any_instruction_of_a_hook);
	RUN_TEST(test_handler_after_any_instruction_of_a_threads_first_hook);
	RUN_TEST(test_handler_anywhere_in_a_processes_first_hook);
	RUN_TEST(test_fork_after_any_instruction_of_a_hook);
	RUN_TEST(test_cancellation_after_any_instruction_spoils_one_operation);
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

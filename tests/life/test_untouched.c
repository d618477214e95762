/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hook leaves a thread as it found it: errno, the signal mask, the handlers and
 * the cancellation state and type, also where it starts or grows.
 */
#include "life/life.h"

#include <pthread.h>
#include <signal.h>

#include "support/calls.h"
#include "support/test_segment.h"

#define ODD_ERROR 4711
#define MANY 10000u

void setUp(void)
{
	test_dir_make();
}

void tearDown(void)
{
	ttmem_stop();
	test_dir_remove();
}

struct state {
	int error;
	sigset_t mask;
	/* The fields: libc leaves garbage in the rest of the structure. */
	uint64_t handlers[65];
	uint64_t flags[65];
	int cancel_state;
	int cancel_type;
};

static void state_read(struct state *ret_state)
{
	struct sigaction action;
	int number;

	memset(ret_state, 0, sizeof(*ret_state));
	ret_state->error = errno;
	pthread_sigmask(SIG_SETMASK, NULL, &ret_state->mask);
	for (number = 1; number < 65; number++)
		if (sigaction(number, NULL, &action) == 0) {
			ret_state->handlers[number] = (uintptr_t)
							      action.sa_handler;
			ret_state->flags[number] = (uint64_t)action.sa_flags;
		}
	pthread_setcancelstate(
		PTHREAD_CANCEL_DISABLE, &ret_state->cancel_state);
	pthread_setcancelstate(ret_state->cancel_state, NULL);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &ret_state->cancel_type);
	pthread_setcanceltype(ret_state->cancel_type, NULL);
}

static struct state before;

static void remember(void)
{
	errno = ODD_ERROR;
	state_read(&before);
	errno = ODD_ERROR;
}

static void compare(int line)
{
	struct state after;
	char text[64];
	int number;

	state_read(&after);
	snprintf(text, sizeof(text), "after the hook of line %d", line);
	TEST_ASSERT_EQUAL_INT_MESSAGE(ODD_ERROR, after.error, text);
	for (number = 1; number < 65; number++)
		TEST_ASSERT_EQUAL_INT_MESSAGE(sigismember(&before.mask, number),
			sigismember(&after.mask, number), text);
	TEST_ASSERT_EQUAL_UINT64_ARRAY_MESSAGE(
		before.handlers, after.handlers, 65, text);
	TEST_ASSERT_EQUAL_UINT64_ARRAY_MESSAGE(
		before.flags, after.flags, 65, text);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		before.cancel_state, after.cancel_state, text);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		before.cancel_type, after.cancel_type, text);
}

#define UNTOUCHED(call)                                                        \
	do {                                                                   \
		remember();                                                    \
		call;                                                          \
		compare(__LINE__);                                             \
	} while (0)

/* Loops are compared once: a hook that only sets errno sets it for good. */
#define UNTOUCHED_BY_MANY(call)                                                \
	do {                                                                   \
		uint64_t i;                                                    \
		remember();                                                    \
		for (i = 0; i < MANY; i++)                                     \
			call;                                                  \
		compare(__LINE__);                                             \
	} while (0)

static void push_name(uint64_t i)
{
	char name[16] = "name ";
	unsigned at;

	for (at = 5; i || at == 5; i /= 10)
		name[at++] = (char)('0' + i % 10);
	ttmem_scope_push(name, 0);
	ttmem_scope_pop();
}

static void all_hooks(void)
{
	uint32_t members[] = { 0, 1 };
	struct ttmem_device_info info;
	struct ttmem_status status = { .size = sizeof(status) };
	struct ttmem_usage usage = { .size = sizeof(usage) };
	uint32_t mesh = 0;

	UNTOUCHED(ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10));
	UNTOUCHED(call_buffer_alloc(0, TTMEM_DRAM, 1, 0, 10, 20));
	UNTOUCHED(ttmem_alloc(0, (enum ttmem_kind)77, 1, 0, 10));
	UNTOUCHED(ttmem_free(0, TTMEM_DRAM, 1));
	UNTOUCHED(ttmem_free(0, TTMEM_DRAM, 1));
	ttmem_device_info_init(&info, 3);
	UNTOUCHED(ttmem_device_open(&info));
	UNTOUCHED(mesh = ttmem_mesh_open(members, 2));
	UNTOUCHED(ttmem_alloc(mesh, TTMEM_L1_SMALL, 1, 0, 10));
	UNTOUCHED(ttmem_cb_alloc(0, 1, 1, 0, 10, 10, 0));
	UNTOUCHED(ttmem_kernel_load(0, 1, TTMEM_KERNEL_FABRIC, 1, 1, 0));
	UNTOUCHED(ttmem_kernel_load(0, 1, TTMEM_KERNEL_FABRIC, 1, 1, 0));
	UNTOUCHED(ttmem_cb_free(0, 1, 1));
	UNTOUCHED(ttmem_kernel_unload(0, 1));
	UNTOUCHED(ttmem_program_destroy(0, 1));
	UNTOUCHED(ttmem_cb_free_all(0));
	UNTOUCHED(ttmem_scope_push("scope", 0));
	UNTOUCHED(ttmem_scope_pop());
	UNTOUCHED(ttmem_scope_pop());
	UNTOUCHED(call_alloc_failed(0, TTMEM_L1, 10, 5));
	UNTOUCHED(ttmem_mark("mark"));
	UNTOUCHED(ttmem_peak_reset(0));
	UNTOUCHED(ttmem_status(&status));
	UNTOUCHED(ttmem_usage(0, &usage));
	UNTOUCHED(ttmem_usage(77, &usage));
	UNTOUCHED(ttmem_mesh_close(mesh));
	UNTOUCHED(ttmem_device_close(3));
	UNTOUCHED_BY_MANY(ttmem_alloc(0, TTMEM_TRACE, i, 0, 1));
	UNTOUCHED_BY_MANY(push_name(i));
	UNTOUCHED_BY_MANY(ttmem_free(0, TTMEM_TRACE, i));
	UNTOUCHED(ttmem_stop());
	UNTOUCHED(ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10));
	UNTOUCHED(ttmem_start(NULL));
	UNTOUCHED(ttmem_start(NULL));
	UNTOUCHED(ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10));
}

/* First of all in this program: the first hook starts. */
static void test_hooks_leave_a_thread_as_they_found_it(void)
{
	all_hooks();
}

static void *odd_thread(void *argument)
{
	sigset_t some;
	int old;

	sigemptyset(&some);
	sigaddset(&some, SIGUSR2);
	sigaddset(&some, SIGTERM);
	pthread_sigmask(SIG_SETMASK, &some, NULL);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	all_hooks();
	return argument;
}

static void test_the_same_where_cancellation_and_signals_are_off(void)
{
	pthread_t thread;

	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	if (pthread_create(&thread, NULL, odd_thread, NULL))
		TEST_FAIL_MESSAGE("pthread_create");
	pthread_join(thread, NULL);
}

/* What cannot be kept leaves no trace in the thread either. */
static void test_the_same_where_the_segment_is_full(void)
{
	struct ttmem_config config = { .size = sizeof(config),
		.max_bytes = 1 << 20 };

	TEST_ASSERT_EQUAL_INT(0, ttmem_start(&config));
	UNTOUCHED_BY_MANY(ttmem_alloc(0, TTMEM_DRAM, i, 0, 10));
	UNTOUCHED_BY_MANY(push_name(i));
	UNTOUCHED(ttmem_alloc(63, TTMEM_DRAM, 1, 0, 10));
	TEST_ASSERT_TRUE(test_losses(TTMEM_LOSS_NO_SLOT) > 0);
}

static void first_hook_fails(void)
{
	setenv("TTMEM_DIR", "/nonexistent", 1);
	UNTOUCHED(ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10));
	UNTOUCHED(ttmem_alloc(0, TTMEM_DRAM, 2, 0, 10));
	UNTOUCHED(ttmem_start(NULL));
}

static void test_the_same_where_nothing_can_start(void)
{
	first_hook_fails();
}

static void forks(void)
{
	pid_t pid;

	remember();
	pid = fork();
	compare(__LINE__);
	if (pid == 0) {
		UNTOUCHED(ttmem_free(0, TTMEM_DRAM, 1));
		UNTOUCHED(ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10));
		/* Unity's word is in its own failures. */
		_exit(Unity.CurrentTestFailed ? 1 : 0);
	}
	TEST_ASSERT_TRUE(life_ended_well(pid));
}

static void test_the_same_in_a_forked_child(void)
{
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	forks();
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_hooks_leave_a_thread_as_they_found_it);
	RUN_TEST(test_the_same_where_cancellation_and_signals_are_off);
	RUN_TEST(test_the_same_where_the_segment_is_full);
	RUN_TEST(test_the_same_where_nothing_can_start);
	RUN_TEST(test_the_same_in_a_forked_child);
	return UNITY_END();
}

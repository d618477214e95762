/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that no library made: they end without a word, and the tid tells that
 * they are gone. Others then take over what they left.
 */
#include "life/life.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>

#include "support/test_segment.h"

#if defined(__x86_64__) && !LIFE_SANITIZED

#define STACK_SIZE (64u << 10)

static void *(*tls_allocate)(void *);
static void (*tls_free)(void *, bool);

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

/* What a thread control block needs: itself, twice, and the guards. */
static void *tls_make(void)
{
	uintptr_t *block = tls_allocate(NULL);
	uintptr_t canary;
	uintptr_t guard;

	expect(block);
	__asm__("movq %%fs:0x28, %0" : "=r"(canary));
	__asm__("movq %%fs:0x30, %0" : "=r"(guard));
	block[0] = (uintptr_t)block;
	block[2] = (uintptr_t)block;
	block[5] = canary;
	block[6] = guard;
	return block;
}

static uint64_t id_now;

static int raw_main(void *argument)
{
	(void)argument;
	ttmem_scope_push("raw", 0);
	ttmem_alloc(0, TTMEM_DRAM, id_now, 0, 100);
	ttmem_alloc(0, TTMEM_L1, id_now, 0, 100);
	ttmem_free(0, TTMEM_L1, id_now);
	syscall(SYS_exit,
		0); /* this thread alone, and nothing runs at its end */
	return 0;
}

static void raw_thread_run(char *stack)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
		CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
		CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	void *tls = tls_make();
	static int tid;
	int seen;

	__atomic_store_n(&tid, -1, __ATOMIC_SEQ_CST);
	expect(clone(raw_main, stack + STACK_SIZE, flags, NULL, &tid, tls,
		       &tid) > 0);
	while ((seen = __atomic_load_n(&tid, __ATOMIC_SEQ_CST)) != 0)
		syscall(SYS_futex, &tid, FUTEX_WAIT, seen, NULL, NULL, 0);
	tls_free(tls, true);
}

static void test_lanes_of_raw_threads_are_taken_over(void)
{
	uint64_t rounds = test_scale(1000);
	struct segment *segment;
	char *stack;
	size_t i;

	tls_allocate = (void *(*)(void *))dlsym(
		RTLD_DEFAULT, "_dl_allocate_tls");
	tls_free = (void (*)(void *, bool))dlsym(
		RTLD_DEFAULT, "_dl_deallocate_tls");
	if (!tls_allocate || !tls_free)
		TEST_IGNORE_MESSAGE("no way to make thread-local storage");
	stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	TEST_ASSERT_TRUE(stack != MAP_FAILED);
	for (id_now = 1; id_now <= rounds; id_now++)
		raw_thread_run(stack);
	munmap(stack, STACK_SIZE);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(rounds, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(rounds, life_frees(segment, TTMEM_FIGURE_L1));
	TEST_ASSERT_TRUE(life_lost_nothing(segment));
	for (i = 0; i < segment->objects_len; i++)
		TEST_ASSERT_EQUAL_STRING("raw",
			segment_name(segment, segment->objects[i].scope));
	/* One at a time: a few are looked at together, not one for each. */
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(64, segment->lanes_count);
	segment_unref(&segment);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_lanes_of_raw_threads_are_taken_over);
	return UNITY_END();
}

#else

void setUp(void)
{
}

void tearDown(void)
{
}

/* A thread's control block is made by hand, for this machine. */
int main(void)
{
	return 77;
}

#endif

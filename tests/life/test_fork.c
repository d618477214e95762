/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A forked child, however it was made: nothing of its parent's is its own, what
 * it allocates is in a segment of its own, and its parent's stays as it was.
 */
#include "life/life.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>

#include "support/test_segment.h"

extern char **environ;

#define PARENTS 1u
#define CHILDS 2u
#define GRANDCHILDS 3u

static const char *dir;
static pid_t (*how)(void);

void setUp(void)
{
	dir = test_dir_make();
	if (ttmem_start(NULL))
		TEST_FAIL_MESSAGE("ttmem_start");
	ttmem_scope_push("parent's", 0);
	ttmem_alloc(0, TTMEM_DRAM, PARENTS, 0x1000, 100);
}

void tearDown(void)
{
	ttmem_scope_pop();
	ttmem_free(0, TTMEM_DRAM, PARENTS);
	ttmem_stop();
	test_dir_remove();
}

/* -- ways to fork ------------------------------------------------------------- */

static pid_t fork_raw(void)
{
#ifdef SYS_fork
	return (pid_t)syscall(SYS_fork);
#else
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

static pid_t clone_raw(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static pid_t child_of(void (*work)(void))
{
	pid_t pid;

	fflush(NULL);
	pid = how();
	if (pid == 0) {
		work();
		_exit(0);
	}
	return pid;
}

/* -- what a child finds and does ------------------------------------------------ */

static void parent_is_as_it_was(const uint8_t *before, size_t size)
{
	struct segment *segment;
	size_t size_now;
	uint8_t *now = life_bytes(test_segment_path(), &size_now);

	TEST_ASSERT_EQUAL_UINT64(size, size_now);
	TEST_ASSERT_EQUAL_INT(0, memcmp(before, now, size));
	free(now);
	ttmem_alloc(0, TTMEM_L1, 5, 0, 10);
	ttmem_free(0, TTMEM_L1, 5);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(PARENTS, segment->objects[0].id);
	TEST_ASSERT_FALSE(life_has_id(segment, CHILDS));
	TEST_ASSERT_EQUAL_UINT32((uint32_t)getpid(), segment->pid);
	segment_unref(&segment);
}

static void child_has(uint64_t id, const char *scope)
{
	struct segment *segment = life_segment(dir, getpid());

	expect(segment);
	expect(segment->pid == (uint32_t)getpid());
	expect(segment->objects_len == 1 && segment->objects[0].id == id);
	expect(!strcmp(
		segment_name(segment, segment->objects[0].scope), scope));
	expect(!life_has_id(segment, PARENTS));
	expect(segment->devices_count == 1);
	expect(life_lost_nothing(segment));
	segment_unref(&segment);
}

static void child_allocates(void)
{
	struct ttmem_status status = { .size = sizeof(status) };
	struct ttmem_usage usage = { .size = sizeof(usage) };

	expect(ttmem_status(&status) == 0);
	expect(status.state == TTMEM_STATE_PENDING && !status.segment[0]);
	expect(ttmem_usage(0, &usage) == -ENODATA);
	ttmem_alloc(0, TTMEM_DRAM, CHILDS, 0, 10);
	child_has(CHILDS, "");
	ttmem_scope_push("child's", 0);
	ttmem_free(0, TTMEM_DRAM, CHILDS);
	ttmem_alloc(0, TTMEM_DRAM, CHILDS, 0, 20);
	child_has(CHILDS, "child's");
	expect(ttmem_usage(0, &usage) == 0);
	expect(usage.figures[TTMEM_FIGURE_DRAM].live_bytes == 20);
}

static void each_has_its_own(void)
{
	size_t size;
	uint8_t *before = life_bytes(test_segment_path(), &size);
	pid_t pid = child_of(child_allocates);

	TEST_ASSERT_TRUE(pid > 0);
	TEST_ASSERT_TRUE(life_ended_well(pid));
	TEST_ASSERT_EQUAL_UINT64(2, life_segments(dir, 0));
	parent_is_as_it_was(before, size);
	free(before);
}

static void test_child_has_a_segment_of_its_own(void)
{
	how = fork;
	each_has_its_own();
}

static void test_the_same_by_system_call(void)
{
	if (!life_fork_wipes())
		TEST_IGNORE_MESSAGE("memory is not wiped by fork here");
	how = fork_raw;
	each_has_its_own();
}

static void test_the_same_by_clone(void)
{
	if (!life_fork_wipes())
		TEST_IGNORE_MESSAGE("memory is not wiped by fork here");
	how = clone_raw;
	each_has_its_own();
}

/* -- a child that only frees ---------------------------------------------------- */

static void child_frees(void)
{
	struct ttmem_status status = { .size = sizeof(status) };

	ttmem_free(0, TTMEM_DRAM, PARENTS);
	ttmem_cb_free(0, 1, 1);
	ttmem_cb_free_all(0);
	ttmem_kernel_unload(0, 1);
	ttmem_program_destroy(0, 1);
	ttmem_scope_pop();
	ttmem_device_close(0);
	ttmem_mesh_close(1u << 31);
	ttmem_peak_reset(0);
	expect(ttmem_status(&status) == 0);
	expect(status.state == TTMEM_STATE_PENDING);
	expect(life_segments(dir, getpid()) == 0);
	/* Destructors, too: the parent's segment must survive them. */
	exit(0);
}

static void test_child_that_only_frees_makes_no_segment(void)
{
	size_t size;
	uint8_t *before = life_bytes(test_segment_path(), &size);
	pid_t pid;

	how = fork;
	pid = child_of(child_frees);
	TEST_ASSERT_TRUE(life_ended_well(pid));
	TEST_ASSERT_EQUAL_UINT64(1, life_segments(dir, 0));
	parent_is_as_it_was(before, size);
	free(before);
}

/* -- the lock ------------------------------------------------------------------- */

static void child_sees_locks(void)
{
	expect(life_lock_holder(dir, getppid()) == getppid());
	ttmem_alloc(0, TTMEM_DRAM, CHILDS, 0, 10);
	/* Neither ours nor our start took or dropped the parent's. */
	expect(life_lock_holder(dir, getppid()) == getppid());
	ttmem_free(0, TTMEM_DRAM, CHILDS);
	ttmem_stop();
	expect(life_lock_holder(dir, getppid()) == getppid());
}

static void test_parent_keeps_its_lock(void)
{
	how = fork;
	TEST_ASSERT_TRUE(life_ended_well(child_of(child_sees_locks)));
	TEST_ASSERT_EQUAL_UINT64(1, life_segments(dir, 0));
}

/* -- generations ----------------------------------------------------------------- */

static void grandchild(void)
{
	ttmem_alloc(0, TTMEM_DRAM, GRANDCHILDS, 0, 30);
	child_has(GRANDCHILDS, "");
}

static void child_with_grandchild(void)
{
	pid_t pid;

	ttmem_alloc(0, TTMEM_DRAM, CHILDS, 0, 20);
	pid = child_of(grandchild);
	expect(pid > 0 && life_ended_well(pid));
	child_has(CHILDS, "");
}

/* The one in between never had a segment. */
static void child_that_only_forks(void)
{
	pid_t pid = child_of(grandchild);

	expect(pid > 0 && life_ended_well(pid));
	expect(life_segments(dir, getpid()) == 0);
	ttmem_alloc(0, TTMEM_DRAM, CHILDS, 0, 20);
	child_has(CHILDS, "");
}

static void test_grandchildren_have_their_own(void)
{
	size_t size;
	uint8_t *before = life_bytes(test_segment_path(), &size);

	how = fork;
	TEST_ASSERT_TRUE(life_ended_well(child_of(child_with_grandchild)));
	TEST_ASSERT_EQUAL_UINT64(3, life_segments(dir, 0));
	TEST_ASSERT_TRUE(life_ended_well(child_of(child_that_only_forks)));
	TEST_ASSERT_EQUAL_UINT64(5, life_segments(dir, 0));
	parent_is_as_it_was(before, size);
	free(before);
}

/* -- vfork ------------------------------------------------------------------------ */

/* The child shares all memory until it execs, and must not call a hook. */
static void test_vfork_and_spawn_disturb_nothing(void)
{
	char *const command[] = { (char *)(uintptr_t) "/bin/true", NULL };
	size_t size;
	uint8_t *before = life_bytes(test_segment_path(), &size);
	unsigned i;
	pid_t pid;

	for (i = 0; i < 20; i++) {
		pid = vfork();
		if (pid == 0) {
			execv(command[0], command);
			_exit(1);
		}
		TEST_ASSERT_TRUE(life_ended_well(pid));
		TEST_ASSERT_EQUAL_INT(0,
			posix_spawn(&pid, command[0], NULL, NULL, command,
				environ));
		TEST_ASSERT_TRUE(life_ended_well(pid));
	}
	TEST_ASSERT_EQUAL_UINT64(1, life_segments(dir, 0));
	parent_is_as_it_was(before, size);
	free(before);
}

/*
 * A handler may do so all the same, on a thread that had no event yet. The seat is its
 * parent's then, and stays that thread's, however many others look for one.
 */
#define SEATS 40

static pthread_barrier_t all_sit;

static void *sit(void *argument)
{
	pthread_barrier_wait(&all_sit); /* the child was there */
	ttmem_alloc(0, TTMEM_L1, (uintptr_t)argument, 0, 10);
	pthread_barrier_wait(&all_sit);
	return NULL;
}

static void *vfork_first(void *argument)
{
	pid_t pid = vfork();

	if (pid == 0) {
		ttmem_alloc(0, TTMEM_L1, 0, 0, 10);
		_exit(0);
	}
	expect(life_ended_well(pid));
	return sit(argument);
}

static void test_a_seat_that_a_vfork_child_took_stays_its_parents(void)
{
	struct segment *segment = test_segment_at_rest();
	size_t lanes_before = segment->lanes_len;
	pthread_t threads[SEATS];
	uintptr_t i;

	segment_unref(&segment);
	pthread_barrier_init(&all_sit, NULL, SEATS);
	for (i = 0; i < SEATS; i++)
		TEST_ASSERT_EQUAL_INT(0,
			pthread_create(&threads[i], NULL,
				i == 0 ? vfork_first : sit, (void *)(i + 1)));
	for (i = 0; i < SEATS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&all_sit);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(lanes_before + SEATS, segment->lanes_len);
	segment_unref(&segment);
}

/* The process is not the vfork child's: that is gone at once, with lock and file. */
static void vfork_before_the_first(void)
{
	struct segment *segment;
	pid_t pid = vfork();

	if (pid == 0) {
		ttmem_alloc(0, TTMEM_DRAM, GRANDCHILDS, 0, 10);
		_exit(0);
	}
	expect(life_ended_well(pid));
	expect(life_segments(dir, pid) == 0);
	ttmem_alloc(0, TTMEM_DRAM, CHILDS, 0, 10);
	segment = life_segment(dir, getpid());
	expect(segment);
	expect(life_has_id(segment, CHILDS));
	segment_unref(&segment);
}

static void test_a_vfork_child_starts_nothing(void)
{
	life_run(vfork_before_the_first);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_child_has_a_segment_of_its_own);
	RUN_TEST(test_the_same_by_system_call);
	RUN_TEST(test_the_same_by_clone);
	RUN_TEST(test_child_that_only_frees_makes_no_segment);
	RUN_TEST(test_parent_keeps_its_lock);
	RUN_TEST(test_grandchildren_have_their_own);
	RUN_TEST(test_vfork_and_spawn_disturb_nothing);
	RUN_TEST(test_a_seat_that_a_vfork_child_took_stays_its_parents);
	RUN_TEST(test_a_vfork_child_starts_nothing);
	return UNITY_END();
}

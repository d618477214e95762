/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fork in a signal handler that interrupted a hook, at each place where hooks,
 * growth and start change something. The child finishes the hook and goes on in
 * a segment of its own, the parent's is exact, and the child changes no byte of
 * it: neither while the parent waits in its hook nor when it is at rest.
 */
#include "life/life.h"

#include <signal.h>

#include "support/calls.h"

void ttm_testpoint(const char *label);

enum {
	MANY = 2100, /* more than an extent has slots */
};

#define CHILDS 0xc41dull

enum order {
	CHILD_FIRST,
	PARENT_FIRST,
};

static struct shared {
	unsigned points;
	unsigned faults;
	char label[64];
} * shared;

static const char *dir;
static unsigned fork_at;
static enum order order;
static bool bulk;
static bool is_child;
static pid_t child;
static int to_child[2];

void setUp(void)
{
	dir = test_dir_make();
	shared = life_shared(sizeof(*shared));
}

void tearDown(void)
{
	munmap(shared, sizeof(*shared));
	test_dir_remove();
}

static void fault(const char *what)
{
	dprintf(STDERR_FILENO, "%s forked at point %u \"%s\", %s first: %s\n",
		is_child ? "child" : "parent", fork_at, shared->label,
		order == CHILD_FIRST ? "child" : "parent", what);
	shared->faults++;
}

#define claim(condition)                                                       \
	do {                                                                   \
		if (!(condition))                                              \
			fault(#condition);                                     \
	} while (0)

/* -- the parent's file while the child runs -------------------------------------- */

/* Not by its name: it may have none yet. Reading it would drop the lock. */
static uint8_t *parents_bytes(size_t *ret_size)
{
	struct ttmem_status status = { .size = sizeof(status) };

	*ret_size = 0;
	expect(ttmem_status(&status) == 0);
	if (access(status.segment, F_OK))
		return NULL;
	return life_bytes(status.segment, ret_size);
}

static void child_runs_alone(void)
{
	size_t size;
	size_t size_after;
	uint8_t *before = parents_bytes(&size);
	uint8_t *after;

	if (order == PARENT_FIRST)
		life_tell(to_child[1]);
	claim(life_ended_well(child));
	after = parents_bytes(&size_after);
	claim(!before == !after);
	claim(size == size_after);
	claim(!before || !memcmp(before, after, size));
	free(before);
	free(after);
	child = 0;
}

static void on_signal(int number)
{
	(void)number;
	expect(pipe(to_child) == 0);
	child = fork();
	expect(child >= 0);
	is_child = child == 0;
	if (is_child && order == PARENT_FIRST)
		life_await(to_child[0]);
	if (!is_child && order == CHILD_FIRST)
		child_runs_alone();
}

/* Called by the library's test form. */
void ttm_testpoint(const char *label)
{
	/* The many are there for what happens rarely among them. */
	if (is_child || (bulk && strncmp(label, "extent", 6)))
		return;
	if (++shared->points != fork_at)
		return;
	snprintf(shared->label, sizeof(shared->label), "%s", label);
	raise(SIGUSR1);
}

/* -- what the child does after the hook -------------------------------------------- */

/* The interrupted event may be in it if it was the first of all. */
static void child_goes_on(void)
{
	struct segment *segment;
	struct ttmem_status status = { .size = sizeof(status) };
	uint64_t i;

	for (i = 0; i < 40; i++)
		ttmem_alloc(5, TTMEM_TRACE, CHILDS + i, 0, 10);
	for (i = 1; i < 40; i++)
		ttmem_free(5, TTMEM_TRACE, CHILDS + i);
	expect(ttmem_status(&status) == 0);
	claim(status.state == TTMEM_STATE_ON);
	segment = life_segment(dir, getpid());
	claim(segment);
	if (!segment)
		_exit(0);
	claim(segment->pid == (uint32_t)getpid());
	claim(segment->objects_len >= 1 && segment->objects_len <= 2);
	claim(life_has_id(segment, CHILDS));
	claim(life_allocs(segment, TTMEM_FIGURE_TRACE) == 40);
	segment_unref(&segment);
	ttmem_stop();
	claim(life_segments(dir, getpid()) == 1);
	free(test_dir_segment(dir, getpid(), NULL));
	_exit(0);
}

static void event_done(void)
{
	if (is_child)
		child_goes_on();
}

#define EVENT(call)                                                            \
	do {                                                                   \
		call;                                                          \
		event_done();                                                  \
	} while (0)

/* -- what both began ----------------------------------------------------------------- */

static void script_objects(void)
{
	uint32_t members[] = { 0, 1 };
	uint32_t mesh;

	EVENT(ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100));
	EVENT(ttmem_alloc(0, TTMEM_L1_SMALL, 1, 0, 70000));
	EVENT(ttmem_scope_push("a scope", TTMEM_SCOPE_PERSISTENT));
	EVENT(ttmem_alloc(0, TTMEM_DRAM, 1, 0, 200000));
	EVENT(ttmem_cb_alloc(0, 7, 1, 0, 10, 10, 0));
	EVENT(ttmem_cb_alloc(0, 7, 1, 0, 20, 10, 0));
	EVENT(ttmem_kernel_load(0, 7, TTMEM_KERNEL_APPLICATION, 5, 5, 0));
	EVENT(ttmem_kernel_load(0, 7, TTMEM_KERNEL_APPLICATION, 5, 5, 0));
	EVENT(ttmem_kernel_load(0, 7, TTMEM_KERNEL_FABRIC, 6, 6, 0));
	EVENT(ttmem_free(0, TTMEM_DRAM, 1));
	EVENT(ttmem_free(0, TTMEM_DRAM, 1));
	EVENT(mesh = ttmem_mesh_open(members, 2));
	EVENT(ttmem_alloc(mesh, TTMEM_L1, 9, 0, 50));
	EVENT(ttmem_free(mesh, TTMEM_L1, 9));
	EVENT(ttmem_program_destroy(0, 7));
	EVENT(ttmem_scope_pop());
	EVENT(ttmem_device_close(0));
	EVENT(ttmem_mark("a mark"));
	EVENT(call_alloc_failed(2, TTMEM_L1, 10, 5));
}

static void script_many(void)
{
	uint64_t i;

	bulk = true;
	for (i = 0; i < MANY; i++)
		EVENT(ttmem_alloc(3, TTMEM_DRAM, i, 0, 10));
	for (i = 1; i < MANY; i++)
		EVENT(ttmem_free(3, TTMEM_DRAM, i));
	bulk = false;
}

static void parent_is_exact(void)
{
	struct segment *segment = life_segment(dir, getpid());

	claim(segment);
	if (!segment)
		return;
	claim(segment->pid == (uint32_t)getpid());
	/* Those of DRAM and of L1_SMALL, which is an orphan. */
	claim(segment->objects_len == 2);
	claim(life_allocs(segment, TTMEM_FIGURE_DRAM) == 2 + MANY);
	claim(life_frees(segment, TTMEM_FIGURE_DRAM) == 1 + MANY);
	claim(life_allocs(segment, TTMEM_FIGURE_L1) == 2);
	claim(life_allocs(segment, TTMEM_FIGURE_CB) == 2);
	claim(life_frees(segment, TTMEM_FIGURE_CB) == 2);
	claim(!life_has_id(segment, CHILDS));
	claim(segment->marks_count == 1 && segment->failures_count == 1);
	claim(life_lost_nothing(segment));
	segment_unref(&segment);
}

static void parent(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	expect(sigaction(SIGUSR1, &action, NULL) == 0);
	script_objects();
	script_many();
	parent_is_exact();
	if (child)
		child_runs_alone();
	parent_is_exact();
}

static void dir_empty(void)
{
	test_dir_remove();
	dir = test_dir_make();
}

static void fork_everywhere(enum order which)
{
	unsigned stride = test_scale(100) < 100 ? 3 : 1;
	unsigned points;

	order = which;
	fork_at = 0;
	shared->points = 0;
	life_run(parent);
	points = shared->points;
	TEST_ASSERT_TRUE(points > 100);
	for (fork_at = 1; fork_at <= points;
		/* Each of the start, whatever the scale. */
		fork_at += fork_at < 20 ? 1 : stride) {
		dir_empty();
		shared->points = 0;
		life_run(parent);
	}
	TEST_ASSERT_EQUAL_UINT(0, shared->faults);
}

static void test_child_goes_on_while_the_parent_is_inside(void)
{
	fork_everywhere(CHILD_FIRST);
}

static void test_child_goes_on_when_the_parent_is_at_rest(void)
{
	fork_everywhere(PARENT_FIRST);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_child_goes_on_while_the_parent_is_inside);
	RUN_TEST(test_child_goes_on_when_the_parent_is_at_rest);
	return UNITY_END();
}

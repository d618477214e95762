/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first hook of a process, and a signal handler with hooks of its own: the
 * handler alone, or inside the first hook at each place where the start does
 * something. There is one segment. It has all events of the handler or, where the
 * handler interrupted the hook itself, counts all of them as lost.
 */
#include "life/life.h"

#include <signal.h>

void ttm_testpoint(const char *label);

static const char *dir;
static unsigned *points; /* shared with the processes that are run */
static unsigned raise_at;
static bool *was_recorded; /* shared, too: once at least */
static bool counting;

void setUp(void)
{
	dir = test_dir_make();
	points = life_shared(sizeof(*points));
	was_recorded = life_shared(sizeof(*was_recorded));
}

void tearDown(void)
{
	munmap(points, sizeof(*points));
	munmap(was_recorded, sizeof(*was_recorded));
	test_dir_remove();
}

/* Called by the library's test form. */
void ttm_testpoint(const char *label)
{
	(void)label;
	if (counting && ++*points == raise_at) {
		counting = false;
		raise(SIGUSR1);
	}
}

#define HANDLER_HOOKS 8u

static void on_signal(int number)
{
	uint32_t members[] = { 0, 1 };
	uint32_t mesh;

	(void)number;
	ttmem_free(0, TTMEM_L1, 7);
	mesh = ttmem_mesh_open(members, 2);
	ttmem_alloc(mesh, TTMEM_L1, 7, 0, 100);
	ttmem_scope_push("handler", 0);
	ttmem_cb_alloc(0, 1, 1, 0, 10, 10, 0);
	ttmem_scope_pop();
	ttmem_kernel_load(0, 1, TTMEM_KERNEL_FABRIC, 10, 10, 0);
	ttmem_free(0, TTMEM_L1, 7);
}

static void handler_is_complete(const struct segment *segment)
{
	const struct segment_words *cb;
	int first = segment_entry(segment, 0);
	int second = segment_entry(segment, 1);

	expect(first >= 0 && second >= 0);
	expect(!segment_object(segment, first, TTMEM_FIGURE_L1, 7, 0));
	expect(segment_object(segment, second, TTMEM_FIGURE_L1, 7, 0));
	expect(segment_object(segment, first, TTMEM_FIGURE_KERNEL, 1, 0));
	cb = segment_object(segment, first, TTMEM_FIGURE_CB, 1, 1);
	expect(cb);
	expect(!strcmp(segment_name(segment, cb->scope), "handler"));
	expect(life_lost_nothing(segment));
}

static void handler_set(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	expect(sigaction(SIGUSR1, &action, NULL) == 0);
}

static void first_hook_in_handler(void)
{
	struct segment *segment;

	handler_set();
	raise(SIGUSR1);
	expect(life_segments(dir, 0) == 1);
	segment = life_segment(dir, getpid());
	expect(segment);
	handler_is_complete(segment);
	expect(segment->objects_len == 3);
	segment_unref(&segment);
}

static void test_first_hook_of_a_process_may_be_in_a_handler(void)
{
	life_run(first_hook_in_handler);
}

static void handler_in_first_hook(void)
{
	struct segment *segment;
	int first;

	handler_set();
	counting = true;
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 1000);
	counting = false;
	ttmem_alloc(0, TTMEM_DRAM, 2, 0, 2000);
	if (*points < raise_at)
		return;
	/* The segment of a start that was given up never had a name. */
	expect(life_segments(dir, 0) == 1);
	segment = life_segment(dir, getpid());
	expect(segment);
	if (segment->lost_events[TTMEM_LOSS_NESTED] == 0) {
		handler_is_complete(segment);
		*was_recorded = true;
		expect(segment->objects_len == 5);
	} else {
		expect(segment->lost_events[TTMEM_LOSS_NESTED] ==
			HANDLER_HOOKS);
		expect(life_lost_only_nested(segment));
		expect(segment->objects_len == 2);
	}
	first = segment_entry(segment, 0);
	expect(segment_object(segment, first, TTMEM_FIGURE_DRAM, 1, 0));
	expect(segment_object(segment, first, TTMEM_FIGURE_DRAM, 2, 0));
	expect(segment->lanes_count <= 2);
	segment_unref(&segment);
}

static void test_handler_may_come_anywhere_in_the_start(void)
{
	raise_at = 0;
	do {
		raise_at++;
		*points = 0;
		pid_t pid = life_run(handler_in_first_hook);
		char *path = test_dir_segment(dir, pid, NULL);

		TEST_ASSERT_NOT_NULL(path);
		unlink(path);
		free(path);
	} while (*points >= raise_at);
	TEST_ASSERT_TRUE(raise_at > 10);
	TEST_ASSERT_TRUE(*was_recorded);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_first_hook_of_a_process_may_be_in_a_handler);
	RUN_TEST(test_handler_may_come_anywhere_in_the_start);
	return UNITY_END();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first hooks of a process come from all its threads at the same moment, in
 * many processes in turn: each has one segment, complete, and no event is
 * missing from it.
 */
#include "stress/stress.h"

#include <sys/wait.h>
#include <unistd.h>

#include "support/calls.h"

#define THREADS 8u
#define EVENTS 20u
#define CHIP 0x1234u

static const char *dir;

/* The runs are those of forked children: here nothing may start tracking. */
void setUp(void)
{
}

void tearDown(void)
{
}

static void first_event(unsigned number)
{
	struct ttmem_device_info info;

	switch (number) {
	case 0:
		ttmem_alloc(0, TTMEM_DRAM, 1, 0x1000, 4096);
		break;
	case 1:
		ttmem_kernel_load(0, 7, TTMEM_KERNEL_APPLICATION, 512, 4, 0);
		break;
	case 2:
		ttmem_cb_alloc(0, 7, 0, 0x2000, 1024, 4, 0);
		break;
	case 3:
		ttmem_device_info_init(&info, 0);
		info.chip_id = CHIP;
		ttmem_device_open(&info);
		break;
	case 4:
		ttmem_alloc(1, TTMEM_L1, 1, 0x1000, 64);
		break;
	case 5:
		call_alloc_failed(1, TTMEM_L1, 1 << 20, TTMEM_UNKNOWN);
		break;
	case 6:
		ttmem_mark("first");
		break;
	default:
		ttmem_scope_push("first", 0);
	}
}

/* Of the first events: three and one are allocations, three are notes. */
#define FIRST_OBJECTS 4u
#define FIRST_NOTES 3u

static void start_and_churn(unsigned number)
{
	uint64_t i;

	first_event(number);
	for (i = 0; i < EVENTS; i++) {
		ttmem_alloc(0, TTMEM_TRACE, number * 1000 + i, i, 256);
		if (i % 2)
			ttmem_free(0, TTMEM_TRACE, number * 1000 + i);
	}
}

#define expect(condition)                                                      \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%d: %s\n", __LINE__, #condition);     \
			return false;                                          \
		}                                                              \
	} while (0)

/* In a child Unity has nobody to tell: these return false, and say why. */
static bool has_all_events(const struct segment *segment)
{
	const struct segment_flow *flow;
	struct stress_sums sums = stress_sum(segment);
	int entry = segment_entry(segment, 0);
	unsigned i;

	expect(segment->devices_count == 2);
	expect(entry >= 0 && segment->devices[entry].chip_id == CHIP);
	expect(segment->devices[entry].open);
	flow = &segment->devices[entry].figures[TTMEM_FIGURE_TRACE];
	expect(flow->alloc_objects == THREADS * EVENTS);
	expect(flow->free_objects == THREADS * EVENTS / 2);
	expect(flow->slot_bytes == THREADS * EVENTS / 2 * 256);
	expect(sums.allocs == THREADS * EVENTS + FIRST_OBJECTS);
	expect(segment->objects_len == THREADS * EVENTS / 2 + FIRST_OBJECTS);
	expect(segment_object(segment, entry, TTMEM_FIGURE_CB, 0, 7));
	expect(segment_object(segment, entry, TTMEM_FIGURE_KERNEL, 7, 0));
	expect(segment->failures_count == 1);
	expect(segment->marks_count == 1);
	expect(segment->lanes_count <= THREADS);
	expect(sums.anomalies == 0);
	for (i = 0; i < SEGMENT_REASONS; i++)
		expect(segment->lost_events[i] == 0);
	expect(stress_records_ever(segment) ==
		sums.allocs + sums.frees + FIRST_NOTES);
	return true;
}

static bool segment_is_right(void)
{
	struct segment *segment;
	char why[512] = "";
	size_t found;
	char *path = test_dir_segment(dir, getpid(), &found);
	bool is_right;

	expect(found == 1 && path);
	if (segment_read(path, &segment, why, sizeof(why)) ||
		segment_check_at_rest(segment, why, sizeof(why))) {
		fprintf(stderr, "%s\n", why);
		return false;
	}
	is_right = has_all_events(segment);
	segment_unref(&segment);
	free(path);
	return is_right;
}

static int child(void)
{
	size_t found;

	stress_run(THREADS, start_and_churn);
	if (!segment_is_right())
		return 1;
	ttmem_stop();
	free(test_dir_segment(dir, getpid(), &found));
	return found == 1 ? 0 : 2; /* survivors: it stays */
}

static void test_first_hooks_at_once_make_one_segment_with_all_events(void)
{
	uint64_t processes = test_scale(200);
	uint64_t i;
	size_t found;
	char *path;
	int status;
	pid_t pid;

	for (i = 0; i < processes; i++) {
		fflush(NULL);
		pid = fork();
		TEST_ASSERT_NOT_EQUAL(-1, pid);
		if (pid == 0)
			_exit(child());
		TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
		TEST_ASSERT_TRUE(WIFEXITED(status));
		TEST_ASSERT_EQUAL_INT(0, WEXITSTATUS(status));
		path = test_dir_segment(dir, 0, &found);
		TEST_ASSERT_EQUAL_UINT64(1, found);
		TEST_ASSERT_EQUAL_INT(0, unlink(path));
		free(path);
	}
}

int main(void)
{
	dir = test_dir_make();
	UNITY_BEGIN();
	RUN_TEST(test_first_hooks_at_once_make_one_segment_with_all_events);
	test_dir_remove();
	return UNITY_END();
}

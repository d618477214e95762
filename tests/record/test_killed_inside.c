/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process killed at any of the places where its state changes leaves a segment
 * that reads well, and in which at most one operation is half done. The child
 * does a fixed list of events; it is run once for each place it comes by, and
 * ends there.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/segment_reader.h"
#include "support/test_dir.h"

void ttm_testpoint(const char *label);

enum {
	EVENTS_MAX = 128,
	MANY = 2100, /* more than an extent has slots */
};

/* Shared with the child. */
struct progress {
	uint64_t points;               /* places it came by */
	uint64_t events;               /* events that are done */
	bool named;                    /* there must be a file */
	bool ending;                   /* there may be none any more */
	char label[64];                /* where it ended */
	uint64_t live[EVENTS_MAX + 1]; /* objects after each event */
};

static struct progress *progress;
static const char *dir;
static uint64_t kill_at; /* 0: never */
static bool bulk;

void setUp(void)
{
	dir = test_dir_make();
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	TEST_ASSERT_TRUE(progress != MAP_FAILED);
}

void tearDown(void)
{
	munmap(progress, sizeof(*progress));
	test_dir_remove();
}

/* Called by the library's test form. */
void ttm_testpoint(const char *label)
{
	/* The many are there for what happens rarely among them. */
	if (bulk && strncmp(label, "extent", 6))
		return;
	progress->points++;
	if (progress->points != kill_at)
		return;
	snprintf(progress->label, sizeof(progress->label), "%s", label);
	kill(getpid(), SIGKILL);
}

/* -- what the child does ------------------------------------------------------ */

static void open_chip(uint32_t device, uint64_t chip)
{
	struct ttmem_device_info info;

	ttmem_device_info_init(&info, device);
	info.chip_id = chip;
	memcpy(info.arch, "wormhole_b0", 11);
	info.cores = 64;
	ttmem_device_open(&info);
}

static uint64_t live_objects(void)
{
	struct ttmem_status status = { .size = sizeof(status) };
	struct segment *segment = NULL;
	char why[512] = "";
	uint64_t live = 0;

	ttmem_status(&status);
	if (!status.segment[0])
		return 0;
	if (segment_read(status.segment, &segment, why, sizeof(why)) ||
		segment_check_at_rest(segment, why, sizeof(why))) {
		fprintf(stderr, "event %d: %s\n", (int)progress->events, why);
		abort();
	}
	live = segment->objects_len;
	segment_unref(&segment);
	return live;
}

static void done(void)
{
	progress->events++;
	progress->named = true;
	if (!kill_at)
		progress->live[progress->events] = live_objects();
}

#define EVENT(call)                                                            \
	do {                                                                   \
		call;                                                          \
		done();                                                        \
	} while (0)

static void child_objects(void)
{
	uint32_t members[] = { 0, 1 };
	uint32_t mesh;

	EVENT(ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100));
	EVENT(ttmem_alloc(0, TTMEM_L1_SMALL, 1, 0, 70000));
	EVENT(ttmem_scope_push("a scope", TTMEM_SCOPE_PERSISTENT));
	EVENT(ttmem_alloc(0, TTMEM_DRAM, 1, 0, 200000));
	EVENT(ttmem_cb_alloc(0, 7, 1, 0, 10, 10, 0));
	EVENT(ttmem_cb_alloc(0, 7, 1, 0, 20, 10, 0));
	EVENT(ttmem_cb_alloc(0, 7, 2, 0, 30, 10, TTMEM_CB_BORROWED));
	EVENT(ttmem_kernel_load(0, 7, TTMEM_KERNEL_APPLICATION, 5, 5, 0));
	EVENT(ttmem_kernel_load(0, 7, TTMEM_KERNEL_APPLICATION, 5, 5, 0));
	EVENT(ttmem_kernel_load(0, 7, TTMEM_KERNEL_FABRIC, 6, 6, 0));
	EVENT(ttmem_free(0, TTMEM_DRAM, 1));
	EVENT(ttmem_free(0, TTMEM_DRAM, 1));
	mesh = ttmem_mesh_open(members, 2);
	EVENT(ttmem_alloc(mesh, TTMEM_L1, 9, 0, 50));
	EVENT(ttmem_free(mesh, TTMEM_L1, 9));
	EVENT(ttmem_program_destroy(0, 7));
	EVENT(ttmem_scope_pop());
}

static void child_devices(void)
{
	open_chip(2, 100);
	done();
	EVENT(ttmem_alloc(2, TTMEM_DRAM, 1, 0, 100));
	EVENT(ttmem_alloc(2, TTMEM_DRAM, 2, 0, 100));
	EVENT(ttmem_device_close(2));
	EVENT(ttmem_free(2, TTMEM_DRAM, 1));
	EVENT(open_chip(2, 200));
	EVENT(ttmem_alloc(2, TTMEM_DRAM, 2, 0, 100));
	EVENT(open_chip(2, 100));
	EVENT(ttmem_peak_reset(2));
	EVENT(ttmem_alloc_failed(2, TTMEM_L1, 10, 5));
	EVENT(ttmem_mark("a mark"));
	EVENT(ttmem_alloc(2, (enum ttmem_kind)200, 1, 0, 1));
}

static void child_many(void)
{
	uint64_t i;

	bulk = true;
	for (i = 0; i < MANY; i++)
		ttmem_alloc(0, TTMEM_TRACE, i, 0, 10);
	done();
	for (i = 0; i < MANY; i++)
		ttmem_free(0, TTMEM_TRACE, i);
	done();
	bulk = false;
}

static void child_main(void)
{
	child_objects();
	child_devices();
	child_many();
	progress->ending = true;
	ttmem_stop();
	_exit(0);
}

/* -- what the parent finds ---------------------------------------------------- */

static pid_t child_run(uint64_t at)
{
	pid_t pid;
	int status;

	progress->points = 0;
	progress->events = 0;
	progress->named = false;
	progress->ending = false;
	progress->label[0] = '\0';
	kill_at = at;
	pid = fork();
	TEST_ASSERT_TRUE(pid >= 0);
	if (!pid)
		child_main();
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_EQUAL_INT(at ? SIGKILL : 0, status & 0x7f);
	TEST_ASSERT_EQUAL_INT(0, WIFEXITED(status) ? WEXITSTATUS(status) : 0);
	return pid;
}

static void fail_at(const char *what)
{
	char text[700];

	snprintf(text, sizeof(text), "point %d \"%s\", in event %d: %s",
		(int)kill_at, progress->label, (int)progress->events + 1, what);
	TEST_FAIL_MESSAGE(text);
}

/* A replacement under way is one object more for a moment. */
static void check_live(const struct segment *segment)
{
	uint64_t before = progress->live[progress->events];
	uint64_t after = progress->live[progress->events + 1];
	uint64_t low = before < after ? before : after;
	uint64_t high = before < after ? after : before;
	char text[128];

	/* The many come in one event. */
	if (before + MANY <= after + 10 || after + MANY <= before + 10 ||
		progress->ending)
		return;
	if (segment->objects_len >= low && segment->objects_len <= high + 1)
		return;
	snprintf(text, sizeof(text), "%d objects, %d before and %d after",
		(int)segment->objects_len, (int)before, (int)after);
	fail_at(text);
}

static void check_left(pid_t pid)
{
	struct segment *segment = NULL;
	char why[512] = "";
	size_t found;
	char *path = test_dir_segment(dir, pid, &found);

	if (!path) {
		if (found || (progress->named && !progress->ending))
			fail_at(found ? "two segments" : "no segment");
		return;
	}
	if (segment_read(path, &segment, why, sizeof(why)) ||
		segment_check_killed(segment, why, sizeof(why)))
		fail_at(why);
	check_live(segment);
	segment_unref(&segment);
	unlink(path);
	free(path);
}

static void test_any_place_leaves_at_most_one_operation_half_done(void)
{
	uint64_t points;
	uint64_t at;

	child_run(0);
	points = progress->points;
	TEST_ASSERT_TRUE(points > 100);
	for (at = 1; at <= points; at++)
		check_left(child_run(at));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_any_place_leaves_at_most_one_operation_half_done);
	return UNITY_END();
}

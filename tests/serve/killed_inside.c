/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that is killed inside a hook on a mesh, as ttmemd tells of it: the object is
 * on all devices or on none, and the interrupted operation is in flight.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_dir.h"

#include "serve/with_ttmemd.h"

void ttm_testpoint(const char *label);

enum {
	DEVICES = 8,
	HALF = 4,
	SIZE = 4096,
	KEPT = 1, /* ids: allocated before the call in which the process dies */
	CUT = 2,  /* allocated in that call */
};

/* The n-th time that a call passes the label is the last thing that a process does. */
struct moment {
	const char *label;
	unsigned n;
};

static const struct moment *moment; /* NULL: not now */
static unsigned passed;

void setUp(void)
{
	setenv("TTMEM_DIR", test_dir_make(), 1);
	setenv("TTMEM_ENABLED", "1", 1);
	ttmemd_start();
}

void tearDown(void)
{
	ttmemd_stop();
	test_dir_remove();
}

/* Called by the library's test form. */
void ttm_testpoint(const char *label)
{
	if (moment && strcmp(label, moment->label) == 0 &&
		++passed == moment->n)
		kill(getpid(), SIGKILL);
}

static uint32_t mesh_of(uint32_t devices)
{
	uint32_t members[DEVICES], i;

	for (i = 0; i < devices; i++)
		members[i] = i;
	return ttmem_mesh_open(members, devices);
}

static void act_alloc(void)
{
	ttmem_alloc(mesh_of(DEVICES), TTMEM_DRAM, CUT, 0x1000, SIZE);
}

static void act_free(void)
{
	ttmem_free(mesh_of(DEVICES), TTMEM_DRAM, KEPT);
}

static void act_free_half(void)
{
	ttmem_free(mesh_of(HALF), TTMEM_DRAM, KEPT);
}

static pid_t process_kill(void (*act)(void), const struct moment *when)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	TEST_ASSERT_TRUE(pid >= 0);
	if (!pid) {
		ttmem_alloc(mesh_of(DEVICES), TTMEM_DRAM, KEPT, 0, SIZE);
		moment = when;
		act();
		_exit(1); /* the call never came by */
	}
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_TRUE_MESSAGE(
		WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		when->label);
	return pid;
}

/* Returns the snapshot in which the process has died, and its number there. */
static struct ttmem_snapshot *snapshot_after(pid_t pid, uint64_t *ret_process)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	struct ttmem_snapshot *snapshot = NULL;
	const struct ttmem_process_row *row;
	struct timespec begin, now;
	uint64_t i;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		if (!ttmem_reader_snapshot(
			    reader, TTMEM_SNAPSHOT_OBJECTS, &snapshot)) {
			for (i = 0; (row = ttmem_snapshot_process(
					     snapshot, (size_t)i));
				i++)
				if (row->pid == (uint64_t)pid &&
					row->state == TTMEM_PROCESS_DIED) {
					*ret_process = i;
					return snapshot;
				}
			ttmem_snapshot_free(&snapshot);
		}
		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < PATIENCE_S);
	TEST_FAIL_MESSAGE("the process is not shown as died");
	return NULL;
}

/* On how many devices the process left the object. */
static uint64_t devices_of(
	const struct ttmem_snapshot *snapshot, uint64_t process, uint64_t id)
{
	const struct ttmem_object_row *row;
	uint64_t devices = 0;
	size_t i;

	for (i = 0; (row = ttmem_snapshot_object(snapshot, i)); i++)
		if (row->process == process && row->id == id) {
			TEST_ASSERT_EQUAL_UINT64(0, devices);
			devices = row->devices;
		}
	return devices;
}

static void operation_is_in_flight(void (*act)(void),
	const struct moment *moments, size_t moments_len, uint64_t kept_less)
{
	struct ttmem_snapshot *snapshot;
	uint64_t process = 0, kept, cut;
	size_t i;
	pid_t pid;

	for (i = 0; i < moments_len; i++) {
		pid = process_kill(act, &moments[i]);
		snapshot = snapshot_after(pid, &process);
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(1,
			ttmem_snapshot_process(snapshot, (size_t)process)
				->in_flight,
			moments[i].label);
		kept = devices_of(snapshot, process, KEPT);
		cut = devices_of(snapshot, process, CUT);
		TEST_ASSERT_TRUE_MESSAGE(
			kept == DEVICES || kept == kept_less, moments[i].label);
		TEST_ASSERT_TRUE_MESSAGE(
			cut == 0 || cut == DEVICES, moments[i].label);
		ttmem_snapshot_free(&snapshot);
	}
}

static void test_allocation_is_on_all_devices_or_on_none(void)
{
	static const struct moment moments[] = {
		{ "intent raised", 1 },
		{ "slot live", 1 },
		{ "index entered", 1 },
		{ "member counted", 1 },
		{ "member counted", 5 },
		{ "members counted", 1 },
	};

	operation_is_in_flight(act_alloc, moments,
		sizeof(moments) / sizeof(moments[0]), DEVICES);
}

static void test_free_is_on_all_devices_or_on_none(void)
{
	static const struct moment moments[] = {
		{ "intent raised", 1 },
		{ "slot freed", 1 },
		{ "member counted", 3 },
	};

	operation_is_in_flight(
		act_free, moments, sizeof(moments) / sizeof(moments[0]), 0);
}

static void test_free_of_a_part_through_another_handle_is_whole(void)
{
	static const struct moment moments[] = {
		{ "intent raised", 1 },
		{ "member counted", 2 },
		{ "record written", 1 },
	};

	operation_is_in_flight(act_free_half, moments,
		sizeof(moments) / sizeof(moments[0]), HALF);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_allocation_is_on_all_devices_or_on_none);
	RUN_TEST(test_free_is_on_all_devices_or_on_none);
	RUN_TEST(test_free_of_a_part_through_another_handle_is_whole);
	return UNITY_END();
}

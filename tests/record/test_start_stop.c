/* SPDX-License-Identifier: Apache-2.0 */
/* Start, stop and start again: which segment there is, and what is left. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/calls.h"
#include "support/test_dir.h"
#include "support/test_segment.h"

static const char *dir;

void setUp(void)
{
	dir = test_dir_make();
}

void tearDown(void)
{
	ttmem_stop();
	test_dir_remove();
}

static size_t segments(void)
{
	size_t found;

	free(test_dir_segment(dir, getpid(), &found));
	return found;
}

static struct ttmem_status status_now(void)
{
	struct ttmem_status status;

	memset(&status, 0xa5, sizeof(status));
	status.size = sizeof(status);
	TEST_ASSERT_EQUAL_INT(0, ttmem_status(&status));
	return status;
}

static void test_start_makes_the_segment_at_once(void)
{
	struct stat st;
	struct ttmem_status status;
	struct segment *segment;

	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	TEST_ASSERT_EQUAL_UINT64(1, segments());
	TEST_ASSERT_TRUE(ttmem_enabled());
	status = status_now();
	TEST_ASSERT_EQUAL_UINT32(TTMEM_STATE_ON, status.state);
	TEST_ASSERT_EQUAL_INT32(0, status.error);
	TEST_ASSERT_EQUAL_STRING("", status.reason);
	TEST_ASSERT_EQUAL_INT(0, stat(status.segment, &st));
	TEST_ASSERT_TRUE(S_ISREG(st.st_mode));
	TEST_ASSERT_EQUAL_UINT(0, st.st_mode & 077);
	TEST_ASSERT_EQUAL_UINT(1, st.st_nlink);
	TEST_ASSERT_EQUAL_UINT(geteuid(), st.st_uid);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->state);
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	/* Only what is used has memory. */
	TEST_ASSERT_TRUE((uint64_t)st.st_blocks * 512 <= 192 << 10);
	TEST_ASSERT_TRUE(st.st_size <= 2 << 20);
	segment_unref(&segment);
}

static void test_user_directory_is_private(void)
{
	struct ttmem_status status;
	struct stat st;
	char path[300];
	char expected[128];

	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	status = status_now();
	snprintf(path, sizeof(path), "%s", status.segment);
	*strrchr(path, '/') = '\0';
	snprintf(expected, sizeof(expected), "%s/ttmem-%u", dir, geteuid());
	TEST_ASSERT_EQUAL_STRING(expected, path);
	TEST_ASSERT_EQUAL_INT(0, stat(path, &st));
	TEST_ASSERT_EQUAL_UINT(S_IFDIR | 0700, st.st_mode);
}

static void test_second_start_keeps_the_segment(void)
{
	struct ttmem_status first;
	struct ttmem_status second;

	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	first = status_now();
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	second = status_now();
	TEST_ASSERT_EQUAL_STRING(first.segment, second.segment);
	TEST_ASSERT_EQUAL_UINT64(1, segments());
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 10, 10);
}

static void test_stop_without_survivors_removes_it(void)
{
	struct ttmem_status status;

	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	ttmem_free(0, TTMEM_DRAM, 1);
	ttmem_stop();
	TEST_ASSERT_EQUAL_UINT64(0, segments());
	TEST_ASSERT_FALSE(ttmem_enabled());
	status = status_now();
	TEST_ASSERT_EQUAL_UINT32(TTMEM_STATE_OFF, status.state);
	TEST_ASSERT_EQUAL_STRING("", status.segment);
}

static void test_stop_with_survivors_leaves_it_marked_ended(void)
{
	struct segment *segment = NULL;
	char why[512] = "";
	char *path;

	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	ttmem_scope_push("leaky", 0);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	ttmem_scope_pop();
	ttmem_alloc(0, TTMEM_DRAM, 2, 0, 20);
	ttmem_free(0, TTMEM_DRAM, 2);
	ttmem_stop();
	path = test_dir_segment(dir, getpid(), NULL);
	TEST_ASSERT_NOT_NULL(path);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_read(path, &segment, why, sizeof(why)), why);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_check_at_rest(segment, why, sizeof(why)), why);
	TEST_ASSERT_EQUAL_UINT64(2, segment->state);
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(10, segment->objects[0].bytes);
	TEST_ASSERT_EQUAL_STRING(
		"leaky", segment_name(segment, segment->objects[0].scope));
	segment_unref(&segment);
	free(path);
}

static void test_large_segment_that_ends_keeps_what_is_live(void)
{
	struct segment *segment = NULL;
	char why[512] = "";
	char *path;
	uint64_t i;

	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	for (i = 0; i < 20000; i++)
		ttmem_alloc(0, TTMEM_DRAM, i, i, 10);
	for (i = 0; i < 20000; i++)
		if (i % 5000 != 77)
			ttmem_free(0, TTMEM_DRAM, i);
	ttmem_stop();
	path = test_dir_segment(dir, getpid(), NULL);
	TEST_ASSERT_NOT_NULL(path);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_read(path, &segment, why, sizeof(why)), why);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_check_at_rest(segment, why, sizeof(why)), why);
	TEST_ASSERT_EQUAL_UINT64(2, segment->state);
	TEST_ASSERT_EQUAL_UINT64(4, segment->objects_len);
	for (i = 0; i < 4; i++)
		TEST_ASSERT_EQUAL_UINT64(77, segment->objects[i].id % 5000);
	segment_unref(&segment);
	free(path);
}

static void test_hooks_after_a_stop_do_nothing(void)
{
	struct segment *before = NULL;
	struct segment *after = NULL;
	char why[512] = "";
	char *path;
	struct ttmem_usage usage = { .size = sizeof(usage) };
	uint32_t member = 0;

	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	ttmem_stop();
	path = test_dir_segment(dir, getpid(), NULL);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_read(path, &before, why, sizeof(why)), why);
	ttmem_free(0, TTMEM_DRAM, 1);
	ttmem_alloc(0, TTMEM_DRAM, 2, 0, 10);
	ttmem_cb_alloc(0, 1, 1, 0, 1, 1, 0);
	ttmem_kernel_load(0, 1, TTMEM_KERNEL_APPLICATION, 1, 1, 0);
	ttmem_scope_push("x", 0);
	ttmem_scope_pop();
	ttmem_scope_pop();
	ttmem_mark("x");
	call_alloc_failed(0, TTMEM_DRAM, 1, 1);
	ttmem_device_close(0);
	ttmem_peak_reset(0);
	ttmem_stop();
	TEST_ASSERT_EQUAL_HEX32(UINT32_MAX, ttmem_mesh_open(&member, 1));
	TEST_ASSERT_EQUAL_INT(-ENODATA, ttmem_usage(0, &usage));
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_read(path, &after, why, sizeof(why)), why);
	TEST_ASSERT_EQUAL_UINT64(before->size, after->size);
	TEST_ASSERT_EQUAL_INT(
		0, memcmp(before->bytes, after->bytes, after->size));
	segment_unref(&before);
	segment_unref(&after);
	free(path);
}

static void test_start_after_a_stop_makes_a_new_segment(void)
{
	struct segment *segment;
	uint8_t uuid[16];

	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	segment = test_segment_read();
	memcpy(uuid, segment->uuid, 16);
	segment_unref(&segment);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	ttmem_stop();
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	TEST_ASSERT_EQUAL_UINT64(2, segments());
	segment = test_segment_at_rest();
	TEST_ASSERT_TRUE(memcmp(uuid, segment->uuid, 16) != 0);
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(0, segment->devices_count);
	segment_unref(&segment);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 30);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 30, 30);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){ 0 });
}

static void test_many_starts_and_stops_leave_nothing(void)
{
	uint64_t i;

	for (i = 0; i < test_scale(100); i++) {
		TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 10);
		test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 10, 10);
		ttmem_free(0, TTMEM_DRAM, i);
		ttmem_stop();
		TEST_ASSERT_EQUAL_UINT64(0, segments());
	}
}

static void test_config_of_wrong_size_is_refused(void)
{
	struct ttmem_config config = { .size = sizeof(config) - 1 };

	TEST_ASSERT_EQUAL_INT(-EINVAL, ttmem_start(&config));
	config.size = 0;
	TEST_ASSERT_EQUAL_INT(-EINVAL, ttmem_start(&config));
	TEST_ASSERT_EQUAL_UINT64(0, segments());
}

static void test_config_names_another_base_directory(void)
{
	char other[] = "/dev/shm/ttmem-test.XXXXXX";
	char user[64];
	struct ttmem_config config = { .size = sizeof(config), .dir = other };
	struct ttmem_status status;

	TEST_ASSERT_NOT_NULL(mkdtemp(other));
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(&config));
	TEST_ASSERT_EQUAL_UINT64(0, segments());
	status = status_now();
	TEST_ASSERT_EQUAL_INT(0, strncmp(status.segment, other, strlen(other)));
	ttmem_stop();
	snprintf(user, sizeof(user), "%s/ttmem-%u", other, geteuid());
	rmdir(user);
	TEST_ASSERT_EQUAL_INT(0, rmdir(other));
}

static void test_impossible_directories_say_why(void)
{
	static const struct {
		const char *path;
		int error;
	} cases[] = {
		{ "/proc", -EMEDIUMTYPE },
		{ "/dev/shm/ttmem-test-no-such-directory/x", -ENOENT },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ttmem_config config = { .size = sizeof(config),
			.dir = cases[i].path };
		struct ttmem_status status;

		TEST_ASSERT_EQUAL_INT(cases[i].error, ttmem_start(&config));
		status = status_now();
		TEST_ASSERT_EQUAL_UINT32(TTMEM_STATE_UNTRACKED, status.state);
		TEST_ASSERT_EQUAL_INT32(cases[i].error, status.error);
		TEST_ASSERT_TRUE(status.reason[0] != '\0');
		TEST_ASSERT_EQUAL_STRING("", status.segment);
		ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	}
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	TEST_ASSERT_EQUAL_UINT32(TTMEM_STATE_ON, status_now().state);
	TEST_ASSERT_EQUAL_INT32(0, status_now().error);
}

static void test_base_directory_open_to_others_is_refused(void)
{
	TEST_ASSERT_EQUAL_INT(0, chmod(dir, 0777));
	TEST_ASSERT_EQUAL_INT(-EPERM, ttmem_start(NULL));
	TEST_ASSERT_EQUAL_INT(0, chmod(dir, 01777));
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
}

static void test_squatted_user_directory_gets_a_suffix(void)
{
	char squatted[128];
	FILE *file;

	snprintf(squatted, sizeof(squatted), "%s/ttmem-%u", dir, geteuid());
	file = fopen(squatted, "w");
	TEST_ASSERT_NOT_NULL(file);
	fclose(file);
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	TEST_ASSERT_EQUAL_UINT64(1, segments());
	TEST_ASSERT_EQUAL_INT(
		0, strncmp(status_now().segment, squatted, strlen(squatted)));
}

static void test_marker_says_that_a_process_is_untracked_and_why(void)
{
	struct rlimit limit;
	struct rlimit low;
	char pattern[256];
	glob_t found;
	struct stat st;

	TEST_ASSERT_EQUAL_INT(0, getrlimit(RLIMIT_FSIZE, &limit));
	low = limit;
	low.rlim_cur = 4096;
	setenv("TTMEM_RUN_ID", "run", 1);
	TEST_ASSERT_EQUAL_INT(0, setrlimit(RLIMIT_FSIZE, &low));
	TEST_ASSERT_EQUAL_INT(-EFBIG, ttmem_start(NULL));
	TEST_ASSERT_EQUAL_INT(0, setrlimit(RLIMIT_FSIZE, &limit));
	TEST_ASSERT_EQUAL_INT32(-EFBIG, status_now().error);
	TEST_ASSERT_EQUAL_UINT64(0, segments());
	snprintf(pattern, sizeof(pattern), "%s/ttmem-*/u.%d.*.%d.72756e", dir,
		(int)getpid(), EFBIG);
	TEST_ASSERT_EQUAL_INT(0, glob(pattern, 0, NULL, &found));
	TEST_ASSERT_EQUAL_UINT64(1, found.gl_pathc);
	TEST_ASSERT_EQUAL_INT(0, stat(found.gl_pathv[0], &st));
	TEST_ASSERT_EQUAL_INT(0, (int)st.st_size);
	globfree(&found);
}

static void test_cap_is_kept_and_losses_are_counted(void)
{
	struct ttmem_config config = { .size = sizeof(config),
		.max_bytes = 1 << 20 };
	struct ttmem_status status;
	struct segment *segment;
	uint64_t kept;
	uint64_t i;

	TEST_ASSERT_EQUAL_INT(0, ttmem_start(&config));
	for (i = 0; i < 20000; i++)
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 10);
	status = status_now();
	TEST_ASSERT_TRUE(status.lost_events[TTMEM_LOSS_NO_SLOT] > 0);
	kept = 20000 - status.lost_events[TTMEM_LOSS_NO_SLOT];
	TEST_ASSERT_EQUAL_UINT64(
		10 * (20000 - kept), status.lost_bytes[TTMEM_LOSS_NO_SLOT]);
	segment = test_segment_at_rest();
	TEST_ASSERT_TRUE(segment->size <= 1 << 20);
	TEST_ASSERT_EQUAL_UINT64(kept, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(
		20000 - kept, segment->lost_events[TTMEM_LOSS_NO_SLOT]);
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_DRAM, kept, 10 * kept, 10 * kept);
	/* What was freed makes room again. */
	for (i = 0; i < 20000; i++)
		ttmem_free(0, TTMEM_DRAM, i);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 10, 10 * kept);
	segment = test_segment_at_rest();
	segment_unref(&segment);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_start_makes_the_segment_at_once);
	RUN_TEST(test_user_directory_is_private);
	RUN_TEST(test_second_start_keeps_the_segment);
	RUN_TEST(test_stop_without_survivors_removes_it);
	RUN_TEST(test_stop_with_survivors_leaves_it_marked_ended);
	RUN_TEST(test_large_segment_that_ends_keeps_what_is_live);
	RUN_TEST(test_hooks_after_a_stop_do_nothing);
	RUN_TEST(test_start_after_a_stop_makes_a_new_segment);
	RUN_TEST(test_many_starts_and_stops_leave_nothing);
	RUN_TEST(test_config_of_wrong_size_is_refused);
	RUN_TEST(test_config_names_another_base_directory);
	RUN_TEST(test_impossible_directories_say_why);
	RUN_TEST(test_base_directory_open_to_others_is_refused);
	RUN_TEST(test_squatted_user_directory_gets_a_suffix);
	RUN_TEST(test_marker_says_that_a_process_is_untracked_and_why);
	RUN_TEST(test_cap_is_kept_and_losses_are_counted);
	return UNITY_END();
}

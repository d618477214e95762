/* SPDX-License-Identifier: Apache-2.0 */
/* The constant part of the header, held against what the kernel says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_dir.h"
#include "support/test_segment.h"

static struct segment *segment;

void setUp(void)
{
	test_tracking_start();
	segment = test_segment_at_rest();
}

void tearDown(void)
{
	segment_unref(&segment);
	test_tracking_stop();
}

static size_t file_read(const char *path, char *ret_text, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t len = 0;

	memset(ret_text, 0, size);
	if (!file)
		return 0;
	len = fread(ret_text, 1, size - 1, file);
	fclose(file);
	return len;
}

static void test_pid_and_uid_are_ours(void)
{
	TEST_ASSERT_EQUAL_UINT32((uint32_t)getpid(), segment->pid);
	TEST_ASSERT_EQUAL_UINT32(geteuid(), segment->uid);
}

static void test_start_time_is_field_22_of_stat(void)
{
	char text[4096];
	char *at;
	int field;

	if (!file_read("/proc/self/stat", text, sizeof(text)))
		TEST_IGNORE_MESSAGE("no /proc");
	at = strrchr(text, ')');
	TEST_ASSERT_NOT_NULL(at);
	/* The closing parenthesis ends field 2. */
	for (field = 2; field < 22; field++)
		at = strchr(at + 1, ' ');
	TEST_ASSERT_EQUAL_UINT64(
		strtoull(at + 1, NULL, 10), segment->start_time);
}

static void test_boot_id_is_the_kernels(void)
{
	char text[64];
	char hex[33] = "";
	char ours[33] = "";
	size_t i;
	size_t len = 0;

	if (!file_read("/proc/sys/kernel/random/boot_id", text, sizeof(text)))
		TEST_IGNORE_MESSAGE("no boot id");
	for (i = 0; text[i] && len < 32; i++)
		if (text[i] != '-' && text[i] != '\n')
			hex[len++] = text[i];
	for (i = 0; i < 16; i++)
		snprintf(ours + 2 * i, 3, "%02x", segment->boot_id[i]);
	TEST_ASSERT_EQUAL_STRING(hex, ours);
}

static void test_pid_namespace_is_its_inode(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) < 0)
		TEST_IGNORE_MESSAGE("no /proc/self/ns/pid");
	TEST_ASSERT_EQUAL_UINT64(st.st_ino, segment->pid_namespace);
}

static void test_comm_is_ours(void)
{
	char text[64];

	if (!file_read("/proc/self/comm", text, sizeof(text)))
		TEST_IGNORE_MESSAGE("no /proc/self/comm");
	text[strcspn(text, "\n")] = '\0';
	TEST_ASSERT_EQUAL_STRING(text, segment->comm);
}

static void test_command_line_is_ours(void)
{
	char text[4096];
	size_t len = file_read("/proc/self/cmdline", text, sizeof(text));

	if (!len)
		TEST_IGNORE_MESSAGE("no /proc/self/cmdline");
	TEST_ASSERT_EQUAL_MEMORY(text, segment->cmdline, len < 511 ? len : 511);
}

static void test_cgroup_is_the_path_of_the_unified_one(void)
{
	char text[4096];
	char *line;

	file_read("/proc/self/cgroup", text, sizeof(text));
	line = strncmp(text, "0::", 3) ? strstr(text, "\n0::") : text - 1;
	if (!line) {
		TEST_ASSERT_EQUAL_STRING("", segment->cgroup);
		return;
	}
	line += 4;
	line[strcspn(line, "\n")] = '\0';
	line[strlen(line) < 256 ? strlen(line) : 255] = '\0';
	TEST_ASSERT_EQUAL_STRING_LEN(line, segment->cgroup, 255);
}

static void test_clock_bases_are_of_one_moment(void)
{
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	TEST_ASSERT_TRUE(segment->monotonic_base_ns <= ns);
	TEST_ASSERT_TRUE(ns - segment->monotonic_base_ns < 600000000000u);
	clock_gettime(CLOCK_REALTIME, &now);
	ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	TEST_ASSERT_TRUE(ns - segment->realtime_base_ns < 600000000000u);
#if defined(__x86_64__)
	TEST_ASSERT_EQUAL_UINT32(1, segment->clock_kind);
#elif defined(__aarch64__)
	TEST_ASSERT_EQUAL_UINT32(2, segment->clock_kind);
#endif
	TEST_ASSERT_TRUE(segment->clock_base != 0);
}

/* The name says pid and start time; the rest of it is random. */
static void test_file_is_named_after_the_process(void)
{
	char expected[64];
	const char *name = strrchr(test_segment_path(), '/') + 1;

	snprintf(expected, sizeof(expected), "p.%d.%llu.", (int)getpid(),
		(unsigned long long)segment->start_time);
	TEST_ASSERT_EQUAL_INT(0, strncmp(name, expected, strlen(expected)));
	TEST_ASSERT_TRUE(strlen(name) > strlen(expected));
}

static void test_uuid_differs_between_segments(void)
{
	uint8_t first[16];

	memcpy(first, segment->uuid, 16);
	segment_unref(&segment);
	ttmem_stop();
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	segment = test_segment_at_rest();
	TEST_ASSERT_TRUE(memcmp(first, segment->uuid, 16) != 0);
}

static void test_cap_gives_the_number_of_extents(void)
{
	struct ttmem_config config = { .size = sizeof(config) };

	TEST_ASSERT_TRUE(
		0x50000 + 0x20000ull * segment->extents_max <= 1ull << 30);
	TEST_ASSERT_TRUE(0x50000 + 0x20000ull * segment->extents_max >
		(1ull << 30) - 0x40000);
	ttmem_stop();
	config.max_bytes = 4 << 20;
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(&config));
	segment_unref(&segment);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT32(
		((4 << 20) - 0x50000) / 0x20000, segment->extents_max);
}

static void test_run_id_is_none_without_the_variable(void)
{
	static const uint8_t none[16];

	TEST_ASSERT_EQUAL_MEMORY(none, segment->run_id, 16);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_pid_and_uid_are_ours);
	RUN_TEST(test_start_time_is_field_22_of_stat);
	RUN_TEST(test_boot_id_is_the_kernels);
	RUN_TEST(test_pid_namespace_is_its_inode);
	RUN_TEST(test_comm_is_ours);
	RUN_TEST(test_command_line_is_ours);
	RUN_TEST(test_cgroup_is_the_path_of_the_unified_one);
	RUN_TEST(test_clock_bases_are_of_one_moment);
	RUN_TEST(test_file_is_named_after_the_process);
	RUN_TEST(test_uuid_differs_between_segments);
	RUN_TEST(test_cap_gives_the_number_of_extents);
	RUN_TEST(test_run_id_is_none_without_the_variable);
	return UNITY_END();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of JSON, good and bad, from files and pipes. */
#include <stdlib.h>

#include "read/compare.h"
#include "read/read.h"

#define EMPTY "{\"schema_version\":2}"
#define PUBLICATION(n)                                                         \
	"{\"schema_version\":2,\"info\":{\"publication\":" #n "}}"

static struct ttmem_replay *replay;
static struct ttmem_snapshot *snapshot;
static char path[AGG_PATH_SIZE];

void setUp(void)
{
	snprintf(path, sizeof(path), "%s/record", test_dir_make());
}

void tearDown(void)
{
	ttmem_replay_close(&replay);
	ttmem_snapshot_free(&snapshot);
	test_dir_remove();
}

static void lines_are(const char *lines)
{
	FILE *file = fopen(path, "w");

	TEST_ASSERT_NOT_NULL(file);
	fputs(lines, file);
	fclose(file);
	ttmem_replay_close(&replay);
	TEST_ASSERT_EQUAL_INT(0, ttmem_replay_open(path, &replay));
}

static void next_is(int r)
{
	ttmem_snapshot_free(&snapshot);
	TEST_ASSERT_EQUAL_INT_MESSAGE(r, ttmem_replay_next(replay, &snapshot),
		ttmem_replay_error(replay));
	TEST_ASSERT_TRUE((r == 0) == (snapshot != NULL));
}

static void next_is_publication(uint64_t n)
{
	next_is(0);
	TEST_ASSERT_EQUAL_UINT64(n, ttmem_snapshot_info(snapshot)->publication);
}

static void refused(const char *line, int r, const char *why)
{
	lines_are(line);
	next_is(r);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(ttmem_replay_error(replay), why),
		ttmem_replay_error(replay));
	TEST_ASSERT_EQUAL_INT(
		0, strncmp(ttmem_replay_error(replay), "line 1: ", 8));
}

static void test_lines_in_their_order(void)
{
	lines_are(
		PUBLICATION(1) "\n\n  \r\n" PUBLICATION(2) "\n" PUBLICATION(3));
	TEST_ASSERT_EQUAL_UINT64(0, ttmem_replay_line(replay));
	next_is_publication(1);
	next_is_publication(2);
	TEST_ASSERT_EQUAL_UINT64(4, ttmem_replay_line(replay));
	next_is_publication(3);
	next_is(-ENODATA);
	next_is(-ENODATA);
	TEST_ASSERT_EQUAL_STRING("", ttmem_replay_error(replay));
}

static void test_a_bad_line_does_not_hide_the_next(void)
{
	lines_are(
		PUBLICATION(1) "\n{\"schema_version\":\n" PUBLICATION(2) "\n");
	next_is_publication(1);
	next_is(-EPROTO);
	TEST_ASSERT_EQUAL_INT(
		0, strncmp(ttmem_replay_error(replay), "line 2: ", 8));
	next_is_publication(2);
}

static void test_what_is_refused_and_why(void)
{
	refused("[]", -EPROTO, "no ttmem snapshot");
	refused("{}", -EPROTO, "no ttmem snapshot");
	refused("{\"schema_version\":\"1\"}", -EPROTO, "no ttmem snapshot");
	refused("{\"schema_version\":1}", -EPROTONOSUPPORT, "1 and not 2");
	refused("{\"schema_version\":1e300}", -EPROTONOSUPPORT, "and not 2");
	refused("{\"schema_version\":2,\"schema_version\":2}", -EPROTO,
		"duplicate");
	refused("{\"schema_version\":2} x", -EPROTO, "column");
	refused("{\"schema_version\":2,\"devices\":{}}", -EPROTO,
		"devices: not a list");
	refused("{\"schema_version\":2,\"devices\":[1]}", -EPROTO,
		"row 0 is not an object");
	refused("{\"schema_version\":2,\"devices\":[{},{\"cores\":-1}]}",
		-EPROTO, "devices[1].cores: not an integer");
	refused("{\"schema_version\":2,\"devices\":[{\"cores\":1.0}]}", -EPROTO,
		"devices[0].cores: not an integer");
	refused("{\"schema_version\":2,\"devices\":[{\"cores\":"
		"18446744073709551615}]}",
		-EPROTO, "too big");
	refused("{\"schema_version\":2,\"devices\":[{\"chip_id\":12}]}",
		-EPROTO, "chip_id: not \"0x");
	refused("{\"schema_version\":2,\"devices\":[{\"chip_id\":"
		"\"0x12345678901234567\"}]}",
		-EPROTO, "chip_id: not a hex");
	refused("{\"schema_version\":2,\"devices\":[{\"pci_address\":"
		"\"0000:01:20.0\"}]}",
		-EPROTO, "PCI");
	refused("{\"schema_version\":2,\"devices\":[{\"clash_process\":0}]}",
		-EPROTO, "processes has no such row");
	refused("{\"schema_version\":2,\"processes\":[{\"uuid\":\"00\"}]}",
		-EPROTO, "32 hexadecimal");
	refused("{\"schema_version\":2,\"processes\":[{\"cmdline\":[1]}]}",
		-EPROTO, "not a string");
	refused("{\"schema_version\":2,\"processes\":[{\"anomalies\":[]}]}",
		-EPROTO, "not an object");
	refused("{\"schema_version\":2,\"directories\":[{\"own\":1}]}", -EPROTO,
		"neither true");
	refused("{\"schema_version\":2,\"places\":[{\"devices\":{}}]}", -EPROTO,
		"places[0].devices: not a list");
	refused("{\"schema_version\":2,\"places\":[{\"devices\":[0]}]}",
		-EPROTO, "places[0].devices: devices has no such row");
	refused("{\"schema_version\":2,\"histories\":[{\"points\":[]}]}",
		-EPROTO, "columns");
	refused("{\"schema_version\":2,\"info\":{\"path\":\"\xff\"}}", -EPROTO,
		"decode");
	refused("{\"schema_version\":2,\"info\":{\"path\":\"\\u0000\"}}",
		-EPROTO, "column");
}

static void test_depth_is_bounded(void)
{
	size_t size = 1u << 20;
	char *deep = malloc(size + 1);

	memset(deep, '[', size);
	deep[size] = '\0';
	refused(deep, -EPROTO, "depth");
	free(deep);
}

static void test_an_unknown_name_is_a_newer_one(void)
{
	lines_are("{\"schema_version\":2,\"processes\":[{\"state\":\"asleep\","
		  "\"pid\":7}]}");
	next_is(0);
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_UNKNOWN, ttmem_snapshot_process(snapshot, 0)->state);
	TEST_ASSERT_EQUAL_UINT64(7, ttmem_snapshot_process(snapshot, 0)->pid);
}

static void test_columns_may_be_others(void)
{
	lines_are(
		"{\"schema_version\":2,\"histories\":[{\"points\":{\"columns\":"
		"[\"future\",\"live_bytes.cb\",\"time_ns\"],\"rows\":"
		"[[9,8,7],[9],[1,null,3]]}}]}");
	next_is(0);
	TEST_ASSERT_EQUAL_UINT64(
		3, ttmem_snapshot_history(snapshot, 0)->points_len);
	TEST_ASSERT_EQUAL_UINT64(
		7, ttmem_snapshot_history(snapshot, 0)->points[0].time_ns);
	TEST_ASSERT_EQUAL_UINT64(8,
		ttmem_snapshot_history(snapshot, 0)
			->points[0]
			.live_bytes[TTMEM_FIGURE_CB]);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN,
		ttmem_snapshot_history(snapshot, 0)->points[1].time_ns);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN,
		ttmem_snapshot_history(snapshot, 0)->points[0].l1_use);
}

static void test_a_line_beyond_the_limit_is_skipped(void)
{
	size_t size = 1u << 20;
	char *text = malloc(size + 200);

	memset(text, ' ', size);
	strcpy(text + size, EMPTY "\n" PUBLICATION(5) "\n");
	lines_are(text);
	ttmem_replay_limit(replay, 1000);
	next_is(-EFBIG);
	TEST_ASSERT_EQUAL_STRING(
		"line 1: too long", ttmem_replay_error(replay));
	next_is_publication(5);
	next_is(-ENODATA);
	text[size] = '\0'; /* the last line, without an end */
	lines_are(text);
	ttmem_replay_limit(replay, 1000);
	next_is(-EFBIG);
	next_is(-ENODATA);
	lines_are(text);
	ttmem_replay_limit(replay, 0);
	next_is(-ENODATA);
	free(text);
}

/* The pipe stays open: whoever waited for the end of the line would get -EAGAIN. */
static void test_a_line_without_an_end_is_refused(void)
{
	static const char zeros[1000];
	int ends[2];

	TEST_ASSERT_EQUAL_INT(0, pipe2(ends, O_NONBLOCK));
	TEST_ASSERT_EQUAL_INT(0, ttmem_replay_open_fd(ends[0], &replay));
	dprintf(ends[1], "%s\n", PUBLICATION(1));
	TEST_ASSERT_EQUAL_INT(1000, write(ends[1], zeros, 1000));
	next_is_publication(1);
	next_is(-EILSEQ);
	TEST_ASSERT_EQUAL_STRING(
		"line 2: not text", ttmem_replay_error(replay));
	next_is(-EAGAIN);
	TEST_ASSERT_EQUAL_INT(1000, write(ends[1], zeros, 1000));
	next_is(-EAGAIN);
	ttmem_replay_limit(replay, 100);
	dprintf(ends[1], "\n%100s", "{");
	next_is(-EAGAIN);
	dprintf(ends[1], " ");
	next_is(-EFBIG);
	TEST_ASSERT_EQUAL_STRING(
		"line 3: too long", ttmem_replay_error(replay));
	dprintf(ends[1], " \n%s\n", PUBLICATION(4));
	next_is_publication(4);
	TEST_ASSERT_EQUAL_UINT64(4, ttmem_replay_line(replay));
	close(ends[1]);
	next_is(-ENODATA);
	ttmem_replay_close(&replay);
	close(ends[0]);
}

static void test_a_pipe_gives_lines_as_they_come(void)
{
	int ends[2];
	char c[1];

	TEST_ASSERT_EQUAL_INT(0, pipe2(ends, O_NONBLOCK));
	TEST_ASSERT_EQUAL_INT(0, ttmem_replay_open_fd(ends[0], &replay));
	next_is(-EAGAIN);
	TEST_ASSERT_EQUAL_INT(10, write(ends[1], PUBLICATION(1), 10));
	next_is(-EAGAIN);
	dprintf(ends[1], "%s\n%s", &PUBLICATION(1)[10], PUBLICATION(2));
	next_is_publication(1);
	next_is(-EAGAIN);
	TEST_ASSERT_EQUAL_INT(1, write(ends[1], "\n", 1));
	next_is_publication(2);
	close(ends[1]);
	next_is(-ENODATA);
	ttmem_replay_close(&replay);
	/* The descriptor is still ours. */
	TEST_ASSERT_EQUAL_INT(0, read(ends[0], c, 1));
	close(ends[0]);
}

static void test_no_such_file(void)
{
	TEST_ASSERT_EQUAL_INT(-ENOENT, ttmem_replay_open(path, &replay));
	TEST_ASSERT_NULL(replay);
	ttmem_replay_close(&replay);
	ttmem_replay_close(NULL);
	TEST_ASSERT_EQUAL_INT(0, ttmem_replay_open("/", &replay));
	next_is(-EISDIR);
}

static void test_a_recording_comes_back(void)
{
	struct ttmem_snapshot *taken = sample_snapshot(getenv("TTMEM_DIR"));
	FILE *file = fopen(path, "w");
	int i;

	for (i = 0; i < 20; i++)
		TEST_ASSERT_EQUAL_INT(
			0, ttmem_snapshot_write_file(taken, file));
	fclose(file);
	TEST_ASSERT_EQUAL_INT(0, ttmem_replay_open(path, &replay));
	for (i = 0; i < 20; i++) {
		next_is(0);
		snapshots_equal(taken, snapshot);
	}
	next_is(-ENODATA);
	ttmem_snapshot_free(&taken);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_lines_in_their_order);
	RUN_TEST(test_a_bad_line_does_not_hide_the_next);
	RUN_TEST(test_what_is_refused_and_why);
	RUN_TEST(test_depth_is_bounded);
	RUN_TEST(test_an_unknown_name_is_a_newer_one);
	RUN_TEST(test_columns_may_be_others);
	RUN_TEST(test_a_line_beyond_the_limit_is_skipped);
	RUN_TEST(test_a_line_without_an_end_is_refused);
	RUN_TEST(test_a_pipe_gives_lines_as_they_come);
	RUN_TEST(test_no_such_file);
	RUN_TEST(test_a_recording_comes_back);
	return UNITY_END();
}

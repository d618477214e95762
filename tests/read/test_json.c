/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot that was written and read back is the same one. */
#include <stdlib.h>

#include "read/compare.h"
#include "read/read.h"

struct text {
	char *bytes;
	size_t size;
	int calls;
	int fail_at; /* call, from 1; 0: never */
};

static struct ttmem_snapshot *snapshot, *again;
static struct text text;
static char error[TTMEM_PARSE_ERROR_SIZE];

void setUp(void)
{
	snapshot = sample_snapshot(test_dir_make());
}

void tearDown(void)
{
	ttmem_snapshot_free(&snapshot);
	ttmem_snapshot_free(&again);
	free(text.bytes);
	memset(&text, 0, sizeof(text));
	test_dir_remove();
}

static int text_add(void *context, const char *bytes, size_t size)
{
	struct text *to = context;

	if (++to->calls == to->fail_at)
		return -ENOSPC;
	to->bytes = realloc(to->bytes, to->size + size + 1);
	memcpy(to->bytes + to->size, bytes, size);
	to->size += size;
	to->bytes[to->size] = '\0';
	return 0;
}

static void round_trip(void)
{
	free(text.bytes);
	memset(&text, 0, sizeof(text));
	TEST_ASSERT_EQUAL_INT(
		0, ttmem_snapshot_write(snapshot, text_add, &text));
	TEST_ASSERT_EQUAL_INT_MESSAGE(0,
		ttmem_snapshot_parse(text.bytes, text.size, &again, error),
		error);
}

static void contains(const char *part)
{
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(text.bytes, part), part);
}

static void test_the_sample_comes_back(void)
{
	round_trip();
	snapshots_equal(snapshot, again);
}

static void test_it_is_one_line_and_starts_with_the_version(void)
{
	round_trip();
	TEST_ASSERT_EQUAL_INT(
		0, strncmp(text.bytes, "{\"schema_version\":2,", 20));
	TEST_ASSERT_EQUAL_PTR(
		text.bytes + text.size - 1, strchr(text.bytes, '\n'));
}

static void test_what_values_look_like(void)
{
	round_trip();
	contains("\"chip_id\":\"0xdeadbeefcafef00d\"");
	contains("\"chip_id\":null");
	contains("\"pci_address\":\"0001:c3:01.0\"");
	contains("\"headroom\":-4096");
	contains("\"headroom\":null");
	contains("\"id\":\"0xffffffffffffffff\"");
	contains("\"state\":\"silent\"");
	contains("\"leak_class\":\"orphaned\"");
	contains("\"own\":true");
	contains(
		"\"cmdline\":[\"python3\",\"-c\",\"\",\"print(\\\"\\\\n\\\")\"]");
	contains("\"reserved_10\":");
	contains("\"uuid\":\"0102030405060708090a0b0c0d0e0f10\"");
	contains("\"run_id\":null");
	contains("\"columns\":[\"time_ns\",\"dram_use\",");
	contains("\"live_bytes.kernel_dispatch\"]");
}

static void test_hostile_text_is_escaped(void)
{
	size_t i;

	round_trip();
	contains("\\u001b[31mred\xef\xbf\xbd\\u009b\\\"\\\\");
	for (i = 0; i + 1 < text.size; i++)
		TEST_ASSERT_TRUE((uint8_t)text.bytes[i] >= 0x20 &&
			text.bytes[i] != 0x7f);
}

/* Texts that are valid come back byte for byte, of whatever length. */
static void test_all_of_unicode_comes_back(void)
{
	struct ttmem_process_row *p = ttm_snapshot_row(
		snapshot, TTM_RECORD_PROCESSES, 0);
	size_t size = 200000, at = 0;
	char *all = malloc(size + 8);
	uint32_t c;

	for (c = 1; at < size; c = c < 0x10ff00 ? c + 7 : 1) {
		if (c >= 0xd800 && c < 0xe000)
			continue;
		if (c < 0x80) {
			all[at++] = (char)c;
		} else if (c < 0x800) {
			all[at++] = (char)(0xc0 | c >> 6);
			all[at++] = (char)(0x80 | (c & 63));
		} else if (c < 0x10000) {
			all[at++] = (char)(0xe0 | c >> 12);
			all[at++] = (char)(0x80 | (c >> 6 & 63));
			all[at++] = (char)(0x80 | (c & 63));
		} else {
			all[at++] = (char)(0xf0 | c >> 18);
			all[at++] = (char)(0x80 | (c >> 12 & 63));
			all[at++] = (char)(0x80 | (c >> 6 & 63));
			all[at++] = (char)(0x80 | (c & 63));
		}
	}
	all[at] = '\0';
	p->cgroup = all;
	round_trip();
	TEST_ASSERT_EQUAL_STRING(all, ttmem_snapshot_process(again, 0)->cgroup);
	free(all);
}

static void test_extreme_numbers(void)
{
	struct ttmem_device_row *d = ttm_snapshot_row(
		snapshot, TTM_RECORD_DEVICES, 0);
	struct ttmem_process_row *p = ttm_snapshot_row(
		snapshot, TTM_RECORD_PROCESSES, 0);

	d->dram_use = INT64_MAX;
	d->headroom = INT64_MIN + 1;
	d->l1_base = 0;
	d->chip_id = 0;
	d->pci_address = TTMEM_PCI_ADDRESS(0xffffffff, 0xff, 0x1f, 7);
	round_trip();
	snapshots_equal(snapshot, again);
	/* Documented: no JSON integer is that large. */
	d->dram_use = TTMEM_UNKNOWN - 1;
	p->anomalies[TTMEM_REASONS - 1] = TTMEM_UNKNOWN - 1;
	ttmem_snapshot_free(&again);
	round_trip();
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_UNKNOWN, ttmem_snapshot_device(again, 0)->dram_use);
	/* Those that have no name yet are 0 when they are left out. */
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN,
		ttmem_snapshot_process(again, 0)->anomalies[TTMEM_REASONS - 1]);
}

static void test_an_empty_document_is_all_unknown(void)
{
	static const char empty[] = "{\"schema_version\":2}";
	static const char little[] =
		"{\"schema_version\":2.5,\"new\":[{}],\"devices\":[{\"newer\":1},"
		"{\"figures\":{\"cb\":{\"live_bytes\":5},\"future\":1}}]}";

	TEST_ASSERT_EQUAL_INT(0,
		ttmem_snapshot_parse(empty, sizeof(empty) - 1, &again, NULL));
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_UNKNOWN, ttmem_snapshot_info(again)->source);
	TEST_ASSERT_NULL(ttmem_snapshot_info(again)->path);
	TEST_ASSERT_NULL(ttmem_snapshot_health(again));
	ttmem_snapshot_free(&again);
	TEST_ASSERT_EQUAL_INT(0,
		ttmem_snapshot_parse(little, sizeof(little) - 1, &again, NULL));
	TEST_ASSERT_EQUAL_UINT64(2, ttmem_snapshot_devices_len(again));
	TEST_ASSERT_EQUAL_UINT64(5,
		ttmem_snapshot_device(again, 1)
			->figures[TTMEM_FIGURE_CB]
			.live_bytes);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN,
		ttmem_snapshot_device(again, 1)->figures[0].live_bytes);
	TEST_ASSERT_EQUAL_INT64(TTMEM_HEADROOM_UNKNOWN,
		ttmem_snapshot_device(again, 1)->headroom);
}

static void test_places_come_back_with_what_is_not_listed(void)
{
	static const char document[] =
		"{\"schema_version\":2,\"devices\":[{},{}],\"shares\":[{}],"
		"\"places\":[{\"label\":\"0,2-3\",\"devices\":[1,null,0],"
		"\"usages\":[null,0,null]},{\"devices\":[]}]}";
	const struct ttmem_place_row *p;
	struct ttmem_snapshot *first = NULL;

	TEST_ASSERT_EQUAL_INT(0,
		ttmem_snapshot_parse(
			document, sizeof(document) - 1, &first, NULL));
	ttmem_snapshot_free(&snapshot);
	snapshot = first;
	round_trip();
	snapshots_equal(snapshot, again);
	contains("\"devices\":[1,null,0],\"usages\":[null,0,null]");
	p = ttmem_snapshot_place(again, 0);
	TEST_ASSERT_EQUAL_STRING("0,2-3", p->label);
	TEST_ASSERT_EQUAL_UINT64(3, p->devices_len);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_NONE, p->devices[1]);
	TEST_ASSERT_EQUAL_UINT64(0, p->usages[1]);
	TEST_ASSERT_EQUAL_UINT64(
		0, ttmem_snapshot_place(again, 1)->devices_len);
}

static void test_a_failing_write_ends_it(void)
{
	text.fail_at = 1;
	TEST_ASSERT_EQUAL_INT(
		-ENOSPC, ttmem_snapshot_write(snapshot, text_add, &text));
	TEST_ASSERT_EQUAL_INT(1, text.calls);
}

static void test_into_a_stream(void)
{
	FILE *full = fopen("/dev/full", "w"), *file = tmpfile();
	long size;

	TEST_ASSERT_EQUAL_INT(0, ttmem_snapshot_write_file(snapshot, file));
	round_trip();
	size = ftell(file);
	TEST_ASSERT_EQUAL_INT64(text.size, size);
	fclose(file);
	if (full) {
		setvbuf(full, NULL, _IONBF, 0);
		TEST_ASSERT_EQUAL_INT(
			-EIO, ttmem_snapshot_write_file(snapshot, full));
		fclose(full);
	}
}

/* Every prefix, and every byte replaced: an error or a snapshot, no crash. */
static void test_broken_documents(void)
{
	static const char with[] = "\"{}[],:0-nx\\\xff";
	size_t i, step, n = 0;
	int r;

	round_trip();
	step = text.size / test_scale(2000) + 1;
	/* Without its newline it is still whole. */
	for (i = 0; i < text.size - 1; i += step, n++) {
		char kept = text.bytes[i];

		ttmem_snapshot_free(&again);
		if (i)
			TEST_ASSERT_EQUAL_INT(-EPROTO,
				ttmem_snapshot_parse(
					text.bytes, i, &again, error));
		text.bytes[i] = with[n % (sizeof(with) - 1)];
		error[0] = '\0';
		r = ttmem_snapshot_parse(text.bytes, text.size, &again, error);
		TEST_ASSERT_TRUE(r == 0 || error[0]);
		text.bytes[i] = kept;
	}
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_the_sample_comes_back);
	RUN_TEST(test_it_is_one_line_and_starts_with_the_version);
	RUN_TEST(test_what_values_look_like);
	RUN_TEST(test_hostile_text_is_escaped);
	RUN_TEST(test_all_of_unicode_comes_back);
	RUN_TEST(test_extreme_numbers);
	RUN_TEST(test_an_empty_document_is_all_unknown);
	RUN_TEST(test_places_come_back_with_what_is_not_listed);
	RUN_TEST(test_a_failing_write_ends_it);
	RUN_TEST(test_into_a_stream);
	RUN_TEST(test_broken_documents);
	return UNITY_END();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of fields leave no byte of a row out, and names go both ways. */
#include <stdlib.h>

#include "read/fields.h"
#include "read/read.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static void test_every_byte_of_a_row_belongs_to_one_field(void)
{
	size_t record, i, at;

	for (record = 0; record < TTM_RECORDS; record++) {
		const struct ttm_record *r = &ttm_records[record];
		uint8_t *covered = calloc(1, r->size);

		for (i = 0; i < r->fields_len; i++)
			for (at = 0; at < r->fields[i].size; at++)
				covered[r->fields[i].off + at]++;
		for (at = 0; at < r->size; at++)
			TEST_ASSERT_EQUAL_UINT8_MESSAGE(1, covered[at], r->key);
		free(covered);
	}
}

static void test_names_go_both_ways(void)
{
	uint64_t set, value, again, found = 0;

	for (set = 0; set < TTMEM_NAMES_SETS; set++) {
		for (value = 0; value < 32; value++) {
			const char *name = ttmem_name(
				(enum ttmem_names)set, value);

			if (!name)
				continue;
			found++;
			TEST_ASSERT_EQUAL_INT(0,
				ttmem_name_parse(
					(enum ttmem_names)set, name, &again));
			TEST_ASSERT_EQUAL_UINT64(value, again);
		}
	}
	TEST_ASSERT_EQUAL_UINT64(
		9 + 3 + 10 + 6 + 9 + 2 + 3 + 3 + 6 + 3 + 2 + 2 + 20, found);
}

static void test_official_names(void)
{
	static const char *const names[] = { "dram", "l1", "system_memory",
		"l1_small", "trace", "cb", "kernel_application",
		"kernel_fabric", "kernel_dispatch" };
	unsigned i;

	for (i = 0; i < TTMEM_FIGURES; i++)
		TEST_ASSERT_EQUAL_STRING(
			names[i], ttmem_name(TTMEM_NAMES_FIGURE, i));
}

static void test_what_has_no_name(void)
{
	uint64_t value = 42;

	TEST_ASSERT_NULL(ttmem_name(TTMEM_NAMES_FIGURE, 9));
	TEST_ASSERT_NULL(ttmem_name(TTMEM_NAMES_FIGURE, TTMEM_UNKNOWN));
	TEST_ASSERT_NULL(ttmem_name(TTMEM_NAMES_MODE, 0));
	TEST_ASSERT_NULL(ttmem_name((enum ttmem_names)4711, 0));
	TEST_ASSERT_EQUAL_INT(
		-ENOENT, ttmem_name_parse(TTMEM_NAMES_FIGURE, "DRAM", &value));
	TEST_ASSERT_EQUAL_INT(
		-ENOENT, ttmem_name_parse(TTMEM_NAMES_FIGURE, "", &value));
	TEST_ASSERT_EQUAL_INT(-EINVAL,
		ttmem_name_parse((enum ttmem_names)99, "dram", &value));
	TEST_ASSERT_EQUAL_INT(
		-EINVAL, ttmem_name_parse(TTMEM_NAMES_FIGURE, NULL, &value));
	TEST_ASSERT_EQUAL_UINT64(42, value);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_every_byte_of_a_row_belongs_to_one_field);
	RUN_TEST(test_names_go_both_ways);
	RUN_TEST(test_official_names);
	RUN_TEST(test_what_has_no_name);
	return UNITY_END();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Of processes that ended the oldest are dropped at a limit: what they did stays counted. */
#include "daemon/retirees_open.h"

static void test_dropping_the_oldest_keeps_the_sums(void)
{
	uint64_t uuid[2] = { 1, 0 };
	struct flows flows;

	many(2400);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	flows = flows_now();
	TEST_ASSERT_EQUAL_UINT64(2400, described().retired);
	TEST_ASSERT_EQUAL_UINT64(960, orphans());
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	flows_are(&flows);
	TEST_ASSERT_EQUAL_UINT64(1024 + 240, described().retired);
	/* None of those that left something. */
	TEST_ASSERT_EQUAL_UINT64(960, orphans());
	TEST_ASSERT_EQUAL_UINT64(0, described().dropped_processes);
	TEST_ASSERT_FALSE(ttm_retirees_has(retirees, (const uint8_t *)uuid));
	uuid[0] = 2399;
	TEST_ASSERT_TRUE(ttm_retirees_has(retirees, (const uint8_t *)uuid));
	restart();
	flows_are(&flows);
	TEST_ASSERT_EQUAL_UINT64(1024 + 240, described().retired);
	TEST_ASSERT_EQUAL_UINT64(480, ttm_objects_used(output.publisher));
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	flows_are(&flows);
}

static void test_without_room_nothing_is_dropped(void)
{
	struct flows flows;
	unsigned i;

	many(2400);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	flows = flows_now();
	for (i = 0; i < 4; i++) {
		short_writes_left = i * 100000;
		TEST_ASSERT_EQUAL_INT(
			-ENOSPC, ttm_retirees_trim(retirees, &output));
		short_writes_left = UINT64_MAX;
		flows_are(&flows);
		TEST_ASSERT_EQUAL_UINT64(2400, described().retired);
	}
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	flows_are(&flows);
	restart();
	flows_are(&flows);
}

static void test_a_file_that_was_removed_is_not_rewritten(void)
{
	struct flows flows;

	many(2400);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	flows = flows_now();
	TEST_ASSERT_EQUAL_INT(0, unlinkat(directory.fd, TTM_RETIRED_FILE, 0));
	TEST_ASSERT_EQUAL_INT(-ESTALE, ttm_retirees_trim(retirees, &output));
	TEST_ASSERT_TRUE(ttm_retirees_are_behind(retirees));
	flows_are(&flows);
}

static void test_those_that_left_nothing_are_dropped_first(void)
{
	struct ttm_retired *file = file_open();
	uint32_t i;

	for (i = 1; i <= 72; i++)
		commit(file, i, i, i % 24 ? 7000 : 10, i % 24 ? 0 : 2);
	TEST_ASSERT_TRUE(ttm_retired_bytes(file) > 64u << 20);
	ttm_retired_close(&file);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	TEST_ASSERT_EQUAL_UINT64(12, orphans());
	TEST_ASSERT_EQUAL_UINT64(0, described().dropped_processes);
	TEST_ASSERT_TRUE(described().retired < 60);
	TEST_ASSERT_TRUE(described().retired > 40);
}

/* The last resort: then it is told how much was dropped. */
static void test_what_was_left_is_counted_when_it_is_dropped(void)
{
	struct ttm_retired *file = file_open();
	struct flows flows;
	uint32_t i;

	for (i = 1; i <= 4100; i++)
		commit(file, i, i, 0, 2);
	ttm_retired_close(&file);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	flows = flows_now();
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	for (i = 0; i < 2; i++) {
		flows_are(&flows);
		TEST_ASSERT_EQUAL_UINT64(3072, described().retired);
		TEST_ASSERT_EQUAL_UINT64(1028, described().dropped_processes);
		TEST_ASSERT_EQUAL_UINT64(2056, described().dropped_objects);
		TEST_ASSERT_EQUAL_UINT64(411200, described().dropped_bytes);
		TEST_ASSERT_EQUAL_UINT64(12288, orphans());
		restart();
	}
}

/* Its owner may have copied an entry: each is one, in memory as in the file. */
static void test_one_uuid_twice_is_kept_apart(void)
{
	struct ttm_retired *file = file_open();
	struct flows flows;
	uint32_t i;

	commit(file, 1, 77, 0, 0);
	for (i = 2; i <= 2100; i++)
		commit(file, i, i == 2050 ? 77 : i, 0, 0);
	ttm_retired_close(&file);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	flows = flows_now();
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	flows_are(&flows);
	restart();
	flows_are(&flows);
	TEST_ASSERT_EQUAL_UINT64(1024, described().retired);
}

/* -- other identities -------------------------------------------------------------- */

static void test_what_was_dropped_follows_its_chip(void)
{
	struct ttm_device_facts facts = {
		.known = TTM_FACT_CHIP_ID | TTM_FACT_PCI_ADDRESS,
		.chip_id = 42,
		.pci_address = 1,
	};
	const struct ttm_chip *chip;
	struct flows flows;

	many(2400);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	flows = flows_now();
	ttm_chip_get(&output.chips, TTM_NOBODY, &facts, 0);
	ttm_retirees_assign(retirees, &output);
	flows_are(&flows);
	for (chip = output.chips.first; chip; chip = chip->next)
		if (chip->total.identity == TTM_IDENTITY_PCI &&
			chip->total.facts.pci_address == 1)
			TEST_ASSERT_EQUAL_UINT64(
				0, chip->total.figures[0].alloc_objects);
}

/* With one share, of an object: some tell the chip, some its address alone. */
static void commit_told(struct ttm_retired *file, uint64_t uuid, uint64_t known)
{
	struct ttm_retired_head lens = { .kind = TTM_RETIRED_PROCESS,
		.shares_len = 1 };
	struct ttm_retired_entry entry;

	TEST_ASSERT_EQUAL_INT(0, ttm_retired_entry_new(&lens, &entry));
	memcpy(entry.process->uuid, &uuid, sizeof(uuid));
	entry.shares[0].facts.known = known;
	entry.shares[0].facts.pci_address = 1;
	entry.shares[0].facts.chip_id = known & TTM_FACT_CHIP_ID ? 42 : 0;
	entry.shares[0].row.headroom = TTM_HEADROOM_UNKNOWN;
	entry.shares[0].row.figures[0].alloc_objects = 1;
	TEST_ASSERT_EQUAL_INT(0, ttm_retired_commit(file, &entry));
	ttm_retired_entry_free(&entry);
}

static uint64_t allocated_of(uint64_t identity, uint64_t chip_id)
{
	const struct ttm_chip *chip;
	uint64_t sum = 0;

	for (chip = output.chips.first; chip; chip = chip->next)
		if (chip->total.identity == identity &&
			chip->total.facts.chip_id == chip_id)
			sum += chip->total.figures[0].alloc_objects;
	return sum;
}

/* Another chip turns up at that address: who told the address alone means neither. */
static void test_who_told_the_chip_stays_there_when_dropped(void)
{
	struct ttm_device_facts facts = {
		.known = TTM_FACT_CHIP_ID | TTM_FACT_PCI_ADDRESS,
		.chip_id = 43,
		.pci_address = 1,
	};
	struct ttm_retired *file = file_open();
	unsigned i;

	for (i = 1; i <= 2400; i++)
		commit_told(file, i,
			i % 3 == 1 ? TTM_FACT_PCI_ADDRESS :
				     TTM_FACT_PCI_ADDRESS | TTM_FACT_CHIP_ID);
	ttm_retired_close(&file);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	ttm_retirees_assign(retirees, &output);
	TEST_ASSERT_EQUAL_UINT64(2400, allocated_of(TTM_IDENTITY_CHIP, 42));
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	TEST_ASSERT_EQUAL_UINT64(2400, allocated_of(TTM_IDENTITY_CHIP, 42));
	for (i = 0; i < 2; i++) {
		ttm_chip_get(&output.chips, TTM_NOBODY, &facts, 0);
		ttm_retirees_assign(retirees, &output);
		TEST_ASSERT_EQUAL_UINT64(
			1600, allocated_of(TTM_IDENTITY_CHIP, 42));
		TEST_ASSERT_EQUAL_UINT64(
			800, allocated_of(TTM_IDENTITY_PCI, 0));
		restart();
	}
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_dropping_the_oldest_keeps_the_sums);
	RUN_TEST(test_without_room_nothing_is_dropped);
	RUN_TEST(test_a_file_that_was_removed_is_not_rewritten);
	RUN_TEST(test_those_that_left_nothing_are_dropped_first);
	RUN_TEST(test_what_was_left_is_counted_when_it_is_dropped);
	RUN_TEST(test_one_uuid_twice_is_kept_apart);
	RUN_TEST(test_what_was_dropped_follows_its_chip);
	RUN_TEST(test_who_told_the_chip_stays_there_when_dropped);
	return UNITY_END();
}

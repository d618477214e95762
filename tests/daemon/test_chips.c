/* SPDX-License-Identifier: Apache-2.0 */
/* Which chip is meant: by what processes tell of it, and by what the driver has. */
#include "daemon/chips.h"

#include "daemon/model_check.h"

static unsigned chips_len(void)
{
	const struct ttm_chip *chip;
	unsigned len = 0;

	for (chip = chips.first; chip; chip = chip->next)
		len++;
	return len;
}

/* -- identity ---------------------------------------------------------------- */

static void test_a_chip_is_known_by_its_id(void)
{
	struct ttm_chip *chip = get(1, NOTHING, 0);

	TEST_ASSERT_TRUE(get(1, 7, 3) == chip);
	TEST_ASSERT_TRUE(get(0, NOTHING, 0) != chip);
	TEST_ASSERT_EQUAL_UINT64(TTM_IDENTITY_CHIP, chip->total.identity);
	TEST_ASSERT_TRUE(ttm_chip_of_row(&chips, chip->row) == chip);
	TEST_ASSERT_NULL(ttm_chip_of_row(&chips, 0));
}

static void test_an_address_alone_means_the_one_chip_there(void)
{
	struct ttm_chip *chip = get(1, 7, 0);

	TEST_ASSERT_TRUE(get(NOTHING, 7, 5) == chip);
	TEST_ASSERT_TRUE(get(NOTHING, 8, 5) != chip);
	TEST_ASSERT_EQUAL_UINT(2, chips_len());
}

/* The two chips of a board, and somebody who tells the address alone. */
static void test_an_address_of_two_chips_is_neither(void)
{
	struct ttm_chip *one = get(1, 7, 0), *other = get(2, 7, 1), *address;

	address = get(NOTHING, 7, 0);
	TEST_ASSERT_TRUE(address != one && address != other);
	TEST_ASSERT_EQUAL_UINT64(TTM_IDENTITY_PCI, address->total.identity);
	chips.identities_changed = false;
	TEST_ASSERT_TRUE(get(NOTHING, 7, 0) == address);
	TEST_ASSERT_EQUAL_UINT(3, chips_len());
	TEST_ASSERT_FALSE(chips.identities_changed);
}

static void test_a_logical_id_is_never_merged_with_a_chip_that_tells(void)
{
	struct ttm_chip *chip = get(1, 7, 0), *other = get(NOTHING, 8, 0);
	struct ttm_chip *logical = get(NOTHING, NOTHING, 0);

	TEST_ASSERT_TRUE(logical != chip && logical != other);
	TEST_ASSERT_TRUE(get(NOTHING, NOTHING, 0) == logical);
	TEST_ASSERT_TRUE(get(NOTHING, NOTHING, 1) != logical);
	TEST_ASSERT_EQUAL_UINT64(TTM_IDENTITY_LOGICAL, logical->total.identity);
}

static void test_an_address_that_moves_is_noticed(void)
{
	struct ttm_chip *chip = get(1, 7, 0);

	TEST_ASSERT_TRUE(get(NOTHING, 7, 0) == chip);
	chips.identities_changed = false;
	get(1, 9, 0);
	TEST_ASSERT_TRUE(chips.identities_changed);
	TEST_ASSERT_TRUE(get(NOTHING, 7, 0) != chip);
	TEST_ASSERT_TRUE(get(NOTHING, 9, 0) == chip);
}

static void test_facts_add_up_and_the_latest_stands(void)
{
	struct ttm_device_facts facts = facts_of(1, NOTHING);
	struct ttm_chip *chip;

	facts.known |= TTM_FACT_CORES | TTM_FACT_DRAM_BYTES;
	facts.cores = 64;
	facts.dram_bytes = 1000;
	ttm_chip_get(&chips, TTM_NOBODY, &facts, 0);
	facts.known = TTM_FACT_CHIP_ID | TTM_FACT_CORES;
	facts.cores = 72;
	facts.dram_bytes = 5;
	chip = ttm_chip_get(&chips, TTM_NOBODY, &facts, 0);
	TEST_ASSERT_EQUAL_UINT64(72, chip->total.facts.cores);
	TEST_ASSERT_EQUAL_UINT64(1000, chip->total.facts.dram_bytes);
	TEST_ASSERT_EQUAL_HEX64(
		TTM_FACT_CHIP_ID | TTM_FACT_CORES | TTM_FACT_DRAM_BYTES,
		chip->total.facts.known);
}

/* -- what the driver has ------------------------------------------------------- */

static struct ttm_chip *see(
	uint64_t chip_id, uint64_t pci_address, const char *board)
{
	struct ttm_device_facts facts = facts_of(chip_id, pci_address);

	facts.known |= TTM_FACT_BOARD;
	memcpy(facts.board, board, strlen(board));
	return ttm_chip_see(&chips, &facts);
}

/* Whoever makes up chips does not take away those that there are. */
static void test_beyond_a_limit_all_are_one(void)
{
	struct ttm_chip *rest, *place = NULL;
	uint32_t i;

	for (i = 0; i < TTM_CHIPS_MOST; i++)
		get(i, NOTHING, i);
	rest = get(1000, 7, 0);
	TEST_ASSERT_TRUE(get(1001, NOTHING, 1) == rest);
	TEST_ASSERT_TRUE(get(NOTHING, 8, 2) == rest);
	TEST_ASSERT_TRUE(get(NOTHING, NOTHING, 3) == rest);
	TEST_ASSERT_EQUAL_UINT(TTM_CHIPS_MOST + 1, chips_len());
	TEST_ASSERT_EQUAL_UINT64(TTM_IDENTITY_LOGICAL, rest->total.identity);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, rest->total.logical);
	TEST_ASSERT_EQUAL_HEX64(0, rest->total.facts.known);
	TEST_ASSERT_TRUE(get(17, NOTHING, 0) != rest);
	ttm_chip_point(&place, see(1002, 9, "n150"));
	TEST_ASSERT_TRUE(get(1002, NOTHING, 0) == place);
	/* Nobody uses them: 64 stay, and there is room again. */
	ttm_chips_publish(&chips);
	TEST_ASSERT_EQUAL_UINT(chips.len, chips_len());
	TEST_ASSERT_TRUE(chips.len < TTM_CHIPS_MOST);
	TEST_ASSERT_EQUAL_UINT64(
		TTM_IDENTITY_CHIP, get(1000, 7, 0)->total.identity);
	ttm_chip_point(&place, NULL);
}

static struct ttm_chip *get_by(uint32_t uid, uint64_t chip_id)
{
	struct ttm_device_facts facts = facts_of(chip_id, NOTHING);

	return ttm_chip_get(&chips, uid, &facts, chip_id);
}

static void test_one_user_leaves_room_for_others(void)
{
	struct ttm_chip *rest, *shared = get_by(2, 5000), *again;
	uint32_t i;

	for (i = 0; i < TTM_CHIPS_PER_USER; i++)
		get_by(1, i);
	rest = get_by(1, 1000);
	TEST_ASSERT_EQUAL_HEX64(0, rest->total.facts.known);
	TEST_ASSERT_TRUE(get_by(1, 1001) == rest);
	/* What is there already is found, whoever told of it first. */
	TEST_ASSERT_TRUE(get_by(1, 7) != rest);
	TEST_ASSERT_TRUE(get_by(1, 5000) == shared);
	TEST_ASSERT_TRUE(get_by(2, 7) != rest);
	TEST_ASSERT_TRUE(get_by(2, 1000) != rest);
	again = get_by(1, 1000);
	TEST_ASSERT_EQUAL_UINT64(TTM_IDENTITY_CHIP, again->total.identity);
}

static void test_a_device_of_the_driver_goes_with_it(void)
{
	struct ttm_chip *chip = see(1, 7, "n150"), *place = NULL;

	ttm_chip_point(&place, chip);
	ttm_chips_publish(&chips);
	TEST_ASSERT_EQUAL_UINT(1, chips_len());
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, chip->total.logical);
	TEST_ASSERT_TRUE(see(1, 7, "n150") == chip);
	TEST_ASSERT_TRUE(see(NOTHING, 7, "n150") == chip);
	TEST_ASSERT_NULL(see(NOTHING, NOTHING, "n150"));
	chips.identities_changed = false;
	ttm_chip_point(&place, NULL);
	ttm_chips_publish(&chips);
	TEST_ASSERT_EQUAL_UINT(0, chips_len());
	TEST_ASSERT_TRUE(chips.identities_changed);
}

static void test_what_a_process_told_of_stays(void)
{
	struct ttm_chip *chip = see(1, 7, "n150");

	TEST_ASSERT_NOT_NULL(see(2, 8, "n150"));
	TEST_ASSERT_TRUE(get(1, NOTHING, 0) == chip);
	ttm_chips_publish(&chips);
	TEST_ASSERT_EQUAL_UINT(1, chips_len());
	TEST_ASSERT_TRUE(chips.first == chip);
}

static void test_the_driver_takes_nothing_back(void)
{
	struct ttm_device_facts facts = facts_of(1, NOTHING);
	struct ttm_chip *chip;

	facts.known |= TTM_FACT_BOARD | TTM_FACT_CORES;
	memcpy(facts.board, "mine", 4);
	facts.cores = 5;
	chip = ttm_chip_get(&chips, TTM_NOBODY, &facts, 0);
	TEST_ASSERT_TRUE(see(1, 7, "n150") == chip);
	TEST_ASSERT_EQUAL_STRING("mine", (const char *)chip->total.facts.board);
	TEST_ASSERT_EQUAL_UINT64(5, chip->total.facts.cores);
	TEST_ASSERT_EQUAL_UINT64(7, chip->total.facts.pci_address);
}

static void test_capacities_of_boards(void)
{
	static const struct {
		const char *board;
		uint64_t cores;
		uint64_t dram_bytes;
	} known[] = { { "n150", 72, 12ull << 30 }, { "N300", 64, 12ull << 30 },
		{ "galaxy-wormhole", 80, 12ull << 30 },
		{ "p100", 120, 7 * 4278190080ull },
		{ "p100a", 120, 7 * 4278190080ull },
		{ "p150c", 120, 8 * 4278190080ull },
		{ "p300b", 120, 8 * 4278190080ull },
		{ "galaxy-blackhole", 130, 8 * 4278190080ull },
		{ "p1500", 0, 0 }, { "unknown", 0, 0 }, { "", 0, 0 } };
	struct ttm_chip *chip;
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		chip = see(i + 1, NOTHING, known[i].board);
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(known[i].cores,
			chip->total.facts.cores, known[i].board);
		TEST_ASSERT_EQUAL_UINT64(
			known[i].dram_bytes, chip->total.facts.dram_bytes);
		TEST_ASSERT_EQUAL_HEX64(known[i].cores ?
				TTM_FACT_CORES | TTM_FACT_DRAM_BYTES |
					TTM_FACT_L1_BYTES_PER_CORE :
				0,
			chip->total.by_board);
	}
}

/* Also for a chip that the driver does not have, as a remote one. */
static void test_what_is_told_is_not_by_board(void)
{
	struct ttm_device_facts facts = facts_of(1, NOTHING);
	struct ttm_chip *chip;

	facts.known |= TTM_FACT_BOARD | TTM_FACT_CORES;
	memcpy(facts.board, "n300", 4);
	facts.cores = 56;
	chip = ttm_chip_get(&chips, TTM_NOBODY, &facts, 0);
	TEST_ASSERT_EQUAL_UINT64(56, chip->total.facts.cores);
	TEST_ASSERT_EQUAL_HEX64(
		TTM_FACT_DRAM_BYTES | TTM_FACT_L1_BYTES_PER_CORE,
		chip->total.by_board);
	facts.known |= TTM_FACT_DRAM_BYTES | TTM_FACT_L1_BYTES_PER_CORE;
	facts.dram_bytes = 1000;
	facts.l1_bytes_per_core = 10;
	ttm_chip_get(&chips, TTM_NOBODY, &facts, 0);
	TEST_ASSERT_EQUAL_UINT64(1000, chip->total.facts.dram_bytes);
	TEST_ASSERT_EQUAL_HEX64(0, chip->total.by_board);
	/* Somebody who does not know it takes nothing back. */
	get(1, NOTHING, 0);
	TEST_ASSERT_EQUAL_UINT64(1000, chip->total.facts.dram_bytes);
	TEST_ASSERT_EQUAL_HEX64(0, chip->total.by_board);
}

static void test_a_device_without_processes_has_no_history(void)
{
	struct ttm_chip *chip = see(1, 7, "n150");

	ttm_chips_tick(&chips, 1);
	TEST_ASSERT_EQUAL_UINT64(0, ttm_image_len(image, TTM_TABLE_HISTORY_1S));
	get(1, NOTHING, 0);
	ttm_chips_tick(&chips, 2);
	TEST_ASSERT_NOT_EQUAL(0, chip->history_rows[0]);
}

struct teller {
	uint64_t chip_id;
	uint64_t pci_address;
	uint32_t logical;
	enum ttm_identity identity; /* what it comes to in the end ... */
	uint64_t key;
};

static const struct teller tellers[] = {
	{ 1, 7, 0, TTM_IDENTITY_CHIP, 1 },
	{ 1, NOTHING, 4, TTM_IDENTITY_CHIP, 1 },
	{ 2, 7, 1, TTM_IDENTITY_CHIP, 2 },
	{ NOTHING, 7, 0, TTM_IDENTITY_PCI, 7 },
	{ NOTHING, 7, 1, TTM_IDENTITY_PCI, 7 },
	{ 3, 8, 2, TTM_IDENTITY_CHIP, 3 },
	{ NOTHING, 8, 2, TTM_IDENTITY_CHIP, 3 },
	{ NOTHING, 9, 3, TTM_IDENTITY_PCI, 9 },
	{ NOTHING, NOTHING, 0, TTM_IDENTITY_LOGICAL, 0 },
	{ NOTHING, NOTHING, 0, TTM_IDENTITY_LOGICAL, 0 },
	{ NOTHING, NOTHING, 1, TTM_IDENTITY_LOGICAL, 1 },
};

#define TELLERS (sizeof(tellers) / sizeof(tellers[0]))

/* As the engine does: until nothing moves, which must not take long. */
static void settle(
	const unsigned *order, unsigned len, struct ttm_chip **ret_chips)
{
	unsigned rounds, i;

	for (rounds = 0; rounds < 10; rounds++) {
		chips.identities_changed = false;
		for (i = 0; i < len; i++) {
			const struct teller *teller = &tellers[order[i]];

			ret_chips[order[i]] = get(teller->chip_id,
				teller->pci_address, teller->logical);
		}
		if (!chips.identities_changed)
			return;
	}
	TEST_FAIL_MESSAGE("identities do not settle");
}

static void teller_check(
	const struct teller *teller, const struct ttm_chip *chip)
{
	uint64_t key = chip->total.identity == TTM_IDENTITY_CHIP ?
		chip->total.facts.chip_id :
		chip->total.identity == TTM_IDENTITY_PCI ?
		chip->total.facts.pci_address :
		chip->total.logical;

	TEST_ASSERT_EQUAL_UINT64(teller->identity, chip->total.identity);
	TEST_ASSERT_EQUAL_UINT64(teller->key, key);
}

static void test_the_order_of_arrival_does_not_matter(void)
{
	unsigned order[TELLERS], run, i;
	struct ttm_chip *means[TELLERS];
	uint64_t random = 99;

	for (i = 0; i < TELLERS; i++)
		order[i] = i;
	for (run = 0; run < 300; run++) {
		for (i = TELLERS - 1; i; i--) {
			unsigned with = model_random(&random) % (i + 1);
			unsigned was = order[i];

			order[i] = order[with];
			order[with] = was;
		}
		for (i = 1; i <= TELLERS; i++)
			settle(order, i, means);
		for (i = 0; i < TELLERS; i++)
			teller_check(&tellers[i], means[i]);
		TEST_ASSERT_TRUE(chips_len() <= 7 + 1);
		tearDown();
		setUp();
	}
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_a_chip_is_known_by_its_id);
	RUN_TEST(test_an_address_alone_means_the_one_chip_there);
	RUN_TEST(test_an_address_of_two_chips_is_neither);
	RUN_TEST(test_a_logical_id_is_never_merged_with_a_chip_that_tells);
	RUN_TEST(test_an_address_that_moves_is_noticed);
	RUN_TEST(test_facts_add_up_and_the_latest_stands);
	RUN_TEST(test_beyond_a_limit_all_are_one);
	RUN_TEST(test_one_user_leaves_room_for_others);
	RUN_TEST(test_a_device_of_the_driver_goes_with_it);
	RUN_TEST(test_what_a_process_told_of_stays);
	RUN_TEST(test_the_driver_takes_nothing_back);
	RUN_TEST(test_capacities_of_boards);
	RUN_TEST(test_what_is_told_is_not_by_board);
	RUN_TEST(test_a_device_without_processes_has_no_history);
	RUN_TEST(test_the_order_of_arrival_does_not_matter);
	return UNITY_END();
}

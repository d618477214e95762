/* SPDX-License-Identifier: Apache-2.0 */
/* How far lanes of those were read who are not attached: kept, given back, bounded. */
#include <stdlib.h>
#include <string.h>

#include <unity.h>

#include "daemon/dead/let_go.h"

static struct ttm_let_go let_go;
static struct ttm_image *image;

void setUp(void)
{
	memset(&let_go, 0, sizeof(let_go));
	TEST_ASSERT_EQUAL_INT(0, ttm_image_new(&image));
}

void tearDown(void)
{
	ttm_let_go_free(&let_go);
	ttm_image_free(&image);
}

static size_t rows_shown(void)
{
	size_t shown = 0, i;

	for (i = 0; i < ttm_image_len(image, TTM_TABLE_POSITIONS); i++)
		shown += *(const uint64_t *)ttm_image_at(
				 image, TTM_TABLE_POSITIONS, i) != 0;
	return shown;
}

static void uuid_set(uint8_t uuid[16], uint32_t number)
{
	memset(uuid, 0, 16);
	memcpy(uuid, &number, sizeof(number));
}

static void resume(uint32_t number, uint32_t lane, uint64_t position)
{
	struct ttm_position_row row = {
		.lane = lane, .position = position, .missed = 1
	};

	uuid_set(row.uuid, number);
	TEST_ASSERT_EQUAL_INT(0, ttm_let_go_resume(&let_go, image, &row));
}

/* A process that nobody has drained yet. */
struct comer {
	struct ttm_directory directory;
	struct ttm_attached attached;
	struct ttm_process process;
};

static struct comer *comes_to(uint32_t uid, uint32_t number)
{
	struct comer *comer = calloc(1, sizeof(*comer));

	TEST_ASSERT_NOT_NULL(comer);
	comer->directory.uid = uid;
	uuid_set(comer->attached.header.uuid, number);
	comer->attached.directory = &comer->directory;
	comer->process.attached = &comer->attached;
	ttm_let_go_take(&let_go, &comer->process);
	return comer;
}

static struct comer *comes(uint32_t number)
{
	return comes_to(0, number);
}

static void goes(struct comer *comer)
{
	free(comer->process.positions);
	free(comer);
}

static void test_lanes_come_back_to_their_process(void)
{
	struct comer *comer;

	resume(1, 0, 10);
	resume(2, 0, 100);
	resume(1, 2, 30);
	comer = comes(1);
	TEST_ASSERT_EQUAL_UINT64(3, comer->process.positions_len);
	TEST_ASSERT_EQUAL_UINT64(10, comer->process.positions[0].next);
	TEST_ASSERT_EQUAL_UINT64(0, comer->process.positions[1].next);
	TEST_ASSERT_EQUAL_UINT64(30, comer->process.positions[2].next);
	TEST_ASSERT_EQUAL_UINT64(40, comer->process.events);
	TEST_ASSERT_EQUAL_UINT64(2, comer->process.missed);
	TEST_ASSERT_TRUE(comer->process.resumed);
	/* Its rows are its own, and go on being shown. */
	TEST_ASSERT_EQUAL_UINT64(3, rows_shown());
	goes(comer);
	comer = comes(1);
	TEST_ASSERT_EQUAL_UINT64(0, comer->process.positions_len);
	TEST_ASSERT_FALSE(comer->process.resumed);
	goes(comer);
}

static void test_it_is_kept_and_comes_back_as_it_was(void)
{
	struct comer *comer;

	resume(1, 0, 10);
	resume(2, 0, 20);
	comer = comes(2);
	comer->process.positions[0].next = 25;
	TEST_ASSERT_EQUAL_INT(0, ttm_let_go_keep(&let_go, &comer->process));
	TEST_ASSERT_NULL(comer->process.positions);
	goes(comer);
	comer = comes(2);
	TEST_ASSERT_EQUAL_UINT64(25, comer->process.positions[0].next);
	TEST_ASSERT_EQUAL_UINT64(25, comer->process.events);
	goes(comer);
}

/* Uuids are shown to all, and anybody may write one into a segment of his own. */
static void test_another_ones_process_of_that_uuid_has_none_of_it(void)
{
	struct comer *comer;

	resume(1, 0, 10);
	comer = comes_to(1000, 1);
	TEST_ASSERT_EQUAL_UINT64(0, comer->process.positions_len);
	comer->process.positions = calloc(1, sizeof(struct ttm_position));
	comer->process.positions_len = 1;
	comer->process.positions[0].next = 1ull << 55;
	TEST_ASSERT_EQUAL_INT(0, ttm_let_go_keep(&let_go, &comer->process));
	goes(comer);
	comer = comes(1);
	TEST_ASSERT_EQUAL_UINT64(10, comer->process.positions[0].next);
	goes(comer);
	comer = comes_to(1000, 1);
	TEST_ASSERT_EQUAL_UINT64(1ull << 55, comer->process.positions[0].next);
	goes(comer);
}

/* Whose a predecessor's were is not known: they stay until all are back. */
static void test_chips_of_a_predecessor_stay_for_the_last_one(void)
{
	struct ttm_chip known = { .total.identity = TTM_IDENTITY_CHIP };
	struct ttm_chip logical = { .total.identity = TTM_IDENTITY_LOGICAL,
		.next = &known };
	struct ttm_chips chips = { .first = &logical };

	resume(1, 0, 10);
	resume(2, 0, 20);
	TEST_ASSERT_EQUAL_INT(0, ttm_let_go_resume_chips(&let_go, &chips));
	TEST_ASSERT_EQUAL_UINT64(1, logical.users);
	TEST_ASSERT_EQUAL_UINT64(0, known.users);
	goes(comes(2));
	TEST_ASSERT_EQUAL_UINT64(1, logical.users);
	goes(comes(1));
	TEST_ASSERT_EQUAL_UINT64(0, logical.users);
	TEST_ASSERT_FALSE(logical.heirless);
}

/* One without an identity goes with its last share, and its past with it. */
static void test_a_chip_that_nobody_else_has_stays(void)
{
	struct ttm_chip chip = { .total.identity = TTM_IDENTITY_LOGICAL };
	struct ttm_part part = { .chip = NULL };
	struct comer *comer;

	resume(1, 0, 10);
	comer = comes(1);
	ttm_chip_point(&part.chip, &chip);
	comer->process.parts[comer->process.parts_len++] = &part;
	TEST_ASSERT_EQUAL_INT(0, ttm_let_go_keep(&let_go, &comer->process));
	ttm_chip_point(&part.chip, NULL);
	TEST_ASSERT_EQUAL_UINT64(1, chip.users);
	goes(comer);
	goes(comes(1));
	TEST_ASSERT_EQUAL_UINT64(0, chip.users);
}

static void test_the_oldest_are_forgotten(void)
{
	struct comer *comer;
	uint32_t i;

	for (i = 0; i < 5000; i++)
		resume(i, 0, i + 1);
	TEST_ASSERT_EQUAL_UINT64(5000, rows_shown());
	ttm_let_go_trim(&let_go, image, TTM_LET_GO_MOST);
	TEST_ASSERT_EQUAL_UINT64(4096, rows_shown());
	comer = comes(5000 - 4096 - 1);
	TEST_ASSERT_FALSE(comer->process.resumed);
	goes(comer);
	comer = comes(5000 - 4096);
	TEST_ASSERT_TRUE(comer->process.resumed);
	goes(comer);
	/* And one that has too many alone. */
	for (i = 0; i < 5; i++)
		resume(6000 + i, 1023, 1);
	ttm_let_go_trim(&let_go, image, TTM_LET_GO_MOST);
	TEST_ASSERT_TRUE(let_go.len <= 4096);
	comer = comes(6004);
	TEST_ASSERT_EQUAL_UINT64(1024, comer->process.positions_len);
	goes(comer);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_lanes_come_back_to_their_process);
	RUN_TEST(test_it_is_kept_and_comes_back_as_it_was);
	RUN_TEST(test_another_ones_process_of_that_uuid_has_none_of_it);
	RUN_TEST(test_chips_of_a_predecessor_stay_for_the_last_one);
	RUN_TEST(test_a_chip_that_nobody_else_has_stays);
	RUN_TEST(test_the_oldest_are_forgotten);
	return UNITY_END();
}

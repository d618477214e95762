/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ttmem_config.max_bytes: the file stays below it, whatever does not fit is
 * counted, and the program does not notice.
 */
#include "faults/host.h"

enum {
	HEADER = 0x50000,
	EXTENT = 0x20000,
	SLOTS = 2048,
};

static const char *dir;

void setUp(void)
{
	dir = test_dir_make();
	host_set_up();
}

void tearDown(void)
{
	host_tear_down();
	test_dir_remove();
}

static void many(void)
{
	uint64_t i;

	for (i = 0; i < 3 * SLOTS; i++)
		host_alloc(100 + i, 10 + i % 7);
}

static uint64_t file_size(const char *path)
{
	struct stat st;

	TEST_ASSERT_EQUAL_INT(0, stat(path, &st));
	return (uint64_t)st.st_size;
}

/* Lane, blocks, names, then slots: each is an extent. */
static void test_every_cap_is_kept_and_every_loss_counted(void)
{
	struct ttmem_config config = { sizeof(config), NULL, 0 };
	const struct host capped = { NULL, many, &config, 0 };
	const uint64_t *lost = host_report->status.lost_events;
	uint64_t extents, live;
	struct segment *segment;

	for (extents = 0; extents < 9; extents++) {
		config.max_bytes = HEADER + extents * EXTENT + EXTENT / 2;
		host_run(&capped);
		TEST_ASSERT_EQUAL_UINT32(
			TTMEM_STATE_ON, host_report->status.state);
		host_nothing_is_missing();
		live = host_report->usage.figures[0].live_objects;
		if (extents < 7)
			TEST_ASSERT_EQUAL_UINT64(
				extents < 4 ? 0 : (extents - 3) * SLOTS, live);
		else
			TEST_ASSERT_EQUAL_UINT64(host_report->called, live);
		TEST_ASSERT_EQUAL_UINT64(extents < 2 ? host_report->called : 0,
			lost[TTMEM_LOSS_NO_LANE] > host_report->called ?
				host_report->called :
				lost[TTMEM_LOSS_NO_LANE]);
		if (!live)
			continue;
		segment = host_segment(dir);
		TEST_ASSERT_EQUAL_UINT64(extents, segment->extents_max);
		TEST_ASSERT_TRUE(file_size(host_report->status.segment) <=
			config.max_bytes);
		segment_unref(&segment);
	}
}

static void test_losses_are_in_the_segment_too(void)
{
	struct ttmem_config config = { sizeof(config), NULL, 0 };
	const struct host capped = { NULL, many, &config, 0 };
	struct segment *segment;
	unsigned i;

	config.max_bytes = HEADER + 4 * EXTENT;
	host_run(&capped);
	segment = host_segment(dir);
	for (i = 0; i < TTMEM_LOSSES; i++) {
		TEST_ASSERT_EQUAL_UINT64(host_report->status.lost_events[i],
			segment->lost_events[i]);
		TEST_ASSERT_EQUAL_UINT64(host_report->status.lost_bytes[i],
			segment->lost_bytes[i]);
	}
	TEST_ASSERT_EQUAL_UINT64(SLOTS, segment->objects_len);
	segment_unref(&segment);
}

static void many_and_all_freed(void)
{
	uint64_t i;

	many();
	for (i = 0; i < 3 * SLOTS + 100; i++)
		ttmem_free(0, TTMEM_DRAM, i);
}

/* Nobody looked while it ran: who comes later must not hear that all is well. */
static void test_losses_are_left_without_an_object(void)
{
	struct ttmem_config config = { sizeof(config), NULL, 0 };
	const struct host capped = { NULL, many_and_all_freed, &config, 0 };
	struct segment *segment;

	config.max_bytes = HEADER + 4 * EXTENT;
	host_run(&capped);
	segment = host_segment(dir);
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(host_report->called - SLOTS,
		segment->lost_events[TTMEM_LOSS_NO_SLOT]);
	segment_unref(&segment);
}

/* What is freed makes room. */
static void full_and_freed(void)
{
	uint64_t i;

	many();
	for (i = 0; i < SLOTS; i++)
		ttmem_free(0, TTMEM_DRAM, i < HOST_EVENTS ? i : 80 + i);
	for (i = 0; i < SLOTS; i++)
		ttmem_alloc(0, TTMEM_L1, i, 0, 10);
}

static void test_a_full_segment_takes_what_is_freed(void)
{
	struct ttmem_config config = { sizeof(config), NULL, 0 };
	const struct host capped = { NULL, full_and_freed, &config, 0 };

	config.max_bytes = HEADER + 4 * EXTENT;
	host_run(&capped);
	TEST_ASSERT_EQUAL_UINT64(
		0, host_report->usage.figures[TTMEM_DRAM].live_objects);
	TEST_ASSERT_EQUAL_UINT64(
		SLOTS, host_report->usage.figures[TTMEM_L1].live_objects);
	TEST_ASSERT_EQUAL_UINT64(host_report->called - SLOTS,
		host_report->status.lost_events[TTMEM_LOSS_NO_SLOT]);
}

/* An object takes one slot, on eight devices or on one. */
static void meshes_then_singles(void)
{
	const uint32_t devices[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	uint32_t mesh = ttmem_mesh_open(devices, 8);
	uint64_t i;

	for (i = 0; i < SLOTS; i++)
		ttmem_alloc(mesh, TTMEM_L1, i, 0, 10);
	for (i = 0; i < SLOTS; i++)
		ttmem_free(mesh, TTMEM_L1, i);
	for (i = 0; i < 3 * SLOTS; i++)
		ttmem_alloc(0, TTMEM_TRACE, i, 0, 10);
}

static void test_a_full_segment_takes_single_objects_for_meshes(void)
{
	struct ttmem_config config = { sizeof(config), NULL, 0 };
	const struct host capped = { NULL, meshes_then_singles, &config, 0 };
	const struct ttmem_usage_figure *figures = host_report->usage.figures;

	config.max_bytes = HEADER + 4 * EXTENT;
	host_run(&capped);
	TEST_ASSERT_EQUAL_UINT64(0, figures[TTMEM_L1].live_objects);
	TEST_ASSERT_EQUAL_UINT64(SLOTS,
		figures[TTMEM_DRAM].live_objects +
			figures[TTMEM_TRACE].live_objects);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_every_cap_is_kept_and_every_loss_counted);
	RUN_TEST(test_losses_are_in_the_segment_too);
	RUN_TEST(test_losses_are_left_without_an_object);
	RUN_TEST(test_a_full_segment_takes_what_is_freed);
	RUN_TEST(test_a_full_segment_takes_single_objects_for_meshes);
	return UNITY_END();
}

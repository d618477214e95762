/* SPDX-License-Identifier: Apache-2.0 */
/* What device entries say about the chips behind logical ids. */
#include <string.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_segment.h"

#define NONE ((uint64_t[TTMEM_ANOMALIES]){ 0 })

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

static void open_chip(uint32_t device, uint64_t chip_id)
{
	struct ttmem_device_info info;

	ttmem_device_info_init(&info, device);
	info.chip_id = chip_id;
	ttmem_device_open(&info);
}

static void open_full(uint32_t device)
{
	struct ttmem_device_info info;

	ttmem_device_info_init(&info, device);
	info.chip_id = 0x1122334455667788u;
	info.pci_address = TTMEM_PCI_ADDRESS(1, 0xaf, 0x1f, 7);
	memcpy(info.arch, "wormhole_b0", 11);
	memcpy(info.board, "0123456789abcdef", 16);
	info.dram_bytes = 12ull << 30;
	info.l1_bytes_per_core = 1499136;
	info.cores = 64;
	info.l1_small_bytes = 0;
	info.trace_bytes = 5;
	info.l1_base = 6;
	info.l1_top = 7;
	ttmem_device_open(&info);
}

static void test_open_writes_every_fact(void)
{
	struct segment *segment;
	const struct segment_device *d;

	open_full(4);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_INT(0, segment_entry(segment, 4));
	d = &segment->devices[0];
	TEST_ASSERT_TRUE(d->ready && d->current && d->open);
	TEST_ASSERT_EQUAL_HEX64(0x7ff, d->known);
	TEST_ASSERT_EQUAL_HEX64(0x1122334455667788u, d->chip_id);
	TEST_ASSERT_EQUAL_HEX64(
		1 << 16 | 0xaf << 8 | 0x1f << 3 | 7, d->pci_address);
	TEST_ASSERT_EQUAL_STRING("wormhole_b0", d->arch);
	TEST_ASSERT_EQUAL_STRING("0123456789abcdef", d->board);
	TEST_ASSERT_EQUAL_UINT64(12ull << 30, d->dram_bytes);
	TEST_ASSERT_EQUAL_UINT64(1499136, d->l1_bytes_per_core);
	TEST_ASSERT_EQUAL_UINT64(64, d->cores);
	TEST_ASSERT_EQUAL_UINT64(0, d->l1_small_bytes);
	TEST_ASSERT_EQUAL_UINT64(5, d->trace_bytes);
	TEST_ASSERT_EQUAL_UINT64(6, d->l1_base);
	TEST_ASSERT_EQUAL_UINT64(7, d->l1_top);
	TEST_ASSERT_TRUE(d->opened != 0);
	TEST_ASSERT_EQUAL_UINT64(0, d->closed);
	TEST_ASSERT_EQUAL_UINT(
		SEGMENT_DEVICE_OPEN, test_segment_last(segment, 0)->type);
	segment_unref(&segment);
	test_anomalies_are(NONE);
}

static void test_unknown_is_not_zero(void)
{
	struct ttmem_device_info info;
	struct segment *segment;

	ttmem_device_info_init(&info, 0);
	info.cores = 0;
	info.dram_bytes = 0;
	ttmem_device_open(&info);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_HEX64(16 | 64, segment->devices[0].known);
	TEST_ASSERT_EQUAL_UINT64(0, segment->devices[0].cores);
	TEST_ASSERT_EQUAL_UINT64(0, segment->devices[0].dram_bytes);
	segment_unref(&segment);
}

static void test_event_on_an_unopened_id_makes_an_entry(void)
{
	struct segment *segment;
	const struct segment_device *d;

	ttmem_alloc(6, TTMEM_DRAM, 1, 0, 10);
	segment = test_segment_at_rest();
	d = &segment->devices[segment_entry(segment, 6)];
	TEST_ASSERT_TRUE(d->current && !d->open);
	TEST_ASSERT_EQUAL_HEX64(0, d->known);
	TEST_ASSERT_EQUAL_UINT64(0, d->opened);
	segment_unref(&segment);
}

static void test_later_open_fills_the_entry_in(void)
{
	struct segment *segment;
	const struct segment_device *d;

	ttmem_alloc(6, TTMEM_DRAM, 1, 0, 10);
	open_full(6);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->devices_count);
	d = &segment->devices[segment_entry(segment, 6)];
	TEST_ASSERT_TRUE(d->open);
	TEST_ASSERT_EQUAL_HEX64(0x7ff, d->known);
	TEST_ASSERT_FALSE(segment->objects[0].orphan);
	segment_unref(&segment);
	test_usage_is(6, TTMEM_FIGURE_DRAM, 1, 10, 10);
	test_anomalies_are(NONE);
}

static void test_opening_again_updates_its_sizes(void)
{
	struct ttmem_device_info info;
	struct segment *segment;
	const struct segment_device *d;

	open_full(0);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	ttmem_device_info_init(&info, 0);
	info.chip_id = 0x1122334455667788u;
	info.l1_small_bytes = 32768;
	ttmem_device_open(&info);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->devices_count);
	d = &segment->devices[0];
	TEST_ASSERT_EQUAL_UINT64(32768, d->l1_small_bytes);
	TEST_ASSERT_FALSE(segment->objects[0].orphan);
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 10, 10);
	test_anomalies_are(NONE);
}

/* Zero is a size like any other: only what is unknown leaves the old one. */
static void test_opening_again_can_set_a_size_to_zero(void)
{
	struct ttmem_device_info info;
	struct segment *segment;
	const struct segment_device *d;

	ttmem_device_info_init(&info, 0);
	info.l1_small_bytes = 32768;
	info.trace_bytes = 4096;
	ttmem_device_open(&info);
	info.l1_small_bytes = 0;
	info.trace_bytes = TTMEM_UNKNOWN;
	ttmem_device_open(&info);
	segment = test_segment_at_rest();
	d = &segment->devices[0];
	TEST_ASSERT_EQUAL_HEX64(128 | 256, d->known);
	TEST_ASSERT_EQUAL_UINT64(0, d->l1_small_bytes);
	TEST_ASSERT_EQUAL_UINT64(4096, d->trace_bytes);
	segment_unref(&segment);
}

static void test_open_id_that_becomes_another_chip_is_counted(void)
{
	struct segment *segment;

	open_chip(0, 100);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	open_chip(0, 200);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 30);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(2, segment->devices_count);
	TEST_ASSERT_EQUAL_UINT64(2, segment->objects_len);
	TEST_ASSERT_EQUAL_INT(1, segment_entry(segment, 0));
	TEST_ASSERT_EQUAL_UINT64(100, segment->devices[0].chip_id);
	TEST_ASSERT_EQUAL_UINT64(200, segment->devices[1].chip_id);
	TEST_ASSERT_TRUE(
		segment_object(segment, 0, TTMEM_FIGURE_DRAM, 1, 0)->orphan);
	TEST_ASSERT_FALSE(
		segment_object(segment, 1, TTMEM_FIGURE_DRAM, 1, 0)->orphan);
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 30, 30);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){
		[TTMEM_ANOMALY_DEVICE_CHANGED] = 1 });
}

static void test_other_pci_address_is_another_chip(void)
{
	struct ttmem_device_info info;
	struct segment *segment;

	ttmem_device_info_init(&info, 0);
	info.pci_address = TTMEM_PCI_ADDRESS(0, 1, 0, 0);
	ttmem_device_open(&info);
	ttmem_device_close(0);
	info.pci_address = TTMEM_PCI_ADDRESS(0, 2, 0, 0);
	ttmem_device_open(&info);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(2, segment->devices_count);
	segment_unref(&segment);
	test_anomalies_are(NONE);
}

static void test_wrong_info_is_counted_and_makes_no_entry(void)
{
	struct ttmem_device_info info;
	struct segment *segment;

	ttmem_device_info_init(&info, 0);
	info.size = 8;
	ttmem_device_open(&info);
	info.size = sizeof(info) + 8;
	ttmem_device_open(&info);
	ttmem_device_info_init(&info, 0x80000001u);
	ttmem_device_open(&info);
	ttmem_device_open(NULL);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->devices_count);
	segment_unref(&segment);
	test_anomalies_are(
		(uint64_t[TTMEM_ANOMALIES]){ [TTMEM_ANOMALY_BAD_DEVICE] = 4 });
}

static void test_highest_logical_id_is_a_device(void)
{
	open_full(0x7fffffff);
	ttmem_alloc(0x7fffffff, TTMEM_DRAM, 1, 0, 10);
	test_usage_is(0x7fffffff, TTMEM_FIGURE_DRAM, 1, 10, 10);
	test_anomalies_are(NONE);
}

static void test_open_of_many_chips_on_one_id_ends_in_an_anomaly(void)
{
	struct segment *segment;
	uint64_t chip;

	for (chip = 0; chip < 70; chip++) {
		open_chip(0, chip);
		ttmem_device_close(0);
	}
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(64, segment->devices_count);
	segment_unref(&segment);
	TEST_ASSERT_TRUE(test_anomalies(TTMEM_ANOMALY_TOO_MANY_DEVICES) >= 6);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_open_writes_every_fact);
	RUN_TEST(test_unknown_is_not_zero);
	RUN_TEST(test_event_on_an_unopened_id_makes_an_entry);
	RUN_TEST(test_later_open_fills_the_entry_in);
	RUN_TEST(test_opening_again_updates_its_sizes);
	RUN_TEST(test_opening_again_can_set_a_size_to_zero);
	RUN_TEST(test_open_id_that_becomes_another_chip_is_counted);
	RUN_TEST(test_other_pci_address_is_another_chip);
	RUN_TEST(test_wrong_info_is_counted_and_makes_no_entry);
	RUN_TEST(test_highest_logical_id_is_a_device);
	RUN_TEST(test_open_of_many_chips_on_one_id_ends_in_an_anomaly);
	return UNITY_END();
}

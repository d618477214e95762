/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The independent reader notices what is wrong: one thing at a time is broken in
 * a copy of a good segment. A reader that accepts everything proves nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_dir.h"
#include "support/test_segment.h"

static struct segment *good;
static int copy_fd;
static char why[512];

static void copy_reset(void)
{
	TEST_ASSERT_EQUAL_INT64((int64_t)good->size,
		(int64_t)pwrite(copy_fd, good->bytes, good->size, 0));
	TEST_ASSERT_EQUAL_INT(0, ftruncate(copy_fd, (off_t)good->size));
}

void setUp(void)
{
	test_tracking_start();
	ttmem_scope_push("scope", 0);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0x100, 1000);
	ttmem_alloc(0, TTMEM_L1, 2, 0x200, 2000);
	ttmem_cb_alloc(0, 3, 4, 0x300, 100, 8, 0);
	ttmem_kernel_load(1, 5, TTMEM_KERNEL_FABRIC, 100, 8, 0);
	ttmem_alloc(1, TTMEM_L1, 6, 0, 70000);
	ttmem_free(1, TTMEM_L1, 6);
	ttmem_free(1, TTMEM_L1, 6);
	ttmem_alloc_failed(0, TTMEM_L1, 10, 5);
	ttmem_mark("mark");
	ttmem_scope_pop();
	good = test_segment_at_rest();
	copy_fd = memfd_create("copy", MFD_CLOEXEC);
	TEST_ASSERT_TRUE(copy_fd >= 0);
	copy_reset();
}

void tearDown(void)
{
	close(copy_fd);
	segment_unref(&good);
	test_tracking_stop();
}

static uint64_t get64(uint64_t off)
{
	uint64_t value;

	memcpy(&value, good->bytes + off, 8);
	return value;
}

static void put64(uint64_t off, uint64_t value)
{
	TEST_ASSERT_EQUAL_INT64(
		8, (int64_t)pwrite(copy_fd, &value, 8, (off_t)off));
}

/* 0, -EPROTO from the reader or -EBADMSG from the check. */
static int copy_judge(void)
{
	struct segment *segment = NULL;
	int err;

	why[0] = '\0';
	err = segment_read_fd(copy_fd, &segment, why, sizeof(why));
	if (!err)
		err = segment_check_at_rest(segment, why, sizeof(why));
	segment_unref(&segment);
	return err;
}

static void expect_noticed(int error, const char *text)
{
	TEST_ASSERT_EQUAL_INT_MESSAGE(error, copy_judge(), text);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(why, text), why);
	copy_reset();
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, copy_judge(), why);
}

static void word_broken(
	uint64_t off, uint64_t value, int error, const char *text)
{
	put64(off, value);
	expect_noticed(error, text);
}

/* Where a live object's slot is in the file. */
static uint64_t slot_at(const struct segment_words *slot)
{
	return good->slots_off[slot->slot / 2048] + 64 * (slot->slot % 2048);
}

static void test_every_byte_of_the_sealed_header_matters(void)
{
	uint64_t off;

	for (off = 0; off < 0x800; off++) {
		uint8_t byte = good->bytes[off] ^ 0x10;

		TEST_ASSERT_EQUAL_INT64(
			1, (int64_t)pwrite(copy_fd, &byte, 1, (off_t)off));
		TEST_ASSERT_EQUAL_INT(-EPROTO, copy_judge());
		byte ^= 0x10;
		TEST_ASSERT_EQUAL_INT64(
			1, (int64_t)pwrite(copy_fd, &byte, 1, (off_t)off));
	}
	TEST_ASSERT_EQUAL_INT(0, copy_judge());
}

static void test_truncated_files_are_noticed(void)
{
	static const off_t sizes[] = { 0, 1, 0x7ff, 0x1000, 0x2ffff, 0x30000,
		0x4ffff };
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		TEST_ASSERT_EQUAL_INT(0, ftruncate(copy_fd, sizes[i]));
		TEST_ASSERT_EQUAL_INT(-EPROTO, copy_judge());
		copy_reset();
	}
}

static void test_live_header_is_checked(void)
{
	word_broken(0x800, 0, -EPROTO, "state");
	word_broken(0x800, 3, -EPROTO, "state");
	word_broken(0x808, 0, -EPROTO, "extents high");
	word_broken(0x808, 9000, -EPROTO, "extents high");
	word_broken(0x810, 0, -EPROTO, "lane");
	word_broken(0x818, 65, -EPROTO, "devices");
	word_broken(0x818, 0, -EPROTO, "device");
	word_broken(0x820, 0, -EPROTO, "scope");
	word_broken(0x828, 0, -EPROTO, "block not handed out");
	word_broken(0x838, 0, -EPROTO, "mark");
	word_broken(0xff8, 1, -EPROTO, "reserved");
}

static void test_directory_is_checked(void)
{
	uint64_t first = get64(0x1000);

	word_broken(0x1000, first | 0x0a000000, -EPROTO, "type");
	word_broken(0x1000, (first & 0xffffffff) << 32 | (uint32_t)first,
		-EPROTO, "two extents");
	word_broken(0x1000 + 4 * 8190, 0x02000001, -EPROTO, "extents high");
}

static void test_lane_control_is_checked(void)
{
	uint64_t tail = get64(0x9008);

	word_broken(0x9000, tail + 9, -EPROTO, "intent");
	word_broken(0x9000, tail - 1, -EPROTO, "intent");
	word_broken(0x9000, tail + 1, -EBADMSG, "intent");
	word_broken(0x9018, 1, -EPROTO, "reserved");
	word_broken(0x9000 + 64 * 1000, 1, -EPROTO, "unused lane");
}

static void test_slots_are_checked(void)
{
	uint64_t at = slot_at(&good->objects[0]);
	uint64_t w0 = get64(at);
	uint64_t w1 = get64(at + 8);

	word_broken(at, w0 | 3, -EPROTO, "state 3");
	word_broken(at, (w0 & ~3ull) | 1, -EBADMSG, "writing");
	word_broken(at, 0, -EPROTO, "no generation");
	word_broken(at, w0 & ~3ull, -EBADMSG, "allocated - freed");
	word_broken(at, w0 + 4, -EBADMSG, "last record");
	word_broken(at + 8, w1 + 1, -EPROTO, "says it is");
	word_broken(at + 8, w1 | 15ull << 46, -EPROTO, "figure");
	word_broken(at + 8, w1 | 63ull << 40, -EPROTO, "unused");
	word_broken(at + 8, w1 ^ 1ull << 24, -EBADMSG, "epoch");
	word_broken(at + 8, w1 | 16ull << 50, -EPROTO, "flags of a record");
	word_broken(at + 16, get64(at + 16) + 1, -EBADMSG, "last record");
	word_broken(at + 24, get64(at + 24) + 1, -EBADMSG, "last record");
	word_broken(at + 32, get64(at + 32) + 1, -EBADMSG, "allocated - freed");
	word_broken(at + 40, get64(at + 40) + 1, -EBADMSG, "last record");
	word_broken(at + 48, get64(at + 48) + 1, -EBADMSG, "last record");
	word_broken(at + 56, get64(at + 56) + 9, -EPROTO, "scope");
	word_broken(good->slots_off[0] + 64 * 2047 + 8, 1, -EPROTO,
		"no generation");
}

static void test_two_slots_of_one_key_are_noticed(void)
{
	const struct segment_words *from = segment_object(
		good, 0, TTMEM_FIGURE_DRAM, 1, 0);
	uint64_t at = good->slots_off[0] + 64 * 2000;
	unsigned i;

	for (i = 0; i < 8; i++)
		put64(at + 8 * i, from->w[i]);
	put64(at + 8, (from->w[1] & ~0xffffffull) | 2000);
	expect_noticed(-EBADMSG, "one key");
}

static void test_records_are_checked(void)
{
	uint64_t ring = good->rings_off[0];
	uint64_t w1 = get64(ring + 8);

	word_broken(ring + 8, w1 | 200ull << 56, -EPROTO, "record type");
	word_broken(ring, get64(ring) ^ 2, -EPROTO, "state");
	word_broken(ring, get64(ring) + 4, -EBADMSG, "last record");
	word_broken(ring + 8, w1 | 0xffff00, -EPROTO, "no slot");
	word_broken(ring + 32, get64(ring + 32) + 1, -EBADMSG, "last record");
	word_broken(ring + 64 * 2000, 1, -EPROTO, "not written yet");
}

static void test_counters_are_checked(void)
{
	uint64_t block;
	uint64_t at = 0;
	unsigned figure;

	for (block = 0; block < good->blocks_count; block++) {
		at = good->blocks_off[0] + 1024 * block;
		if ((get64(at) >> 32 & 0xff) == 0)
			break;
	}
	TEST_ASSERT_TRUE(block < good->blocks_count);
	for (figure = 0; figure < SEGMENT_FIGURES; figure++) {
		uint64_t f = at + 0x80 + 64 * figure;

		word_broken(f, get64(f) + 1, -EBADMSG, "allocated - freed");
		word_broken(
			f + 8, get64(f + 8) + 1, -EBADMSG, "allocated - freed");
		word_broken(f + 16, get64(f + 16) + 1, -EBADMSG, "allocated");
		word_broken(f + 24, get64(f + 24) + 1, -EBADMSG, "allocated");
		word_broken(f + 32, get64(f + 32) + 1, -EBADMSG, "epoch");
		word_broken(f + 40, get64(f + 40) + 1, -EBADMSG, "epoch");
		word_broken(f + 48, get64(f + 48) + 1, -EBADMSG, "folded");
	}
	word_broken(at, get64(at) | 77, -EPROTO, "owner");
	word_broken(at, get64(at) | 1ull << 32, -EPROTO, "second block");
	word_broken(at + 8, 1ull << 40, -EPROTO, "future");
	word_broken(at + 0x3f8, 1, -EPROTO, "reserved");
}

static void test_device_entries_are_checked(void)
{
	uint64_t at = 0x19000;

	word_broken(at, get64(at) | 8, -EPROTO, "head");
	word_broken(at, get64(at) | 1ull << 63, -EPROTO, "device");
	word_broken(at, get64(at) | 1ull << 32, -EBADMSG, "means entries");
	word_broken(at + 8, 1ull << 48, -EBADMSG, "epoch");
	word_broken(at + 0x10, get64(at + 0x10) | 1, -EBADMSG, "facts");
	word_broken(at + 0x28, 1 << 11, -EPROTO, "known");
	word_broken(at + 0x3f8, 1, -EPROTO, "reserved");
	word_broken(at + 63 * 1024, 3, -EPROTO, "unused device entry");
}

static void test_names_failures_and_marks_are_checked(void)
{
	word_broken(good->names_off[0], 113, -EPROTO, "length of name");
	word_broken(good->names_off[0] + 120, 1, -EPROTO, "rest of a name");
	word_broken(0x29008, get64(0x29008) | 15ull << 46, -EPROTO, "failure");
	word_broken(0x29418, 97, -EPROTO, "length of mark");
}

/* Whatever the bytes, it ends, and says 0 or no: for the sanitizers. */
static void test_random_damage_is_survived(void)
{
	uint64_t random = 88172645463325252u;
	uint64_t round;
	int i;

	for (round = 0; round < test_scale(300); round++) {
		for (i = 0; i < 8; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			put64(0x800 + random % (good->size - 0x810) / 8 * 8,
				random);
		}
		i = copy_judge();
		TEST_ASSERT_TRUE(i == 0 || i == -EPROTO || i == -EBADMSG);
		copy_reset();
	}
}

static void test_half_done_operation_passes_for_a_killed_process_only(void)
{
	const struct segment_words *o = &good->objects[0];
	struct segment *segment = NULL;

	put64(0x9000, get64(0x9008) + 1);
	put64(slot_at(o), (o->w[0] & ~3ull) + 4);
	TEST_ASSERT_EQUAL_INT(-EBADMSG, copy_judge());
	TEST_ASSERT_EQUAL_INT(
		0, segment_read_fd(copy_fd, &segment, why, sizeof(why)));
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_check_killed(segment, why, sizeof(why)), why);
	segment_unref(&segment);
	/* A replacement changes two slots, and nothing changes three. */
	o = &good->objects[1];
	put64(slot_at(o), (o->w[0] & ~3ull) + 4);
	o = &good->objects[2];
	put64(slot_at(o), (o->w[0] & ~3ull) + 4);
	TEST_ASSERT_EQUAL_INT(
		0, segment_read_fd(copy_fd, &segment, why, sizeof(why)));
	TEST_ASSERT_EQUAL_INT(
		-EBADMSG, segment_check_killed(segment, why, sizeof(why)));
	segment_unref(&segment);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_every_byte_of_the_sealed_header_matters);
	RUN_TEST(test_truncated_files_are_noticed);
	RUN_TEST(test_live_header_is_checked);
	RUN_TEST(test_directory_is_checked);
	RUN_TEST(test_lane_control_is_checked);
	RUN_TEST(test_slots_are_checked);
	RUN_TEST(test_two_slots_of_one_key_are_noticed);
	RUN_TEST(test_records_are_checked);
	RUN_TEST(test_counters_are_checked);
	RUN_TEST(test_device_entries_are_checked);
	RUN_TEST(test_names_failures_and_marks_are_checked);
	RUN_TEST(test_random_damage_is_survived);
	RUN_TEST(test_half_done_operation_passes_for_a_killed_process_only);
	return UNITY_END();
}

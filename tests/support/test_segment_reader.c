/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The independent reader says what is in a segment, and notices what is wrong: one
 * thing at a time is broken in a copy of a good segment, which is built by hand.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <unity.h>

#include "support/segment_build.h"
#include "support/segment_reader.h"
#include "support/test_dir.h"

enum {
	DRAM = 0,
	L1 = 1,
	CB = 5,
	FABRIC = 7,
	KIB = 1024,
};

/* Slots of the objects that setUp() makes. */
enum {
	SINGLE,
	SECOND,
	CIRCULAR,
	KERNEL,
	FREED,
	WHOLE,  /* on the mesh */
	SHRUNK, /* allocated on the mesh, freed on device 0 */
	OBJECTS
};

static struct built built;
static struct segment *good;
static unsigned device_0, device_1, mesh, rest;
static int copy_fd;
static char why[512];

static void copy_reset(void)
{
	TEST_ASSERT_EQUAL_INT64((int64_t)good->size,
		(int64_t)pwrite(copy_fd, good->bytes, good->size, 0));
	TEST_ASSERT_EQUAL_INT(0, ftruncate(copy_fd, (off_t)good->size));
}

static void events_make(void)
{
	uint32_t scope = built_name(&built, "scope", 0);
	uint32_t inner = built_name(&built, "inner", scope);
	uint32_t cores = built_core_set(&built, 0xff, 8);
	const struct built_object objects[OBJECTS] = {
		[SINGLE] = { .place = device_0,
			.figure = DRAM,
			.id = 1,
			.address = 0x100,
			.size = 1000,
			.scope = scope },
		[SECOND] = { .place = device_0,
			.figure = L1,
			.id = 2,
			.address = 0x200,
			.size = 2000,
			.scope = inner },
		[CIRCULAR] = { .place = device_0,
			.figure = CB,
			.id = 4,
			.program = 3,
			.address = 0x300,
			.size = 100,
			.cores = 64,
			.core_set = cores },
		[KERNEL] = { .place = device_1,
			.figure = FABRIC,
			.id = 5,
			.program = 5,
			.size = 100,
			.cores = 8,
			.flags = SEGMENT_PERSISTENT },
		[FREED] = { .place = device_1,
			.figure = L1,
			.id = 6,
			.size = 70000 },
		/* Data on two of twelve banks, reserved on all. */
		[WHOLE] = { .place = mesh,
			.figure = DRAM,
			.id = 7,
			.address = 0x400,
			.size = 2 * KIB,
			.used = 12 * KIB,
			.banks = 12 },
		[SHRUNK] = { .place = mesh,
			.figure = L1,
			.id = 8,
			.address = 0x500,
			.size = 4 * KIB },
	};
	uint32_t i;

	for (i = 0; i < OBJECTS; i++)
		built_alloc(&built, i, &objects[i]);
	built_free(&built, FREED);
	built_shrink(&built, SHRUNK, rest);
	built_anomaly(&built, 0, device_1);
	built_failure(&built, mesh, L1, 10);
	built_mark(&built, "mark");
}

/* Writes what was built and reads it. */
static void good_read(void)
{
	struct segment *segment = NULL;

	segment_unref(&good);
	TEST_ASSERT_EQUAL_INT64(
		BUILT_SIZE, pwrite(copy_fd, built.bytes, BUILT_SIZE, 0));
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_read_fd(copy_fd, &segment, why, sizeof(why)), why);
	good = segment;
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_check_at_rest(good, why, sizeof(why)), why);
}

void setUp(void)
{
	uint32_t i;

	built_begin(&built);
	for (i = 0; i < 3; i++)
		built_device(&built, i, 10 + i);
	device_0 = built_place(&built, 1);
	device_1 = built_place(&built, 2);
	mesh = built_place(&built, 7);
	rest = built_place(&built, 6);
	events_make();
	copy_fd = memfd_create("copy", MFD_CLOEXEC);
	TEST_ASSERT_TRUE(copy_fd >= 0);
	good_read();
}

void tearDown(void)
{
	close(copy_fd);
	segment_unref(&good);
	built_end(&built);
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

/* Where a slot is in the file. */
static uint64_t slot_at(uint32_t slot)
{
	return good->slots_off[slot / 2048] + 64 * (slot % 2048);
}

static const struct segment_words *object_at(uint32_t slot)
{
	size_t i;

	for (i = 0; i < good->objects_len; i++)
		if (good->objects[i].slot == slot)
			return &good->objects[i];
	TEST_FAIL_MESSAGE("no such object");
	abort();
}

/* -- what is there -------------------------------------------------------------- */

static void figure_is(unsigned entry, unsigned figure, uint64_t objects,
	uint64_t bytes, uint64_t requested)
{
	const struct segment_flow *flow = &good->devices[entry].figures[figure];

	TEST_ASSERT_EQUAL_UINT64(objects, flow->slot_objects);
	TEST_ASSERT_EQUAL_UINT64(bytes, flow->slot_bytes);
	TEST_ASSERT_EQUAL_UINT64(requested, flow->slot_requested);
}

static void orphans_are(unsigned entry, unsigned figure, uint64_t objects,
	uint64_t bytes, uint64_t requested)
{
	const struct segment_flow *flow = &good->devices[entry].figures[figure];

	TEST_ASSERT_EQUAL_UINT64(objects, flow->orphan_objects);
	TEST_ASSERT_EQUAL_UINT64(bytes, flow->orphan_bytes);
	TEST_ASSERT_EQUAL_UINT64(requested, flow->orphan_requested);
}

static void test_an_object_counts_on_each_of_its_devices(void)
{
	const struct segment_words *o = object_at(WHOLE);

	TEST_ASSERT_EQUAL_UINT64(OBJECTS - 1, good->objects_len);
	TEST_ASSERT_EQUAL_UINT(mesh, o->place);
	TEST_ASSERT_EQUAL_UINT64(7, o->members);
	TEST_ASSERT_EQUAL_UINT64(12 * KIB, o->bytes);
	TEST_ASSERT_EQUAL_UINT64(2 * KIB, o->size);
	TEST_ASSERT_EQUAL_UINT32(12, o->banks);
	TEST_ASSERT_EQUAL_UINT64(0, o->orphans);
	TEST_ASSERT_TRUE(segment_object(good, 2, DRAM, 7, 0) == o);
	figure_is(0, DRAM, 2, 1000 + 12 * KIB, 1000 + 2 * KIB);
	figure_is(1, DRAM, 1, 12 * KIB, 2 * KIB);
	figure_is(2, DRAM, 1, 12 * KIB, 2 * KIB);
	figure_is(0, CB, 1, 6400, 6400);
	TEST_ASSERT_EQUAL_UINT32(64, object_at(CIRCULAR)->cores);
	TEST_ASSERT_EQUAL_UINT32(64,
		segment_core_set(good, object_at(CIRCULAR)->core_set)->cores);
}

static void test_a_shrunk_object_is_on_the_devices_that_stay(void)
{
	const struct segment_words *o = object_at(SHRUNK);

	TEST_ASSERT_EQUAL_UINT(rest, o->place);
	TEST_ASSERT_EQUAL_UINT(mesh, o->alloc_place);
	TEST_ASSERT_EQUAL_UINT64(6, o->members);
	TEST_ASSERT_EQUAL_UINT64(3, o->generation);
	TEST_ASSERT_NULL(segment_object(good, 0, L1, 8, 0));
	figure_is(0, L1, 1, 2000, 2000);
	figure_is(1, L1, 1, 4 * KIB, 4 * KIB);
	TEST_ASSERT_EQUAL_UINT64(1, good->devices[0].figures[L1].free_objects);
	TEST_ASSERT_EQUAL_UINT64(0, good->devices[2].figures[L1].free_objects);
	TEST_ASSERT_EQUAL_UINT64(1, segment_records(good, SEGMENT_SHRINK));
	built_free(&built, SHRUNK);
	good_read();
	figure_is(1, L1, 0, 0, 0);
	TEST_ASSERT_EQUAL_UINT64(1, good->devices[2].figures[L1].free_objects);
}

static void test_closing_one_device_orphans_the_parts_there(void)
{
	const struct built_object again = {
		.place = mesh, .figure = DRAM, .id = 70, .size = 5
	};
	const struct segment_words *o;

	built_close(&built, device_0);
	built_alloc(&built, OBJECTS, &again);
	good_read();
	o = object_at(WHOLE);
	TEST_ASSERT_EQUAL_UINT64(1, o->orphans);
	TEST_ASSERT_FALSE(o->orphan);
	TEST_ASSERT_EQUAL_UINT64(0, object_at(OBJECTS)->orphans);
	TEST_ASSERT_TRUE(object_at(SINGLE)->orphan);
	figure_is(0, DRAM, 1, 5, 5);
	orphans_are(0, DRAM, 2, 1000 + 12 * KIB, 1000 + 2 * KIB);
	figure_is(1, DRAM, 2, 5 + 12 * KIB, 5 + 2 * KIB);
	orphans_are(1, DRAM, 0, 0, 0);
	/* A late free of the orphaned parts, and the rest at once. */
	built_free(&built, WHOLE);
	/* A close of the whole mesh has one number. */
	built_close(&built, mesh);
	good_read();
	TEST_ASSERT_EQUAL_UINT64(2, good->closes);
	TEST_ASSERT_EQUAL_UINT64(7, object_at(OBJECTS)->orphans);
	TEST_ASSERT_TRUE(object_at(OBJECTS)->orphan);
	orphans_are(2, DRAM, 1, 5, 5);
	figure_is(2, DRAM, 0, 0, 0);
}

static void test_texts_and_failures_are_told(void)
{
	const struct segment_failure *failure = &good->failures[0];

	TEST_ASSERT_EQUAL_STRING(
		"inner", segment_name(good, object_at(SECOND)->scope));
	TEST_ASSERT_EQUAL_UINT32(object_at(SINGLE)->scope,
		segment_name_parent(good, object_at(SECOND)->scope));
	TEST_ASSERT_EQUAL_UINT64(1, good->failures_len);
	TEST_ASSERT_EQUAL_UINT64(7, failure->members);
	TEST_ASSERT_EQUAL_UINT(L1, failure->figure);
	TEST_ASSERT_EQUAL_UINT64(10, failure->bytes);
	TEST_ASSERT_EQUAL_UINT64(UINT64_MAX, failure->free_per_bank);
	TEST_ASSERT_EQUAL_UINT64(1, good->devices[2].failures[L1]);
	TEST_ASSERT_EQUAL_STRING("mark", good->marks[0].text);
	TEST_ASSERT_EQUAL_UINT64(1, good->anomalies[0]);
	TEST_ASSERT_EQUAL_UINT(mesh, segment_place(good, 7));
	TEST_ASSERT_EQUAL_UINT(0, segment_place(good, 5));
}

/* Tables and extents may have holes, and the last one may be cut: zeros. */
static void test_a_sparse_file_is_read(void)
{
	static const off_t holes[][2] = { { 0x51000, 0x1f000 },
		{ 0x91000, 0x1f000 }, { 0x2d000, 0x1f000 } };
	size_t i;

	for (i = 0; i < sizeof(holes) / sizeof(holes[0]); i++)
		TEST_ASSERT_EQUAL_INT(0,
			fallocate(copy_fd,
				FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				holes[i][0], holes[i][1]));
	good_read();
	for (i = 0; i < sizeof(holes) / sizeof(holes[0]); i++)
		fallocate(copy_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			holes[i][0], holes[i][1]);
	TEST_ASSERT_EQUAL_INT(0, copy_judge());
	TEST_ASSERT_EQUAL_INT(
		0, ftruncate(copy_fd, BUILT_CORE_SETS_AT + 0x1000));
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, copy_judge(), why);
}

/* -- what is wrong --------------------------------------------------------------- */

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
	static const off_t sizes[] = { 0, 1, 0x7ff, 0x1000, 0x4ffff, 0x50000,
		0x6ffff, BUILT_CORE_SETS_AT };
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
	word_broken(0x848, 16385, -EPROTO, "places");
	word_broken(0x848, 2, -EPROTO, "place not handed out");
	word_broken(0x848, 9, -EBADMSG, "place 5 is empty");
	word_broken(0x850, 0, -EPROTO, "core set");
	word_broken(0x858, 1, -EPROTO, "reserved");
	word_broken(0x820, 0, -EPROTO, "scope");
	word_broken(0x828, 0, -EPROTO, "block not handed out");
	word_broken(0x838, 0, -EPROTO, "mark");
	word_broken(0xff8, 1, -EPROTO, "reserved");
}

static void test_directory_is_checked(void)
{
	uint64_t first = get64(0x1000);

	word_broken(0x1000, first | 0x0a000000, -EPROTO, "type");
	word_broken(0x1000 + 4 * 8190, 0x05000004, -EPROTO, "extents high");
	word_broken(0x1010, 0x05000004, -EPROTO, "ordinal");
	word_broken(0x1000, (first & 0xffffffff) << 32 | (uint32_t)first,
		-EPROTO, "two extents");
	word_broken(0x1000 + 4 * 8190, 0x02000001, -EPROTO, "extents high");
}

static void test_lane_control_is_checked(void)
{
	uint64_t tail = get64(0x9008);

	word_broken(0x9000, tail + 3, -EPROTO, "intent");
	word_broken(0x9000, tail - 1, -EPROTO, "intent");
	word_broken(0x9000, tail + 1, -EBADMSG, "intent");
	word_broken(0x9018, 1, -EPROTO, "reserved");
	word_broken(0x9000 + 64 * 1000, 1, -EPROTO, "unused lane");
}

static void test_places_are_checked(void)
{
	uint64_t at = 0x2c000;

	word_broken(at, 1, -EPROTO, "place 0");
	word_broken(at + 8 * mesh, 15, -EPROTO, "unused entries");
	word_broken(at + 8 * mesh, 2, -EPROTO, "not within");
	word_broken(at + 8 * mesh, 6, -EBADMSG, "two places");
	word_broken(at + 8 * mesh, 0, -EPROTO, "empty");
	word_broken(at + 8 * 16383, 1, -EPROTO, "place not handed out");
}

static void test_slots_are_checked(void)
{
	uint64_t at = slot_at(SINGLE);
	uint64_t w0 = get64(at);
	uint64_t w1 = get64(at + 8);

	word_broken(at, w0 | 3, -EPROTO, "state 3");
	word_broken(at, (w0 & ~3ull) | 1, -EBADMSG, "writing");
	word_broken(at, 0, -EPROTO, "no generation");
	word_broken(at, w0 & ~3ull, -EBADMSG, "allocated - freed");
	word_broken(at, w0 + 0x10000, -EBADMSG, "last record");
	word_broken(at, w0 | 0x3fff << 2, -EPROTO, "place 16383 is empty");
	word_broken(at, w0 & ~0xfffcull, -EPROTO, "place 0 is empty");
	word_broken(
		at, (w0 & ~0xfffcull) | device_1 << 2, -EPROTO, "not within");
	word_broken(at + 8, w1 + 1, -EPROTO, "says it is");
	word_broken(at + 8, w1 | 15ull << 40, -EPROTO, "figure");
	word_broken(at + 8, w1 ^ 1ull << 24, -EBADMSG, "epoch");
	word_broken(at + 8, w1 | 256ull << 44, -EPROTO, "flags of a record");
	word_broken(at + 8, w1 | 2048ull << 44, -EPROTO, "flags");
	word_broken(at + 8, w1 | 1ull << 44, -EPROTO, "flags");
	word_broken(at + 16, get64(at + 16) + 1, -EBADMSG, "last record");
	word_broken(at + 24, get64(at + 24) + 1, -EBADMSG, "last record");
	word_broken(at + 32, get64(at + 32) + 1, -EPROTO, "banks");
	word_broken(at + 32, get64(at + 32) | 1ull << 60, -EPROTO, "reserved");
	word_broken(at + 40, get64(at + 40) + 1, -EPROTO, "banks");
	word_broken(at + 48, get64(at + 48) + 1, -EBADMSG, "last record");
	word_broken(at + 56, get64(at + 56) + 9, -EPROTO, "scope");
	word_broken(good->slots_off[0] + 64 * 2047 + 8, 1, -EPROTO,
		"no generation");
}

static void test_objects_of_meshes_are_checked(void)
{
	uint64_t at = slot_at(WHOLE);
	uint64_t w0 = get64(at);
	uint64_t w4 = get64(at + 32);
	uint64_t alloc_mask = 0x3fffull << 46;

	/* Freed on a device without a record and a count. */
	word_broken(at, (w0 & ~0xfffcull) | rest << 2, -EBADMSG,
		"allocated - freed");
	word_broken(at + 32, w4 & ~alloc_mask, -EPROTO, "empty");
	word_broken(at + 32, (w4 & ~alloc_mask) | (uint64_t)rest << 46, -EPROTO,
		"not within");
	word_broken(
		at + 40, get64(at + 40) + 12, -EBADMSG, "allocated - freed");
	word_broken(at + 40, get64(at + 40) + 1, -EPROTO, "banks");
	/* The place of a shrunk object is one of those that it had before. */
	at = slot_at(SHRUNK);
	word_broken(at, get64(at) + 0x10000, -EBADMSG, "last record");
	at = slot_at(CIRCULAR) + 56;
	word_broken(at, get64(at) + (1ull << 52), -EPROTO, "core set");
	word_broken(at, get64(at) + (1ull << 40), -EPROTO, "cores");
}

static void slot_copy(const struct segment_words *from, uint32_t to)
{
	uint64_t at = slot_at(to);
	unsigned i;

	for (i = 0; i < 8; i++)
		put64(at + 8 * i, from->w[i]);
	put64(at + 8, (from->w[1] & ~0xffffffull) | to);
}

static void test_two_slots_of_one_key_are_noticed(void)
{
	uint64_t at = slot_at(2000);
	const struct segment_words *kernel = object_at(KERNEL);

	slot_copy(object_at(SINGLE), 2000);
	expect_noticed(-EBADMSG, "one key");
	slot_copy(object_at(SHRUNK), 2000);
	expect_noticed(-EBADMSG, "one key");
	/* A kernel is one on a device, whatever the place. */
	slot_copy(kernel, 2000);
	put64(at, (kernel->w[0] & ~0xfffcull) | rest << 2);
	put64(at + 32, kernel->size | (uint64_t)rest << 46);
	expect_noticed(-EBADMSG, "one key");
	/* The same id through another handle is another buffer. */
	slot_copy(object_at(WHOLE), 2000);
	put64(at, (kernel->w[0] & ~0xfffcull) | rest << 2);
	put64(at + 32, object_at(WHOLE)->size | (uint64_t)rest << 46);
	expect_noticed(-EBADMSG, "allocated - freed");
}

static void test_records_are_checked(void)
{
	uint64_t ring = good->rings_off[0];
	uint64_t w1 = get64(ring + 8);

	word_broken(ring + 8, w1 | 200ull << 56, -EPROTO, "record type");
	word_broken(ring, get64(ring) ^ 2, -EPROTO, "state");
	word_broken(ring, get64(ring) + 0x10000, -EBADMSG, "last record");
	word_broken(ring, (get64(ring) & ~0xfffcull) | device_1 << 2, -EPROTO,
		"but says");
	word_broken(ring + 8, w1 | 0xffff00, -EPROTO, "no slot");
	word_broken(ring + 48, get64(ring + 48) + 1, -EBADMSG, "last record");
	word_broken(ring + 64 * 2000, 1, -EPROTO, "not written yet");
	/* The shrink comes after the allocations and a free. */
	ring += 64 * (OBJECTS + 1);
	TEST_ASSERT_EQUAL_UINT64(SEGMENT_SHRINK, get64(ring + 8) >> 56);
	word_broken(ring, get64(ring) & ~0xfffcull, -EPROTO, "empty");
	word_broken(ring, (get64(ring) & ~0xfffcull) | mesh << 2, -EBADMSG,
		"from place");
	word_broken(ring, (get64(ring) & ~0xfffcull) | device_1 << 2, -EBADMSG,
		"last record");
	word_broken(ring, get64(ring) & ~3ull, -EPROTO, "state");
	/* An anomaly on a place, and a failure. */
	word_broken(ring + 64, get64(ring + 64) | 1ull << 16, -EPROTO, "w0");
	word_broken(ring + 64, 99 << 2, -EPROTO, "empty");
	word_broken(ring + 64 + 32, 10, -EPROTO, "reason");
	word_broken(ring + 128 + 40, 1, -EPROTO, "failure");
}

static void test_closes_are_checked(void)
{
	uint64_t last;

	built_close(&built, rest);
	good_read();
	last = good->rings_off[0] + 64 * (good->lanes[0].tail - 1);
	word_broken(last + 32, 0, -EBADMSG, "close 0 of 1");
	word_broken(last + 32, 2, -EBADMSG, "close 2 of 1");
	word_broken(0x840, 0, -EBADMSG, "of 0 closes");
	word_broken(0x19008, 2ull << 32, -EBADMSG, "epoch 2 of 1");
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
	word_broken(at + 0xc0, 1, -EPROTO, "reserved");
	word_broken(at + 8, 1ull << 48, -EBADMSG, "epoch");
	word_broken(at + 0x10, get64(at + 0x10) | 1, -EBADMSG, "facts");
	word_broken(at + 0x28, 1 << 16, -EPROTO, "known");
	word_broken(at + 0x3f8, 1, -EPROTO, "reserved");
	word_broken(at + 63 * 1024, 3, -EPROTO, "unused device entry");
}

static void test_names_failures_and_marks_are_checked(void)
{
	uint64_t set = good->core_sets_off[0];

	word_broken(good->names_off[0], 113, -EPROTO, "length of name");
	word_broken(good->names_off[0], 5 | 1ull << 33, -EPROTO, "length");
	word_broken(good->names_off[0], 5 | 1ull << 40, -EPROTO, "parent");
	word_broken(set, get64(set) | 1ull << 31, -EPROTO, "core set 1");
	word_broken(good->names_off[0] + 120, 1, -EPROTO, "rest of a name");
	word_broken(0x29008, 0, -EPROTO, "failure");
	word_broken(0x29010, 6, -EPROTO, "failure");
	word_broken(0x29028, 9, -EPROTO, "failure");
	word_broken(0x290f8, 1, -EPROTO, "failure");
	word_broken(0x2a018, 97, -EPROTO, "length of mark");
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

/* As a process leaves it that was killed between the slot and the counters. */
static void slot_free_half(uint32_t slot)
{
	put64(slot_at(slot), (get64(slot_at(slot)) & ~3ull) + 0x10000);
}

static int killed_judge(void)
{
	struct segment *segment = NULL;
	int err;

	why[0] = '\0';
	err = segment_read_fd(copy_fd, &segment, why, sizeof(why));
	if (!err)
		err = segment_check_killed(segment, why, sizeof(why));
	segment_unref(&segment);
	return err;
}

static void test_half_done_operation_passes_for_a_killed_process_only(void)
{
	put64(0x9000, get64(0x9008) + 1);
	slot_free_half(SINGLE);
	TEST_ASSERT_EQUAL_INT(-EBADMSG, copy_judge());
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, killed_judge(), why);
	/* A replacement changes two slots, and nothing changes three. */
	slot_free_half(SECOND);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, killed_judge(), why);
	slot_free_half(CIRCULAR);
	TEST_ASSERT_EQUAL_INT(-EBADMSG, killed_judge());
}

static void test_half_done_shrink_is_so_on_each_device(void)
{
	uint64_t at = slot_at(WHOLE);
	uint64_t w0 = get64(at);

	put64(0x9000, get64(0x9008) + 1);
	put64(at, (w0 & ~0xfffcull) + 0x10000 + (device_0 << 2));
	TEST_ASSERT_EQUAL_INT(-EBADMSG, copy_judge());
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, killed_judge(), why);
	copy_reset();
	/* Nothing was under way. */
	put64(at, (w0 & ~0xfffcull) + 0x10000 + (device_0 << 2));
	TEST_ASSERT_EQUAL_INT(-EBADMSG, killed_judge());
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_an_object_counts_on_each_of_its_devices);
	RUN_TEST(test_a_shrunk_object_is_on_the_devices_that_stay);
	RUN_TEST(test_closing_one_device_orphans_the_parts_there);
	RUN_TEST(test_texts_and_failures_are_told);
	RUN_TEST(test_a_sparse_file_is_read);
	RUN_TEST(test_every_byte_of_the_sealed_header_matters);
	RUN_TEST(test_truncated_files_are_noticed);
	RUN_TEST(test_live_header_is_checked);
	RUN_TEST(test_directory_is_checked);
	RUN_TEST(test_lane_control_is_checked);
	RUN_TEST(test_places_are_checked);
	RUN_TEST(test_slots_are_checked);
	RUN_TEST(test_objects_of_meshes_are_checked);
	RUN_TEST(test_two_slots_of_one_key_are_noticed);
	RUN_TEST(test_records_are_checked);
	RUN_TEST(test_closes_are_checked);
	RUN_TEST(test_counters_are_checked);
	RUN_TEST(test_device_entries_are_checked);
	RUN_TEST(test_names_failures_and_marks_are_checked);
	RUN_TEST(test_random_damage_is_survived);
	RUN_TEST(test_half_done_operation_passes_for_a_killed_process_only);
	RUN_TEST(test_half_done_shrink_is_so_on_each_device);
	return UNITY_END();
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/segment_base.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ttmem/ttmem.h>

#include "fuzz/steps.h"
#include "shm/checksum.h"
#include "support/test_dir.h"

/* -- stories -------------------------------------------------------------------------- */

static void device_open(uint32_t device, uint64_t chip, uint64_t address)
{
	struct ttmem_device_info info;

	ttmem_device_info_init(&info, device);
	info.chip_id = chip;
	info.pci_address = address;
	info.cores = 64;
	info.l1_base = 1024;
	info.l1_top = 1u << 20;
	strcpy(info.board, "n150");
	ttmem_device_open(&info);
}

static void record_some(uint32_t device, uint64_t first)
{
	const struct ttmem_core_range range = { 0, 0, 3, 1 };
	struct ttmem_failure failure;
	struct ttmem_buffer buffer;
	unsigned kind;

	ttmem_scope_push("scope", 0);
	for (kind = 0; kind < 5; kind++)
		ttmem_alloc(device, (enum ttmem_kind)kind, first + kind,
			4096 * kind, 100 + kind);
	ttmem_free(device, TTMEM_DRAM, first);
	ttmem_free(device, TTMEM_DRAM, first);
	ttmem_buffer_init(&buffer, device, TTMEM_L1);
	buffer.id = first + 10;
	buffer.bytes = 60;
	buffer.bytes_per_bank = 32;
	buffer.banks = 4;
	ttmem_buffer_alloc(&buffer);
	ttmem_cb_alloc(
		device, 5, first, 1000, 256, ttmem_core_set(&range, 1), 0);
	ttmem_cb_alloc(device, 5, first, 2000, 128, 8, 0);
	ttmem_cb_alloc(device, 5, first + 1, 1000, 256, 8, TTMEM_CB_BORROWED);
	ttmem_kernel_load(device, first, TTMEM_KERNEL_FABRIC, 500, 4, 0);
	ttmem_kernel_load(device, first, TTMEM_KERNEL_FABRIC, 500, 4, 0);
	ttmem_kernel_load(device, first + 1, TTMEM_KERNEL_APPLICATION, 50, 4,
		TTMEM_KERNEL_IN_RING);
	ttmem_failure_init(&failure, device, TTMEM_L1);
	failure.bytes = 100;
	ttmem_alloc_failed(&failure);
	ttmem_mark("mark");
	ttmem_scope_pop();
}

/* On several devices; some are freed or closed on one of them only. */
static void record_mesh(uint32_t mesh, uint32_t member)
{
	record_some(mesh, 1000);
	ttmem_alloc(mesh, TTMEM_DRAM, 2000, 0, 100);
	ttmem_free(member, TTMEM_DRAM, 2000);
	ttmem_alloc(mesh, TTMEM_L1, 2001, 0, 100);
	ttmem_device_close(member);
	ttmem_alloc(mesh, TTMEM_L1, 2002, 0, 100);
}

static void *thread_main(void *argument)
{
	record_some(0, 100 + (uint64_t)(uintptr_t)argument * 100);
	record_some(1, 100 + (uint64_t)(uintptr_t)argument * 100);
	return NULL;
}

static void tell_small(void)
{
	const uint32_t devices[] = { 0, 1, 2 };

	device_open(0, 17, TTMEM_UNKNOWN);
	record_some(0, 1);
	ttmem_alloc(1, TTMEM_L1, 8, 0, 100);
	ttmem_device_close(1);
	record_mesh(ttmem_mesh_open(devices, 3), 2);
}

static void tell_threads(void)
{
	pthread_t threads[2];
	uintptr_t i;

	device_open(0, 17, 0x100);
	device_open(1, TTMEM_UNKNOWN, 0x200);
	device_open(2, 18, 0x200);
	for (i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, thread_main, (void *)i))
			fuzz_fail("no thread");
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	record_some(2, 1);
	ttmem_device_close(2);
}

static void tell_ended(void)
{
	record_some(3, 1);
}

/* It has every chip of the others, so that those stay from one to the next. */
static void tell_good(void)
{
	uint32_t device;

	device_open(0, 17, TTMEM_UNKNOWN);
	device_open(4, TTMEM_UNKNOWN, 0x200);
	device_open(5, 18, 0x200);
	for (device = 0; device < 6; device++)
		record_some(device, 1);
}

/* -- the files ------------------------------------------------------------------------ */

static uint64_t word_at(const struct segment_base *base, uint64_t off)
{
	uint64_t word;

	memcpy(&word, base->bytes + off, sizeof(word));
	return word;
}

/* 0: not there. */
static uint64_t extent_find(
	const struct segment_base *base, unsigned type, uint32_t ordinal)
{
	uint32_t word, i;

	for (i = 0; i < TTM_EXTENTS_MAX; i++) {
		memcpy(&word, base->bytes + TTM_DIRECTORY_OFF + 4 * i, 4);
		if (word == TTM_EXTENT_WORD(type, ordinal))
			return TTM_EXTENTS_OFF + (uint64_t)i * TTM_EXTENT_SIZE;
	}
	return 0;
}

void segment_base_seal(uint8_t *bytes)
{
	uint64_t sum = ttm_checksum(
		bytes, offsetof(struct ttm_header_const, checksum));

	memcpy(bytes + offsetof(struct ttm_header_const, checksum), &sum,
		sizeof(sum));
}

static void base_load(struct segment_base *base, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		fuzz_fail("%s cannot be opened", path);
	base->size = (uint64_t)st.st_size;
	base->bytes = mmap(NULL, base->size + BASE_MORE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base->bytes == MAP_FAILED ||
		read(fd, base->bytes, base->size) != st.st_size)
		fuzz_fail("%s cannot be read", path);
	close(fd);
}

/* Where things are, so that an input finds them. */
static void base_survey(struct segment_base *base)
{
	const size_t live = offsetof(struct ttm_header, live);
	uint32_t i;

	base->lanes_len = (uint32_t)word_at(
		base, live + offsetof(struct ttm_header_live, lanes_len));
	base->blocks_len = (uint32_t)word_at(
		base, live + offsetof(struct ttm_header_live, blocks_len));
	base->devices_len = (uint32_t)word_at(
		base, live + offsetof(struct ttm_header_live, devices_len));
	base->places_len = (uint32_t)word_at(
		base, live + offsetof(struct ttm_header_live, places_len));
	if (base->lanes_len > BASE_LANES)
		fuzz_fail("a base has %u lanes", base->lanes_len);
	for (i = 0; i < base->lanes_len; i++)
		base->lane_off[i] = extent_find(base, TTM_EXTENT_LANE, i);
	base->slots_off = extent_find(base, TTM_EXTENT_SLOTS, 0);
	base->blocks_off = extent_find(base, TTM_EXTENT_BLOCKS, 0);
	base->names_off = extent_find(base, TTM_EXTENT_NAMES, 0);
	base->core_sets_off = extent_find(base, TTM_EXTENT_CORE_SETS, 0);
	if (!base->slots_off || !base->blocks_off || !base->names_off ||
		!base->core_sets_off)
		fuzz_fail("a base lacks an extent");
	for (i = 0; i < TTM_SLOTS_PER_EXTENT; i++)
		if (word_at(base, base->slots_off + i * 64) &&
			base->used_len < BASE_USED)
			base->used[base->used_len++] = i;
}

/* Time is the target's: no ticks of the processor. */
static void base_unclock(struct segment_base *base)
{
	struct ttm_header_const *header = (void *)base->bytes;

	header->clock_kind = TTM_CLOCK_MONOTONIC_NS;
	header->clock_base = 1;
	header->monotonic_base_ns = 1;
	segment_base_seal(base->bytes);
}

static void base_make(struct segment_base *base, void (*tell)(void), bool ended)
{
	struct ttmem_status status = { .size = sizeof(status) };

	memset(base, 0, sizeof(*base));
	test_dir_make();
	if (ttmem_start(NULL) != 0)
		fuzz_fail("tracking does not start");
	tell();
	if (ttmem_status(&status) != 0 || !status.segment[0])
		fuzz_fail("there is no segment");
	if (ended)
		ttmem_stop();
	base_load(base, status.segment);
	if (!ended)
		ttmem_stop();
	test_dir_remove();
	base_unclock(base);
	base_survey(base);
}

void segment_bases_make(struct segment_base bases[BASES])
{
	base_make(&bases[BASE_SMALL], tell_small, false);
	base_make(&bases[BASE_THREADS], tell_threads, false);
	base_make(&bases[BASE_ENDED], tell_ended, true);
	base_make(&bases[BASE_GOOD], tell_good, false);
}

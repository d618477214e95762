/* SPDX-License-Identifier: Apache-2.0 */
/* Device entries and the counter blocks that belong to them. */
#include "support/segment_parse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int entry_read_facts(const struct segment_reading *r, uint64_t off,
	struct segment_device *device)
{
	struct segment *s = r->s;

	device->known = segment_get64(s, off + 0x028);
	device->chip_id = segment_get64(s, off + 0x030);
	device->pci_address = segment_get64(s, off + 0x038);
	memcpy(device->arch, s->bytes + off + 0x040, 16);
	memcpy(device->board, s->bytes + off + 0x050, 16);
	device->dram_bytes = segment_get64(s, off + 0x060);
	device->l1_bytes_per_core = segment_get64(s, off + 0x068);
	device->cores = segment_get64(s, off + 0x070);
	device->l1_small_bytes = segment_get64(s, off + 0x078);
	device->trace_bytes = segment_get64(s, off + 0x080);
	device->l1_base = segment_get64(s, off + 0x088);
	device->l1_top = segment_get64(s, off + 0x090);
	device->dram_banks = segment_get64(s, off + 0x098);
	device->dram_bank_bytes = segment_get64(s, off + 0x0a0);
	device->dram_base = segment_get64(s, off + 0x0a8);
	device->l1_banks = segment_get64(s, off + 0x0b0);
	device->gateway = segment_get64(s, off + 0x0b8);
	if (device->known >> 16)
		return segment_refuse(
			r, off + 0x28, "known is 0x%" PRIx64, device->known);
	return segment_expect_zero(
		r, off + 0xc0, off + 0x100, "reserved entry");
}

static int entry_read(const struct segment_reading *r, unsigned number)
{
	struct segment *s = r->s;
	struct segment_device *device = &s->devices[number];
	uint64_t off = SEGMENT_DEVICES_AT + 1024 * (uint64_t)number;
	uint64_t head = segment_get64(s, off);
	int err;

	if (!head)
		return 0;
	device->used = true;
	device->logical = (uint32_t)(head >> 32);
	device->ready = head & 1;
	device->current = head & 2;
	device->open = head & 4;
	if ((uint32_t)head > 7 || !device->ready)
		return segment_refuse(r, off,
			"head of entry %u has flags 0x%" PRIx32, number,
			(uint32_t)head);
	if (device->logical >> 31)
		return segment_refuse(r, off, "entry %u is device 0x%" PRIx32,
			number, device->logical);
	device->epoch = (uint32_t)(segment_get64(s, off + 8) >> 32);
	device->peak_generation = (uint32_t)segment_get64(s, off + 8);
	device->seq = segment_get64(s, off + 0x10);
	device->opened = segment_get64(s, off + 0x18);
	device->closed = segment_get64(s, off + 0x20);
	err = entry_read_facts(r, off, device);
	if (err)
		return err;
	return segment_expect_zero(
		r, off + 0x340, off + 0x400, "reserved entry");
}

int segment_parse_devices(const struct segment_reading *r)
{
	struct segment *s = r->s;
	unsigned i;
	int err;

	for (i = 0; i < s->devices_count; i++) {
		err = entry_read(r, i);
		if (err)
			return err;
	}
	return segment_expect_zero(r, SEGMENT_DEVICES_AT + 1024 * i,
		SEGMENT_FAILURES_AT, "unused device entry");
}

static int64_t tagged_bytes(uint64_t word, uint32_t tag)
{
	if (word >> 48 != (tag & 0xffff))
		return 0;
	/* Bits 0-47, signed. */
	return (int64_t)(word << 16) / 65536;
}

static int entry_close_figure(
	const struct segment_reading *r, unsigned number, unsigned figure)
{
	struct segment *s = r->s;
	struct segment_device *device = &s->devices[number];
	struct segment_flow *flow = &device->figures[figure];
	uint64_t off = SEGMENT_DEVICES_AT + 1024 * (uint64_t)number + 0x100 +
		64 * (uint64_t)figure;
	int64_t peak = tagged_bytes(
		segment_get64(s, off + 8), device->peak_generation);

	flow->folded_total = tagged_bytes(segment_get64(s, off), device->epoch);
	flow->peak_bytes += flow->folded_total;
	if (peak > flow->peak_bytes)
		flow->peak_bytes = peak;
	return segment_expect_zero(
		r, off + 16, off + 64, "reserved device total");
}

int segment_parse_totals(const struct segment_reading *r)
{
	unsigned i;
	unsigned figure;
	int err;

	for (i = 0; i < r->s->devices_count; i++) {
		if (!r->s->devices[i].used)
			continue;
		for (figure = 0; figure < SEGMENT_FIGURES; figure++) {
			err = entry_close_figure(r, i, figure);
			if (err)
				return err;
		}
	}
	return 0;
}

static int block_read_lane_wide(const struct segment_reading *r, uint64_t off)
{
	struct segment *s = r->s;
	unsigned i;
	int err;

	for (i = 0; i < SEGMENT_REASONS; i++) {
		s->anomalies[i] += segment_get64(s, off + 0x40 + 8 * i);
		s->lost_events[i] += segment_get64(s, off + 0xc0 + 8 * i);
		s->lost_bytes[i] += segment_get64(s, off + 0x140 + 8 * i);
	}
	err = segment_expect_zero(
		r, off + 0x08, off + 0x40, "reserved lane block");
	if (err)
		return err;
	err = segment_expect_zero(
		r, off + 0x40 + 8 * 10, off + 0xc0, "anomaly without a reason");
	if (err)
		return err;
	return segment_expect_zero(
		r, off + 0x1c0, off + 0x400, "reserved lane block");
}

static int block_read_flow(const struct segment_reading *r, uint64_t at,
	uint64_t era, const struct segment_device *device,
	struct segment_flow *flow)
{
	struct segment *s = r->s;
	int64_t folded = (int64_t)segment_get64(s, at + 0x30);
	int64_t unfolded;

	flow->alloc_objects += segment_get64(s, at);
	flow->alloc_bytes += segment_get64(s, at + 0x08);
	flow->free_objects += segment_get64(s, at + 0x10);
	flow->free_bytes += segment_get64(s, at + 0x18);
	if ((int64_t)segment_get64(s, at) < 0 ||
		(int64_t)segment_get64(s, at + 0x10) < 0)
		return segment_refuse(r, at, "a flow below zero");
	if (era >> 32 != device->epoch)
		return 0;
	flow->live_objects += (int64_t)segment_get64(s, at + 0x20);
	flow->live_bytes += (int64_t)segment_get64(s, at + 0x28);
	flow->folded += folded;
	unfolded = (uint32_t)era == device->peak_generation ?
		(int64_t)segment_get64(s, at + 0x38) :
		(int64_t)segment_get64(s, at + 0x28);
	/* For now only what the lanes add; entry_close_figure() does the rest. */
	flow->peak_bytes += unfolded - folded;
	return 0;
}

static int block_read_device(
	const struct segment_reading *r, uint64_t off, unsigned entry)
{
	struct segment *s = r->s;
	struct segment_device *device = &s->devices[entry];
	uint64_t era = segment_get64(s, off + 0x08);
	unsigned i;
	int err;

	if (entry >= s->devices_count || !device->used)
		return segment_refuse(
			r, off, "block of unused entry %u", entry);
	if (era >> 32 > device->epoch)
		return segment_refuse(r, off + 8, "block of a future epoch");
	for (i = 0; i < 3; i++)
		device->dispatches[i] += segment_get64(s, off + 0x10 + 8 * i);
	for (i = 0; i < SEGMENT_FAILURE_FIGURES; i++)
		device->failures[i] += segment_get64(s, off + 0x40 + 8 * i);
	for (i = 0; i < SEGMENT_FIGURES; i++) {
		err = block_read_flow(r, off + 0x80 + 64 * i, era, device,
			&device->figures[i]);
		if (err)
			return err;
	}
	err = segment_expect_zero(r, off + 0x28, off + 0x40, "reserved block");
	if (!err)
		err = segment_expect_zero(
			r, off + 0x70, off + 0x80, "reserved block");
	if (!err)
		err = segment_expect_zero(
			r, off + 0x2c0, off + 0x400, "reserved block");
	return err;
}

static int block_read(
	const struct segment_reading *r, uint64_t off, uint8_t *seen)
{
	uint64_t owner = segment_get64(r->s, off);
	uint32_t lane = (uint32_t)owner;
	unsigned entry = (unsigned)(owner >> 32 & 0xff);
	size_t bit;

	if (!owner)
		return 0;
	if (owner >> 40 != 1u << 23 || lane >= r->s->lanes_count ||
		(entry >= SEGMENT_DEVICES && entry != 0xff))
		return segment_refuse(
			r, off, "owner of a block is 0x%" PRIx64, owner);
	bit = (size_t)lane * 256 + entry;
	if (seen[bit])
		return segment_refuse(r, off,
			"second block of lane %" PRIu32 ", entry %u", lane,
			entry);
	seen[bit] = 1;
	return entry == 0xff ? block_read_lane_wide(r, off) :
			       block_read_device(r, off, entry);
}

int segment_parse_blocks(const struct segment_reading *r)
{
	struct segment *s = r->s;
	uint8_t *seen = segment_array((size_t)SEGMENT_LANES * 256, 1);
	uint64_t number;
	uint32_t ordinal;
	int err = 0;

	for (ordinal = 0; ordinal < 8192 && !err; ordinal++) {
		uint64_t off = s->blocks_off[ordinal];
		uint32_t i;

		for (i = 0; off && i < SEGMENT_BLOCKS_PER_EXTENT && !err; i++) {
			number = (uint64_t)ordinal * SEGMENT_BLOCKS_PER_EXTENT +
				i;
			if (number < s->blocks_count)
				err = block_read(r, off + 1024 * i, seen);
			else
				err = segment_expect_zero(r, off + 1024 * i,
					off + 1024 * i + 1024,
					"block not handed out");
		}
	}
	free(seen);
	return err;
}

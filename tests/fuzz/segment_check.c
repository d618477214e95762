/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fuzz/faked.h"
#include "fuzz/segment.h"

/* What one round may read of a file, whatever it says. */
#define ROUND_BYTES(size) (24 * (size) + (4u << 20))

static struct ttm_share_row good_shares[TTM_DEVICES_MAX];
static struct ttm_process_row good_row;
static size_t rows_at_rest[TTM_TABLES];
static uint64_t objects_at_rest;

void segment_check_good(void)
{
	const struct ttm_process *process = host.good->process;
	struct ttm_share_row share;
	const void *row;
	uint32_t i;

	if (process->quarantined)
		fuzz_fail("the good process is in quarantine: %s",
			process->source.reason);
	for (i = 0; i < process->parts_len; i++) {
		row = ttm_image_row(host.engine->output.image, TTM_TABLE_SHARES,
			process->parts[i]->usage.row);
		if (!row)
			fuzz_fail("a share of the good process is gone");
		memcpy(&share, row, sizeof(share));
		/* Whose share it is may be known better by now. */
		share.device = good_shares[i].device;
		if (memcmp(&share, &good_shares[i], sizeof(share)) != 0)
			fuzz_fail("share %u of the good process has moved", i);
	}
	row = ttm_image_row(
		host.engine->output.image, TTM_TABLE_PROCESSES, process->row);
	if (!row || memcmp(row, &good_row, sizeof(good_row)) != 0)
		fuzz_fail("the row of the good process has moved");
}

static size_t rows_used(enum ttm_table_id table)
{
	size_t len = ttm_image_len(host.engine->output.image, table), i,
	       used = 0;
	uint64_t self;

	for (i = 0; i < len; i++) {
		memcpy(&self, ttm_image_at(host.engine->output.image, table, i),
			sizeof(self));
		used += self != 0;
	}
	return used;
}

/* Tables whose rows are of processes: the rest is of chips, which are remembered. */
static const enum ttm_table_id of_processes[] = { TTM_TABLE_DIRECTORIES,
	TTM_TABLE_PROCESSES, TTM_TABLE_SHARES, TTM_TABLE_NAMES, TTM_TABLE_MARKS,
	TTM_TABLE_FAILURES, TTM_TABLE_QUARANTINE };

#define OF_PROCESSES (sizeof(of_processes) / sizeof(of_processes[0]))

void segment_check_rest(void)
{
	size_t i, used;

	for (i = 0; i < OF_PROCESSES; i++) {
		used = rows_used(of_processes[i]);
		if (used != rows_at_rest[of_processes[i]])
			fuzz_fail("table %u has %zu rows, not %zu",
				(unsigned)of_processes[i], used,
				rows_at_rest[of_processes[i]]);
	}
	if (ttm_objects_used(host.engine->output.publisher) != objects_at_rest)
		fuzz_fail("%" PRIu64 " object rows are left, not %" PRIu64,
			ttm_objects_used(host.engine->output.publisher),
			objects_at_rest);
}

static void sums_take_share(
	struct ttm_device_row *total, const struct ttm_share_row *share)
{
	unsigned i, k;

	for (i = 0; i < TTMEM_FIGURES; i++) {
		struct ttm_sums *sum = &total->figures[i];
		const struct ttm_sums *part = &share->figures[i];

		sum->live_bytes -= part->live_bytes;
		sum->live_objects -= part->live_objects;
		sum->orphaned_bytes -= part->orphaned_bytes;
		sum->orphaned_objects -= part->orphaned_objects;
		sum->alloc_objects -= part->alloc_objects;
		sum->alloc_bytes -= part->alloc_bytes;
		sum->free_objects -= part->free_objects;
		sum->free_bytes -= part->free_bytes;
		sum->requested_bytes -= part->requested_bytes;
	}
	for (k = 0; k < 3; k++)
		total->dispatches[k] -= share->dispatches[k];
	for (k = 0; k < 6; k++)
		total->failures[k] -= share->failures[k];
}

/* What a chip has is what its shares have, exactly. */
void segment_check_sums(void)
{
	const struct ttm_image *image = host.engine->output.image;
	size_t len = ttm_image_len(image, TTM_TABLE_SHARES), i;
	const struct ttm_share_row *share;
	const struct ttm_chip *chip;
	struct ttm_device_row left;
	uint64_t any;
	unsigned f;

	for (chip = host.engine->output.chips.first; chip; chip = chip->next) {
		left = chip->total;
		for (i = 0; i < len; i++) {
			share = ttm_image_at(image, TTM_TABLE_SHARES, i);
			if (share->self && share->device == chip->row)
				sums_take_share(&left, share);
		}
		any = left.dispatches[0] | left.dispatches[1] |
			left.dispatches[2] | left.failures[0];
		for (f = 0; f < TTMEM_FIGURES; f++)
			any |= left.figures[f].live_bytes |
				left.figures[f].live_objects |
				left.figures[f].orphaned_bytes |
				left.figures[f].orphaned_objects |
				left.figures[f].alloc_bytes |
				left.figures[f].free_bytes |
				left.figures[f].requested_bytes;
		if (any)
			fuzz_fail("a chip's sums are not those of its shares");
	}
}

void segment_check_work(void)
{
	struct faked_file *file = &faked.files[BAD_FILE];
	const struct ttm_process *process = now.attached ?
		now.attached->process :
		NULL;
	uint64_t most = (now.base->size + BASE_MORE) / TTM_EXTENT_SIZE *
		TTM_SLOTS_PER_EXTENT * (sizeof(struct ttm_mirror) + 16);

	if (file->bytes_read > ROUND_BYTES(now.base->size + BASE_MORE))
		fuzz_fail(
			"a round has read %" PRIu64 " bytes", file->bytes_read);
	if (host.verbose)
		fprintf(stderr, "round: %" PRIu64 " reads, %" PRIu64 " bytes\n",
			file->reads, file->bytes_read);
	file->bytes_read = 0;
	file->reads = 0;
	if (process && ttm_process_bytes(process) > most + (1u << 20))
		fuzz_fail("its mirror takes %zu bytes",
			ttm_process_bytes(process));
}

/* In quarantine: with a text, and out of everything else. */
void segment_check_quarantine(void)
{
	const struct ttm_process *process = now.attached ?
		now.attached->process :
		NULL;
	const struct ttm_quarantine_row *row;

	if (!process || !process->quarantined)
		return;
	row = ttm_image_row(host.engine->output.image, TTM_TABLE_QUARANTINE,
		process->quarantine_row);
	if (!now.told || !row || !row->reason[0] ||
		!memchr(row->reason, 0, sizeof(row->reason)))
		fuzz_fail("a quarantine without a reason");
	if (process->row ||
		rows_used(TTM_TABLE_PROCESSES) !=
			rows_at_rest[TTM_TABLE_PROCESSES])
		fuzz_fail("in quarantine, and shown");
}

void segment_good_keep(void)
{
	const struct ttm_process *process;
	uint32_t i;

	process = host.good->process;
	if (!process || process->quarantined || process->parts_len < 3)
		fuzz_fail("the good process is not as it should be: %s",
			process ? process->source.reason : "not there");
	for (i = 0; i < process->parts_len; i++)
		memcpy(&good_shares[i],
			ttm_image_row(host.engine->output.image,
				TTM_TABLE_SHARES, process->parts[i]->usage.row),
			sizeof(good_shares[i]));
	memcpy(&good_row,
		ttm_image_row(host.engine->output.image, TTM_TABLE_PROCESSES,
			process->row),
		sizeof(good_row));
	for (i = 0; i < OF_PROCESSES; i++)
		rows_at_rest[of_processes[i]] = rows_used(of_processes[i]);
	objects_at_rest = ttm_objects_used(host.engine->output.publisher);
	if (!objects_at_rest)
		fuzz_fail("the good process has nothing");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a process segment whose writer does what the input says, drained,
 * applied, published and retired by the engine of ttmemd, in its own loop. A good
 * process stands beside it: nothing of that one may move. Afterwards nothing of the
 * bad one may be left.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "aggregate/engine_state.h"
#include "aggregate/registry.h"
#include "fuzz/faked.h"
#include "fuzz/segment_base.h"
#include "fuzz/steps.h"
#include "support/test_dir.h"

#define MS 1000000ull
#define BAD_FILE 0u
#define GOOD_FILE 1u
#define STORES_MAX 2048u
#define ROUND_NS (11 * MS)
#define ROUNDS_MAX 6u
#define LAST_ROUNDS 12u
#define CHECKSUM_OFF offsetof(struct ttm_header_const, checksum)
/* What one round may read of a file, whatever it says. */
#define ROUND_BYTES(size) (24 * (size) + (4u << 20))

enum {
	FLAG_UNSEALED = 1, /* the checksum is as the steps leave it */
	FLAG_SERVED = 2,   /* its directory has a file of retired ones */
	FLAG_DIES = 4,
	FLAG_RELOADED = 8, /* that file is read once more */
	FLAG_LINES = 16,   /* events are told one by one */
	FLAG_SLOW = 32,    /* processes are counted when it is time */
	FLAG_CUT = 192,    /* distributions are published */
};

enum phase {
	PHASE_STEPS,
	PHASE_DEATH,
	PHASE_LEAVING,
	PHASE_RELOADING,
	PHASE_LEAVING_AGAIN,
	PHASE_END,
};

static struct segment_base bases[BASES];
static struct ttm_engine *engine;
static struct ttm_registry *registry;
static int served_fd = -1;
static bool verbose;

static struct ttm_attached *good;
static struct ttm_share_row good_shares[TTM_DEVICES_MAX];
static struct ttm_process_row good_row;
static size_t rows_at_rest[TTM_TABLES];
static uint64_t objects_at_rest;

/* The execution at hand. */
static struct {
	struct fuzz_input input;
	struct segment_base *base;
	struct ttm_directory *directory;
	struct ttm_attached *attached; /* until the engine lets go of it */
	uint64_t inode;
	size_t cursor;
	uint64_t later; /* reads until the next steps, 0: at the next wait */
	enum phase phase;
	unsigned rounds;
	bool told; /* that it is in quarantine */
	struct {
		uint64_t off;
		uint64_t was;
	} stores[STORES_MAX];
	size_t stores_len;
} now;

/* -- changes to the file -------------------------------------------------------------- */

static uint64_t get64(uint64_t off)
{
	uint64_t word;

	memcpy(&word, now.base->bytes + off, sizeof(word));
	return word;
}

static void put64(uint64_t off, uint64_t value)
{
	if (off + sizeof(value) > now.base->size + BASE_MORE ||
		now.stores_len == STORES_MAX)
		return;
	now.stores[now.stores_len].off = off;
	now.stores[now.stores_len].was = get64(off);
	now.stores_len++;
	memcpy(now.base->bytes + off, &value, sizeof(value));
}

static void stores_undo(void)
{
	while (now.stores_len) {
		now.stores_len--;
		memcpy(now.base->bytes + now.stores[now.stores_len].off,
			&now.stores[now.stores_len].was, sizeof(uint64_t));
	}
}

static uint64_t slot_of(const struct fuzz_step *step)
{
	if (step->index < 256)
		return now.base->used[step->index % now.base->used_len];
	return step->index % TTM_SLOTS_PER_EXTENT;
}

static uint64_t control_off(uint32_t lane)
{
	return TTM_LANES_OFF + lane * sizeof(struct ttm_lane_control);
}

static uint64_t record_off(uint32_t lane, uint64_t number)
{
	return now.base->lane_off[lane] +
		number % TTM_LANE_RECORDS * sizeof(struct ttm_words);
}

/* Where a step means: a field of something that a segment has. */
static uint64_t place_off(const struct fuzz_step *step)
{
	const struct segment_base *base = now.base;
	uint32_t lane = step->at % base->lanes_len;

	switch (step->place % 16) {
	case 0:
		return step->word % 0x100 * 8;
	case 1:
	case 2:
		return 0x800 + step->word % 0x28 * 8;
	case 3:
		return TTM_DIRECTORY_OFF + step->index % 16 * 8;
	case 4:
		return control_off(step->index % 8) + step->word % 3 * 8;
	case 5:
	case 6:
		return TTM_DEVICES_OFF +
			step->index % (base->devices_len + 2) *
			sizeof(struct ttm_device) +
			step->word % 128 * 8;
	case 7:
		return TTM_FAILURES_OFF + step->index % TTM_FAILURES_KEPT * 64 +
			step->word % 8 * 8;
	case 8:
		return TTM_MARKS_OFF + step->index % TTM_MARKS_KEPT * 128 +
			step->word % 16 * 8;
	case 9:
	case 10: /* the last one written is 0 */
		return record_off(lane,
			       get64(control_off(lane) + 8) - 1 - step->index) +
			step->word % 8 * 8;
	case 11:
	case 12:
		return base->slots_off + slot_of(step) * 64 +
			step->word % 8 * 8;
	case 13:
		return base->blocks_off +
			step->index % (base->blocks_len + 1) * 1024 +
			step->word % 128 * 8;
	case 14:
		return base->names_off + step->index % 8 * 128 +
			step->word % 16 * 8;
	default:
		return ((uint64_t)step->index << 16 | step->word) * 8 %
			(base->size + BASE_MORE);
	}
}

static void record_append(uint32_t lane, const uint64_t words[8])
{
	uint64_t tail = get64(control_off(lane) + 8), off;
	unsigned i;

	put64(control_off(lane), tail + 1);
	off = record_off(lane, tail);
	for (i = 0; i < 8; i++)
		put64(off + i * 8, words[i]);
	put64(control_off(lane) + 8, tail + 1);
}

/* What a writer does, as it should: slot, record. Counters are left behind. */
static void event_do(const struct fuzz_step *step)
{
	uint64_t slot = slot_of(step), off = now.base->slots_off + slot * 64;
	uint64_t entry = step->at % now.base->devices_len;
	uint64_t era = get64(TTM_DEVICES_OFF + entry * 1024 + 8);
	uint64_t words[8], w0 = get64(off);
	unsigned type = step->how & 15, figure = step->how >> 4, i;

	words[0] = TTM_W0(TTM_W0_GENERATION(w0) + 2, TTM_SLOT_LIVE);
	words[1] = TTM_W1(slot, TTM_ERA_EPOCH(era) & 0xffff, entry, figure % 9,
		step->value >> 60 & 7, 1);
	words[2] = step->value & 0xff;
	words[3] = step->value >> 8 & 0xfffff;
	words[4] = step->value >> 28 & 0xffff;
	words[5] = step->value & 7;
	words[6] = faked.now_ns;
	words[7] = TTM_W7(step->index % 4, 0ull, step->value >> 44 & 0xff);
	if (type == TTM_RECORD_FREE) {
		for (i = 1; i < 8; i++)
			words[i] = get64(off + i * 8);
		words[0] = TTM_W0(TTM_W0_GENERATION(w0) + 1, TTM_SLOT_FREE);
		words[3] = faked.now_ns;
		put64(off, words[0]);
	} else if (type == TTM_RECORD_ALLOC) {
		for (i = 0; i < 8; i++)
			put64(off + i * 8, words[i]);
	} else {
		words[0] = 0;
	}
	words[1] = (words[1] & ~(0xffull << 56)) | (uint64_t)type << 56;
	record_append(step->place % now.base->lanes_len, words);
}

static void size_set(const struct fuzz_step *step)
{
	uint64_t size = now.base->size;

	switch (step->how & 3) {
	case 0:
		size = step->value % (size + 1);
		break;
	case 1:
		size += step->value % (BASE_MORE / TTM_EXTENT_SIZE + 1) *
			TTM_EXTENT_SIZE;
		break;
	case 2:
		size -= step->value % 2 * TTM_EXTENT_SIZE;
		break;
	default:
		break;
	}
	faked.files[BAD_FILE].size = size;
}

static void read_fail(const struct fuzz_step *step)
{
	static const int errors[] = { EINTR, EIO, ESTALE, ENOMEM };

	if (step->how & 1)
		faked.files[BAD_FILE].error = errors[step->value % 4];
	else
		faked.files[BAD_FILE].most = 1 + step->value % 4096;
}

static void state_set(const struct fuzz_step *step)
{
	static const uint64_t fates[] = { TTM_FATE_ALIVE, TTM_FATE_UNKNOWN,
		TTM_FATE_DEAD, TTM_FATE_DEAD };
	struct ttm_attached *attached = now.attached;

	/* Who is dead stays so, says the watch. */
	if (attached && attached->fate != TTM_FATE_DEAD)
		attached->fate = fates[step->how & 3];
	if (attached && (step->how & 12) == 12)
		attached->vanished = 1;
}

static void step_do(const struct fuzz_step *step)
{
	uint64_t off;

	switch (step->op) {
	case FUZZ_STORE:
		off = place_off(step);
		if (off + 8 > now.base->size + BASE_MORE)
			return;
		put64(off, fuzz_stored(step, get64(off)));
		break;
	case FUZZ_SIZE:
		size_set(step);
		break;
	case FUZZ_READ:
		read_fail(step);
		break;
	case FUZZ_EVENT:
		event_do(step);
		break;
	case FUZZ_STATE:
		state_set(step);
		break;
	default:
		break;
	}
}

/* Until the engine has to go on; returns how much time passes then. */
static uint64_t steps_do(void)
{
	static const uint64_t spans[16] = { 0, MS / 10, MS, 2 * MS, 5 * MS,
		11 * MS, 11 * MS, 11 * MS, 11 * MS, 11 * MS, 12 * MS, 20 * MS,
		30 * MS, 60 * MS, 110 * MS, 260 * MS };
	const struct fuzz_step *step;

	while (now.cursor < now.input.len) {
		step = &now.input.steps[now.cursor++];
		if (step->op == FUZZ_ROUND)
			/* A second is much work: for all the chips. */
			return (step->how & 15) == 15 ? 1100 * MS :
							spans[step->value % 16];
		if (step->op == FUZZ_LATER) {
			now.later = step->at + 1u;
			return ROUND_NS;
		}
		step_do(step);
	}
	return ROUND_NS;
}

/* A writer that does not wait until the engine has read. */
static void before_read(void)
{
	if (now.later && --now.later == 0)
		steps_do();
}

/* -- what must hold ------------------------------------------------------------------- */

static void good_is_unharmed(void)
{
	const struct ttm_process *process = good->process;
	struct ttm_share_row share;
	const void *row;
	uint32_t i;

	if (process->quarantined)
		fuzz_fail("the good process is in quarantine: %s",
			process->source.reason);
	for (i = 0; i < process->parts_len; i++) {
		row = ttm_image_row(engine->output.image, TTM_TABLE_SHARES,
			process->parts[i]->row);
		if (!row)
			fuzz_fail("a share of the good process is gone");
		memcpy(&share, row, sizeof(share));
		/* Whose share it is may be known better by now. */
		share.device = good_shares[i].device;
		if (memcmp(&share, &good_shares[i], sizeof(share)) != 0)
			fuzz_fail("share %u of the good process has moved", i);
	}
	row = ttm_image_row(
		engine->output.image, TTM_TABLE_PROCESSES, process->row);
	if (!row || memcmp(row, &good_row, sizeof(good_row)) != 0)
		fuzz_fail("the row of the good process has moved");
}

static size_t rows_used(enum ttm_table_id table)
{
	size_t len = ttm_image_len(engine->output.image, table), i, used = 0;
	uint64_t self;

	for (i = 0; i < len; i++) {
		memcpy(&self, ttm_image_at(engine->output.image, table, i),
			sizeof(self));
		used += self != 0;
	}
	return used;
}

/* Tables whose rows are of processes: the rest is of chips, which are remembered. */
static const enum ttm_table_id of_processes[] = { TTM_TABLE_DIRECTORIES,
	TTM_TABLE_PROCESSES, TTM_TABLE_SHARES, TTM_TABLE_NAMES, TTM_TABLE_MARKS,
	TTM_TABLE_FAILURES, TTM_TABLE_QUARANTINE, TTM_TABLE_POSITIONS };

#define OF_PROCESSES (sizeof(of_processes) / sizeof(of_processes[0]))

static void nothing_is_left(void)
{
	size_t i, used;

	for (i = 0; i < OF_PROCESSES; i++) {
		used = rows_used(of_processes[i]);
		if (used != rows_at_rest[of_processes[i]])
			fuzz_fail("table %u has %zu rows, not %zu",
				(unsigned)of_processes[i], used,
				rows_at_rest[of_processes[i]]);
	}
	if (ttm_objects_used(engine->output.publisher) != objects_at_rest)
		fuzz_fail("%" PRIu64 " object rows are left, not %" PRIu64,
			ttm_objects_used(engine->output.publisher),
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
	}
	for (k = 0; k < 3; k++)
		total->dispatches[k] -= share->dispatches[k];
	for (k = 0; k < 5; k++)
		total->failures[k] -= share->failures[k];
}

/* What a chip has is what its shares have, exactly. */
static void sums_are_right(void)
{
	const struct ttm_image *image = engine->output.image;
	size_t len = ttm_image_len(image, TTM_TABLE_SHARES), i;
	const struct ttm_share_row *share;
	const struct ttm_chip *chip;
	struct ttm_device_row left;
	uint64_t any;
	unsigned f;

	for (chip = engine->output.chips.first; chip; chip = chip->next) {
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
				left.figures[f].free_bytes;
		if (any)
			fuzz_fail("a chip's sums are not those of its shares");
	}
}

static void work_is_bounded(void)
{
	struct faked_file *file = &faked.files[BAD_FILE];
	const struct ttm_process *process = now.attached ?
		now.attached->process :
		NULL;
	uint64_t most = (now.base->size + BASE_MORE) / TTM_EXTENT_SIZE *
		TTM_SLOTS_PER_EXTENT * (sizeof(struct ttm_place) + 16);

	if (file->bytes_read > ROUND_BYTES(now.base->size + BASE_MORE))
		fuzz_fail(
			"a round has read %" PRIu64 " bytes", file->bytes_read);
	if (verbose)
		fprintf(stderr, "round: %" PRIu64 " reads, %" PRIu64 " bytes\n",
			file->reads, file->bytes_read);
	file->bytes_read = 0;
	file->reads = 0;
	if (process && ttm_process_bytes(process) > most + (1u << 20))
		fuzz_fail("its mirror takes %zu bytes",
			ttm_process_bytes(process));
}

/* In quarantine: with a text, and out of everything else. */
static void quarantine_is_visible(void)
{
	const struct ttm_process *process = now.attached ?
		now.attached->process :
		NULL;
	const struct ttm_quarantine_row *row;

	if (!process || !process->quarantined)
		return;
	row = ttm_image_row(engine->output.image, TTM_TABLE_QUARANTINE,
		process->quarantine_row);
	if (!now.told || !row || !row->reason[0] ||
		!memchr(row->reason, 0, sizeof(row->reason)))
		fuzz_fail("a quarantine without a reason");
	if (process->row ||
		rows_used(TTM_TABLE_PROCESSES) !=
			rows_at_rest[TTM_TABLE_PROCESSES])
		fuzz_fail("in quarantine, and shown");
}

/* -- the engine's loop ---------------------------------------------------------------- */

static void engine_log(int priority, const char *text)
{
	const char *reason = strstr(text, " is in quarantine: ");

	if (verbose)
		fprintf(stderr, "log %d: %s\n", priority, text);
	if (reason && reason[strlen(" is in quarantine: ")])
		now.told = true;
}

static void engine_event(const char *text)
{
	if (verbose)
		fprintf(stderr, "event: %s\n", text);
}

static void directory_begin(bool served)
{
	struct ttm_directory *directory = ttm_directory_new();

	if (!directory)
		fuzz_fail("no memory");
	strcpy(directory->path, "/fuzz");
	directory->fd = served ? dup(served_fd) : -1;
	directory->uid = geteuid();
	directory->inode = ++now.inode;
	directory->state = served ? TTM_DIRECTORY_SERVED : TTM_DIRECTORY_HELD;
	now.directory = directory;
	ttm_registry_add_directory(registry, directory);
}

static void attached_begin(void)
{
	struct faked_file *file = &faked.files[BAD_FILE];
	struct ttm_attached *attached = ttm_attached_new();

	if (!attached)
		fuzz_fail("no memory");
	attached->directory = now.directory;
	strcpy(attached->name, "p.4711.1.fuzz");
	attached->fd = FAKED_FD + (int)BAD_FILE;
	attached->inode = ++now.inode;
	if (pread(attached->fd, &attached->header, sizeof(attached->header),
		    0) != sizeof(attached->header))
		strcpy(attached->reason, "header cannot be read");
	else
		ttm_header_check(
			&attached->header, file->size, attached->reason);
	now.attached = attached;
	if (!ttm_registry_add(registry, attached))
		fuzz_fail("that inode is there");
}

/* Whether the engine still has it. */
static bool attached_is_there(void)
{
	struct ttm_attached *found;

	if (!now.attached)
		return false;
	rcu_read_lock();
	found = ttm_registry_find(registry, now.attached->inode);
	rcu_read_unlock();
	if (!found)
		now.attached = NULL;
	return found != NULL;
}

/* They cost more than all the rest. */
static void distributions_skip(void)
{
	struct ttm_chip *chip;
	unsigned figure, kind;

	for (chip = engine->output.chips.first; chip; chip = chip->next)
		for (figure = 0; figure < TTMEM_FIGURES; figure++)
			for (kind = 0; kind < 2; kind++)
				chip->distributions[figure][kind]
					.changed = false;
}

static void phase_next(void)
{
	now.rounds = 0;
	switch (now.phase) {
	case PHASE_STEPS:
		now.phase = PHASE_DEATH;
		if (now.attached && (now.input.flags & FLAG_DIES))
			now.attached->fate = TTM_FATE_DEAD;
		break;
	case PHASE_DEATH:
		sums_are_right();
		now.phase = PHASE_LEAVING;
		now.directory->gone = 1;
		break;
	case PHASE_LEAVING:
		ttm_registry_tidy(registry, now.directory);
		now.directory = NULL;
		now.phase = PHASE_END;
		if ((now.input.flags & FLAG_SERVED) &&
			(now.input.flags & FLAG_RELOADED)) {
			directory_begin(true);
			now.phase = PHASE_RELOADING;
		}
		break;
	case PHASE_RELOADING:
		sums_are_right();
		now.phase = PHASE_LEAVING_AGAIN;
		now.directory->gone = 1;
		break;
	default:
		if (now.directory)
			ttm_registry_tidy(registry, now.directory);
		now.directory = NULL;
		now.phase = PHASE_END;
		break;
	}
}

static bool phase_is_over(void)
{
	switch (now.phase) {
	case PHASE_STEPS:
		return (now.cursor >= now.input.len && !now.later) ||
			now.rounds > ROUNDS_MAX;
	case PHASE_DEATH:
		return !(now.input.flags & FLAG_DIES) || !attached_is_there() ||
			now.rounds >= 3;
	case PHASE_LEAVING:
	case PHASE_LEAVING_AGAIN:
		if (now.rounds > LAST_ROUNDS)
			fuzz_fail("a directory that is gone stays");
		return now.directory->released;
	case PHASE_RELOADING:
		return now.rounds >= 1;
	default:
		return false;
	}
}

/* Where the engine would wait. */
static void engine_waits(void)
{
	attached_is_there();
	good_is_unharmed();
	work_is_bounded();
	quarantine_is_visible();
	now.rounds++;
	while (now.phase != PHASE_END && phase_is_over())
		phase_next();
	if ((now.input.flags & FLAG_CUT) != FLAG_CUT)
		distributions_skip();
	if (now.phase == PHASE_END) {
		engine->stop = 1;
		return;
	}
	now.later = 0;
	faked.now_ns += now.phase == PHASE_STEPS ? steps_do() : ROUND_NS;
	engine->sweep_ns = 0; /* as if the watch had called */
	engine->slow_ns = 0;  /* and as if it were time to look around */
	if (!(now.input.flags & FLAG_SLOW))
		engine->counted_ns = 0;
}

/* -- the target ------------------------------------------------------------------------ */

static void good_settle(void)
{
	const struct ttm_process *process;
	uint32_t i;

	process = good->process;
	if (!process || process->quarantined || process->parts_len < 3)
		fuzz_fail("the good process is not as it should be: %s",
			process ? process->source.reason : "not there");
	for (i = 0; i < process->parts_len; i++)
		memcpy(&good_shares[i],
			ttm_image_row(engine->output.image, TTM_TABLE_SHARES,
				process->parts[i]->row),
			sizeof(good_shares[i]));
	memcpy(&good_row,
		ttm_image_row(engine->output.image, TTM_TABLE_PROCESSES,
			process->row),
		sizeof(good_row));
	for (i = 0; i < OF_PROCESSES; i++)
		rows_at_rest[of_processes[i]] = rows_used(of_processes[i]);
	objects_at_rest = ttm_objects_used(engine->output.publisher);
	if (!objects_at_rest)
		fuzz_fail("the good process has nothing");
}

static void warm_up_waits(void)
{
	faked.now_ns += 300 * MS;
	engine->sweep_ns = 0;
	engine->stop = ++now.rounds > 20;
}

static void good_begin(void)
{
	struct ttm_directory *directory = ttm_directory_new();

	good = ttm_attached_new();
	if (!directory || !good)
		fuzz_fail("no memory");
	strcpy(directory->path, "/good");
	directory->inode = ++now.inode;
	directory->state = TTM_DIRECTORY_HELD;
	ttm_registry_add_directory(registry, directory);
	good->directory = directory;
	strcpy(good->name, "p.42.1.good");
	good->fd = FAKED_FD + (int)GOOD_FILE;
	good->inode = ++now.inode;
	faked.files[GOOD_FILE].bytes = bases[BASE_GOOD].bytes;
	faked.files[GOOD_FILE].size = bases[BASE_GOOD].size;
	memcpy(&good->header, bases[BASE_GOOD].bytes, sizeof(good->header));
	if (ttm_header_check(
		    &good->header, bases[BASE_GOOD].size, good->reason) != 0 ||
		!ttm_registry_add(registry, good))
		fuzz_fail("the good process: %s", good->reason);
}

static void engine_begin(void)
{
	struct ttm_engine_config config = { .mode = TTM_MODE_USER,
		.file_mode = 0600,
		.group = (uint32_t)-1,
		.log = engine_log,
		.event = engine_event };
	const char *dir = test_dir_make();

	config.directory_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (config.directory_fd < 0 ||
		mkdirat(config.directory_fd, "served", 0700) < 0)
		fuzz_fail("no directory");
	served_fd = openat(config.directory_fd, "served",
		O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	faked.on = true;
	faked.now_ns = 1000000000000ull;
	if (ttm_registry_new(&registry) < 0)
		fuzz_fail("no registry");
	config.registry = registry;
	if (ttm_engine_new(&config, &engine) < 0)
		fuzz_fail("no engine");
	rcu_register_thread();
	good_begin();
	rcu_unregister_thread();
	faked.wait = warm_up_waits;
	if (ttm_engine_run(engine) != 0)
		fuzz_fail("nothing can be published");
	faked.on = false;
	good_settle();
}

static void target_end(void)
{
	test_dir_remove();
}

static void target_begin(void)
{
	verbose = getenv("FUZZ_VERBOSE") != NULL;
	/* What is large is taken from the heap, too: no page faults. */
	mallopt(M_MMAP_THRESHOLD, 1 << 28);
	mallopt(M_TRIM_THRESHOLD, 1 << 28);
	segment_bases_make(bases);
	engine_begin();
	atexit(target_end);
}

static void bad_begin(void)
{
	struct faked_file *file = &faked.files[BAD_FILE];
	bool served = now.input.flags & FLAG_SERVED;

	memset(file, 0, sizeof(*file));
	file->bytes = now.base->bytes;
	file->size = now.base->size;
	if (served)
		unlinkat(served_fd, "retired", 0);
	now.cursor = 0;
	now.later = 0;
	now.rounds = 0;
	now.phase = PHASE_STEPS;
	now.told = false;
	now.attached = NULL;
	engine->watcher.record = now.input.flags & FLAG_LINES ?
		ttm_engine_record :
		NULL;
	steps_do();
	if (!(now.input.flags & FLAG_UNSEALED)) {
		/* Noted as a store, so that it is undone. */
		put64(CHECKSUM_OFF, 0);
		segment_base_seal(now.base->bytes);
	}
	directory_begin(served);
	file->before = before_read;
	attached_begin();
}

/* Chips that were made up go: each takes much time in every second. */
static void chips_forget(void)
{
	struct ttm_chip *chip;

	for (chip = engine->output.chips.first; chip; chip = chip->next)
		if (!chip->users)
			chip->claimed = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!engine)
		target_begin();
	fuzz_decode(data, size, &now.input);
	now.base = &bases[now.input.base % BASE_GOOD];
	faked.on = true;
	faked.wait = engine_waits;
	faked.now_ns += ROUND_NS;
	rcu_register_thread();
	bad_begin();
	rcu_unregister_thread();
	engine->stop = 0;
	if (ttm_engine_run(engine) != 0)
		fuzz_fail("nothing could be published");
	faked_reclaim();
	faked.on = false;
	stores_undo();
	good_is_unharmed();
	sums_are_right();
	nothing_is_left();
	chips_forget();
	return 0;
}

/* -- inputs to begin with ---------------------------------------------------------------- */

size_t fuzz_seed(unsigned n, uint8_t to[FUZZ_INPUT_MAX])
{
	static const uint8_t flags[] = { 0, FLAG_DIES, FLAG_SERVED | FLAG_DIES,
		FLAG_SERVED | FLAG_DIES | FLAG_RELOADED, FLAG_LINES,
		FLAG_CUT | FLAG_SLOW };
	struct fuzz_input input;
	uint64_t random = n;
	unsigned i;

	if (n >= BASE_GOOD * sizeof(flags))
		return 0;
	memset(&input, 0, sizeof(input));
	input.base = (uint8_t)(n % BASE_GOOD);
	input.flags = flags[n / BASE_GOOD];
	/* A writer that does nothing wrong, while it is looked at. */
	for (i = 0; i < 6; i++) {
		struct fuzz_step *step = &input.steps[input.len++];

		step->op = i % 3 == 2 ? FUZZ_ROUND : FUZZ_EVENT;
		step->how = (uint8_t)(i % 3 == 0 ? 0x11 : 0x12);
		step->index = (uint16_t)(i / 3);
		step->value = i % 3 == 2 ? 3 : fuzz_random(&random);
	}
	return fuzz_encode(&input, to);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: an aggregate segment whose writer does what the input says, through
 * the reader library: found, judged, read, converted, written as JSON, and parsed
 * again. Whatever is in the file, a snapshot is sound, and what is written of it is
 * a document.
 */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ttmem/reader.h>

#include "fuzz/faked.h"
#include "fuzz/steps.h"
#include "read/snapshot.h"
#include "shm/aggregate.h"
#include "support/aggregate_file.h"
#include "support/test_dir.h"

#define MS 1000000ull
#define STORES_MAX 2048u
#define READS_MAX 1000000u
#define ROUNDS_MAX 4u
#define LIVE_ACTIVE 8u
#define LIVE_OBJECTS_SEQ 0x18u

enum {
	FLAG_UNSEALED = 1,   /* the checksum is as the steps leave it */
	FLAG_ONE_READER = 2, /* the same one in all rounds */
	FLAG_PARSED = 4,     /* what was written is parsed: costs the most */
	FLAG_STATUS = 8,
	FLAG_DEAD = 16,    /* nobody holds the lock */
	FLAG_WRITTEN = 32, /* as JSON, the last of the snapshots */
};

enum {
	BASE_PLAIN,
	BASE_OLDER, /* rows are shorter than this build knows */
	BASE_NEWER, /* and longer */
	BASES,
};

static struct agg bases[BASES];
static char path[AGG_PATH_SIZE];
static bool verbose;

static struct {
	struct fuzz_input input;
	struct agg *agg;
	size_t cursor;
	uint64_t later; /* reads until the next steps, 0: with the next round */
	struct ttmem_reader *reader;
	struct {
		uint64_t off;
		uint64_t was;
	} stores[STORES_MAX];
	size_t stores_len;
} now;

/* -- changes to the file -------------------------------------------------------------- */

static void put64(uint64_t off, uint64_t value)
{
	if (off > now.agg->size - 8 || now.stores_len == STORES_MAX)
		return;
	now.stores[now.stores_len].off = off;
	now.stores[now.stores_len].was = agg_get64(now.agg, off);
	now.stores_len++;
	agg_put64(now.agg, off, value);
}

static void stores_undo(void)
{
	while (now.stores_len) {
		now.stores_len--;
		agg_put64(now.agg, now.stores[now.stores_len].off,
			now.stores[now.stores_len].was);
	}
}

static void seal(void)
{
	if (now.input.flags & FLAG_UNSEALED)
		return;
	put64(0x7f8, 0); /* noted, so that it is undone */
	agg_seal(now.agg);
}

/* Where a step means: a field of something that an aggregate has. */
static uint64_t place_off(const struct fuzz_step *step)
{
	const struct agg *agg = now.agg;
	unsigned copy = step->place >> 7, table, stride;

	switch (step->place % 16) {
	case 0:
		return step->word % 0x18 * 8;
	case 1:
		return AGG_LIVE + step->word % 4 * 8;
	case 2:
		return agg->copy_off[copy] + step->word % 8 * 8;
	case 3:
	case 4:
		return agg->copy_off[copy] + AGG_COPY_TABLES +
			step->index % (AGG_TABLES + 1) * 32 +
			step->word % 4 * 8;
	case 5:
	case 6:
		return agg_object(agg, step->index % 16) + step->word % 10 * 8;
	case 7:
		return ((uint64_t)step->index << 16 | step->word) * 8 %
			agg->size;
	default:
		table = 1 + step->at % (AGG_TABLES - 1);
		stride = agg->tables[table].stride;
		return agg_row(agg, copy, table, step->index % 4) +
			step->word * 8u % stride;
	}
}

/* What ttmemd does: the other copy is newer, and is the one. */
static void publication_make(const struct fuzz_step *step)
{
	uint64_t active = agg_get64(now.agg, AGG_LIVE + LIVE_ACTIVE) & 1;
	uint64_t from = now.agg->copy_off[active];
	uint64_t to = now.agg->copy_off[!active];
	uint64_t seq = agg_get64(now.agg, AGG_LIVE + LIVE_OBJECTS_SEQ);

	if (step->how & 1) {
		put64(AGG_LIVE + LIVE_OBJECTS_SEQ, seq + 2);
		put64(to + 0x10, seq + 2);
	}
	if (step->how & 2) /* killed in between */
		return;
	put64(to, agg_get64(now.agg, to) + 2);
	put64(to + 0x08, agg_get64(now.agg, from + 0x08) + 1);
	put64(AGG_LIVE + LIVE_ACTIVE, !active);
	put64(AGG_LIVE, faked.now_ns);
}

static void step_do(const struct fuzz_step *step)
{
	static const int errors[] = { EINTR, EIO, ESTALE, ENOMEM };
	struct faked_file *file = &faked.files[0];
	uint64_t off;

	switch (step->op) {
	case FUZZ_STORE:
		off = place_off(step);
		if (off <= now.agg->size - 8)
			put64(off, fuzz_stored(step, agg_get64(now.agg, off)));
		if (off < 0x800)
			seal();
		break;
	case FUZZ_SIZE:
		file->size = step->how & 1 ? now.agg->size :
					     step->value % now.agg->size;
		break;
	case FUZZ_READ:
		if (step->how & 1)
			file->error = errors[step->value % 4];
		else
			file->most = 1 + step->value % 4096;
		break;
	case FUZZ_EVENT:
		publication_make(step);
		break;
	case FUZZ_STATE:
		file->locked = step->how & 1;
		file->replaced = step->how & 2;
		break;
	default:
		break;
	}
}

/* Until a snapshot is to be taken; returns with which flags. */
static uint32_t steps_do(void)
{
	static const uint64_t spans[] = { 0, MS, 1000 * MS, 20000 * MS };
	const struct fuzz_step *step;

	while (now.cursor < now.input.len) {
		step = &now.input.steps[now.cursor++];
		if (step->op == FUZZ_ROUND) {
			faked.now_ns += spans[step->value & 3];
			return step->how & 7;
		}
		if (step->op == FUZZ_LATER) {
			now.later = step->at + 1u;
			return 7;
		}
		step_do(step);
	}
	return 7;
}

static void before_read(void)
{
	if (now.later && --now.later == 0)
		steps_do();
}

/* -- what must hold ------------------------------------------------------------------- */

static void field_is_sound(const struct ttmem_snapshot *snapshot,
	const struct ttm_field *field, const char *at)
{
	uint64_t words[2] = { 0, 0 }, i, total = 0;
	const char *const *texts;
	const struct ttmem_point *points;

	memcpy(words, at, field->size < 16 ? field->size : 16);
	switch (field->kind) {
	case TTM_FIELD_INDEX:
		if (words[0] != TTMEM_NONE &&
			words[0] >= snapshot->tables[field->of].len)
			fuzz_fail("%s refers to a row that is not there",
				field->key);
		break;
	case TTM_FIELD_TEXT:
		if (words[0])
			total += strlen((const char *)(uintptr_t)words[0]);
		break;
	case TTM_FIELD_TEXTS:
		texts = (const char *const *)(uintptr_t)words[0];
		for (i = 0; i < words[1]; i++)
			total += strlen(texts[i]);
		break;
	case TTM_FIELD_POINTS:
		points = (const struct ttmem_point *)(uintptr_t)words[0];
		for (i = 0; i < words[1]; i++)
			total += points[i].time_ns & 1;
		break;
	case TTM_FIELD_ENUM:
		if (words[0] != TTMEM_UNKNOWN &&
			!ttmem_name((enum ttmem_names)field->of, words[0]))
			fuzz_fail("%s has no name", field->key);
		break;
	default:
		break;
	}
	if (total > 1u << 24)
		fuzz_fail("%s is far too long", field->key);
}

static void snapshot_is_sound(const struct ttmem_snapshot *snapshot)
{
	const struct ttm_record *record;
	const char *rows;
	size_t id, row, i;

	for (id = 0; id < TTM_RECORD_TABLES; id++) {
		record = &ttm_records[id];
		rows = snapshot->tables[id].rows;
		for (row = 0; row < snapshot->tables[id].len; row++)
			for (i = 0; i < record->fields_len; i++)
				field_is_sound(snapshot, &record->fields[i],
					rows + row * record->size +
						record->fields[i].off);
	}
}

struct text {
	char *bytes;
	size_t size;
	size_t capacity;
};

static int text_add(void *context, const char *bytes, size_t size)
{
	struct text *text = context;

	if (text->size + size > text->capacity) {
		text->capacity = 2 * text->capacity + size + 65536;
		text->bytes = realloc(text->bytes, text->capacity);
		if (!text->bytes)
			fuzz_fail("no memory");
	}
	memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
	return 0;
}

/*
 * Documents that were found sound, by their hash: parsing takes more time than all
 * the rest, and does the same with the same bytes. Most changes to a file are of
 * nothing that is shown.
 */
static uint64_t sound[1u << 18];

static uint64_t *document_place(const struct text *text, uint64_t *ret_hash)
{
	uint64_t hash = text->size, word;
	size_t i;

	for (i = 0; i + sizeof(word) <= text->size; i += sizeof(word)) {
		memcpy(&word, text->bytes + i, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	for (; i < text->size; i++)
		hash = (hash ^ (uint8_t)text->bytes[i]) * 0x9e3779b97f4a7c15ull;
	*ret_hash = hash ^ hash >> 29;
	return &sound[*ret_hash % (sizeof(sound) / sizeof(sound[0]))];
}

/* Written, parsed and written again, it is the same to the last byte. */
static void document_is_sound(const struct ttmem_snapshot *snapshot)
{
	static struct text once, again;
	char error[TTMEM_PARSE_ERROR_SIZE];
	struct ttmem_snapshot *parsed = NULL;
	uint64_t *place, hash;
	int r;

	once.size = again.size = 0;
	if (ttmem_snapshot_write(snapshot, text_add, &once) != 0)
		fuzz_fail("a snapshot cannot be written");
	if (!(now.input.flags & FLAG_PARSED))
		return;
	place = document_place(&once, &hash);
	if (*place == hash)
		return;
	r = ttmem_snapshot_parse(once.bytes, once.size, &parsed, error);
	if (r != 0)
		fuzz_fail("what was written is no document: %s", error);
	if (ttmem_snapshot_write(parsed, text_add, &again) != 0)
		fuzz_fail("a parsed snapshot cannot be written");
	if (verbose)
		fprintf(stderr, "%.*s%.*s", (int)once.size, once.bytes,
			(int)again.size, again.bytes);
	if (once.size != again.size ||
		memcmp(once.bytes, again.bytes, once.size) != 0)
		fuzz_fail("written again it is another document");
	ttmem_snapshot_free(&parsed);
	*place = hash;
}

/* -- the target ------------------------------------------------------------------------ */

static bool error_is_told(int r)
{
	static const int errors[] = { EPROTO, EAGAIN, ENODATA, EIO, ESTALE,
		ENOMEM };
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (r == -errors[i])
			return true;
	return false;
}

static void round_do(uint32_t flags, bool last)
{
	struct ttmem_reader_config config = { .size = sizeof(config),
		.path = path };
	struct ttmem_reader_status status = { .size = sizeof(status) };
	struct ttmem_snapshot *snapshot = NULL;
	int r;

	faked.files[0].reads = 0;
	if (!now.reader && ttmem_reader_open(&config, &now.reader) != 0)
		fuzz_fail("no reader");
	if (now.input.flags & FLAG_STATUS) {
		r = ttmem_reader_status(now.reader, &status);
		if (r == 0 &&
			(!status.reason[0] ||
				!memchr(status.reason, 0,
					sizeof(status.reason))))
			fuzz_fail("a status without a reason");
	}
	r = ttmem_reader_snapshot(now.reader, flags, &snapshot);
	if (verbose)
		fprintf(stderr, "snapshot: %s, %" PRIu64 " reads\n",
			strerror(-r), faked.files[0].reads);
	if (r == 0) {
		snapshot_is_sound(snapshot);
		if (last && (now.input.flags & FLAG_WRITTEN))
			document_is_sound(snapshot);
	} else if (!error_is_told(r) || snapshot) {
		fuzz_fail("a snapshot fails with %d", r);
	}
	ttmem_snapshot_free(&snapshot);
	if (faked.files[0].reads > READS_MAX)
		fuzz_fail("%" PRIu64 " reads", faked.files[0].reads);
	if (!(now.input.flags & FLAG_ONE_READER))
		ttmem_reader_close(&now.reader);
}

/* Rows by a few words shorter or longer than the page says. */
static void base_make(struct agg *agg, int words)
{
	struct agg_table tables[AGG_TABLES];
	struct agg_sample sample;
	unsigned i;

	memset(tables, 0, sizeof(tables));
	for (i = 1; i < AGG_TABLES; i++) {
		tables[i].capacity = agg_stride(i) > 4096 ? 2 : 4;
		tables[i].stride = (uint32_t)((int)agg_stride(i) + words * 8);
	}
	agg_make(agg, tables, 32, (uint64_t)(AGG_OBJECT_SIZE + words * 8));
	agg_sample(agg, 1, 2, &sample);
	faked.now_ns = sample.now + MS;
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
	snprintf(path, sizeof(path), "%s/aggregate", test_dir_make());
	atexit(target_end);
	base_make(&bases[BASE_PLAIN], 0);
	base_make(&bases[BASE_OLDER], -1);
	base_make(&bases[BASE_NEWER], 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct faked_file *file = &faked.files[0];
	unsigned rounds = 0;
	uint64_t began_ns;
	uint32_t flags;
	bool last;

	if (!path[0])
		target_begin();
	began_ns = faked.now_ns;
	fuzz_decode(data, size, &now.input);
	now.agg = &bases[now.input.base % BASES];
	memset(file, 0, sizeof(*file));
	file->bytes = now.agg->bytes;
	file->size = now.agg->size;
	file->name = "aggregate";
	file->locked = !(now.input.flags & FLAG_DEAD);
	file->before = before_read;
	now.cursor = 0;
	faked.on = true;
	do {
		now.later = 0;
		flags = steps_do();
		last = now.cursor >= now.input.len || ++rounds == ROUNDS_MAX;
		round_do(flags, last);
	} while (!last);
	ttmem_reader_close(&now.reader);
	faked.on = false;
	faked.now_ns = began_ns;
	stores_undo();
	return 0;
}

/* -- inputs to begin with ---------------------------------------------------------------- */

size_t fuzz_seed(unsigned n, uint8_t to[FUZZ_INPUT_MAX])
{
	static const uint8_t flags[] = { FLAG_WRITTEN,
		FLAG_WRITTEN | FLAG_PARSED, FLAG_WRITTEN | FLAG_ONE_READER,
		FLAG_STATUS | FLAG_ONE_READER, FLAG_DEAD | FLAG_STATUS };
	struct fuzz_input input;
	unsigned i;

	if (n >= BASES * sizeof(flags))
		return 0;
	memset(&input, 0, sizeof(input));
	input.base = (uint8_t)(n % BASES);
	input.flags = flags[n / BASES];
	/* A ttmemd that publishes, while it is looked at and in between. */
	for (i = 0; i < 4; i++) {
		struct fuzz_step *step = &input.steps[input.len++];

		step->op = i == 1 ? FUZZ_ROUND :
			i == 2    ? FUZZ_LATER :
				    FUZZ_EVENT;
		step->how = 7;
		step->at = 3;
		step->value = i;
		if (step->op == FUZZ_EVENT)
			step->how = 1;
	}
	return fuzz_encode(&input, to);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aggregate segments made by hand. On purpose it shares nothing with lib/: offsets
 * and numbers are typed, so that writer, reader and this cannot drift apart
 * together. Everything is put into a buffer, then written as a file.
 */
#ifndef TEST_AGGREGATE_FILE_H
#define TEST_AGGREGATE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	AGG_HEALTH = 1,
	AGG_DIRECTORIES,
	AGG_DEVICES,
	AGG_PROCESSES,
	AGG_SHARES,
	AGG_NAMES,
	AGG_MARKS,
	AGG_FAILURES,
	AGG_QUARANTINE,
	AGG_UNTRACKED,
	AGG_HISTORY_1S,
	AGG_HISTORY_10S,
	AGG_HISTORY_1M,
	AGG_DISTRIBUTIONS,
	AGG_TELEMETRY,
	AGG_HOLDERS,
	AGG_TABLES,
	AGG_COPY_SIZE = 0x438,
	AGG_COPY_TABLES = 0x38, /* of the directory, from the copy's start */
	AGG_LIVE = 0x800,       /* heartbeat, active, superseded, objects_seq */
	AGG_HISTORY_POINTS = 8, /* capacity of the histories made here */
	AGG_OBJECT_SIZE = 0x58,
	AGG_PATH_SIZE = 512,
};

struct agg_table {
	uint32_t stride; /* 0: as the page says */
	uint32_t capacity;
};

struct agg {
	uint8_t *bytes;
	size_t size;
	uint64_t copy_off[2];
	uint64_t copy_size;
	uint64_t table_off[AGG_TABLES]; /* from the copy's start */
	struct agg_table tables[AGG_TABLES];
	uint64_t objects_off;
	uint64_t objects_capacity;
	uint64_t object_stride;
};

/* What a row is long according to the page. */
uint32_t agg_stride(unsigned table);

/*
 * A file with these tables (by id; capacity 0: none), both copies empty, copy 0
 * active with publication 1, a heartbeat of now. `tables` NULL: eight rows each.
 */
void agg_make(struct agg *agg, const struct agg_table tables[AGG_TABLES],
	uint64_t objects_capacity, uint64_t object_stride);
void agg_free(struct agg *agg);

void agg_put64(struct agg *agg, uint64_t off, uint64_t value);
void agg_put32(struct agg *agg, uint64_t off, uint32_t value);
void agg_put_text(struct agg *agg, uint64_t off, size_t size, const char *text);
uint64_t agg_get64(const struct agg *agg, uint64_t off);

/* Offset in the file of a row of a copy. */
uint64_t agg_row(
	const struct agg *agg, unsigned copy, unsigned table, unsigned row);

/* Takes a row into use: sets self, which it returns, and the table's length. */
uint64_t agg_use(struct agg *agg, unsigned copy, unsigned table, unsigned row);

/* Offset of an object row. */
uint64_t agg_object(const struct agg *agg, unsigned row);

/* Makes copy 1 the same as copy 0. */
void agg_mirror(struct agg *agg);

/* The checksum of the constant part: after a change in it. */
void agg_seal(struct agg *agg);

/* Writes it under a path as ttmemd does: complete, then renamed into place. */
void agg_write(const struct agg *agg, const char *path);

/* A process that holds the writer's lock on a file until it is ended. */
pid_t agg_writer_start(const char *path);
void agg_writer_end(pid_t *pid);

uint64_t agg_now(void);

/* -- a sample ------------------------------------------------------------------- */

/* Tables full of different numbers: see aggregate_sample.c for what is in it. */
struct agg_sample {
	uint64_t self[AGG_TABLES][4]; /* references of its rows */
	uint64_t now;
};

/* `device` and `inode` are those of directory row 0, which is SERVED. */
void agg_sample(struct agg *agg, uint64_t device, uint64_t inode,
	struct agg_sample *ret_sample);

/* Makes `base`/ttmem-<uid> and writes the sample as its aggregate. */
void agg_sample_write(const char *base, char ret_path[AGG_PATH_SIZE]);

/* The number at a row's offset in the sample. */
uint64_t agg_sample_number(unsigned table, unsigned row, unsigned off);

#endif

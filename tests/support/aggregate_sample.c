/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An aggregate with something in every table:
 *
 *   directories  0 ours and served, 2 held by another; 1 is unused
 *   devices      0 a chip, 1 unidentified
 *   processes    0 reporting, 1 died, 2 reporting but silent
 *   shares       0 of process 0 on device 0, 1 of process 1 on device 1, 2 of
 *                process 0 on device 1
 *   names        0 plain, inside 2; 1 hostile, inside one that is not listed;
 *                2 plain, inside 0: a cycle
 *   telemetry    0 of device 0: some values unknown
 *   holders      0 does not report, 1 is process 0
 *   objects      see sample_objects
 *
 * Every word that is nothing else is agg_sample_number().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/aggregate_file.h"

#define SECOND 1000000000ull

uint64_t agg_sample_number(unsigned table, unsigned row, unsigned off)
{
	return 1000000u * table + 10000u * row + off;
}

static uint64_t row_fill(struct agg *agg, unsigned table, unsigned row)
{
	uint64_t at = agg_row(agg, 0, table, row);
	unsigned off, end = agg->tables[table].stride;

	for (off = 0; off + 8 <= end; off += 8)
		agg_put64(agg, at + off, agg_sample_number(table, row, off));
	agg_use(agg, 0, table, row);
	return at;
}

static void sample_directories(struct agg *agg, uint64_t device, uint64_t inode)
{
	uint64_t at = row_fill(agg, AGG_DIRECTORIES, 0);

	agg_put64(agg, at + 0x08, 1);
	agg_put64(agg, at + 0x10, device);
	agg_put64(agg, at + 0x18, inode);
	agg_put32(agg, at + 0x20, geteuid());
	agg_put32(agg, at + 0x24, 0);
	agg_put64(agg, at + 0x28, 0);
	agg_put_text(agg, at + 0x78, 256, "/run/ttmem/ttmem-1000");
	at = row_fill(agg, AGG_DIRECTORIES, 2);
	agg_put64(agg, at + 0x08, 2);
	agg_put32(agg, at + 0x20, 1001);
	agg_put32(agg, at + 0x24, 4321);
	agg_put64(agg, at + 0x28, 11);
	agg_put_text(agg, at + 0x78, 256, "/run/ttmem/ttmem-1001");
}

static void sample_devices(struct agg *agg, const struct agg_sample *s)
{
	uint64_t at = row_fill(agg, AGG_DEVICES, 0);

	agg_put64(agg, at + 0x08, 1);
	agg_put64(agg, at + 0x10, 0xffff); /* all facts are known */
	agg_put64(agg, at + 0x18, 0xdeadbeefcafef00du);
	agg_put64(agg, at + 0x20, 0x0001c308u); /* 0001:c3:01.0 */
	agg_put_text(agg, at + 0x28, 16, "wormhole_b0");
	agg_put_text(agg, at + 0x38, 16, "n300\xff");
	agg_put64(agg, at + 0x48, 12ull << 30);
	agg_put64(agg, at + 0x50, 1499136);
	agg_put64(agg, at + 0x58, 64);
	agg_put64(agg, at + 0xa0, 0xc0ffee);
	agg_put64(agg, at + 0xa8, 0);
	agg_put64(agg, at + 0x128, 1);
	agg_put64(agg, at + 0x130, (uint64_t)-4096);
	agg_put64(agg, at + 0x160, s->self[AGG_PROCESSES][0]);
	agg_put64(agg, at + 0x168, 0xabcdef);
	agg_put64(agg, at + 0x450, 64); /* the cores are by board */
	at = row_fill(agg, AGG_DEVICES, 1);
	agg_put64(agg, at + 0x08, 3);
	agg_put64(agg, at + 0x10, 0); /* nothing is */
	agg_put64(agg, at + 0xa8, 7);
	agg_put64(agg, at + 0x128, 0);
	agg_put64(agg, at + 0x130, 1ull << 63);
	agg_put64(agg, at + 0x160, 0);
}

static void sample_processes(struct agg *agg, const struct agg_sample *s)
{
	static const char cmdline[] = "python3\0-c\0\0print(\"\\n\")\0";
	unsigned i;

	for (i = 0; i < 3; i++) {
		uint64_t at = row_fill(agg, AGG_PROCESSES, i);

		agg_put64(agg, at + 0x08, i == 1 ? 5 : 1);
		agg_put64(agg, at + 0x30, s->self[AGG_DIRECTORIES][0]);
		agg_put32(agg, at + 0x38, 1234 + i);
		agg_put32(agg, at + 0x3c, 1000);
		agg_put64(agg, at + 0x50, s->now - 60 * SECOND);
		agg_put64(agg, at + 0x58,
			i == 2 ? s->now - 11 * SECOND : s->now - SECOND);
		agg_put64(agg, at + 0x60, i == 1 ? s->now : 0);
		agg_put64(agg, at + 0xa0, 0x10005); /* closes */
		agg_put_text(agg, at + 0x228, 16, "python3");
		memset(agg->bytes + at + 0x238, 0, 512);
		memcpy(agg->bytes + at + 0x238, cmdline, sizeof(cmdline));
		agg_put_text(agg, at + 0x438, 256, "/user.slice/x.scope");
	}
	memset(agg->bytes + agg_row(agg, 0, AGG_PROCESSES, 1) + 0x20, 0, 16);
	/* No text in 16 bytes but for their first: all of a field can be used. */
	memcpy(agg->bytes + agg_row(agg, 0, AGG_PROCESSES, 1) + 0x228,
		"\x1b[31mred\x9b\xc2\x9b\"\\\xf0\x9f\x98", 16);
}

static void sample_shares(struct agg *agg, const struct agg_sample *s)
{
	static const unsigned process[] = { 0, 1, 0 };
	static const unsigned device[] = { 0, 1, 1 };
	unsigned i;

	for (i = 0; i < 3; i++) {
		uint64_t at = row_fill(agg, AGG_SHARES, i);

		agg_put64(agg, at + 0x08, s->self[AGG_PROCESSES][process[i]]);
		agg_put64(agg, at + 0x10, s->self[AGG_DEVICES][device[i]]);
		agg_put32(agg, at + 0x18, i);
		agg_put32(agg, at + 0x1c, 10 + i);
		agg_put64(agg, at + 0x20, i != 1);
		agg_put64(agg, at + 0x28, i == 2 ? 0x10005 : 0x10003);
		agg_put64(agg, at + 0x38, i == 1 ? s->now : 0);
		agg_put64(agg, at + 0xa8, i);
		agg_put64(agg, at + 0xb0, i == 2 ? 1ull << 63 : 4096);
	}
}

static void sample_texts(struct agg *agg, const struct agg_sample *s)
{
	uint64_t at;

	at = row_fill(agg, AGG_NAMES, 0);
	agg_put64(agg, at + 0x08, s->self[AGG_PROCESSES][0]);
	agg_put64(agg, at + 0x10, 10);
	agg_put64(agg, at + 0x18, 20);
	agg_put64(agg, at + 0x20, 14);
	agg_put_text(agg, at + 0x28, 112, "op ttnn.matmulXXXX");
	at = row_fill(agg, AGG_NAMES, 1);
	agg_put64(agg, at + 0x20, 1u << 30); /* longer than there is room */
	agg_put_text(
		agg, at + 0x28, 112, "\xc3\xa9t\xc3\xa9 \xed\xa0\x80\n\x01");
	at = row_fill(agg, AGG_NAMES, 2);
	agg_put64(agg, at + 0x08, s->self[AGG_PROCESSES][0]);
	agg_put64(agg, at + 0x10, 20);
	agg_put64(agg, at + 0x18, 10);
	agg_put64(agg, at + 0x20, 11);
	agg_put_text(agg, at + 0x28, 112, "iteration 2");
	at = row_fill(agg, AGG_MARKS, 0);
	agg_put64(agg, at + 0x08, s->self[AGG_PROCESSES][0]);
	agg_put64(agg, at + 0x28, 5);
	agg_put_text(agg, at + 0x30, 96, "warm up");
	at = row_fill(agg, AGG_FAILURES, 0);
	agg_put64(agg, at + 0x08, s->self[AGG_PROCESSES][0]);
	agg_put64(agg, at + 0x18, 5); /* entries 0 and 2 */
	agg_put64(agg, at + 0x20, 1);
	agg_put64(agg, at + 0x40, UINT64_MAX);
	agg_put64(agg, at + 0x58, s->self[AGG_NAMES][0]);
	at = row_fill(agg, AGG_QUARANTINE, 0);
	agg_put64(agg, at + 0x08, s->self[AGG_DIRECTORIES][2]);
	agg_put32(agg, at + 0x18, 1001);
	agg_put32(agg, at + 0x1c, 99);
	agg_put_text(agg, at + 0x20, 64, "p.99.1.abc");
	agg_put_text(agg, at + 0x60, 128, "tail goes backwards");
	at = row_fill(agg, AGG_UNTRACKED, 0);
	agg_put64(agg, at + 0x08, s->self[AGG_DIRECTORIES][0]);
	agg_put32(agg, at + 0x10, 55);
	agg_put32(agg, at + 0x14, 28);
	agg_put64(agg, at + 0x30, UINT64_MAX);
}

static void sample_series(struct agg *agg, const struct agg_sample *s)
{
	unsigned i;

	for (i = 0; i < 3; i++) {
		uint64_t at = row_fill(agg, AGG_HISTORY_1S + i, 0);

		agg_put64(agg, at + 0x08, s->self[AGG_DEVICES][0]);
		agg_put64(agg, at + 0x10,
			SECOND *
				(i == 0                ? 1 :
						i == 1 ? 10 :
							 60));
		agg_put64(agg, at + 0x18, AGG_HISTORY_POINTS);
		/* Not full, full and turned, empty. */
		agg_put64(agg, at + 0x20,
			i == 0         ? 3 :
				i == 1 ? 3 * AGG_HISTORY_POINTS + 2 :
					 0);
	}
	for (i = 0; i < 2; i++) {
		uint64_t at = row_fill(agg, AGG_DISTRIBUTIONS, i);

		agg_put64(agg, at + 0x08, s->self[AGG_DEVICES][0]);
		agg_put64(agg, at + 0x10, i);
		agg_put64(agg, at + 0x18, i);
		agg_put64(agg, at + 0x20, i ? 0 : 12);
	}
}

static void sample_telemetry(struct agg *agg, const struct agg_sample *s)
{
	uint64_t at = row_fill(agg, AGG_TELEMETRY, 0);
	unsigned i;

	agg_put64(agg, at + 0x08, s->self[AGG_DEVICES][0]);
	agg_put64(agg, at + 0x18, 0xdeadbeefcafef00du);
	agg_put64(agg, at + 0x20, 0x0001c308u);
	agg_put64(agg, at + 0x50, (uint64_t)-1); /* -0.001 degrees */
	agg_put64(agg, at + 0x58, 1ull << 63);   /* unknown */
	agg_put64(agg, at + 0x60, UINT64_MAX);   /* unknown */
	agg_put64(agg, at + 0xb0, 0);
	for (i = 0; i < 24; i++) {
		agg_put64(agg, at + 0xb8 + 8 * i,
			i >= 20 || i == 14 ? 0 : s->now - i * SECOND);
		agg_put64(agg, at + 0x178 + 8 * i, i == 14 ? 61 : 0);
	}
	agg_put_text(agg, at + 0x238, 16, "wormhole_b0");
	agg_put_text(agg, at + 0x248, 32, "n300");
	agg_put_text(agg, at + 0x268, 32, "0100014511701063");
	agg_put_text(agg, at + 0x288, 32, "");
	agg_put_text(agg, at + 0x2a8, 16, "wormhole\xff");
	at = row_fill(agg, AGG_HOLDERS, 0);
	agg_put64(agg, at + 0x08, s->self[AGG_TELEMETRY][0]);
	agg_put64(agg, at + 0x10, s->self[AGG_DEVICES][0]);
	agg_put64(agg, at + 0x18, 0);
	agg_put32(agg, at + 0x20, 4711);
	agg_put32(agg, at + 0x24, UINT32_MAX);
	agg_put64(agg, at + 0x38, 0);
	agg_put_text(agg, at + 0x40, 16, "python3");
	memset(agg->bytes + at + 0x50, 0, 256);
	memcpy(agg->bytes + at + 0x50, "python3\0serve.py", 17);
	at = row_fill(agg, AGG_HOLDERS, 1);
	agg_put64(agg, at + 0x08, s->self[AGG_TELEMETRY][0]);
	agg_put64(agg, at + 0x10, 0);
	agg_put64(agg, at + 0x18, s->self[AGG_PROCESSES][0]);
	agg_put32(agg, at + 0x20, 1234);
	agg_put32(agg, at + 0x24, 1000);
	agg_put64(agg, at + 0x38, 1);
	memset(agg->bytes + at + 0x40, 0, 16 + 256);
}

struct sample_object {
	unsigned process;
	unsigned members;
	unsigned figure;
	unsigned flags; /* see SAMPLE_* */
	unsigned stamp;
	uint64_t id;
	uint64_t size;
	uint64_t w5;
	unsigned cores;
	int scope;
};

enum {
	SAMPLE_BORROWED = 1,
	SAMPLE_IN_RING = 2,
	SAMPLE_PERSISTENT = 4,
	SAMPLE_DATAFLOW = 8,
	SAMPLE_SCRATCHPAD = 16,
	SAMPLE_TRACE = 32,
	SAMPLE_PER_CORE = 64,
};

#define USED(bytes, banks) ((bytes) | (uint64_t)(banks) << 46)

/* Process 0 closed entry 0 with its close 3 and entry 2 with its close 5. */
static const struct sample_object sample_objects[] = {
	/* A buffer whose banks are not known; one that is known in full. */
	{ 0, 1, 0, 0, 3, 1, 4096, USED(4096, 0), 0, 0 },
	{ 0, 4, 1, SAMPLE_PER_CORE, 5, UINT64_MAX, 2048, USED(2560, 20), 4, 1 },
	/* CBs. */
	{ 0, 1, 5, 0, 3, 2, 1024, 77, 64, -1 },
	{ 0, 1, 5, SAMPLE_BORROWED | SAMPLE_DATAFLOW, 3, 3, 1024, 77, 64, -1 },
	/* A kernel. */
	{ 0, 1, 7, SAMPLE_IN_RING | SAMPLE_PERSISTENT, 3, 4, 57344, 4, 16, -1 },
	/* Of a closed device, and of a dead process. */
	{ 0, 1, 0, 0, 2, 5, 8192, USED(8192, 0), 0, 0 },
	{ 1, 2, 4, 0, 3, 6, 16384, USED(16384, 0), 0, -1 },
	/* On two devices, one of which was closed; a live one. */
	{ 0, 5, 0, SAMPLE_TRACE, 4, 7, 1000, USED(1024, 8), 0, 2 },
	{ 0, 5, 5, SAMPLE_SCRATCHPAD, 5, 8, 512, 78, 2, -1 },
};

static void sample_put_objects(struct agg *agg, const struct agg_sample *s)
{
	unsigned i, len = sizeof(sample_objects) / sizeof(sample_objects[0]);

	for (i = 0; i < len && i < agg->objects_capacity / 2; i++) {
		const struct sample_object *o = &sample_objects[i];
		uint64_t at = agg_object(agg, 2 * i); /* every other row */

		agg_put64(agg, at + 0x00, 2);
		agg_put64(agg, at + 0x08, s->self[AGG_PROCESSES][o->process]);
		agg_put64(agg, at + 0x10, o->members);
		agg_put64(agg, at + 0x18,
			i | (uint64_t)o->stamp << 24 |
				(uint64_t)o->figure << 40 |
				(uint64_t)o->flags << 44);
		agg_put64(agg, at + 0x20, o->id);
		agg_put64(agg, at + 0x28, 0x1000 * (i + 1));
		agg_put64(agg, at + 0x30, o->size | 7ull << 46);
		agg_put64(agg, at + 0x38, o->w5);
		agg_put64(agg, at + 0x40, s->now - 5 * SECOND);
		agg_put64(agg, at + 0x48,
			o->scope < 0 ? 0 : s->self[AGG_NAMES][o->scope]);
		agg_put64(agg, at + 0x50,
			(uint64_t)o->cores << 40 | 9 << 16 | 3ull << 52);
	}
	agg_put64(agg, agg->copy_off[0] + 0x18, i ? 2 * i - 1 : 0);
	agg_put64(agg, agg->copy_off[0] + 0x20, i);
}

void agg_sample(struct agg *agg, uint64_t device, uint64_t inode,
	struct agg_sample *ret_sample)
{
	struct agg_sample *s = ret_sample;
	unsigned table, row;

	s->now = agg_get64(agg, agg->copy_off[0] + 0x28);
	for (table = 1; table < AGG_TABLES; table++)
		for (row = 0; row < 4; row++)
			s->self[table][row] = (uint64_t)(100 + row) << 32 | row;
	row_fill(agg, AGG_HEALTH, 0);
	agg_put64(agg, agg_row(agg, 0, AGG_HEALTH, 0) + 0x88, 1);
	sample_directories(agg, device, inode);
	sample_devices(agg, s);
	sample_processes(agg, s);
	sample_shares(agg, s);
	sample_texts(agg, s);
	sample_series(agg, s);
	sample_telemetry(agg, s);
	sample_put_objects(agg, s);
	agg_mirror(agg);
}

void agg_sample_write(const char *base, char ret_path[AGG_PATH_SIZE])
{
	char directory[AGG_PATH_SIZE - 16];
	struct agg_sample sample;
	struct stat st;
	struct agg agg;

	snprintf(directory, sizeof(directory), "%s/ttmem-%u", base, geteuid());
	mkdir(directory, 0700);
	if (stat(directory, &st) < 0) {
		perror(directory);
		exit(99);
	}
	snprintf(ret_path, AGG_PATH_SIZE, "%s/aggregate", directory);
	agg_make(&agg, NULL, 64, 0);
	agg_sample(&agg, st.st_dev, st.st_ino, &sample);
	agg_write(&agg, ret_path);
	agg_free(&agg);
}

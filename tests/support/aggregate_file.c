/* SPDX-License-Identifier: Apache-2.0 */
#include "support/aggregate_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint32_t strides[AGG_TABLES] = {
	[AGG_HEALTH] = 0xb0,
	[AGG_DIRECTORIES] = 0x178,
	[AGG_DEVICES] = 0x458,
	[AGG_PROCESSES] = 0x538,
	[AGG_SHARES] = 0x390,
	[AGG_NAMES] = 0x98,
	[AGG_MARKS] = 0x90,
	[AGG_FAILURES] = 0x68,
	[AGG_QUARANTINE] = 0xe0,
	[AGG_UNTRACKED] = 0x38,
	[AGG_HISTORY_1S] = 0x40 + AGG_HISTORY_POINTS * 0x80,
	[AGG_HISTORY_10S] = 0x40 + AGG_HISTORY_POINTS * 0x80,
	[AGG_HISTORY_1M] = 0x40 + AGG_HISTORY_POINTS * 0x80,
	[AGG_DISTRIBUTIONS] = 0x60,
	[AGG_TELEMETRY] = 0x2b8,
	[AGG_HOLDERS] = 0x150,
};

static void die(const char *what)
{
	perror(what);
	exit(99);
}

uint64_t agg_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint32_t agg_stride(unsigned table)
{
	return strides[table];
}

void agg_put64(struct agg *agg, uint64_t off, uint64_t value)
{
	memcpy(agg->bytes + off, &value, sizeof(value));
}

void agg_put32(struct agg *agg, uint64_t off, uint32_t value)
{
	memcpy(agg->bytes + off, &value, sizeof(value));
}

void agg_put_text(struct agg *agg, uint64_t off, size_t size, const char *text)
{
	memset(agg->bytes + off, 0, size);
	strncpy((char *)agg->bytes + off, text, size);
}

uint64_t agg_get64(const struct agg *agg, uint64_t off)
{
	uint64_t value;

	memcpy(&value, agg->bytes + off, sizeof(value));
	return value;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
	return (h * 0x100000001b3ull) ^ x;
}

static void header_put(struct agg *agg)
{
	uint64_t h = 0xcbf29ce484222325ull;
	unsigned i;

	memcpy(agg->bytes, "TTMEMAGG", 8);
	agg_put32(agg, 0x08, 3);
	agg_put32(agg, 0x0c, 4096);
	h = mix(mix(mix(h, 3), 0x800), AGG_COPY_SIZE);
	h = mix(mix(mix(h, 0x58), 9), 32);
	agg_put64(agg, 0x10, h);
	for (i = 0; i < 32; i++)
		agg->bytes[0x18 + i] = (uint8_t)(i + 1); /* uuid, boot id */
	agg_put32(agg, 0x38, (uint32_t)getpid());
	agg_put32(agg, 0x3c, geteuid());
	agg_put64(agg, 0x40, 4026531836u);
	agg_put64(agg, 0x48, 777);
	agg_put64(agg, 0x50, 1);
	agg_put64(agg, 0x58, 1000);
	agg_put64(agg, 0x60, 2000);
	agg_put64(agg, 0x68, agg->size);
	agg_put64(agg, 0x70, agg->copy_off[0]);
	agg_put64(agg, 0x78, agg->copy_off[1]);
	agg_put64(agg, 0x80, agg->copy_size);
	agg_put64(agg, 0x88, agg->objects_off);
	agg_put64(agg, 0x90, agg->objects_capacity);
	agg_put64(agg, 0x98, agg->object_stride);
	agg_put_text(agg, 0xa0, 32, "0.1.0-test");
	agg_seal(agg);
	agg_put64(agg, AGG_LIVE, agg_now());
}

static void copy_put(struct agg *agg, unsigned copy)
{
	uint64_t off = agg->copy_off[copy], at = off + AGG_COPY_TABLES;
	unsigned i;

	agg_put64(agg, off + 0x00, 2);
	agg_put64(agg, off + 0x08, 1);
	agg_put64(agg, off + 0x28, agg_now());
	agg_put64(agg, off + 0x30, 1700000000000000000u);
	for (i = 1; i < AGG_TABLES; i++) {
		if (!agg->tables[i].capacity)
			continue;
		agg_put32(agg, at, i);
		agg_put32(agg, at + 4, agg->tables[i].stride);
		agg_put64(agg, at + 8, agg->table_off[i]);
		agg_put64(agg, at + 16, 0);
		agg_put64(agg, at + 24, agg->tables[i].capacity);
		at += 32;
	}
}

void agg_make(struct agg *agg, const struct agg_table tables[AGG_TABLES],
	uint64_t objects_capacity, uint64_t object_stride)
{
	uint64_t off = AGG_COPY_SIZE;
	unsigned i;

	memset(agg, 0, sizeof(*agg));
	for (i = 1; i < AGG_TABLES; i++) {
		agg->tables[i].capacity = tables ? tables[i].capacity : 8;
		agg->tables[i].stride = tables && tables[i].stride ?
			tables[i].stride :
			strides[i];
		agg->table_off[i] = off;
		off += (uint64_t)agg->tables[i].capacity *
			agg->tables[i].stride;
	}
	agg->copy_size = off;
	agg->copy_off[0] = 4096;
	agg->copy_off[1] = 4096 + agg->copy_size;
	agg->objects_off = agg->copy_off[1] + agg->copy_size;
	agg->objects_capacity = objects_capacity;
	agg->object_stride = object_stride ? object_stride : AGG_OBJECT_SIZE;
	agg->size = agg->objects_off + objects_capacity * agg->object_stride;
	agg->bytes = calloc(1, agg->size);
	if (!agg->bytes)
		die("calloc");
	header_put(agg);
	copy_put(agg, 0);
	copy_put(agg, 1);
}

void agg_free(struct agg *agg)
{
	free(agg->bytes);
	memset(agg, 0, sizeof(*agg));
}

/* The table's place in the directory of its copy. */
static uint64_t table_at(const struct agg *agg, unsigned copy, unsigned table)
{
	uint64_t at = agg->copy_off[copy] + AGG_COPY_TABLES;
	unsigned i;

	for (i = 1; i < table; i++)
		if (agg->tables[i].capacity)
			at += 32;
	return at;
}

uint64_t agg_row(
	const struct agg *agg, unsigned copy, unsigned table, unsigned row)
{
	return agg->copy_off[copy] + agg->table_off[table] +
		(uint64_t)row * agg->tables[table].stride;
}

uint64_t agg_use(struct agg *agg, unsigned copy, unsigned table, unsigned row)
{
	uint64_t len = table_at(agg, copy, table) + 16;
	uint64_t self = (uint64_t)(100 + row) << 32 | row;

	agg_put64(agg, agg_row(agg, copy, table, row), self);
	if (agg_get64(agg, len) < row + 1u)
		agg_put64(agg, len, row + 1u);
	return self;
}

uint64_t agg_object(const struct agg *agg, unsigned row)
{
	return agg->objects_off + row * agg->object_stride;
}

void agg_mirror(struct agg *agg)
{
	memcpy(agg->bytes + agg->copy_off[1], agg->bytes + agg->copy_off[0],
		agg->copy_size);
}

void agg_seal(struct agg *agg)
{
	uint64_t sum = 0xcbf29ce484222325ull;
	size_t i;

	for (i = 0; i < 0x7f8; i++)
		sum = (sum ^ agg->bytes[i]) * 0x100000001b3ull;
	agg_put64(agg, 0x7f8, sum);
}

void agg_write(const struct agg *agg, const char *path)
{
	char temporary[AGG_PATH_SIZE + 8];
	size_t at = 0;
	int fd;

	snprintf(temporary, sizeof(temporary), "%s.new", path);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		die(temporary);
	while (at < agg->size) {
		ssize_t n = write(fd, agg->bytes + at, agg->size - at);

		if (n < 0)
			die("write");
		at += (size_t)n;
	}
	close(fd);
	if (rename(temporary, path) < 0)
		die("rename");
}

static void writer_hold(const char *path, int ready)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};
	int fd = open(path, O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd < 0 || fcntl(fd, F_SETLK, &lock) < 0)
		_exit(1);
	if (write(ready, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

pid_t agg_writer_start(const char *path)
{
	int ready[2];
	char c;
	pid_t pid;

	if (pipe(ready) < 0)
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		close(ready[0]);
		writer_hold(path, ready[1]);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1) {
		fprintf(stderr, "%s: cannot be locked\n", path);
		exit(99);
	}
	close(ready[0]);
	return pid;
}

void agg_writer_end(pid_t *pid)
{
	if (*pid <= 0)
		return;
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
	*pid = 0;
}

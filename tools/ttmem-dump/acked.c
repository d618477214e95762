/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/*
 * "acknowledged" in each directory of ours: uuids of retired processes whose leaks
 * count no more, 32 hexadecimal digits in each line. Those that ttmemd has dropped
 * are dropped from it, too, whenever it is written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "common/error.h"
#include "place.h"
#include "render.h"

#define FILE_NAME "acknowledged"
#define NEW_NAME ".new.acknowledged"
#define UUID_TEXT_SIZE 33u

struct check_acked {
	uint8_t (*ids)[16];
	size_t len;
};

static int id_add(struct check_acked *acked, const uint8_t id[16])
{
	uint8_t(*ids)[16] = realloc(acked->ids, (acked->len + 1) * 16);

	if (!ids)
		return -ENOMEM;
	acked->ids = ids;
	memcpy(ids[acked->len++], id, 16);
	return 0;
}

static bool id_parse(const char *text, uint8_t ret_id[16])
{
	unsigned i, byte;

	if (strspn(text, "0123456789abcdef") != 32)
		return false;
	for (i = 0; i < 16; i++) {
		if (sscanf(text + 2 * (size_t)i, "%2x", &byte) != 1)
			return false;
		ret_id[i] = (uint8_t)byte;
	}
	return true;
}

/* Lines that are none are nobody's. */
static int directory_read(void *context, const struct dump_own *own)
{
	int fd = openat(own->fd, FILE_NAME,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[128];
	uint8_t id[16];
	int r = 0;

	if (!file) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (r == 0 && fgets(line, sizeof(line), file))
		if (id_parse(line, id))
			r = id_add(context, id);
	fclose(file);
	return r;
}

int check_acked_read(
	const struct check_options *options, struct check_acked **ret_acked)
{
	struct check_acked *acked = calloc(1, sizeof(*acked));
	const char *by;
	int r;

	if (!acked)
		return -ENOMEM;
	r = dump_own_each(dump_base_choose(options->where.dir, &by),
		directory_read, acked);
	if (r == -ENOMEM) {
		check_acked_free(&acked);
		return r;
	}
	*ret_acked = acked; /* without a directory nothing is acknowledged */
	return 0;
}

void check_acked_free(struct check_acked **acked)
{
	if (*acked)
		free((*acked)->ids);
	free(*acked);
	*acked = NULL;
}

bool check_acked_has(const struct check_acked *acked, const uint8_t uuid[16])
{
	size_t i;

	for (i = 0; i < acked->len; i++)
		if (memcmp(acked->ids[i], uuid, 16) == 0)
			return true;
	return false;
}

/* -- adding --------------------------------------------------------------------------- */

static bool is_of_directory(const struct ttmem_snapshot *snapshot,
	const struct ttmem_process_row *p, const struct dump_own *own)
{
	const struct ttmem_directory_row *d = ttmem_snapshot_directory(
		snapshot, p->directory);

	return d && d->device == own->device && d->inode == own->inode;
}

static void id_write(FILE *file, const uint8_t id[16])
{
	unsigned byte;

	for (byte = 0; byte < 16; byte++)
		fprintf(file, "%02x", id[byte]);
	fputc('\n', file);
}

static bool process_is_there(
	const struct ttmem_snapshot *snapshot, const uint8_t uuid[16])
{
	size_t i;

	for (i = 0; i < ttmem_snapshot_processes_len(snapshot); i++)
		if (memcmp(ttmem_snapshot_process(snapshot, i)->uuid, uuid,
			    16) == 0)
			return true;
	return false;
}

/* Whoever does not serve it has not dropped anything from it either. */
static bool is_served(
	const struct check_verdict *verdict, const struct dump_own *own)
{
	const struct ttmem_directory_row *d;
	size_t i;

	for (i = 0; verdict->worth.status == 0 &&
		i < ttmem_snapshot_directories_len(verdict->snapshot);
		i++) {
		d = ttmem_snapshot_directory(verdict->snapshot, i);
		if (d->device == own->device && d->inode == own->inode)
			return d->state == TTMEM_DIRECTORY_SERVED;
	}
	return false;
}

static int ids_write(const struct check_verdict *verdict,
	const struct dump_own *own, const struct check_acked *before,
	FILE *file)
{
	const struct ttmem_snapshot *snapshot = verdict->snapshot;
	bool served = is_served(verdict, own);
	const struct ttmem_process_row *p;
	size_t i;

	for (i = 0; i < before->len; i++)
		if (!served || process_is_there(snapshot, before->ids[i]))
			id_write(file, before->ids[i]);
	for (i = 0; i < ttmem_snapshot_processes_len(snapshot); i++) {
		p = ttmem_snapshot_process(snapshot, i);
		if (verdict->marks[i] & CHECK_LEAKS &&
			dump_process_is_retired(p) &&
			is_of_directory(snapshot, p, own))
			id_write(file, p->uuid);
	}
	return fflush(file) == 0 && !ferror(file) ? 0 : -errno;
}

/* Under the directory's lock; the name appears with all that is in it. */
static int directory_write(void *context, const struct dump_own *own)
{
	struct check_acked before = { NULL, 0 };
	FILE *file = NULL;
	int fd, r;

	if (flock(own->fd, LOCK_EX) < 0)
		return -errno;
	r = directory_read(&before, own);
	unlinkat(own->fd, NEW_NAME, 0);
	fd = openat(own->fd, NEW_NAME,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		file = fdopen(fd, "w");
	if (r == 0)
		r = file ? ids_write(context, own, &before, file) : -errno;
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	if (r == 0 && renameat(own->fd, NEW_NAME, own->fd, FILE_NAME) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(own->fd, NEW_NAME, 0);
	free(before.ids);
	flock(own->fd, LOCK_UN);
	return r;
}

int check_acked_add(struct check_verdict *verdict)
{
	const char *by;
	int r = dump_own_each(
		dump_base_choose(verdict->options->where.dir, &by),
		directory_write, verdict);

	if (r == 0)
		return 0;
	ttm_error("cannot acknowledge: %s", strerror(-r));
	return TTM_EXIT_FAILURE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include "read/acked.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "acknowledged"
/* Far above one line for each process that ttmemd keeps of a user. */
#define LINES_MAX 1000000u

struct ids {
	uint8_t (*ids)[16];
	size_t len;
	size_t capacity;
};

static int id_compare(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

static int id_add(struct ids *ids, const uint8_t id[16])
{
	if (ids->len == ids->capacity) {
		size_t capacity = ids->capacity ? 2 * ids->capacity : 64;
		uint8_t(*grown)[16] = realloc(ids->ids, capacity * 16);

		if (!grown)
			return -ENOMEM;
		ids->ids = grown;
		ids->capacity = capacity;
	}
	memcpy(ids->ids[ids->len++], id, 16);
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

/* Other lines are ignored. */
static int file_read(FILE *file, struct ids *ids)
{
	unsigned lines = 0;
	char line[128];
	uint8_t id[16];
	int r = 0;

	while (r == 0 && lines++ < LINES_MAX && fgets(line, sizeof(line), file))
		if (id_parse(line, id))
			r = id_add(ids, id);
	return r;
}

/* Whether nobody but the caller and root can have written it. */
static bool is_trusted(int fd, mode_t type)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type &&
		(st.st_uid == 0 || st.st_uid == geteuid()) &&
		!(st.st_mode & (S_IWGRP | S_IWOTH));
}

static int directory_read(int directory, struct ids *ids)
{
	FILE *file = NULL;
	int fd, r = 0;

	if (!is_trusted(directory, S_IFDIR))
		return 0;
	fd = openat(directory, FILE_NAME,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (is_trusted(fd, S_IFREG))
		file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return 0;
	}
	r = file_read(file, ids);
	fclose(file);
	return r;
}

static int own_read(const struct ttm_search *search,
	const struct ttm_found *found, struct ids *ids)
{
	char base_path[TTM_PATH_SIZE];
	int base, fd, r = 0;
	size_t i;

	if (ttm_base_directory_open(
		    search->dir[0] ? search->dir : NULL, base_path, &base) < 0)
		return 0;
	for (i = 0; r == 0 && i < found->own_len; i++) {
		fd = openat(base, found->own[i].name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		r = directory_read(fd, ids);
		close(fd);
	}
	close(base);
	return r;
}

static bool is_dead(const struct ttmem_process_row *row)
{
	return row->state == TTMEM_PROCESS_EXITED ||
		row->state == TTMEM_PROCESS_DIED;
}

static void processes_mark(
	const struct ids *ids, struct ttmem_snapshot *snapshot)
{
	struct ttmem_process_row *rows = snapshot->tables[TTM_RECORD_PROCESSES]
						 .rows;
	size_t i;

	for (i = 0; i < snapshot->tables[TTM_RECORD_PROCESSES].len; i++)
		rows[i].acknowledged = ids->len && is_dead(&rows[i]) &&
			bsearch(rows[i].uuid, ids->ids, ids->len, 16,
				id_compare) != NULL;
}

int ttm_acked_mark(const struct ttm_search *search,
	const struct ttm_found *found, struct ttmem_snapshot *snapshot)
{
	struct ids ids = { NULL, 0, 0 };
	int r = own_read(search, found, &ids);

	if (r == 0)
		r = directory_read(found->directory_fd, &ids);
	if (r == 0) {
		if (ids.len)
			qsort(ids.ids, ids.len, 16, id_compare);
		processes_mark(&ids, snapshot);
	}
	free(ids.ids);
	return r;
}

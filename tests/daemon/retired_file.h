/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the file of retired processes share: one in a directory of its own. */
#ifndef TEST_RETIRED_FILE_H
#define TEST_RETIRED_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <unity.h>

#include "daemon/dead/retired.h"
#include "daemon/short_writes.h"
#include "support/test_dir.h"

static const char *path;
static int directory;
static struct ttm_retired *file;
static bool broken;

/* What was loaded: the pids, in their order. */
static uint32_t pids[64];
static unsigned pids_len;
static uint64_t dropped;

static inline void loaded(void *context, const struct ttm_retired_entry *entry)
{
	TEST_ASSERT_TRUE(context == &file);
	if (entry->head->kind == TTM_RETIRED_BASE)
		dropped += entry->head->dropped_processes;
	else if (pids_len < 64)
		pids[pids_len++] = entry->process->pid;
}

static inline int file_open(uint32_t uid)
{
	pids_len = 0;
	dropped = 0;
	broken = false;
	return ttm_retired_open(directory, uid, loaded, &file, &file, &broken);
}

static inline void file_reopen(void)
{
	ttm_retired_close(&file);
	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
}

void setUp(void)
{
	path = test_dir_make();
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	TEST_ASSERT_TRUE(directory >= 0);
	file = NULL;
}

void tearDown(void)
{
	ttm_retired_close(&file);
	close(directory);
	test_dir_remove();
}

static inline struct ttm_retired_entry entry_of(uint32_t pid, uint64_t objects)
{
	struct ttm_retired_head lens = {
		.kind = TTM_RETIRED_PROCESS,
		.shares_len = 1,
		.names_len = 2,
		.marks_len = 1,
		.failures_len = 1,
		.objects_len = objects,
	};
	struct ttm_retired_entry entry;

	TEST_ASSERT_EQUAL_INT(0, ttm_retired_entry_new(&lens, &entry));
	entry.process->pid = pid;
	memcpy(entry.process->uuid, &pid, sizeof(pid));
	if (objects)
		entry.objects[objects - 1].id = pid;
	return entry;
}

static inline int commit(uint32_t pid, uint64_t objects)
{
	struct ttm_retired_entry entry = entry_of(pid, objects);
	int r = ttm_retired_commit(file, &entry);

	ttm_retired_entry_free(&entry);
	TEST_ASSERT_NULL(entry.head);
	return r;
}

static inline void pids_are(const char *expected)
{
	char found[256] = "";
	size_t at = 0;
	unsigned i;

	for (i = 0; i < pids_len; i++)
		at += (size_t)snprintf(
			found + at, sizeof(found) - at, "%u ", pids[i]);
	TEST_ASSERT_EQUAL_STRING(expected, found);
}

/* `context` is a text with the digits of the pids to keep, or NULL: all. */
static inline bool is_kept(void *context, const uint8_t uuid[16])
{
	return !context || strchr(context, '0' + uuid[0]);
}

static inline int compact(uint64_t dropped_processes, const char *kept)
{
	struct ttm_retired_head lens = {
		.kind = TTM_RETIRED_BASE,
		.shares_len = 2,
		.dropped_processes = dropped_processes,
	};
	struct ttm_retired_entry base;
	char pids_kept[16] = "";
	int r;

	if (kept)
		snprintf(pids_kept, sizeof(pids_kept), "%s", kept);
	TEST_ASSERT_EQUAL_INT(0, ttm_retired_entry_new(&lens, &base));
	r = ttm_retired_compact(file, &base, is_kept, kept ? pids_kept : NULL);
	ttm_retired_entry_free(&base);
	return r;
}

static inline off_t file_size(const char *name)
{
	struct stat st;

	return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ?
		st.st_size :
		-1;
}

static inline void byte_flip(const char *name, off_t off)
{
	int fd = openat(directory, name, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	TEST_ASSERT_EQUAL_INT64(1, pread(fd, &byte, 1, off));
	byte ^= 0x41;
	TEST_ASSERT_EQUAL_INT64(1, pwrite(fd, &byte, 1, off));
	close(fd);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <ttmem/ttmem.h>

#include "common/process.h"

#define PATH_SIZE 64u

static FILE *proc_open(uint64_t pid, const char *name)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "/proc/%llu/%s", (unsigned long long)pid,
		name);
	return fopen(path, "re");
}

enum dump_answer dump_proc_is_gone(uint64_t pid, uint64_t start_time)
{
	uint64_t now = ttm_proc_start_time(pid);

	if (now && start_time)
		return now != start_time ? DUMP_YES : DUMP_NO;
	if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
		return DUMP_YES;
	return DUMP_UNKNOWN;
}

/* The first thread may be a zombie while others run: how many there are tells. */
enum dump_answer dump_proc_has_ended(uint64_t pid, uint64_t start_time)
{
	enum dump_answer gone = dump_proc_is_gone(pid, start_time);
	char buffer[TTM_PROC_STAT_SIZE];
	const char *field;

	if (gone != DUMP_NO)
		return gone;
	field = ttm_proc_stat_field(pid, 3, buffer);
	if (!field || *field != 'Z')
		return DUMP_NO;
	field = ttm_proc_stat_field(pid, 20, buffer);
	return field && strtoull(field, NULL, 10) <= 1 ? DUMP_YES : DUMP_NO;
}

void dump_procs_each(void (*visit)(void *context, uint64_t pid), void *context)
{
	DIR *names = opendir("/proc");
	const struct dirent *entry;
	uint64_t pid;

	while (names && (entry = readdir(names)) != NULL) {
		pid = strtoull(entry->d_name, NULL, 10);
		if (pid)
			visit(context, pid);
	}
	if (names)
		closedir(names);
}

/* -- maps ---------------------------------------------------------------------------- */

struct mapping {
	unsigned major;
	unsigned minor;
	unsigned long long inode;
	const char *path;
};

typedef bool mapping_is(void *context, const struct mapping *mapping);

/* A zombie's are empty, and so are those of a process that is ending. */
static enum dump_answer mappings_search(
	uint64_t pid, mapping_is *is, void *context)
{
	FILE *file = proc_open(pid, "maps");
	enum dump_answer answer = DUMP_UNKNOWN;
	struct mapping mapping;
	char *line = NULL;
	size_t size = 0;
	int path;

	if (!file)
		return DUMP_UNKNOWN;
	while (answer != DUMP_YES && getline(&line, &size, file) > 0) {
		path = 0;
		if (sscanf(line, "%*s %*s %*s %x:%x %llu %n", &mapping.major,
			    &mapping.minor, &mapping.inode, &path) < 3)
			continue;
		mapping.path = line + path;
		answer = is(context, &mapping) ? DUMP_YES : DUMP_NO;
	}
	if (ferror(file) && answer != DUMP_YES)
		answer = DUMP_UNKNOWN;
	free(line);
	fclose(file);
	return answer;
}

static bool mapping_is_file(void *context, const struct mapping *mapping)
{
	const struct stat *st = context;

	return mapping->inode == st->st_ino &&
		makedev(mapping->major, mapping->minor) == st->st_dev;
}

enum dump_answer dump_proc_has_mapped(uint64_t pid, dev_t device, ino_t inode)
{
	struct stat st;

	memset(&st, 0, sizeof(st));
	st.st_dev = device;
	st.st_ino = inode;
	return mappings_search(pid, mapping_is_file, &st);
}

static bool mapping_has_part(void *context, const struct mapping *mapping)
{
	const char *const *part = context;

	return strstr(mapping->path, *part) != NULL;
}

enum dump_answer dump_proc_has_library(uint64_t pid, const char *part)
{
	return mappings_search(pid, mapping_has_part, &part);
}

/* -- the rest ------------------------------------------------------------------------- */

enum dump_answer dump_proc_environment(
	uint64_t pid, const char *name, char *ret_value, size_t ret_value_size)
{
	FILE *file = proc_open(pid, "environ");
	enum dump_answer answer = DUMP_UNKNOWN;
	size_t length = strlen(name), size = 0;
	char *entry = NULL;

	if (!file)
		return DUMP_UNKNOWN;
	while (answer != DUMP_YES && getdelim(&entry, &size, '\0', file) > 0) {
		answer = DUMP_NO;
		if (strncmp(entry, name, length) != 0 || entry[length] != '=')
			continue;
		snprintf(ret_value, ret_value_size, "%s", entry + length + 1);
		answer = DUMP_YES;
	}
	if (ferror(file))
		answer = DUMP_UNKNOWN;
	free(entry);
	fclose(file);
	return answer;
}

bool dump_boot_id(uint8_t ret_id[16])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	unsigned digits = 0;
	int c;

	if (!file)
		return false;
	memset(ret_id, 0, 16);
	while (digits < 32 && (c = fgetc(file)) != EOF) {
		if (!isxdigit(c))
			continue;
		c = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
		ret_id[digits / 2] = (uint8_t)(ret_id[digits / 2] << 4 | c);
		digits++;
	}
	fclose(file);
	return digits == 32;
}

uint64_t dump_proc_number(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned long long number;
	uint64_t found = TTMEM_UNKNOWN;

	if (!file)
		return found;
	if (fscanf(file, "%llu", &number) == 1)
		found = number;
	fclose(file);
	return found;
}

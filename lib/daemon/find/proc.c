/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
#include "daemon/find/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "shm/identity.h"

#define LINE_SIZE 4096u

uint64_t ttm_proc_start_time(uint32_t pid)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	return ttm_start_time_read(path);
}

bool ttm_proc_is_gone(uint32_t pid)
{
	return kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* -- status ------------------------------------------------------------------- */

/* "NSpid:" has a number per namespace, from ours inwards. */
static bool own_pid_parse(const char *status, struct ttm_proc_status *ret)
{
	const char *at = strstr(status, "\nNSpid:");
	unsigned long pid = 0;
	unsigned count = 0;
	char *end;

	if (!at)
		return false;
	at += strlen("\nNSpid:");
	while (*at == '\t') {
		pid = strtoul(at, &end, 10);
		if (end == at)
			return false;
		at = end;
		count++;
	}
	ret->own_pid = (uint32_t)pid;
	ret->nested = count > 1;
	return count > 0;
}

bool ttm_proc_status(uint32_t pid, struct ttm_proc_status *ret_status)
{
	char path[48], text[4096];
	struct ttm_proc_status status;
	const char *line;
	size_t length;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	length = ttm_file_read(path, text, sizeof(text) - 1);
	text[length] = '\0';
	line = strstr(text, "\nUid:");
	if (!line ||
		sscanf(line, "\nUid: %u %*u %u", &status.real_uid,
			&status.saved_uid) != 2 ||
		!own_pid_parse(text, &status))
		return false;
	*ret_status = status;
	return true;
}

uint64_t ttm_proc_pid_namespace(uint32_t pid)
{
	struct stat st;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%u/ns/pid", pid);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* -- maps --------------------------------------------------------------------- */

/* "from-to rights offset major:minor inode path" */
static bool line_is_of(const char *line, uint64_t device, uint64_t inode)
{
	unsigned long long file = 0;
	unsigned major_number, minor_number;
	char rights[5];

	return sscanf(line, "%*x-%*x %4s %*x %x:%x %llu", rights, &major_number,
		       &minor_number, &file) == 4 &&
		file == inode && major_number == major((dev_t)device) &&
		minor_number == minor((dev_t)device) && rights[1] == 'w' &&
		rights[3] == 's';
}

static enum ttm_answer maps_search(FILE *maps, uint64_t device, uint64_t inode)
{
	enum ttm_answer answer = TTM_CANNOT_TELL;
	bool starts = true, ends;
	char line[LINE_SIZE];

	while (fgets(line, sizeof(line), maps)) {
		ends = strchr(line, '\n') != NULL;
		if (starts && line_is_of(line, device, inode))
			return TTM_YES;
		starts = ends; /* the rest of a long path is no line */
		answer = TTM_NO;
	}
	return ferror(maps) ? TTM_CANNOT_TELL : answer;
}

enum ttm_answer ttm_proc_maps(uint32_t pid, uint64_t device, uint64_t inode)
{
	enum ttm_answer answer;
	char path[48];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return TTM_CANNOT_TELL;
	answer = maps_search(maps, device, inode);
	fclose(maps);
	return answer;
}

/* -- namespaces --------------------------------------------------------------- */

static bool inodes_have(const struct ttm_namespaces *namespaces, uint64_t inode)
{
	size_t i;

	for (i = 0; i < namespaces->inodes_len; i++)
		if (namespaces->inodes[i] == inode)
			return true;
	return false;
}

static bool inodes_add(struct ttm_namespaces *namespaces, uint64_t inode)
{
	size_t capacity = namespaces->inodes_capacity;
	uint64_t *inodes = namespaces->inodes;

	if (inodes_have(namespaces, inode))
		return true;
	if (namespaces->inodes_len == capacity) {
		capacity = capacity ? 2 * capacity : 16;
		inodes = realloc(inodes, capacity * sizeof(*inodes));
		if (!inodes)
			return false;
		namespaces->inodes = inodes;
		namespaces->inodes_capacity = capacity;
	}
	inodes[namespaces->inodes_len++] = inode;
	return true;
}

static bool hidden_have(const struct ttm_namespaces *namespaces, uint32_t uid)
{
	size_t i;

	for (i = 0; i < namespaces->hidden_len; i++)
		if (namespaces->hidden[i] == uid)
			return true;
	return false;
}

static bool hidden_add(struct ttm_namespaces *namespaces, uint32_t uid)
{
	size_t capacity = namespaces->hidden_capacity;
	uint32_t *hidden = namespaces->hidden;

	if (hidden_have(namespaces, uid))
		return true;
	if (namespaces->hidden_len == capacity) {
		capacity = capacity ? 2 * capacity : 16;
		hidden = realloc(hidden, capacity * sizeof(*hidden));
		if (!hidden)
			return false;
		namespaces->hidden = hidden;
		namespaces->hidden_capacity = capacity;
	}
	hidden[namespaces->hidden_len++] = uid;
	return true;
}

/*
 * "NSpid:" has a number per namespace, from ours inwards. Only one: it is in ours,
 * which is not the one looked for.
 */
static bool status_is_of_our_namespace(const char *status)
{
	const char *line = strstr(status, "\nNSpid:");
	char rest[2];
	unsigned pid;

	return line && sscanf(line, "\nNSpid: %u%1[\n]", &pid, rest) == 2;
}

/*
 * All users it is or was: its real, effective, saved and filesystem one. The
 * owner of /proc/PID would be root for whoever cannot be traced.
 */
static bool hidden_add_users(
	struct ttm_namespaces *namespaces, const char *status)
{
	const char *line = strstr(status, "\nUid:");
	unsigned uids[4], i;

	if (!line ||
		sscanf(line, "\nUid: %u %u %u %u", &uids[0], &uids[1], &uids[2],
			&uids[3]) != 4)
		return false;
	for (i = 0; i < 4; i++)
		if (!hidden_add(namespaces, uids[i]))
			return false;
	return true;
}

static bool hidden_add_process(
	struct ttm_namespaces *namespaces, const char *name)
{
	char path[300], status[4096];
	struct stat st;
	size_t length;

	snprintf(path, sizeof(path), "/proc/%s/status", name);
	length = ttm_file_read(path, status, sizeof(status) - 1);
	status[length] = '\0';
	if (length > 0)
		return status_is_of_our_namespace(status) ||
			hidden_add_users(namespaces, status);
	/* It has ended, or /proc is mounted with hidepid=1. */
	snprintf(path, sizeof(path), "/proc/%s", name);
	return stat(path, &st) < 0 || hidden_add(namespaces, st.st_uid);
}

static bool process_look(struct ttm_namespaces *namespaces, const char *name)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s/ns/pid", name);
	if (stat(path, &st) == 0)
		return inodes_add(namespaces, st.st_ino);
	if (errno == ENOENT || errno == ESRCH)
		return true; /* it has ended */
	return hidden_add_process(namespaces, name);
}

void ttm_namespaces_look(struct ttm_namespaces *namespaces)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool good = proc != NULL, any = false;

	namespaces->inodes_len = 0;
	namespaces->hidden_len = 0;
	while (good && (entry = readdir(proc)) != NULL) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		good = process_look(namespaces, entry->d_name);
		any = true;
	}
	if (proc)
		closedir(proc);
	namespaces->known = good && any;
}

void ttm_namespaces_drop(struct ttm_namespaces *namespaces)
{
	free(namespaces->inodes);
	free(namespaces->hidden);
	memset(namespaces, 0, sizeof(*namespaces));
}

enum ttm_answer ttm_namespaces_have(
	const struct ttm_namespaces *namespaces, uint64_t inode, uint32_t uid)
{
	if (!namespaces->known)
		return TTM_CANNOT_TELL;
	if (inodes_have(namespaces, inode))
		return TTM_YES;
	return hidden_have(namespaces, uid) ? TTM_CANNOT_TELL : TTM_NO;
}

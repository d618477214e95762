/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/process.h"
#include "common/value.h"
#include "ttmem-dump/proc.h"

#define TEXT_SIZE 256u
#define DEPTH_MAX 1024

struct stranger {
	uint64_t pid;
	uint64_t start_time;
	char text[TEXT_SIZE];
};

struct run_watch {
	const char *base;
	const char *directory;
	struct stat st; /* of the base directory */
	bool shared;    /* all users can use it, and are served */
	struct stranger *strangers;
	size_t len;
};

/* -- who is a descendant ------------------------------------------------------------ */

struct process {
	uint64_t pid;
	uint64_t parent;
};

struct processes {
	struct process *rows;
	size_t len, room;
};

static int process_compare(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void process_add(void *context, uint64_t pid)
{
	struct processes *processes = context;
	char buffer[TTM_PROC_STAT_SIZE];
	const char *parent = ttm_proc_stat_field(pid, 4, buffer);
	struct process *rows;

	if (!parent)
		return;
	rows = ttm_list_grow(processes->rows, processes->len, &processes->room,
		sizeof(*rows));
	if (!rows)
		return;
	processes->rows = rows;
	processes->rows[processes->len].pid = pid;
	processes->rows[processes->len++].parent = strtoull(parent, NULL, 10);
}

static void processes_read(struct processes *ret_processes)
{
	memset(ret_processes, 0, sizeof(*ret_processes));
	dump_procs_each(process_add, ret_processes);
	if (ret_processes->len)
		qsort(ret_processes->rows, ret_processes->len,
			sizeof(struct process), process_compare);
}

static bool is_descendant(
	const struct processes *processes, const struct process *process)
{
	uint64_t self = (uint64_t)getpid();
	struct process key;
	int depth;

	for (depth = 0; process && depth < DEPTH_MAX; depth++) {
		if (process->parent == self)
			return true;
		key.pid = process->parent;
		process = bsearch(&key, processes->rows, processes->len,
			sizeof(key), process_compare);
	}
	return false;
}

/* -- who is a stranger -------------------------------------------------------------- */

/* The value, or NULL if it is unset, empty, or cannot be read. */
static const char *variable(
	uint64_t pid, const char *name, char value[static PATH_MAX])
{
	return dump_proc_environment(pid, name, value, PATH_MAX) == DUMP_YES &&
			*value ?
		value :
		NULL;
}

/* As the process sees the path, in its mount namespace. */
static const char *directory_judge(
	const struct run_watch *watch, uint64_t pid, const char *directory)
{
	char path[PATH_MAX + 64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%llu/root%s",
		(unsigned long long)pid, directory);
	if (stat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR ?
			"where the directory of this run does not exist" :
			NULL;
	return st.st_dev == watch->st.st_dev && st.st_ino == watch->st.st_ino ?
		NULL :
		"with another directory than that of this run";
}

/* Why ttmemd would not know of its events; NULL: there is no reason. */
static const char *reason_find(const struct run_watch *watch, uint64_t pid)
{
	char value[PATH_MAX];
	const char *enabled = variable(pid, "TTMEM_ENABLED", value);
	struct ttm_proc_facts facts;
	const char *directory;

	if (!enabled || strcmp(enabled, "1") != 0)
		return "without TTMEM_ENABLED=1 in its environment";
	directory = variable(pid, "TTMEM_DIR", value);
	if (!directory && watch->directory)
		return "without the TTMEM_DIR of this run in its environment";
	if (!watch->shared && ttm_proc_facts_read(pid, &facts) == 0 &&
		facts.uid != geteuid())
		return "as another user, who is not served here";
	return directory_judge(watch, pid, directory ? directory : watch->base);
}

static bool is_known(
	const struct run_watch *watch, uint64_t pid, uint64_t start_time)
{
	size_t i;

	for (i = 0; i < watch->len; i++)
		if (watch->strangers[i].pid == pid &&
			watch->strangers[i].start_time == start_time)
			return true;
	return false;
}

static void stranger_add(struct run_watch *watch, uint64_t pid,
	uint64_t start_time, const char *reason)
{
	struct stranger *grown = realloc(
		watch->strangers, (watch->len + 1) * sizeof(*grown));
	struct ttm_proc_facts facts = { .uid = 0 };

	if (!grown)
		return;
	ttm_proc_facts_read(pid, &facts);
	watch->strangers = grown;
	grown += watch->len++;
	grown->pid = pid;
	grown->start_time = start_time;
	snprintf(grown->text, sizeof(grown->text),
		"%s (pid %llu) has libttmem, but runs %s", facts.comm,
		(unsigned long long)pid, reason);
	ttm_error("%s", grown->text);
}

/*
 * A process in the middle of an exec or of its end has no environment and no root for a
 * moment, but then it has nothing mapped either. So the reason must be there before and
 * after the library was.
 */
static void process_look(struct run_watch *watch, uint64_t pid)
{
	uint64_t start_time = ttm_proc_start_time(pid);
	const char *reason;

	if (is_known(watch, pid, start_time) || !reason_find(watch, pid) ||
		dump_proc_has_library(pid, "/libttmem.so") != DUMP_YES)
		return;
	reason = reason_find(watch, pid);
	if (reason && dump_proc_has_library(pid, "/libttmem.so") == DUMP_YES &&
		dump_proc_is_gone(pid, start_time) == DUMP_NO)
		stranger_add(watch, pid, start_time, reason);
}

void run_watch_look(struct run_watch *watch)
{
	struct processes processes;
	size_t i;

	processes_read(&processes);
	for (i = 0; i < processes.len; i++)
		if (is_descendant(&processes, &processes.rows[i]))
			process_look(watch, processes.rows[i].pid);
	free(processes.rows);
}

/* -- all ---------------------------------------------------------------------------- */

/* Whether all users can enter all of the path, and make a directory at its end. */
static bool is_open_to_all(const char *path)
{
	char part[PATH_MAX];
	size_t length;
	struct stat st;

	for (length = 1; length <= strlen(path); length++) {
		if (path[length] && path[length] != '/')
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)length, path);
		if (stat(part, &st) < 0 || !(st.st_mode & S_IXOTH))
			return false;
	}
	return stat(path, &st) == 0 && (st.st_mode & S_IWOTH);
}

int run_watch_make(const char *base, const char *directory, bool system,
	struct run_watch **ret_watch)
{
	struct run_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	watch->base = base;
	watch->directory = directory;
	watch->shared = system && is_open_to_all(base);
	if (stat(base, &watch->st) < 0)
		memset(&watch->st, 0, sizeof(watch->st));
	*ret_watch = watch;
	return 0;
}

void run_watch_free(struct run_watch **watch)
{
	if (*watch)
		free((*watch)->strangers);
	free(*watch);
	*watch = NULL;
}

static bool has_reported(
	const struct ttmem_snapshot *snapshot, const struct stranger *stranger)
{
	const struct ttmem_process_row *p;
	size_t i;

	for (i = 0; i < ttmem_snapshot_processes_len(snapshot); i++) {
		p = ttmem_snapshot_process(snapshot, i);
		if (p->pid == stranger->pid &&
			p->start_time == stranger->start_time)
			return true;
	}
	return false;
}

void run_watch_tell(const struct run_watch *watch,
	const struct ttmem_snapshot *snapshot, dump_gap_tell *tell,
	void *context)
{
	size_t i;

	for (i = 0; watch && i < watch->len; i++)
		if (!has_reported(snapshot, &watch->strangers[i]))
			tell(context, watch->strangers[i].text);
}

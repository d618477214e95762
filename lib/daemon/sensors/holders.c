/* SPDX-License-Identifier: Apache-2.0 */
/* telemetry: sysfs -> [probe] -> report -> rows */
#include "daemon/sensors/holders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/find/proc.h"
#include "daemon/sensors/sysfs.h"
#include "shm/clock.h"
#include "shm/identity.h"

/* A pid per open file: a process that opens so many has lost control. */
#define FILE_SIZE_MAX (1u << 20)
#define FILE_SIZE_FIRST 4096u

/* -- the driver's list -------------------------------------------------------- */

/* All of it, whatever its size is; the caller's to free. */
static int list_read(const char *path, char **ret_bytes, size_t *ret_len)
{
	size_t size = FILE_SIZE_FIRST;
	char *bytes = NULL, *more;
	int r = -EMSGSIZE;

	for (; r == -EMSGSIZE && size <= FILE_SIZE_MAX; size *= 4) {
		more = realloc(bytes, size);
		if (!more) {
			r = -ENOMEM;
			break;
		}
		bytes = more;
		r = ttm_sysfs_bytes(AT_FDCWD, path, bytes, size, ret_len);
	}
	if (r < 0)
		free(bytes);
	else
		*ret_bytes = bytes;
	return r;
}

/* The next number, one per line; returns 1, 0 at the end, or -EBADMSG. */
static int pid_take(const char **at, const char *end, uint32_t *ret_pid)
{
	const char *begin = *at;
	uint32_t pid = 0;

	for (; *at < end && **at != '\n'; ++*at) {
		if (**at < '0' || **at > '9' || pid > INT32_MAX / 10)
			return -EBADMSG;
		pid = pid * 10 + (uint32_t)(**at - '0');
	}
	if (*at == begin)
		return *at == end ? 0 : -EBADMSG;
	if (*at < end)
		++*at;
	*ret_pid = pid;
	return 1;
}

static int pid_order(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return one < other ? -1 : one > other;
}

/* Each pid once, in order; those that are 0 are counted. */
static int pids_parse(const char *bytes, size_t len, uint32_t *pids,
	size_t *ret_len, uint64_t *ret_hidden)
{
	const char *at = bytes;
	size_t all = 0, n = 0, i;
	uint64_t hidden = 0;
	uint32_t pid;
	int r;

	while ((r = pid_take(&at, bytes + len, &pid)) > 0) {
		if (pid)
			pids[all++] = pid;
		else
			hidden++;
	}
	if (r < 0)
		return r;
	qsort(pids, all, sizeof(*pids), pid_order);
	for (i = 0; i < all; i++)
		if (!n || pids[n - 1] != pids[i])
			pids[n++] = pids[i];
	*ret_len = n;
	*ret_hidden = hidden;
	return 0;
}

/* -- who they are ------------------------------------------------------------- */

static uint32_t uid_read(uint32_t pid)
{
	char path[48], bytes[2048];
	unsigned uid = UINT32_MAX;
	const char *line;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	len = ttm_file_read(path, bytes, sizeof(bytes) - 1);
	bytes[len] = '\0';
	line = strstr(bytes, "\nUid:");
	if (line)
		sscanf(line, "\nUid: %u", &uid);
	return uid;
}

static void holder_describe(struct ttm_holder *holder)
{
	char path[48];
	size_t len;

	memset(holder->comm, 0, sizeof(holder->comm));
	memset(holder->cmdline, 0, sizeof(holder->cmdline));
	snprintf(path, sizeof(path), "/proc/%u/comm", holder->pid);
	len = ttm_file_read(path, holder->comm, sizeof(holder->comm));
	if (len && holder->comm[len - 1] == '\n')
		holder->comm[len - 1] = '\0';
	snprintf(path, sizeof(path), "/proc/%u/cmdline", holder->pid);
	ttm_file_read(path, holder->cmdline, sizeof(holder->cmdline));
	holder->uid = uid_read(holder->pid);
}

/* What was known about it, if it is the same process. */
static const struct ttm_holder *holder_find(
	const struct ttm_holders *holders, uint32_t pid, uint64_t start_time)
{
	size_t i;

	for (i = 0; i < holders->len && holders->items[i].pid <= pid; i++)
		if (holders->items[i].pid == pid)
			return holders->items[i].start_time == start_time ?
				&holders->items[i] :
				NULL;
	return NULL;
}

/* False: it has ended. */
static bool holder_fill(const struct ttm_holders *before, uint32_t pid,
	bool again, struct ttm_holder *ret_holder)
{
	uint64_t start_time = ttm_proc_start_time(pid);
	const struct ttm_holder *known;

	if (!start_time && ttm_proc_is_gone(pid))
		return false;
	known = holder_find(before, pid, start_time);
	if (known)
		*ret_holder = *known;
	else
		*ret_holder = (struct ttm_holder){ .pid = pid,
			.start_time = start_time,
			.seen_ns = ttm_clock_ns(CLOCK_MONOTONIC) };
	if (!known || again)
		holder_describe(ret_holder);
	return true;
}

static int holders_fill(struct ttm_holders *holders, const uint32_t *pids,
	size_t pids_len, bool again)
{
	struct ttm_holder *items = NULL;
	struct ttm_holder found;
	uint64_t unlisted = 0;
	size_t len = 0, i;

	if (pids_len) {
		items = calloc(
			pids_len < TTM_HOLDERS_MAX ? pids_len : TTM_HOLDERS_MAX,
			sizeof(*items));
		if (!items)
			return -ENOMEM;
	}
	for (i = 0; i < pids_len; i++) {
		if (len == TTM_HOLDERS_MAX)
			unlisted++;
		else if (holder_fill(holders, pids[i], again, &found))
			items[len++] = found;
	}
	free(holders->items);
	holders->items = items;
	holders->len = len;
	holders->unlisted = unlisted;
	return 0;
}

int ttm_holders_read(struct ttm_holders *holders, const char *path, bool again)
{
	uint32_t *pids = NULL;
	char *bytes = NULL;
	size_t len, pids_len;
	uint64_t hidden;
	int r = list_read(path, &bytes, &len);

	if (r == 0) {
		pids = malloc((len + 1) * sizeof(*pids));
		r = pids ? pids_parse(bytes, len, pids, &pids_len, &hidden) :
			   -ENOMEM;
	}
	if (r == 0)
		r = holders_fill(holders, pids, pids_len, again);
	if (r == 0)
		holders->hidden = hidden;
	else
		ttm_holders_drop(holders);
	free(bytes);
	free(pids);
	return r;
}

void ttm_holders_drop(struct ttm_holders *holders)
{
	free(holders->items);
	memset(holders, 0, sizeof(*holders));
}

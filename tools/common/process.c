/* SPDX-License-Identifier: Apache-2.0 */
#include "common/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/text.h"
#include "common/value.h"

#define CONTAINER_DIGITS 12u
#define PATH_SIZE 64u

/* Where a run of at least 32 hexadecimal digits starts, or NULL. */
static const char *long_hex_find(const char *text)
{
	size_t length;

	while (*text) {
		length = strspn(text, "0123456789abcdef");
		if (length >= 32)
			return text;
		text += length;
		text += *text != '\0';
	}
	return NULL;
}

const char *ttm_container_text(
	const char *cgroup, char *buffer, size_t buffer_size)
{
	const char *id, *slash;

	if (!cgroup) {
		snprintf(buffer, buffer_size, "-");
		return buffer;
	}
	id = long_hex_find(cgroup);
	if (id) {
		snprintf(
			buffer, buffer_size, "%.*s", (int)CONTAINER_DIGITS, id);
		return buffer;
	}
	slash = strrchr(cgroup, '/');
	if (slash && slash[1])
		cgroup = slash + 1;
	return ttm_text_escape(cgroup, buffer, buffer_size);
}

const char *ttm_command_text(const char *const *cmdline, uint64_t cmdline_len,
	const char *comm, char *buffer, size_t buffer_size)
{
	size_t length = 0;
	uint64_t i;

	if (cmdline_len == 0)
		return ttm_text_escape(comm ? comm : "-", buffer, buffer_size);
	for (i = 0; i < cmdline_len && length + 1 < buffer_size; i++) {
		if (i)
			buffer[length++] = ' ';
		ttm_text_escape(cmdline[i] ? cmdline[i] : "", buffer + length,
			buffer_size - length);
		length += strlen(buffer + length);
	}
	buffer[length] = '\0';
	return buffer;
}

const char *ttm_process_name(const struct ttmem_process_row *process,
	char buffer[static TTM_PROCESS_NAME_SIZE])
{
	char comm[TTM_VALUE_SIZE], pid[TTM_VALUE_SIZE];

	ttm_text_escape(process && process->comm ? process->comm : "?", comm,
		sizeof(comm));
	snprintf(buffer, TTM_PROCESS_NAME_SIZE, "%s[%.20s]", comm,
		ttm_count_text(process ? process->pid : TTMEM_UNKNOWN, pid));
	return buffer;
}

const char *ttm_proc_stat_field(
	uint64_t pid, int number, char buffer[static TTM_PROC_STAT_SIZE])
{
	char path[PATH_SIZE];
	size_t length;
	FILE *file;
	char *at;
	int field;

	snprintf(
		path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	length = fread(buffer, 1, TTM_PROC_STAT_SIZE - 1, file);
	fclose(file);
	buffer[length] = '\0';
	/* Counted behind the name, which may hold any byte. */
	at = strrchr(buffer, ')');
	for (field = 2; at && field < number; field++) {
		at = strchr(at, ' ');
		if (at)
			at++;
	}
	return at;
}

uint64_t ttm_proc_start_time(uint64_t pid)
{
	char buffer[TTM_PROC_STAT_SIZE];
	const char *field = ttm_proc_stat_field(pid, 22, buffer);

	return field ? strtoull(field, NULL, 10) : 0;
}

/* Returns how many bytes were read; what follows them is a NUL. */
static size_t proc_file_read(
	uint64_t pid, const char *name, char *buffer, size_t buffer_size)
{
	char path[PATH_SIZE];
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%llu/%s", (unsigned long long)pid,
		name);
	file = fopen(path, "re");
	length = file ? fread(buffer, 1, buffer_size - 1, file) : 0;
	if (file)
		fclose(file);
	buffer[length] = '\0';
	return length;
}

static void command_read(uint64_t pid, struct ttm_proc_facts *facts)
{
	char text[sizeof(facts->command)];
	size_t length = proc_file_read(pid, "cmdline", text, sizeof(text)), i;

	while (length && text[length - 1] == '\0')
		length--;
	for (i = 0; i < length; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	if (length)
		ttm_text_escape(text, facts->command, sizeof(facts->command));
	else
		snprintf(facts->command, sizeof(facts->command), "%s",
			facts->comm);
}

int ttm_proc_facts_read(uint64_t pid, struct ttm_proc_facts *ret_facts)
{
	struct ttm_proc_facts facts = { .start_time = ttm_proc_start_time(
						pid) };
	char status[1024], comm[32];
	unsigned long long uid;
	const char *line;

	proc_file_read(pid, "status", status, sizeof(status));
	line = strstr(status, "\nUid:");
	if (!facts.start_time || !line ||
		sscanf(line, "\nUid: %*u %llu", &uid) != 1 ||
		!proc_file_read(pid, "comm", comm, sizeof(comm)))
		return -ESRCH;
	facts.uid = uid;
	comm[strcspn(comm, "\n")] = '\0';
	ttm_text_escape(comm, facts.comm, sizeof(facts.comm));
	command_read(pid, &facts);
	*ret_facts = facts;
	return 0;
}

uint64_t ttm_proc_pid_namespace(uint64_t pid)
{
	char path[PATH_SIZE];
	struct stat st;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%llu/ns/pid",
			(unsigned long long)pid);
	else
		snprintf(path, sizeof(path), "/proc/self/ns/pid");
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

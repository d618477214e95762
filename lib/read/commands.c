/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include "read/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/directory.h"
#include "shm/identity.h"
#include "shm/layout.h"
#include "shm/retired.h"
#include "shm/text.h"

#define COMMAND_SIZE sizeof(((struct ttm_process_row *)NULL)->cmdline)

static int command_compare(const void *a, const void *b)
{
	const struct ttm_command *x = a, *y = b;
	int order = memcmp(x->uuid, y->uuid, sizeof(x->uuid));

	return order ? order : (x->self > y->self) - (x->self < y->self);
}

/* The first that is not before `key`. */
static size_t command_lower_bound(
	const struct ttm_commands *commands, const struct ttm_command *key)
{
	size_t from = 0, to = commands->len;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (command_compare(&commands->items[middle], key) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static struct ttm_command *command_find(
	const struct ttm_commands *commands, const struct ttm_command *key)
{
	size_t at = command_lower_bound(commands, key);

	return at < commands->len &&
			command_compare(&commands->items[at], key) == 0 ?
		&commands->items[at] :
		NULL;
}

static void key_set(struct ttm_command *key, const struct ttm_process_row *row)
{
	memset(key, 0, sizeof(*key));
	memcpy(key->uuid, row->uuid, sizeof(key->uuid));
	key->self = row->self;
}

const struct ttm_command *ttm_commands_find(
	const struct ttm_commands *commands, const struct ttm_process_row *row)
{
	const struct ttm_command *found;
	struct ttm_command key;

	key_set(&key, row);
	found = command_find(commands, &key);
	return found && found->bytes ? found : NULL;
}

void ttm_commands_free(struct ttm_commands *commands)
{
	size_t i;

	for (i = 0; i < commands->len; i++)
		free(commands->items[i].bytes);
	free(commands->items);
	memset(commands, 0, sizeof(*commands));
}

static void command_set(
	struct ttm_command *command, const char *bytes, size_t size)
{
	if (size == 0 || command->bytes)
		return;
	command->bytes = malloc(size);
	if (!command->bytes)
		return; /* the name is shown, and the next snapshot tries again */
	memcpy(command->bytes, bytes, size);
	command->size = size;
	command->is_final = true;
}

/* -- processes that live ------------------------------------------------------- */

static void proc_path(
	char *ret_path, size_t size, uint32_t pid, const char *name)
{
	struct ttm_text text;

	ttm_text_init(&text, ret_path, size);
	ttm_text_add(&text, "/proc/");
	ttm_text_add_decimal(&text, pid);
	ttm_text_add(&text, name);
}

size_t ttm_command_of_pid(
	uint32_t pid, uint64_t start_time, char *ret_bytes, size_t size)
{
	char path[48];
	size_t length;

	if (start_time == 0)
		return 0;
	proc_path(path, sizeof(path), pid, "/cmdline");
	length = ttm_file_read(path, ret_bytes, size);
	/* After it: one that has this start time now had the pid before, too. */
	proc_path(path, sizeof(path), pid, "/stat");
	return length && ttm_start_time_read(path) == start_time ? length : 0;
}

/*
 * From the segment: of a process in another pid namespace /proc has another number.
 * Our own is left alone: closing it would drop the lock that says we are alive.
 */
static void segment_look(int directory, const struct ttm_process_row *row,
	struct ttm_command *command)
{
	struct ttm_header_const header;
	char name[128];
	struct ttm_text text;
	uint64_t random;
	int fd;

	if (row->pid == (uint32_t)getpid())
		return;
	memcpy(&random, row->uuid, sizeof(random));
	ttm_text_init(&text, name, sizeof(name));
	ttm_text_add(&text, TTM_SEGMENT_PREFIX);
	ttm_text_add_decimal(&text, row->pid);
	ttm_text_add(&text, ".");
	ttm_text_add_decimal(&text, row->start_time);
	ttm_text_add(&text, ".");
	ttm_text_add_hex(&text, random, 16);
	fd = openat(directory, name,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
		header.magic == TTM_SEGMENT_MAGIC &&
		memcmp(header.uuid, row->uuid, sizeof(header.uuid)) == 0)
		command_set(command, header.cmdline, sizeof(header.cmdline));
	close(fd);
}

/* -- dead processes ------------------------------------------------------------ */

/* What an entry of the file `retired` starts with. */
struct retired_start {
	struct ttm_retired_head head;
	struct ttm_process_row process;
};

static void retired_take(struct ttm_commands *commands, uint64_t directory,
	const struct ttm_process_row *row)
{
	struct ttm_command key, *command;
	size_t i;

	key_set(&key, row);
	key.self = 0;
	for (i = command_lower_bound(commands, &key); i < commands->len; i++) {
		command = &commands->items[i];
		if (memcmp(command->uuid, key.uuid, sizeof(key.uuid)) != 0)
			break;
		if (command->directory == directory && command->is_dead)
			command_set(command, row->cmdline, COMMAND_SIZE);
	}
}

/* Reads `retired`; the owner of the file may have changed any value in it. */
static void retired_look(
	struct ttm_commands *commands, uint64_t directory, int directory_fd)
{
	struct retired_start start;
	struct stat st;
	uint64_t off = 0;
	int fd = openat(directory_fd, TTM_RETIRED_FILE,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return;
	while (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		(uint64_t)st.st_size <= TTM_RETIRED_SIZE_MAX &&
		pread(fd, &start, sizeof(start), (off_t)off) ==
			(ssize_t)sizeof(start) &&
		start.head.magic == TTM_RETIRED_MAGIC &&
		start.head.version == TTM_RETIRED_VERSION &&
		start.head.size >= sizeof(start) &&
		start.head.size <= TTM_RETIRED_SIZE_MAX) {
		if (start.head.kind == TTM_RETIRED_PROCESS)
			retired_take(commands, directory, &start.process);
		off += start.head.size;
	}
	close(fd);
}

/* -- a directory --------------------------------------------------------------- */

/*
 * The directory of a row, if the caller may enter it and it is the same: ttmemd may
 * see other directories than we do.
 */
static int row_directory_open(const struct ttm_directory_row *row)
{
	char path[TTM_AGGREGATE_PATH_SIZE + 1] = "";
	struct stat st;
	int fd;

	memcpy(path, row->path, sizeof(row->path));
	if (path[0] != '/')
		return -EINVAL;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_dev == row->device &&
		st.st_ino == row->inode)
		return fd;
	close(fd);
	return -ESTALE;
}

static const struct ttm_process_row *process_at(
	const struct ttm_view_copy *copy, size_t i)
{
	return (const void *)((const char *)copy->rows[TTM_TABLE_PROCESSES] +
		i * copy->stride[TTM_TABLE_PROCESSES]);
}

static void segments_look(struct ttm_commands *commands,
	const struct ttm_view_copy *copy, uint64_t directory, int directory_fd)
{
	const struct ttm_process_row *row;
	struct ttm_command *command;
	size_t i;

	for (i = 0; i < commands->len; i++) {
		command = &commands->items[i];
		if (command->directory != directory || command->is_dead ||
			command->is_final)
			continue;
		row = ttm_view_row(copy, TTM_TABLE_PROCESSES, command->self);
		if (row)
			segment_look(directory_fd, row, command);
		command->is_final = true;
	}
}

static void directory_look(struct ttm_commands *commands,
	const struct ttm_view_copy *copy, uint64_t directory)
{
	const struct ttm_directory_row *row = ttm_view_row(
		copy, TTM_TABLE_DIRECTORIES, directory);
	int fd = row ? row_directory_open(row) : -ENOENT;
	size_t i;

	if (fd >= 0) {
		segments_look(commands, copy, directory, fd);
		retired_look(commands, directory, fd);
		close(fd);
	}
	for (i = 0; i < commands->len; i++)
		if (commands->items[i].directory == directory)
			commands->items[i].is_final = true;
}

/* -- all ----------------------------------------------------------------------- */

static bool row_wants_command(const struct ttm_process_row *row, size_t i)
{
	return row->self && TTM_REF_INDEX(row->self) == i &&
		row->cmdline[0] == '\0';
}

/* What is known of it goes from `before` to the new one. */
static void command_begin(struct ttm_command *command,
	const struct ttm_process_row *row, const struct ttm_commands *before)
{
	struct ttm_command *known;

	key_set(command, row);
	command->directory = row->directory;
	command->is_dead = row->state == TTM_PROCESS_EXITED ||
		row->state == TTM_PROCESS_DIED;
	known = command_find(before, command);
	/* When it has died, who could see it in /proc may know no more. */
	if (!known || known->is_dead != command->is_dead)
		return;
	command->is_final = known->is_final;
	command->size = known->size;
	command->bytes = known->bytes;
	known->bytes = NULL;
}

static void proc_look(struct ttm_command *command,
	const struct ttm_process_row *row, uint64_t pid_namespace)
{
	char bytes[COMMAND_SIZE];

	if (command->is_dead || command->is_final || pid_namespace == 0 ||
		row->pid_namespace != pid_namespace)
		return;
	command_set(command, bytes,
		ttm_command_of_pid(
			row->pid, row->start_time, bytes, sizeof(bytes)));
}

int ttm_commands_update(
	struct ttm_commands *commands, const struct ttm_view_copy *copy)
{
	size_t rows = copy->len[TTM_TABLE_PROCESSES], i;
	uint64_t pid_namespace = ttm_pid_namespace_read();
	struct ttm_commands fresh = { NULL, 0 };

	fresh.items = calloc(rows + 1, sizeof(*fresh.items));
	if (!fresh.items)
		return -ENOMEM;
	for (i = 0; i < rows; i++) {
		const struct ttm_process_row *row = process_at(copy, i);
		struct ttm_command *command = &fresh.items[fresh.len];

		if (!row_wants_command(row, i))
			continue;
		command_begin(command, row, commands);
		proc_look(command, row, pid_namespace);
		fresh.len++;
	}
	ttm_commands_free(commands);
	*commands = fresh;
	if (fresh.len)
		qsort(fresh.items, fresh.len, sizeof(*fresh.items),
			command_compare);
	for (i = 0; i < fresh.len; i++)
		if (!fresh.items[i].is_final)
			directory_look(
				commands, copy, fresh.items[i].directory);
	return 0;
}

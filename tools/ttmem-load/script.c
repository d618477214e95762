/* SPDX-License-Identifier: Apache-2.0 */
#include "script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "script_parse.h"
#include "worker.h"

#define LINE_MAX_SIZE 4096u
/* A script on stdin may fork so often; a file says how often it does. */
#define STREAM_PROCESSES 1024u

struct load_script {
	const char *path;
	int fd; /* -1: read to its end */
	unsigned line;
	/*
	 * Not stdio: a forked process that exits would move the file position
	 * of a stdin that it shares with us.
	 */
	char buffer[LINE_MAX_SIZE];
	size_t buffer_len;
	bool ended;
	struct script_names names;
	struct script_command *commands;
	size_t commands_len;
	size_t commands_max;
	size_t forks;
};

void script_fail(const struct load_script *script, unsigned line,
	const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	ttm_error("%s:%u: %s",
		strcmp(script->path, "-") == 0 ? "stdin" : script->path, line,
		text);
	exit(TTM_EXIT_USAGE);
}

/* Copies the next line, without its end. False at the end of the script. */
static bool line_read(struct load_script *script, char ret_line[LINE_MAX_SIZE])
{
	char *end;
	size_t length;
	ssize_t got;

	while (!(end = memchr(script->buffer, '\n', script->buffer_len)) &&
		!script->ended) {
		if (script->buffer_len == sizeof(script->buffer))
			script_fail(script, script->line + 1,
				"a line of 4096 bytes or more");
		got = read(script->fd, script->buffer + script->buffer_len,
			sizeof(script->buffer) - script->buffer_len);
		if (got < 0 && errno != EINTR)
			script_fail(script, script->line + 1, "%s",
				strerror(errno));
		script->ended = got == 0;
		script->buffer_len += got > 0 ? (size_t)got : 0;
	}
	if (script->buffer_len == 0)
		return false;
	length = end ? (size_t)(end - script->buffer) : script->buffer_len;
	script->line++;
	if (memchr(script->buffer, '\0', length) || length >= LINE_MAX_SIZE)
		script_fail(script, script->line, "not text");
	memcpy(ret_line, script->buffer, length);
	ret_line[length] = '\0';
	length += end != NULL;
	script->buffer_len -= length;
	memmove(script->buffer, script->buffer + length, script->buffer_len);
	return true;
}

static struct script_command *command_new(struct load_script *script)
{
	if (script->commands_len == script->commands_max) {
		script->commands_max = script->commands_max * 2 + 64;
		script->commands = realloc(script->commands,
			script->commands_max * sizeof(script->commands[0]));
		if (!script->commands)
			script_fail(script, script->line, "no memory");
	}
	return &script->commands[script->commands_len];
}

/* Reads on until there is one command more; false at the end. */
static bool command_read(struct load_script *script)
{
	char line[LINE_MAX_SIZE];
	char *words[SCRIPT_WORDS_MAX];
	struct script_command *command;
	const char *why = NULL;
	int words_len;

	while (line_read(script, line)) {
		words_len = script_words(line, words, &why);
		if (words_len < 0)
			script_fail(script, script->line, "%s", why);
		if (words_len == 0)
			continue;
		command = command_new(script);
		script_command_parse(script, &script->names, script->line,
			words, words_len, command);
		script->forks += strcmp(command->verb->name, script_fork) == 0;
		script->commands_len++;
		return true;
	}
	return false;
}

const struct script_command *script_at(struct load_script *script, size_t at)
{
	while (at >= script->commands_len)
		if (!command_read(script))
			return NULL;
	return &script->commands[at];
}

/* Every fork has its end, and the other way round. */
static void blocks_check(const struct load_script *script)
{
	unsigned forks[64];
	size_t depth = 0, i;

	for (i = 0; i < script->commands_len; i++) {
		const struct script_command *c = &script->commands[i];

		if (strcmp(c->verb->name, script_fork) == 0) {
			if (depth == sizeof(forks) / sizeof(forks[0]))
				script_fail(script, c->line, "forks too deep");
			forks[depth++] = c->line;
		} else if (strcmp(c->verb->name, script_end) == 0 &&
			depth-- == 0) {
			script_fail(script, c->line, "an end without a fork");
		}
	}
	if (depth)
		script_fail(script, forks[depth - 1], "a fork without an end");
}

struct load_script *load_script_read(const char *path)
{
	struct load_script *script = load_memory(1, sizeof(*script));

	script->path = path;
	if (strcmp(path, "-") == 0) {
		script->fd = STDIN_FILENO;
		return script;
	}
	script->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (script->fd < 0) {
		ttm_error("%s: %s", path, strerror(errno));
		exit(TTM_EXIT_USAGE);
	}
	while (command_read(script))
		;
	blocks_check(script);
	close(script->fd);
	return script;
}

void load_script_free(struct load_script **script)
{
	struct load_script *s = *script;
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->commands_len; i++) {
		free(s->commands[i].text);
		free(s->commands[i].devices);
	}
	for (i = 0; i < s->names.len; i++)
		free(s->names.names[i]);
	for (i = 0; i < s->names.cores_len; i++) {
		free(s->names.cores[i]->name);
		free(s->names.cores[i]->ranges);
		free(s->names.cores[i]);
	}
	free(s->names.names);
	free(s->names.cores);
	free(s->commands);
	free(s);
	*script = NULL;
}

size_t load_script_processes(const struct load_script *script)
{
	return strcmp(script->path, "-") == 0 ? STREAM_PROCESSES :
						script->forks + 1;
}

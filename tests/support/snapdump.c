/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what the reader library sees, for tests in Python: one JSON document, or
 * one per line for as long as asked. Exit status 0, or 3 when there are no figures
 * (the reason goes to stderr).
 *
 *   snapdump DIR [--objects] [--histories] [--distributions] [--system]
 *                [--watch COUNT]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ttmem/reader.h>

struct wish {
	struct ttmem_reader_config config;
	uint32_t flags;
	unsigned long count;
};

static int wish_parse(int argc, char **argv, struct wish *wish)
{
	int i;

	memset(wish, 0, sizeof(*wish));
	wish->config.size = sizeof(wish->config);
	wish->count = 1;
	if (argc < 2)
		return -1;
	wish->config.dir = argv[1];
	for (i = 2; i < argc; i++) {
		if (strcmp(argv[i], "--objects") == 0)
			wish->flags |= TTMEM_SNAPSHOT_OBJECTS;
		else if (strcmp(argv[i], "--histories") == 0)
			wish->flags |= TTMEM_SNAPSHOT_HISTORIES;
		else if (strcmp(argv[i], "--distributions") == 0)
			wish->flags |= TTMEM_SNAPSHOT_DISTRIBUTIONS;
		else if (strcmp(argv[i], "--system") == 0)
			wish->config.flags |= TTMEM_READER_SYSTEM;
		else if (strcmp(argv[i], "--watch") == 0 && i + 1 < argc)
			wish->count = strtoul(argv[++i], NULL, 10);
		else
			return -1;
	}
	return 0;
}

static int status_tell(struct ttmem_reader *reader, int error)
{
	struct ttmem_reader_status status = { .size = sizeof(status) };

	if (ttmem_reader_status(reader, &status) == 0)
		fprintf(stderr, "%s: %s (%s)\n",
			ttmem_name(TTMEM_NAMES_SOURCE, status.state),
			status.reason, strerror(-error));
	return 3;
}

int main(int argc, char **argv)
{
	struct ttmem_reader *reader = NULL;
	struct ttmem_snapshot *snapshot = NULL;
	struct wish wish;
	int r, status = 0;

	if (wish_parse(argc, argv, &wish) < 0)
		return 2;
	r = ttmem_reader_open(&wish.config, &reader);
	if (r < 0) {
		fprintf(stderr, "%s\n", strerror(-r));
		return 1;
	}
	while (wish.count-- && !status) {
		r = ttmem_reader_snapshot(reader, wish.flags, &snapshot);
		if (r == -EAGAIN)
			continue;
		if (r < 0)
			status = status_tell(reader, r);
		else if (ttmem_snapshot_write_file(snapshot, stdout) < 0)
			status = 1;
		ttmem_snapshot_free(&snapshot);
	}
	ttmem_reader_close(&reader);
	return status;
}

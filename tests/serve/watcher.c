/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes snapshots in a tight loop until it gets SIGTERM, by turns with objects, with
 * histories and distributions, and with neither, and fails at the first that cannot
 * be. Then tells how many there were, as JSON.
 *
 *   watcher DIR [--objects] [--stale-ms MS]
 *
 * --objects: with objects each time.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watcher.h"

#define SOURCES 16

struct counts {
	uint64_t snapshots;
	uint64_t consistent;
	uint64_t moving;
	uint64_t again;  /* -EAGAIN */
	uint64_t nodata; /* -ENODATA */
	uint64_t files;  /* another uuid than before */
	uint64_t publications;
	uint64_t objects_most;
	uint64_t sources[SOURCES];
	uint64_t publication; /* the last one */
	uint8_t uuid[16];
};

static volatile sig_atomic_t stop;

static void stop_handle(int number)
{
	(void)number;
	stop = 1;
}

_Noreturn void watcher_fail(
	const struct ttmem_snapshot *snapshot, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	if (snapshot)
		ttmem_snapshot_write_file(snapshot, stdout);
	exit(1);
}

static void snapshot_count(
	struct counts *counts, const struct ttmem_snapshot *snapshot)
{
	const struct ttmem_info_row *info = ttmem_snapshot_info(snapshot);

	counts->snapshots++;
	if (info->objects_listed == 1) {
		if (info->objects_consistent == 1)
			counts->consistent++;
		else
			counts->moving++;
	}
	if (info->source < SOURCES)
		counts->sources[info->source]++;
	if (info->publication != counts->publication)
		counts->publications++;
	if (memcmp(counts->uuid, info->uuid, 16) != 0)
		counts->files++;
	if (info->objects_used > counts->objects_most)
		counts->objects_most = info->objects_used;
	counts->publication = info->publication;
	memcpy(counts->uuid, info->uuid, 16);
}

static void counts_print(const struct counts *counts)
{
	unsigned i;

	printf("{\"snapshots\":%" PRIu64 ",\"consistent\":%" PRIu64
	       ",\"moving\":%" PRIu64 ",\"again\":%" PRIu64
	       ",\"nodata\":%" PRIu64 ",\"files\":%" PRIu64
	       ",\"publications\":%" PRIu64 ",\"objects_most\":%" PRIu64,
		counts->snapshots, counts->consistent, counts->moving,
		counts->again, counts->nodata, counts->files,
		counts->publications, counts->objects_most);
	for (i = 0; i < SOURCES; i++)
		if (counts->sources[i])
			printf(",\"%s\":%" PRIu64,
				ttmem_name(TTMEM_NAMES_SOURCE, i),
				counts->sources[i]);
	printf("}\n");
}

static uint32_t flags_of(uint64_t turn, bool objects)
{
	if (objects || turn % 3 == 0)
		return TTMEM_SNAPSHOT_OBJECTS;
	if (turn % 3 == 1)
		return TTMEM_SNAPSHOT_HISTORIES | TTMEM_SNAPSHOT_DISTRIBUTIONS;
	return 0;
}

static void watch(struct ttmem_reader *reader, bool objects)
{
	struct story *story = story_new();
	struct ttmem_snapshot *snapshot = NULL;
	struct counts counts = { 0 };
	uint64_t turn;
	int r;

	for (turn = 0; !stop; turn++) {
		r = ttmem_reader_snapshot(
			reader, flags_of(turn, objects), &snapshot);
		if (r == -EAGAIN) {
			counts.again++;
			continue;
		}
		if (r == -ENODATA && !counts.snapshots) {
			counts.nodata++;
			continue;
		}
		if (r < 0)
			watcher_fail(NULL, "no snapshot after %" PRIu64 ": %s",
				counts.snapshots, strerror(-r));
		snapshot_count(&counts, snapshot);
		moment_check(snapshot);
		story_check(story, snapshot);
		ttmem_snapshot_free(&snapshot);
	}
	counts_print(&counts);
	story_free(story);
}

int main(int argc, char **argv)
{
	struct ttmem_reader_config config = { .size = sizeof(config) };
	struct sigaction action = { .sa_handler = stop_handle };
	struct ttmem_reader *reader;
	bool objects = false;
	int i, r;

	if (argc < 2)
		return 2;
	config.dir = argv[1];
	for (i = 2; i < argc; i++) {
		if (strcmp(argv[i], "--objects") == 0)
			objects = true;
		else if (strcmp(argv[i], "--stale-ms") == 0 && i + 1 < argc)
			config.stale_ns = strtoull(argv[++i], NULL, 10) *
				1000000u;
		else
			return 2;
	}
	sigaction(SIGTERM, &action, NULL);
	r = ttmem_reader_open(&config, &reader);
	if (r < 0)
		watcher_fail(NULL, "cannot read: %s", strerror(-r));
	watch(reader, objects);
	ttmem_reader_close(&reader);
	return 0;
}

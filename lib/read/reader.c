/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ttmem/reader.h>

#include "read/acked.h"
#include "read/commands.h"
#include "read/convert.h"
#include "read/search.h"
#include "read/snapshot.h"
#include "shm/clock.h"
#include "shm/identity.h"

#define STALE_NS 5000000000ull
#define FLAGS_KNOWN                                                            \
	(TTMEM_SNAPSHOT_OBJECTS | TTMEM_SNAPSHOT_HISTORIES |                   \
		TTMEM_SNAPSHOT_DISTRIBUTIONS)

struct ttmem_reader {
	struct ttm_search search;
	struct ttm_found found;
	struct ttm_commands commands;
};

static int path_keep(const char *path, char *to, size_t size)
{
	if (!path)
		return 0;
	if (path[0] != '/')
		return -EINVAL; /* it would mean another one after a chdir */
	if (strlen(path) >= size)
		return -ENAMETOOLONG;
	memcpy(to, path, strlen(path) + 1);
	return 0;
}

static int search_configure(
	struct ttm_search *search, const struct ttmem_reader_config *config)
{
	int r;

	search->stale_ns = STALE_NS;
	if (!config)
		return 0;
	if (config->size != sizeof(*config) ||
		(config->flags & ~TTMEM_READER_SYSTEM) || config->reserved)
		return -EINVAL;
	search->system_only = config->flags & TTMEM_READER_SYSTEM;
	if (config->stale_ns)
		search->stale_ns = config->stale_ns;
	r = path_keep(config->dir, search->dir, sizeof(search->dir));
	if (r == 0)
		r = path_keep(config->path, search->file, sizeof(search->file));
	return r;
}

int ttmem_reader_open(const struct ttmem_reader_config *config,
	struct ttmem_reader **ret_reader)
{
	struct ttmem_reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return -ENOMEM;
	r = search_configure(&reader->search, config);
	if (r < 0) {
		free(reader);
		return r;
	}
	*ret_reader = reader;
	return 0;
}

void ttmem_reader_close(struct ttmem_reader **reader)
{
	if (!reader || !*reader)
		return;
	ttm_found_clear(&(*reader)->found);
	ttm_commands_free(&(*reader)->commands);
	free(*reader);
	*reader = NULL;
}

/* -- what it is worth ---------------------------------------------------------------- */

static bool has_figures(const struct ttm_found *found)
{
	return found->view &&
		(found->source == TTMEM_SOURCE_OK ||
			found->source == TTMEM_SOURCE_STALE ||
			found->source == TTMEM_SOURCE_DEAD ||
			found->source == TTMEM_SOURCE_NOT_SERVING);
}

/* A time of the future is one of now: it was read a moment later. */
static uint64_t age_of(uint64_t now_ns, uint64_t seen_ns)
{
	if (seen_ns == 0)
		return TTMEM_UNKNOWN;
	return now_ns > seen_ns ? now_ns - seen_ns : 0;
}

static void reason_write(
	const struct ttm_found *found, uint64_t age_ns, char *to, size_t size)
{
	const char *error = strerrordesc_np(-found->error);
	uint64_t age_s = age_ns / 1000000000u;

	if (!error)
		error = "unknown error";
	switch (found->source) {
	case TTMEM_SOURCE_OK:
		snprintf(to, size, "ttmemd is running");
		break;
	case TTMEM_SOURCE_NO_BASE:
		snprintf(to, size, "no usable base directory: %s", error);
		break;
	case TTMEM_SOURCE_NO_PERMISSION:
		snprintf(to, size, "the aggregate may not be read: %s", error);
		break;
	case TTMEM_SOURCE_NEVER_STARTED:
		snprintf(to, size,
			found->error == -ENODATA ?
				"ttmemd runs but has published nothing yet" :
				"ttmemd was never started here");
		break;
	case TTMEM_SOURCE_DEAD:
		snprintf(to, size,
			"ttmemd is gone: figures are %" PRIu64 " s old", age_s);
		break;
	case TTMEM_SOURCE_STALE:
		snprintf(to, size,
			"ttmemd does not move: figures are %" PRIu64 " s old",
			age_s);
		break;
	case TTMEM_SOURCE_NOT_SERVING:
		snprintf(to, size,
			"ttmemd runs but does not serve %zu of %zu"
			" directories of this user",
			found->own_len - found->served, found->own_len);
		break;
	case TTMEM_SOURCE_VERSION:
		snprintf(to, size,
			"the aggregate is of another version of"
			" ttmemd");
		break;
	case TTMEM_SOURCE_BROKEN:
		snprintf(to, size, "the aggregate cannot be understood: %s",
			error);
		break;
	}
}

static void status_fill(
	struct ttm_found *found, struct ttmem_reader_status *status)
{
	struct ttm_view_copy copy;

	status->state = (uint32_t)found->source;
	status->error = found->error;
	status->age_ns = TTMEM_UNKNOWN;
	status->publication = TTMEM_UNKNOWN;
	status->pid = TTMEM_UNKNOWN;
	status->directories = found->own_len;
	status->served = found->served;
	snprintf(status->path, sizeof(status->path), "%s", found->path);
	if (has_figures(found)) {
		status->age_ns = age_of(
			ttm_clock_ns(CLOCK_MONOTONIC), found->seen_ns);
		status->pid = ttm_view_header(found->view)->pid;
		if (ttm_view_read(found->view, 0, &copy) == 0)
			status->publication = copy.copy.publication;
	}
	reason_write(found,
		status->age_ns == TTMEM_UNKNOWN ? 0 : status->age_ns,
		status->reason, sizeof(status->reason));
}

int ttmem_reader_status(
	struct ttmem_reader *reader, struct ttmem_reader_status *ret_status)
{
	struct ttmem_reader_status status;
	int r;

	if (!reader || !ret_status || ret_status->size != sizeof(*ret_status))
		return -EINVAL;
	r = ttm_search_look(&reader->search, &reader->found);
	if (r < 0)
		return r;
	memset(&status, 0, sizeof(status));
	status.size = sizeof(status);
	status_fill(&reader->found, &status);
	*ret_status = status;
	return 0;
}

/* -- snapshots ------------------------------------------------------------------------- */

#define FROM_OWN(name)
#define FROM_SAME(name) to->name = row->name;
#define FROM_SOME(name) to->name = row->name ? row->name : TTMEM_UNKNOWN;
#define FROM_NAMED(name) to->name = row->name;
#define FROM_COPY(name) memcpy(to->name, row->name, sizeof(to->name));
#define FIELD(kind, name, from, of) FROM_##from(name)

static int info_fill(const struct ttm_found *found,
	const struct ttm_view_copy *copy, uint64_t taken_ns,
	struct ttmem_snapshot *snapshot)
{
	const struct ttm_aggregate_const *row = ttm_view_header(found->view);
	struct ttmem_info_row *to = ttm_snapshot_info(snapshot);
	uint64_t seen_ns = found->seen_ns;

#include "read/info.def"
	to->source = found->source;
	to->error = found->error;
	to->publication = copy->copy.publication;
	to->monotonic_ns = copy->copy.monotonic_ns;
	to->realtime_ns = copy->copy.realtime_ns;
	to->objects_used = copy->copy.objects_used;
	to->taken_ns = taken_ns;
	if (seen_ns < copy->copy.monotonic_ns)
		seen_ns = copy->copy.monotonic_ns;
	to->age_ns = age_of(to->taken_ns, seen_ns);
	to->version = ttm_pool_text(
		&snapshot->pool, row->version_text, sizeof(row->version_text));
	to->path = ttm_pool_text(
		&snapshot->pool, found->path, sizeof(found->path));
	return to->version && to->path ? 0 : -ENOMEM;
}

static void own_mark(
	const struct ttm_found *found, struct ttmem_snapshot *snapshot)
{
	struct ttmem_directory_row
		*row = snapshot->tables[TTM_RECORD_DIRECTORIES].rows;
	size_t i;

	for (i = 0; i < snapshot->tables[TTM_RECORD_DIRECTORIES].len; i++)
		row[i].own = ttm_found_is_own(
			found, row[i].device, row[i].inode);
}

/* What one reading brought, before it is turned into a snapshot. */
struct reading {
	struct ttm_view_copy copy;
	struct ttm_object_row *objects;
	size_t objects_len;
	bool consistent;
};

static int reading_take(
	struct ttm_found *found, uint32_t flags, struct reading *ret_reading)
{
	uint64_t tables = ttm_convert_tables(flags);

	memset(ret_reading, 0, sizeof(*ret_reading));
	if (!(flags & TTMEM_SNAPSHOT_OBJECTS))
		return ttm_view_read(found->view, tables, &ret_reading->copy);
	return ttm_view_read_objects(found->view, tables, &ret_reading->copy,
		&ret_reading->objects, &ret_reading->objects_len,
		&ret_reading->consistent);
}

static int reading_convert(const struct ttmem_reader *reader, uint32_t flags,
	const struct reading *reading, struct ttmem_snapshot *snapshot)
{
	const struct ttm_found *found = &reader->found;
	struct ttm_convert c = {
		.copy = &reading->copy,
		.snapshot = snapshot,
		.commands = &reader->commands,
		.same_pids = ttm_view_header(found->view)->pid_namespace ==
			ttm_pid_namespace_read(),
		.taken_ns = ttm_clock_ns(CLOCK_MONOTONIC),
	};
	struct ttmem_info_row *info;
	int r = ttm_convert_copy(&c);

	if (r == 0)
		r = ttm_convert_objects(
			&c, reading->objects, reading->objects_len);
	if (r == 0)
		r = ttm_places_fill(&c);
	ttm_convert_free(&c);
	if (r == 0)
		r = info_fill(found, &reading->copy, c.taken_ns, snapshot);
	if (r < 0)
		return r;
	own_mark(found, snapshot);
	r = ttm_acked_mark(&reader->search, found, snapshot);
	if (r < 0)
		return r;
	info = ttm_snapshot_info(snapshot);
	info->objects_listed = (flags & TTMEM_SNAPSHOT_OBJECTS) != 0;
	info->histories_listed = (flags & TTMEM_SNAPSHOT_HISTORIES) != 0;
	info->distributions_listed = (flags & TTMEM_SNAPSHOT_DISTRIBUTIONS) !=
		0;
	if (flags & TTMEM_SNAPSHOT_OBJECTS)
		info->objects_consistent = reading->consistent;
	return 0;
}

static int snapshot_take(struct ttmem_reader *reader, uint32_t flags,
	struct ttmem_snapshot **ret_snapshot)
{
	struct ttmem_snapshot *snapshot;
	struct reading reading;
	int r = reading_take(&reader->found, flags, &reading);

	if (r < 0)
		return r;
	r = ttm_commands_update(&reader->commands, &reading.copy);
	if (r == 0)
		r = ttm_snapshot_new(&snapshot);
	if (r == 0) {
		r = reading_convert(reader, flags, &reading, snapshot);
		if (r < 0)
			ttmem_snapshot_free(&snapshot);
	}
	ttm_view_copy_free(&reading.copy);
	free(reading.objects);
	if (r < 0)
		return r;
	*ret_snapshot = snapshot;
	return 0;
}

int ttmem_reader_snapshot(struct ttmem_reader *reader, uint32_t flags,
	struct ttmem_snapshot **ret_snapshot)
{
	int r;

	if (!reader || !ret_snapshot || (flags & ~FLAGS_KNOWN))
		return -EINVAL;
	r = ttm_search_look(&reader->search, &reader->found);
	if (r < 0)
		return r;
	if (reader->found.view && reader->found.source == TTMEM_SOURCE_BROKEN)
		return reader->found.error;
	if (!has_figures(&reader->found))
		return -ENODATA;
	return snapshot_take(reader, flags, ret_snapshot);
}

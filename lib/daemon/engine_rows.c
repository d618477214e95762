/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/* What is shown besides processes: directories, markers, quarantine, health. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "daemon/dead/retirees.h"
#include "daemon/engine_state.h"
#include "daemon/find/registry.h"
#include "shm/atomics.h"

/* -- directories ------------------------------------------------------------------ */

#define RETRY_INTERVAL_NS 2000000000ull
#define COUNT_NS 1000000000ull

/*
 * A directory that was renamed may be here twice: as what it was, until its processes
 * are let go, and as what it is. Who ended in it is shown once; nobody is retired any
 * more by what it was.
 */
static void retirees_hand_over(
	struct ttm_engine *engine, const struct ttm_directory *directory)
{
	struct ttm_directory *other;

	ttm_registry_for_each_directory(engine->config.registry, other)
	{
		if (!other->retirees || !ttm_directory_is_gone(other) ||
			other->inode != directory->inode ||
			other->device != directory->device)
			continue;
		ttm_retirees_forget(other->retirees, &engine->output);
		ttm_retirees_close(&other->retirees);
	}
}

/*
 * After a while without the file, or with one that was removed. Those that ended
 * meanwhile wait for their next try. And whoever another ttmemd retired meanwhile is
 * shown as that from now on, and must not be there twice until he is seen dead here:
 * process_begin() finds him in the file, in the sweep that is next. Also within a sweep:
 * those it has been at are found by the next one, which begins the list of who is awake
 * anew.
 */
static void processes_review(
	struct ttm_engine *engine, const struct ttm_directory *directory)
{
	struct ttm_attached *attached;
	struct ttm_cursor cursor;

	engine->sweep_ns = 0;
	ttm_registry_for_each(engine->config.registry, &cursor, attached)
	{
		if (attached->directory != directory || !attached->process ||
			attached->process->quarantined)
			continue;
		attached->process->ending = false;
		if (!ttm_retirees_has(
			    directory->retirees, attached->header.uuid))
			continue;
		ttm_output_forget(&engine->output, attached->process);
		ttm_process_free(&attached->process);
	}
}

void ttm_engine_retirees(struct ttm_engine *engine,
	struct ttm_directory *directory, uint64_t now_ns)
{
	bool again = directory->retirees &&
		ttm_retirees_are_behind(directory->retirees);
	int r;

	if (again) {
		ttm_retirees_forget(directory->retirees, &engine->output);
		ttm_retirees_close(&directory->retirees);
	}
	/* relaxed: the lock that it tells of is the kernel's */
	if (directory->retirees || ttm_directory_is_gone(directory) ||
		ttm_load(&directory->state) != TTM_DIRECTORY_SERVED)
		return;
	/* Who has the file without serving the directory gives it up soon. */
	if (directory->retirees_error && directory->retirees_error != -EBUSY &&
		now_ns - directory->retirees_ns < RETRY_INTERVAL_NS)
		return;
	directory->retirees_ns = now_ns;
	retirees_hand_over(engine, directory);
	r = ttm_retirees_open(&engine->output, directory, &directory->retirees);
	if (r < 0 && r != directory->retirees_error)
		ttm_engine_log(engine, LOG_ERR,
			"%s/retired: %s; processes that end there stay as they "
			"are",
			directory->path, strerror(-r));
	if (r == 0 && (again || directory->retirees_error))
		processes_review(engine, directory);
	directory->retirees_error = r;
}

static void directory_show(
	struct ttm_engine *engine, struct ttm_directory *directory)
{
	struct ttm_directory_row row;
	uint64_t ref = ttm_output_directory(&engine->output, directory);

	if (!ref)
		return; /* no memory: the next look tries again */
	memset(&row, 0, sizeof(row));
	/* relaxed throughout: each word is for display by itself */
	row.state = ttm_load(&directory->state);
	row.device = directory->device;
	row.inode = directory->inode;
	row.uid = directory->uid;
	row.holder = (uint32_t)ttm_load(&directory->holder);
	row.error = ttm_load(&directory->error);
	row.attached = directory->processes;
	row.lost_segments = ttm_load(&directory->lost.segments);
	row.lost_objects = ttm_load(&directory->lost.objects);
	row.lost_bytes = ttm_load(&directory->lost.bytes);
	row.lost_markers = ttm_load(&directory->lost.markers);
	if (directory->retirees)
		ttm_retirees_describe(directory->retirees, &row);
	memcpy(row.path, directory->path, sizeof(row.path));
	if (memcmp((const char *)ttm_image_row(
			   engine->output.image, TTM_TABLE_DIRECTORIES, ref) +
			    sizeof(row.self),
		    (const char *)&row + sizeof(row.self),
		    sizeof(row) - sizeof(row.self)) == 0)
		return;
	ttm_image_set(engine->output.image, TTM_TABLE_DIRECTORIES, ref, &row);
	engine->output.changed = true;
}

static void processes_count(struct ttm_engine *engine, uint64_t now_ns)
{
	struct ttm_directory *directory;
	struct ttm_attached *attached;
	struct ttm_cursor cursor;
	uint64_t bytes;

	/* While all sleep there is little to count. */
	if (!engine->awake_len && now_ns - engine->counted_ns < COUNT_NS)
		return;
	engine->counted_ns = now_ns;
	engine->mirror_bytes = 0;
	ttm_registry_for_each_directory(engine->config.registry, directory)
	{
		directory->processes = 0;
		directory->mirror_bytes = 0;
	}
	ttm_registry_for_each(engine->config.registry, &cursor, attached)
	{
		attached->directory->processes++;
		if (!attached->process)
			continue;
		bytes = ttm_process_bytes(attached->process);
		attached->directory->mirror_bytes += bytes;
		engine->mirror_bytes += bytes;
	}
}

/*
 * Asked of the registry itself: processes are counted now and then, and one that is
 * in quarantine from its first moment on wakes nobody.
 */
static bool directory_is_empty(
	struct ttm_engine *engine, const struct ttm_directory *directory)
{
	struct ttm_attached *attached;
	struct ttm_cursor cursor;

	ttm_registry_for_each(engine->config.registry, &cursor,
		attached) if (attached->directory == directory) return false;
	return true;
}

/* Nothing is attached in it any more, and its file went with it. */
static void directory_forget(
	struct ttm_engine *engine, struct ttm_directory *directory)
{
	if (directory->retirees)
		ttm_retirees_forget(directory->retirees, &engine->output);
	ttm_retirees_close(&directory->retirees);
	ttm_image_remove(
		engine->output.image, TTM_TABLE_DIRECTORIES, directory->row);
	directory->row = 0;
	engine->output.changed = true;
	ttm_registry_release_directory(directory);
}

void ttm_engine_directories(struct ttm_engine *engine, uint64_t now_ns)
{
	struct ttm_directory *directory;

	processes_count(engine, now_ns);
	ttm_registry_for_each_directory(engine->config.registry, directory)
	{
		ttm_engine_retirees(engine, directory, now_ns);
		if (!ttm_directory_is_gone(directory))
			directory_show(engine, directory);
		else if (!ttm_load(&directory->released) && /* relaxed: ours */
			directory_is_empty(engine, directory))
			directory_forget(engine, directory);
	}
}

/* -- markers ---------------------------------------------------------------------- */

static void markers_hide(struct ttm_engine *engine)
{
	size_t i;

	for (i = 0; i < engine->marker_rows_len; i++)
		ttm_image_remove(engine->output.image, TTM_TABLE_UNTRACKED,
			engine->marker_rows[i]);
	free(engine->marker_rows);
	engine->marker_rows = NULL;
	engine->marker_rows_len = 0;
}

static void marker_show(struct ttm_engine *engine,
	const struct ttm_marker *marker, uint64_t ref)
{
	struct ttm_untracked_row row;

	memset(&row, 0, sizeof(row));
	row.directory = ttm_output_directory(
		&engine->output, marker->directory);
	row.pid = marker->pid;
	row.error = marker->error;
	row.start_time = marker->start_time;
	memcpy(row.run_id, marker->run_id, sizeof(row.run_id));
	row.alive = marker->alive;
	ttm_image_set(engine->output.image, TTM_TABLE_UNTRACKED, ref, &row);
}

void ttm_engine_markers(struct ttm_engine *engine)
{
	const struct ttm_markers *markers = ttm_registry_markers(
		engine->config.registry);
	uint64_t number = markers ? markers->number : 0;
	size_t i;

	if (number == engine->markers_number)
		return;
	engine->markers_number = number;
	engine->output.changed = true;
	markers_hide(engine);
	if (!markers || !markers->len)
		return;
	engine->marker_rows = calloc(
		markers->len, sizeof(*engine->marker_rows));
	if (!engine->marker_rows) {
		engine->memory_errors++;
		return;
	}
	for (i = 0; i < markers->len; i++) {
		uint64_t ref = ttm_image_add(
			engine->output.image, TTM_TABLE_UNTRACKED);

		engine->marker_rows[i] = ref;
		marker_show(engine, &markers->markers[i], ref);
	}
	engine->marker_rows_len = markers->len;
}

/* -- quarantine ------------------------------------------------------------------- */

void ttm_engine_quarantine(
	struct ttm_engine *engine, struct ttm_process *process)
{
	const struct ttm_attached *attached = process->attached;
	struct ttm_quarantine_row row;

	process->quarantined = true;
	process->changed = false;
	ttm_output_forget(&engine->output, process);
	ttm_model_free(&process->model);
	process->quarantine_row = ttm_image_add(
		engine->output.image, TTM_TABLE_QUARANTINE);
	memset(&row, 0, sizeof(row));
	row.directory = ttm_output_directory(
		&engine->output, attached->directory);
	row.time_ns = process->attached_ns;
	row.uid = attached->directory->uid;
	row.pid = (uint32_t)strtoul(attached->name + 2, NULL, 10);
	memcpy(row.name, attached->name, sizeof(row.name));
	memcpy(row.reason, process->source.reason, sizeof(row.reason));
	ttm_image_set(engine->output.image, TTM_TABLE_QUARANTINE,
		process->quarantine_row, &row);
	ttm_engine_log(engine, LOG_WARNING, "%s/%s is in quarantine: %s",
		attached->directory->path, attached->name,
		process->source.reason);
}

/* -- health ----------------------------------------------------------------------- */

void ttm_engine_health(struct ttm_engine *engine)
{
	struct ttm_registry *registry = engine->config.registry;
	struct ttm_health_row row;

	memset(&row, 0, sizeof(row));
	row.rounds = engine->rounds;
	row.events = engine->stats.events;
	row.missed = engine->stats.missed;
	row.scans = engine->stats.scans;
	row.publish_ns = engine->publish_ns;
	row.publish_max_ns = engine->publish_max_ns;
	row.round_ns = engine->round_ns;
	row.round_max_ns = engine->round_max_ns;
	row.attached = engine->attached;
	row.mirror_bytes = engine->mirror_bytes;
	/* relaxed: counted by the watch, for display */
	row.refused = ttm_load(&registry->refused);
	row.over_limit = ttm_load(&registry->over_limit);
	row.open_errors = ttm_load(&registry->open_errors);
	row.inotify = ttm_load(&registry->inotify);
	row.retire_errors = engine->retire_errors;
	row.publish_errors = engine->publish_errors;
	row.memory_errors = engine->memory_errors +
		engine->output.memory_errors +
		engine->output.chips.memory_errors;
	row.restarts = engine->restarts;
	row.started_ns = engine->started_ns;
	ttm_image_set(engine->output.image, TTM_TABLE_HEALTH,
		engine->health_row, &row);
}

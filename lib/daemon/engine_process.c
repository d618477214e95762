/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain -> apply -> publish] -> read -> render */
/* The life of an attached process: taken up, drained, quarantined, retired. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "daemon/dead/retirees.h"
#include "daemon/engine_state.h"
#include "daemon/find/registry.h"
#include "shm/atomics.h"

#define US 1000ull
#define MS 1000000ull
#define INTERVAL_LEAST_NS (100 * US)
#define INTERVAL_MOST_NS (10 * MS)
/* Where publications are further apart, nobody sees what is read in between. */
#define INTERVAL_SELDOM_NS (50 * MS)
/* A process that was silent for a second is looked at less often. */
#define SILENT_AFTER_NS (1000 * MS)
#define SILENT_INTERVAL_NS (50 * MS)
/* Then as often as many of them can be: asleep_interval_ns. */
#define ASLEEP_AFTER_NS (10000 * MS)
#define RETRY_INTERVAL_NS (1000 * MS)

/* -- taking up -------------------------------------------------------------------- */

/* The segment of one that is retired already: its remover was killed. */
static void segment_remove(
	struct ttm_engine *engine, struct ttm_attached *attached)
{
	int directory = attached->directory->fd;
	struct stat st;

	/* Its owner may have given the name to something else meanwhile. */
	if (fstatat(directory, attached->name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		st.st_ino != attached->inode)
		return;
	if (unlinkat(directory, attached->name, 0) < 0 && errno != ENOENT)
		ttm_engine_log(engine, LOG_WARNING, "cannot remove %s/%s: %s",
			attached->directory->path, attached->name,
			strerror(errno));
}

static void attached_drop(
	struct ttm_engine *engine, struct ttm_attached *attached)
{
	if (attached->process) {
		ttm_image_remove(engine->output.image, TTM_TABLE_QUARANTINE,
			attached->process->quarantine_row);
		engine->output.changed = true;
	}
	engine->attached -= engine->attached != 0;
	ttm_process_free(&attached->process);
	ttm_registry_remove(engine->config.registry, attached);
}

/* Returns the time before which records of this user's processes may have been read. */
static uint64_t read_before(const struct ttm_engine *engine, uint32_t uid)
{
	uint64_t before_ns = engine->read_before_ns;
	unsigned i;

	for (i = 0; i < TTM_LET_GO_USERS; i++)
		if (engine->let_go[i].uid == uid &&
			engine->let_go[i].time_ns > before_ns)
			before_ns = engine->let_go[i].time_ns;
	return before_ns;
}

/*
 * Notes that a process of this user was let go. If the table is full, the time of the
 * user who is longest ago is kept for all users.
 */
static void let_go_note(
	struct ttm_engine *engine, uint32_t uid, uint64_t now_ns)
{
	struct ttm_let_go *entry = &engine->let_go[0];
	unsigned i;

	for (i = 0; i < TTM_LET_GO_USERS; i++) {
		if (engine->let_go[i].uid == uid) {
			entry = &engine->let_go[i];
			break;
		}
		if (engine->let_go[i].time_ns < entry->time_ns)
			entry = &engine->let_go[i];
	}
	if (entry->uid != uid && entry->time_ns > engine->read_before_ns)
		engine->read_before_ns = entry->time_ns;
	*entry = (struct ttm_let_go){ .time_ns = now_ns, .uid = uid };
}

/* Returns false if it is not there any more. */
static bool process_begin(struct ttm_engine *engine,
	struct ttm_attached *attached, uint64_t now_ns)
{
	struct ttm_retirees *retirees;
	struct ttm_process *process;

	ttm_engine_retirees(engine, attached->directory, now_ns);
	retirees = attached->directory->retirees;
	if (!attached->reason[0] && retirees &&
		ttm_retirees_has(retirees, attached->header.uuid)) {
		segment_remove(engine, attached);
		attached_drop(engine, attached);
		return false;
	}
	if (ttm_process_new(attached, now_ns, &process) < 0) {
		engine->memory_errors++;
		return true;
	}
	attached->process = process;
	if (attached->reason[0]) {
		memcpy(process->source.reason, attached->reason,
			sizeof(process->source.reason));
		ttm_engine_quarantine(engine, process);
		return true;
	}
	process->skip_wanted = attached->header.monotonic_base_ns <
		read_before(engine, attached->directory->uid);
	return true;
}

/* -- draining -------------------------------------------------------------------- */

static uint64_t bytes_left(
	const struct ttm_engine *engine, const struct ttm_process *process)
{
	uint64_t others = process->attached->directory->mirror_bytes, own;

	own = ttm_process_bytes(process);
	others = others > own ? others - own : 0;
	return others < engine->config.max_bytes ?
		engine->config.max_bytes - others :
		0;
}

static uint64_t interval_most(const struct ttm_engine *engine)
{
	uint64_t apart_ns = ttm_engine_publish_interval(engine) / 2;

	if (apart_ns < INTERVAL_MOST_NS)
		return INTERVAL_MOST_NS;
	return apart_ns < INTERVAL_SELDOM_NS ? apart_ns : INTERVAL_SELDOM_NS;
}

/* Half the time in which the fullest lane would fill up. */
static uint64_t interval_of(const struct ttm_engine *engine,
	const struct ttm_process *process, uint64_t passed_ns, uint64_t most)
{
	uint64_t interval, interval_max = interval_most(engine);

	if (!most)
		interval = process->interval_ns * 2;
	else
		interval = passed_ns * (TTM_LANE_RECORDS / 2) / most;
	if (interval < INTERVAL_LEAST_NS)
		return INTERVAL_LEAST_NS;
	return interval < interval_max ? interval : interval_max;
}

/* How long nothing has happened; 0 while anything is to be done or shown. */
static uint64_t silence_of(
	const struct ttm_process *process, uint64_t now_ns, uint64_t most)
{
	uint64_t since_ns = process->last_event_ns > process->attached_ns ?
		process->last_event_ns :
		process->attached_ns;

	if (most || process->changed || process->scan_wanted)
		return 0;
	return now_ns - since_ns;
}

static void due_set(struct ttm_engine *engine, struct ttm_process *process,
	uint64_t now_ns, uint64_t most)
{
	uint64_t passed_ns = now_ns - (process->due_ns - process->interval_ns);
	uint64_t silence_ns = silence_of(process, now_ns, most), grid_ns;

	if (!process->interval_ns) {
		process->interval_ns = INTERVAL_MOST_NS;
		passed_ns = INTERVAL_MOST_NS;
	}
	process->interval_ns = interval_of(engine, process, passed_ns, most);
	process->silent = silence_ns > SILENT_AFTER_NS;
	if (!process->silent) {
		process->due_ns = now_ns + process->interval_ns;
		return;
	}
	/* All silent ones at the same moments: fewer wake-ups. */
	grid_ns = silence_ns > ASLEEP_AFTER_NS ? engine->asleep_interval_ns :
						 SILENT_INTERVAL_NS;
	process->due_ns = (now_ns / grid_ns + 1) * grid_ns;
	process->interval_ns = process->due_ns - now_ns;
	engine->idle_looks++;
}

bool ttm_engine_process_is_awake(const struct ttm_process *process)
{
	return process && (!process->silent || process->changed);
}

static void process_error(
	struct ttm_engine *engine, struct ttm_process *process, int error)
{
	if (error == -ENOMEM) {
		engine->memory_errors++;
		process->scan_wanted = true; /* it stopped half-way */
		return;
	}
	if (error != -EPROTO)
		ttm_source_fault(&process->source, "cannot be read: %s",
			strerror(-error));
	ttm_engine_quarantine(engine, process);
}

static void process_drain(
	struct ttm_engine *engine, struct ttm_process *process, uint64_t now_ns)
{
	bool first = !process->refreshed_ns, skips = process->skip_wanted;
	int r;

	process->bytes_max = bytes_left(engine, process);
	r = ttm_drain(process, now_ns, &engine->watcher, &engine->stats);
	if (first && (skips || ttm_process_is_late(process)))
		process->rate_events = process->events;
	if (r < 0)
		process_error(engine, process, r);
	due_set(engine, process, now_ns, r > 0 ? (uint64_t)r : 0);
}

/* -- retiring -------------------------------------------------------------------- */

static void retired_tell(
	struct ttm_engine *engine, const struct ttm_process *process)
{
	const struct ttm_attached *attached = process->attached;
	uint64_t survivors = process->model.live_objects;

	if (survivors)
		ttm_engine_log(engine, LOG_NOTICE,
			"process %" PRIu32 " (%.16s) ended with %" PRIu64
			" objects left",
			attached->header.pid, attached->header.comm, survivors);
	else
		ttm_engine_log(engine, LOG_DEBUG,
			"process %" PRIu32 " (%.16s) ended, nothing left",
			attached->header.pid, attached->header.comm);
}

/* Reads everything there is, and brings its rows up to date: they are its retirement. */
static int process_settle(
	struct ttm_engine *engine, struct ttm_process *process, uint64_t now_ns)
{
	int r;

	process->bytes_max = bytes_left(engine, process);
	r = ttm_drain_last(process, now_ns, &engine->watcher, &engine->stats);
	if (r >= 0)
		r = ttm_output_process(&engine->output, process, now_ns, true);
	if (r == -EPROTO)
		process_error(engine, process, r);
	process->settled = r >= 0;
	return r;
}

/* Rather than renamed, or another ttmemd's by now. */
static bool directory_is_removed(const struct ttm_directory *directory)
{
	struct stat st;

	return ttm_directory_is_gone(directory) &&
		fstat(directory->fd, &st) == 0 && st.st_nlink == 0;
}

static int process_retire(
	struct ttm_engine *engine, struct ttm_process *process, uint64_t now_ns)
{
	struct ttm_directory *directory = process->attached->directory;
	struct ttm_retirees *retirees = directory->retirees;
	int r;

	/* It was removed before there was one, and there is no place for it now. */
	if (!retirees && directory_is_removed(directory)) {
		ttm_output_forget(&engine->output, process);
		return 0;
	}
	if (!retirees)
		return directory->retirees_error ? directory->retirees_error :
						   -EACCES;
	/* The file could not be read when it began, and has it all the same. */
	if (ttm_retirees_has(retirees, process->attached->header.uuid)) {
		ttm_output_forget(&engine->output, process);
		return 0;
	}
	r = ttm_retirees_add(retirees, &engine->output, process, now_ns);
	if (r >= 0)
		retired_tell(engine, process);
	return r;
}

/* Returns when to try again, or UINT64_MAX: it is gone. */
static uint64_t process_end(struct ttm_engine *engine,
	struct ttm_attached *attached, uint64_t now_ns)
{
	struct ttm_process *process = attached->process;
	int r = 0;

	if (now_ns < process->due_ns && process->ending)
		return process->due_ns;
	if (!process->settled)
		r = process_settle(engine, process, now_ns);
	if (process->quarantined)
		return UINT64_MAX;
	if (r >= 0)
		r = process_retire(engine, process, now_ns);
	/* The next look at the directory opens the file anew, and wakes it. */
	if (r == -ESTALE)
		return now_ns + RETRY_INTERVAL_NS;
	if (r < 0) {
		engine->retire_errors++;
		if (!process->ending)
			ttm_engine_log(engine, LOG_ERR,
				"cannot retire process %" PRIu32
				": %s; its segment stays",
				attached->header.pid, strerror(-r));
		process->ending = true;
		process->due_ns = now_ns + RETRY_INTERVAL_NS;
		return process->due_ns;
	}
	segment_remove(engine, attached);
	attached_drop(engine, attached);
	if (attached->directory->retirees)
		r = ttm_retirees_trim(
			attached->directory->retirees, &engine->output);
	if (r < 0 && r != -ESTALE) /* then there is nothing to drop any more */
		engine->retire_errors++;
	return UINT64_MAX;
}

/* -- a look ----------------------------------------------------------------------- */

/*
 * Its directory may be another ttmemd's by now, and then so is the process. One that
 * was removed is nobody else's: its processes are followed to their end.
 */
static bool is_anothers(const struct ttm_attached *attached)
{
	return ttm_directory_is_gone(attached->directory) &&
		!directory_is_removed(attached->directory);
}

/*
 * Forgets a process that may come back, with its directory or when nobody else serves
 * it, or with its file. Its records have been counted.
 */
static void process_let_go(struct ttm_engine *engine,
	struct ttm_attached *attached, uint64_t now_ns)
{
	if (attached->process) {
		let_go_note(engine, attached->directory->uid, now_ns);
		ttm_output_forget(&engine->output, attached->process);
	}
	attached_drop(engine, attached);
}

uint64_t ttm_engine_process(struct ttm_engine *engine,
	struct ttm_attached *attached, uint64_t now_ns)
{
	struct ttm_process *process;

	if (is_anothers(attached)) {
		process_let_go(engine, attached, now_ns);
		return UINT64_MAX;
	}
	if (!attached->process && !process_begin(engine, attached, now_ns))
		return UINT64_MAX;
	process = attached->process;
	if (!process)
		return now_ns + RETRY_INTERVAL_NS;
	if (process->quarantined) {
		/* relaxed: a later look is as good */
		if (ttm_load(&attached->vanished))
			process_let_go(engine, attached, now_ns);
		return UINT64_MAX;
	}
	/* pairs(fate): acquire, with the watch, which saw it gone: whatever it
	 * wrote is there to be read. */
	if (ttm_load_acquire(&attached->fate) == TTM_FATE_DEAD)
		return process_end(engine, attached, now_ns);
	if (ttm_load(&attached->fate) != process->fate) {
		process->fate = ttm_load(&attached->fate);
		process->changed = true;
	}
	/* relaxed: what goes with it is read at the publication */
	if (ttm_load32(&attached->pid) != process->pid)
		process->changed = true;
	if (now_ns >= process->due_ns)
		process_drain(engine, process, now_ns);
	return process->due_ns;
}

void ttm_engine_process_output(struct ttm_engine *engine,
	struct ttm_attached *attached, uint64_t now_ns)
{
	struct ttm_process *process = attached->process;
	int r;

	if (process->quarantined) {
		process->changed = false;
		return;
	}
	r = ttm_drain_owed(process, now_ns, &engine->stats);
	if (!r)
		r = ttm_output_process(&engine->output, process, now_ns, false);
	if (r < 0)
		process_error(engine, process, r);
}

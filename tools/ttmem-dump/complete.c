/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "complete.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"
#include "common/value.h"

#define NAME_SIZE 160u

struct gaps {
	const struct ttmem_snapshot *snapshot;
	const struct ttmem_snapshot
		*before;       /* NULL: all that is there is new */
	const uint8_t *run_id; /* NULL: everybody */
	uint64_t uid;          /* unknown: everybody */
	dump_gap_tell *tell;
	void *context;
	uint64_t len;
};

__attribute__((format(printf, 2, 3))) static void gap_add(
	struct gaps *gaps, const char *format, ...)
{
	char text[768];
	va_list arguments;

	gaps->len++;
	if (!gaps->tell)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	gaps->tell(gaps->context, text);
}

static bool is_some(uint64_t value)
{
	return ttm_value_or_0(value) != 0;
}

static unsigned long long number(uint64_t value)
{
	return ttm_value_or_0(value);
}

static const char *escaped(const char *text, char buffer[static NAME_SIZE])
{
	return ttm_text_escape(text ? text : "-", buffer, NAME_SIZE);
}

/* What was there before is not this run's. */
static bool is_more(uint64_t now, uint64_t before)
{
	return is_some(now) && number(now) > number(before);
}

bool dump_is_users(const struct ttmem_snapshot *snapshot, uint64_t directory,
	uint64_t owner, uint64_t uid)
{
	const struct ttmem_directory_row *d = ttmem_snapshot_directory(
		snapshot, directory);

	return uid == TTMEM_UNKNOWN || owner == uid ||
		(uid == geteuid() && d && d->own == 1);
}

static bool is_ours(const struct gaps *gaps, const uint8_t run_id[16],
	uint64_t directory, uint64_t owner)
{
	return (!gaps->run_id || memcmp(gaps->run_id, run_id, 16) == 0) &&
		dump_is_users(gaps->snapshot, directory, owner, gaps->uid);
}

static const struct ttmem_directory_row *directory_before(
	const struct gaps *gaps, const struct ttmem_directory_row *now)
{
	static const struct ttmem_directory_row none;
	const struct ttmem_directory_row *d;
	size_t i;

	for (i = 0; gaps->before &&
		i < ttmem_snapshot_directories_len(gaps->before);
		i++) {
		d = ttmem_snapshot_directory(gaps->before, i);
		if (d->device == now->device && d->inode == now->inode)
			return d;
	}
	return &none;
}

static void directories_look(struct gaps *gaps)
{
	const struct ttmem_directory_row *d, *b;
	char path[NAME_SIZE];
	size_t i;

	for (i = 0; i < ttmem_snapshot_directories_len(gaps->snapshot); i++) {
		d = ttmem_snapshot_directory(gaps->snapshot, i);
		if ((gaps->run_id && d->own == 0) ||
			!dump_is_users(gaps->snapshot, i, d->uid, gaps->uid))
			continue;
		b = directory_before(gaps, d);
		escaped(d->path, path);
		if (d->state == TTMEM_DIRECTORY_HELD)
			gap_add(gaps, "%s: served by another ttmemd (pid %llu)",
				path, number(d->holder));
		else if (d->state == TTMEM_DIRECTORY_REFUSED)
			gap_add(gaps, "%s: not served: %s", path,
				strerror((int)number(d->error)));
		if (is_more(d->lost_segments, b->lost_segments) ||
			is_more(d->lost_objects, b->lost_objects))
			gap_add(gaps,
				"%s: at least %llu objects (%llu bytes) of %llu "
				"processes were removed before ttmemd read them",
				path, number(d->lost_objects),
				number(d->lost_bytes),
				number(d->lost_segments));
		if (is_more(d->lost_markers, b->lost_markers))
			gap_add(gaps,
				"%s: at least %llu more processes could not be "
				"tracked",
				path, number(d->lost_markers));
		if (is_more(d->dropped_processes, b->dropped_processes) ||
			is_more(d->dropped_objects, b->dropped_objects))
			gap_add(gaps,
				"%s: %llu objects (%llu bytes) of %llu retired "
				"processes were dropped for room",
				path, number(d->dropped_objects),
				number(d->dropped_bytes),
				number(d->dropped_processes));
	}
}

/*
 * Calls that were not recorded because an argument was wrong. A rejected free counts
 * under the same reasons as a rejected allocation, so either makes the data incomplete.
 */
static void rejected_look(
	struct gaps *gaps, const struct ttmem_process_row *p, const char *comm)
{
	static const unsigned reasons[] = { TTMEM_ANOMALY_BAD_DEVICE,
		TTMEM_ANOMALY_TOO_MANY_DEVICES, TTMEM_ANOMALY_BAD_KIND,
		TTMEM_ANOMALY_OVERFLOW };
	char names[NAME_SIZE] = "";
	uint64_t calls = 0, count;
	size_t i, at;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		count = number(p->anomalies[reasons[i]]);
		if (count == 0)
			continue;
		calls += count;
		at = strlen(names);
		snprintf(names + at, sizeof(names) - at, "%s%llu %s",
			at ? ", " : "", (unsigned long long)count,
			ttmem_name(TTMEM_NAMES_ANOMALY, reasons[i]));
	}
	if (calls)
		gap_add(gaps,
			"%s (pid %llu): %llu %s rejected (%s): allocations "
			"may be missing",
			comm, number(p->pid), (unsigned long long)calls,
			calls == 1 ? "call was" : "calls were", names);
}

static void processes_look(struct gaps *gaps)
{
	const struct ttmem_process_row *p;
	char comm[NAME_SIZE];
	uint64_t events, bytes;
	size_t i, reason;

	for (i = 0; i < ttmem_snapshot_processes_len(gaps->snapshot); i++) {
		p = ttmem_snapshot_process(gaps->snapshot, i);
		if (!is_ours(gaps, p->run_id, p->directory, p->uid))
			continue;
		events = 0;
		bytes = 0;
		/* Without a name only the attribution is lost. */
		for (reason = 0; reason < TTMEM_REASONS; reason++) {
			if (reason == TTMEM_LOSS_NO_NAME)
				continue;
			events += number(p->lost_events[reason]);
			bytes += number(p->lost_bytes[reason]);
		}
		if (events)
			gap_add(gaps,
				"%s (pid %llu): %llu events lost, %llu bytes",
				escaped(p->comm, comm), number(p->pid),
				(unsigned long long)events,
				(unsigned long long)bytes);
		if (is_some(p->unlisted))
			gap_add(gaps, "%s (pid %llu): %llu objects not listed",
				escaped(p->comm, comm), number(p->pid),
				number(p->unlisted));
		rejected_look(gaps, p, escaped(p->comm, comm));
	}
}

static void files_look(struct gaps *gaps)
{
	const struct ttmem_quarantined_row *q;
	const struct ttmem_untracked_row *u;
	const struct ttmem_directory_row *d;
	char name[NAME_SIZE], reason[NAME_SIZE];
	size_t i;

	for (i = 0; i < ttmem_snapshot_quarantine_len(gaps->snapshot); i++) {
		q = ttmem_snapshot_quarantined(gaps->snapshot, i);
		if ((gaps->before &&
			    q->time_ns < ttmem_snapshot_info(gaps->before)
						 ->monotonic_ns) ||
			!dump_is_users(gaps->snapshot, q->directory, q->uid,
				gaps->uid))
			continue;
		gap_add(gaps, "%s: quarantined: %s", escaped(q->name, name),
			escaped(q->reason, reason));
	}
	for (i = 0; i < ttmem_snapshot_untracked_len(gaps->snapshot); i++) {
		u = ttmem_snapshot_untracked(gaps->snapshot, i);
		d = ttmem_snapshot_directory(gaps->snapshot, u->directory);
		if (!is_ours(gaps, u->run_id, u->directory,
			    d ? d->uid : gaps->uid))
			continue;
		gap_add(gaps, "pid %llu%s could not be tracked: %s",
			number(u->pid), u->alive == 0 ? " (gone)" : "",
			strerror((int)number(u->error)));
	}
}

/*
 * A publication that failed is none of them: this snapshot is of a later one, which
 * has all that the failed one lacked, or says in *_unlisted what it lacks.
 */
static void health_look(struct gaps *gaps)
{
	const struct ttmem_health_row *h = ttmem_snapshot_health(
		gaps->snapshot);
	const struct ttmem_health_row *b = gaps->before ?
		ttmem_snapshot_health(gaps->before) :
		NULL;
	const struct {
		uint64_t count;
		uint64_t before;
		const char *text;
	} found[] = {
		{ h ? h->over_limit : 0, b ? b->over_limit : 0,
			"segments beyond its limits" },
		{ h ? h->open_errors : 0, b ? b->open_errors : 0,
			"segments that it could not read" },
		{ h ? h->retire_errors : 0, b ? b->retire_errors : 0,
			"processes that it could not retire" },
		{ h ? h->memory_errors : 0, b ? b->memory_errors : 0,
			"times without memory" },
		{ h ? h->rows_unlisted : 0, 0,
			"rows that it has no room to show" },
		{ h ? h->objects_unlisted : 0, 0,
			"objects that it has no room to show" },
	};
	size_t i;

	for (i = 0; i < sizeof(found) / sizeof(found[0]); i++)
		if (is_more(found[i].count, found[i].before))
			gap_add(gaps, "ttmemd: %llu %s",
				(unsigned long long)found[i].count,
				found[i].text);
}

uint64_t dump_gaps_of_run(const struct ttmem_snapshot *snapshot,
	const struct ttmem_snapshot *before, const uint8_t run_id[16],
	uint64_t uid, dump_gap_tell *tell, void *context)
{
	struct gaps gaps = { snapshot, before, run_id, uid, tell, context, 0 };

	directories_look(&gaps);
	processes_look(&gaps);
	files_look(&gaps);
	health_look(&gaps);
	return gaps.len;
}

uint64_t dump_gaps(const struct ttmem_snapshot *snapshot, dump_gap_tell *tell,
	void *context)
{
	return dump_gaps_of_run(
		snapshot, NULL, NULL, TTMEM_UNKNOWN, tell, context);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* Why is this process not seen? */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/process.h"
#include "ttmem-dump/cell.h"
#include "ttmem-dump/leftover.h"
#include "ttmem-dump/place.h"
#include "ttmem-dump/proc.h"
#include "doctor.h"

#define VALUE_SIZE 256u

static bool is_on(enum dump_answer set, const char *value)
{
	return set == DUMP_YES && strcmp(value, "1") == 0;
}

static void enabled_tell(struct dump_doctor *doctor)
{
	char enabled[VALUE_SIZE] = "", seeds[VALUE_SIZE] = "";
	enum dump_answer set = dump_proc_environment(
		doctor->pid, "TTMEM_ENABLED", enabled, sizeof(enabled));
	enum dump_answer other = dump_proc_environment(
		doctor->pid, "TT_ALLOC_TRACKING_ENABLED", seeds, sizeof(seeds));
	bool on = is_on(set, enabled) ||
		(set != DUMP_YES && is_on(other, seeds));

	if (set == DUMP_UNKNOWN)
		dump_tell(doctor, DUMP_NOTE, "run it as that user, or as root",
			"its environment cannot be read");
	else if (on)
		dump_tell(doctor, DUMP_GOOD, NULL,
			"it was started with tracking on");
	else
		dump_tell(doctor, DUMP_NOTE,
			"start it with TTMEM_ENABLED=1, unless it turns "
			"tracking on by itself",
			"it was started without TTMEM_ENABLED=1%s%s",
			set == DUMP_YES ? ", but with " : "", enabled);
}

static void dir_tell(struct dump_doctor *doctor)
{
	char dir[VALUE_SIZE] = "";
	const char *theirs;

	if (dump_proc_environment(doctor->pid, "TTMEM_DIR", dir, sizeof(dir)) ==
		DUMP_UNKNOWN)
		return;
	theirs = dir[0] ? dir : dump_base_choose(NULL, NULL);
	if (dir[0] && strcmp(theirs, doctor->base) != 0)
		dump_tell(doctor, DUMP_BAD,
			"use --dir with that one, or start it with another "
			"TTMEM_DIR",
			"its base directory is %s, not %s", theirs,
			doctor->base);
}

/* -- its segment ------------------------------------------------------------------------ */

struct segment_search {
	struct dump_doctor *doctor;
	const struct dump_own *own;
	uint64_t start_time;
	bool found;
	bool alive;
	bool marked;
};

static int segment_visit(void *context, const char *name)
{
	struct segment_search *search = context;
	struct dump_leftover leftover;
	uint64_t pid, start, error;

	if (!dump_name_parse(name, &pid, &start, &error) ||
		pid != search->doctor->pid ||
		(search->start_time && start != search->start_time))
		return 0;
	dump_leftover_look(search->own->fd, name, &leftover);
	if (leftover.kind == DUMP_LEFT_MARKER)
		search->marked = true;
	if (leftover.kind != DUMP_LEFT_SEGMENT)
		return 0;
	search->found = true;
	search->alive |= leftover.dead == DUMP_NO;
	return 0;
}

static int own_search(void *context, const struct dump_own *own)
{
	struct segment_search *search = context;

	search->own = own;
	return dump_names_each(own->fd, segment_visit, search);
}

/* Whether it has one. */
static bool segment_tell(struct dump_doctor *doctor)
{
	enum dump_answer library = dump_proc_has_library(
		doctor->pid, "libttmem");
	struct segment_search search = {
		.doctor = doctor,
		.start_time = ttm_proc_start_time(doctor->pid),
	};

	dump_own_each(doctor->base, own_search, &search);
	if (library == DUMP_UNKNOWN && !search.found)
		dump_tell(doctor, DUMP_NOTE, "run it as that user, or as root",
			"what it has mapped cannot be read");
	else if (library != DUMP_YES && !search.found)
		dump_tell(doctor, DUMP_BAD,
			"use a runtime that was built with ttmem",
			"libttmem.so is not in it (it may be linked statically)");
	else
		dump_tell(doctor, DUMP_GOOD, NULL, "libttmem is in it");
	if (search.marked)
		dump_tell(doctor, DUMP_BAD, "see above for the reason",
			"it asked to be tracked and could not be");
	else if (!search.found)
		dump_tell(doctor, DUMP_BAD,
			"it has not had anything on a device yet, or tracking "
			"is off, or it is another user's",
			"it has no segment in your directories");
	else
		dump_tell(doctor, search.alive ? DUMP_GOOD : DUMP_NOTE, NULL,
			"it has a segment%s",
			search.alive ?
				", and holds its lock" :
				", but not its lock: it is an earlier one");
	return search.found;
}

/* -- what ttmemd says --------------------------------------------------------------------- */

static bool quarantine_tell(struct dump_doctor *doctor)
{
	const struct ttmem_quarantined_row *q;
	bool found = false;
	size_t i;

	for (i = 0; i < ttmem_snapshot_quarantine_len(doctor->snapshot); i++) {
		q = ttmem_snapshot_quarantined(doctor->snapshot, i);
		if (q->pid != doctor->pid)
			continue;
		dump_tell(doctor, DUMP_BAD, NULL,
			"ttmemd has its segment in quarantine: %s",
			q->reason ? q->reason : "-");
		found = true;
	}
	return found;
}

static void attached_tell(struct dump_doctor *doctor)
{
	const struct ttmem_process_row *p;
	const char *state;
	char ago[DUMP_CELL_SIZE];
	bool found = false;
	size_t i;

	if (!doctor->snapshot || quarantine_tell(doctor))
		return;
	for (i = 0; i < ttmem_snapshot_processes_len(doctor->snapshot); i++) {
		p = ttmem_snapshot_process(doctor->snapshot, i);
		if (p->pid != doctor->pid)
			continue;
		found = true;
		state = ttmem_name(TTMEM_NAMES_PROCESS, p->state);
		dump_tell(doctor, DUMP_GOOD, NULL,
			"ttmemd knows it: %s, %llu objects, last event %s ago",
			state ? state : "-", (unsigned long long)p->objects,
			dump_duration(
				dump_ago(doctor->snapshot, p->last_event_ns),
				ago));
	}
	if (!found)
		dump_tell(doctor, DUMP_BAD, NULL, "ttmemd does not know it");
}

void dump_doctor_process(struct dump_doctor *doctor)
{
	uint64_t ours = ttm_proc_pid_namespace(0);
	uint64_t theirs = ttm_proc_pid_namespace(doctor->pid);

	printf("process %llu:\n", (unsigned long long)doctor->pid);
	if (dump_proc_is_gone(doctor->pid, 0) == DUMP_YES) {
		dump_tell(doctor, DUMP_BAD,
			"in a container it has another pid inside: ttmem goes by "
			"that one",
			"there is no such process");
		attached_tell(doctor);
		return;
	}
	if (theirs && theirs != ours)
		dump_tell(doctor, DUMP_NOTE,
			"ttmem goes by the pid that it has inside",
			"it is in another pid namespace");
	dir_tell(doctor);
	if (!segment_tell(doctor))
		enabled_tell(doctor);
	attached_tell(doctor);
}

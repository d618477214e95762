/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* The base directory, the directories in it, and what lies there. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "ttmem-dump/cell.h"
#include "ttmem-dump/leftover.h"
#include "ttmem-dump/place.h"
#include "doctor.h"

/* What a small process needs. */
#define ROOM_BYTES (8ull << 20)
#define ROOM_FILES 16u

static const char *base_hint(int error)
{
	switch (error) {
	case -EINVAL:
		return "give an absolute path";
	case -ENOENT:
		return "make it (a tmpfs; as root: mkdir -m 1777 /run/ttmem), or "
		       "name another one with TTMEM_DIR";
	case -EMEDIUMTYPE:
		return "it must be on a tmpfs: a disk would stall programs";
	case -EPERM:
		return "it must be root's or yours, and sticky if others may "
		       "write in it (chmod 1777)";
	case -EACCES:
		return "its permissions keep you out";
	default:
		return NULL;
	}
}

static void room_tell(struct dump_doctor *doctor)
{
	struct statvfs fs;
	char bytes[DUMP_CELL_SIZE];
	uint64_t room;
	bool full;

	if (statvfs(doctor->base, &fs) < 0)
		return;
	room = (uint64_t)fs.f_bavail * fs.f_frsize;
	full = (fs.f_blocks && room < ROOM_BYTES) ||
		(fs.f_files && fs.f_favail < ROOM_FILES);
	dump_tell(doctor, full ? DUMP_BAD : DUMP_GOOD,
		full ? "programs cannot be tracked: make room, or mount a larger "
		       "tmpfs" :
		       NULL,
		"room: %s free%s",
		fs.f_blocks ? dump_bytes(room, false, bytes) : "any",
		fs.f_files && fs.f_favail < ROOM_FILES ? ", but no more files" :
							 "");
}

void dump_doctor_base(struct dump_doctor *doctor)
{
	const char *by;
	int fd;

	dump_base_choose(doctor->where.dir, &by);
	fd = dump_base_open(doctor->base);
	if (fd < 0) {
		dump_tell(doctor, DUMP_BAD, base_hint(fd),
			"base directory: %s (%s): %s", doctor->base, by,
			strerror(-fd));
		return;
	}
	close(fd);
	dump_tell(doctor, DUMP_GOOD, NULL, "base directory: %s (%s), a tmpfs",
		doctor->base, by);
	room_tell(doctor);
}

/* -- our directories ------------------------------------------------------------------- */

struct ward {
	struct dump_doctor *doctor;
	const struct dump_own *own;
	enum dump_answer served;
	uint64_t segments;
	uint64_t dead;
	uint64_t doubtful;
	uint64_t unfinished;
	uint64_t dead_markers;
};

static void marker_tell(struct ward *ward, const struct dump_leftover *leftover)
{
	if (leftover->dead == DUMP_YES) {
		ward->dead_markers++;
		return;
	}
	dump_tell(ward->doctor, DUMP_BAD,
		leftover->error == ENOSPC ?
			"make room in the base directory, and restart it" :
			"remove the cause, and restart it",
		"pid %llu asked to be tracked and could not be: %s",
		(unsigned long long)leftover->pid,
		strerror((int)leftover->error));
}

static int file_visit(void *context, const char *name)
{
	struct ward *ward = context;
	struct dump_leftover leftover;

	dump_leftover_look(ward->own->fd, name, &leftover);
	switch (leftover.kind) {
	case DUMP_LEFT_SEGMENT:
		ward->segments++;
		ward->dead += leftover.dead == DUMP_YES;
		ward->doubtful += leftover.dead == DUMP_UNKNOWN;
		break;
	case DUMP_LEFT_MARKER:
		marker_tell(ward, &leftover);
		break;
	case DUMP_LEFT_UNFINISHED:
		ward->unfinished += leftover.dead == DUMP_YES;
		break;
	case DUMP_LEFT_LOST:
	case DUMP_LEFT_NOTHING:
	default:
		break;
	}
	return 0;
}

static void ward_tell(const struct ward *ward)
{
	static const char clean[] = "ttmem-dump clean removes it";
	struct dump_doctor *doctor = ward->doctor;

	if (ward->dead_markers)
		dump_tell(doctor, DUMP_NOTE, clean,
			"%llu processes could not be tracked, and are gone",
			(unsigned long long)ward->dead_markers);
	if (ward->dead && ward->served == DUMP_NO)
		dump_tell(doctor, DUMP_NOTE,
			"start ttmemd to have them read, or ttmem-dump clean",
			"%llu segments of dead processes that nobody has read",
			(unsigned long long)ward->dead);
	if (ward->doubtful)
		dump_tell(doctor, DUMP_NOTE, NULL,
			"%llu segments of processes that may be alive or not",
			(unsigned long long)ward->doubtful);
	if (ward->unfinished)
		dump_tell(doctor, DUMP_NOTE, clean,
			"%llu files that were never finished",
			(unsigned long long)ward->unfinished);
}

static int own_look(void *context, const struct dump_own *own)
{
	struct ward ward = { .doctor = context, .own = own };
	char holder[DUMP_CELL_SIZE] = "";
	uint64_t pid;
	int r;

	ward.doctor->own_len++;
	ward.served = dump_own_is_served(own->fd, &pid);
	if (pid)
		snprintf(holder, sizeof(holder), " (pid %llu)",
			(unsigned long long)pid);
	r = dump_names_each(own->fd, file_visit, &ward);
	dump_tell(ward.doctor, ward.served == DUMP_YES ? DUMP_GOOD : DUMP_BAD,
		ward.served == DUMP_YES ?
			NULL :
			"start ttmemd, with this base directory",
		"your directory: %s, %llu segment%s, %s%s", own->name,
		(unsigned long long)ward.segments,
		ward.segments == 1 ? "" : "s",
		ward.served == DUMP_YES        ? "served by ttmemd" :
			ward.served == DUMP_NO ? "served by nobody" :
						 "its lock cannot be asked",
		holder);
	ward_tell(&ward);
	return r;
}

static void squatter_tell(struct dump_doctor *doctor)
{
	char path[2 * DUMP_PLACE_SIZE];
	struct stat st;

	snprintf(path, sizeof(path), "%s/ttmem-%u", doctor->base, geteuid());
	if (lstat(path, &st) < 0 || st.st_uid == geteuid())
		return;
	dump_tell(doctor, DUMP_NOTE,
		"programs use one with another ending instead",
		"%s is not yours but of user %u", path, (unsigned)st.st_uid);
}

void dump_doctor_directories(struct dump_doctor *doctor)
{
	int r = dump_own_each(doctor->base, own_look, doctor);

	if (r == -ENOENT || r == -EMEDIUMTYPE || r == -EPERM || r == -EACCES ||
		r == -EINVAL || r == -ENOTDIR)
		return; /* the base directory, told already */
	if (r < 0)
		dump_tell(doctor, DUMP_BAD, NULL,
			"your directories cannot be read: %s", strerror(-r));
	else if (doctor->own_len == 0)
		dump_tell(doctor, DUMP_NOTE,
			"no program of yours was tracked here: start it with "
			"TTMEM_ENABLED=1 and the same TTMEM_DIR",
			"your directory: there is none yet");
	squatter_tell(doctor);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ttmem, the reading side: what ttmemd publishes, as snapshots in private memory.
 * Link with libttmem-reader; the library that records is not needed.
 *
 *   struct ttmem_reader *reader;
 *   struct ttmem_snapshot *snapshot;
 *
 *   if (ttmem_reader_open(NULL, &reader) == 0 &&
 *           ttmem_reader_snapshot(reader, 0, &snapshot) == 0) {
 *           const struct ttmem_device_row *d = ttmem_snapshot_device(snapshot, 0);
 *           ...
 *   }
 *   ttmem_snapshot_free(&snapshot);
 *   ttmem_reader_close(&reader);
 *
 * For every call below, unless its comment says otherwise:
 *
 *   threads   one thread at a time uses a reader or a replay. A snapshot never
 *             changes: any number of threads may read it. Different objects do
 *             not know of each other;
 *   signals   not for signal handlers;
 *   fork      a child may go on with its parent's readers: nothing is mapped, and
 *             the file's position is not used. A replay shares its position;
 *   progress  bounded: nothing waits for ttmemd, and ttmemd waits for nobody;
 *   errors    0 or a negative errno; `ret_` arguments are written on success only.
 *             Nothing is printed, and whatever is in the files, nothing crashes;
 *   memory    what a call returns by `**` is the caller's to end with the function
 *             named there; ending NULL is fine. Rows and texts belong to their
 *             snapshot. Strings go in as they are and are not kept.
 *
 * Stale figures are not fresh ones: look at the `source` of a snapshot's info
 * before you believe it, and at its age before you show it.
 */
#ifndef TTMEM_READER_H
#define TTMEM_READER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <ttmem/api.h>
#include <ttmem/rows.h>

TTMEM_BEGIN

/* -- snapshots -------------------------------------------------------------- */

struct ttmem_snapshot;

/* What costs extra. */
#define TTMEM_SNAPSHOT_OBJECTS 1u
#define TTMEM_SNAPSHOT_HISTORIES 2u
#define TTMEM_SNAPSHOT_DISTRIBUTIONS 4u

/* Sets the pointer to NULL. */
TTMEM_API void ttmem_snapshot_free(struct ttmem_snapshot **snapshot);

/* Never NULL. */
TTMEM_API const struct ttmem_info_row *ttmem_snapshot_info(
	const struct ttmem_snapshot *snapshot);

/* NULL if ttmemd did not say. */
TTMEM_API const struct ttmem_health_row *ttmem_snapshot_health(
	const struct ttmem_snapshot *snapshot);

/*
 * How many rows there are, and row `index`: NULL if there is none, TTMEM_NONE
 * included. Constant time.
 */
TTMEM_API size_t ttmem_snapshot_directories_len(
	const struct ttmem_snapshot *snapshot);
TTMEM_API const struct ttmem_directory_row *ttmem_snapshot_directory(
	const struct ttmem_snapshot *snapshot, uint64_t index);
TTMEM_API size_t ttmem_snapshot_devices_len(
	const struct ttmem_snapshot *snapshot);
TTMEM_API const struct ttmem_device_row *ttmem_snapshot_device(
	const struct ttmem_snapshot *snapshot, uint64_t index);
TTMEM_API size_t ttmem_snapshot_processes_len(
	const struct ttmem_snapshot *snapshot);
TTMEM_API const struct ttmem_process_row *ttmem_snapshot_process(
	const struct ttmem_snapshot *snapshot, uint64_t index);
TTMEM_API size_t ttmem_snapshot_shares_len(
	const struct ttmem_snapshot *snapshot);
TTMEM_API const struct ttmem_share_row *ttmem_snapshot_share(
	const struct ttmem_snapshot *snapshot, uint64_t index);
TTMEM_API size_t ttmem_snapshot_places_len(
	const struct ttmem_snapshot *snapshot);
TTMEM_API const struct ttmem_place_row *ttmem_snapshot_place(
	const struct ttmem_snapshot *snapshot, uint64_t index);
TTMEM_API size_t ttmem_snapshot_objects_len(
	const struct ttmem_snapshot *snapshot);
TTMEM_API const struct ttmem_object_row *ttmem_snapshot_object(
	const struct ttmem_snapshot *snapshot, uint64_t index);
TTMEM_API size_t ttmem_snapshot_marks_len(
	const struct ttmem_snapshot *snapshot);
TTMEM_API const struct ttmem_mark_row *ttmem_snapshot_mark(
	const struct ttmem_snapshot *snapshot, uint64_t index);
TTMEM_API size_t ttmem_snapshot_failures_len(
	const struct ttmem_snapshot *snapshot);
TTMEM_API const struct ttmem_failure_row *ttmem_snapshot_failure(
	const struct ttmem_snapshot *snapshot, uint64_t index);
TTMEM_API size_t ttmem_snapshot_quarantine_len(
	const struct ttmem_snapshot *snapshot);
TTMEM_API const struct ttmem_quarantined_row *ttmem_snapshot_quarantined(
	const struct ttmem_snapshot *snapshot, uint64_t index);
TTMEM_API size_t ttmem_snapshot_untracked_len(
	const struct ttmem_snapshot *snapshot);
TTMEM_API const struct ttmem_untracked_row *ttmem_snapshot_untracked(
	const struct ttmem_snapshot *snapshot, uint64_t index);
TTMEM_API size_t ttmem_snapshot_telemetry_len(
	const struct ttmem_snapshot *snapshot);
TTMEM_API const struct ttmem_telemetry_row *ttmem_snapshot_telemetry(
	const struct ttmem_snapshot *snapshot, uint64_t index);
TTMEM_API size_t ttmem_snapshot_holders_len(
	const struct ttmem_snapshot *snapshot);
TTMEM_API const struct ttmem_holder_row *ttmem_snapshot_holder(
	const struct ttmem_snapshot *snapshot, uint64_t index);
TTMEM_API size_t ttmem_snapshot_histories_len(
	const struct ttmem_snapshot *snapshot);
TTMEM_API const struct ttmem_history_row *ttmem_snapshot_history(
	const struct ttmem_snapshot *snapshot, uint64_t index);
TTMEM_API size_t ttmem_snapshot_distributions_len(
	const struct ttmem_snapshot *snapshot);
TTMEM_API const struct ttmem_distribution_row *ttmem_snapshot_distribution(
	const struct ttmem_snapshot *snapshot, uint64_t index);

/* -- a running ttmemd ------------------------------------------------------- */

struct ttmem_reader;

/* The aggregate of root's ttmemd, whether it serves us or not. */
#define TTMEM_READER_SYSTEM 1u

/* Everything zero is the default; `size` is sizeof(struct ttmem_reader_config). */
struct ttmem_reader_config {
	size_t size;
	const char *dir;   /* base directory; NULL: $TTMEM_DIR, then defaults */
	const char *path;  /* this aggregate file and no other; NULL: search */
	uint32_t flags;    /* TTMEM_READER_* */
	uint32_t reserved; /* 0 */
	uint64_t stale_ns; /* without a sign of life: STALE. 0: 5 s */
};

/*
 * A reader of the aggregate that serves the caller's own directories, wherever it
 * is: root's or the caller's own. It looks anew whenever it is asked while all is
 * not well, and so finds a ttmemd that was started, restarted or replaced later.
 * `config` may be NULL. Returns 0 even if nothing is there to read: see
 * ttmem_reader_status(). -EINVAL (size, flags, or a path that is not absolute),
 * -ENAMETOOLONG, -ENOMEM. End it with ttmem_reader_close().
 */
TTMEM_API int ttmem_reader_open(const struct ttmem_reader_config *config,
	struct ttmem_reader **ret_reader);

/* Sets the pointer to NULL. Its snapshots stay. */
TTMEM_API void ttmem_reader_close(struct ttmem_reader **reader);

struct ttmem_reader_status {
	size_t size;          /* in: sizeof(struct ttmem_reader_status) */
	uint32_t state;       /* enum ttmem_source */
	int32_t error;        /* negative errno behind it, or 0 */
	uint64_t age_ns;      /* of the figures, unknown without any */
	uint64_t publication; /* unknown without any */
	uint64_t pid;         /* of ttmemd */
	uint64_t directories; /* the caller's own */
	uint64_t served;      /* of those, by this aggregate */
	char path[512];       /* of the aggregate, or where it should be */
	char reason[256];     /* for people: one line, never empty */
};

/*
 * Looks, and fills *ret_status, whose `size` the caller has set. Returns 0, -EINVAL
 * (NULL or a wrong size), -ENOMEM, -EMFILE or -ENFILE (cannot look).
 */
TTMEM_API int ttmem_reader_status(
	struct ttmem_reader *reader, struct ttmem_reader_status *ret_status);

/*
 * The figures of one moment, independent of the reader from then on. `flags` are
 * TTMEM_SNAPSHOT_*. Figures of a ttmemd that is dead or does not move are still
 * given, and so are those that leave out the caller's directory; info says so in
 * `source`. Returns 0, -EINVAL (flags), -ENODATA (there are no figures:
 * ttmem_reader_status() tells why), -EAGAIN (ttmemd was faster, many times: try
 * again), -EPROTO (broken), -ENOMEM, -EMFILE, -ENFILE, -EIO. End it with
 * ttmem_snapshot_free().
 */
TTMEM_API int ttmem_reader_snapshot(struct ttmem_reader *reader, uint32_t flags,
	struct ttmem_snapshot **ret_snapshot);

/* -- JSON lines ------------------------------------------------------------- */

#define TTMEM_SCHEMA_VERSION 2

/* Called with parts of the text in their order; not 0: stop, and return it. */
typedef int (*ttmem_write_function)(
	void *context, const char *bytes, size_t size);

/*
 * Writes the snapshot as one line, newline included: one JSON document as
 * docs/snapshot.schema.json describes it. Bytes are integers, unknown is null, ids
 * and addresses are hexadecimal strings. A number of 2^63 or more is written as
 * null: JSON has no such integers. Returns 0, -ENOMEM, or what `write` returned.
 */
TTMEM_API int ttmem_snapshot_write(const struct ttmem_snapshot *snapshot,
	ttmem_write_function write, void *context);

/* The same into a stream, not flushed. Returns 0, -ENOMEM or -EIO. */
TTMEM_API int ttmem_snapshot_write_file(
	const struct ttmem_snapshot *snapshot, FILE *file);

/*
 * A snapshot from one such document. Keys that it does not know are ignored, and
 * what is missing is unknown. Returns 0, -EPROTO (not such a document: ret_error,
 * unless NULL, says where), -EPROTONOSUPPORT (another schema_version), -ENOMEM. End
 * it with ttmem_snapshot_free().
 */
#define TTMEM_PARSE_ERROR_SIZE 256
TTMEM_API int ttmem_snapshot_parse(const char *text, size_t text_size,
	struct ttmem_snapshot **ret_snapshot,
	char ret_error[TTMEM_PARSE_ERROR_SIZE]);

struct ttmem_replay;

/*
 * Reads such lines from a file. Returns 0, or what open(2) said, -ENOMEM. End it
 * with ttmem_replay_close().
 */
TTMEM_API int ttmem_replay_open(
	const char *path, struct ttmem_replay **ret_replay);

/* The same from a descriptor, which stays the caller's and is not closed. */
TTMEM_API int ttmem_replay_open_fd(int fd, struct ttmem_replay **ret_replay);

TTMEM_API void ttmem_replay_close(struct ttmem_replay **replay);

/*
 * The next line as a snapshot; empty lines are skipped. Returns 0, -ENODATA (the
 * end; more may come later), -EAGAIN (the descriptor is non-blocking and has no
 * whole line yet), -EPROTO or -EPROTONOSUPPORT (this line: the next call goes on
 * behind it), -EFBIG (the line is longer than the limit) or -EILSEQ (it has a zero
 * byte) before its end is read: the next call searches the end, which may be far away
 * or missing; -ENOMEM, or what read(2) said. Waits for a pipe, if the descriptor does.
 */
TTMEM_API int ttmem_replay_next(
	struct ttmem_replay *replay, struct ttmem_snapshot **ret_snapshot);

/* Lines longer than this are refused; 0: 1 GiB, the default. */
TTMEM_API void ttmem_replay_limit(struct ttmem_replay *replay, size_t bytes);

/* Number of the line that was read last, from 1; 0 before the first. */
TTMEM_API uint64_t ttmem_replay_line(const struct ttmem_replay *replay);

/* "line N: ..." after a call that failed, else "". Valid until the next call. */
TTMEM_API const char *ttmem_replay_error(const struct ttmem_replay *replay);

TTMEM_END

#endif

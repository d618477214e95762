/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The leak gate, in steps: options -> judge (what counts, what is excused, what is
 * missing) -> verdict -> text, JSON, JUnit, annotations. `run` puts a command before
 * it.
 */
#ifndef TTM_DUMP_CHECK_H
#define TTM_DUMP_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <ttmem/reader.h>

#include "ttmem-dump/filter.h"
#include "ttmem-dump/out.h"
#include "ttmem-dump/part.h"
#include "ttmem-dump/source.h"
#include "ttmem-dump/report/group.h"

#define CHECK_LIMITS_MAX 64u
#define CHECK_FILES_MAX 16u
#define CHECK_SUMMARY_SIZE 2048u

/* Of one figure on one device. */
struct check_limit {
	uint32_t figures; /* 1 << enum ttmem_figure: together */
	uint64_t bytes;
	bool peak;
	const char *text; /* as given: "l1=1M" */
};

/* Texts are kept, not copied. */
struct check_options {
	struct dump_where where;
	struct dump_filter filter;
	unsigned errors_for;    /* 1 << enum ttmem_class */
	uint32_t error_figures; /* 1 << enum ttmem_figure */
	uint32_t ignored;
	struct check_limit limits[CHECK_LIMITS_MAX];
	size_t limits_len;
	const char *suppressions[CHECK_FILES_MAX];
	size_t suppressions_len;
	const char *baseline;
	const char *since;
	const char *junit;
	const char *output;
	const char *ttmemd; /* run: the program */
	uint64_t settle_ns; /* unknown: not given */
	uint64_t wait_pid;  /* 0: none */
	uint64_t user;      /* unknown: not given */
	bool all_users;
	bool all_kinds;
	bool generate;
	bool strict;
	bool update;
	bool ack;
	bool github;
	enum dump_format format; /* text or JSON */
	bool exact;
};

/*
 * Options of `check`; of `run` if `is_run`, up to the command. Returns the place of the
 * first argument behind them.
 */
int check_options_parse(
	int argc, char **argv, bool is_run, struct check_options *ret_options);

/* -- suppressions ----------------------------------------------------------------------- */

/*
 * Suppressions as LeakSanitizer has them, one per line; # starts a comment:
 *
 *   leak:PATTERN      of the scope; "" if there is none
 *   kind:KIND,..
 *   process:PATTERN   of the process's name
 *
 * A pattern is found anywhere in the text; * is any text, ^ at its start and $ at
 * its end hold it there, \ makes a character itself, \xNN is a byte.
 */

enum suppression_of {
	SUPPRESS_SCOPE = 1,
	SUPPRESS_KIND = 2,
	SUPPRESS_PROCESS = 3,
};

struct suppression {
	enum suppression_of of;
	char *text;       /* the line */
	char *pattern;    /* for fnmatch(3) */
	uint32_t figures; /* of a kind */
	const char *path;
	unsigned line;
	uint64_t uses; /* objects */
	uint64_t bytes;
};

#define SUPPRESSIONS_FOUND 1024u /* a power of two */

/* Objects of one scope are many, and their texts are the same ones. */
struct suppression_found {
	const char *scope;
	const char *comm;
	uint64_t figure;
	size_t row; /* + 1; 0: not looked for yet */
};

struct suppressions {
	struct suppression *rows;
	size_t len;
	uint64_t unused;
	struct suppression_found found[SUPPRESSIONS_FOUND];
};

/* Adds those of a file. Returns 0, or TTM_EXIT_FAILURE, told on stderr. */
int suppressions_read(struct suppressions *suppressions, const char *path);
void suppressions_free(struct suppressions *suppressions);

/* None has been used; before those of another snapshot are taken. */
void suppressions_reset(struct suppressions *suppressions);

/* Counts a use of the first that fits; false if none does. `comm` may be NULL. */
bool suppressions_take(struct suppressions *suppressions,
	const struct dump_part *part, const char *comm);

/* A line that suppresses exactly this scope. */
void suppression_write(FILE *file, const char *scope);

/* -- verdicts --------------------------------------------------------------------------- */

struct check_baseline;

/* What the user says that is known, read once: it may come from a pipe. */
struct check_excuses {
	struct suppressions suppressions;
	struct check_baseline *baseline; /* NULL: none */
};

/*
 * Returns 0, or TTM_EXIT_FAILURE, told on stderr. End it with check_excuses_free()
 * either way.
 */
int check_excuses_read(
	const struct check_options *options, struct check_excuses *ret_excuses);
void check_excuses_free(struct check_excuses *excuses);

/* What is judged, where that is not everything. */
struct run_watch;
struct check_scope {
	const uint8_t *run_id; /* 16 bytes; NULL: all processes */
	const struct ttmem_snapshot *before;
	const struct run_watch *watch; /* descendants not tracked; NULL: none */
	bool is_run;                   /* somebody must have reported */
	bool alone;  /* ttmemd is the run's own: nobody restarts it */
	bool behind; /* ttmemd does not know yet of all that have ended */
};

/* Lines for people, escaped. */
struct check_lines {
	char **lines;
	size_t len;
	bool failed; /* no memory */
};

struct check_sum {
	uint64_t bytes;
	uint64_t objects;
};

/* What is known of a process, by its index. */
enum check_mark {
	CHECK_OURS = 1, /* it counts */
	CHECK_ACKED = 2,
	CHECK_LEAKS = 4,
	CHECK_FOREIGN = 8, /* another user's: listed, and does not count */
};

struct check_verdict {
	const struct check_options *options;
	struct check_excuses *excuses;
	struct check_scope scope;
	struct ttmem_snapshot *snapshot; /* NULL: none */
	struct dump_worth worth;
	struct dump_groups leaks;   /* that count */
	struct dump_groups others;  /* that do not: kind or class is no error */
	struct dump_groups foreign; /* that do not: they are other users' */
	uint8_t *marks; /* enum check_mark, by index of the process */
	struct check_sum suppressed;
	struct check_sum acknowledged;
	struct check_sum known; /* by the baseline */
	uint64_t leak_devices;
	uint64_t leak_processes;
	uint64_t devices; /* looked at */
	uint64_t processes;
	struct check_lines missing;  /* there are no data: 3 */
	struct check_lines gaps;     /* they are incomplete: 4 */
	struct check_lines exceeded; /* limits: 5 */
	struct check_lines notes;    /* do not change the status */
	uint64_t unknown_frees;      /* of the processes that are judged */
	uint64_t unknown_freers;     /* processes that made them */
	int status;                  /* enum ttm_exit */
	char summary[CHECK_SUMMARY_SIZE];
};

__attribute__((format(printf, 2, 3))) void check_add(
	struct check_lines *lines, const char *format, ...);

/*
 * Judges what the source tells now. Returns 0; or TTM_EXIT_FAILURE, told on stderr.
 * End it with check_verdict_free() either way.
 */
int check_judge(const struct check_options *options,
	struct check_excuses *excuses, const struct check_scope *scope,
	struct dump_source *source, struct check_verdict *ret_verdict);
void check_verdict_free(struct check_verdict *verdict);

/*
 * Waits until ttmemd knows what holds now, also for one that restarts, then judges
 * until all is well or --settle has passed. `base` is the base directory; NULL: the
 * source is a file. `is_told_to_end` (NULL: never) ends the waits. As above.
 */
int check_settle(const struct check_options *options,
	struct check_excuses *excuses, const struct check_scope *scope,
	struct dump_source *source, const char *base,
	bool (*is_told_to_end)(void), struct check_verdict *ret_verdict);

/* The texts behind a verdict: status and summary, from all the rest. */
void check_summarise(struct check_verdict *verdict);

/*
 * Writes everything that was asked for, baseline and acknowledgements included.
 * Returns the exit status.
 */
int check_deliver(struct check_verdict *verdict);

/* The last line where there is no verdict: the gate has its say whatever happens. */
void check_not_checked(const struct check_options *options, const char *why);

/* What was asked for by name and is not there: lines in `missing`. */
void check_absent(struct check_verdict *verdict);

/* Limits: exceeded ones become lines. Returns 0 or -ENOMEM. */
int check_limits(
	struct check_verdict *verdict, const struct dump_selection *selection);

bool check_is_of_run(const struct check_scope *scope,
	const struct ttmem_snapshot *snapshot, uint64_t process);

/* -- formats -------------------------------------------------------------------- */

void check_write_text(const struct check_verdict *verdict, FILE *file);
void check_write_json(const struct check_verdict *verdict, FILE *file);
void check_write_junit(const struct check_verdict *verdict, FILE *file);
void check_write_github(const struct check_verdict *verdict, FILE *file);

#define CHECK_RECORD_SIZE 2048u

/* "8.00 MiB in 1 object of 1.00 MiB on each of 8 devices: ...": one line, escaped. */
const char *check_record_text(const struct check_verdict *verdict,
	const struct dump_group *record, char buffer[static CHECK_RECORD_SIZE]);

/* -- known leaks --------------------------------------------------------------------- */

/* Returns 0, or TTM_EXIT_FAILURE, told on stderr. */
int check_baseline_read(const char *path, struct check_baseline **ret_baseline);
void check_baseline_free(struct check_baseline **baseline);
/* Nothing of it has been seen. */
void check_baseline_reset(struct check_baseline *baseline);
/* Counts the part if it is known. */
bool check_baseline_take(
	struct check_baseline *baseline, const struct dump_part *part);
/* More of a record than are known: lines. */
void check_baseline_exceeded(
	const struct check_baseline *baseline, struct check_lines *lines);
/* Replaces the file by the leaks of the verdict. As check_baseline_read(). */
int check_baseline_write(const char *path, const struct check_verdict *verdict);

/* -- acknowledged retirements ---------------------------------------------------------- */

/*
 * Adds the dead owners of leaks. Returns 0 or TTM_EXIT_FAILURE, told; also if some
 * belong to other users and the caller is not root.
 */
int check_acked_add(const struct check_verdict *verdict);

#endif

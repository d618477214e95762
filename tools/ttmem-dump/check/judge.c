/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/text.h"
#include "common/value.h"
#include "ttmem-dump/clock.h"
#include "ttmem-dump/complete.h"
#include "check.h"
#include "ttmem-dump/report/report.h"
#include "ttmem-dump/run/run.h"

#define RECORD_KEYS                                                            \
	(DUMP_KEY_CLASS | DUMP_KEY_KIND | DUMP_KEY_SCOPE | DUMP_KEY_SIZE |     \
		DUMP_KEY_DEVICE)
/* Of the text of a mark, so many bytes are kept. */
#define MARK_SIZE 96u
#define TRIES 50
#define TRY_NS 20000000

struct judging {
	struct check_verdict *verdict;
	struct dump_selection selection;
	bool *places;      /* by index: something leaked there */
	uint64_t since_ns; /* allocated later; unknown: whenever */
};

void check_add(struct check_lines *lines, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	char **grown = realloc(lines->lines, (lines->len + 1) * sizeof(*grown));

	if (!grown) {
		lines->failed = true;
		return;
	}
	lines->lines = grown;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	grown[lines->len] = strdup(text);
	if (grown[lines->len])
		lines->len++;
	else
		lines->failed = true;
}

static void lines_free(struct check_lines *lines)
{
	size_t i;

	for (i = 0; i < lines->len; i++)
		free(lines->lines[i]);
	free(lines->lines);
	memset(lines, 0, sizeof(*lines));
}

static void gap_add(void *context, const char *text)
{
	check_add(context, "%s", text);
}

bool check_is_of_run(const struct check_scope *scope,
	const struct ttmem_snapshot *snapshot, uint64_t process)
{
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		snapshot, process);

	return !scope->run_id ||
		(p && memcmp(p->run_id, scope->run_id, sizeof(p->run_id)) == 0);
}

/* -- which objects --------------------------------------------------------------------- */

static void sum_add(struct check_sum *sum, const struct dump_part *part)
{
	sum->objects++;
	if (part->bytes != TTMEM_UNKNOWN)
		sum->bytes += part->bytes;
}

static bool object_is_asked(const struct judging *judging,
	const struct ttmem_object_row *object, unsigned *ret_marks)
{
	size_t len = ttmem_snapshot_processes_len(judging->verdict->snapshot);

	if (object->process < len)
		*ret_marks = judging->verdict->marks[object->process];
	else
		*ret_marks = judging->verdict->scope.run_id ||
				judging->verdict->options->user !=
					TTMEM_UNKNOWN ?
			0 :
			CHECK_OURS;
	if (judging->since_ns != TTMEM_UNKNOWN &&
		object->allocated_ns <= judging->since_ns)
		return false;
	return *ret_marks & (CHECK_OURS | CHECK_FOREIGN);
}

/* A class that is not known may be any. */
static bool part_is_error(
	const struct check_options *options, const struct dump_part *part)
{
	uint64_t figure = part->object->figure;

	if (figure < TTMEM_FIGURES && !(options->error_figures >> figure & 1))
		return false;
	return part->leak_class > TTMEM_CLASS_PERSISTENT ||
		options->errors_for >> part->leak_class & 1;
}

static bool wants_leak(void *context, const struct dump_part *part)
{
	struct judging *judging = context;
	struct check_verdict *verdict = judging->verdict;
	const struct ttmem_object_row *object = part->object;
	const struct ttmem_process_row *p;
	unsigned marks;

	if (!object_is_asked(judging, object, &marks) ||
		!(marks & CHECK_OURS) || !part_is_error(verdict->options, part))
		return false;
	if (marks & CHECK_ACKED) {
		sum_add(&verdict->acknowledged, part);
		return false;
	}
	p = ttmem_snapshot_process(verdict->snapshot, object->process);
	if (suppressions_take(&verdict->excuses->suppressions, part,
		    p ? p->comm : NULL)) {
		sum_add(&verdict->suppressed, part);
		return false;
	}
	if (verdict->excuses->baseline &&
		check_baseline_take(verdict->excuses->baseline, part)) {
		sum_add(&verdict->known, part);
		return false;
	}
	if (p)
		verdict->marks[object->process] |= CHECK_LEAKS;
	if (ttmem_snapshot_place(verdict->snapshot, part->place))
		judging->places[part->place] = true;
	return true;
}

static bool wants_other(void *context, const struct dump_part *part)
{
	const struct judging *judging = context;
	unsigned marks;

	return object_is_asked(judging, part->object, &marks) &&
		marks & CHECK_OURS && !(marks & CHECK_ACKED) &&
		!part_is_error(judging->verdict->options, part);
}

static bool wants_foreign(void *context, const struct dump_part *part)
{
	const struct judging *judging = context;
	unsigned marks;

	return object_is_asked(judging, part->object, &marks) &&
		marks & CHECK_FOREIGN && !(marks & CHECK_ACKED) &&
		part_is_error(judging->verdict->options, part);
}

/* -- preparing --------------------------------------------------------------------------- */

/*
 * The user whose processes count; unknown: all users'. Who made a recording is not
 * known. A run answers for all its descendants, whatever user they became.
 */
static uint64_t user_judged(const struct check_verdict *verdict)
{
	const struct check_options *options = verdict->options;

	if (options->user != TTMEM_UNKNOWN)
		return options->user;
	if (options->all_users || options->where.from ||
		verdict->scope.run_id || geteuid() == 0)
		return TTMEM_UNKNOWN;
	return geteuid();
}

static void processes_mark(struct judging *judging)
{
	struct check_verdict *verdict = judging->verdict;
	size_t len = ttmem_snapshot_processes_len(verdict->snapshot), i;
	uint64_t user = user_judged(verdict);
	const struct ttmem_process_row *p;

	for (i = 0; i < len; i++) {
		p = ttmem_snapshot_process(verdict->snapshot, i);
		if (!check_is_of_run(&verdict->scope, verdict->snapshot, i) ||
			!dump_has_process(&judging->selection, i))
			continue;
		if (dump_is_users(
			    verdict->snapshot, p->directory, p->uid, user)) {
			verdict->marks[i] = CHECK_OURS;
			verdict->processes++;
		} else if (verdict->options->user == TTMEM_UNKNOWN)
			verdict->marks[i] = CHECK_FOREIGN;
		if (p->acknowledged == 1)
			verdict->marks[i] |= CHECK_ACKED;
	}
}

/* Of a longer text, so much is kept, less a character that was cut. */
static bool mark_is(const char *mark, const char *text)
{
	if (!mark)
		return false;
	if (strlen(text) <= MARK_SIZE)
		return strcmp(mark, text) == 0;
	return strlen(mark) >= MARK_SIZE - 3 &&
		strncmp(mark, text, MARK_SIZE - 3) == 0;
}

/* The last mark of that text, of the processes that are asked for. */
static void since_find(struct judging *judging)
{
	struct check_verdict *verdict = judging->verdict;
	const char *text = verdict->options->since;
	size_t processes = ttmem_snapshot_processes_len(verdict->snapshot), i;
	const struct ttmem_mark_row *mark;
	char safe[256];

	judging->since_ns = TTMEM_UNKNOWN;
	for (i = 0; text && i < ttmem_snapshot_marks_len(verdict->snapshot);
		i++) {
		mark = ttmem_snapshot_mark(verdict->snapshot, i);
		if (mark_is(mark->text, text) && mark->process < processes &&
			verdict->marks[mark->process] & CHECK_OURS &&
			(judging->since_ns == TTMEM_UNKNOWN ||
				mark->time_ns > judging->since_ns))
			judging->since_ns = mark->time_ns;
	}
	if (text && judging->since_ns == TTMEM_UNKNOWN)
		check_add(&verdict->missing, "there is no mark \"%s\"",
			ttm_text_escape(text, safe, sizeof(safe)));
}

/* The different devices of all places where something leaked. */
static void leak_devices_count(struct judging *judging, bool *devices)
{
	struct check_verdict *verdict = judging->verdict;
	const struct ttmem_place_row *place;
	size_t i, n;

	for (i = 0; i < ttmem_snapshot_places_len(verdict->snapshot); i++) {
		place = ttmem_snapshot_place(verdict->snapshot, i);
		for (n = 0; judging->places[i] && n < place->devices_len; n++) {
			if (!ttmem_snapshot_device(
				    verdict->snapshot, place->devices[n]))
				continue;
			verdict->leak_devices += !devices[place->devices[n]];
			devices[place->devices[n]] = true;
		}
	}
}

static int leaks_count(struct judging *judging)
{
	struct check_verdict *verdict = judging->verdict;
	size_t processes = ttmem_snapshot_processes_len(verdict->snapshot);
	size_t devices = ttmem_snapshot_devices_len(verdict->snapshot), i;
	bool *leaking = calloc(devices + 1, sizeof(*leaking));

	if (!leaking)
		return -ENOMEM;
	leak_devices_count(judging, leaking);
	free(leaking);
	for (i = 0; i < processes; i++)
		if (verdict->marks[i] & CHECK_LEAKS)
			verdict->leak_processes++;
	for (i = 0; i < devices; i++)
		if (dump_has_device(&judging->selection, i))
			verdict->devices++;
	return 0;
}

/*
 * Frees that matched no object: a second free, or one with another kind or device. What
 * they were meant to free is listed as a leak if it is still there.
 */
static void frees_note(struct check_verdict *verdict)
{
	size_t len = ttmem_snapshot_processes_len(verdict->snapshot), i;
	const struct ttmem_process_row *p;
	char name[DUMP_NAME_SIZE];
	uint64_t frees;

	for (i = 0; i < len; i++) {
		p = ttmem_snapshot_process(verdict->snapshot, i);
		frees = ttm_value_or_0(
			p->anomalies[TTMEM_ANOMALY_FREE_UNKNOWN]);
		if (frees == 0 || !(verdict->marks[i] & CHECK_OURS) ||
			verdict->marks[i] & CHECK_ACKED)
			continue;
		verdict->unknown_frees += frees;
		verdict->unknown_freers++;
		check_add(&verdict->notes,
			"%" PRIu64 " %s no object (freed twice, or of another "
			"kind or device): process %s",
			frees, frees == 1 ? "free matches" : "frees match",
			dump_process_name(verdict->snapshot, i, name));
	}
}

static void gaps_find(struct check_verdict *verdict)
{
	const struct ttmem_info_row *info = ttmem_snapshot_info(
		verdict->snapshot);

	dump_gaps_of_run(verdict->snapshot, verdict->scope.before,
		verdict->scope.run_id, user_judged(verdict), gap_add,
		&verdict->gaps);
	run_watch_tell(verdict->scope.watch, verdict->snapshot, gap_add,
		&verdict->gaps);
	if (info->objects_listed != 1)
		check_add(&verdict->missing, "objects are not listed");
	else if (info->objects_consistent == 0)
		check_add(
			&verdict->gaps, "objects changed while they were read");
	if (verdict->scope.behind && verdict->worth.status == 0)
		check_add(&verdict->gaps,
			"ttmemd does not know yet of all processes that have "
			"ended");
}

static int snapshot_judge(struct judging *judging)
{
	struct check_verdict *verdict = judging->verdict;
	int r;

	verdict->marks = calloc(
		ttmem_snapshot_processes_len(verdict->snapshot) + 1, 1);
	judging->places = calloc(
		ttmem_snapshot_places_len(verdict->snapshot) + 1,
		sizeof(*judging->places));
	if (!verdict->marks || !judging->places)
		return -ENOMEM;
	processes_mark(judging);
	since_find(judging);
	r = dump_groups_make(&judging->selection, RECORD_KEYS, wants_leak,
		judging, &verdict->leaks);
	if (r == 0)
		r = dump_groups_make(&judging->selection, RECORD_KEYS,
			wants_other, judging, &verdict->others);
	if (r == 0)
		r = dump_groups_make(&judging->selection, RECORD_KEYS,
			wants_foreign, judging, &verdict->foreign);
	if (r == 0)
		r = check_limits(verdict, &judging->selection);
	if (r == 0)
		r = leaks_count(judging);
	frees_note(verdict);
	gaps_find(verdict);
	check_absent(verdict);
	if (verdict->excuses->baseline)
		check_baseline_exceeded(
			verdict->excuses->baseline, &verdict->exceeded);
	return r;
}

/* -- all ------------------------------------------------------------------------------------ */

int check_excuses_read(
	const struct check_options *options, struct check_excuses *ret_excuses)
{
	int status = 0;
	size_t i;

	memset(ret_excuses, 0, sizeof(*ret_excuses));
	for (i = 0; status == 0 && i < options->suppressions_len; i++)
		status = suppressions_read(
			&ret_excuses->suppressions, options->suppressions[i]);
	if (status == 0 && options->baseline && !options->update)
		status = check_baseline_read(
			options->baseline, &ret_excuses->baseline);
	return status;
}

void check_excuses_free(struct check_excuses *excuses)
{
	suppressions_free(&excuses->suppressions);
	check_baseline_free(&excuses->baseline);
}

/* It may be for the second time. */
static void excuses_reset(struct check_excuses *excuses)
{
	suppressions_reset(&excuses->suppressions);
	if (excuses->baseline)
		check_baseline_reset(excuses->baseline);
}

/* Objects of one moment, if ttmemd lets us. */
static int snapshot_take(
	struct check_verdict *verdict, struct dump_source *source)
{
	int tries, status = 0;

	for (tries = 0; tries < TRIES; tries++) {
		ttmem_snapshot_free(&verdict->snapshot);
		status = dump_source_take(source, TTMEM_SNAPSHOT_OBJECTS,
			&verdict->snapshot, &verdict->worth);
		if (!verdict->snapshot || verdict->worth.recorded ||
			verdict->worth.status ||
			ttmem_snapshot_info(verdict->snapshot)
					->objects_consistent != 0)
			break;
		dump_pause(TRY_NS);
	}
	return status == TTM_EXIT_FAILURE ? status : 0;
}

int check_judge(const struct check_options *options,
	struct check_excuses *excuses, const struct check_scope *scope,
	struct dump_source *source, struct check_verdict *ret_verdict)
{
	struct judging judging;
	int status, r = 0;

	memset(ret_verdict, 0, sizeof(*ret_verdict));
	memset(&judging, 0, sizeof(judging));
	excuses_reset(excuses);
	ret_verdict->options = options;
	ret_verdict->excuses = excuses;
	ret_verdict->scope = *scope;
	judging.verdict = ret_verdict;
	status = snapshot_take(ret_verdict, source);
	if (status)
		return status;
	if (ret_verdict->snapshot) {
		r = dump_selection_make(ret_verdict->snapshot, &options->filter,
			&judging.selection);
		if (r == 0)
			r = snapshot_judge(&judging);
		dump_selection_free(&judging.selection);
		free(judging.places);
	}
	if (r < 0 || ret_verdict->missing.failed || ret_verdict->gaps.failed ||
		ret_verdict->exceeded.failed || ret_verdict->notes.failed) {
		ttm_error("%s", strerror(ENOMEM));
		return TTM_EXIT_FAILURE;
	}
	check_summarise(ret_verdict);
	return 0;
}

void check_verdict_free(struct check_verdict *verdict)
{
	ttmem_snapshot_free(&verdict->snapshot);
	dump_groups_free(&verdict->leaks);
	dump_groups_free(&verdict->others);
	dump_groups_free(&verdict->foreign);
	free(verdict->marks);
	lines_free(&verdict->missing);
	lines_free(&verdict->gaps);
	lines_free(&verdict->exceeded);
	lines_free(&verdict->notes);
	memset(verdict, 0, sizeof(*verdict));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reader sees of a running ttmemd, and when: the measuring end of serve.py.
 * Prints one line of JSON. Times are CLOCK_MONOTONIC.
 *
 *   seen visible DIR RATE SECONDS    from a hook to where a reader sees it
 *   seen until DIR OBJECTS PROCESSES when that many are there
 *   seen snapshot DIR TIMES          what a snapshot costs a reader
 *   seen published DIR SECONDS       what publications cost ttmemd
 *   seen retired DIR TIMES           from a kill to where a reader sees it
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ttmem/reader.h>
#include <ttmem/ttmem.h>

#include "shm/clock.h"

#define MS 1e6
#define POLL_NS 200000u
#define PATIENCE_NS 120000000000ull
#define SAMPLES_MAX 1000000u

static struct ttmem_reader *reader;

static uint64_t now_ns(void)
{
	return ttm_clock_ns(CLOCK_MONOTONIC);
}

static void nap(uint64_t ns)
{
	struct timespec time = { .tv_nsec = (long)ns };

	nanosleep(&time, NULL);
}

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "seen: %s\n", what);
	exit(1);
}

/* NULL: there was none to be had just now. */
static struct ttmem_snapshot *look(uint32_t flags)
{
	struct ttmem_snapshot *snapshot = NULL;

	if (ttmem_reader_snapshot(reader, flags, &snapshot) < 0)
		return NULL;
	return snapshot;
}

static const struct ttmem_process_row *process_find(
	const struct ttmem_snapshot *snapshot, pid_t pid)
{
	size_t i, len = ttmem_snapshot_processes_len(snapshot);

	for (i = 0; i < len; i++) {
		const struct ttmem_process_row *row = ttmem_snapshot_process(
			snapshot, i);

		if (row->pid == (uint64_t)pid)
			return row;
	}
	return NULL;
}

/* -- percentiles ----------------------------------------------------------------- */

struct series {
	double *values;
	size_t len;
};

static void series_init(struct series *series)
{
	series->values = malloc(SAMPLES_MAX * sizeof(double));
	series->len = 0;
	if (!series->values)
		give_up("no memory");
}

static void series_add(struct series *series, double value)
{
	if (series->len < SAMPLES_MAX)
		series->values[series->len++] = value;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void series_print(const char *name, struct series *series)
{
	const double *v = series->values;
	size_t n = series->len;

	if (!n)
		give_up("nothing was seen");
	qsort(series->values, n, sizeof(double), by_value);
	printf("\"%s\": {\"len\": %zu, \"best_tenth\": %.4f, \"median\": %.4f, "
	       "\"p90\": %.4f, \"p99\": %.4f, \"max\": %.4f}",
		name, n, v[n / 10], v[n / 2], v[n * 9 / 10], v[n * 99 / 100],
		v[n - 1]);
}

/* -- visible --------------------------------------------------------------------- */

/* Shared by the process that records and the one that looks. */
struct diary {
	uint64_t recorded;   /* events, stored after they happened */
	uint64_t begin_ns[]; /* of each */
};

/* One event is one record: allocations and frees by turns, a thousand live. */
static _Noreturn void diary_write(
	struct diary *diary, uint64_t rate, uint64_t events)
{
	uint64_t start_ns = now_ns(), due_ns, i;
	struct timespec due;

	for (i = 0; i < events; i++) {
		due_ns = start_ns + i * 1000000000u / rate;
		due.tv_sec = (time_t)(due_ns / 1000000000u);
		due.tv_nsec = (long)(due_ns % 1000000000u);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		diary->begin_ns[i] = now_ns();
		if (i % 2 == 0 || i < 2000)
			ttmem_alloc(0, TTMEM_DRAM, i, i * 4096, 4096);
		else
			ttmem_free(0, TTMEM_DRAM, i - 1);
		__atomic_store_n(&diary->recorded, i + 1, __ATOMIC_RELEASE);
	}
	pause();
	_exit(0);
}

struct sighting {
	uint64_t at_ns;
	uint64_t events;
};

static size_t sightings_collect(pid_t pid, const struct diary *diary,
	uint64_t events, struct sighting *ret_sightings)
{
	const struct ttmem_process_row *row;
	uint64_t since_ns = now_ns(), last = 0, still = 0;
	struct ttmem_snapshot *snapshot;
	size_t len = 0;

	/* Until nothing moved for a while after the last event. */
	while (still < 500 && now_ns() - since_ns < PATIENCE_NS) {
		snapshot = look(0);
		row = snapshot ? process_find(snapshot, pid) : NULL;
		if (row && row->events != last && len < SAMPLES_MAX) {
			ret_sightings[len].at_ns = now_ns();
			ret_sightings[len++].events = last = row->events;
			still = 0;
		} else if (__atomic_load_n(&diary->recorded,
				   __ATOMIC_ACQUIRE) == events) {
			still++;
		}
		ttmem_snapshot_free(&snapshot);
		nap(POLL_NS);
	}
	return len;
}

static void visible(const char *rate_text, const char *seconds_text)
{
	uint64_t rate = strtoull(rate_text, NULL, 10);
	uint64_t events = (uint64_t)(strtod(seconds_text, NULL) * (double)rate);
	size_t size = sizeof(struct diary) + events * sizeof(uint64_t), len, s;
	struct sighting *sightings = calloc(SAMPLES_MAX, sizeof(*sightings));
	struct diary *diary = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct series late;
	uint64_t before, i;
	pid_t pid;

	if (diary == MAP_FAILED || !sightings || events < 4000)
		give_up("no memory, or too few events");
	series_init(&late);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		diary_write(diary, rate, events);
	}
	len = sightings_collect(pid, diary, events, sightings);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (!len || sightings[len - 1].events < events)
		give_up("not all was seen");
	/* What the library records besides comes before the first event. */
	before = sightings[len - 1].events - events;
	/* The first ones wait for the process to be found. */
	for (i = events / 10, s = 0; i < events; i++) {
		while (sightings[s].events < before + i + 1)
			s++;
		series_add(&late,
			(double)(sightings[s].at_ns - diary->begin_ns[i]) / MS);
	}
	printf("{");
	series_print("visible_ms", &late);
	printf(", \"events_per_s\": %.0f}\n",
		(double)(events - 1) * 1e9 /
			(double)(diary->begin_ns[events - 1] -
				diary->begin_ns[0]));
}

/* -- until ----------------------------------------------------------------------- */

static void until(const char *objects_text, const char *processes_text)
{
	uint64_t objects = strtoull(objects_text, NULL, 10);
	uint64_t processes = strtoull(processes_text, NULL, 10);
	uint64_t since_ns = now_ns();
	struct ttmem_snapshot *snapshot;
	bool there = false;

	while (!there) {
		if (now_ns() - since_ns > PATIENCE_NS)
			give_up("they did not come");
		snapshot = look(0);
		there = snapshot &&
			ttmem_snapshot_info(snapshot)->source ==
				TTMEM_SOURCE_OK &&
			ttmem_snapshot_info(snapshot)->objects_used >=
				objects &&
			ttmem_snapshot_processes_len(snapshot) >= processes;
		ttmem_snapshot_free(&snapshot);
		if (!there)
			nap(5 * POLL_NS);
	}
	printf("{\"seen_ns\": %llu}\n", (unsigned long long)now_ns());
}

/* -- snapshot -------------------------------------------------------------------- */

static int bytes_count(void *context, const char *bytes, size_t size)
{
	(void)bytes;
	*(size_t *)context += size;
	return 0;
}

static void snapshots(const char *times_text)
{
	uint64_t times = strtoull(times_text, NULL, 10), begin_ns, i;
	struct series small, whole, writing;
	struct ttmem_snapshot *snapshot;
	struct rusage before, after;
	size_t bytes = 0, objects = 0;

	series_init(&small);
	series_init(&whole);
	series_init(&writing);
	getrusage(RUSAGE_SELF, &before);
	for (i = 0; i < times; i++) {
		begin_ns = ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		snapshot = look(0);
		series_add(&small,
			(double)(ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID) -
				begin_ns) /
				MS);
		ttmem_snapshot_free(&snapshot);
		begin_ns = ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		snapshot = look(TTMEM_SNAPSHOT_OBJECTS);
		series_add(&whole,
			(double)(ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID) -
				begin_ns) /
				MS);
		if (!snapshot)
			give_up("no snapshot");
		objects = ttmem_snapshot_objects_len(snapshot);
		bytes = 0;
		begin_ns = ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		ttmem_snapshot_write(snapshot, bytes_count, &bytes);
		series_add(&writing,
			(double)(ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID) -
				begin_ns) /
				MS);
		ttmem_snapshot_free(&snapshot);
	}
	getrusage(RUSAGE_SELF, &after);
	printf("{");
	series_print("totals_ms", &small);
	printf(", ");
	series_print("objects_ms", &whole);
	printf(", ");
	series_print("json_ms", &writing);
	printf(", \"objects\": %zu, \"json_bytes\": %zu, "
	       "\"peak_bytes\": %ld}\n",
		objects, bytes, (after.ru_maxrss - before.ru_maxrss) * 1024);
}

/* -- published ------------------------------------------------------------------- */

static void published(const char *seconds_text)
{
	double seconds = strtod(seconds_text, NULL);
	struct ttmem_health_row begin = { 0 }, end = { 0 };
	uint64_t first = 0, last = 0, since_ns = now_ns();
	struct ttmem_snapshot *snapshot;
	struct series cost, round;
	size_t shares = 0;

	series_init(&cost);
	series_init(&round);
	for (; (double)(now_ns() - since_ns) < seconds * 1e9; nap(POLL_NS)) {
		snapshot = look(0);
		if (snapshot &&
			ttmem_snapshot_info(snapshot)->publication != last) {
			end = *ttmem_snapshot_health(snapshot);
			last = ttmem_snapshot_info(snapshot)->publication;
			if (!first) {
				first = last;
				begin = end;
			}
			/* Of the one before: a publication cannot tell its own. */
			series_add(&cost, (double)end.publish_ns / MS);
			series_add(&round, (double)end.round_ns / MS);
			shares = ttmem_snapshot_shares_len(snapshot);
		}
		ttmem_snapshot_free(&snapshot);
	}
	printf("{");
	series_print("publish_cpu_ms", &cost);
	printf(", ");
	series_print("round_ms", &round);
	printf(", \"publications\": %llu, \"events\": %llu, "
	       "\"missed\": %llu, \"shares\": %zu}\n",
		(unsigned long long)(last - first),
		(unsigned long long)(end.events - begin.events),
		(unsigned long long)(end.missed - begin.missed), shares);
}

/* -- retired --------------------------------------------------------------------- */

static _Noreturn void victim(void)
{
	uint64_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < 100; i++)
		ttmem_alloc(0, TTMEM_DRAM, i, i * 4096, 4096);
	for (;;)
		pause();
}

/* Whether the reader sees that the process is there, or that it is gone. */
static bool is_seen(pid_t pid, bool gone)
{
	struct ttmem_snapshot *snapshot = look(0);
	const struct ttmem_process_row *row;
	bool seen = false;

	row = snapshot ? process_find(snapshot, pid) : NULL;
	if (row && row->objects == 100)
		seen = gone == (row->state == TTMEM_PROCESS_DIED);
	ttmem_snapshot_free(&snapshot);
	return seen;
}

static void seen_wait(pid_t pid, bool gone)
{
	uint64_t since_ns = now_ns();

	while (!is_seen(pid, gone)) {
		if (now_ns() - since_ns > PATIENCE_NS)
			give_up("not seen");
		nap(POLL_NS);
	}
}

static void retired(const char *times_text)
{
	uint64_t times = strtoull(times_text, NULL, 10), begin_ns, i;
	struct series late;
	pid_t pid;

	series_init(&late);
	for (i = 0; i < times; i++) {
		pid = fork();
		if (pid == 0)
			victim();
		seen_wait(pid, false);
		begin_ns = now_ns();
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		seen_wait(pid, true);
		series_add(&late, (double)(now_ns() - begin_ns) / MS);
	}
	printf("{");
	series_print("retired_ms", &late);
	printf("}\n");
}

int main(int argc, char **argv)
{
	struct ttmem_reader_config config = { .size = sizeof(config) };
	const char *what = argc > 1 ? argv[1] : "";

	if (argc < 4)
		give_up("see the top of bench/seen.c");
	config.dir = argv[2];
	setenv("TTMEM_DIR", argv[2], 1);
	setenv("TTMEM_ENABLED", "1", 1);
	if (ttmem_reader_open(&config, &reader) < 0)
		give_up("no reader");
	if (strcmp(what, "visible") == 0 && argc == 5)
		visible(argv[3], argv[4]);
	else if (strcmp(what, "until") == 0 && argc == 5)
		until(argv[3], argv[4]);
	else if (strcmp(what, "snapshot") == 0 && argc == 4)
		snapshots(argv[3]);
	else if (strcmp(what, "published") == 0 && argc == 4)
		published(argv[3]);
	else if (strcmp(what, "retired") == 0 && argc == 4)
		retired(argv[3]);
	else
		give_up("see the top of bench/seen.c");
	ttmem_reader_close(&reader);
	return 0;
}

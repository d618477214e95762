/* SPDX-License-Identifier: Apache-2.0 */
#include "group.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <ttmem/ttmem.h>

#include "reader.h"
#include "series.h"
#include "slice.h"

#define SLICE_MS 2.0
/* In a turn; more where it takes long until the caches are warm again. */
#define PAIRS_PER_TURN 5u
#define OBJECTS_PER_PAIR 10000u
/*
 * A thread that was not running for more than this share of a slice, or came that
 * much later than the other, spoils it.
 */
#define ABSENT_MAX 0.1
/* If too many are spoilt, a cell gets more time than asked for. */
#define PAIRS_ENOUGH 20u
#define TIMES_MAX 5

enum task {
	TASK_FILL,
	TASK_CLEAR,
	TASK_HOOK,
	TASK_FLOOR,
	TASK_END,
};

struct group;

/* Neighbours share no cache line, nor one that is fetched along with it. */
struct worker {
	struct group *group;
	struct bench_side side;
	struct bench_slice slice;
	unsigned number;
	int error;
} __attribute__((aligned(256)));

struct group {
	struct worker workers[2];
	struct bench_time time;
	const struct bench_plan *plan;
	const struct bench_hook *hook;
	size_t live;
	enum bench_threads threads;
	struct bench_reader *reader;
	struct ttmem_status status;
	pthread_t second;
	pthread_barrier_t begin;
	pthread_barrier_t end;
	uint64_t met; /* counts threads that came to the start of a slice */
	enum task task;
};

/* -- threads ---------------------------------------------------------------- */

/*
 * Two threads sit on processors of their own, or they would take turns on one now
 * and then. One alone is better off where the kernel finds room for it.
 */
static void worker_pin(const struct worker *worker)
{
	unsigned number = worker->number;
	cpu_set_t all, one;
	int cpu;

	if (!worker->group->plan->pin || worker->group->threads == BENCH_ONE ||
		sched_getaffinity(0, sizeof(all), &all) < 0)
		return;
	/* The last ones: the first serve most interrupts. */
	for (cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
		if (CPU_ISSET(cpu, &all) && number-- == 0)
			break;
	if (cpu < 0)
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void worker_fill(struct worker *worker)
{
	struct group *group = worker->group;
	bool alone = group->threads == BENCH_ONE;
	unsigned number = group->threads == BENCH_TWO ? worker->number : 0;

	worker_pin(worker);
	worker->error = bench_side_fill(&worker->side, group->hook,
		worker->number, alone ? 1 : 2,
		bench_device(group->hook, number),
		alone ? group->live : group->live / 2);
}

/* Both start a slice at the same time, unless the kernel stops one right here. */
static void workers_meet(struct group *group)
{
	uint64_t both;

	if (group->threads == BENCH_ONE)
		return;
	both = (ttm_fetch_add(&group->met, 1) / 2 + 1) * 2;
	while (ttm_load(&group->met) < both) /* relaxed: time is all */
		;
}

static void worker_do(struct worker *worker, enum task task)
{
	switch (task) {
	case TASK_FILL:
		worker_fill(worker);
		break;
	case TASK_CLEAR:
		bench_side_clear(&worker->side);
		break;
	case TASK_HOOK:
	case TASK_FLOOR:
		workers_meet(worker->group);
		bench_slice_run(&worker->slice, &worker->group->time,
			&worker->side, task == TASK_FLOOR);
		break;
	case TASK_END:
		break;
	}
}

static void *second_main(void *argument)
{
	struct worker *worker = argument;
	struct group *group = worker->group;
	enum task task;

	do {
		pthread_barrier_wait(&group->begin);
		task = group->task;
		worker_do(worker, task);
		pthread_barrier_wait(&group->end);
	} while (task != TASK_END);
	return NULL;
}

/* All threads at once. */
static void group_do(struct group *group, enum task task)
{
	group->task = task;
	if (group->threads == BENCH_ONE) {
		worker_do(&group->workers[0], task);
		return;
	}
	pthread_barrier_wait(&group->begin);
	worker_do(&group->workers[0], task);
	pthread_barrier_wait(&group->end);
}

/* -- a cell's share of a turn ------------------------------------------------ */

static bool slice_is_whole(const struct group *group)
{
	const struct bench_slice *first = &group->workers[0].slice;
	const struct bench_slice *second = &group->workers[1].slice;
	uint64_t apart = first->begin > second->begin ?
		first->begin - second->begin :
		second->begin - first->begin;

	if (first->busy < 1 - ABSENT_MAX)
		return false;
	return group->threads == BENCH_ONE ||
		(second->busy >= 1 - ABSENT_MAX &&
			(double)apart <=
				ABSENT_MAX * (double)group->time.slice_ticks);
}

/* Nanoseconds per call, mean of the threads; false if the slice is spoilt. */
static bool slice_take(struct group *group, bool floor,
	struct bench_series *series, double *ret_ns)
{
	unsigned len = group->threads == BENCH_ONE ? 1 : 2, i, k;
	struct bench_slice *slice;
	double sum = 0;

	group_do(group, floor ? TASK_FLOOR : TASK_HOOK);
	for (i = 0; i < len; i++) {
		slice = &group->workers[i].slice;
		sum += bench_slice_ns(slice, &group->time, group->hook);
		for (k = 0; k < slice->samples_len; k++)
			bench_series_sample(series, floor,
				bench_sample_ns(
					slice, k, &group->time, group->hook));
	}
	*ret_ns = sum / len;
	return slice_is_whole(group);
}

static void pairs_take(struct group *group, struct bench_series *series)
{
	size_t len = PAIRS_PER_TURN + group->live / OBJECTS_PER_PAIR, i;
	double measured, floor;
	bool whole;

	for (i = 0; i < len; i++) {
		whole = slice_take(group, false, series, &measured);
		whole &= slice_take(group, true, series, &floor);
		bench_series_pair(series, whole, measured, floor);
	}
}

static void cell_take(struct group *group, struct bench_cell *cell,
	struct bench_series *series)
{
	uint64_t begin_ns, read = 0, missed = 0;

	if (cell->reader) {
		bench_reader_poll(group->reader, true, group->status.segment);
		bench_reader_counts(group->reader, &read, &missed);
	}
	begin_ns = ttm_clock_ns(CLOCK_MONOTONIC);
	pairs_take(group, series);
	series->seconds += (double)(ttm_clock_ns(CLOCK_MONOTONIC) - begin_ns) /
		1e9;
	if (cell->reader) {
		bench_reader_poll(group->reader, false, NULL);
		cell->read -= read;
		cell->missed -= missed;
		bench_reader_counts(group->reader, &read, &missed);
		cell->read += read;
		cell->missed += missed;
	}
}

/* -- all of it ---------------------------------------------------------------- */

static int workers_start(struct group *group)
{
	unsigned i;
	int r;

	for (i = 0; i < 2; i++) {
		group->workers[i].group = group;
		group->workers[i].number = i;
		r = bench_slice_init(&group->workers[i].slice);
		if (r < 0)
			return r;
	}
	if (group->threads == BENCH_ONE)
		return 0;
	pthread_barrier_init(&group->begin, NULL, 2);
	pthread_barrier_init(&group->end, NULL, 2);
	return -pthread_create(
		&group->second, NULL, second_main, &group->workers[1]);
}

static int group_start(
	struct group *group, const struct bench_cell *cells, size_t cells_len)
{
	size_t i;
	int r;

	for (i = 0; i < cells_len; i++)
		if (cells[i].reader && !group->reader) {
			group->reader = bench_reader_start();
			if (!group->reader)
				return -EAGAIN;
		}
	r = bench_start(group->hook);
	if (r < 0)
		return r;
	group->status.size = sizeof(group->status);
	ttmem_status(&group->status);
	bench_time_calibrate(&group->time, SLICE_MS);
	r = workers_start(group);
	if (r < 0)
		return r;
	group_do(group, TASK_FILL);
	return group->workers[0].error ? group->workers[0].error :
					 group->workers[1].error;
}

static void group_end(struct group *group)
{
	group_do(group, TASK_CLEAR);
	if (group->threads != BENCH_ONE) {
		group_do(group, TASK_END);
		pthread_join(group->second, NULL);
	}
	if (group->reader)
		bench_reader_stop(group->reader);
	ttmem_stop();
}

static bool is_enough(
	const struct bench_series *series, const struct bench_plan *plan)
{
	return series->seconds >= TIMES_MAX * plan->seconds ||
		(series->seconds >= plan->seconds &&
			series->len >= PAIRS_ENOUGH);
}

static void turns_take(struct group *group, struct bench_cell *cells,
	struct bench_series *series, size_t len, struct bench_turn *turn)
{
	bool enough;
	size_t i;

	while (bench_turn_wait(turn)) {
		enough = true;
		for (i = 0; i < len; i++) {
			cell_take(group, &cells[i], &series[i]);
			enough &= is_enough(&series[i], group->plan);
		}
		bench_turn_pass(turn, enough);
	}
}

int bench_group_run(struct bench_cell *cells, size_t cells_len,
	const struct bench_plan *plan, struct bench_turn *turn)
{
	struct group group = { .plan = plan, .hook = cells[0].hook };
	struct bench_series *series = calloc(cells_len, sizeof(*series));
	int r = series ? 0 : -ENOMEM;
	size_t i;

	group.live = cells[0].live;
	group.threads = cells[0].threads;
	for (i = 0; i < cells_len && r == 0; i++)
		r = bench_series_init(&series[i]);
	if (r == 0)
		r = group_start(&group, cells, cells_len);
	if (r < 0)
		return r;
	turns_take(&group, cells, series, cells_len, turn);
	group_end(&group);
	for (i = 0; i < cells_len; i++)
		bench_series_sum_up(&series[i], &cells[i]);
	free(series);
	return 0;
}

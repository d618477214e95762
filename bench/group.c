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
/* Pairs of slices in a row; more where changing the objects takes long. */
#define PAIRS_IN_A_ROW 5u
#define PAIRS_PER_OBJECTS 5000u
/* A thread that was running for less than this share of a slice spoils it. */
#define BUSY_ENOUGH 0.9

enum task {
	TASK_FILL,
	TASK_CLEAR,
	TASK_HOOK,
	TASK_FLOOR,
	TASK_END,
};

struct group;

struct worker {
	struct group *group;
	struct bench_side side;
	struct bench_slice slice;
	unsigned number;
	int error;
};

struct group {
	struct worker workers[2];
	struct bench_time time;
	const struct bench_plan *plan;
	const struct bench_hook *hook;
	size_t live;
	enum bench_threads threads; /* for which the objects are there */
	struct bench_reader *reader;
	struct ttmem_status status;
	pthread_t second;
	pthread_barrier_t begin;
	pthread_barrier_t end;
	enum task task;
};

/* -- threads ---------------------------------------------------------------- */

static void worker_pin(unsigned number)
{
	cpu_set_t all, one;
	int cpu;

	if (sched_getaffinity(0, sizeof(all), &all) < 0)
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

	worker->error = bench_side_fill(&worker->side, group->hook,
		worker->number, bench_device(group->hook, number),
		alone ? group->live : group->live / 2);
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
		if (group->plan->pin && worker->error == -EAGAIN)
			worker_pin(worker->number);
		worker->error = 0;
		task = group->task;
		worker_do(worker, task);
		pthread_barrier_wait(&group->end);
	} while (task != TASK_END);
	return NULL;
}

/* All threads of the current cell at once. */
static void group_do(struct group *group, enum task task)
{
	group->task = task;
	if (group->threads == BENCH_ONE && task != TASK_END) {
		worker_do(&group->workers[0], task);
		return;
	}
	pthread_barrier_wait(&group->begin);
	worker_do(&group->workers[0], task);
	pthread_barrier_wait(&group->end);
}

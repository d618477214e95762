/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that take turns: each keeps its own state, only one works at a time,
 * and nothing of one's history gets into another's.
 */
#ifndef BENCH_TURNS_H
#define BENCH_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define BENCH_TURNS_MAX 8u

/* The end of a process's line to whoever calls it. */
struct bench_turn {
	int from;
	int to;
};

struct bench_turns {
	struct {
		pid_t pid;
		int from;
		int to;
	} processes[BENCH_TURNS_MAX];
	size_t len;
};

/*
 * Starts a process that runs `body` and exits with 0, or 1 if that returned
 * false. It dies with its parent. Returns 0 or a negative errno.
 */
int bench_turns_add(struct bench_turns *turns,
	bool (*body)(struct bench_turn *turn, void *argument), void *argument);

/*
 * Calls them up in turn until all have had enough, and waits for their end.
 * Returns false if one failed, or if *stop was set by a signal handler.
 */
bool bench_turns_run(struct bench_turns *turns, const volatile int *stop);

/* For the process: waits for its turn. False: there will be no more. */
bool bench_turn_wait(struct bench_turn *turn);

/* Ends the turn. */
void bench_turn_pass(struct bench_turn *turn, bool enough);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cell.h"
#include "group.h"

#define BENCH_LIVES_MAX 8u

struct bench_options {
	const struct bench_hook **hooks; /* those asked for, in their order */
	size_t hooks_len;
	bool threads[BENCH_THREADS];
	size_t lives[BENCH_LIVES_MAX];
	size_t lives_len;
	bool reader[2]; /* without, with */
	bool json;
	struct bench_plan plan;
};

/* Names of enum bench_threads. */
extern const char *const bench_threads_names[BENCH_THREADS];

/* Exits with 0 after --help and --list, with 2 on a mistake. */
void bench_options_parse(
	int argc, char **argv, struct bench_options *ret_options);

#endif

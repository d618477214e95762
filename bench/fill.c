/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What growing costs the program: the first hook of a process, the memory of its segment
 * after one event, and single hooks while a process fills up with objects.
 *
 * Each hook is timed alone, so each figure includes a read of the clock and whatever
 * interrupts the process. The first hooks are those of child processes, one each.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ttmem/ttmem.h>

#include "scratch.h"
#include "shm/clock.h"

#define STARTS_MAX 10000u

struct options {
	size_t objects;
	size_t starts;
	bool json;
};

struct first {
	uint64_t hook_ns;
	uint64_t segment_bytes;
};

static void help(void)
{
	fputs("usage: fill [options]\n"
	      "\n"
	      "The first hook of a process, the memory of its segment then, and\n"
	      "single hooks of a process that fills up with objects.\n"
	      "\n"
	      "  --objects N   that the process gets (default: 1e6)\n"
	      "  --starts N    processes with one event (default: 200)\n"
	      "  --json        results as JSON\n"
	      "  -h, --help    this text\n",
		stdout);
}

static size_t number_parse(const char *text, double most)
{
	char *end;
	double number = strtod(text, &end); /* so that 1e6 is a number */

	if (end == text || *end || !(number >= 1 && number <= most)) {
		fprintf(stderr, "fill: not a number from 1 to %g: %s\n", most,
			text);
		exit(2);
	}
	return (size_t)number;
}

static void options_parse(int argc, char **argv, struct options *ret_options)
{
	static const struct option known[] = {
		{ "objects", required_argument, NULL, 'o' },
		{ "starts", required_argument, NULL, 's' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	*ret_options = (struct options){ .objects = 1000000, .starts = 200 };
	while ((option = getopt_long(argc, argv, "h", known, NULL)) != -1)
		switch (option) {
		case 'o':
			ret_options->objects = number_parse(optarg, 4e6);
			break;
		case 's':
			ret_options->starts = number_parse(optarg, STARTS_MAX);
			break;
		case 'j':
			ret_options->json = true;
			break;
		case 'h':
			help();
			exit(0);
		default:
			exit(2);
		}
}

/* -- measuring ------------------------------------------------------------------- */

static uint64_t segment_bytes(void)
{
	struct ttmem_status status = { .size = sizeof(status) };
	struct stat st;

	if (ttmem_status(&status) < 0 || stat(status.segment, &st) < 0)
		return 0;
	return (uint64_t)st.st_blocks * 512;
}

static _Noreturn void first_main(int to)
{
	struct first first;
	uint64_t begin_ns = ttm_clock_ns(CLOCK_MONOTONIC);

	ttmem_alloc(0, TTMEM_DRAM, 1, 0x1000, 4096);
	first.hook_ns = ttm_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	first.segment_bytes = segment_bytes();
	ttmem_free(0, TTMEM_DRAM, 1);
	ttmem_stop();
	_exit(!first.segment_bytes ||
		write(to, &first, sizeof(first)) != (ssize_t)sizeof(first));
}

static int first_take(struct first *ret_first)
{
	int pipes[2], status = 0;
	ssize_t len = 0;
	pid_t pid;

	if (pipe(pipes) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		first_main(pipes[1]);
	close(pipes[1]);
	if (pid > 0)
		len = read(pipes[0], ret_first, sizeof(*ret_first));
	close(pipes[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return len == (ssize_t)sizeof(*ret_first) && !status ? 0 : -ECHILD;
}

static int by_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Fills ret_ns, which is then in order. Returns 0 or a negative errno. */
static int fill_take(size_t objects, uint64_t *ret_ns)
{
	struct ttmem_status status = { .size = sizeof(status) };
	uint64_t begin_ns;
	unsigned i;
	size_t n;

	memset(ret_ns, 0, objects * sizeof(*ret_ns)); /* its pages are there */
	ttmem_alloc(0, TTMEM_DRAM, objects, 0, 1);
	for (n = 0; n < objects; n++) {
		begin_ns = ttm_clock_ns(CLOCK_MONOTONIC);
		ttmem_alloc(0, TTMEM_DRAM, n, n * 4096, 4096);
		ret_ns[n] = ttm_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	}
	ttmem_status(&status);
	for (n = 0; n <= objects; n++)
		ttmem_free(0, TTMEM_DRAM, n);
	ttmem_stop();
	for (i = 0; i < TTMEM_LOSSES; i++)
		if (status.lost_events[i])
			return -ENOSPC;
	qsort(ret_ns, objects, sizeof(*ret_ns), by_ns);
	return 0;
}

/* -- report ---------------------------------------------------------------------- */

static double us_at(const uint64_t *ns, size_t len, double share)
{
	return (double)ns[(size_t)(share * (double)(len - 1))] / 1e3;
}

static void report(const struct options *options, const uint64_t *first_ns,
	uint64_t bytes, const uint64_t *ns)
{
	const struct {
		const char *name, *unit, *target;
		double value;
	} rows[] = {
		{ "first hook, median", "us", "<= 500",
			us_at(first_ns, options->starts, .5) },
		{ "first hook, p99", "us", "",
			us_at(first_ns, options->starts, .99) },
		{ "segment after one event", "KiB", "<= 192",
			(double)bytes / 1024 },
		{ "hook while filling, median", "us", "",
			us_at(ns, options->objects, .5) },
		{ "hook while filling, p99", "us", "",
			us_at(ns, options->objects, .99) },
		{ "hook while filling, p99.99", "us", "<= 20",
			us_at(ns, options->objects, .9999) },
		{ "hook while filling, max", "us", "",
			us_at(ns, options->objects, 1) },
	};
	size_t i, len = sizeof(rows) / sizeof(rows[0]);

	if (options->json)
		printf("{\"schema_version\": 1, \"bench\": \"fill\", "
		       "\"objects\": %zu, \"starts\": %zu, \"rows\": [",
			options->objects, options->starts);
	for (i = 0; i < len; i++)
		if (options->json)
			printf("%s\n {\"what\": \"%s\", \"value\": %.3f, "
			       "\"unit\": \"%s\", \"target\": \"%s\"}",
				i ? "," : "", rows[i].name, rows[i].value,
				rows[i].unit, rows[i].target);
		else
			printf("%-28s %9.2f %-4s %s\n", rows[i].name,
				rows[i].value, rows[i].unit, rows[i].target);
	if (options->json)
		puts("]}");
}

static int measure(const struct options *options, uint64_t *first_ns,
	uint64_t *ret_bytes, uint64_t *ns)
{
	struct first first = { 0 };
	size_t i;
	int r = 0;

	*ret_bytes = 0;
	for (i = 0; i < options->starts && r == 0; i++) {
		r = first_take(&first);
		first_ns[i] = first.hook_ns;
		if (first.segment_bytes > *ret_bytes)
			*ret_bytes = first.segment_bytes;
	}
	qsort(first_ns, options->starts, sizeof(*first_ns), by_ns);
	return r ? r : fill_take(options->objects, ns);
}

int main(int argc, char **argv)
{
	static uint64_t first_ns[STARTS_MAX];
	struct options options;
	uint64_t bytes, *ns;
	int r = -ENOMEM;

	options_parse(argc, argv, &options);
	bench_scratch_make("fill");
	ns = malloc(options.objects * sizeof(*ns));
	if (ns)
		r = measure(&options, first_ns, &bytes, ns);
	bench_scratch_remove();
	if (r < 0)
		fprintf(stderr, "fill: %s\n", strerror(-r));
	else
		report(&options, first_ns, bytes, ns);
	free(ns);
	return r < 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <fnmatch.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two threads with two batches each. */
#define LIVE_MIN 512u
#define LIVE_MAX 4000000u

const char *const bench_threads_names[BENCH_THREADS] = {
	[BENCH_ONE] = "1",
	[BENCH_TWO] = "2",
	[BENCH_SHARED] = "shared",
};

static void help(void)
{
	fputs("usage: record [options]\n"
	      "\n"
	      "What a call of each hook costs, next to its floor: the same bytes\n"
	      "into a ring of its own and the same clock, in alternating slices.\n"
	      "\n"
	      "  --hook NAME     only this one; may hold * and be repeated\n"
	      "  --threads WHAT  1, 2 (each on its own device) or shared (two on\n"
	      "                  one device); may be repeated (default: all)\n"
	      "  --live N        live objects; may be repeated\n"
	      "                  (default: 1000 and 100000)\n"
	      "  --reader WHAT   yes, no or both (default): with a process that\n"
	      "                  reads the segment every millisecond\n"
	      "  --seconds S     for each line (default: 0.5)\n"
	      "  --no-pin        leave it to the kernel where threads run\n"
	      "  --json          results as JSON\n"
	      "  --list          the hooks\n"
	      "  -h, --help      this text\n"
	      "\n"
	      "Columns: median over slices of the nanoseconds per call, of the\n"
	      "hook and of its floor; median and quartiles of their ratio; the\n"
	      "hook's cost relative to one thread; percentiles over batches.\n"
	      "Two threads have half of the live objects each.\n",
		stdout);
}

static void list(void)
{
	size_t i;

	for (i = 0; i < bench_hooks_len; i++)
		printf("%-30s %s\n", bench_hooks[i].name, bench_hooks[i].text);
}

static _Noreturn void mistake(const char *what, const char *value)
{
	fprintf(stderr, "record: %s: %s; --help tells more\n", what, value);
	exit(2);
}

static void hook_add(struct bench_options *options, const char *pattern)
{
	size_t i, k;
	bool any = false;

	for (i = 0; i < bench_hooks_len; i++) {
		if (fnmatch(pattern, bench_hooks[i].name, 0) != 0)
			continue;
		any = true;
		for (k = 0; k < options->hooks_len; k++)
			if (options->hooks[k] == &bench_hooks[i])
				break;
		if (k == options->hooks_len)
			options->hooks[options->hooks_len++] = &bench_hooks[i];
	}
	if (!any)
		mistake("no such hook", pattern);
}

static void threads_add(struct bench_options *options, const char *name)
{
	size_t i;

	for (i = 0; i < BENCH_THREADS; i++)
		if (strcmp(name, bench_threads_names[i]) == 0) {
			options->threads[i] = true;
			return;
		}
	mistake("--threads is 1, 2 or shared", name);
}

static void live_add(struct bench_options *options, const char *text)
{
	double live;
	char *end;

	live = strtod(text, &end); /* so that 1e5 is a number */
	if (end == text || *end || !(live >= LIVE_MIN && live <= LIVE_MAX))
		mistake("--live is a number from 512 to 4e6", text);
	if (options->lives_len == BENCH_LIVES_MAX)
		mistake("too many --live", text);
	options->lives[options->lives_len++] = (size_t)live;
}

static void reader_set(struct bench_options *options, const char *name)
{
	bool both = strcmp(name, "both") == 0;

	options->reader[0] = both || strcmp(name, "no") == 0;
	options->reader[1] = both || strcmp(name, "yes") == 0;
	if (!options->reader[0] && !options->reader[1])
		mistake("--reader is yes, no or both", name);
}

static void seconds_set(struct bench_options *options, const char *text)
{
	char *end;

	options->plan.seconds = strtod(text, &end);
	if (end == text || *end ||
		!(options->plan.seconds > 0 && options->plan.seconds <= 3600))
		mistake("--seconds is a number up to 3600", text);
}

static void one_parse(struct bench_options *options, int option)
{
	switch (option) {
	case 'k':
		hook_add(options, optarg);
		break;
	case 't':
		threads_add(options, optarg);
		break;
	case 'l':
		live_add(options, optarg);
		break;
	case 'r':
		reader_set(options, optarg);
		break;
	case 's':
		seconds_set(options, optarg);
		break;
	case 'p':
		options->plan.pin = false;
		break;
	case 'j':
		options->json = true;
		break;
	case 'i':
		list();
		exit(0);
	case 'h':
		help();
		exit(0);
	default:
		exit(2);
	}
}

static void defaults_fill(struct bench_options *options)
{
	size_t i;
	bool any = false;

	if (options->hooks_len == 0)
		hook_add(options, "*");
	for (i = 0; i < BENCH_THREADS; i++)
		any |= options->threads[i];
	for (i = 0; i < BENCH_THREADS && !any; i++)
		options->threads[i] = true;
	if (options->lives_len == 0) {
		options->lives[options->lives_len++] = 1000;
		options->lives[options->lives_len++] = 100000;
	}
}

void bench_options_parse(
	int argc, char **argv, struct bench_options *ret_options)
{
	static const struct option known[] = {
		{ "hook", required_argument, NULL, 'k' },
		{ "threads", required_argument, NULL, 't' },
		{ "live", required_argument, NULL, 'l' },
		{ "reader", required_argument, NULL, 'r' },
		{ "seconds", required_argument, NULL, 's' },
		{ "no-pin", no_argument, NULL, 'p' },
		{ "json", no_argument, NULL, 'j' },
		{ "list", no_argument, NULL, 'i' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	memset(ret_options, 0, sizeof(*ret_options));
	ret_options->hooks = calloc(
		bench_hooks_len, sizeof(ret_options->hooks[0]));
	if (!ret_options->hooks)
		mistake("no memory", "hooks");
	ret_options->reader[0] = ret_options->reader[1] = true;
	ret_options->plan.seconds = 0.5;
	ret_options->plan.pin = true;
	while ((option = getopt_long(argc, argv, "h", known, NULL)) != -1)
		one_parse(ret_options, option);
	if (optind < argc)
		mistake("not an option", argv[optind]);
	defaults_fill(ret_options);
}

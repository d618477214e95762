/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What draining an event costs ttmemd. A process refills its lanes; then each of
 * three ways reads the same records, in an order that changes from time to time.
 * Refills are what a lane has at half its fill time, so nothing is ever missed.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ttmem/version.h>

#include "drains.h"
#include "refill.h"
#include "scratch.h"
#include "shm/clock.h"

#define CHOICES_MAX 8u
#define REFILLS_MIN 30u
#define REFILLS_MAX 100000u
#define WARM_REFILLS 3u

struct options {
	size_t lanes[CHOICES_MAX];
	size_t lanes_len;
	size_t lives[CHOICES_MAX];
	size_t lives_len;
	size_t meshes[CHOICES_MAX];
	size_t meshes_len;
	uint32_t records; /* of a lane, in a refill */
	double seconds;
	bool json;
};

struct cell {
	unsigned lanes;
	size_t live;
	unsigned mesh;
	size_t refills;
	double median[BENCH_DRAINS]; /* ns of the processor per event */
	double tenth[BENCH_DRAINS];  /* the best tenth is below */
};

/* -- options --------------------------------------------------------------------- */

static void help(void)
{
	fputs("usage: drain [options]\n"
	      "\n"
	      "What an event costs ttmemd that drains it, in ns of the processor:\n"
	      "count  only reads the records and counts them\n"
	      "state  keeps the state of every object, too\n"
	      "whole  and the distributions: all that ttmemd does\n"
	      "\n"
	      "  --lanes N     threads of the process, may be repeated\n"
	      "                (default: 1 and 4)\n"
	      "  --live N      live objects, may be repeated\n"
	      "                (default: 1000 and 100000)\n"
	      "  --mesh N      devices that each object is on, may be repeated\n"
	      "                (default: 0, four devices by turns)\n"
	      "  --records N   in a lane when it is drained, up to 2000\n"
	      "                (default: 1024)\n"
	      "  --seconds S   for each line (default: 2)\n"
	      "  --json        results as JSON\n"
	      "  -h, --help    this text\n",
		stdout);
}

static _Noreturn void mistake(const char *what, const char *value)
{
	fprintf(stderr, "drain: %s: %s; --help tells more\n", what, value);
	exit(2);
}

static double number_parse(
	const char *what, const char *text, double least, double most)
{
	char *end;
	double number = strtod(text, &end); /* so that 1e5 is a number */

	if (end == text || *end || !(number >= least && number <= most))
		mistake(what, text);
	return number;
}

static void choice_add(size_t *choices, size_t *len, double number)
{
	if (*len == CHOICES_MAX)
		mistake("too many of one option", "");
	choices[(*len)++] = (size_t)number;
}

static void option_take(struct options *options, int option)
{
	switch (option) {
	case 'n':
		choice_add(options->lanes, &options->lanes_len,
			number_parse("--lanes is 1 to 63", optarg, 1,
				BENCH_DRAINS_LANES_MAX - 1));
		break;
	case 'l':
		choice_add(options->lives, &options->lives_len,
			number_parse("--live is 100 to 4e6", optarg, 100, 4e6));
		break;
	case 'm':
		choice_add(options->meshes, &options->meshes_len,
			number_parse("--mesh is 0 to 64", optarg, 0,
				BENCH_REFILL_MESH_MAX));
		break;
	case 'r':
		options->records = (uint32_t)number_parse(
			"--records is 1 to 2000", optarg, 1, 2000);
		break;
	case 's':
		options->seconds = number_parse(
			"--seconds is a number up to 3600", optarg, 0, 3600);
		break;
	case 'j':
		options->json = true;
		break;
	case 'h':
		help();
		exit(0);
	default:
		exit(2);
	}
}

static void options_parse(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "lanes", required_argument, NULL, 'n' },
		{ "live", required_argument, NULL, 'l' },
		{ "mesh", required_argument, NULL, 'm' },
		{ "records", required_argument, NULL, 'r' },
		{ "seconds", required_argument, NULL, 's' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	memset(options, 0, sizeof(*options));
	options->records = 1024;
	options->seconds = 2;
	while ((option = getopt_long(argc, argv, "h", known, NULL)) != -1)
		option_take(options, option);
	if (optind < argc)
		mistake("not an option", argv[optind]);
	if (!options->lanes_len) {
		choice_add(options->lanes, &options->lanes_len, 1);
		choice_add(options->lanes, &options->lanes_len, 4);
	}
	if (!options->lives_len) {
		choice_add(options->lives, &options->lives_len, 1e3);
		choice_add(options->lives, &options->lives_len, 1e5);
	}
	if (!options->meshes_len)
		choice_add(options->meshes, &options->meshes_len, 0);
}

/* -- measuring ------------------------------------------------------------------- */

struct samples {
	double *ns[BENCH_DRAINS];
	size_t len;
};

static int way_take(struct bench_drains *drains, enum bench_drain way,
	double *ret_ns_per_event)
{
	uint64_t begin_ns = ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int records = bench_drain(drains, way);
	uint64_t end_ns = ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (records <= 0)
		return records < 0 ? records : -ENODATA;
	*ret_ns_per_event = (double)(end_ns - begin_ns) / records;
	return 0;
}

/* Who comes first finds the records in another processor's cache. */
static int refill_take(struct bench_refill *refill, struct bench_drains *drains,
	uint32_t records, struct samples *samples)
{
	int r = bench_refill_fill(refill, records);
	unsigned i, way;

	for (i = 0; i < BENCH_DRAINS && r == 0; i++) {
		way = (unsigned)(i + samples->len) % BENCH_DRAINS;
		r = way_take(drains, way, &samples->ns[way][samples->len]);
	}
	bench_drains_settle(drains);
	return r;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void samples_sum_up(struct samples *samples, struct cell *cell)
{
	unsigned way;

	cell->refills = samples->len;
	for (way = 0; way < BENCH_DRAINS; way++) {
		qsort(samples->ns[way], samples->len, sizeof(double), by_value);
		cell->median[way] = samples->ns[way][samples->len / 2];
		cell->tenth[way] = samples->ns[way][samples->len / 10];
	}
}

static int refills_take(const struct options *options,
	struct bench_refill *refill, struct bench_drains *drains,
	struct samples *samples)
{
	uint64_t begin_ns = 0, missed = 0;
	unsigned warm = 0;
	int r = 0;

	while (r == 0 && samples->len < REFILLS_MAX) {
		if (warm++ == WARM_REFILLS) {
			samples->len = 0;
			begin_ns = ttm_clock_ns(CLOCK_MONOTONIC);
			missed = bench_drains_missed(drains);
		}
		if (begin_ns && samples->len >= REFILLS_MIN &&
			(double)(ttm_clock_ns(CLOCK_MONOTONIC) - begin_ns) >=
				options->seconds * 1e9)
			break;
		r = refill_take(refill, drains, options->records, samples);
		samples->len++;
	}
	if (r == 0 && bench_drains_missed(drains) != missed)
		r = -EOVERFLOW;
	return r;
}

static int cell_measure(const struct options *options, struct cell *cell)
{
	struct samples samples = { .len = 0 };
	struct bench_drains *drains = NULL;
	struct bench_refill refill;
	unsigned way;
	int r;

	for (way = 0; way < BENCH_DRAINS; way++) {
		samples.ns[way] = calloc(REFILLS_MAX, sizeof(double));
		if (!samples.ns[way])
			return -ENOMEM;
	}
	r = bench_refill_start(cell->lanes, cell->live, cell->mesh, &refill);
	if (r < 0)
		return r;
	r = bench_drains_open(refill.segment, cell->lanes, &drains);
	if (r == 0)
		r = refills_take(options, &refill, drains, &samples);
	if (r == 0)
		samples_sum_up(&samples, cell);
	bench_drains_close(&drains);
	bench_refill_stop(&refill);
	for (way = 0; way < BENCH_DRAINS; way++)
		free(samples.ns[way]);
	return r;
}

/* -- report ---------------------------------------------------------------------- */

static void table_head(void)
{
	printf("%5s %7s %5s %-6s %8s %10s %8s %10s %7s %8s\n", "lanes", "live",
		"mesh", "drain", "median", "(M/s)", "best", "(M/s)", "x count",
		"refills");
}

static void table_lines(const struct cell *cell)
{
	unsigned way;

	for (way = 0; way < BENCH_DRAINS; way++)
		printf("%5u %7zu %5u %-6s %8.1f %10.2f %8.1f %10.2f %7.2f %8zu\n",
			cell->lanes, cell->live, cell->mesh,
			bench_drain_names[way], cell->median[way],
			1e3 / cell->median[way], cell->tenth[way],
			1e3 / cell->tenth[way],
			cell->median[way] / cell->median[BENCH_DRAIN_COUNT],
			cell->refills);
	fflush(stdout);
}

static void json_cell(const struct cell *cell, bool last)
{
	unsigned way;

	printf("    {\"lanes\": %u, \"live\": %zu, \"mesh\": %u, "
	       "\"refills\": %zu",
		cell->lanes, cell->live, cell->mesh, cell->refills);
	for (way = 0; way < BENCH_DRAINS; way++)
		printf(",\n      \"%s\": {\"median_ns\": %.2f, "
		       "\"best_tenth_ns\": %.2f, \"events_per_s\": %.0f}",
			bench_drain_names[way], cell->median[way],
			cell->tenth[way], 1e9 / cell->median[way]);
	puts(last ? "}" : "},");
}

static void json_print(const struct options *options, const struct cell *cells,
	size_t cells_len)
{
	size_t i;

	printf("{\n  \"schema_version\": 1,\n  \"bench\": \"drain\",\n"
	       "  \"version\": \"%d.%d.%d\",\n  \"compiler\": \"%s\",\n"
	       "  \"records_per_refill_and_lane\": %u,\n"
	       "  \"seconds_per_cell\": %g,\n  \"cells\": [\n",
		TTMEM_VERSION_MAJOR, TTMEM_VERSION_MINOR, TTMEM_VERSION_PATCH,
		__VERSION__, options->records, options->seconds);
	for (i = 0; i < cells_len; i++)
		json_cell(&cells[i], i + 1 == cells_len);
	puts("  ]\n}");
}

/* All combinations: meshes first, then live objects, then lanes. */
static struct cell cell_of(const struct options *options, size_t number)
{
	size_t live = number / options->meshes_len;

	return (struct cell){
		.lanes = (unsigned)options->lanes[live / options->lives_len],
		.live = options->lives[live % options->lives_len],
		.mesh = (unsigned)options->meshes[number % options->meshes_len],
	};
}

int main(int argc, char **argv)
{
	struct cell cells[CHOICES_MAX * CHOICES_MAX * CHOICES_MAX];
	struct options options;
	size_t cells_len, len;
	int r = 0;

	options_parse(argc, argv, &options);
	bench_scratch_make("drain");
	if (!options.json)
		table_head();
	cells_len = options.lanes_len * options.lives_len * options.meshes_len;
	for (len = 0; len < cells_len && r == 0; len++) {
		cells[len] = cell_of(&options, len);
		r = cell_measure(&options, &cells[len]);
		if (r == 0 && !options.json)
			table_lines(&cells[len]);
	}
	bench_scratch_remove();
	if (r < 0)
		fprintf(stderr, "drain: %s\n", strerror(-r));
	else if (options.json)
		json_print(&options, cells, len);
	return r < 0;
}

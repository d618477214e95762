/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recording side costs a program. The cells of one hook and one number of
 * live objects are measured at the same time, in turns, by processes of their own;
 * see turns.h and group.h.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cell.h"
#include "group.h"
#include "options.h"
#include "report.h"
#include "scratch.h"
#include "turns.h"

static volatile int interrupted;

/* -- the plan ------------------------------------------------------------------ */

static bool cell_is_wanted(
	const struct bench_options *options, const struct bench_cell *cell)
{
	/* With tracking off there is no segment to read. */
	return options->threads[cell->threads] &&
		options->reader[cell->reader] &&
		!(cell->reader && cell->hook->off);
}

/* Those with the same hook and `live` are next to each other. */
static size_t cells_plan(
	const struct bench_options *options, struct bench_cell *ret_cells)
{
	size_t hook, live, len = 0;
	unsigned threads, reader;

	for (hook = 0; hook < options->hooks_len; hook++)
		for (live = 0; live < options->lives_len; live++)
			for (threads = 0; threads < BENCH_THREADS; threads++)
				for (reader = 0; reader < 2; reader++) {
					ret_cells[len] = (struct bench_cell){
						.hook = options->hooks[hook],
						.threads = threads,
						.live = options->lives[live],
						.reader = reader,
					};
					len += cell_is_wanted(
						options, &ret_cells[len]);
				}
	return len;
}

/* How many from here on have the same hook and `live`, and threads if asked. */
static size_t cells_alike(
	const struct bench_cell *cells, size_t cells_len, bool threads_too)
{
	size_t len = 1;

	while (len < cells_len && cells[len].hook == cells[0].hook &&
		cells[len].live == cells[0].live &&
		(!threads_too || cells[len].threads == cells[0].threads))
		len++;
	return len;
}

/* -- running it ---------------------------------------------------------------- */

/* What a process is told; the cells are in memory that all see. */
struct group_order {
	struct bench_cell *cells;
	size_t cells_len;
	const struct bench_plan *plan;
};

static bool group_main(struct bench_turn *turn, void *argument)
{
	struct group_order *order = argument;
	int r = bench_group_run(
		order->cells, order->cells_len, order->plan, turn);

	if (r < 0)
		fprintf(stderr, "record: %s: %s\n", order->cells[0].hook->name,
			strerror(-r));
	return r == 0;
}

static bool groups_measure(struct bench_cell *cells, size_t cells_len,
	const struct bench_plan *plan)
{
	struct bench_turns turns = { .len = 0 };
	struct group_order order = { .plan = plan };
	size_t at;
	int r = 0;

	for (at = 0; at < cells_len && r == 0; at += order.cells_len) {
		order.cells = cells + at;
		order.cells_len = cells_alike(cells + at, cells_len - at, true);
		r = bench_turns_add(&turns, group_main, &order);
	}
	if (r < 0) {
		fprintf(stderr, "record: %s\n", strerror(-r));
		interrupted = SIGTERM;
	}
	return bench_turns_run(&turns, &interrupted);
}

static void compare_to_one_thread(struct bench_cell *cells, size_t cells_len)
{
	size_t i, k;

	for (i = 0; i < cells_len; i++)
		for (k = 0; k < cells_len; k++) {
			if (cells[i].threads == BENCH_ONE ||
				cells[k].threads != BENCH_ONE ||
				cells[i].reader != cells[k].reader)
				continue;
			cells[i].to_one_thread = cells[i].measured.median /
				cells[k].measured.median;
			cells[i].floor_to_one_thread = cells[i].floor.median /
				cells[k].floor.median;
		}
}

static void progress(size_t done, size_t len, const struct bench_cell *cell)
{
	if (!isatty(STDERR_FILENO))
		return;
	if (cell)
		fprintf(stderr, "\r\033[K[%zu/%zu] %s, %zu live", done, len,
			cell->hook->name, cell->live);
	else
		fprintf(stderr, "\r\033[K");
}

static bool cells_measure(struct bench_cell *cells, size_t cells_len,
	const struct bench_options *options)
{
	size_t at, len;

	if (!options->json)
		bench_table_head();
	for (at = 0; at < cells_len; at += len) {
		len = cells_alike(cells + at, cells_len - at, false);
		progress(at, cells_len, &cells[at]);
		if (!groups_measure(cells + at, len, &options->plan))
			return false;
		compare_to_one_thread(cells + at, len);
		progress(at, cells_len, NULL);
		if (!options->json)
			bench_table_lines(cells + at, len);
	}
	if (options->json)
		bench_json(cells, cells_len, options->plan.seconds);
	return true;
}

static void interrupt(int signal_number)
{
	interrupted = signal_number;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = interrupt };
	struct bench_options options;
	struct bench_cell *cells;
	size_t size;
	bool done;

	bench_options_parse(argc, argv, &options);
	/* One more, which the plan leaves unused. */
	size = (options.hooks_len * options.lives_len * BENCH_THREADS * 2 + 1) *
		sizeof(*cells);
	cells = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (cells == MAP_FAILED) {
		fprintf(stderr, "record: %s\n", strerror(errno));
		return 1;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	bench_scratch_make("record");
	done = cells_measure(cells, cells_plan(&options, cells), &options);
	bench_scratch_remove();
	munmap(cells, size);
	free(options.hooks);
	return done ? 0 : 1;
}

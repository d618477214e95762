/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recording side costs a program. Each group of cells is measured by a
 * process of its own, with a segment of its own; see group.h.
 */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cell.h"
#include "group.h"
#include "options.h"
#include "report.h"

static char dir_path[] = "/dev/shm/ttmem-bench.XXXXXX";
static volatile sig_atomic_t interrupted;

static int entry_remove(
	const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void dir_remove(void)
{
	nftw(dir_path, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static void dir_make(void)
{
	if (!mkdtemp(dir_path)) {
		fprintf(stderr, "record: %s: %s\n", dir_path, strerror(errno));
		exit(77);
	}
	setenv("TTMEM_DIR", dir_path, 1);
	setenv("TTMEM_ENABLED", "1", 1);
	unsetenv("TT_ALLOC_TRACKING_ENABLED");
	unsetenv("TTMEM_RUN_ID");
}

/* -- the plan ------------------------------------------------------------------ */

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
					if (!options->threads[threads] ||
						!options->reader[reader])
						continue;
					ret_cells[len++] = (struct bench_cell){
						.hook = options->hooks[hook],
						.threads = threads,
						.live = options->lives[live],
						.reader = reader,
					};
				}
	return len;
}

static size_t group_len(const struct bench_cell *cells, size_t cells_len)
{
	size_t len = 1;

	while (len < cells_len && cells[len].hook == cells[0].hook &&
		cells[len].live == cells[0].live)
		len++;
	return len;
}

/* -- running it ---------------------------------------------------------------- */

static _Noreturn void group_main(struct bench_cell *cells, size_t cells_len,
	const struct bench_plan *plan)
{
	int r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	r = bench_group_run(cells, cells_len, plan);
	if (r < 0)
		fprintf(stderr, "record: %s: %s\n", cells[0].hook->name,
			strerror(-r));
	exit(r < 0);
}

/* A process of its own; the cells are in memory that both see. */
static bool group_measure(struct bench_cell *cells, size_t cells_len,
	const struct bench_plan *plan)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return false;
	if (pid == 0)
		group_main(cells, cells_len, plan);
	while (waitpid(pid, &status, 0) < 0)
		if (interrupted)
			kill(pid, SIGKILL);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
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
		len = group_len(cells + at, cells_len - at);
		progress(at, cells_len, &cells[at]);
		if (!group_measure(cells + at, len, &options->plan))
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
	size = options.hooks_len * options.lives_len * BENCH_THREADS * 2 *
		sizeof(*cells);
	cells = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (cells == MAP_FAILED) {
		fprintf(stderr, "record: %s\n", strerror(errno));
		return 1;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	dir_make();
	done = cells_measure(cells, cells_plan(&options, cells), &options);
	dir_remove();
	munmap(cells, size);
	free(options.hooks);
	return done ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzz target without a fuzzer: replays the files it is given, or makes up inputs
 * from a seed. Says how many there were; a finding aborts, and the input that led to
 * it is in the file `finding` of the directory --keep.
 */
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fuzz/steps.h"
#include "support/test_dir.h"

/* Inputs that others are made from: the last ones that were kept. */
#define POOL 64u

static uint8_t current[FUZZ_INPUT_MAX];
static size_t current_size;
static const char *keep;

/* Async-signal-safe: for SIGABRT and whatever a sanitizer raises. */
static void current_keep(void)
{
	int fd;

	if (!keep || chdir(keep) < 0)
		return;
	fd = open("finding", O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, current, current_size) < 0)
		return;
	close(fd);
}

static void on_signal(int number)
{
	current_keep();
	signal(number, SIG_DFL);
	raise(number);
}

static void signals_catch(void)
{
	static const int numbers[] = { SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE,
		SIGALRM };
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		signal(numbers[i], on_signal);
}

static void input_run(const uint8_t *data, size_t size)
{
	memcpy(current, data, size);
	current_size = size;
	/* Work is bounded: nothing takes so long. */
	alarm(120);
	LLVMFuzzerTestOneInput(data, size);
}

static int file_run(const char *path)
{
	uint8_t data[FUZZ_INPUT_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, data, sizeof(data));

	if (size < 0) {
		perror(path);
		return 1;
	}
	close(fd);
	input_run(data, (size_t)size);
	return 0;
}

static uint64_t seeds_run(struct fuzz_input pool[POOL], size_t *ret_len)
{
	uint8_t data[FUZZ_INPUT_MAX];
	unsigned n;
	size_t size;

	for (n = 0; (size = fuzz_seed(n, data)) != 0; n++) {
		input_run(data, size);
		if (n < POOL)
			fuzz_decode(data, size, &pool[n]);
	}
	*ret_len = n < POOL ? n : POOL;
	return n;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t random_run(uint64_t runs, uint64_t seconds, uint64_t seed)
{
	static struct fuzz_input pool[POOL];
	uint64_t begin = now_ns(), done, random = seed, pick;
	uint8_t data[FUZZ_INPUT_MAX];
	struct fuzz_input input;
	size_t len, size;

	done = seeds_run(pool, &len);
	while (done < runs) {
		if (seconds && now_ns() - begin > seconds * 1000000000u)
			break;
		pick = fuzz_random(&random);
		input = pool[pick % len];
		fuzz_change(&input, &random);
		size = fuzz_encode(&input, data);
		input_run(data, size);
		done++;
		/* Some walk away from where they began, most stay near. */
		if (pick >> 32 & 1)
			pool[pick % len] = input;
		if ((pick >> 33 & 63) == 0) {
			size = fuzz_seed((unsigned)(pick % len), data);
			fuzz_decode(data, size, &pool[pick % len]);
		}
	}
	return done;
}

static int seeds_write(const char *directory)
{
	uint8_t data[FUZZ_INPUT_MAX];
	char path[4096];
	unsigned n;
	size_t size;
	FILE *file;

	for (n = 0; (size = fuzz_seed(n, data)) != 0; n++) {
		snprintf(path, sizeof(path), "%s/seed-%02u", directory, n);
		file = fopen(path, "w");
		if (!file || fwrite(data, 1, size, file) != size ||
			fclose(file) != 0) {
			perror(path);
			return 1;
		}
	}
	return 0;
}

static void usage(void)
{
	puts("usage: TARGET [--runs N] [--seconds S] [--seed N] [--keep DIR] "
	     "[FILE...]\n"
	     "       TARGET --write-seeds DIR");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "runs", required_argument, NULL, 'r' },
		{ "seconds", required_argument, NULL, 's' },
		{ "seed", required_argument, NULL, 'n' },
		{ "keep", required_argument, NULL, 'k' },
		{ "write-seeds", required_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	uint64_t runs = 20000, seconds = 0, seed = 20261116, done, begin;
	int option, failed = 0, i;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case 'r':
			runs = test_scale(strtoull(optarg, NULL, 0));
			break;
		case 's':
			seconds = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'k':
			keep = optarg;
			break;
		case 'w':
			return seeds_write(optarg);
		default:
			usage();
			return option == 'h' ? 0 : 2;
		}
	}
	signals_catch();
	begin = now_ns();
	if (optind < argc) {
		for (i = optind; i < argc; i++)
			failed |= file_run(argv[i]);
		done = (uint64_t)(argc - optind);
	} else {
		done = random_run(runs, seconds, seed);
	}
	printf("%llu executions in %.1f s, seed %llu\n",
		(unsigned long long)done, (double)(now_ns() - begin) / 1e9,
		(unsigned long long)seed);
	return failed;
}

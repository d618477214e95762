/* SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/atomics.h"
#include "shm/clock.h"
#include "shm/layout.h"

#define PERIOD_NS 1000000u
#define LANES_MAX 64u

/* Shared between the two processes. */
struct bench_reader {
	sem_t wake;
	uint32_t on;
	pid_t pid;
	uint64_t read;
	uint64_t missed;
	char segment[256];
};

/* The reading process's own. */
struct position {
	uint64_t next;       /* record */
	uint64_t extent_off; /* 0: not known yet */
};

static struct position positions[LANES_MAX];
static struct ttm_lane_control controls[LANES_MAX];
static struct ttm_words records[TTM_LANE_RECORDS];

static bool read_at(int fd, void *ret_bytes, size_t size, uint64_t off)
{
	return pread(fd, ret_bytes, size, (off_t)off) == (ssize_t)size;
}

/* Where the records of a lane are. */
static void lane_locate(int fd, uint32_t lane)
{
	uint32_t word = TTM_EXTENT_WORD(TTM_EXTENT_LANE, lane), i;
	static uint32_t directory[TTM_EXTENTS_MAX];

	if (!read_at(fd, directory, sizeof(directory), TTM_DIRECTORY_OFF))
		return;
	for (i = 0; i < TTM_EXTENTS_MAX; i++)
		if (directory[i] == word)
			positions[lane].extent_off = TTM_EXTENTS_OFF +
				(uint64_t)i * TTM_EXTENT_SIZE;
}

/* Reads [from, to) into the same places of our copy. */
static bool records_read(
	int fd, uint64_t extent_off, uint64_t from, uint64_t to)
{
	uint64_t first = from % TTM_LANE_RECORDS, len = to - from;
	uint64_t before_wrap = TTM_LANE_RECORDS - first;
	size_t size = sizeof(records[0]);

	if (len <= before_wrap)
		return read_at(fd, &records[first], len * size,
			extent_off + first * size);
	return read_at(fd, &records[first], before_wrap * size,
		       extent_off + first * size) &&
		read_at(fd, &records[0], (len - before_wrap) * size,
			extent_off);
}

static void lane_drain(struct bench_reader *shared, int fd, uint32_t lane)
{
	struct position *position = &positions[lane];
	uint64_t from = position->next, to = controls[lane].tail, intent;

	if (!position->extent_off)
		lane_locate(fd, lane);
	if (from == to || !position->extent_off)
		return;
	if (to - from > TTM_LANE_RECORDS)
		from = to - TTM_LANE_RECORDS;
	if (!records_read(fd, position->extent_off, from, to))
		return;
	if (!read_at(fd, &intent, sizeof(intent),
		    TTM_LANES_OFF + lane * sizeof(controls[0])))
		return;
	if (intent - from > TTM_LANE_RECORDS)
		from = intent - TTM_LANE_RECORDS;
	if (from > to)
		from = to;
	/* relaxed: display only, here and where they are read */
	ttm_own_add(&shared->missed, from - position->next);
	ttm_own_add(&shared->read, to - from);
	position->next = to;
}

static void segment_drain(struct bench_reader *shared, int fd)
{
	struct ttm_header_live live;
	uint32_t lane, len;

	if (!read_at(
		    fd, &live, sizeof(live), offsetof(struct ttm_header, live)))
		return;
	len = live.lanes_len < LANES_MAX ? (uint32_t)live.lanes_len : LANES_MAX;
	if (!read_at(fd, controls, len * sizeof(controls[0]), TTM_LANES_OFF))
		return;
	for (lane = 0; lane < len; lane++)
		lane_drain(shared, fd, lane);
}

static void next_period(uint64_t *ns)
{
	uint64_t now = ttm_clock_ns(CLOCK_MONOTONIC);
	struct timespec until;

	*ns += PERIOD_NS;
	if (*ns < now)
		*ns = now;
	until.tv_sec = (time_t)(*ns / 1000000000u);
	until.tv_nsec = (long)(*ns % 1000000000u);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void reader_main(struct bench_reader *shared)
{
	uint64_t ns = 0;
	int fd = -1;

	for (;;) {
		/* pairs(bench-reader): acquire, with bench_reader_poll */
		if (!ttm_load32_acquire(&shared->on)) {
			while (sem_wait(&shared->wake) < 0)
				;
			continue;
		}
		if (fd < 0)
			fd = open(shared->segment, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			_exit(1);
		segment_drain(shared, fd);
		next_period(&ns);
	}
}

struct bench_reader *bench_reader_start(void)
{
	struct bench_reader *reader = mmap(NULL, sizeof(*reader),
		PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t parent = getpid(), pid;

	if (reader == MAP_FAILED)
		return NULL;
	sem_init(&reader->wake, 1, 0);
	pid = fork();
	if (pid < 0) {
		munmap(reader, sizeof(*reader));
		return NULL;
	}
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			reader_main(reader);
		_exit(0);
	}
	reader->pid = pid;
	return reader;
}

void bench_reader_poll(
	struct bench_reader *reader, bool on, const char *segment)
{
	if (on == (bool)ttm_load32(&reader->on)) /* relaxed: only we store */
		return;
	if (on && !reader->segment[0])
		snprintf(reader->segment, sizeof(reader->segment), "%s",
			segment);
	/* pairs(bench-reader): release, with reader_main: the path is there */
	ttm_store32_release(&reader->on, on);
	if (on)
		sem_post(&reader->wake);
}

void bench_reader_counts(const struct bench_reader *reader, uint64_t *ret_read,
	uint64_t *ret_missed)
{
	*ret_read = ttm_load(&reader->read); /* relaxed: see lane_drain */
	*ret_missed = ttm_load(&reader->missed);
}

void bench_reader_stop(struct bench_reader *reader)
{
	kill(reader->pid, SIGKILL);
	waitpid(reader->pid, NULL, 0);
	munmap(reader, sizeof(*reader));
}

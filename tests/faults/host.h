/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that uses the library, run twice: with tracking off and with it on.
 * Whatever is wrong with the directory or the limits, the two must look the same
 * from outside: what is written, and how it ends.
 *
 * The program is a forked child of the test, which never calls a hook itself.
 */
#ifndef TEST_FAULTS_HOST_H
#define TEST_FAULTS_HOST_H

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/segment_reader.h"
#include "support/test_dir.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HOST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HOST_SANITIZED 1
#endif
#endif
#ifndef HOST_SANITIZED
#define HOST_SANITIZED 0
#endif

/*
 * A child that has no descriptor, no memory or no /proc left cannot look for leaks
 * at its exit.
 */
#if HOST_SANITIZED
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

enum {
	HOST_EVENTS = 20,
	HOST_EXIT = 7,  /* what the program ends with */
	HOST_FILES = 8, /* that it opens */
	HOST_OUTPUT = 4096,
};

/* What the program found; written by the child. */
struct host_report {
	pid_t pid;
	struct ttmem_status status; /* at the end */
	struct ttmem_usage usage;   /* of device 0, zeros if there is none */
	uint64_t lost_before;       /* events, of what is not an allocation */
	uint64_t called;            /* allocations, and their bytes */
	uint64_t called_bytes;
	bool errno_changed;
	int descriptors; /* more than before the first hook */
};

/* How it ended. */
struct host_end {
	int status; /* of waitpid(2) */
	char out[HOST_OUTPUT];
	char err[HOST_OUTPUT];
};

struct host {
	/* Called in the child before the first hook: limits, another uid. */
	void (*before)(void);
	/* Called in the child after the usual hooks, if they are on. */
	void (*after)(void);
	/* NULL: the environment starts it. */
	const struct ttmem_config *config;
	/* What ttmem_start() must return if config is given. */
	int start;
};

static struct host_report *host_report;

static inline void host_set_up(void)
{
	host_report = mmap(NULL, sizeof(*host_report), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	TEST_ASSERT_TRUE(host_report != MAP_FAILED);
	unsetenv("TTMEM_VERBOSE");
}

static inline void host_tear_down(void)
{
	munmap(host_report, sizeof(*host_report));
}

/* The lowest numbers; no directory is read, for there may be no descriptor left. */
static inline int host_descriptors(void)
{
	int fd, open_now = 0;

	for (fd = 0; fd < 1200; fd++)
		open_now += fcntl(fd, F_GETFD) >= 0;
	return open_now;
}

static inline void host_alloc(uint64_t id, uint64_t size)
{
	ttmem_alloc(0, TTMEM_DRAM, id, 0, size);
	host_report->called++;
	host_report->called_bytes += size;
}

static inline void host_look(void)
{
	host_report->status.size = sizeof(host_report->status);
	ttmem_status(&host_report->status);
	host_report->usage.size = sizeof(host_report->usage);
	if (ttmem_usage(0, &host_report->usage))
		memset(&host_report->usage, 0, sizeof(host_report->usage));
}

/* Names are apart: the event that has none is there. */
static inline uint64_t host_lost(void)
{
	uint64_t lost = 0;
	unsigned i;

	for (i = 0; i < TTMEM_LOSSES; i++)
		if (i != TTMEM_LOSS_NO_NAME)
			lost += host_report->status.lost_events[i];
	return lost;
}

/* Buffers stay, everything else goes. Says what a program may notice. */
static inline void host_work(const struct host *host)
{
	int before = host_descriptors(), files[HOST_FILES];
	uint64_t i;

	errno = EDOM;
	if (host->config && ttmem_enabled() &&
		ttmem_start(host->config) != host->start)
		_exit(99);
	ttmem_scope_push("host", 0);
	ttmem_cb_alloc(0, 1, 1, 0, 0, 10, 0);
	ttmem_program_destroy(0, 1);
	ttmem_mark("host");
	ttmem_scope_pop();
	host_look();
	host_report->lost_before = host_lost();
	for (i = 0; i < HOST_EVENTS; i++)
		host_alloc(i, 1000 + i);
	host_report->errno_changed = errno != EDOM;
	/* What comes now may depend on it. */
	if (host->after && ttmem_enabled())
		host->after();
	host_look();
	host_report->descriptors = host_descriptors() - before;
	/* Programs may count on the numbers they get. */
	for (i = 0; i < HOST_FILES; i++)
		files[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (i = 0; i < HOST_FILES; i++) {
		printf("descriptor %d\n", files[i]);
		if (files[i] >= 0)
			close(files[i]);
	}
}

static inline void host_child(const struct host *host, int out, int err)
{
	/* Whatever becomes of the test, it does not stay behind. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	host_report->pid = getpid();
	if (host->before)
		host->before();
	printf("a line\n");
	fflush(stdout);
	host_work(host);
	fprintf(stderr, "a complaint\n");
	/* With its destructors, as a program does. */
	exit(HOST_EXIT);
}

/* Small enough to wait in the pipe. */
static inline void host_output(int fd, char ret_text[HOST_OUTPUT])
{
	size_t length = 0;
	ssize_t n;

	while ((n = read(fd, ret_text + length, HOST_OUTPUT - 1 - length)) > 0)
		length += (size_t)n;
	ret_text[length] = '\0';
	close(fd);
}

static inline void host_once(const struct host *host, struct host_end *ret_end)
{
	int out[2], err[2];
	pid_t pid;

	memset(host_report, 0, sizeof(*host_report));
	fflush(NULL);
	TEST_ASSERT_EQUAL_INT(0, pipe2(out, O_CLOEXEC));
	TEST_ASSERT_EQUAL_INT(0, pipe2(err, O_CLOEXEC));
	pid = fork();
	TEST_ASSERT_TRUE(pid >= 0);
	if (!pid) {
		close(out[0]);
		close(err[0]);
		host_child(host, out[1], err[1]);
	}
	close(out[1]);
	close(err[1]);
	host_output(out[0], ret_end->out);
	host_output(err[0], ret_end->err);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &ret_end->status, 0));
}

/*
 * Runs it without tracking, then with it: both look the same, and `host_report` is
 * that of the second.
 */
static inline void host_run(const struct host *host)
{
	struct host_end without, with;

	setenv("TTMEM_ENABLED", "0", 1);
	host_once(host, &without);
	TEST_ASSERT_EQUAL_INT(HOST_EXIT << 8, without.status);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_STATE_OFF, host_report->status.state);
	setenv("TTMEM_ENABLED", "1", 1);
	host_once(host, &with);
	TEST_ASSERT_EQUAL_STRING(without.err, with.err);
	TEST_ASSERT_EQUAL_STRING(without.out, with.out);
	TEST_ASSERT_EQUAL_INT(without.status, with.status);
	TEST_ASSERT_FALSE_MESSAGE(host_report->errno_changed, "errno");
}

/* How many markers this process left, and the name of the last one. */
static inline size_t host_markers(
	const char *dir, pid_t pid, char *ret_name, size_t size)
{
	char pattern[512];
	size_t markers = 0;
	glob_t found;

	if (pid)
		snprintf(pattern, sizeof(pattern), "%s/ttmem-*/u.%ld.*", dir,
			(long)pid);
	else
		snprintf(pattern, sizeof(pattern), "%s/ttmem-*/u.*", dir);
	if (!glob(pattern, GLOB_NOSORT, NULL, &found)) {
		markers = found.gl_pathc;
		if (ret_name)
			snprintf(ret_name, size, "%s",
				strrchr(found.gl_pathv[markers - 1], '/') + 1);
		globfree(&found);
	}
	return markers;
}

/* The marker's name ends in the error and the run id. */
static inline void host_marker_is(const char *dir, int error)
{
	char name[256] = "", ending[64];
	struct stat st;
	char path[600];

	TEST_ASSERT_EQUAL_UINT64_MESSAGE(1,
		host_markers(dir, host_report->pid, name, sizeof(name)),
		"markers");
	snprintf(ending, sizeof(ending), ".%d.", error);
	TEST_ASSERT_TRUE_MESSAGE(strlen(name) > strlen(ending) &&
			!strcmp(name + strlen(name) - strlen(ending), ending),
		name);
	snprintf(path, sizeof(path), "%s/ttmem-%ld/%s", dir, (long)geteuid(),
		name);
	if (stat(path, &st) == 0)
		TEST_ASSERT_EQUAL_INT(0, (int)st.st_size);
}

/* With TTMEM_VERBOSE=1 there is one line more, on stderr, which gives the reason. */
static inline void host_verbose_says(const struct host *host)
{
	struct host_end end;
	char expected[512];

	setenv("TTMEM_VERBOSE", "1", 1);
	host_once(host, &end);
	unsetenv("TTMEM_VERBOSE");
	snprintf(expected, sizeof(expected),
		"ttmem: not tracking this process: %s\na complaint\n",
		host_report->status.reason);
	TEST_ASSERT_EQUAL_STRING(expected, end.err);
	TEST_ASSERT_EQUAL_INT(HOST_EXIT << 8, end.status);
}

/*
 * The program cannot be tracked, for the reason `error`; `marked` says whether
 * anybody else can see that.
 */
static inline void host_is_untracked(
	const struct host *host, const char *dir, int error, bool marked)
{
	const struct ttmem_status *status = &host_report->status;
	size_t segments;

	host_run(host);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_STATE_UNTRACKED, status->state);
	TEST_ASSERT_EQUAL_INT(-error, status->error);
	TEST_ASSERT_TRUE_MESSAGE(status->reason[0], "no reason");
	TEST_ASSERT_EQUAL_STRING("", status->segment);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, host_report->descriptors, "descriptors left open");
	free(test_dir_segment(dir, 0, &segments));
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(0, segments, "segments");
	if (marked)
		host_marker_is(dir, error);
	else
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(
			0, host_markers(dir, 0, NULL, 0), "markers");
	host_verbose_says(host);
}

/* Every allocation is either kept or counted as lost. */
static inline void host_nothing_is_missing(void)
{
	const struct ttmem_status *status = &host_report->status;
	const struct ttmem_usage_figure *dram = &host_report->usage.figures[0];
	uint64_t lost = host_lost() - host_report->lost_before, bytes = 0;
	unsigned i;

	for (i = 0; i < TTMEM_LOSSES; i++)
		bytes += status->lost_bytes[i];
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(host_report->called_bytes,
		dram->live_bytes + bytes, "bytes called, kept + lost");
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(host_report->called,
		dram->live_objects + lost, "called, kept + lost");
}

/*
 * The segment that the program left, with as many objects as it said. To be
 * released with segment_unref().
 */
static inline struct segment *host_segment(const char *dir)
{
	const struct ttmem_usage_figure *dram = &host_report->usage.figures[0];
	struct segment *segment = NULL;
	char why[512] = "";
	char *path = test_dir_segment(dir, host_report->pid, NULL);

	TEST_ASSERT_NOT_NULL_MESSAGE(path, "no segment");
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_read(path, &segment, why, sizeof(why)), why);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_check_at_rest(segment, why, sizeof(why)), why);
	TEST_ASSERT_EQUAL_UINT64(dram->live_objects, segment->objects_len);
	free(path);
	return segment;
}

/* Tracked as if nothing were wrong. */
static inline void host_is_tracked(const struct host *host, const char *dir)
{
	struct segment *segment;

	host_run(host);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_STATE_ON, host_report->status.state);
	TEST_ASSERT_EQUAL_INT(0, host_report->status.error);
	TEST_ASSERT_EQUAL_STRING("", host_report->status.reason);
	host_nothing_is_missing();
	TEST_ASSERT_EQUAL_UINT64(host_report->called,
		host_report->usage.figures[0].live_objects);
	segment = host_segment(dir);
	segment_unref(&segment);
}

#endif

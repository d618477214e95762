/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the watch share: a watch, and programs that it sees. */
#ifndef TEST_WATCHING_H
#define TEST_WATCHING_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <unity.h>

#include "daemon/find/watch.h"
#include "shm/atomics.h"
#include "support/test_dir.h"

/* Waits for it, for a while that is long even under an emulator. */
#define await(condition)                                                       \
	do {                                                                   \
		int await_ms_ = 60000;                                         \
		while (!(condition) && await_ms_-- > 0)                        \
			poll(NULL, 0, 1);                                      \
		TEST_ASSERT_TRUE_MESSAGE(await_ms_ > 0, #condition);           \
	} while (0)

static inline uint64_t watching_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* -- the watch ---------------------------------------------------------------- */

static const char *watching_dir;
static struct ttm_registry *watching_registry;
static struct ttm_watch *watching_watch;

static inline void watching_log(int priority, const char *text)
{
	(void)priority;
	if (getenv("TTMEM_TEST_VERBOSE"))
		fprintf(stderr, "watch: %s\n", text);
}

static inline int watching_open(enum ttm_aggregate_mode mode,
	uint64_t max_processes, struct ttm_watch_failure *ret_failure)
{
	struct ttm_watch_config config = {
		.base = watching_dir,
		.mode = mode,
		.max_processes = max_processes,
		.log = watching_log,
	};

	TEST_ASSERT_EQUAL_INT(0, ttm_registry_new(&watching_registry));
	return ttm_watch_open(
		&config, watching_registry, &watching_watch, ret_failure);
}

static inline void watching_start(enum ttm_aggregate_mode mode)
{
	TEST_ASSERT_EQUAL_INT(0, watching_open(mode, 0, NULL));
	TEST_ASSERT_EQUAL_INT(0, ttm_watch_start(watching_watch));
}

static inline void watching_stop(void)
{
	ttm_watch_close(&watching_watch);
	ttm_registry_free(&watching_registry);
}

/* Everything there was at the call has been looked at since. */
static inline void watching_round(void)
{
	uint64_t round = ttm_watch_rounds(watching_watch);

	await(ttm_watch_rounds(watching_watch) >= round + 2);
}

static inline size_t watching_attached(void)
{
	struct ttm_attached *attached;
	struct ttm_cursor cursor;
	size_t len = 0;

	rcu_read_lock();
	ttm_registry_for_each(watching_registry, &cursor, attached) len++;
	rcu_read_unlock();
	return len;
}

/*
 * By the pid in its header. It stays where it is: nobody removes in these tests but
 * they themselves.
 */
static inline struct ttm_attached *watching_find(uint32_t pid)
{
	struct ttm_attached *attached, *found = NULL;
	struct ttm_cursor cursor;

	rcu_read_lock();
	ttm_registry_for_each(watching_registry, &cursor,
		attached) if (attached->header.pid == pid) found = attached;
	rcu_read_unlock();
	return found;
}

static inline struct ttm_directory *watching_directory(const char *name)
{
	struct ttm_directory *directory, *found = NULL;

	rcu_read_lock();
	ttm_registry_for_each_directory(watching_registry,
		directory) if (!ttm_directory_is_gone(directory) &&
		!strcmp(strrchr(directory->path, '/') + 1, name))
		found = directory;
	rcu_read_unlock();
	return found;
}

static inline uint64_t watching_fate(struct ttm_attached *attached)
{
	return ttm_load_acquire(&attached->fate);
}

static inline uint64_t watching_state(const char *name)
{
	struct ttm_directory *directory = watching_directory(name);

	return directory ? ttm_load(&directory->state) : 0;
}

/* -- programs ----------------------------------------------------------------- */

struct client {
	pid_t pid;
	int in;
	int out;
};

static inline bool client_hears(struct client *client, const char *expected)
{
	char line[16] = "";
	size_t length = 0;

	while (length < sizeof(line) - 1 &&
		read(client->out, &line[length], 1) == 1 &&
		line[length] != '\n')
		length++;
	line[length] = '\0';
	return !strcmp(line, expected);
}

static inline struct client client_start_with(
	const char *option, const char *value)
{
	const char *path = getenv("TTMEM_TEST_CLIENT");
	struct client client;
	int in[2], out[2], status, program;

	if (!path)
		exit(77);
	fflush(NULL);
	program = open(path, O_RDONLY | O_CLOEXEC);
	TEST_ASSERT_TRUE_MESSAGE(program >= 0, path);
	TEST_ASSERT_EQUAL_INT(0, pipe2(in, O_CLOEXEC));
	TEST_ASSERT_EQUAL_INT(0, pipe2(out, O_CLOEXEC));
	client.pid = fork();
	TEST_ASSERT_TRUE(client.pid >= 0);
	if (!client.pid) {
		char name[] = "client";
		char *const arguments[] = { name, (char *)(uintptr_t)option,
			(char *)(uintptr_t)value, NULL };

		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		fexecve(program, arguments, environ);
		_exit(127);
	}
	close(program);
	close(in[0]);
	close(out[1]);
	client.in = in[1];
	client.out = out[0];
	if (!client_hears(&client, "ok")) {
		waitpid(client.pid, &status, 0);
		TEST_ASSERT_TRUE_MESSAGE(
			WIFEXITED(status) && WEXITSTATUS(status) == 77,
			"the client did not start");
		TEST_IGNORE_MESSAGE("not permitted here");
	}
	return client;
}

static inline struct client client_start(void)
{
	return client_start_with(NULL, NULL);
}

static inline void client_tell(struct client *client, const char *command)
{
	TEST_ASSERT_TRUE(dprintf(client->in, "%s\n", command) > 0);
}

static inline void client_do(struct client *client, const char *command)
{
	client_tell(client, command);
	TEST_ASSERT_TRUE_MESSAGE(client_hears(client, "ok"), command);
}

/* It is tracked, and has an object. */
static inline struct client client_tracked(void)
{
	struct client client = client_start();

	client_do(&client, "start");
	client_do(&client, "alloc");
	return client;
}

static inline void client_end(struct client *client)
{
	if (client->pid <= 0)
		return;
	kill(client->pid, SIGKILL);
	waitpid(client->pid, NULL, 0);
	close(client->in);
	close(client->out);
	client->pid = 0;
}

/* Its attached segment, when it is there; never NULL. */
static inline struct ttm_attached *client_attached(struct client *client)
{
	await(watching_find((uint32_t)client->pid));
	return watching_find((uint32_t)client->pid);
}

#endif

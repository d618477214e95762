/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ttmemd that serves the directory of a C test, and a reader of what it publishes.
 * TTMEM_TEST_TTMEMD is the program.
 */
#ifndef SERVE_WITH_TTMEMD_H
#define SERVE_WITH_TTMEMD_H

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ttmem/reader.h>
#include <unity.h>

enum {
	PATIENCE_S = 30,
};

static struct ttmem_reader *reader;
static pid_t ttmemd;

static void ttmemd_start(void)
{
	struct ttmem_reader_config config = {
		.size = sizeof(config),
		.dir = getenv("TTMEM_DIR"),
	};
	const char *program = getenv("TTMEM_TEST_TTMEMD");

	TEST_ASSERT_NOT_NULL(program);
	fflush(NULL);
	ttmemd = fork();
	TEST_ASSERT_TRUE(ttmemd >= 0);
	if (!ttmemd) {
		execl(program, program, "--dir", config.dir, "--mode", "user",
			(char *)NULL);
		_exit(127);
	}
	TEST_ASSERT_EQUAL_INT(0, ttmem_reader_open(&config, &reader));
}

static void ttmemd_stop(void)
{
	ttmem_reader_close(&reader);
	if (ttmemd > 0) {
		kill(ttmemd, SIGTERM);
		waitpid(ttmemd, NULL, 0);
	}
	ttmemd = 0;
}

#endif

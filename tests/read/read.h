/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the reader share: a directory, an aggregate, a reader. */
#ifndef TEST_READ_H
#define TEST_READ_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ttmem/reader.h>
#include <unity.h>

#include "support/aggregate_file.h"
#include "support/test_dir.h"

#define ALL                                                                    \
	(TTMEM_SNAPSHOT_OBJECTS | TTMEM_SNAPSHOT_HISTORIES |                   \
		TTMEM_SNAPSHOT_DISTRIBUTIONS)

/* The caller's own directory under the test's base, made if need be. */
static inline void own_directory(
	const char *base, char ret_path[AGG_PATH_SIZE], struct stat *ret_st)
{
	snprintf(ret_path, AGG_PATH_SIZE, "%s/ttmem-%u", base, geteuid());
	mkdir(ret_path, 0700);
	TEST_ASSERT_EQUAL_INT(0, stat(ret_path, ret_st));
}

static inline struct ttmem_reader *reader_of(const char *path)
{
	struct ttmem_reader_config config = { .size = sizeof(config),
		.path = path };
	struct ttmem_reader *reader = NULL;

	TEST_ASSERT_EQUAL_INT(0, ttmem_reader_open(&config, &reader));
	return reader;
}

static inline struct ttmem_reader_status status_of(struct ttmem_reader *reader)
{
	struct ttmem_reader_status status = { .size = sizeof(status) };

	TEST_ASSERT_EQUAL_INT(0, ttmem_reader_status(reader, &status));
	TEST_ASSERT_NOT_EQUAL(0, strlen(status.reason));
	return status;
}

static inline uint32_t state_of(struct ttmem_reader *reader)
{
	return status_of(reader).state;
}

/* A snapshot of the sample, with everything. */
static inline struct ttmem_snapshot *sample_snapshot(const char *base)
{
	struct ttmem_snapshot *snapshot = NULL;
	struct ttmem_reader *reader = NULL;
	char path[AGG_PATH_SIZE];

	agg_sample_write(base, path);
	TEST_ASSERT_EQUAL_INT(0, ttmem_reader_open(NULL, &reader));
	TEST_ASSERT_EQUAL_INT(0, ttmem_reader_snapshot(reader, ALL, &snapshot));
	ttmem_reader_close(&reader);
	TEST_ASSERT_NULL(reader);
	return snapshot;
}

#endif

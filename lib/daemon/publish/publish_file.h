/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/*
 * The file of an aggregate segment: made without a name, wholly allocated, and shown
 * when its first publication is in it.
 */
#ifndef TTM_DAEMON_PUBLISH_FILE_H
#define TTM_DAEMON_PUBLISH_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/publish/publish.h"

#define TTM_TEMPORARY_PREFIX ".aggregate."

struct ttm_publish_file {
	int fd;
	uint64_t size;
	uint64_t objects_capacity;
	struct ttm_aggregate_header *header; /* the whole file; NULL: none */
	struct ttm_copy *copies[2];
	struct ttm_object_row *rows;
	char temporary[40]; /* its name until it is shown, if it needs one */
	/* What publish keeps about it; none of this is read back from the file. */
	uint64_t layout;
	struct ttm_table tables[TTM_TABLES_MAX]; /* of that layout */
	uint64_t copy_seq[2];
	uint64_t objects_seq;
	uint64_t rows_len; /* rows from here on have never been written */
	unsigned active;
};

/*
 * Makes a file that nobody sees yet, all zero but for its constant part. Returns 0,
 * -ENOSPC, -EFBIG (RLIMIT_FSIZE), -ENOMEM, -EMFILE, ...
 */
int ttm_publish_file_make(const struct ttm_publisher_config *config,
	uint64_t copy_size, uint64_t objects_capacity,
	struct ttm_publish_file *ret_file);

/*
 * Locks it and gives it the name, from whatever had it. Returns 0 or a negative
 * errno (-EISDIR: a directory has the name), and then what had the name has it still.
 */
int ttm_publish_file_show(const struct ttm_publisher_config *config,
	struct ttm_publish_file *file);

/* Gives up the memory and the lock, and the file if it was not shown. */
void ttm_publish_file_close(const struct ttm_publisher_config *config,
	struct ttm_publish_file *file);

/* Removes what killed predecessors had not shown yet. */
void ttm_publish_file_tidy(const struct ttm_publisher_config *config);

#endif

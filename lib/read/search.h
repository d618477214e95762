/* SPDX-License-Identifier: Apache-2.0 */
/* Which aggregate is ours to read, and what it is worth. */
#ifndef TTM_READ_SEARCH_H
#define TTM_READ_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include <ttmem/reader.h>

#include "shm/directory.h"
#include "shm/view.h"

#define TTM_SEARCH_PATH_SIZE 512u
#define TTM_OWN_DIRECTORIES_MAX 16u

struct ttm_own_directory {
	char name[TTM_PATH_SIZE];
	uint64_t device;
	uint64_t inode;
};

/* What to look for. */
struct ttm_search {
	char dir[TTM_PATH_SIZE];         /* wanted base directory, or "" */
	char file[TTM_SEARCH_PATH_SIZE]; /* this one and no other, or "" */
	bool system_only;
	uint64_t stale_ns;
};

/* What was found; all zero: nothing yet. */
struct ttm_found {
	enum ttmem_source source;
	int error;             /* negative errno behind it, or 0 */
	struct ttm_view *view; /* NULL: no figures */
	int directory_fd;      /* that the view is in, if there is one */
	char name[TTM_PATH_SIZE];
	char path[TTM_SEARCH_PATH_SIZE]; /* where it is or should be */
	uint64_t seen_ns; /* when its figures were last known to hold */
	size_t own_len;
	size_t served;
	struct ttm_own_directory own[TTM_OWN_DIRECTORIES_MAX];
};

/*
 * Looks again. An aggregate that is still good stays; otherwise all that may be
 * ours are looked at, and the best one is taken. Returns 0, also when there is
 * none; -ENOMEM, -EMFILE, -ENFILE when it cannot look.
 */
int ttm_search_look(const struct ttm_search *search, struct ttm_found *found);

/* Whether a row of the directories is one of the caller's own. */
bool ttm_found_is_own(
	const struct ttm_found *found, uint64_t device, uint64_t inode);

void ttm_found_clear(struct ttm_found *found);

#endif

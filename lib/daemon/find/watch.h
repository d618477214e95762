/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/*
 * The watch: finds directories and the segments in them, tells who lives, and
 * keeps the registry up to date. A thread of its own, for all of this may be slow.
 *
 * ttmemd must not open TTM_SERVER_LOCK of a directory it serves a second time
 * (ttm_directory_is_served() does): closing any descriptor of it drops the lock.
 */
#ifndef TTM_DAEMON_WATCH_H
#define TTM_DAEMON_WATCH_H

#include <stdint.h>

#include "daemon/find/registry.h"

struct ttm_watch;

struct ttm_watch_config {
	const char *base; /* NULL: as ttm_base_directory_open() chooses */
	enum ttm_aggregate_mode mode;
	uint64_t max_processes; /* segments per user, 0: 4,096 */
	/*
	 * One line for an operator, with a priority of syslog(3). Called by the
	 * thread that opens and starts, then by the watch. NULL: nobody cares.
	 */
	void (*log)(int priority, const char *text);
};

/* Why a watch could not be opened, for a message. */
struct ttm_watch_failure {
	char path[TTM_PATH_SIZE]; /* of what it is about, or empty */
	uint32_t holder;          /* with -EBUSY: its pid, 0: not to be seen */
};

/*
 * Finds the base directory and takes the lock of its home, where the aggregate
 * goes: of a user the user's own directory, else the system's: see
 * ttm_system_directory_open(). It makes either.
 * The registry must outlive the watch.
 *
 * Returns 0, -EBUSY (another ttmemd has the lock), -EPERM (the directory or its
 * lock file belongs to somebody else or is open to others; or system mode is
 * wanted by somebody who is not root), -ENOMEM, or an error of
 * ttm_base_directory_open(), mkdir(2), open(2), epoll_create(2). On failure
 * *ret_failure says more, which may be NULL.
 */
int ttm_watch_open(const struct ttm_watch_config *config,
	struct ttm_registry *registry, struct ttm_watch **ret_watch,
	struct ttm_watch_failure *ret_failure);

/* Where the aggregate goes. The descriptor is the watch's, until it is closed. */
int ttm_watch_home(const struct ttm_watch *watch);
const char *ttm_watch_home_path(const struct ttm_watch *watch);
const char *ttm_watch_base_path(const struct ttm_watch *watch);

/*
 * Looks once at everything there is, with everybody's fate, then starts the
 * thread. The calling thread is registered with liburcu. Signals should be blocked:
 * the thread inherits the mask. Returns 0 or the error of pthread_create(3).
 */
int ttm_watch_start(struct ttm_watch *watch);

/* Times that everything was looked at: grows every second or so. Any thread. */
uint64_t ttm_watch_rounds(const struct ttm_watch *watch);

/* Ends the thread, lets the home go, and frees. Accepts NULL. */
void ttm_watch_close(struct ttm_watch **watch);

#endif

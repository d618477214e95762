/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/*
 * The table of attached processes and directories that ttmemd's threads share.
 *
 * Who may call what, and beside whom:
 *
 *   call                          thread        besides
 *   new, free                     main          nobody
 *   add, add_directory,           watch         drain, readers
 *     set_markers, tidy
 *   remove, release_directory     drain         watch, readers
 *   find, first, next             any           all; under rcu_read_lock()
 *   wake                          any           all; async-signal-safe
 *
 * There is one watch and one drain. Both are registered with liburcu (memb
 * flavour, <urcu.h>), and so is the thread that calls new and free. None of these
 * waits for another thread, but free, which waits for all callbacks.
 */
#ifndef TTM_DAEMON_REGISTRY_H
#define TTM_DAEMON_REGISTRY_H

#include "daemon/find/attached.h"

/* Returns 0, -ENOMEM, or the error of eventfd(2). */
int ttm_registry_new(struct ttm_registry **ret_registry);

/* Drops everything that is still in it. Accepts NULL. */
void ttm_registry_free(struct ttm_registry **registry);

/* -- attached processes ------------------------------------------------------- */

/* Empty, without descriptors; NULL: no memory. */
struct ttm_attached *ttm_attached_new(void);

/* Closes what it has open. Only for one that was never added. Accepts NULL. */
void ttm_attached_free(struct ttm_attached **attached);

/* By inode. The registry owns it from here on. False: that inode is there. */
bool ttm_registry_add(
	struct ttm_registry *registry, struct ttm_attached *attached);

/* NULL: none. Valid until rcu_read_unlock(). */
struct ttm_attached *ttm_registry_find(
	struct ttm_registry *registry, uint64_t inode);

/*
 * Takes it out, and closes and frees it when nobody can be looking at it any
 * more. What the drain has in `process` it has freed before. Takes its own read
 * lock.
 */
void ttm_registry_remove(
	struct ttm_registry *registry, struct ttm_attached *attached);

struct ttm_cursor {
	struct cds_lfht_iter iter;
};

/*
 * Each attached process once, in no order; those added or removed meanwhile may
 * or may not be among them. The one at hand may be removed. NULL: no more.
 */
struct ttm_attached *ttm_registry_first(
	struct ttm_registry *registry, struct ttm_cursor *cursor);
struct ttm_attached *ttm_registry_next(
	struct ttm_registry *registry, struct ttm_cursor *cursor);

#define ttm_registry_for_each(registry, cursor, attached)                      \
	for ((attached) = ttm_registry_first(registry, cursor); (attached);    \
		(attached) = ttm_registry_next(registry, cursor))

/* -- directories -------------------------------------------------------------- */

/* Empty, without descriptors; NULL: no memory. */
struct ttm_directory *ttm_directory_new(void);

/* Closes what it has open. Only for one that was never added. Accepts NULL. */
void ttm_directory_free(struct ttm_directory **directory);

/* The registry owns it from here on. */
void ttm_registry_add_directory(
	struct ttm_registry *registry, struct ttm_directory *directory);

/*
 * A directory is gone, nothing is attached in it, and the drain will not touch it
 * again outside of a read lock.
 */
void ttm_registry_release_directory(struct ttm_directory *directory);

/* Whether nothing will be added to it any more: the drain may let go of it. */
bool ttm_directory_is_gone(const struct ttm_directory *directory);

/*
 * Takes one directory out that has been released; false: not released. It is
 * closed and freed when nobody can be looking at it any more.
 */
bool ttm_registry_tidy(struct ttm_directory *directory);

/* The first one, the one after, NULL: no more. Under rcu_read_lock(). */
struct ttm_directory *ttm_registry_first_directory(
	struct ttm_registry *registry);
struct ttm_directory *ttm_registry_next_directory(
	struct ttm_registry *registry, struct ttm_directory *directory);

#define ttm_registry_for_each_directory(registry, directory)                   \
	for ((directory) = ttm_registry_first_directory(registry);             \
		(directory); (directory) = ttm_registry_next_directory(        \
				     registry, directory))

/* -- the rest ----------------------------------------------------------------- */

/*
 * Replaces them all; `markers` (from malloc) is the registry's, NULL is none. Its number
 * is larger than of those before.
 */
void ttm_registry_set_markers(
	struct ttm_registry *registry, struct ttm_markers *markers);

/* NULL: none. Valid until rcu_read_unlock(). */
const struct ttm_markers *ttm_registry_markers(struct ttm_registry *registry);

/* Makes wake_fd readable: the drain should look now rather than later. */
void ttm_registry_wake(struct ttm_registry *registry);

#endif

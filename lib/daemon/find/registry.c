/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
#include "daemon/find/registry.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "shm/atomics.h"

#define BUCKETS_MIN 64u
#define BUCKETS_MAX (1u << 20)

/* As liburcu's caa_container_of, which casts a const away on the way. */
#define CONTAINER_OF(pointer, type, member)                                    \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static void descriptor_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* -- attached processes ------------------------------------------------------- */

struct ttm_attached *ttm_attached_new(void)
{
	struct ttm_attached *attached = calloc(1, sizeof(*attached));

	if (!attached)
		return NULL;
	cds_lfht_node_init(&attached->node);
	attached->fd = -1;
	attached->pidfd = -1;
	return attached;
}

void ttm_attached_free(struct ttm_attached **attached)
{
	if (!*attached)
		return;
	descriptor_close(&(*attached)->fd);
	descriptor_close(&(*attached)->pidfd);
	free(*attached);
	*attached = NULL;
}

static void attached_reclaim(struct rcu_head *head)
{
	struct ttm_attached *attached = CONTAINER_OF(
		head, struct ttm_attached, rcu);

	ttm_attached_free(&attached);
}

/* Inodes are consecutive: their low bits alone would do, mixed they do better. */
static unsigned long inode_hash(uint64_t inode)
{
	inode *= 0x9e3779b97f4a7c15ull;
	return (unsigned long)(inode ^ inode >> 32);
}

static int inode_match(struct cds_lfht_node *node, const void *key)
{
	const struct ttm_attached *attached = CONTAINER_OF(
		node, struct ttm_attached, node);
	const uint64_t *inode = key;

	return attached->inode == *inode;
}

bool ttm_registry_add(
	struct ttm_registry *registry, struct ttm_attached *attached)
{
	struct cds_lfht_node *found;

	rcu_read_lock();
	found = cds_lfht_add_unique(registry->attached,
		inode_hash(attached->inode), inode_match, &attached->inode,
		&attached->node);
	rcu_read_unlock();
	return found == &attached->node;
}

static struct ttm_attached *attached_at(struct cds_lfht_iter *iter)
{
	struct cds_lfht_node *node = cds_lfht_iter_get_node(iter);

	return node ? CONTAINER_OF(node, struct ttm_attached, node) : NULL;
}

struct ttm_attached *ttm_registry_find(
	struct ttm_registry *registry, uint64_t inode)
{
	struct cds_lfht_iter iter;

	cds_lfht_lookup(registry->attached, inode_hash(inode), inode_match,
		&inode, &iter);
	return attached_at(&iter);
}

void ttm_registry_remove(
	struct ttm_registry *registry, struct ttm_attached *attached)
{
	int r;

	rcu_read_lock();
	r = cds_lfht_del(registry->attached, &attached->node);
	rcu_read_unlock();
	if (r == 0)
		call_rcu(&attached->rcu, attached_reclaim);
}

struct ttm_attached *ttm_registry_first(
	struct ttm_registry *registry, struct ttm_cursor *cursor)
{
	cds_lfht_first(registry->attached, &cursor->iter);
	return attached_at(&cursor->iter);
}

struct ttm_attached *ttm_registry_next(
	struct ttm_registry *registry, struct ttm_cursor *cursor)
{
	cds_lfht_next(registry->attached, &cursor->iter);
	return attached_at(&cursor->iter);
}

/* -- directories -------------------------------------------------------------- */

struct ttm_directory *ttm_directory_new(void)
{
	struct ttm_directory *directory = calloc(1, sizeof(*directory));

	if (!directory)
		return NULL;
	directory->fd = -1;
	directory->lock_fd = -1;
	directory->inotify_watch = -1;
	return directory;
}

void ttm_directory_free(struct ttm_directory **directory)
{
	if (!*directory)
		return;
	descriptor_close(&(*directory)->fd);
	descriptor_close(&(*directory)->lock_fd);
	free(*directory);
	*directory = NULL;
}

static void directory_reclaim(struct rcu_head *head)
{
	struct ttm_directory *directory = CONTAINER_OF(
		head, struct ttm_directory, rcu);

	ttm_directory_free(&directory);
}

void ttm_registry_add_directory(
	struct ttm_registry *registry, struct ttm_directory *directory)
{
	cds_list_add_tail_rcu(&directory->node, &registry->directories);
}

bool ttm_directory_is_gone(const struct ttm_directory *directory)
{
	/* pairs(directory-gone): acquire, with directory_end: what was attached
	 * in it can be found from here on, and no more will come */
	return ttm_load_acquire(&directory->gone) != 0;
}

void ttm_registry_release_directory(struct ttm_directory *directory)
{
	/* pairs(directory-released): release, with ttm_registry_tidy: the drain
	 * has done all it did with it */
	ttm_store_release(&directory->released, 1);
}

bool ttm_registry_tidy(struct ttm_directory *directory)
{
	/* pairs(directory-released): acquire, with
	 * ttm_registry_release_directory */
	if (!ttm_load_acquire(&directory->released))
		return false;
	cds_list_del_rcu(&directory->node);
	call_rcu(&directory->rcu, directory_reclaim);
	return true;
}

static struct ttm_directory *directory_at(
	struct ttm_registry *registry, struct cds_list_head *node)
{
	if (node == &registry->directories)
		return NULL;
	return CONTAINER_OF(node, struct ttm_directory, node);
}

struct ttm_directory *ttm_registry_first_directory(
	struct ttm_registry *registry)
{
	return directory_at(
		registry, rcu_dereference(registry->directories.next));
}

struct ttm_directory *ttm_registry_next_directory(
	struct ttm_registry *registry, struct ttm_directory *directory)
{
	return directory_at(registry, rcu_dereference(directory->node.next));
}

/* -- the rest ----------------------------------------------------------------- */

static void markers_reclaim(struct rcu_head *head)
{
	free(CONTAINER_OF(head, struct ttm_markers, rcu));
}

void ttm_registry_set_markers(
	struct ttm_registry *registry, struct ttm_markers *markers)
{
	struct ttm_markers *old = rcu_xchg_pointer(&registry->markers, markers);

	if (old)
		call_rcu(&old->rcu, markers_reclaim);
}

const struct ttm_markers *ttm_registry_markers(struct ttm_registry *registry)
{
	return rcu_dereference(registry->markers);
}

void ttm_registry_wake(struct ttm_registry *registry)
{
	static const uint64_t one = 1;
	ssize_t n;

	/* Full is readable, too: nothing is lost when this fails. */
	do
		n = write(registry->wake_fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
}

int ttm_registry_new(struct ttm_registry **ret_registry)
{
	struct ttm_registry *registry = calloc(1, sizeof(*registry));
	int r;

	if (!registry)
		return -ENOMEM;
	CDS_INIT_LIST_HEAD(&registry->directories);
	registry->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (registry->wake_fd < 0) {
		r = -errno;
		ttm_registry_free(&registry);
		return r;
	}
	registry->attached = cds_lfht_new(BUCKETS_MIN, BUCKETS_MIN, BUCKETS_MAX,
		CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, NULL);
	if (!registry->attached) {
		ttm_registry_free(&registry);
		return -ENOMEM;
	}
	*ret_registry = registry;
	return 0;
}

static void registry_empty(struct ttm_registry *registry)
{
	struct ttm_directory *directory, *next;
	struct ttm_attached *attached;
	struct ttm_cursor cursor;

	rcu_read_lock();
	if (registry->attached)
		ttm_registry_for_each(registry, &cursor, attached)
			ttm_registry_remove(registry, attached);
	for (directory = ttm_registry_first_directory(registry); directory;
		directory = next) {
		next = ttm_registry_next_directory(registry, directory);
		ttm_registry_release_directory(directory);
		ttm_registry_tidy(directory);
	}
	ttm_registry_set_markers(registry, NULL);
	rcu_read_unlock();
}

void ttm_registry_free(struct ttm_registry **registry)
{
	if (!*registry)
		return;
	registry_empty(*registry);
	rcu_barrier();
	if ((*registry)->attached)
		cds_lfht_destroy((*registry)->attached, NULL);
	descriptor_close(&(*registry)->wake_fd);
	free(*registry);
	*registry = NULL;
}

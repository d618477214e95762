/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/*
 * Who lives.
 *
 * The lock of a segment is the kernel's word: it is released on any death, not
 * inherited by fork, and seen across pid namespaces. While it is held, the process
 * lives. A free lock alone says little (a program may close all its descriptors):
 * dead is whose lock is free and who
 *
 *   - has ended, as its pidfd says,
 *   - or cannot be found under its pid and start time,
 *   - or does not have the segment mapped: it called exec, or ttmem_stop(),
 *   - or is of another boot,
 *   - or was in another pid namespace, and nobody has the segment open or mapped for
 *     writing; where the kernel does not tell that, nobody is in that namespace.
 *
 * What cannot be read leaves it unknown, and unknown is never retired. Of a namespace
 * beside ours nothing can be seen at all: that nobody is seen in it says nothing.
 *
 * The holder of a lock is known by its pid here, whatever namespace it is in. So the
 * pidfd is opened for the holder, if that can be seen; only for a process that lost
 * its lock before we came does the header's pid matter. Whether that process is the
 * one that is published, owner.c says.
 */
#include "daemon/find/watch_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shm/atomics.h"
#include "shm/clock.h"

/* exec and ttmem_stop() of a process without its lock are seen so late. */
#define MAPS_EVERY_NS (2 * TTM_SECOND_NS)
/* A look at all of /proc is due at most so often, a bit below a round. */
#define NAMESPACES_EVERY_NS (TTM_SECOND_NS * 9 / 10)
#define AGAIN_NS 5000000ull
#define AGAIN_TRIES 20u

/* -- locks and pidfds --------------------------------------------------------- */

/* On a descriptor that is only for reading; ttmemd itself has no lock there. */
static enum ttm_answer lock_is_held(int fd, uint32_t *ret_holder)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};

	if (fcntl(fd, F_GETLK, &lock) < 0)
		return TTM_CANNOT_TELL;
	if (lock.l_type == F_UNLCK)
		return TTM_NO;
	/* 0 or less: a process that this namespace does not see. */
	*ret_holder = lock.l_pid > 0 ? (uint32_t)lock.l_pid : 0;
	return TTM_YES;
}

static int pidfd_open_for(uint32_t pid)
{
	return (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
}

bool ttm_pidfd_has_ended(int pidfd)
{
	struct pollfd poll_fd = { pidfd, POLLIN, 0 };

	return poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLIN);
}

static void pidfd_keep(struct ttm_watch *watch, struct ttm_attached *attached,
	uint32_t pid, int pidfd)
{
	struct epoll_event event = { .events = EPOLLIN };

	attached->pidfd_pid = pid;
	attached->pidfd = pidfd;
	event.data.u64 = attached->inode;
	/* If that fails, the look of every second finds out. */
	epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, pidfd, &event);
}

/* Closing it also ends epoll's interest: nobody else has it. */
static void pidfd_drop(struct ttm_watch *watch, struct ttm_attached *attached)
{
	ttm_owner_forget(watch, attached);
	if (attached->pidfd >= 0)
		close(attached->pidfd);
	attached->pidfd = -1;
	attached->pidfd_pid = 0;
}

/* It is the same process if it holds the lock before and after. */
static void pidfd_take_holder(
	struct ttm_watch *watch, struct ttm_attached *attached, uint32_t holder)
{
	uint32_t again = 0;
	int pidfd;

	if (attached->pidfd_pid == holder)
		return;
	pidfd_drop(watch, attached);
	pidfd = holder ? pidfd_open_for(holder) : -1;
	if (pidfd < 0)
		return;
	if (lock_is_held(attached->fd, &again) == TTM_YES && again == holder)
		pidfd_keep(watch, attached, holder, pidfd);
	else
		close(pidfd);
}

/* It is the same process if it started then before and after. */
static void pidfd_take_started(
	struct ttm_watch *watch, struct ttm_attached *attached)
{
	uint32_t pid = attached->header.pid;
	int pidfd = pidfd_open_for(pid);

	if (pidfd < 0)
		return;
	if (ttm_proc_start_time(pid) == attached->header.start_time)
		pidfd_keep(watch, attached, pid, pidfd);
	else
		close(pidfd);
}

/* -- whose lock is free ------------------------------------------------------- */

/*
 * Whether anybody has it open for writing, or mapped, in whatever namespace: only then
 * does the kernel refuse a lease for reading. That needs to be the file's owner, or
 * CAP_LEASE. Whoever opens it at this very moment waits for the second call; the
 * signal that tells of it is blocked or ignored in ttmemd.
 */
static enum ttm_answer file_is_written(int fd)
{
	if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return errno == EAGAIN ? TTM_YES : TTM_CANNOT_TELL;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return TTM_NO;
}

static enum ttm_fate fate_by_maps(struct ttm_watch *watch,
	struct ttm_attached *attached, uint32_t pid, uint64_t now_ns)
{
	/* Its end is heard of; for the rest there is time. */
	if (attached->pidfd >= 0 && attached->checked_ns &&
		now_ns - attached->checked_ns < MAPS_EVERY_NS)
		return TTM_FATE_ALIVE;
	switch (ttm_proc_maps(pid, watch->base_device, attached->inode)) {
	case TTM_YES:
		attached->checked_ns = now_ns;
		ttm_owner_maps(watch, attached);
		return TTM_FATE_ALIVE;
	case TTM_NO:
		return TTM_FATE_DEAD;
	case TTM_CANNOT_TELL:
		break;
	}
	attached->checked_ns = 0;
	/* It may have ended while we were reading. */
	if (attached->pidfd >= 0 && ttm_pidfd_has_ended(attached->pidfd))
		return TTM_FATE_DEAD;
	return file_is_written(attached->fd) == TTM_NO ? TTM_FATE_DEAD :
							 TTM_FATE_UNKNOWN;
}

/* In our own pid namespace, and no pidfd yet. */
static enum ttm_fate fate_by_pid(
	struct ttm_watch *watch, struct ttm_attached *attached, uint64_t now_ns)
{
	uint32_t pid = attached->header.pid;
	uint64_t start = ttm_proc_start_time(pid);

	if (start == 0)
		return ttm_proc_is_gone(pid) ? TTM_FATE_DEAD : TTM_FATE_UNKNOWN;
	if (attached->header.start_time) {
		if (start != attached->header.start_time)
			return TTM_FATE_DEAD;
		pidfd_take_started(watch, attached);
		if (attached->pidfd >= 0 &&
			ttm_pidfd_has_ended(attached->pidfd))
			return TTM_FATE_DEAD;
	}
	return fate_by_maps(watch, attached, pid, now_ns);
}

/*
 * checked_ns is when its lock was first seen free: only a look at the namespaces
 * after that counts, for before it the process may not have been there.
 */
static enum ttm_fate fate_by_namespace(
	struct ttm_watch *watch, struct ttm_attached *attached, uint64_t now_ns)
{
	if (attached->header.pid_namespace == 0)
		return TTM_FATE_UNKNOWN;
	if (attached->checked_ns == 0)
		attached->checked_ns = now_ns;
	if (watch->namespaces_ns < attached->checked_ns &&
		now_ns - watch->namespaces_ns >= NAMESPACES_EVERY_NS) {
		watch->namespaces_ns = now_ns;
		ttm_namespaces_look(&watch->namespaces);
	}
	if (watch->namespaces_ns < attached->checked_ns)
		return TTM_FATE_UNKNOWN;
	if (ttm_namespaces_have(&watch->namespaces,
		    attached->header.pid_namespace,
		    attached->directory->uid) == TTM_NO)
		return TTM_FATE_DEAD;
	attached->checked_ns = 0;
	return TTM_FATE_UNKNOWN;
}

static bool boot_differs(
	const struct ttm_watch *watch, const struct ttm_attached *attached)
{
	static const uint8_t unknown[16];
	const uint8_t *boot_id = attached->header.boot_id;

	return memcmp(watch->boot_id, unknown, sizeof(unknown)) != 0 &&
		memcmp(boot_id, unknown, sizeof(unknown)) != 0 &&
		memcmp(boot_id, watch->boot_id, sizeof(unknown)) != 0;
}

static enum ttm_fate fate_without_lock(
	struct ttm_watch *watch, struct ttm_attached *attached, bool vanished)
{
	uint64_t now_ns = ttm_clock_ns(CLOCK_MONOTONIC);

	/* Nothing in it can be believed. Once it has no name it is history. */
	if (attached->reason[0])
		return vanished ? TTM_FATE_DEAD : TTM_FATE_UNKNOWN;
	if (boot_differs(watch, attached))
		return TTM_FATE_DEAD;
	if (attached->pidfd >= 0) {
		if (ttm_pidfd_has_ended(attached->pidfd))
			return TTM_FATE_DEAD;
		return fate_by_maps(
			watch, attached, attached->pidfd_pid, now_ns);
	}
	if (watch->pid_namespace != 0 &&
		attached->header.pid_namespace == watch->pid_namespace)
		return fate_by_pid(watch, attached, now_ns);
	switch (file_is_written(attached->fd)) {
	case TTM_YES:
		return TTM_FATE_UNKNOWN;
	case TTM_NO:
		return TTM_FATE_DEAD;
	case TTM_CANNOT_TELL:
		break;
	}
	return fate_by_namespace(watch, attached, now_ns);
}

/* -- checking ----------------------------------------------------------------- */

static enum ttm_fate fate_judge(
	struct ttm_watch *watch, struct ttm_attached *attached, bool vanished)
{
	uint32_t holder = 0;

	switch (lock_is_held(attached->fd, &holder)) {
	case TTM_YES:
		attached->checked_ns = 0;
		pidfd_take_holder(watch, attached, holder);
		ttm_owner_locks(watch, attached);
		return TTM_FATE_ALIVE;
	case TTM_NO:
		return fate_without_lock(watch, attached, vanished);
	case TTM_CANNOT_TELL:
		break;
	}
	return TTM_FATE_UNKNOWN;
}

void ttm_liveness_check(struct ttm_watch *watch, struct ttm_attached *attached)
{
	enum ttm_fate fate;
	struct stat st;
	bool vanished;

	/* Also of a dead one, which may be in quarantine. */
	vanished = fstat(attached->fd, &st) == 0 && st.st_nlink == 0;
	/* relaxed: our own words */
	if (vanished && !ttm_load(&attached->vanished)) {
		ttm_store(&attached->vanished, 1); /* relaxed: for display */
		watch->changed = true;
	}
	if (ttm_load(&attached->fate) == TTM_FATE_DEAD)
		return;
	fate = fate_judge(watch, attached, vanished);
	watch->unheard |= fate == TTM_FATE_ALIVE && attached->pidfd < 0;
	if (ttm_load(&attached->fate) == fate)
		return;
	/* pairs(fate): release, with the drain's last read: whatever the process
	 * wrote it has written */
	ttm_store_release(&attached->fate, fate);
	watch->changed = true;
}

void ttm_liveness_look(struct ttm_watch *watch)
{
	struct ttm_attached *attached;
	struct ttm_cursor cursor;
	size_t i;

	for (i = 0; i < watch->watched_len; i++)
		watch->watched[i].directory->attached_len = 0;
	watch->unheard = false;
	rcu_read_lock();
	ttm_registry_for_each(watch->registry, &cursor, attached)
	{
		ttm_liveness_check(watch, attached);
		attached->directory->attached_len++;
	}
	rcu_read_unlock();
}

/* -- exits in progress -------------------------------------------------------- */

static void again_add(struct ttm_watch *watch, uint64_t inode)
{
	size_t i;

	for (i = 0; i < TTM_AGAIN_MAX; i++) {
		if (watch->again[i].inode)
			continue;
		watch->again[i].inode = inode;
		watch->again[i].tries = AGAIN_TRIES;
		watch->again[i].at_ns = ttm_clock_ns(CLOCK_MONOTONIC) +
			AGAIN_NS;
		return;
	}
}

/* True when there is nothing more to find out about it. */
static bool inode_settle(struct ttm_watch *watch, uint64_t inode)
{
	struct ttm_attached *attached;
	bool settled = true;

	rcu_read_lock();
	attached = ttm_registry_find(watch->registry, inode);
	if (attached) {
		ttm_liveness_check(watch, attached);
		/* relaxed: our own word */
		settled = ttm_load(&attached->fate) == TTM_FATE_DEAD;
	}
	rcu_read_unlock();
	return settled;
}

void ttm_liveness_ended(struct ttm_watch *watch, uint64_t inode)
{
	struct ttm_attached *attached;

	rcu_read_lock();
	attached = ttm_registry_find(watch->registry, inode);
	if (attached && attached->pidfd >= 0)
		epoll_ctl(watch->epoll_fd, EPOLL_CTL_DEL, attached->pidfd,
			NULL); /* it stays readable */
	rcu_read_unlock();
	if (!inode_settle(watch, inode))
		again_add(watch, inode);
}

uint64_t ttm_liveness_again(struct ttm_watch *watch, uint64_t now_ns)
{
	struct ttm_again *again;
	uint64_t next_ns = 0;
	size_t i;

	for (i = 0; i < TTM_AGAIN_MAX; i++) {
		again = &watch->again[i];
		if (again->inode && now_ns >= again->at_ns) {
			if (inode_settle(watch, again->inode) ||
				--again->tries == 0)
				again->inode = 0; /* or the next look */
			again->at_ns = now_ns + AGAIN_NS;
		}
		if (again->inode && (!next_ns || again->at_ns < next_ns))
			next_ns = again->at_ns;
	}
	return next_ns;
}

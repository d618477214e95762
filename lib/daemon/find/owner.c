/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/*
 * Which process a segment belongs to.
 *
 * The owner of a directory can write any pid and start time into a header, and
 * whoever reads the aggregate may send a signal to the pid that is published. So
 * only a pid that the kernel confirms is published, in one of two ways:
 *
 *   - the process holds the lock of the segment, and the owner of the directory
 *     could send it a signal too: its real or saved user is that owner. A lock alone
 *     proves nothing: if it was taken by one of two processes that share their
 *     descriptors, it outlives its taker, whose pid may be another process by now.
 *     A directory of ttmemd's own user is trusted without that: a program may have
 *     started as root and be another user now.
 *   - the process has the segment mapped, shared and for writing. That also covers
 *     programs that changed their user inside a user namespace.
 *
 * A process that ttmemd's pid namespace does not see cannot be confirmed, and has no
 * pid in the aggregate.
 */
#include "daemon/find/watch_internal.h"

#include <unistd.h>

#include "shm/atomics.h"
#include "shm/clock.h"

/* Another try for a process that could not be confirmed. */
#define PROOF_EVERY_NS (2 * TTM_SECOND_NS)

void ttm_owner_forget(struct ttm_watch *watch, struct ttm_attached *attached)
{
	attached->proof_ns = 0;
	if (!ttm_load32(&attached->pid)) /* relaxed: our own word */
		return;
	ttm_store32(&attached->pid, 0); /* relaxed: nothing goes with 0 */
	watch->changed = true;
}

static bool owner_may_signal(const struct ttm_attached *attached,
	const struct ttm_proc_status *status)
{
	uint32_t uid = attached->directory->uid;

	return uid == geteuid() || uid == status->real_uid ||
		uid == status->saved_uid;
}

/*
 * What is read of the pid here is of the pidfd's process if that has not ended after
 * all of it was read.
 */
static void owner_prove(struct ttm_watch *watch, struct ttm_attached *attached,
	bool has_lock, bool has_mapped)
{
	uint32_t pid = attached->pidfd_pid;
	struct ttm_proc_status status;
	uint64_t start_time = ttm_proc_start_time(pid);
	uint64_t namespace;

	if (!ttm_proc_status(pid, &status))
		return;
	if (!has_mapped && !(has_lock && owner_may_signal(attached, &status)) &&
		ttm_proc_maps(pid, watch->base_device, attached->inode) !=
			TTM_YES)
		return;
	namespace = status.nested ? ttm_proc_pid_namespace(pid) :
				    watch->pid_namespace;
	if (ttm_pidfd_has_ended(attached->pidfd))
		return;
	/* relaxed: the pid that follows is released. A start time without a
	 * namespace would let a reader take the pid for one of its own. */
	ttm_store32(&attached->own_pid, status.own_pid);
	ttm_store(&attached->pid_namespace, namespace);
	ttm_store(&attached->start_time, namespace ? start_time : 0);
	/* pairs(owner): release, with the drain: what goes with the pid is there */
	ttm_store32_release(&attached->pid, pid);
	watch->changed = true;
}

void ttm_owner_locks(struct ttm_watch *watch, struct ttm_attached *attached)
{
	uint64_t now_ns = ttm_clock_ns(CLOCK_MONOTONIC);

	if (attached->pidfd < 0 || ttm_pidfd_has_ended(attached->pidfd)) {
		ttm_owner_forget(watch, attached);
		return;
	}
	/* relaxed: our own word */
	if (ttm_load32(&attached->pid) ||
		(attached->proof_ns &&
			now_ns - attached->proof_ns < PROOF_EVERY_NS))
		return;
	attached->proof_ns = now_ns;
	owner_prove(watch, attached, true, false);
}

void ttm_owner_maps(struct ttm_watch *watch, struct ttm_attached *attached)
{
	/* relaxed: our own word */
	if (attached->pidfd >= 0 && !ttm_load32(&attached->pid))
		owner_prove(watch, attached, false, true);
}

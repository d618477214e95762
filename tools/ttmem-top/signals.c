/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "signals.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/process.h"

const struct top_signal top_signals[TOP_SIGNALS] = {
	{ SIGTERM, "TERM", "15 SIGTERM  ask it to end" },
	{ SIGINT, "INT", " 2 SIGINT   as Ctrl-C does" },
	{ SIGHUP, "HUP", " 1 SIGHUP   hang up" },
	{ SIGKILL, "KILL", " 9 SIGKILL  end it; what it has is left" },
};

/* The descriptor stays with this process: its number cannot become another's. */
int top_signal_send(const struct top_victim *victim, int number)
{
	uint64_t ours = ttm_proc_pid_namespace(0);
	int fd, r = 0;

	if (victim->pid == TTMEM_UNKNOWN || victim->pid == 0 ||
		victim->pid > INT_MAX || victim->start_time == TTMEM_UNKNOWN ||
		victim->start_time == 0)
		return -EINVAL;
	if (victim->pid_namespace != TTMEM_UNKNOWN &&
		victim->pid_namespace != 0 && victim->pid_namespace != ours)
		return -EXDEV;
	fd = (int)syscall(SYS_pidfd_open, (pid_t)victim->pid, 0);
	if (fd < 0)
		return -errno;
	if (ttm_proc_start_time(victim->pid) != victim->start_time)
		r = -ESRCH;
	else if (syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) < 0)
		r = -errno;
	close(fd);
	return r;
}

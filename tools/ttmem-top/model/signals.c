/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "signals.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/process.h"

const struct top_signal top_signals[TOP_SIGNALS] = {
	{ SIGTERM, "TERM", "15 SIGTERM  ask it to end" },
	{ SIGINT, "INT", " 2 SIGINT   as Ctrl-C does" },
	{ SIGHUP, "HUP", " 1 SIGHUP   hang up" },
	{ SIGKILL, "KILL", " 9 SIGKILL  end it; what it has is left" },
};

static int victim_check(const struct top_victim *victim)
{
	if (victim->pid == TTMEM_UNKNOWN || victim->pid == 0 ||
		victim->pid > INT_MAX || victim->start_time == TTMEM_UNKNOWN ||
		victim->start_time == 0)
		return -EINVAL;
	if (victim->pid_namespace != TTMEM_UNKNOWN &&
		victim->pid_namespace != 0 &&
		victim->pid_namespace != ttm_proc_pid_namespace(0))
		return -EXDEV;
	return 0;
}

static int facts_read(
	const struct top_victim *victim, struct ttm_proc_facts *ret_facts)
{
	struct ttm_proc_facts facts;
	int r = ttm_proc_facts_read(victim->pid, &facts);

	if (r == 0 && facts.start_time != victim->start_time)
		r = -ESRCH;
	if (r == 0)
		*ret_facts = facts;
	return r;
}

int top_victim_look(struct top_victim *victim)
{
	int r = victim_check(victim);

	return r < 0 ? r : facts_read(victim, &victim->facts);
}

/* The descriptor stays with this process: its number cannot become another's. */
int top_signal_send(const struct top_victim *victim, int number)
{
	struct ttm_proc_facts now;
	int r = victim_check(victim), fd;

	if (r < 0)
		return r;
	fd = (int)syscall(SYS_pidfd_open, (pid_t)victim->pid, 0);
	if (fd < 0)
		return -errno;
	r = facts_read(victim, &now);
	if (r == 0 &&
		(now.uid != victim->facts.uid ||
			strcmp(now.comm, victim->facts.comm) != 0))
		r = -ESTALE;
	if (r == 0 && syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) < 0)
		r = -errno;
	close(fd);
	return r;
}

const char *top_signal_error(int error)
{
	switch (error) {
	case -ESRCH:
		return "it is gone, or its pid is another process by now";
	case -ESTALE:
		return "its user or its name has changed since the question";
	case -EXDEV:
		return "it is in another pid namespace";
	case -EINVAL:
		return "its pid is not confirmed";
	default:
		return strerror(-error);
	}
}

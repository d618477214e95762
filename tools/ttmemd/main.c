/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ttmemd: puts the threads together, and waits to be told to stop.
 *
 *   main    signals, the service manager
 *   watch   lib/daemon/find/watch.h
 *   drain   lib/daemon/engine.h
 *   scout, workers   lib/daemon/sensors/telemetry.h
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <syslog.h>
#include <unistd.h>

#include "common/error.h"
#include "daemon.h"
#include "daemon/engine.h"
#include "daemon/find/watch.h"
#include "daemon/sensors/telemetry.h"

/* Between attempts to create the directory that ttmemd publishes in. */
#define RETRY_MS 1000

struct daemon {
	struct options options;
	struct ttm_registry *registry;
	struct ttm_watch *watch;
	struct ttm_telemetry *telemetry;
	struct ttm_engine *engine;
	pthread_t drain;
	bool drain_started;
	int drain_status; /* of the thread, when it has ended */
	int signal_fd;
	int ended_fd;    /* the drain's thread has ended */
	uint64_t rounds; /* of the watch, when the manager was told last */
	bool publishing; /* the first publication was made */
};

/* -- the process -------------------------------------------------------------- */

/* A descriptor per directory, and two per process. */
static void descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
		limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		log_format(LOG_WARNING, "limit for open files: %s",
			strerror(errno));
}

/* Before any thread, so that all have the mask. */
static int signals_open(struct daemon *daemon)
{
	sigset_t all, wanted;

	signal(SIGPIPE, SIG_IGN);
	sigfillset(&all);
	/* What the hardware raises is not to wait. */
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGABRT);
	/* The terminal may still stop it, and a parent may not care. */
	sigdelset(&all, SIGTSTP);
	sigdelset(&all, SIGQUIT);
	sigdelset(&all, SIGHUP);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, SIGINT);
	daemon->signal_fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
	daemon->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return daemon->signal_fd < 0 || daemon->ended_fd < 0 ? -errno : 0;
}

/* Whether a signal to end arrives within that time. */
static bool told_to_stop(const struct daemon *daemon, int timeout_ms)
{
	struct pollfd fd = { daemon->signal_fd, POLLIN, 0 };

	return poll(&fd, 1, timeout_ms) > 0;
}

/* -- the service manager ------------------------------------------------------ */

static int manager_tell(const struct daemon *daemon, const char *state)
{
	int r = notify_send(state);

	if (r == 0 && daemon->options.notify)
		r = -EDESTADDRREQ;
	if (r < 0)
		log_format(LOG_WARNING, "NOTIFY_SOCKET: %s", strerror(-r));
	return r;
}

/* Also while there is no room: a restart would not make any. */
static int manager_tell_started(
	const struct daemon *daemon, const char *status, const char *path)
{
	char state[TTM_PATH_SIZE + 64];
	int r;

	snprintf(state, sizeof(state), "READY=1\nSTATUS=%s %s", status, path);
	r = manager_tell(daemon, state);
	return daemon->options.notify && r < 0 ? r : 0;
}

/* Only while the watch gets around: else the manager should see that it hangs. */
static void manager_tell_alive(struct daemon *daemon)
{
	uint64_t rounds = ttm_watch_rounds(daemon->watch);

	if (rounds != daemon->rounds)
		notify_send("WATCHDOG=1");
	daemon->rounds = rounds;
}

/* Half of what is expected, but not below the pace of the watch. */
static int watchdog_ms(void)
{
	uint64_t us = notify_watchdog_us();

	if (us == 0)
		return -1;
	us /= 2;
	return us > 3600000000ull ? 3600000 : (int)(us / 1000 + 1);
}

/* -- opening ------------------------------------------------------------------ */

/* "process 12 (ttmemd --mode user)"; what cannot be read is left out. */
static void holder_describe(uint32_t pid, char *ret_text, size_t size)
{
	char path[48], command[256];
	ssize_t n = -1, i;
	int fd;

	if (pid == 0) {
		snprintf(ret_text, size, "a process that cannot be seen here");
		return;
	}
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, command, sizeof(command) - 1);
		close(fd);
	}
	if (n <= 0) {
		snprintf(ret_text, size, "process %u", pid);
		return;
	}
	while (n > 0 && command[n - 1] == '\0')
		n--;
	for (i = 0; i < n; i++)
		if (command[i] == '\0')
			command[i] = ' ';
	command[n] = '\0';
	snprintf(ret_text, size, "process %u (%s)", pid, command);
}

static void watch_explain(const struct daemon *daemon, int error,
	const struct ttm_watch_failure *failure)
{
	char holder[320];

	switch (error) {
	case EBUSY:
		holder_describe(failure->holder, holder, sizeof(holder));
		log_format(LOG_ERR, "%s is served already, by %s",
			failure->path, holder);
		break;
	case EMEDIUMTYPE:
		log_format(LOG_ERR, "%s is not on tmpfs",
			daemon->options.dir ? daemon->options.dir :
					      "the base directory");
		break;
	case EPERM:
		if (daemon->options.mode == TTM_MODE_SYSTEM && geteuid() != 0)
			log_text(LOG_ERR, "system mode is for root");
		else
			log_format(LOG_ERR,
				"%s or its lock is somebody else's, or open to others",
				failure->path[0] ? failure->path :
						   "the base directory");
		break;
	default:
		log_format(LOG_ERR, "%s: %s",
			failure->path[0]            ? failure->path :
				daemon->options.dir ? daemon->options.dir :
						      "the base directory",
			strerror(error));
	}
}

static int watch_try(struct daemon *daemon, struct ttm_watch_failure *failure)
{
	struct ttm_watch_config config = {
		.base = daemon->options.dir,
		.mode = daemon->options.mode,
		.max_processes = daemon->options.max_processes,
		.log = log_text,
	};
	int r;

	memset(failure, 0, sizeof(*failure));
	r = ttm_registry_new(&daemon->registry);
	if (r == 0)
		r = ttm_watch_open(
			&config, daemon->registry, &daemon->watch, failure);
	if (r < 0)
		ttm_registry_free(&daemon->registry);
	return r;
}

/*
 * Waits for an inode where ttmemd's directory and its lock file need one: a full
 * filesystem is no reason to exit. Returns 0, -EINTR when told to stop, or an error.
 */
static int watch_open(struct daemon *daemon)
{
	struct ttm_watch_failure failure;
	int r = watch_try(daemon, &failure);

	if (r == -ENOSPC || r == -EDQUOT) {
		log_format(LOG_ERR, "%s: %s; retrying every second",
			failure.path, strerror(-r));
		manager_tell_started(
			daemon, "Waiting for room in", failure.path);
	}
	while (r == -ENOSPC || r == -EDQUOT) {
		if (told_to_stop(daemon, RETRY_MS))
			return -EINTR;
		notify_send("WATCHDOG=1");
		r = watch_try(daemon, &failure);
	}
	if (r < 0) {
		watch_explain(daemon, -r, &failure);
		return r;
	}
	r = ttm_watch_start(daemon->watch);
	if (r < 0)
		log_format(LOG_ERR, "thread: %s", strerror(-r));
	return r;
}

static void *drain_run(void *context)
{
	static const uint64_t one = 1;
	struct daemon *daemon = context;
	ssize_t n;

	daemon->drain_status = ttm_engine_run(daemon->engine);
	n = write(daemon->ended_fd, &one, sizeof(one));
	(void)n; /* an empty eventfd takes it */
	return NULL;
}

/* Without it there is memory all the same. */
static void telemetry_open(struct daemon *daemon)
{
	struct ttm_telemetry_config config = {
		.sysfs_root = daemon->options.sysfs_root,
		.proc_root = daemon->options.proc_root,
		.log = log_text,
	};
	int r = ttm_telemetry_new(&config, &daemon->telemetry);

	if (r < 0)
		log_format(LOG_WARNING, "no telemetry: %s", strerror(-r));
}

/* Whoever asks for events reads them: a full pipe is waited for. */
static void event_print(const char *text)
{
	puts(text);
	fflush(stdout);
}

static int engine_open(struct daemon *daemon)
{
	struct ttm_engine_config config = {
		.registry = daemon->registry,
		.telemetry = daemon->telemetry,
		.directory_fd = ttm_watch_home(daemon->watch),
		.mode = daemon->options.mode,
		.file_mode = daemon->options.file_mode,
		.group = daemon->options.group,
		.max_bytes = daemon->options.max_bytes,
		.log = log_text,
		.event = daemon->options.log_events ? event_print : NULL,
	};
	int r;

	r = ttm_engine_new(&config, &daemon->engine);
	if (r == 0)
		r = ttm_engine_first(daemon->engine);
	if (r < 0) {
		log_format(LOG_ERR, "%s/" TTM_AGGREGATE_FILE ": %s",
			ttm_watch_home_path(daemon->watch), strerror(-r));
		return r;
	}
	daemon->publishing = r == 0;
	r = -pthread_create(&daemon->drain, NULL, drain_run, daemon);
	daemon->drain_started = r == 0;
	if (r < 0)
		log_format(LOG_ERR, "thread: %s", strerror(-r));
	return r;
}

/* -- running ------------------------------------------------------------------ */

/* Until a signal comes, or the drain gives up. */
static int daemon_wait(struct daemon *daemon)
{
	struct pollfd fds[2] = { { daemon->signal_fd, POLLIN, 0 },
		{ daemon->ended_fd, POLLIN, 0 } };
	int timeout_ms = watchdog_ms(), n;

	for (;;) {
		n = poll(fds, 2, timeout_ms);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && fds[1].revents) {
			log_text(LOG_ERR, "the drain has ended by itself");
			return -EIO;
		}
		if (n > 0 && fds[0].revents)
			return 0;
		if (n == 0)
			manager_tell_alive(daemon);
	}
}

static int daemon_run(struct daemon *daemon)
{
	int r = watch_open(daemon);

	if (r == 0) {
		telemetry_open(daemon);
		r = engine_open(daemon);
	}
	if (r == 0)
		r = manager_tell_started(
			daemon, "Serving", ttm_watch_home_path(daemon->watch));
	if (r < 0)
		return r == -EINTR ? 0 : r;
	/* Without room the engine has said so, and tries again. */
	if (daemon->publishing)
		log_format(LOG_NOTICE, "publishing in %s",
			ttm_watch_home_path(daemon->watch));
	r = daemon_wait(daemon);
	notify_send("STOPPING=1");
	return r;
}

static int daemon_end(struct daemon *daemon, int r)
{
	if (daemon->drain_started) {
		ttm_engine_stop(daemon->engine);
		pthread_join(daemon->drain, NULL);
		if (daemon->drain_status < 0) {
			log_format(LOG_ERR, "drain: %s",
				strerror(-daemon->drain_status));
			r = daemon->drain_status;
		}
	}
	ttm_engine_free(&daemon->engine);
	ttm_telemetry_free(&daemon->telemetry);
	ttm_watch_close(&daemon->watch);
	ttm_registry_free(&daemon->registry);
	return r;
}

int main(int argc, char **argv)
{
	struct daemon daemon;
	int r;

	memset(&daemon, 0, sizeof(daemon));
	options_parse(argc, argv, &daemon.options);
	log_open(daemon.options.verbose);
	r = signals_open(&daemon);
	if (r < 0) {
		log_format(LOG_ERR, "signals: %s", strerror(-r));
		return TTM_EXIT_FAILURE;
	}
	descriptors_raise();
	rcu_register_thread();
	r = daemon_run(&daemon);
	r = daemon_end(&daemon, r);
	rcu_unregister_thread();
	return r < 0 ? TTM_EXIT_FAILURE : TTM_EXIT_OK;
}

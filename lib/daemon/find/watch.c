/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
#include "daemon/find/watch_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <syslog.h>
#include <unistd.h>

#include "shm/atomics.h"
#include "shm/clock.h"
#include "shm/identity.h"

#define MAX_PROCESSES 4096u
#define LOOK_EVERY_NS TTM_SECOND_NS
#define LOOK_EVERY_WITHOUT_NOTICE_NS (TTM_SECOND_NS / 4)
#define LOOK_EVERY_WITHOUT_PIDFD_NS (TTM_SECOND_NS / 2)
#define LOOK_EARLY_NS (TTM_SECOND_NS / 50)
#define PAUSE_TIMES 50u
#define EVENTS_MAX 64

void ttm_watch_log(
	struct ttm_watch *watch, int priority, const char *format, ...)
{
	char text[TTM_PATH_SIZE + 256];
	va_list arguments;

	if (!watch->log)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	watch->log(priority, text);
}

uint64_t ttm_watch_pause(uint64_t begin_ns)
{
	uint64_t now_ns = ttm_clock_ns(CLOCK_MONOTONIC);
	uint64_t pause_ns = PAUSE_TIMES * (now_ns - begin_ns);

	/* Below this it is every time. */
	return pause_ns < LOOK_EVERY_NS ? 0 : now_ns + pause_ns;
}

/* -- looking ------------------------------------------------------------------ */

static void watch_tell(struct ttm_watch *watch)
{
	if (watch->changed)
		ttm_registry_wake(watch->registry);
	watch->changed = false;
}

static void watch_look(struct ttm_watch *watch)
{
	size_t i;

	watch->look_early = false;
	watch->refusals_logged = 0;
	watch->look_ns = ttm_clock_ns(CLOCK_MONOTONIC);
	ttm_store(&watch->round, watch->round + 1); /* relaxed: a count */
	ttm_directories_look(watch);
	ttm_home_look(watch);
	ttm_liveness_look(watch);
	ttm_markers_begin(watch);
	for (i = 0; i < watch->watched_len; i++)
		if (watch->watched[i].directory->lock_fd >= 0)
			ttm_segments_look(watch, &watch->watched[i]);
	ttm_markers_end(watch);
	ttm_notice_round(watch);
}

/* -- the thread --------------------------------------------------------------- */

static uint64_t look_at_ns(const struct ttm_watch *watch)
{
	if (watch->look_early)
		return watch->look_ns + LOOK_EARLY_NS;
	if (watch->inotify_failed)
		return watch->look_ns + LOOK_EVERY_WITHOUT_NOTICE_NS;
	return watch->look_ns +
		(watch->unheard ? LOOK_EVERY_WITHOUT_PIDFD_NS : LOOK_EVERY_NS);
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return b_ns && b_ns < a_ns ? b_ns : a_ns;
}

/* Does what is due; returns how long nothing will be, in ms, rounded up. */
static int watch_due(struct ttm_watch *watch)
{
	uint64_t now_ns = ttm_clock_ns(CLOCK_MONOTONIC), next_ns;

	if (now_ns >= look_at_ns(watch))
		watch_look(watch);
	if (watch->inotify_after_ns && now_ns >= watch->inotify_after_ns)
		ttm_notice_rearm(watch);
	next_ns = ttm_liveness_again(watch, now_ns);
	next_ns = earlier(look_at_ns(watch), next_ns);
	next_ns = earlier(next_ns, watch->inotify_after_ns);
	watch_tell(watch);
	now_ns = ttm_clock_ns(CLOCK_MONOTONIC);
	return next_ns <= now_ns ? 0 : (int)((next_ns - now_ns) / 1000000 + 1);
}

/* False: it is time to end. */
static bool watch_hear(struct ttm_watch *watch, int timeout_ms)
{
	struct epoll_event events[EVENTS_MAX];
	int n, i;

	n = epoll_wait(watch->epoll_fd, events, EVENTS_MAX, timeout_ms);
	for (i = 0; i < n; i++) {
		if (events[i].data.u64 == TTM_EVENT_STOP)
			return false;
		if (events[i].data.u64 == TTM_EVENT_NOTICE)
			ttm_notice_read(watch);
		else
			ttm_liveness_ended(watch, events[i].data.u64);
	}
	watch_tell(watch);
	return true;
}

static void *watch_run(void *context)
{
	struct ttm_watch *watch = context;

	rcu_register_thread();
	while (watch_hear(watch, watch_due(watch)))
		;
	rcu_unregister_thread();
	return NULL;
}

int ttm_watch_start(struct ttm_watch *watch)
{
	int r;

	watch_look(watch);
	watch_tell(watch);
	r = pthread_create(&watch->thread, NULL, watch_run, watch);
	watch->started = r == 0;
	return -r;
}

uint64_t ttm_watch_rounds(const struct ttm_watch *watch)
{
	return ttm_load(&watch->round); /* relaxed: a count */
}

/* -- opening ------------------------------------------------------------------ */

static int base_open(struct ttm_watch *watch, const char *wanted)
{
	struct stat st;
	int r;

	r = ttm_base_directory_open(wanted, watch->base_path, &watch->base_fd);
	if (r < 0)
		return r;
	if (strlen(watch->base_path) + 1 + TTM_WATCH_NAME_SIZE > TTM_PATH_SIZE)
		return -ENAMETOOLONG;
	if (fstat(watch->base_fd, &st) < 0)
		return -errno;
	watch->base_device = st.st_dev;
	return 0;
}

static int events_open(struct ttm_watch *watch)
{
	struct epoll_event event = { .events = EPOLLIN };

	watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (watch->epoll_fd < 0)
		return -errno;
	watch->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (watch->stop_fd < 0)
		return -errno;
	event.data.u64 = TTM_EVENT_STOP;
	if (epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, watch->stop_fd, &event) <
		0)
		return -errno;
	return 0;
}

static int watch_open(struct ttm_watch *watch, const char *base,
	struct ttm_watch_failure *failure)
{
	int r = events_open(watch);

	if (r < 0)
		return r;
	r = base_open(watch, base);
	snprintf(failure->path, sizeof(failure->path), "%s", watch->base_path);
	if (r < 0)
		return r;
	ttm_boot_id_read(watch->boot_id);
	watch->pid_namespace = ttm_pid_namespace_read();
	ttm_notice_open(watch);
	return ttm_home_open(watch, failure);
}

static struct ttm_watch *watch_new(
	const struct ttm_watch_config *config, struct ttm_registry *registry)
{
	struct ttm_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->registry = registry;
	watch->mode = config->mode;
	watch->max_processes = config->max_processes ? config->max_processes :
						       MAX_PROCESSES;
	watch->log = config->log;
	watch->base_fd = -1;
	watch->home_fd = -1;
	watch->home_lock_fd = -1;
	watch->epoll_fd = -1;
	watch->stop_fd = -1;
	watch->inotify_fd = -1;
	watch->base_watch = -1;
	return watch;
}

int ttm_watch_open(const struct ttm_watch_config *config,
	struct ttm_registry *registry, struct ttm_watch **ret_watch,
	struct ttm_watch_failure *ret_failure)
{
	struct ttm_watch *watch = watch_new(config, registry);
	struct ttm_watch_failure failure;
	int r;

	if (!watch)
		return -ENOMEM;
	memset(&failure, 0, sizeof(failure));
	r = watch_open(watch, config->base, &failure);
	if (r < 0) {
		if (ret_failure)
			*ret_failure = failure;
		ttm_watch_close(&watch);
		return r;
	}
	*ret_watch = watch;
	return 0;
}

int ttm_watch_home(const struct ttm_watch *watch)
{
	return watch->home_fd;
}

const char *ttm_watch_home_path(const struct ttm_watch *watch)
{
	return watch->home_path;
}

const char *ttm_watch_base_path(const struct ttm_watch *watch)
{
	return watch->base_path;
}

/* -- closing ------------------------------------------------------------------ */

static void watch_join(struct ttm_watch *watch)
{
	static const uint64_t one = 1;
	ssize_t n;

	if (!watch->started)
		return;
	do
		n = write(watch->stop_fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
	pthread_join(watch->thread, NULL);
}

static void descriptor_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

void ttm_watch_close(struct ttm_watch **watch)
{
	struct ttm_watch *closing = *watch;
	size_t i;

	if (!closing)
		return;
	watch_join(closing);
	ttm_notice_close(closing);
	for (i = 0; i < closing->watched_len; i++) {
		ttm_refused_drop(&closing->watched[i].refused);
		ttm_server_unlock(&closing->watched[i].directory->lock_fd);
	}
	free(closing->watched);
	ttm_namespaces_drop(&closing->namespaces);
	descriptor_close(closing->epoll_fd);
	descriptor_close(closing->stop_fd);
	ttm_system_unlock(&closing->home_lock_fd);
	descriptor_close(closing->home_fd);
	descriptor_close(closing->base_fd);
	free(closing);
	*watch = NULL;
}

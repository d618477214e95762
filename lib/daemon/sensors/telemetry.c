/* SPDX-License-Identifier: Apache-2.0 */
/* telemetry: sysfs -> probe -> [report] -> rows */
#include "daemon/sensors/telemetry.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "daemon/sensors/probe.h"
#include "shm/atomics.h"
#include "shm/clock.h"

#define MS 1000000ull
#define SECOND_NS (1000 * MS)
/* A read that takes longer than this is told of. */
#define BUSY_NS (2 * SECOND_NS)
/* How long the end waits for readers. */
#define END_NS (500 * MS)
#define STACK_SIZE (256u * 1024u)

/*
 * word      stored by   loaded by      promises
 * wanted    scout       worker         0: end
 * begun_ns  worker      drain          0, or when the round began that goes on
 * ended     worker      scout, free    1: the thread touches nothing any more
 * report    worker; scout clears it when the device is gone   RCU
 */
struct worker {
	struct ttm_telemetry *telemetry;
	pthread_t thread;
	uint64_t wanted;
	uint64_t begun_ns;
	uint64_t ended;
	struct ttm_report *report;
	/* The scout's own. */
	bool used;
	bool seen;
	uint64_t number; /* of the device; with the next two: which one */
	uint64_t device;
	uint64_t inode;
	/* The worker's own. */
	uint64_t serial; /* goes on when the place is used again */
	struct ttm_probe probe;
};

struct ttm_telemetry {
	char sysfs_root[TTM_SYSFS_PATH_SIZE];
	char proc_root[TTM_SYSFS_PATH_SIZE];
	void (*log)(int priority, const char *text);
	int stop_fd; /* readable for ever once it is time to end */
	pthread_t scout;
	bool refused;    /* a device has no worker: told once */
	uint64_t places; /* used ever; the scout stores, the drain loads */
	struct worker workers[TTM_WORKERS_MAX];
};

/* -- handing over ------------------------------------------------------------- */

static void report_reclaim(struct rcu_head *head)
{
	free((char *)head - offsetof(struct ttm_report, rcu));
}

/* Both ends may do this; what is taken out is freed when the drain let go. */
static void report_replace(struct worker *worker, struct ttm_report *report)
{
	struct ttm_report *old = rcu_xchg_pointer(&worker->report, report);

	if (old)
		call_rcu(&old->rcu, report_reclaim);
}

static void report_hand_over(void *context)
{
	struct worker *worker = context;
	const struct ttm_probe *probe = &worker->probe;
	size_t size = probe->holders.len * sizeof(probe->holders.items[0]);
	struct ttm_report *report;

	/* relaxed: if the scout takes it back meanwhile, it will look again */
	if (!ttm_load(&worker->wanted))
		return;
	report = calloc(1, sizeof(*report) + size);
	if (!report)
		return; /* what is there gets older, and says so */
	report->serial = ++worker->serial;
	report->row = probe->row;
	report->holders_len = probe->holders.len;
	if (size)
		memcpy(report->holders, probe->holders.items, size);
	report_replace(worker, report);
}

size_t ttm_telemetry_places(const struct ttm_telemetry *telemetry)
{
	/* relaxed: one more is seen a moment later */
	return (size_t)ttm_load(&telemetry->places);
}

const struct ttm_report *ttm_telemetry_report(
	const struct ttm_telemetry *telemetry, size_t place, uint64_t now_ns,
	uint64_t *ret_busy_ns)
{
	const struct worker *worker = &telemetry->workers[place];
	/* relaxed: a time by itself, for display */
	uint64_t begun_ns = ttm_load(&worker->begun_ns);

	*ret_busy_ns = begun_ns && begun_ns + BUSY_NS < now_ns ? begun_ns : 0;
	return rcu_dereference(worker->report);
}

/* -- waiting ------------------------------------------------------------------ */

/* Until the next full second, for all at the same moment; false: to end. */
static bool second_wait(const struct ttm_telemetry *telemetry)
{
	struct pollfd poll_fd = { telemetry->stop_fd, POLLIN, 0 };
	uint64_t wait_ns = SECOND_NS -
		ttm_clock_ns(CLOCK_MONOTONIC) % SECOND_NS;
	struct timespec timeout = { (time_t)(wait_ns / SECOND_NS),
		(long)(wait_ns % SECOND_NS) };

	return ppoll(&poll_fd, 1, &timeout, NULL) <= 0;
}

/* -- a worker ----------------------------------------------------------------- */

static void *worker_run(void *context)
{
	struct worker *worker = context;
	struct ttm_probe *probe = &worker->probe;

	rcu_register_thread();
	do {
		/* relaxed: for display */
		ttm_store(&worker->begun_ns, ttm_clock_ns(CLOCK_MONOTONIC));
		/* At first, show what there is before something blocks. */
		ttm_probe_read(probe,
			probe->row.rounds ? NULL : report_hand_over, worker);
		ttm_store(&worker->begun_ns, 0);
		report_hand_over(worker);
		/* relaxed: nothing else comes with it */
	} while (second_wait(worker->telemetry) && ttm_load(&worker->wanted));
	report_replace(worker, NULL);
	ttm_probe_drop(probe);
	rcu_unregister_thread();
	/* pairs(worker-ended): release, with worker_end */
	ttm_store_release(&worker->ended, 1);
	return NULL;
}

static int worker_start(struct worker *worker, uint64_t number)
{
	struct ttm_telemetry *telemetry = worker->telemetry;
	pthread_attr_t attributes;
	int r;

	r = ttm_probe_init(&worker->probe, telemetry->sysfs_root,
		telemetry->proc_root, number);
	if (r < 0)
		return r;
	ttm_store(&worker->wanted, 1);
	ttm_store(&worker->ended, 0);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	r = -pthread_create(&worker->thread, &attributes, worker_run, worker);
	pthread_attr_destroy(&attributes);
	worker->used = r == 0;
	return r;
}

/* Lets its place go if it has ended. */
static bool worker_end(struct worker *worker)
{
	/* pairs(worker-ended): acquire, with worker_run */
	if (!ttm_load_acquire(&worker->ended))
		return false;
	pthread_join(worker->thread, NULL);
	worker->used = false;
	return true;
}

/* -- the scout ---------------------------------------------------------------- */

static void scout_log(struct ttm_telemetry *telemetry, uint64_t number, int r)
{
	char text[128];

	if (!telemetry->refused && telemetry->log) {
		snprintf(text, sizeof(text),
			"no telemetry of device %" PRIu64 ": %s", number,
			strerror(-r));
		telemetry->log(LOG_WARNING, text);
	}
	telemetry->refused = true;
}

/* A device that came back is another one: its old worker may never end. */
static void device_see(
	struct ttm_telemetry *telemetry, uint64_t number, const struct stat *st)
{
	struct worker *worker, *vacant = NULL;
	int r = -EAGAIN;
	size_t i;

	for (i = 0; i < TTM_WORKERS_MAX; i++) {
		worker = &telemetry->workers[i];
		if (!worker->used) {
			vacant = vacant ? vacant : worker;
		} else if (ttm_load(&worker->wanted) &&
			worker->number == number &&
			worker->device == st->st_dev &&
			worker->inode == st->st_ino) {
			worker->seen = true;
			return;
		}
	}
	if (vacant) {
		vacant->seen = true;
		vacant->number = number;
		vacant->device = st->st_dev;
		vacant->inode = st->st_ino;
		i = (size_t)(vacant - telemetry->workers) + 1;
		if (i > telemetry->places)
			ttm_store(&telemetry->places, i); /* relaxed: a count */
		r = worker_start(vacant, number);
	}
	if (r < 0)
		scout_log(telemetry, number, r);
}

static bool number_parse(const char *name, uint64_t *ret_number)
{
	char *end;

	if (strncmp(name, "tenstorrent!", 12) != 0 || name[12] < '0' ||
		name[12] > '9')
		return false;
	errno = 0;
	*ret_number = strtoull(name + 12, &end, 10);
	return *end == '\0' && errno == 0;
}

static void devices_look(struct ttm_telemetry *telemetry)
{
	char path[TTM_SYSFS_PATH_SIZE];
	struct dirent *entry;
	struct stat st;
	uint64_t number;
	DIR *dir;

	if (ttm_sysfs_path(path, telemetry->sysfs_root, "class/tenstorrent") <
		0)
		return;
	dir = opendir(path);
	if (!dir)
		return; /* no driver, no devices */
	while ((entry = readdir(dir)))
		if (number_parse(entry->d_name, &number) &&
			fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
			device_see(telemetry, number, &st);
	closedir(dir);
}

static void scout_look(struct ttm_telemetry *telemetry)
{
	size_t i;

	for (i = 0; i < TTM_WORKERS_MAX; i++)
		telemetry->workers[i].seen = false;
	devices_look(telemetry);
	for (i = 0; i < TTM_WORKERS_MAX; i++) {
		struct worker *worker = &telemetry->workers[i];

		if (!worker->used || worker->seen)
			continue;
		ttm_store(&worker->wanted, 0); /* relaxed: see the table */
		if (!worker_end(worker))
			report_replace(worker, NULL);
	}
}

static void *scout_run(void *context)
{
	struct ttm_telemetry *telemetry = context;

	rcu_register_thread();
	do
		scout_look(telemetry);
	while (second_wait(telemetry));
	rcu_unregister_thread();
	return NULL;
}

/* -- beginning and end -------------------------------------------------------- */

static int root_keep(char ret_root[TTM_SYSFS_PATH_SIZE], const char *wanted)
{
	size_t length = strlen(wanted);

	if (length >= TTM_SYSFS_PATH_SIZE)
		return -ENAMETOOLONG;
	memcpy(ret_root, wanted, length + 1);
	return 0;
}

int ttm_telemetry_new(const struct ttm_telemetry_config *config,
	struct ttm_telemetry **ret_telemetry)
{
	struct ttm_telemetry *telemetry = calloc(1, sizeof(*telemetry));
	size_t i;
	int r;

	if (!telemetry)
		return -ENOMEM;
	telemetry->log = config->log;
	for (i = 0; i < TTM_WORKERS_MAX; i++)
		telemetry->workers[i].telemetry = telemetry;
	telemetry->stop_fd = -1;
	r = root_keep(telemetry->sysfs_root,
		config->sysfs_root ? config->sysfs_root : "/sys");
	if (r == 0)
		r = root_keep(telemetry->proc_root,
			config->proc_root ? config->proc_root : "/proc");
	if (r == 0) {
		telemetry->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		r = telemetry->stop_fd < 0 ? -errno : 0;
	}
	if (r == 0)
		r = -pthread_create(
			&telemetry->scout, NULL, scout_run, telemetry);
	if (r < 0) {
		if (telemetry->stop_fd >= 0)
			close(telemetry->stop_fd);
		free(telemetry);
		return r;
	}
	*ret_telemetry = telemetry;
	return 0;
}

/* Whether all have ended, by then. */
static bool workers_end(struct ttm_telemetry *telemetry, uint64_t until_ns)
{
	const struct timespec moment = { 0, 2 * MS };
	size_t i, left;

	for (;;) {
		for (i = left = 0; i < TTM_WORKERS_MAX; i++)
			if (telemetry->workers[i].used &&
				!worker_end(&telemetry->workers[i]))
				left++;
		if (!left || ttm_clock_ns(CLOCK_MONOTONIC) >= until_ns)
			return !left;
		nanosleep(&moment, NULL);
	}
}

void ttm_telemetry_free(struct ttm_telemetry **telemetry)
{
	static const uint64_t one = 1;
	size_t i;
	ssize_t n;

	if (!*telemetry)
		return;
	n = write((*telemetry)->stop_fd, &one, sizeof(one));
	(void)n; /* an empty eventfd takes it */
	pthread_join((*telemetry)->scout, NULL);
	if (workers_end(*telemetry, ttm_clock_ns(CLOCK_MONOTONIC) + END_NS)) {
		rcu_barrier();
		close((*telemetry)->stop_fd);
		free(*telemetry);
	} else {
		for (i = 0; i < TTM_WORKERS_MAX; i++)
			if ((*telemetry)->workers[i].used)
				pthread_detach((*telemetry)->workers[i].thread);
	}
	*telemetry = NULL;
}

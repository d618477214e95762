/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain -> apply -> publish] -> read -> render */
#include "daemon/engine.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "daemon/dead/retirees.h"
#include "daemon/engine_state.h"
#include "daemon/find/registry.h"
#include "shm/atomics.h"
#include "shm/clock.h"

#define MS 1000000ull
/* A publication is at most so old when something has changed. */
#define PUBLISH_INTERVAL_NS (10 * MS)
/* Publishing takes at most that part of the time. */
#define PUBLISH_SHARE 10u
/* For the mirrors of a directory, if nobody says otherwise. */
#define MAX_BYTES (4ull << 30)
#define DESCRIBE_INTERVAL_NS (250 * MS)
#define TICK_INTERVAL_NS (1000 * MS)
#define SLOW_INTERVAL_NS (100 * MS)
/*
 * Processes that were silent for long are looked at less often if they are many:
 * all of them together take at most that part of the time.
 */
#define ASLEEP_SHARE 200u
#define ASLEEP_LEAST_NS (50 * MS)
#define ASLEEP_MOST_NS (400 * MS)
/* Two are enough to settle identities; what is not goes on with the next one. */
#define PASSES_MOST 4u
#define IDLE_COST_NS 2000u /* before it was measured */

void ttm_engine_log(
	struct ttm_engine *engine, int priority, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	engine->config.log(priority, text);
}

int ttm_engine_new(
	const struct ttm_engine_config *config, struct ttm_engine **ret_engine)
{
	struct ttm_engine *engine = calloc(1, sizeof(*engine));
	struct ttm_publisher_config publisher;
	int r = -ENOMEM;

	if (!engine)
		return -ENOMEM;
	engine->config = *config;
	if (!engine->config.max_bytes)
		engine->config.max_bytes = MAX_BYTES;
	engine->started_ns = ttm_clock_ns(CLOCK_MONOTONIC);
	engine->tick_ns = engine->started_ns;
	engine->idle_cost_ns = IDLE_COST_NS;
	engine->asleep_interval_ns = ASLEEP_LEAST_NS;
	if (config->event)
		engine->watcher.record = ttm_engine_record;
	engine->watcher.records = ttm_engine_records;
	engine->watcher.context = engine;
	if (ttm_image_new(&engine->output.image) < 0)
		goto fail;
	engine->output.chips.image = engine->output.image;
	engine->output.names_only = engine->config.mode == TTM_MODE_SYSTEM;
	if (ttm_telemetry_rows_new(&engine->telemetry_rows) < 0)
		goto fail;
	engine->health_row = ttm_image_add(
		engine->output.image, TTM_TABLE_HEALTH);
	memset(&publisher, 0, sizeof(publisher));
	r = ttm_resume(engine, &publisher.publication_base);
	if (r < 0)
		goto fail;
	publisher.directory_fd = config->directory_fd;
	publisher.file_mode = config->file_mode;
	publisher.group = config->group;
	publisher.mode = config->mode;
	publisher.started_ns = engine->started_ns;
	r = ttm_publisher_new(&publisher, &engine->output.publisher);
	if (r < 0)
		goto fail;
	*ret_engine = engine;
	return 0;
fail:
	ttm_engine_free(&engine);
	return r;
}

static void processes_free(struct ttm_engine *engine)
{
	struct ttm_attached *attached;
	struct ttm_directory *directory;
	struct ttm_cursor cursor;

	rcu_read_lock();
	ttm_registry_for_each(engine->config.registry, &cursor, attached)
		ttm_process_free(&attached->process);
	ttm_registry_for_each_directory(engine->config.registry, directory)
		ttm_retirees_close(&directory->retirees);
	rcu_read_unlock();
}

void ttm_engine_free(struct ttm_engine **engine)
{
	if (!*engine)
		return;
	if ((*engine)->config.registry)
		processes_free(*engine);
	ttm_publisher_free(&(*engine)->output.publisher);
	ttm_chips_free(&(*engine)->output.chips);
	ttm_image_free(&(*engine)->output.image);
	ttm_telemetry_rows_free(&(*engine)->telemetry_rows);
	free((*engine)->marker_rows);
	free((*engine)->awake);
	free(*engine);
	*engine = NULL;
}

/* -- a round --------------------------------------------------------------------- */

/* Where identities changed, every part is looked at: seldom. */
static void identities_settle(struct ttm_engine *engine)
{
	struct ttm_output *output = &engine->output;
	struct ttm_directory *directory;
	struct ttm_attached *attached;
	struct ttm_cursor cursor;
	unsigned pass;

	for (pass = 0; output->chips.identities_changed && pass < PASSES_MOST;
		pass++) {
		output->chips.identities_changed = false;
		engine->sweep_ns = 0; /* they may have something to show */
		ttm_registry_for_each(engine->config.registry, &cursor,
			attached) if (attached->process &&
			!attached->process->quarantined)
			ttm_output_assign(output, attached->process);
		ttm_registry_for_each_directory(engine->config.registry,
			directory) if (directory->retirees)
			ttm_retirees_assign(directory->retirees, output);
	}
}

/* Returns when it is due again, UINT64_MAX: never, or it is gone. */
static uint64_t attached_look(struct ttm_engine *engine,
	struct ttm_attached *attached, uint64_t now_ns)
{
	uint64_t due_ns = ttm_engine_process(engine, attached, now_ns);

	if (attached->process && attached->process->changed)
		engine->awake_changed = true;
	return due_ns;
}

static bool awake_add(struct ttm_engine *engine, struct ttm_attached *attached)
{
	size_t capacity = engine->awake_capacity * 2 + 16;
	struct ttm_attached **awake;

	if (engine->awake_len == engine->awake_capacity) {
		awake = realloc(engine->awake, capacity * sizeof(*awake));
		if (!awake)
			return false;
		engine->awake = awake;
		engine->awake_capacity = capacity;
	}
	engine->awake[engine->awake_len++] = attached;
	return true;
}

static void sweep_by(struct ttm_engine *engine, uint64_t due_ns)
{
	if (due_ns < engine->sweep_ns)
		engine->sweep_ns = due_ns;
}

/* Looks at all, and finds out who is awake. */
static uint64_t processes_sweep(struct ttm_engine *engine, uint64_t now_ns)
{
	uint64_t due_ns = UINT64_MAX, next;
	struct ttm_attached *attached;
	struct ttm_cursor cursor;

	engine->attached = 0;
	engine->awake_len = 0;
	engine->sweep_ns = UINT64_MAX;
	ttm_registry_for_each(engine->config.registry, &cursor, attached)
	{
		engine->attached++;
		next = attached_look(engine, attached, now_ns);
		if (next < due_ns)
			due_ns = next;
		if (next != UINT64_MAX &&
			(!ttm_engine_process_is_awake(attached->process) ||
				!awake_add(engine, attached)))
			sweep_by(engine, next);
	}
	return due_ns;
}

/*
 * Only this thread removes from the registry: those awake are still there. Who has
 * fallen asleep is left to the sweeps.
 */
static uint64_t awake_drain(struct ttm_engine *engine, uint64_t now_ns)
{
	uint64_t due_ns = UINT64_MAX, next;
	struct ttm_attached *attached;
	size_t i, kept = 0;

	for (i = 0; i < engine->awake_len; i++) {
		attached = engine->awake[i];
		next = attached_look(engine, attached, now_ns);
		if (next == UINT64_MAX)
			continue;
		if (next < due_ns)
			due_ns = next;
		if (ttm_engine_process_is_awake(attached->process))
			engine->awake[kept++] = attached;
		else
			sweep_by(engine, next);
	}
	engine->awake_len = kept;
	return due_ns < engine->sweep_ns ? due_ns : engine->sweep_ns;
}

/* In steps of two: one that moved a little each time would bring looks forward. */
static void asleep_interval_set(struct ttm_engine *engine, uint64_t cpu_ns)
{
	uint64_t interval = ASLEEP_LEAST_NS, wanted;

	/* A few tell little about the cost of one. */
	if (engine->idle_looks >= 32)
		engine->idle_cost_ns = cpu_ns / engine->idle_looks;
	wanted = engine->idle_cost_ns * engine->attached * ASLEEP_SHARE;
	while (interval < wanted && interval < ASLEEP_MOST_NS)
		interval *= 2;
	engine->asleep_interval_ns = interval;
}

static uint64_t sweep_measured(struct ttm_engine *engine, uint64_t now_ns)
{
	uint64_t cpu_ns = ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t events = engine->stats.events, due_ns;

	engine->idle_looks = 0;
	due_ns = processes_sweep(engine, now_ns);
	if (engine->stats.events == events)
		asleep_interval_set(
			engine, ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns);
	return due_ns;
}

static uint64_t processes_drain(struct ttm_engine *engine, uint64_t now_ns)
{
	uint64_t events = engine->stats.events, due_ns;

	engine->awake_changed = false;
	if (now_ns >= engine->sweep_ns)
		due_ns = sweep_measured(engine, now_ns);
	else
		due_ns = awake_drain(engine, now_ns);
	engine->rounds++;
	if (engine->stats.events != events) {
		engine->round_ns = ttm_clock_ns(CLOCK_MONOTONIC) - now_ns;
		if (engine->round_ns > engine->round_max_ns)
			engine->round_max_ns = engine->round_ns;
	}
	return due_ns;
}

static void processes_output(struct ttm_engine *engine, uint64_t now_ns)
{
	struct ttm_attached *attached;
	struct ttm_cursor cursor;

	ttm_registry_for_each(engine->config.registry, &cursor,
		attached) if (attached->process && attached->process->changed)
		ttm_engine_process_output(engine, attached, now_ns);
	identities_settle(engine);
}

/* Each takes some microseconds, and there may be hundreds: seldom. */
static void distributions_describe(struct ttm_engine *engine, uint64_t now_ns)
{
	ttm_chips_describe(&engine->output.chips);
	engine->described_ns = now_ns;
	engine->described_events = engine->stats.events;
	engine->output.changed = true;
}

static void distributions_describe_if_due(
	struct ttm_engine *engine, uint64_t now_ns)
{
	if (engine->described_events != engine->stats.events &&
		now_ns - engine->described_ns >= DESCRIBE_INTERVAL_NS)
		distributions_describe(engine, now_ns);
}

static void rates_take(struct ttm_engine *engine)
{
	struct ttm_attached *attached;
	struct ttm_cursor cursor;

	ttm_registry_for_each(engine->config.registry, &cursor, attached)
	{
		struct ttm_process *process = attached->process;
		uint64_t rate;

		if (!process)
			continue;
		rate = process->events - process->rate_events;
		process->rate_events = process->events;
		if (rate != process->events_per_s)
			process->changed = true;
		process->events_per_s = rate;
	}
}

static void tick_if_due(struct ttm_engine *engine, uint64_t now_ns)
{
	if (now_ns - engine->tick_ns < TICK_INTERVAL_NS)
		return;
	/* After a stop of a minute there is one tick, not sixty. */
	engine->tick_ns += (now_ns - engine->tick_ns) / TICK_INTERVAL_NS *
		TICK_INTERVAL_NS;
	/* Every tenth and sixtieth second whoever serves, and since when. */
	engine->output.chips.tick = engine->tick_ns / TICK_INTERVAL_NS - 1;
	rates_take(engine);
	ttm_chips_tick(&engine->output.chips, now_ns);
	engine->output.changed = true;
}

static void publish_error_tell(struct ttm_engine *engine, int error)
{
	if (error == engine->publish_error)
		return;
	if (error == -EBUSY)
		ttm_engine_log(engine, LOG_ERR,
			"cannot publish: another ttmemd serves the directory");
	else if (error && !ttm_publisher_has_file(engine->output.publisher))
		ttm_engine_log(engine, LOG_ERR,
			"cannot publish: %s; retrying every second",
			strerror(-error));
	else if (error)
		ttm_engine_log(engine, LOG_ERR,
			"cannot publish all: %s; what does not fit into the "
			"aggregate there is, is left out",
			strerror(-error));
	else
		ttm_engine_log(engine, LOG_NOTICE, "publishing again");
	engine->publish_error = error;
}

static int engine_publish(struct ttm_engine *engine, uint64_t now_ns)
{
	struct ttm_output *output = &engine->output;
	uint64_t cpu_ns = ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int r;

	processes_output(engine, now_ns);
	ttm_chips_settle(&output->chips);
	ttm_output_chips(output);
	ttm_chips_publish(&output->chips);
	ttm_engine_health(engine);
	/* relaxed: see there */
	r = ttm_load(&engine->config.registry->home_is_held) ?
		-EBUSY :
		ttm_publish(output->publisher, output->image);
	if (r < 0)
		engine->publish_errors++;
	publish_error_tell(engine, r);
	engine->published_ns = now_ns;
	/* Of the processor: on a busy machine the clock says little. */
	engine->publish_ns = ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	if (engine->publish_ns > engine->publish_max_ns)
		engine->publish_max_ns = engine->publish_ns;
	output->changed = r < 0;
	return r;
}

uint64_t ttm_engine_publish_interval(const struct ttm_engine *engine)
{
	uint64_t interval = engine->publish_ns * PUBLISH_SHARE;

	if (interval < PUBLISH_INTERVAL_NS)
		return PUBLISH_INTERVAL_NS;
	/* Whatever it takes: a reader takes older figures for stale. */
	return interval < TICK_INTERVAL_NS ? interval : TICK_INTERVAL_NS;
}

static uint64_t publish_due(const struct ttm_engine *engine)
{
	/* Without room there is none a moment later either. */
	if (engine->publish_error)
		return engine->published_ns + TICK_INTERVAL_NS;
	return engine->published_ns + ttm_engine_publish_interval(engine);
}

/* Takes what the workers have left; what they wait for is their business. */
static void telemetry_show(struct ttm_engine *engine, uint64_t now_ns)
{
	if (engine->config.telemetry)
		ttm_telemetry_rows_show(engine->telemetry_rows,
			engine->config.telemetry, engine->config.registry,
			&engine->output, now_ns);
}

/* Returns when the next round is due. */
static uint64_t engine_round(struct ttm_engine *engine)
{
	uint64_t now_ns = ttm_clock_ns(CLOCK_MONOTONIC), due_ns, due;
	bool wanted;

	rcu_read_lock();
	if (now_ns - engine->slow_ns >= SLOW_INTERVAL_NS) {
		engine->slow_ns = now_ns;
		ttm_engine_directories(engine, now_ns);
		telemetry_show(engine, now_ns);
	}
	/* A gate may wait for them; without new ones it is a comparison. */
	ttm_engine_markers(engine);
	due_ns = processes_drain(engine, now_ns);
	tick_if_due(engine, now_ns);
	distributions_describe_if_due(engine, now_ns);
	due = publish_due(engine);
	wanted = engine->output.changed || engine->awake_changed;
	if (wanted && now_ns >= due)
		engine_publish(engine, now_ns);
	else if (wanted)
		due_ns = due < due_ns ? due : due_ns;
	else
		ttm_publisher_heartbeat(engine->output.publisher);
	rcu_read_unlock();
	due = engine->slow_ns + SLOW_INTERVAL_NS;
	return due < due_ns ? due : due_ns;
}

int ttm_engine_first(struct ttm_engine *engine)
{
	uint64_t now_ns = ttm_clock_ns(CLOCK_MONOTONIC);
	int r;

	rcu_read_lock();
	ttm_engine_directories(engine, now_ns);
	ttm_engine_markers(engine);
	processes_drain(engine, now_ns);
	processes_output(engine, now_ns);
	distributions_describe(engine, now_ns);
	r = engine_publish(engine, now_ns);
	/* It made the file, and told of all there is: the next ones do not. */
	engine->publish_ns = 0;
	rcu_read_unlock();
	return ttm_publish_lacks_room(r) ? 1 : r;
}

/* -- the thread --------------------------------------------------------------------- */

static void engine_wait(struct ttm_engine *engine, uint64_t until_ns)
{
	struct pollfd poll_fd = { engine->config.registry->wake_fd, POLLIN, 0 };
	uint64_t now_ns = ttm_clock_ns(CLOCK_MONOTONIC), wait, count;
	struct timespec timeout;

	/* Also when there is no time: somebody may have called. */
	wait = until_ns > now_ns ? until_ns - now_ns : 0;
	timeout.tv_sec = (time_t)(wait / (1000 * MS));
	timeout.tv_nsec = (long)(wait % (1000 * MS));
	if (ppoll(&poll_fd, 1, &timeout, NULL) <= 0)
		return;
	engine->sweep_ns = 0;
	if (read(poll_fd.fd, &count, sizeof(count)) < 0)
		return; /* somebody else took it: looking is all the same */
}

int ttm_engine_run(struct ttm_engine *engine)
{
	uint64_t due_ns;
	int r;

	rcu_register_thread();
	/* relaxed: nothing else comes with it */
	while (!ttm_load(&engine->stop)) {
		due_ns = engine_round(engine);
		engine_wait(engine, due_ns);
	}
	/* What was drained last is worth publishing. */
	rcu_read_lock();
	distributions_describe(engine, ttm_clock_ns(CLOCK_MONOTONIC));
	r = engine_publish(engine, ttm_clock_ns(CLOCK_MONOTONIC));
	rcu_read_unlock();
	rcu_unregister_thread();
	/* What another publishes is not missing. */
	return r == -EBUSY ? 0 : r;
}

void ttm_engine_stop(struct ttm_engine *engine)
{
	uint64_t one = 1;

	ttm_store(&engine->stop, 1);
	if (write(engine->config.registry->wake_fd, &one, sizeof(one)) < 0)
		return; /* it is full: the thread wakes anyway */
}

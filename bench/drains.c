/* SPDX-License-Identifier: Apache-2.0 */
#include "drains.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/engine_state.h"
#include "daemon/find/registry.h"
#include "shm/atomics.h"
#include "shm/clock.h"

#define LANES_AHEAD 4u /* as the drain reads them */

const char *const bench_drain_names[BENCH_DRAINS] = {
	[BENCH_DRAIN_COUNT] = "count",
	[BENCH_DRAIN_STATE] = "state",
	[BENCH_DRAIN_WHOLE] = "whole",
};

struct bench_drains {
	struct ttm_directory
		directory; /* of the segment: whose chips they are */
	struct ttm_attached *attached;
	struct ttm_process *processes[BENCH_DRAINS];
	struct ttm_drain_stats stats[BENCH_DRAINS];
	struct ttm_engine engine; /* what distributions need of one */
	unsigned lanes;
	uint64_t next[TTM_LANES_MAX]; /* COUNT's positions */
	uint64_t types[256];
	struct ttm_words words[TTM_LANE_RECORDS];
};

static int attached_open(const char *segment, struct ttm_directory *directory,
	struct ttm_attached **ret)
{
	struct ttm_attached *attached = ttm_attached_new();
	struct stat st;

	if (!attached)
		return -ENOMEM;
	*ret = attached;
	attached->directory = directory;
	attached->fd = open(segment, O_RDONLY | O_CLOEXEC);
	if (attached->fd < 0 || fstat(attached->fd, &st) < 0)
		return -errno;
	if (pread(attached->fd, &attached->header, sizeof(attached->header),
		    TTM_HEADER_OFF) != (ssize_t)sizeof(attached->header))
		return -EPROTO;
	return ttm_header_check(
		&attached->header, (uint64_t)st.st_size, attached->reason);
}

int bench_drains_open(
	const char *segment, unsigned lanes, struct bench_drains **ret_drains)
{
	struct bench_drains *drains = calloc(1, sizeof(*drains));
	uint64_t now_ns = ttm_clock_ns(CLOCK_MONOTONIC);
	unsigned way;
	int r;

	if (!drains)
		return -ENOMEM;
	drains->lanes = lanes;
	drains->directory.uid = geteuid();
	drains->engine.watcher.records = ttm_engine_records;
	drains->engine.watcher.context = &drains->engine;
	r = ttm_image_new(&drains->engine.output.image);
	drains->engine.output.chips.image = drains->engine.output.image;
	if (r == 0)
		r = attached_open(
			segment, &drains->directory, &drains->attached);
	for (way = 0; way < BENCH_DRAINS && r == 0; way++) {
		r = ttm_process_new(
			drains->attached, now_ns, &drains->processes[way]);
		if (r == 0)
			drains->processes[way]->bytes_max = UINT64_MAX;
	}
	if (r == 0)
		r = ttm_drain_counters(drains->processes[BENCH_DRAIN_COUNT]);
	if (r < 0)
		bench_drains_close(&drains);
	else
		*ret_drains = drains;
	return r;
}

void bench_drains_close(struct bench_drains **drains)
{
	unsigned way;

	if (!*drains)
		return;
	for (way = 0; way < BENCH_DRAINS; way++)
		ttm_process_free(&(*drains)->processes[way]);
	if ((*drains)->attached)
		ttm_attached_free(&(*drains)->attached);
	ttm_chips_free(&(*drains)->engine.output.chips);
	ttm_image_free(&(*drains)->engine.output.image);
	free(*drains);
	*drains = NULL;
}

/* The same reads as ttm_drain()'s, and a look at each record. */
static int lane_count(struct bench_drains *drains, struct ttm_source *source,
	uint32_t lane, uint64_t tail)
{
	struct ttm_lane_control control;
	uint64_t first = drains->next[lane];
	uint32_t len, i;
	int r;

	if (tail - first > TTM_LANE_RECORDS)
		first = tail - TTM_LANE_RECORDS;
	len = (uint32_t)(tail - first);
	r = ttm_source_records(source, lane, first, len, drains->words);
	ttm_fence_acquire();
	if (r == 0)
		r = ttm_source_controls(source, lane, 1, &control);
	if (r < 0)
		return r;
	for (i = 0; i < len; i++)
		drains->types[TTM_W1_TYPE(drains->words[i].w[1])]++;
	drains->next[lane] = tail;
	return (int)len;
}

static int drain_count(struct bench_drains *drains)
{
	struct ttm_source *source = &drains->processes[BENCH_DRAIN_COUNT]
					     ->source;
	struct ttm_lane_control controls[BENCH_DRAINS_LANES_MAX + LANES_AHEAD];
	int r, records = 0;
	uint32_t i;

	r = ttm_source_controls(
		source, 0, drains->lanes + LANES_AHEAD, controls);
	ttm_fence_acquire();
	for (i = 0; i < drains->lanes + 1 && r >= 0; i++) {
		if (controls[i].tail == drains->next[i])
			continue;
		r = lane_count(drains, source, i, controls[i].tail);
		records += r;
	}
	return r < 0 ? r : records;
}

int bench_drain(struct bench_drains *drains, enum bench_drain way)
{
	struct ttm_drain_stats *stats = &drains->stats[way];
	uint64_t events = stats->events;
	int r;

	if (way == BENCH_DRAIN_COUNT)
		return drain_count(drains);
	r = ttm_drain(drains->processes[way], ttm_clock_ns(CLOCK_MONOTONIC),
		way == BENCH_DRAIN_WHOLE ? &drains->engine.watcher : NULL,
		stats);
	return r < 0 ? r : (int)(stats->events - events);
}

void bench_drains_settle(struct bench_drains *drains)
{
	unsigned way;
	uint32_t i;

	for (way = BENCH_DRAIN_STATE; way < BENCH_DRAINS; way++) {
		struct ttm_model *model = &drains->processes[way]->model;

		for (i = 0; i < model->changed_len; i++)
			ttm_model_mirror(model, model->changed[i])->state &= ~(
				uint32_t)TTM_MIRROR_QUEUED;
		model->changed_len = 0;
	}
}

uint64_t bench_drains_missed(const struct bench_drains *drains)
{
	return drains->stats[BENCH_DRAIN_STATE].missed +
		drains->stats[BENCH_DRAIN_WHOLE].missed;
}

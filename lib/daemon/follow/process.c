/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
#include "daemon/follow/process.h"

#include <errno.h>
#include <stdlib.h>

#include "shm/clock.h"

/* Rates are taken every second. */
#define LATE_NS 1000000000u

/*
 * The clock of a process is the machine's, but its rate may not be told. Since the
 * segment was made it has run so many ticks in so many ns; when that was just now,
 * it is not precise yet, and so the scale is taken anew with every refresh.
 */
static void timescale_set(
	struct ttm_timescale *scale, const struct ttm_header_const *header)
{
	uint64_t ticks, ns;

	if (header->clock_kind == TTM_CLOCK_MONOTONIC_NS) {
		scale->ns_per_tick = 1ull << 32;
		scale->ticks = 0;
		scale->ns = 0;
		return;
	}
	if (header->clock_kind != TTM_CLOCK_KIND)
		return;
	ns = ttm_clock_ns(CLOCK_MONOTONIC);
	ticks = ttm_clock_now();
	if (ns <= header->monotonic_base_ns || ticks <= header->clock_base)
		return;
	scale->ns_per_tick = (uint64_t)(((unsigned __int128)(ns -
						 header->monotonic_base_ns)
						<< 32) /
		(ticks - header->clock_base));
	scale->ticks = ticks;
	scale->ns = ns;
}

void ttm_process_timescale(struct ttm_process *process)
{
	timescale_set(&process->timescale, &process->attached->header);
}

uint64_t ttm_process_time_ns(const struct ttm_process *process, uint64_t ticks)
{
	const struct ttm_timescale *scale = &process->timescale;
	uint64_t apart;

	if (!scale->ns_per_tick || !ticks)
		return 0;
	if (ticks >= scale->ticks)
		return scale->ns + ttm_ticks_to_ns(scale, ticks - scale->ticks);
	apart = ttm_ticks_to_ns(scale, scale->ticks - ticks);
	return apart < scale->ns ? scale->ns - apart : 0;
}

int ttm_process_new(struct ttm_attached *attached, uint64_t now_ns,
	struct ttm_process **ret_process)
{
	struct ttm_process *process = calloc(1, sizeof(*process));

	if (!process)
		return -ENOMEM;
	process->attached = attached;
	process->attached_ns = now_ns;
	process->due_ns = now_ns;
	process->scan_wanted = true;
	process->devices_wanted = true;
	process->texts_wanted = true;
	process->counters_wanted = true;
	process->changed = true;
	ttm_source_init(&process->source, attached->fd, &attached->header);
	ttm_model_init(&process->model);
	ttm_process_timescale(process);
	*ret_process = process;
	return 0;
}

void ttm_process_free(struct ttm_process **process)
{
	struct ttm_process *p = *process;
	uint32_t i;

	if (!p)
		return;
	for (i = 0; i < p->parts_len; i++)
		free(p->parts[i]);
	ttm_model_free(&p->model);
	ttm_source_free(&p->source);
	free(p->positions);
	free(p->names);
	free(p);
	*process = NULL;
}

bool ttm_process_is_late(const struct ttm_process *process)
{
	uint64_t began_ns = process->attached->header.monotonic_base_ns;

	return process->attached_ns > began_ns &&
		process->attached_ns - began_ns > LATE_NS;
}

size_t ttm_process_bytes(const struct ttm_process *process)
{
	return sizeof(*process) + ttm_model_bytes(&process->model) +
		process->positions_len * sizeof(*process->positions) +
		process->parts_len * sizeof(struct ttm_part) +
		process->names_len * sizeof(*process->names);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/*
 * Going on where a predecessor was killed: the positions of its last cut, with the
 * distributions and histories that belong to them. What happened since is in the
 * lanes; what of it was overwritten meanwhile is counted as missed. Nothing of this
 * is needed to be exact about what is live: without it only the past is shorter.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "aggregate/engine_state.h"

#define TABLE(name) (1ull << TTM_TABLE_##name)

static struct ttm_chip *chip_resumed(struct ttm_engine *engine, uint64_t device)
{
	const struct ttm_device_row *row = ttm_view_row(
		&engine->previous, TTM_TABLE_DEVICES, device);
	struct ttm_device_facts facts;

	if (!row || row->identity < TTM_IDENTITY_CHIP ||
		row->identity > TTM_IDENTITY_LOGICAL)
		return NULL;
	if (row->logical == TTMEM_UNKNOWN)
		return NULL; /* only the driver told of it, and will again */
	facts = row->facts;
	facts.known &= ~row->by_board; /* nobody told them */
	return ttm_chip_get(
		&engine->output.chips, &facts, (uint32_t)row->logical);
}

static void devices_resume(struct ttm_engine *engine)
{
	const struct ttm_device_row *rows = engine->previous
						    .rows[TTM_TABLE_DEVICES];
	struct ttm_chip *chip;
	size_t i;

	/* All of them first: what an address alone means, the others decide. */
	for (i = 0; i < engine->previous.len[TTM_TABLE_DEVICES]; i++)
		if (rows[i].self)
			chip_resumed(engine, rows[i].self);
	for (i = 0; i < engine->previous.len[TTM_TABLE_DEVICES]; i++) {
		if (!rows[i].self)
			continue;
		chip = chip_resumed(engine, rows[i].self);
		if (chip)
			ttm_chip_resume_peaks(chip, &rows[i]);
	}
}

static void histories_resume(struct ttm_engine *engine)
{
	unsigned at;
	size_t i;

	for (at = 0; at < TTM_RESOLUTIONS; at++) {
		unsigned table = TTM_TABLE_HISTORY_1S + at;
		size_t stride = engine->previous.stride[table];
		const char *row = engine->previous.rows[table];

		for (i = 0; i < engine->previous.len[table]; i++) {
			const struct ttm_history_row
				*history = (const void *)(row + i * stride);
			struct ttm_chip *chip = chip_resumed(
				engine, history->device);

			if (history->self && chip)
				ttm_chip_resume_history(&engine->output.chips,
					chip, at, history, stride);
		}
	}
}

static void distributions_resume(struct ttm_engine *engine)
{
	const struct ttm_distribution_row
		*rows = engine->previous.rows[TTM_TABLE_DISTRIBUTIONS];
	struct ttm_chip *chip;
	size_t i;

	for (i = 0; i < engine->previous.len[TTM_TABLE_DISTRIBUTIONS]; i++) {
		chip = chip_resumed(engine, rows[i].device);
		if (rows[i].self && chip)
			ttm_chip_resume_distribution(
				&engine->output.chips, chip, &rows[i]);
	}
}

static void restarts_resume(struct ttm_engine *engine)
{
	const struct ttm_health_row *health = engine->previous
						      .rows[TTM_TABLE_HEALTH];

	if (engine->previous.len[TTM_TABLE_HEALTH])
		engine->restarts = health->restarts + 1;
}

int ttm_resume(struct ttm_engine *engine, uint64_t *ret_publication)
{
	struct ttm_view *view = NULL;
	int r;

	r = ttm_view_open(engine->config.directory_fd, TTM_AGGREGATE_FILE,
		geteuid(), &view);
	if (r == 0)
		r = ttm_view_read(view,
			TABLE(HEALTH) | TABLE(DEVICES) | TABLE(HISTORY_1S) |
				TABLE(HISTORY_10S) | TABLE(HISTORY_1M) |
				TABLE(DISTRIBUTIONS) | TABLE(POSITIONS),
			&engine->previous);
	ttm_view_close(&view);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		if (r != -ENOENT)
			ttm_engine_log(engine, LOG_WARNING,
				"the aggregate of a predecessor cannot be "
				"used: %s; histories and distributions begin "
				"anew",
				strerror(-r));
		memset(&engine->previous, 0, sizeof(engine->previous));
		return 0;
	}
	*ret_publication = engine->previous.copy.publication;
	restarts_resume(engine);
	devices_resume(engine);
	histories_resume(engine);
	distributions_resume(engine);
	return 0;
}

static int position_resume(
	struct ttm_process *process, const struct ttm_position_row *row)
{
	uint32_t len = (uint32_t)row->lane + 1;
	struct ttm_position *positions;

	if (len > process->positions_len) {
		positions = realloc(
			process->positions, len * sizeof(*positions));
		if (!positions)
			return -ENOMEM;
		memset(positions + process->positions_len, 0,
			(len - process->positions_len) * sizeof(*positions));
		process->positions = positions;
		process->positions_len = len;
	}
	process->positions[row->lane].next = row->position;
	process->positions[row->lane].missed = row->missed;
	process->events += row->position;
	process->missed += row->missed;
	return 0;
}

int ttm_resume_positions(struct ttm_engine *engine, struct ttm_process *process)
{
	const struct ttm_position_row
		*rows = engine->previous.rows[TTM_TABLE_POSITIONS];
	const uint8_t *uuid = process->attached->header.uuid;
	size_t i;
	int r = 0;

	for (i = 0; i < engine->previous.len[TTM_TABLE_POSITIONS] && !r; i++)
		if (rows[i].self && rows[i].lane < TTM_LANES_MAX &&
			memcmp(rows[i].uuid, uuid, sizeof(rows[i].uuid)) == 0)
			r = position_resume(process, &rows[i]);
	process->resumed = process->events != 0;
	process->rate_events = process->events;
	return r;
}

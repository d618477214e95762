/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/*
 * Takes over what only a predecessor knows: peaks and histories, by device. Whatever
 * processes tell of themselves is read from them again, but for the records that there
 * are: they count as missed. Distributions begin anew.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "daemon/engine_state.h"
#include "shm/view.h"

#define TABLE(name) (1ull << TTM_TABLE_##name)

static struct ttm_chip *chip_resumed(struct ttm_engine *engine,
	const struct ttm_view_copy *previous, uint64_t device)
{
	const struct ttm_device_row *row = ttm_view_row(
		previous, TTM_TABLE_DEVICES, device);
	struct ttm_device_facts facts;

	if (!row || row->identity < TTM_IDENTITY_CHIP ||
		row->identity > TTM_IDENTITY_LOGICAL)
		return NULL;
	if (row->logical == TTMEM_UNKNOWN)
		return NULL; /* only the driver told of it, and will again */
	facts = row->facts;
	facts.known &= ~row->by_board; /* nobody told them */
	return ttm_chip_get(&engine->output.chips, TTM_NOBODY, &facts,
		(uint32_t)row->logical);
}

static void devices_resume(
	struct ttm_engine *engine, const struct ttm_view_copy *previous)
{
	const struct ttm_device_row *rows = previous->rows[TTM_TABLE_DEVICES];
	struct ttm_chip *chip;
	size_t i;

	/* All of them first: what an address alone means, the others decide. */
	for (i = 0; i < previous->len[TTM_TABLE_DEVICES]; i++)
		if (rows[i].self)
			chip_resumed(engine, previous, rows[i].self);
	for (i = 0; i < previous->len[TTM_TABLE_DEVICES]; i++) {
		if (!rows[i].self)
			continue;
		chip = chip_resumed(engine, previous, rows[i].self);
		if (chip)
			ttm_chip_resume_peaks(chip, &rows[i]);
	}
}

static void histories_resume(
	struct ttm_engine *engine, const struct ttm_view_copy *previous)
{
	unsigned at;
	size_t i;

	for (at = 0; at < TTM_RESOLUTIONS; at++) {
		unsigned table = TTM_TABLE_HISTORY_1S + at;
		size_t stride = previous->stride[table];
		const char *row = previous->rows[table];

		for (i = 0; i < previous->len[table]; i++) {
			const struct ttm_history_row
				*history = (const void *)(row + i * stride);
			struct ttm_chip *chip = chip_resumed(
				engine, previous, history->device);

			if (history->self && chip)
				ttm_chip_resume_history(&engine->output.chips,
					chip, at, history, stride);
		}
	}
}

static void restarts_resume(
	struct ttm_engine *engine, const struct ttm_view_copy *previous)
{
	const struct ttm_health_row *health = previous->rows[TTM_TABLE_HEALTH];

	if (previous->len[TTM_TABLE_HEALTH])
		engine->restarts = health->restarts + 1;
}

int ttm_resume(struct ttm_engine *engine, uint64_t *ret_publication)
{
	struct ttm_view *view = NULL;
	struct ttm_view_copy previous = { 0 };
	int r;

	r = ttm_view_open(engine->config.directory_fd, TTM_AGGREGATE_FILE,
		geteuid(), &view);
	if (r == 0)
		r = ttm_view_read(view,
			TABLE(HEALTH) | TABLE(DEVICES) | TABLE(HISTORY_1S) |
				TABLE(HISTORY_10S) | TABLE(HISTORY_1M),
			&previous);
	ttm_view_close(&view);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		if (r != -ENOENT)
			ttm_engine_log(engine, LOG_WARNING,
				"the aggregate of a predecessor cannot be "
				"used: %s; histories begin anew",
				strerror(-r));
		return 0;
	}
	*ret_publication = previous.copy.publication;
	engine->read_before_ns = engine->started_ns;
	restarts_resume(engine, &previous);
	devices_resume(engine, &previous);
	histories_resume(engine, &previous);
	ttm_view_copy_free(&previous);
	return 0;
}

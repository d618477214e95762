/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain -> apply -> publish] -> read -> render */
/*
 * The drain thread of ttmemd: what the watch finds is drained, applied, published,
 * and in the end retired. Publishing is done by the same thread, because a
 * publication is one consistent state of what the drain has applied.
 */
#ifndef TTM_DAEMON_ENGINE_H
#define TTM_DAEMON_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/find/attached.h"

struct ttm_engine;
struct ttm_telemetry;

struct ttm_engine_config {
	struct ttm_registry *registry;
	const struct ttm_telemetry *telemetry; /* NULL: none; outlives it */
	int directory_fd;                      /* where `aggregate` goes */
	enum ttm_aggregate_mode mode;
	uint32_t file_mode;
	uint32_t group; /* of the aggregate; (uint32_t)-1: leave it */
	uint64_t
		max_bytes; /* private memory for mirrors, by directory; 0: 4 GiB */
	/* For operators: syslog priority and text. */
	void (*log)(int priority, const char *text);
	/* A line for each event, or NULL: none wanted. */
	void (*event)(const char *text);
};

/* Loads what a predecessor published. Returns 0 or a negative errno. */
int ttm_engine_new(
	const struct ttm_engine_config *config, struct ttm_engine **ret_engine);

/*
 * One round over all that the watch has found, and the first publication. The
 * caller is registered with RCU. Returns 0, 1 (there is no room for the aggregate; the
 * thread tries again every second), or a negative errno.
 */
int ttm_engine_first(struct ttm_engine *engine);

/*
 * The thread: goes on until stopped. Registers itself with RCU. Returns 0, or the
 * negative errno that kept the last publication from being made.
 */
int ttm_engine_run(struct ttm_engine *engine);

/* From any thread; async-signal-safe. */
void ttm_engine_stop(struct ttm_engine *engine);

/* After the thread has ended. The registry is still there. */
void ttm_engine_free(struct ttm_engine **engine);

#endif

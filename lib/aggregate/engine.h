/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain -> apply -> publish] -> read -> render */
/* The drain's thread: everything from the lanes to the published aggregate. */
#ifndef TTM_AGGREGATE_ENGINE_H
#define TTM_AGGREGATE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregate/registry.h"

struct ttm_engine;

struct ttm_engine_config {
	struct ttm_registry *registry;
	int directory_fd; /* where `aggregate` goes; the caller's */
	enum ttm_aggregate_mode mode;
	uint32_t file_mode;
	uint32_t group;     /* gid of the aggregate, (uint32_t)-1: leave */
	uint64_t max_bytes; /* private memory of mirrors per user, 0: default */
	bool log_events;
	void (*log)(int priority, const char *text);
};

/* Loads what a predecessor left. Returns 0 or a negative errno. */
int ttm_engine_new(
	const struct ttm_engine_config *config, struct ttm_engine **ret_engine);

/*
 * One full round and the first publication. The calling thread is registered with
 * liburcu. Returns 0 or a negative errno.
 */
int ttm_engine_first(struct ttm_engine *engine);

/*
 * Body of a thread, until it is stopped: registers itself with liburcu. Returns 0
 * or a negative errno.
 */
int ttm_engine_run(struct ttm_engine *engine);

/* Any thread; async-signal-safe. */
void ttm_engine_stop(struct ttm_engine *engine);

/* Accepts NULL. */
void ttm_engine_free(struct ttm_engine **engine);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/* Parts of a round, between the files of the drain. */
#ifndef TTM_DAEMON_DRAIN_STATE_H
#define TTM_DAEMON_DRAIN_STATE_H

#include "daemon/follow/process.h"

/* Header and extent directory anew, and room for the slots there are. */
int ttm_drain_refresh_extents(struct ttm_process *process);
/* A record names a slot beyond: it must be there by now. */
int ttm_drain_grow(struct ttm_process *process, uint32_t slot);
/* Device entries and closes anew. */
int ttm_drain_devices(struct ttm_process *process);
/*
 * Learns a place, and that its devices are there; learns a core set. -ENOENT: there is
 * none of that number.
 */
int ttm_drain_place(struct ttm_process *process, uint32_t number);
int ttm_drain_core_set(struct ttm_process *process, uint32_t number);
/*
 * Learns what a live item names. -ENOENT: something is not there or does not fit, and
 * the item cannot be an object.
 */
int ttm_drain_item(struct ttm_process *process, const struct ttm_item *item);

/*
 * Reads all slots; `words` is room for a chunk of them. `last`: the process is dead, and
 * its slots are the truth whatever was read before.
 */
int ttm_drain_slots(struct ttm_process *process, bool last,
	struct ttm_words words[TTM_SLOTS_PER_EXTENT]);

#endif

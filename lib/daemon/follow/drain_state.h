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

#endif

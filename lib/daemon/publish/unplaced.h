/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/*
 * What the records of a share told while nobody had said which chip it is on. The chip
 * of its logical id has that, too, but together with what others did who are called by
 * the same id. A share that tells more takes its own along.
 */
#ifndef TTM_DAEMON_UNPLACED_H
#define TTM_DAEMON_UNPLACED_H

#include "daemon/publish/chip.h"

/* Distributions of all shares together: 46 KB each. */
#define TTM_UNPLACED_MOST 1024u

struct ttm_unplaced;

/*
 * Made with the first value. Beyond that many, or without memory, the value stays with
 * the logical id.
 */
void ttm_unplaced_record(struct ttm_unplaced **unplaced,
	struct ttm_chips *chips, unsigned figure,
	enum ttm_distribution_kind kind, uint64_t value);

/* Out of the distributions of `from` into those of `to`; *unplaced is none then. */
void ttm_unplaced_move(struct ttm_unplaced **unplaced, struct ttm_chips *chips,
	struct ttm_chip *from, struct ttm_chip *to);

void ttm_unplaced_free(struct ttm_unplaced **unplaced);

#endif

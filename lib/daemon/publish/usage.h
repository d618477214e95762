/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/*
 * The usage of a device by a process, living or dead: its row, counted in the sums of
 * its device. Sums move with the usage when another device turns out to be meant.
 */
#ifndef TTM_DAEMON_USAGE_H
#define TTM_DAEMON_USAGE_H

#include "daemon/publish/output.h"

/* Changes what the usage says; it has a device. */
void ttm_usage_set(struct ttm_output *output, struct ttm_usage *usage,
	const struct ttm_share_row *row);

/* Moves the usage to a device, with its sums; nothing if that is NULL or its own. */
void ttm_usage_move(struct ttm_output *output, struct ttm_usage *usage,
	struct ttm_chip *chip);

/* Removes the row and takes the sums back: the usage is empty afterwards. */
void ttm_usage_remove(struct ttm_output *output, struct ttm_usage *usage);

#endif

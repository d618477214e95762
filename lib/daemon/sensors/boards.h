/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/*
 * What a board of some name has, for chips whose capacities nobody told. A program
 * may well get less: such figures are marked wherever they are shown.
 */
#ifndef TTM_DAEMON_BOARDS_H
#define TTM_DAEMON_BOARDS_H

#include <stddef.h>
#include <stdint.h>

struct ttm_board {
	const char *name; /* what names of it start with: "p150" for "p150a" */
	uint64_t cores;   /* Tensix, of one chip */
	uint64_t l1_bytes_per_core;
	uint64_t dram_bytes;
};

/* By a name of up to `size` bytes, in either case; NULL: not known. */
const struct ttm_board *ttm_board_find(const char *name, size_t size);

#endif

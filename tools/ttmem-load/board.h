/* SPDX-License-Identifier: Apache-2.0 */
/* The boards that a load may pretend to run on. */
#ifndef LOAD_BOARD_H
#define LOAD_BOARD_H

#include <stddef.h>
#include <stdint.h>

#include <ttmem/ttmem.h>

struct load_board {
	const char *name;
	const char *card_type; /* as the driver calls it */
	const char *arch;
	unsigned chips;        /* on one board */
	unsigned remote_every; /* each n-th chip has no PCI device; 0: none */
	uint32_t cores;        /* Tensix cores that programs get */
	uint64_t l1_bytes_per_core;
	uint32_t core_rows; /* of their grid */
	uint64_t dram_bytes;
	uint32_t dram_banks;
};

extern const struct load_board load_boards[];
extern const size_t load_boards_len;

/* NULL if there is none of that name. */
const struct load_board *load_board_find(const char *name);

/* Capacities, banks and names; identity stays unknown. */
void load_board_describe(
	const struct load_board *board, struct ttmem_device_info *info);

/*
 * The same plus the identity of the board's chip number `chip`, which depends on
 * nothing else: several processes that say a number mean one chip.
 */
void load_board_identify(const struct load_board *board, uint64_t chip,
	struct ttmem_device_info *info);

#endif

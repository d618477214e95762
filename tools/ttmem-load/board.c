/* SPDX-License-Identifier: Apache-2.0 */
#include "board.h"

#include <stdio.h>
#include <string.h>

#define GIB (1ull << 30)
#define WORMHOLE_L1 1499136u
#define BLACKHOLE_L1 1572864u
#define BLACKHOLE_BANK 4278190080ull
/* The ring of kernel configurations and what else is not allocatable. */
#define L1_RESERVED ((69u + 32u) * 1024u)
#define L1_SMALL_BYTES (24u * 1024u)
#define TRACE_BYTES (128ull << 20)
#define DRAM_RESERVED 64u

const struct load_board load_boards[] = {
	{ "n150", "n150", "wormhole_b0", 1, 0, 72, WORMHOLE_L1, 8, 12 * GIB,
		12 },
	{ "n300", "n300", "wormhole_b0", 2, 2, 64, WORMHOLE_L1, 8, 12 * GIB,
		12 },
	{ "galaxy-wormhole", "galaxy-wormhole", "wormhole_b0", 32, 0, 80,
		WORMHOLE_L1, 8, 12 * GIB, 12 },
	{ "p100", "p100a", "blackhole", 1, 0, 120, BLACKHOLE_L1, 10,
		7 * BLACKHOLE_BANK, 7 },
	{ "p150", "p150a", "blackhole", 1, 0, 120, BLACKHOLE_L1, 10,
		8 * BLACKHOLE_BANK, 8 },
	{ "p300", "p300a", "blackhole", 2, 0, 120, BLACKHOLE_L1, 10,
		8 * BLACKHOLE_BANK, 8 },
	{ "galaxy-blackhole", "galaxy-blackhole", "blackhole", 32, 0, 130,
		BLACKHOLE_L1, 10, 8 * BLACKHOLE_BANK, 8 },
};
const size_t load_boards_len = sizeof(load_boards) / sizeof(load_boards[0]);

const struct load_board *load_board_find(const char *name)
{
	size_t i;

	for (i = 0; i < load_boards_len; i++)
		if (strcmp(name, load_boards[i].name) == 0)
			return &load_boards[i];
	return NULL;
}

void load_board_describe(
	const struct load_board *board, struct ttmem_device_info *info)
{
	/* Names fill their fields without a NUL where they are that long. */
	memset(info->arch, 0, sizeof(info->arch));
	memcpy(info->arch, board->arch, strlen(board->arch));
	memset(info->board, 0, sizeof(info->board));
	memcpy(info->board, board->name,
		strnlen(board->name, sizeof(info->board)));
	info->dram_bytes = board->dram_bytes;
	info->l1_bytes_per_core = board->l1_bytes_per_core;
	info->cores = board->cores;
	info->l1_small_bytes = L1_SMALL_BYTES;
	info->trace_bytes = TRACE_BYTES;
	info->l1_base = L1_RESERVED;
	info->l1_top = board->l1_bytes_per_core - L1_SMALL_BYTES;
	info->l1_banks = board->cores;
	info->dram_banks = board->dram_banks;
	info->dram_base = DRAM_RESERVED;
	info->dram_bank_bytes = board->dram_bytes / board->dram_banks -
		DRAM_RESERVED;
}

void load_board_identify(const struct load_board *board, uint64_t chip,
	struct ttmem_device_info *info)
{
	uint64_t number = (uint64_t)(board - load_boards);

	load_board_describe(board, info);
	/* Readable, and never the same for two boards. */
	info->chip_id = (0x77000000ull + number) << 32 | (chip + 1);
	/* A domain per board, so that buses do not run out. */
	if (board->remote_every == 0 ||
		chip % board->remote_every != board->remote_every - 1)
		info->pci_address = TTMEM_PCI_ADDRESS(
			number + (chip >> 8), chip & 0xff, 0, 0);
	else
		info->gateway = info->chip_id - 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
#include "daemon/sensors/boards.h"

#include <string.h>
#include <strings.h>

#define GIB (1ull << 30)
#define WORMHOLE_L1 1499136u
#define BLACKHOLE_L1 1572864u
#define BLACKHOLE_BANK 4278190080ull

static const struct ttm_board boards[] = {
	{ "n150", 72, WORMHOLE_L1, 12 * GIB },
	{ "n300", 64, WORMHOLE_L1, 12 * GIB },
	{ "galaxy-wormhole", 80, WORMHOLE_L1, 12 * GIB },
	{ "p100", 120, BLACKHOLE_L1, 7 * BLACKHOLE_BANK },
	{ "p150", 120, BLACKHOLE_L1, 8 * BLACKHOLE_BANK },
	{ "p300", 120, BLACKHOLE_L1, 8 * BLACKHOLE_BANK },
	{ "galaxy-blackhole", 130, BLACKHOLE_L1, 8 * BLACKHOLE_BANK },
};

const struct ttm_board *ttm_board_find(const char *name, size_t size)
{
	size_t length = strnlen(name, size), begin, i;

	for (i = 0; i < sizeof(boards) / sizeof(boards[0]); i++) {
		begin = strlen(boards[i].name);
		/* One letter more is a variant, a digit another board. */
		if (length < begin || length > begin + 1 ||
			strncasecmp(name, boards[i].name, begin) != 0)
			continue;
		if (length == begin || name[begin] > '9')
			return &boards[i];
	}
	return NULL;
}

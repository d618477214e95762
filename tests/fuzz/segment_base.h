/* SPDX-License-Identifier: Apache-2.0 */
/* Process segments as the recording library makes them, to be changed afterwards. */
#ifndef FUZZ_SEGMENT_BASE_H
#define FUZZ_SEGMENT_BASE_H

#include <stdint.h>

#include "shm/layout.h"

#define BASE_LANES 4u
#define BASE_USED 64u
/* Beyond its end, all zero: it may grow. */
#define BASE_MORE (32u * TTM_EXTENT_SIZE)

struct segment_base {
	uint8_t *bytes;
	uint64_t size;
	uint32_t lanes_len;
	uint32_t blocks_len;
	uint32_t devices_len;
	uint64_t lane_off[BASE_LANES];
	uint64_t slots_off;
	uint64_t blocks_off;
	uint64_t names_off;
	uint64_t core_sets_off;
	uint32_t places_len;
	uint32_t used[BASE_USED]; /* slots */
	uint32_t used_len;
};

enum {
	BASE_SMALL,
	BASE_THREADS, /* several lanes, several chips */
	BASE_ENDED,   /* with objects left */
	BASE_GOOD,    /* what stands beside them all */
	BASES,
};

/* Records them all, in a directory of its own that is gone afterwards. */
void segment_bases_make(struct segment_base bases[BASES]);

/* The checksum of the constant part: after a change in it. */
void segment_base_seal(uint8_t *bytes);

#endif

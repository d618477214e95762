/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TTM_SHM_CHECKSUM_H
#define TTM_SHM_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, 64 bits: finds torn and mistaken bytes, not forged ones. */
static inline uint64_t ttm_checksum(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t sum = 0xcbf29ce484222325ull;

	while (size--)
		sum = (sum ^ *at++) * 0x100000001b3ull;
	return sum;
}

#endif

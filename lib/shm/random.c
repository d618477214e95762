/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/random.h"

#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "shm/clock.h"

/* splitmix64, for the first seconds of a boot when the kernel has nothing. */
static uint64_t weak_random64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

void ttm_random_bytes(uint8_t *ret_bytes, size_t size)
{
	uint64_t state, word;
	size_t i;

	if (getrandom(ret_bytes, size, GRND_NONBLOCK) == (ssize_t)size)
		return;
	state = ttm_clock_now() ^ (uint64_t)getpid() << 32 ^
		(uint64_t)(uintptr_t)ret_bytes;
	for (i = 0; i < size; i++) {
		word = weak_random64(&state);
		memcpy(ret_bytes + i, &word, 1);
	}
}

uint64_t ttm_random64(void)
{
	uint64_t number;

	ttm_random_bytes((uint8_t *)&number, sizeof(number));
	return number;
}

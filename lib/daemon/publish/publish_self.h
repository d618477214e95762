/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/* A publisher from the inside. */
#ifndef TTM_DAEMON_PUBLISH_SELF_H
#define TTM_DAEMON_PUBLISH_SELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "daemon/publish/publish_file.h"
#include "daemon/publish/publish_objects.h"
#include "shm/atomics.h"

struct ttm_publisher {
	struct ttm_publisher_config config;
	struct ttm_publish_file file;
	struct ttm_publish_objects objects;
	uint64_t publication; /* the last one */
	bool tidied;
	bool behind; /* the last publication failed */
};

/*
 * Words that readers may be reading. relaxed: the sequences on either side tell them
 * whether what they have is whole, and their fences order these stores.
 */
static inline void ttm_words_store(uint64_t *to, const void *from, size_t len)
{
	const char *bytes = from;
	uint64_t word;
	size_t i;

	for (i = 0; i < len; i++) {
		memcpy(&word, bytes + i * sizeof(word), sizeof(word));
		ttm_store(&to[i], word);
	}
}

#endif

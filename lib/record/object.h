/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* Objects come, are replaced, and go: slots, index, counters and records. */
#ifndef TTM_RECORD_OBJECT_H
#define TTM_RECORD_OBJECT_H

#include "record/process.h"

struct ttm_object {
	unsigned figure;
	unsigned flags; /* enum ttm_flag */
	uint32_t cores; /* 0 for a buffer */
	uint64_t id;
	uint64_t address;
	uint64_t size;    /* CB: per core; kernel: of the binary */
	uint64_t program; /* buffer: charged bytes */
	uint64_t bytes;   /* what it takes on the device */
};

/* All of them: lock-free, on one device entry, inside a hook. */
void ttm_object_put(struct ttm_hook *hook, unsigned device,
	const struct ttm_object *object);
void ttm_object_remove(struct ttm_hook *hook, unsigned device, unsigned figure,
	uint64_t program, uint64_t id);
void ttm_object_remove_program(
	struct ttm_hook *hook, unsigned device, uint64_t program);
void ttm_object_remove_cbs(struct ttm_hook *hook, unsigned device);

#endif

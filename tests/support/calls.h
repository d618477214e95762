/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks that take a struct, as one line. */
#ifndef TEST_CALLS_H
#define TEST_CALLS_H

#include <ttmem/ttmem.h>

/* `used` bytes on one bank. */
static inline void call_buffer_alloc(uint32_t device, enum ttmem_kind kind,
	uint64_t id, uint64_t address, uint64_t bytes, uint64_t used)
{
	struct ttmem_buffer buffer;

	ttmem_buffer_init(&buffer, device, kind);
	buffer.id = id;
	buffer.address = address;
	buffer.bytes = bytes;
	buffer.bytes_per_bank = used;
	buffer.banks = 1;
	ttmem_buffer_alloc(&buffer);
}

static inline void call_alloc_failed(uint32_t device, uint32_t kind,
	uint64_t bytes, uint64_t largest_free_per_bank)
{
	struct ttmem_failure failure;

	ttmem_failure_init(&failure, device, kind);
	failure.bytes = bytes;
	failure.largest_free_per_bank = largest_free_per_bank;
	ttmem_alloc_failed(&failure);
}

#endif

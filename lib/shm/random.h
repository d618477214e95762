/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TTM_SHM_RANDOM_H
#define TTM_SHM_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Random enough for names that must not meet; never blocks. */
void ttm_random_bytes(uint8_t *ret_bytes, size_t size);
uint64_t ttm_random64(void);

#endif

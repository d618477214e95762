/* SPDX-License-Identifier: Apache-2.0 */
/* A device as people name it: "0", "asic:12ab", "pci:0000:01:00.0". */
#ifndef TTM_COMMON_DEVICE_H
#define TTM_COMMON_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <ttmem/reader.h>

enum ttm_device_by {
	TTM_DEVICE_BY_LOGICAL = 1,
	TTM_DEVICE_BY_CHIP = 2,
	TTM_DEVICE_BY_PCI = 3,
};

/* The domain of a PCI address may be left out. Returns false for no such name. */
bool ttm_device_parse(
	const char *text, enum ttm_device_by *ret_by, uint64_t *ret_value);

/* What such a value is compared with; may be unknown. */
uint64_t ttm_device_value(
	const struct ttmem_device_row *device, enum ttm_device_by by);

#endif

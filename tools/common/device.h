/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices as people name them. The tools display the driver's number of a device. Where
 * the driver has none, they display the shortest form that is unique: the logical id
 * ("0"), the last digits of the unique id ("..1"), or the PCI address ("05:00.0").
 */
#ifndef TTM_COMMON_DEVICE_H
#define TTM_COMMON_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ttmem/reader.h>

/* Fits every name below. */
#define TTM_DEVICE_NAME_SIZE 40u

enum ttm_device_by {
	TTM_DEVICE_BY_NUMBER = 1,   /* as displayed: "0" */
	TTM_DEVICE_BY_LOGICAL = 2,  /* "logical:0" */
	TTM_DEVICE_BY_CHIP = 3,     /* "asic:12ab" */
	TTM_DEVICE_BY_CHIP_END = 4, /* "..ab", "asic:..ab" */
	TTM_DEVICE_BY_PCI = 5,      /* "pci:0000:01:00.0", "01:00.0" */
};

/* A value of --device. */
struct ttm_device_selector {
	enum ttm_device_by by;
	uint64_t first;
	uint64_t last; /* of TTM_DEVICE_BY_CHIP_END: the mask of the digits */
};

/* The domain of a PCI address may be left out. Returns false for no such name. */
bool ttm_device_parse(
	const char *text, struct ttm_device_selector *ret_selector);

/* Whether the device of that index is one of those. */
bool ttm_device_fits(const struct ttm_device_selector *selector,
	const struct ttmem_snapshot *snapshot, uint64_t index);

/* The number that is displayed; TTMEM_UNKNOWN if another form is. */
uint64_t ttm_device_number(
	const struct ttmem_snapshot *snapshot, uint64_t index);

/* Returns `buffer`, with a name that ttm_device_parse() takes; "-": no such device. */
const char *ttm_device_name(const struct ttmem_snapshot *snapshot,
	uint64_t index, char buffer[static TTM_DEVICE_NAME_SIZE]);

/*
 * The order in which devices are displayed, as qsort() has it: by the displayed number,
 * then by logical id, address and unique id; what is unknown comes last.
 */
int ttm_device_compare(uint64_t number_a, const struct ttmem_device_row *a,
	uint64_t number_b, const struct ttmem_device_row *b);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of chips share: the chips, which are empty before each test. */
#ifndef TEST_CHIPS_H
#define TEST_CHIPS_H

#include <stdint.h>
#include <string.h>

#include <unity.h>

#include "daemon/publish/chip.h"

static struct ttm_image *image;
static struct ttm_chips chips;

void setUp(void)
{
	TEST_ASSERT_EQUAL_INT(0, ttm_image_new(&image));
	memset(&chips, 0, sizeof(chips));
	chips.image = image;
}

void tearDown(void)
{
	TEST_ASSERT_EQUAL_UINT64(0, chips.memory_errors);
	ttm_chips_free(&chips);
	ttm_image_free(&image);
}

#define NOTHING UINT64_MAX

static inline struct ttm_device_facts facts_of(
	uint64_t chip_id, uint64_t pci_address)
{
	struct ttm_device_facts facts;

	memset(&facts, 0, sizeof(facts));
	if (chip_id != NOTHING) {
		facts.known |= TTM_FACT_CHIP_ID;
		facts.chip_id = chip_id;
	}
	if (pci_address != NOTHING) {
		facts.known |= TTM_FACT_PCI_ADDRESS;
		facts.pci_address = pci_address;
	}
	return facts;
}

static inline struct ttm_chip *get(
	uint64_t chip_id, uint64_t pci_address, uint32_t logical)
{
	struct ttm_device_facts facts = facts_of(chip_id, pci_address);
	struct ttm_chip *chip = ttm_chip_get(
		&chips, TTM_NOBODY, &facts, logical);

	TEST_ASSERT_NOT_NULL(chip);
	return chip;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "common/device.h"

#include <stdio.h>
#include <string.h>

#include "common/number.h"

#define TEXT_SIZE 64u

static bool hex_parse(const char *text, uint64_t *ret_value)
{
	char prefixed[TEXT_SIZE + 2];

	if (strlen(text) >= TEXT_SIZE)
		return false;
	if (strncmp(text, "0x", 2) == 0)
		return ttm_number_parse(text, ret_value) == 0;
	snprintf(prefixed, sizeof(prefixed), "0x%s", text);
	return ttm_number_parse(prefixed, ret_value) == 0;
}

/* "0000:01:00.0", the domain may be left out. */
static bool pci_parse(const char *text, uint64_t *ret_address)
{
	unsigned domain = 0, bus, device, function;
	int end = 0;

	if (strspn(text, "0123456789abcdefABCDEF:.") != strlen(text))
		return false;
	if ((sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device,
		     &function, &end) != 4 ||
		    text[end])) {
		domain = 0;
		end = 0;
		if (sscanf(text, "%2x:%2x.%1x%n", &bus, &device, &function,
			    &end) != 3 ||
			text[end])
			return false;
	}
	if (device > 0x1f || function > 7)
		return false;
	*ret_address = TTMEM_PCI_ADDRESS(domain, bus, device, function);
	return true;
}

bool ttm_device_parse(
	const char *text, enum ttm_device_by *ret_by, uint64_t *ret_value)
{
	enum ttm_device_by by = TTM_DEVICE_BY_LOGICAL;
	uint64_t value;
	bool good;

	if (strncmp(text, "asic:", 5) == 0) {
		by = TTM_DEVICE_BY_CHIP;
		good = hex_parse(text + 5, &value);
	} else if (strncmp(text, "pci:", 4) == 0) {
		by = TTM_DEVICE_BY_PCI;
		good = pci_parse(text + 4, &value);
	} else {
		good = ttm_number_parse(text, &value) == 0 &&
			value <= UINT32_MAX;
	}
	if (!good)
		return false;
	*ret_by = by;
	*ret_value = value;
	return true;
}

uint64_t ttm_device_value(
	const struct ttmem_device_row *device, enum ttm_device_by by)
{
	return by == TTM_DEVICE_BY_CHIP ? device->chip_id :
		by == TTM_DEVICE_BY_PCI ? device->pci_address :
					  device->logical;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "common/device.h"

#include <stdio.h>
#include <string.h>

#include "common/number.h"
#include "common/value.h"

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

/* Parses the last digits of a unique id; leading zeros count, too. */
static bool chip_end_parse(
	const char *text, struct ttm_device_selector *ret_selector)
{
	size_t digits = strlen(text);

	if (digits == 0 || digits > 16 ||
		strspn(text, "0123456789abcdefABCDEF") != digits)
		return false;
	ret_selector->by = TTM_DEVICE_BY_CHIP_END;
	ret_selector->last = UINT64_MAX >> (64 - 4 * digits);
	return hex_parse(text, &ret_selector->first);
}

static bool number_parse(const char *text, uint64_t *ret_number)
{
	return ttm_number_parse(text, ret_number) == 0 &&
		*ret_number <= UINT32_MAX;
}

bool ttm_device_parse(
	const char *text, struct ttm_device_selector *ret_selector)
{
	struct ttm_device_selector selector = { TTM_DEVICE_BY_NUMBER, 0, 0 };
	bool good;

	if (strncmp(text, "asic:..", 7) == 0)
		return chip_end_parse(text + 7, ret_selector);
	if (strncmp(text, "..", 2) == 0)
		return chip_end_parse(text + 2, ret_selector);
	if (strncmp(text, "asic:", 5) == 0) {
		selector.by = TTM_DEVICE_BY_CHIP;
		good = hex_parse(text + 5, &selector.first);
	} else if (strncmp(text, "logical:", 8) == 0) {
		selector.by = TTM_DEVICE_BY_LOGICAL;
		good = number_parse(text + 8, &selector.first);
	} else if (strchr(text, ':')) {
		selector.by = TTM_DEVICE_BY_PCI;
		good = pci_parse(
			strncmp(text, "pci:", 4) == 0 ? text + 4 : text,
			&selector.first);
	} else {
		good = number_parse(text, &selector.first);
	}
	if (!good)
		return false;
	selector.last = selector.first;
	*ret_selector = selector;
	return true;
}

static bool is_between(
	const struct ttm_device_selector *selector, uint64_t value)
{
	return value != TTMEM_UNKNOWN && value >= selector->first &&
		value <= selector->last;
}

/* Returns whether the driver has a device of that number. */
static bool is_number(const struct ttmem_snapshot *snapshot, uint64_t value)
{
	size_t len = ttmem_snapshot_telemetry_len(snapshot), i;

	for (i = 0; i < len; i++)
		if (ttmem_snapshot_telemetry(snapshot, i)->number == value)
			return true;
	return false;
}

/* TTMEM_UNKNOWN if the driver does not show the device. */
static uint64_t driver_number(
	const struct ttmem_snapshot *snapshot, uint64_t index)
{
	size_t len = ttmem_snapshot_telemetry_len(snapshot), i;

	for (i = 0; i < len; i++)
		if (ttmem_snapshot_telemetry(snapshot, i)->device == index)
			return ttmem_snapshot_telemetry(snapshot, i)->number;
	return TTMEM_UNKNOWN;
}

/* Returns whether a process has the device under such a logical id. */
static bool is_logical(const struct ttm_device_selector *selector,
	const struct ttmem_snapshot *snapshot, uint64_t index)
{
	size_t len = ttmem_snapshot_shares_len(snapshot), i;

	for (i = 0; i < len; i++)
		if (ttmem_snapshot_share(snapshot, i)->device == index &&
			is_between(selector,
				ttmem_snapshot_share(snapshot, i)->logical))
			return true;
	return is_between(
		selector, ttmem_snapshot_device(snapshot, index)->logical);
}

bool ttm_device_fits(const struct ttm_device_selector *selector,
	const struct ttmem_snapshot *snapshot, uint64_t index)
{
	const struct ttmem_device_row *device = ttmem_snapshot_device(
		snapshot, index);
	uint64_t number;

	switch (selector->by) {
	case TTM_DEVICE_BY_NUMBER:
		number = driver_number(snapshot, index);
		if (number == TTMEM_UNKNOWN &&
			!is_number(snapshot, device->logical))
			number = device->logical;
		return is_between(selector, number);
	case TTM_DEVICE_BY_LOGICAL:
		return is_logical(selector, snapshot, index);
	case TTM_DEVICE_BY_CHIP:
		return is_between(selector, device->chip_id);
	case TTM_DEVICE_BY_CHIP_END:
		return device->chip_id != TTMEM_UNKNOWN &&
			(device->chip_id & selector->last) == selector->first;
	case TTM_DEVICE_BY_PCI:
		return is_between(selector, device->pci_address);
	}
	return false;
}

/* Returns whether its logical id is neither another device's nor a driver's number. */
static bool logical_is_unique(
	const struct ttmem_snapshot *snapshot, uint64_t index)
{
	uint64_t logical = ttmem_snapshot_device(snapshot, index)->logical;
	size_t i;

	for (i = 0; i < ttmem_snapshot_devices_len(snapshot); i++)
		if (i != index &&
			ttmem_snapshot_device(snapshot, i)->logical == logical)
			return false;
	return logical != TTMEM_UNKNOWN && !is_number(snapshot, logical);
}

uint64_t ttm_device_number(
	const struct ttmem_snapshot *snapshot, uint64_t index)
{
	uint64_t number = driver_number(snapshot, index);

	if (number == TTMEM_UNKNOWN && logical_is_unique(snapshot, index))
		return ttmem_snapshot_device(snapshot, index)->logical;
	return number;
}

/* Returns how many last hexadecimal digits of its unique id no other device has. */
static unsigned chip_digits(
	const struct ttmem_snapshot *snapshot, uint64_t index)
{
	uint64_t chip_id = ttmem_snapshot_device(snapshot, index)->chip_id;
	uint64_t mask = 0xf, other;
	unsigned digits = 1;
	size_t i;

	for (i = 0; i < ttmem_snapshot_devices_len(snapshot); i++) {
		other = ttmem_snapshot_device(snapshot, i)->chip_id;
		while (i != index && other != TTMEM_UNKNOWN && digits < 16 &&
			((other ^ chip_id) & mask) == 0) {
			digits++;
			mask = mask << 4 | 0xf;
		}
	}
	return digits;
}

const char *ttm_device_name(const struct ttmem_snapshot *snapshot,
	uint64_t index, char buffer[static TTM_DEVICE_NAME_SIZE])
{
	const struct ttmem_device_row *d = ttmem_snapshot_device(
		snapshot, index);
	uint64_t number = d ? ttm_device_number(snapshot, index) :
			      TTMEM_UNKNOWN;
	char text[TTM_VALUE_SIZE];
	unsigned digits;

	if (number != TTMEM_UNKNOWN) {
		snprintf(buffer, TTM_DEVICE_NAME_SIZE, "%llu",
			(unsigned long long)number);
	} else if (d && d->chip_id != TTMEM_UNKNOWN) {
		digits = chip_digits(snapshot, index);
		snprintf(buffer, TTM_DEVICE_NAME_SIZE, "..%0*llx", (int)digits,
			(unsigned long long)(d->chip_id &
				UINT64_MAX >> (64 - 4 * digits)));
	} else if (d && d->pci_address != TTMEM_UNKNOWN) {
		ttm_pci_text(d->pci_address, text);
		snprintf(buffer, TTM_DEVICE_NAME_SIZE, "%.32s",
			strncmp(text, "0000:", 5) == 0 ? text + 5 : text);
	} else if (d && d->logical != TTMEM_UNKNOWN) {
		snprintf(buffer, TTM_DEVICE_NAME_SIZE, "logical:%llu",
			(unsigned long long)d->logical);
	} else {
		snprintf(buffer, TTM_DEVICE_NAME_SIZE, "-");
	}
	return buffer;
}

/* Unknown ones are larger than all. */
static int value_compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

int ttm_device_compare(uint64_t number_a, const struct ttmem_device_row *a,
	uint64_t number_b, const struct ttmem_device_row *b)
{
	int order = value_compare(number_a, number_b);

	if (order == 0)
		order = value_compare(a->logical, b->logical);
	if (order == 0)
		order = value_compare(a->pci_address, b->pci_address);
	return order ? order : value_compare(a->chip_id, b->chip_id);
}

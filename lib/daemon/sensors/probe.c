/* SPDX-License-Identifier: Apache-2.0 */
/* telemetry: sysfs -> [probe] -> report -> rows */
#include "daemon/sensors/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shm/clock.h"

/* What hardly changes is read every so many rounds. */
#define ROUNDS_UNTIL_ALL 10u

#define VENDOR_TENSTORRENT 0x1e52u
#define DEVICE_WORMHOLE 0x401eu
#define DEVICE_BLACKHOLE 0xb140u

enum place {
	CLASS,
	HWMON
};
enum kind {
	TEXT,
	UNSIGNED,
	SIGNED,
	HEX
};

struct attribute {
	enum ttm_reading reading;
	enum place place;
	enum kind kind;
	bool moves; /* read every round */
	const char *name;
	size_t off;
	size_t size;
};

#define MEMBER(member)                                                         \
	offsetof(struct ttm_telemetry_row, member),                            \
		sizeof(((struct ttm_telemetry_row *)NULL)->member)

/* clang-format off */
static const struct attribute attributes[] = {
	{ TTM_READING_CHIP_ID, CLASS, HEX, false, "tt_asic_id",
		MEMBER(chip_id) },
	{ TTM_READING_CARD_TYPE, CLASS, TEXT, false, "tt_card_type",
		MEMBER(card_type) },
	{ TTM_READING_SERIAL, CLASS, TEXT, false, "tt_serial",
		MEMBER(serial) },
	{ TTM_READING_FIRMWARE, CLASS, TEXT, false, "tt_fw_bundle_ver",
		MEMBER(firmware) },
	{ TTM_READING_AICLK, CLASS, UNSIGNED, true, "tt_aiclk",
		MEMBER(aiclk_mhz) },
	{ TTM_READING_AXICLK, CLASS, UNSIGNED, false, "tt_axiclk",
		MEMBER(axiclk_mhz) },
	{ TTM_READING_ARCCLK, CLASS, UNSIGNED, false, "tt_arcclk",
		MEMBER(arcclk_mhz) },
	{ TTM_READING_HEARTBEAT, CLASS, UNSIGNED, true, "tt_heartbeat",
		MEMBER(heartbeat) },
	{ TTM_READING_THERM_TRIPS, CLASS, UNSIGNED, true,
		"tt_therm_trip_count", MEMBER(therm_trips) },
	{ TTM_READING_SENSOR, HWMON, TEXT, false, "name",
		MEMBER(sensor) },
	{ TTM_READING_TEMPERATURE, HWMON, SIGNED, true, "temp1_input",
		MEMBER(temperature_mc) },
	{ TTM_READING_TEMPERATURE_MAX, HWMON, SIGNED, false, "temp1_max",
		MEMBER(temperature_max_mc) },
	{ TTM_READING_POWER, HWMON, UNSIGNED, true, "power1_input",
		MEMBER(power_uw) },
	{ TTM_READING_POWER_MAX, HWMON, UNSIGNED, false, "power1_max",
		MEMBER(power_max_uw) },
	{ TTM_READING_CURRENT, HWMON, UNSIGNED, true, "curr1_input",
		MEMBER(current_ma) },
	{ TTM_READING_VOLTAGE, HWMON, UNSIGNED, true, "in0_input",
		MEMBER(voltage_mv) },
	{ TTM_READING_FAN, HWMON, UNSIGNED, true, "fan1_input",
		MEMBER(fan_rpm) },
};
/* clang-format on */

#define ATTRIBUTES (sizeof(attributes) / sizeof(attributes[0]))

/* -- one value ---------------------------------------------------------------- */

static void value_clear(
	struct ttm_telemetry_row *row, enum kind kind, size_t off, size_t size)
{
	const int64_t signed_unknown = TTM_TEMPERATURE_UNKNOWN;
	char *at = (char *)row + off;

	if (kind == TEXT)
		memset(at, 0, size);
	else if (kind == SIGNED)
		memcpy(at, &signed_unknown, sizeof(signed_unknown));
	else
		memset(at, 0xff, size);
}

static int value_read(
	struct ttm_telemetry_row *row, int dir, const struct attribute *a)
{
	void *at = (char *)row + a->off;

	if (dir < 0)
		return dir;
	switch (a->kind) {
	case TEXT:
		return ttm_sysfs_text(dir, a->name, at, a->size);
	case UNSIGNED:
		return ttm_sysfs_unsigned(dir, a->name, at);
	case SIGNED:
		return ttm_sysfs_signed(dir, a->name, at);
	case HEX:
		break;
	}
	return ttm_sysfs_hex(dir, a->name, at);
}

static void reading_note(
	struct ttm_telemetry_row *row, enum ttm_reading reading, int r)
{
	row->errors[reading] = r < 0 ? (uint64_t)-r : 0;
	if (r == 0)
		row->times_ns[reading] = ttm_clock_ns(CLOCK_MONOTONIC);
}

/* Missing stays missing; whatever else is wrong may be right in a second. */
static bool is_due(const struct ttm_probe *probe, const struct attribute *a)
{
	uint64_t error = probe->row.errors[a->reading];

	return a->moves || probe->until_all == 0 || (error && error != ENOENT);
}

static void attribute_read(struct ttm_probe *probe, const struct attribute *a)
{
	uint64_t heartbeat = probe->row.heartbeat;
	int r = value_read(&probe->row,
		a->place == HWMON ? probe->hwmon_fd : probe->class_fd, a);

	/* An id that every chip would have is none. */
	if (r == 0 && a->reading == TTM_READING_CHIP_ID &&
		probe->row.chip_id == 0)
		r = -EBADMSG;
	if (r < 0)
		value_clear(&probe->row, a->kind, a->off, a->size);
	reading_note(&probe->row, a->reading, r);
	if (a->reading == TTM_READING_HEARTBEAT && r == 0 &&
		heartbeat != TTMEM_UNKNOWN && probe->row.heartbeat != heartbeat)
		probe->row.heartbeat_ns = probe->row.times_ns[a->reading];
}

/* -- what is not an attribute ------------------------------------------------- */

static void address_read(struct ttm_probe *probe)
{
	int r = probe->class_fd;

	if (r >= 0)
		r = ttm_sysfs_pci_link(
			probe->class_fd, "device", &probe->row.pci_address);
	if (r < 0)
		probe->row.pci_address = TTMEM_UNKNOWN;
	reading_note(&probe->row, TTM_READING_PCI_ADDRESS, r);
}

static void arch_read(struct ttm_probe *probe)
{
	char *arch = probe->row.arch;
	uint64_t vendor = 0, device = 0;
	int r = probe->class_fd;

	if (r >= 0)
		r = ttm_sysfs_hex(probe->class_fd, "device/vendor", &vendor);
	if (r == 0)
		r = ttm_sysfs_hex(probe->class_fd, "device/device", &device);
	memset(arch, 0, sizeof(probe->row.arch));
	/* The names that the runtime has for them. */
	if (r == 0 && vendor == VENDOR_TENSTORRENT && device == DEVICE_WORMHOLE)
		strcpy(arch, "wormhole_b0");
	else if (r == 0 && vendor == VENDOR_TENSTORRENT &&
		device == DEVICE_BLACKHOLE)
		strcpy(arch, "blackhole");
	else if (r == 0)
		r = -EBADMSG;
	reading_note(&probe->row, TTM_READING_ARCH, r);
}

static void directories_close(struct ttm_probe *probe)
{
	if (probe->class_fd >= 0)
		close(probe->class_fd);
	if (probe->hwmon_fd >= 0)
		close(probe->hwmon_fd);
	probe->class_fd = probe->hwmon_fd = -ENOENT;
}

static void directories_open(struct ttm_probe *probe)
{
	directories_close(probe);
	probe->class_fd = ttm_sysfs_open(AT_FDCWD, probe->directory);
	if (probe->class_fd >= 0)
		probe->hwmon_fd = ttm_sysfs_open_first(
			probe->class_fd, "device/hwmon", "hwmon");
}

static void holders_read(struct ttm_probe *probe)
{
	struct ttm_telemetry_row *row = &probe->row;
	char path[TTM_SYSFS_PATH_SIZE], name[64];
	int r;

	snprintf(name, sizeof(name), "driver/tenstorrent/%" PRIu64 "/pids",
		row->number);
	r = ttm_sysfs_path(path, probe->proc_root, name);
	if (r == 0)
		r = ttm_holders_read(
			&probe->holders, path, probe->until_all == 0);
	row->holders = row->holders_hidden = row->holders_unlisted =
		TTMEM_UNKNOWN;
	if (r == 0) {
		row->holders = probe->holders.len + probe->holders.unlisted;
		row->holders_hidden = probe->holders.hidden;
		row->holders_unlisted = probe->holders.unlisted;
	}
	reading_note(row, TTM_READING_HOLDERS, r);
}

/* -- a round ------------------------------------------------------------------ */

int ttm_probe_init(struct ttm_probe *probe, const char *sysfs_root,
	const char *proc_root, uint64_t number)
{
	char name[64];
	size_t i;

	memset(probe, 0, sizeof(*probe));
	probe->class_fd = probe->hwmon_fd = -ENOENT;
	probe->proc_root = proc_root;
	probe->row.number = number;
	probe->row.pci_address = TTMEM_UNKNOWN;
	probe->row.holders = probe->row.holders_hidden =
		probe->row.holders_unlisted = TTMEM_UNKNOWN;
	for (i = 0; i < ATTRIBUTES; i++)
		value_clear(&probe->row, attributes[i].kind, attributes[i].off,
			attributes[i].size);
	snprintf(name, sizeof(name), "class/tenstorrent/tenstorrent!%" PRIu64,
		number);
	return ttm_sysfs_path(probe->directory, sysfs_root, name);
}

void ttm_probe_drop(struct ttm_probe *probe)
{
	directories_close(probe);
	ttm_holders_drop(&probe->holders);
}

/* The PCI side needs no word from the device itself, so it comes first. */
void ttm_probe_read(
	struct ttm_probe *probe, void (*step)(void *context), void *context)
{
	size_t i;

	if (probe->until_all == 0 ||
		probe->row.errors[TTM_READING_PCI_ADDRESS]) {
		directories_open(probe);
		address_read(probe);
		if (step)
			step(context);
		arch_read(probe);
		if (step)
			step(context);
	}
	holders_read(probe);
	if (step)
		step(context);
	for (i = 0; i < ATTRIBUTES; i++) {
		if (!is_due(probe, &attributes[i]))
			continue;
		attribute_read(probe, &attributes[i]);
		if (step)
			step(context);
	}
	probe->until_all = probe->until_all ? probe->until_all - 1 :
					      ROUNDS_UNTIL_ALL - 1;
	probe->row.rounds++;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include "read/names.h"

#include <errno.h>
#include <string.h>

static const char *const figures[] = {
	[TTMEM_FIGURE_DRAM] = "dram",
	[TTMEM_FIGURE_L1] = "l1",
	[TTMEM_FIGURE_SYSTEM_MEMORY] = "system_memory",
	[TTMEM_FIGURE_L1_SMALL] = "l1_small",
	[TTMEM_FIGURE_TRACE] = "trace",
	[TTMEM_FIGURE_CB] = "cb",
	[TTMEM_FIGURE_KERNEL_APPLICATION] = "kernel_application",
	[TTMEM_FIGURE_KERNEL_FABRIC] = "kernel_fabric",
	[TTMEM_FIGURE_KERNEL_DISPATCH] = "kernel_dispatch",
};

static const char *const kernels[] = {
	[TTMEM_KERNEL_APPLICATION] = "kernel_application",
	[TTMEM_KERNEL_FABRIC] = "kernel_fabric",
	[TTMEM_KERNEL_DISPATCH] = "kernel_dispatch",
};

static const char *const anomalies[] = {
	[TTMEM_ANOMALY_FREE_UNKNOWN] = "free_unknown",
	[TTMEM_ANOMALY_ALLOC_LIVE] = "alloc_live",
	[TTMEM_ANOMALY_BAD_DEVICE] = "bad_device",
	[TTMEM_ANOMALY_TOO_MANY_DEVICES] = "too_many_devices",
	[TTMEM_ANOMALY_BAD_KIND] = "bad_kind",
	[TTMEM_ANOMALY_OVERFLOW] = "overflow",
	[TTMEM_ANOMALY_LATE_FREE] = "late_free",
	[TTMEM_ANOMALY_SCOPE_UNDERFLOW] = "scope_underflow",
	[TTMEM_ANOMALY_SCOPE_TOO_DEEP] = "scope_too_deep",
	[TTMEM_ANOMALY_DEVICE_CHANGED] = "device_changed",
};

static const char *const losses[] = {
	[TTMEM_LOSS_NO_SLOT] = "no_slot",
	[TTMEM_LOSS_NO_INDEX] = "no_index",
	[TTMEM_LOSS_NO_LANE] = "no_lane",
	[TTMEM_LOSS_NESTED] = "nested",
	[TTMEM_LOSS_NO_NAME] = "no_name",
	[TTMEM_LOSS_NO_PLACE] = "no_place",
};

static const char *const sources[] = {
	[TTMEM_SOURCE_OK] = "ok",
	[TTMEM_SOURCE_NO_BASE] = "no_base_directory",
	[TTMEM_SOURCE_NO_PERMISSION] = "no_permission",
	[TTMEM_SOURCE_NEVER_STARTED] = "never_started",
	[TTMEM_SOURCE_DEAD] = "dead",
	[TTMEM_SOURCE_STALE] = "stale",
	[TTMEM_SOURCE_NOT_SERVING] = "not_serving",
	[TTMEM_SOURCE_VERSION] = "version_mismatch",
	[TTMEM_SOURCE_BROKEN] = "broken",
};

static const char *const modes[] = {
	[TTMEM_MODE_USER] = "user",
	[TTMEM_MODE_SYSTEM] = "system",
};

static const char *const directories[] = {
	[TTMEM_DIRECTORY_SERVED] = "served",
	[TTMEM_DIRECTORY_HELD] = "held",
	[TTMEM_DIRECTORY_REFUSED] = "refused",
};

static const char *const identities[] = {
	[TTMEM_IDENTITY_CHIP] = "chip",
	[TTMEM_IDENTITY_PCI] = "pci",
	[TTMEM_IDENTITY_LOGICAL] = "logical",
};

static const char *const processes[] = {
	[TTMEM_PROCESS_REPORTING] = "reporting",
	[TTMEM_PROCESS_ENDED] = "ended",
	[TTMEM_PROCESS_UNKNOWN] = "unknown",
	[TTMEM_PROCESS_EXITED] = "exited",
	[TTMEM_PROCESS_DIED] = "died",
	[TTMEM_PROCESS_SILENT] = "silent",
};

static const char *const classes[] = {
	[TTMEM_CLASS_LIVE] = "live",
	[TTMEM_CLASS_ORPHANED] = "orphaned",
	[TTMEM_CLASS_PERSISTENT] = "persistent",
};

static const char *const distributions[] = {
	[TTMEM_DISTRIBUTION_BYTES] = "bytes",
	[TTMEM_DISTRIBUTION_LIFETIME_NS] = "lifetime_ns",
};

static const char *const capacities[] = {
	[TTMEM_CAPACITY_TOLD] = "told",
	[TTMEM_CAPACITY_BOARD] = "board",
};

static const char *const readings[] = {
	[TTMEM_READING_CHIP_ID] = "chip_id",
	[TTMEM_READING_PCI_ADDRESS] = "pci_address",
	[TTMEM_READING_ARCH] = "arch",
	[TTMEM_READING_CARD_TYPE] = "card_type",
	[TTMEM_READING_SERIAL] = "serial",
	[TTMEM_READING_FIRMWARE] = "firmware",
	[TTMEM_READING_SENSOR] = "sensor",
	[TTMEM_READING_AICLK] = "aiclk_mhz",
	[TTMEM_READING_AXICLK] = "axiclk_mhz",
	[TTMEM_READING_ARCCLK] = "arcclk_mhz",
	[TTMEM_READING_HEARTBEAT] = "heartbeat",
	[TTMEM_READING_THERM_TRIPS] = "therm_trips",
	[TTMEM_READING_TEMPERATURE] = "temperature_mc",
	[TTMEM_READING_TEMPERATURE_MAX] = "temperature_max_mc",
	[TTMEM_READING_POWER] = "power_uw",
	[TTMEM_READING_POWER_MAX] = "power_max_uw",
	[TTMEM_READING_CURRENT] = "current_ma",
	[TTMEM_READING_VOLTAGE] = "voltage_mv",
	[TTMEM_READING_FAN] = "fan_rpm",
	[TTMEM_READING_HOLDERS] = "holders",
};

#define SET(names)                                                             \
	{                                                                      \
		names, sizeof(names) / sizeof((names)[0])                      \
	}

static const struct set {
	const char *const *names;
	size_t len;
} sets[TTMEM_NAMES_SETS] = {
	[TTMEM_NAMES_FIGURE] = SET(figures),
	[TTMEM_NAMES_KERNEL] = SET(kernels),
	[TTMEM_NAMES_ANOMALY] = SET(anomalies),
	[TTMEM_NAMES_LOSS] = SET(losses),
	[TTMEM_NAMES_SOURCE] = SET(sources),
	[TTMEM_NAMES_MODE] = SET(modes),
	[TTMEM_NAMES_DIRECTORY] = SET(directories),
	[TTMEM_NAMES_IDENTITY] = SET(identities),
	[TTMEM_NAMES_PROCESS] = SET(processes),
	[TTMEM_NAMES_CLASS] = SET(classes),
	[TTMEM_NAMES_DISTRIBUTION] = SET(distributions),
	[TTMEM_NAMES_CAPACITY] = SET(capacities),
	[TTMEM_NAMES_READING] = SET(readings),
};

_Static_assert(sizeof(figures) / sizeof(figures[0]) == TTMEM_FIGURES, "");
_Static_assert(sizeof(anomalies) / sizeof(anomalies[0]) == TTMEM_ANOMALIES, "");
_Static_assert(sizeof(losses) / sizeof(losses[0]) == TTMEM_LOSSES, "");

_Static_assert(TTMEM_READINGS >= TTMEM_REASONS, "");

static const char *const reserved[TTMEM_READINGS] = {
	"reserved_0",
	"reserved_1",
	"reserved_2",
	"reserved_3",
	"reserved_4",
	"reserved_5",
	"reserved_6",
	"reserved_7",
	"reserved_8",
	"reserved_9",
	"reserved_10",
	"reserved_11",
	"reserved_12",
	"reserved_13",
	"reserved_14",
	"reserved_15",
	"reserved_16",
	"reserved_17",
	"reserved_18",
	"reserved_19",
	"reserved_20",
	"reserved_21",
	"reserved_22",
	"reserved_23",
};

const char *ttmem_name(enum ttmem_names set, uint64_t value)
{
	if ((unsigned)set >= TTMEM_NAMES_SETS || value >= sets[set].len)
		return NULL;
	return sets[set].names[value];
}

int ttmem_name_parse(
	enum ttmem_names set, const char *name, uint64_t *ret_value)
{
	size_t i;

	if ((unsigned)set >= TTMEM_NAMES_SETS || !name)
		return -EINVAL;
	for (i = 0; i < sets[set].len; i++) {
		if (sets[set].names[i] &&
			strcmp(sets[set].names[i], name) == 0) {
			*ret_value = i;
			return 0;
		}
	}
	return -ENOENT;
}

size_t ttm_names_known(enum ttmem_names set)
{
	return sets[set].len;
}

const char *ttm_names_key(enum ttmem_names set, size_t place)
{
	return place < sets[set].len ? sets[set].names[place] : reserved[place];
}

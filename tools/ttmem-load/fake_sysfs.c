/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_sysfs.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "fake_files.h"

/* How often values move, per second: less often than anybody reads them. */
#define MOVES_PER_S 2u

#define VENDOR 0x1e52u
#define WORMHOLE 0x401eu
#define BLACKHOLE 0xb140u

struct fake {
	const struct load_options *options;
	uint64_t chip;   /* of the board */
	uint64_t number; /* of the driver's device */
	uint64_t chip_id;
	char address[32];
	char pci[FAKE_PATH_SIZE];    /* its directory */
	char device[FAKE_PATH_SIZE]; /* the driver's, below */
	char hwmon[FAKE_PATH_SIZE];
	char proc[FAKE_PATH_SIZE];
};

static bool board_is_wormhole(const struct load_board *board)
{
	return strncmp(board->arch, "wormhole", 8) == 0;
}

/* False: the chip has no PCI device. */
static bool fake_place(struct fake *fake)
{
	const struct load_options *o = fake->options;
	struct ttmem_device_info info;
	uint64_t a;

	ttmem_device_info_init(&info, (uint32_t)fake->number);
	load_board_identify(o->board, fake->chip, &info);
	if (info.pci_address == TTMEM_UNKNOWN)
		return false;
	a = info.pci_address;
	fake->chip_id = info.chip_id;
	snprintf(fake->address, sizeof(fake->address),
		"%04" PRIx64 ":%02" PRIx64 ":%02" PRIx64 ".%" PRIx64, a >> 16,
		a >> 8 & 0xff, a >> 3 & 0x1f, a & 7);
	fake_path(fake->pci, "%s/sys/devices/pci%04" PRIx64 ":00/%s",
		o->fake_sysfs, a >> 16, fake->address);
	fake_path(fake->device, "%s/tenstorrent/tenstorrent!%" PRIu64,
		fake->pci, fake->number);
	fake_path(
		fake->hwmon, "%s/hwmon/hwmon%" PRIu64, fake->pci, fake->number);
	fake_path(fake->proc, "%s/proc/driver/tenstorrent/%" PRIu64,
		o->fake_sysfs, fake->number);
	return true;
}

/* -- values ------------------------------------------------------------------- */

static void fake_constants(const struct fake *fake)
{
	const struct load_board *board = fake->options->board;
	bool wormhole = board_is_wormhole(board);

	fake_value(fake->pci, "vendor", "0x%04x", VENDOR);
	fake_value(
		fake->pci, "device", "0x%04x", wormhole ? WORMHOLE : BLACKHOLE);
	fake_value(fake->device, "tt_asic_id", "%016" PRIX64, fake->chip_id);
	fake_value(fake->device, "tt_card_type", "%s", board->card_type);
	/* One board, one number. */
	fake_value(fake->device, "tt_serial", "%016" PRIX64,
		0x0100014511700000u + fake->chip / board->chips);
	fake_value(fake->device, "tt_fw_bundle_ver", "%s",
		wormhole ? "18.7.0.0" : "18.10.0.0");
	fake_value(fake->device, "tt_therm_trip_count", "0");
	fake_value(
		fake->hwmon, "name", "%s", wormhole ? "wormhole" : "blackhole");
	fake_value(fake->hwmon, "temp1_max", "%d", wormhole ? 75000 : 83000);
	fake_value(fake->hwmon, "power1_max", "%" PRIu64,
		(uint64_t)(wormhole ? 85 : 150) * 1000000);
}

/* What moves: `move` times since the beginning, in a way of the chip's own. */
static void fake_moving(const struct fake *fake, uint64_t move)
{
	bool wormhole = board_is_wormhole(fake->options->board);
	uint64_t swing = (move + 3 * fake->chip) % 20;
	uint64_t busy = swing < 10 ? swing : 20 - swing;  /* 0 to 10 */
	uint64_t power = (wormhole ? 12 : 30) + busy * 4; /* W */
	uint64_t voltage = 760 + 4 * busy;                /* mV */

	fake_value(fake->device, "tt_aiclk", "%u",
		busy ? (wormhole ? 1000u : 1350u) : (wormhole ? 500u : 800u));
	fake_value(fake->device, "tt_axiclk", "%u", wormhole ? 900u : 960u);
	fake_value(fake->device, "tt_arcclk", "%u", wormhole ? 540u : 800u);
	fake_value(fake->device, "tt_heartbeat", "%" PRIu64,
		1000 + fake->chip + 5 * move);
	fake_value(fake->hwmon, "temp1_input", "%" PRIu64,
		38000 + busy * 1500 + fake->chip % 7 * 125);
	fake_value(fake->hwmon, "power1_input", "%" PRIu64, power * 1000000);
	fake_value(fake->hwmon, "curr1_input", "%" PRIu64,
		power * 1000000 / voltage);
	fake_value(fake->hwmon, "in0_input", "%" PRIu64, voltage);
	if (!wormhole)
		fake_value(fake->hwmon, "fan1_input", "%" PRIu64,
			1200 + busy * 120);
}

/* A line per open file: ours, twice, or none. */
static void fake_pids(const struct fake *fake, bool held)
{
	if (held)
		fake_value(fake->proc, "pids", "%d\n%d", getpid(), getpid());
	else
		fake_empty(fake->proc, "pids");
}

static void fake_make(const struct fake *fake)
{
	char path[FAKE_PATH_SIZE], target[FAKE_PATH_SIZE];

	fake_directory(fake->device);
	fake_directory(fake->hwmon);
	fake_directory(fake->proc);
	fake_constants(fake);
	fake_moving(fake, 0);
	fake_pids(fake, fake->options->seconds > 0);
	fake_path(path, "%s/device", fake->device);
	fake_path(target, "../../../%s", fake->address);
	fake_link(target, path);
	/* Last: here it is found. */
	fake_path(path, "%s/sys/class/tenstorrent", fake->options->fake_sysfs);
	fake_directory(path);
	fake_path(path, "%s/sys/class/tenstorrent/tenstorrent!%" PRIu64,
		fake->options->fake_sysfs, fake->number);
	fake_path(target, "../../devices%s",
		fake->device + strlen(fake->options->fake_sysfs) +
			strlen("/sys/devices"));
	fake_link(target, path);
}

/* -- all of them -------------------------------------------------------------- */

static size_t fakes_list(
	const struct load_options *options, struct fake *ret_fakes)
{
	uint64_t chips = options->devices_given ? options->devices :
						  options->board->chips;
	uint64_t i;
	size_t len = 0;

	for (i = 0; i < chips; i++) {
		ret_fakes[len].options = options;
		ret_fakes[len].chip = options->chip_offset + i;
		ret_fakes[len].number = options->logical_offset + len;
		if (fake_place(&ret_fakes[len]))
			len++;
	}
	return len;
}

static void fakes_move(const struct load_options *options,
	const struct fake *fakes, size_t len)
{
	const struct timespec pause = { 0, 1000000000 / MOVES_PER_S };
	uint64_t moves = (uint64_t)(options->seconds * MOVES_PER_S), move;
	size_t i;

	for (move = 1; move <= moves; move++) {
		nanosleep(&pause, NULL);
		for (i = 0; i < len; i++)
			fake_moving(&fakes[i], move);
	}
	for (i = 0; i < len; i++)
		fake_pids(&fakes[i], false);
}

int load_fake_sysfs(const struct load_options *options)
{
	static struct fake fakes[64];
	size_t len = fakes_list(options, fakes), i;

	for (i = 0; i < len; i++)
		fake_make(&fakes[i]);
	if (!options->quiet)
		printf("%zu device%s of %s in %s\n", len, len == 1 ? "" : "s",
			options->board->name, options->fake_sysfs);
	fflush(stdout);
	if (options->seconds > 0)
		fakes_move(options, fakes, len);
	return TTM_EXIT_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A small sysfs and procfs in the test's directory, by hand. */
#ifndef TEST_TELEMETRY_TREE_H
#define TEST_TELEMETRY_TREE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <unity.h>

#include "support/test_dir.h"

#define TREE_PATH_SIZE 512

static char tree_sysfs[TREE_PATH_SIZE - 200];
static char tree_proc[TREE_PATH_SIZE - 200];

/* Of device `number`: "tt_aiclk", "device/hwmon/hwmon3/temp1_input", "pids". */
static inline const char *tree_path(unsigned number, const char *name)
{
	static char path[TREE_PATH_SIZE];

	if (strcmp(name, "pids") == 0)
		snprintf(path, sizeof(path), "%s/driver/tenstorrent/%u/pids",
			tree_proc, number);
	else
		snprintf(path, sizeof(path),
			"%s/class/tenstorrent/tenstorrent!%u/%s", tree_sysfs,
			number, name);
	return path;
}

static inline void tree_put(
	unsigned number, const char *name, const char *content)
{
	const char *path = tree_path(number, name);
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	TEST_ASSERT_TRUE_MESSAGE(fd >= 0, path);
	TEST_ASSERT_EQUAL_INT64(
		(int64_t)strlen(content), write(fd, content, strlen(content)));
	close(fd);
}

static inline void tree_directory(const char *path)
{
	char part[TREE_PATH_SIZE + 2];
	size_t i;

	snprintf(part, sizeof(part), "%s/", path);
	for (i = 1; part[i]; i++) {
		if (part[i] != '/')
			continue;
		part[i] = '\0';
		mkdir(part, 0755);
		part[i] = '/';
	}
}

static inline void tree_roots(const char *base)
{
	snprintf(tree_sysfs, sizeof(tree_sysfs), "%s/sys", base);
	snprintf(tree_proc, sizeof(tree_proc), "%s/proc", base);
}

#define HWMON "device/hwmon/hwmon3/"

/* The files and what is in them at first. */
static const struct {
	const char *name;
	const char *content;
} tree_files[] = {
	{ "tt_asic_id", "00C0FFEE0000BEEF\n" },
	{ "tt_card_type", "p150a\n" },
	{ "tt_serial", "0000046131924055\n" },
	{ "tt_fw_bundle_ver", "18.10.0.0\n" },
	{ "tt_aiclk", "1350\n" },
	{ "tt_axiclk", "960\n" },
	{ "tt_arcclk", "800\n" },
	{ "tt_heartbeat", "4711\n" },
	{ "tt_therm_trip_count", "0\n" },
	{ HWMON "name", "blackhole\n" },
	{ HWMON "temp1_input", "45250\n" },
	{ HWMON "temp1_max", "83000\n" },
	{ HWMON "power1_input", "61000000\n" },
	{ HWMON "power1_max", "150000000\n" },
	{ HWMON "curr1_input", "79000\n" },
	{ HWMON "in0_input", "772\n" },
	{ HWMON "fan1_input", "1450\n" },
	{ "device/vendor", "0x1e52\n" },
	{ "device/device", "0xb140\n" },
	{ "pids", "" },
};

#define TREE_FILES (sizeof(tree_files) / sizeof(tree_files[0]))

/* A device at 0000:0N:00.0 with all of them. */
static inline void tree_device(unsigned number)
{
	char path[TREE_PATH_SIZE], target[64];
	size_t i;

	snprintf(path, sizeof(path), "%s/devices/0000:%02x:00.0/hwmon/hwmon3",
		tree_sysfs, number);
	tree_directory(path);
	snprintf(path, sizeof(path), "%s/driver/tenstorrent/%u", tree_proc,
		number);
	tree_directory(path);
	tree_directory(tree_path(number, ""));
	snprintf(target, sizeof(target), "../../../devices/0000:%02x:00.0",
		number);
	unlink(tree_path(number, "device"));
	TEST_ASSERT_EQUAL_INT(0, symlink(target, tree_path(number, "device")));
	for (i = 0; i < TREE_FILES; i++)
		tree_put(number, tree_files[i].name, tree_files[i].content);
}

#endif

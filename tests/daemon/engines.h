/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the engine share: an engine, and what a watch brings it. */
#ifndef TEST_ENGINES_H
#define TEST_ENGINES_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/drained.h"
#include "daemon/engine_state.h"
#include "daemon/find/registry.h"
#include "support/test_dir.h"

static struct ttm_registry *registry;
static struct ttm_engine *engine;
static uint64_t inode;

static inline void quiet(int priority, const char *text)
{
	(void)priority;
	(void)text;
}

/* With what `home` has of a predecessor. */
static inline void engine_start(const char *home)
{
	struct ttm_engine_config config = { .mode = TTM_MODE_USER,
		.file_mode = 0600,
		.group = (uint32_t)-1,
		.log = quiet };

	config.directory_fd = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	TEST_ASSERT_TRUE(config.directory_fd >= 0);
	TEST_ASSERT_EQUAL_INT(0, ttm_registry_new(&registry));
	config.registry = registry;
	TEST_ASSERT_EQUAL_INT(0, ttm_engine_new(&config, &engine));
}

static inline void engine_begin(void)
{
	engine_start(getenv("TTMEM_DIR"));
}

/* As if it were killed: what it published last is all that is left. */
static inline void engine_end(void)
{
	ttm_engine_free(&engine);
	ttm_registry_free(&registry);
}

void setUp(void)
{
	test_tracking_start();
	engine_begin();
	/* What hangs fails. */
	alarm(100);
}

void tearDown(void)
{
	alarm(0);
	engine_end();
	test_tracking_stop();
}

static inline struct ttm_directory *directory_add(void)
{
	struct ttm_directory *directory = ttm_directory_new();

	TEST_ASSERT_NOT_NULL(directory);
	directory->state = TTM_DIRECTORY_HELD;
	directory->inode = ++inode;
	ttm_registry_add_directory(registry, directory);
	return directory;
}

/* `fd` becomes its own; -1 is a file that is no segment. */
static inline struct ttm_attached *attached_add(
	struct ttm_directory *directory, int fd)
{
	struct ttm_attached *attached = ttm_attached_new();

	TEST_ASSERT_NOT_NULL(attached);
	attached->directory = directory;
	attached->inode = ++inode;
	attached->fd = fd;
	strcpy(attached->name, "p.1.1.x");
	if (fd < 0)
		strcpy(attached->reason, "it is no segment");
	else
		TEST_ASSERT_EQUAL_INT64(sizeof(attached->header),
			pread(fd, &attached->header, sizeof(attached->header),
				0));
	TEST_ASSERT_TRUE(ttm_registry_add(registry, attached));
	return attached;
}

/* As if the watch had called. */
static inline void look(void)
{
	engine->sweep_ns = 0;
	TEST_ASSERT_EQUAL_INT(0, ttm_engine_first(engine));
}

/* Each row begins with its own reference, 0 where there is none. */
static inline size_t rows_shown(enum ttm_table_id table)
{
	size_t len = ttm_image_len(engine->output.image, table);
	size_t shown = 0, i;

	for (i = 0; i < len; i++)
		shown += *(const uint64_t *)ttm_image_at(
				 engine->output.image, table, i) != 0;
	return shown;
}

static inline void chip_open(
	uint32_t device, uint64_t chip_id, uint64_t pci_address)
{
	struct ttmem_device_info info;

	ttmem_device_info_init(&info, device);
	info.chip_id = chip_id;
	info.pci_address = pci_address;
	ttmem_device_open(&info);
}

static inline void chip_use(
	uint32_t device, uint64_t chip_id, uint64_t pci_address)
{
	chip_open(device, chip_id, pci_address);
	ttmem_alloc(device, TTMEM_DRAM, device, 0, 100);
}

/* What records told of a figure of all devices, as it is published. */
static inline uint64_t distribution_total(unsigned figure)
{
	const struct ttm_distribution_row *row;
	uint64_t total = 0;
	size_t i;

	for (i = 0; i <
		ttm_image_len(engine->output.image, TTM_TABLE_DISTRIBUTIONS);
		i++) {
		row = ttm_image_at(
			engine->output.image, TTM_TABLE_DISTRIBUTIONS, i);
		if (row->self && row->figure == figure &&
			row->kind == TTM_DISTRIBUTION_BYTES)
			total += row->total;
	}
	return total;
}

#endif

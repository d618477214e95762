/* SPDX-License-Identifier: Apache-2.0 */
/* The engine beside what a watch may bring it: whatever that is, it goes on. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/drained.h"
#include "aggregate/engine_state.h"
#include "aggregate/registry.h"
#include "shm/clock.h"
#include "support/test_dir.h"

static struct ttm_registry *registry;
static struct ttm_engine *engine;
static uint64_t inode;

static void quiet(int priority, const char *text)
{
	(void)priority;
	(void)text;
}

void setUp(void)
{
	struct ttm_engine_config config = { .mode = TTM_MODE_USER,
		.file_mode = 0600,
		.group = (uint32_t)-1,
		.log = quiet };

	test_tracking_start();
	config.directory_fd = open(
		getenv("TTMEM_DIR"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	TEST_ASSERT_TRUE(config.directory_fd >= 0);
	TEST_ASSERT_EQUAL_INT(0, ttm_registry_new(&registry));
	config.registry = registry;
	TEST_ASSERT_EQUAL_INT(0, ttm_engine_new(&config, &engine));
	/* What hangs fails. */
	alarm(100);
}

void tearDown(void)
{
	alarm(0);
	ttm_engine_free(&engine);
	ttm_registry_free(&registry);
	test_tracking_stop();
}

static struct ttm_directory *directory_add(void)
{
	struct ttm_directory *directory = ttm_directory_new();

	TEST_ASSERT_NOT_NULL(directory);
	directory->state = TTM_DIRECTORY_HELD;
	directory->inode = ++inode;
	ttm_registry_add_directory(registry, directory);
	return directory;
}

/* `fd` becomes its own; -1 is a file that is no segment. */
static struct ttm_attached *attached_add(
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
static void look(void)
{
	engine->sweep_ns = 0;
	TEST_ASSERT_EQUAL_INT(0, ttm_engine_first(engine));
}

static void test_a_directory_that_is_gone_stays_while_anything_is_in_it(void)
{
	struct ttm_directory *directory = directory_add();
	struct ttm_attached *attached;

	look();
	attached = attached_add(directory, -1);
	look();
	TEST_ASSERT_TRUE(attached->process->quarantined);
	/* Removed with what is in it; the watch says so of the one first. */
	directory->gone = 1;
	ttm_engine_directories(engine, ttm_clock_ns(CLOCK_MONOTONIC));
	TEST_ASSERT_EQUAL_UINT64(0, directory->released);
	attached->vanished = 1;
	look();
	look();
	TEST_ASSERT_EQUAL_UINT64(1, directory->released);
	TEST_ASSERT_TRUE(ttm_registry_tidy(registry, directory));
}

static void chip_open(uint32_t device, uint64_t chip_id, uint64_t pci_address)
{
	struct ttmem_device_info info;

	ttmem_device_info_init(&info, device);
	info.chip_id = chip_id;
	info.pci_address = pci_address;
	ttmem_device_open(&info);
	ttmem_alloc(device, TTMEM_DRAM, device, 0, 100);
}

static void test_one_chip_at_two_addresses_is_one_chip(void)
{
	struct ttm_attached *attached;
	const struct ttm_chip *chip;

	chip_open(0, 17, 0x100);
	chip_open(1, 17, 0x200);
	chip_open(2, TTMEM_UNKNOWN, 0x100);
	attached = attached_add(
		directory_add(), drained_copy(test_segment_path()));
	look();
	attached->process->changed = true;
	look();
	chip = attached->process->parts[0]->chip;
	TEST_ASSERT_NOT_NULL(chip);
	TEST_ASSERT_EQUAL_PTR(chip, attached->process->parts[1]->chip);
	TEST_ASSERT_TRUE(
		chip->total.figures[TTMEM_FIGURE_DRAM].live_bytes >= 200);
}

int main(void)
{
	int failed;

	rcu_register_thread();
	UNITY_BEGIN();
	RUN_TEST(test_a_directory_that_is_gone_stays_while_anything_is_in_it);
	RUN_TEST(test_one_chip_at_two_addresses_is_one_chip);
	failed = UNITY_END();
	rcu_unregister_thread();
	return failed;
}

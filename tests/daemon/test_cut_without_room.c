/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far lanes were read and what was read there are one cut, also where there is no
 * room for all of it: whoever goes on from there counts each record once.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "daemon/drained.h"
#include "daemon/engine_state.h"
#include "daemon/find/registry.h"
#include "faults/mounts.h"
#include "shm/clock.h"
#include "support/test_dir.h"

enum {
	THREADS = 200, /* more lanes than the first file has positions for */
	DEVICES = 20,  /* the same for devices, and their distributions */
	LEFT = 1
		<< 20 /* for the file of retired ones, not for a larger aggregate */
};

static char home[] = "/dev/shm/ttmem-test.cut.XXXXXX";
static char filler[64];
static struct ttm_registry *registry;
static struct ttm_engine *engine;
static struct ttm_attached *attached;

static void quiet(int priority, const char *text)
{
	(void)priority;
	(void)text;
}

static void engine_start(void)
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

/* As if it were killed: nothing more is published. */
static void engine_kill(void)
{
	int home_fd = engine->config.directory_fd;

	ttm_engine_free(&engine);
	ttm_registry_free(&registry);
	close(home_fd);
}

void setUp(void)
{
	test_tracking_start();
	mounts_tmpfs(home, "size=32m");
	engine_start();
	alarm(100);
}

void tearDown(void)
{
	alarm(0);
	engine_kill();
	TEST_ASSERT_EQUAL_INT(0, umount(home));
	test_tracking_stop();
}

/* -- room --------------------------------------------------------------------- */

static void fill(void)
{
	struct statvfs fs;
	int fd = open(filler, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	TEST_ASSERT_TRUE(fd >= 0);
	TEST_ASSERT_EQUAL_INT(0, statvfs(home, &fs));
	TEST_ASSERT_EQUAL_INT(0,
		fallocate(fd, 0, 0, (off_t)(fs.f_bfree * fs.f_frsize - LEFT)));
	close(fd);
}

/* -- a process ---------------------------------------------------------------- */

/* A directory of its own: here the file of retired ones has a place. */
static struct ttm_directory *directory_serve(void)
{
	struct ttm_directory *directory = ttm_directory_new();

	TEST_ASSERT_NOT_NULL(directory);
	directory->state = TTM_DIRECTORY_SERVED;
	directory->uid = geteuid();
	directory->fd = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	TEST_ASSERT_TRUE(directory->fd >= 0);
	ttm_registry_add_directory(registry, directory);
	return directory;
}

/* The segment as it is now; whatever is written later is not in it. */
static void attach(void)
{
	attached = ttm_attached_new();
	TEST_ASSERT_NOT_NULL(attached);
	attached->directory = directory_serve();
	attached->inode = 1;
	attached->fd = drained_copy(test_segment_path());
	strcpy(attached->name, "p.1.1.x");
	TEST_ASSERT_EQUAL_INT64(sizeof(attached->header),
		pread(attached->fd, &attached->header, sizeof(attached->header),
			0));
	TEST_ASSERT_TRUE(ttm_registry_add(registry, attached));
}

/* What the process has done since comes in. */
static void segment_refresh(void)
{
	int now = drained_copy(test_segment_path());

	TEST_ASSERT_TRUE(dup2(now, attached->fd) >= 0);
	close(now);
	attached->process->due_ns = 0;
	attached->process->devices_wanted = true;
}

static int look(void)
{
	engine->sweep_ns = 0;
	return ttm_engine_first(engine);
}

static void chip_open(uint32_t device)
{
	struct ttmem_device_info info;

	ttmem_device_info_init(&info, device);
	info.chip_id = 100 + device;
	ttmem_device_open(&info);
}

static pthread_barrier_t all_have;

static void *allocates(void *id)
{
	ttmem_alloc(0, TTMEM_DRAM, (uint64_t)(uintptr_t)id, 0, 100);
	/* Whose thread has ended has no lane of its own any more. */
	pthread_barrier_wait(&all_have);
	return NULL;
}

static void threads_allocate(void)
{
	pthread_t threads[THREADS];
	unsigned i;

	TEST_ASSERT_EQUAL_INT(
		0, pthread_barrier_init(&all_have, NULL, THREADS));
	for (i = 0; i < THREADS; i++)
		TEST_ASSERT_EQUAL_INT(0,
			pthread_create(&threads[i], NULL, allocates,
				(void *)(uintptr_t)(1000 + i)));
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&all_have);
}

static void devices_allocate(unsigned times)
{
	unsigned device, i;

	for (device = 0; device < DEVICES; device++) {
		chip_open(device);
		for (i = 0; i < times; i++)
			ttmem_alloc(device, TTMEM_DRAM, 100 + i, 0, 100);
	}
}

/* -- what is told ------------------------------------------------------------- */

/* Of all devices, by this ttmemd or the one before. */
static uint64_t distributions_total(void)
{
	const struct ttm_distribution_row *row;
	uint64_t total = 0;
	size_t i;

	for (i = 0; i <
		ttm_image_len(engine->output.image, TTM_TABLE_DISTRIBUTIONS);
		i++) {
		row = ttm_image_at(
			engine->output.image, TTM_TABLE_DISTRIBUTIONS, i);
		if (row->self && row->kind == TTM_DISTRIBUTION_BYTES)
			total += row->total;
	}
	return total;
}

/* Killed, and there is room again: the next one reads what it does not know yet. */
static void expect_a_successor_to_tell(uint64_t records)
{
	engine_kill();
	unlink(filler);
	engine_start();
	attach();
	TEST_ASSERT_EQUAL_INT(0, look());
	TEST_ASSERT_EQUAL_UINT64(records, distributions_total());
	TEST_ASSERT_EQUAL_UINT64(0, attached->process->missed);
}

static void begin(void)
{
	chip_open(0);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
	attach();
	TEST_ASSERT_EQUAL_INT(0, look());
	TEST_ASSERT_EQUAL_UINT64(1, distributions_total());
	fill();
}

static void test_positions_that_do_not_fit(void)
{
	begin();
	threads_allocate();
	segment_refresh();
	TEST_ASSERT_EQUAL_INT(1, look());
	TEST_ASSERT_EQUAL_UINT64(1 + THREADS, distributions_total());
	/* Both copies of the file have been written since. */
	TEST_ASSERT_EQUAL_INT(1, look());
	expect_a_successor_to_tell(1 + THREADS);
}

static void test_distributions_that_do_not_fit(void)
{
	begin();
	devices_allocate(3);
	segment_refresh();
	TEST_ASSERT_EQUAL_INT(1, look());
	TEST_ASSERT_EQUAL_UINT64(1 + 3 * DEVICES, distributions_total());
	TEST_ASSERT_EQUAL_INT(1, look());
	expect_a_successor_to_tell(1 + 3 * DEVICES);
}

/* With what fits, nothing is held back: records may be overwritten meanwhile. */
static void test_a_cut_that_fits_is_published(void)
{
	unsigned i;

	begin();
	for (i = 0; i < 2000; i++)
		ttmem_alloc(0, TTMEM_DRAM, 100 + i, 0, 100);
	segment_refresh();
	TEST_ASSERT_EQUAL_INT(1, look());
	for (i = 0; i < 1000; i++)
		ttmem_free(0, TTMEM_DRAM, 100 + i);
	expect_a_successor_to_tell(2001);
}

/*
 * A process that is retired is not read again. Though a publication fails, it has what
 * its records told: that has to be there first.
 */
static void test_who_ends_is_retired_after_what_it_told_is_published(void)
{
	bool waits;
	unsigned i;

	begin();
	for (i = 0; i < 2000; i++)
		ttmem_alloc(0, TTMEM_DRAM, 100 + i, 0, 100);
	segment_refresh();
	TEST_ASSERT_EQUAL_INT(1, look());
	ttmem_alloc(0, TTMEM_DRAM, 2, 0, 100);
	segment_refresh();
	attached->fate = TTM_FATE_DEAD;
	rcu_read_lock();
	ttm_engine_process(engine, attached, ttm_clock_ns(CLOCK_MONOTONIC));
	waits = attached->process != NULL;
	rcu_read_unlock();
	TEST_ASSERT_TRUE(waits);
	/* As a round does. */
	TEST_ASSERT_EQUAL_INT(1, look());
	TEST_ASSERT_EQUAL_INT(1, look());
	TEST_ASSERT_EQUAL_UINT64(0, engine->attached);
	TEST_ASSERT_EQUAL_UINT64(0, engine->retire_errors);
	engine_kill();
	unlink(filler);
	engine_start();
	directory_serve();
	TEST_ASSERT_EQUAL_INT(0, look());
	TEST_ASSERT_EQUAL_UINT64(2002, distributions_total());
}

/* It would never be: what it left is more than what it did. */
static void test_who_ends_is_retired_though_what_it_told_does_not_fit(void)
{
	begin();
	threads_allocate();
	segment_refresh();
	attached->fate = TTM_FATE_DEAD;
	TEST_ASSERT_EQUAL_INT(1, look());
	TEST_ASSERT_EQUAL_UINT64(1, engine->attached);
	TEST_ASSERT_EQUAL_INT(1, look());
	TEST_ASSERT_EQUAL_UINT64(0, engine->attached);
	TEST_ASSERT_EQUAL_UINT64(0, engine->retire_errors);
}

/* What is read only when it has room again is counted once, too. */
static void test_room_comes_back(void)
{
	begin();
	threads_allocate();
	segment_refresh();
	TEST_ASSERT_EQUAL_INT(1, look());
	unlink(filler);
	TEST_ASSERT_EQUAL_INT(0, look());
	expect_a_successor_to_tell(1 + THREADS);
}

int main(void)
{
	int failed;

	mounts_begin();
	if (!mkdtemp(home))
		return 1;
	snprintf(filler, sizeof(filler), "%s/filler", home);
	rcu_register_thread();
	UNITY_BEGIN();
	RUN_TEST(test_positions_that_do_not_fit);
	RUN_TEST(test_distributions_that_do_not_fit);
	RUN_TEST(test_a_cut_that_fits_is_published);
	RUN_TEST(test_who_ends_is_retired_after_what_it_told_is_published);
	RUN_TEST(test_who_ends_is_retired_though_what_it_told_does_not_fit);
	RUN_TEST(test_room_comes_back);
	failed = UNITY_END();
	rcu_unregister_thread();
	rmdir(home);
	return failed;
}

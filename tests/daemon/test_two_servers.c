/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ttmemds that both believe they serve a directory, for somebody removed the file
 * with the lock of the first: processes that end there are retired once each.
 */
#include "daemon/engines.h"

#include "daemon/dead/retired.h"
#include "daemon/dead/retirees.h"
#include "shm/atomics.h"

enum {
	PROCESSES = 3
};

struct server {
	struct ttm_registry *registry;
	struct ttm_engine *engine;
	struct ttm_directory *directory;
	struct ttm_attached *attached[PROCESSES];
};

static struct server servers[2];

static void server_use(const struct server *server)
{
	registry = server->registry;
	engine = server->engine;
}

static struct ttm_directory *served_add(void)
{
	struct ttm_directory *directory = directory_add();
	char path[400];

	snprintf(path, sizeof(path), "%s/ttmem-%u", getenv("TTMEM_DIR"),
		geteuid());
	directory->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	TEST_ASSERT_TRUE(directory->fd >= 0);
	directory->uid = geteuid();
	ttm_store(&directory->state, TTM_DIRECTORY_SERVED);
	return directory;
}

/* Whose segments they are tells the first byte of their uuid. */
static void server_begin(struct server *server)
{
	unsigned i;

	server->registry = registry;
	server->engine = engine;
	server->directory = served_add();
	for (i = 0; i < PROCESSES; i++) {
		server->attached[i] = attached_add(
			server->directory, drained_copy(test_segment_path()));
		server->attached[i]->header.uuid[0] = (uint8_t)(i + 1);
	}
	look();
}

/* Both know of both processes, and of nobody who ended before. */
static void both_serve(void)
{
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
	server_begin(&servers[0]);
	engine_begin();
	server_begin(&servers[1]);
}

/* It sees the process dead; once it has published that, it retires it. */
static void sees_dead(struct server *server, unsigned process)
{
	server_use(server);
	ttm_store(&server->attached[process]->fate, TTM_FATE_DEAD);
	look();
	look();
}

static void entry_count(void *context, const struct ttm_retired_entry *entry)
{
	unsigned *counts = context;
	unsigned process = entry->process->uuid[0] - 1u;

	TEST_ASSERT_TRUE(process < PROCESSES);
	counts[process]++;
}

static void each_is_retired_once(int directory_fd)
{
	unsigned counts[PROCESSES] = { 0 };
	struct ttm_retired *file;
	unsigned i;
	bool broken;

	TEST_ASSERT_EQUAL_INT(0,
		ttm_retired_open(directory_fd, geteuid(), entry_count, counts,
			&file, &broken));
	ttm_retired_close(&file);
	TEST_ASSERT_FALSE(broken);
	for (i = 0; i < PROCESSES; i++)
		TEST_ASSERT_EQUAL_UINT(1, counts[i]);
}

static uint64_t retired_shown(const struct server *server)
{
	struct ttm_directory_row row = { 0 };

	TEST_ASSERT_NOT_NULL(server->directory->retirees);
	ttm_retirees_describe(server->directory->retirees, &row);
	return row.retired;
}

/* Each sees some of them dead first, and then those that the other did. */
static void test_who_ends_is_retired_once_though_two_serve(void)
{
	int directory_fd;

	both_serve();
	directory_fd = dup(servers[0].directory->fd);
	sees_dead(&servers[0], 0);
	sees_dead(&servers[1], 1);
	sees_dead(&servers[1], 2);
	sees_dead(&servers[0], 1);
	sees_dead(&servers[0], 2);
	sees_dead(&servers[1], 0);
	/* The first has found out by now that it does not serve any more. */
	server_use(&servers[0]);
	engine_end();
	server_use(&servers[1]);
	look();
	look();
	TEST_ASSERT_EQUAL_UINT64(PROCESSES, retired_shown(&servers[1]));
	TEST_ASSERT_EQUAL_UINT64(PROCESSES, rows_shown(TTM_TABLE_PROCESSES));
	ttm_retirees_close(&servers[1].directory->retirees);
	each_is_retired_once(directory_fd);
	close(directory_fd);
}

static uint64_t live_bytes(void)
{
	const struct ttm_chip *chip;
	uint64_t sum = 0;

	for (chip = engine->output.chips.first; chip; chip = chip->next)
		sum += chip->total.figures[TTMEM_FIGURE_DRAM].live_bytes;
	return sum;
}

/* Each is either retired or live, and those that the file has are retired. */
static void each_is_shown_once(uint64_t retired)
{
	TEST_ASSERT_EQUAL_UINT64(retired, retired_shown(&servers[1]));
	TEST_ASSERT_EQUAL_UINT64(PROCESSES, rows_shown(TTM_TABLE_PROCESSES));
	TEST_ASSERT_EQUAL_UINT64(PROCESSES, rows_shown(TTM_TABLE_SHARES));
	TEST_ASSERT_EQUAL_UINT64((PROCESSES - retired) * 100, live_bytes());
	TEST_ASSERT_EQUAL_UINT64(PROCESSES - retired, engine->attached);
}

/* The second has not seen them end when the file is its own. */
static void test_who_was_retired_by_the_other_is_not_live_as_well(void)
{
	both_serve();
	sees_dead(&servers[0], 0);
	sees_dead(&servers[0], 1);
	server_use(&servers[0]);
	engine_end();
	server_use(&servers[1]);
	look();
	each_is_shown_once(2);
	look();
	each_is_shown_once(2);
}

/* The owner removed the file of the first, and the second has made the next one. */
static void test_who_is_in_the_next_file_is_not_live_as_well(void)
{
	both_serve();
	sees_dead(&servers[0], 0);
	TEST_ASSERT_EQUAL_INT(
		0, unlinkat(servers[0].directory->fd, TTM_RETIRED_FILE, 0));
	server_use(&servers[1]);
	look();
	sees_dead(&servers[1], 1);
	TEST_ASSERT_EQUAL_UINT64(1, retired_shown(&servers[1]));
	/* Its own is of no use any more, and the other's not to be had. */
	sees_dead(&servers[0], 2);
	look();
	TEST_ASSERT_NULL(servers[0].directory->retirees);
	server_use(&servers[1]);
	engine_end();
	server_use(&servers[0]);
	look();
	look();
	/* Who ended before that went with the file. */
	TEST_ASSERT_EQUAL_UINT64(2, retired_shown(&servers[0]));
	TEST_ASSERT_EQUAL_UINT64(2, rows_shown(TTM_TABLE_PROCESSES));
	TEST_ASSERT_EQUAL_UINT64(0, live_bytes());
	TEST_ASSERT_EQUAL_UINT64(0, engine->attached);
}

static char said[512];

static void hear(int priority, const char *text)
{
	(void)priority;
	snprintf(said, sizeof(said), "%s", text);
}

static void test_who_cannot_be_retired_is_told_with_the_reason(void)
{
	both_serve();
	servers[1].engine->config.log = hear;
	sees_dead(&servers[1], 0);
	TEST_ASSERT_NOT_NULL(strstr(said, "cannot retire process"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(said, strerror(EBUSY)), said);
	server_use(&servers[0]);
	engine_end();
	server_use(&servers[1]);
}

/* What it had begun when the other came is not cut off. */
static void test_nobody_opens_what_another_has_open(void)
{
	struct ttm_retired *first, *second = NULL;
	unsigned counts[PROCESSES] = { 0 };
	struct ttm_directory *directory = served_add();
	bool broken;

	TEST_ASSERT_EQUAL_INT(0,
		ttm_retired_open(directory->fd, geteuid(), entry_count, counts,
			&first, &broken));
	TEST_ASSERT_EQUAL_INT(-EBUSY,
		ttm_retired_open(directory->fd, geteuid(), entry_count, counts,
			&second, &broken));
	TEST_ASSERT_NULL(second);
	ttm_retired_close(&first);
	TEST_ASSERT_EQUAL_INT(0,
		ttm_retired_open(directory->fd, geteuid(), entry_count, counts,
			&second, &broken));
	ttm_retired_close(&second);
}

int main(void)
{
	int failed;

	rcu_register_thread();
	UNITY_BEGIN();
	RUN_TEST(test_who_ends_is_retired_once_though_two_serve);
	RUN_TEST(test_who_was_retired_by_the_other_is_not_live_as_well);
	RUN_TEST(test_who_is_in_the_next_file_is_not_live_as_well);
	RUN_TEST(test_who_cannot_be_retired_is_told_with_the_reason);
	RUN_TEST(test_nobody_opens_what_another_has_open);
	failed = UNITY_END();
	rcu_unregister_thread();
	return failed;
}

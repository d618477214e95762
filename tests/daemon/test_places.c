/* SPDX-License-Identifier: Apache-2.0 */
/* Objects on several devices, from the words of a segment to the rows for readers. */
#include <stdio.h>

#include "daemon/dead/retirees.h"
#include "daemon/engine_state.h"
#include "daemon/find/registry.h"
#include "daemon/made.h"
#include "daemon/model_check.h"
#include "support/test_dir.h"

#define PAIR 3u  /* devices 0 and 1 */
#define FIRST 1u /* device 0 */
#define LATER 2u /* device 1 */
#define OTHER 4u /* device 2 */
#define ALL 7u

static struct made made;
static struct drained drained;

void setUp(void)
{
	uint32_t i;

	made_begin(&made);
	for (i = 0; i < 3; i++)
		made_device(&made, i);
	for (i = 1; i <= ALL; i++)
		made_place(&made, i, i);
	drained_open_fd(&drained, made.fd);
}

void tearDown(void)
{
	drained_close(&drained);
}

static void buffer(uint32_t slot, uint32_t place)
{
	struct ttm_words words = made_buffer(
		&made, slot, place, TTMEM_FIGURE_DRAM);

	made_alloc(&made, &words);
}

static void is_fine(void)
{
	int r = drained_round(&drained);

	TEST_ASSERT_TRUE_MESSAGE(r >= 0, drained.process->source.reason);
	model_check(&drained.process->model);
}

static void is_refused(void)
{
	drained_refuses(&drained, drained_round(&drained));
}

/* Objects in use and orphaned ones, of the first three devices. */
static void objects_are(uint64_t live0, uint64_t orphaned0, uint64_t live1,
	uint64_t orphaned1, uint64_t live2, uint64_t orphaned2)
{
	const uint64_t expected[] = { live0, orphaned0, live1, orphaned1, live2,
		orphaned2 };
	const struct ttm_share *share;
	unsigned i;

	for (i = 0; i < 3; i++) {
		share = &drained.process->model.shares[i];
		TEST_ASSERT_EQUAL_UINT64(expected[2 * i],
			share->live[TTMEM_FIGURE_DRAM].objects);
		TEST_ASSERT_EQUAL_UINT64(expected[2 * i] * 100,
			share->live[TTMEM_FIGURE_DRAM].bytes);
		TEST_ASSERT_EQUAL_UINT64(expected[2 * i] * 60,
			share->requested[TTMEM_FIGURE_DRAM]);
		TEST_ASSERT_EQUAL_UINT64(expected[2 * i + 1],
			share->orphaned[TTMEM_FIGURE_DRAM].objects);
	}
}

/* -- drained ------------------------------------------------------------------- */

static void test_an_object_is_tallied_on_each_device(void)
{
	buffer(1, ALL);
	buffer(2, PAIR);
	buffer(3, FIRST);
	is_fine();
	objects_are(3, 0, 2, 0, 1, 0);
	TEST_ASSERT_EQUAL_UINT64(3, drained.process->model.live_objects);
	made_shrink(&made, 2, 0);
	is_fine();
	objects_are(2, 0, 1, 0, 1, 0);
	TEST_ASSERT_TRUE(drained_last(&drained) >= 0);
	objects_are(2, 0, 1, 0, 1, 0);
}

static void test_a_shrink_leaves_the_rest(void)
{
	buffer(1, ALL);
	made_shrink(&made, 1, PAIR);
	is_fine();
	objects_are(1, 0, 1, 0, 0, 0);
	made_shrink(&made, 1, LATER);
	is_fine();
	objects_are(0, 0, 1, 0, 0, 0);
	made_shrink(&made, 1, 0);
	is_fine();
	objects_are(0, 0, 0, 0, 0, 0);
}

static void test_a_close_orphans_only_the_parts_on_its_devices(void)
{
	buffer(1, ALL);
	buffer(2, LATER);
	made_close(&made, LATER);
	buffer(3, PAIR);
	is_fine();
	objects_are(2, 0, 1, 2, 1, 0);
	made_close(&made, PAIR);
	is_fine();
	objects_are(0, 2, 0, 3, 1, 0);
	made_shrink(&made, 1, 0);
	is_fine();
	objects_are(0, 1, 0, 2, 0, 0);
	TEST_ASSERT_TRUE(drained_last(&drained) >= 0);
	objects_are(0, 1, 0, 2, 0, 0);
}

/* A publication reads the counters, and then the shares: they are complete by then. */
static void test_reading_counters_leaves_the_tallies_complete(void)
{
	buffer(1, PAIR);
	TEST_ASSERT_TRUE(drained_round(&drained) >= 0);
	objects_are(1, 0, 1, 0, 0, 0);
	made_close(&made, OTHER);
	TEST_ASSERT_EQUAL_INT(0, ttm_drain_counters(drained.process));
	/* No model_check(): it completes the tallies itself. */
	objects_are(1, 0, 1, 0, 0, 0);
	model_check(&drained.process->model);
}

/* The close is told behind the allocation that followed it. */
static void test_an_object_that_is_ahead_of_the_close_is_live(void)
{
	buffer(1, FIRST);
	is_fine();
	drained_poke(made.fd, TTM_DEVICES_OFF + 8, TTM_ERA(1, 0));
	drained_poke(made.fd, MADE_LIVE(closes), 1);
	buffer(2, FIRST);
	is_fine();
	objects_are(1, 1, 0, 0, 0, 0);
	TEST_ASSERT_EQUAL_UINT64(1, drained.process->model.closes);
}

static void test_a_place_that_comes_later_is_learnt(void)
{
	buffer(1, FIRST);
	is_fine();
	made_device(&made, 3);
	made_place(&made, 1000, 8 | 1);
	made_place(&made, TTM_PLACES_MAX - 1, 8);
	buffer(2, 1000);
	buffer(3, TTM_PLACES_MAX - 1);
	is_fine();
	TEST_ASSERT_EQUAL_UINT64(2,
		drained.process->model.shares[3]
			.live[TTMEM_FIGURE_DRAM]
			.objects);
	objects_are(2, 0, 0, 0, 0, 0);
}

static void test_an_object_on_all_devices_there_can_be(void)
{
	uint32_t i;

	for (i = 3; i < TTM_DEVICES_MAX; i++)
		made_device(&made, i);
	made_place(&made, 8, UINT64_MAX);
	buffer(1, 8);
	is_fine();
	TEST_ASSERT_EQUAL_UINT64(100,
		drained.process->model.shares[63]
			.live[TTMEM_FIGURE_DRAM]
			.bytes);
	TEST_ASSERT_EQUAL_UINT64(1, drained.process->model.live_objects);
}

/* -- what cannot be -------------------------------------------------------------- */

static void test_a_record_on_a_place_that_is_not_there_is_refused(void)
{
	static const uint32_t places[] = { 0, 8, 500, TTM_PLACES_MAX - 1 };
	unsigned i;

	for (i = 0; i < 4; i++) {
		buffer(1, places[i]);
		is_refused();
		tearDown();
		setUp();
	}
}

static void test_a_place_with_a_device_that_is_not_there_is_refused(void)
{
	made_place(&made, 8, 1 | 1ull << 40);
	buffer(1, 8);
	is_refused();
	/* An entry that is being made. */
	made_device(&made, 40);
	drained_poke(made.fd, TTM_DEVICES_OFF + 40 * 1024, 0);
	is_refused();
	made_device(&made, 40);
	is_fine();
	objects_are(1, 0, 0, 0, 0, 0);
}

static void test_a_free_on_a_place_that_is_not_there_is_refused(void)
{
	struct ttm_words words = made_buffer(&made, 1, 9, TTMEM_FIGURE_DRAM);

	words.w[0] = TTM_W0_FREE(words.w[0]);
	words.w[1] = TTM_W1_AS_RECORD(words.w[1], 0, TTM_RECORD_FREE);
	made_record(&made, &words);
	is_refused();
}

static void test_a_record_about_no_object_may_name_no_place(void)
{
	struct ttm_words words = { { 0,
		TTM_W1(TTM_SLOT_NONE, 0, TTM_FIGURE_NONE, 0,
			TTM_RECORD_ANOMALY),
		0, 0, 0, 0, 0, 0 } };

	made_record(&made, &words);
	is_fine();
	words.w[0] = TTM_W0(0, 99, 0);
	made_record(&made, &words);
	is_refused();
}

static void test_an_object_beyond_its_place_of_allocation_is_refused(void)
{
	buffer(1, PAIR);
	is_fine();
	made_shrink(&made, 1, OTHER);
	is_refused();
}

/* A slot read in the middle of a change: its record will follow. */
static void test_a_slot_on_no_place_is_free_while_its_process_runs(void)
{
	struct ttm_words words = made_buffer(&made, 7, 99, TTMEM_FIGURE_DRAM);

	made_slot_set(&made, 7, &words);
	buffer(1, FIRST);
	is_fine();
	TEST_ASSERT_EQUAL_UINT64(1, drained.process->model.live_objects);
	drained_refuses(&drained, drained_last(&drained));
}

/* Each of them is looked for, which takes time. */
static void test_many_slots_on_no_place_are_refused(void)
{
	struct ttm_words words;
	uint32_t slot;

	for (slot = 0; slot < 257; slot++) {
		words = made_buffer(&made, slot, 99, TTMEM_FIGURE_DRAM);
		made_slot_set(&made, slot, &words);
	}
	is_refused();
	drained_poke(made.fd, made.slots, 0);
	is_fine();
}

static void test_more_records_under_way_than_an_operation_has_are_refused(void)
{
	buffer(1, FIRST);
	drained_poke(made.fd, TTM_LANES_OFF, 3);
	is_fine();
	TEST_ASSERT_TRUE(drained_last(&drained) >= 0);
	TEST_ASSERT_EQUAL_UINT64(1, drained.process->in_flight);
	drained_poke(made.fd, TTM_LANES_OFF, 4);
	is_fine();
	drained_refuses(&drained, drained_last(&drained));
}

/* -- core sets ---------------------------------------------------------------------- */

static void cb(uint32_t slot, uint32_t place, uint64_t cores, uint64_t core_set)
{
	struct ttm_words words = made_cb(&made, slot, place, cores, core_set);

	made_alloc(&made, &words);
}

static void footprint_is(unsigned device, uint64_t bytes, bool exact)
{
	struct ttm_l1_facts facts = { 64, TTMEM_UNKNOWN, TTMEM_UNKNOWN };
	struct ttm_l1_result result;

	TEST_ASSERT_EQUAL_INT(0,
		ttm_model_l1(&drained.process->model, device, &facts, &result));
	TEST_ASSERT_EQUAL_UINT64(bytes, result.cb_footprint);
	TEST_ASSERT_EQUAL(exact, result.cb_footprint_exact);
}

static void test_a_core_set_is_read(void)
{
	made_core_set(&made, 1, 0x0f, 4);
	made_core_set(&made, 2, 0xf0, 4);
	cb(1, PAIR, 4, 1);
	cb(2, FIRST, 4, 2);
	is_fine();
	footprint_is(0, 256 * 8, true);
	footprint_is(1, 256 * 4, true);
	footprint_is(2, 0, true);
	/* A core set that comes later, and a count without a core set. */
	made_core_set(&made, 3, 0xf00, 4);
	cb(3, PAIR, 4, 3);
	is_fine();
	footprint_is(1, 256 * 8, true);
	cb(4, LATER, 2, 0);
	is_fine();
	footprint_is(0, 256 * 12, true);
	footprint_is(1, 256 * 10, false);
}

static void test_a_core_set_whose_count_lies_is_refused(void)
{
	made_core_set(&made, 1, 0x0f, 5);
	cb(1, PAIR, 5, 1);
	is_refused();
	drained_refuses(&drained, drained_last(&drained));
}

static void test_a_core_set_that_is_not_there_is_refused(void)
{
	cb(1, PAIR, 4, 1);
	is_refused();
	made_core_set(&made, 1, 0x0f, 0);
	is_refused();
	made_core_set(&made, 1, 0x0f, 4);
	is_fine();
}

/* The bytes of an object are computed from the count in its slot. */
static void test_an_object_with_another_count_than_its_set_is_refused(void)
{
	made_core_set(&made, 1, 0x0f, 4);
	cb(1, PAIR, 3, 1);
	is_refused();
}

/* -- sparse files --------------------------------------------------------------------- */

static void test_what_was_never_written_is_zeros(void)
{
	uint32_t i;

	for (i = 1; i < 50; i++)
		made_extent(&made, TTM_EXTENT_SLOTS, i);
	buffer(1, PAIR);
	is_fine();
	objects_are(1, 0, 1, 0, 0, 0);
	TEST_ASSERT_TRUE(drained_last(&drained) >= 0);
	objects_are(1, 0, 1, 0, 0, 0);
}

static void test_a_file_may_end_within_an_extent(void)
{
	uint64_t off = made_extent(&made, TTM_EXTENT_SLOTS, 1);
	struct ttm_words words;

	made.slots = off - TTM_SLOTS_PER_EXTENT * 64ull;
	words = made_buffer(&made, 2048, PAIR, TTMEM_FIGURE_DRAM);
	made_slot_set(&made, 2048, &words);
	TEST_ASSERT_EQUAL_INT(0, ftruncate(made.fd, (off_t)off + 64));
	is_fine();
	objects_are(1, 0, 1, 0, 0, 0);
	TEST_ASSERT_TRUE(drained_last(&drained) >= 0);
	objects_are(1, 0, 1, 0, 0, 0);
	/* Without its beginning it is not there. */
	TEST_ASSERT_EQUAL_INT(0, ftruncate(made.fd, (off_t)off));
	drained_refuses(&drained, drained_last(&drained));
}

/* Extents cost their owner nothing while they have no pages. */
static void test_extents_without_pages_cost_no_memory(void)
{
	unsigned long pages[2];
	unsigned i;

	for (i = 1; i < 4000; i++)
		made_extent(&made, TTM_EXTENT_SLOTS, i);
	for (i = 0; i < 2; i++) {
		FILE *file = fopen("/proc/self/statm", "r");

		TEST_ASSERT_NOT_NULL(file);
		TEST_ASSERT_EQUAL_INT(1, fscanf(file, "%*u %lu", &pages[i]));
		fclose(file);
		if (!i)
			TEST_ASSERT_EQUAL_INT(0, drained_round(&drained));
	}
	TEST_ASSERT_TRUE(pages[1] - pages[0] < (40u << 20) / 4096);
}

/* -- rows ----------------------------------------------------------------------------- */

static struct ttm_registry *registry;
static struct ttm_engine *engine;
static struct ttm_attached *attached;
static char lines[64][256];
static unsigned lines_len;

static void line_add(const char *text)
{
	if (lines_len < 64)
		snprintf(lines[lines_len++], sizeof(lines[0]), "%s", text);
}

static void quiet(int priority, const char *text)
{
	(void)priority;
	(void)text;
}

static void look(void)
{
	attached->process ? attached->process->due_ns = 0 : 0;
	engine->sweep_ns = 0;
	TEST_ASSERT_EQUAL_INT(0, ttm_engine_first(engine));
}

/* The engine takes the made segment up. */
static void engine_begin(void)
{
	struct ttm_engine_config config = { .mode = TTM_MODE_USER,
		.file_mode = 0600,
		.group = (uint32_t)-1,
		.log = quiet,
		.event = line_add };
	struct ttm_directory *directory = ttm_directory_new();

	config.directory_fd = open(
		test_dir_make(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	TEST_ASSERT_EQUAL_INT(0, ttm_registry_new(&registry));
	config.registry = registry;
	TEST_ASSERT_EQUAL_INT(0, ttm_engine_new(&config, &engine));
	directory->state = TTM_DIRECTORY_HELD;
	directory->inode = 1;
	ttm_registry_add_directory(registry, directory);
	attached = ttm_attached_new();
	attached->directory = directory;
	attached->inode = 2;
	attached->fd = dup(made.fd);
	strcpy(attached->name, "p.1.1.x");
	TEST_ASSERT_EQUAL_INT64(sizeof(attached->header),
		pread(attached->fd, &attached->header, sizeof(attached->header),
			0));
	TEST_ASSERT_TRUE(ttm_registry_add(registry, attached));
	lines_len = 0;
}

static void engine_end(void)
{
	ttm_engine_free(&engine);
	ttm_registry_free(&registry);
	test_dir_remove();
}

static struct ttm_object_row object_row(uint32_t slot)
{
	struct ttm_process *process = attached->process;
	const struct ttm_item *item = &ttm_model_mirror(&process->model, slot)
					       ->item;
	struct ttm_object_row row;

	ttm_output_object(&engine->output, process, slot, item, &row);
	return row;
}

static void test_rows_are_of_the_process_and_its_members(void)
{
	const struct ttm_process_row *process;
	const struct ttm_share_row *share;
	struct ttm_object_row row;

	buffer(1, PAIR);
	made_close(&made, FIRST);
	engine_begin();
	look();
	row = object_row(1);
	TEST_ASSERT_EQUAL_HEX64(attached->process->row, row.process);
	TEST_ASSERT_EQUAL_HEX64(PAIR, row.members);
	TEST_ASSERT_EQUAL_UINT64(60, TTM_W4_SIZE(row.w4));
	TEST_ASSERT_EQUAL_UINT64(PAIR, TTM_W4_PLACE(row.w4));
	TEST_ASSERT_EQUAL_UINT64(100, TTM_W5_USED(row.w5));
	TEST_ASSERT_EQUAL_UINT64(2, TTM_W5_BANKS(row.w5));
	TEST_ASSERT_EQUAL_UINT64(1, ttm_objects_used(engine->output.publisher));
	process = ttm_image_row(engine->output.image, TTM_TABLE_PROCESSES,
		attached->process->row);
	TEST_ASSERT_EQUAL_UINT64(1, process->closes);
	TEST_ASSERT_EQUAL_UINT64(1, process->objects);
	share = &attached->process->parts[0]->usage.published;
	TEST_ASSERT_EQUAL_UINT64(1, share->epoch);
	TEST_ASSERT_EQUAL_UINT64(
		100, share->figures[TTMEM_FIGURE_DRAM].orphaned_bytes);
	TEST_ASSERT_EQUAL_UINT64(
		0, share->figures[TTMEM_FIGURE_DRAM].requested_bytes);
	share = &attached->process->parts[1]->usage.published;
	TEST_ASSERT_EQUAL_UINT64(0, share->epoch);
	TEST_ASSERT_EQUAL_UINT64(
		60, share->figures[TTMEM_FIGURE_DRAM].requested_bytes);
	TEST_ASSERT_EQUAL_UINT64(1, share->cb_footprint_exact);
	made_shrink(&made, 1, LATER);
	look();
	TEST_ASSERT_EQUAL_HEX64(LATER, object_row(1).members);
	TEST_ASSERT_EQUAL_UINT64(1, ttm_objects_used(engine->output.publisher));
	made_shrink(&made, 1, 0);
	look();
	TEST_ASSERT_EQUAL_UINT64(0, ttm_objects_used(engine->output.publisher));
	engine_end();
}

static void line_is(unsigned at, const char *text)
{
	TEST_ASSERT_TRUE(at < lines_len);
	TEST_ASSERT_EQUAL_STRING(text, lines[at]);
}

static void test_lines_are_told_for_each_device(void)
{
	struct ttm_words words = made_buffer(&made, 1, ALL, TTMEM_FIGURE_DRAM);

	words.w[5] = TTM_W5(1u << 20, 0);
	made_alloc(&made, &words);
	made_shrink(&made, 1, PAIR);
	made_shrink(&made, 1, 0);
	engine_begin();
	look();
	made_close(&made, PAIR);
	look();
	line_is(0,
		"[ALLOC] DRAM buffer on device 10: +1.000 MiB (total "
		"1.000 MiB)");
	line_is(1,
		"[ALLOC] DRAM buffer on device 11: +1.000 MiB (total "
		"1.000 MiB)");
	line_is(2,
		"[ALLOC] DRAM buffer on device 12: +1.000 MiB (total "
		"1.000 MiB)");
	line_is(3,
		"[FREE] DRAM buffer on device 12: -1.000 MiB (total "
		"0.000 MiB)");
	line_is(4,
		"[FREE] DRAM buffer on device 10: -1.000 MiB (total "
		"0.000 MiB)");
	line_is(5,
		"[FREE] DRAM buffer on device 11: -1.000 MiB (total "
		"0.000 MiB)");
	line_is(6, "[DEVICE_CLOSE] on device 10 by process 1");
	line_is(7, "[DEVICE_CLOSE] on device 11 by process 1");
	TEST_ASSERT_EQUAL_UINT(8, lines_len);
	engine_end();
}

static uint64_t distribution_total(enum ttm_distribution_kind kind)
{
	const struct ttm_distribution_row *row;
	uint64_t total = 0;
	size_t i;

	for (i = 0; i <
		ttm_image_len(engine->output.image, TTM_TABLE_DISTRIBUTIONS);
		i++) {
		row = ttm_image_at(
			engine->output.image, TTM_TABLE_DISTRIBUTIONS, i);
		if (row->self && row->kind == kind)
			total += row->total;
	}
	return total;
}

/* Bytes on each device; lifetimes on those where the object ends with a FREE. */
static void test_distributions_are_of_devices(void)
{
	buffer(1, ALL);
	made_shrink(&made, 1, PAIR);
	made_shrink(&made, 1, 0);
	engine_begin();
	look();
	TEST_ASSERT_EQUAL_UINT64(3, distribution_total(TTM_DISTRIBUTION_BYTES));
	TEST_ASSERT_EQUAL_UINT64(
		2, distribution_total(TTM_DISTRIBUTION_LIFETIME_NS));
	engine_end();
}

static void failure_write(const struct ttm_failure *failure)
{
	TEST_ASSERT_EQUAL_INT64(sizeof(*failure),
		pwrite(made.fd, failure, sizeof(*failure), TTM_FAILURES_OFF));
}

static void test_a_failure_has_what_the_allocator_knew(void)
{
	struct ttm_failure failure = { .seq = 2,
		.place = PAIR,
		.figure = TTMEM_FIGURE_CB,
		.bytes = 1,
		.bytes_per_bank = 2,
		.free_per_bank = 3,
		.largest_free_per_bank = 4,
		.program = 5,
		.tid = 6 };
	const struct ttm_failure_row *row;

	failure_write(&failure);
	buffer(1, PAIR);
	engine_begin();
	look();
	row = ttm_image_at(engine->output.image, TTM_TABLE_FAILURES, 0);
	TEST_ASSERT_EQUAL_HEX64(attached->process->row, row->process);
	TEST_ASSERT_EQUAL_HEX64(PAIR, row->members);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_FIGURE_CB, row->figure);
	TEST_ASSERT_EQUAL_UINT64(1, row->bytes);
	TEST_ASSERT_EQUAL_UINT64(2, row->bytes_per_bank);
	TEST_ASSERT_EQUAL_UINT64(3, row->free_per_bank);
	TEST_ASSERT_EQUAL_UINT64(4, row->largest_free_per_bank);
	TEST_ASSERT_EQUAL_UINT64(5, row->program);
	TEST_ASSERT_EQUAL_UINT64(6, row->tid);
	engine_end();
}

static void test_a_failure_that_cannot_be_is_refused(void)
{
	static const struct ttm_failure failures[] = {
		{ .seq = 2, .place = 99 },
		{ .seq = 2, .place = 1ull << 40 },
		{ .seq = 2, .place = 1, .figure = TTMEM_FIGURE_KERNEL },
		{ .seq = 2, .place = 1, .scope = TTM_NAMES_MAX + 1 },
	};
	unsigned i;

	for (i = 0; i < 4; i++) {
		failure_write(&failures[i]);
		engine_begin();
		look();
		TEST_ASSERT_TRUE(attached->process->quarantined);
		engine_end();
	}
}

/* A scope is listed with the scopes around it. */
static void test_the_scopes_around_a_name_are_listed(void)
{
	uint64_t names = made_extent(&made, TTM_EXTENT_NAMES, 0);
	struct ttm_words words = made_buffer(
		&made, 1, FIRST, TTMEM_FIGURE_DRAM);
	const struct ttm_name_row *row;

	drained_poke(made.fd, names, 1);
	drained_poke(made.fd, names + 16, 'a');
	drained_poke(made.fd, names + 128, 1 | 1ull << 40);
	drained_poke(made.fd, names + 128 + 16, 'b');
	words.w[7] = TTM_W7(2, 0ull, 0ull, 0ull);
	made_alloc(&made, &words);
	engine_begin();
	look();
	row = ttm_image_row(
		engine->output.image, TTM_TABLE_NAMES, object_row(1).scope);
	TEST_ASSERT_EQUAL_UINT64(2, row->id);
	TEST_ASSERT_EQUAL_UINT64(1, row->parent);
	TEST_ASSERT_EQUAL_UINT64(1, row->length);
	TEST_ASSERT_EQUAL_STRING("b", row->text);
	row = ttm_image_row(engine->output.image, TTM_TABLE_NAMES,
		attached->process->names[0]);
	TEST_ASSERT_EQUAL_UINT64(1, row->id);
	TEST_ASSERT_EQUAL_UINT64(0, row->parent);
	TEST_ASSERT_EQUAL_STRING("a", row->text);
	engine_end();
}

static void test_a_scope_that_is_around_itself_is_refused(void)
{
	uint64_t names = made_extent(&made, TTM_EXTENT_NAMES, 0);
	struct ttm_words words = made_buffer(
		&made, 1, FIRST, TTMEM_FIGURE_DRAM);

	drained_poke(made.fd, names, 1 | 2ull << 40);
	drained_poke(made.fd, names + 128, 1 | 1ull << 40);
	words.w[7] = TTM_W7(1, 0ull, 0ull, 0ull);
	made_alloc(&made, &words);
	engine_begin();
	look();
	TEST_ASSERT_TRUE(attached->process->quarantined);
	engine_end();
}

/* The objects that a retired process left, over all of its devices. */
static void left_is(uint64_t objects, uint64_t bytes)
{
	size_t len = ttm_image_len(engine->output.image, TTM_TABLE_SHARES), i;
	uint64_t sums[2] = { 0, 0 };

	for (i = 0; i < len; i++) {
		const struct ttm_share_row *row = ttm_image_at(
			engine->output.image, TTM_TABLE_SHARES, i);
		const struct ttm_sums
			*figure = &row->figures[TTMEM_FIGURE_DRAM];

		if (!row->self)
			continue;
		TEST_ASSERT_EQUAL_UINT64(0, figure->live_objects);
		TEST_ASSERT_EQUAL_UINT64(0, figure->requested_bytes);
		sums[0] += figure->orphaned_objects;
		sums[1] += figure->orphaned_bytes;
	}
	TEST_ASSERT_EQUAL_UINT64(objects, sums[0]);
	TEST_ASSERT_EQUAL_UINT64(bytes, sums[1]);
}

static void test_what_a_retired_process_left_keeps_its_devices(void)
{
	struct ttm_directory directory;
	struct ttm_directory_row row;
	struct ttm_retirees *retirees;
	unsigned again;

	buffer(1, ALL);
	buffer(2, PAIR);
	made_shrink(&made, 1, LATER);
	engine_begin();
	look();
	memset(&directory, 0, sizeof(directory));
	directory.fd = open(
		getenv("TTMEM_DIR"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	directory.uid = geteuid();
	TEST_ASSERT_EQUAL_INT(
		0, ttm_retirees_open(&engine->output, &directory, &retirees));
	TEST_ASSERT_EQUAL_INT(0,
		ttm_retirees_add(
			retirees, &engine->output, attached->process, 1));
	for (again = 0; again < 2; again++) {
		TEST_ASSERT_EQUAL_UINT64(
			2, ttm_objects_used(engine->output.publisher));
		left_is(3, 300);
		ttm_retirees_forget(retirees, &engine->output);
		TEST_ASSERT_EQUAL_UINT64(
			0, ttm_objects_used(engine->output.publisher));
		ttm_retirees_close(&retirees);
		TEST_ASSERT_EQUAL_INT(0,
			ttm_retirees_open(
				&engine->output, &directory, &retirees));
	}
	memset(&row, 0, sizeof(row));
	ttm_retirees_describe(retirees, &row);
	TEST_ASSERT_EQUAL_UINT64(1, row.retired);
	ttm_retirees_forget(retirees, &engine->output);
	ttm_retirees_close(&retirees);
	close(directory.fd);
	engine_end();
}

int main(void)
{
	int failed;

	rcu_register_thread();
	UNITY_BEGIN();
	RUN_TEST(test_an_object_is_tallied_on_each_device);
	RUN_TEST(test_a_shrink_leaves_the_rest);
	RUN_TEST(test_a_close_orphans_only_the_parts_on_its_devices);
	RUN_TEST(test_reading_counters_leaves_the_tallies_complete);
	RUN_TEST(test_an_object_that_is_ahead_of_the_close_is_live);
	RUN_TEST(test_a_place_that_comes_later_is_learnt);
	RUN_TEST(test_an_object_on_all_devices_there_can_be);
	RUN_TEST(test_a_record_on_a_place_that_is_not_there_is_refused);
	RUN_TEST(test_a_place_with_a_device_that_is_not_there_is_refused);
	RUN_TEST(test_a_free_on_a_place_that_is_not_there_is_refused);
	RUN_TEST(test_a_record_about_no_object_may_name_no_place);
	RUN_TEST(test_an_object_beyond_its_place_of_allocation_is_refused);
	RUN_TEST(test_a_slot_on_no_place_is_free_while_its_process_runs);
	RUN_TEST(test_many_slots_on_no_place_are_refused);
	RUN_TEST(test_more_records_under_way_than_an_operation_has_are_refused);
	RUN_TEST(test_a_core_set_is_read);
	RUN_TEST(test_a_core_set_whose_count_lies_is_refused);
	RUN_TEST(test_a_core_set_that_is_not_there_is_refused);
	RUN_TEST(test_an_object_with_another_count_than_its_set_is_refused);
	RUN_TEST(test_what_was_never_written_is_zeros);
	RUN_TEST(test_a_file_may_end_within_an_extent);
	RUN_TEST(test_extents_without_pages_cost_no_memory);
	RUN_TEST(test_rows_are_of_the_process_and_its_members);
	RUN_TEST(test_lines_are_told_for_each_device);
	RUN_TEST(test_distributions_are_of_devices);
	RUN_TEST(test_a_failure_has_what_the_allocator_knew);
	RUN_TEST(test_a_failure_that_cannot_be_is_refused);
	RUN_TEST(test_the_scopes_around_a_name_are_listed);
	RUN_TEST(test_a_scope_that_is_around_itself_is_refused);
	RUN_TEST(test_what_a_retired_process_left_keeps_its_devices);
	failed = UNITY_END();
	rcu_unregister_thread();
	return failed;
}

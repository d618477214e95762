/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that ended stay listed, their flows stay counted, each exactly once. */
#include <stdio.h>

#include "aggregate/drained.h"
#include "aggregate/output.h"
#include "aggregate/retired.h"
#include "aggregate/retirees.h"
#include "aggregate/short_writes.h"
#include "support/test_dir.h"

static struct ttm_output output;
static struct ttm_directory directory;
static struct ttm_retirees *retirees;

static void output_begin(void)
{
	struct ttm_publisher_config config = { .directory_fd = directory.fd,
		.file_mode = 0600,
		.group = (uint32_t)-1,
		.mode = TTM_MODE_USER };

	memset(&output, 0, sizeof(output));
	TEST_ASSERT_EQUAL_INT(0, ttm_image_new(&output.image));
	output.chips.image = output.image;
	TEST_ASSERT_EQUAL_INT(0, ttm_publisher_new(&config, &output.publisher));
	directory.row = 0;
}

static void output_end(void)
{
	TEST_ASSERT_EQUAL_UINT64(0, output.memory_errors);
	ttm_retirees_close(&retirees);
	ttm_publisher_free(&output.publisher);
	ttm_chips_free(&output.chips);
	ttm_image_free(&output.image);
}

static int retirees_open(void)
{
	return ttm_retirees_open(&output, &directory, &retirees);
}

void setUp(void)
{
	test_tracking_start();
	memset(&directory, 0, sizeof(directory));
	directory.fd = open(
		getenv("TTMEM_DIR"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	directory.uid = geteuid();
	output_begin();
}

void tearDown(void)
{
	output_end();
	close(directory.fd);
	test_tracking_stop();
}

/* As a successor does. */
static void restart(void)
{
	output_end();
	output_begin();
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
}

/* What flowed, over all chips; figures in their order. */
struct flows {
	uint64_t words[TTMEM_FIGURES][4];
	uint64_t dispatches[3];
	uint64_t failures[5];
};

static struct flows flows_now(void)
{
	const struct ttm_chip *chip;
	struct flows sum;
	unsigned i;

	memset(&sum, 0, sizeof(sum));
	for (chip = output.chips.first; chip; chip = chip->next) {
		for (i = 0; i < TTMEM_FIGURES; i++) {
			const struct ttm_sums *sums = &chip->total.figures[i];

			sum.words[i][0] += sums->alloc_objects;
			sum.words[i][1] += sums->alloc_bytes;
			sum.words[i][2] += sums->free_objects;
			sum.words[i][3] += sums->free_bytes;
		}
		for (i = 0; i < 3; i++)
			sum.dispatches[i] += chip->total.dispatches[i];
		for (i = 0; i < 5; i++)
			sum.failures[i] += chip->total.failures[i];
	}
	return sum;
}

static void flows_are(const struct flows *expected)
{
	struct flows found = flows_now();

	TEST_ASSERT_EQUAL_MEMORY(expected, &found, sizeof(found));
}

static uint64_t orphans(void)
{
	const struct ttm_chip *chip;
	uint64_t sum = 0;
	unsigned i;

	for (chip = output.chips.first; chip; chip = chip->next)
		for (i = 0; i < TTMEM_FIGURES; i++) {
			TEST_ASSERT_EQUAL_UINT64(
				0, chip->total.figures[i].live_objects);
			TEST_ASSERT_EQUAL_UINT64(
				0, chip->total.figures[i].live_bytes);
			sum += chip->total.figures[i].orphaned_objects;
		}
	return sum;
}

static struct ttm_directory_row described(void)
{
	struct ttm_directory_row row;

	memset(&row, 0, sizeof(row));
	ttm_retirees_describe(retirees, &row);
	return row;
}

static const struct ttm_process_row *process_row(void)
{
	static const struct ttm_process_row none;
	size_t i;

	for (i = 0; i < ttm_image_len(output.image, TTM_TABLE_PROCESSES); i++) {
		const struct ttm_process_row *row = ttm_image_at(
			output.image, TTM_TABLE_PROCESSES, i);

		if (row->self)
			return row;
	}
	return &none;
}

/* -- retiring ------------------------------------------------------------------ */

static void everything(void)
{
	ttmem_scope_push("matmul", 0);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 1000);
	ttmem_alloc(0, TTMEM_L1, 2, 0, 100);
	ttmem_free(0, TTMEM_L1, 2);
	ttmem_cb_alloc(0, 5, 2, 0x2000, 256, 8, 0);
	ttmem_kernel_load(1, 5, TTMEM_KERNEL_APPLICATION, 50, 2, 0);
	ttmem_kernel_load(1, 5, TTMEM_KERNEL_APPLICATION, 50, 2, 0);
	ttmem_alloc_failed(0, TTMEM_L1, 99, 9);
	ttmem_mark("here");
	ttmem_scope_pop();
}

static void process_open(struct drained *drained)
{
	drained_open_fd(drained, drained_copy(test_segment_path()));
	drained->attached.directory = &directory;
	TEST_ASSERT_TRUE(drained_last(drained) >= 0);
	TEST_ASSERT_EQUAL_INT(0,
		ttm_output_process(
			&output, drained->process, drained->now_ns, true));
}

static void test_a_retired_process_is_listed_with_what_it_left(void)
{
	const struct ttm_process_row *row;
	struct drained drained;
	struct flows flows;
	unsigned again;

	everything();
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	process_open(&drained);
	flows = flows_now();
	TEST_ASSERT_EQUAL_UINT64(1, flows.dispatches[0]);
	TEST_ASSERT_EQUAL_INT(
		0, ttm_retirees_add(retirees, &output, drained.process, 1234));
	TEST_ASSERT_EQUAL_UINT64(0, drained.process->row);
	for (again = 0; again < 2; again++) {
		flows_are(&flows);
		TEST_ASSERT_EQUAL_UINT64(3, orphans());
		TEST_ASSERT_EQUAL_UINT64(3, ttm_objects_used(output.publisher));
		row = process_row();
		TEST_ASSERT_EQUAL_UINT64(TTM_PROCESS_DIED, row->state);
		TEST_ASSERT_EQUAL_UINT64(1234, row->retired_ns);
		TEST_ASSERT_EQUAL_UINT64(3, row->objects);
		TEST_ASSERT_EQUAL_UINT64(0, row->unlisted);
		TEST_ASSERT_EQUAL_UINT64(1, described().retired);
		TEST_ASSERT_TRUE(ttm_retirees_has(
			retirees, drained.attached.header.uuid));
		restart();
	}
	drained_close(&drained);
}

static void test_without_room_nothing_is_retired_and_nothing_lost(void)
{
	struct drained drained;
	struct flows flows;
	uint64_t left;

	everything();
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	process_open(&drained);
	flows = flows_now();
	for (left = 0; left < 3000; left += 500) {
		short_writes_left = left;
		TEST_ASSERT_EQUAL_INT(-ENOSPC,
			ttm_retirees_add(
				retirees, &output, drained.process, 1));
		short_writes_left = UINT64_MAX;
		TEST_ASSERT_TRUE(drained.process->row != 0);
		flows_are(&flows);
		TEST_ASSERT_EQUAL_UINT64(3, ttm_objects_used(output.publisher));
	}
	TEST_ASSERT_EQUAL_INT(
		0, ttm_retirees_add(retirees, &output, drained.process, 1));
	flows_are(&flows);
	drained_close(&drained);
	restart();
	flows_are(&flows);
	TEST_ASSERT_EQUAL_UINT64(1, described().retired);
}

static void test_survivors_beyond_the_cap_are_counted(void)
{
	uint64_t i, more = TTM_SURVIVORS_MAX + 10;
	struct drained drained;

	for (i = 0; i < more; i++)
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 1);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	process_open(&drained);
	TEST_ASSERT_EQUAL_INT(
		0, ttm_retirees_add(retirees, &output, drained.process, 1));
	drained_close(&drained);
	TEST_ASSERT_EQUAL_UINT64(TTM_SURVIVORS_MAX, process_row()->objects);
	TEST_ASSERT_EQUAL_UINT64(10, process_row()->unlisted);
	TEST_ASSERT_EQUAL_UINT64(more, orphans());
	TEST_ASSERT_EQUAL_UINT64(
		TTM_SURVIVORS_MAX, ttm_objects_used(output.publisher));
}

/* -- limits -------------------------------------------------------------------- */

static void retired_loaded(void *context, const struct ttm_retired_entry *entry)
{
	(void)context;
	(void)entry;
}

static struct ttm_retired *file_open(void)
{
	struct ttm_retired *file;
	bool broken;

	TEST_ASSERT_EQUAL_INT(0,
		ttm_retired_open(directory.fd, directory.uid, retired_loaded,
			NULL, &file, &broken));
	return file;
}

static void commit(struct ttm_retired *file, uint32_t number, uint64_t uuid,
	uint32_t names, uint64_t survivors)
{
	struct ttm_retired_head lens = { .kind = TTM_RETIRED_PROCESS,
		.shares_len = 2,
		.names_len = names,
		.objects_len = survivors };
	struct ttm_retired_entry entry;
	unsigned i, figure;

	TEST_ASSERT_EQUAL_INT(0, ttm_retired_entry_new(&lens, &entry));
	memcpy(entry.process->uuid, &uuid, sizeof(uuid));
	for (i = 0; i < 2; i++) {
		struct ttm_share_row *row = &entry.shares[i].row;

		entry.shares[i].facts.known = TTM_FACT_PCI_ADDRESS;
		entry.shares[i].facts.pci_address = (number + i) % 3;
		row->headroom = TTM_HEADROOM_UNKNOWN;
		row->dispatches[i] = number;
		row->failures[i] = number * 3;
		for (figure = 0; figure < TTMEM_FIGURES; figure++) {
			row->figures[figure].alloc_objects = number + figure;
			row->figures[figure].alloc_bytes = number * 7919ull;
			row->figures[figure].free_objects = number;
			row->figures[figure].free_bytes = number * 13ull;
		}
	}
	entry.shares[0].row.figures[0].orphaned_objects = survivors;
	entry.shares[0].row.figures[0].orphaned_bytes = survivors * 100;
	for (i = 0; i < survivors; i++)
		entry.objects[i].share = 1;
	TEST_ASSERT_EQUAL_INT(0, ttm_retired_commit(file, &entry));
	ttm_retired_entry_free(&entry);
}

/* Clean ones, and every tenth with two survivors. */
static void many(uint32_t len)
{
	struct ttm_retired *file = file_open();
	uint32_t i;

	for (i = 1; i <= len; i++)
		commit(file, i, i, 0, i % 10 ? 0 : 2);
	ttm_retired_close(&file);
}

static void test_dropping_the_oldest_keeps_the_sums(void)
{
	uint64_t uuid[2] = { 1, 0 };
	struct flows flows;

	many(2400);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	flows = flows_now();
	TEST_ASSERT_EQUAL_UINT64(2400, described().retired);
	TEST_ASSERT_EQUAL_UINT64(480, orphans());
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	flows_are(&flows);
	TEST_ASSERT_EQUAL_UINT64(1024 + 240, described().retired);
	/* None of those that left something. */
	TEST_ASSERT_EQUAL_UINT64(480, orphans());
	TEST_ASSERT_EQUAL_UINT64(0, described().dropped_processes);
	TEST_ASSERT_FALSE(ttm_retirees_has(retirees, (const uint8_t *)uuid));
	uuid[0] = 2399;
	TEST_ASSERT_TRUE(ttm_retirees_has(retirees, (const uint8_t *)uuid));
	restart();
	flows_are(&flows);
	TEST_ASSERT_EQUAL_UINT64(1024 + 240, described().retired);
	TEST_ASSERT_EQUAL_UINT64(480, ttm_objects_used(output.publisher));
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	flows_are(&flows);
}

static void test_without_room_nothing_is_dropped(void)
{
	struct flows flows;
	unsigned i;

	many(2400);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	flows = flows_now();
	for (i = 0; i < 4; i++) {
		short_writes_left = i * 100000;
		TEST_ASSERT_EQUAL_INT(
			-ENOSPC, ttm_retirees_trim(retirees, &output));
		short_writes_left = UINT64_MAX;
		flows_are(&flows);
		TEST_ASSERT_EQUAL_UINT64(2400, described().retired);
	}
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	flows_are(&flows);
	restart();
	flows_are(&flows);
}

static void test_a_file_that_was_removed_is_not_rewritten(void)
{
	struct flows flows;

	many(2400);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	flows = flows_now();
	TEST_ASSERT_EQUAL_INT(0, unlinkat(directory.fd, TTM_RETIRED_FILE, 0));
	TEST_ASSERT_EQUAL_INT(-ESTALE, ttm_retirees_trim(retirees, &output));
	TEST_ASSERT_TRUE(ttm_retirees_are_behind(retirees));
	flows_are(&flows);
}

static void test_those_that_left_nothing_are_dropped_first(void)
{
	struct ttm_retired *file = file_open();
	uint32_t i;

	for (i = 1; i <= 72; i++)
		commit(file, i, i, i % 24 ? 7000 : 10, i % 24 ? 0 : 2);
	TEST_ASSERT_TRUE(ttm_retired_bytes(file) > 64u << 20);
	ttm_retired_close(&file);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	TEST_ASSERT_EQUAL_UINT64(6, orphans());
	TEST_ASSERT_EQUAL_UINT64(0, described().dropped_processes);
	TEST_ASSERT_TRUE(described().retired < 60);
	TEST_ASSERT_TRUE(described().retired > 40);
}

/* The last resort: then it is told how much was dropped. */
static void test_what_was_left_is_counted_when_it_is_dropped(void)
{
	struct ttm_retired *file = file_open();
	struct flows flows;
	uint32_t i;

	for (i = 1; i <= 4100; i++)
		commit(file, i, i, 0, 2);
	ttm_retired_close(&file);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	flows = flows_now();
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	for (i = 0; i < 2; i++) {
		flows_are(&flows);
		TEST_ASSERT_EQUAL_UINT64(3072, described().retired);
		TEST_ASSERT_EQUAL_UINT64(1028, described().dropped_processes);
		TEST_ASSERT_EQUAL_UINT64(2056, described().dropped_objects);
		TEST_ASSERT_EQUAL_UINT64(205600, described().dropped_bytes);
		TEST_ASSERT_EQUAL_UINT64(6144, orphans());
		restart();
	}
}

/* Its owner may have copied an entry: each is one, in memory as in the file. */
static void test_one_uuid_twice_is_kept_apart(void)
{
	struct ttm_retired *file = file_open();
	struct flows flows;
	uint32_t i;

	commit(file, 1, 77, 0, 0);
	for (i = 2; i <= 2100; i++)
		commit(file, i, i == 2050 ? 77 : i, 0, 0);
	ttm_retired_close(&file);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	flows = flows_now();
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	flows_are(&flows);
	restart();
	flows_are(&flows);
	TEST_ASSERT_EQUAL_UINT64(1024, described().retired);
}

/* Its owner removed it: who ended before went with it, who ends now is in a new one. */
static void test_who_ends_after_the_file_was_removed_is_in_the_next_one(void)
{
	uint64_t uuid[2] = { 1, 0 };
	struct drained drained;
	struct flows flows;

	many(1);
	everything();
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	TEST_ASSERT_FALSE(ttm_retirees_are_behind(retirees));
	process_open(&drained);
	TEST_ASSERT_EQUAL_INT(0, unlinkat(directory.fd, TTM_RETIRED_FILE, 0));
	TEST_ASSERT_EQUAL_INT(-ESTALE,
		ttm_retirees_add(retirees, &output, drained.process, 1));
	TEST_ASSERT_TRUE(drained.process->row != 0);
	TEST_ASSERT_TRUE(ttm_retirees_are_behind(retirees));
	ttm_retirees_forget(retirees, &output);
	ttm_retirees_close(&retirees);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	flows = flows_now();
	TEST_ASSERT_EQUAL_INT(
		0, ttm_retirees_add(retirees, &output, drained.process, 1));
	restart();
	flows_are(&flows);
	TEST_ASSERT_EQUAL_UINT64(1, described().retired);
	TEST_ASSERT_TRUE(
		ttm_retirees_has(retirees, drained.attached.header.uuid));
	TEST_ASSERT_FALSE(ttm_retirees_has(retirees, (const uint8_t *)uuid));
	drained_close(&drained);
}

/* -- broken files and other identities ------------------------------------------- */

static void test_a_file_that_cannot_be_loaded_counts_for_nothing(void)
{
	struct ttm_retired_head head = { .magic = TTM_RETIRED_MAGIC,
		.version = TTM_RETIRED_VERSION,
		.size = 12345 };
	struct flows flows, none;
	unsigned i;
	int fd;

	many(2400);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	flows = flows_now();
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	output_end();
	output_begin();
	none = flows_now();
	fd = openat(directory.fd, TTM_RETIRED_FILE,
		O_WRONLY | O_APPEND | O_CLOEXEC);
	TEST_ASSERT_EQUAL_INT64(sizeof(head), write(fd, &head, sizeof(head)));
	close(fd);
	for (i = 0; i < 3; i++) {
		short_writes_left = 0;
		TEST_ASSERT_EQUAL_INT(-ENOSPC, retirees_open());
		short_writes_left = UINT64_MAX;
		TEST_ASSERT_NULL(retirees);
		flows_are(&none);
		TEST_ASSERT_EQUAL_UINT64(0, ttm_objects_used(output.publisher));
	}
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	flows_are(&flows);
	/* That something was behind the break is told. */
	TEST_ASSERT_EQUAL_UINT64(1, described().dropped_processes);
}

/* After an upgrade, or back: leak checks know, and the next one is retired. */
static void test_the_file_of_another_version_is_one_that_was_dropped(void)
{
	uint32_t version = TTM_RETIRED_VERSION + 1;
	struct drained drained;
	unsigned i;
	int fd;

	everything();
	many(20);
	fd = openat(directory.fd, TTM_RETIRED_FILE, O_WRONLY | O_CLOEXEC);
	TEST_ASSERT_EQUAL_INT64(sizeof(version),
		pwrite(fd, &version, sizeof(version),
			offsetof(struct ttm_retired_head, version)));
	close(fd);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	process_open(&drained);
	TEST_ASSERT_EQUAL_INT(
		0, ttm_retirees_add(retirees, &output, drained.process, 1));
	drained_close(&drained);
	for (i = 0; i < 2; i++) {
		TEST_ASSERT_EQUAL_UINT64(1, described().retired);
		TEST_ASSERT_EQUAL_UINT64(1, described().dropped_processes);
		restart();
	}
}

static void test_what_was_dropped_follows_its_chip(void)
{
	struct ttm_device_facts facts = {
		.known = TTM_FACT_CHIP_ID | TTM_FACT_PCI_ADDRESS,
		.chip_id = 42,
		.pci_address = 1,
	};
	const struct ttm_chip *chip;
	struct flows flows;

	many(2400);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	flows = flows_now();
	ttm_chip_get(&output.chips, TTM_NOBODY, &facts, 0);
	ttm_retirees_assign(retirees, &output);
	flows_are(&flows);
	for (chip = output.chips.first; chip; chip = chip->next)
		if (chip->total.identity == TTM_IDENTITY_PCI &&
			chip->total.facts.pci_address == 1)
			TEST_ASSERT_EQUAL_UINT64(
				0, chip->total.figures[0].alloc_objects);
}

/* With one share, of an object: some tell the chip, some its address alone. */
static void commit_told(struct ttm_retired *file, uint64_t uuid, uint64_t known)
{
	struct ttm_retired_head lens = { .kind = TTM_RETIRED_PROCESS,
		.shares_len = 1 };
	struct ttm_retired_entry entry;

	TEST_ASSERT_EQUAL_INT(0, ttm_retired_entry_new(&lens, &entry));
	memcpy(entry.process->uuid, &uuid, sizeof(uuid));
	entry.shares[0].facts.known = known;
	entry.shares[0].facts.pci_address = 1;
	entry.shares[0].facts.chip_id = known & TTM_FACT_CHIP_ID ? 42 : 0;
	entry.shares[0].row.headroom = TTM_HEADROOM_UNKNOWN;
	entry.shares[0].row.figures[0].alloc_objects = 1;
	TEST_ASSERT_EQUAL_INT(0, ttm_retired_commit(file, &entry));
	ttm_retired_entry_free(&entry);
}

static uint64_t allocated_of(uint64_t identity, uint64_t chip_id)
{
	const struct ttm_chip *chip;
	uint64_t sum = 0;

	for (chip = output.chips.first; chip; chip = chip->next)
		if (chip->total.identity == identity &&
			chip->total.facts.chip_id == chip_id)
			sum += chip->total.figures[0].alloc_objects;
	return sum;
}

/* Another chip turns up at that address: who told the address alone means neither. */
static void test_who_told_the_chip_stays_there_when_dropped(void)
{
	struct ttm_device_facts facts = {
		.known = TTM_FACT_CHIP_ID | TTM_FACT_PCI_ADDRESS,
		.chip_id = 43,
		.pci_address = 1,
	};
	struct ttm_retired *file = file_open();
	unsigned i;

	for (i = 1; i <= 2400; i++)
		commit_told(file, i,
			i % 3 == 1 ? TTM_FACT_PCI_ADDRESS :
				     TTM_FACT_PCI_ADDRESS | TTM_FACT_CHIP_ID);
	ttm_retired_close(&file);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	ttm_retirees_assign(retirees, &output);
	TEST_ASSERT_EQUAL_UINT64(2400, allocated_of(TTM_IDENTITY_CHIP, 42));
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	TEST_ASSERT_EQUAL_UINT64(2400, allocated_of(TTM_IDENTITY_CHIP, 42));
	for (i = 0; i < 2; i++) {
		ttm_chip_get(&output.chips, TTM_NOBODY, &facts, 0);
		ttm_retirees_assign(retirees, &output);
		TEST_ASSERT_EQUAL_UINT64(
			1600, allocated_of(TTM_IDENTITY_CHIP, 42));
		TEST_ASSERT_EQUAL_UINT64(
			800, allocated_of(TTM_IDENTITY_PCI, 0));
		restart();
	}
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_a_retired_process_is_listed_with_what_it_left);
	RUN_TEST(test_without_room_nothing_is_retired_and_nothing_lost);
	RUN_TEST(test_survivors_beyond_the_cap_are_counted);
	RUN_TEST(test_dropping_the_oldest_keeps_the_sums);
	RUN_TEST(test_without_room_nothing_is_dropped);
	RUN_TEST(test_a_file_that_was_removed_is_not_rewritten);
	RUN_TEST(test_those_that_left_nothing_are_dropped_first);
	RUN_TEST(test_what_was_left_is_counted_when_it_is_dropped);
	RUN_TEST(test_one_uuid_twice_is_kept_apart);
	RUN_TEST(test_who_ends_after_the_file_was_removed_is_in_the_next_one);
	RUN_TEST(test_a_file_that_cannot_be_loaded_counts_for_nothing);
	RUN_TEST(test_the_file_of_another_version_is_one_that_was_dropped);
	RUN_TEST(test_what_was_dropped_follows_its_chip);
	RUN_TEST(test_who_told_the_chip_stays_there_when_dropped);
	return UNITY_END();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of retired processes share: a directory, what is shown of it, and its file. */
#ifndef TEST_RETIREES_OPEN_H
#define TEST_RETIREES_OPEN_H

#include <stdio.h>

#include "daemon/dead/retired.h"
#include "daemon/dead/retirees.h"
#include "daemon/drained.h"
#include "daemon/publish/output.h"
#include "daemon/short_writes.h"
#include "support/test_dir.h"

static struct ttm_output output;
static struct ttm_directory directory;
static struct ttm_retirees *retirees;

static inline void output_begin(void)
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

static inline void output_end(void)
{
	TEST_ASSERT_EQUAL_UINT64(0, output.memory_errors);
	ttm_retirees_close(&retirees);
	ttm_publisher_free(&output.publisher);
	ttm_chips_free(&output.chips);
	ttm_image_free(&output.image);
}

static inline int retirees_open(void)
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
static inline void restart(void)
{
	output_end();
	output_begin();
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
}

/* What flowed, over all chips; figures in their order. */
struct flows {
	uint64_t words[TTMEM_FIGURES][4];
	uint64_t dispatches[3];
	uint64_t failures[6];
};

static inline struct flows flows_now(void)
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
		for (i = 0; i < 6; i++)
			sum.failures[i] += chip->total.failures[i];
	}
	return sum;
}

static inline void flows_are(const struct flows *expected)
{
	struct flows found = flows_now();

	TEST_ASSERT_EQUAL_MEMORY(expected, &found, sizeof(found));
}

/* Parts of objects: an object counts on each of its devices. */
static inline uint64_t orphans(void)
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

static inline struct ttm_directory_row described(void)
{
	struct ttm_directory_row row;

	memset(&row, 0, sizeof(row));
	ttm_retirees_describe(retirees, &row);
	return row;
}

static inline const struct ttm_process_row *process_row(void)
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

/* -- its file ------------------------------------------------------------------- */

static inline void retired_loaded(
	void *context, const struct ttm_retired_entry *entry)
{
	(void)context;
	(void)entry;
}

static inline struct ttm_retired *file_open(void)
{
	struct ttm_retired *file;
	bool broken;

	TEST_ASSERT_EQUAL_INT(0,
		ttm_retired_open(directory.fd, directory.uid, retired_loaded,
			NULL, &file, &broken));
	return file;
}

static inline void commit(struct ttm_retired *file, uint32_t number,
	uint64_t uuid, uint32_t names, uint64_t survivors)
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
		row->entry = i;
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
	/* Each is on both devices. */
	for (i = 0; i < 2; i++) {
		entry.shares[i].row.figures[0].orphaned_objects = survivors;
		entry.shares[i].row.figures[0].orphaned_bytes = survivors * 100;
	}
	entry.process->objects = survivors;
	for (i = 0; i < survivors; i++)
		entry.objects[i].members = 3;
	TEST_ASSERT_EQUAL_INT(0, ttm_retired_commit(file, &entry));
	ttm_retired_entry_free(&entry);
}

/* Clean ones, and every tenth with two survivors. */
static inline void many(uint32_t len)
{
	struct ttm_retired *file = file_open();
	uint32_t i;

	for (i = 1; i <= len; i++)
		commit(file, i, i, 0, i % 10 ? 0 : 2);
	ttm_retired_close(&file);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Prints snapshots of a made-up aggregate, for tests in other languages. */
#include "read/read.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static void print(struct ttmem_reader *reader, uint32_t flags)
{
	struct ttmem_snapshot *snapshot = NULL;

	if (ttmem_reader_snapshot(reader, flags, &snapshot) == 0)
		ttmem_snapshot_write_file(snapshot, stdout);
	ttmem_snapshot_free(&snapshot);
}

int main(void)
{
	struct agg_table none[AGG_TABLES] = { { 0, 0 } };
	struct ttmem_reader *reader = NULL;
	char path[AGG_PATH_SIZE];
	struct agg agg;

	agg_sample_write(test_dir_make(), path);
	ttmem_reader_open(NULL, &reader);
	print(reader, ALL);
	print(reader, 0);
	agg_make(&agg, none, 0, 0);
	agg_write(&agg, path);
	agg_free(&agg);
	print(reader, ALL);
	ttmem_reader_close(&reader);
	test_dir_remove();
	return 0;
}

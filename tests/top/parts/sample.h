/* SPDX-License-Identifier: Apache-2.0 */
/* Small snapshots by hand: what a document does not say is unknown. */
#ifndef TEST_TOP_SAMPLE_H
#define TEST_TOP_SAMPLE_H

#include <locale.h>
#include <stdio.h>
#include <string.h>

#include <ttmem/reader.h>
#include <unity.h>

#include "ttmem-top/views/grid.h"
#include "ttmem-top/model/state.h"

#define SAMPLE_INFO                                                            \
	"\"schema_version\":2,\"info\":{\"source\":\"ok\",\"monotonic_ns\":"   \
	"1000000000000,\"realtime_ns\":1700000000000000000,\"taken_ns\":"      \
	"1000000000000,\"age_ns\":1000000,\"objects_listed\":true}"

/* Two devices; device 1 is nearly full. */
#define SAMPLE_DEVICES                                                         \
	"\"devices\":["                                                        \
	"{\"identity\":\"chip\",\"chip_id\":\"0x2\",\"logical\":1,"            \
	"\"board\":\"n300\",\"dram_bytes\":1000,\"l1_bytes\":100,"             \
	"\"dram_use\":950,\"l1_tensix_use\":80,\"processes\":1,"               \
	"\"figures\":{\"dram\":{\"live_bytes\":950,\"peak_bytes\":990}}},"     \
	"{\"identity\":\"chip\",\"chip_id\":\"0x1\",\"logical\":0,"            \
	"\"board\":\"p150\",\"dram_bytes\":1000,\"l1_bytes\":100,"             \
	"\"dram_use\":100,\"l1_tensix_use\":0,\"processes\":2}]"

/* Of the sample's devices, those numbers in the snapshot: 0 is logical 1. */
#define SAMPLE_PROCESSES                                                       \
	"\"processes\":["                                                      \
	"{\"state\":\"reporting\",\"uuid\":"                                   \
	"\"00000000000000000000000000000001\",\"pid\":10,\"uid\":0,"           \
	"\"start_time\":5,\"objects\":3,\"unlisted\":0,\"events_per_s\":7,"    \
	"\"comm\":\"alpha\",\"cmdline\":[\"/usr/bin/alpha\",\"-x\"]},"         \
	"{\"state\":\"silent\",\"uuid\":"                                      \
	"\"00000000000000000000000000000002\",\"pid\":9,\"uid\":0,"            \
	"\"objects\":1,\"unlisted\":0,\"comm\":\"beta\"},"                     \
	"{\"state\":\"died\",\"uuid\":"                                        \
	"\"00000000000000000000000000000003\",\"pid\":8,\"uid\":0,"            \
	"\"objects\":0,\"unlisted\":0,\"comm\":\"gone\"},"                     \
	"{\"state\":\"exited\",\"uuid\":"                                      \
	"\"00000000000000000000000000000004\",\"pid\":7,\"uid\":0,"            \
	"\"objects\":2,\"unlisted\":0,\"comm\":\"leaky\"}],"                   \
	"\"shares\":["                                                         \
	"{\"process\":0,\"device\":0,\"open\":true,\"figures\":{"              \
	"\"dram\":{\"live_bytes\":900,\"live_objects\":1,\"peak_bytes\":950,"  \
	"\"orphaned_bytes\":0}}},"                                             \
	"{\"process\":0,\"device\":1,\"open\":true,\"figures\":{"              \
	"\"dram\":{\"live_bytes\":40,\"live_objects\":1,\"peak_bytes\":50,"    \
	"\"orphaned_bytes\":0}}},"                                             \
	"{\"process\":1,\"device\":1,\"open\":true,\"figures\":{"              \
	"\"dram\":{\"live_bytes\":60,\"live_objects\":1,\"peak_bytes\":60,"    \
	"\"orphaned_bytes\":0}}},"                                             \
	"{\"process\":3,\"device\":1,\"open\":false,\"figures\":{"             \
	"\"dram\":{\"live_bytes\":0,\"peak_bytes\":70,"                        \
	"\"orphaned_bytes\":70,\"orphaned_objects\":2}}}]"

#define SAMPLE_HOLDERS                                                         \
	"\"holders\":["                                                        \
	"{\"device\":0,\"reporting\":false,\"pid\":20,\"start_time\":1,"       \
	"\"uid\":0,\"comm\":\"quiet\"},"                                       \
	"{\"device\":1,\"reporting\":false,\"pid\":20,\"start_time\":1,"       \
	"\"uid\":0,\"comm\":\"quiet\"},"                                       \
	"{\"device\":1,\"reporting\":true,\"pid\":10,\"process\":0}]"

#define SAMPLE_PLACES                                                          \
	"\"places\":["                                                         \
	"{\"process\":0,\"label\":\"1\",\"devices\":[0],\"usages\":[0]},"      \
	"{\"process\":0,\"label\":\"0\",\"devices\":[1],\"usages\":[1]},"      \
	"{\"process\":1,\"label\":\"0\",\"devices\":[1],\"usages\":[2]}]"

#define SAMPLE_OBJECTS                                                         \
	"\"objects\":["                                                        \
	"{\"process\":0,\"place\":0,\"devices\":1,\"figure\":\"dram\","        \
	"\"bytes\":900,\"total_bytes\":900,\"scope\":\"op b\"},"               \
	"{\"process\":0,\"place\":1,\"devices\":1,\"figure\":\"dram\","        \
	"\"bytes\":30,\"total_bytes\":30,\"scope\":\"op a\"},"                 \
	"{\"process\":0,\"place\":1,\"devices\":1,\"figure\":\"l1\","          \
	"\"bytes\":10,\"total_bytes\":10,\"scope\":\"op a\"},"                 \
	"{\"process\":1,\"place\":2,\"devices\":1,\"figure\":\"dram\","        \
	"\"bytes\":60,\"total_bytes\":60}]"

#define SAMPLE                                                                 \
	"{" SAMPLE_INFO "," SAMPLE_DEVICES "," SAMPLE_PROCESSES                \
	"," SAMPLE_HOLDERS "," SAMPLE_PLACES "," SAMPLE_OBJECTS "}"

static inline struct ttmem_snapshot *sample_parse(const char *text)
{
	char error[TTMEM_PARSE_ERROR_SIZE] = "";
	struct ttmem_snapshot *snapshot = NULL;

	TEST_ASSERT_EQUAL_INT_MESSAGE(0,
		ttmem_snapshot_parse(text, strlen(text), &snapshot, error),
		error);
	return snapshot;
}

/* Grids know wide characters by the locale. */
static inline void sample_locale(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		TEST_IGNORE_MESSAGE("no C.UTF-8");
}

/* A row of a grid as text, blanks at its end left out. */
static inline const char *sample_line(const struct top_grid *grid, int row)
{
	static char line[4096];
	size_t length = 0;
	int col;

	line[0] = '\0';
	for (col = 0; col < grid->cols; col++)
		length += (size_t)snprintf(line + length, sizeof(line) - length,
			"%s", grid->cells[row * grid->cols + col].text);
	while (length && line[length - 1] == ' ')
		line[--length] = '\0';
	return line;
}

#endif

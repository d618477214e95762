/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include "common/source.h"

#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/value.h"

int ttm_source_open(
	const char *dir, bool system, struct ttmem_reader **ret_reader)
{
	struct ttmem_reader_config config = { .size = sizeof(config) };
	int r;

	config.dir = dir;
	config.flags = system ? TTMEM_READER_SYSTEM : 0;
	r = ttmem_reader_open(&config, ret_reader);
	if (r == 0)
		return 0;
	ttm_error("cannot read: %s", strerror(-r));
	return TTM_EXIT_FAILURE;
}

int ttm_source_status(uint64_t state)
{
	switch (state) {
	case TTMEM_SOURCE_OK:
		return TTM_EXIT_OK;
	case TTMEM_SOURCE_NOT_SERVING:
	case TTMEM_SOURCE_VERSION:
	case TTMEM_SOURCE_BROKEN:
		return TTM_EXIT_INCOMPLETE;
	default:
		return TTM_EXIT_NO_DATA;
	}
}

bool ttm_source_text(uint64_t state, uint64_t pid, const char *age,
	char *ret_text, size_t ret_text_size)
{
	char number[TTM_VALUE_SIZE];

	switch (state) {
	case TTMEM_SOURCE_OK:
		snprintf(ret_text, ret_text_size, "%s", "");
		return true;
	case TTMEM_SOURCE_DEAD:
		snprintf(ret_text, ret_text_size,
			"ttmemd is gone: these figures are %s old", age);
		return true;
	case TTMEM_SOURCE_STALE:
		snprintf(ret_text, ret_text_size,
			"ttmemd (pid %s) does not move: these figures are %s "
			"old",
			ttm_count_text(pid, number), age);
		return true;
	case TTMEM_SOURCE_NOT_SERVING:
		snprintf(ret_text, ret_text_size,
			"ttmemd does not serve a directory of yours: "
			"processes are missing here");
		return true;
	default:
		return false;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "clock.h"
#include "common/error.h"
#include "common/source.h"
#include "common/text.h"

#define TRIES 100
#define TRY_NS 5000000

struct dump_source {
	struct ttmem_reader *reader; /* NULL: from the file */
	const char *from;
};

/* -- opening ------------------------------------------------------------------ */

void dump_where_check(const struct dump_where *where)
{
	if (where->from && (where->dir || where->system))
		ttm_error_usage("--from reads a file: neither --dir nor "
				"--system goes with it");
}

int dump_source_open(
	const struct dump_where *where, struct dump_source **ret_source)
{
	struct dump_source *source = calloc(1, sizeof(*source));
	int status;

	if (!source) {
		ttm_error("%s", strerror(ENOMEM));
		return TTM_EXIT_FAILURE;
	}
	source->from = where->from;
	status = where->from ?
		0 :
		ttm_source_open(where->dir, where->system, &source->reader);
	if (status)
		free(source);
	else
		*ret_source = source;
	return status;
}

void dump_source_close(struct dump_source **source)
{
	if (*source)
		ttmem_reader_close(&(*source)->reader);
	free(*source);
	*source = NULL;
}

/* -- what it is worth ---------------------------------------------------------- */

const char *dump_worth_hint(uint64_t state)
{
	switch (state) {
	case TTMEM_SOURCE_NO_BASE:
		return "make the base directory (a tmpfs), or name another one "
		       "with --dir or TTMEM_DIR";
	case TTMEM_SOURCE_NO_PERMISSION:
		return "run it as the user whose processes you ask for, or ask "
		       "who runs ttmemd for --file-mode 0644";
	case TTMEM_SOURCE_NEVER_STARTED:
		return "start ttmemd, with the same base directory; if it "
		       "runs, make room there";
	case TTMEM_SOURCE_DEAD:
		return "start ttmemd, with the same base directory";
	case TTMEM_SOURCE_STALE:
		return "ttmemd is stopped or starved: look at its process";
	case TTMEM_SOURCE_NOT_SERVING:
		return "start ttmemd as this user, or see why the running one "
		       "refuses the directory: ttmem-dump doctor";
	case TTMEM_SOURCE_VERSION:
		return "ttmemd and ttmem-dump are of different releases: "
		       "restart ttmemd";
	case TTMEM_SOURCE_BROKEN:
		return "restart ttmemd";
	default:
		return NULL;
	}
}

static void worth_fill(
	uint64_t state, uint64_t age_ns, struct dump_worth *worth)
{
	memset(worth, 0, sizeof(*worth));
	worth->state = state;
	worth->age_ns = age_ns;
	worth->status = ttm_source_status(state);
	worth->hint = dump_worth_hint(state);
}

void dump_worth_of(
	const struct ttmem_snapshot *snapshot, struct dump_worth *ret_worth)
{
	const struct ttmem_info_row *info = ttmem_snapshot_info(snapshot);
	char age[DUMP_CELL_SIZE];

	worth_fill(info->source, info->age_ns, ret_worth);
	dump_duration(info->age_ns, age);
	if (ttm_source_text(info->source, info->pid, age, ret_worth->reason,
		    sizeof(ret_worth->reason)))
		return;
	snprintf(ret_worth->reason, sizeof(ret_worth->reason),
		"it is not known what these figures are worth");
	ret_worth->status = TTM_EXIT_NO_DATA;
}

/* There are no figures. */
static void worth_of_reader(
	struct ttmem_reader *reader, struct dump_worth *ret_worth)
{
	struct ttmem_reader_status status = { .size = sizeof(status) };
	char path[sizeof(status.path)];

	if (ttmem_reader_status(reader, &status) < 0) {
		worth_fill(TTMEM_SOURCE_BROKEN, TTMEM_UNKNOWN, ret_worth);
		return;
	}
	worth_fill(status.state, status.age_ns, ret_worth);
	if (ret_worth->status == TTM_EXIT_OK)
		ret_worth->status = TTM_EXIT_NO_DATA; /* just come or gone */
	ttm_text_escape(status.path, path, sizeof(path));
	snprintf(ret_worth->reason, sizeof(ret_worth->reason), "%s%s%s",
		status.reason, path[0] ? ": " : "", path);
}

/* -- taking -------------------------------------------------------------------- */

static int reader_take(struct ttmem_reader *reader, uint32_t flags,
	struct ttmem_snapshot **ret_snapshot, struct dump_worth *ret_worth)
{
	int tries, r = -EAGAIN;

	for (tries = 0; r == -EAGAIN && tries < TRIES; tries++) {
		if (tries)
			dump_pause(TRY_NS);
		r = ttmem_reader_snapshot(reader, flags, ret_snapshot);
	}
	if (r == 0) {
		dump_worth_of(*ret_snapshot, ret_worth);
		return ret_worth->status;
	}
	worth_of_reader(reader, ret_worth);
	if (r == -ENODATA || r == -EPROTO)
		return ret_worth->status;
	ttm_error("cannot read what ttmemd publishes: %s", strerror(-r));
	ret_worth->status = TTM_EXIT_FAILURE;
	return TTM_EXIT_FAILURE;
}

int dump_source_take(struct dump_source *source, uint32_t flags,
	struct ttmem_snapshot **ret_snapshot, struct dump_worth *ret_worth)
{
	int status;

	*ret_snapshot = NULL;
	if (source->reader)
		return reader_take(
			source->reader, flags, ret_snapshot, ret_worth);
	worth_fill(TTMEM_SOURCE_OK, TTMEM_UNKNOWN, ret_worth);
	status = dump_file_read(source->from, ret_snapshot);
	if (status == 0)
		dump_worth_of(*ret_snapshot, ret_worth);
	else
		ret_worth->status = status;
	ret_worth->recorded = true;
	return ret_worth->status;
}

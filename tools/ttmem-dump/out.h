/* SPDX-License-Identifier: Apache-2.0 */
/* Where the output goes: stdout, or a file that appears complete or not at all. */
#ifndef TTM_DUMP_OUT_H
#define TTM_DUMP_OUT_H

#include "common/output.h"

/* As --format has them. */
enum dump_format {
	DUMP_TEXT,
	DUMP_JSON,
	DUMP_CSV,
};

struct dump_out {
	FILE *file;
	const char *path; /* NULL: stdout */
	struct ttm_output output;
};

/*
 * NULL or "-" is stdout; else as ttm_output_open(), which tells what is refused. The
 * path is kept, not copied. Returns 0, or TTM_EXIT_FAILURE, told on stderr.
 */
int dump_out_open(const char *path, struct dump_out *ret_out);

/*
 * Ends it; with `keep` it gets its name now, else the file stays what it was.
 * Returns 0, or TTM_EXIT_FAILURE, told on stderr: nothing may be taken as written.
 */
int dump_out_close(struct dump_out *out, bool keep);

#endif

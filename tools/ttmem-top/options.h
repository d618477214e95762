/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, as one struct. */
#ifndef TTM_TOP_OPTIONS_H
#define TTM_TOP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "ttmem-top/model/state.h"

struct top_size {
	int rows, cols;
};

struct top_options {
	const char *dir;
	bool system;
	const char *replay;
	const char *record;
	const char *config; /* NULL: the usual file */
	const char *filter;
	const char *device; /* NULL: the first, or it was found */
	bool no_config;
	bool once;
	bool batch;
	bool readonly;
	bool ascii;
	bool no_colour;
	bool vi;
	enum top_view view; /* TOP_VIEWS: not given */
	size_t sort;        /* TOP_COLUMNS: not given */
	unsigned window;
	uint64_t count;       /* frames; 0: no end */
	uint64_t delay_ns;    /* 0: not given */
	struct top_size size; /* 0: as it comes */
};

/* Ends the program for --help, --version and wrong use. */
void top_options_parse(int argc, char **argv, struct top_options *ret_options);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* All that a run of ttmem-top has. */
#ifndef TTM_TOP_APP_H
#define TTM_TOP_APP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/output.h"
#include "ttmem-top/model/source.h"
#include "ttmem-top/model/state.h"
#include "ttmem-top/views/grid.h"

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
	const char *device; /* --device, until it is found; NULL: none */
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

#define TOP_CONFIG_PATH_SIZE 4096u

struct top_app {
	struct top_options options;
	struct top_source *source;
	struct top_model model;
	struct top_state state;
	struct top_grid grid;
	FILE *record; /* NULL: none, or it failed */
	struct ttm_output output;
	int record_error;      /* why, or 0 */
	uint64_t histories_ns; /* when they are to be recorded again */
	bool utf8;             /* the locale's characters */
	char config[TOP_CONFIG_PATH_SIZE];  /* "": none */
	struct top_settings settings_read;  /* from it */
	struct top_settings settings_begun; /* with options */
};

/* CLOCK_MONOTONIC. */
uint64_t top_now_ns(void);

/*
 * Takes a snapshot if there is one by now, records and shows it. Returns 0, -EAGAIN
 * or -ENODATA as top_source_take() does, or another negative errno.
 */
int top_app_take(struct top_app *app, uint64_t now_ns);

/* Prints frames as text. Returns the exit status. */
int top_batch(struct top_app *app);

/*
 * The view on a terminal. Returns the exit status; -1: there is no terminal that it
 * could be on, and nothing was done.
 */
int top_live(struct top_app *app);

#endif

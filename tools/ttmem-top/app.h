/* SPDX-License-Identifier: Apache-2.0 */
/* All that a run of ttmem-top has. */
#ifndef TTM_TOP_APP_H
#define TTM_TOP_APP_H

#include <stdio.h>

#include "common/output.h"
#include "ttmem-top/views/grid.h"
#include "options.h"
#include "ttmem-top/model/source.h"
#include "ttmem-top/model/state.h"

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

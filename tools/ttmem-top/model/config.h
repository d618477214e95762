/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file: settings, and how processes are sorted. */
#ifndef TTM_TOP_CONFIG_H
#define TTM_TOP_CONFIG_H

#include <stddef.h>

#include "state.h"

/*
 * $XDG_CONFIG_HOME/ttmem/top.conf or ~/.config/ttmem/top.conf. Returns 0, or -ENOENT
 * (neither is set), -ENAMETOOLONG.
 */
int top_config_path(char *buffer, size_t buffer_size);

/*
 * Lines "name = value"; # begins a comment. What is not known is skipped: it may be
 * a later version's. Returns 0, or what fopen() said.
 */
int top_config_read(const char *path, struct top_state *state);

/* By a rename; makes the directory. Returns 0, or as ttm_output_open(). */
int top_config_write(const char *path, const struct top_state *state);

#endif

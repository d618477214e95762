/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOAD_OPTIONS_H
#define LOAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <ttmem/ttmem.h>

#include "board.h"

struct load_pattern;

struct load_options {
	/* Who and where. */
	uint64_t processes;
	uint64_t threads;
	uint64_t devices;
	bool devices_given;
	uint64_t mesh; /* devices of each mesh, 0: no meshes */
	const struct load_board *board;
	uint64_t chip_offset;
	uint64_t logical_offset;
	bool no_identity;
	bool implicit;
	const char *dir; /* NULL: as the library finds it */
	bool untracked;
	const char *fake_sysfs; /* NULL: a load; else only the tree, there */

	/* What. */
	const struct load_pattern *pattern;
	const char *script; /* NULL: a pattern; "-": stdin */
	uint64_t events;    /* of each thread; 0: no limit */
	double seconds;     /* 0: no limit */
	double rate;        /* events per second and thread; 0: flat out */
	uint64_t live;
	uint64_t objects;
	bool no_banks;
	uint64_t shrink; /* percent */
	bool size_given;
	uint64_t size_min;
	uint64_t size_max; /* behind the least: --size sets both */
	uint64_t seed;
	uint64_t scopes;
	uint64_t cross_free; /* percent */
	bool marks;
	uint64_t failures; /* of each thread */

	/* The end. */
	uint64_t leak;
	enum ttmem_kind leak_kind;
	uint64_t leak_size;
	int crash; /* the signal; 0: none */
	uint64_t crash_after;
	bool hold;
	double hold_seconds; /* 0: no limit */
	bool close;

	const char *json; /* NULL: a summary for people; "-": stdout */
	bool quiet;
};

/* Exits with 0 after --help and --version, with 2 on a mistake. */
void load_options_parse(
	int argc, char **argv, struct load_options *ret_options);

/* "dram" and so on, by enum ttmem_figure; the first five are the kinds. */
extern const char *const load_figure_names[TTMEM_FIGURES];

/* -1 if there is none of that name. */
int load_kind_find(const char *name);

/* A signal to crash by: kill, abort, segv or term; 0 for anything else. */
int load_signal_find(const char *name);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the target `segment`. */
#ifndef FUZZ_SEGMENT_H
#define FUZZ_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine_state.h"
#include "fuzz/segment_base.h"
#include "fuzz/steps.h"

#define MS 1000000ull
#define BAD_FILE 0u
#define GOOD_FILE 1u
#define STORES_MAX 2048u
#define ROUND_NS (11 * MS)

/* Lasts from one execution to the next. */
struct segment_host {
	struct ttm_engine *engine;
	struct ttm_registry *registry;
	struct ttm_attached *good;
	int served_fd; /* a directory that has a file of retired ones */
	bool verbose;
};

/* The execution at hand. */
struct segment_run {
	struct fuzz_input input;
	struct segment_base *base;
	struct ttm_directory *directory;
	struct ttm_attached *attached; /* until the engine lets go of it */
	size_t cursor;
	uint64_t later; /* reads until the next steps, 0: at the next wait */
	bool told;      /* that it is in quarantine */
	struct {
		uint64_t off;
		uint64_t was;
	} stores[STORES_MAX];
	size_t stores_len;
};

extern struct segment_host host;
extern struct segment_run now;

/* -- segment_file.c: what the writer does ----------------------------------------- */

/* Steps until the engine has to go on; returns how much time passes then. */
uint64_t segment_steps(void);
/* Before each read: a writer that does not wait until the engine has read. */
void segment_before_read(void);
/* The checksum of the header becomes right. */
void segment_seal(void);
/* The file is as it was. */
void segment_undo(void);

/* -- segment_check.c: what must hold, else it aborts ------------------------------- */

/* The good process, as it is now, is how it has to stay. */
void segment_good_keep(void);
void segment_check_good(void);
/* What a chip has is what its shares have, exactly. */
void segment_check_sums(void);
/* Of a round, and of the mirror. */
void segment_check_work(void);
/* In quarantine: with a text, and out of everything else. */
void segment_check_quarantine(void);
/* No row is left of who is gone. */
void segment_check_rest(void);

#endif

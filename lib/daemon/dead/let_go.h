/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/*
 * How far the lanes were read of processes that are not attached: their directory was
 * renamed, or is another ttmemd's for now, or a predecessor read them. What their
 * records told is in the distributions. So whoever comes back goes on where he was; from
 * the first record on, all would be counted a second time.
 *
 * Their rows stay in the image, for the next ttmemd. Used by the drain alone.
 */
#ifndef TTM_DAEMON_LET_GO_H
#define TTM_DAEMON_LET_GO_H

#include "daemon/dead/retirees.h"
#include "daemon/follow/process.h"
#include "daemon/publish/chip.h"
#include "daemon/publish/image.h"
#include "shm/aggregate.h"

/* What ttmemd remembers, and how long it keeps devices for whom a predecessor read. */
#define TTM_LET_GO_MOST 4096u
#define TTM_LET_GO_CHIPS_NS (600 * 1000000000ull)

struct ttm_let_go_process;

/* All zero: empty. */
struct ttm_let_go {
	struct ttm_let_go_process *first; /* the oldest */
	struct ttm_let_go_process *last;
	uint64_t len;     /* lanes, and chips, of all of them */
	uint64_t resumed; /* those that a predecessor read */
	/* That he knew by a logical id: whose they were is not known. */
	struct ttm_chip **chips;
	uint32_t chips_len;
};

void ttm_let_go_free(struct ttm_let_go *let_go);

/*
 * Takes the positions of a process that is about to be forgotten; their rows are up to
 * date. Returns 0 or -ENOMEM.
 */
int ttm_let_go_keep(struct ttm_let_go *let_go, struct ttm_process *process);

/* A lane of a process that a predecessor read; it gets a row. 0 or -ENOMEM. */
int ttm_let_go_resume(struct ttm_let_go *let_go, struct ttm_image *image,
	const struct ttm_position_row *row);

/*
 * After those: chips without an identity stay until the last of these processes has come
 * back or is forgotten, or is not waited for any more. Returns 0 or -ENOMEM.
 */
int ttm_let_go_resume_chips(struct ttm_let_go *let_go, struct ttm_chips *chips);
void ttm_let_go_release_chips(struct ttm_let_go *let_go);

/* Gives the process the positions of its uuid and owner, if there are any. */
void ttm_let_go_take(struct ttm_let_go *let_go, struct ttm_process *process);

/* Forgets those of that owner that are retired by now: nobody reads them again. */
void ttm_let_go_retired(struct ttm_let_go *let_go, struct ttm_image *image,
	uint32_t uid, const struct ttm_retirees *retirees);

/*
 * Who never comes back is not known. Of what is beyond `most` lanes and chips, the
 * oldest are forgotten.
 */
void ttm_let_go_trim(
	struct ttm_let_go *let_go, struct ttm_image *image, uint64_t most);

#endif

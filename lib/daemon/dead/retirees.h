/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/*
 * The retired processes of a directory: in its file, and as rows for readers. What
 * they left behind stays listed until it is dropped for room, oldest first and
 * those without survivors before the others; the sums of what was dropped stay.
 */
#ifndef TTM_DAEMON_RETIREES_H
#define TTM_DAEMON_RETIREES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/follow/process.h"
#include "daemon/publish/output.h"

struct ttm_retirees;

/* Loads the directory's file into rows. Returns 0 or a negative errno. */
int ttm_retirees_open(struct ttm_output *output,
	struct ttm_directory *directory, struct ttm_retirees **ret_retirees);
void ttm_retirees_close(struct ttm_retirees **retirees);

/*
 * One could not be shown, and is in the file alone, or its owner removed the file: they
 * should be opened again.
 */
bool ttm_retirees_are_behind(const struct ttm_retirees *retirees);

bool ttm_retirees_has(
	const struct ttm_retirees *retirees, const uint8_t uuid[16]);

/*
 * Retires a process after its last round: its entry is committed, then its rows
 * become those of a retired one. The process itself has none afterwards. Returns 0
 * or a negative errno; then nothing has changed. -ESTALE: once they are opened again
 * it can be.
 */
int ttm_retirees_add(struct ttm_retirees *retirees, struct ttm_output *output,
	struct ttm_process *process, uint64_t now_ns);

/* Drops what is too much. Returns 0 or a negative errno. */
int ttm_retirees_trim(struct ttm_retirees *retirees, struct ttm_output *output);

/* Chips may have got other identities: their shares follow. */
void ttm_retirees_assign(
	struct ttm_retirees *retirees, struct ttm_output *output);

/* The directory is gone: removes all rows, and takes their sums back. */
void ttm_retirees_forget(
	struct ttm_retirees *retirees, struct ttm_output *output);

/* Into the directory's row. */
void ttm_retirees_describe(
	const struct ttm_retirees *retirees, struct ttm_directory_row *row);

#endif

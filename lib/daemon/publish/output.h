/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/* What the drain knows, as rows of the image and of the object table. */
#ifndef TTM_DAEMON_OUTPUT_H
#define TTM_DAEMON_OUTPUT_H

#include "daemon/follow/process.h"
#include "daemon/publish/chip.h"
#include "daemon/publish/image.h"
#include "daemon/publish/publish.h"

struct ttm_output {
	struct ttm_image *image;
	struct ttm_publisher *publisher;
	struct ttm_chips chips;
	uint64_t memory_errors;
	bool names_only; /* everybody may read it: no command lines */
	bool changed;    /* something for the next publication */
};

/* The row of a directory, made if need be; 0 when there is no memory. */
uint64_t ttm_output_directory(
	struct ttm_output *output, struct ttm_directory *directory);

/*
 * Brings the rows of a process up to date. Reads counters, names and the like from
 * its segment. Returns 0, -EPROTO (process->source.reason) or another negative
 * errno.
 */
int ttm_output_process(struct ttm_output *output, struct ttm_process *process,
	uint64_t now_ns, bool whole);

/* The object in a slot as a row; process and scope are references. */
void ttm_output_object(struct ttm_output *output, struct ttm_process *process,
	uint32_t slot, const struct ttm_item *item,
	struct ttm_object_row *ret_row);

/* What a part tells of its device may be new: the chip learns it, and has the part. */
void ttm_output_tell(struct ttm_output *output,
	const struct ttm_process *process, struct ttm_part *part);

/* Moves the parts of a process to other chips, where identities changed. */
void ttm_output_assign(struct ttm_output *output, struct ttm_process *process);

/* Headroom and label of a chip are found anew over all shares. */
void ttm_output_chips(struct ttm_output *output);

/* Removes every row of the process; its sums are taken back. */
void ttm_output_forget(struct ttm_output *output, struct ttm_process *process);

#endif

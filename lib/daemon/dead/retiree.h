/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/* One retired process: as an entry of the file, and as rows for readers. */
#ifndef TTM_DAEMON_RETIREE_H
#define TTM_DAEMON_RETIREE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/dead/retired.h"
#include "daemon/follow/process.h"
#include "daemon/publish/output.h"

struct ttm_retiree_share {
	struct ttm_usage usage;
	struct ttm_device_facts facts;
};

struct ttm_refs {
	uint64_t *refs;
	uint32_t len;
};

struct ttm_retiree {
	struct ttm_retiree *next;
	uint8_t uuid[16];
	uint64_t file_size;
	uint64_t objects; /* survivors, unlisted ones too */
	uint64_t bytes;
	bool dropped;
	uint64_t row;
	struct ttm_retiree_share *shares;
	uint32_t shares_len;
	struct ttm_refs names;
	struct ttm_refs marks;
	struct ttm_refs failures;
	ttm_object_ref *listed;
	uint64_t listed_len;
};

/*
 * Makes the entry of a process after its last round and ttm_output_process(). Its live
 * objects are survivors, orphaned in the entry. Returns 0 or -ENOMEM.
 */
int ttm_retiree_entry(struct ttm_output *output, struct ttm_process *process,
	uint64_t now_ns, struct ttm_retired_entry *ret_entry);

/*
 * Makes the rows. Returns 0 or -ENOMEM; then there are none. *ret_retiree is the
 * caller's to hide and free.
 */
int ttm_retiree_show(struct ttm_output *output, struct ttm_directory *directory,
	const struct ttm_retired_entry *entry,
	struct ttm_retiree **ret_retiree);

/* Removes the rows, and takes their sums back. */
void ttm_retiree_hide(struct ttm_output *output, struct ttm_retiree *retiree);

void ttm_retiree_free(struct ttm_retiree *retiree);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/*
 * Words of a segment, checked, as the model's items. The place and the core set that
 * they name are not looked up here.
 */
#ifndef TTM_DAEMON_ITEM_H
#define TTM_DAEMON_ITEM_H

#include "daemon/follow/source.h"
#include "daemon/state/model.h"

/* An ALLOC, FREE or SHRINK record. Returns 0 or -EPROTO. */
int ttm_item_from_record(struct ttm_source *source, uint32_t lane,
	const struct ttm_words *record, struct ttm_item *ret_item);

/*
 * A slot. While its process runs it may be caught in the middle of a change, with
 * words of two objects; what cannot be is then taken for free, and its record will
 * tell. With `strict` it is an error. Returns 0 or -EPROTO.
 */
int ttm_item_from_slot(struct ttm_source *source, uint32_t slot,
	const struct ttm_words *words, bool strict, struct ttm_item *ret_item);

#endif

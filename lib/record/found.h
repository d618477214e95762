/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * Objects that a search of the index has found, and how they end. Nothing found is held: a
 * thread takes an object only by a CAS on its slot, which fails if the slot has changed.
 */
#ifndef TTM_RECORD_FOUND_H
#define TTM_RECORD_FOUND_H

#include "record/object.h"

/* A live slot as it was at one moment, and where the index has it. */
struct ttm_found {
	uint64_t *entry_at;
	uint64_t entry;
	uint32_t slot;
	struct ttm_words words;
};

/*
 * Copies a slot that is live; false if it is not. An object that shrinks meanwhile is still
 * there, so the copy is repeated: each time another thread has got on.
 */
bool ttm_slot_copy(const struct ttm_words *shared, struct ttm_words *ret_words);

/* The next live object with this key, orphaned or not, in another slot than `except`. */
bool ttm_found_next(struct ttm_process *process, struct ttm_search *search,
	const struct ttm_key *key, uint32_t except,
	struct ttm_found *ret_found);

uint64_t ttm_found_members(
	const struct ttm_process *process, const struct ttm_found *found);

/* The count of closes when the object was allocated. */
uint32_t ttm_words_allocated(
	const struct ttm_process *process, const struct ttm_words *words);

/* The devices on which it is live and not orphaned. */
uint64_t ttm_found_current(
	const struct ttm_process *process, const struct ttm_found *found);

/* Whether it is live on one of its devices, and not orphaned on all of them. */
bool ttm_found_is_current(
	const struct ttm_process *process, const struct ttm_found *found);

/*
 * The object with this key that has a part on `members`: one that is not orphaned there
 * if there is one. Current objects with one key are the same object to the caller.
 */
bool ttm_key_find(struct ttm_process *process, const struct ttm_key *key,
	uint64_t members, struct ttm_found *ret_found);

/*
 * After a CAS that failed: reads the slot again. True if it still holds the same object,
 * on fewer devices.
 */
bool ttm_found_renew(struct ttm_process *process, struct ttm_found *found);

/* As seen_free(), whatever devices the object is still on. */
bool ttm_found_free(struct ttm_process *process, struct ttm_found *found);

void ttm_found_count(const struct ttm_hook *hook, const struct ttm_found *found,
	uint64_t members, unsigned flags);

void ttm_free_write(struct ttm_words *record, unsigned flags, uint64_t now,
	const struct ttm_words *words);

void ttm_found_recycle(
	const struct ttm_hook *hook, const struct ttm_found *found);

/* The record of a free that was won and counted; then the slot may be used again. */
void ttm_found_commit(const struct ttm_hook *hook,
	const struct ttm_found *found, unsigned flags, uint64_t now);

/*
 * The object leaves these devices, on some of which it is: it ends, or stays on the others.
 * In an operation that has begun; false if another thread was faster, and nothing has
 * happened yet. *ret_left: the devices that it left.
 */
bool ttm_found_leave(const struct ttm_hook *hook, struct ttm_found *found,
	uint64_t members, unsigned flags, uint64_t now, uint64_t *ret_left);

/* The whole object, as an operation of its own; another thread may be faster. */
void ttm_found_end(const struct ttm_hook *hook, struct ttm_found *found,
	unsigned flags, uint64_t now);

bool ttm_blocks_or_loss(const struct ttm_hook *hook,
	const struct ttm_where *where, unsigned figure, uint64_t id,
	uint64_t bytes);

bool ttm_words_are_same_kernel(
	const struct ttm_words *one, const struct ttm_words *other);

#endif

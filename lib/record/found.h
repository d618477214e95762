/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * Objects that a search of the index found, and how they end. A search holds no lock on
 * them: a thread takes an object only by a CAS on its slot, which fails if the slot has
 * changed.
 */
#ifndef TTM_RECORD_FOUND_H
#define TTM_RECORD_FOUND_H

#include "record/object.h"

/* A live slot as it was at one moment, and its place in the index. */
struct ttm_found {
	uint64_t *entry_at;
	uint64_t entry;
	uint32_t slot;
	struct ttm_words words;
};

/*
 * Copies a live slot; returns false if it is not live. An object that shrinks meanwhile
 * is still live, so the copy is repeated; each repetition means that another thread has
 * made progress.
 */
bool ttm_slot_copy(const struct ttm_words *shared, struct ttm_words *ret_words);

/*
 * Finds the next live object with this key, orphaned or not, in another slot than
 * `except`.
 */
bool ttm_found_next(struct ttm_process *process, struct ttm_search *search,
	const struct ttm_key *key, uint32_t except,
	struct ttm_found *ret_found);

uint64_t ttm_found_members(
	const struct ttm_process *process, const struct ttm_found *found);

/* Returns the count of closes when the object was allocated. */
uint32_t ttm_words_allocated(
	const struct ttm_process *process, const struct ttm_words *words);

/* Returns the devices on which the object is live and not orphaned. */
uint64_t ttm_found_current(
	const struct ttm_process *process, const struct ttm_found *found);

/* Returns whether the object is current: live, and not orphaned on all its devices. */
bool ttm_found_is_current(
	const struct ttm_process *process, const struct ttm_found *found);

/*
 * Finds the object with this key that has a part on `members`: one that is not orphaned
 * there comes first. To the caller all current objects with one key are the same.
 */
bool ttm_key_find(struct ttm_process *process, const struct ttm_key *key,
	uint64_t members, struct ttm_found *ret_found);

/*
 * Reads the slot again after a CAS that failed. Returns true if it still holds the same
 * object, on fewer devices.
 */
bool ttm_found_renew(struct ttm_process *process, struct ttm_found *found);

/* Frees an object as seen_free() does, whatever devices it is still on. */
bool ttm_found_free(struct ttm_process *process, struct ttm_found *found);

void ttm_found_count(struct ttm_ring *ring, const struct ttm_found *found,
	uint64_t members, unsigned flags);

void ttm_free_write(struct ttm_words *record, unsigned flags, uint64_t now,
	const struct ttm_words *words);

void ttm_found_recycle(struct ttm_ring *ring, const struct ttm_found *found);

/*
 * Writes the record of a free that was won and counted; then the slot may be used
 * again.
 */
void ttm_found_commit(struct ttm_ring *ring, const struct ttm_found *found,
	unsigned flags, uint64_t now);

/*
 * Removes the object from these devices: it ends, or stays on the others. In an
 * operation that has begun. Returns false if another thread was faster; nothing has
 * happened then. *ret_left: the devices that the object left.
 */
bool ttm_found_leave(struct ttm_ring *ring, struct ttm_found *found,
	uint64_t members, unsigned flags, uint64_t now, uint64_t *ret_left);

/* Ends the whole object in an operation of its own; another thread may be faster. */
void ttm_found_end(struct ttm_ring *ring, struct ttm_found *found,
	unsigned flags, uint64_t now);

bool ttm_blocks_or_loss(struct ttm_ring *ring, const struct ttm_where *where,
	unsigned figure, uint64_t id, uint64_t bytes);

bool ttm_words_are_same_kernel(
	const struct ttm_words *one, const struct ttm_words *other);

#endif

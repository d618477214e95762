/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * A buffer on several devices, entered in the index once.
 *
 * Devices are taken by eights: those with the entries 8n to 8n + 7. The objects of one
 * event on them are in an octet, eight slots next to each other, each in the slot that
 * its device has there. The index has one entry for all, which leads to the octet:
 * whoever looks for the object of a device finds it behind its own bucket, there.
 *
 * Each octet has a word of private memory: how many times it was used << 16, and for each
 * slot a bit while its object is there (0-7), or going (8-15). One CAS on that word claims
 * objects, one or all of them: of several who try, one gets them. It frees their slots by
 * plain stores, counts and records, and takes their bits away. The octet is used again as a
 * whole: who takes the last bits away clears the entry. A count that has changed tells
 * that what was found was of an earlier use.
 *
 * An object of its own and one in a group may have the same key. So that at least one
 * sees the other, each device that has objects of its own is announced, and so are
 * groups: before anything is entered. Who has entered looks at the announcements of the
 * others, and then for their entries.
 *
 * Lock-free; inside a hook.
 */
#ifndef TTM_RECORD_GROUP_H
#define TTM_RECORD_GROUP_H

#include "record/index.h"
#include "record/process.h"

/* What a hook says of an object. */
struct ttm_object {
	unsigned figure;
	unsigned flags; /* enum ttm_flag */
	uint32_t cores; /* 0 for a buffer */
	uint64_t id;
	uint64_t address;
	uint64_t size;    /* CB: per core; kernel: of the binary */
	uint64_t program; /* buffer: charged bytes */
	uint64_t bytes;   /* all in all */
};

/*
 * A buffer on a mesh, or on a device of which little is known yet; and it goes. Word by
 * word: an object as a whole would be copied in larger pieces than it was written in.
 */
void ttm_group_put(struct ttm_seat *seat, uint32_t device, unsigned figure,
	uint64_t id, uint64_t address, uint64_t size, uint64_t charged);
void ttm_group_remove(
	struct ttm_seat *seat, uint32_t device, unsigned figure, uint64_t id);

#define TTM_OCTET_THERE(word) ((unsigned)((word)&0xff))
#define TTM_OCTET_USE(word) ((word) >> 16)
/*
 * In each word from its first use on, and in no link of a free slot: an octet may be broken
 * up into those, where its word is, while somebody is about to claim what he saw of it.
 * Counting carries over it.
 */
#define TTM_OCTET_MARK (1ull << 31)
_Static_assert(TTM_SLOTS_MAX < TTM_OCTET_MARK, "no link has it");

/* The next use of one that is free, with these objects; they are claimed; all are gone. */
#define TTM_OCTET_NEXT(word, bits)                                             \
	((((word) + 0x10000) | TTM_OCTET_MARK) + (bits))
#define TTM_OCTET_CLAIMED(word, bits)                                          \
	((word) + ((uint64_t)(bits) << 8) - (bits))
#define TTM_OCTET_GONE(word) ((word) & ~0xffffull)

/* The first slot of the octet of a slot, and its bit there. */
static inline uint32_t ttm_octet_of(uint32_t slot)
{
	return slot - slot % TTM_OCTET_LEN;
}

static inline unsigned ttm_octet_bit(uint32_t slot)
{
	return 1u << slot % TTM_OCTET_LEN;
}

/* The word of a slot's octet, read before the slot is; 0 if no object is there. */
uint64_t ttm_octet_with(struct ttm_process *process, uint32_t slot);

/* Claims the object of a slot; false if it is gone, or of another use than `seen`. */
bool ttm_octet_claim(struct ttm_process *process, uint32_t slot, uint64_t seen);

/* These objects were claimed, and all is said about them. */
void ttm_octet_leave(const struct ttm_hook *hook, uint32_t octet,
	uint64_t *place, unsigned bits);

void ttm_single_announce_first(struct ttm_process *process, unsigned device);

/* Before a buffer of its own is entered on that device. */
static TTM_INLINE void ttm_single_announce(
	struct ttm_process *process, unsigned device)
{
	/* relaxed: it only grows */
	if (TTM_UNLIKELY(!(ttm_load(&process->singles) >> device & 1)))
		ttm_single_announce_first(process, device);
}

bool ttm_group_may_have_rarely(
	const struct ttm_process *process, const struct ttm_key *key);

/*
 * Whether a group may have the key, asked after it was entered: the answer "no" is
 * certain.
 */
static TTM_INLINE bool ttm_group_may_have(
	const struct ttm_process *process, const struct ttm_key *key)
{
	/* pairs(group): acquire, with group_announce_first: of two that enter
	 * at once at least one sees the other announced */
	return TTM_UNLIKELY(ttm_load_acquire(&process->groups) != 0) &&
		ttm_group_may_have_rarely(process, key);
}

#endif

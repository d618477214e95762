/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> [apply] -> publish -> read -> render */
/*
 * What one process has on its devices, as its records and slots tell: a mirror of
 * its slots, and the sums over them. Pure: no shared memory, no clock, no files.
 *
 * The mirror rule. A slot's generation grows with every transition, and a record
 * carries the generation it produced. A record is applied if its generation is
 * newer than the mirror's, or equal where the mirror's came from a scan (which may
 * be torn on weakly ordered machines). So the order in which lanes are read does
 * not matter for the state. tests/models/mirror.pml.
 *
 * An object is on all devices of its place, and counted on each. Which of its parts
 * are orphaned is decided for each device, by the object's stamp.
 */
#ifndef TTM_DAEMON_MODEL_H
#define TTM_DAEMON_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ttmem/ttmem.h>

#include "shm/layout.h"

#define TTM_MODEL_CHUNK TTM_SLOTS_PER_EXTENT
#define TTM_MODEL_DEVICES TTM_DEVICES_MAX
#define TTM_MODEL_NONE UINT32_MAX

/*
 * An object, or what became of the slot that held one: then only `word` has a
 * meaning. The members that a free needs come first, to touch one line of memory.
 */
struct ttm_item {
	uint64_t word;  /* generation << 1 | 1 if live */
	uint64_t bytes; /* used, on each of its devices */
	uint16_t place; /* where it is now */
	uint16_t stamp;
	uint8_t figure;
	uint8_t flags; /* enum ttm_flag, those of objects */
	uint8_t rank;
	uint8_t reserved; /* 0 */
	uint64_t w4;      /* as in a slot: size, place of allocation */
	uint64_t id;
	uint64_t address;
	uint64_t w5;   /* as in a slot: program, or used bytes and banks */
	uint64_t time; /* of the allocation, in the process's clock */
	uint64_t w7;   /* as in a slot: scope, stack, cores, core set */
};

#define TTM_ITEM_WORD(generation, live)                                        \
	((uint64_t)(generation) << 1 | ((live) ? 1u : 0u))

static inline bool ttm_item_is_live(const struct ttm_item *item)
{
	return item->word & 1;
}

enum ttm_mirror_state {
	TTM_MIRROR_QUEUED = 1,  /* in the list of changed slots */
	TTM_MIRROR_SCANNED = 2, /* came from a scan */
	TTM_MIRROR_AHEAD = 4, /* allocated after the last close that is known */
	TTM_MIRROR_LINKED = 8, /* in a list of its place */
	TTM_MIRROR_ROUND = 16, /* the rest: the round it was applied in */
};

/* The mirror of a slot. */
struct ttm_mirror {
	uint32_t state; /* enum ttm_mirror_state */
	uint32_t row;   /* publish's: its object row, 0 none */
	uint32_t next;
	uint32_t previous;
	struct ttm_item item;
};

struct ttm_tally {
	uint64_t bytes;
	uint64_t objects;
};

enum ttm_list {
	TTM_LIST_L1 = 0, /* L1 buffers */
	TTM_LIST_CB = 1, /* CBs that are not borrowed */
	TTM_LISTS = 2,
};

struct ttm_place {
	uint64_t members; /* device entries, a bit for each; 0: not known yet */
	/* First slot of those with a part that is not orphaned. */
	uint32_t lists[TTM_LISTS];
};

/* One device entry of the process. */
struct ttm_share {
	bool changed;  /* since publish looked */
	bool l1_moved; /* L1 buffers, CBs or facts did since ttm_model_l1() */
	struct ttm_tally live[TTMEM_FIGURES];
	struct ttm_tally orphaned[TTMEM_FIGURES];
	uint64_t requested[TTMEM_FIGURE_CB]; /* bytes of live buffers */
	uint64_t ring_bytes[3];              /* by kernel type; of live ones */
};

#define TTM_MODEL_PENDING 8u

/*
 * What objects on all devices of one place changed and no share has yet: an event then
 * costs the same for one device and for many.
 */
struct ttm_pending {
	uint64_t members; /* of the place; 0: nothing is here */
	uint32_t place;
	uint32_t age_max; /* of objects that none of the members orphans */
	struct ttm_share sum;
};

struct ttm_model {
	struct ttm_mirror **chunks;
	uint32_t chunks_len;
	uint32_t *changed; /* slots, each once */
	uint32_t changed_len;
	uint32_t changed_capacity;
	uint32_t round;
	bool ahead;            /* an object is TTM_MIRROR_AHEAD */
	uint64_t live_objects; /* orphaned ones included */
	uint64_t closes;       /* of the process, as far as known */
	uint32_t epochs[TTM_MODEL_DEVICES];
	struct ttm_place *places; /* by number */
	uint32_t places_len;
	struct ttm_core_set *core_sets; /* by number; cores 0: not known yet */
	uint32_t core_sets_len;
	/* Complete after ttm_model_tally(). */
	struct ttm_share shares[TTM_MODEL_DEVICES];
	struct ttm_pending pending[TTM_MODEL_PENDING]; /* by place */
};

/* An empty one; nothing to free yet. */
void ttm_model_init(struct ttm_model *model);
void ttm_model_free(struct ttm_model *model);

/* Room for slots below `slots`. Returns 0 or -ENOMEM. */
int ttm_model_reserve(struct ttm_model *model, uint32_t slots);

static inline uint32_t ttm_model_slots(const struct ttm_model *model)
{
	return model->chunks_len * TTM_MODEL_CHUNK;
}

/* Private memory it takes, in bytes. */
size_t ttm_model_bytes(const struct ttm_model *model);

/* slot < ttm_model_slots() */
static inline struct ttm_mirror *ttm_model_mirror(
	const struct ttm_model *model, uint32_t slot)
{
	return &model->chunks[slot / TTM_MODEL_CHUNK][slot % TTM_MODEL_CHUNK];
}

/* Members of a place; 0 for one that is not known. */
static inline uint64_t ttm_model_members(
	const struct ttm_model *model, uint32_t place)
{
	return place < model->places_len ? model->places[place].members : 0;
}

/*
 * Makes a place or a core set known; it never changes. Returns 0 or -ENOMEM.
 * number < TTM_PLACES_MAX, number <= TTM_CORE_SETS_MAX.
 */
int ttm_model_place_add(
	struct ttm_model *model, uint32_t number, uint64_t members);
int ttm_model_core_set_add(struct ttm_model *model, uint32_t number,
	const struct ttm_core_set *core_set);

/* The core set, or NULL if it is not known. */
static inline const struct ttm_core_set *ttm_model_core_set(
	const struct ttm_model *model, uint32_t number)
{
	return number < model->core_sets_len && model->core_sets[number].cores ?
		&model->core_sets[number] :
		NULL;
}

/* Whether the part of a live object on a device is orphaned. */
static inline bool ttm_model_is_orphaned(const struct ttm_model *model,
	const struct ttm_mirror *mirror, unsigned device)
{
	return !(mirror->state & TTM_MIRROR_AHEAD) &&
		ttm_stamp_is_orphaned(model->closes, mirror->item.stamp,
			model->epochs[device]);
}

/* Whether a live object is orphaned on all of its devices. */
bool ttm_model_is_left(
	const struct ttm_model *model, const struct ttm_mirror *mirror);

/* A call of a function that only prefetches is one that gcc 12 leaves out. */
#define TTM_HINT static inline __attribute__((always_inline))

/*
 * Hints for whoever knows beforehand which slots it will apply to: with many
 * objects nothing costs more than to wait for their memory. The first brings the
 * mirror for an item that is live or not, the second, later on, its neighbours in a
 * list. slot < ttm_model_slots().
 */
TTM_HINT void ttm_model_prefetch(
	const struct ttm_model *model, uint32_t slot, bool live)
{
	const struct ttm_mirror *mirror = ttm_model_mirror(model, slot);

	__builtin_prefetch(mirror, 1);
	__builtin_prefetch(&mirror->item.w4, 1);
	if (live)
		__builtin_prefetch((const char *)(mirror + 1) - 1, 1);
}

TTM_HINT void ttm_model_prefetch_neighbours(
	const struct ttm_model *model, uint32_t slot)
{
	const struct ttm_mirror *mirror = ttm_model_mirror(model, slot);

	if (!(mirror->state & TTM_MIRROR_LINKED))
		return;
	if (mirror->next != TTM_MODEL_NONE)
		__builtin_prefetch(
			&ttm_model_mirror(model, mirror->next)->previous, 1);
	if (mirror->previous != TTM_MODEL_NONE)
		__builtin_prefetch(
			&ttm_model_mirror(model, mirror->previous)->next, 1);
}

/*
 * What the slot became, by a record (or, `scanned`, as it was read itself). The
 * item's figure is in range, its place and core set are known. Returns whether it
 * was news.
 *
 * An item that is newer than the closes that are known is not orphaned for now;
 * model->ahead says that ttm_apply_closes() has to decide. The shares may have it only
 * after ttm_model_tally().
 */
bool ttm_apply(struct ttm_model *model, uint32_t slot,
	const struct ttm_item *item, bool scanned);

/* Brings the shares up to date with all that was applied. */
void ttm_model_tally(struct ttm_model *model);

/*
 * Takes the number of closes and the epochs of all devices, which were read after all
 * that was applied: epochs first, then closes. If they moved, tallies everything anew, and
 * the shares are complete.
 */
void ttm_apply_closes(struct ttm_model *model, uint64_t closes,
	const uint32_t epochs[TTM_MODEL_DEVICES]);

/* Puts the slot into the list of changed ones. */
void ttm_model_queue(struct ttm_model *model, uint32_t slot);

struct ttm_l1_facts {
	uint64_t cores; /* TTMEM_UNKNOWN: unknown */
	uint64_t base;
	uint64_t top;
};

struct ttm_l1_result {
	uint64_t cb_footprint;
	bool cb_footprint_exact; /* else a lower bound */
	int64_t headroom;        /* INT64_MIN: unknown */
	uint64_t clash_program;  /* of the CB that ends highest; or unknown */
	bool settled;            /* nothing was left out for being too new */
};

/*
 * CB footprint and headroom of a device, see docs/aggregation.md. Headroom leaves out
 * what was applied within the last two rounds: the lanes of a process are read one
 * after the other, and an object handed over between threads would seem to be
 * there twice. Returns 0 or -ENOMEM.
 */
int ttm_model_l1(const struct ttm_model *model, unsigned device,
	const struct ttm_l1_facts *facts, struct ttm_l1_result *ret_result);

/*
 * Whether the L1 of two devices is the same, except for their facts: both are members
 * of the same places that have something there, and were closed together last.
 */
bool ttm_model_l1_is_same(
	const struct ttm_model *model, unsigned device, unsigned other);

/*
 * For a dead process that was killed inside an operation: of two live slots with
 * one key the higher rank wins, the other is freed here. Returns how many, or
 * -ENOMEM.
 */
int ttm_model_settle_twins(struct ttm_model *model);

#endif

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
 */
#ifndef TTM_AGGREGATE_MODEL_H
#define TTM_AGGREGATE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ttmem/ttmem.h>

#define TTM_MODEL_CHUNK 2048u
#define TTM_MODEL_DEVICES 64u
#define TTM_MODEL_NONE UINT32_MAX

enum ttm_item_flag {
	TTM_ITEM_BORROWED = 1,
	TTM_ITEM_IN_RING = 2,
	TTM_ITEM_PERSISTENT = 4,
};

/*
 * An object, or what became of the slot that held one: then only `word` means
 * anything. First what a free needs, too, so that it touches one line of memory.
 */
struct ttm_item {
	uint64_t word;  /* generation << 1 | 1 if live */
	uint64_t bytes; /* what it takes */
	uint32_t cores;
	uint16_t epoch;
	uint8_t device;
	uint8_t figure;
	uint32_t stack;
	uint16_t scope;
	uint8_t flags;
	uint8_t turn;
	uint64_t id;
	uint64_t address;
	uint64_t size; /* CB: per core; kernel: of the binary */
	uint64_t
		extra; /* program of a CB or kernel; charged bytes of a buffer */
	uint64_t time; /* of the allocation, in the process's clock */
};

#define TTM_ITEM_WORD(generation, live)                                        \
	((uint64_t)(generation) << 1 | ((live) ? 1u : 0u))

static inline bool ttm_item_is_live(const struct ttm_item *item)
{
	return item->word & 1;
}

enum ttm_place_state {
	TTM_PLACE_QUEUED = 1,   /* in the list of changed slots */
	TTM_PLACE_SCANNED = 2,  /* came from a scan */
	TTM_PLACE_ORPHANED = 4, /* counted as such */
	TTM_PLACE_LINKED = 8,   /* in a list of its share */
	TTM_PLACE_ROUND = 16,   /* the rest: the round it was applied in */
};

/* The mirror of a slot. */
struct ttm_place {
	uint32_t state; /* enum ttm_place_state */
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

/* One device entry of the process. */
struct ttm_share {
	bool known;
	bool changed;  /* since publish looked */
	bool l1_moved; /* L1 buffers, CBs or facts did since ttm_model_l1() */
	uint16_t epoch;
	struct ttm_tally live[TTMEM_FIGURES];
	struct ttm_tally orphaned[TTMEM_FIGURES];
	uint64_t ring_bytes[3];    /* by kernel type; of live ones */
	uint32_t lists[TTM_LISTS]; /* first slot of those that are live */
};

struct ttm_model {
	struct ttm_place **chunks;
	uint32_t chunks_len;
	uint32_t *changed; /* slots, each once */
	uint32_t changed_len;
	uint32_t changed_capacity;
	uint32_t round;
	uint64_t live_objects; /* orphaned ones included */
	struct ttm_share shares[TTM_MODEL_DEVICES];
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
static inline struct ttm_place *ttm_model_place(
	const struct ttm_model *model, uint32_t slot)
{
	return &model->chunks[slot / TTM_MODEL_CHUNK][slot % TTM_MODEL_CHUNK];
}

/* A call of a function that only prefetches is one that gcc 12 leaves out. */
#define TTM_HINT static inline __attribute__((always_inline))

/*
 * Hints for whoever knows beforehand which slots it will apply to: with many
 * objects nothing costs more than to wait for their memory. The first brings the
 * place for an item that is live or not, the second, later on, its neighbours in a
 * list. slot < ttm_model_slots().
 */
TTM_HINT void ttm_model_prefetch(
	const struct ttm_model *model, uint32_t slot, bool live)
{
	const struct ttm_place *place = ttm_model_place(model, slot);

	__builtin_prefetch(place, 1);
	__builtin_prefetch(&place->item.turn, 1);
	if (live)
		__builtin_prefetch((const char *)(place + 1) - 1, 1);
}

TTM_HINT void ttm_model_prefetch_neighbours(
	const struct ttm_model *model, uint32_t slot)
{
	const struct ttm_place *place = ttm_model_place(model, slot);

	if (!(place->state & TTM_PLACE_LINKED))
		return;
	if (place->next != TTM_MODEL_NONE)
		__builtin_prefetch(
			&ttm_model_place(model, place->next)->previous, 1);
	if (place->previous != TTM_MODEL_NONE)
		__builtin_prefetch(
			&ttm_model_place(model, place->previous)->next, 1);
}

/*
 * What the slot became, by a record (or, `scanned`, as it was read itself).
 * item->device and figure are in range. Returns whether it was news.
 */
bool ttm_apply(struct ttm_model *model, uint32_t slot,
	const struct ttm_item *item, bool scanned);

/* The device's epoch is `epoch` now: what is of another one is orphaned. */
void ttm_apply_epoch(struct ttm_model *model, unsigned device, uint16_t epoch);

/* Puts the slot into the list of changed ones. */
void ttm_model_queue(struct ttm_model *model, uint32_t slot);

struct ttm_l1_facts {
	uint64_t cores; /* TTMEM_UNKNOWN: unknown */
	uint64_t base;
	uint64_t top;
};

struct ttm_l1_result {
	uint64_t cb_footprint;
	int64_t headroom;       /* INT64_MIN: unknown */
	uint64_t clash_program; /* of the CB that ends highest */
	bool settled;           /* nothing was left out for being too new */
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
 * For a dead process that was killed inside an operation: of two live slots with
 * one key the later turn stands, the other is freed here. Returns how many, or
 * -ENOMEM.
 */
int ttm_model_settle_twins(struct ttm_model *model);

#endif

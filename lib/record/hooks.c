/* SPDX-License-Identifier: Apache-2.0 */
/* [event] -> lane -> drain -> apply -> publish -> read -> render */
/*
 * The hooks that record objects: they check the arguments, look the device up, and
 * insert or remove the object (object.h). Each public function is a test of the switch
 * and a jump.
 */
#include "record/object.h"

#define BUFFER_FLAGS                                                           \
	(TTMEM_BUFFER_PERSISTENT | TTMEM_BUFFER_TRACE | TTMEM_BUFFER_PER_CORE)
#define CB_FLAGS (TTMEM_CB_BORROWED | TTMEM_CB_DATAFLOW | TTMEM_CB_SCRATCHPAD)

/* -- the common path of insertions --------------------------------------------------- */

/*
 * Inserts first, then checks for others with the same key, because a live duplicate of
 * a buffer is an anomaly and may cost more. Everything that can be written before the
 * clock is read is written before: reading it takes as long as the stores, which the
 * CAS waits for.
 */
static TTM_INLINE void insert_boldly(struct ttm_ring *ring,
	const struct ttm_where *where, const struct ttm_object *object,
	const struct ttm_way *way)
{
	struct ttm_words *record = ttm_ring_record(ring, 0), *shared;
	uint64_t *entry_at, closes;
	struct ttm_words words;
	uint32_t slot;

	if (TTM_UNLIKELY(!ttm_ring_blocks(ring, where->members) ||
		    !ttm_supply_peek(ring, &slot, &shared))) {
		ttm_insert_slow(ring, *where, *object);
		return;
	}
	ttm_prefetch_write(shared);
	ttm_prefetch_write(way->bucket);
	ttm_place_use(ring->process, where->place);
	closes = ttm_closes(ring->process);
	words_fill(&words, ring, object, where->place, closes);
	words.w[1] |= slot;
	ttm_supply_take_peeked(ring);
	ttm_ring_begin(ring, 1);
	slot_begin(shared, &words, where->place);
	alloc_begin(record, 0, &words);
	words.w[6] = ttm_clock_now();
	ttm_record_end(record, &words);
	slot_end(shared, &words);
	entry_at = ttm_bucket_put(way->bucket, ttm_entry(&way->key, slot));
	TTM_TESTPOINT("index entered");
	if (TTM_UNLIKELY(!entry_at ||
		    ttm_index_may_have_other(ring->process, way->level,
			    way->bucket, &way->key, entry_at,
			    ttm_entry(&way->key, slot)))) {
		ttm_insert_check(ring, *where, entry_at);
		return;
	}
	members_alloc(ring, where->members, object->figure, (uint32_t)closes,
		object->bytes);
	ttm_ring_end(ring, 1);
}

/*
 * Returns whether an entry with the key's tag is in an overflow line or an older level.
 */
static TTM_INLINE bool entry_is_elsewhere(
	struct ttm_ring *ring, const struct ttm_way *way)
{
	/* relaxed: a later insertion by another thread is found in the
	 * second look */
	return TTM_UNLIKELY(way->level->older ||
		       ttm_load(&way->bucket->next) != 0) &&
		ttm_index_has_other(
			ring->process, way->key.bucket_hash, way->key.tag, 0);
}

/*
 * Dispatches the kernel of which `seen` points to the slot. Returns false,
 * inconclusive, if it is not the same one.
 */
static TTM_INLINE bool kernel_dispatched(struct ttm_ring *ring,
	const struct ttm_where *where, const struct ttm_object *object,
	const struct ttm_key *key, struct ttm_seen *seen, uint64_t now)
{
	uint64_t w4, w7;

	if (TTM_UNLIKELY(!ttm_ring_blocks(ring, where->members) ||
		    !key_glance(key, ttm_closes(ring->process), seen)))
		return false;
	w4 = ttm_load(&seen->shared->w[4]);
	w7 = ttm_load(&seen->shared->w[7]);
	/* pairs(slot-reuse): acquire, with slot_begin, as in slot_copy */
	ttm_fence_acquire();
	if (!kernel_is_same(seen->w1, w4, w7, object->figure, object->flags,
		    object->size, object->cores) ||
		ttm_load(&seen->shared->w[0]) != seen->w0)
		return false;
	ttm_ring_begin(ring, 1);
	dispatch_commit(
		ring, where->place, where->members, seen->w1, object->id, now);
	return true;
}

/*
 * Loads a kernel. The kernel is mostly live, so it is looked up first: after the clock,
 * when the bucket has arrived.
 */
static TTM_INLINE void kernel_insert(struct ttm_ring *ring,
	const struct ttm_where *where, const struct ttm_object *object,
	const struct ttm_way *way)
{
	struct ttm_seen seen;
	uint64_t now;

	/* Prefetch for reading: other processors keep their copies of the line. */
	__builtin_prefetch(way->bucket);
	now = ttm_clock_now();
	if (!key_point(ring->process, way->bucket, &way->key, &seen)) {
		if (!ttm_place_is_alone(ring->process, where->place) ||
			entry_is_elsewhere(ring, way)) {
			ttm_kernel_load_slow(ring, *where, *object);
			return;
		}
		insert_boldly(ring, where, object, way);
		if (!ttm_place_is_alone(ring->process, where->place))
			ttm_kernel_settle(ring, *where, object->id);
		return;
	}
	if (kernel_dispatched(ring, where, object, &way->key, &seen, now))
		return;
	/* After a close, the kernel may be live on some of the devices only. */
	if (ttm_place_is_alone(ring->process, where->place) &&
		(where->members & (where->members - 1)) == 0)
		ttm_insert_slow(ring, *where, *object);
	else
		ttm_kernel_load_slow(ring, *where, *object);
}

/* -- circular buffers ----------------------------------------------------------------- */

/*
 * Replaces the CB that `seen` points to: the new slot goes live and gets an index
 * entry, then the old slot is freed. Returns false if that CB is gone; nothing has
 * happened then.
 */
static TTM_INLINE bool cb_replace(struct ttm_ring *ring,
	const struct ttm_where *where, const struct ttm_object *object,
	const struct ttm_way *way, struct ttm_seen *seen)
{
	struct ttm_words *record = ttm_ring_record(ring, 0), *second, *shared;
	uint32_t slot, old_slot = ttm_entry_slot(seen->entry);
	uint64_t closes = ttm_closes(ring->process);
	uint64_t *entry_at, entry, old_w6;
	struct ttm_words words;
	struct ttm_rest old;

	if (TTM_UNLIKELY(!ttm_ring_blocks(ring, where->members) ||
		    !ttm_supply_peek(ring, &slot, &shared) ||
		    !key_glance(&way->key, closes, seen)))
		return false;
	ttm_prefetch_write(shared);
	entry = ttm_entry(&way->key, slot);
	words_fill(&words, ring, object, where->place, closes);
	words.w[1] |= TTM_W1(
		slot, 0, 0, 0, (uint8_t)(TTM_W1_RANK(seen->w1) + 1));
	ttm_supply_take_peeked(ring);
	ttm_ring_begin(ring, 1);
	slot_begin(shared, &words, where->place);
	words.w[6] = ttm_clock_now();
	slot_end(shared, &words);
	entry_at = ttm_bucket_put(way->bucket, entry);
	TTM_TESTPOINT("index entered");
	slot_rest(&old, seen, TTMEM_FIGURE_CB);
	old_w6 = ttm_load(&seen->shared->w[6]); /* relaxed: as slot_rest */
	if (TTM_UNLIKELY(!entry_at || !seen_free(seen))) {
		ttm_replace_finish(ring, *where, entry_at, words,
			(struct ttm_before){ old_slot, seen->w1, old_w6 });
		return true;
	}
	ttm_ring_begin(ring, 2);
	members_count(ring, where->members, (uint32_t)closes,
		&(struct ttm_change){
			TTMEM_FIGURE_CB, 1, 1, object->bytes, old.bytes });
	rest_write(
		record, TTM_FLAG_REPLACED, object->id, words.w[6], seen, &old);
	second = ttm_ring_record_after(ring, record);
	alloc_begin(second, 0, &words);
	ttm_record_end(second, &words);
	ttm_ring_end(ring, 2);
	ttm_supply_put(ring, old_slot, seen->shared);
	if (TTM_UNLIKELY(ttm_index_may_have_other(ring->process, way->level,
		    way->bucket, &way->key, entry_at, entry)))
		ttm_replace_check(ring, *where, entry_at, words);
	return true;
}

static TTM_INLINE void cb_insert(struct ttm_ring *ring,
	const struct ttm_where *where, const struct ttm_object *object,
	const struct ttm_way *way)
{
	struct ttm_seen seen;
	bool found = key_point(ring->process, way->bucket, &way->key, &seen);

	if (!found && !entry_is_elsewhere(ring, way))
		insert_boldly(ring, where, object, way);
	else if (TTM_UNLIKELY(!found ||
			 !cb_replace(ring, where, object, way, &seen)))
		ttm_insert_slow(ring, *where, *object);
}

/* -- all kinds ------------------------------------------------------------------------ */

static TTM_INLINE void object_insert(struct ttm_ring *ring,
	const struct ttm_where *where, const struct ttm_object *object)
{
	struct ttm_way way;

	way_set(&way, ring->process, where->place, object->figure, object->w5,
		object->id);
	if (object->figure < TTMEM_FIGURE_CB)
		insert_boldly(ring, where, object, &way);
	else if (object->figure == TTMEM_FIGURE_CB)
		cb_insert(ring, where, object, &way);
	else
		kernel_insert(ring, where, object, &way);
}

static bool kind_is_good(uint32_t kind)
{
	return kind <= TTMEM_TRACE;
}

static TTM_COLD void reject(enum ttmem_anomaly reason, enum ttm_entry entry,
	unsigned figure, uint64_t id)
{
	struct ttm_ring *ring = ttm_hook_enter(entry, 0);

	if (!ring)
		return;
	ttm_anomaly(ring, reason, 0, figure, id);
	ttm_hook_leave(ring);
}

/* Inserts on a device or mesh that is used for the first time, or does not exist. */
static TTM_SLOW void insert_first(
	struct ttm_ring *ring, uint32_t device, struct ttm_object object)
{
	enum ttmem_anomaly reason;
	struct ttm_where where;

	if (!ttm_where_get(ring->process, device, true, &where, &reason))
		ttm_device_missing(
			ring, reason, object.figure, object.id, object.bytes);
	else if (object.figure < TTMEM_FIGURE_KERNEL)
		ttm_insert_slow(ring, where, object);
	else
		ttm_kernel_load_slow(ring, where, object);
}

static TTM_SLOW void remove_first(struct ttm_ring *ring, uint32_t device,
	unsigned figure, uint64_t program, uint64_t id)
{
	enum ttmem_anomaly reason;
	struct ttm_where where;

	if (ttm_where_get(ring->process, device, false, &where, &reason))
		ttm_remove_slow(ring, where, figure, program, id);
	else
		ttm_anomaly(ring, reason, 0, figure, id);
}

static TTM_INLINE void insert(uint32_t device, struct ttm_object *object)
{
	struct ttm_where where;
	struct ttm_ring *ring = ttm_hook_enter(TTM_ENTRY_STARTS, object->bytes);

	if (!ring)
		return;
	object->cores = ttm_cores_in(ring->process, object->cores);
	if (TTM_LIKELY(ttm_where_known(ring->process, device, &where)))
		object_insert(ring, &where, object);
	else
		insert_first(ring, device, *object);
	ttm_hook_leave(ring);
}

static TTM_INLINE void object_remove(
	uint32_t device, unsigned figure, uint64_t program, uint64_t id)
{
	struct ttm_where where;
	struct ttm_ring *ring = ttm_hook_enter(TTM_ENTRY_NO_START, 0);

	if (!ring)
		return;
	if (TTM_LIKELY(ttm_where_known(ring->process, device, &where)))
		ttm_object_remove(ring, &where, figure, program, id);
	else
		remove_first(ring, device, figure, program, id);
	ttm_hook_leave(ring);
}

/* -- buffers ------------------------------------------------------------------------ */

static TTM_SLOW void buffer_alloc(uint32_t device, uint32_t kind, uint64_t id,
	uint64_t address, uint64_t size)
{
	struct ttm_object object = {
		.figure = kind,
		.id = id,
		.address = address,
		.size = size,
		.w5 = TTM_W5(size, 0),
		.bytes = size,
	};

	if (TTM_UNLIKELY(!kind_is_good(kind)))
		reject(TTMEM_ANOMALY_BAD_KIND, TTM_ENTRY_STARTS,
			TTM_FIGURE_NONE, id);
	else if (TTM_UNLIKELY(size > TTM_OBJECT_BYTES_MAX))
		reject(TTMEM_ANOMALY_OVERFLOW, TTM_ENTRY_STARTS, kind, id);
	else
		insert(device, &object);
}

void ttmem_alloc(uint32_t device, enum ttmem_kind kind, uint64_t id,
	uint64_t addr, uint64_t size)
{
	if (!ttm_switch_is_off())
		buffer_alloc(device, (uint32_t)kind, id, addr, size);
}

/*
 * Computes what the allocator reserved. Returns false if the figures do not fit a slot.
 */
static bool buffer_used(const struct ttmem_buffer *buffer, uint32_t *ret_banks,
	uint64_t *ret_used)
{
	uint64_t used = buffer->bytes;

	*ret_banks = 0;
	if (buffer->banks && buffer->bytes_per_bank != TTMEM_UNKNOWN) {
		*ret_banks = buffer->banks;
		if (buffer->banks > TTM_BANKS_MAX ||
			__builtin_mul_overflow(buffer->bytes_per_bank,
				(uint64_t)buffer->banks, &used))
			return false;
	}
	*ret_used = used;
	return used <= TTM_OBJECT_BYTES_MAX &&
		buffer->bytes <= TTM_OBJECT_BYTES_MAX;
}

static unsigned buffer_flags(uint32_t flags)
{
	return (flags & TTMEM_BUFFER_PERSISTENT ? TTM_FLAG_PERSISTENT : 0u) |
		(flags & TTMEM_BUFFER_TRACE ? TTM_FLAG_TRACE : 0u) |
		(flags & TTMEM_BUFFER_PER_CORE ? TTM_FLAG_PER_CORE : 0u);
}

static TTM_SLOW void buffer_alloc_full(const struct ttmem_buffer *buffer)
{
	struct ttm_object object = { .figure = TTM_FIGURE_NONE };
	enum ttmem_anomaly reason = TTMEM_ANOMALY_BAD_KIND;
	uint32_t banks;

	if (!buffer || buffer->size != sizeof(*buffer) ||
		!kind_is_good(buffer->kind) || buffer->reserved ||
		buffer->flags & ~BUFFER_FLAGS) {
		reject(reason, TTM_ENTRY_STARTS, TTM_FIGURE_NONE,
			buffer && buffer->size == sizeof(*buffer) ? buffer->id :
								    0);
		return;
	}
	object.figure = buffer->kind;
	object.flags = buffer_flags(buffer->flags);
	object.id = buffer->id;
	object.address = buffer->address;
	object.size = buffer->bytes;
	if (!ttm_cores_get(buffer->cores, &object.cores) ||
		!buffer_used(buffer, &banks, &object.bytes)) {
		reject(TTMEM_ANOMALY_OVERFLOW, TTM_ENTRY_STARTS, buffer->kind,
			buffer->id);
		return;
	}
	object.w5 = TTM_W5(object.bytes, banks);
	insert(buffer->device, &object);
}

void ttmem_buffer_alloc(const struct ttmem_buffer *buffer)
{
	if (!ttm_switch_is_off())
		buffer_alloc_full(buffer);
}

static TTM_SLOW void buffer_free(
	uint32_t device, enum ttmem_kind kind, uint64_t id)
{
	if (TTM_LIKELY(kind_is_good((uint32_t)kind)))
		object_remove(device, (unsigned)kind, 0, id);
	else
		reject(TTMEM_ANOMALY_BAD_KIND, TTM_ENTRY_NO_START,
			TTM_FIGURE_NONE, id);
}

void ttmem_free(uint32_t device, enum ttmem_kind kind, uint64_t id)
{
	if (!ttm_switch_is_off())
		buffer_free(device, kind, id);
}

/*
 * Removes what `remove` finds on a device or mesh. An event on a device without objects
 * is an anomaly only if it names an object (`named`).
 */
static TTM_SLOW void remove_found(uint32_t device, uint64_t id, unsigned figure,
	bool named,
	void (*remove)(struct ttm_ring *ring, const struct ttm_where *where,
		uint64_t id))
{
	enum ttmem_anomaly reason;
	struct ttm_where where;
	struct ttm_ring *ring = ttm_hook_enter(TTM_ENTRY_NO_START, 0);

	if (!ring)
		return;
	if (ttm_where_get(ring->process, device, false, &where, &reason))
		remove(ring, &where, id);
	else if (named || reason == TTMEM_ANOMALY_BAD_DEVICE)
		ttm_anomaly(ring, reason, 0, figure, id);
	ttm_hook_leave(ring);
}

void ttmem_free_any(uint32_t device, uint64_t id)
{
	if (!ttm_switch_is_off())
		remove_found(device, id, TTM_FIGURE_NONE, true, ttm_remove_any);
}

/* -- circular buffers and kernels ------------------------------------------------- */

/* Returns false if size x cores does not fit a slot. `cores` as in an object. */
static bool bytes_on_cores(uint64_t size, uint32_t cores, uint64_t *ret_bytes)
{
	return size <= TTM_OBJECT_BYTES_MAX &&
		!__builtin_mul_overflow(
			size, (uint64_t)(cores & TTM_CORES_MAX), ret_bytes) &&
		*ret_bytes <= TTM_OBJECT_BYTES_MAX;
}

static unsigned cb_flags(uint32_t flags)
{
	return (flags & TTMEM_CB_BORROWED ? TTM_FLAG_BORROWED : 0u) |
		(flags & TTMEM_CB_DATAFLOW ? TTM_FLAG_DATAFLOW : 0u) |
		(flags & TTMEM_CB_SCRATCHPAD ? TTM_FLAG_SCRATCHPAD : 0u);
}

static TTM_SLOW void cb_alloc(uint32_t device, uint64_t program, uint64_t cb,
	uint64_t addr, uint64_t size_per_core, uint32_t cores, uint32_t flags)
{
	struct ttm_object object = {
		.figure = TTMEM_FIGURE_CB,
		.flags = cb_flags(flags),
		.id = cb,
		.address = addr,
		.size = size_per_core,
		.w5 = program,
	};

	if (TTM_UNLIKELY(!ttm_cores_get(cores, &object.cores) ||
		    !bytes_on_cores(
			    size_per_core, object.cores, &object.bytes))) {
		reject(TTMEM_ANOMALY_OVERFLOW, TTM_ENTRY_STARTS,
			TTMEM_FIGURE_CB, cb);
	} else if (TTM_UNLIKELY(flags & ~CB_FLAGS)) {
		reject(TTMEM_ANOMALY_BAD_KIND, TTM_ENTRY_STARTS,
			TTMEM_FIGURE_CB, cb);
	} else {
		if (object.flags & TTM_FLAG_BORROWED)
			object.bytes = 0;
		insert(device, &object);
	}
}

void ttmem_cb_alloc(uint32_t device, uint64_t program, uint64_t cb,
	uint64_t addr, uint64_t size_per_core, uint32_t cores, uint32_t flags)
{
	if (!ttm_switch_is_off())
		cb_alloc(
			device, program, cb, addr, size_per_core, cores, flags);
}

static TTM_SLOW void cb_free(uint32_t device, uint64_t program, uint64_t cb)
{
	object_remove(device, TTMEM_FIGURE_CB, program, cb);
}

void ttmem_cb_free(uint32_t device, uint64_t program, uint64_t cb)
{
	if (!ttm_switch_is_off())
		cb_free(device, program, cb);
}

static TTM_SLOW void kernel_load(uint32_t device, uint64_t kernel,
	enum ttmem_kernel_type type, uint64_t binary_size, uint32_t cores,
	uint32_t flags)
{
	struct ttm_object object = {
		.figure = TTMEM_FIGURE_KERNEL + (unsigned)type,
		.flags = (flags & TTMEM_KERNEL_IN_RING ? TTM_FLAG_IN_RING : 0) |
			(type == TTMEM_KERNEL_APPLICATION ?
					0 :
					TTM_FLAG_PERSISTENT),
		.id = kernel,
		.size = binary_size,
		.w5 = kernel,
	};

	if (TTM_UNLIKELY((uint32_t)type > TTMEM_KERNEL_DISPATCH ||
		    flags & ~TTMEM_KERNEL_IN_RING))
		reject(TTMEM_ANOMALY_BAD_KIND, TTM_ENTRY_STARTS,
			TTM_FIGURE_NONE, kernel);
	else if (TTM_UNLIKELY(!ttm_cores_get(cores, &object.cores) ||
			 !bytes_on_cores(
				 binary_size, object.cores, &object.bytes)))
		reject(TTMEM_ANOMALY_OVERFLOW, TTM_ENTRY_STARTS, object.figure,
			kernel);
	else
		insert(device, &object);
}

void ttmem_kernel_load(uint32_t device, uint64_t kernel,
	enum ttmem_kernel_type type, uint64_t binary_size, uint32_t cores,
	uint32_t flags)
{
	if (!ttm_switch_is_off())
		kernel_load(device, kernel, type, binary_size, cores, flags);
}

static TTM_SLOW void kernel_unload(uint32_t device, uint64_t kernel)
{
	object_remove(device, TTMEM_FIGURE_KERNEL, 0, kernel);
}

void ttmem_kernel_unload(uint32_t device, uint64_t kernel)
{
	if (!ttm_switch_is_off())
		kernel_unload(device, kernel);
}

/* -- many at once ------------------------------------------------------------------ */

void ttmem_program_destroy(uint32_t device, uint64_t program)
{
	if (!ttm_switch_is_off())
		remove_found(device, program, TTM_FIGURE_NONE, false,
			ttm_program_remove);
}

void ttmem_cb_free_all(uint32_t device)
{
	if (!ttm_switch_is_off())
		remove_found(device, 0, TTMEM_FIGURE_CB, false, ttm_cbs_remove);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* [event] -> lane -> drain -> apply -> publish -> read -> render */
/*
 * The hooks about objects: check the arguments, resolve the device, and do the
 * same on each entry; group.c does so for buffers. Each public function is a test of the switch and a jump.
 */
#include <string.h>

#include "record/again.h"
#include "record/device.h"
#include "record/lane.h"
#include "record/note.h"
#include "record/program.h"
#include "record/scope.h"
#include "record/seat.h"
#include "record/start.h"

static bool kind_is_good(enum ttmem_kind kind)
{
	return (uint32_t)kind <= TTMEM_TRACE;
}

static TTM_INLINE void put_on_members(const struct ttm_hook *hook,
	uint64_t mask, const struct ttm_object *object)
{
	uint64_t now = ttm_clock_now();
	struct ttm_draft draft;

	draft_set(&draft, hook->seat, object);
	while (mask)
		ttm_object_put(
			hook, ttm_mask_take(&mask), object, &draft, &now);
}

/* A mesh, or a device of which little is known yet. */
static TTM_SLOW void put_on_each(
	struct ttm_seat *seat, uint32_t device, struct ttm_object object)
{
	const struct ttm_hook hook = ttm_hook_of(seat);
	enum ttmem_anomaly reason;
	uint64_t mask = ttm_device_mask(hook.process, device, true, &reason);

	/* Each loop has nothing of what the other class needs. */
	if (!mask)
		ttm_anomaly(&hook, reason, TTM_DEVICE_NONE, object.figure,
			object.id);
	else if (object.figure == TTMEM_FIGURE_CB)
		put_on_members(&hook, mask, &object);
	else if (object.figure >= TTMEM_FIGURE_KERNEL)
		put_on_members(&hook, mask, &object);
}

static TTM_INLINE void remove_on_members(const struct ttm_hook *hook,
	uint64_t mask, unsigned figure, uint64_t program, uint64_t id)
{
	uint64_t now = ttm_clock_now();
	struct ttm_key key;

	ttm_key_begin(&key, figure, program, id);
	while (mask)
		ttm_object_remove(
			hook, ttm_mask_take(&mask), figure, &key, &now);
}

static TTM_SLOW void remove_on_each(struct ttm_seat *seat, uint32_t device,
	unsigned figure, uint64_t program, uint64_t id)
{
	const struct ttm_hook hook = ttm_hook_of(seat);
	enum ttmem_anomaly reason;
	uint64_t mask = ttm_device_mask(hook.process, device, false, &reason);

	if (!mask)
		ttm_anomaly(&hook, reason, TTM_DEVICE_NONE, figure, id);
	else if (figure == TTMEM_FIGURE_CB)
		remove_on_members(&hook, mask, TTMEM_FIGURE_CB, program, id);
	else
		remove_on_members(&hook, mask, figure, program, id);
}

static TTM_INLINE void put(uint32_t device, const struct ttm_object *object)
{
	struct ttm_draft draft;
	struct ttm_hook hook;
	unsigned entry;

	if (TTM_UNLIKELY(
		    !ttm_hook_enter(&hook, TTM_ENTRY_STARTS, object->bytes)))
		return;
	if (TTM_LIKELY(ttm_device_known(hook.process, device, &entry))) {
		draft_set(&draft, hook.seat, object);
		ttm_object_put(&hook, entry, object, &draft, NULL);
	} else if (object->figure < TTMEM_FIGURE_CB) {
		ttm_group_put(hook.seat, device, object->figure, object->id,
			object->address, object->size, object->program);
	} else {
		put_on_each(hook.seat, device, object_copy(object));
	}
	ttm_hook_leave(&hook);
}

static TTM_INLINE void object_remove(
	uint32_t device, unsigned figure, uint64_t program, uint64_t id)
{
	struct ttm_hook hook;
	struct ttm_key key;
	unsigned entry;

	if (TTM_UNLIKELY(!ttm_hook_enter(&hook, TTM_ENTRY_NO_START, 0)))
		return;
	if (TTM_LIKELY(ttm_device_known(hook.process, device, &entry))) {
		ttm_key_begin(&key, figure, program, id);
		ttm_object_remove(&hook, entry, figure, &key, NULL);
	} else if (figure < TTMEM_FIGURE_CB) {
		ttm_group_remove(hook.seat, device, figure, id);
	} else {
		remove_on_each(hook.seat, device, figure, program, id);
	}
	ttm_hook_leave(&hook);
}

static TTM_COLD void reject(enum ttmem_anomaly reason, enum ttm_entry entry,
	unsigned figure, uint64_t id)
{
	struct ttm_hook hook;

	if (!ttm_hook_enter(&hook, entry, 0))
		return;
	ttm_anomaly(&hook, reason, TTM_DEVICE_NONE, figure, id);
	ttm_hook_leave(&hook);
}

/* -- buffers ------------------------------------------------------------------------ */

static TTM_SLOW void buffer_alloc(uint32_t device, enum ttmem_kind kind,
	uint64_t id, uint64_t addr, uint64_t size, uint64_t charged)
{
	struct ttm_object object = {
		.figure = (unsigned)kind,
		.id = id,
		.address = addr,
		.size = size,
		.program = charged,
		.bytes = size,
	};

	if (TTM_UNLIKELY(!kind_is_good(kind)))
		reject(TTMEM_ANOMALY_BAD_KIND, TTM_ENTRY_STARTS,
			TTM_FIGURE_NONE, id);
	else if (TTM_UNLIKELY(size > TTM_OBJECT_BYTES_MAX))
		reject(TTMEM_ANOMALY_OVERFLOW, TTM_ENTRY_STARTS, (unsigned)kind,
			id);
	else
		put(device, &object);
}

void ttmem_alloc(uint32_t device, enum ttmem_kind kind, uint64_t id,
	uint64_t addr, uint64_t size)
{
	if (!ttm_switch_is_off())
		buffer_alloc(device, kind, id, addr, size, TTMEM_UNKNOWN);
}

void ttmem_alloc_charged(uint32_t device, enum ttmem_kind kind, uint64_t id,
	uint64_t addr, uint64_t size, uint64_t charged)
{
	if (!ttm_switch_is_off())
		buffer_alloc(device, kind, id, addr, size, charged);
}

static TTM_SLOW void buffer_free(
	uint32_t device, enum ttmem_kind kind, uint64_t id)
{
	if (TTM_LIKELY(kind_is_good(kind)))
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

static TTM_SLOW void buffer_free_any(uint32_t device, uint64_t id)
{
	enum ttmem_anomaly reason;
	struct ttm_hook hook;
	unsigned entry, kind;
	struct ttm_key key;
	uint64_t mask;

	if (!ttm_hook_enter(&hook, TTM_ENTRY_NO_START, 0))
		return;
	mask = ttm_device_mask(hook.process, device, false, &reason);
	if (!mask)
		ttm_anomaly(
			&hook, reason, TTM_DEVICE_NONE, TTM_FIGURE_NONE, id);
	while (mask) {
		entry = ttm_mask_take(&mask);
		kind = ttm_object_kind(hook.process, entry, id);
		ttm_key_begin(&key, kind, 0, id);
		ttm_object_remove(&hook, entry, kind, &key, NULL);
	}
	ttm_hook_leave(&hook);
}

void ttmem_free_any(uint32_t device, uint64_t id)
{
	if (!ttm_switch_is_off())
		buffer_free_any(device, id);
}

/* -- circular buffers and kernels ------------------------------------------------- */

/* False if size x cores cannot be told, or not be kept. */
static bool bytes_on_cores(uint64_t size, uint32_t cores, uint64_t *ret_bytes)
{
	return cores <= TTM_CORES_MAX &&
		!__builtin_mul_overflow(size, (uint64_t)cores, ret_bytes) &&
		*ret_bytes <= TTM_OBJECT_BYTES_MAX;
}

static TTM_SLOW void cb_alloc(uint32_t device, uint64_t program, uint64_t cb,
	uint64_t addr, uint64_t size_per_core, uint32_t cores, uint32_t flags)
{
	struct ttm_object object = {
		.figure = TTMEM_FIGURE_CB,
		.flags = flags & TTMEM_CB_BORROWED ? TTM_FLAG_BORROWED : 0,
		.cores = cores,
		.id = cb,
		.address = addr,
		.size = size_per_core,
		.program = program,
	};

	if (TTM_UNLIKELY(
		    !bytes_on_cores(size_per_core, cores, &object.bytes))) {
		reject(TTMEM_ANOMALY_OVERFLOW, TTM_ENTRY_STARTS,
			TTMEM_FIGURE_CB, cb);
	} else if (TTM_UNLIKELY(flags & ~TTMEM_CB_BORROWED)) {
		reject(TTMEM_ANOMALY_BAD_KIND, TTM_ENTRY_STARTS,
			TTMEM_FIGURE_CB, cb);
	} else {
		if (object.flags & TTM_FLAG_BORROWED)
			object.bytes = 0;
		put(device, &object);
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
		.cores = cores,
		.id = kernel,
		.size = binary_size,
		.program = kernel,
	};

	if (TTM_UNLIKELY((uint32_t)type > TTMEM_KERNEL_DISPATCH ||
		    flags & ~TTMEM_KERNEL_IN_RING))
		reject(TTMEM_ANOMALY_BAD_KIND, TTM_ENTRY_STARTS,
			TTM_FIGURE_NONE, kernel);
	else if (TTM_UNLIKELY(
			 !bytes_on_cores(binary_size, cores, &object.bytes)))
		reject(TTMEM_ANOMALY_OVERFLOW, TTM_ENTRY_STARTS, object.figure,
			kernel);
	else
		put(device, &object);
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

static TTM_SLOW void program_destroy(uint32_t device, uint64_t program)
{
	enum ttmem_anomaly reason;
	struct ttm_hook hook;
	uint64_t mask, now, *at = NULL;

	if (!ttm_hook_enter(&hook, TTM_ENTRY_NO_START, 0))
		return;
	mask = ttm_device_mask(hook.process, device, false, &reason);
	if (!mask && reason == TTMEM_ANOMALY_BAD_DEVICE)
		ttm_anomaly(&hook, reason, TTM_DEVICE_NONE, TTM_FIGURE_NONE,
			program);
	for (; mask; at = &now)
		now = ttm_program_remove(
			&hook, ttm_mask_take(&mask), program, at);
	ttm_hook_leave(&hook);
}

void ttmem_program_destroy(uint32_t device, uint64_t program)
{
	if (!ttm_switch_is_off())
		program_destroy(device, program);
}

static TTM_SLOW void cb_free_all(uint32_t device)
{
	enum ttmem_anomaly reason;
	struct ttm_hook hook;
	uint64_t mask, now;

	if (!ttm_hook_enter(&hook, TTM_ENTRY_NO_START, 0))
		return;
	mask = ttm_device_mask(hook.process, device, false, &reason);
	if (!mask && reason == TTMEM_ANOMALY_BAD_DEVICE)
		ttm_anomaly(&hook, reason, TTM_DEVICE_NONE, TTMEM_FIGURE_CB, 0);
	now = ttm_clock_now();
	while (mask)
		ttm_cbs_remove(&hook, ttm_mask_take(&mask), now);
	ttm_hook_leave(&hook);
}

void ttmem_cb_free_all(uint32_t device)
{
	if (!ttm_switch_is_off())
		cb_free_all(device);
}

/* -- failures and marks ------------------------------------------------------------ */

static uint64_t thread_id(const struct ttm_hook *hook)
{
	return (uint32_t)ttm_load(&hook->seat->owner); /* relaxed: our own */
}

/*
 * Several threads may write at once, each its own number. One that is a whole round
 * behind leaves the place to the newer.
 */
static bool kept_claim(uint64_t *seq, uint64_t n)
{
	uint64_t seen = ttm_load(seq); /* relaxed: the CAS decides */

	if (seen > 2 * n || (seen & 1) || !ttm_cas(seq, seen, 2 * n + 1))
		return false;
	/* pairs(kept): release, with the aggregator's read: nothing of this
	 * number is seen with the old seq */
	ttm_fence_release();
	return true;
}

static void kept_done(uint64_t *seq, uint64_t n)
{
	/* pairs(kept): release, with the aggregator's read: it is whole */
	ttm_store_release(seq, 2 * n + 2);
}

static void failure_keep(struct ttm_hook *hook, unsigned device,
	enum ttmem_kind kind, uint64_t size, uint64_t largest_free)
{
	struct ttm_header_live *live = &hook->process->header->live;
	uint64_t n = ttm_fetch_add(&live->failures_len, 1);
	struct ttm_failure
		*failure = &hook->process->failures[n % TTM_FAILURES_KEPT];
	uint16_t epoch = (uint16_t)TTM_ERA_EPOCH(
		ttm_load(&hook->process->devices[device].era));

	if (!kept_claim(&failure->seq, n))
		return;
	ttm_store(&failure->w1,
		TTM_W1(TTM_SLOT_NONE, epoch, device, (unsigned)kind, 0,
			TTM_RECORD_FAILURE));
	ttm_store(&failure->size, size);
	ttm_store(&failure->largest_free, largest_free);
	ttm_store(&failure->time, ttm_clock_now());
	ttm_store(&failure->w7, TTM_W7(ttm_scope_now(hook->seat).name, 0, 0));
	ttm_store(&failure->tid, thread_id(hook));
	kept_done(&failure->seq, n);
	TTM_TESTPOINT("failure kept");
}

static void failure_record(struct ttm_hook *hook, unsigned device,
	enum ttmem_kind kind, uint64_t size, uint64_t largest_free)
{
	struct ttm_block_device *block = ttm_lane_block(
		hook->process, hook->lane, device);
	struct ttm_note note = {
		.type = TTM_RECORD_FAILURE,
		.device = device,
		.figure = (unsigned)kind,
		.slot = TTM_SLOT_NONE,
		.epoch = (uint16_t)TTM_ERA_EPOCH(
			ttm_load(&hook->process->devices[device].era)),
		.w4 = size,
		.w5 = largest_free,
	};

	if (!block) {
		ttm_loss(
			hook, TTMEM_LOSS_NO_SLOT, device, (unsigned)kind, 0, 0);
		return;
	}
	ttm_lane_begin(hook->lane);
	failure_keep(hook, device, kind, size, largest_free);
	ttm_own_add(&block->failures[kind], 1);
	ttm_note_commit(hook, &note);
}

static TTM_SLOW void alloc_failed(uint32_t device, enum ttmem_kind kind,
	uint64_t size, uint64_t largest_free)
{
	enum ttmem_anomaly reason;
	struct ttm_hook hook;
	uint64_t mask;

	if (!kind_is_good(kind)) {
		reject(TTMEM_ANOMALY_BAD_KIND, TTM_ENTRY_STARTS,
			TTM_FIGURE_NONE, 0);
		return;
	}
	if (!ttm_hook_enter(&hook, TTM_ENTRY_STARTS, 0))
		return;
	mask = ttm_device_mask(hook.process, device, true, &reason);
	if (!mask)
		ttm_anomaly(&hook, reason, TTM_DEVICE_NONE, (unsigned)kind, 0);
	while (mask)
		failure_record(
			&hook, ttm_mask_take(&mask), kind, size, largest_free);
	ttm_hook_leave(&hook);
}

void ttmem_alloc_failed(uint32_t device, enum ttmem_kind kind, uint64_t size,
	uint64_t largest_free)
{
	if (!ttm_switch_is_off())
		alloc_failed(device, kind, size, largest_free);
}

static uint64_t mark_keep(struct ttm_hook *hook, const char *text)
{
	struct ttm_header_live *live = &hook->process->header->live;
	uint64_t words[TTM_MARK_SIZE / 8] = { 0 }, n;
	size_t length = strnlen(text, TTM_MARK_SIZE), i;
	struct ttm_mark *mark;

	memcpy(words, text, length);
	n = ttm_fetch_add(&live->marks_len, 1);
	mark = &hook->process->marks[n % TTM_MARKS_KEPT];
	if (!kept_claim(&mark->seq, n))
		return n;
	ttm_store(&mark->time, ttm_clock_now());
	ttm_store(&mark->tid, thread_id(hook));
	ttm_store(&mark->length, length);
	for (i = 0; i < TTM_MARK_SIZE / 8; i++)
		ttm_store(&mark->text[i], words[i]);
	kept_done(&mark->seq, n);
	TTM_TESTPOINT("mark kept");
	return n;
}

static TTM_SLOW void mark(const char *text)
{
	struct ttm_note note = {
		.type = TTM_RECORD_MARK,
		.device = TTM_DEVICE_NONE,
		.figure = TTM_FIGURE_NONE,
		.slot = TTM_SLOT_NONE,
	};
	struct ttm_hook hook;

	if (!ttm_hook_enter(&hook, TTM_ENTRY_STARTS, 0))
		return;
	ttm_lane_begin(hook.lane);
	note.w2 = mark_keep(&hook, text ? text : "");
	ttm_note_commit(&hook, &note);
	ttm_hook_leave(&hook);
}

void ttmem_mark(const char *text)
{
	if (!ttm_switch_is_off())
		mark(text);
}

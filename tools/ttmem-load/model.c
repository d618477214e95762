/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <stdlib.h>

#include "model_entries.h"
#include "worker.h"

#define BUCKETS 4096u
#define SCOPES_MAX 32u
#define CORES_MAX 0xfffu
#define BANKS_MAX 0x3ffffu
#define BYTES_MAX ((1ull << 46) - 1)

struct object {
	struct object *next;
	struct model_object what;
	struct truth_amount amount; /* on each device */
	uint64_t allocated;         /* entries: its place of allocation */
	uint64_t members;           /* those where it still is */
	uint64_t stamp;             /* closes when it was allocated */
};

struct model {
	struct model_entries entries;
	struct truth_thread *thread;
	bool started;
	unsigned scopes;
	uint64_t *places; /* on which objects were allocated, in order */
	size_t places_len;
	struct object *buckets[BUCKETS]; /* the youngest first */
};

struct model *model_new(struct truth_process *process,
	struct truth_thread *thread, bool started, const struct model *parent)
{
	struct model *model = load_memory(1, sizeof(*model));

	model_entries_init(&model->entries, process, thread);
	if (parent)
		model_entries_inherit(&model->entries, &parent->entries);
	model->thread = thread;
	model->started = started;
	return model;
}

void model_free(struct model **model)
{
	struct object *object, *next;
	unsigned i;

	if (!*model)
		return;
	for (i = 0; i < BUCKETS; i++)
		for (object = (*model)->buckets[i]; object; object = next) {
			next = object->next;
			free(object);
		}
	model_entries_free(&(*model)->entries);
	free((*model)->places);
	free(*model);
	*model = NULL;
}

/* -- objects ---------------------------------------------------------------------- */

/* The three types of kernels share their ids. */
static unsigned figure_class(unsigned figure)
{
	return figure > TTMEM_FIGURE_KERNEL ? TTMEM_FIGURE_KERNEL : figure;
}

static struct object **bucket_of(struct model *model, uint64_t id)
{
	return &model->buckets[id * 0x9e3779b97f4a7c15ull >> 52];
}

static bool object_is(
	const struct object *object, const struct model_object *what)
{
	return object->what.id == what->id &&
		figure_class(object->what.figure) ==
		figure_class(what->figure) &&
		(what->figure != TTMEM_FIGURE_CB ||
			object->what.program == what->program);
}

/* The members on which it is not orphaned. */
static uint64_t object_live(
	const struct model *model, const struct object *object)
{
	uint64_t left = object->members, live = 0;

	for (; left; left &= left - 1) {
		unsigned entry = (unsigned)__builtin_ctzll(left);

		if (model->entries.epochs[entry] <= object->stamp)
			live |= 1ull << entry;
	}
	return live;
}

/* Frees it on some of its members; returns whether that was its end. */
static bool object_free(
	struct model *model, struct object **link, uint64_t mask)
{
	struct object *object = *link;
	struct truth_thread *thread = model->thread;
	struct truth_amount amount = object->amount;
	struct truth_amount less = { 0 - amount.objects, 0 - amount.bytes,
		0 - amount.requested };
	uint64_t part = object->members & mask;
	uint64_t orphans = part & ~object_live(model, object);
	uint64_t left;

	for (left = part; left; left &= left - 1)
		truth_add_free(thread, (size_t)__builtin_ctzll(left),
			object->what.figure, amount);
	for (left = orphans; left; left &= left - 1)
		truth_add_orphans(thread, (size_t)__builtin_ctzll(left),
			object->what.figure, less);
	if (orphans)
		truth_add_anomaly(thread, TTMEM_ANOMALY_LATE_FREE);
	object->members &= ~part;
	truth_add_objects(thread,
		object->members ? TRUTH_OBJECTS_SHRUNK : TRUTH_OBJECTS_FREED,
		1);
	if (object->members)
		return false;
	*link = object->next;
	free(object);
	return true;
}

/*
 * The object of that key that was allocated on these devices and is on some of `mask`:
 * one that is live somewhere, else the youngest orphan.
 */
static struct object **object_at(struct model *model, uint64_t allocated,
	uint64_t mask, const struct model_object *what)
{
	struct object **link = bucket_of(model, what->id);
	struct object **orphan = NULL;

	for (; *link; link = &(*link)->next) {
		if ((*link)->allocated != allocated ||
			!((*link)->members & mask) || !object_is(*link, what))
			continue;
		if (object_live(model, *link))
			return link;
		if (!orphan)
			orphan = link;
	}
	return orphan;
}

/* Returns the devices of `mask` on which there was nothing to free. */
static uint64_t object_free_at(struct model *model, uint64_t allocated,
	uint64_t mask, const struct model_object *what)
{
	struct object **link = object_at(model, allocated, mask, what);
	uint64_t left = mask;

	if (!link)
		return mask;
	left &= ~(*link)->members;
	object_free(model, link, mask);
	return left;
}

/* On each device one object: of the same place first, then of those that overlap. */
static uint64_t objects_free(
	struct model *model, uint64_t mask, const struct model_object *what)
{
	uint64_t left = object_free_at(model, mask, mask, what);
	size_t i;

	for (i = 0; i < model->places_len && left; i++)
		if (model->places[i] != mask && model->places[i] & left)
			left = object_free_at(
				model, model->places[i], left, what);
	return left;
}

/* Remembers the devices on which an object is allocated. */
static void place_note(struct model *model, uint64_t mask)
{
	size_t i;

	for (i = 0; i < model->places_len; i++)
		if (model->places[i] == mask)
			return;
	model->places = realloc(model->places,
		(model->places_len + 1) * sizeof(model->places[0]));
	if (!model->places)
		abort();
	model->places[model->places_len++] = mask;
}

/* The live one that was allocated on exactly these devices. */
static struct object **object_of_place(
	struct model *model, uint64_t mask, const struct model_object *what)
{
	struct object **link = bucket_of(model, what->id);

	for (; *link; link = &(*link)->next)
		if ((*link)->allocated == mask && object_is(*link, what) &&
			object_live(model, *link))
			return link;
	return NULL;
}

static void object_new(struct model *model, uint64_t mask,
	const struct model_object *what, uint64_t bytes)
{
	struct object **bucket = bucket_of(model, what->id);
	struct object *object = load_memory(1, sizeof(*object));
	bool is_buffer = what->figure < TTMEM_FIGURE_CB;
	uint64_t left;

	place_note(model, mask);
	object->what = *what;
	object->amount = (struct truth_amount){ 1, bytes,
		is_buffer ? what->size : bytes };
	object->allocated = object->members = mask;
	object->stamp = model->entries.closes;
	object->next = *bucket;
	*bucket = object;
	truth_add_objects(model->thread, TRUTH_OBJECTS_ALLOCATED, 1);
	for (left = mask; left; left &= left - 1)
		truth_add_alloc(model->thread, (size_t)__builtin_ctzll(left),
			what->figure, object->amount);
}

/* A buffer or CB replaces the one of the same device or mesh. */
static void object_put(struct model *model, uint64_t mask,
	const struct model_object *what, uint64_t bytes)
{
	struct object **before = object_of_place(model, mask, what);

	if (before) {
		object_free(model, before, UINT64_MAX);
		if (what->figure < TTMEM_FIGURE_CB)
			truth_add_anomaly(
				model->thread, TTMEM_ANOMALY_ALLOC_LIVE);
	}
	object_new(model, mask, what, bytes);
}

static bool kernel_is_same(
	const struct model_object *a, const struct model_object *b)
{
	return a->figure == b->figure && a->size == b->size &&
		a->cores == b->cores && a->flags == b->flags;
}

static void kernel_dispatch(struct model *model, uint64_t mask, unsigned type)
{
	struct truth_counters *targets = model->thread->targets;

	for (; mask; mask &= mask - 1)
		truth_add(model->thread,
			&targets[__builtin_ctzll(mask)].dispatches[type], 1);
}

/* Whatever the handle: a kernel is loaded once on a device. */
static void kernel_put(struct model *model, uint64_t mask,
	const struct model_object *what, uint64_t bytes)
{
	unsigned type = what->figure - TTMEM_FIGURE_KERNEL;
	struct object **link = bucket_of(model, what->id);
	struct object *object;
	uint64_t part;

	while ((object = *link) != NULL) {
		part = object_is(object, what) ?
			object_live(model, object) & mask :
			0;
		if (part && kernel_is_same(&object->what, what)) {
			kernel_dispatch(model, part, type);
			mask &= ~part;
		} else if (part && object_free(model, link, part)) {
			continue;
		}
		link = &object->next;
	}
	if (mask)
		object_new(model, mask, what, bytes);
}

/* -- calls about objects ----------------------------------------------------------- */

/* Figures beyond the known ones stand for kinds and types that there are not. */
static bool object_is_bad(const struct model_object *what, uint64_t *ret_bytes,
	enum ttmem_anomaly *ret_reason)
{
	*ret_reason = TTMEM_ANOMALY_BAD_KIND;
	if (what->figure >= TTMEM_FIGURES)
		return true;
	*ret_reason = TTMEM_ANOMALY_OVERFLOW;
	if (what->figure < TTMEM_FIGURE_CB) {
		*ret_bytes = what->size;
		if (what->banks && what->bytes_per_bank != TTMEM_UNKNOWN &&
			__builtin_mul_overflow(
				what->bytes_per_bank, what->banks, ret_bytes))
			return true;
		return what->size > BYTES_MAX || *ret_bytes > BYTES_MAX ||
			what->banks > BANKS_MAX || what->cores > CORES_MAX;
	}
	if (what->cores > CORES_MAX ||
		__builtin_mul_overflow(what->size, what->cores, ret_bytes) ||
		*ret_bytes > BYTES_MAX)
		return true;
	if (what->figure == TTMEM_FIGURE_CB && what->flags & TTMEM_CB_BORROWED)
		*ret_bytes = 0;
	return false;
}

void model_put(struct model *model, struct model_device device,
	const struct model_object *object)
{
	enum ttmem_anomaly reason;
	uint64_t bytes = 0;
	uint64_t mask;

	model->started = true;
	if (object_is_bad(object, &bytes, &reason)) {
		truth_add_anomaly(model->thread, reason);
		return;
	}
	mask = model_entries_mask(&model->entries, device, true, &reason);
	if (!mask)
		truth_add_anomaly(model->thread, reason);
	else if (object->figure >= TTMEM_FIGURE_KERNEL)
		kernel_put(model, mask, object, bytes);
	else
		object_put(model, mask, object, bytes);
}

void model_remove(struct model *model, struct model_device device,
	const struct model_object *object)
{
	enum ttmem_anomaly reason = TTMEM_ANOMALY_BAD_KIND;
	uint64_t mask = 0;

	if (!model->started)
		return;
	if (object->figure < TTMEM_FIGURES)
		mask = model_entries_mask(
			&model->entries, device, false, &reason);
	if (!mask)
		truth_add_anomaly(model->thread, reason);
	else if (objects_free(model, mask, object))
		truth_add_anomaly(model->thread, TTMEM_ANOMALY_FREE_UNKNOWN);
}

/* CBs of a program and its kernel; or (`all`) the CBs of every program. */
static bool bulk_has(const struct object *object, uint64_t program, bool all)
{
	if (object->what.figure == TTMEM_FIGURE_CB)
		return all || object->what.program == program;
	return !all && object->what.figure >= TTMEM_FIGURE_KERNEL &&
		object->what.id == program;
}

static void bulk_remove(struct model *model, struct model_device device,
	uint64_t program, bool all)
{
	enum ttmem_anomaly reason;
	struct object **link;
	struct object *object;
	uint64_t mask;
	unsigned i;

	if (!model->started)
		return;
	mask = model_entries_mask(&model->entries, device, false, &reason);
	if (!mask && reason == TTMEM_ANOMALY_BAD_DEVICE)
		truth_add_anomaly(model->thread, reason);
	for (i = 0; i < BUCKETS; i++)
		for (link = &model->buckets[i]; (object = *link) != NULL;) {
			if (object->members & mask &&
				bulk_has(object, program, all) &&
				object_free(model, link, mask))
				continue;
			link = &object->next;
		}
}

void model_remove_program(
	struct model *model, struct model_device device, uint64_t program)
{
	bulk_remove(model, device, program, false);
}

void model_remove_cbs(struct model *model, struct model_device device)
{
	bulk_remove(model, device, 0, true);
}

/* -- the other calls ---------------------------------------------------------------- */

void model_open(struct model *model, const struct ttmem_device_info *info)
{
	model->started = true;
	model_entries_open(&model->entries, info);
}

void model_close(struct model *model, struct model_device device)
{
	if (model->started)
		model_entries_close(&model->entries, device);
}

void model_mesh_open(struct model *model, size_t mesh, const uint32_t *devices,
	size_t devices_len)
{
	model->started = true;
	model_entries_mesh(&model->entries, mesh, devices, devices_len);
}

void model_mesh_close(struct model *model, struct model_device mesh)
{
	if (model->started)
		model_entries_mesh_end(&model->entries, mesh);
}

void model_failed(
	struct model *model, struct model_device device, uint64_t kind)
{
	enum ttmem_anomaly reason = TTMEM_ANOMALY_BAD_KIND;
	uint64_t mask = 0;

	model->started = true;
	if (kind < TRUTH_FAILURES)
		mask = model_entries_mask(
			&model->entries, device, true, &reason);
	if (mask)
		truth_add(model->thread, &model->thread->failed, 1);
	else
		truth_add_anomaly(model->thread, reason);
	for (; mask; mask &= mask - 1)
		truth_add(model->thread,
			&model->thread->targets[__builtin_ctzll(mask)]
				 .failures[kind],
			1);
}

void model_mark(struct model *model)
{
	model->started = true;
	truth_add(model->thread, &model->thread->marks, 1);
}

void model_push(struct model *model)
{
	model->started = true;
	if (model->scopes++ >= SCOPES_MAX)
		truth_add_anomaly(model->thread, TTMEM_ANOMALY_SCOPE_TOO_DEEP);
}

void model_pop(struct model *model)
{
	if (!model->started)
		return;
	if (model->scopes)
		model->scopes--;
	else
		truth_add_anomaly(model->thread, TTMEM_ANOMALY_SCOPE_UNDERFLOW);
}

void model_pop_to(struct model *model, uint64_t depth)
{
	if (model->started && model->scopes > depth)
		model->scopes = (unsigned)depth;
}

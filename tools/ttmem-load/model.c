/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <stdlib.h>

#include "model_entries.h"
#include "worker.h"

#define BUCKETS 4096u
#define SCOPES_MAX 32u
#define CORES_MAX 0xffffffu
#define BYTES_MAX ((1ull << 46) - 1)

struct object {
	struct object *next;
	struct model_object what;
	uint64_t bytes;
	unsigned entry;
	uint64_t epoch;
};

struct model {
	struct model_entries entries;
	struct truth_thread *thread;
	bool started;
	unsigned scopes;
	struct object *buckets[BUCKETS]; /* the youngest first */
};

/* What goes from an entry in one call, by figure. */
struct gone {
	uint64_t objects[TTMEM_FIGURES];
	uint64_t bytes[TTMEM_FIGURES];
	uint64_t orphan_objects[TTMEM_FIGURES];
	uint64_t orphan_bytes[TTMEM_FIGURES];
	uint64_t orphans;
};

struct model *model_new(struct truth_process *process,
	struct truth_thread *thread, bool started)
{
	struct model *model = load_memory(1, sizeof(*model));

	model_entries_init(&model->entries, process, thread);
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
	free(*model);
	*model = NULL;
}

/* -- objects ---------------------------------------------------------------------- */

/* The three types of kernels share their ids. */
static unsigned figure_class(unsigned figure)
{
	return figure > TTMEM_FIGURE_KERNEL ? TTMEM_FIGURE_KERNEL : figure;
}

static struct object **bucket_of(
	struct model *model, unsigned entry, uint64_t id)
{
	uint64_t hash = (id + entry * 0x9e3779b9ull) * 0x9e3779b97f4a7c15ull;

	return &model->buckets[hash >> 52];
}

static bool object_is(const struct object *object, unsigned entry,
	const struct model_object *what)
{
	return object->entry == entry && object->what.id == what->id &&
		figure_class(object->what.figure) ==
		figure_class(what->figure) &&
		(what->figure != TTMEM_FIGURE_CB ||
			object->what.program == what->program);
}

/* The place that leads to it: of the current epoch, or (`any`) else an orphan. */
static struct object **object_find(struct model *model, unsigned entry,
	const struct model_object *what, bool any)
{
	uint64_t epoch = model->entries.epochs[entry];
	struct object **orphan = NULL;
	struct object **place;

	for (place = bucket_of(model, entry, what->id); *place;
		place = &(*place)->next) {
		if (!object_is(*place, entry, what))
			continue;
		if ((*place)->epoch == epoch)
			return place;
		if (!orphan)
			orphan = place;
	}
	return any ? orphan : NULL;
}

static void object_end(
	struct model *model, struct object **place, struct gone *gone)
{
	struct object *object = *place;
	unsigned figure = object->what.figure;

	gone->objects[figure]++;
	gone->bytes[figure] += object->bytes;
	if (object->epoch != model->entries.epochs[object->entry]) {
		gone->orphan_objects[figure]++;
		gone->orphan_bytes[figure] += object->bytes;
		gone->orphans++;
	}
	*place = object->next;
	free(object);
}

static void gone_note(
	struct model *model, unsigned entry, const struct gone *gone)
{
	unsigned figure;

	for (figure = 0; figure < TTMEM_FIGURES; figure++) {
		if (gone->objects[figure])
			truth_add_free(model->thread, entry, figure,
				gone->objects[figure], gone->bytes[figure]);
		if (gone->orphan_objects[figure])
			truth_add_orphans(model->thread, entry, figure,
				0 - gone->orphan_objects[figure],
				0 - gone->orphan_bytes[figure]);
	}
	if (gone->orphans)
		truth_add(model->thread,
			&model->thread->anomalies[TTMEM_ANOMALY_LATE_FREE],
			gone->orphans);
}

static bool kernel_is_same(
	const struct model_object *a, const struct model_object *b)
{
	return a->figure >= TTMEM_FIGURE_KERNEL && a->figure == b->figure &&
		a->size == b->size && a->cores == b->cores &&
		a->flag == b->flag;
}

static void entry_put(struct model *model, unsigned entry,
	const struct model_object *what, uint64_t bytes)
{
	struct object **bucket = bucket_of(model, entry, what->id);
	struct object **before = object_find(model, entry, what, false);
	struct truth_counters *counters = &model->thread->targets[entry];
	struct gone gone = { 0 };
	struct object *object;

	if (before && kernel_is_same(&(*before)->what, what)) {
		truth_add(model->thread,
			&counters->dispatches[what->figure -
				TTMEM_FIGURE_KERNEL],
			1);
		return;
	}
	if (before) {
		object_end(model, before, &gone);
		gone_note(model, entry, &gone);
		if (what->figure < TTMEM_FIGURE_CB)
			truth_add_anomaly(
				model->thread, TTMEM_ANOMALY_ALLOC_LIVE);
	}
	object = load_memory(1, sizeof(*object));
	object->what = *what;
	object->bytes = bytes;
	object->entry = entry;
	object->epoch = model->entries.epochs[entry];
	object->next = *bucket;
	*bucket = object;
	truth_add_alloc(model->thread, entry, what->figure, 1, bytes);
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
		return what->size > BYTES_MAX;
	}
	if (what->cores > CORES_MAX ||
		__builtin_mul_overflow(what->size, what->cores, ret_bytes) ||
		*ret_bytes > BYTES_MAX)
		return true;
	if (what->figure == TTMEM_FIGURE_CB && what->flag)
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
	for (; mask; mask &= mask - 1)
		entry_put(
			model, (unsigned)__builtin_ctzll(mask), object, bytes);
}

static void entry_remove(
	struct model *model, unsigned entry, const struct model_object *what)
{
	struct object **place = object_find(model, entry, what, true);
	struct gone gone = { 0 };

	if (!place) {
		truth_add_anomaly(model->thread, TTMEM_ANOMALY_FREE_UNKNOWN);
		return;
	}
	object_end(model, place, &gone);
	gone_note(model, entry, &gone);
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
	for (; mask; mask &= mask - 1)
		entry_remove(model, (unsigned)__builtin_ctzll(mask), object);
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
	struct object **place;
	uint64_t mask;
	unsigned i, entry;

	if (!model->started)
		return;
	mask = model_entries_mask(&model->entries, device, false, &reason);
	if (!mask && reason == TTMEM_ANOMALY_BAD_DEVICE)
		truth_add_anomaly(model->thread, reason);
	for (; mask; mask &= mask - 1) {
		struct gone gone = { 0 };

		entry = (unsigned)__builtin_ctzll(mask);
		for (i = 0; i < BUCKETS; i++)
			for (place = &model->buckets[i]; *place;)
				if ((*place)->entry == entry &&
					bulk_has(*place, program, all))
					object_end(model, place, &gone);
				else
					place = &(*place)->next;
		gone_note(model, entry, &gone);
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
	if (kind < TRUTH_KINDS)
		mask = model_entries_mask(
			&model->entries, device, true, &reason);
	if (!mask)
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

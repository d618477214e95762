/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process should have on its devices, kept in the plainest way: a list of objects,
 * each on a set of device entries. One model for each thread; at rest they are added up.
 */
#ifndef RECORD_PLACES_MODEL_H
#define RECORD_PLACES_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <ttmem/ttmem.h>

enum {
	DEVICES = 8,
	CHANGING = 3, /* the device whose chip changes */
	ENTRIES = DEVICES +
		1, /* of the chips; the last is CHANGING's other one */
	OBJECTS_MAX = 1024,
};

struct model_object {
	bool used;
	unsigned figure;
	uint64_t id;
	uint64_t program; /* CB only */
	uint64_t place;   /* entries on which it was allocated */
	uint64_t members; /* where it is left */
	uint64_t orphans; /* of these, the ones that were closed since */
	uint64_t address;
	uint64_t size;
	uint64_t bytes; /* used on each device */
	uint32_t cores;
	uint32_t flags; /* of a kernel or CB */
};

struct model {
	struct model_object objects[OBJECTS_MAX];
	size_t len; /* objects from here on were never used */
	struct ttmem_usage_figure figures[ENTRIES][TTMEM_FIGURES];
	uint64_t anomalies[TTMEM_ANOMALIES];
};

/* The kernel types are one class. */
static inline unsigned model_class(unsigned figure)
{
	return figure < TTMEM_FIGURE_KERNEL ? figure : TTMEM_FIGURE_KERNEL;
}

static inline uint64_t model_current(const struct model_object *o)
{
	return o->members & ~o->orphans;
}

/* The first object from `from` on with this class, id and program; NULL: none. */
static inline struct model_object *model_next(struct model *m,
	struct model_object *from, unsigned figure, uint64_t id,
	uint64_t program)
{
	struct model_object *o = from ? from + 1 : m->objects;

	for (; o < m->objects + m->len; o++)
		if (o->used && model_class(o->figure) == model_class(figure) &&
			o->id == id && o->program == program)
			return o;
	return NULL;
}

/* The object leaves these entries, as far as it is there. */
static inline void model_leave(
	struct model *m, struct model_object *o, uint64_t members)
{
	uint64_t part = o->members & members;
	struct ttmem_usage_figure *f;
	unsigned e;

	if (part & o->orphans)
		m->anomalies[TTMEM_ANOMALY_LATE_FREE]++;
	for (e = 0; e < ENTRIES; e++) {
		if (!(part & ~o->orphans & 1ull << e))
			continue;
		f = &m->figures[e][o->figure];
		f->live_objects--;
		f->live_bytes -= o->bytes;
	}
	o->members &= ~part;
	o->orphans &= ~part;
	o->used = o->members != 0;
}

static inline void model_insert(
	struct model *m, const struct model_object *object)
{
	struct model_object *o = m->objects;
	struct ttmem_usage_figure *f;
	unsigned e;

	while (o < m->objects + m->len && o->used)
		o++;
	if (o == m->objects + OBJECTS_MAX)
		abort();
	if (o == m->objects + m->len)
		m->len++;
	*o = *object;
	o->used = true;
	o->members = o->place;
	o->orphans = 0;
	for (e = 0; e < ENTRIES; e++) {
		if (!(o->members & 1ull << e))
			continue;
		f = &m->figures[e][o->figure];
		f->live_objects++;
		f->live_bytes += o->bytes;
		if (f->live_bytes > f->peak_bytes)
			f->peak_bytes = f->live_bytes;
	}
}

/* A buffer or CB: replaces what has its key and is not orphaned everywhere. */
static inline void model_alloc(
	struct model *m, const struct model_object *object)
{
	struct model_object *o = NULL;

	while ((o = model_next(
			m, o, object->figure, object->id, object->program))) {
		if (o->place != object->place || !model_current(o))
			continue;
		if (object->figure < TTMEM_FIGURE_CB)
			m->anomalies[TTMEM_ANOMALY_ALLOC_LIVE]++;
		model_leave(m, o, UINT64_MAX);
	}
	model_insert(m, object);
}

/* Dispatched where the same is loaded; elsewhere it comes, and what is there goes. */
static inline void model_load(
	struct model *m, const struct model_object *kernel)
{
	struct model_object rest = *kernel, *o = NULL;
	uint64_t common;

	while ((o = model_next(m, o, kernel->figure, kernel->id, 0))) {
		common = model_current(o) & kernel->place;
		if (o->figure == kernel->figure && o->size == kernel->size &&
			o->cores == kernel->cores && o->flags == kernel->flags)
			rest.place &= ~common;
		else
			model_leave(m, o, common);
	}
	if (rest.place)
		model_insert(m, &rest);
}

/* Frees the key on these entries, orphans last; returns the entries without it. */
static inline uint64_t model_free(struct model *m, unsigned figure, uint64_t id,
	uint64_t program, uint64_t members)
{
	struct model_object *o = NULL;
	uint64_t part;

	while ((o = model_next(m, o, figure, id, program))) {
		part = model_current(o) & members;
		model_leave(m, o, part);
		members &= ~part;
	}
	while ((o = model_next(m, o, figure, id, program))) {
		part = o->members & members;
		model_leave(m, o, part);
		members &= ~part;
	}
	return members;
}

static inline void model_free_counted(struct model *m, unsigned figure,
	uint64_t id, uint64_t program, uint64_t members)
{
	if (model_free(m, figure, id, program, members))
		m->anomalies[TTMEM_ANOMALY_FREE_UNKNOWN]++;
}

static inline void model_free_any(
	struct model *m, uint64_t id, uint64_t members)
{
	unsigned kind, kind_found, kind_left;
	uint64_t before;
	struct model_object *o;

	do {
		kind_found = kind_left = TTMEM_TRACE + 1;
		for (kind = 0; kind <= TTMEM_TRACE; kind++)
			for (o = NULL; (o = model_next(m, o, kind, id, 0));) {
				if (model_current(o) & members &&
					kind < kind_found)
					kind_found = kind;
				if (o->members & members && kind < kind_left)
					kind_left = kind;
			}
		if (kind_found > TTMEM_TRACE)
			kind_found = kind_left;
		before = members;
		if (kind_found <= TTMEM_TRACE)
			members = model_free(m, kind_found, id, 0, members);
	} while (members && members != before);
	if (members)
		m->anomalies[TTMEM_ANOMALY_FREE_UNKNOWN]++;
}

/* CBs of the program and its kernel; `all`: CBs of all programs. */
static inline void model_destroy(
	struct model *m, uint64_t program, bool all, uint64_t members)
{
	struct model_object *o;

	for (o = m->objects; o < m->objects + m->len; o++)
		if (o->used &&
			(all ? o->figure == TTMEM_FIGURE_CB :
			       (o->figure == TTMEM_FIGURE_CB &&
				       o->program == program) ||
						(o->figure >= TTMEM_FIGURE_KERNEL &&
							o->id == program)))
			model_leave(m, o, members);
}

static inline void model_close(struct model *m, uint64_t members)
{
	struct model_object *o;
	unsigned e, figure;

	for (o = m->objects; o < m->objects + m->len; o++)
		if (o->used)
			o->orphans |= o->members & members;
	for (e = 0; e < ENTRIES; e++)
		for (figure = 0; figure < TTMEM_FIGURES; figure++)
			if (members & 1ull << e) {
				m->figures[e][figure].live_objects = 0;
				m->figures[e][figure].live_bytes = 0;
			}
}

/*
 * Whether a close of these entries leaves two orphaned objects with one key, or on one
 * device: which of them a late free takes is not defined. Sets *ret_object to the second.
 */
static inline bool model_close_is_ambiguous(
	struct model *m, uint64_t members, struct model_object **ret_object)
{
	struct model_object *o, *other;

	for (o = m->objects; o < m->objects + m->len; o++) {
		if (!o->used || !((o->members & members) | o->orphans))
			continue;
		*ret_object = o;
		for (other = o; (other = model_next(m, other, o->figure, o->id,
					 o->program));)
			if ((other->members & members) | other->orphans)
				return true;
	}
	return false;
}

#endif

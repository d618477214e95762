/* SPDX-License-Identifier: Apache-2.0 */
/* What a process should have on its devices, kept in the plainest way. */
#ifndef RECORD_USAGE_MODEL_H
#define RECORD_USAGE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <ttmem/ttmem.h>

enum {
	DEVICES = 3,
	CHANGING = 1, /* the device whose chip changes */
	CHIPS = 2,
	IDS = 12,
	PROGRAMS = 6,
	CBS = 4,
};

/* One key: at most one object of the epoch, and orphans of those before. */
struct model_object {
	bool live;
	unsigned figure;
	uint64_t size;
	uint32_t cores;
	uint64_t bytes;
	uint64_t orphans;
	uint32_t flags; /* of a kernel */
};

/* What the segment calls a device entry. */
struct model_entry {
	bool open;
	struct model_object buffers[5][IDS];
	struct model_object cbs[PROGRAMS][CBS];
	struct model_object kernels[PROGRAMS];
	uint64_t dispatches;
	struct ttmem_usage_figure figures[TTMEM_FIGURES];
};

static struct model_entry entries[DEVICES][CHIPS];
static unsigned chips[DEVICES];
static uint64_t anomalies[TTMEM_ANOMALIES];

static inline struct model_entry *entry_of(unsigned device)
{
	return &entries[device][chips[device]];
}

static inline void model_end(
	struct model_entry *entry, struct model_object *object)
{
	entry->figures[object->figure].live_objects--;
	entry->figures[object->figure].live_bytes -= object->bytes;
	object->live = false;
}

/* Returns whether there was one to replace. */
static inline bool model_put(struct model_entry *entry,
	struct model_object *object, unsigned figure, uint64_t size,
	uint32_t cores, uint64_t bytes)
{
	struct ttmem_usage_figure *f = &entry->figures[figure];
	bool replaced = object->live;

	if (replaced)
		model_end(entry, object);
	object->live = true;
	object->figure = figure;
	object->size = size;
	object->cores = cores;
	object->bytes = bytes;
	f->live_objects++;
	f->live_bytes += bytes;
	if (f->live_bytes > f->peak_bytes)
		f->peak_bytes = f->live_bytes;
	return replaced;
}

static inline bool model_free(
	struct model_entry *entry, struct model_object *object)
{
	if (object->live) {
		model_end(entry, object);
		return true;
	}
	if (object->orphans) {
		object->orphans--;
		anomalies[TTMEM_ANOMALY_LATE_FREE]++;
		return true;
	}
	return false;
}

static inline void model_free_counted(
	struct model_entry *entry, struct model_object *object)
{
	if (!model_free(entry, object))
		anomalies[TTMEM_ANOMALY_FREE_UNKNOWN]++;
}

static inline void model_free_all(
	struct model_entry *entry, struct model_object *object)
{
	while (model_free(entry, object))
		;
}

/* Calls `visit` for every key of the entry. */
static inline void model_visit(struct model_entry *entry,
	void (*visit)(struct model_entry *entry, struct model_object *object))
{
	unsigned i;
	unsigned j;

	for (i = 0; i < 5; i++)
		for (j = 0; j < IDS; j++)
			visit(entry, &entry->buffers[i][j]);
	for (i = 0; i < PROGRAMS; i++) {
		for (j = 0; j < CBS; j++)
			visit(entry, &entry->cbs[i][j]);
		visit(entry, &entry->kernels[i]);
	}
}

static inline void object_orphan(
	struct model_entry *entry, struct model_object *object)
{
	if (object->live) {
		model_end(entry, object);
		object->orphans++;
	}
}

static inline void model_close(struct model_entry *entry)
{
	model_visit(entry, object_orphan);
	entry->open = false;
}

#endif

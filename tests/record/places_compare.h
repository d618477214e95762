/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the models against ttmem_usage() and the segment: a part of test_places_model.c. */
#ifndef RECORD_PLACES_COMPARE_H
#define RECORD_PLACES_COMPARE_H

static void differ(
	const char *what, unsigned where, uint64_t expected, uint64_t found)
{
	char text[400];

	snprintf(text, sizeof(text),
		"seed %" PRIu64 ", step %" PRIu64 ", after %s: %s %u: "
		"%" PRIu64 ", not %" PRIu64,
		seed, actors[0].steps, actors[0].last_event, what, where, found,
		expected);
	TEST_FAIL_MESSAGE(text);
}

/* All threads together, on these entries. */
static struct ttmem_usage_figure models_figure(
	uint64_t members, unsigned figure)
{
	const struct ttmem_usage_figure *f;
	struct ttmem_usage_figure sum = { 0 };
	unsigned i, e;

	for (i = 0; i < actors_len; i++)
		for (e = 0; e < ENTRIES; e++) {
			f = &actors[i].model.figures[e][figure];
			if (!(members >> e & 1))
				continue;
			sum.live_objects += f->live_objects;
			sum.live_bytes += f->live_bytes;
			sum.peak_bytes += f->peak_bytes;
		}
	return sum;
}

static void compare_handle(unsigned handle, bool with_peaks)
{
	struct ttmem_usage usage = { .size = sizeof(usage) };
	struct ttmem_usage_figure expected, found;
	unsigned figure;

	TEST_ASSERT_EQUAL_INT(0, ttmem_usage(handles[handle], &usage));
	for (figure = 0; figure < TTMEM_FIGURES; figure++) {
		expected = models_figure(members_of(handle), figure);
		found = usage.figures[figure];
		if (expected.live_objects != found.live_objects)
			differ("live objects of handle and figure",
				10 * handle + figure, expected.live_objects,
				found.live_objects);
		if (expected.live_bytes != found.live_bytes)
			differ("live bytes of handle and figure",
				10 * handle + figure, expected.live_bytes,
				found.live_bytes);
		if (with_peaks && expected.peak_bytes != found.peak_bytes)
			differ("peak bytes of handle and figure",
				10 * handle + figure, expected.peak_bytes,
				found.peak_bytes);
	}
}

/* Each device, and one of the meshes. */
static void compare_usage(bool with_peaks)
{
	unsigned handle;

	for (handle = 0; handle < DEVICES; handle++)
		compare_handle(handle, with_peaks);
	compare_handle(
		DEVICES + (unsigned)(actors[0].steps % (HANDLES - DEVICES)),
		with_peaks);
}

/* Entries of the segment as those of the model. */
static uint64_t members_translate(const struct segment *segment, uint64_t mask)
{
	uint64_t members = 0;
	unsigned i, e;

	for (i = 0; i < SEGMENT_DEVICES; i++)
		for (e = 0; mask >> i & 1 && e < ENTRIES; e++)
			if (segment->devices[i].used &&
				segment->devices[i].chip_id == chip_of(e))
				members |= 1ull << e;
	return members;
}

static bool is_same_object(const struct segment *segment,
	const struct segment_words *found, const struct model_object *o)
{
	return o->used && o->figure == found->figure && o->id == found->id &&
		(o->figure != TTMEM_FIGURE_CB ||
			o->program == found->program) &&
		o->size == found->size && o->bytes == found->bytes &&
		o->address == found->w[3] && o->cores == found->cores &&
		o->place ==
		members_translate(
			segment, segment->places[found->alloc_place]) &&
		o->members == members_translate(segment, found->members) &&
		o->orphans == members_translate(segment, found->orphans);
}

static void compare_object(
	const struct segment *segment, const struct segment_words *found)
{
	uint64_t owner = (found->figure == TTMEM_FIGURE_CB ? found->program :
							     found->id) /
		ID_STEP;
	const struct model *model = &actors[owner].model;
	size_t i;

	for (i = 0; i < model->len; i++)
		if (is_same_object(segment, found, &model->objects[i]))
			return;
	differ("an object that should not be, of figure", found->figure, 0,
		found->id);
}

static void compare_anomalies(void)
{
	uint64_t expected;
	unsigned reason, i;

	for (reason = 0; reason < TTMEM_ANOMALIES; reason++) {
		expected = 0;
		for (i = 0; i < actors_len; i++)
			expected += actors[i].model.anomalies[reason];
		if (expected != test_anomalies(reason))
			differ("anomaly", reason, expected,
				test_anomalies(reason));
	}
	for (reason = 0; reason < TTMEM_LOSSES; reason++)
		TEST_ASSERT_EQUAL_UINT64(0, test_losses(reason));
}

/* Every object, on every entry: too slow to look at after each event. */
static void compare_segment(void)
{
	struct segment *segment = test_segment_at_rest();
	struct ttmem_usage_figure expected;
	const struct segment_flow *flow;
	unsigned i, e, figure;
	uint64_t objects = 0;
	size_t j;

	for (i = 0; i < SEGMENT_DEVICES; i++)
		for (figure = 0; figure < TTMEM_FIGURES; figure++) {
			flow = &segment->devices[i].figures[figure];
			expected = models_figure(
				members_translate(segment, 1ull << i), figure);
			if (flow->slot_objects != expected.live_objects)
				differ("objects in slots, entry", i,
					expected.live_objects,
					flow->slot_objects);
			if (flow->slot_bytes != expected.live_bytes)
				differ("bytes in slots, entry", i,
					expected.live_bytes, flow->slot_bytes);
		}
	for (e = 0; e < actors_len; e++)
		for (j = 0; j < actors[e].model.len; j++)
			objects += actors[e].model.objects[j].used;
	for (j = 0; j < segment->objects_len; j++)
		compare_object(segment, &segment->objects[j]);
	if (objects != segment->objects_len)
		differ("objects", 0, objects, segment->objects_len);
	segment_unref(&segment);
	compare_anomalies();
}

#endif

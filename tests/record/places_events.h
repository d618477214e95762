/* SPDX-License-Identifier: Apache-2.0 */
/* Random events of one thread: a part of test_places_model.c. */
#ifndef RECORD_PLACES_EVENTS_H
#define RECORD_PLACES_EVENTS_H

__attribute__((format(printf, 2, 3))) static void say(
	struct actor *a, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(a->last_event, sizeof(a->last_event), format, ap);
	va_end(ap);
}

static void event_alloc(struct actor *a)
{
	struct model_object object = {
		.figure = (unsigned)chance(a, 5),
		.id = a->first_id + chance(a, IDS),
		.address = any_address(a),
		.size = any_size(a),
	};
	unsigned handle = handle_for(a, object.figure, object.id, 0);
	enum ttmem_kind kind = (enum ttmem_kind)object.figure;

	if (handle == HANDLES)
		return;
	object.place = members_of(handle);
	object.bytes = object.size;
	say(a, "alloc(%" PRIx64 ", %u, %" PRIu64 ", %" PRIu64 ")", object.place,
		object.figure, object.id, object.size);
	if (chance(a, 2)) {
		ttmem_alloc(handles[handle], kind, object.id, object.address,
			object.size);
	} else {
		object.bytes += chance(a, 64);
		call_buffer_alloc(handles[handle], kind, object.id,
			object.address, object.size, object.bytes);
	}
	model_alloc(&a->model, &object);
}

static void event_free(struct actor *a)
{
	unsigned kind = (unsigned)chance(a, 5), handle = any_handle(a);
	uint64_t id = a->first_id + chance(a, IDS);
	uint64_t members = members_of(handle);

	say(a, "free(%" PRIx64 ", %u, %" PRIu64 ")", members, kind, id);
	ttmem_free(handles[handle], (enum ttmem_kind)kind, id);
	model_free_counted(&a->model, kind, id, 0, members);
}

static void event_free_any(struct actor *a)
{
	uint64_t id = a->first_id + chance(a, IDS);
	unsigned handle = any_handle(a);

	say(a, "free_any(%" PRIx64 ", %" PRIu64 ")", members_of(handle), id);
	ttmem_free_any(handles[handle], id);
	model_free_any(&a->model, id, members_of(handle));
}

static void event_cb_alloc(struct actor *a)
{
	struct model_object object = {
		.figure = TTMEM_FIGURE_CB,
		.program = a->first_id + chance(a, PROGRAMS),
		.id = a->first_id + chance(a, CBS),
		.address = any_address(a),
		.size = chance(a, 2000),
		.flags = chance(a, 4) ? 0 : TTMEM_CB_BORROWED,
	};
	unsigned handle = handle_for(
		a, object.figure, object.id, object.program);
	uint32_t cores;

	if (handle == HANDLES)
		return;
	cores = any_cores(a, &object.cores);
	object.place = members_of(handle);
	object.bytes = object.flags ? 0 : object.size * object.cores;
	say(a, "cb_alloc(%" PRIx64 ", %" PRIu64 ", %" PRIu64 ")", object.place,
		object.program, object.id);
	ttmem_cb_alloc(handles[handle], object.program, object.id,
		object.address, object.size, cores, object.flags);
	model_alloc(&a->model, &object);
}

static void event_cb_free(struct actor *a)
{
	uint64_t program = a->first_id + chance(a, PROGRAMS);
	uint64_t cb = a->first_id + chance(a, CBS);
	unsigned handle = any_handle(a);

	say(a, "cb_free(%" PRIx64 ", %" PRIu64 ", %" PRIu64 ")",
		members_of(handle), program, cb);
	ttmem_cb_free(handles[handle], program, cb);
	model_free_counted(
		&a->model, TTMEM_FIGURE_CB, cb, program, members_of(handle));
}

static void event_kernel_load(struct actor *a)
{
	struct model_object kernel = {
		.figure = TTMEM_FIGURE_KERNEL + (unsigned)chance(a, 8) / 6,
		.id = a->first_id + chance(a, PROGRAMS),
		.size = 1024 * chance(a, 2),
		.cores = 1 + (uint32_t)chance(a, 2),
		.flags = chance(a, 8) ? 0 : TTMEM_KERNEL_IN_RING,
	};
	unsigned handle = any_handle(a);

	kernel.place = members_of(handle);
	kernel.bytes = kernel.size * kernel.cores;
	say(a, "kernel_load(%" PRIx64 ", %" PRIu64 ", %u)", kernel.place,
		kernel.id, kernel.figure);
	ttmem_kernel_load(handles[handle], kernel.id,
		(enum ttmem_kernel_type)(kernel.figure - TTMEM_FIGURE_KERNEL),
		kernel.size, kernel.cores, kernel.flags);
	model_load(&a->model, &kernel);
}

static void event_kernel_unload(struct actor *a)
{
	uint64_t kernel = a->first_id + chance(a, PROGRAMS);
	unsigned handle = any_handle(a);

	say(a, "kernel_unload(%" PRIx64 ", %" PRIu64 ")", members_of(handle),
		kernel);
	ttmem_kernel_unload(handles[handle], kernel);
	model_free_counted(
		&a->model, TTMEM_FIGURE_KERNEL, kernel, 0, members_of(handle));
}

static void event_program_destroy(struct actor *a)
{
	uint64_t program = a->first_id + chance(a, PROGRAMS);
	unsigned handle = any_handle(a);

	say(a, "program_destroy(%" PRIx64 ", %" PRIu64 ")", members_of(handle),
		program);
	ttmem_program_destroy(handles[handle], program);
	model_destroy(&a->model, program, false, members_of(handle));
}

static const struct event {
	void (*run)(struct actor *a);
	unsigned weight;
} events[] = {
	{ event_alloc, 260 },
	{ event_free, 200 },
	{ event_free_any, 60 },
	{ event_cb_alloc, 120 },
	{ event_cb_free, 60 },
	{ event_kernel_load, 100 },
	{ event_kernel_unload, 40 },
	{ event_program_destroy, 30 },
};

static void event_any(struct actor *a)
{
	const struct event *event = events;
	unsigned sum = 0, pick;
	size_t i;

	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		sum += events[i].weight;
	for (pick = (unsigned)chance(a, sum); pick >= event->weight; event++)
		pick -= event->weight;
	event->run(a);
	a->steps++;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* Places, and the handles of meshes that stand for them. */
#include "record/place.h"

#include <string.h>

#include "record/index.h"
#include "record/segment.h"

#define MESHES_PER_CHUNK 256u
#define SHRUNK_PLACES_MAX (TTM_PLACES_MAX / 2)

struct mesh {
	uint32_t devices_len; /* 0: none, or ended */
	uint32_t devices[TTM_DEVICES_MAX];
};

/* Handles outlive the process state, so they are kept outside of it. */
static uint64_t meshes_len;
static void *mesh_chunks[TTM_MESHES_MAX / MESHES_PER_CHUNK];

/* -- places ---------------------------------------------------------------------- */

unsigned ttm_place_of(
	struct ttm_process *process, uint64_t members, bool shrink)
{
	uint64_t *words = process->place_words, seen;
	unsigned max = shrink ? SHRUNK_PLACES_MAX : TTM_PLACES_MAX, place;

	/* The last entries are for single devices, which always find room. */
	if (members & (members - 1))
		max -= TTM_DEVICES_MAX;
	/* Numbers are taken in order, so two threads with the same set
	 * compete for the same number. */
	for (place = 1; place < max; place++) {
		if (place >= ttm_load(&process->header->live.places_len) &&
			!ttm_table_prepare(
				process, TTM_PLACES_OFF + 8ull * place, 8))
			return 0;
		seen = ttm_load(&words[place]); /* relaxed: stored once */
		if (seen == 0) {
			ttm_raise(&process->header->live.places_len, place + 1);
			/* pairs(place): full, with the aggregator's read of
			 * places: a slot that names the place comes later */
			if (ttm_cas(&words[place], 0, members))
				seen = members;
			else
				seen = ttm_load(&words[place]);
			TTM_TESTPOINT("place made");
		}
		if (seen == members) {
			/* relaxed: the caller passes the number on; other
			 * threads store the same */
			ttm_store(&process->places[place].members, members);
			return place;
		}
	}
	return 0;
}

void ttm_place_hold(struct ttm_process *process, unsigned place)
{
	uint64_t at = ttm_fetch_add(&process->held_len, 1);

	/* Two threads may both list a place: at most once each. */
	if (at < TTM_HELD_MAX)
		ttm_store32_release(&process->held[at], place);
	/* pairs(held): release, with ttm_place_use: the place is in the list */
	ttm_store32_release(&process->places[place].held, 1);
}

unsigned ttm_overlap_next(
	const struct ttm_process *process, struct ttm_overlap *overlap)
{
	/* relaxed: a place that is listed later holds later objects only */
	uint64_t len = ttm_load(&process->held_len);
	unsigned place;

	while (overlap->next < len && overlap->next < TTM_HELD_MAX) {
		/* pairs(held): acquire, with ttm_place_hold */
		place = ttm_load32_acquire(&process->held[overlap->next++]);
		if (place && place != overlap->except &&
			(ttm_place_members(process, place) & overlap->members))
			return place;
	}
	return 0;
}

/* -- meshes ---------------------------------------------------------------------- */

static struct mesh *mesh_at(uint64_t number, bool make)
{
	size_t size = MESHES_PER_CHUNK * sizeof(struct mesh);
	struct mesh *chunk;
	void **place;

	if (number >= TTM_MESHES_MAX)
		return NULL;
	place = &mesh_chunks[number / MESHES_PER_CHUNK];
	chunk = ttm_pointer_load(place);
	if (!chunk && make) {
		chunk = ttm_private_memory(size);
		if (chunk && !ttm_pointer_set_once(place, chunk))
			ttm_private_memory_drop(chunk, size);
		chunk = ttm_pointer_load(place);
	}
	return chunk ? &chunk[number % MESHES_PER_CHUNK] : NULL;
}

uint32_t ttm_mesh_make(const uint32_t *devices, size_t devices_len)
{
	uint64_t number = ttm_fetch_add(&meshes_len, 1);
	struct mesh *mesh = mesh_at(number, true);

	if (!mesh)
		return UINT32_MAX;
	memcpy(mesh->devices, devices, devices_len * sizeof(*devices));
	/* pairs(mesh): release, with mesh_where: the devices are there */
	ttm_store32_release(&mesh->devices_len, (uint32_t)devices_len);
	return TTM_MESH_BIT | (uint32_t)number;
}

bool ttm_mesh_end(struct ttm_process *process, uint32_t handle)
{
	uint32_t number = handle & ~TTM_MESH_BIT;
	struct mesh *mesh = handle & TTM_MESH_BIT ? mesh_at(number, false) :
						    NULL;

	if (!mesh || !ttm_load32(&mesh->devices_len))
		return false;
	/* relaxed: a concurrent event may count as earlier */
	ttm_store32(&mesh->devices_len, 0);
	ttm_store32(&process->mesh_places[number], 0);
	return true;
}

void ttm_meshes_forget(struct ttm_process *process)
{
	uint64_t number, len = ttm_load(&meshes_len); /* relaxed: see below */

	/* relaxed: a concurrent event on a mesh is a race of the caller */
	for (number = 0; number < len && number < TTM_MESHES_MAX; number++)
		ttm_store32(&process->mesh_places[number], 0);
}

/* -- device arguments --------------------------------------------------------------- */

static bool device_where(struct ttm_process *process, uint32_t device,
	bool make, struct ttm_where *ret_where, enum ttmem_anomaly *ret_reason)
{
	unsigned entry;

	if (!ttm_device_entry(process, device, make, &entry)) {
		*ret_reason = make ? TTMEM_ANOMALY_TOO_MANY_DEVICES :
				     TTMEM_ANOMALY_FREE_UNKNOWN;
		return false;
	}
	ret_where->members = 1ull << entry;
	ret_where->place = ttm_place_of(process, 1ull << entry, false);
	/* relaxed: see ttm_where_known */
	if (device < TTM_DEVICES_MAX)
		ttm_store32(&process->device_places[device], ret_where->place);
	return true;
}

static bool mesh_where(struct ttm_process *process, uint32_t handle, bool make,
	struct ttm_where *ret_where, enum ttmem_anomaly *ret_reason)
{
	uint32_t number = handle & ~TTM_MESH_BIT, len, i;
	const struct mesh *mesh = mesh_at(number, false);
	struct ttm_where one, all = { 0, 0 };

	*ret_reason = TTMEM_ANOMALY_BAD_DEVICE;
	/* pairs(mesh): acquire, with ttm_mesh_make */
	len = mesh ? ttm_load32_acquire(&mesh->devices_len) : 0;
	for (i = 0; i < len; i++) {
		if (device_where(
			    process, mesh->devices[i], make, &one, ret_reason))
			all.members |= one.members;
		else if (make)
			return false;
	}
	if (!all.members)
		return false;
	all.place = ttm_place_of(process, all.members, false);
	/* relaxed: see ttm_where_known. A member that is still to come
	 * prevents it. */
	if (make)
		ttm_store32(&process->mesh_places[number], all.place);
	*ret_where = all;
	return true;
}

TTM_COLD bool ttm_where_slow(struct ttm_process *process, uint32_t device,
	bool make, struct ttm_where *ret_where, enum ttmem_anomaly *ret_reason)
{
	if (device & TTM_MESH_BIT)
		return mesh_where(process, device, make, ret_where, ret_reason);
	return device_where(process, device, make, ret_where, ret_reason);
}

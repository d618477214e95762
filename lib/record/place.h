/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * Places: the sets of devices that `device` arguments stand for.
 *
 * A place is a set of device entries with a number in the segment, so that a slot names
 * all devices of its object in 14 bits. The same set always has the same number. Single
 * devices are places, too. A place is "held" from its first object on: a free looks for
 * objects only on held places.
 *
 * Mesh handles belong to the program, not to the segment: their devices are kept in
 * memory that survives a stop and a fork. A handle becomes a place of the segment when
 * it is first used there.
 */
#ifndef TTM_RECORD_PLACE_H
#define TTM_RECORD_PLACE_H

#include "record/process.h"

#define TTM_MESH_BIT 0x80000000u

/* The devices of an event. `place` is 0 if the table of places is full. */
struct ttm_where {
	unsigned place;
	uint64_t members; /* 0: no device */
};

/* Removes one entry from the mask and returns it; the mask is not 0. */
static TTM_INLINE unsigned ttm_mask_take(uint64_t *mask)
{
	unsigned entry = (unsigned)__builtin_ctzll(*mask);

	*mask &= *mask - 1;
	return entry;
}

static TTM_INLINE uint64_t ttm_place_members(
	const struct ttm_process *process, unsigned place)
{
	/* relaxed: stored before the number was passed on */
	return ttm_load(&process->places[place].members);
}

/*
 * Looks up a device argument. `make` creates entries for ids never seen before. Returns
 * false, with the reason, if the argument stands for no device.
 */
bool ttm_where_slow(struct ttm_process *process, uint32_t device, bool make,
	struct ttm_where *ret_where, enum ttmem_anomaly *ret_reason);

/*
 * Looks up a device or mesh that was used before, the usual case. False is
 * inconclusive.
 */
static TTM_INLINE bool ttm_where_known(const struct ttm_process *process,
	uint32_t device, struct ttm_where *ret_where)
{
	uint32_t mesh = device - TTM_MESH_BIT;

	/* relaxed: the members were stored before the number */
	if (TTM_LIKELY(device < TTM_DEVICES_MAX))
		ret_where->place = ttm_load32(&process->device_places[device]);
	else if (mesh < TTM_MESHES_MAX)
		ret_where->place = ttm_load32(&process->mesh_places[mesh]);
	else
		return false;
	ret_where->members = ttm_place_members(process, ret_where->place);
	return TTM_LIKELY(ret_where->place != 0);
}

static inline bool ttm_where_get(struct ttm_process *process, uint32_t device,
	bool make, struct ttm_where *ret_where, enum ttmem_anomaly *ret_reason)
{
	return ttm_where_known(process, device, ret_where) ||
		ttm_where_slow(process, device, make, ret_where, ret_reason);
}

/*
 * Returns the number of the place with these members, or 0 if the table is full. A part
 * that stays after a free (`shrink`) may use only half of the table.
 */
unsigned ttm_place_of(
	struct ttm_process *process, uint64_t members, bool shrink);

void ttm_place_hold(struct ttm_process *process, unsigned place);

/* Marks a place as held, before its first object is inserted. */
static TTM_INLINE void ttm_place_use(
	struct ttm_process *process, unsigned place)
{
	/* pairs(held): acquire, with ttm_place_hold: the place is in the
	 * list */
	if (TTM_UNLIKELY(ttm_load32_acquire(&process->places[place].held) == 0))
		ttm_place_hold(process, place);
}

/* A walk over the places that share a device with `members` and held objects. */
struct ttm_overlap {
	uint64_t members;
	unsigned except;
	uint64_t next;
};

static inline void ttm_overlap_start(
	struct ttm_overlap *overlap, uint64_t members, unsigned except)
{
	overlap->members = members;
	overlap->except = except;
	overlap->next = 0;
}

/* Returns the next place, or 0 at the end. A place may come twice. */
unsigned ttm_overlap_next(
	const struct ttm_process *process, struct ttm_overlap *overlap);

/* Returns whether no other place with objects shares a device with this one. */
static inline bool ttm_place_is_alone(
	const struct ttm_process *process, unsigned place)
{
	/* pairs(held): acquire, with ttm_place_hold: a place that is held is
	 * counted */
	uint64_t held = ttm_load32_acquire(&process->places[place].held);
	struct ttm_overlap overlap;

	/* relaxed: this may miss an object that another thread is inserting.
	 * Many programs have but one place. */
	if (TTM_LIKELY(ttm_load(&process->held_len) == held))
		return true;
	ttm_overlap_start(&overlap, ttm_place_members(process, place), place);
	return ttm_overlap_next(process, &overlap) == 0;
}

/*
 * Forgets the places of meshes, because a logical id means another chip now: meshes
 * name ids, not entries.
 */
void ttm_meshes_forget(struct ttm_process *process);

/* Makes a handle and returns it; UINT32_MAX after TTM_MESHES_MAX. */
uint32_t ttm_mesh_make(const uint32_t *devices, size_t devices_len);
/* Ends a handle; returns false if it does not exist. */
bool ttm_mesh_end(struct ttm_process *process, uint32_t mesh);

/* -- devices ------------------------------------------------------------------------- */

/*
 * Returns the current entry of a logical id; `make` creates an entry for an id that has
 * none. Returns false without an entry.
 */
bool ttm_device_entry(struct ttm_process *process, uint32_t logical, bool make,
	unsigned *ret_entry);

/* Returns the count of complete closes: the stamp of objects allocated now. */
static TTM_INLINE uint64_t ttm_closes(const struct ttm_process *process)
{
	/* pairs(closes): acquire, with close_finish: the epochs of all
	 * closed devices have moved */
	return ttm_load_acquire(&process->header->live.closes);
}

/*
 * -- core sets ----------------------------------------------------------------------
 *
 * The cores that a `cores` argument stands for. Handles belong to the program, like
 * mesh handles; a segment gets the set when the handle is first used there.
 */

#define TTM_CORE_SET_BIT 0x80000000u

/* Returns the number of cores of a handle; 0: it does not exist. */
uint32_t ttm_core_set_count(uint32_t handle);

/* The set's id in the segment, which gets the set if it has none yet; 0: no room. */
uint32_t ttm_core_set_publish(struct ttm_process *process, uint32_t number);

/*
 * Converts a `cores` argument: the count in bits 0-11, the number of the handle in bits
 * 12-23. Returns false if the count is too high or the handle does not exist.
 */
static TTM_INLINE bool ttm_cores_get(uint32_t cores, uint32_t *ret_cores)
{
	uint32_t count;

	*ret_cores = cores;
	if (TTM_LIKELY(cores <= TTM_CORES_MAX))
		return true;
	if (!(cores & TTM_CORE_SET_BIT))
		return false;
	count = ttm_core_set_count(cores);
	*ret_cores = count | (cores & ~TTM_CORE_SET_BIT) << 12;
	return count != 0;
}

/*
 * Converts the number of the handle to the set's id in the segment of the hook. Only a
 * hook knows its segment: tracking may be stopped and started until it is entered.
 */
static TTM_INLINE uint32_t ttm_cores_in(
	struct ttm_process *process, uint32_t cores)
{
	uint32_t number = cores >> 12, id;

	if (TTM_LIKELY(number == 0))
		return cores;
	id = ttm_load32(&process->core_set_ids[number]); /* relaxed: a number */
	if (TTM_UNLIKELY(id == 0))
		id = ttm_core_set_publish(process, number);
	return (cores & TTM_CORES_MAX) | id << 12;
}

#endif

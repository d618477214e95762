/* SPDX-License-Identifier: Apache-2.0 */
#include "model_entries.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"

#define MESH_BIT 0x80000000u

void model_entries_init(struct model_entries *entries,
	struct truth_process *process, struct truth_thread *thread)
{
	memset(entries, 0, sizeof(*entries));
	entries->process = process;
	entries->thread = thread;
}

void model_entries_free(struct model_entries *entries)
{
	free(entries->meshes);
	entries->meshes = NULL;
	entries->meshes_len = 0;
}

/* -- logical id to entry ----------------------------------------------------------- */

static int entry_current(const struct model_entries *entries, uint32_t logical)
{
	size_t i;

	for (i = 0; i < entries->process->entries_len; i++)
		if (entries->current[i] &&
			entries->process->entries[i].logical == logical)
			return (int)i;
	return -1;
}

/* -1 if all are taken. */
static int entry_new(struct model_entries *entries, uint32_t logical)
{
	struct truth_process *process = entries->process;
	uint64_t number = process->entries_len;
	struct truth_entry *entry = &process->entries[number];

	if (number == TRUTH_ENTRIES_MAX)
		return -1;
	entry->logical = logical;
	entry->chip_id = entry->pci_address = TTMEM_UNKNOWN;
	entries->current[number] = true;
	process->targets[number] = 1ull << number;
	ttm_word_store(&process->targets_len, number + 1);
	ttm_word_store(&process->entries_len, number + 1);
	return (int)number;
}

static uint64_t number_mask(struct model_entries *entries, uint32_t logical,
	bool make, enum ttmem_anomaly *ret_reason)
{
	int entry;

	*ret_reason = TTMEM_ANOMALY_BAD_DEVICE;
	if (logical & MESH_BIT)
		return 0;
	entry = entry_current(entries, logical);
	*ret_reason = TTMEM_ANOMALY_FREE_UNKNOWN;
	if (entry < 0 && make) {
		entry = entry_new(entries, logical);
		*ret_reason = TTMEM_ANOMALY_TOO_MANY_DEVICES;
	}
	return entry < 0 ? 0 : 1ull << entry;
}

uint64_t model_entries_mask(struct model_entries *entries,
	struct model_device device, bool make, enum ttmem_anomaly *ret_reason)
{
	const struct model_mesh *mesh;
	uint64_t mask = 0, member;
	size_t i;

	if (!device.is_mesh)
		return number_mask(entries, device.number, make, ret_reason);
	*ret_reason = TTMEM_ANOMALY_BAD_DEVICE;
	if (device.number >= entries->meshes_len)
		return 0;
	mesh = &entries->meshes[device.number];
	for (i = 0; i < mesh->members_len; i++) {
		member = number_mask(
			entries, mesh->members[i], make, ret_reason);
		if (!member && make)
			return 0;
		mask |= member;
	}
	return mask;
}

/* -- meshes ------------------------------------------------------------------------- */

static void meshes_reserve(struct model_entries *entries, size_t len)
{
	size_t known = entries->meshes_len;

	if (len <= known)
		return;
	entries->meshes = realloc(
		entries->meshes, len * sizeof(entries->meshes[0]));
	if (!entries->meshes)
		abort();
	memset(&entries->meshes[known], 0,
		(len - known) * sizeof(entries->meshes[0]));
	entries->meshes_len = len;
}

void model_entries_inherit(
	struct model_entries *entries, const struct model_entries *from)
{
	meshes_reserve(entries, from->meshes_len);
	if (from->meshes_len)
		memcpy(entries->meshes, from->meshes,
			from->meshes_len * sizeof(from->meshes[0]));
}

void model_entries_mesh(struct model_entries *entries, size_t mesh,
	const uint32_t *devices, size_t devices_len)
{
	struct model_mesh opened = { .members_len = 0 };
	enum ttmem_anomaly reason;
	uint64_t mask = 0, member;
	size_t i;

	meshes_reserve(entries, mesh + 1);
	for (i = 0; i < devices_len; i++) {
		member = number_mask(entries, devices[i], true, &reason);
		if (!member) {
			/* Members before it have their entries all the same. */
			truth_add_anomaly(entries->thread, reason);
			return;
		}
		if (!(mask & member))
			opened.members[opened.members_len++] = devices[i];
		mask |= member;
	}
	entries->meshes[mesh] = opened;
}

void model_entries_mesh_end(
	struct model_entries *entries, struct model_device mesh)
{
	enum ttmem_anomaly reason;

	if (mesh.is_mesh && model_entries_mask(entries, mesh, false, &reason))
		entries->meshes[mesh.number].members_len = 0;
	else
		truth_add_anomaly(entries->thread, TTMEM_ANOMALY_BAD_DEVICE);
}

/* -- open and close ------------------------------------------------------------------ */

/* Everything on these entries becomes orphaned: one call, one number. */
static void epochs_end(struct model_entries *entries, uint64_t mask)
{
	struct truth_thread *thread = entries->thread;
	unsigned entry, figure;

	entries->closes++;
	for (; mask; mask &= mask - 1) {
		entry = (unsigned)__builtin_ctzll(mask);
		for (figure = 0; figure < TTMEM_FIGURES; figure++) {
			struct truth_amount live = truth_live(
				thread->targets[entry].flows[figure]);

			if (live.objects)
				truth_add_orphans(thread, entry, figure, live);
		}
		entries->epochs[entry] = entries->closes;
		entries->process->entries[entry].open = false;
	}
}

void model_entries_close(
	struct model_entries *entries, struct model_device device)
{
	enum ttmem_anomaly reason;
	uint64_t mask = model_entries_mask(entries, device, false, &reason);

	if (mask)
		epochs_end(entries, mask);
	else
		truth_add_anomaly(entries->thread, TTMEM_ANOMALY_BAD_DEVICE);
}

/* 1 the same chip, 0 another one, -1 nobody can tell. */
static int chip_compare(
	const struct truth_entry *entry, const struct ttmem_device_info *info)
{
	if (entry->chip_id != TTMEM_UNKNOWN && info->chip_id != TTMEM_UNKNOWN)
		return entry->chip_id == info->chip_id;
	if (entry->pci_address != TTMEM_UNKNOWN &&
		info->pci_address != TTMEM_UNKNOWN)
		return entry->pci_address == info->pci_address;
	return -1;
}

/* The entry that this logical id had before as this chip, or a new one. */
static int entry_of_chip(
	struct model_entries *entries, const struct ttmem_device_info *info)
{
	const struct truth_process *process = entries->process;
	size_t i;

	for (i = 0; i < process->entries_len; i++)
		if (process->entries[i].logical == info->device &&
			chip_compare(&process->entries[i], info) == 1)
			return (int)i;
	return entry_new(entries, info->device);
}

static int entry_change(struct model_entries *entries, unsigned old,
	const struct ttmem_device_info *info)
{
	int other = entry_of_chip(entries, info);

	if (other < 0)
		return other;
	if (entries->process->entries[old].open)
		truth_add_anomaly(
			entries->thread, TTMEM_ANOMALY_DEVICE_CHANGED);
	entries->current[old] = false;
	entries->current[other] = true;
	epochs_end(entries, 1ull << old);
	return other;
}

static void facts_take(
	struct truth_entry *entry, const struct ttmem_device_info *info)
{
	if (info->chip_id != TTMEM_UNKNOWN)
		entry->chip_id = info->chip_id;
	if (info->pci_address != TTMEM_UNKNOWN)
		entry->pci_address = info->pci_address;
	if (info->arch[0])
		memcpy(entry->arch, info->arch, sizeof(info->arch));
	if (info->board[0])
		memcpy(entry->board, info->board, sizeof(info->board));
	entry->open = true;
}

void model_entries_open(
	struct model_entries *entries, const struct ttmem_device_info *info)
{
	enum ttmem_anomaly reason;
	uint64_t mask = number_mask(entries, info->device, true, &reason);
	int entry;

	if (!mask) {
		truth_add_anomaly(entries->thread, reason);
		return;
	}
	entry = __builtin_ctzll(mask);
	if (chip_compare(&entries->process->entries[entry], info) == 0)
		entry = entry_change(entries, (unsigned)entry, info);
	if (entry < 0)
		truth_add_anomaly(
			entries->thread, TTMEM_ANOMALY_TOO_MANY_DEVICES);
	else
		facts_take(&entries->process->entries[entry], info);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * An entry is one chip under one logical id, and stays for the life of the
 * segment. Its head, which names the logical id, goes from 0 by one CAS: entries
 * are taken in order, so that two threads that bring the same id meet.
 */
#include "record/device.h"

#include <string.h>

#include "record/note.h"
#include "record/seat.h"
#include "record/start.h"
#include "record/usage.h"

#define MESHES_MAX (TTM_MESH_CHUNKS_MAX * TTM_MESHES_PER_CHUNK)

static void device_map_set(
	struct ttm_process *process, uint32_t logical, unsigned entry)
{
	/* relaxed: see ttm_device_mask */
	if (logical < TTM_DEVICES_MAX)
		ttm_store32(&process->device_map[logical], entry + 1);
}

static void devices_len_raise(struct ttm_process *process, unsigned len)
{
	uint64_t *word = &process->header->live.devices_len;
	uint64_t seen;

	while ((seen = ttm_load(word)) < len) /* relaxed: the CAS decides */
		ttm_cas(word, seen, len);
}

static bool head_is_current(uint64_t head, uint32_t logical)
{
	return (head & TTM_DEVICE_CURRENT) &&
		TTM_DEVICE_LOGICAL(head) == logical;
}

/*
 * The current entry of a logical id. `make` takes the first vacant one where there
 * is none; `another` takes one even so.
 */
static bool entry_get(struct ttm_process *process, uint32_t logical, bool make,
	bool another, unsigned *ret_entry)
{
	uint64_t head;
	unsigned i;

	for (i = 0; i < TTM_DEVICES_MAX; i++) {
		/* relaxed: all that hangs on a head is atomic itself */
		head = ttm_load(&process->devices[i].head);
		if (head == 0 && !make)
			return false;
		if (head == 0)
			devices_len_raise(process, i + 1);
		if (head == 0 &&
			ttm_cas(&process->devices[i].head, 0,
				TTM_DEVICE_HEAD(logical,
					TTM_DEVICE_READY |
						TTM_DEVICE_CURRENT))) {
			TTM_TESTPOINT("device entry taken");
			break;
		}
		head = ttm_load(&process->devices[i].head);
		if (!another && head_is_current(head, logical))
			break;
	}
	if (i == TTM_DEVICES_MAX)
		return false;
	*ret_entry = i;
	return true;
}

/* -- meshes ------------------------------------------------------------------------ */

/* Not of the process: a handle means nothing else after a stop and a start. */
static uint64_t meshes_len;

static uint64_t *mesh_place(
	struct ttm_process *process, uint64_t number, bool make)
{
	void **chunk_place = &process->mesh_chunks[number /
		TTM_MESHES_PER_CHUNK];
	size_t size = TTM_MESHES_PER_CHUNK * sizeof(uint64_t);
	uint64_t *chunk = ttm_pointer_load(chunk_place);

	if (!chunk && make) {
		chunk = ttm_private_memory(size);
		if (chunk && !ttm_pointer_set_once(chunk_place, chunk))
			ttm_private_memory_drop(chunk, size);
		chunk = ttm_pointer_load(chunk_place);
	}
	return chunk ? &chunk[number % TTM_MESHES_PER_CHUNK] : NULL;
}

/* A logical id has become another chip: meshes mean the id, not the entry. */
static void meshes_follow(
	struct ttm_process *process, unsigned from, unsigned to)
{
	uint64_t mask, *place, number;
	/* relaxed: a mesh that is being opened now is the caller's race */
	uint64_t len = ttm_load(&meshes_len);

	for (number = 0; number < len && number < MESHES_MAX; number++) {
		place = mesh_place(process, number, false);
		if (!place)
			continue;
		do
			mask = ttm_load(place); /* relaxed: the CAS decides */
		while ((mask & 1ull << from) &&
			!ttm_cas(place, mask,
				(mask & ~(1ull << from)) | 1ull << to));
	}
}

TTM_COLD uint64_t ttm_device_mask_slow(struct ttm_process *process,
	uint32_t device, bool make, enum ttmem_anomaly *ret_reason)
{
	unsigned entry;

	if (!entry_get(process, device, make, false, &entry)) {
		*ret_reason = make ? TTMEM_ANOMALY_TOO_MANY_DEVICES :
				     TTMEM_ANOMALY_FREE_UNKNOWN;
		return 0;
	}
	device_map_set(process, device, entry);
	return 1ull << entry;
}

static TTM_SLOW uint32_t mesh_open(const uint32_t *devices, size_t devices_len)
{
	enum ttmem_anomaly reason = TTMEM_ANOMALY_BAD_DEVICE;
	uint64_t mask = 0, member = 0, number, *place = NULL;
	struct ttm_hook hook;
	size_t i;

	if (!ttm_hook_enter(&hook, TTM_ENTRY_STARTS, 0))
		return UINT32_MAX;
	for (i = 0; devices && i < devices_len; i++) {
		member = devices[i] & TTM_MESH_BIT ?
			0 :
			ttm_device_mask(
				hook.process, devices[i], true, &reason);
		if (!member)
			break;
		mask |= member;
	}
	if (mask && member) {
		number = ttm_fetch_add(&meshes_len, 1);
		if (number < MESHES_MAX)
			place = mesh_place(hook.process, number, true);
	}
	if (place)
		ttm_store(place, mask); /* relaxed: the caller hands it on */
	else
		ttm_anomaly(&hook, reason, TTM_DEVICE_NONE, TTM_FIGURE_NONE,
			devices && i < devices_len ? devices[i] : 0);
	ttm_hook_leave(&hook);
	return place ? TTM_MESH_BIT | (uint32_t)number : UINT32_MAX;
}

static TTM_SLOW void mesh_close(uint32_t mesh)
{
	struct ttm_hook hook;
	uint64_t number = mesh & ~TTM_MESH_BIT;

	if (!ttm_hook_enter(&hook, TTM_ENTRY_NO_START, 0))
		return;
	if (!(mesh & TTM_MESH_BIT) || !ttm_mesh_mask(hook.process, mesh))
		ttm_anomaly(&hook, TTMEM_ANOMALY_BAD_DEVICE, TTM_DEVICE_NONE,
			TTM_FIGURE_NONE, mesh);
	else
		ttm_store(mesh_place(hook.process, number, false), 0);
	ttm_hook_leave(&hook); /* relaxed: an event meanwhile may come first */
}

/* -- open and close ---------------------------------------------------------------- */

static void text_fact(uint64_t ret_words[2], const char *text,
	uint64_t *ret_known, enum ttm_device_fact fact)
{
	char bytes[16] = { 0 };

	memcpy(bytes, text, strnlen(text, sizeof(bytes)));
	memcpy(ret_words, bytes, sizeof(bytes));
	if (bytes[0])
		*ret_known |= fact;
}

static uint64_t number_fact(
	uint64_t value, uint64_t *ret_known, enum ttm_device_fact fact)
{
	if (value == TTMEM_UNKNOWN)
		return 0;
	*ret_known |= fact;
	return value;
}

static void facts_from(const struct ttmem_device_info *info,
	struct ttm_device_facts *ret_facts)
{
	struct ttm_device_facts *f = ret_facts;

	memset(f, 0, sizeof(*f));
	text_fact(f->arch, info->arch, &f->known, TTM_FACT_ARCH);
	text_fact(f->board, info->board, &f->known, TTM_FACT_BOARD);
	f->chip_id = number_fact(info->chip_id, &f->known, TTM_FACT_CHIP_ID);
	f->pci_address = number_fact(
		info->pci_address, &f->known, TTM_FACT_PCI_ADDRESS);
	f->dram_bytes = number_fact(
		info->dram_bytes, &f->known, TTM_FACT_DRAM_BYTES);
	f->l1_bytes_per_core = number_fact(
		info->l1_bytes_per_core, &f->known, TTM_FACT_L1_BYTES_PER_CORE);
	f->cores = number_fact(info->cores, &f->known, TTM_FACT_CORES);
	f->l1_small_bytes = number_fact(
		info->l1_small_bytes, &f->known, TTM_FACT_L1_SMALL_BYTES);
	f->trace_bytes = number_fact(
		info->trace_bytes, &f->known, TTM_FACT_TRACE_BYTES);
	f->l1_base = number_fact(info->l1_base, &f->known, TTM_FACT_L1_BASE);
	f->l1_top = number_fact(info->l1_top, &f->known, TTM_FACT_L1_TOP);
}

/* relaxed: identity is stored once, and two opens at once are the caller's race */
static bool is_another_chip(const struct ttm_device_facts *shared,
	const struct ttm_device_facts *new)
{
	uint64_t known = ttm_load(&shared->known) & new->known;

	if (known & TTM_FACT_CHIP_ID)
		return ttm_load(&shared->chip_id) != new->chip_id;
	if (known & TTM_FACT_PCI_ADDRESS)
		return ttm_load(&shared->pci_address) != new->pci_address;
	return false;
}

static bool is_this_chip(const struct ttm_device_facts *shared,
	const struct ttm_device_facts *new)
{
	uint64_t known = ttm_load(&shared->known) & new->known;

	return (known & (TTM_FACT_CHIP_ID | TTM_FACT_PCI_ADDRESS)) &&
		!is_another_chip(shared, new);
}

/*
 * One writer at a time, chosen by the CAS; another that comes meanwhile (a second
 * open of the same id at the same moment) leaves it at that. What is not known
 * now but was before stays.
 */
static void facts_write(
	struct ttm_device *device, const struct ttm_device_facts *facts)
{
	static const uint16_t fact_of_word[] = { 0, TTM_FACT_CHIP_ID,
		TTM_FACT_PCI_ADDRESS, TTM_FACT_ARCH, TTM_FACT_ARCH,
		TTM_FACT_BOARD, TTM_FACT_BOARD, TTM_FACT_DRAM_BYTES,
		TTM_FACT_L1_BYTES_PER_CORE, TTM_FACT_CORES,
		TTM_FACT_L1_SMALL_BYTES, TTM_FACT_TRACE_BYTES, TTM_FACT_L1_BASE,
		TTM_FACT_L1_TOP };
	const uint64_t *from = (const uint64_t *)facts;
	uint64_t *to = (uint64_t *)&device->facts;
	uint64_t seq = ttm_load(&device->seq); /* relaxed: the CAS decides */
	size_t i;

	static_assert(sizeof(*facts) / 8 ==
			sizeof(fact_of_word) / sizeof(fact_of_word[0]),
		"one fact for each word");

	if ((seq & 1) || !ttm_cas(&device->seq, seq, seq + 1))
		return;
	/* pairs(facts): release, with the aggregator's read: no fact of this
	 * write is seen with the old seq */
	ttm_fence_release();
	TTM_TESTPOINT("facts claimed");
	for (i = 1; i < sizeof(*facts) / 8; i++)
		if (facts->known & fact_of_word[i])
			ttm_store(&to[i], from[i]);
	ttm_store(&to[0], ttm_load(&to[0]) | facts->known);
	/* pairs(facts): release, with the aggregator's read: they are whole */
	ttm_store_release(&device->seq, seq + 2);
	TTM_TESTPOINT("facts written");
}

static void head_change(struct ttm_device *device, uint64_t set, uint64_t clear)
{
	uint64_t head;

	do
		head = ttm_load(&device->head); /* relaxed: the CAS decides */
	while (!ttm_cas(&device->head, head, (head | set) & ~clear));
}

/* Everything live on the entry is orphaned by this one addition. */
static void epoch_end(struct ttm_hook *hook, unsigned entry)
{
	struct ttm_device *device = &hook->process->devices[entry];
	struct ttm_note note = {
		.type = TTM_RECORD_DEVICE_CLOSE,
		.device = entry,
		.figure = TTM_FIGURE_NONE,
		.slot = TTM_SLOT_NONE,
	};

	ttm_peaks_keep(hook->process, entry);
	ttm_lane_begin(hook->lane);
	note.epoch = (uint16_t)TTM_ERA_EPOCH(
		ttm_fetch_add(&device->era, TTM_ERA(1, 0)));
	TTM_TESTPOINT("epoch ended");
	ttm_store(&device->closed, ttm_clock_now()); /* relaxed: display */
	head_change(device, 0, TTM_DEVICE_OPEN);
	note.w2 = TTM_DEVICE_LOGICAL(ttm_load(&device->head));
	ttm_note_commit(hook, &note);
}

/* An entry that this logical id had before, as this chip. */
static bool entry_of_old(struct ttm_process *process, uint32_t logical,
	const struct ttm_device_facts *facts, unsigned *ret_entry)
{
	const struct ttm_device *device;
	unsigned i;

	for (i = 0; i < TTM_DEVICES_MAX; i++) {
		device = &process->devices[i];
		/* relaxed: set long ago, or the caller's race */
		if (ttm_load(&device->head) == 0)
			return false;
		if (TTM_DEVICE_LOGICAL(ttm_load(&device->head)) == logical &&
			is_this_chip(&device->facts, facts)) {
			*ret_entry = i;
			return true;
		}
	}
	return false;
}

static bool entry_change(struct ttm_hook *hook, uint32_t logical,
	const struct ttm_device_facts *facts, unsigned *entry)
{
	struct ttm_device *old = &hook->process->devices[*entry];
	unsigned other;

	if (!entry_of_old(hook->process, logical, facts, &other) &&
		!entry_get(hook->process, logical, true, true, &other))
		return false;
	if (ttm_load(&old->head) & TTM_DEVICE_OPEN) /* relaxed: see above */
		ttm_anomaly(hook, TTMEM_ANOMALY_DEVICE_CHANGED, *entry,
			TTM_FIGURE_NONE, logical);
	head_change(&hook->process->devices[other], TTM_DEVICE_CURRENT, 0);
	head_change(old, 0, TTM_DEVICE_CURRENT);
	device_map_set(hook->process, logical, other);
	meshes_follow(hook->process, *entry, other);
	/* Also if it was closed: something may have come after that. */
	epoch_end(hook, *entry);
	*entry = other;
	return true;
}

static void entry_open(struct ttm_hook *hook, unsigned entry,
	const struct ttm_device_facts *facts)
{
	struct ttm_device *device = &hook->process->devices[entry];
	struct ttm_note note = {
		.type = TTM_RECORD_DEVICE_OPEN,
		.device = entry,
		.figure = TTM_FIGURE_NONE,
		.slot = TTM_SLOT_NONE,
		.epoch = (uint16_t)TTM_ERA_EPOCH(ttm_load(&device->era)),
		.w2 = TTM_DEVICE_LOGICAL(ttm_load(&device->head)),
	};

	ttm_lane_begin(hook->lane);
	facts_write(device, facts);
	ttm_store(&device->opened, ttm_clock_now()); /* relaxed: display */
	head_change(device, TTM_DEVICE_OPEN, 0);
	ttm_note_commit(hook, &note);
}

static bool info_is_good(const struct ttmem_device_info *info)
{
	return info && info->size == sizeof(*info) &&
		!(info->device & TTM_MESH_BIT);
}

static TTM_SLOW void device_open(const struct ttmem_device_info *info)
{
	enum ttmem_anomaly reason = TTMEM_ANOMALY_BAD_DEVICE;
	struct ttm_device_facts facts;
	struct ttm_hook hook;
	unsigned entry = 0;
	uint64_t mask = 0;

	if (!ttm_hook_enter(&hook, TTM_ENTRY_STARTS, 0))
		return;
	if (info_is_good(info))
		mask = ttm_device_mask(
			hook.process, info->device, true, &reason);
	if (mask) {
		facts_from(info, &facts);
		entry = ttm_mask_take(&mask);
		mask = 1;
		if (is_another_chip(
			    &hook.process->devices[entry].facts, &facts) &&
			!entry_change(&hook, info->device, &facts, &entry)) {
			reason = TTMEM_ANOMALY_TOO_MANY_DEVICES;
			mask = 0;
		}
	}
	if (mask)
		entry_open(&hook, entry, &facts);
	else
		ttm_anomaly(&hook, reason, TTM_DEVICE_NONE, TTM_FIGURE_NONE,
			info ? info->device : 0);
	ttm_hook_leave(&hook);
}

static TTM_SLOW void device_close(uint32_t device)
{
	enum ttmem_anomaly reason;
	struct ttm_hook hook;
	uint64_t mask;

	if (!ttm_hook_enter(&hook, TTM_ENTRY_NO_START, 0))
		return;
	mask = ttm_device_mask(hook.process, device, false, &reason);
	if (!mask)
		ttm_anomaly(&hook, TTMEM_ANOMALY_BAD_DEVICE, TTM_DEVICE_NONE,
			TTM_FIGURE_NONE, device);
	while (mask)
		epoch_end(&hook, ttm_mask_take(&mask));
	ttm_hook_leave(&hook);
}

void ttmem_device_open(const struct ttmem_device_info *info)
{
	if (!ttm_switch_is_off())
		device_open(info);
}

void ttmem_device_close(uint32_t device)
{
	if (!ttm_switch_is_off())
		device_close(device);
}

uint32_t ttmem_mesh_open(const uint32_t *devices, size_t devices_len)
{
	if (!ttm_switch_is_off())
		return mesh_open(devices, devices_len);
	return UINT32_MAX;
}

void ttmem_mesh_close(uint32_t mesh)
{
	if (!ttm_switch_is_off())
		mesh_close(mesh);
}

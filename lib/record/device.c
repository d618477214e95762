/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * Device entries. An entry is one chip under one logical id for the life of the
 * segment. A CAS stores its head, which names the logical id. Entries are taken in
 * order, so two threads that bring the same id compete for the same entry.
 */
#include <stddef.h>
#include <string.h>

#include "record/counters.h"
#include "record/place.h"
#include "record/ring.h"
#include "record/segment.h"

static bool head_is_current(uint64_t head, uint32_t logical)
{
	return (head & TTM_DEVICE_CURRENT) &&
		TTM_DEVICE_LOGICAL(head) == logical;
}

/*
 * Finds the current entry of a logical id. `make` takes the first vacant entry if there
 * is none; `another` takes a vacant entry in any case.
 */
static bool entry_get(struct ttm_process *process, uint32_t logical, bool make,
	bool another, unsigned *ret_entry)
{
	uint64_t head;
	unsigned i;

	for (i = 0; i < TTM_DEVICES_MAX; i++) {
		/* relaxed: the count is raised before an entry is taken */
		if (i >= ttm_load(&process->header->live.devices_len) &&
			(!make ||
				!ttm_table_prepare(process,
					TTM_DEVICES_OFF +
						i * sizeof(struct ttm_device),
					sizeof(struct ttm_device))))
			return false;
		/* relaxed: the words behind a head are atomic themselves */
		head = ttm_load(&process->devices[i].head);
		if (head == 0 && !make)
			return false;
		if (head == 0)
			ttm_raise(&process->header->live.devices_len, i + 1);
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

bool ttm_device_entry(struct ttm_process *process, uint32_t logical, bool make,
	unsigned *ret_entry)
{
	return entry_get(process, logical, make, false, ret_entry);
}

/* -- meshes ------------------------------------------------------------------------ */

static TTM_SLOW uint32_t mesh_open(const uint32_t *devices, size_t devices_len)
{
	enum ttmem_anomaly reason = TTMEM_ANOMALY_BAD_DEVICE;
	uint32_t members[TTM_DEVICES_MAX], members_len = 0, bad = 0;
	uint32_t handle = UINT32_MAX;
	struct ttm_where where;
	struct ttm_ring *ring = ttm_hook_enter(TTM_ENTRY_STARTS, 0);
	uint64_t mask = 0;
	size_t i;

	if (!ring)
		return UINT32_MAX;
	for (i = 0; devices && i < devices_len; i++) {
		bad = devices[i];
		if ((devices[i] & TTM_MESH_BIT) ||
			!ttm_where_get(ring->process, devices[i], true, &where,
				&reason))
			break;
		if (!(mask & where.members))
			members[members_len++] = devices[i];
		mask |= where.members;
	}
	if (mask && i == devices_len)
		handle = ttm_mesh_make(members, members_len);
	if (handle == UINT32_MAX)
		ttm_device_missing(ring, reason, TTM_FIGURE_NONE, bad, 0);
	ttm_hook_leave(ring);
	return handle;
}

static TTM_SLOW void mesh_close(uint32_t mesh)
{
	struct ttm_ring *ring = ttm_hook_enter(TTM_ENTRY_NO_START, 0);

	if (!ring)
		return;
	if (!ttm_mesh_end(ring->process, mesh))
		ttm_anomaly(ring, TTMEM_ANOMALY_BAD_DEVICE, 0, TTM_FIGURE_NONE,
			mesh);
	ttm_hook_leave(ring);
}

/* -- open and close ---------------------------------------------------------------- */

#define FACT_WORDS (sizeof(struct ttm_device_facts) / 8)

/* The fact to which each word of struct ttm_device_facts belongs. */
static const uint16_t fact_of_word[] = { 0, TTM_FACT_CHIP_ID,
	TTM_FACT_PCI_ADDRESS, TTM_FACT_ARCH, TTM_FACT_ARCH, TTM_FACT_BOARD,
	TTM_FACT_BOARD, TTM_FACT_DRAM_BYTES, TTM_FACT_L1_BYTES_PER_CORE,
	TTM_FACT_CORES, TTM_FACT_L1_SMALL_BYTES, TTM_FACT_TRACE_BYTES,
	TTM_FACT_L1_BASE, TTM_FACT_L1_TOP, TTM_FACT_DRAM_BANKS,
	TTM_FACT_DRAM_BANK_BYTES, TTM_FACT_DRAM_BASE, TTM_FACT_L1_BANKS,
	TTM_FACT_GATEWAY };

static_assert(FACT_WORDS == sizeof(fact_of_word) / sizeof(fact_of_word[0]),
	"one fact for each word");
static_assert(sizeof(struct ttmem_device_info) -
				offsetof(struct ttmem_device_info, chip_id) ==
			8 * (FACT_WORDS - 1) &&
		offsetof(struct ttmem_device_info, gateway) -
				offsetof(struct ttmem_device_info, chip_id) ==
			offsetof(struct ttm_device_facts, gateway) - 8,
	"the caller's figures have the order of the words");

static void text_end(uint64_t words[2])
{
	char *text = (char *)words;
	size_t length = strnlen(text, 16);

	memset(text + length, 0, 16 - length);
}

static void facts_from(const struct ttmem_device_info *info,
	struct ttm_device_facts *ret_facts)
{
	uint64_t *words = (uint64_t *)ret_facts, unknown;
	size_t i;

	words[0] = 0;
	memcpy(&words[1],
		(const char *)info +
			offsetof(struct ttmem_device_info, chip_id),
		8 * (FACT_WORDS - 1));
	text_end(ret_facts->arch);
	text_end(ret_facts->board);
	for (i = 1; i < FACT_WORDS; i++) {
		unknown = fact_of_word[i] & (TTM_FACT_ARCH | TTM_FACT_BOARD) ?
			0 :
			TTMEM_UNKNOWN;
		if (words[i] != unknown)
			ret_facts->known |= fact_of_word[i];
	}
}

/*
 * relaxed: the identity is stored once, and two opens at once are a race of the caller
 */
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
 * Writes the facts that are known; facts that were known before stay. The CAS admits
 * one writer at a time, and a second open of the same id at the same moment is ignored.
 */
static void facts_write(
	struct ttm_device *device, const struct ttm_device_facts *facts)
{
	const uint64_t *from = (const uint64_t *)facts;
	uint64_t *to = (uint64_t *)&device->facts;
	uint64_t seq = ttm_load(&device->seq); /* relaxed: the CAS decides */
	size_t i;

	if ((seq & 1) || !ttm_cas(&device->seq, seq, seq + 1))
		return;
	/* pairs(facts): release, with the aggregator's read: no fact of this
	 * write is seen with the old seq */
	ttm_fence_release();
	TTM_TESTPOINT("facts claimed");
	for (i = 1; i < FACT_WORDS; i++)
		if (facts->known & fact_of_word[i])
			ttm_store(&to[i], from[i]);
	ttm_store(&to[0], ttm_load(&to[0]) | facts->known);
	/* pairs(facts): release, with the aggregator's read: the facts are
	 * whole */
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

/* -- closes ------------------------------------------------------------------------ */

/*
 * A close has a number: one more than that of the last close. A close moves the epochs
 * of its devices to this number and then raises the count of complete closes, so the
 * count is never ahead of an epoch. An object is orphaned on a device whose epoch is
 * newer than its stamp. Closes run one after another: `closing` has the number and the
 * place of the last close, and a thread that finds an unfinished close completes it
 * before its own, without waiting.
 */
#define CLOSING(number, place) ((uint64_t)(uint32_t)(number) << 32 | (place))
#define CLOSING_NUMBER(closing) ((uint32_t)((closing) >> 32))
#define CLOSING_PLACE(closing) ((unsigned)((closing)&0xffffffff))

static void epoch_move(struct ttm_device *device, uint32_t number)
{
	uint64_t era;

	do
		era = ttm_load(&device->era); /* relaxed: the CAS decides */
	while ((int32_t)(number - TTM_ERA_EPOCH(era)) > 0 &&
		!ttm_cas(
			&device->era, era, TTM_ERA(number, TTM_ERA_PEAK(era))));
}

static void close_finish(struct ttm_process *process, uint64_t closing)
{
	uint64_t members = ttm_place_members(process, CLOSING_PLACE(closing));
	uint64_t *closes = &process->header->live.closes, seen;

	while (members) {
		epoch_move(&process->devices[ttm_mask_take(&members)],
			CLOSING_NUMBER(closing));
		TTM_TESTPOINT("epoch moved");
	}
	seen = ttm_load(closes); /* relaxed: the CAS decides */
	/* pairs(closes): full, with ttm_closes */
	if ((uint32_t)(seen + 1) == CLOSING_NUMBER(closing))
		ttm_cas(closes, seen, seen + 1);
	TTM_TESTPOINT("close counted");
}

/* Closes the devices of a place; returns the number of the close. */
static uint32_t place_close(struct ttm_process *process, unsigned place)
{
	uint64_t closing, mine;
	uint32_t last;

	for (;;) {
		/* pairs(closing): acquire, with the CAS below */
		closing = ttm_load_acquire(&process->closing);
		last = CLOSING_NUMBER(closing);
		/* A child that was forked inside a close has a copy of `closing`
		 * that is older than the count in the file: no close to help. */
		if ((int32_t)(last - (uint32_t)ttm_closes(process)) > 0) {
			close_finish(process, closing);
			continue;
		}
		mine = CLOSING(last + 1, place);
		/* pairs(closing): full */
		if (ttm_cas(&process->closing, closing, mine))
			break;
	}
	TTM_TESTPOINT("close begun");
	close_finish(process, mine);
	return CLOSING_NUMBER(mine);
}

/* Closes these devices: their live objects become orphaned there. */
static void epochs_end(struct ttm_ring *ring, const struct ttm_where *where)
{
	struct ttm_note note = {
		.type = TTM_RECORD_DEVICE_CLOSE,
		.place = where->place,
		.figure = TTM_FIGURE_NONE,
		.slot = TTM_SLOT_NONE,
	};
	uint64_t members = where->members, now = ttm_clock_now();
	struct ttm_device *device;
	unsigned entry;

	for (; members; ttm_mask_take(&members))
		ttm_peaks_keep(
			ring->process, (unsigned)__builtin_ctzll(members));
	ttm_ring_begin(ring, 1);
	note.w4 = place_close(ring->process, where->place);
	for (members = where->members; members;) {
		entry = ttm_mask_take(&members);
		device = &ring->process->devices[entry];
		ttm_store(&device->closed, now); /* relaxed: display */
		head_change(device, 0, TTM_DEVICE_OPEN);
		note.w2 = TTM_DEVICE_LOGICAL(ttm_load(&device->head));
	}
	ttm_note_commit(ring, &note);
}

static void entry_close(struct ttm_ring *ring, unsigned entry)
{
	struct ttm_where where = {
		ttm_place_of(ring->process, 1ull << entry, false), 1ull << entry
	};

	epochs_end(ring, &where);
}

/* Finds an entry that this logical id had before with this chip. */
static bool entry_of_old(struct ttm_process *process, uint32_t logical,
	const struct ttm_device_facts *facts, unsigned *ret_entry)
{
	const struct ttm_device *device;
	unsigned i;

	for (i = 0; i < TTM_DEVICES_MAX; i++) {
		device = &process->devices[i];
		/* relaxed: stored long ago, or a race of the caller */
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

static bool entry_change(struct ttm_ring *ring, uint32_t logical,
	const struct ttm_device_facts *facts, unsigned *entry)
{
	struct ttm_device *old = &ring->process->devices[*entry];
	unsigned other;

	if (!entry_of_old(ring->process, logical, facts, &other) &&
		!entry_get(ring->process, logical, true, true, &other))
		return false;
	if (ttm_load(&old->head) & TTM_DEVICE_OPEN) /* relaxed: see above */
		ttm_anomaly(ring, TTMEM_ANOMALY_DEVICE_CHANGED,
			ttm_place_of(ring->process, 1ull << *entry, false),
			TTM_FIGURE_NONE, logical);
	head_change(&ring->process->devices[other], TTM_DEVICE_CURRENT, 0);
	head_change(old, 0, TTM_DEVICE_CURRENT);
	/* relaxed: see ttm_where_known */
	if (logical < TTM_DEVICES_MAX)
		ttm_store32(&ring->process->device_places[logical],
			ttm_place_of(ring->process, 1ull << other, false));
	ttm_meshes_forget(ring->process);
	/* Close the old entry even if it was closed: objects may have come
	 * since. */
	entry_close(ring, *entry);
	*entry = other;
	return true;
}

static void entry_open(struct ttm_ring *ring, unsigned entry,
	const struct ttm_device_facts *facts)
{
	struct ttm_device *device = &ring->process->devices[entry];
	struct ttm_note note = {
		.type = TTM_RECORD_DEVICE_OPEN,
		.place = ttm_place_of(ring->process, 1ull << entry, false),
		.figure = TTM_FIGURE_NONE,
		.slot = TTM_SLOT_NONE,
		.w2 = TTM_DEVICE_LOGICAL(ttm_load(&device->head)),
	};

	ttm_ring_begin(ring, 1);
	facts_write(device, facts);
	ttm_store(&device->opened, ttm_clock_now()); /* relaxed: display */
	head_change(device, TTM_DEVICE_OPEN, 0);
	ttm_note_commit(ring, &note);
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
	struct ttm_ring *ring = ttm_hook_enter(TTM_ENTRY_STARTS, 0);
	unsigned entry = 0;
	bool good = false;

	if (!ring)
		return;
	if (info_is_good(info)) {
		reason = TTMEM_ANOMALY_TOO_MANY_DEVICES;
		good = ttm_device_entry(
			ring->process, info->device, true, &entry);
	}
	if (good) {
		facts_from(info, &facts);
		if (is_another_chip(
			    &ring->process->devices[entry].facts, &facts))
			good = entry_change(ring, info->device, &facts, &entry);
	}
	if (good)
		entry_open(ring, entry, &facts);
	else
		ttm_device_missing(ring, reason, TTM_FIGURE_NONE,
			info ? info->device : 0, 0);
	ttm_hook_leave(ring);
}

/* Closes each device by itself, because the table of places is full. */
static void members_close(struct ttm_ring *ring, uint64_t members)
{
	while (members)
		entry_close(ring, ttm_mask_take(&members));
}

static TTM_SLOW void device_close(uint32_t device)
{
	enum ttmem_anomaly reason;
	struct ttm_where where;
	struct ttm_ring *ring = ttm_hook_enter(TTM_ENTRY_NO_START, 0);

	if (!ring)
		return;
	if (!ttm_where_get(ring->process, device, false, &where, &reason))
		ttm_anomaly(ring, TTMEM_ANOMALY_BAD_DEVICE, 0, TTM_FIGURE_NONE,
			device);
	else if (where.place)
		epochs_end(ring, &where);
	else
		members_close(ring, where.members);
	ttm_hook_leave(ring);
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

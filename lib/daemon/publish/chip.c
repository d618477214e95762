/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
#include "daemon/publish/chip.h"

#include <hdr/hdr_histogram.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sensors/boards.h"

/* Identified chips that nobody uses: so many are remembered. */
#define UNUSED_MOST 64u

#define KNOWS(facts, fact) (((facts)->known & (fact)) != 0)
#define CAPACITIES                                                             \
	(TTM_FACT_DRAM_BYTES | TTM_FACT_L1_BYTES_PER_CORE | TTM_FACT_CORES)

/* -- identity ---------------------------------------------------------------- */

static struct ttm_chip *chip_by_id(struct ttm_chips *chips, uint64_t chip_id)
{
	struct ttm_chip *chip;

	for (chip = chips->first; chip; chip = chip->next)
		if (chip->total.identity == TTM_IDENTITY_CHIP &&
			chip->total.facts.chip_id == chip_id)
			return chip;
	return NULL;
}

/*
 * A PCI address alone means the identified chip at that address if there is just
 * one: the two chips of a board may be reached through one address.
 */
static struct ttm_chip *chip_by_address(
	struct ttm_chips *chips, uint64_t pci_address)
{
	struct ttm_chip *chip, *found = NULL, *same = NULL;
	unsigned identified = 0;

	for (chip = chips->first; chip; chip = chip->next) {
		if (!KNOWS(&chip->total.facts, TTM_FACT_PCI_ADDRESS) ||
			chip->total.facts.pci_address != pci_address)
			continue;
		if (chip->total.identity == TTM_IDENTITY_PCI) {
			same = chip;
		} else if (chip->total.identity == TTM_IDENTITY_CHIP) {
			found = chip;
			identified++;
		}
	}
	return identified == 1 ? found : same;
}

static struct ttm_chip *chip_by_logical(
	struct ttm_chips *chips, uint64_t logical)
{
	struct ttm_chip *chip;

	for (chip = chips->first; chip; chip = chip->next)
		if (chip->total.identity == TTM_IDENTITY_LOGICAL &&
			chip->total.logical == logical)
			return chip;
	return NULL;
}

static enum ttm_identity identity_of(const struct ttm_device_facts *facts)
{
	if (KNOWS(facts, TTM_FACT_CHIP_ID))
		return TTM_IDENTITY_CHIP;
	if (KNOWS(facts, TTM_FACT_PCI_ADDRESS))
		return TTM_IDENTITY_PCI;
	return TTM_IDENTITY_LOGICAL;
}

static struct ttm_chip *chip_find(struct ttm_chips *chips,
	const struct ttm_device_facts *facts, uint64_t logical)
{
	switch (identity_of(facts)) {
	case TTM_IDENTITY_CHIP:
		return chip_by_id(chips, facts->chip_id);
	case TTM_IDENTITY_PCI:
		return chip_by_address(chips, facts->pci_address);
	case TTM_IDENTITY_LOGICAL:
		break;
	}
	return chip_by_logical(chips, logical);
}

/* What somebody told later is newer; what nobody tells again stays. */
static void facts_merge(
	struct ttm_device_facts *facts, const struct ttm_device_facts *told)
{
	const struct {
		uint64_t fact;
		size_t off;
		size_t size;
	} fields[] = {
#define FIELD(fact, member)                                                    \
	{ fact, offsetof(struct ttm_device_facts, member),                     \
		sizeof(facts->member) }
		FIELD(TTM_FACT_CHIP_ID, chip_id),
		FIELD(TTM_FACT_PCI_ADDRESS, pci_address),
		FIELD(TTM_FACT_ARCH, arch),
		FIELD(TTM_FACT_BOARD, board),
		FIELD(TTM_FACT_DRAM_BYTES, dram_bytes),
		FIELD(TTM_FACT_L1_BYTES_PER_CORE, l1_bytes_per_core),
		FIELD(TTM_FACT_CORES, cores),
		FIELD(TTM_FACT_L1_SMALL_BYTES, l1_small_bytes),
		FIELD(TTM_FACT_TRACE_BYTES, trace_bytes),
		FIELD(TTM_FACT_L1_BASE, l1_base),
		FIELD(TTM_FACT_L1_TOP, l1_top),
		FIELD(TTM_FACT_DRAM_BANKS, dram_banks),
		FIELD(TTM_FACT_DRAM_BANK_BYTES, dram_bank_bytes),
		FIELD(TTM_FACT_DRAM_BASE, dram_base),
		FIELD(TTM_FACT_L1_BANKS, l1_banks),
		FIELD(TTM_FACT_GATEWAY, gateway),
#undef FIELD
	};
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (told->known & fields[i].fact)
			memcpy((char *)facts + fields[i].off,
				(const char *)told + fields[i].off,
				fields[i].size);
	facts->known |= told->known;
}

/* What nobody told is as on every board of that name. */
static void capacities_assume(struct ttm_device_row *total)
{
	struct ttm_device_facts *facts = &total->facts;
	const struct ttm_board *board = NULL;
	uint64_t wanted = (CAPACITIES & ~facts->known) | total->by_board;
	char name[sizeof(facts->board)];

	memcpy(name, facts->board, sizeof(name));
	if (wanted && KNOWS(facts, TTM_FACT_BOARD))
		board = ttm_board_find(name, sizeof(name));
	if (!board)
		return;
	if (wanted & TTM_FACT_DRAM_BYTES)
		facts->dram_bytes = board->dram_bytes;
	if (wanted & TTM_FACT_L1_BYTES_PER_CORE)
		facts->l1_bytes_per_core = board->l1_bytes_per_core;
	if (wanted & TTM_FACT_CORES)
		facts->cores = board->cores;
	facts->known |= wanted;
	total->by_board = wanted;
}

static struct ttm_chip *chip_new(struct ttm_chips *chips,
	const struct ttm_device_facts *facts, uint64_t logical)
{
	struct ttm_chip *chip = calloc(1, sizeof(*chip)), **end;

	if (!chip)
		return NULL;
	chip->row = ttm_image_add(chips->image, TTM_TABLE_DEVICES);
	if (!chip->row) {
		free(chip);
		return NULL;
	}
	chip->total.identity = identity_of(facts);
	chip->total.cb_footprint_exact = 1;
	chip->total.headroom = TTM_HEADROOM_UNKNOWN;
	chip->total.logical = logical;
	chip->maker = TTM_NOBODY;
	chip->changed = true;
	for (end = &chips->first; *end; end = &(*end)->next)
		;
	*end = chip;
	chips->len++;
	chips->identities_changed = true;
	return chip;
}

/* The one that they mean, made if there is none; NULL: no memory. */
static struct ttm_chip *chip_obtain(struct ttm_chips *chips,
	const struct ttm_device_facts *facts, uint64_t logical)
{
	struct ttm_chip *chip = chip_find(chips, facts, logical);

	if (!chip)
		chip = chip_new(chips, facts, logical);
	if (!chip)
		chips->memory_errors++;
	return chip;
}

static void chip_learn(struct ttm_chips *chips, struct ttm_chip *chip,
	const struct ttm_device_facts *facts)
{
	const struct ttm_device_facts before = chip->total.facts;

	facts_merge(&chip->total.facts, facts);
	/* Somebody who tells the address alone may mean another one from now on. */
	if (((chip->total.facts.known ^ before.known) & TTM_FACT_PCI_ADDRESS) ||
		chip->total.facts.pci_address != before.pci_address)
		chips->identities_changed = true;
	chip->total.by_board &= ~facts->known;
	capacities_assume(&chip->total);
	chip->changed = true;
}

/* Whether that user may tell of a further one. */
static bool chips_have_room(const struct ttm_chips *chips, uint32_t uid)
{
	const struct ttm_chip *chip;
	unsigned of_user = 0;

	for (chip = chips->first; chip; chip = chip->next)
		of_user += chip->maker == uid;
	return chips->len < TTM_CHIPS_MOST &&
		(uid == TTM_NOBODY || of_user < TTM_CHIPS_PER_USER);
}

struct ttm_chip *ttm_chip_get(struct ttm_chips *chips, uint32_t uid,
	const struct ttm_device_facts *facts, uint64_t logical)
{
	static const struct ttm_device_facts none;
	struct ttm_chip *chip = chip_find(chips, facts, logical);

	if (!chip) {
		/* Nothing is learnt of what may be many. */
		if (!chips_have_room(chips, uid))
			return chip_obtain(chips, &none, TTMEM_UNKNOWN);
		chip = chip_obtain(chips, facts, logical);
		if (!chip)
			return NULL;
		chip->maker = uid;
	}
	chip_learn(chips, chip, facts);
	chip->claimed = true;
	return chip;
}

struct ttm_chip *ttm_chip_again(struct ttm_chips *chips, uint32_t uid,
	const struct ttm_device_facts *facts, uint64_t logical,
	struct ttm_chip *known)
{
	if (known && chip_find(chips, facts, logical) == known)
		return known;
	return ttm_chip_get(chips, uid, facts, logical);
}

struct ttm_chip *ttm_chip_see(
	struct ttm_chips *chips, const struct ttm_device_facts *facts)
{
	struct ttm_device_facts news = *facts;
	struct ttm_chip *chip;

	if (identity_of(facts) == TTM_IDENTITY_LOGICAL)
		return NULL;
	chip = chip_obtain(chips, facts, TTMEM_UNKNOWN);
	if (!chip)
		return NULL;
	news.known &= ~chip->total.facts.known;
	if (news.known) /* asked every second, and hardly ever */
		chip_learn(chips, chip, &news);
	return chip;
}

struct ttm_chip *ttm_chip_of_row(struct ttm_chips *chips, uint64_t row)
{
	struct ttm_chip *chip;

	for (chip = chips->first; chip; chip = chip->next)
		if (chip->row == row)
			return chip;
	return NULL;
}

void ttm_chip_point(struct ttm_chip **place, struct ttm_chip *to)
{
	if (to)
		to->users++;
	if (*place)
		(*place)->users--;
	*place = to;
}

/* The identified chip at the address by which alone an unused one is known, or NULL. */
static struct ttm_chip *chip_successor(
	struct ttm_chips *chips, const struct ttm_chip *chip)
{
	struct ttm_chip *found;

	if (chip->users || chip->total.identity != TTM_IDENTITY_PCI)
		return NULL;
	found = chip_by_address(chips, chip->total.facts.pci_address);
	return found != chip ? found : NULL;
}

void ttm_chips_settle(struct ttm_chips *chips)
{
	struct ttm_chip *chip, *to;

	for (chip = chips->first; chip; chip = chip->next) {
		to = chip_successor(chips, chip);
		if (!to)
			continue;
		ttm_chip_inherit_histories(chips, to, chip);
		ttm_chip_resume_peaks(to, &chip->total);
		to->claimed |= chip->claimed;
		if (to->total.logical == TTMEM_UNKNOWN)
			to->total.logical = chip->total.logical;
	}
}

static void chip_free(struct ttm_chip *chip)
{
	unsigned figure, kind;

	for (figure = 0; figure < TTMEM_FIGURES; figure++)
		for (kind = 0; kind < 2; kind++)
			hdr_close(chip->distributions[figure][kind].histogram);
	free(chip);
}

void ttm_chips_free(struct ttm_chips *chips)
{
	struct ttm_chip *chip;

	while ((chip = chips->first)) {
		chips->first = chip->next;
		chip_free(chip);
	}
}

static void chip_hide(struct ttm_chips *chips, struct ttm_chip *chip)
{
	unsigned figure, kind, at;

	for (figure = 0; figure < TTMEM_FIGURES; figure++)
		for (kind = 0; kind < 2; kind++)
			ttm_image_remove(chips->image, TTM_TABLE_DISTRIBUTIONS,
				chip->distributions[figure][kind].row);
	for (at = 0; at < TTM_RESOLUTIONS; at++)
		ttm_image_remove(chips->image, TTM_TABLE_HISTORY_1S + at,
			chip->history_rows[at]);
	ttm_image_remove(chips->image, TTM_TABLE_DEVICES, chip->row);
}

/*
 * One that was known by its logical id, or its address, until somebody told more was
 * never a device of its own, and one that only the driver told of goes with it. And
 * nobody shall fill our memory by making up chips.
 */
static void unused_drop(struct ttm_chips *chips)
{
	struct ttm_chip **at, *chip;
	uint64_t unused = 0;

	for (chip = chips->first; chip; chip = chip->next)
		unused += !chip->users;
	for (at = &chips->first; (chip = *at);) {
		if (chip->users ||
			(chip->claimed && unused <= UNUSED_MOST &&
				chip->total.identity != TTM_IDENTITY_LOGICAL &&
				!chip_successor(chips, chip))) {
			at = &chip->next;
			continue;
		}
		unused--;
		chips->len--;
		*at = chip->next;
		/* Whoever tells its address alone may mean another one now. */
		chips->identities_changed = true;
		chip_hide(chips, chip);
		chip_free(chip);
	}
}

/* -- sums -------------------------------------------------------------------- */

static void words_add(
	uint64_t *sum, const uint64_t *part, size_t len, uint64_t sign)
{
	while (len--)
		*sum++ += sign * *part++;
}

static bool share_is_in_use(const struct ttm_share_row *share)
{
	unsigned i;

	if (share->open)
		return true;
	for (i = 0; i < TTMEM_FIGURES; i++)
		if (share->figures[i].live_objects)
			return true;
	return false;
}

/* sign: 1 or all ones. Peaks are not sums: they are sampled. */
static void share_add(struct ttm_device_row *total,
	const struct ttm_share_row *share, uint64_t sign)
{
	unsigned i;

	words_add(total->dispatches, share->dispatches, 3, sign);
	words_add(total->failures, share->failures, 6, sign);
	words_add(total->ring_bytes, share->ring_bytes, 3, sign);
	total->cb_footprint += sign * share->cb_footprint;
	if (share_is_in_use(share))
		total->processes += sign;
	for (i = 0; i < TTMEM_FIGURES; i++) {
		struct ttm_sums *sum = &total->figures[i];
		const struct ttm_sums *part = &share->figures[i];

		sum->live_bytes += sign * part->live_bytes;
		sum->live_objects += sign * part->live_objects;
		sum->orphaned_bytes += sign * part->orphaned_bytes;
		sum->orphaned_objects += sign * part->orphaned_objects;
		sum->alloc_objects += sign * part->alloc_objects;
		sum->alloc_bytes += sign * part->alloc_bytes;
		sum->free_objects += sign * part->free_objects;
		sum->free_bytes += sign * part->free_bytes;
		sum->requested_bytes += sign * part->requested_bytes;
	}
}

static void most(uint64_t *high, uint64_t value)
{
	if (value > *high)
		*high = value;
}

/*
 * A device was in use at least as much as one of its processes ever used: between two
 * publications ttmemd samples nothing, but a process keeps its own peaks. A peak above all
 * that was ever allocated is not believed: the segment is damaged, or the process lies.
 */
static void peaks_raise(
	struct ttm_device_row *total, const struct ttm_share_row *share)
{
	const struct ttm_sums *sums = share->figures;
	unsigned i;

	for (i = 0; i < TTMEM_FIGURES; i++) {
		if (sums[i].peak_bytes > sums[i].alloc_bytes)
			continue;
		most(&total->figures[i].peak_bytes, sums[i].peak_bytes);
		if (i == TTMEM_FIGURE_DRAM || i == TTMEM_FIGURE_TRACE)
			most(&total->dram_peak, sums[i].peak_bytes);
		else if (i == TTMEM_FIGURE_L1 || i == TTMEM_FIGURE_L1_SMALL)
			most(&total->l1_tensix_peak, sums[i].peak_bytes);
	}
}

void ttm_chip_count(struct ttm_chip *chip, const struct ttm_share_row *before,
	const struct ttm_share_row *now)
{
	if (before)
		share_add(&chip->total, before, UINT64_MAX);
	if (now) {
		share_add(&chip->total, now, 1);
		peaks_raise(&chip->total, now);
	}
	chip->changed = true;
	chip->shares_changed = true;
}

static void uses_set(struct ttm_chip *chip)
{
	struct ttm_device_row *total = &chip->total;
	uint64_t kernels = 0, fabric;
	unsigned i;

	for (i = 0; i < 3; i++)
		kernels += total->figures[TTMEM_FIGURE_KERNEL + i].live_bytes -
			total->ring_bytes[i];
	fabric = total->figures[TTMEM_FIGURE_KERNEL_FABRIC].live_bytes -
		total->ring_bytes[TTMEM_KERNEL_FABRIC];
	total->dram_use = total->figures[TTMEM_FIGURE_DRAM].live_bytes +
		total->figures[TTMEM_FIGURE_TRACE].live_bytes;
	total->l1_use = total->figures[TTMEM_FIGURE_L1].live_bytes +
		total->figures[TTMEM_FIGURE_L1_SMALL].live_bytes +
		total->cb_footprint + kernels;
	/* Fabric kernels sit on ethernet cores. */
	total->l1_tensix_use = total->l1_use - fabric;
	most(&total->dram_peak, total->dram_use);
	most(&total->l1_tensix_peak, total->l1_tensix_use);
	for (i = 0; i < TTMEM_FIGURES; i++)
		most(&total->figures[i].peak_bytes,
			total->figures[i].live_bytes);
	for (i = 0; i < TTM_RESOLUTIONS; i++) {
		most(&chip->dram_max[i], total->dram_use);
		most(&chip->l1_max[i], total->l1_use);
	}
}

void ttm_chips_publish(struct ttm_chips *chips)
{
	struct ttm_chip *chip;

	unused_drop(chips);
	for (chip = chips->first; chip; chip = chip->next) {
		if (!chip->changed)
			continue;
		chip->changed = false;
		uses_set(chip);
		ttm_image_set(chips->image, TTM_TABLE_DEVICES, chip->row,
			&chip->total);
	}
}

void ttm_chip_resume_peaks(
	struct ttm_chip *chip, const struct ttm_device_row *row)
{
	unsigned i;

	most(&chip->total.dram_peak, row->dram_peak);
	most(&chip->total.l1_tensix_peak, row->l1_tensix_peak);
	for (i = 0; i < TTMEM_FIGURES; i++)
		most(&chip->total.figures[i].peak_bytes,
			row->figures[i].peak_bytes);
	chip->changed = true;
}

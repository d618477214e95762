/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/*
 * Devices over all processes. A chip is known by its unique id, else by its PCI
 * address; those that tell neither are merged by logical id, visibly, and never with
 * one that tells. Sums over its shares are kept by adding what a share says now
 * and subtracting what it said before: integers, so nothing drifts.
 *
 * Devices that only the driver tells of are chips, too. Capacities that nobody told
 * are those of the board, and marked.
 */
#ifndef TTM_DAEMON_CHIP_H
#define TTM_DAEMON_CHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/follow/process.h"
#include "daemon/publish/image.h"

struct hdr_histogram;

#define TTM_RESOLUTIONS 3u

struct ttm_distribution {
	struct hdr_histogram *histogram; /* NULL: none yet */
	uint64_t row;
	bool changed;
};

struct ttm_chip {
	struct ttm_chip *next;
	uint64_t users; /* places that point to it */
	uint64_t row;
	struct ttm_device_row total; /* as published, or about to be */
	bool changed;
	bool shares_changed; /* headroom, label: to be looked up again */
	bool claimed;        /* a process, or a predecessor, told of it */
	uint32_t maker;      /* who told of it first: uid, or TTM_NOBODY */
	uint64_t history_rows[TTM_RESOLUTIONS];
	uint64_t dram_max[TTM_RESOLUTIONS]; /* since the last point */
	uint64_t l1_max[TTM_RESOLUTIONS];
	struct ttm_distribution distributions[TTMEM_FIGURES][2];
	/* When rates were taken last. */
	bool rated;
	uint64_t rate_events;
	uint64_t rate_alloc_bytes;
	uint64_t rate_free_bytes;
};

/*
 * That processes tell of, all of them and those of a user; no host has so many. One who
 * makes up chips leaves room for what others have.
 */
#define TTM_CHIPS_MOST 256u
#define TTM_CHIPS_PER_USER 64u
#define TTM_NOBODY UINT32_MAX /* the driver, or a predecessor */

struct ttm_chips {
	struct ttm_chip *first;
	uint32_t len;
	struct ttm_image *image;
	bool identities_changed; /* parts may belong to other chips now */
	uint64_t tick; /* seconds since the start: which points are due */
	uint64_t memory_errors;
};

void ttm_chips_free(struct ttm_chips *chips);

/*
 * The chip that these facts of that user mean, made if there is none. Where there are too
 * many already it is one for all further ones, without an identity or a number: nobody
 * shall fill our memory by making up chips. Those that the driver has are found all the
 * same, see ttm_chip_see(). NULL: no memory.
 */
struct ttm_chip *ttm_chip_get(struct ttm_chips *chips, uint32_t uid,
	const struct ttm_device_facts *facts, uint64_t logical);

/*
 * The same for a place that points to `known` and has told its facts before: they
 * are taken only if they mean another chip now. Two who tell different addresses of
 * one chip would else take turns for ever.
 */
struct ttm_chip *ttm_chip_again(struct ttm_chips *chips, uint32_t uid,
	const struct ttm_device_facts *facts, uint64_t logical,
	struct ttm_chip *known);

/*
 * The same for a device that the driver has, which has no logical id: what processes
 * told stays as they told it. NULL if neither chip id nor PCI address is known, or
 * without memory.
 */
struct ttm_chip *ttm_chip_see(
	struct ttm_chips *chips, const struct ttm_device_facts *facts);

/* The one that is published there, or NULL. */
struct ttm_chip *ttm_chip_of_row(struct ttm_chips *chips, uint64_t row);

/*
 * Makes a place that keeps a chip point to `to`, or to none. A chip that no place
 * points to any more goes with the next publication; of those that are identified
 * and that a process told of, 64 stay, with their past.
 */
void ttm_chip_point(struct ttm_chip **place, struct ttm_chip *to);

/*
 * Gives histories and peaks of an address that nobody uses any more to the identified
 * chip at that address.
 */
void ttm_chips_settle(struct ttm_chips *chips);

/* A share said `before` (NULL: nothing) and says `now` (NULL: is gone). */
void ttm_chip_count(struct ttm_chip *chip, const struct ttm_share_row *before,
	const struct ttm_share_row *now);

/* Uses and peaks from the sums, then the rows into the image. */
void ttm_chips_publish(struct ttm_chips *chips);

/* -- distributions and histories ----------------------------------------------- */

/* Adds a value in a few ns. One beyond the range counts as its end. */
void ttm_chip_record(struct ttm_chip *chip, unsigned figure,
	enum ttm_distribution_kind kind, uint64_t value);

#define TTM_VALUES_MAX 1024u
#define TTM_VALUES_KINDS (2 * TTMEM_FIGURES)

/*
 * Values that several chips get: where they belong in a histogram is found once, and
 * those that belong to one count are added together. Empty: all zero.
 */
struct ttm_values {
	uint32_t len;
	uint32_t at[TTM_VALUES_MAX]; /* 2 x figure + kind << 16 | index */
	uint32_t times[TTM_VALUES_MAX];
	uint16_t found[2 * TTM_VALUES_MAX]; /* hash table: 1 + number, or 0 */
	struct {
		int64_t len;
		int64_t min; /* without zeros */
		int64_t max;
	} kinds[TTM_VALUES_KINDS];
};

/* Returns false if there is no room: clear them first. */
bool ttm_values_add(struct ttm_values *values, unsigned figure,
	enum ttm_distribution_kind kind, uint64_t value);
void ttm_values_clear(struct ttm_values *values);

/* The same as ttm_chip_record() of each. */
void ttm_chip_record_values(
	struct ttm_chip *chip, const struct ttm_values *values);

/* Moves the histories of `from` to `to`, where `to` has none. */
void ttm_chip_inherit_histories(
	struct ttm_chips *chips, struct ttm_chip *to, struct ttm_chip *from);

/* Sets the rows of the distributions that changed. */
void ttm_chips_describe(struct ttm_chips *chips);

/*
 * What the share says happened before anybody looked, or (sign all ones) is told of
 * another chip by now: it is in no rate.
 */
void ttm_chip_rates_skip(struct ttm_chip *chip,
	const struct ttm_share_row *share, uint64_t sign);

/* A second has passed: rates, and the points that are due. */
void ttm_chips_tick(struct ttm_chips *chips, uint64_t now_ns);

/* Take over what a predecessor published: sampled peaks, histories. */
void ttm_chip_resume_peaks(
	struct ttm_chip *chip, const struct ttm_device_row *row);
void ttm_chip_resume_history(struct ttm_chips *chips, struct ttm_chip *chip,
	unsigned resolution, const struct ttm_history_row *row, size_t size);

#endif

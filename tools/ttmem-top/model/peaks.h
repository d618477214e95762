/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The displayed peaks: those of ttmemd, and after a reset the most that was seen
 * since. Nothing of ttmemd's is changed.
 */
#ifndef TTM_TOP_PEAKS_H
#define TTM_TOP_PEAKS_H

#include "devices.h"

#define TOP_PEAK_DRAM TTMEM_FIGURES     /* dram_use */
#define TOP_PEAK_L1 (TTMEM_FIGURES + 1) /* l1_tensix_use */
#define TOP_PEAK_COUNT (TTMEM_FIGURES + 2)

/* Of a device, or of a process on a device. */
struct top_peak {
	struct top_id process; /* zeros: the device itself */
	struct top_id device;
	uint64_t bytes[TOP_PEAK_COUNT];
};

/* All zero to begin with. */
struct top_peaks {
	bool since_reset;
	struct top_peak *list; /* sorted */
	size_t len;
};

struct top_id top_process_id(const struct ttmem_process_row *process);

/* From now on, beginning with this snapshot. Returns 0 or -ENOMEM. */
int top_peaks_reset(struct top_peaks *peaks,
	const struct ttmem_snapshot *snapshot,
	const struct top_devices *devices);

/*
 * What is in the snapshot counts, what is not in it any more is forgotten. Does
 * nothing before a reset. Returns 0 or -ENOMEM.
 */
int top_peaks_update(struct top_peaks *peaks,
	const struct ttmem_snapshot *snapshot,
	const struct top_devices *devices);
void top_peaks_free(struct top_peaks *peaks);

/* `published` before a reset. `which` is enum ttmem_figure or TOP_PEAK_*. */
uint64_t top_peaks_get(const struct top_peaks *peaks, struct top_id process,
	struct top_id device, unsigned which, uint64_t published);

#endif

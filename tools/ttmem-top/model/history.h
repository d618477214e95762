/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What devices used over the last day: taken from ttmemd's histories where a snapshot
 * has them, else from the snapshots themselves. Never more than a fixed number of
 * points of each device, and devices that are gone are forgotten.
 */
#ifndef TTM_TOP_HISTORY_H
#define TTM_TOP_HISTORY_H

#include "devices.h"

#define TOP_RESOLUTIONS 3u /* 1 s, 10 s, 1 min */

enum top_series {
	TOP_SERIES_DRAM,
	TOP_SERIES_L1,
	TOP_SERIES_COUNT
};

struct top_point {
	uint64_t time_ns;                     /* end of the interval */
	uint64_t bytes[TOP_SERIES_COUNT];     /* then */
	uint64_t bytes_max[TOP_SERIES_COUNT]; /* within the interval */
	bool sampled;                         /* by us; ttmemd knows better */
};

/* The newest points, oldest first from `begin`. */
struct top_ring {
	uint64_t interval_ns;
	struct top_point *points;
	size_t size; /* of the array */
	size_t begin, len;
};

struct top_past {
	struct top_id device;
	bool seen;   /* in the last snapshot */
	bool merged; /* from its histories */
	struct top_ring rings[TOP_RESOLUTIONS];
};

/* All zero to begin with. */
struct top_history {
	struct top_past *pasts;
	size_t len, size;
	uint64_t time_ns; /* of the last snapshot */
};

/* Returns 0 or -ENOMEM. A clock that went back (another boot) begins anew. */
int top_history_update(struct top_history *history,
	const struct ttmem_snapshot *snapshot,
	const struct top_devices *devices);
void top_history_free(struct top_history *history);

/* NULL: none. */
const struct top_past *top_history_find(
	const struct top_history *history, struct top_id device);

/*
 * The most that was used from `from_ns` to `to_ns`; unknown without a point. The
 * finest resolution that goes back so far is taken.
 */
uint64_t top_past_max(const struct top_past *past, enum top_series series,
	uint64_t from_ns, uint64_t to_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain -> apply -> publish] -> read -> render */
/* All that the drain thread knows of one attached process. */
#ifndef TTM_DAEMON_PROCESS_H
#define TTM_DAEMON_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/find/attached.h"
#include "daemon/follow/source.h"
#include "daemon/state/model.h"
#include "shm/aggregate.h"

struct ttm_chip;

/* How far a lane has been read. */
struct ttm_position {
	uint64_t next;   /* records below were read, or missed */
	uint64_t missed; /* of them, not read */
};

/* Ticks of a process's clock as CLOCK_MONOTONIC. */
struct ttm_timescale {
	uint64_t ns_per_tick; /* fixed point, 32 bits of fraction; 0 unknown */
	uint64_t ticks;       /* some moment in ticks ... */
	uint64_t ns;          /* ... and in ns */
};

/* What the counters of all lanes say about a device entry. */
struct ttm_flows {
	uint64_t dispatches[3];
	uint64_t failures[6]; /* by figure, up to the CBs */
	struct {
		uint64_t alloc_objects;
		uint64_t alloc_bytes;
		uint64_t free_objects;
		uint64_t free_bytes;
		int64_t unfolded_high; /* of the current era */
		int64_t live;
		uint64_t peak_bytes;
	} figures[TTMEM_FIGURES];
};

/* The usage of a device by a process, as it is published: see publish/usage.h. */
struct ttm_usage {
	uint64_t row;                   /* reference, 0 none */
	struct ttm_chip *chip;          /* NULL: not told yet */
	struct ttm_share_row published; /* zero: nothing */
};

/* One device entry: what the segment says of it, and what is published. */
struct ttm_part {
	struct ttm_device device; /* as read last; facts only when whole */
	bool ready;
	struct ttm_flows flows;
	struct ttm_l1_result l1;
	struct ttm_usage usage;
};

struct ttm_process {
	/* First what a look at one with nothing new needs: a line or two. */
	struct ttm_attached *attached;
	uint64_t due_ns;      /* of the next look */
	uint64_t fate;        /* as it was shown */
	uint32_t pid;         /* ttm_attached.pid, as it was shown */
	uint64_t interval_ns; /* between looks while something happens */
	uint64_t attached_ns;
	uint64_t last_event_ns;
	uint64_t refreshed_ns; /* header, devices, counters, whatever moved */
	uint64_t refreshes;
	bool silent;      /* nothing has happened for a while */
	bool quarantined; /* source.reason says why */
	bool settled;     /* dead, and read for the last time */
	bool ending;      /* dead, but could not be retired yet */
	bool faulty;      /* found while its rows were made; source.reason */
	/* What the next round has to do besides draining. */
	bool scan_wanted;
	bool devices_wanted;
	bool texts_wanted;    /* marks and failures */
	bool counters_wanted; /* something happened since they were read */
	bool skip_wanted;     /* the records there are count as missed */
	bool changed;         /* since publish looked */
	bool names_looked;    /* publish looked for new extents of names */

	struct ttm_source source;
	struct ttm_model model;
	struct ttm_header_live live;
	struct ttm_position *positions;
	uint32_t positions_len;
	struct ttm_part *parts[TTM_DEVICES_MAX];
	uint32_t parts_len;
	struct ttm_timescale timescale;
	uint64_t anomalies[TTM_REASONS_MAX];
	uint64_t lost_events[TTM_REASONS_MAX];
	uint64_t lost_bytes[TTM_REASONS_MAX];

	uint64_t events; /* records drained or missed: sum of positions */
	uint64_t missed;
	uint64_t in_flight;
	uint64_t scanned_ns;
	uint32_t torn; /* slots of this scan that name what is not there */
	uint64_t counters_ns;
	uint64_t counters_cost_ns;
	uint64_t l1_ns;
	uint64_t l1_cost_ns;
	uint32_t l1_next;     /* entry at which the next look at L1 begins */
	uint64_t rate_events; /* `events` when the rate was taken */
	uint64_t events_per_s;

	/* publish's */
	uint64_t row;
	uint64_t *names; /* references by name id - 1, 0 none */
	uint32_t names_len;
	uint64_t marks[TTM_MARKS_KEPT]; /* references */
	uint64_t failures[TTM_FAILURES_KEPT];
	uint64_t marks_number[TTM_MARKS_KEPT]; /* seq they were taken at */
	uint64_t failures_number[TTM_FAILURES_KEPT];
	uint64_t quarantine_row;
	uint64_t bytes_max; /* for its mirror */
};

/* Takes the attached's file, not its ownership. Returns 0 or -ENOMEM. */
int ttm_process_new(struct ttm_attached *attached, uint64_t now_ns,
	struct ttm_process **ret_process);
void ttm_process_free(struct ttm_process **process);

/* Whether it began so long before it was found that its past is in no rate. */
bool ttm_process_is_late(const struct ttm_process *process);

size_t ttm_process_bytes(const struct ttm_process *process);

/* Takes the scale of its clock anew. */
void ttm_process_timescale(struct ttm_process *process);

/* CLOCK_MONOTONIC of a tick of the process's clock, 0 for unknown. */
uint64_t ttm_process_time_ns(const struct ttm_process *process, uint64_t ticks);

static inline uint64_t ttm_ticks_to_ns(
	const struct ttm_timescale *scale, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * scale->ns_per_tick >> 32);
}

#endif

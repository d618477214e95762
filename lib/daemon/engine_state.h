/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain -> apply -> publish] -> read -> render */
/* Between the files of the engine. */
#ifndef TTM_DAEMON_ENGINE_STATE_H
#define TTM_DAEMON_ENGINE_STATE_H

#include "daemon/engine.h"
#include "daemon/follow/drain.h"
#include "daemon/publish/output.h"
#include "daemon/publish/telemetry_rows.h"

/* Users whose processes were let go, each with the time of the last one. */
#define TTM_LET_GO_USERS 16u

struct ttm_let_go {
	uint64_t time_ns; /* 0: unused */
	uint32_t uid;
};

struct ttm_engine {
	struct ttm_engine_config config;
	struct ttm_output output;
	struct ttm_drain_watcher watcher;
	struct ttm_drain_stats stats;
	struct ttm_values values; /* of records on several devices */
	uint64_t stop;
	uint64_t started_ns;
	uint64_t rounds;
	uint64_t round_ns;
	uint64_t round_max_ns;
	uint64_t publish_ns;
	uint64_t publish_max_ns;
	uint64_t published_ns; /* when */
	uint64_t publish_errors;
	uint64_t retire_errors;
	uint64_t memory_errors;
	uint64_t restarts;
	uint64_t attached;
	uint64_t mirror_bytes;
	uint64_t health_row;
	uint64_t described_ns;     /* when distributions were described */
	uint64_t described_events; /* stats.events then */
	/*
	 * Records of processes that began before this time may have been read by a
	 * predecessor; those of a user's processes that began before the user's time
	 * in `let_go`, here. They count as missed, so that none is counted twice.
	 */
	uint64_t read_before_ns;
	struct ttm_let_go let_go[TTM_LET_GO_USERS];
	uint64_t tick_ns;    /* of the last second's tick */
	uint64_t slow_ns;    /* of the last look at directories */
	uint64_t counted_ns; /* when processes of directories were counted */
	int publish_error;   /* the last one, so that it is told once */
	/*
	 * Processes in which something happens: looked at often, and apart from
	 * the silent ones, which may be hundreds.
	 */
	struct ttm_attached **awake;
	size_t awake_len;
	size_t awake_capacity;
	bool awake_changed;          /* one of them has something to show */
	uint64_t sweep_ns;           /* when all are looked at again */
	uint64_t idle_looks;         /* that found nothing, of a sweep */
	uint64_t idle_cost_ns;       /* of one of them */
	uint64_t asleep_interval_ns; /* between looks at the long silent */
	uint64_t markers_number;     /* of those shown, 0: none */
	struct ttm_telemetry_rows *telemetry_rows;
	uint64_t *marker_rows;
	size_t marker_rows_len;
};

void ttm_engine_log(struct ttm_engine *engine, int priority, const char *format,
	...) __attribute__((format(printf, 3, 4)));

/* -- engine.c ------------------------------------------------------------------------ */

/* Between publications, by what the last one cost. */
uint64_t ttm_engine_publish_interval(const struct ttm_engine *engine);

/* -- engine_process.c: the life of an attached process ----------------------------- */

/*
 * A look at an attached process, if it is due. Returns when the next one is, or
 * UINT64_MAX. It may be gone from the registry afterwards.
 */
uint64_t ttm_engine_process(struct ttm_engine *engine,
	struct ttm_attached *attached, uint64_t now_ns);
/* Whether something happened lately, or is to be shown. NULL is not awake. */
bool ttm_engine_process_is_awake(const struct ttm_process *process);
/* Rows of those that changed. */
void ttm_engine_process_output(struct ttm_engine *engine,
	struct ttm_attached *attached, uint64_t now_ns);

/* -- engine_rows.c: what is shown besides processes ---------------------------------- */

/* Opens the file of retired processes of a served directory, if it is not. */
void ttm_engine_retirees(struct ttm_engine *engine,
	struct ttm_directory *directory, uint64_t now_ns);
void ttm_engine_directories(struct ttm_engine *engine, uint64_t now_ns);
void ttm_engine_markers(struct ttm_engine *engine);
void ttm_engine_health(struct ttm_engine *engine);
void ttm_engine_quarantine(
	struct ttm_engine *engine, struct ttm_process *process);

/* -- engine_events.c: what records tell besides the state ------------------------------ */

/* Lines; only if the config has `event`. */
void ttm_engine_record(void *context, struct ttm_process *process,
	const struct ttm_words *record, uint64_t members);
/* Distributions. */
void ttm_engine_records(void *context, struct ttm_process *process,
	const struct ttm_words *records, uint32_t len);

/* -- resume.c -------------------------------------------------------------------------- */

/* Returns 0, also when there is no predecessor, or -ENOMEM; *ret_publication its last. */
int ttm_resume(struct ttm_engine *engine, uint64_t *ret_publication);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/*
 * What ttmemd's threads share: the directories it knows and the process segments
 * it has open. Two threads (those of telemetry.h have no part in it):
 *
 *   watch  finds directories and segments, and tells who lives; it does whatever
 *          may be slow: opens, locks, /proc
 *   drain  drains, applies, publishes, retires
 *
 * Both go through the registry under rcu_read_lock(); neither waits for the other.
 * The drain removes what it has retired, and liburcu frees it when the watch has
 * let go of it.
 */
#ifndef TTM_DAEMON_ATTACHED_H
#define TTM_DAEMON_ATTACHED_H

#include <stdbool.h>
#include <stdint.h>

#include <urcu.h>
#include <urcu/rculfhash.h>
#include <urcu/rculist.h>

#include "shm/aggregate.h"
#include "shm/directory.h"

#define TTM_REASON_SIZE 128u

/*
 * A directory ttmem-<uid>. The words are stored by the watch and loaded by the
 * drain, through lib/shm/atomics.h, relaxed: each is for display by itself, and
 * `state` SERVED is stored once its lock is held and never taken back (ttmemd
 * keeps a directory until it ends or the directory is gone: `gone`).
 *
 * A directory that is gone stays in the list until the drain has removed what was
 * attached in it and said so (ttm_registry_release_directory): anybody may make
 * and remove directories all day, and nothing may grow with that.
 */
struct ttm_directory {
	struct cds_list_head node; /* of the registry's list */
	struct rcu_head rcu;
	/* Constant. */
	char path[TTM_PATH_SIZE];
	int fd;       /* -1: it could not be opened, and is refused */
	uint32_t uid; /* st_uid: whose segments are accepted in it */
	uint64_t device;
	uint64_t inode;
	/* Watch stores, drain loads. */
	uint64_t state; /* enum ttm_directory_state */
	uint64_t holder;
	uint64_t error;
	uint64_t gone; /* 1: removed, or somebody else's by now */
	struct ttm_lost lost;
	/* Drain stores, watch loads. */
	uint64_t released; /* 1: gone, and nothing refers to it any more */
	/* The watch's own. */
	int lock_fd;
	int inotify_watch;
	uint64_t attached_len;
	/* The drain's own. */
	struct ttm_retirees *retirees; /* processes that ended in it */
	uint64_t row;                  /* reference in the image */
	uint64_t mirror_bytes;         /* of the processes in it */
	uint64_t processes;            /* in it, that are shown */
	int retirees_error;            /* why there are none, told once */
	uint64_t retirees_ns;          /* when that was tried */
};

enum ttm_fate {
	TTM_FATE_ALIVE = 0,
	TTM_FATE_UNKNOWN = 1, /* shown, never retired */
	TTM_FATE_DEAD = 2,    /* never leaves this state */
};

/* A process segment that is open. */
struct ttm_attached {
	struct cds_lfht_node node; /* by inode */
	struct rcu_head rcu;
	/* Constant. */
	struct ttm_directory *directory; /* outlives it */
	char name[64];
	int fd;
	uint64_t inode;
	struct ttm_header_const header; /* checked, if reason is empty */
	char reason[TTM_REASON_SIZE];   /* else what is wrong with it */
	/*
	 * Watch stores, drain loads. pairs(fate): release by the watch after it
	 * saw the process gone, acquire by the drain before its last read.
	 */
	uint64_t fate;     /* enum ttm_fate */
	uint64_t vanished; /* 1: its name is gone */
	/*
	 * The process that has the segment, as the kernel says (owner.c); the
	 * header's pid is only what the program says. pairs(owner): release by
	 * the watch of `pid`, stored last; acquire by the drain, loaded first.
	 */
	uint32_t pid;           /* in ttmemd's pid namespace, 0: not proven */
	uint32_t own_pid;       /* in its own pid namespace */
	uint64_t pid_namespace; /* its own, 0: unknown */
	uint64_t start_time;    /* 0: unknown */
	/* The watch's own. */
	int pidfd;          /* -1: none */
	uint32_t pidfd_pid; /* whose it is, in ttmemd's pid namespace */
	uint64_t checked_ns;
	uint64_t proof_ns; /* when a proof of its process was last tried */
	/* The drain's own; NULL until it has looked at it. */
	struct ttm_process *process;
};

/* A process that asked to be tracked and could not be: a marker file. */
struct ttm_marker {
	struct ttm_directory *directory;
	uint32_t pid;
	uint32_t error;
	uint64_t start_time;
	uint8_t run_id[16];
	uint64_t alive; /* 1, 0 or TTMEM_UNKNOWN */
};

/* All of them at one moment; replaced as a whole. */
struct ttm_markers {
	struct rcu_head rcu;
	uint64_t number; /* another for each; an address may come again */
	size_t len;
	struct ttm_marker markers[];
};

struct ttm_registry {
	struct cds_lfht *attached;
	struct cds_list_head directories; /* added by the watch, at its end */
	struct ttm_markers *markers;      /* rcu_dereference */
	int wake_fd;                      /* eventfd: the drain should look */
	/* Counted by the watch, loaded by the drain (relaxed, display). */
	uint64_t refused;
	uint64_t over_limit;
	uint64_t open_errors;
	uint64_t inotify; /* 1: works */
	/* 1: another ttmemd serves our home, and publishes there. Stored by the
	 * watch; relaxed, for a publication more is put right by the other. */
	uint64_t home_is_held;
};

/*
 * Checks the constant part of a process segment's header, as read from a file of
 * `file_size` bytes. Returns 0, or -EPROTO with a text in ret_reason.
 */
int ttm_header_check(const struct ttm_header_const *header, uint64_t file_size,
	char ret_reason[TTM_REASON_SIZE]);

#endif

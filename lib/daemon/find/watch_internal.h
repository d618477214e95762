/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/*
 * What the files of the watch share. All of it belongs to one thread: the one that
 * opens and starts, then the watch's own.
 */
#ifndef TTM_DAEMON_WATCH_INTERNAL_H
#define TTM_DAEMON_WATCH_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "daemon/find/proc.h"
#include "daemon/find/refused.h"
#include "daemon/find/watch.h"

#define TTM_SECOND_NS 1000000000ull

/* Names are kept in bounds, so that what is derived from them is, too. */
#define TTM_WATCH_NAME_SIZE 64u

#define TTM_MARKERS_MAX 1024u
#define TTM_MARKERS_PER_DIRECTORY 256u
#define TTM_DIRECTORIES_MAX 4096u
#define TTM_DIRECTORIES_PER_USER 64u
#define TTM_AGAIN_MAX 64u

/*
 * A directory that is renamed is read anew, with all that is retired in it. Whoever does
 * that in a loop has so many of his directories end in that time; those that come
 * beyond that are not served before it is over.
 */
#define TTM_ENDS_MOST 32u
#define TTM_ENDS_TIME_NS (10 * TTM_SECOND_NS)
#define TTM_LEAVERS_MAX 64u

/* Who an event of epoll is about: the inode of an attached segment, or: */
#define TTM_EVENT_STOP UINT64_MAX
#define TTM_EVENT_NOTICE (UINT64_MAX - 1)

/* A directory and what only the watch knows about it. */
struct ttm_watched {
	struct ttm_directory *directory;
	char name[TTM_WATCH_NAME_SIZE]; /* under the base */
	struct ttm_refused refused;
	uint64_t lock_inode;
	uint64_t look_after_ns; /* see ttm_watch_pause */
	uint64_t changed_ns;    /* as of the last look, 0: look again anyway */
	uint64_t limit_told_ns; /* that there are more than allowed */
	uint64_t failure_told_ns; /* that one cannot be opened */
	bool unfinished;          /* something could not be attached for now */
};

/* A user whose directories end. */
struct ttm_leaver {
	uint32_t uid;
	unsigned ends; /* 0: unused */
	uint64_t since_ns;
	bool told;
};

/* Whose pidfd said that it has ended while its lock was still held. */
struct ttm_again {
	uint64_t inode; /* 0: unused */
	uint64_t at_ns;
	unsigned tries;
};

struct ttm_watch {
	struct ttm_registry *registry;
	enum ttm_aggregate_mode mode;
	uint64_t max_processes;
	void (*log)(int priority, const char *text);

	char base_path[TTM_PATH_SIZE];
	int base_fd;
	uint64_t base_device;
	uint64_t base_after_ns; /* see ttm_watch_pause */
	char home_path[TTM_PATH_SIZE];
	char home_name[TTM_WATCH_NAME_SIZE]; /* under the base, by now */
	int home_fd;      /* the same number, whatever becomes of the home */
	int home_lock_fd; /* of ttmem-system; -1 in user mode */
	int home_error;   /* why there is none any more, told once */

	uint8_t boot_id[16];
	uint64_t pid_namespace;
	struct ttm_namespaces namespaces;
	uint64_t namespaces_ns; /* when they were looked at */

	struct ttm_watched *watched;
	size_t watched_len;
	size_t watched_capacity;
	struct ttm_leaver leavers[TTM_LEAVERS_MAX];

	struct ttm_markers *markers; /* being collected */
	size_t markers_before;       /* when its directory began */
	uint64_t markers_number;     /* of the last that were set */

	int epoll_fd;
	int stop_fd;
	int inotify_fd;
	int base_watch;
	bool inotify_failed;       /* some directory has no watch */
	uint64_t inotify_after_ns; /* not to be listened to before; 0: armed */

	uint64_t round;   /* stored by the watch, loaded by anybody */
	bool changed;     /* the drain should look */
	bool unheard;     /* of the end of some process only a look tells */
	bool look_early;  /* something was heard of that only a look can tell */
	uint64_t look_ns; /* when everything was looked at */
	struct ttm_again again[TTM_AGAIN_MAX];
	unsigned refusals_logged; /* in this round */

	pthread_t thread;
	bool started;
};

/* -- watch.c ------------------------------------------------------------------ */

__attribute__((format(printf, 3, 4))) void ttm_watch_log(
	struct ttm_watch *watch, int priority, const char *format, ...);

/*
 * When to look again at what took from `begin_ns` until now: anybody may make a
 * directory so large that it takes long, but not that ttmemd does nothing else.
 */
uint64_t ttm_watch_pause(uint64_t begin_ns);

/* -- locks.c ------------------------------------------------------------------ */

/*
 * Takes the lock of a directory of `owner`. Returns a descriptor to be kept, or
 * -EBUSY with *ret_holder, -EPERM (the file is not what it should be), or an
 * error of open(2).
 */
int ttm_server_lock(int directory_fd, uint32_t owner, uint32_t *ret_holder);

/* The same on a descriptor of that file; 0 or a negative errno. */
int ttm_server_lock_again(int fd);

/* Gives it back in order, and says so in the file. Accepts -1, sets it. */
void ttm_server_unlock(int *fd);

/* The same for the lock of ttmem-system, which others see the size of alone. */
void ttm_system_unlock(int *fd);

/* -- home.c ------------------------------------------------------------------- */

/* As ttm_watch_open(). */
int ttm_home_open(struct ttm_watch *watch, struct ttm_watch_failure *failure);

/* Makes it anew if somebody removed it. */
void ttm_home_look(struct ttm_watch *watch);

/* -- directories.c ------------------------------------------------------------ */

/* Looks at all directories under the base: new ones, freed ones, gone ones. */
void ttm_directories_look(struct ttm_watch *watch);

/* One name, which may have appeared under the base just now. */
void ttm_directories_consider(struct ttm_watch *watch, const char *name);

/* NULL: none. */
struct ttm_watched *ttm_directories_by_name(
	struct ttm_watch *watch, const char *name);
struct ttm_watched *ttm_directories_by_watch(
	struct ttm_watch *watch, int inotify_watch);

/* -- segments.c --------------------------------------------------------------- */

/* Reads a served directory: segments, markers, the count of lost ones. */
void ttm_segments_look(struct ttm_watch *watch, struct ttm_watched *watched);

/* One name, which may have appeared in it just now. */
void ttm_segments_consider(
	struct ttm_watch *watch, struct ttm_watched *watched, const char *name);

/* -- markers.c ---------------------------------------------------------------- */

/* Strictly as the library names them; false: it is none. */
bool ttm_marker_parse(const char *name, struct ttm_marker *ret_marker);

/* Between the two, names are offered; end replaces the registry's. */
void ttm_markers_begin(struct ttm_watch *watch);
void ttm_markers_offer(struct ttm_watch *watch, struct ttm_directory *directory,
	const char *name);
/* Those of a directory that is not read this time. */
void ttm_markers_keep(
	struct ttm_watch *watch, const struct ttm_directory *directory);
void ttm_markers_end(struct ttm_watch *watch);

/* -- notice.c ----------------------------------------------------------------- */

void ttm_notice_open(struct ttm_watch *watch);
void ttm_notice_close(struct ttm_watch *watch);

/* Hears of new names in it from now on, if that can be had. */
void ttm_notice_add(struct ttm_watch *watch, struct ttm_directory *directory);
void ttm_notice_remove(
	struct ttm_watch *watch, struct ttm_directory *directory);

/* After all directories were looked at: what could not be had is tried again. */
void ttm_notice_round(struct ttm_watch *watch);

/* What was heard. Hears no more before inotify_after_ns, when it is rearmed. */
void ttm_notice_read(struct ttm_watch *watch);
void ttm_notice_rearm(struct ttm_watch *watch);

/* -- owner.c ------------------------------------------------------------------ */

/* The process of the pidfd holds the lock: it is published if that is proof. */
void ttm_owner_locks(struct ttm_watch *watch, struct ttm_attached *attached);

/* The process of the pidfd has the segment mapped: it is published. */
void ttm_owner_maps(struct ttm_watch *watch, struct ttm_attached *attached);

/* No process is published for the segment from now on. */
void ttm_owner_forget(struct ttm_watch *watch, struct ttm_attached *attached);

/* -- liveness.c --------------------------------------------------------------- */

/* Whether it lives, as of now; also takes a pidfd if it has none. */
void ttm_liveness_check(struct ttm_watch *watch, struct ttm_attached *attached);

/* Also of a zombie; not of a leader that ended before its threads. */
bool ttm_pidfd_has_ended(int pidfd);

/* All of them, and how many there are in each directory. */
void ttm_liveness_look(struct ttm_watch *watch);

/* A pidfd is readable. */
void ttm_liveness_ended(struct ttm_watch *watch, uint64_t inode);

/* Those that were still exiting; returns when to call again, 0: need not be. */
uint64_t ttm_liveness_again(struct ttm_watch *watch, uint64_t now_ns);

#endif

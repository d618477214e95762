/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ttmem, the reading side: the rows of a snapshot, and the names of the values in
 * them. Part of <ttmem/reader.h>, which says how to come by one.
 */
#ifndef TTMEM_ROWS_H
#define TTMEM_ROWS_H

#include <stdint.h>

#include <ttmem/api.h>
#include <ttmem/ttmem.h>

TTMEM_BEGIN

/* No row: in fields that are an index into another array of the snapshot. */
#define TTMEM_NONE UINT64_MAX
#define TTMEM_HEADROOM_UNKNOWN INT64_MIN
#define TTMEM_TEMPERATURE_UNKNOWN INT64_MIN

/* -- values and their names ------------------------------------------------- */

/* Where figures come from, and what they are worth. */
enum ttmem_source {
	TTMEM_SOURCE_OK = 0,
	TTMEM_SOURCE_NO_BASE = 1,       /* no base directory, or not tmpfs */
	TTMEM_SOURCE_NO_PERMISSION = 2, /* there is one that we may not read */
	TTMEM_SOURCE_NEVER_STARTED = 3, /* no aggregate anywhere */
	TTMEM_SOURCE_DEAD = 4,  /* nobody writes it any more: old figures */
	TTMEM_SOURCE_STALE = 5, /* ttmemd is there but does not move */
	TTMEM_SOURCE_NOT_SERVING = 6, /* not our directory: others' figures */
	TTMEM_SOURCE_VERSION = 7,     /* of a ttmemd of another version */
	TTMEM_SOURCE_BROKEN = 8       /* not to be understood */
};

enum ttmem_mode {
	TTMEM_MODE_USER = 1,  /* one user's ttmemd */
	TTMEM_MODE_SYSTEM = 2 /* root's, for everybody */
};

enum ttmem_directory_state {
	TTMEM_DIRECTORY_SERVED = 1,
	TTMEM_DIRECTORY_HELD = 2,   /* by another ttmemd */
	TTMEM_DIRECTORY_REFUSED = 3 /* for the reason `error` */
};

enum ttmem_identity {
	TTMEM_IDENTITY_CHIP = 1,
	TTMEM_IDENTITY_PCI = 2,
	TTMEM_IDENTITY_LOGICAL = 3 /* unidentified: merged by logical id */
};

enum ttmem_process_state {
	TTMEM_PROCESS_REPORTING = 1,
	TTMEM_PROCESS_ENDED = 2,   /* stopped tracking, and still runs */
	TTMEM_PROCESS_UNKNOWN = 3, /* whether it lives cannot be told */
	TTMEM_PROCESS_EXITED = 4,  /* gone, after a clean end */
	TTMEM_PROCESS_DIED = 5,    /* gone: killed, or ended inside a hook */
	TTMEM_PROCESS_SILENT = 6   /* reporting, but not for 10 s */
};

enum ttmem_class {
	TTMEM_CLASS_LIVE = 1,      /* its owner runs */
	TTMEM_CLASS_ORPHANED = 2,  /* its owner is gone or closed a device */
	TTMEM_CLASS_PERSISTENT = 3 /* marked so: may outlive its owner */
};

enum ttmem_distribution {
	TTMEM_DISTRIBUTION_BYTES = 0,      /* of an allocation */
	TTMEM_DISTRIBUTION_LIFETIME_NS = 1 /* of an object that was freed */
};

/* Where the capacities of a device come from. */
enum ttmem_capacity {
	TTMEM_CAPACITY_TOLD = 1, /* by the processes that opened it */
	TTMEM_CAPACITY_BOARD =
		2 /* some by none: boards of that name have them */
};

/* What is read about a device of the driver, each with its age and error. */
enum ttmem_reading {
	TTMEM_READING_CHIP_ID = 0,
	TTMEM_READING_PCI_ADDRESS = 1,
	TTMEM_READING_ARCH = 2,
	TTMEM_READING_CARD_TYPE = 3,
	TTMEM_READING_SERIAL = 4,
	TTMEM_READING_FIRMWARE = 5,
	TTMEM_READING_SENSOR = 6,
	TTMEM_READING_AICLK = 7,
	TTMEM_READING_AXICLK = 8,
	TTMEM_READING_ARCCLK = 9,
	TTMEM_READING_HEARTBEAT = 10,
	TTMEM_READING_THERM_TRIPS = 11,
	TTMEM_READING_TEMPERATURE = 12,
	TTMEM_READING_TEMPERATURE_MAX = 13,
	TTMEM_READING_POWER = 14,
	TTMEM_READING_POWER_MAX = 15,
	TTMEM_READING_CURRENT = 16,
	TTMEM_READING_VOLTAGE = 17,
	TTMEM_READING_FAN = 18,
	TTMEM_READING_HOLDERS = 19
};

/* The sets of values that have names. */
enum ttmem_names {
	TTMEM_NAMES_FIGURE = 0,        /* enum ttmem_figure */
	TTMEM_NAMES_KERNEL = 1,        /* enum ttmem_kernel_type */
	TTMEM_NAMES_ANOMALY = 2,       /* enum ttmem_anomaly */
	TTMEM_NAMES_LOSS = 3,          /* enum ttmem_loss */
	TTMEM_NAMES_SOURCE = 4,        /* enum ttmem_source */
	TTMEM_NAMES_MODE = 5,          /* enum ttmem_mode */
	TTMEM_NAMES_DIRECTORY = 6,     /* enum ttmem_directory_state */
	TTMEM_NAMES_IDENTITY = 7,      /* enum ttmem_identity */
	TTMEM_NAMES_PROCESS = 8,       /* enum ttmem_process_state */
	TTMEM_NAMES_CLASS = 9,         /* enum ttmem_class */
	TTMEM_NAMES_DISTRIBUTION = 10, /* enum ttmem_distribution */
	TTMEM_NAMES_CAPACITY = 11,     /* enum ttmem_capacity */
	TTMEM_NAMES_READING = 12,      /* enum ttmem_reading */
	TTMEM_NAMES_SETS = 13,
	TTMEM_NAMES_FORCE_32BIT = 0x7fffffff
};

/*
 * The official name of a value, as in every output, flag and file: "dram", "l1",
 * "kernel_fabric", ... Static. NULL for a value or set that has none. Any thread.
 */
TTMEM_API const char *ttmem_name(enum ttmem_names set, uint64_t value);

/*
 * The value that a name stands for. Returns 0, -EINVAL (no such set), or -ENOENT
 * (no such name in it).
 */
TTMEM_API int ttmem_name_parse(
	enum ttmem_names set, const char *name, uint64_t *ret_value);

/* -- rows ------------------------------------------------------------------- */

/*
 * All are plain: numbers are uint64_t, TTMEM_UNKNOWN where not known, never 0
 * instead. Flags are 0, 1 or unknown. Texts are valid UTF-8 (what was not is
 * U+FFFD), may hold control characters, and are NULL where not known. Times are
 * CLOCK_MONOTONIC in ns of the machine that ttmemd ran on. A field that says
 * "index" is one into the snapshot's array of that name, or TTMEM_NONE.
 *
 * The library may append fields: use rows through the pointers it gives.
 */

#define TTMEM_REASONS 16
#define TTMEM_KERNEL_TYPES 3
#define TTMEM_KINDS 5
#define TTMEM_FAILURE_KINDS 6 /* enum ttmem_figure, up to the CBs */
#define TTMEM_READINGS 24

struct ttmem_info_row {
	uint64_t source; /* enum ttmem_source, when the snapshot was taken */
	int64_t error;   /* negative errno behind it, or 0 */
	uint64_t publication;  /* grows by one, over restarts of ttmemd, too */
	uint64_t monotonic_ns; /* of the figures */
	uint64_t realtime_ns;  /* the wall clock at that moment */
	uint64_t taken_ns;     /* when the snapshot was taken */
	uint64_t age_ns; /* then: how long ago the figures were known to hold */
	uint64_t mode;   /* enum ttmem_mode */
	uint64_t pid;    /* of ttmemd, in its own pid namespace */
	uint64_t uid;
	uint64_t started_ns;     /* ttmemd */
	uint64_t objects_used;   /* how many there are, listed or not */
	uint64_t objects_listed; /* flags: what the snapshot was taken with */
	uint64_t histories_listed;
	uint64_t distributions_listed;
	/* 1: the objects are of one moment, that of the figures. 0: each is
	 * right by itself, but they may not add up to the totals. Unknown: not
	 * listed. */
	uint64_t objects_consistent;
	uint8_t uuid[16]; /* of the aggregate file */
	uint8_t boot_id[16];
	const char *version; /* of ttmemd */
	const char *path;    /* of the aggregate file */
};

/* How ttmemd itself is doing. */
struct ttmem_health_row {
	uint64_t rounds;
	uint64_t events;     /* records read since ttmemd started */
	uint64_t missed;     /* records that ttmemd did not read */
	uint64_t scans;      /* times a process's objects were read anew */
	uint64_t publish_ns; /* of the last publication */
	uint64_t publish_max_ns;
	uint64_t round_ns; /* of the last round that found something */
	uint64_t round_max_ns;
	uint64_t attached; /* processes */
	uint64_t mirror_bytes;
	uint64_t refused;     /* files that are no segments of their owner */
	uint64_t over_limit;  /* segments beyond the limits of ttmemd */
	uint64_t open_errors; /* segments that could not be opened or read */
	uint64_t retire_errors;
	uint64_t publish_errors;
	uint64_t memory_errors;
	uint64_t inotify; /* flag: 0 means scanning only */
	uint64_t restarts;
	uint64_t started_ns;
	/* Left out of this snapshot: ttmemd has no room for a larger file. */
	uint64_t rows_unlisted;
	uint64_t objects_unlisted;
};

struct ttmem_directory_row {
	uint64_t state;  /* enum ttmem_directory_state */
	uint64_t own;    /* flag: it is the reader's */
	uint64_t device; /* st_dev, st_ino */
	uint64_t inode;
	uint64_t uid;
	uint64_t holder;   /* pid that holds its lock */
	uint64_t error;    /* errno behind REFUSED, or 0 */
	uint64_t attached; /* processes */
	uint64_t retired;
	/* Removed before anybody read it: leaks that nobody can list. */
	uint64_t lost_segments;
	uint64_t lost_objects;
	uint64_t lost_bytes;
	uint64_t lost_markers;
	/* Of retired processes, dropped for room. */
	uint64_t dropped_processes;
	uint64_t dropped_objects;
	uint64_t dropped_bytes;
	const char *path;
};

/*
 * Of one kind. Bytes are used bytes: what the allocator reserved. Orphaned bytes are in
 * no live ones.
 */
struct ttmem_sums {
	uint64_t live_bytes;
	uint64_t live_objects;
	uint64_t orphaned_bytes;
	uint64_t orphaned_objects;
	uint64_t peak_bytes;
	uint64_t alloc_objects;
	uint64_t alloc_bytes;
	uint64_t free_objects;
	uint64_t free_bytes;
	uint64_t requested_bytes; /* live buffers; other kinds: live_bytes */
};

/* A chip, whatever its processes call it. */
struct ttmem_device_row {
	uint64_t identity; /* enum ttmem_identity: how it is known */
	uint64_t chip_id;
	uint64_t pci_address; /* TTMEM_PCI_ADDRESS() */
	uint64_t logical;     /* lowest logical id it goes by */
	const char *arch;
	const char *board;
	uint64_t dram_bytes; /* capacities */
	uint64_t l1_bytes;   /* per core x cores */
	uint64_t l1_bytes_per_core;
	uint64_t cores;
	uint64_t l1_small_bytes; /* size of the region, per core */
	uint64_t trace_bytes;    /* size of the region */
	uint64_t l1_base;
	uint64_t l1_top;
	uint64_t dram_banks;
	uint64_t dram_bank_bytes; /* allocatable, of each bank */
	uint64_t dram_base;       /* first allocatable address of a bank */
	uint64_t l1_banks;
	uint64_t gateway;       /* remote chip: chip_id of its gateway */
	uint64_t dram_use;      /* dram + trace */
	uint64_t l1_use;        /* l1 + l1_small + CB footprint + kernels */
	uint64_t l1_tensix_use; /* the same without fabric kernels */
	uint64_t dram_peak;     /* sampled by ttmemd, as are those in figures */
	uint64_t l1_tensix_peak;
	uint64_t cb_footprint;
	uint64_t cb_footprint_exact; /* flag; 0: a lower bound */
	int64_t headroom;       /* TTMEM_HEADROOM_UNKNOWN; negative: a clash */
	uint64_t clash_process; /* index: whose headroom it is */
	uint64_t clash_program;
	uint64_t processes; /* running ones that use it */
	uint64_t events_per_s;
	uint64_t alloc_bytes_per_s;
	uint64_t free_bytes_per_s;
	uint64_t dispatches[TTMEM_KERNEL_TYPES];
	uint64_t failures[TTMEM_FAILURE_KINDS];
	uint64_t ring_bytes[TTMEM_KERNEL_TYPES]; /* not in l1_use */
	struct ttmem_sums figures[TTMEM_FIGURES];
	uint64_t
		capacity_source; /* enum ttmem_capacity; unknown: there is none */
};

struct ttmem_process_row {
	uint64_t state; /* enum ttmem_process_state */
	uint8_t uuid[16];
	uint8_t run_id[16]; /* TTMEM_RUN_ID, zero-padded; zeros: none */
	uint64_t directory; /* index */
	/*
	 * In its own pid namespace. Unknown while it runs if ttmemd cannot confirm
	 * which process has the segment; of an ended one it is what the program
	 * said of itself.
	 */
	uint64_t pid;
	uint64_t uid;
	uint64_t pid_namespace;
	uint64_t start_time; /* /proc/PID/stat field 22 */
	uint64_t started_ns;
	uint64_t last_event_ns; /* as seen by ttmemd */
	uint64_t retired_ns;
	uint64_t events;
	uint64_t events_per_s;
	uint64_t missed;    /* records that ttmemd did not read */
	uint64_t in_flight; /* operations that death left half done */
	uint64_t lanes;
	uint64_t objects;  /* of it in the list of objects */
	uint64_t unlisted; /* survivors beyond what is kept of it */
	uint64_t anomalies[TTMEM_REASONS];   /* by enum ttmem_anomaly */
	uint64_t lost_events[TTMEM_REASONS]; /* by enum ttmem_loss */
	uint64_t lost_bytes[TTMEM_REASONS];
	uint64_t
		acknowledged; /* flag: what it left was told for the last time */
	const char *comm;
	const char *cgroup;
	const char *const *cmdline; /* cmdline_len arguments */
	uint64_t cmdline_len;
};

/* A process's part of a device. */
struct ttmem_share_row {
	uint64_t process; /* index */
	uint64_t device;  /* index */
	uint64_t entry;   /* number of the device within the process */
	uint64_t logical; /* what the process calls it */
	uint64_t open;    /* flag */
	uint64_t epoch;   /* number of its last close, 0: none */
	uint64_t opened_ns;
	uint64_t closed_ns;
	uint64_t cb_footprint;
	uint64_t cb_footprint_exact; /* flag; 0: a lower bound */
	int64_t headroom;
	uint64_t clash_program;
	uint64_t dispatches[TTMEM_KERNEL_TYPES];
	uint64_t failures[TTMEM_FAILURE_KINDS];
	uint64_t ring_bytes[TTMEM_KERNEL_TYPES];
	struct ttmem_sums figures[TTMEM_FIGURES];
};

/*
 * A set of devices that a process has objects on. Entry n of both arrays is about the
 * same device; TTMEM_NONE: it is not listed.
 */
struct ttmem_place_row {
	uint64_t process;        /* index */
	const char *label;       /* as the tools name them: "0-31", "0,2-3" */
	const uint64_t *devices; /* devices_len indexes */
	uint64_t devices_len;
	const uint64_t *usages; /* usages_len indexes into the shares */
	uint64_t usages_len;
};

/*
 * A buffer, CB or kernel, on however many devices. The parts of it on single devices
 * are alike; some of them may be orphaned.
 */
struct ttmem_object_row {
	uint64_t process;          /* index */
	uint64_t place;            /* index: all devices that it is on */
	uint64_t live_place;       /* index: those where it is not orphaned */
	uint64_t orphaned_place;   /* index: those where it is */
	uint64_t devices;          /* how many it is on */
	uint64_t orphaned_devices; /* on how many of them it is orphaned */
	uint64_t figure;           /* enum ttmem_figure */
	/* enum ttmem_class; orphaned: on one device at least. Unknown while it is not
	 * known whether a part is orphaned. */
	uint64_t leak_class;
	uint64_t orphaned;   /* flag: on all its devices, whatever the class */
	uint64_t persistent; /* flag */
	uint64_t borrowed;   /* flag: a CB that takes no bytes of its own */
	uint64_t in_ring;    /* flag: a kernel in the reserved ring */
	uint64_t dataflow;   /* flag: a CB that is a dataflow buffer */
	uint64_t scratchpad; /* flag: a CB that is a scratchpad */
	uint64_t trace_storage; /* flag: a buffer that holds a trace */
	uint64_t per_core;    /* flag: a buffer whose address differs by core */
	uint64_t bytes;       /* used on each device */
	uint64_t total_bytes; /* used on all its devices */
	uint64_t requested;   /* on each device; no buffer: as bytes */
	uint64_t size;  /* of a buffer; CB: per core; kernel: of the binary */
	uint64_t banks; /* buffer: on which it is reserved */
	uint64_t bytes_per_bank;
	uint64_t cores;
	uint64_t id;
	uint64_t address;
	uint64_t program; /* CB, kernel */
	uint64_t allocated_ns;
	uint64_t age_ns;        /* when the snapshot was taken */
	uint64_t stack;         /* 0: none */
	const char *scope;      /* NULL: none. Equal texts may lie apart */
	const char *scope_path; /* with those around it: "outer > inner" */
};

struct ttmem_mark_row {
	uint64_t process; /* index */
	uint64_t number;
	uint64_t time_ns;
	uint64_t tid;
	const char *text;
};

/* An allocation that did not succeed, as its allocator knew it. */
struct ttmem_failure_row {
	uint64_t process; /* index */
	uint64_t place;   /* index: the devices that it was for */
	uint64_t number;
	uint64_t figure; /* enum ttmem_figure */
	uint64_t bytes;  /* requested on each device */
	uint64_t bytes_per_bank;
	uint64_t free_per_bank;
	uint64_t largest_free_per_bank;
	uint64_t program;
	uint64_t time_ns;
	uint64_t tid;
	const char *scope;
	const char *scope_path;
};

/* A file that looked like a segment and was not to be understood. */
struct ttmem_quarantined_row {
	uint64_t directory; /* index */
	uint64_t time_ns;
	uint64_t uid;
	uint64_t pid;
	const char *name;
	const char *reason;
};

/* A process that asked to be tracked and could not be. */
struct ttmem_untracked_row {
	uint64_t directory; /* index */
	uint64_t pid;
	uint64_t error; /* errno */
	uint64_t start_time;
	uint8_t run_id[16];
	uint64_t alive; /* flag */
};

/*
 * A device of the driver, read without opening it. A value is unknown, a text NULL,
 * while it could not be read: `errors` says why. A read may block for long: then
 * values stay what they were, and `ages_ns` says how old they are.
 */
struct ttmem_telemetry_row {
	uint64_t device; /* index */
	uint64_t number; /* N of /dev/tenstorrent/N; changes over resets */
	uint64_t chip_id;
	uint64_t pci_address; /* TTMEM_PCI_ADDRESS() */
	const char *arch;
	const char *card_type;
	const char *serial;
	const char *firmware;
	const char *sensor; /* name of the hwmon device */
	uint64_t aiclk_mhz;
	uint64_t axiclk_mhz;
	uint64_t arcclk_mhz;
	uint64_t heartbeat;
	uint64_t heartbeat_ns; /* when it was seen to move */
	uint64_t therm_trips;
	int64_t temperature_mc; /* thousandths of a degree Celsius; unknown:
				 * TTMEM_TEMPERATURE_UNKNOWN */
	int64_t temperature_max_mc;
	uint64_t power_uw;
	uint64_t power_max_uw;
	uint64_t current_ma;
	uint64_t voltage_mv;
	uint64_t fan_rpm;
	uint64_t holders;          /* processes that have it open */
	uint64_t holders_hidden;   /* open files of processes not seen */
	uint64_t holders_unlisted; /* holders beyond what is listed */
	uint64_t rounds;           /* times that all of it was read */
	uint64_t busy_ns;          /* since then a read has not returned */
	uint64_t times_ns[TTMEM_READINGS]; /* of the last success */
	uint64_t ages_ns[TTMEM_READINGS];  /* at the moment of the figures */
	uint64_t errors[TTMEM_READINGS];   /* errno of the last try, or 0 */
};

/* A process that has a device open, whether it reports or not. */
struct ttmem_holder_row {
	uint64_t telemetry; /* index */
	uint64_t device;    /* index */
	uint64_t process;   /* index: the same one, if it reports */
	uint64_t reporting; /* flag */
	uint64_t pid;       /* in ttmemd's pid namespace */
	uint64_t uid;
	uint64_t start_time;
	uint64_t seen_ns; /* for the first time */
	const char *comm;
	const char *const *cmdline; /* cmdline_len arguments */
	uint64_t cmdline_len;
};

/* Bytes at one moment, and the most within the interval that it ends. */
struct ttmem_point {
	uint64_t time_ns;
	uint64_t dram_use;
	uint64_t l1_use;
	uint64_t dram_use_max;
	uint64_t l1_use_max;
	uint64_t events;
	uint64_t processes;
	uint64_t live_bytes[TTMEM_FIGURES];
};

struct ttmem_history_row {
	uint64_t device; /* index */
	uint64_t interval_ns;
	const struct ttmem_point *points; /* oldest first */
	uint64_t points_len;
};

struct ttmem_distribution_row {
	uint64_t device; /* index */
	uint64_t figure; /* enum ttmem_figure */
	uint64_t kind;   /* enum ttmem_distribution */
	uint64_t total;  /* how many; the rest is unknown while it is 0 */
	uint64_t min;
	uint64_t max;
	uint64_t mean;
	uint64_t p50;
	uint64_t p90;
	uint64_t p99;
	uint64_t p999;
};

TTMEM_END

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The aggregate segment, byte by byte: what ttmemd publishes and readers read.
 * docs/aggregate.md draws it; a byte that moves changes TTM_AGGREGATE_VERSION,
 * the asserts below and that page in one commit.
 *
 *   header        constant part, live part
 *   copy 0, 1     everything small: a directory of tables, then the tables
 *   objects       one row per object, live or left behind; not copied
 *
 * Little-endian, fixed width, no pointers. Readers go by the offset, stride and
 * count that each table tells: an older reader ignores tables it does not know
 * and the ends of rows that grew, so fields are only ever added at the end.
 *
 * A row of a table starts with `self`: its reference, serial << 32 | index, or 0
 * while unused. Rows refer to each other by it; a reference whose row has another
 * `self` by now points nowhere. A row keeps its place while it is in use.
 *
 * Times are CLOCK_MONOTONIC in ns; 0 is never, or unknown. A copy says what the
 * wall clock was at its own time. TTMEM_UNKNOWN (all ones) is unknown in figures.
 */
#ifndef TTM_SHM_AGGREGATE_H
#define TTM_SHM_AGGREGATE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <ttmem/ttmem.h>

#include "shm/layout.h"

#define TTM_AGGREGATE_MAGIC 0x4747414d454d5454ull /* "TTMEMAGG" */
#define TTM_AGGREGATE_VERSION 3u
#define TTM_AGGREGATE_FILE "aggregate"

#define TTM_AGGREGATE_HEADER_SIZE 4096u
#define TTM_AGGREGATE_PATH_SIZE 256u
#define TTM_TABLES_MAX 32u
#define TTM_ROWS_MAX (1u << 26)    /* of a table, for readers' checks */
#define TTM_OBJECTS_MAX (1u << 28) /* rows */

/* -- header ------------------------------------------------------------------ */

enum ttm_aggregate_mode {
	TTM_MODE_USER = 1,   /* serves the directories of one user */
	TTM_MODE_SYSTEM = 2, /* root's: serves everybody's */
};

/* Never changes once the file has its name; sealed by `checksum`. */
struct ttm_aggregate_const {
	uint64_t magic;
	uint32_t version;
	uint32_t header_size;
	uint64_t signature;
	uint8_t uuid
		[16]; /* of this file: another one after growth or restart */
	uint8_t boot_id[16];
	uint32_t pid; /* of ttmemd, in its own pid namespace */
	uint32_t uid;
	uint64_t pid_namespace;
	uint64_t start_time; /* /proc/self/stat field 22 of ttmemd */
	uint64_t mode;       /* enum ttm_aggregate_mode */
	uint64_t started_ns; /* ttmemd */
	uint64_t created_ns; /* this file */
	uint64_t file_size;
	uint64_t copy_off[2];
	uint64_t copy_size;
	uint64_t objects_off;
	uint64_t objects_capacity;
	uint64_t object_stride;
	char version_text[32]; /* of ttmemd */
	uint8_t reserved[0x7f8 - 0xc0];
	uint64_t checksum; /* FNV-1a, 64 bits, of all bytes before it */
};

/*
 * Stored by ttmemd's publish alone.
 *
 * word         loaded by   promises
 * heartbeat    readers     grows at least every second while ttmemd lives and what
 *                          the file says is current
 * active       readers     the copy that was completed last: 0 or 1
 * superseded   readers     not 0: a new file has this one's name
 * objects_seq  readers     odd: object rows are being changed
 */
struct ttm_aggregate_live {
	uint64_t heartbeat_ns;
	uint64_t active;
	uint64_t superseded;
	uint64_t objects_seq;
	uint64_t reserved[0x800 / 8 - 4];
};

struct ttm_aggregate_header {
	struct ttm_aggregate_const sealed;
	struct ttm_aggregate_live live;
};

/* -- copies ------------------------------------------------------------------ */

enum ttm_table_id {
	TTM_TABLE_HEALTH = 1, /* one row */
	TTM_TABLE_DIRECTORIES = 2,
	TTM_TABLE_DEVICES = 3,
	TTM_TABLE_PROCESSES = 4,
	TTM_TABLE_SHARES = 5, /* a process's part of a device */
	TTM_TABLE_NAMES = 6,
	TTM_TABLE_MARKS = 7,
	TTM_TABLE_FAILURES = 8,
	TTM_TABLE_QUARANTINE = 9,
	TTM_TABLE_UNTRACKED = 10,
	TTM_TABLE_HISTORY_1S = 11,
	TTM_TABLE_HISTORY_10S = 12,
	TTM_TABLE_HISTORY_1M = 13,
	TTM_TABLE_DISTRIBUTIONS = 14,
	TTM_TABLE_TELEMETRY = 15, /* a device of the driver */
	TTM_TABLE_HOLDERS = 16,   /* a process that has one open */
	TTM_TABLES = 17,          /* one more than the last */
};

struct ttm_table {
	uint32_t id;       /* enum ttm_table_id, 0: no table */
	uint32_t stride;   /* bytes from row to row */
	uint64_t off;      /* of row 0, from the start of the copy */
	uint64_t len;      /* rows from here on are unused */
	uint64_t capacity; /* rows that fit in this file */
};

/*
 * seq is odd while the copy is written. begin: seq += (seq & 1) ? 2 : 1, end: +1,
 * then active = this copy. A reader accepts a copy whose seq was even and the
 * same before and after, and that was active before and after.
 */
struct ttm_copy {
	uint64_t seq;
	uint64_t publication;  /* grows by one, over restarts, too */
	uint64_t objects_seq;  /* of the object rows that belong to this copy */
	uint64_t objects_len;  /* object rows from here on are unused */
	uint64_t objects_used; /* rows in use */
	uint64_t monotonic_ns;
	uint64_t realtime_ns; /* at the same moment */
	struct ttm_table tables[TTM_TABLES_MAX];
};

/* -- rows -------------------------------------------------------------------- */

#define TTM_REF(serial, index) ((uint64_t)(serial) << 32 | (uint32_t)(index))
#define TTM_REF_INDEX(ref) ((uint32_t)(ref))
#define TTM_HEADROOM_UNKNOWN INT64_MIN
#define TTM_TEMPERATURE_UNKNOWN INT64_MIN

struct ttm_health_row {
	uint64_t self;
	uint64_t rounds;     /* drain rounds */
	uint64_t events;     /* records drained since ttmemd started */
	uint64_t missed;     /* records that it did not read */
	uint64_t scans;      /* times the slots of a process were read anew */
	uint64_t publish_ns; /* processor time of the last publication */
	uint64_t publish_max_ns; /* the longest one */
	uint64_t round_ns;       /* of the last round that found something */
	uint64_t round_max_ns;
	uint64_t attached;       /* processes */
	uint64_t mirror_bytes;   /* private memory of the mirrors */
	uint64_t refused;        /* files that are no segments of their owner */
	uint64_t over_limit;     /* segments beyond --max-processes */
	uint64_t open_errors;    /* segments that could not be opened or read */
	uint64_t retire_errors;  /* retirements that could not be written */
	uint64_t publish_errors; /* publications that could not be made */
	uint64_t memory_errors;  /* allocations of ttmemd that failed */
	uint64_t inotify;        /* 1 when it works, 0: scanning only */
	uint64_t restarts; /* times somebody took over from this aggregate */
	uint64_t started_ns;
	/* There is no room for a file that they would fit into. */
	uint64_t rows_unlisted; /* of all tables */
	uint64_t objects_unlisted;
};

enum ttm_directory_state {
	TTM_DIRECTORY_SERVED = 1,
	TTM_DIRECTORY_HELD = 2,    /* by another ttmemd */
	TTM_DIRECTORY_REFUSED = 3, /* for the reason `error` */
};

struct ttm_directory_row {
	uint64_t self;
	uint64_t state;  /* enum ttm_directory_state */
	uint64_t device; /* st_dev and st_ino: how a reader finds its own */
	uint64_t inode;
	uint32_t uid;
	uint32_t holder; /* pid that holds the lock, 0 unknown */
	uint64_t error;  /* errno */
	uint64_t attached;
	uint64_t retired; /* processes in its file of retired ones */
	/* What was removed before anybody read it: the file `lost`. */
	uint64_t lost_segments;
	uint64_t lost_objects;
	uint64_t lost_bytes;
	uint64_t lost_markers;
	/* Retired processes that were dropped, oldest first, for room. */
	uint64_t dropped_processes;
	uint64_t dropped_objects;
	uint64_t dropped_bytes;
	char path[TTM_AGGREGATE_PATH_SIZE];
};

enum ttm_identity {
	TTM_IDENTITY_CHIP = 1,
	TTM_IDENTITY_PCI = 2,
	TTM_IDENTITY_LOGICAL = 3, /* unidentified: merged by logical id */
};

/* Bytes and objects of a figure, as slots and counters have them. */
struct ttm_sums {
	uint64_t live_bytes;
	uint64_t live_objects;
	uint64_t orphaned_bytes;
	uint64_t orphaned_objects;
	uint64_t peak_bytes;
	uint64_t alloc_objects;
	uint64_t alloc_bytes;
	uint64_t free_objects;
	uint64_t free_bytes;
	uint64_t requested_bytes; /* of live buffers; others: as live_bytes */
};

struct ttm_device_row {
	uint64_t self;
	uint64_t identity; /* enum ttm_identity */
	struct ttm_device_facts facts;
	uint64_t logical;   /* lowest logical id it goes by, unknown: none */
	uint64_t processes; /* running ones that have it open or hold objects */
	uint64_t events_per_s;
	uint64_t dispatches[3];
	uint64_t failures[6];   /* by figure, up to the CBs */
	uint64_t ring_bytes[3]; /* kernels in the reserved ring, by type */
	uint64_t cb_footprint;
	uint64_t
		cb_footprint_exact; /* 0: a lower bound, some core sets are unknown */
	int64_t headroom;           /* lowest of its processes */
	uint64_t dram_use;          /* dram + trace */
	uint64_t l1_use;            /* l1 + l1_small + footprint + kernels */
	uint64_t l1_tensix_use; /* the same without fabric kernels */
	uint64_t dram_peak;     /* sampled, as are the peaks in figures */
	uint64_t l1_tensix_peak;
	uint64_t clash_process; /* whose headroom it is: reference */
	uint64_t clash_program;
	uint64_t alloc_bytes_per_s;
	uint64_t free_bytes_per_s;
	struct ttm_sums figures[TTMEM_FIGURES];
	/* Bits of facts.known: nobody told these, a board of that name has them. */
	uint64_t by_board;
};

enum ttm_process_state {
	TTM_PROCESS_REPORTING = 1,
	TTM_PROCESS_ENDED = 2,   /* stopped tracking, and still runs */
	TTM_PROCESS_UNKNOWN = 3, /* whether it lives cannot be told */
	TTM_PROCESS_EXITED = 4,  /* retired, after a clean end */
	TTM_PROCESS_DIED = 5,    /* retired: killed, or ended inside a hook */
};

struct ttm_process_row {
	uint64_t self;
	uint64_t state; /* enum ttm_process_state */
	uint8_t uuid[16];
	uint8_t run_id[16];
	uint64_t directory; /* reference */
	uint32_t pid;       /* in its own pid namespace, 0: not confirmed */
	uint32_t uid;       /* owner of the directory */
	uint64_t pid_namespace;
	uint64_t start_time;
	uint64_t started_ns;
	uint64_t last_event_ns; /* as seen by ttmemd */
	uint64_t retired_ns;
	uint64_t events; /* records written, drained or missed */
	uint64_t events_per_s;
	uint64_t missed;    /* records that this ttmemd did not read */
	uint64_t in_flight; /* operations that death left half done */
	uint64_t lanes;
	uint64_t objects;  /* rows of it in the object table */
	uint64_t unlisted; /* survivors beyond what is kept of a retired one */
	uint64_t
		closes; /* complete device closes: see ttm_stamp_is_orphaned() */
	uint64_t anomalies[TTM_REASONS_MAX];
	uint64_t lost_events[TTM_REASONS_MAX];
	uint64_t lost_bytes[TTM_REASONS_MAX];
	char comm[16];
	char cmdline[512]; /* NUL between arguments; zeros in system mode */
	char cgroup[256];
};

struct ttm_share_row {
	uint64_t self;
	uint64_t process; /* references */
	uint64_t device;
	uint32_t entry; /* in the process's segment */
	uint32_t logical;
	uint64_t open; /* 1: by ttmem_device_open(), not closed since */
	uint64_t
		epoch; /* number of its last close: see ttm_stamp_is_orphaned() */
	uint64_t opened_ns;
	uint64_t closed_ns;
	uint64_t dispatches[3];
	uint64_t failures[6]; /* by figure, up to the CBs */
	uint64_t ring_bytes[3];
	uint64_t cb_footprint;
	uint64_t cb_footprint_exact; /* as in a device */
	int64_t headroom;            /* TTM_HEADROOM_UNKNOWN: unknown */
	uint64_t clash_program;
	struct ttm_sums figures[TTMEM_FIGURES];
};

struct ttm_name_row {
	uint64_t self;
	uint64_t process;
	uint64_t id;     /* in the process's segment */
	uint64_t parent; /* id of the scope around it, 0: none */
	uint64_t length;
	char text[TTM_NAME_SIZE];
};

struct ttm_mark_row {
	uint64_t self;
	uint64_t process;
	uint64_t number;
	uint64_t time_ns;
	uint64_t tid;
	uint64_t length;
	char text[TTM_MARK_SIZE];
};

struct ttm_failure_row {
	uint64_t self;
	uint64_t process;
	uint64_t number;
	uint64_t members; /* the process's device entries, a bit for each */
	uint64_t figure;
	uint64_t bytes; /* all ones in this and the next: unknown */
	uint64_t bytes_per_bank;
	uint64_t free_per_bank;
	uint64_t largest_free_per_bank;
	uint64_t program;
	uint64_t time_ns;
	uint64_t scope; /* reference to a name, or 0 */
	uint64_t tid;
};

struct ttm_quarantine_row {
	uint64_t self;
	uint64_t directory;
	uint64_t time_ns;
	uint32_t uid;
	uint32_t pid; /* as the file's name has it */
	char name[64];
	char reason[128];
};

struct ttm_untracked_row {
	uint64_t self;
	uint64_t directory;
	uint32_t pid;
	uint32_t error; /* errno */
	uint64_t start_time;
	uint8_t run_id[16];
	uint64_t alive; /* 1 yes, 0 no, unknown */
};

/* Bytes at one moment, and the most within the interval that it ends. */
struct ttm_point {
	uint64_t time_ns;
	uint64_t dram_use;
	uint64_t l1_use;
	uint64_t dram_use_max;
	uint64_t l1_use_max;
	uint64_t events;
	uint64_t processes;
	uint64_t live_bytes[TTMEM_FIGURES];
};

#define TTM_HISTORY_1S 300u
#define TTM_HISTORY_10S 360u
#define TTM_HISTORY_1M 1440u

/* Point n is entry n % capacity; `capacity` is that of the row's table. */
struct ttm_history_row {
	uint64_t self;
	uint64_t device;
	uint64_t interval_ns;
	uint64_t capacity;
	uint64_t points_len; /* free-running count */
	uint64_t reserved[3];
	struct ttm_point points[]; /* `capacity` of them */
};

enum ttm_distribution_kind {
	TTM_DISTRIBUTION_BYTES = 0,       /* of an allocation */
	TTM_DISTRIBUTION_LIFETIME_NS = 1, /* of an object that was freed */
};

/* Of the records that this ttmemd read: a restart begins anew. */
struct ttm_distribution_row {
	uint64_t self;
	uint64_t device;
	uint64_t figure;
	uint64_t kind; /* enum ttm_distribution_kind */
	uint64_t total;
	uint64_t min;
	uint64_t max;
	uint64_t mean;
	uint64_t p50;
	uint64_t p90;
	uint64_t p99;
	uint64_t p999;
};

/* What is read about a device of the driver; each has its time and error. */
enum ttm_reading {
	TTM_READING_CHIP_ID = 0,
	TTM_READING_PCI_ADDRESS = 1,
	TTM_READING_ARCH = 2,
	TTM_READING_CARD_TYPE = 3,
	TTM_READING_SERIAL = 4,
	TTM_READING_FIRMWARE = 5,
	TTM_READING_SENSOR = 6,
	TTM_READING_AICLK = 7,
	TTM_READING_AXICLK = 8,
	TTM_READING_ARCCLK = 9,
	TTM_READING_HEARTBEAT = 10,
	TTM_READING_THERM_TRIPS = 11,
	TTM_READING_TEMPERATURE = 12,
	TTM_READING_TEMPERATURE_MAX = 13,
	TTM_READING_POWER = 14,
	TTM_READING_POWER_MAX = 15,
	TTM_READING_CURRENT = 16,
	TTM_READING_VOLTAGE = 17,
	TTM_READING_FAN = 18,
	TTM_READING_HOLDERS = 19,
};

#define TTM_READINGS_MAX 24u

/*
 * A device of the driver, as sysfs and procfs show it. A value is unknown (the
 * temperatures: TTM_TEMPERATURE_UNKNOWN, texts: empty) while it was not read or
 * could not be read at the last try: `errors` says why. While a read does not
 * return, values stay what they were: `times_ns` and `busy_ns` tell.
 */
struct ttm_telemetry_row {
	uint64_t self;
	uint64_t device; /* reference, 0: neither chip id nor PCI address */
	uint64_t number; /* N of tenstorrent!N */
	uint64_t chip_id;
	uint64_t pci_address;
	uint64_t aiclk_mhz;
	uint64_t axiclk_mhz;
	uint64_t arcclk_mhz;
	uint64_t heartbeat;
	uint64_t therm_trips;
	int64_t temperature_mc; /* thousandths of a degree Celsius */
	int64_t temperature_max_mc;
	uint64_t power_uw;
	uint64_t power_max_uw;
	uint64_t current_ma;
	uint64_t voltage_mv;
	uint64_t fan_rpm;
	uint64_t holders;          /* processes that have it open */
	uint64_t holders_hidden;   /* open files of processes not seen here */
	uint64_t holders_unlisted; /* holders beyond what is listed */
	uint64_t heartbeat_ns;     /* the heartbeat was seen to move */
	uint64_t rounds;           /* times that all of it was read */
	uint64_t busy_ns; /* a read has not returned since then, 0: none */
	uint64_t times_ns[TTM_READINGS_MAX]; /* of the last success, 0: never */
	uint64_t errors[TTM_READINGS_MAX];   /* errno of the last try, or 0 */
	char arch[16];
	char card_type[32];
	char serial[32];
	char firmware[32];
	char sensor[16]; /* name of the hwmon device */
};

/* A process that has a device open, whether it reports or not. */
struct ttm_holder_row {
	uint64_t self;
	uint64_t telemetry; /* references */
	uint64_t device;
	uint64_t process; /* that reports and is the same, or 0 */
	uint32_t pid;     /* in ttmemd's pid namespace */
	uint32_t uid;     /* real one, all ones: unknown */
	uint64_t start_time;
	uint64_t seen_ns;   /* for the first time */
	uint64_t reporting; /* 1: it is attached */
	char comm[16];
	char cmdline[256]; /* NUL between arguments; zeros in system mode */
};

/*
 * Of the object table: one row for an object, on however many devices. seq is odd while
 * the row is written; process 0: unused. Bit n of `members` stands for the usage row of
 * the process with the entry n. The row of a live object changes only when a part of it
 * is freed. Its part on a device is orphaned if ttm_stamp_is_orphaned() says so, or if
 * the process is retired.
 */
struct ttm_object_row {
	uint64_t seq;
	uint64_t process; /* reference */
	uint64_t members;
	uint64_t w1; /* as in a slot: stamp, figure, flags, slot number */
	uint64_t id;
	uint64_t address;
	uint64_t w4; /* as in a slot: size per core, or of the binary */
	uint64_t w5; /* as in a slot: program, or used bytes and banks */
	uint64_t allocated_ns;
	uint64_t scope; /* reference to a name, or 0 */
	uint64_t w7;    /* as in a slot: cores, core set, stack */
};

/* -- what the page docs/aggregate.md says ---------------------------------------- */

TTM_AT(ttm_aggregate_const, signature, 0x10);
TTM_AT(ttm_aggregate_const, uuid, 0x18);
TTM_AT(ttm_aggregate_const, boot_id, 0x28);
TTM_AT(ttm_aggregate_const, pid, 0x38);
TTM_AT(ttm_aggregate_const, pid_namespace, 0x40);
TTM_AT(ttm_aggregate_const, mode, 0x50);
TTM_AT(ttm_aggregate_const, file_size, 0x68);
TTM_AT(ttm_aggregate_const, copy_off, 0x70);
TTM_AT(ttm_aggregate_const, copy_size, 0x80);
TTM_AT(ttm_aggregate_const, objects_off, 0x88);
TTM_AT(ttm_aggregate_const, version_text, 0xa0);
TTM_AT(ttm_aggregate_const, checksum, 0x7f8);
TTM_SIZE(ttm_aggregate_const, 0x800);
TTM_SIZE(ttm_aggregate_header, 0x1000);
TTM_SIZE(ttm_table, 0x20);
TTM_AT(ttm_copy, tables, 0x38);
TTM_SIZE(ttm_copy, 0x438);
TTM_SIZE(ttm_health_row, 0xb0);
TTM_AT(ttm_directory_row, path, 0x78);
TTM_SIZE(ttm_directory_row, 0x178);
TTM_SIZE(ttm_sums, 0x50);
TTM_AT(ttm_device_row, facts, 0x10);
TTM_AT(ttm_device_row, figures, 0x180);
TTM_AT(ttm_device_row, by_board, 0x450);
TTM_SIZE(ttm_device_row, 0x458);
TTM_AT(ttm_process_row, anomalies, 0xa8);
TTM_AT(ttm_process_row, comm, 0x228);
TTM_SIZE(ttm_process_row, 0x538);
TTM_AT(ttm_share_row, figures, 0xc0);
TTM_SIZE(ttm_share_row, 0x390);
TTM_SIZE(ttm_name_row, 0x98);
TTM_SIZE(ttm_mark_row, 0x90);
TTM_SIZE(ttm_failure_row, 0x68);
TTM_SIZE(ttm_quarantine_row, 0xe0);
TTM_SIZE(ttm_untracked_row, 0x38);
TTM_SIZE(ttm_point, 0x80);
TTM_SIZE(ttm_history_row, 0x40);
TTM_SIZE(ttm_distribution_row, 0x60);
TTM_AT(ttm_telemetry_row, times_ns, 0xb8);
TTM_AT(ttm_telemetry_row, errors, 0x178);
TTM_AT(ttm_telemetry_row, arch, 0x238);
TTM_SIZE(ttm_telemetry_row, 0x2b8);
TTM_AT(ttm_holder_row, comm, 0x40);
TTM_SIZE(ttm_holder_row, 0x150);
TTM_SIZE(ttm_object_row, 0x58);

/* Differs whenever sizes differ, even if somebody forgot the version. */
/* clang-format off */
#define TTM_AGGREGATE_SIGNATURE                                                \
	TTM_MIX(TTM_MIX(TTM_MIX(TTM_MIX(TTM_MIX(TTM_MIX(                       \
		0xcbf29ce484222325ull, TTM_AGGREGATE_VERSION),                 \
		sizeof(struct ttm_aggregate_const)), sizeof(struct ttm_copy)), \
		sizeof(struct ttm_object_row)), TTMEM_FIGURES),                \
		TTM_TABLES_MAX)
/* clang-format on */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the file of a process segment as docs/layout.md draws it. It shares nothing
 * with lib/ on purpose: every offset was typed from that page, so that a mistake in
 * the library is not repeated here.
 *
 * The file is copied with pread(2) once, then checked: the model holds only checked
 * values. A process that is inside a hook may be read half done; read at rest, or
 * after its end.
 */
#ifndef TEST_SEGMENT_READER_H
#define TEST_SEGMENT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	SEGMENT_FIGURES = 9,
	SEGMENT_FIGURE_CB = 5,
	SEGMENT_FIGURE_KERNEL = 6,
	SEGMENT_FIGURE_NONE = 15,
	SEGMENT_REASONS = 16,
	SEGMENT_DEVICES = 64,
	SEGMENT_LANES = 1024,
	SEGMENT_LANE_RECORDS = 2048,
	SEGMENT_OPERATION_RECORDS = 2,
	SEGMENT_PLACES = 16384,
	SEGMENT_CORE_SETS = 4095,
	SEGMENT_CORE_ROWS = 31,
	SEGMENT_FAILURE_FIGURES = 6,
	SEGMENT_FAILURES = 16,
	SEGMENT_MARKS = 64,
	SEGMENT_SLOT_NONE = 0xffffff,
};

enum segment_record_type {
	SEGMENT_NOOP = 0,
	SEGMENT_ALLOC = 1,
	SEGMENT_FREE = 2,
	SEGMENT_DISPATCH = 3,
	SEGMENT_ANOMALY = 4,
	SEGMENT_LOSS = 5,
	SEGMENT_FAILURE = 6,
	SEGMENT_MARK = 7,
	SEGMENT_DEVICE_OPEN = 8,
	SEGMENT_DEVICE_CLOSE = 9,
	SEGMENT_SHRINK = 10,
	SEGMENT_RECORD_TYPES = 11,
};

enum segment_flag {
	SEGMENT_BORROWED = 1,
	SEGMENT_IN_RING = 2,
	SEGMENT_PERSISTENT = 4,
	SEGMENT_DATAFLOW = 8,
	SEGMENT_SCRATCHPAD = 16,
	SEGMENT_TRACE_STORAGE = 32,
	SEGMENT_PER_CORE = 64,
	SEGMENT_UNCOUNTED = 256,
	SEGMENT_REPLACED = 512,
};

enum segment_slot_state {
	SEGMENT_SLOT_FREE = 0,
	SEGMENT_SLOT_WRITING = 1,
	SEGMENT_SLOT_LIVE = 2,
};

/* A record or a slot: its words, and what they say. */
struct segment_words {
	uint64_t w[8];
	uint64_t generation;
	uint64_t id;      /* w2 */
	uint64_t size;    /* w4 without the place of allocation */
	uint64_t bytes;   /* used on each device; records about no object: 0 */
	uint64_t program; /* w5 of a CB or kernel, else 0 */
	uint64_t members; /* device entries of the place, a bit for each */
	uint64_t orphans; /* the members on which a live slot is orphaned */
	uint32_t slot;
	uint32_t scope;
	uint32_t stack;
	uint32_t cores;
	uint32_t core_set;
	uint32_t banks; /* of a buffer, 0: unknown */
	unsigned place;
	unsigned alloc_place; /* of an object */
	unsigned state;
	unsigned stamp;
	unsigned device; /* the lowest member; SEGMENT_DEVICES: none */
	unsigned figure;
	unsigned flags;
	unsigned type; /* in a slot: rank */
	unsigned lane; /* of a record */
	bool orphan;   /* a live slot that is orphaned on all members */
};

struct segment_flow {
	uint64_t alloc_objects;
	uint64_t alloc_bytes;
	uint64_t free_objects;
	uint64_t free_bytes;
	/* Of the entry's epoch, from the counter blocks. */
	int64_t live_objects;
	int64_t live_bytes;
	int64_t folded;       /* summed over the blocks */
	int64_t folded_total; /* the device entry's */
	int64_t peak_bytes;
	/* From the slots: live and not orphaned on this device. */
	uint64_t slot_objects;
	uint64_t slot_bytes;
	uint64_t slot_requested; /* buffers: requested bytes, others: bytes */
	uint64_t orphan_objects;
	uint64_t orphan_bytes;
	uint64_t orphan_requested;
};

struct segment_device {
	bool used; /* head is not 0 */
	bool ready;
	bool current;
	bool open;
	uint32_t logical;
	uint32_t epoch;
	uint32_t peak_generation;
	uint64_t seq;
	uint64_t opened;
	uint64_t closed;
	uint64_t known;
	uint64_t chip_id;
	uint64_t pci_address;
	char arch[17];
	char board[17];
	uint64_t dram_bytes;
	uint64_t l1_bytes_per_core;
	uint64_t cores;
	uint64_t l1_small_bytes;
	uint64_t trace_bytes;
	uint64_t l1_base;
	uint64_t l1_top;
	uint64_t dram_banks;
	uint64_t dram_bank_bytes;
	uint64_t dram_base;
	uint64_t l1_banks;
	uint64_t gateway;
	uint64_t dispatches[3];
	uint64_t failures[SEGMENT_FAILURE_FIGURES];
	struct segment_flow figures[SEGMENT_FIGURES];
};

struct segment_lane {
	uint64_t intent;
	uint64_t tail;
	uint32_t tid;
	bool has_ring;
	bool overrun;    /* records before `first` are gone */
	bool given_back; /* at the end, with its history */
	uint64_t first;  /* number of records[0] */
	size_t records_len;
	struct segment_words *records; /* oldest first */
};

struct segment_name {
	uint32_t id;
	uint32_t length;
	uint32_t parent; /* name id, 0: none */
	bool truncated;
	char text[113];
};

struct segment_core_set {
	uint32_t id;
	uint32_t cores;
	uint32_t rows[SEGMENT_CORE_ROWS];
};

struct segment_failure {
	uint64_t number;
	uint64_t members; /* of the place */
	unsigned place;
	unsigned figure;
	uint32_t scope;
	uint64_t time;
	uint64_t tid;
	/* All ones: unknown. */
	uint64_t bytes;
	uint64_t bytes_per_bank;
	uint64_t free_per_bank;
	uint64_t largest_free_per_bank;
	uint64_t program;
	uint64_t stamp; /* closes at that moment */
};

struct segment_mark {
	uint64_t number;
	uint64_t time;
	uint64_t tid;
	char text[97];
};

struct segment {
	/* The constant part of the header. */
	uint32_t version;
	uint64_t signature;
	uint8_t uuid[16];
	uint8_t boot_id[16];
	uint8_t run_id[16];
	uint32_t pid;
	uint32_t uid;
	uint64_t pid_namespace;
	uint64_t start_time;
	uint32_t clock_kind;
	uint64_t clock_hz;
	uint64_t clock_base;
	uint64_t monotonic_base_ns;
	uint64_t realtime_base_ns;
	uint32_t extents_max;
	char comm[17];
	char cmdline[513]; /* NUL between arguments */
	char cgroup[257];
	uint64_t checksum;

	/* Its live part. */
	uint64_t state; /* 1 running, 2 ended */
	uint64_t extents_high;
	uint64_t lanes_count;
	uint64_t devices_count;
	uint64_t names_count;
	uint64_t blocks_count;
	uint64_t failures_count;
	uint64_t marks_count;
	uint64_t closes;
	uint64_t places_count; /* numbers from here on are unused */
	uint64_t core_sets_count;
	uint64_t lost_events_header[SEGMENT_REASONS];
	uint64_t lost_bytes_header[SEGMENT_REASONS];

	/* Lanes and header together. */
	uint64_t anomalies[SEGMENT_REASONS];
	uint64_t lost_events[SEGMENT_REASONS];
	uint64_t lost_bytes[SEGMENT_REASONS];

	/* Extents by type 0-5, and those being made. */
	uint64_t extents[6];
	uint64_t extents_claimed;

	uint64_t slots_len;     /* that the slot extents hold */
	uint64_t slots_used;    /* with a generation: were not always free */
	uint64_t slots_writing; /* 0 at rest */
	uint64_t lanes_broken;  /* intent is not tail */
	uint64_t lanes_overrun; /* history incomplete, given back included */

	struct segment_device devices[SEGMENT_DEVICES];
	uint64_t places[SEGMENT_PLACES]; /* masks of device entries */
	size_t lanes_len;
	struct segment_lane *lanes;
	size_t objects_len; /* live slots, by slot number */
	struct segment_words *objects;
	size_t names_len;
	struct segment_name
		*names; /* by id; one still in the making is absent */
	size_t core_sets_len;
	struct segment_core_set *core_sets; /* by id; the same */
	size_t failures_len;
	struct segment_failure *failures; /* oldest first */
	size_t marks_len;
	struct segment_mark *marks; /* oldest first */

	/* The copy itself. */
	uint8_t *bytes;
	size_t size;
	uint64_t allocated;       /* memory behind it: holes have none */
	uint64_t slots_off[8192]; /* by ordinal, 0: no such extent */
	uint64_t rings_off[SEGMENT_LANES];
	uint64_t blocks_off[8192];
	uint64_t names_off[8192];
	uint64_t core_sets_off[4];
};

/*
 * Returns 0 and a model, or a negative errno: -EPROTO for a file that is not as
 * the page says, and then `why` names offset and field.
 */
int segment_read(const char *path, struct segment **ret_segment, char *why,
	size_t why_size);

/* The same for an open file; its position is not used. */
int segment_read_fd(
	int fd, struct segment **ret_segment, char *why, size_t why_size);

void segment_unref(struct segment **segment);

/* The entry that a logical id means now, or -1. */
int segment_entry(const struct segment *segment, uint32_t logical);

/* Whatever its state; false if there is no such slot. */
bool segment_slot(const struct segment *segment, uint32_t number,
	struct segment_words *ret_slot);

/*
 * The live object on that device entry, the one that is not orphaned there first, or
 * NULL; `program` counts for CBs only.
 */
const struct segment_words *segment_object(const struct segment *segment,
	int entry, unsigned figure, uint64_t id, uint64_t program);

/* The text of a name, "" for id 0, NULL if there is none. */
const char *segment_name(const struct segment *segment, uint32_t id);

/* The id of the scope around a name; 0: none, or no such name. */
uint32_t segment_name_parent(const struct segment *segment, uint32_t id);

/* NULL if there is none. */
const struct segment_core_set *segment_core_set(
	const struct segment *segment, uint32_t id);

/* The number of the place with exactly these members, or 0. */
unsigned segment_place(const struct segment *segment, uint64_t members);

/* The records of that type still in the rings, all lanes together. */
size_t segment_records(const struct segment *segment, unsigned type);

/* Returns the lane of that thread, or NULL: the first if there are several. */
const struct segment_lane *segment_lane(
	const struct segment *segment, uint32_t tid);

/*
 * Whether slots, counters and, where no lane was overrun, records agree exactly,
 * as they must when no hook is running. Returns 0, or -EBADMSG with the first
 * thing that does not in `why`.
 */
int segment_check_at_rest(
	const struct segment *segment, char *why, size_t why_size);

/*
 * The same for a process that was killed: each lane with intent != tail may have one
 * half-done operation, which changed up to two slots, on each of their devices, and
 * left a key live twice.
 */
int segment_check_killed(
	const struct segment *segment, char *why, size_t why_size);

/* The same with another number of slots that may be half done. */
int segment_check_half_done(const struct segment *segment, uint64_t allowed,
	char *why, size_t why_size);

/* key=value lines, as segdump prints them. */
void segment_print(
	const struct segment *segment, FILE *file, bool with_records);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process segment, byte by byte. docs/layout.md draws it; a byte that moves
 * changes TTM_SEGMENT_VERSION, the asserts below and that page in one commit.
 *
 * Little-endian, fixed width, no pointers. Every word that two processes share
 * is a uint64_t (the extent directory: uint32_t) and is accessed through
 * lib/shm/atomics.h only.
 */
#ifndef TTM_SHM_LAYOUT_H
#define TTM_SHM_LAYOUT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ttmem/ttmem.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the segment is little-endian and so must be the machine"
#endif

#define TTM_SEGMENT_MAGIC 0x4745534d454d5454ull /* "TTMEMSEG" */
#define TTM_SEGMENT_VERSION 2u

#define TTM_LINE_SIZE 64u

/* -- capacities ------------------------------------------------------------ */

#define TTM_EXTENT_SIZE 0x20000u /* 128 KiB: a lane, 2,048 slots, ... */
#define TTM_EXTENTS_MAX 8192u
#define TTM_LANES_MAX 1024u
#define TTM_LANE_RECORDS 2048u
#define TTM_OPERATION_RECORDS_MAX 2u /* intent - tail */
#define TTM_DEVICES_MAX 64u
#define TTM_PLACES_MAX 16384u /* place number 0 is no place */
#define TTM_CORE_SETS_MAX 4095u
#define TTM_CORE_SETS_PER_EXTENT 1024u
#define TTM_FAILURES_KEPT 16u
#define TTM_MARKS_KEPT 64u
#define TTM_SLOTS_PER_EXTENT 2048u
#define TTM_SLOTS_MAX 0xfffffeu /* so that slot + 1 fits 24 bits */
#define TTM_BLOCKS_PER_EXTENT 128u
#define TTM_NAMES_PER_EXTENT 1024u
#define TTM_NAMES_MAX 65535u
#define TTM_REASONS_MAX 16u

/* -- where things are -------------------------------------------------------- */

#define TTM_HEADER_OFF 0x0u
#define TTM_DIRECTORY_OFF 0x1000u
#define TTM_LANES_OFF 0x9000u
#define TTM_DEVICES_OFF 0x19000u
#define TTM_FAILURES_OFF 0x29000u
#define TTM_MARKS_OFF 0x2a000u
#define TTM_PLACES_OFF 0x2c000u
#define TTM_EXTENTS_OFF 0x50000u /* a multiple of 64 KiB: aarch64's pages */

/* -- header ------------------------------------------------------------------ */

enum ttm_clock_kind {
	TTM_CLOCK_X86_TSC = 1,
	TTM_CLOCK_ARM_CNTVCT = 2,
	TTM_CLOCK_MONOTONIC_NS = 3,
};

enum ttm_segment_state {
	TTM_SEGMENT_RUNNING = 1,
	TTM_SEGMENT_ENDED = 2, /* ttmem_stop(), or a clean exit */
};

/* Never changes once the file has a name; sealed by `checksum`. */
struct ttm_header_const {
	uint64_t magic;
	uint32_t version;
	uint32_t header_size;
	uint64_t signature;
	uint8_t uuid[16];
	uint8_t boot_id[16];
	uint8_t run_id[16]; /* TTMEM_RUN_ID, zero-padded; all zero: none */
	uint32_t pid;       /* as the process itself sees it */
	uint32_t uid;
	uint64_t pid_namespace; /* inode of /proc/self/ns/pid, 0: unknown */
	uint64_t start_time;    /* /proc/self/stat field 22, 0: unknown */
	uint32_t clock_kind;    /* enum ttm_clock_kind */
	uint32_t reserved0;
	uint64_t clock_hz;   /* 0: the reader has to calibrate */
	uint64_t clock_base; /* the clock at ... */
	uint64_t monotonic_base_ns;
	uint64_t realtime_base_ns;
	uint32_t extent_size;
	uint32_t extents_max; /* this segment's cap */
	uint32_t lanes_max;
	uint32_t lane_records;
	uint32_t devices_max;
	uint32_t failures_kept;
	uint32_t marks_kept;
	uint32_t reserved1;
	uint64_t directory_off;
	uint64_t lanes_off;
	uint64_t devices_off;
	uint64_t failures_off;
	uint64_t marks_off;
	uint64_t places_off;
	uint64_t extents_off;
	char comm[16];
	char cmdline[512]; /* NUL between arguments, as in /proc */
	char cgroup[256];
	uint8_t reserved2[0x7f8 - 0x3f0];
	uint64_t checksum; /* FNV-1a, 64 bits, of all bytes before it */
};

/*
 * word          stored by              loaded by        promises
 * state         start, stop, exit      aggregator       2: no more events
 * extents_high  grow (max by CAS)      aggregator       extents above are unused
 * lanes_len     lane creation          aggregator       lanes above are unused
 * devices_len   device creation        aggregator       entries above are unused
 * names_len     scope_push (add)       aggregator       ids above are unused
 * blocks_len    block creation (add)   aggregator       blocks above are unused
 * failures_len  alloc_failed (add)     aggregator       free-running count
 * marks_len     mark (add)             aggregator       free-running count
 * closes        device_close (CAS)     hooks, aggregator  calls that are complete
 * places_len    place creation         aggregator       places from here on are unused
 * core_sets_len core set creation      aggregator       core sets above are unused
 * lost[]        events without a lane  aggregator       only grow
 */
struct ttm_header_live {
	uint64_t state;
	uint64_t extents_high;
	uint64_t lanes_len;
	uint64_t devices_len;
	uint64_t names_len;
	uint64_t blocks_len;
	uint64_t failures_len;
	uint64_t marks_len;
	uint64_t closes;
	uint64_t places_len;
	uint64_t core_sets_len;
	uint64_t reserved0[5];
	uint64_t lost_events[TTM_REASONS_MAX]; /* by enum ttmem_loss */
	uint64_t lost_bytes[TTM_REASONS_MAX];
	uint8_t reserved1[0x800 - 0x80 - 2 * 8 * TTM_REASONS_MAX];
};

struct ttm_header {
	struct ttm_header_const sealed;
	struct ttm_header_live live;
};

/* -- extents ----------------------------------------------------------------- */

/*
 * Directory word of extent i, at TTM_EXTENTS_OFF + i * TTM_EXTENT_SIZE:
 * type << 24 | ordinal among its type (the lane's number, slots from ordinal *
 * 2,048 on, ...). 0 is unused; CLAIMED is being made, or was when its process
 * died: a reader skips it.
 */
enum ttm_extent_type {
	TTM_EXTENT_UNUSED = 0,
	TTM_EXTENT_LANE = 1,
	TTM_EXTENT_SLOTS = 2,
	TTM_EXTENT_BLOCKS = 3,
	TTM_EXTENT_NAMES = 4,
	TTM_EXTENT_CORE_SETS = 5,
	TTM_EXTENT_FAILURES = 6, /* reserved: summaries of failed allocations */
	TTM_EXTENT_STACKS = 7,   /* reserved: call stacks */
	TTM_EXTENT_CLAIMED = 255,
};

#define TTM_EXTENT_WORD(type, ordinal)                                         \
	((uint32_t)(type) << 24 | ((uint32_t)(ordinal)&0xffffffu))
#define TTM_EXTENT_TYPE(word) ((uint32_t)(word) >> 24)
#define TTM_EXTENT_ORDINAL(word) ((uint32_t)(word)&0xffffffu)

/* -- places -------------------------------------------------------------------- */

/*
 * A place is a set of device entries, a bit for each. Word n of the table is place n;
 * it is stored once and never changes, and no two places have the same members. Word
 * 0 stays 0: "no place". A single device is a place with one member.
 */

/* -- records and slots --------------------------------------------------------- */

/*
 * Both are eight words. In w1 a slot keeps its rank where a record has its type;
 * otherwise an ALLOC or SHRINK record is a copy of its slot.
 *
 *    w0  generation << 16 | place << 2 | state (record: of the change it reports; a
 *        record about no slot: the place that the event names, or 0)
 *    w1  see TTM_W1_*
 *    w2  id: buffer, cb or kernel
 *    w3  address; FREE and the rest: time of the event
 *    w4  see TTM_W4: size (CB: per core; kernel: of the binary), place of allocation
 *    w5  program of a CB or kernel; buffer: see TTM_W5: used bytes and banks
 *    w6  time of the allocation
 *    w7  see TTM_W7_*
 *
 * The place in w0 is where the object is now: freeing the part on some members makes
 * it smaller (a "shrink": next generation, smaller place). The body never changes, and
 * its place of allocation is part of the object's key.
 */
struct ttm_words {
	uint64_t w[8];
};

enum ttm_slot_state {
	TTM_SLOT_FREE = 0,
	TTM_SLOT_WRITING = 1, /* reads as free */
	TTM_SLOT_LIVE = 2,
};

#define TTM_W0_GENERATION_ONE 0x10000ull
#define TTM_W0(generation, place, state)                                       \
	((uint64_t)(generation) << 16 | (uint64_t)(place) << 2 | (state))
#define TTM_W0_STATE(w0) ((unsigned)((w0)&3))
#define TTM_W0_PLACE(w0) ((unsigned)((w0) >> 2 & 0x3fff))
#define TTM_W0_GENERATION(w0) ((uint64_t)(w0) >> 16)
/* The next generation, in the same or another place. */
#define TTM_W0_NEXT(w0, place, state)                                          \
	((((uint64_t)(w0) & ~0xffffull) + TTM_W0_GENERATION_ONE) |             \
		(uint64_t)(place) << 2 | (state))
#define TTM_W0_WRITING(free, place) TTM_W0_NEXT(free, place, TTM_SLOT_WRITING)
#define TTM_W0_LIVE(writing)                                                   \
	((uint64_t)(writing) + TTM_W0_GENERATION_ONE + TTM_SLOT_LIVE -         \
		TTM_SLOT_WRITING)
#define TTM_W0_FREE(live)                                                      \
	((uint64_t)(live) + TTM_W0_GENERATION_ONE - TTM_SLOT_LIVE)
#define TTM_W0_SHRUNK(live, place) TTM_W0_NEXT(live, place, TTM_SLOT_LIVE)

/* bits 0-23 slot, 24-39 stamp, 40-43 figure, 44-55 flags, 56-63 type or rank */
#define TTM_W1_SLOT(w1) ((uint32_t)((w1)&0xffffff))
#define TTM_W1_STAMP(w1) ((uint16_t)((w1) >> 24))
#define TTM_W1_FIGURE(w1) ((unsigned)((w1) >> 40 & 0xf))
#define TTM_W1_FLAGS(w1) ((unsigned)((w1) >> 44 & 0xfff))
#define TTM_W1_TYPE(w1) ((unsigned)((w1) >> 56)) /* record */
#define TTM_W1_RANK(w1) ((uint8_t)((w1) >> 56))  /* slot */
#define TTM_W1(slot, stamp, figure, flags, type)                               \
	((uint64_t)(slot) | (uint64_t)(uint16_t)(stamp) << 24 |                \
		(uint64_t)(figure) << 40 | (uint64_t)(flags) << 44 |           \
		(uint64_t)(type) << 56)

/* An object's w1 when it gets its slot; both parts were 0, or another try's. */
#define TTM_W1_WITH(w1, slot, rank)                                            \
	(((w1)&0x00ffffffff000000ull) | (uint64_t)(slot) |                     \
		(uint64_t)(rank) << 56)

/* A slot's w1 in a record about it: flags added, the type in the rank's place. */
#define TTM_W1_AS_RECORD(w1, flags, type)                                      \
	(((w1)&0x00ffffffffffffffull) | (uint64_t)(flags) << 44 |              \
		(uint64_t)(type) << 56)

#define TTM_SLOT_NONE 0xffffffu /* w1 of a record that is about no slot */
#define TTM_FIGURE_NONE 15u

enum ttm_flag {
	TTM_FLAG_BORROWED = 1,
	TTM_FLAG_IN_RING = 2,
	TTM_FLAG_PERSISTENT = 4,
	TTM_FLAG_DATAFLOW = 8,    /* CB: a dataflow buffer */
	TTM_FLAG_SCRATCHPAD = 16, /* CB: a scratchpad */
	TTM_FLAG_TRACE = 32,      /* buffer: trace storage in DRAM */
	TTM_FLAG_PER_CORE = 64,   /* buffer: its address differs by core */
	TTM_FLAGS_OBJECT = 127,   /* those that a slot may have */
	TTM_FLAG_UNCOUNTED = 256, /* record: state changed, flows did not */
	TTM_FLAG_REPLACED = 512,  /* FREE record: by an allocation of its key */
};

enum ttm_record_type {
	TTM_RECORD_NOOP = 0,
	TTM_RECORD_ALLOC = 1,
	TTM_RECORD_FREE = 2,
	TTM_RECORD_DISPATCH = 3, /* a live kernel was loaded again */
	TTM_RECORD_ANOMALY = 4,  /* w4: enum ttmem_anomaly */
	TTM_RECORD_LOSS = 5,     /* w4: enum ttmem_loss, w5: bytes */
	TTM_RECORD_FAILURE =
		6, /* w4: bytes asked for, w5: number of the failure */
	TTM_RECORD_MARK = 7, /* w2: number of the mark */
	TTM_RECORD_DEVICE_OPEN = 8,
	TTM_RECORD_DEVICE_CLOSE = 9, /* w4: the number of the close */
	TTM_RECORD_SHRINK =
		10, /* freed on some members: w0 has those that stay */
};

#define TTM_OBJECT_BYTES_MAX ((1ull << 46) - 1) /* totals have 47 bits */

/* bits 0-45 size, 46-59 place of allocation */
#define TTM_W4(size, place) ((uint64_t)(size) | (uint64_t)(place) << 46)
#define TTM_W4_SIZE(w4) ((uint64_t)(w4)&TTM_OBJECT_BYTES_MAX)
#define TTM_W4_PLACE(w4) ((unsigned)((w4) >> 46 & 0x3fff))

/* Of a buffer: bits 0-45 used bytes, 46-63 banks (0: unknown, then used = size) */
#define TTM_BANKS_MAX 0x3ffffu
#define TTM_W5(used, banks) ((uint64_t)(used) | (uint64_t)(banks) << 46)
#define TTM_W5_USED(w5) ((uint64_t)(w5)&TTM_OBJECT_BYTES_MAX)
#define TTM_W5_BANKS(w5) ((uint32_t)((w5) >> 46))

/*
 * bits 0-15 scope (name id, 0: none), 16-39 stack (0: none), 40-51 count of cores,
 * 52-63 core set (0: not told)
 */
#define TTM_W7(scope, stack, cores, core_set)                                  \
	((uint64_t)(scope) | (uint64_t)(stack) << 16 |                         \
		(uint64_t)(cores) << 40 | (uint64_t)(core_set) << 52)
#define TTM_W7_SCOPE(w7) ((uint32_t)((w7)&0xffff))
#define TTM_W7_STACK(w7) ((uint32_t)((w7) >> 16 & 0xffffff))
#define TTM_W7_CORES(w7) ((uint32_t)((w7) >> 40 & 0xfff))
#define TTM_W7_CORE_SET(w7) ((uint32_t)((w7) >> 52))
#define TTM_CORES_MAX 0xfffu

/* The bytes that an object uses on each of its devices: see docs/layout.md. */
static inline uint64_t ttm_words_bytes(const struct ttm_words *words)
{
	unsigned figure = TTM_W1_FIGURE(words->w[1]);

	if (figure < TTMEM_FIGURE_CB)
		return TTM_W5_USED(words->w[5]);
	if (TTM_W1_FLAGS(words->w[1]) & TTM_FLAG_BORROWED)
		return 0;
	return TTM_W4_SIZE(words->w[4]) * TTM_W7_CORES(words->w[7]);
}

/*
 * Whether an object's part on a device is orphaned: the device was closed after the
 * object was allocated. `closes` is the segment's count, loaded after the slot and the
 * device; `epoch` the device's: the number of its last close, 0 for none. Ages are
 * compared, so that counts may wrap: exact for objects that are younger than 65,536
 * closes of any device.
 */
static inline bool ttm_stamp_is_orphaned(
	uint64_t closes, uint16_t stamp, uint32_t epoch)
{
	uint32_t allocated = (uint32_t)closes -
		(uint16_t)((uint16_t)closes - stamp);

	return (int32_t)(epoch - allocated) > 0;
}

/* -- lanes -------------------------------------------------------------------- */

/*
 * word    stored by     loaded by             promises
 * intent  its thread    aggregator, adopter   records below intent - 2,048 may be
 *                                             overwritten by now
 * tail    its thread    aggregator, adopter   records below it are complete
 * owner   adopter       aggregator            display only: tid
 */
struct ttm_lane_control {
	uint64_t intent;
	uint64_t tail;
	uint64_t owner;
	uint64_t reserved[5];
};

/* -- counters ------------------------------------------------------------------ */

/*
 * One line per figure of a (lane, device). The first four only grow. The others
 * belong to the block's era and start at 0 with a new epoch of the device:
 * live_objects, live_bytes, folded and high are signed, for a lane may free what
 * another allocated. Written by the lane's thread, read by anybody at any time.
 */
struct ttm_counters {
	uint64_t alloc_objects;
	uint64_t alloc_bytes;
	uint64_t free_objects;
	uint64_t free_bytes;
	uint64_t live_objects;
	uint64_t live_bytes;
	uint64_t folded; /* the part of live_bytes the device's total knows */
	uint64_t high;   /* highest live_bytes since the last fold */
};

#define TTM_BLOCK_VALID (1ull << 63)
#define TTM_BLOCK_LANE_WIDE 0xffu
#define TTM_BLOCK_OWNER(lane, device)                                          \
	(TTM_BLOCK_VALID | (uint64_t)(device) << 32 | (uint64_t)(lane))
#define TTM_BLOCK_LANE(owner) ((uint32_t)(owner))
#define TTM_BLOCK_DEVICE(owner) ((unsigned)((owner) >> 32 & 0xff))

struct ttm_block_device {
	uint64_t owner;         /* TTM_BLOCK_OWNER(lane, device entry) */
	uint64_t era;           /* of the live part, see ttm_device.era */
	uint64_t dispatches[3]; /* by enum ttmem_kernel_type */
	uint64_t reserved0[3];
	uint64_t failures[6]; /* by enum ttmem_figure, up to the CBs */
	uint64_t reserved1[2];
	struct ttm_counters figures[TTMEM_FIGURES];
	uint64_t reserved2[40];
};

struct ttm_block_lane {
	uint64_t owner; /* TTM_BLOCK_OWNER(lane, TTM_BLOCK_LANE_WIDE) */
	uint64_t reserved0[7];
	uint64_t anomalies[TTM_REASONS_MAX];   /* by enum ttmem_anomaly */
	uint64_t lost_events[TTM_REASONS_MAX]; /* by enum ttmem_loss */
	uint64_t lost_bytes[TTM_REASONS_MAX];
	uint64_t reserved1[72];
};

/* -- devices ------------------------------------------------------------------- */

/* A tag in bits 48-63 (epoch or peak generation), signed bytes in bits 0-47. */
#define TTM_TAGGED(tag, bytes)                                                 \
	((uint64_t)(uint16_t)(tag) << 48 |                                     \
		((uint64_t)(bytes)&0xffffffffffffull))
#define TTM_TAGGED_TAG(word) ((uint16_t)((word) >> 48))

struct ttm_device_total {
	uint64_t folded; /* tag: epoch. Live bytes the lanes have folded in */
	uint64_t peak;   /* tag: peak generation */
	uint64_t reserved[6];
};

enum ttm_device_flag {
	TTM_DEVICE_READY = 1,
	TTM_DEVICE_CURRENT = 2, /* its logical id means this entry */
	TTM_DEVICE_OPEN = 4,    /* by ttmem_device_open(), not closed since */
};

#define TTM_DEVICE_HEAD(logical, flags)                                        \
	((uint64_t)(logical) << 32 | (uint64_t)(flags))
#define TTM_DEVICE_LOGICAL(head) ((uint32_t)((head) >> 32))

/* The epoch is the number of the device's last close, of all closes of the process. */
#define TTM_ERA(epoch, peak) ((uint64_t)(epoch) << 32 | (uint64_t)(peak))
#define TTM_ERA_EPOCH(era) ((uint32_t)((era) >> 32))
#define TTM_ERA_PEAK(era) ((uint32_t)(era))

/* Bits of ttm_device_facts.known. */
enum ttm_device_fact {
	TTM_FACT_CHIP_ID = 1,
	TTM_FACT_PCI_ADDRESS = 2,
	TTM_FACT_ARCH = 4,
	TTM_FACT_BOARD = 8,
	TTM_FACT_DRAM_BYTES = 16,
	TTM_FACT_L1_BYTES_PER_CORE = 32,
	TTM_FACT_CORES = 64,
	TTM_FACT_L1_SMALL_BYTES = 128,
	TTM_FACT_TRACE_BYTES = 256,
	TTM_FACT_L1_BASE = 512,
	TTM_FACT_L1_TOP = 1024,
	TTM_FACT_DRAM_BANKS = 2048,
	TTM_FACT_DRAM_BANK_BYTES = 4096,
	TTM_FACT_DRAM_BASE = 8192,
	TTM_FACT_L1_BANKS = 16384,
	TTM_FACT_GATEWAY = 32768,
};

struct ttm_device_facts {
	uint64_t known;
	uint64_t chip_id;
	uint64_t pci_address;
	uint64_t arch[2]; /* bytes, zero-padded */
	uint64_t board[2];
	uint64_t dram_bytes;
	uint64_t l1_bytes_per_core;
	uint64_t cores;
	uint64_t l1_small_bytes;
	uint64_t trace_bytes;
	uint64_t l1_base;
	uint64_t l1_top;
	uint64_t dram_banks;
	uint64_t dram_bank_bytes; /* allocatable, of each bank */
	uint64_t dram_base;
	uint64_t l1_banks;
	uint64_t gateway; /* chip id of the chip through which it is reached */
};

/*
 * word      stored by                     loaded by            promises
 * head      first event or open (CAS)     everybody            never 0 again
 * era       close, peak_reset (add)       hooks, aggregator    only grows
 * seq       open (claim by CAS)           aggregator           even: facts whole
 * facts     open, while seq is odd        aggregator           see seq
 * totals    folds (CAS)                   usage, aggregator    tag older: is 0
 */
struct ttm_device {
	uint64_t head;
	uint64_t era; /* epoch << 32 | peak generation */
	uint64_t seq;
	uint64_t opened; /* clock; 0: never */
	uint64_t closed;
	struct ttm_device_facts facts;
	uint64_t reserved0[8];
	struct ttm_device_total totals[TTMEM_FIGURES];
	uint64_t reserved1[24];
};

/* -- names, core sets, failures, marks ------------------------------------------ */

#define TTM_NAME_SIZE 112u
#define TTM_NAME_LENGTH(word) ((uint32_t)(word)&0xffffu)
#define TTM_NAME_TRUNCATED (1ull << 32)
#define TTM_NAME_PARENT(word) ((uint32_t)((word) >> 40 & 0xffff))

/*
 * Name id n >= 1 is entry (n - 1) of the NAMES extents; written once. A scope is its
 * name and the scope around it: the same text inside another scope is another name.
 */
struct ttm_name {
	uint64_t
		length; /* length | TTM_NAME_TRUNCATED | parent name id << 40 */
	uint64_t hash;  /* private to the writer */
	uint64_t text[TTM_NAME_SIZE / 8];
};

#define TTM_CORE_ROWS 31u
#define TTM_CORE_COLUMNS 32u

/*
 * Core set n >= 1 is entry (n - 1) of the CORE_SETS extents; written once. Core (x, y)
 * is bit x of rows[y].
 */
struct ttm_core_set {
	uint32_t rows[TTM_CORE_ROWS];
	uint32_t cores; /* how many; stored last, 0: not ready */
};

/*
 * Number n is entry n % 16; seq is 2n+1 while written, 2n+2 afterwards. Figures that
 * the caller did not know are TTMEM_UNKNOWN.
 */
struct ttm_failure {
	uint64_t seq;
	uint64_t place;
	uint64_t figure;
	uint64_t time;
	uint64_t tid;
	uint64_t scope; /* name id, 0: none */
	uint64_t stack; /* 0: none */
	uint64_t bytes;
	uint64_t bytes_per_bank;
	uint64_t free_per_bank;
	uint64_t largest_free_per_bank;
	uint64_t program;
	uint64_t stamp;   /* closes at that moment */
	uint64_t summary; /* reserved: where the summary is, 0: none */
	uint64_t reserved[18];
};

#define TTM_MARK_SIZE 96u

/* Number n is entry n % 64; seq as above. */
struct ttm_mark {
	uint64_t seq;
	uint64_t time;
	uint64_t tid;
	uint64_t length;
	uint64_t text[TTM_MARK_SIZE / 8];
};

/* -- what the page docs/layout.md says -------------------------------------------- */

#define TTM_AT(type, member, off)                                              \
	static_assert(offsetof(struct type, member) == (off), #member)
#define TTM_SIZE(type, size) static_assert(sizeof(struct type) == (size), #type)

TTM_AT(ttm_header_const, version, 0x08);
TTM_AT(ttm_header_const, signature, 0x10);
TTM_AT(ttm_header_const, uuid, 0x18);
TTM_AT(ttm_header_const, boot_id, 0x28);
TTM_AT(ttm_header_const, run_id, 0x38);
TTM_AT(ttm_header_const, pid, 0x48);
TTM_AT(ttm_header_const, pid_namespace, 0x50);
TTM_AT(ttm_header_const, start_time, 0x58);
TTM_AT(ttm_header_const, clock_kind, 0x60);
TTM_AT(ttm_header_const, clock_hz, 0x68);
TTM_AT(ttm_header_const, clock_base, 0x70);
TTM_AT(ttm_header_const, realtime_base_ns, 0x80);
TTM_AT(ttm_header_const, extent_size, 0x88);
TTM_AT(ttm_header_const, lanes_max, 0x90);
TTM_AT(ttm_header_const, devices_max, 0x98);
TTM_AT(ttm_header_const, marks_kept, 0xa0);
TTM_AT(ttm_header_const, directory_off, 0xa8);
TTM_AT(ttm_header_const, places_off, 0xd0);
TTM_AT(ttm_header_const, extents_off, 0xd8);
TTM_AT(ttm_header_const, comm, 0xe0);
TTM_AT(ttm_header_const, cmdline, 0xf0);
TTM_AT(ttm_header_const, cgroup, 0x2f0);
TTM_AT(ttm_header_const, checksum, 0x7f8);
TTM_SIZE(ttm_header_const, 0x800);
TTM_AT(ttm_header, live, 0x800);
TTM_AT(ttm_header_live, marks_len, 0x38);
TTM_AT(ttm_header_live, closes, 0x40);
TTM_AT(ttm_header_live, lost_events, 0x80);
TTM_AT(ttm_header_live, lost_bytes, 0x100);
TTM_SIZE(ttm_header, 0x1000);
TTM_SIZE(ttm_words, 64);
TTM_SIZE(ttm_lane_control, 64);
TTM_SIZE(ttm_counters, 64);
TTM_AT(ttm_block_device, failures, 0x40);
TTM_AT(ttm_block_device, figures, 0x80);
TTM_SIZE(ttm_block_device, 1024);
TTM_AT(ttm_block_lane, anomalies, 0x40);
TTM_AT(ttm_block_lane, lost_events, 0xc0);
TTM_AT(ttm_block_lane, lost_bytes, 0x140);
TTM_SIZE(ttm_block_lane, 1024);
TTM_AT(ttm_device, facts, 0x28);
TTM_AT(ttm_device, totals, 0x100);
TTM_SIZE(ttm_device, 1024);
TTM_SIZE(ttm_name, 128);
TTM_SIZE(ttm_core_set, 128);
TTM_SIZE(ttm_failure, 256);
TTM_SIZE(ttm_mark, 128);

static_assert(TTM_DIRECTORY_OFF + 4 * TTM_EXTENTS_MAX <= TTM_LANES_OFF, "");
static_assert(TTM_LANES_OFF + 64 * TTM_LANES_MAX <= TTM_DEVICES_OFF, "");
static_assert(TTM_DEVICES_OFF + 1024 * TTM_DEVICES_MAX <= TTM_FAILURES_OFF, "");
static_assert(TTM_FAILURES_OFF + 256 * TTM_FAILURES_KEPT <= TTM_MARKS_OFF, "");
static_assert(TTM_MARKS_OFF + 128 * TTM_MARKS_KEPT <= TTM_PLACES_OFF, "");
static_assert(TTM_PLACES_OFF + 8 * TTM_PLACES_MAX <= TTM_EXTENTS_OFF, "");
static_assert(TTM_LANE_RECORDS * 64 == TTM_EXTENT_SIZE, "");
static_assert(TTM_SLOTS_PER_EXTENT * 64 == TTM_EXTENT_SIZE, "");
static_assert(TTM_BLOCKS_PER_EXTENT * 1024 == TTM_EXTENT_SIZE, "");
static_assert(TTM_NAMES_PER_EXTENT * 128 == TTM_EXTENT_SIZE, "");
static_assert(TTM_CORE_SETS_PER_EXTENT * 128 == TTM_EXTENT_SIZE, "");
static_assert((int)TTMEM_ANOMALIES <= (int)TTM_REASONS_MAX, "");
static_assert((int)TTMEM_LOSSES <= (int)TTM_REASONS_MAX, "");

/*
 * Differs whenever sizes or places differ, even if somebody forgot the version:
 * differently built processes then refuse each other.
 */
#define TTM_MIX(h, x) ((h)*0x100000001b3ull ^ (uint64_t)(x))
/* clang-format off */
#define TTM_SEGMENT_SIGNATURE                                                  \
	TTM_MIX(TTM_MIX(TTM_MIX(TTM_MIX(TTM_MIX(TTM_MIX(TTM_MIX(TTM_MIX(       \
		0xcbf29ce484222325ull, TTM_SEGMENT_VERSION),                   \
		TTM_EXTENT_SIZE), TTM_EXTENTS_MAX), TTM_LANES_MAX),            \
		TTM_DEVICES_OFF), TTM_EXTENTS_OFF), TTMEM_FIGURES),            \
		sizeof(struct ttm_block_device))
/* clang-format on */

#endif

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
#include <stddef.h>
#include <stdint.h>

#include <ttmem/ttmem.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the segment is little-endian and so must be the machine"
#endif

#define TTM_SEGMENT_MAGIC 0x4745534d454d5454ull /* "TTMEMSEG" */
#define TTM_SEGMENT_VERSION 1u

#define TTM_LINE_SIZE 64u

/* -- capacities ------------------------------------------------------------ */

#define TTM_EXTENT_SIZE 0x20000u /* 128 KiB: a lane, 2,048 slots, ... */
#define TTM_EXTENTS_MAX 8192u
#define TTM_LANES_MAX 1024u
#define TTM_LANE_RECORDS 2048u
#define TTM_OPERATION_RECORDS_MAX 8u /* intent - tail */
#define TTM_DEVICES_MAX 64u
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
#define TTM_MARKS_OFF 0x29400u
#define TTM_EXTENTS_OFF 0x30000u /* a multiple of 64 KiB: aarch64's pages */

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
	uint64_t extents_off;
	char comm[16];
	char cmdline[512]; /* NUL between arguments, as in /proc */
	char cgroup[256];
	uint8_t reserved2[0x7f8 - 0x3e8];
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
	uint64_t lost_events[TTM_REASONS_MAX]; /* by enum ttmem_loss */
	uint64_t lost_bytes[TTM_REASONS_MAX];
	uint8_t reserved[0x800 - 0x40 - 2 * 8 * TTM_REASONS_MAX];
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
	TTM_EXTENT_CLAIMED = 255,
};

#define TTM_EXTENT_WORD(type, ordinal)                                         \
	((uint32_t)(type) << 24 | ((uint32_t)(ordinal)&0xffffffu))
#define TTM_EXTENT_TYPE(word) ((uint32_t)(word) >> 24)
#define TTM_EXTENT_ORDINAL(word) ((uint32_t)(word)&0xffffffu)

/* -- records and slots --------------------------------------------------------- */

/*
 * Both are eight words. In w1 a slot keeps its turn where a record has its type;
 * otherwise an ALLOC record is a copy of its slot.
 *
 *    w0  generation << 2 | state (record: of the transition it reports, else 0)
 *    w1  see TTM_W1_*
 *    w2  id: buffer, cb or kernel
 *    w3  address; FREE and the rest: time of the event
 *    w4  size; CB: per core; kernel: of the binary
 *    w5  program of a CB or kernel; buffer: charged bytes, all ones unknown
 *    w6  time of the allocation
 *    w7  see TTM_W7_*
 */
struct ttm_words {
	uint64_t w[8];
};

enum ttm_slot_state {
	TTM_SLOT_FREE = 0,
	TTM_SLOT_WRITING = 1, /* reads as free */
	TTM_SLOT_LIVE = 2,
};

#define TTM_W0(generation, state) ((uint64_t)(generation) << 2 | (state))
#define TTM_W0_STATE(w0) ((unsigned)((w0)&3))
#define TTM_W0_GENERATION(w0) ((uint64_t)(w0) >> 2)
/* The next generation: of a free slot, of one being written, of a live one. */
#define TTM_W0_WRITING(free) ((uint64_t)(free) + 4 + TTM_SLOT_WRITING)
#define TTM_W0_LIVE(writing)                                                   \
	((uint64_t)(writing) + 4 + TTM_SLOT_LIVE - TTM_SLOT_WRITING)
#define TTM_W0_FREE(live) ((uint64_t)(live) + 4 - TTM_SLOT_LIVE)

/* bits 0-23 slot, 24-39 epoch, 40-45 device, 46-49 figure, 50-55 flags, 56-63 */
#define TTM_W1_SLOT(w1) ((uint32_t)((w1)&0xffffff))
#define TTM_W1_EPOCH(w1) ((uint16_t)((w1) >> 24))
#define TTM_W1_DEVICE(w1) ((unsigned)((w1) >> 40 & 0x3f))
#define TTM_W1_FIGURE(w1) ((unsigned)((w1) >> 46 & 0xf))
#define TTM_W1_FLAGS(w1) ((unsigned)((w1) >> 50 & 0x3f))
#define TTM_W1_KEY(w1) ((unsigned)((w1) >> 40 & 0x3ff)) /* device and figure */
#define TTM_W1_OWNER                                                           \
	0x3ffffff000000ull /* the bits of these, and of the epoch */
#define TTM_W1_TYPE(w1) ((unsigned)((w1) >> 56)) /* record */
#define TTM_W1_TURN(w1) ((uint8_t)((w1) >> 56))  /* slot */
#define TTM_W1(slot, epoch, device, figure, flags, type)                       \
	((uint64_t)(slot) | (uint64_t)(uint16_t)(epoch) << 24 |                \
		(uint64_t)(device) << 40 | (uint64_t)(figure) << 46 |          \
		(uint64_t)(flags) << 50 | (uint64_t)(type) << 56)

/* An object's w1 when it gets its slot; both parts were 0, or another try's. */
#define TTM_W1_WITH(w1, slot, turn)                                            \
	(((w1)&0x00ffffffff000000ull) | (uint64_t)(slot) |                     \
		(uint64_t)(turn) << 56)

/* A slot's w1 in a record about it: flags added, the type in the turn's place. */
#define TTM_W1_AS_RECORD(w1, flags, type)                                      \
	(((w1)&0x00ffffffffffffffull) | (uint64_t)(flags) << 50 |              \
		(uint64_t)(type) << 56)

#define TTM_SLOT_NONE 0xffffffu /* w1 of a record that is about no slot */
#define TTM_FIGURE_NONE 15u

enum ttm_flag {
	TTM_FLAG_BORROWED = 1,
	TTM_FLAG_IN_RING = 2,
	TTM_FLAG_PERSISTENT = 4,
	TTM_FLAG_NO_DEVICE = 8,  /* record: the device bits say nothing */
	TTM_FLAG_UNCOUNTED = 16, /* record: state changed, flows did not */
	TTM_FLAG_REPLACED = 32,  /* FREE record: by an allocation of its key */
};

enum ttm_record_type {
	TTM_RECORD_NOOP = 0,
	TTM_RECORD_ALLOC = 1,
	TTM_RECORD_FREE = 2,
	TTM_RECORD_DISPATCH = 3, /* a live kernel was loaded again */
	TTM_RECORD_ANOMALY = 4,  /* w4: enum ttmem_anomaly */
	TTM_RECORD_LOSS = 5,     /* w4: enum ttmem_loss, w5: bytes */
	TTM_RECORD_FAILURE = 6,  /* w4: size, w5: largest free */
	TTM_RECORD_MARK = 7,     /* w2: number of the mark */
	TTM_RECORD_DEVICE_OPEN = 8,
	TTM_RECORD_DEVICE_CLOSE = 9, /* epoch: the one that ended */
};

/* bits 0-15 scope (name id, 0: none), 16-39 stack (0: none), 40-63 cores */
#define TTM_W7(scope, stack, cores)                                            \
	((uint64_t)(scope) | (uint64_t)(stack) << 16 | (uint64_t)(cores) << 40)
#define TTM_W7_SCOPE(w7) ((uint32_t)((w7)&0xffff))
#define TTM_W7_STACK(w7) ((uint32_t)((w7) >> 16 & 0xffffff))
#define TTM_W7_CORES(w7) ((uint32_t)((w7) >> 40))
#define TTM_CORES_MAX 0xffffffu
#define TTM_OBJECT_BYTES_MAX ((1ull << 46) - 1) /* totals have 47 bits */

/* What the object takes on its device: see docs/layout.md. */
static inline uint64_t ttm_words_bytes(const struct ttm_words *words)
{
	unsigned figure = TTM_W1_FIGURE(words->w[1]);

	if (figure < TTMEM_FIGURE_CB)
		return words->w[4];
	if (TTM_W1_FLAGS(words->w[1]) & TTM_FLAG_BORROWED)
		return 0;
	return words->w[4] * TTM_W7_CORES(words->w[7]);
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
	uint64_t failures[5]; /* by enum ttmem_kind */
	uint64_t reserved1[3];
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
	uint64_t reserved0[13];
	struct ttm_device_total totals[TTMEM_FIGURES];
	uint64_t reserved1[24];
};

/* -- names, failures, marks ---------------------------------------------------- */

#define TTM_NAME_SIZE 112u
#define TTM_NAME_TRUNCATED (1ull << 32)

/* Name id n >= 1 is entry (n - 1) of the NAMES extents; written once. */
struct ttm_name {
	uint64_t length; /* of the text, in bytes; | TTM_NAME_TRUNCATED */
	uint64_t hash;   /* private to the writer */
	uint64_t text[TTM_NAME_SIZE / 8];
};

/* Number n is entry n % 16; seq is 2n+1 while written, 2n+2 afterwards. */
struct ttm_failure {
	uint64_t seq;
	uint64_t w1; /* as in a record */
	uint64_t size;
	uint64_t largest_free;
	uint64_t time;
	uint64_t w7; /* as in a record */
	uint64_t tid;
	uint64_t reserved;
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
TTM_AT(ttm_header_const, extents_off, 0xd0);
TTM_AT(ttm_header_const, comm, 0xd8);
TTM_AT(ttm_header_const, cmdline, 0xe8);
TTM_AT(ttm_header_const, cgroup, 0x2e8);
TTM_AT(ttm_header_const, checksum, 0x7f8);
TTM_SIZE(ttm_header_const, 0x800);
TTM_AT(ttm_header, live, 0x800);
TTM_AT(ttm_header_live, marks_len, 0x38);
TTM_AT(ttm_header_live, lost_events, 0x40);
TTM_AT(ttm_header_live, lost_bytes, 0xc0);
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
TTM_SIZE(ttm_failure, 64);
TTM_SIZE(ttm_mark, 128);

static_assert(TTM_DIRECTORY_OFF + 4 * TTM_EXTENTS_MAX <= TTM_LANES_OFF, "");
static_assert(TTM_LANES_OFF + 64 * TTM_LANES_MAX <= TTM_DEVICES_OFF, "");
static_assert(TTM_DEVICES_OFF + 1024 * TTM_DEVICES_MAX <= TTM_FAILURES_OFF, "");
static_assert(TTM_FAILURES_OFF + 64 * TTM_FAILURES_KEPT <= TTM_MARKS_OFF, "");
static_assert(TTM_MARKS_OFF + 128 * TTM_MARKS_KEPT <= TTM_EXTENTS_OFF, "");
static_assert(TTM_LANE_RECORDS * 64 == TTM_EXTENT_SIZE, "");
static_assert(TTM_SLOTS_PER_EXTENT * 64 == TTM_EXTENT_SIZE, "");
static_assert(TTM_BLOCKS_PER_EXTENT * 1024 == TTM_EXTENT_SIZE, "");
static_assert(TTM_NAMES_PER_EXTENT * 128 == TTM_EXTENT_SIZE, "");
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

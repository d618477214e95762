/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ttmem: what sits in the memory of Tenstorrent devices, and who put it there.
 *
 * This is the recording side: a runtime calls these hooks, and a segment in
 * shared memory then always holds the exact set of live objects. ttmemd and the
 * tools read that segment; nobody can make a hook wait.
 *
 * For every call below, unless its comment says otherwise:
 *
 *   threads   any thread may call, also at once on the same object;
 *   signals   safe in signal handlers. An event from a handler that interrupted
 *             another hook of its thread is counted as lost (TTMEM_LOSS_NESTED);
 *   fork      safe in a forked child: the child gets a segment of its own with
 *             its first event and owns none of its parent's objects;
 *   exit      safe in static destructors and after ttmem_stop();
 *   progress  lock-free: no lock, no wait, and neither a system call nor an
 *             allocation unless the segment has to start or grow;
 *   errors    hooks return nothing. What is wrong with an event is counted by
 *             reason (enum ttmem_anomaly): an unknown kind, type, flag or device
 *             is not recorded. What could not be kept is counted as lost (enum
 *             ttmem_loss). The program is never disturbed, and errno stays.
 *
 * Report an allocation after the allocator gave the memory, and a free before
 * the memory goes back: in the opposite order another thread's new object may
 * seem to overlap the old one.
 *
 * Caveats: after a siglongjmp() out of a signal handler that interrupted a hook,
 * all later events of that thread are counted as lost. A raw fork system call (not the libc's fork) from a handler
 * that interrupted a hook lets the child finish that hook on its parent's
 * segment. The segment must be on tmpfs.
 */
#ifndef TTMEM_TTMEM_H
#define TTMEM_TTMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ttmem/api.h>
#include <ttmem/version.h>

TTMEM_BEGIN

/* "Not known" in every field of ttmem_device_info; 0 means zero. */
#define TTMEM_UNKNOWN UINT64_MAX

/* The runtime's BufferType numbers, so that a cast is right. */
enum ttmem_kind {
	TTMEM_DRAM = 0,
	TTMEM_L1 = 1,
	TTMEM_SYSTEM_MEMORY = 2,
	TTMEM_L1_SMALL = 3,
	TTMEM_TRACE = 4,
	/* Makes any 32-bit value castable, from C++ too; itself a bad kind. */
	TTMEM_KIND_FORCE_32BIT = 0x7fffffff
};

enum ttmem_kernel_type {
	TTMEM_KERNEL_APPLICATION = 0,
	TTMEM_KERNEL_FABRIC = 1,
	TTMEM_KERNEL_DISPATCH = 2,
	TTMEM_KERNEL_TYPE_FORCE_32BIT = 0x7fffffff
};

/*
 * What is counted apart. The first five are enum ttmem_kind, the last three are
 * TTMEM_FIGURE_KERNEL + enum ttmem_kernel_type.
 */
enum ttmem_figure {
	TTMEM_FIGURE_DRAM = 0,
	TTMEM_FIGURE_L1 = 1,
	TTMEM_FIGURE_SYSTEM_MEMORY = 2,
	TTMEM_FIGURE_L1_SMALL = 3,
	TTMEM_FIGURE_TRACE = 4,
	TTMEM_FIGURE_CB = 5,
	TTMEM_FIGURE_KERNEL = 6,
	TTMEM_FIGURE_KERNEL_APPLICATION = 6,
	TTMEM_FIGURE_KERNEL_FABRIC = 7,
	TTMEM_FIGURE_KERNEL_DISPATCH = 8,
	TTMEM_FIGURES = 9
};

/* Facts about events that a correct program does not produce. */
enum ttmem_anomaly {
	TTMEM_ANOMALY_FREE_UNKNOWN = 0, /* never allocated, or freed already */
	TTMEM_ANOMALY_ALLOC_LIVE = 1,   /* the id was live; it was replaced */
	TTMEM_ANOMALY_BAD_DEVICE = 2,   /* no such mesh, or not a device id */
	TTMEM_ANOMALY_TOO_MANY_DEVICES = 3,
	TTMEM_ANOMALY_BAD_KIND = 4, /* kind, kernel type or flags */
	TTMEM_ANOMALY_OVERFLOW =
		5, /* 2^46 bytes, 2^12 cores, 2^18 banks, or more */
	TTMEM_ANOMALY_LATE_FREE = 6, /* freed after its device was closed */
	TTMEM_ANOMALY_SCOPE_UNDERFLOW = 7, /* a pop without a push */
	TTMEM_ANOMALY_SCOPE_TOO_DEEP = 8,  /* attributed to the 32nd scope */
	TTMEM_ANOMALY_DEVICE_CHANGED = 9,  /* an open id became another chip */
	TTMEM_ANOMALIES = 10
};

/* Why an event is not in the segment. Each is a reason to distrust a total. */
enum ttmem_loss {
	TTMEM_LOSS_NO_SLOT = 0,  /* the segment could not grow */
	TTMEM_LOSS_NO_INDEX = 1, /* no private memory for the id index */
	TTMEM_LOSS_NO_LANE = 2,  /* more threads than lanes, or no memory */
	TTMEM_LOSS_NESTED = 3,   /* by a handler that interrupted a hook */
	TTMEM_LOSS_NO_NAME = 4,  /* scope names ran out: not attributed */
	TTMEM_LOSS_NO_PLACE =
		5, /* places ran out: a part that was freed still shows */
	TTMEM_LOSSES = 6
};

/* ttmem_cb_alloc: the CB lies in a tensor's L1 buffer and adds no bytes. */
#define TTMEM_CB_BORROWED 1u
/* ttmem_cb_alloc: other L1 that a program owns; counted as CBs, shown apart. */
#define TTMEM_CB_DATAFLOW 2u
#define TTMEM_CB_SCRATCHPAD 4u
/* ttmem_buffer_alloc: may outlive a test, as the program cache's binaries do. */
#define TTMEM_BUFFER_PERSISTENT 1u
/* ttmem_buffer_alloc: a trace that is stored in DRAM. */
#define TTMEM_BUFFER_TRACE 2u
/* ttmem_buffer_alloc: the address differs by core; `address` is one of them. */
#define TTMEM_BUFFER_PER_CORE 4u
/* ttmem_kernel_load: resident in the reserved ring, not added to L1 use. */
#define TTMEM_KERNEL_IN_RING 1u
/* ttmem_scope_push: what is allocated inside may outlive a test. */
#define TTMEM_SCOPE_PERSISTENT 1u

#define TTMEM_PCI_ADDRESS(domain, bus, device, function)                       \
	(((UINT64_C(0xffffffff) & (domain)) << 16) |                           \
		((UINT64_C(0xff) & (bus)) << 8) |                              \
		((UINT64_C(0x1f) & (device)) << 3) |                           \
		(UINT64_C(0x7) & (function)))

/* -- start, stop, state -------------------------------------------------- */

/* Everything zero is the default; `size` must be sizeof(struct ttmem_config). */
struct ttmem_config {
	size_t size;
	const char *dir; /* base directory; NULL: $TTMEM_DIR, then defaults */
	uint64_t max_bytes; /* cap of the segment file; 0: 1 GiB */
};

enum ttmem_state {
	TTMEM_STATE_OFF = 0,       /* not asked for, or stopped */
	TTMEM_STATE_PENDING = 1,   /* on; the first event makes the segment */
	TTMEM_STATE_ON = 2,        /* on, with a segment */
	TTMEM_STATE_UNTRACKED = 3, /* asked for, but impossible: see `error` */
	TTMEM_STATE_FORCE_32BIT = 0x7fffffff
};

struct ttmem_status {
	size_t size;    /* in: sizeof(struct ttmem_status) */
	uint32_t state; /* enum ttmem_state */
	int32_t error;  /* negative errno behind UNTRACKED, else 0 */
	uint64_t lost_events[TTMEM_LOSSES];
	uint64_t lost_bytes[TTMEM_LOSSES]; /* allocations that were not kept */
	uint64_t anomalies[TTMEM_ANOMALIES];
	char reason[128];  /* "" or what went wrong, for people */
	char segment[256]; /* path of the segment file; "": none, or too long */
};

/*
 * Internal, here for ttmem_enabled() only: 0 not decided yet, 1 off, 2 on.
 * Written by the library alone.
 */
extern TTMEM_API int ttmem_internal_switch;
TTMEM_API bool ttmem_internal_decide(void);

/*
 * Whether hooks do anything, for callers that compute arguments first. A load
 * and a branch once decided. Hooks test it themselves.
 */
static inline bool ttmem_enabled(void)
{
	const volatile int *word = &ttmem_internal_switch;
	int decided = *word;

	return decided ? decided > 1 : ttmem_internal_decide();
}

/*
 * Turns tracking on and makes the segment now. Optional: with TTMEM_ENABLED=1
 * (or TT_ALLOC_TRACKING_ENABLED=1) in the environment the first event does the
 * same. `config` may be NULL and is not kept. A start after a stop makes a new
 * segment. Returns 0 (also when it is on already), -ECANCELED when
 * TTMEM_ENABLED=0 forbids it or a stop comes at the same time, -EINVAL for a wrong
 * config->size or a directory that is not an absolute path, or what kept the
 * segment from being made: -ENOENT, -EACCES or -EPERM (base directory missing,
 * not ours, open to others), -EMEDIUMTYPE (not tmpfs), -EROFS, -ENOSPC, -EFBIG
 * (RLIMIT_FSIZE), -EMFILE, -ENFILE, -ENOMEM, -ENAMETOOLONG. Not for signal
 * handlers.
 */
TTMEM_API int ttmem_start(const struct ttmem_config *config);

/*
 * Ends tracking: hooks do nothing from now on. The segment is removed if no
 * object is left in it, no event was lost and no ttmemd serves the directory;
 * otherwise it stays, as after the end of the process. Hooks that run in other threads at that moment are
 * waited for, and what they record is in it; for one that does not return, because its
 * thread is stopped or left it by siglongjmp(), only a tenth of a second. Not for signal
 * handlers.
 */
TTMEM_API void ttmem_stop(void);

/*
 * Fills *ret_status, whose `size` the caller has set. Returns 0, or -EINVAL for
 * NULL or a wrong size (then *ret_status is untouched).
 */
TTMEM_API int ttmem_status(struct ttmem_status *ret_status);

/* -- devices -------------------------------------------------------------- */

/*
 * Unknown fields: TTMEM_UNKNOWN, or "" for the names. Fill it with
 * ttmem_device_info_init() first.
 */
struct ttmem_device_info {
	size_t size;
	uint32_t device;   /* logical id, below 2^31 */
	uint32_t reserved; /* 0 */
	uint64_t chip_id;  /* unique id of the chip, the same for everybody */
	uint64_t pci_address; /* TTMEM_PCI_ADDRESS() */
	char arch[16];        /* "wormhole_b0", "blackhole" */
	char board[16];       /* "n150", "p150a" */
	uint64_t dram_bytes;
	uint64_t l1_bytes_per_core;
	uint64_t cores;
	uint64_t l1_small_bytes; /* size of the region, per core */
	uint64_t trace_bytes;    /* size of the region */
	uint64_t l1_base;        /* first allocatable address */
	uint64_t l1_top;         /* end of the allocatable addresses */
	uint64_t dram_banks;
	uint64_t dram_bank_bytes; /* allocatable bytes of one bank */
	uint64_t dram_base;       /* first allocatable address of a bank */
	uint64_t l1_banks;
	uint64_t
		gateway; /* remote chip: chip_id of the one it is reached through */
};

static inline void ttmem_device_info_init(
	struct ttmem_device_info *ret_info, uint32_t device)
{
	size_t i;

	ret_info->size = sizeof(*ret_info);
	ret_info->device = device;
	ret_info->reserved = 0;
	ret_info->chip_id = TTMEM_UNKNOWN;
	ret_info->pci_address = TTMEM_UNKNOWN;
	for (i = 0; i < sizeof(ret_info->arch); i++)
		ret_info->arch[i] = '\0';
	for (i = 0; i < sizeof(ret_info->board); i++)
		ret_info->board[i] = '\0';
	ret_info->dram_bytes = TTMEM_UNKNOWN;
	ret_info->l1_bytes_per_core = TTMEM_UNKNOWN;
	ret_info->cores = TTMEM_UNKNOWN;
	ret_info->l1_small_bytes = TTMEM_UNKNOWN;
	ret_info->trace_bytes = TTMEM_UNKNOWN;
	ret_info->l1_base = TTMEM_UNKNOWN;
	ret_info->l1_top = TTMEM_UNKNOWN;
	ret_info->dram_banks = TTMEM_UNKNOWN;
	ret_info->dram_bank_bytes = TTMEM_UNKNOWN;
	ret_info->dram_base = TTMEM_UNKNOWN;
	ret_info->l1_banks = TTMEM_UNKNOWN;
	ret_info->gateway = TTMEM_UNKNOWN;
}

/*
 * Tells what a logical id stands for. Optional: an event on an id never opened
 * makes an entry of its own, which a later open fills in. Opening an id again
 * updates its sizes; opening it as another chip starts a new entry and orphans
 * what the old one still held. At most 64 entries per process. `info` is not
 * kept; one whose size or device is wrong counts BAD_DEVICE.
 */
TTMEM_API void ttmem_device_open(const struct ttmem_device_info *info);

/*
 * `device`, or every member of a mesh, is closed. What is still live on it
 * becomes orphaned: in the leak list, in no total.
 */
TTMEM_API void ttmem_device_close(uint32_t device);

/*
 * Returns a handle (bit 31 set, never reused by this process) that stands for
 * all of `devices` wherever a `device` argument is taken. A buffer, CB or kernel on
 * a mesh is one object, however many devices the mesh has, with its bytes on each of
 * them. Handles belong to the process: they stay valid after ttmem_stop() and in
 * forked children. Duplicate members count once; meshes do not nest. `devices` is
 * not kept. Returns UINT32_MAX, which no call accepts as a device, when off, for an
 * empty list, a bad member or more than 64 members, and after 65,536 meshes.
 */
TTMEM_API uint32_t ttmem_mesh_open(const uint32_t *devices, size_t devices_len);

/* Ends the handle, not the devices: use ttmem_device_close() for those. */
TTMEM_API void ttmem_mesh_close(uint32_t mesh);

/* A rectangle of cores, both corners included: x below 32, y below 31. */
struct ttmem_core_range {
	uint32_t first_x;
	uint32_t first_y;
	uint32_t last_x;
	uint32_t last_y;
};

/*
 * Returns a handle (bit 31 set) that stands for the cores of all `ranges` wherever a
 * `cores` argument is taken: with it, the memory that CBs take on their cores is known
 * exactly. The same cores give the same handle, unless two threads ask at once. It stays
 * valid like a mesh handle. Ranges may overlap. `ranges` is not kept. Returns the plain number of cores when off,
 * for cores outside of the grid, and after 4,095 different sets; 0 for no ranges.
 */
TTMEM_API uint32_t ttmem_core_set(
	const struct ttmem_core_range *ranges, size_t ranges_len);

/* -- objects -------------------------------------------------------------- */

/*
 * A buffer as its allocator knows it. Fill it with ttmem_buffer_init() first.
 *
 * The used bytes are what the allocator reserved, bytes_per_bank x banks: a lockstep
 * allocator reserves the same range on each of its banks, whichever of them hold data.
 * If one of the two is unknown, the used bytes are `bytes`.
 */
struct ttmem_buffer {
	size_t size;
	uint32_t device; /* device or mesh */
	uint32_t kind;   /* enum ttmem_kind */
	uint64_t id;
	uint64_t address;
	uint64_t bytes;          /* requested, on each device */
	uint64_t bytes_per_bank; /* reserved on each bank; TTMEM_UNKNOWN */
	uint32_t banks;          /* on which it is reserved; 0: unknown */
	uint32_t cores;    /* that hold it: a count or core set; 0: unknown */
	uint32_t flags;    /* TTMEM_BUFFER_* */
	uint32_t reserved; /* 0 */
};

static inline void ttmem_buffer_init(
	struct ttmem_buffer *ret_buffer, uint32_t device, enum ttmem_kind kind)
{
	ret_buffer->size = sizeof(*ret_buffer);
	ret_buffer->device = device;
	ret_buffer->kind = kind;
	ret_buffer->id = 0;
	ret_buffer->address = 0;
	ret_buffer->bytes = 0;
	ret_buffer->bytes_per_bank = TTMEM_UNKNOWN;
	ret_buffer->banks = 0;
	ret_buffer->cores = 0;
	ret_buffer->flags = 0;
	ret_buffer->reserved = 0;
}

/*
 * A buffer is known by (device or mesh, kind, id); the address is data. Allocating a
 * live id on the same device or mesh replaces it and counts ALLOC_LIVE. Ids must be
 * unique across handles: allocated on two meshes that share a device, one id is two
 * objects. `buffer` is not kept; a wrong size or kind counts BAD_KIND.
 */
TTMEM_API void ttmem_buffer_alloc(const struct ttmem_buffer *buffer);

/* The short form: bank figures are unknown, and so `size` bytes are used. */
TTMEM_API void ttmem_alloc(uint32_t device, enum ttmem_kind kind, uint64_t id,
	uint64_t addr, uint64_t size);

/*
 * Frees the buffer on the device or on all members of the mesh, through whatever
 * handle it was allocated. Freed on some of its devices only, the buffer stays on the
 * others. A free never creates the segment.
 */
TTMEM_API void ttmem_free(uint32_t device, enum ttmem_kind kind, uint64_t id);

/*
 * The same for callers that do not know the kind: frees one buffer of that id, of
 * the first kind that has it. One that is orphaned goes only if none is live.
 */
TTMEM_API void ttmem_free_any(uint32_t device, uint64_t id);

/*
 * A circular buffer is known by (device or mesh, program, cb). It takes size_per_core x
 * cores bytes; `cores` is a count or a core set. Allocating a live one replaces it: that is how programs are
 * planned anew, and no anomaly.
 */
TTMEM_API void ttmem_cb_alloc(uint32_t device, uint64_t program, uint64_t cb,
	uint64_t addr, uint64_t size_per_core, uint32_t cores, uint32_t flags);
TTMEM_API void ttmem_cb_free(uint32_t device, uint64_t program, uint64_t cb);

/* Frees every CB of the device, whatever its program: looks at all objects. */
TTMEM_API void ttmem_cb_free_all(uint32_t device);

/*
 * A kernel is known by (device, kernel), `kernel` being its program's id: on a device
 * it is loaded once, through whatever handle. It takes binary_size x cores bytes;
 * `cores` is a count or a core set. Loading a live one again, the same in type,
 * size, cores and flags, counts a dispatch; otherwise it replaces. Fabric and
 * dispatch kernels are persistent.
 */
TTMEM_API void ttmem_kernel_load(uint32_t device, uint64_t kernel,
	enum ttmem_kernel_type type, uint64_t binary_size, uint32_t cores,
	uint32_t flags);
TTMEM_API void ttmem_kernel_unload(uint32_t device, uint64_t kernel);

/*
 * For callers that cannot know: 56 KiB is a fabric kernel, 46 KiB a dispatch
 * kernel. Sizes vary between releases; prefer to say what you know.
 */
static inline enum ttmem_kernel_type ttmem_kernel_type_guess(
	uint64_t binary_size)
{
	if (binary_size == 57344)
		return TTMEM_KERNEL_FABRIC;
	if (binary_size == 47104)
		return TTMEM_KERNEL_DISPATCH;
	return TTMEM_KERNEL_APPLICATION;
}

/*
 * Frees the CBs of the program, and the kernel of that id; none is fine. What is
 * left of them from before the device was closed goes, too.
 */
TTMEM_API void ttmem_program_destroy(uint32_t device, uint64_t program);

/* -- context -------------------------------------------------------------- */

/*
 * Scopes are per thread and nest; the innermost name, and the scopes around it,
 * attribute what the thread allocates. Whatever is inside a persistent scope is
 * persistent. `name` is copied; 112 bytes of it are kept. Up to 65,535 different names
 * per process, 32 levels. Returns the number of scopes before the call, for
 * ttmem_scope_pop_to(); 0 when off.
 */
TTMEM_API uint32_t ttmem_scope_push(const char *name, uint32_t flags);
TTMEM_API void ttmem_scope_pop(void);

/* Ends all scopes above `depth`, also those that an exception left behind. */
TTMEM_API void ttmem_scope_pop_to(uint32_t depth);

/*
 * An allocation that did not succeed, as the allocator knows it. Fill it with
 * ttmem_failure_init() first.
 */
struct ttmem_failure {
	size_t size;
	uint32_t device; /* device or mesh */
	uint32_t kind; /* enum ttmem_kind, or TTMEM_FIGURE_CB: CBs do not fit */
	uint64_t bytes; /* requested, on each device */
	uint64_t bytes_per_bank;
	uint64_t free_per_bank;
	uint64_t largest_free_per_bank;
	uint64_t program; /* whose CBs do not fit, or that asked */
};

static inline void ttmem_failure_init(
	struct ttmem_failure *ret_failure, uint32_t device, uint32_t kind)
{
	ret_failure->size = sizeof(*ret_failure);
	ret_failure->device = device;
	ret_failure->kind = kind;
	ret_failure->bytes = TTMEM_UNKNOWN;
	ret_failure->bytes_per_bank = TTMEM_UNKNOWN;
	ret_failure->free_per_bank = TTMEM_UNKNOWN;
	ret_failure->largest_free_per_bank = TTMEM_UNKNOWN;
	ret_failure->program = TTMEM_UNKNOWN;
}

/* The last 16 are kept. `failure` is not kept; a wrong size or kind counts BAD_KIND. */
TTMEM_API void ttmem_alloc_failed(const struct ttmem_failure *failure);

/*
 * A point in time with a name, for reports "since". The last 64 are kept, of each
 * text 96 bytes.
 */
TTMEM_API void ttmem_mark(const char *text);

/* -- this process's own figures ------------------------------------------- */

struct ttmem_usage_figure {
	uint64_t live_bytes;
	uint64_t live_objects;
	uint64_t peak_bytes; /* since the start or ttmem_peak_reset() */
};

struct ttmem_usage {
	size_t size; /* in: sizeof(struct ttmem_usage) */
	struct ttmem_usage_figure figures[TTMEM_FIGURES];
};

/*
 * What this process has on a device, or on all members of a mesh together (the
 * peaks are then summed, too). Exact when no other thread is in a hook; peaks
 * are exact when one thread allocates and frees, otherwise within 16 MiB per thread
 * for DRAM and system memory, 4 KiB for L1_SMALL, 64 KiB for all others. Orphaned objects are not in it. Returns 0, -EINVAL for NULL or a wrong
 * size, -ENODATA when tracking is off or has no segment yet, -ENODEV for a
 * device or mesh that this process has not named; *ret_usage is then untouched.
 * Makes no segment.
 */
TTMEM_API int ttmem_usage(uint32_t device, struct ttmem_usage *ret_usage);

/* Peaks of the device start again from what is live now; an unknown one is fine. */
TTMEM_API void ttmem_peak_reset(uint32_t device);

TTMEM_END

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "hooks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ttmem/ttmem.h>

#define SMALL 512u /* a batch of them folds no total */
#define SMALL_ON_MESH 2048u
#define LARGE (1u << 20)
#define CORES 64u
#define PROGRAM_CBS 8u
#define BANKS 12u
#define SIDES 2u
#define MESH_MAX 32u

#define ALWAYS_INLINE inline __attribute__((always_inline))

static uint32_t meshes[SIDES];

/* -- what objects are ------------------------------------------------------ */

static ALWAYS_INLINE void buffer_make(
	const struct bench_side *side, uint64_t id)
{
	ttmem_alloc(side->device, (enum ttmem_kind)side->hook->kind, id,
		id << 12, side->hook->size);
}

/* As an allocator knows it that reserves the same on each bank. */
static ALWAYS_INLINE void banked_make(
	const struct bench_side *side, uint64_t id)
{
	struct ttmem_buffer buffer;

	ttmem_buffer_init(
		&buffer, side->device, (enum ttmem_kind)side->hook->kind);
	buffer.id = id;
	buffer.address = id << 12;
	buffer.bytes = side->hook->size;
	buffer.bytes_per_bank = side->hook->size / 8;
	buffer.banks = BANKS;
	ttmem_buffer_alloc(&buffer);
}

static ALWAYS_INLINE void buffer_drop(
	const struct bench_side *side, uint64_t id)
{
	ttmem_free(side->device, (enum ttmem_kind)side->hook->kind, id);
}

/*
 * Sides take turns with programs, as with other ids: a runtime plans one on one thread
 * (mixed_cb_make() is about one that does not). There are one or two sides, so that this
 * costs next to nothing.
 */
static ALWAYS_INLINE uint64_t cb_program(
	const struct bench_side *side, uint64_t id)
{
	unsigned other = side->sides - 1;

	return ((id >> other) / PROGRAM_CBS) << other | (id & other);
}

static ALWAYS_INLINE uint64_t cb_id(const struct bench_side *side, uint64_t id)
{
	return (id >> (side->sides - 1)) % PROGRAM_CBS;
}

static ALWAYS_INLINE void cb_make(const struct bench_side *side, uint64_t id)
{
	ttmem_cb_alloc(side->device, cb_program(side, id), cb_id(side, id),
		id << 12, side->hook->size, side->cores, 0);
}

static ALWAYS_INLINE void cb_drop(const struct bench_side *side, uint64_t id)
{
	ttmem_cb_free(side->device, cb_program(side, id), cb_id(side, id));
}

/* Sides take turns with the CBs of one program. */
static ALWAYS_INLINE void mixed_cb_make(
	const struct bench_side *side, uint64_t id)
{
	ttmem_cb_alloc(side->device, id / PROGRAM_CBS, id % PROGRAM_CBS,
		id << 12, side->hook->size, side->cores, 0);
}

static ALWAYS_INLINE void mixed_cb_drop(
	const struct bench_side *side, uint64_t id)
{
	ttmem_cb_free(side->device, id / PROGRAM_CBS, id % PROGRAM_CBS);
}

static ALWAYS_INLINE void kernel_make(
	const struct bench_side *side, uint64_t id)
{
	ttmem_kernel_load(side->device, id, TTMEM_KERNEL_APPLICATION,
		side->hook->size, side->cores, 0);
}

static ALWAYS_INLINE void kernel_drop(
	const struct bench_side *side, uint64_t id)
{
	ttmem_kernel_unload(side->device, id);
}

static void program_make(const struct bench_side *side, uint64_t id)
{
	uint64_t cb;

	for (cb = 0; cb < PROGRAM_CBS; cb++)
		ttmem_cb_alloc(side->device, id, cb, cb << 12, side->hook->size,
			side->cores, 0);
	kernel_make(side, id);
}

static ALWAYS_INLINE void program_drop(
	const struct bench_side *side, uint64_t id)
{
	ttmem_program_destroy(side->device, id);
}

static void nothing(const struct bench_side *side, uint64_t id)
{
	(void)side;
	(void)id;
}

static const struct bench_class buffers = {
	.make = buffer_make,
	.drop = buffer_drop,
	.objects = 1,
};

static const struct bench_class banked_buffers = {
	.make = banked_make,
	.drop = buffer_drop,
	.objects = 1,
};

static const struct bench_class cbs = {
	.make = cb_make,
	.drop = cb_drop,
	.objects = 1,
	.keeps_ids = true,
};

static const struct bench_class mixed_cbs = {
	.make = mixed_cb_make,
	.drop = mixed_cb_drop,
	.objects = 1,
	.keeps_ids = true,
};

static const struct bench_class kernels = {
	.make = kernel_make,
	.drop = kernel_drop,
	.objects = 1,
};

static const struct bench_class programs = {
	.make = program_make,
	.drop = program_drop,
	.objects = PROGRAM_CBS + 1,
};

static const struct bench_class no_objects = {
	.make = nothing,
	.drop = nothing,
	.objects = 1,
};

/* -- batches ---------------------------------------------------------------- */

typedef void act_fn(const struct bench_side *side, uint64_t id);

static ALWAYS_INLINE void each(
	const struct bench_side *side, const uint64_t *ids, act_fn *act)
{
	unsigned i, len = side->hook->batch_len;

	for (i = 0; i < len; i++)
		act(side, ids[i]);
}

static void run_buffer_make(struct bench_side *side)
{
	each(side, side->fresh, buffer_make);
}

static void run_banked_make(struct bench_side *side)
{
	each(side, side->fresh, banked_make);
}

static void run_buffer_drop(struct bench_side *side)
{
	each(side, side->ids, buffer_drop);
}

static void run_buffer_pair(struct bench_side *side)
{
	unsigned i, len = side->hook->batch_len;

	for (i = 0; i < len; i++) {
		buffer_make(side, side->fresh[i]);
		buffer_drop(side, side->ids[i]);
	}
}

/* What is allocated is freed at once. */
static void run_buffer_brief(struct bench_side *side)
{
	unsigned i, len = side->hook->batch_len;

	for (i = 0; i < len; i++) {
		buffer_make(side, side->fresh[i]);
		buffer_drop(side, side->fresh[i]);
	}
}

static void run_cb_make(struct bench_side *side)
{
	each(side, side->fresh, cb_make);
}

static void run_cb_again(struct bench_side *side)
{
	each(side, side->ids, cb_make);
}

static void run_cb_drop(struct bench_side *side)
{
	each(side, side->ids, cb_drop);
}

static void run_mixed_cb_make(struct bench_side *side)
{
	each(side, side->fresh, mixed_cb_make);
}

static void run_mixed_cb_again(struct bench_side *side)
{
	each(side, side->ids, mixed_cb_make);
}

static void run_mixed_cb_drop(struct bench_side *side)
{
	each(side, side->ids, mixed_cb_drop);
}

static void run_kernel_make(struct bench_side *side)
{
	each(side, side->fresh, kernel_make);
}

static void run_kernel_again(struct bench_side *side)
{
	each(side, side->ids, kernel_make);
}

static void run_kernel_drop(struct bench_side *side)
{
	each(side, side->ids, kernel_drop);
}

static void run_program_drop(struct bench_side *side)
{
	each(side, side->ids, program_drop);
}

static void run_scope(struct bench_side *side)
{
	static const char *const names[] = {
		"ttnn.matmul",
		"ttnn.softmax",
		"ttnn.layer_norm",
		"model.layers.17.attention",
	};
	unsigned i, len = side->hook->batch_len;

	for (i = 0; i < len; i++) {
		ttmem_scope_push(names[i % 4], 0);
		ttmem_scope_pop();
	}
}

static void run_usage(struct bench_side *side)
{
	struct ttmem_usage usage = { .size = sizeof(usage) };
	unsigned i, len = side->hook->batch_len;

	for (i = 0; i < len; i++)
		ttmem_usage(side->device, &usage);
}

/* -- the table -------------------------------------------------------------- */

#define BUFFER(name_, text_, verb_, run_, kind_, size_)                        \
	{                                                                      \
		.name = name_, .text = text_, .class = &buffers,               \
		.verb = verb_, .run = run_, .kind = kind_, .size = size_,      \
		.batch_len = 64, .calls = 1, .records = 1,                     \
	}
#define BUFFER_PAIR(name_, text_, verb_, run_, kind_, size_)                   \
	{                                                                      \
		.name = name_, .text = text_, .class = &buffers,               \
		.verb = verb_, .run = run_, .kind = kind_, .size = size_,      \
		.batch_len = 32, .calls = 2, .records = 2,                     \
	}
/* One object on so many devices, in one call. */
#define MESH(name_, text_, verb_, run_, mesh_, size_)                          \
	{                                                                      \
		.name = name_, .text = text_, .class = &buffers,               \
		.verb = verb_, .run = run_, .kind = TTMEM_DRAM, .size = size_, \
		.mesh = mesh_, .batch_len = 16, .calls = 1, .records = 1,      \
	}
#define PROGRAM_END(name_, text_, mesh_)                                       \
	{                                                                      \
		.name = name_, .text = text_, .class = &programs,              \
		.verb = BENCH_DROP, .run = run_program_drop,                   \
		.size = SMALL / CORES, .mesh = mesh_, .batch_len = 8,          \
		.calls = 1, .records = PROGRAM_CBS + 1,                        \
	}
#define MESH_CB(name_, text_, mesh_)                                           \
	{                                                                      \
		.name = name_, .text = text_, .class = &cbs,                   \
		.verb = BENCH_KEEP, .run = run_cb_again,                       \
		.size = SMALL / CORES, .mesh = mesh_, .batch_len = 16,         \
		.calls = 1, .records = 2,                                      \
	}
#define ON_CORES(name_, text_, class_, verb_, run_, size_, records_)           \
	{                                                                      \
		.name = name_, .text = text_, .class = class_, .verb = verb_,  \
		.run = run_, .size = size_, .batch_len = 64, .calls = 1,       \
		.records = records_,                                           \
	}

/* A CB or kernel of SMALL / CORES bytes per core is a small object. */
const struct bench_hook bench_hooks[] = {
	BUFFER("alloc_small", "a DRAM buffer of 512 bytes is allocated",
		BENCH_MAKE, run_buffer_make, TTMEM_DRAM, SMALL),
	BUFFER("alloc_large", "the same, 1 MiB", BENCH_MAKE, run_buffer_make,
		TTMEM_DRAM, LARGE),
	BUFFER("free_small", "and freed", BENCH_DROP, run_buffer_drop,
		TTMEM_DRAM, SMALL),
	BUFFER("free_large", "and freed", BENCH_DROP, run_buffer_drop,
		TTMEM_DRAM, LARGE),
	{
		.name = "alloc_banked",
		.text = "512 bytes with bank figures",
		.class = &banked_buffers,
		.verb = BENCH_MAKE,
		.run = run_banked_make,
		.kind = TTMEM_DRAM,
		.size = SMALL,
		.batch_len = 64,
		.calls = 1,
		.records = 1,
	},
	BUFFER_PAIR("alloc_free_pair", "one allocated, another freed, DRAM",
		BENCH_PAIR, run_buffer_pair, TTMEM_DRAM, SMALL),
	BUFFER_PAIR("alloc_free_pair_large", "the same, 1 MiB", BENCH_PAIR,
		run_buffer_pair, TTMEM_DRAM, LARGE),
	BUFFER_PAIR("alloc_free_pair_l1", "512 bytes of L1", BENCH_PAIR,
		run_buffer_pair, TTMEM_L1, SMALL),
	BUFFER_PAIR("alloc_free_pair_l1_small",
		"of L1_SMALL, whose total moves sooner", BENCH_PAIR,
		run_buffer_pair, TTMEM_L1_SMALL, SMALL),
	BUFFER_PAIR("alloc_free_pair_system_memory", "of SYSTEM_MEMORY",
		BENCH_PAIR, run_buffer_pair, TTMEM_SYSTEM_MEMORY, SMALL),
	BUFFER_PAIR("alloc_free_pair_trace", "of TRACE", BENCH_PAIR,
		run_buffer_pair, TTMEM_TRACE, SMALL),
	BUFFER_PAIR("alloc_free_brief", "freed as soon as it is allocated",
		BENCH_KEEP, run_buffer_brief, TTMEM_DRAM, SMALL),
	ON_CORES("cb_alloc", "a CB of 8 bytes on 64 cores", &cbs, BENCH_MAKE,
		run_cb_make, SMALL / CORES, 1),
	{
		.name = "cb_alloc_core_set",
		.text = "the same on a core set",
		.class = &cbs,
		.verb = BENCH_MAKE,
		.run = run_cb_make,
		.size = SMALL / CORES,
		.core_set = true,
		.batch_len = 64,
		.calls = 1,
		.records = 1,
	},
	ON_CORES("cb_replace", "a live CB is allocated again", &cbs, BENCH_KEEP,
		run_cb_again, SMALL / CORES, 2),
	ON_CORES("cb_free", "and freed", &cbs, BENCH_DROP, run_cb_drop,
		SMALL / CORES, 1),
	ON_CORES("mixed_cb_alloc", "a CB; both threads plan each program",
		&mixed_cbs, BENCH_MAKE, run_mixed_cb_make, SMALL / CORES, 1),
	ON_CORES("mixed_cb_replace", "the same, allocated again", &mixed_cbs,
		BENCH_KEEP, run_mixed_cb_again, SMALL / CORES, 2),
	ON_CORES("mixed_cb_free", "and freed", &mixed_cbs, BENCH_DROP,
		run_mixed_cb_drop, SMALL / CORES, 1),
	ON_CORES("kernel_load", "a kernel that was not there", &kernels,
		BENCH_MAKE, run_kernel_make, SMALL / CORES, 1),
	ON_CORES("kernel_dispatch", "a kernel that was", &kernels, BENCH_KEEP,
		run_kernel_again, SMALL / CORES, 1),
	ON_CORES("kernel_unload", "and unloaded", &kernels, BENCH_DROP,
		run_kernel_drop, SMALL / CORES, 1),
	PROGRAM_END("program_destroy", "a program with a kernel and 8 CBs", 0),
	PROGRAM_END("mesh8_program_destroy", "the same on eight devices", 8),
	PROGRAM_END("mesh32_program_destroy", "the same on 32 devices", 32),
	{
		.name = "scope_push_pop",
		.text = "a scope, four names in turn (floor: two events)",
		.class = &buffers,
		.verb = BENCH_ALONE,
		.run = run_scope,
		.size = SMALL,
		.batch_len = 32,
		.calls = 2,
		.records = 2,
	},
	MESH("mesh1_alloc_2k", "2 KiB of DRAM on a mesh of one device",
		BENCH_MAKE, run_buffer_make, 1, SMALL_ON_MESH),
	MESH("mesh1_free_2k", "and freed", BENCH_DROP, run_buffer_drop, 1,
		SMALL_ON_MESH),
	MESH("mesh1_alloc_1m", "the same, 1 MiB", BENCH_MAKE, run_buffer_make,
		1, LARGE),
	MESH("mesh1_free_1m", "and freed", BENCH_DROP, run_buffer_drop, 1,
		LARGE),
	MESH("mesh8_alloc_2k", "2 KiB on each of eight devices", BENCH_MAKE,
		run_buffer_make, 8, SMALL_ON_MESH),
	MESH("mesh8_free_2k", "and freed", BENCH_DROP, run_buffer_drop, 8,
		SMALL_ON_MESH),
	MESH("mesh8_alloc_1m", "the same, 1 MiB", BENCH_MAKE, run_buffer_make,
		8, LARGE),
	MESH("mesh8_free_1m", "and freed", BENCH_DROP, run_buffer_drop, 8,
		LARGE),
	MESH("mesh32_alloc_2k", "2 KiB on each of 32 devices", BENCH_MAKE,
		run_buffer_make, 32, SMALL_ON_MESH),
	MESH("mesh32_free_2k", "and freed", BENCH_DROP, run_buffer_drop, 32,
		SMALL_ON_MESH),
	MESH("mesh32_alloc_1m", "the same, 1 MiB", BENCH_MAKE, run_buffer_make,
		32, LARGE),
	MESH("mesh32_free_1m", "and freed", BENCH_DROP, run_buffer_drop, 32,
		LARGE),
	MESH_CB("mesh8_cb_replace", "a live CB of eight devices, again", 8),
	MESH_CB("mesh32_cb_replace", "a live CB of 32 devices, again", 32),
	{
		.name = "usage",
		.text = "ttmem_usage of one device (floor: one event)",
		.class = &buffers,
		.verb = BENCH_ALONE,
		.run = run_usage,
		.size = SMALL,
		.batch_len = 16,
		.calls = 1,
		.records = 1,
	},
	{
		.name = "disabled",
		.text = "an allocation and a free with tracking off",
		.class = &no_objects,
		.verb = BENCH_PAIR,
		.run = run_buffer_pair,
		.size = SMALL,
		.batch_len = 32,
		.calls = 2,
		.records = 2,
		.off = true,
	},
};

const size_t bench_hooks_len = sizeof(bench_hooks) / sizeof(bench_hooks[0]);

const struct bench_hook *bench_hook_find(const char *name)
{
	size_t i;

	for (i = 0; i < bench_hooks_len; i++)
		if (strcmp(bench_hooks[i].name, name) == 0)
			return &bench_hooks[i];
	return NULL;
}

/* -- around a batch --------------------------------------------------------- */

static uint64_t random_below(struct bench_side *side, uint64_t limit)
{
	side->random ^= side->random << 13;
	side->random ^= side->random >> 7;
	side->random ^= side->random << 17;
	return side->random % limit;
}

/* Brings ids taken at random to the front. */
static void ids_choose(struct bench_side *side)
{
	uint64_t other, id;
	unsigned i;

	for (i = 0; i < side->hook->batch_len; i++) {
		other = i + random_below(side, side->ids_len - i);
		id = side->ids[other];
		side->ids[other] = side->ids[i];
		side->ids[i] = id;
	}
}

/* Sides take turns, as with a runtime's counter. */
static uint64_t id_new(struct bench_side *side)
{
	side->next_id += side->sides;
	return side->next_id;
}

static void fresh_choose(struct bench_side *side)
{
	bool keeps = side->hook->class->keeps_ids;
	unsigned i;

	for (i = 0; i < side->hook->batch_len; i++)
		side->fresh[i] = keeps ? side->ids[i] : id_new(side);
}

void bench_before(struct bench_side *side)
{
	const struct bench_hook *hook = side->hook;

	if (hook->verb == BENCH_ALONE)
		return;
	ids_choose(side);
	fresh_choose(side);
	if (hook->verb == BENCH_MAKE)
		each(side, side->ids, hook->class->drop);
}

void bench_after(struct bench_side *side)
{
	const struct bench_hook *hook = side->hook;

	if (hook->verb == BENCH_ALONE || hook->verb == BENCH_KEEP)
		return;
	if (hook->verb == BENCH_DROP)
		each(side, side->fresh, hook->class->make);
	memcpy(side->ids, side->fresh,
		hook->batch_len * sizeof(side->fresh[0]));
}

/* -- before and after it all ------------------------------------------------- */

int bench_start(const struct bench_hook *hook)
{
	unsigned each_side = hook->mesh ? hook->mesh : 1, side;
	uint32_t devices[SIDES * MESH_MAX], i;
	struct ttmem_device_info info;
	int r;

	if (hook->off) {
		setenv("TTMEM_ENABLED", "0", 1);
		return ttmem_enabled() ? -ECANCELED : 0;
	}
	r = ttmem_start(NULL);
	if (r < 0)
		return r;
	for (i = 0; i < SIDES * each_side; i++) {
		devices[i] = i;
		ttmem_device_info_init(&info, i);
		info.chip_id = i;
		ttmem_device_open(&info);
	}
	for (side = 0; side < SIDES && hook->mesh; side++)
		meshes[side] = ttmem_mesh_open(
			devices + side * hook->mesh, hook->mesh);
	return 0;
}

uint32_t bench_device(const struct bench_hook *hook, unsigned number)
{
	return hook->mesh ? meshes[number] : number;
}

int bench_side_fill(struct bench_side *side, const struct bench_hook *hook,
	unsigned number, unsigned sides, uint32_t device, size_t objects)
{
	/* CORES of them. */
	static const struct ttmem_core_range square = { 0, 0, 7, 7 };
	size_t i, len = objects / hook->class->objects;

	if (len < 2 * hook->batch_len)
		return -EINVAL;
	side->ids = calloc(len, sizeof(side->ids[0]));
	if (!side->ids)
		return -ENOMEM;
	side->hook = hook;
	side->device = device;
	side->cores = hook->core_set ? ttmem_core_set(&square, 1) : CORES;
	side->ids_len = len;
	side->next_id = number;
	side->sides = sides;
	side->random = 0x9e3779b97f4a7c15u * (number + 1);
	for (i = 0; i < len; i++) {
		side->ids[i] = id_new(side);
		hook->class->make(side, side->ids[i]);
	}
	return 0;
}

void bench_side_clear(struct bench_side *side)
{
	size_t i;

	for (i = 0; i < side->ids_len; i++)
		side->hook->class->drop(side, side->ids[i]);
	free(side->ids);
	side->ids = NULL;
	side->ids_len = 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks that are measured, each as a round of three steps: one that prepares
 * a batch of operations, the batch itself, and one that puts things right again.
 * Only the batch is measured, and it is nothing but calls of hooks.
 */
#ifndef BENCH_HOOKS_H
#define BENCH_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_BATCH_MAX 64u

struct bench_hook;

/* One thread's side of the work: objects of its own, on a device or a mesh. */
struct bench_side {
	const struct bench_hook *hook;
	uint32_t device; /* or the handle of a mesh */
	uint32_t cores;  /* a count, or the handle of a core set */
	uint64_t *ids;   /* live; a batch works on the first few */
	size_t ids_len;
	uint64_t next_id;
	unsigned sides; /* that take turns with new ids */
	uint64_t random;
	uint64_t fresh[BENCH_BATCH_MAX]; /* ids that a batch allocates */
};

enum bench_verb {
	BENCH_MAKE, /* the batch allocates, in place of what was freed before */
	BENCH_DROP, /* the batch frees */
	BENCH_PAIR, /* it allocates and frees something else, alternately */
	BENCH_KEEP, /* the same ids are live afterwards */
	BENCH_ALONE, /* it looks at no object */
};

/* What a round's objects are. */
struct bench_class {
	void (*make)(const struct bench_side *side, uint64_t id);
	void (*drop)(const struct bench_side *side, uint64_t id);
	unsigned objects; /* of the library, for one of ours */
	bool keeps_ids;   /* what is freed comes back under its id */
};

struct bench_hook {
	const char *name;
	const char *text;
	const struct bench_class *class;
	enum bench_verb verb;
	void (*run)(struct bench_side *side);
	uint32_t kind; /* enum ttmem_kind */
	uint64_t size;
	unsigned
		mesh; /* devices of the mesh that objects are on; 0: a device */
	bool core_set; /* CBs and kernels are on a core set, not on a count */
	unsigned batch_len; /* operations */
	unsigned calls;     /* of hooks, in one operation */
	unsigned records;   /* 64 bytes each, in one operation */
	bool off;           /* tracking is off */
};

extern const struct bench_hook bench_hooks[];
extern const size_t bench_hooks_len;

/* Of this name, or NULL. */
const struct bench_hook *bench_hook_find(const char *name);

/*
 * Starts tracking if the hook wants it, with a device or a mesh for each of two sides.
 * Returns 0 or a negative errno.
 */
int bench_start(const struct bench_hook *hook);

/* The device or mesh number 0 or 1 of the hook. */
uint32_t bench_device(const struct bench_hook *hook, unsigned number);

/*
 * Allocates `objects` objects on the device, rounded down to whole ones of ours.
 * `number` keeps the ids of several sides apart. Returns 0, -EINVAL if that is
 * less than a batch needs, or -ENOMEM.
 */
int bench_side_fill(struct bench_side *side, const struct bench_hook *hook,
	unsigned number, unsigned sides, uint32_t device, size_t objects);

/* Frees them. */
void bench_side_clear(struct bench_side *side);

/* The steps around hook->run(). */
void bench_before(struct bench_side *side);
void bench_after(struct bench_side *side);

#endif

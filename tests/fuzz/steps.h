/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the input of a fuzz target means: a head, and steps of 16 bytes that are
 * done one after the other to a file which begins as a good one. So an input says
 * what is wrong, and when; whatever the bytes are, they mean something.
 *
 *   head   base (1), flags (1), reserved (6)
 *   step   op (1), place (1), index (2), word (2), how (1), at (1), value (8)
 */
#ifndef FUZZ_STEPS_H
#define FUZZ_STEPS_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_HEAD_SIZE 8u
#define FUZZ_STEP_SIZE 16u
#define FUZZ_STEPS_MAX 48u
#define FUZZ_INPUT_MAX (FUZZ_HEAD_SIZE + FUZZ_STEPS_MAX * FUZZ_STEP_SIZE)

enum fuzz_op {
	FUZZ_STORE = 0, /* a word at (place, index, word) becomes another */
	FUZZ_ROUND = 1, /* the other side goes on, after some time */
	FUZZ_LATER = 2, /* the next steps are done at its read number `at` */
	FUZZ_SIZE = 3,  /* the file has another size */
	FUZZ_READ = 4,  /* its read number `at` fails, or is short */
	FUZZ_EVENT = 5, /* what a good writer would write: the target's */
	FUZZ_STATE = 6, /* of the writer: the target's */
	FUZZ_OPS = 7,
};

struct fuzz_step {
	enum fuzz_op op;
	uint8_t place;
	uint16_t index;
	uint16_t word;
	uint8_t how;
	uint8_t at;
	uint64_t value;
};

struct fuzz_input {
	uint8_t base;
	uint8_t flags;
	size_t len;
	struct fuzz_step steps[FUZZ_STEPS_MAX];
};

/* Any bytes; what is too long is left out. */
void fuzz_decode(
	const uint8_t *data, size_t size, struct fuzz_input *ret_input);

/* Returns the size; at most FUZZ_INPUT_MAX. */
size_t fuzz_encode(const struct fuzz_input *input, uint8_t *to);

/* The same numbers everywhere for the same seed. */
uint64_t fuzz_random(uint64_t *state);

/* Another input, a few steps away. */
void fuzz_change(struct fuzz_input *input, uint64_t *random);

/* What FUZZ_STORE makes of a word. */
uint64_t fuzz_stored(const struct fuzz_step *step, uint64_t was);

/* -- a target -------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Inputs to begin with: number `n`, or 0 when there are no more. */
size_t fuzz_seed(unsigned n, uint8_t to[FUZZ_INPUT_MAX]);

/* Says what is wrong, and aborts. */
_Noreturn void fuzz_fail(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

#endif

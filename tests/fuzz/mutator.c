/* SPDX-License-Identifier: Apache-2.0 */
/* For libFuzzer: changes that keep to what an input means, most of the time. */
#include "fuzz/steps.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(
	uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size,
	const uint8_t *two, size_t two_size, uint8_t *out, size_t max,
	unsigned seed);

/* As many steps as there is room for. */
static size_t input_end(struct fuzz_input *input, uint8_t *to, size_t max)
{
	size_t room = (max - FUZZ_HEAD_SIZE) / FUZZ_STEP_SIZE;

	if (input->len > room)
		input->len = room;
	return fuzz_encode(input, to);
}

size_t LLVMFuzzerCustomMutator(
	uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint64_t random = seed;
	struct fuzz_input input;

	/* Values that it saw compared are its own to know. */
	if (fuzz_random(&random) % 3 == 0 || max < FUZZ_HEAD_SIZE)
		return LLVMFuzzerMutate(data, size, max);
	fuzz_decode(data, size, &input);
	fuzz_change(&input, &random);
	return input_end(&input, data, max);
}

/* Steps of the one, then steps of the other. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size,
	const uint8_t *two, size_t two_size, uint8_t *out, size_t max,
	unsigned seed)
{
	uint64_t random = seed;
	struct fuzz_input a, b;
	size_t from, i;

	if (max < FUZZ_HEAD_SIZE)
		return 0;
	fuzz_decode(one, one_size, &a);
	fuzz_decode(two, two_size, &b);
	a.len = a.len ? fuzz_random(&random) % (a.len + 1) : 0;
	from = b.len ? fuzz_random(&random) % b.len : 0;
	for (i = from; i < b.len && a.len < FUZZ_STEPS_MAX; i++)
		a.steps[a.len++] = b.steps[i];
	return input_end(&a, out, max);
}

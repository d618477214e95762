/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/steps.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of 16 values of a byte: a change of a word is what happens most. */
static const uint8_t ops[16] = { FUZZ_STORE, FUZZ_STORE, FUZZ_STORE, FUZZ_STORE,
	FUZZ_STORE, FUZZ_STORE, FUZZ_ROUND, FUZZ_ROUND, FUZZ_ROUND, FUZZ_LATER,
	FUZZ_LATER, FUZZ_SIZE, FUZZ_READ, FUZZ_EVENT, FUZZ_EVENT, FUZZ_STATE };

static const uint64_t interesting[] = { 0, 1, 2, 3, 7, 8, 15, 16, 63, 64, 127,
	255, 256, 1023, 1024, 2047, 2048, 2049, 4095, 4096, 8191, 8192, 65535,
	65536, 0xffffff, 1u << 24, 1u << 31, UINT32_MAX, 1ull << 32, 1ull << 46,
	(1ull << 46) - 1, (1ull << 56) - 1, 1ull << 56, 1ull << 62, INT64_MAX,
	1ull << 63, UINT64_MAX - 2048, UINT64_MAX - 1, UINT64_MAX };

#define INTERESTING (sizeof(interesting) / sizeof(interesting[0]))

static void step_decode(const uint8_t *from, struct fuzz_step *step)
{
	step->op = (enum fuzz_op)ops[from[0] & 15];
	step->place = from[1];
	step->index = (uint16_t)(from[2] | from[3] << 8);
	step->word = (uint16_t)(from[4] | from[5] << 8);
	step->how = from[6];
	step->at = from[7];
	memcpy(&step->value, from + 8, sizeof(step->value));
}

static void step_encode(const struct fuzz_step *step, uint8_t *to)
{
	uint8_t i = 0;

	while (ops[i] != step->op)
		i++;
	to[0] = i;
	to[1] = step->place;
	to[2] = (uint8_t)step->index;
	to[3] = (uint8_t)(step->index >> 8);
	to[4] = (uint8_t)step->word;
	to[5] = (uint8_t)(step->word >> 8);
	to[6] = step->how;
	to[7] = step->at;
	memcpy(to + 8, &step->value, sizeof(step->value));
}

void fuzz_decode(const uint8_t *data, size_t size, struct fuzz_input *ret_input)
{
	uint8_t head[FUZZ_HEAD_SIZE] = { 0 };
	size_t i;

	memcpy(head, data, size < sizeof(head) ? size : sizeof(head));
	ret_input->base = head[0];
	ret_input->flags = head[1];
	ret_input->len = size > sizeof(head) ?
		(size - sizeof(head)) / FUZZ_STEP_SIZE :
		0;
	if (ret_input->len > FUZZ_STEPS_MAX)
		ret_input->len = FUZZ_STEPS_MAX;
	for (i = 0; i < ret_input->len; i++)
		step_decode(data + FUZZ_HEAD_SIZE + i * FUZZ_STEP_SIZE,
			&ret_input->steps[i]);
}

size_t fuzz_encode(const struct fuzz_input *input, uint8_t *to)
{
	size_t i;

	memset(to, 0, FUZZ_HEAD_SIZE);
	to[0] = input->base;
	to[1] = input->flags;
	for (i = 0; i < input->len; i++)
		step_encode(&input->steps[i],
			to + FUZZ_HEAD_SIZE + i * FUZZ_STEP_SIZE);
	return FUZZ_HEAD_SIZE + input->len * FUZZ_STEP_SIZE;
}

/* splitmix64 */
uint64_t fuzz_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* Small numbers are what most fields have. */
static uint64_t value_make(uint64_t *random)
{
	uint64_t bits = fuzz_random(random);

	switch (bits & 3) {
	case 0:
		return interesting[(bits >> 8) % INTERESTING];
	case 1:
		return bits >> 8 & 0xff;
	case 2:
		return bits >> (bits >> 8 & 63);
	default:
		return fuzz_random(random);
	}
}

static void step_make(struct fuzz_step *step, uint64_t *random)
{
	uint64_t bits = fuzz_random(random);

	step->op = (enum fuzz_op)ops[bits & 15];
	step->place = (uint8_t)(bits >> 4);
	/* What is in use is at the beginning of everything. */
	step->index = (uint16_t)(bits >> 12 & (bits >> 28 & 1 ? 0xffff : 7));
	step->word = (uint16_t)(bits >> 32 & (bits >> 29 & 1 ? 0x7f : 7));
	step->how = (uint8_t)(bits >> 48);
	step->at = (uint8_t)(bits >> 56 & (bits >> 30 & 1 ? 0xff : 15));
	step->value = value_make(random);
}

static void step_change(struct fuzz_step *step, uint64_t *random)
{
	uint64_t bits = fuzz_random(random);

	switch (bits & 7) {
	case 0:
		step->place = (uint8_t)(bits >> 8);
		break;
	case 1:
		step->index = (uint16_t)(step->index + (bits >> 8) % 9 - 4);
		break;
	case 2:
		step->word = (uint16_t)(step->word + (bits >> 8) % 5 - 2);
		break;
	case 3:
		step->how = (uint8_t)(bits >> 8);
		break;
	case 4:
		step->at = (uint8_t)(step->at + (bits >> 8) % 5 - 2);
		break;
	case 5:
		step->value ^= 1ull << (bits >> 8 & 63);
		break;
	case 6:
		step->value = value_make(random);
		break;
	default:
		step_make(step, random);
		break;
	}
}

static void step_insert(
	struct fuzz_input *input, size_t at, const struct fuzz_step *step)
{
	if (input->len == FUZZ_STEPS_MAX)
		return;
	memmove(&input->steps[at + 1], &input->steps[at],
		(input->len - at) * sizeof(*step));
	input->steps[at] = *step;
	input->len++;
}

static void step_remove(struct fuzz_input *input, size_t at)
{
	input->len--;
	memmove(&input->steps[at], &input->steps[at + 1],
		(input->len - at) * sizeof(input->steps[0]));
}

void fuzz_change(struct fuzz_input *input, uint64_t *random)
{
	uint64_t bits = fuzz_random(random);
	unsigned times = 1 + (bits >> 60 & 3);
	struct fuzz_step step;
	size_t at;

	while (times--) {
		bits = fuzz_random(random);
		at = input->len ? (bits >> 32) % input->len : 0;
		switch (input->len ? bits & 15 : 0) {
		case 0:
		case 1:
		case 2:
		case 3:
			step_make(&step, random);
			step_insert(input, at, &step);
			break;
		case 4:
			step = input->steps[at];
			step_change(&step, random);
			step_insert(input, at + 1, &step);
			break;
		case 5:
		case 6:
			step_remove(input, at);
			break;
		case 7:
			input->flags ^= (uint8_t)(1u << (bits >> 8 & 7));
			break;
		case 8:
			input->base = (uint8_t)(bits >> 8 & 7);
			break;
		default:
			step_change(&input->steps[at], random);
			break;
		}
	}
}

uint64_t fuzz_stored(const struct fuzz_step *step, uint64_t was)
{
	uint64_t value = step->value, mask;
	unsigned shift = step->at & 63;

	switch (step->how & 7) {
	case 0:
		return value;
	case 1:
		return was + value;
	case 2:
		return was - value;
	case 3:
		return was ^ 1ull << shift;
	case 4:
		return interesting[value % INTERESTING];
	case 5: /* a field of bits */
		mask = 0xffull << shift;
		return (was & ~mask) | (value << shift & mask);
	case 6:
		return (was & 0xffffffff00000000ull) | (value & UINT32_MAX);
	default:
		return (was & UINT32_MAX) | value << 32;
	}
}

void fuzz_fail(const char *format, ...)
{
	va_list arguments;

	fflush(stdout);
	fputs("fuzz: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	abort();
}

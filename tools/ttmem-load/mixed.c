/* SPDX-License-Identifier: Apache-2.0 */
/* Some of everything: each step is one of another pattern. */
#include <stdlib.h>

#include "pattern.h"
#include "worker.h"

static const struct {
	const struct load_pattern *pattern;
	unsigned percent;
} parts[] = {
	{ &load_pattern_churn, 60 },
	{ &load_pattern_inference, 10 },
	{ &load_pattern_cb, 10 },
	{ &load_pattern_kernels, 20 },
};

#define PARTS (sizeof(parts) / sizeof(parts[0]))

struct mixed {
	void *states[PARTS];
};

static void mixed_begin(struct load_worker *worker)
{
	struct mixed *mixed = load_memory(1, sizeof(*mixed));
	size_t i;

	for (i = 0; i < PARTS; i++) {
		parts[i].pattern->begin(worker);
		mixed->states[i] = worker->state;
	}
	worker->state = mixed;
}

static void mixed_step(struct load_worker *worker)
{
	struct mixed *mixed = worker->state;
	uint64_t percent = load_random_below(worker, 100);
	size_t i = 0;

	while (percent >= parts[i].percent)
		percent -= parts[i++].percent;
	worker->state = mixed->states[i];
	parts[i].pattern->step(worker);
	worker->state = mixed;
}

static uint64_t mixed_owed(struct load_worker *worker)
{
	struct mixed *mixed = worker->state;
	uint64_t owed = 0;
	size_t i;

	for (i = 0; i < PARTS; i++) {
		worker->state = mixed->states[i];
		owed += parts[i].pattern->owed(worker);
	}
	worker->state = mixed;
	return owed;
}

static void mixed_end(struct load_worker *worker)
{
	struct mixed *mixed = worker->state;
	size_t i;

	for (i = 0; i < PARTS; i++) {
		worker->state = mixed->states[i];
		parts[i].pattern->end(worker);
	}
	free(mixed);
}

const struct load_pattern load_pattern_mixed = {
	.name = "mixed",
	.text = "some of each of the others",
	.begin = mixed_begin,
	.step = mixed_step,
	.owed = mixed_owed,
	.end = mixed_end,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of one hook on so many live objects, for check_instructions.py to count
 * the instructions of: all that comes before the first measured batch is in order
 * and warm, and only measured() is counted.
 *
 * usage: steps HOOK LIVE BATCHES
 *
 * Prints how many calls that were.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ttmem/ttmem.h>

#include "hooks.h"
#include "scratch.h"

#define WARM_BATCHES 200

/* Its name is what callgrind begins and ends to count at. */
void measured(struct bench_side *side);

__attribute__((noinline)) void measured(struct bench_side *side)
{
	side->hook->run(side);
}

/* Called without being counted, so that `measured` stays the only way. */
static void warm(struct bench_side *side)
{
	side->hook->run(side);
}

static void batches(struct bench_side *side, long len,
	void (*batch)(struct bench_side *side))
{
	while (len-- > 0) {
		bench_before(side);
		batch(side);
		bench_after(side);
	}
}

int main(int argc, char **argv)
{
	const struct bench_hook *hook;
	struct bench_side side = { 0 };
	long len;
	int r;

	hook = argc == 4 ? bench_hook_find(argv[1]) : NULL;
	if (!hook) {
		fprintf(stderr, "usage: steps HOOK LIVE BATCHES\n");
		return 2;
	}
	len = atol(argv[3]);
	bench_scratch_make("steps");
	r = bench_start(hook);
	if (r == 0)
		r = bench_side_fill(&side, hook, 0, 1, bench_device(hook, 0),
			(size_t)atol(argv[2]));
	if (r < 0) {
		bench_scratch_remove();
		fprintf(stderr, "steps: %s: %s\n", argv[1], strerror(-r));
		return 1;
	}
	batches(&side, WARM_BATCHES, warm);
	batches(&side, len, measured);
	bench_side_clear(&side);
	ttmem_stop();
	bench_scratch_remove();
	printf("%ld\n", len * (long)(hook->batch_len * hook->calls));
	return 0;
}

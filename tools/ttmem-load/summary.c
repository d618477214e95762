/* SPDX-License-Identifier: Apache-2.0 */
#include "summary.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "progress.h"

struct left {
	uint64_t objects;
	uint64_t bytes;
};

/* Nobody freed it: live, or orphaned by the end of its device. */
static void left_add(struct left *left, const uint64_t flows[TRUTH_FLOWS])
{
	left->objects += flows[TRUTH_ALLOC_OBJECTS] - flows[TRUTH_FREE_OBJECTS];
	left->bytes += flows[TRUTH_ALLOC_BYTES] - flows[TRUTH_FREE_BYTES];
}

static uint64_t doubts_count(const struct truth *truth)
{
	uint64_t doubts = 0;
	size_t i, k;

	for (i = 0; i < truth_processes(truth); i++)
		for (k = 0; k < truth->processes[i].threads_len; k++) {
			const struct truth_thread *thread = truth_thread(
				truth, i, k);

			doubts += thread->begun - thread->done;
		}
	return doubts;
}

void load_summary(const struct load_options *options, const struct truth *truth,
	uint64_t elapsed_ns)
{
	static struct truth_counters entries[TRUTH_ENTRIES_MAX];
	struct left left[TTMEM_FIGURES];
	uint64_t events = load_progress_events(truth);
	double seconds = (double)elapsed_ns / 1e9;
	char bytes[TTM_BYTES_TEXT_SIZE];
	unsigned figure;
	size_t i, k;

	memset(left, 0, sizeof(left));
	for (i = 0; i < truth_processes(truth); i++) {
		truth_process_sum(truth, i, entries);
		for (k = 0; k < truth->processes[i].entries_len; k++)
			for (figure = 0; figure < TTMEM_FIGURES; figure++)
				left_add(&left[figure],
					entries[k].flows[figure]);
	}
	fprintf(stderr, "%llu events of %llu process%s in %.3f s (%.0f/s)%s\n",
		(unsigned long long)events,
		(unsigned long long)truth_processes(truth),
		truth_processes(truth) == 1 ? "" : "es", seconds,
		seconds > 0 ? (double)events / seconds : 0,
		options->untracked ? ", untracked" : "");
	for (figure = 0; figure < TTMEM_FIGURES; figure++)
		if (left[figure].objects)
			fprintf(stderr, "left: %llu %s, %s\n",
				(unsigned long long)left[figure].objects,
				load_figure_names[figure],
				ttm_bytes_text(left[figure].bytes, bytes));
	if (doubts_count(truth))
		fprintf(stderr, "in doubt: %llu calls\n",
			(unsigned long long)doubts_count(truth));
}

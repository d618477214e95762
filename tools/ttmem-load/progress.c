/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "worker.h"

#define EVERY_NS 200000000ull

uint64_t load_progress_events(const struct truth *truth)
{
	uint64_t processes = truth_processes(truth);
	uint64_t events = 0;
	size_t i, thread;

	for (i = 0; i < processes; i++)
		for (thread = 0; thread < truth->threads_max; thread++)
			events += ttm_word_load(
				&truth_thread(truth, i, thread)->events);
	return events;
}

void load_progress_start(struct load_progress *progress,
	const struct load_options *options, const struct truth *truth)
{
	*progress = (struct load_progress){
		.options = options,
		.truth = truth,
		.on = !options->quiet && !options->script &&
			isatty(STDERR_FILENO),
		.started_ns = load_now_ns(),
	};
	progress->last_ns = progress->started_ns;
}

/* Of what was asked for, by whichever limit comes first. */
static double percent_done(
	const struct load_progress *progress, uint64_t now, uint64_t events)
{
	const struct load_options *o = progress->options;
	double by_events = 0;
	double by_time = 0;
	double percent;

	if (o->events)
		by_events = 100.0 * (double)events /
			((double)o->events *
				(double)(o->processes * o->threads));
	if (o->seconds > 0)
		by_time = 100.0 * (double)(now - progress->started_ns) / 1e9 /
			o->seconds;
	percent = by_events > by_time ? by_events : by_time;
	return percent > 100 ? 100 : percent;
}

void load_progress_look(struct load_progress *progress)
{
	uint64_t now = load_now_ns();
	uint64_t events;

	if (!progress->on || now - progress->last_ns < EVERY_NS)
		return;
	events = load_progress_events(progress->truth);
	fprintf(stderr, "\r%3.0f%%  %llu events, %.0f/s\033[K",
		percent_done(progress, now, events), (unsigned long long)events,
		(double)(events - progress->last_events) * 1e9 /
			(double)(now - progress->last_ns));
	fflush(stderr);
	progress->shown = true;
	progress->last_ns = now;
	progress->last_events = events;
}

void load_progress_end(struct load_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}

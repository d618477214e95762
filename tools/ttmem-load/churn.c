/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers of all kinds come and go at random. A thread has twice as many cells as it
 * shall have live buffers, and each step fills or clears one of them: half of them are
 * full on average.
 */
#include <stdlib.h>

#include "common/error.h"
#include "pattern.h"
#include "worker.h"

struct churn {
	struct load_buffer *cells;
	uint64_t cells_len;
	uint64_t live;
};

/* Most buffers of a model are in DRAM and L1. */
static enum ttmem_kind kind_choose(struct load_worker *worker)
{
	uint64_t percent = load_random_below(worker, 100);

	if (percent < 45)
		return TTMEM_DRAM;
	if (percent < 80)
		return TTMEM_L1;
	if (percent < 88)
		return TTMEM_L1_SMALL;
	return percent < 94 ? TTMEM_TRACE : TTMEM_SYSTEM_MEMORY;
}

static void cell_fill(struct load_worker *worker, struct churn *churn,
	struct load_buffer *cell)
{
	enum ttmem_kind kind;

	load_random_target(worker, &cell->target);
	kind = kind_choose(worker);
	cell->kind = (uint8_t)kind;
	cell->id = load_id(worker);
	cell->size = load_buffer_size(worker, kind);
	cell->live = true;
	churn->live++;
	load_alloc(worker, cell,
		load_address(worker, kind, (uint64_t)(cell - churn->cells),
			churn->cells_len));
}

/* -- frees left to others ------------------------------------------------------- */

static bool mailbox_put(
	struct load_mailbox *mailbox, const struct load_buffer *buffer)
{
	bool done;

	pthread_mutex_lock(&mailbox->lock);
	done = mailbox->buffers_len < mailbox->buffers_max;
	if (done)
		mailbox->buffers[mailbox->buffers_len++] = *buffer;
	ttm_word_store(&mailbox->waiting, mailbox->buffers_len);
	pthread_mutex_unlock(&mailbox->lock);
	return done;
}

static bool mailbox_take(
	struct load_mailbox *mailbox, struct load_buffer *ret_buffer)
{
	bool done;

	if (ttm_word_load(&mailbox->waiting) == 0)
		return false;
	pthread_mutex_lock(&mailbox->lock);
	done = mailbox->buffers_len > 0;
	if (done)
		*ret_buffer = mailbox->buffers[--mailbox->buffers_len];
	ttm_word_store(&mailbox->waiting, mailbox->buffers_len);
	pthread_mutex_unlock(&mailbox->lock);
	return done;
}

/* False: nobody else is there, or the other one has more than it can do. */
static bool buffer_hand_over(
	struct load_worker *worker, const struct load_buffer *buffer)
{
	const struct load_options *o = worker->options;
	struct load_worker *other;

	if (o->cross_free == 0 || o->threads == 1 ||
		load_random_below(worker, 100) >= o->cross_free)
		return false;
	other = &worker->others[(worker->number + 1 +
					load_random_below(
						worker, o->threads - 1)) %
		o->threads];
	return mailbox_put(&other->mailbox, buffer);
}

static void cell_clear(struct load_worker *worker, struct churn *churn,
	struct load_buffer *cell)
{
	cell->live = false;
	churn->live--;
	if (!buffer_hand_over(worker, cell))
		load_free(worker, cell);
}

/* -- the pattern ------------------------------------------------------------------ */

static void churn_begin(struct load_worker *worker)
{
	struct churn *churn = load_memory(1, sizeof(*churn));

	churn->cells_len = worker->options->live * 2;
	churn->cells = load_memory(churn->cells_len, sizeof(churn->cells[0]));
	worker->state = churn;
}

static void churn_step(struct load_worker *worker)
{
	struct churn *churn = worker->state;
	struct load_buffer *cell;
	struct load_buffer left;

	if (mailbox_take(&worker->mailbox, &left)) {
		load_free(worker, &left);
		return;
	}
	cell = &churn->cells[load_random_below(worker, churn->cells_len)];
	if (cell->live)
		cell_clear(worker, churn, cell);
	else
		cell_fill(worker, churn, cell);
}

static uint64_t churn_owed(struct load_worker *worker)
{
	struct churn *churn = worker->state;

	return churn->live + ttm_word_load(&worker->mailbox.waiting);
}

/* All threads are past their loops: nobody hands anything over any more. */
static void churn_end(struct load_worker *worker)
{
	struct churn *churn = worker->state;
	struct load_buffer left;
	uint64_t i;

	while (mailbox_take(&worker->mailbox, &left))
		load_free(worker, &left);
	for (i = 0; i < churn->cells_len; i++)
		if (churn->cells[i].live)
			load_free(worker, &churn->cells[i]);
	free(churn->cells);
	free(churn);
}

const struct load_pattern load_pattern_churn = {
	.name = "churn",
	.text = "buffers of all kinds come and go at random",
	.begin = churn_begin,
	.step = churn_step,
	.owed = churn_owed,
	.end = churn_end,
};

/* -- hold -------------------------------------------------------------------------- */

static void hold_begin(struct load_worker *worker)
{
	struct churn *hold = load_memory(1, sizeof(*hold));
	uint64_t i;

	hold->cells_len = worker->options->objects;
	hold->cells = load_memory(hold->cells_len, sizeof(hold->cells[0]));
	worker->state = hold;
	for (i = 0; i < hold->cells_len; i++)
		cell_fill(worker, hold, &hold->cells[i]);
}

const struct load_pattern load_pattern_hold = {
	.name = "hold",
	.text = "--objects buffers are allocated and held",
	.holds = true,
	.begin = hold_begin,
	.owed = churn_owed,
	.end = churn_end,
};

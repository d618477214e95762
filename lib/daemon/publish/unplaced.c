/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
#include "daemon/publish/unplaced.h"

#include <hdr/hdr_histogram.h>
#include <stdlib.h>

struct ttm_unplaced {
	struct ttm_chips *chips;
	struct hdr_histogram *histograms[TTMEM_FIGURES][2];
};

void ttm_unplaced_record(struct ttm_unplaced **unplaced,
	struct ttm_chips *chips, unsigned figure,
	enum ttm_distribution_kind kind, uint64_t value)
{
	struct hdr_histogram **histogram;
	bool is_new;

	if (!*unplaced) {
		*unplaced = calloc(1, sizeof(**unplaced));
		if (!*unplaced)
			return;
		(*unplaced)->chips = chips;
	}
	histogram = &(*unplaced)->histograms[figure][kind];
	is_new = !*histogram;
	if (is_new && chips->unplaced_len >= TTM_UNPLACED_MOST)
		return;
	ttm_histogram_record(histogram, kind, value);
	chips->unplaced_len += is_new && *histogram;
}

/* All of one kind have the same counts. */
static void histogram_subtract(
	struct hdr_histogram *from, const struct hdr_histogram *part)
{
	int32_t i;

	for (i = 0; i < part->counts_len; i++)
		/* Less only if there was no memory to count it there. */
		from->counts[i] -= part->counts[i] < from->counts[i] ?
			part->counts[i] :
			from->counts[i];
	hdr_reset_internal_counters(from);
}

static void histogram_move(struct ttm_chips *chips, struct hdr_histogram **part,
	struct ttm_distribution *from, struct ttm_distribution *to)
{
	chips->unplaced_len--;
	if (from->histogram) {
		histogram_subtract(from->histogram, *part);
		from->changed = true;
	}
	to->changed = true;
	if (!to->histogram) {
		to->histogram = *part;
	} else {
		hdr_add(to->histogram, *part);
		hdr_close(*part);
	}
	*part = NULL;
}

void ttm_unplaced_move(struct ttm_unplaced **unplaced, struct ttm_chips *chips,
	struct ttm_chip *from, struct ttm_chip *to)
{
	unsigned figure, kind;

	if (!*unplaced)
		return;
	for (figure = 0; figure < TTMEM_FIGURES; figure++)
		for (kind = 0; kind < 2; kind++)
			if ((*unplaced)->histograms[figure][kind])
				histogram_move(chips,
					&(*unplaced)->histograms[figure][kind],
					&from->distributions[figure][kind],
					&to->distributions[figure][kind]);
	chips->past_moved = true;
	ttm_unplaced_free(unplaced);
}

static void histogram_free(
	struct ttm_chips *chips, struct hdr_histogram *histogram)
{
	if (!histogram)
		return;
	chips->unplaced_len--;
	hdr_close(histogram);
}

void ttm_unplaced_free(struct ttm_unplaced **unplaced)
{
	unsigned figure, kind;

	if (!*unplaced)
		return;
	for (figure = 0; figure < TTMEM_FIGURES; figure++)
		for (kind = 0; kind < 2; kind++)
			histogram_free((*unplaced)->chips,
				(*unplaced)->histograms[figure][kind]);
	free(*unplaced);
	*unplaced = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
#include "daemon/dead/let_go.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ttm_let_go_process {
	struct ttm_let_go_process *next;
	uint8_t uuid[16];
	uint32_t uid; /* another one's of that uuid was made up */
	bool resumed;
	struct ttm_position *positions;
	uint32_t positions_len;
	/* Those that would go with the last share, and their past with them. */
	uint32_t chips_len;
	struct ttm_chip *chips[];
};

static uint64_t size_of(const struct ttm_let_go_process *kept)
{
	return kept->positions_len + kept->chips_len;
}

static struct ttm_let_go_process *kept_add(struct ttm_let_go *let_go,
	const uint8_t uuid[16], uint32_t uid, uint32_t chips_max)
{
	struct ttm_let_go_process *kept = calloc(
		1, sizeof(*kept) + chips_max * sizeof(kept->chips[0]));

	if (!kept)
		return NULL;
	memcpy(kept->uuid, uuid, sizeof(kept->uuid));
	kept->uid = uid;
	if (let_go->last)
		let_go->last->next = kept;
	else
		let_go->first = kept;
	let_go->last = kept;
	return kept;
}

static void chips_release(struct ttm_chip **chips, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		ttm_chip_unhold(&chips[i]);
}

void ttm_let_go_release_chips(struct ttm_let_go *let_go)
{
	chips_release(let_go->chips, let_go->chips_len);
	free(let_go->chips);
	let_go->chips = NULL;
	let_go->chips_len = 0;
}

/* Out of the list; `before` is the one before it, NULL: it is the first. */
static void kept_unlink(struct ttm_let_go *let_go,
	struct ttm_let_go_process *before, struct ttm_let_go_process *kept)
{
	if (before)
		before->next = kept->next;
	else
		let_go->first = kept->next;
	if (let_go->last == kept)
		let_go->last = before;
	let_go->len -= size_of(kept);
	if (kept->resumed && --let_go->resumed == 0)
		ttm_let_go_release_chips(let_go);
}

static void kept_free(struct ttm_let_go_process *kept)
{
	free(kept->positions);
	free(kept);
}

void ttm_let_go_free(struct ttm_let_go *let_go)
{
	struct ttm_let_go_process *kept;

	while ((kept = let_go->first)) {
		kept_unlink(let_go, NULL, kept);
		kept_free(kept);
	}
}

int ttm_let_go_keep(struct ttm_let_go *let_go, struct ttm_process *process)
{
	struct ttm_let_go_process *kept;
	struct ttm_chip *chip;
	uint32_t i;

	if (!process->positions_len)
		return 0;
	kept = kept_add(let_go, process->attached->header.uuid,
		process->attached->directory->uid, process->parts_len);
	if (!kept)
		return -ENOMEM;
	for (i = 0; i < process->parts_len; i++) {
		chip = process->parts[i]->chip;
		if (chip && chip->total.identity == TTM_IDENTITY_LOGICAL)
			ttm_chip_hold(&kept->chips[kept->chips_len++], chip);
	}
	kept->positions = process->positions;
	kept->positions_len = process->positions_len;
	process->positions = NULL;
	process->positions_len = 0;
	let_go->len += size_of(kept);
	return 0;
}

static bool kept_is(const struct ttm_let_go_process *kept,
	const uint8_t uuid[16], uint32_t uid)
{
	return kept && kept->uid == uid &&
		memcmp(kept->uuid, uuid, sizeof(kept->uuid)) == 0;
}

/* Also the one before it, NULL if there is none. */
static struct ttm_let_go_process *kept_find(struct ttm_let_go *let_go,
	const uint8_t uuid[16], uint32_t uid,
	struct ttm_let_go_process **ret_before)
{
	struct ttm_let_go_process *kept = let_go->first;

	*ret_before = NULL;
	while (kept && !kept_is(kept, uuid, uid)) {
		*ret_before = kept;
		kept = kept->next;
	}
	return kept;
}

/* As for a lane that the drain finds: those below it are there, too. */
static int lanes_reserve(struct ttm_let_go *let_go,
	struct ttm_let_go_process *kept, uint32_t len)
{
	struct ttm_position *positions;
	uint32_t before = kept->positions_len;

	if (len <= before)
		return 0;
	positions = realloc(kept->positions, len * sizeof(*positions));
	if (!positions)
		return -ENOMEM;
	memset(positions + before, 0, (len - before) * sizeof(*positions));
	kept->positions = positions;
	kept->positions_len = len;
	let_go->len += len - before;
	return 0;
}

int ttm_let_go_resume(struct ttm_let_go *let_go, struct ttm_image *image,
	const struct ttm_position_row *row)
{
	struct ttm_let_go_process *kept = let_go->last, *before;
	struct ttm_position *position;
	int r;

	/* The rows of a process mostly follow each other. */
	if (!kept_is(kept, row->uuid, row->uid))
		kept = kept_find(let_go, row->uuid, row->uid, &before);
	if (!kept)
		kept = kept_add(let_go, row->uuid, row->uid, 0);
	if (!kept)
		return -ENOMEM;
	let_go->resumed += !kept->resumed;
	kept->resumed = true;
	r = lanes_reserve(let_go, kept, row->lane + 1);
	if (r)
		return r;
	position = &kept->positions[row->lane];
	position->next = row->position;
	position->missed = row->missed;
	if (!position->row)
		position->row = ttm_image_add(image, TTM_TABLE_POSITIONS);
	ttm_image_set(image, TTM_TABLE_POSITIONS, position->row, row);
	return position->row ? 0 : -ENOMEM;
}

int ttm_let_go_resume_chips(struct ttm_let_go *let_go, struct ttm_chips *chips)
{
	struct ttm_chip *chip;
	uint32_t len = 0;

	for (chip = chips->first; chip && let_go->resumed; chip = chip->next)
		len += chip->total.identity == TTM_IDENTITY_LOGICAL;
	if (!len)
		return 0;
	let_go->chips = calloc(len, sizeof(let_go->chips[0]));
	if (!let_go->chips)
		return -ENOMEM;
	for (chip = chips->first; chip; chip = chip->next)
		if (chip->total.identity == TTM_IDENTITY_LOGICAL)
			ttm_chip_hold(
				&let_go->chips[let_go->chips_len++], chip);
	return 0;
}

void ttm_let_go_take(struct ttm_let_go *let_go, struct ttm_process *process)
{
	struct ttm_let_go_process *before, *kept;
	uint32_t i;

	kept = kept_find(let_go, process->attached->header.uuid,
		process->attached->directory->uid, &before);
	if (!kept)
		return;
	kept_unlink(let_go, before, kept);
	for (i = 0; i < kept->positions_len; i++) {
		process->events += kept->positions[i].next;
		process->missed += kept->positions[i].missed;
	}
	process->positions = kept->positions;
	process->positions_len = kept->positions_len;
	process->resumed = process->events != 0;
	process->rate_events = process->events;
	kept->positions = NULL;
	/* They have until the next publication to be its own again. */
	chips_release(kept->chips, kept->chips_len);
	kept_free(kept);
}

static void kept_forget(struct ttm_let_go *let_go, struct ttm_image *image,
	struct ttm_let_go_process *before, struct ttm_let_go_process *kept)
{
	uint32_t i;

	kept_unlink(let_go, before, kept);
	for (i = 0; i < kept->positions_len; i++)
		ttm_image_remove(
			image, TTM_TABLE_POSITIONS, kept->positions[i].row);
	chips_release(kept->chips, kept->chips_len);
	kept_free(kept);
}

void ttm_let_go_retired(struct ttm_let_go *let_go, struct ttm_image *image,
	uint32_t uid, const struct ttm_retirees *retirees)
{
	struct ttm_let_go_process *before = NULL, *kept, *next;

	for (kept = let_go->first; kept; kept = next) {
		next = kept->next;
		if (kept->uid == uid && ttm_retirees_has(retirees, kept->uuid))
			kept_forget(let_go, image, before, kept);
		else
			before = kept;
	}
}

void ttm_let_go_trim(
	struct ttm_let_go *let_go, struct ttm_image *image, uint64_t most)
{
	while (let_go->len > most)
		kept_forget(let_go, image, NULL, let_go->first);
}

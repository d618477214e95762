/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
#include "daemon/publish/usage.h"

#include <string.h>

void ttm_usage_set(struct ttm_output *output, struct ttm_usage *usage,
	const struct ttm_share_row *row)
{
	ttm_chip_count(usage->chip, &usage->published, row);
	usage->published = *row;
	ttm_image_set(output->image, TTM_TABLE_SHARES, usage->row, row);
}

void ttm_usage_move(struct ttm_output *output, struct ttm_usage *usage,
	struct ttm_chip *chip)
{
	if (!chip || chip == usage->chip)
		return;
	if (usage->chip) {
		ttm_chip_count(usage->chip, &usage->published, NULL);
		ttm_chip_rates_skip(usage->chip, &usage->published, UINT64_MAX);
		usage->published.device = chip->row;
		ttm_chip_count(chip, NULL, &usage->published);
		ttm_chip_rates_skip(chip, &usage->published, 1);
		ttm_image_set(output->image, TTM_TABLE_SHARES, usage->row,
			&usage->published);
	}
	ttm_chip_point(&usage->chip, chip);
	output->changed = true;
}

void ttm_usage_remove(struct ttm_output *output, struct ttm_usage *usage)
{
	if (usage->chip)
		ttm_chip_count(usage->chip, &usage->published, NULL);
	ttm_chip_point(&usage->chip, NULL);
	ttm_image_remove(output->image, TTM_TABLE_SHARES, usage->row);
	memset(usage, 0, sizeof(*usage));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "part.h"

#include <stdio.h>

#include "common/text.h"

static void part_set(struct dump_part *part, uint64_t place, uint64_t devices,
	uint64_t leak_class, bool orphaned)
{
	uint64_t bytes = part->object->bytes;

	part->place = place;
	part->devices = devices;
	part->leak_class = leak_class;
	part->orphaned = orphaned;
	part->bytes = TTMEM_UNKNOWN;
	if (bytes != TTMEM_UNKNOWN && devices != TTMEM_UNKNOWN &&
		__builtin_mul_overflow(bytes, devices, &part->bytes))
		part->bytes = TTMEM_UNKNOWN;
}

void dump_part_whole(const struct ttmem_object_row *object, uint64_t index,
	struct dump_part *ret_part)
{
	ret_part->object = object;
	ret_part->index = index;
	part_set(ret_part, object->place, object->devices, object->leak_class,
		object->orphaned == 1);
}

size_t dump_parts_of(const struct ttmem_object_row *object, uint64_t index,
	struct dump_part ret_parts[DUMP_PARTS_MAX])
{
	uint64_t orphans = object->orphaned_devices;
	bool persistent = object->persistent == 1;

	dump_part_whole(object, index, &ret_parts[0]);
	if (orphans == TTMEM_UNKNOWN || orphans == 0 ||
		orphans >= object->devices)
		return 1;
	ret_parts[1] = ret_parts[0];
	part_set(&ret_parts[0], object->live_place, object->devices - orphans,
		persistent ? TTMEM_CLASS_PERSISTENT : TTMEM_CLASS_LIVE, false);
	part_set(&ret_parts[1], object->orphaned_place, orphans,
		persistent ? TTMEM_CLASS_PERSISTENT : TTMEM_CLASS_ORPHANED,
		true);
	return 2;
}

const char *dump_place_label(
	const struct ttmem_snapshot *snapshot, uint64_t place)
{
	const struct ttmem_place_row *row = ttmem_snapshot_place(
		snapshot, place);

	return row && row->label ? row->label : "-";
}

const char *dump_place_text(const struct ttmem_snapshot *snapshot,
	uint64_t place, uint64_t whole, char buffer[static DUMP_LABEL_SIZE])
{
	char part[DUMP_LABEL_SIZE], all[DUMP_LABEL_SIZE];

	ttm_text_escape(dump_place_label(snapshot, place), part, sizeof(part));
	if (place == whole || !ttmem_snapshot_place(snapshot, whole)) {
		snprintf(buffer, DUMP_LABEL_SIZE, "%s", part);
		return buffer;
	}
	ttm_text_escape(dump_place_label(snapshot, whole), all, sizeof(all));
	/* Each of the two labels gets half of the room. */
	snprintf(buffer, DUMP_LABEL_SIZE, "%.120s of %.120s", part, all);
	return buffer;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include "read/fields.h"

/* The last three are a pointer and the number after it. */
#define SIZE_OF_U64(member) sizeof(member)
#define SIZE_OF_I64(member) sizeof(member)
#define SIZE_OF_HEX(member) sizeof(member)
#define SIZE_OF_ID(member) sizeof(member)
#define SIZE_OF_PCI(member) sizeof(member)
#define SIZE_OF_FLAG(member) sizeof(member)
#define SIZE_OF_ENUM(member) sizeof(member)
#define SIZE_OF_INDEX(member) sizeof(member)
#define SIZE_OF_TEXT(member) sizeof(member)
#define SIZE_OF_BYTES(member) sizeof(member)
#define SIZE_OF_EACH(member) sizeof(member)
#define SIZE_OF_SUMS(member) sizeof(member)
#define SIZE_OF_INDEXES(member) (sizeof(member) + sizeof(uint64_t))
#define SIZE_OF_TEXTS(member) (sizeof(member) + sizeof(uint64_t))
#define SIZE_OF_POINTS(member) (sizeof(member) + sizeof(uint64_t))

#define FIELD(kind, name, from, of)                                            \
	{ #name, "\"" #name "\":", sizeof("\"" #name "\":") - 1,               \
		TTM_FIELD_##kind, offsetof(struct ROW, name),                  \
		SIZE_OF_##kind(((struct ROW *)NULL)->name), of },

#define ROW ttmem_info_row
static const struct ttm_field info_fields[] = {
#include "read/info.def"
};
#undef ROW

#define ROW ttmem_health_row
static const struct ttm_field health_fields[] = {
#include "read/health.def"
};
#undef ROW

#define ROW ttmem_directory_row
static const struct ttm_field directory_fields[] = {
#include "read/directory.def"
};
#undef ROW

#define ROW ttmem_device_row
static const struct ttm_field device_fields[] = {
#include "read/device.def"
};
#undef ROW

#define ROW ttmem_process_row
static const struct ttm_field process_fields[] = {
#include "read/process.def"
};
#undef ROW

#define ROW ttmem_share_row
static const struct ttm_field share_fields[] = {
#include "read/share.def"
};
#undef ROW

#define ROW ttmem_place_row
static const struct ttm_field place_fields[] = {
#include "read/place.def"
};
#undef ROW

#define ROW ttmem_object_row
static const struct ttm_field object_fields[] = {
#include "read/object.def"
};
#undef ROW

#define ROW ttmem_mark_row
static const struct ttm_field mark_fields[] = {
#include "read/mark.def"
};
#undef ROW

#define ROW ttmem_failure_row
static const struct ttm_field failure_fields[] = {
#include "read/failure.def"
};
#undef ROW

#define ROW ttmem_quarantined_row
static const struct ttm_field quarantined_fields[] = {
#include "read/quarantined.def"
};
#undef ROW

#define ROW ttmem_untracked_row
static const struct ttm_field untracked_fields[] = {
#include "read/untracked.def"
};
#undef ROW

#define ROW ttmem_telemetry_row
static const struct ttm_field telemetry_fields[] = {
#include "read/telemetry.def"
};
#undef ROW

#define ROW ttmem_holder_row
static const struct ttm_field holder_fields[] = {
#include "read/holder.def"
};
#undef ROW

#define ROW ttmem_history_row
static const struct ttm_field history_fields[] = {
#include "read/history.def"
};
#undef ROW

#define ROW ttmem_distribution_row
static const struct ttm_field distribution_fields[] = {
#include "read/distribution.def"
};
#undef ROW

#define ROW ttmem_sums
static const struct ttm_field sums_fields[] = {
#include "read/sums.def"
};
#undef ROW

#define ROW ttmem_point
static const struct ttm_field point_fields[] = {
#include "read/point.def"
};
#undef ROW

_Static_assert(offsetof(struct ttmem_process_row, cmdline_len) ==
		offsetof(struct ttmem_process_row, cmdline) + sizeof(void *),
	"");
_Static_assert(offsetof(struct ttmem_place_row, devices_len) ==
		offsetof(struct ttmem_place_row, devices) + sizeof(void *),
	"");
_Static_assert(offsetof(struct ttmem_place_row, usages_len) ==
		offsetof(struct ttmem_place_row, usages) + sizeof(void *),
	"");
_Static_assert(offsetof(struct ttmem_holder_row, cmdline_len) ==
		offsetof(struct ttmem_holder_row, cmdline) + sizeof(void *),
	"");
_Static_assert(offsetof(struct ttmem_history_row, points_len) ==
		offsetof(struct ttmem_history_row, points) + sizeof(void *),
	"");

#define RECORD(key, fields, row)                                               \
	{                                                                      \
		key, fields, sizeof(fields) / sizeof((fields)[0]),             \
			sizeof(struct row)                                     \
	}

const struct ttm_record ttm_records[TTM_RECORDS] = {
	[TTM_RECORD_INFO] = RECORD("info", info_fields, ttmem_info_row),
	[TTM_RECORD_HEALTH] = RECORD("health", health_fields, ttmem_health_row),
#define TABLE(id, plural, singular)                                            \
	[TTM_RECORD_##id] = RECORD(                                            \
		#plural, singular##_fields, ttmem_##singular##_row),
#include "read/tables.def"
#undef TABLE
	[TTM_RECORD_SUMS] = RECORD("", sums_fields, ttmem_sums),
	[TTM_RECORD_POINT] = RECORD("", point_fields, ttmem_point),
};

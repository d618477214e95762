/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
/* What the driver says about its devices, and who has them open. */
#include <errno.h>
#include <string.h>

#include "read/convert.h"
#include "read/convert_row.h"

/* An empty text is one that was not read. */
static int text_convert(const struct ttm_convert *c, const char *bytes,
	size_t size, const char **ret_text)
{
	const char *text;

	if (bytes[0] == '\0')
		return 0;
	text = ttm_pool_text(&c->snapshot->pool, bytes, size);
	if (!text)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}

#define TEXT_CONVERT(name)                                                     \
	text_convert(c, row->name, sizeof(row->name), &to->name)

static void times_convert(const struct ttm_convert *c,
	const struct ttm_telemetry_row *row, struct ttmem_telemetry_row *to)
{
	uint64_t now_ns = c->copy->copy.monotonic_ns, time_ns;
	size_t known = ttm_names_known(TTMEM_NAMES_READING), i;

	for (i = 0; i < TTMEM_READINGS; i++) {
		time_ns = row->times_ns[i];
		if (i >= known) {
			to->times_ns[i] = time_ns;
			continue;
		}
		if (time_ns == 0)
			continue;
		to->times_ns[i] = time_ns;
		/* The drain may have looked at its clock before the reader. */
		to->ages_ns[i] = time_ns < now_ns ? now_ns - time_ns : 0;
	}
}

int ttm_convert_telemetry(const struct ttm_convert *c,
	const struct ttm_telemetry_row *row, struct ttmem_telemetry_row *to)
{
#include "read/telemetry.def"
	times_convert(c, row, to);
	if (TEXT_CONVERT(arch) < 0 || TEXT_CONVERT(card_type) < 0 ||
		TEXT_CONVERT(serial) < 0 || TEXT_CONVERT(firmware) < 0 ||
		TEXT_CONVERT(sensor) < 0)
		return -ENOMEM;
	return 0;
}

int ttm_convert_holder(const struct ttm_convert *c,
	const struct ttm_holder_row *row, struct ttmem_holder_row *to)
{
	char bytes[sizeof(row->cmdline)];
	int r;

#include "read/holder.def"
	if (row->uid != UINT32_MAX)
		to->uid = row->uid;
	r = TEXT_CONVERT(comm);
	if (r < 0)
		return r;
	if (row->cmdline[0] || !c->same_pids)
		return ttm_convert_arguments(c, row->cmdline,
			sizeof(row->cmdline), &to->cmdline, &to->cmdline_len);
	return ttm_convert_arguments(c, bytes,
		ttm_command_of_pid(
			row->pid, row->start_time, bytes, sizeof(bytes)),
		&to->cmdline, &to->cmdline_len);
}

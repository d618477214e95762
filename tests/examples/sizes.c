/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the layouts that examples/python/ttmem.py writes down once more. */
#include <stddef.h>
#include <stdio.h>

#include <ttmem/ttmem.h>

#define SIZE(type) printf(#type " %zu\n", sizeof(struct type))
#define FIELD(type, name)                                                      \
	printf(#type "." #name " %zu %zu\n", offsetof(struct type, name),      \
		sizeof(((struct type *)NULL)->name))

int main(void)
{
	SIZE(ttmem_usage_figure);
	FIELD(ttmem_usage_figure, live_bytes);
	FIELD(ttmem_usage_figure, live_objects);
	FIELD(ttmem_usage_figure, peak_bytes);
	SIZE(ttmem_usage);
	FIELD(ttmem_usage, size);
	FIELD(ttmem_usage, figures);
	SIZE(ttmem_core_range);
	FIELD(ttmem_core_range, first_x);
	FIELD(ttmem_core_range, first_y);
	FIELD(ttmem_core_range, last_x);
	FIELD(ttmem_core_range, last_y);
	SIZE(ttmem_buffer);
	FIELD(ttmem_buffer, size);
	FIELD(ttmem_buffer, device);
	FIELD(ttmem_buffer, kind);
	FIELD(ttmem_buffer, id);
	FIELD(ttmem_buffer, address);
	FIELD(ttmem_buffer, bytes);
	FIELD(ttmem_buffer, bytes_per_bank);
	FIELD(ttmem_buffer, banks);
	FIELD(ttmem_buffer, cores);
	FIELD(ttmem_buffer, flags);
	FIELD(ttmem_buffer, reserved);
	SIZE(ttmem_failure);
	FIELD(ttmem_failure, size);
	FIELD(ttmem_failure, device);
	FIELD(ttmem_failure, kind);
	FIELD(ttmem_failure, bytes);
	FIELD(ttmem_failure, bytes_per_bank);
	FIELD(ttmem_failure, free_per_bank);
	FIELD(ttmem_failure, largest_free_per_bank);
	FIELD(ttmem_failure, program);
	SIZE(ttmem_status);
	FIELD(ttmem_status, size);
	FIELD(ttmem_status, state);
	FIELD(ttmem_status, error);
	FIELD(ttmem_status, lost_events);
	FIELD(ttmem_status, lost_bytes);
	FIELD(ttmem_status, anomalies);
	FIELD(ttmem_status, reason);
	FIELD(ttmem_status, segment);
	return 0;
}

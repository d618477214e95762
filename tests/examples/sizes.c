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

/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern.h"

#include <string.h>

const struct load_pattern *const load_patterns[] = {
	&load_pattern_churn,
	&load_pattern_inference,
	&load_pattern_cb,
	&load_pattern_kernels,
	&load_pattern_mixed,
	&load_pattern_hold,
};
const size_t load_patterns_len = sizeof(load_patterns) /
	sizeof(load_patterns[0]);

const struct load_pattern *load_pattern_find(const char *name)
{
	size_t i;

	for (i = 0; i < load_patterns_len; i++)
		if (strcmp(name, load_patterns[i]->name) == 0)
			return load_patterns[i];
	return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread does. */
#ifndef LOAD_PATTERN_H
#define LOAD_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct load_worker;

/* `worker->state` is the pattern's own. */
struct load_pattern {
	const char *name;
	const char *text;
	bool holds; /* nothing happens in it but to be there */
	void (*begin)(struct load_worker *worker);
	void (*step)(struct load_worker *worker); /* an event or a few */
	/* Events that end() will make. */
	uint64_t (*owed)(struct load_worker *worker);
	/* Frees whatever is left. */
	void (*end)(struct load_worker *worker);
};

extern const struct load_pattern load_pattern_cb;
extern const struct load_pattern load_pattern_churn;
extern const struct load_pattern load_pattern_hold;
extern const struct load_pattern load_pattern_inference;
extern const struct load_pattern load_pattern_kernels;
extern const struct load_pattern load_pattern_mixed;

extern const struct load_pattern *const load_patterns[];
extern const size_t load_patterns_len;

/* NULL if there is none of that name. */
const struct load_pattern *load_pattern_find(const char *name);

#endif

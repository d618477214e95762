/* SPDX-License-Identifier: Apache-2.0 */
/* The ground truth as one JSON document on one line. */
#ifndef LOAD_JSON_H
#define LOAD_JSON_H

#include <stdint.h>

#include "options.h"
#include "truth.h"

/*
 * `phase` is "hold", "sync" or "end". To options->json: a file is replaced as a
 * whole, stdout gets a line. Returns 0 or a negative errno.
 */
int load_json_write(const struct load_options *options,
	const struct truth *truth, const char *phase, uint64_t elapsed_ns);

#endif

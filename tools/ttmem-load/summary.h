/* SPDX-License-Identifier: Apache-2.0 */
/* What was done, for people, on stderr. */
#ifndef LOAD_SUMMARY_H
#define LOAD_SUMMARY_H

#include <stdint.h>

#include "options.h"
#include "truth.h"

void load_summary(const struct load_options *options, const struct truth *truth,
	uint64_t elapsed_ns);

#endif

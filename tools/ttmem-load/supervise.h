/* SPDX-License-Identifier: Apache-2.0 */
/* The parent: forks the processes, waits for them, tells about them. */
#ifndef LOAD_SUPERVISE_H
#define LOAD_SUPERVISE_H

#include "options.h"

struct load_script;

/* Returns the exit status of the tool. `script` is NULL for a pattern. */
int load_supervise(
	const struct load_options *options, struct load_script *script);

#endif

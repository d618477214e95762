/* SPDX-License-Identifier: Apache-2.0 */
/* A script on its way, in one process. */
#ifndef LOAD_SCRIPT_RUN_H
#define LOAD_SCRIPT_RUN_H

#include "model.h"
#include "process.h"
#include "script.h"
#include "truth.h"

struct script_run {
	struct load_child child;
	struct truth_process *process;
	struct truth_thread *thread;
	struct model *model;
	uint32_t *handles; /* of the script's meshes; UINT32_MAX: none */
	size_t handles_len;
	size_t at; /* the command under way */
};

/* Makes room for so many meshes. */
void script_run_handles(struct script_run *run, size_t len);

/* The lines up to `end`, in a new process; goes on after them. */
void script_run_fork(struct script_run *run, const struct script_command *c);

/* For all processes that were forked here. */
void script_run_wait(struct script_run *run, const struct script_command *c);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a text report, and what they share. */
#ifndef TTM_DUMP_RENDER_H
#define TTM_DUMP_RENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/process.h"
#include "group.h"
#include "report.h"
#include "table.h"
#include "ttmem-dump/cell.h"

#define DUMP_NAME_SIZE TTM_PROCESS_NAME_SIZE

/* Each prints nothing if there is nothing to tell. Return 0 or -ENOMEM. */
int dump_text_devices(const struct dump_report *report);
int dump_text_processes(const struct dump_report *report);
int dump_text_retired(const struct dump_report *report);
int dump_text_objects(const struct dump_report *report);
int dump_text_failures(const struct dump_report *report);
int dump_text_marks(const struct dump_report *report);
int dump_text_anomalies(const struct dump_report *report);
int dump_text_losses(const struct dump_report *report);
int dump_text_health(const struct dump_report *report);

/*
 * By device: how many of its live buffers have no bank figures, as far as objects are
 * listed. NULL: no memory. free() it.
 */
uint64_t *dump_unbanked_count(const struct dump_report *report);

/* A title with a blank line before it. */
__attribute__((format(printf, 2, 3))) void dump_title(
	const struct dump_report *report, const char *format, ...);

/* "python3[1234]", escaped; "-" for no process. */
const char *dump_process_name(const struct ttmem_snapshot *snapshot,
	uint64_t index, char buffer[static DUMP_NAME_SIZE]);

/* Whether it is gone: exited or died. */
bool dump_process_is_retired(const struct ttmem_process_row *process);

/* Logical ids of the devices that a process has to do with: "0,2". */
const char *dump_process_devices(const struct ttmem_snapshot *snapshot,
	uint64_t process, char buffer[static DUMP_NAME_SIZE]);

#endif

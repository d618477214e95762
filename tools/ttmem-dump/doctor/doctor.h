/* SPDX-License-Identifier: Apache-2.0 */
/* What the doctor looks at, one after the other. */
#ifndef TTM_DUMP_DOCTOR_H
#define TTM_DUMP_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

#include <ttmem/reader.h>

#include "ttmem-dump/source.h"

enum dump_verdict {
	DUMP_GOOD,
	DUMP_NOTE, /* to know, but not wrong */
	DUMP_BAD,
};

struct dump_doctor {
	struct dump_where where;
	const char *base; /* where it is */
	uint64_t pid;     /* of the process that is asked about; 0: none */
	struct ttmem_snapshot *snapshot; /* NULL: there is none */
	struct dump_worth worth;
	uint64_t own_len; /* directories */
	uint64_t bad;
};

/* One line, and a hint below it unless NULL. Escaped here. */
__attribute__((format(printf, 4, 5))) void dump_tell(struct dump_doctor *doctor,
	enum dump_verdict verdict, const char *hint, const char *format, ...);

void dump_doctor_base(struct dump_doctor *doctor);
void dump_doctor_directories(struct dump_doctor *doctor);
void dump_doctor_aggregator(struct dump_doctor *doctor);
void dump_doctor_losses(struct dump_doctor *doctor);
void dump_doctor_devices(struct dump_doctor *doctor);
void dump_doctor_limits(struct dump_doctor *doctor);
void dump_doctor_process(struct dump_doctor *doctor);

#endif

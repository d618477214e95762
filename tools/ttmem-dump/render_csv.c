/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "report.h"

int dump_render_csv(const struct dump_report *report)
{
	fputs("not yet\n", report->file);
	return 0;
}

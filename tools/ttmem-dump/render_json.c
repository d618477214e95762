/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "report.h"

int dump_render_json(const struct dump_report *report)
{
	return ttmem_snapshot_write_file(report->snapshot, report->file);
}

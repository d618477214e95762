/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ttmem-dump/command.h"
#include "common/error.h"
#include "common/options.h"
#include "common/text.h"
#include "ttmem-dump/options.h"
#include "ttmem-dump/place.h"

static const struct option options_known[] = {
	{ "dir", required_argument, NULL, DUMP_OPTION_DIR },
	{ "pid", required_argument, NULL, DUMP_OPTION_PID },
	{ "system", no_argument, NULL, DUMP_OPTION_SYSTEM },
	DUMP_OPTIONS_END,
};

/* clang-format off */
static const char help[] =
	"usage: ttmem-dump doctor [options]\n"
	"\n"
	"Why is my process, my device or ttmemd not seen? Looks at everything that\n"
	"has to be right for that, one after the other, and says what to do.\n"
	"\n"
	"  --pid P               look at this process, too\n"
	"  --dir DIR             base directory (default: $TTMEM_DIR, /run/ttmem or\n"
	"                        /dev/shm)\n"
	"  --system              ask root's ttmemd\n"
	DUMP_HELP_END
	"\n"
	"Exit status: 0 all is well, 1 something is not, 2 wrong use.\n";
/* clang-format on */

void dump_verdict_tell(struct dump_doctor *doctor, enum dump_verdict verdict,
	const char *hint, const char *format, ...)
{
	static const char *const names[] = { "ok  ", "note", "BAD " };
	char text[1024], safe[2048];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	printf("%s  %s\n", names[verdict],
		ttm_text_escape(text, safe, sizeof(safe)));
	if (hint)
		printf("      -> %s\n", hint);
	if (verdict == DUMP_BAD)
		doctor->bad++;
}

static void options_parse(int argc, char **argv, struct dump_doctor *doctor)
{
	static struct dump_filter filter;
	const char *by;
	int option;

	memset(doctor, 0, sizeof(*doctor));
	while ((option = ttm_option_next(argc, argv, "", options_known)) != -1)
		dump_option_take(option, help, &doctor->where, &filter);
	dump_options_check(argc, argv, &doctor->where);
	if (filter.pids_len > 1)
		ttm_error_usage("--pid: one at a time");
	doctor->pid = filter.pids_len ? filter.pids[0] : 0;
	doctor->base = dump_base_choose(doctor->where.dir, &by);
}

int dump_doctor_main(int argc, char **argv)
{
	struct dump_source *source = NULL;
	struct dump_doctor doctor;
	int status;

	options_parse(argc, argv, &doctor);
	status = dump_source_open(&doctor.where, &source);
	if (status)
		return status;
	dump_source_take(source, 0, &doctor.snapshot, &doctor.worth);
	dump_doctor_base(&doctor);
	dump_doctor_directories(&doctor);
	dump_doctor_aggregator(&doctor);
	dump_doctor_losses(&doctor);
	dump_doctor_devices(&doctor);
	dump_doctor_limits(&doctor);
	if (doctor.pid)
		dump_doctor_process(&doctor);
	printf("%s\n", doctor.bad ? "not well" : "all is well");
	ttmem_snapshot_free(&doctor.snapshot);
	dump_source_close(&source);
	if (fflush(stdout) != 0) {
		ttm_error("stdout: %s", strerror(errno));
		return TTM_EXIT_FAILURE;
	}
	return doctor.bad ? TTM_EXIT_FAILURE : TTM_EXIT_OK;
}

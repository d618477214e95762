/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/number.h"
#include "common/text.h"
#include "ttmem-dump/command.h"
#include "ttmem-dump/place.h"

#define OPTIONS struct dump_doctor

static void pid_take(void *at, const char *option, const char *value)
{
	uint64_t *pid = at;

	if (*pid || strchr(value, ','))
		ttm_error_usage("--%s: one at a time", option);
	if (ttm_number_parse(value, pid) < 0 || *pid == 0 || *pid > INT32_MAX)
		ttm_error_usage("--%s: not a pid: %s", option, value);
}

/* clang-format off */
static const struct ttm_option options_known[] = {
	TTM_OPTION_HELP_TEXT("usage: ttmem-dump doctor [options]\n\n"
		"Why is my process, my device or ttmemd not seen? Looks at everything that\n"
		"has to be right for that, one after the other, and says what to do.\n\n"),
	TTM_OPTION_CALLS(pid_take, pid, "pid", "P",
		.help = "look at this process, too"),
	DUMP_OPTION_WHERE_DIR,
	DUMP_OPTION_WHERE_SYSTEM("ask root's ttmemd"),
	DUMP_OPTIONS_END,
	TTM_OPTION_HELP_TEXT("\nExit status: 0 all is well, 1 something is not, 2 wrong use.\n"),
	{ 0 },
};
/* clang-format on */

void dump_tell(struct dump_doctor *doctor, enum dump_verdict verdict,
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

int dump_doctor_main(int argc, char **argv)
{
	struct dump_source *source = NULL;
	struct ttm_command command = { .name = "ttmem-dump doctor",
		.options = options_known };
	struct dump_doctor doctor = { .pid = 0 };
	int status;

	ttm_options_parse(&command, argc, argv, &doctor);
	doctor.base = dump_base_choose(doctor.where.dir, NULL);
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

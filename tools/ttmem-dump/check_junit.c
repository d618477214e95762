/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* The verdict as JUnit: a failed case for each leak and limit, an error for doubts. */
#include <inttypes.h>
#include <string.h>

#include "check.h"

/*
 * Of escaped text, which is UTF-8 without control characters; U+FFFE and U+FFFF are
 * all that XML cannot say then.
 */
static void xml_write(FILE *file, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	for (; *at; at++) {
		if (*at == '<')
			fputs("&lt;", file);
		else if (*at == '>')
			fputs("&gt;", file);
		else if (*at == '&')
			fputs("&amp;", file);
		else if (*at == '"')
			fputs("&quot;", file);
		else if (*at == 0xef && at[1] == 0xbf && at[2] >= 0xbe) {
			fprintf(file, "\\xef\\xbf\\x%02x", at[2]);
			at += 2;
		} else
			fputc(*at, file);
	}
}

static void case_write(
	FILE *file, const char *name, const char *element, const char *text)
{
	fputs("  <testcase classname=\"ttmem\" name=\"", file);
	xml_write(file, name);
	if (!element) {
		fputs("\"/>\n", file);
		return;
	}
	fprintf(file, "\">\n    <%s message=\"", element);
	xml_write(file, text);
	fputs("\"/>\n  </testcase>\n", file);
}

static void lines_write(FILE *file, const char *name, const char *element,
	const struct check_lines *lines)
{
	size_t i;

	for (i = 0; i < lines->len; i++)
		case_write(file, name, element, lines->lines[i]);
}

void check_write_junit(const struct check_verdict *verdict, FILE *file)
{
	bool strict = verdict->options->strict && verdict->suppressions->unused;
	size_t failures = verdict->leaks.len + verdict->exceeded.len + strict;
	size_t errors = verdict->gaps.len + verdict->missing.len +
		(verdict->worth.status != 0);
	char text[CHECK_RECORD_SIZE];
	size_t i;

	fprintf(file,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites>\n<testsuite name=\"ttmem\" tests=\"%zu\" "
		"failures=\"%zu\" errors=\"%zu\" skipped=\"0\" time=\"0\">\n",
		failures + errors + (failures + errors == 0), failures, errors);
	if (failures + errors == 0)
		case_write(file, "no leaks", NULL, NULL);
	for (i = 0; i < verdict->leaks.len; i++)
		case_write(file, "leak", "failure",
			check_record_text(
				verdict, &verdict->leaks.groups[i], text));
	lines_write(file, "limit", "failure", &verdict->exceeded);
	if (strict)
		case_write(file, "suppressions", "failure",
			"there are unused suppressions");
	lines_write(file, "complete data", "error", &verdict->gaps);
	lines_write(file, "data", "error", &verdict->missing);
	if (verdict->worth.status)
		case_write(file, "data", "error", verdict->worth.reason);
	fputs("  <system-out>", file);
	xml_write(file, verdict->summary);
	fputs("</system-out>\n</testsuite>\n</testsuites>\n", file);
}

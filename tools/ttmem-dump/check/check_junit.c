/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* The verdict as JUnit: a failed case for each leak and limit, an error for doubts. */
#include <inttypes.h>
#include <string.h>

#include "common/text.h"
#include "ttmem-dump/cell.h"
#include "check.h"

#define LEAKS_MAX 1000u
#define SCOPE_SIZE 1024u

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

/* Cases of one name are one case for some who read this. */
static void lines_write(FILE *file, const char *what, const char *element,
	const struct check_lines *lines)
{
	char name[64];
	size_t i;

	for (i = 0; i < lines->len; i++) {
		snprintf(name, sizeof(name), "%s %zu", what, i + 1);
		case_write(file, name, element, lines->lines[i]);
	}
}

/* The same for the same leak in the next run: neither process nor age nor count. */
static void leak_write(const struct check_verdict *verdict,
	const struct dump_group *record, FILE *file)
{
	const char *class_name = ttmem_name(
		TTMEM_NAMES_CLASS, record->leak_class);
	const char *kind = ttmem_name(TTMEM_NAMES_FIGURE, record->figure);
	char name[CHECK_RECORD_SIZE], text[CHECK_RECORD_SIZE];
	char size[DUMP_CELL_SIZE], scope[SCOPE_SIZE];
	char devices[DUMP_LABEL_SIZE];

	snprintf(name, sizeof(name),
		"leak: %s %s of %s bytes, scope %s%s%s, %s %s",
		class_name ? class_name : "unknown", kind ? kind : "unknown",
		dump_bytes(record->size, true, size), record->scope ? "\"" : "",
		record->scope ?
			ttm_text_escape(record->scope, scope, sizeof(scope)) :
			"none",
		record->scope ? "\"" : "",
		record->on == 1 ? "device" : "devices",
		dump_place_text(verdict->snapshot, record->place, record->whole,
			devices));
	case_write(file, name, "failure",
		check_record_text(verdict, record, text));
}

void check_write_junit(const struct check_verdict *verdict, FILE *file)
{
	bool strict = verdict->options->strict &&
		verdict->excuses->suppressions.unused;
	size_t listed = verdict->leaks.len > LEAKS_MAX ? LEAKS_MAX :
							 verdict->leaks.len;
	size_t more = verdict->leaks.len - listed;
	size_t failures = listed + (more > 0) + verdict->exceeded.len + strict;
	size_t errors = verdict->gaps.len + verdict->missing.len +
		(verdict->worth.status != 0);
	size_t i;

	fprintf(file,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites>\n<testsuite name=\"ttmem\" tests=\"%zu\" "
		"failures=\"%zu\" errors=\"%zu\" skipped=\"0\" time=\"0\">\n",
		failures + errors + (failures + errors == 0), failures, errors);
	if (failures + errors == 0)
		case_write(file, "no leaks", NULL, NULL);
	for (i = 0; i < listed; i++)
		leak_write(verdict, &verdict->leaks.groups[i], file);
	if (more)
		case_write(file, "more leaks", "failure",
			"there are smaller ones: see the summary");
	lines_write(file, "limit", "failure", &verdict->exceeded);
	if (strict)
		case_write(file, "suppressions", "failure",
			"there are unused suppressions");
	lines_write(file, "data incomplete", "error", &verdict->gaps);
	lines_write(file, "no data", "error", &verdict->missing);
	if (verdict->worth.status)
		case_write(file, "no current data", "error",
			verdict->worth.reason);
	fputs("  <system-out>", file);
	xml_write(file, verdict->summary);
	fputs("</system-out>\n</testsuite>\n</testsuites>\n", file);
}

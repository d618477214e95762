/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "csv.h"

#include <stdbool.h>
#include <string.h>

#include "ttmem-dump/cell.h"
#include "common/text.h"

#define TEXT_SIZE 4096u

static void separate(struct dump_csv *csv)
{
	if (csv->cells++)
		putc_unlocked(',', csv->file);
}

/* Their wide forms, too, which some take for the same. */
static bool is_formula(const char *text)
{
	static const char *const wide[] = { "\xef\xbc\x9d", "\xef\xbc\x8b",
		"\xef\xbc\x8d", "\xef\xbc\xa0" };
	size_t i;

	for (i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
		if (strncmp(text, wide[i], 3) == 0)
			return true;
	return text[0] && strchr("=+-@", text[0]);
}

void dump_csv_safe(struct dump_csv *csv, const char *text)
{
	const char *quote;

	separate(csv);
	putc_unlocked('"', csv->file);
	if (is_formula(text))
		putc_unlocked('\'', csv->file);
	for (; (quote = strchr(text, '"')) != NULL; text = quote + 1) {
		fwrite_unlocked(text, 1, (size_t)(quote - text), csv->file);
		fputs_unlocked("\"\"", csv->file);
	}
	fputs_unlocked(text, csv->file);
	putc_unlocked('"', csv->file);
}

void dump_csv_text(struct dump_csv *csv, const char *text)
{
	char safe[TEXT_SIZE];

	if (text)
		dump_csv_safe(csv, ttm_text_escape(text, safe, sizeof(safe)));
	else
		separate(csv);
}

void dump_csv_number(struct dump_csv *csv, uint64_t number)
{
	separate(csv);
	if (number != TTMEM_UNKNOWN)
		fprintf(csv->file, "%llu", (unsigned long long)number);
}

void dump_csv_signed(struct dump_csv *csv, int64_t number)
{
	separate(csv);
	if (number != TTMEM_HEADROOM_UNKNOWN)
		fprintf(csv->file, "%lld", (long long)number);
}

void dump_csv_hex(struct dump_csv *csv, uint64_t number)
{
	separate(csv);
	if (number != TTMEM_UNKNOWN)
		fprintf(csv->file, "0x%llx", (unsigned long long)number);
}

void dump_csv_flag(struct dump_csv *csv, uint64_t flag)
{
	separate(csv);
	if (flag <= 1)
		fputs(flag ? "true" : "false", csv->file);
}

void dump_csv_end(struct dump_csv *csv)
{
	putc_unlocked('\n', csv->file);
	csv->cells = 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdio.h>
#include <sys/utsname.h>

#include <ttmem/version.h>

#include "options.h"

/* -- the table -------------------------------------------------------------- */

void bench_table_head(void)
{
	printf("%-29s %7s %7s %6s %7s %6s %6s  %-11s %5s %6s %6s %6s %7s %9s "
	       "%6s\n",
		"hook (ns per call)", "threads", "live", "reader", "hook",
		"floor", "ratio", " quartiles", "x 1", "p50", "p90", "p99",
		"p99.9", "max", "slices");
}

static void table_line(const struct bench_cell *cell)
{
	char to_one_thread[16] = "-";

	if (cell->to_one_thread > 0)
		snprintf(to_one_thread, sizeof(to_one_thread), "%.2f",
			cell->to_one_thread);
	printf("%-29s %7s %7zu %6s %7.1f %6.1f %6.2f  %5.2f-%-5.2f %5s %6.1f "
	       "%6.1f %6.1f %7.1f %9.1f %6u%s\n",
		cell->hook->name, bench_threads_names[cell->threads],
		cell->live, cell->reader ? "yes" : "no", cell->measured.median,
		cell->floor.median, cell->ratio, cell->ratio_lower,
		cell->ratio_upper, to_one_thread, cell->measured.p50,
		cell->measured.p90, cell->measured.p99, cell->measured.p999,
		cell->measured.max, cell->slices,
		cell->broken > cell->slices ? " (busy machine)" : "");
}

void bench_table_lines(const struct bench_cell *cells, size_t cells_len)
{
	size_t i;

	for (i = 0; i < cells_len; i++)
		table_line(&cells[i]);
	fflush(stdout);
}

/* -- JSON -------------------------------------------------------------------- */

static void json_figures(const char *name, const struct bench_figures *figures)
{
	printf("      \"%s\": {\"median\": %.3f, \"lower_quartile\": %.3f, "
	       "\"upper_quartile\": %.3f,\n"
	       "        \"p50\": %.3f, \"p90\": %.3f, \"p99\": %.3f, "
	       "\"p99_9\": %.3f, \"max\": %.3f},\n",
		name, figures->median, figures->lower, figures->upper,
		figures->p50, figures->p90, figures->p99, figures->p999,
		figures->max);
}

static void json_optional(const char *name, double value)
{
	if (value > 0)
		printf("      \"%s\": %.4f,\n", name, value);
	else
		printf("      \"%s\": null,\n", name);
}

static void json_cell(const struct bench_cell *cell)
{
	printf("    {\n      \"hook\": \"%s\", \"threads\": \"%s\", "
	       "\"live\": %zu, \"reader\": %s,\n",
		cell->hook->name, bench_threads_names[cell->threads],
		cell->live, cell->reader ? "true" : "false");
	json_figures("hook_ns", &cell->measured);
	json_figures("floor_ns", &cell->floor);
	printf("      \"ratio\": {\"median\": %.4f, \"lower_quartile\": %.4f, "
	       "\"upper_quartile\": %.4f},\n",
		cell->ratio, cell->ratio_lower, cell->ratio_upper);
	json_optional("hook_to_one_thread", cell->to_one_thread);
	json_optional("floor_to_one_thread", cell->floor_to_one_thread);
	printf("      \"calls_per_operation\": %u, "
	       "\"records_per_operation\": %u,\n"
	       "      \"slices\": %u, \"slices_broken\": %u,\n"
	       "      \"records_read\": %llu, \"records_missed\": %llu\n    }",
		cell->hook->calls, cell->hook->records, cell->slices,
		cell->broken, (unsigned long long)cell->read,
		(unsigned long long)cell->missed);
}

void bench_json(
	const struct bench_cell *cells, size_t cells_len, double seconds)
{
	struct utsname machine = { .machine = "unknown" };
	size_t i;

	uname(&machine);
	printf("{\n  \"schema_version\": 1,\n  \"bench\": \"record\",\n"
	       "  \"version\": \"%d.%d.%d\",\n  \"machine\": \"%s\",\n"
	       "  \"compiler\": \"%s\",\n  \"seconds_per_cell\": %g,\n"
	       "  \"cells\": [\n",
		TTMEM_VERSION_MAJOR, TTMEM_VERSION_MINOR, TTMEM_VERSION_PATCH,
		machine.machine, __VERSION__, seconds);
	for (i = 0; i < cells_len; i++) {
		json_cell(&cells[i]);
		puts(i + 1 < cells_len ? "," : "");
	}
	puts("  ]\n}");
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "help.h"

#include <stdio.h>

#include "board.h"
#include "pattern.h"

static const char help_where[] =
	"usage: ttmem-load [options]\n"
	"\n"
	"Does what a runtime on Tenstorrent devices does to their memory, as far as\n"
	"ttmem can see, without a device; and says exactly what it did.\n"
	"\n"
	"Who and where:\n"
	"  --processes N         (default: 1)\n"
	"  --threads N           in each process (default: 1)\n"
	"  --devices N           up to 64 (default: 1)\n"
	"  --mesh[=N]            use the devices as meshes of N (default: of all)\n"
	"  --board NAME          what they are (default: p150); see below\n"
	"  --chip-offset N       the first device is the board's chip N (default: 0)\n"
	"  --logical-offset N    and its logical id is N (default: 0)\n"
	"  --no-identity         opened without chip id and PCI address\n"
	"  --implicit            never opened\n"
	"  --dir DIR             base directory for the segments\n"
	"  --untracked           the same calls with tracking off\n"
	"  --fake-sysfs DIR      no load: the driver's files for these devices, in\n"
	"                        DIR/sys and DIR/proc; with --seconds they move\n"
	"\n";
static const char help_what[] =
	"What:\n"
	"  --pattern NAME        (default: churn); see below\n"
	"  --script FILE         the events in FILE instead, - is stdin\n"
	"  --events N            for each thread (default: 100000)\n"
	"  --seconds S           for so long\n"
	"  --rate N              events per second and thread (default: flat out)\n"
	"  --live N              live buffers of each thread (default: 1000)\n"
	"  --objects N           of each thread in the pattern hold (default: 1000)\n"
	"  --size MIN-MAX        of buffers (default: by kind)\n"
	"  --no-banks            tell only the sizes, no bank figures\n"
	"  --shrink P            percent of a mesh's frees made device by device\n"
	"  --cross-free P        percent of frees left to another thread\n"
	"  --scopes N            take turns with N scope names\n"
	"  --marks               a mark where each thread begins and ends\n"
	"  --failures N          allocations of each thread that fail\n"
	"  --seed N              (default: 1)\n"
	"\n"
	"The end:\n"
	"  --leak N              leave exactly N buffers, each in a scope of its own\n"
	"  --leak-kind KIND      (default: dram)\n"
	"  --leak-size SIZE      (default: 1M)\n"
	"  --crash[=SIGNAL]      die before anything is freed: kill (default),\n"
	"                        abort, segv or term\n"
	"  --crash-after N       die when a thread has made N events\n"
	"  --hold                say 'ready' before anything is freed, and wait for\n"
	"                        SIGTERM, SIGINT or the end of stdin\n"
	"  --hold-seconds S      the same, but not longer than that\n"
	"  --no-close            leave the devices open\n"
	"\n"
	"  --json FILE           what was done, - is stdout\n"
	"  -q, --quiet           neither progress nor summary\n"
	"  -h, --help            this text\n"
	"  -V, --version\n"
	"\n"
	"Sizes may end in K, M, G or T (powers of 1024).\n";

void load_help(void)
{
	size_t i;

	fputs(help_where, stdout);
	fputs(help_what, stdout);
	puts("\nPatterns:");
	for (i = 0; i < load_patterns_len; i++)
		printf("  %-20s  %s\n", load_patterns[i]->name,
			load_patterns[i]->text);
	puts("\nBoards:");
	for (i = 0; i < load_boards_len; i++)
		printf("  %-20s  %u cores, %u chip%s\n", load_boards[i].name,
			load_boards[i].cores, load_boards[i].chips,
			load_boards[i].chips == 1 ? "" : "s");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the calls that a script of ttmem-load cannot say, one per line of standard
 * input, and answers each with "done".
 *
 *   alloc ID SIZE         of DRAM, on device 0
 *   free ID
 *   guess ID SIZE CORES   a kernel whose type only its size tells
 *   stop, start           tracking
 *   exec                  the same program again: it has no objects
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ttmem/ttmem.h>

static int line_run(const char *line, char **argv)
{
	uint64_t id, size;
	uint32_t cores;

	if (sscanf(line, "alloc %" SCNu64 " %" SCNu64, &id, &size) == 2)
		ttmem_alloc(0, TTMEM_DRAM, id, 0x1000, size);
	else if (sscanf(line, "free %" SCNu64, &id) == 1)
		ttmem_free(0, TTMEM_DRAM, id);
	else if (sscanf(line, "guess %" SCNu64 " %" SCNu64 " %" SCNu32, &id,
			 &size, &cores) == 3)
		ttmem_kernel_load(
			0, id, ttmem_kernel_type_guess(size), size, cores, 0);
	else if (strcmp(line, "stop\n") == 0)
		ttmem_stop();
	else if (strcmp(line, "start\n") == 0)
		return ttmem_start(NULL);
	else if (strcmp(line, "exec\n") == 0)
		return execl("/proc/self/exe", argv[0], "again", NULL);
	else
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	char line[256];

	setvbuf(stdin, NULL, _IONBF, 0); /* exec takes nothing along */
	if (argc > 1)
		puts("done");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (line_run(line, argv) < 0)
			return 1;
		puts("done");
		fflush(stdout);
	}
	return 0;
}

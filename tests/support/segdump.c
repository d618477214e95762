/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a segment as key=value lines, for tests in shell and for people.
 * Exits with 0, 1 if the segment is not as the layout page says or (-c, -k) does
 * not agree with itself, 2 for bad usage.
 */
#include "support/segment_reader.h"

#include <stdio.h>
#include <unistd.h>

static int usage(void)
{
	fprintf(stderr,
		"usage: segdump [-c | -k] [-q] [-r] SEGMENT...\n"
		"  -c  check that it is consistent, at rest\n"
		"  -k  the same for a process that was killed\n"
		"  -q  print nothing but what is wrong\n"
		"  -r  print the records, too\n");
	return 2;
}

static int dump(const char *path, int check, int quiet, int records)
{
	struct segment *segment;
	char why[512] = "";
	int err;

	err = segment_read(path, &segment, why, sizeof(why));
	if (err) {
		fprintf(stderr, "%s: %s\n", path, why);
		return 1;
	}
	if (!quiet)
		segment_print(segment, stdout, records);
	if (check == 'c')
		err = segment_check_at_rest(segment, why, sizeof(why));
	if (check == 'k')
		err = segment_check_killed(segment, why, sizeof(why));
	if (err)
		fprintf(stderr, "%s: %s\n", path, why);
	segment_unref(&segment);
	return err != 0;
}

int main(int argc, char **argv)
{
	int check = 0;
	int quiet = 0;
	int records = 0;
	int failed = 0;
	int option;

	while ((option = getopt(argc, argv, "ckqr")) != -1) {
		if (option == 'c' || option == 'k')
			check = option;
		else if (option == 'q')
			quiet = 1;
		else if (option == 'r')
			records = 1;
		else
			return usage();
	}
	if (optind == argc)
		return usage();
	for (; optind < argc; optind++)
		failed |= dump(argv[optind], check, quiet, records);
	return failed;
}

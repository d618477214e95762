/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the code under test asks the kernel for, answered here: files are buffers,
 * time passes when the target says so, and a wait is where the target goes on. By
 * the linker's --wrap; whatever is not faked goes to the C library.
 */
#ifndef FUZZ_FAKED_H
#define FUZZ_FAKED_H

#include <stdbool.h>
#include <stdint.h>

/* No descriptor that the kernel gives out. */
#define FAKED_FD 1000000
#define FAKED_FILES 2u

struct faked_file {
	uint8_t *bytes;
	uint64_t size;
	uint64_t reads; /* since somebody set it to 0 */
	uint64_t bytes_read;
	void (*before)(void); /* each read; or NULL */
	/* The next read gives this errno, or at most so many bytes. */
	int error;
	uint64_t most; /* 0: all */
	/* Where openat() finds it, in any directory; NULL: nowhere. */
	const char *name;
	bool locked;   /* somebody holds a lock on it */
	bool replaced; /* that name means another file by now */
};

struct faked {
	bool on;         /* else nothing is faked */
	uint64_t now_ns; /* of all clocks but the processor's */
	void (*wait)(void);
	struct faked_file files[FAKED_FILES]; /* FAKED_FD, FAKED_FD + 1 */
};

extern struct faked faked;

/* What liburcu would do when nobody looks any more: now. */
void faked_reclaim(void);

#endif

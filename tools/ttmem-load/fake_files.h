/* SPDX-License-Identifier: Apache-2.0 */
/* Files with one value each, in a directory that is made as it goes. */
#ifndef LOAD_FAKE_FILES_H
#define LOAD_FAKE_FILES_H

#define FAKE_PATH_SIZE 512u

/* A path; exits if it is too long. */
__attribute__((format(printf, 2, 3))) void fake_path(
	char ret_path[FAKE_PATH_SIZE], const char *format, ...);

/* With all that are missing above it. Exits on failure, as the others. */
void fake_directory(const char *path);

/* The value and a newline, in place of what was there at one moment. */
__attribute__((format(printf, 3, 4))) void fake_value(
	const char *directory, const char *name, const char *format, ...);

/* A file with nothing in it. */
void fake_empty(const char *directory, const char *name);

void fake_link(const char *target, const char *path);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* How the tools end, and how they say what is wrong: once, on stderr. */
#ifndef TTM_COMMON_ERROR_H
#define TTM_COMMON_ERROR_H

enum ttm_exit {
	TTM_EXIT_OK = 0,
	TTM_EXIT_FAILURE = 1,
	TTM_EXIT_USAGE = 2,
	TTM_EXIT_NO_DATA = 3,    /* none, or none that is current */
	TTM_EXIT_INCOMPLETE = 4, /* or incompatible */
	TTM_EXIT_LIMIT = 5,      /* a limit or a baseline is exceeded */
	TTM_EXIT_LEAKS = 23,     /* as LeakSanitizer has it */
};

/* The one to end with where both apply: 2, 1, 3, 23, 5, 4, 0. */
int ttm_exit_join(int a, int b);

/* The tool's name, which is kept, not copied. Before anything below. */
void ttm_error_name(const char *name);
/* The command whose --help ttm_error_usage() names, if it is not the tool's. Kept. */
void ttm_error_command(const char *name);

/* "NAME: text" and a newline, in one write. */
__attribute__((format(printf, 1, 2))) void ttm_error(const char *format, ...);

/* The same with a hint at --help, then exits with TTM_EXIT_USAGE. */
__attribute__((format(printf, 1, 2), noreturn)) void ttm_error_usage(
	const char *format, ...);

#endif

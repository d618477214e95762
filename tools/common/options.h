/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of the tools. One table for each command feeds parsing, --help and the answers
 * to mistakes. A mistake is told on stderr and ends the program with TTM_EXIT_USAGE.
 */
#ifndef TTM_COMMON_OPTIONS_H
#define TTM_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an option sets, by its type. */
enum ttm_option_type {
	TTM_OPTION_END = 0, /* of the table */
	TTM_OPTION_TEXT, /* no option: a text of --help, and what `take` prints */
	TTM_OPTION_HELP,    /* prints --help */
	TTM_OPTION_VERSION, /* prints "NAME 1.2.3" */
	TTM_OPTION_FLAG,    /* bool, to true */
	TTM_OPTION_OFF,     /* bool, to false */
	TTM_OPTION_STRING,  /* const char *, kept, not copied */
	TTM_OPTION_FILE,    /* the same, not empty */
	TTM_OPTION_DIR,     /* the same, an absolute path */
	TTM_OPTION_NUMBER,  /* uint64_t */
	TTM_OPTION_COUNT,   /* size_t; "all" is SIZE_MAX */
	TTM_OPTION_SIZE, /* uint64_t, in bytes; K, M, G and T are powers of 1024 */
	TTM_OPTION_SECONDS,  /* uint64_t, in ns */
	TTM_OPTION_FRACTION, /* double, above 0 */
	TTM_OPTION_WORD,     /* unsigned or enum: the place among `words` */
	TTM_OPTION_BIT,      /* unsigned: 1 << that place */
	TTM_OPTION_BITS,     /* the same of each word in a list "a,b" */
	TTM_OPTION_CALL,     /* `take` sets it */
};

/* Sets *at from a value; NULL without one. `option` is the name, for messages. */
typedef void ttm_option_take(void *at, const char *option, const char *value);

struct ttm_option {
	enum ttm_option_type type;
	const char *name;
	char letter; /* short form, or 0 */
	const char *
		value; /* its name in --help; "[=N]" may be left out; NULL: none */
	const char *help;     /* lines; NULL: --help does not tell the option */
	size_t offset;        /* of what is set */
	uint64_t least, most; /* 0: no limit; of seconds in ns */
	const char *const *words; /* NULL behind the last */
	ttm_option_take *take;
};

/* OPTIONS is the struct that the options of a file set. */
#define TTM_OPTION(type_, member, name_, value_, ...)                          \
	{                                                                      \
		.type = TTM_OPTION_##type_, .name = name_, .value = value_,    \
		.offset = offsetof(OPTIONS, member), __VA_ARGS__               \
	}
#define TTM_OPTION_CALLS(take_, member, name_, value_, ...)                    \
	TTM_OPTION(CALL, member, name_, value_, .take = take_, __VA_ARGS__)
#define TTM_OPTION_HELP_TEXT(text)                                             \
	{                                                                      \
		.type = TTM_OPTION_TEXT, .help = text                          \
	}
#define TTM_OPTION_WORDS(...)                                                  \
	(const char *const[])                                                  \
	{                                                                      \
		__VA_ARGS__, NULL                                              \
	}

/* What follows the options. */
enum ttm_arguments {
	TTM_ARGUMENTS_NONE,
	TTM_ARGUMENTS_SOME,
	TTM_ARGUMENTS_COMMAND, /* the first argument ends the options */
};

struct ttm_command {
	const char *name; /* "ttmem-dump check" */
	const struct ttm_option *options;
	enum ttm_arguments arguments;
	uint64_t
		given; /* options, by their place; set by ttm_options_parse() */
};

/* Returns the place of the first argument that is no option. */
int ttm_options_parse(
	struct ttm_command *command, int argc, char **argv, void *options);

/* Whether the option was there. */
bool ttm_option_is_given(const struct ttm_command *command, const char *name);

/* Refuses a value: names the closest of `words`, or all. */
__attribute__((noreturn)) void ttm_option_refuse(
	const char *option, const char *value, const char *const *words);

#endif

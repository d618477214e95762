/* SPDX-License-Identifier: Apache-2.0 */
#include "common/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ttmem/version.h>

#include "common/choice.h"
#include "common/error.h"
#include "common/number.h"

#define OPTIONS_MAX 64u
#define HELP_COLUMN 24
#define FIRST_VALUE 256

/* -- --help and --version --------------------------------------------------------- */

/* "  -o, --output FILE     text", further lines below the text. */
static void option_print(const struct ttm_option *option)
{
	const char *line = option->help, *value = option->value;
	char name[80], letter[8] = "";
	size_t length;

	if (option->letter)
		snprintf(letter, sizeof(letter), "-%c, ", option->letter);
	snprintf(name, sizeof(name), "  %s--%s%s%s ", letter, option->name,
		value && value[0] != '[' ? " " : "", value ? value : "");
	printf(*line ? "%-*s" : "%.*s",
		*line ? HELP_COLUMN : (int)strlen(name) - 1, name);
	while ((length = strcspn(line, "\n")) < strlen(line)) {
		printf("%.*s\n%*s", (int)length, line, HELP_COLUMN, "");
		line += length + 1;
	}
	puts(line);
}

__attribute__((noreturn)) static void stdout_end(void)
{
	exit(fflush(stdout) == 0 && !ferror(stdout) ? TTM_EXIT_OK :
						      TTM_EXIT_FAILURE);
}

__attribute__((noreturn)) static void help_print(
	const struct ttm_option *option)
{
	for (; option->type != TTM_OPTION_END; option++) {
		if (option->type == TTM_OPTION_TEXT)
			fputs(option->help ? option->help : "", stdout);
		else if (option->help)
			option_print(option);
		if (option->type == TTM_OPTION_TEXT && option->take)
			option->take(NULL, NULL, NULL);
	}
	stdout_end();
}

/* Of a tool, whatever the command. */
__attribute__((noreturn)) static void version_print(const char *name)
{
	printf("%.*s %d.%d.%d\n", (int)strcspn(name, " "), name,
		TTMEM_VERSION_MAJOR, TTMEM_VERSION_MINOR, TTMEM_VERSION_PATCH);
	stdout_end();
}

/* -- values ----------------------------------------------------------------------- */

void ttm_option_refuse(
	const char *option, const char *value, const char *const *words)
{
	struct ttm_choice choice;

	ttm_choice_begin(&choice, value);
	for (; *words; words++)
		ttm_choice_add(&choice, *words);
	ttm_error_usage("--%s: unknown value: %s %s", option, value,
		ttm_choice_text(&choice));
}

static unsigned word_parse(const struct ttm_option *option, const char *value)
{
	unsigned i;

	for (i = 0; option->words[i]; i++)
		if (strcmp(option->words[i], value) == 0)
			return i;
	ttm_option_refuse(option->name, value, option->words);
}

static unsigned bits_parse(const struct ttm_option *option, const char *value)
{
	unsigned bits = 0;
	size_t length;
	char word[64];

	do {
		length = strcspn(value, ",");
		snprintf(word, sizeof(word), "%.*s", (int)length, value);
		bits |= 1u << word_parse(option, word);
		value += length;
	} while (*value++);
	return bits;
}

static bool is_within(const struct ttm_option *option, uint64_t number)
{
	return number >= option->least &&
		(!option->most || number <= option->most);
}

static uint64_t number_parse(const struct ttm_option *option, const char *value)
{
	unsigned long long least = option->least, most = option->most;
	uint64_t number;

	if (ttm_number_parse(value, &number) == 0 && is_within(option, number))
		return number;
	if (most)
		ttm_error_usage("--%s: not a number from %llu to %llu: %s",
			option->name, least, most, value);
	ttm_error_usage("--%s: not a number from %llu on: %s", option->name,
		least, value);
}

static uint64_t size_parse(const struct ttm_option *option, const char *value)
{
	uint64_t bytes;

	if (ttm_size_parse(value, &bytes) < 0 || !is_within(option, bytes))
		ttm_error_usage(
			"--%s: not a size above 0 that is possible, for "
			"example 4G: %s",
			option->name, value);
	return bytes;
}

static uint64_t seconds_parse(
	const struct ttm_option *option, const char *value)
{
	double seconds;

	if (ttm_fraction_parse(value, &seconds) < 0 ||
		seconds > (double)option->most / 1e9 ||
		seconds < (double)option->least / 1e9)
		ttm_error_usage("--%s: not seconds from %g to %g: %s",
			option->name, (double)option->least / 1e9,
			(double)option->most / 1e9, value);
	return (uint64_t)(seconds * 1e9);
}

static double fraction_parse(const struct ttm_option *option, const char *value)
{
	double number;

	if (ttm_fraction_parse(value, &number) < 0 || number <= 0 ||
		number > (double)option->most)
		ttm_error_usage("--%s: not a number above 0 and up to %g: %s",
			option->name, (double)option->most, value);
	return number;
}

static const char *text_parse(
	const struct ttm_option *option, const char *value)
{
	if (option->type == TTM_OPTION_DIR && value[0] != '/')
		ttm_error_usage(
			"--%s: not an absolute path: %s", option->name, value);
	if (option->type == TTM_OPTION_FILE && !value[0])
		ttm_error_usage(
			"--%s: the name of the file is empty", option->name);
	return value;
}

static void value_set(
	const struct ttm_option *option, void *options, const char *value)
{
	void *at = (char *)options + option->offset;

	switch (option->type) {
	case TTM_OPTION_FLAG:
	case TTM_OPTION_OFF:
		*(bool *)at = option->type == TTM_OPTION_FLAG;
		break;
	case TTM_OPTION_STRING:
	case TTM_OPTION_FILE:
	case TTM_OPTION_DIR:
		*(const char **)at = text_parse(option, value);
		break;
	case TTM_OPTION_NUMBER:
		*(uint64_t *)at = number_parse(option, value);
		break;
	case TTM_OPTION_COUNT:
		*(size_t *)at = strcmp(value, "all") == 0 ?
			SIZE_MAX :
			number_parse(option, value);
		break;
	case TTM_OPTION_SIZE:
		*(uint64_t *)at = size_parse(option, value);
		break;
	case TTM_OPTION_SECONDS:
		*(uint64_t *)at = seconds_parse(option, value);
		break;
	case TTM_OPTION_FRACTION:
		*(double *)at = fraction_parse(option, value);
		break;
	case TTM_OPTION_WORD:
		*(unsigned *)at = word_parse(option, value);
		break;
	case TTM_OPTION_BIT:
		*(unsigned *)at = 1u << word_parse(option, value);
		break;
	case TTM_OPTION_BITS:
		*(unsigned *)at = bits_parse(option, value);
		break;
	default:
		option->take(at, option->name, value);
	}
}

/* -- all of them ------------------------------------------------------------------ */

/* Ends the program because of an option that getopt_long() refused. */
__attribute__((noreturn)) static void option_refuse(
	const char *given, const struct option *table)
{
	struct ttm_choice choice;
	char name[64];

	/* In a group of letters, `given` may be the word before it. */
	if (optopt > ' ' && optopt <= '~')
		ttm_error_usage("unknown option: -%c", optopt);
	if (strncmp(given, "--", 2) != 0)
		ttm_error_usage("unknown option: %s", given);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(given, "="), given);
	ttm_choice_begin(&choice, name + 2);
	for (; table->name; table++) {
		if (strcmp(name + 2, table->name) == 0)
			ttm_error_usage("%s takes no value: %s", name, given);
		ttm_choice_add(&choice, table->name);
	}
	if (ttm_choice_is_close(&choice))
		ttm_error_usage("unknown option: %s (did you mean --%s?)",
			given, choice.closest);
	ttm_error_usage("unknown option: %s", given);
}

/*
 * Returns the place of the first option that sets the same thing in the same way: of two
 * spellings, the first one. An option with a value keeps its own place, because messages
 * about the value name the option.
 */
static size_t place_of_first(const struct ttm_option *options, size_t place)
{
	const struct ttm_option *o = &options[place];
	size_t i;

	if (o->value ||
		(o->type != TTM_OPTION_FLAG && o->type != TTM_OPTION_OFF))
		return place;
	for (i = 0;
		options[i].type != o->type || options[i].offset != o->offset;
		i++)
		;
	return i;
}

/*
 * The same for getopt_long(): values are FIRST_VALUE and the place, or the letter. Options
 * of the same value may have a common abbreviation.
 */
static void tables_make(const struct ttm_option *from, struct option *ret_longs,
	char *ret_shorts)
{
	const struct ttm_option *o;

	for (o = from; o->type != TTM_OPTION_END; o++) {
		if (!o->name)
			continue;
		*ret_longs++ = (struct option){ o->name,
			!o->value                  ? no_argument :
				o->value[0] == '[' ? optional_argument :
						     required_argument,
			NULL,
			FIRST_VALUE +
				(int)place_of_first(from, (size_t)(o - from)) };
		if (o->letter)
			*ret_shorts++ = o->letter;
		if (o->letter && o->value)
			*ret_shorts++ = ':';
	}
	memset(ret_longs, 0, sizeof(*ret_longs));
	*ret_shorts = '\0';
}

static size_t place_of(const struct ttm_option *options, int option)
{
	size_t i = 0;

	if (option >= FIRST_VALUE)
		return (size_t)(option - FIRST_VALUE);
	while (options[i].letter != (char)option)
		i++;
	return place_of_first(options, i);
}

int ttm_options_parse(
	struct ttm_command *command, int argc, char **argv, void *options)
{
	struct option longs[OPTIONS_MAX + 1];
	char shorts[2 * OPTIONS_MAX + 3] = "+:";
	const struct ttm_option *o;
	size_t place;
	int option;

	ttm_error_command(command->name);
	tables_make(command->options, longs, shorts + 2);
	opterr = 0; /* the parser tells mistakes, once */
	while ((option = getopt_long(argc, argv,
			shorts + (command->arguments != TTM_ARGUMENTS_COMMAND),
			longs, NULL)) != -1) {
		if (option == ':')
			ttm_error_usage("%s needs a value", argv[optind - 1]);
		if (option == '?')
			option_refuse(argv[optind - 1], longs);
		place = place_of(command->options, option);
		o = &command->options[place];
		if (o->type == TTM_OPTION_HELP)
			help_print(command->options);
		if (o->type == TTM_OPTION_VERSION)
			version_print(command->name);
		command->given |= 1ull << place;
		value_set(o, options, optarg);
	}
	if (command->arguments == TTM_ARGUMENTS_NONE && optind < argc)
		ttm_error_usage("unexpected argument: %s", argv[optind]);
	return optind;
}

bool ttm_option_is_given(const struct ttm_command *command, const char *name)
{
	const struct ttm_option *o = command->options;
	size_t place;

	while (o->type != TTM_OPTION_END &&
		(!o->name || strcmp(o->name, name) != 0))
		o++;
	if (o->type == TTM_OPTION_END)
		return false;
	place = place_of_first(
		command->options, (size_t)(o - command->options));
	return command->given >> place & 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One table of options feeds parsing, --help and the answers to mistakes. */
#include "common/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unity.h>

struct set {
	bool flag;
	bool on;
	bool colourless;
	const char *text;
	const char *dir;
	uint64_t number;
	size_t count;
	uint64_t bytes;
	uint64_t ns;
	unsigned word;
	unsigned bits;
	int given; /* by `called` */
};

#define OPTIONS struct set

static void called(void *at, const char *option, const char *value)
{
	TEST_ASSERT_EQUAL_STRING("call", option);
	*(int *)at = value ? atoi(value) : -1;
}

static const struct ttm_option table[] = {
	TTM_OPTION_HELP_TEXT("usage: test\n"),
	TTM_OPTION(FLAG, flag, "flag", NULL, .letter = 'f', .help = "a flag"),
	TTM_OPTION(OFF, on, "off", NULL, .help = "no flag"),
	TTM_OPTION(FLAG, colourless, "no-colour", NULL),
	TTM_OPTION(FLAG, colourless, "no-color", NULL, .letter = 'c'),
	TTM_OPTION(FILE, text, "file", "FILE", .letter = 'o',
		.help = "first line\nsecond line"),
	TTM_OPTION(DIR, dir, "dir", "DIR"),
	TTM_OPTION(NUMBER, number, "number", "N", .least = 2, .most = 9),
	TTM_OPTION(COUNT, count, "count", "N"),
	TTM_OPTION(SIZE, bytes, "size", "SIZE", .least = 1),
	TTM_OPTION(SECONDS, ns, "seconds", "SEC", .least = 500000000,
		.most = 2000000000),
	TTM_OPTION(WORD, word, "word", "WORD",
		.words = TTM_OPTION_WORDS("text", "json")),
	TTM_OPTION(BITS, bits, "bits", "WORD,..",
		.words = TTM_OPTION_WORDS("one", "two", "three")),
	TTM_OPTION_CALLS(called, given, "call", "[=N]"),
	{ .type = TTM_OPTION_HELP, .name = "help", .letter = 'h', .help = "" },
	{ .type = TTM_OPTION_VERSION, .name = "version" },
	{ 0 },
};

static struct set set;
static struct ttm_command command;

void setUp(void)
{
	memset(&set, 0, sizeof(set));
	set.on = true;
	command = (struct ttm_command){ .name = "test it", .options = table };
}

void tearDown(void)
{
}

/* Parses words that a blank separates. */
static int parse(const char *line)
{
	static char text[256];
	char *argv[32] = { text }, *at;
	int argc = 1;

	optind = 0; /* getopt begins anew */
	snprintf(text, sizeof(text), "test %s", line);
	for (at = strchr(text, ' '); at; at = strchr(at, ' ')) {
		*at++ = '\0';
		if (*at)
			argv[argc++] = at;
	}
	return ttm_options_parse(&command, argc, argv, &set);
}

/* The same in a process that ends with `status`; has both outputs contain `text`. */
static void parse_ends(const char *line, int status, const char *text)
{
	char said[4096] = "";
	int out[2], ended;
	ssize_t n;
	pid_t pid;

	TEST_ASSERT_EQUAL_INT(0, pipe(out));
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(out[1], STDOUT_FILENO);
		dup2(out[1], STDERR_FILENO);
		parse(line);
		_exit(100);
	}
	close(out[1]);
	while ((n = read(out[0], said + strlen(said),
			sizeof(said) - strlen(said) - 1)) > 0)
		;
	close(out[0]);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &ended, 0));
	TEST_ASSERT_EQUAL_INT_MESSAGE(status, WEXITSTATUS(ended), line);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(said, text), said);
}

static void test_each_type_sets_its_member(void)
{
	parse("-f --off -o name --dir /x --number 9 --count all --size 2K "
	      "--seconds 0.5 --word json --bits one,three --call=7");
	TEST_ASSERT_TRUE(set.flag);
	TEST_ASSERT_FALSE(set.on);
	TEST_ASSERT_EQUAL_STRING("name", set.text);
	TEST_ASSERT_EQUAL_STRING("/x", set.dir);
	TEST_ASSERT_EQUAL_UINT64(9, set.number);
	TEST_ASSERT_EQUAL_UINT64(SIZE_MAX, set.count);
	TEST_ASSERT_EQUAL_UINT64(2048, set.bytes);
	TEST_ASSERT_EQUAL_UINT64(500000000, set.ns);
	TEST_ASSERT_EQUAL_UINT(1, set.word);
	TEST_ASSERT_EQUAL_UINT(5, set.bits);
	TEST_ASSERT_EQUAL_INT(7, set.given);
	parse("--call");
	TEST_ASSERT_EQUAL_INT(-1, set.given);
}

static void test_what_was_given_is_known(void)
{
	parse("--number 3");
	TEST_ASSERT_TRUE(ttm_option_is_given(&command, "number"));
	TEST_ASSERT_FALSE(ttm_option_is_given(&command, "flag"));
	TEST_ASSERT_FALSE(ttm_option_is_given(&command, "none"));
}

/* What is common to two spellings of an option stands for both. */
static void test_spellings_may_be_abbreviated_together(void)
{
	static const char *const given[] = { "--no-col", "--no-colour",
		"--no-color", "-c" };
	unsigned i;

	for (i = 0; i < 4; i++) {
		setUp();
		parse(given[i]);
		TEST_ASSERT_TRUE_MESSAGE(set.colourless, given[i]);
		TEST_ASSERT_TRUE(ttm_option_is_given(&command, "no-colour"));
		TEST_ASSERT_TRUE(ttm_option_is_given(&command, "no-color"));
		TEST_ASSERT_FALSE(ttm_option_is_given(&command, "off"));
	}
	parse_ends("--f", 2, "unknown option: --f");
}

static void test_a_command_ends_the_options(void)
{
	command.arguments = TTM_ARGUMENTS_COMMAND;
	TEST_ASSERT_EQUAL_INT(2, parse("-f ls --flag"));
	command.arguments = TTM_ARGUMENTS_SOME;
	TEST_ASSERT_EQUAL_INT(2, parse("a -f"));
	TEST_ASSERT_TRUE(set.flag);
}

static void test_a_mistake_is_answered_and_is_2(void)
{
	parse_ends("--fla=1", 2, "unknown option");
	parse_ends("-x", 2, "unknown option: -x;");
	parse_ends("--off -xb", 2, "unknown option: -x;");
	parse_ends("--off -fxb", 2, "unknown option: -x;");
	parse_ends("--flga", 2, "(did you mean --flag?); test it --help tells");
	parse_ends("--flag=1", 2, "--flag takes no value");
	parse_ends("--number", 2, "--number needs a value");
	parse_ends("--number 1", 2, "--number: not a number from 2 to 9: 1");
	parse_ends("--number 10", 2, "--number: not a number from 2 to 9: 10");
	parse_ends("--count some", 2, "--count: not a number from 0 on");
	parse_ends("--size 0", 2, "--size: ");
	parse_ends("--seconds 0.4", 2, "--seconds: not seconds from 0.5 to 2");
	parse_ends("--seconds 2.1", 2, "--seconds: not seconds from 0.5 to 2");
	parse_ends("--dir x", 2, "--dir: not an absolute path: x");
	parse_ends("--file=", 2, "--file: the name of the file is empty");
	parse_ends("--word jsn", 2, "(did you mean \"json\"?)");
	parse_ends("--bits one,,two", 2, "(valid: one, two, three)");
	parse_ends("more", 2, "unexpected argument: more");
}

static void test_help_and_version_are_0(void)
{
	parse_ends("--help", 0,
		"usage: test\n"
		"  -f, --flag            a flag\n"
		"  --off                 no flag\n"
		"  -o, --file FILE       first line\n"
		"                        second line\n"
		"  -h, --help\n");
	parse_ends("--version", 0, "test ");
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_each_type_sets_its_member);
	RUN_TEST(test_what_was_given_is_known);
	RUN_TEST(test_spellings_may_be_abbreviated_together);
	RUN_TEST(test_a_command_ends_the_options);
	RUN_TEST(test_a_mistake_is_answered_and_is_2);
	RUN_TEST(test_help_and_version_are_0);
	return UNITY_END();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* From the text of a line to a command. */
#ifndef LOAD_SCRIPT_PARSE_H
#define LOAD_SCRIPT_PARSE_H

#include "script.h"

enum {
	SCRIPT_WORDS_MAX = 32
};

/* Names in the order of their first appearance. */
struct script_names {
	char **names; /* of meshes */
	size_t len;
	struct script_cores **cores; /* a name said again is another set */
	size_t cores_len;
};

/*
 * Cuts a line into words, in place: blanks separate, double quotes hold together,
 * and in them \", \\ and \xNN stand for a character; # begins a comment. Returns the
 * number of words, or -1 with what is wrong in *ret_why.
 */
int script_words(
	char *line, char *words[SCRIPT_WORDS_MAX], const char **ret_why);

/* Ends the process if something is wrong. */
void script_command_parse(const struct load_script *script,
	struct script_names *names, unsigned line, char **words, int words_len,
	struct script_command *ret_command);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to tell a user whose word is not one of those that are valid: the closest one if
 * it looks like a slip of the fingers, else all of them.
 */
#ifndef TTM_COMMON_CHOICE_H
#define TTM_COMMON_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#define TTM_CHOICE_SIZE 400u

struct ttm_choice {
	const char *given; /* kept, not copied */
	const char *closest;
	size_t distance;
	char list[TTM_CHOICE_SIZE]; /* of all valid words */
	char text[TTM_CHOICE_SIZE + 64];
};

void ttm_choice_begin(struct ttm_choice *choice, const char *given);

/* Adds a valid word, which is kept, not copied. */
void ttm_choice_add(struct ttm_choice *choice, const char *word);

/* Whether the closest word looks like the one that was meant. */
bool ttm_choice_is_close(const struct ttm_choice *choice);

/* Returns '(did you mean "word"?)' or '(valid: a, b, c)'. */
const char *ttm_choice_text(struct ttm_choice *choice);

#endif

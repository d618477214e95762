/* SPDX-License-Identifier: Apache-2.0 */
#include "common/choice.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX 32u
#define DISTANCE_MAX 2u

static size_t least(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Inserted, removed and changed characters between two words, two swapped ones as one. */
static size_t word_distance(const char *a, const char *b)
{
	size_t before[WORD_MAX + 1] = { 0 }, last[WORD_MAX + 1];
	size_t now[WORD_MAX + 1];
	size_t a_len = strlen(a), b_len = strlen(b), i, j;

	if (a_len > WORD_MAX || b_len > WORD_MAX)
		return WORD_MAX;
	for (j = 0; j <= b_len; j++)
		last[j] = j;
	for (i = 1; i <= a_len; i++) {
		now[0] = i;
		for (j = 1; j <= b_len; j++) {
			now[j] = least(last[j] + 1, now[j - 1] + 1,
				last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
				a[i - 2] == b[j - 1] &&
				before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
		memcpy(before, last, sizeof(before));
		memcpy(last, now, sizeof(last));
	}
	return last[b_len];
}

void ttm_choice_begin(struct ttm_choice *choice, const char *given)
{
	memset(choice, 0, sizeof(*choice));
	choice->given = given;
	choice->distance = WORD_MAX;
}

void ttm_choice_add(struct ttm_choice *choice, const char *word)
{
	size_t distance = word_distance(choice->given, word);
	size_t length = strlen(choice->list);

	if (distance < choice->distance) {
		choice->distance = distance;
		choice->closest = word;
	}
	snprintf(choice->list + length, sizeof(choice->list) - length, "%s%s",
		length ? ", " : "", word);
}

bool ttm_choice_is_close(const struct ttm_choice *choice)
{
	/* Of a word of three letters, two others are not a slip. */
	return choice->closest && choice->distance <= DISTANCE_MAX &&
		choice->distance < strlen(choice->closest) / 2 + 1 &&
		choice->distance < strlen(choice->given);
}

const char *ttm_choice_text(struct ttm_choice *choice)
{
	if (ttm_choice_is_close(choice))
		snprintf(choice->text, sizeof(choice->text),
			"(did you mean \"%s\"?)", choice->closest);
	else
		snprintf(choice->text, sizeof(choice->text), "(valid: %s)",
			choice->list);
	return choice->text;
}

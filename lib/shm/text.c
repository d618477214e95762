/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/text.h"

void ttm_text_init(struct ttm_text *text, char *bytes, size_t size)
{
	text->bytes = bytes;
	text->size = size;
	text->length = 0;
	text->truncated = false;
	bytes[0] = '\0';
}

static void text_add_char(struct ttm_text *text, char c)
{
	if (text->length + 1 >= text->size) {
		text->truncated = true;
		return;
	}
	text->bytes[text->length++] = c;
	text->bytes[text->length] = '\0';
}

void ttm_text_add(struct ttm_text *text, const char *string)
{
	while (*string)
		text_add_char(text, *string++);
}

void ttm_text_add_decimal(struct ttm_text *text, uint64_t number)
{
	char digits[20];
	size_t n = 0;

	do
		digits[n++] = (char)('0' + number % 10);
	while (number /= 10);
	while (n)
		text_add_char(text, digits[--n]);
}

void ttm_text_add_hex(struct ttm_text *text, uint64_t number, unsigned digits)
{
	while (digits--)
		text_add_char(
			text, "0123456789abcdef"[number >> (4 * digits) & 0xf]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, and what they do. */
#ifndef TTM_TOP_KEYS_H
#define TTM_TOP_KEYS_H

#include <stdbool.h>
#include <stddef.h>

/* Characters are themselves; these lie beyond all of them. */
enum top_key {
	TOP_KEY_NONE = 0x110000,
	TOP_KEY_UP,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ENTER,
	TOP_KEY_ESCAPE,
	TOP_KEY_BACKSPACE,
	TOP_KEY_BACKTAB,
	TOP_KEY_F1,
	TOP_KEY_F2,
	TOP_KEY_F5,
	TOP_KEY_F6,
	TOP_KEY_F9,
	TOP_KEY_F10,
	TOP_KEY_CLICK,
	TOP_KEY_DOUBLE_CLICK,
	TOP_KEY_WHEEL_UP,
	TOP_KEY_WHEEL_DOWN,
};

#define TOP_KEY_CTRL(c) ((c) - 'a' + 1)

/* A key, or the mouse at a place. */
struct top_input {
	int key; /* a character or enum top_key */
	int row, col;
};

enum top_action {
	TOP_ACTION_NONE,
#define ACTION(group, id, keys, text) TOP_ACTION_##id,
#define BIND(code, id)
#define BIND_VI(code, id)
#include "keys.def"
#undef ACTION
#undef BIND
#undef BIND_VI
	TOP_ACTIONS
};

struct top_action_text {
	enum top_action action;
	const char *group;
	const char *keys;
	const char *text;
};

/* In the order of the help screen. */
extern const struct top_action_text top_action_texts[];
extern const size_t top_action_texts_len;

enum top_action top_action_of(int key, bool vi);

#endif

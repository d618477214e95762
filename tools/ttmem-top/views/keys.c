/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "keys.h"

const struct top_action_text top_action_texts[] = {
#define ACTION(group, id, keys, text) { TOP_ACTION_##id, group, keys, text },
#define BIND(code, id)
#define BIND_VI(code, id)
#include "keys.def"
#undef ACTION
#undef BIND
#undef BIND_VI
};

const size_t top_action_texts_len = sizeof(top_action_texts) /
	sizeof(top_action_texts[0]);

static const struct {
	int key;
	enum top_action action;
	bool vi;
} binds[] = {
#define ACTION(group, id, keys, text)
#define BIND(code, id) { code, TOP_ACTION_##id, false },
#define BIND_VI(code, id) { code, TOP_ACTION_##id, true },
#include "keys.def"
#undef ACTION
#undef BIND
#undef BIND_VI
};

static enum top_action bound(int key, bool vi)
{
	size_t i;

	for (i = 0; i < sizeof(binds) / sizeof(binds[0]); i++)
		if (binds[i].vi == vi && binds[i].key == key)
			return binds[i].action;
	return TOP_ACTION_NONE;
}

enum top_action top_action_of(int key, bool vi)
{
	enum top_action action = vi ? bound(key, true) : TOP_ACTION_NONE;

	return action == TOP_ACTION_NONE ? bound(key, false) : action;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "common/value.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

const char *ttm_unknown_text(char buffer[static TTM_VALUE_SIZE])
{
	return memcpy(buffer, "-", 2);
}

const char *ttm_count_text(uint64_t count, char buffer[static TTM_VALUE_SIZE])
{
	if (count == TTMEM_UNKNOWN)
		return ttm_unknown_text(buffer);
	snprintf(buffer, TTM_VALUE_SIZE, "%llu", (unsigned long long)count);
	return buffer;
}

const char *ttm_pci_text(uint64_t address, char buffer[static TTM_VALUE_SIZE])
{
	if (address == TTMEM_UNKNOWN)
		return ttm_unknown_text(buffer);
	snprintf(buffer, TTM_VALUE_SIZE, "%04llx:%02x:%02x.%x",
		(unsigned long long)(address >> 16),
		(unsigned)(address >> 8 & 0xff),
		(unsigned)(address >> 3 & 0x1f), (unsigned)(address & 7));
	return buffer;
}

/* Asked once per user, as long as there are few: name services may be slow. */
const char *ttm_user_text(uint64_t uid, char buffer[static TTM_VALUE_SIZE])
{
	static struct {
		uint64_t uid;
		char name[TTM_VALUE_SIZE];
	} known[32];
	static size_t known_len, next;
	const struct passwd *user;
	size_t i;

	if (uid == TTMEM_UNKNOWN)
		return ttm_unknown_text(buffer);
	for (i = 0; i < known_len; i++)
		if (known[i].uid == uid)
			return memcpy(buffer, known[i].name, TTM_VALUE_SIZE);
	user = getpwuid((uid_t)uid);
	if (user)
		ttm_text_escape(user->pw_name, buffer, TTM_VALUE_SIZE);
	else
		ttm_count_text(uid, buffer);
	i = next++ % (sizeof(known) / sizeof(known[0]));
	known_len = known_len > i ? known_len : i + 1;
	known[i].uid = uid;
	snprintf(known[i].name, sizeof(known[i].name), "%s", buffer);
	return buffer;
}

void *ttm_list_grow(void *list, size_t len, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : 64;
	void *grown;

	if (len < *room)
		return list;
	grown = realloc(list, more * size);
	if (grown)
		*room = more;
	return grown;
}

uint64_t ttm_value_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	if (a == TTMEM_UNKNOWN || b == TTMEM_UNKNOWN ||
		__builtin_add_overflow(a, b, &sum))
		return TTMEM_UNKNOWN;
	return sum;
}

uint64_t ttm_value_ago(uint64_t now_ns, uint64_t time_ns)
{
	if (now_ns == TTMEM_UNKNOWN || time_ns == TTMEM_UNKNOWN ||
		time_ns > now_ns)
		return TTMEM_UNKNOWN;
	return now_ns - time_ns;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A path, or a name without one, which is written with @ for its zero byte. */
static int address_parse(const char *text, struct sockaddr_un *ret_address,
	socklen_t *ret_length)
{
	size_t length = strlen(text);

	if ((text[0] != '/' && text[0] != '@') || length < 2)
		return -EAFNOSUPPORT;
	if (length >= sizeof(ret_address->sun_path))
		return -ENAMETOOLONG;
	memset(ret_address, 0, sizeof(*ret_address));
	ret_address->sun_family = AF_UNIX;
	memcpy(ret_address->sun_path, text, length);
	if (text[0] == '@')
		ret_address->sun_path[0] = '\0';
	*ret_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
		length + (text[0] == '/'));
	return 0;
}

static int state_send(
	const struct sockaddr_un *address, socklen_t length, const char *state)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), r = 1;
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = sendto(fd, state, strlen(state), MSG_NOSIGNAL,
			(const struct sockaddr *)address, length);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		r = -errno;
	close(fd);
	return r;
}

int notify_send(const char *state)
{
	const char *text = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address;
	socklen_t length;
	int r;

	if (!text || !*text)
		return 0;
	r = address_parse(text, &address, &length);
	return r < 0 ? r : state_send(&address, length, state);
}

uint64_t notify_watchdog_us(void)
{
	const char *interval = getenv("WATCHDOG_USEC");
	const char *pid = getenv("WATCHDOG_PID");
	unsigned long long us;
	char *end;

	if (!interval || !*interval)
		return 0;
	if (pid && *pid && strtoll(pid, NULL, 10) != (long long)getpid())
		return 0;
	us = strtoull(interval, &end, 10);
	return *end ? 0 : us;
}

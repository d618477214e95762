/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

size_t ttm_file_read(const char *path, char *ret_bytes, size_t size)
{
	size_t length = 0;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	while (length < size) {
		n = read(fd, ret_bytes + length, size - length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		length += (size_t)n;
	}
	close(fd);
	return length;
}

static uint64_t decimal_parse(const char *digits)
{
	uint64_t number = 0;

	while (*digits >= '0' && *digits <= '9')
		number = number * 10 + (uint64_t)(*digits++ - '0');
	return number;
}

/* Counted behind the name, which may hold any byte. */
uint64_t ttm_start_time_read(const char *stat_path)
{
	char stat[512];
	size_t length = ttm_file_read(stat_path, stat, sizeof(stat) - 1);
	const char *at;
	int field;

	stat[length] = '\0';
	at = strrchr(stat, ')');
	for (field = 2; at && field < 22; field++) {
		at = strchr(at, ' ');
		if (at)
			at++;
	}
	return at ? decimal_parse(at) : 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

void ttm_boot_id_read(uint8_t ret_id[16])
{
	char text[40];
	size_t length, i, digits = 0;
	int digit;

	length = ttm_file_read(
		"/proc/sys/kernel/random/boot_id", text, sizeof(text));
	for (i = 0; i < length && digits < 32; i++) {
		digit = hex_digit(text[i]);
		if (digit < 0)
			continue;
		ret_id[digits / 2] = (uint8_t)(ret_id[digits / 2] << 4 | digit);
		digits++;
	}
}

uint64_t ttm_pid_namespace_read(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

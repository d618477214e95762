/* SPDX-License-Identifier: Apache-2.0 */
/* telemetry: [sysfs] -> probe -> report -> rows */
#include "daemon/sensors/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ttmem/ttmem.h>

#define VALUE_SIZE 128u

int ttm_sysfs_path(char ret_path[TTM_SYSFS_PATH_SIZE], const char *directory,
	const char *name)
{
	char path[TTM_SYSFS_PATH_SIZE];
	int n = snprintf(path, sizeof(path), "%s/%s", directory, name);

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(ret_path, path, (size_t)n + 1);
	return 0;
}

/* A value comes with one read: there is no need to ask whether more follows. */
static ssize_t once_read(int fd, char *bytes, size_t size)
{
	ssize_t n;

	do
		n = read(fd, bytes, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int bytes_read(int fd, char *bytes, size_t size, size_t *ret_len)
{
	size_t len = 0;
	char more;
	ssize_t n;

	for (;;) {
		n = once_read(fd, len < size ? bytes + len : &more,
			len < size ? size - len : 1);
		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		if (len == size)
			return -EMSGSIZE;
		len += (size_t)n;
	}
	*ret_len = len;
	return 0;
}

int ttm_sysfs_open(int dir, const char *name)
{
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int file_open(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

int ttm_sysfs_bytes(int dir, const char *name, char *ret_bytes, size_t size,
	size_t *ret_len)
{
	int fd = file_open(dir, name), r;

	if (fd < 0)
		return fd;
	r = bytes_read(fd, ret_bytes, size, ret_len);
	close(fd);
	return r;
}

/* What a file says, without the end of its line. */
static int value_read(int dir, const char *name, char ret_value[VALUE_SIZE + 1],
	size_t *ret_len)
{
	int fd = file_open(dir, name);
	size_t len;
	ssize_t n;

	if (fd < 0)
		return fd;
	n = once_read(fd, ret_value, VALUE_SIZE + 1);
	close(fd);
	if (n < 0)
		return (int)n;
	len = (size_t)n;
	if (len > VALUE_SIZE)
		return -EMSGSIZE;
	while (len && (ret_value[len - 1] == '\n' || ret_value[len - 1] == ' '))
		len--;
	ret_value[len] = '\0';
	*ret_len = len;
	return len ? 0 : -EBADMSG;
}

int ttm_sysfs_text(int dir, const char *name, char *ret_text, size_t size)
{
	char value[VALUE_SIZE + 1];
	size_t len, i;
	int r = value_read(dir, name, value, &len);

	if (r < 0)
		return r;
	if (len > size)
		return -EMSGSIZE;
	for (i = 0; i < len; i++)
		if ((unsigned char)value[i] < ' ' || value[i] == 0x7f)
			return -EBADMSG;
	memset(ret_text, 0, size);
	memcpy(ret_text, value, len);
	return 0;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* Digits and nothing else. */
static int digits_parse(const char *text, unsigned base, uint64_t *ret_value)
{
	uint64_t value = 0;
	unsigned digit;

	if (!*text)
		return -EBADMSG;
	for (; *text; text++) {
		digit = (unsigned)digit_value(*text);
		if (digit >= base)
			return -EBADMSG;
		if (__builtin_mul_overflow(value, base, &value) ||
			__builtin_add_overflow(value, digit, &value))
			return -ERANGE;
	}
	if (value == TTMEM_UNKNOWN)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

/* A NUL within the value is seen as its end, and then as nonsense. */
static int number_read(int dir, const char *name,
	char ret_value[VALUE_SIZE + 1], const char **ret_text)
{
	size_t len;
	int r = value_read(dir, name, ret_value, &len);

	if (r < 0)
		return r;
	*ret_text = ret_value;
	return strlen(ret_value) == len ? 0 : -EBADMSG;
}

int ttm_sysfs_unsigned(int dir, const char *name, uint64_t *ret_value)
{
	char value[VALUE_SIZE + 1];
	const char *text;
	int r = number_read(dir, name, value, &text);

	return r < 0 ? r : digits_parse(text, 10, ret_value);
}

int ttm_sysfs_signed(int dir, const char *name, int64_t *ret_value)
{
	char value[VALUE_SIZE + 1];
	const char *text;
	uint64_t number;
	bool negative;
	int r = number_read(dir, name, value, &text);

	if (r < 0)
		return r;
	negative = *text == '-';
	r = digits_parse(text + negative, 10, &number);
	if (r < 0)
		return r;
	if (number > INT64_MAX)
		return -ERANGE;
	*ret_value = negative ? -(int64_t)number : (int64_t)number;
	return 0;
}

int ttm_sysfs_hex(int dir, const char *name, uint64_t *ret_value)
{
	char value[VALUE_SIZE + 1];
	const char *text;
	int r = number_read(dir, name, value, &text);

	if (r < 0)
		return r;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		text += 2;
	return digits_parse(text, 16, ret_value);
}

int ttm_sysfs_pci_link(int dir, const char *name, uint64_t *ret_address)
{
	unsigned domain, bus, device, function;
	char target[TTM_SYSFS_PATH_SIZE];
	const char *last;
	int end = 0;
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	last = strrchr(target, '/');
	last = last ? last + 1 : target;
	if (sscanf(last, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function,
		    &end) != 4 ||
		last[end] != '\0' || device > 0x1f || function > 7)
		return -EBADMSG;
	*ret_address = TTMEM_PCI_ADDRESS(domain, bus, device, function);
	return 0;
}

int ttm_sysfs_open_first(int dir, const char *name, const char *prefix)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	DIR *list;
	int r = -ENOENT;

	if (fd < 0)
		return -errno;
	list = fdopendir(fd);
	if (!list) {
		close(fd);
		return -ENOMEM;
	}
	while (r == -ENOENT && (entry = readdir(list)))
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
			r = ttm_sysfs_open(fd, entry->d_name);
	closedir(list);
	return r;
}

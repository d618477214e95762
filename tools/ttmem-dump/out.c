/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"

static int out_fail(const char *path)
{
	ttm_error("%s: %s", path[0] ? path : "stdout", strerror(errno));
	return TTM_EXIT_FAILURE;
}

/* A link stays one: what it points to is replaced. */
static int path_resolve(const char *path, struct dump_out *out)
{
	char real[PATH_MAX];
	const char *from = realpath(path, real) ? real : path;

	if (strlen(from) >= sizeof(out->path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(out->path, from, strlen(from) + 1);
	return 0;
}

/* Beside it, hidden, and with an ending that nobody collects files by. */
static int temporary_open(struct dump_out *out)
{
	const char *slash = strrchr(out->path, '/');
	int folder = slash ? (int)(slash - out->path) + 1 : 0;
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	snprintf(out->temporary, sizeof(out->temporary), "%.*s.%s.XXXXXX",
		folder, out->path, out->path + folder);
	fd = mkostemp(out->temporary, O_CLOEXEC);
	if (fd >= 0)
		fchmod(fd, 0666 & ~mask);
	return fd;
}

int dump_out_open(const char *path, struct dump_out *ret_out)
{
	struct stat st;
	int fd;

	memset(ret_out, 0, sizeof(*ret_out));
	/* Beyond a limit for file sizes is an error, as a full disk is. */
	signal(SIGXFSZ, SIG_IGN);
	if (!path || strcmp(path, "-") == 0) {
		ret_out->file = stdout;
		return 0;
	}
	if (path_resolve(path, ret_out) < 0)
		return out_fail(path);
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	else
		fd = temporary_open(ret_out);
	ret_out->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!ret_out->file)
		return out_fail(path);
	return 0;
}

static bool out_flush(struct dump_out *out)
{
	errno = EIO; /* unless somebody knows better */
	if (fflush(out->file) != 0 || ferror(out->file))
		return false;
	return !out->temporary[0] || fsync(fileno(out->file)) == 0;
}

int dump_out_close(struct dump_out *out, bool keep)
{
	bool good = out_flush(out);
	int error = errno;

	if (out->path[0] && fclose(out->file) != 0 && good) {
		good = false;
		error = errno;
	}
	out->file = NULL;
	if (out->temporary[0] && good && keep &&
		rename(out->temporary, out->path) < 0) {
		good = false;
		error = errno;
	}
	if (out->temporary[0] && (!good || !keep))
		unlink(out->temporary);
	errno = error;
	return good ? 0 : out_fail(out->path);
}

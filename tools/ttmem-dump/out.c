/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "out.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"

static int out_fail(const struct dump_out *out, int error)
{
	ttm_error("%s: %s", out->path ? out->path : "stdout",
		ttm_output_error(error));
	return TTM_EXIT_FAILURE;
}

int dump_out_open(const char *path, struct dump_out *ret_out)
{
	int r;

	memset(ret_out, 0, sizeof(*ret_out));
	/* Beyond a limit for file sizes is an error, as a full disk is. */
	signal(SIGXFSZ, SIG_IGN);
	if (!path || strcmp(path, "-") == 0) {
		ret_out->file = stdout;
		return 0;
	}
	ret_out->path = path;
	r = ttm_output_open(path, true, &ret_out->output);
	if (r < 0)
		return out_fail(ret_out, r);
	ret_out->file = ret_out->output.file;
	return 0;
}

static int out_flush(struct dump_out *out)
{
	errno = EIO; /* unless somebody knows better */
	if (fflush(out->file) != 0 || ferror(out->file))
		return -errno;
	/* What gets its name has to be there after a crash, too. */
	if (out->output.temporary[0] && fsync(fileno(out->file)) < 0)
		return -errno;
	return 0;
}

int dump_out_close(struct dump_out *out, bool keep)
{
	int r = out_flush(out), ended = 0;

	if (out->path)
		ended = ttm_output_close(&out->output, keep && r == 0);
	out->file = NULL;
	if (r == 0)
		r = ended;
	return r == 0 ? 0 : out_fail(out, r);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
/*
 * An aggregate is worth reading if it serves the caller's own directories: root's
 * in ttmem-system, or with a suffix if another user took that name; or one in a
 * directory of the caller. A dead ttmemd leaves its
 * aggregate behind, so several may claim to serve; the one that is alive wins.
 */
#include "read/search.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/clock.h"
#include "shm/text.h"

#define SEARCH_TRIES 4u

void ttm_found_clear(struct ttm_found *found)
{
	if (found->view) {
		ttm_view_close(&found->view);
		close(found->directory_fd);
	}
	memset(found, 0, sizeof(*found));
	found->source = TTMEM_SOURCE_NEVER_STARTED;
}

/* -- the caller's own directories ------------------------------------------------ */

struct own_search {
	int base;
	struct ttm_found *found;
};

/* The owner counts: in a user namespace the number is another one. */
static bool name_is_users(const char *name)
{
	size_t length = strlen(TTM_USER_PREFIX);

	return strncmp(name, TTM_USER_PREFIX, length) == 0 &&
		name[length] >= '0' && name[length] <= '9' &&
		strlen(name) < TTM_PATH_SIZE;
}

static int own_visit(void *context, const char *name)
{
	struct own_search *search = context;
	struct ttm_found *found = search->found;
	struct ttm_own_directory *own = &found->own[found->own_len];
	struct stat st;

	if (!name_is_users(name) ||
		fstatat(search->base, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		!S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
		(st.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	memcpy(own->name, name, strlen(name) + 1);
	own->device = st.st_dev;
	own->inode = st.st_ino;
	found->own_len++;
	return found->own_len == TTM_OWN_DIRECTORIES_MAX;
}

static int own_find(int base, struct ttm_found *found)
{
	struct own_search search = { base, found };
	int r;

	found->own_len = 0;
	r = ttm_directory_each(base, own_visit, &search);
	return r < 0 ? r : 0;
}

bool ttm_found_is_own(
	const struct ttm_found *found, uint64_t device, uint64_t inode)
{
	size_t i;

	for (i = 0; i < found->own_len; i++)
		if (found->own[i].device == device &&
			found->own[i].inode == inode)
			return true;
	return false;
}

/* -- one aggregate ----------------------------------------------------------------- */

static enum ttmem_source source_of_error(int error)
{
	switch (error) {
	case -ENOENT:
	case -ENODATA:
		return TTMEM_SOURCE_NEVER_STARTED;
	case -EACCES:
	case -EPERM:
		return TTMEM_SOURCE_NO_PERMISSION;
	case -EPROTONOSUPPORT:
		return TTMEM_SOURCE_VERSION;
	default:
		return TTMEM_SOURCE_BROKEN;
	}
}

static bool error_is_ours(int error)
{
	return error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

/* How many of our directories the aggregate serves. */
static int served_count(struct ttm_found *found)
{
	struct ttm_view_copy copy;
	const char *row;
	size_t i, served = 0;
	int r = ttm_view_read(found->view, 1u << TTM_TABLE_DIRECTORIES, &copy);

	if (r < 0)
		return r;
	row = copy.rows[TTM_TABLE_DIRECTORIES];
	for (i = 0; i < copy.len[TTM_TABLE_DIRECTORIES]; i++) {
		const struct ttm_directory_row *d = (const void *)row;

		if (d->self && d->state == TTM_DIRECTORY_SERVED &&
			ttm_found_is_own(found, d->device, d->inode))
			served++;
		row += copy.stride[TTM_TABLE_DIRECTORIES];
	}
	if (copy.copy.monotonic_ns > found->seen_ns)
		found->seen_ns = copy.copy.monotonic_ns;
	ttm_view_copy_free(&copy);
	found->served = served;
	return 0;
}

/* Whether its writer lives, by its lock and its heartbeat. */
static int life_judge(const struct ttm_search *search, struct ttm_found *found)
{
	struct ttm_aggregate_live live;
	int written = ttm_view_is_written(found->view);
	int r = ttm_view_live(found->view, &live);
	uint64_t now = ttm_clock_ns(CLOCK_MONOTONIC);

	if (r < 0)
		return r;
	/* A clock of the future proves nothing. */
	found->seen_ns = live.heartbeat_ns <= now ? live.heartbeat_ns : 0;
	if (written == 0)
		found->source = TTMEM_SOURCE_DEAD;
	else if (now - found->seen_ns > search->stale_ns)
		found->source = TTMEM_SOURCE_STALE;
	else
		found->source = TTMEM_SOURCE_OK;
	return 0;
}

static int found_judge(const struct ttm_search *search, struct ttm_found *found)
{
	int r = life_judge(search, found);

	if (r == 0)
		r = served_count(found);
	if (r < 0) {
		found->source = source_of_error(r);
		found->error = r;
		return error_is_ours(r) ? r : 0;
	}
	found->error = 0;
	if (found->source == TTMEM_SOURCE_OK && !search->system_only &&
		!search->file[0] && found->served < found->own_len)
		found->source = TTMEM_SOURCE_NOT_SERVING;
	return 0;
}

/*
 * Of two aggregates the one to prefer; without figures the one that tells more
 * about why.
 */
static int rank(const struct ttm_found *found)
{
	static const int ranks[] = {
		[TTMEM_SOURCE_OK] = 8,
		[TTMEM_SOURCE_STALE] = 7,
		[TTMEM_SOURCE_DEAD] = 6,
		[TTMEM_SOURCE_NOT_SERVING] = 5,
		[TTMEM_SOURCE_VERSION] = 4,
		[TTMEM_SOURCE_BROKEN] = 3,
		[TTMEM_SOURCE_NO_PERMISSION] = 2,
		[TTMEM_SOURCE_NEVER_STARTED] = 1,
		[TTMEM_SOURCE_NO_BASE] = 0,
	};

	return ranks[found->source] * 2 + (found->error == -ENODATA);
}

static bool is_better(const struct ttm_found *a, const struct ttm_found *b)
{
	bool a_is_ok = a->source == TTMEM_SOURCE_OK;
	bool b_is_ok = b->source == TTMEM_SOURCE_OK;

	if (a_is_ok != b_is_ok)
		return a_is_ok;
	if (a->served != b->served)
		return a->served > b->served;
	if (rank(a) != rank(b))
		return rank(a) > rank(b);
	return a->seen_ns > b->seen_ns;
}

/* -- where they may be ---------------------------------------------------------------- */

/* A directory that others may write could show us anything under that name. */
static int directory_open(int base, const char *name)
{
	struct stat st;
	int fd = openat(
		base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
		!(st.st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	close(fd);
	return -EPERM;
}

/* Opens and judges what is there; `fd` is taken over. */
static int candidate_open(const struct ttm_search *search, int fd,
	const char *name, const char *path, struct ttm_found *candidate)
{
	struct ttm_text text;
	int r = fd;

	ttm_text_init(&text, candidate->name, sizeof(candidate->name));
	ttm_text_add(&text, name);
	ttm_text_init(&text, candidate->path, sizeof(candidate->path));
	ttm_text_add(&text, path);
	if (fd >= 0)
		r = ttm_view_open(fd, name, geteuid(), &candidate->view);
	if (r < 0) {
		/* Without room for an aggregate a ttmemd has its lock alone. */
		if (r == -ENOENT && fd >= 0 && ttm_directory_is_served(fd))
			r = -ENODATA;
		if (fd >= 0)
			close(fd);
		candidate->source = source_of_error(r);
		candidate->error = r;
		return error_is_ours(r) ? r : 0;
	}
	candidate->directory_fd = fd;
	return found_judge(search, candidate);
}

/* Looks into one directory, and keeps what is better than what we have. */
static int candidate_try(const struct ttm_search *search, int base,
	const char *base_path, const char *directory, struct ttm_found *best)
{
	char path[TTM_SEARCH_PATH_SIZE];
	struct ttm_found candidate = *best;
	struct ttm_text text;
	int r;

	candidate.view = NULL;
	candidate.served = 0;
	candidate.seen_ns = 0;
	ttm_text_init(&text, path, sizeof(path));
	ttm_text_add(&text, base_path);
	ttm_text_add(&text, "/");
	ttm_text_add(&text, directory);
	ttm_text_add(&text, "/" TTM_AGGREGATE_FILE);
	r = candidate_open(search, directory_open(base, directory),
		TTM_AGGREGATE_FILE, path, &candidate);
	if (r == 0 && (is_better(&candidate, best) || !best->path[0])) {
		struct ttm_found worse = *best;

		*best = candidate;
		candidate = worse;
	}
	ttm_found_clear(&candidate);
	return r;
}

static int base_open(const struct ttm_search *search, struct ttm_found *found,
	char ret_path[TTM_PATH_SIZE], int *ret_base)
{
	struct ttm_text text;
	int r = ttm_base_directory_open(
		search->dir[0] ? search->dir : NULL, ret_path, ret_base);

	if (r == 0)
		return 0;
	found->source = r == -EACCES ? TTMEM_SOURCE_NO_PERMISSION :
				       TTMEM_SOURCE_NO_BASE;
	found->error = r;
	ttm_text_init(&text, found->path, sizeof(found->path));
	ttm_text_add(&text, search->dir);
	return r;
}

struct system_search {
	const struct ttm_search *search;
	int base;
	const char *base_path;
	struct ttm_found *found;
};

/* Anybody may make such names; root's alone are looked into. */
static int system_visit(void *context, const char *name)
{
	const struct system_search *s = context;
	struct stat st;

	if (strncmp(name, TTM_SYSTEM_PREFIX, strlen(TTM_SYSTEM_PREFIX)) != 0 ||
		fstatat(s->base, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		!S_ISDIR(st.st_mode) || st.st_uid != 0)
		return 0;
	return candidate_try(s->search, s->base, s->base_path, name, s->found);
}

static int systems_try(const struct ttm_search *search, int base,
	const char *base_path, struct ttm_found *found)
{
	struct system_search s = { search, base, base_path, found };
	int r = candidate_try(
		search, base, base_path, TTM_SYSTEM_DIRECTORY, found);

	if (r == 0)
		r = ttm_directory_each(base, system_visit, &s);
	return r;
}

static int search_directories(
	const struct ttm_search *search, struct ttm_found *found)
{
	char base_path[TTM_PATH_SIZE];
	size_t i;
	int base, r;

	r = base_open(search, found, base_path, &base);
	if (r < 0)
		return error_is_ours(r) ? r : 0;
	r = own_find(base, found);
	if (r == 0)
		r = systems_try(search, base, base_path, found);
	for (i = 0; r == 0 && !search->system_only && i < found->own_len; i++)
		r = candidate_try(
			search, base, base_path, found->own[i].name, found);
	close(base);
	return r;
}

static int search_file(const struct ttm_search *search, struct ttm_found *found)
{
	char directory[TTM_SEARCH_PATH_SIZE];
	const char *slash = strrchr(search->file, '/');
	size_t size = (size_t)(slash - search->file) + 1;
	int fd;

	memcpy(directory, search->file, size);
	directory[size] = '\0';
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return candidate_open(
		search, fd < 0 ? -errno : fd, slash + 1, search->file, found);
}

/* Whether what we have is all that we could wish for. */
static bool found_is_good(
	const struct ttm_search *search, struct ttm_found *found)
{
	char base_path[TTM_PATH_SIZE];
	int base, r;

	if (!found->view ||
		ttm_view_is_replaced(
			found->view, found->directory_fd, found->name))
		return false;
	if (!search->file[0]) {
		/* One of ours may have come since: it wants serving, too. */
		if (base_open(search, found, base_path, &base) < 0)
			return false;
		r = own_find(base, found);
		close(base);
		if (r < 0)
			return false;
	}
	return found_judge(search, found) == 0 &&
		found->source == TTMEM_SOURCE_OK;
}

static int search_once(const struct ttm_search *search, struct ttm_found *found)
{
	struct ttm_found fresh;
	int r;

	memset(&fresh, 0, sizeof(fresh));
	ttm_found_clear(&fresh);
	r = search->file[0] ? search_file(search, &fresh) :
			      search_directories(search, &fresh);
	if (r < 0) {
		ttm_found_clear(&fresh);
		return r;
	}
	ttm_found_clear(found);
	*found = fresh;
	return 0;
}

int ttm_search_look(const struct ttm_search *search, struct ttm_found *found)
{
	unsigned tries;
	int r = 0;

	if (found_is_good(search, found))
		return 0;
	/*
	 * ttmemd may put a new file under the name while we look at the old one,
	 * and then nobody writes that any more.
	 */
	for (tries = 0; tries < SEARCH_TRIES; tries++) {
		r = search_once(search, found);
		if (r < 0 || !found->view || found->source == TTMEM_SOURCE_OK ||
			!ttm_view_is_replaced(
				found->view, found->directory_fd, found->name))
			break;
	}
	return r;
}

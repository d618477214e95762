/* SPDX-License-Identifier: Apache-2.0 */
/* Which directories are served, by whom, and what becomes of them. */
#include "daemon/find/watch_internal.h"
#include "daemon/watching.h"

enum {
	OTHER = 65534
};

static char own[64]; /* name of the user's directory */

void setUp(void)
{
	watching_dir = test_dir_make();
	snprintf(own, sizeof(own), "ttmem-%u", geteuid());
}

void tearDown(void)
{
	watching_stop();
	test_dir_remove();
}

static const char *path_of(const char *name, const char *file)
{
	static char path[400];

	snprintf(path, sizeof(path), "%s/%s%s%s", watching_dir, name,
		file ? "/" : "", file ? file : "");
	return path;
}

static void directory_make(const char *name, uint32_t uid)
{
	TEST_ASSERT_EQUAL_INT(0, mkdir(path_of(name, NULL), 0700));
	if (uid != geteuid())
		TEST_ASSERT_EQUAL_INT(
			0, chown(path_of(name, NULL), uid, (gid_t)-1));
}

static void root_only(void)
{
	if (geteuid() != 0)
		TEST_IGNORE_MESSAGE("needs root");
}

/* -- another server ----------------------------------------------------------- */

struct server {
	pid_t pid;
	int release;
};

/* Holds the lock until it is ended. */
static struct server server_start(const char *name)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};
	struct server server;
	int ready[2], release[2], fd;
	char byte;

	TEST_ASSERT_EQUAL_INT(0, pipe2(ready, O_CLOEXEC));
	TEST_ASSERT_EQUAL_INT(0, pipe2(release, O_CLOEXEC));
	fflush(NULL);
	server.pid = fork();
	TEST_ASSERT_TRUE(server.pid >= 0);
	if (!server.pid) {
		close(release[1]);
		fd = open(path_of(name, "ttmemd.lock"), O_RDWR | O_CREAT, 0600);
		if (fcntl(fd, F_SETLK, &lock) < 0 ||
			write(ready[1], "", 1) != 1)
			_exit(1);
		_exit(read(release[0], &byte, 1) < 0);
	}
	close(ready[1]);
	close(release[0]);
	TEST_ASSERT_EQUAL_INT(1, read(ready[0], &byte, 1));
	close(ready[0]);
	server.release = release[1];
	return server;
}

static void server_end(struct server *server)
{
	kill(server->pid, SIGKILL);
	waitpid(server->pid, NULL, 0);
	close(server->release);
}

/* Asked by another process: the kernel tells nobody of locks of one's own. */
static bool lock_is_held(const char *name)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};
	int fd, status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	TEST_ASSERT_TRUE(pid >= 0);
	if (!pid) {
		fd = open(path_of(name, "ttmemd.lock"), O_RDWR | O_CLOEXEC);
		if (fd < 0 || fcntl(fd, F_GETLK, &lock) < 0)
			_exit(2);
		_exit(lock.l_type == F_UNLCK);
	}
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status) == 0;
}

/* -- tests -------------------------------------------------------------------- */

static void test_a_user_serves_all_directories_of_the_user(void)
{
	char another[80];
	struct stat st;

	snprintf(another, sizeof(another), "%s.00ff", own);
	directory_make(another, geteuid());
	TEST_ASSERT_EQUAL_INT(0, mkdir(path_of("ttmem-odd", NULL), 0700));
	watching_start(TTM_MODE_USER);
	TEST_ASSERT_EQUAL_UINT64(TTM_DIRECTORY_SERVED, watching_state(own));
	TEST_ASSERT_EQUAL_UINT64(TTM_DIRECTORY_SERVED, watching_state(another));
	TEST_ASSERT_EQUAL_UINT64(0, watching_state("ttmem-odd"));
	TEST_ASSERT_EQUAL_STRING(
		path_of(own, NULL), ttm_watch_home_path(watching_watch));
	TEST_ASSERT_EQUAL_INT(0, stat(path_of(own, "ttmemd.lock"), &st));
	TEST_ASSERT_EQUAL_INT(0600, st.st_mode & 07777);
	TEST_ASSERT_EQUAL_UINT64(1, ttm_load(&watching_registry->inotify));
}

static void test_others_are_not_a_users_to_serve(void)
{
	root_only();
	directory_make("ttmem-7", OTHER);
	watching_start(TTM_MODE_USER);
	TEST_ASSERT_EQUAL_UINT64(0, watching_state("ttmem-7"));
}

static void test_the_system_serves_everybody(void)
{
	struct ttm_directory *directory;
	struct stat st;

	root_only();
	TEST_ASSERT_EQUAL_INT(0, chmod(watching_dir, 01777));
	directory_make("ttmem-7", OTHER);
	watching_start(TTM_MODE_SYSTEM);
	TEST_ASSERT_EQUAL_UINT64(
		TTM_DIRECTORY_SERVED, watching_state("ttmem-7"));
	directory = watching_directory("ttmem-7");
	TEST_ASSERT_NOT_NULL(directory);
	TEST_ASSERT_EQUAL_UINT64(OTHER, directory->uid);
	TEST_ASSERT_EQUAL_UINT64(0, watching_state("ttmem-system"));
	/* The user's own ttmemd may come later. */
	TEST_ASSERT_EQUAL_INT(0, stat(path_of("ttmem-7", "ttmemd.lock"), &st));
	TEST_ASSERT_EQUAL_INT(OTHER, st.st_uid);
	TEST_ASSERT_EQUAL_INT(0, stat(path_of("ttmem-system", NULL), &st));
	TEST_ASSERT_EQUAL_INT(0755, st.st_mode & 07777);
}

static void test_another_users_process_is_attached(void)
{
	struct ttm_attached *attached;
	char uid[16], name[32];
	struct client client;

	root_only();
	TEST_ASSERT_EQUAL_INT(0, chmod(watching_dir, 01777));
	watching_start(TTM_MODE_SYSTEM);
	snprintf(uid, sizeof(uid), "%d", OTHER);
	snprintf(name, sizeof(name), "ttmem-%d", OTHER);
	client = client_start_with("--uid", uid);
	client_do(&client, "start");
	attached = client_attached(&client);
	TEST_ASSERT_NOT_NULL(attached);
	TEST_ASSERT_EQUAL_UINT64(OTHER, attached->directory->uid);
	TEST_ASSERT_EQUAL_UINT64(TTM_DIRECTORY_SERVED, watching_state(name));
	TEST_ASSERT_EQUAL_UINT64(TTM_FATE_ALIVE, watching_fate(attached));
	client_end(&client);
	await(watching_fate(attached) == TTM_FATE_DEAD);
}

static void test_a_directory_that_appears_later_is_served(void)
{
	struct client client;
	char another[80];

	watching_start(TTM_MODE_USER);
	snprintf(another, sizeof(another), "%s.1234", own);
	directory_make(another, geteuid());
	await(watching_state(another) == TTM_DIRECTORY_SERVED);
	client = client_tracked();
	client_attached(&client);
	client_end(&client);
}

static void test_a_held_home_is_busy_and_says_who_holds_it(void)
{
	struct ttm_watch_failure failure;
	struct server server;

	directory_make(own, geteuid());
	server = server_start(own);
	TEST_ASSERT_EQUAL_INT(
		-EBUSY, watching_open(TTM_MODE_USER, 0, &failure));
	TEST_ASSERT_EQUAL_UINT64(server.pid, failure.holder);
	TEST_ASSERT_EQUAL_STRING(path_of(own, NULL), failure.path);
	server_end(&server);
}

static void test_a_held_system_is_busy_and_says_who_holds_it(void)
{
	struct ttm_watch_failure failure;
	struct server server;

	root_only();
	TEST_ASSERT_EQUAL_INT(0, mkdir(path_of("ttmem-system", NULL), 0755));
	server = server_start("ttmem-system");
	TEST_ASSERT_EQUAL_INT(
		-EBUSY, watching_open(TTM_MODE_SYSTEM, 0, &failure));
	TEST_ASSERT_EQUAL_UINT64(server.pid, failure.holder);
	server_end(&server);
}

static void test_a_held_directory_is_taken_over_when_its_server_ends(void)
{
	struct ttm_directory *directory;
	struct server server;
	struct client client;
	char another[80];

	snprintf(another, sizeof(another), "%s.1", own);
	directory_make(another, geteuid());
	server = server_start(another);
	watching_start(TTM_MODE_USER);
	directory = watching_directory(another);
	TEST_ASSERT_NOT_NULL(directory);
	TEST_ASSERT_EQUAL_UINT64(
		TTM_DIRECTORY_HELD, ttm_load(&directory->state));
	TEST_ASSERT_EQUAL_UINT64(server.pid, ttm_load(&directory->holder));
	/* What is in it is the other's business until then. */
	client = client_tracked();
	client_attached(&client);
	server_end(&server);
	await(ttm_load(&directory->state) == TTM_DIRECTORY_SERVED);
	TEST_ASSERT_EQUAL_UINT64(0, ttm_load(&directory->holder));
	TEST_ASSERT_EQUAL_INT(0, ttm_directory_is_gone(directory));
	client_end(&client);
}

static void test_segments_in_a_held_directory_come_with_it(void)
{
	struct client client = client_tracked();
	struct server server;

	root_only();
	server = server_start(own);
	watching_start(TTM_MODE_SYSTEM);
	TEST_ASSERT_EQUAL_UINT64(TTM_DIRECTORY_HELD, watching_state(own));
	TEST_ASSERT_EQUAL_UINT64(0, watching_attached());
	watching_round();
	TEST_ASSERT_EQUAL_UINT64(0, watching_attached());
	server_end(&server);
	client_attached(&client);
	TEST_ASSERT_EQUAL_UINT64(TTM_DIRECTORY_SERVED, watching_state(own));
	client_end(&client);
}

static void test_a_directory_that_is_removed_is_gone(void)
{
	struct ttm_directory *directory;
	char another[80];

	snprintf(another, sizeof(another), "%s.1", own);
	directory_make(another, geteuid());
	watching_start(TTM_MODE_USER);
	directory = watching_directory(another);
	TEST_ASSERT_EQUAL_INT(0, test_dir_remove_tree(path_of(another, NULL)));
	await(ttm_directory_is_gone(directory));
	/* Another one of the name is another directory. */
	directory_make(another, geteuid());
	await(watching_directory(another));
	TEST_ASSERT_TRUE(watching_directory(another) != directory);
	/* As the drain does, when nothing is attached in it any more. */
	ttm_registry_release_directory(directory);
	watching_round();
	TEST_ASSERT_EQUAL_UINT64(TTM_DIRECTORY_SERVED, watching_state(another));
}

static void test_a_lock_file_that_is_removed_is_made_again(void)
{
	const char *path = path_of(own, "ttmemd.lock");

	watching_start(TTM_MODE_USER);
	TEST_ASSERT_EQUAL_INT(0, unlink(path));
	await(access(path_of(own, "ttmemd.lock"), F_OK) == 0);
	TEST_ASSERT_EQUAL_UINT64(TTM_DIRECTORY_SERVED, watching_state(own));
}

/* Its owner gives the lock file to another directory, or a second name there. */
static void lock_file_give(char another[80], bool keeps)
{
	struct ttm_directory *directory;

	snprintf(another, 80, "%s.1", own);
	watching_start(TTM_MODE_USER);
	directory = watching_directory(own);
	TEST_ASSERT_NOT_NULL(directory);
	directory_make("made", geteuid());
	TEST_ASSERT_EQUAL_INT(0,
		keeps ? linkat(directory->fd, "ttmemd.lock", directory->fd,
				"../made/ttmemd.lock", 0) :
			renameat(directory->fd, "ttmemd.lock", directory->fd,
				"../made/ttmemd.lock"));
	TEST_ASSERT_EQUAL_INT(0,
		renameat(directory->fd, "../made", directory->fd,
			path_of(another, NULL)));
}

/*
 * Served there, too, it is the same lock to the kernel, and goes when the first one's
 * descriptor is closed.
 */
static void test_a_lock_file_that_moves_is_two(void)
{
	char another[80];

	lock_file_give(another, false);
	await(watching_state(another) == TTM_DIRECTORY_SERVED);
	await(access(path_of(own, "ttmemd.lock"), F_OK) == 0);
	watching_round();
	TEST_ASSERT_TRUE(lock_is_held(own));
	TEST_ASSERT_TRUE(lock_is_held(another));
}

static void test_a_lock_file_with_two_names_stays_locked(void)
{
	char another[80];

	lock_file_give(another, true);
	await(watching_state(another) == TTM_DIRECTORY_REFUSED);
	watching_round();
	TEST_ASSERT_TRUE(lock_is_held(own));
	TEST_ASSERT_EQUAL_UINT64(TTM_DIRECTORY_SERVED, watching_state(own));
}

static void test_whose_lock_file_another_takes_is_gone(void)
{
	struct ttm_directory *directory;
	struct server server;
	char another[80];

	snprintf(another, sizeof(another), "%s.1", own);
	directory_make(another, geteuid());
	watching_start(TTM_MODE_USER);
	directory = watching_directory(another);
	TEST_ASSERT_NOT_NULL(directory);
	/* At one blow: between two looks. */
	directory_make("other", geteuid());
	server = server_start("other");
	TEST_ASSERT_EQUAL_INT(0,
		renameat(directory->fd, "../other/ttmemd.lock", directory->fd,
			"ttmemd.lock"));
	await(ttm_directory_is_gone(directory));
	await(watching_state(another) == TTM_DIRECTORY_HELD);
	server_end(&server);
}

/*
 * The new name is heard of before the old one is missed. The kernel knows one lock of
 * a process on a file, and gives it up with any descriptor of the file.
 */
static void test_under_another_name_it_is_served_with_its_lock(void)
{
	struct ttm_directory *before;
	char name[80], other[80], path[400], *from = name, *to = other, *last;
	unsigned turn;

	snprintf(name, sizeof(name), "%s.1", own);
	snprintf(other, sizeof(other), "%s.2", own);
	directory_make(name, geteuid());
	watching_start(TTM_MODE_USER);
	for (turn = 0; turn < 3; turn++) {
		before = watching_directory(from);
		TEST_ASSERT_NOT_NULL(before);
		TEST_ASSERT_TRUE(lock_is_held(from));
		snprintf(path, sizeof(path), "%s", path_of(from, NULL));
		TEST_ASSERT_EQUAL_INT(0, rename(path, path_of(to, NULL)));
		await(ttm_directory_is_gone(before));
		await(watching_state(to) == TTM_DIRECTORY_SERVED);
		TEST_ASSERT_TRUE(lock_is_held(to));
		last = from;
		from = to;
		to = last;
	}
}

static void test_a_home_that_another_takes_is_anothers_until_it_ends(void)
{
	struct ttm_directory *directory;
	struct server server;

	watching_start(TTM_MODE_USER);
	directory = watching_directory(own);
	TEST_ASSERT_NOT_NULL(directory);
	TEST_ASSERT_EQUAL_UINT64(0, ttm_load(&watching_registry->home_is_held));
	/* At one blow: between two looks. */
	directory_make("other", geteuid());
	server = server_start("other");
	TEST_ASSERT_EQUAL_INT(0,
		renameat(directory->fd, "../other/ttmemd.lock", directory->fd,
			"ttmemd.lock"));
	await(ttm_load(&watching_registry->home_is_held) == 1);
	server_end(&server);
	await(ttm_load(&watching_registry->home_is_held) == 0);
	TEST_ASSERT_EQUAL_UINT64(TTM_DIRECTORY_SERVED, watching_state(own));
}

static void test_lock_files_that_are_none_are_refused(void)
{
	struct ttm_directory *directory;
	char another[80], target[400];

	snprintf(another, sizeof(another), "%s.1", own);
	directory_make(another, geteuid());
	TEST_ASSERT_EQUAL_INT(0, mkfifo(path_of(another, "ttmemd.lock"), 0600));
	snprintf(another, sizeof(another), "%s.2", own);
	directory_make(another, geteuid());
	snprintf(target, sizeof(target), "%s/target", watching_dir);
	close(open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	TEST_ASSERT_EQUAL_INT(
		0, symlink(target, path_of(another, "ttmemd.lock")));
	snprintf(another, sizeof(another), "%s.3", own);
	directory_make(another, geteuid());
	TEST_ASSERT_EQUAL_INT(0, link(target, path_of(another, "ttmemd.lock")));
	watching_start(TTM_MODE_USER);
	for (another[strlen(another) - 1] = '1';
		another[strlen(another) - 1] <= '3';
		another[strlen(another) - 1]++) {
		directory = watching_directory(another);
		TEST_ASSERT_NOT_NULL(directory);
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(TTM_DIRECTORY_REFUSED,
			ttm_load(&directory->state), another);
		TEST_ASSERT_TRUE(ttm_load(&directory->error) != 0);
	}
	/* Put right, it is served. */
	snprintf(another, sizeof(another), "%s.1", own);
	TEST_ASSERT_EQUAL_INT(0, unlink(path_of(another, "ttmemd.lock")));
	await(watching_state(another) == TTM_DIRECTORY_SERVED);
}

static void test_what_others_may_write_is_refused(void)
{
	char another[80];

	snprintf(another, sizeof(another), "%s.1", own);
	directory_make(another, geteuid());
	TEST_ASSERT_EQUAL_INT(0, chmod(path_of(another, NULL), 0770));
	watching_start(TTM_MODE_USER);
	TEST_ASSERT_EQUAL_UINT64(
		TTM_DIRECTORY_REFUSED, watching_state(another));
}

/* One user cannot have all of ttmemd. */
static void test_a_user_has_so_many_directories_and_no_more(void)
{
	struct ttm_directory *directory;
	size_t served = 0;
	char name[80];
	int i;

	for (i = 0; i < 80; i++) {
		snprintf(name, sizeof(name), "%s.%d", own, i);
		directory_make(name, geteuid());
	}
	watching_start(TTM_MODE_USER);
	rcu_read_lock();
	ttm_registry_for_each_directory(watching_registry, directory) served++;
	rcu_read_unlock();
	TEST_ASSERT_EQUAL_UINT64(64, served);
	TEST_ASSERT_EQUAL_UINT64(TTM_DIRECTORY_SERVED, watching_state(own));
}

/* No thread here: each look is one of ours. */
static void test_whose_directories_end_again_and_again_waits(void)
{
	const char *names[] = { "ttmem-65534.1", "ttmem-65534.2" };
	char path[400];
	unsigned turn, i;

	root_only();
	directory_make(names[0], OTHER);
	TEST_ASSERT_EQUAL_INT(0, watching_open(TTM_MODE_SYSTEM, 0, NULL));
	ttm_directories_look(watching_watch);
	for (turn = 0; turn <= TTM_ENDS_MOST; turn++) {
		TEST_ASSERT_EQUAL_UINT64(
			TTM_DIRECTORY_SERVED, watching_state(names[turn % 2]));
		snprintf(path, sizeof(path), "%s",
			path_of(names[turn % 2], NULL));
		TEST_ASSERT_EQUAL_INT(
			0, rename(path, path_of(names[(turn + 1) % 2], NULL)));
		ttm_directories_look(watching_watch);
	}
	TEST_ASSERT_NULL(watching_directory(names[turn % 2]));
	ttm_directories_look(watching_watch);
	TEST_ASSERT_NULL(watching_directory(names[turn % 2]));
	directory_make("ttmem-1.1", 1);
	ttm_directories_look(watching_watch);
	TEST_ASSERT_EQUAL_UINT64(
		TTM_DIRECTORY_SERVED, watching_state("ttmem-1.1"));
	for (i = 0; i < TTM_LEAVERS_MAX; i++)
		watching_watch->leavers[i].since_ns -= TTM_ENDS_TIME_NS;
	ttm_directories_look(watching_watch);
	TEST_ASSERT_EQUAL_UINT64(
		TTM_DIRECTORY_SERVED, watching_state(names[turn % 2]));
}

static void test_symlinks_are_no_directories(void)
{
	char another[80];

	directory_make("elsewhere", geteuid());
	snprintf(another, sizeof(another), "%s.1", own);
	TEST_ASSERT_EQUAL_INT(0, symlink("elsewhere", path_of(another, NULL)));
	watching_start(TTM_MODE_USER);
	TEST_ASSERT_EQUAL_UINT64(0, watching_state(another));
}

static void test_a_squatted_system_directory_is_replaced_by_another(void)
{
	struct ttm_watch_failure failure;
	struct server server;
	char home[256];
	struct stat st;

	root_only();
	directory_make("ttmem-system", OTHER);
	directory_make("ttmem-system.0", OTHER);
	watching_start(TTM_MODE_SYSTEM);
	snprintf(home, sizeof(home), "%s", ttm_watch_home_path(watching_watch));
	TEST_ASSERT_EQUAL_STRING_LEN(path_of("ttmem-system.", NULL), home,
		strlen(path_of("ttmem-system.", NULL)));
	TEST_ASSERT_EQUAL_INT(0, lstat(home, &st));
	TEST_ASSERT_EQUAL_INT(0, st.st_uid);
	TEST_ASSERT_EQUAL_INT(0755, st.st_mode & 07777);
	watching_stop();
	/* The next one meets at the same lock, also when the name is free. */
	TEST_ASSERT_EQUAL_INT(0, rmdir(path_of("ttmem-system", NULL)));
	server = server_start(strrchr(home, '/') + 1);
	TEST_ASSERT_EQUAL_INT(
		-EBUSY, watching_open(TTM_MODE_SYSTEM, 0, &failure));
	TEST_ASSERT_EQUAL_STRING(home, failure.path);
	server_end(&server);
}

int main(void)
{
	int failures;

	rcu_register_thread();
	UNITY_BEGIN();
	RUN_TEST(test_a_user_serves_all_directories_of_the_user);
	RUN_TEST(test_others_are_not_a_users_to_serve);
	RUN_TEST(test_the_system_serves_everybody);
	RUN_TEST(test_another_users_process_is_attached);
	RUN_TEST(test_a_directory_that_appears_later_is_served);
	RUN_TEST(test_a_held_home_is_busy_and_says_who_holds_it);
	RUN_TEST(test_a_held_system_is_busy_and_says_who_holds_it);
	RUN_TEST(test_a_held_directory_is_taken_over_when_its_server_ends);
	RUN_TEST(test_segments_in_a_held_directory_come_with_it);
	RUN_TEST(test_a_directory_that_is_removed_is_gone);
	RUN_TEST(test_a_lock_file_that_is_removed_is_made_again);
	RUN_TEST(test_a_lock_file_that_moves_is_two);
	RUN_TEST(test_a_lock_file_with_two_names_stays_locked);
	RUN_TEST(test_whose_lock_file_another_takes_is_gone);
	RUN_TEST(test_under_another_name_it_is_served_with_its_lock);
	RUN_TEST(test_a_home_that_another_takes_is_anothers_until_it_ends);
	RUN_TEST(test_lock_files_that_are_none_are_refused);
	RUN_TEST(test_what_others_may_write_is_refused);
	RUN_TEST(test_a_user_has_so_many_directories_and_no_more);
	RUN_TEST(test_whose_directories_end_again_and_again_waits);
	RUN_TEST(test_symlinks_are_no_directories);
	RUN_TEST(test_a_squatted_system_directory_is_replaced_by_another);
	failures = UNITY_END();
	rcu_unregister_thread();
	return failures;
}

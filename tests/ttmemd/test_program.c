/* SPDX-License-Identifier: Apache-2.0 */
/* ttmemd as it is run: options, signals, a second one, the service manager. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <unity.h>

#include "support/test_dir.h"

static const char *dir;
static const char *program;

void setUp(void)
{
	dir = test_dir_make();
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	unsetenv("JOURNAL_STREAM");
}

void tearDown(void)
{
	test_dir_remove();
}

/* -- running it --------------------------------------------------------------- */

struct run {
	pid_t pid;
	int out; /* both of its outputs */
};

static struct run run_start(const char *const *options)
{
	char *arguments[16] = { (char *)(uintptr_t) "ttmemd" };
	struct run run;
	int out[2];
	size_t i;

	for (i = 0; options[i]; i++)
		arguments[i + 1] = (char *)(uintptr_t)options[i];
	TEST_ASSERT_EQUAL_INT(0, pipe2(out, O_CLOEXEC));
	fflush(NULL);
	run.pid = fork();
	TEST_ASSERT_TRUE(run.pid >= 0);
	if (!run.pid) {
		dup2(out[1], STDOUT_FILENO);
		dup2(out[1], STDERR_FILENO);
		execv(program, arguments);
		_exit(127);
	}
	close(out[1]);
	run.out = out[0];
	return run;
}

/* Exit status, or minus the signal; all it said from here on. */
static int run_end(struct run *run, char *ret_text, size_t size)
{
	size_t length = 0;
	int status;
	ssize_t n;

	while (length < size - 1 &&
		(n = read(run->out, ret_text + length, size - 1 - length)) > 0)
		length += (size_t)n;
	ret_text[length] = '\0';
	close(run->out);
	TEST_ASSERT_EQUAL_INT(run->pid, waitpid(run->pid, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static char said[8192];

static int run_whole(const char *const *options)
{
	struct run run = run_start(options);

	return run_end(&run, said, sizeof(said));
}

/* Reads until a line has that text. */
static void run_hears(struct run *run, const char *text)
{
	size_t length = 0;

	for (said[0] = '\0'; !strstr(said, text);) {
		TEST_ASSERT_TRUE_MESSAGE(length < sizeof(said) - 1, said);
		TEST_ASSERT_EQUAL_INT_MESSAGE(
			1, read(run->out, said + length, 1), said);
		said[++length] = '\0';
	}
}

static struct run run_serving(const char *mode)
{
	const char *const options[] = { "--dir", dir, "--mode", mode, "-v",
		NULL };
	struct run run = run_start(options);

	run_hears(&run, "publishing in");
	return run;
}

/* -- options ------------------------------------------------------------------ */

static void test_help_and_version(void)
{
	const char *const help[] = { "--help", NULL };
	const char *const version[] = { "--version", NULL };

	TEST_ASSERT_EQUAL_INT(0, run_whole(help));
	TEST_ASSERT_NOT_NULL(strstr(said, "usage: ttmemd"));
	TEST_ASSERT_NOT_NULL(strstr(said, "--max-processes"));
	TEST_ASSERT_EQUAL_INT(0, run_whole(version));
	TEST_ASSERT_EQUAL_INT(0, strncmp(said, "ttmemd ", 7));
}

static void test_wrong_use_is_2(void)
{
	static const char *const wrong[][3] = {
		{ "--nonsense" },
		{ "-x" },
		{ "more" },
		{ "--dir" },
		{ "--dir", "relative" },
		{ "--mode", "nobody" },
		{ "--max-processes", "0" },
		{ "--max-processes", "-1" },
		{ "--max-processes", "many" },
		{ "--max-bytes", "0" },
		{ "--max-bytes", "1X" },
		{ "--max-bytes", "K" },
		{ "--max-bytes", "99999999999T" },
		{ "--group", "no such group" },
		{ "--file-mode", "0666" },
		{ "--file-mode", "rw" },
	};
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		TEST_ASSERT_EQUAL_INT_MESSAGE(
			2, run_whole(wrong[i]), wrong[i][0]);
		TEST_ASSERT_NOT_NULL(strstr(said, "ttmemd --help"));
	}
}

static void test_slips_are_answered_with_the_closest_option(void)
{
	static const char *const slips[][3] = {
		{ "--log-evens", "(did you mean --log-events?)" },
		{ "--max-proceses=3", "(did you mean --max-processes?)" },
		{ "--verbose=yes", "--verbose takes no value" },
		{ "--mode", "--mode needs a value" },
		{ "--nonsense", "unknown option: --nonsense;" },
		{ "-x", "unknown option: -x;" },
	};
	size_t i;

	for (i = 0; i < sizeof(slips) / sizeof(slips[0]); i++) {
		const char *const options[] = { slips[i][0], NULL };

		TEST_ASSERT_EQUAL_INT(2, run_whole(options));
		TEST_ASSERT_NOT_NULL_MESSAGE(strstr(said, slips[i][1]), said);
	}
}

static void test_a_directory_that_is_not_there_is_a_failure(void)
{
	const char *const missing[] = { "--dir", "/dev/shm/not/there", NULL };
	const char *const disk[] = { "--dir", "/proc", NULL };

	TEST_ASSERT_EQUAL_INT(1, run_whole(missing));
	TEST_ASSERT_NOT_NULL(strstr(said, "No such file"));
	TEST_ASSERT_EQUAL_INT(1, run_whole(disk));
	TEST_ASSERT_NOT_NULL(strstr(said, "not on tmpfs"));
}

/* -- signals ------------------------------------------------------------------ */

static void stops_with(int number)
{
	struct run run = run_serving("user");

	kill(run.pid, number);
	TEST_ASSERT_EQUAL_INT(0, run_end(&run, said, sizeof(said)));
}

static void test_sigterm_and_sigint_end_it_well(void)
{
	stops_with(SIGTERM);
	stops_with(SIGINT);
}

static void test_a_broken_pipe_does_not_end_it(void)
{
	char another[128];
	struct run run = run_serving("user");
	int status, tries = 60000;

	close(run.out);
	/* It has something to say. */
	snprintf(another, sizeof(another), "%s/ttmem-%u.1", dir, geteuid());
	TEST_ASSERT_EQUAL_INT(0, mkdir(another, 0700));
	snprintf(another, sizeof(another), "%s/ttmem-%u.1/ttmemd.lock", dir,
		geteuid());
	while (access(another, F_OK) < 0 && tries-- > 0)
		poll(NULL, 0, 1);
	TEST_ASSERT_TRUE(tries > 0);
	kill(run.pid, SIGTERM);
	TEST_ASSERT_EQUAL_INT(run.pid, waitpid(run.pid, &status, 0));
	TEST_ASSERT_EQUAL_INT(0, status);
}

static void test_it_raises_its_limit_for_files(void)
{
	struct rlimit before, limit;
	struct run run;

	getrlimit(RLIMIT_NOFILE, &before);
	limit = before;
	limit.rlim_cur = 64;
	setrlimit(RLIMIT_NOFILE, &limit);
	run = run_serving("user");
	setrlimit(RLIMIT_NOFILE, &before);
	TEST_ASSERT_EQUAL_INT(0, prlimit(run.pid, RLIMIT_NOFILE, NULL, &limit));
	TEST_ASSERT_TRUE(limit.rlim_cur == limit.rlim_max);
	kill(run.pid, SIGTERM);
	TEST_ASSERT_EQUAL_INT(0, run_end(&run, said, sizeof(said)));
}

/* -- two of them -------------------------------------------------------------- */

static void second_says_who(const char *mode)
{
	const char *const options[] = { "--dir", dir, "--mode", mode, NULL };
	struct run first = run_serving(mode);
	char holder[64];

	TEST_ASSERT_EQUAL_INT(1, run_whole(options));
	snprintf(holder, sizeof(holder), "by process %d (ttmemd --dir %s",
		(int)first.pid, dir);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(said, holder), said);
	kill(first.pid, SIGKILL);
	TEST_ASSERT_EQUAL_INT(-SIGKILL, run_end(&first, said, sizeof(said)));
	/* And whoever comes next can have it. */
	first = run_serving(mode);
	kill(first.pid, SIGTERM);
	TEST_ASSERT_EQUAL_INT(0, run_end(&first, said, sizeof(said)));
}

static void test_a_second_one_says_who_serves(void)
{
	second_says_who("user");
	if (geteuid() == 0)
		second_says_who("system");
}

static void test_the_system_takes_over_from_a_user(void)
{
	struct run user, everybody;
	char served[256];

	if (geteuid() != 0)
		TEST_IGNORE_MESSAGE("needs root");
	user = run_serving("user");
	everybody = run_serving("system");
	snprintf(served, sizeof(served), "%s/ttmem-0 is served by process %d",
		dir, (int)user.pid);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(said, served), said);
	kill(user.pid, SIGTERM);
	snprintf(served, sizeof(served), "serving %s/ttmem-0", dir);
	run_hears(&everybody, served);
	TEST_ASSERT_EQUAL_INT(0, run_end(&user, said, sizeof(said)));
	kill(everybody.pid, SIGTERM);
	TEST_ASSERT_EQUAL_INT(0, run_end(&everybody, said, sizeof(said)));
}

static void test_system_mode_is_for_root(void)
{
	const char *const options[] = { "--dir", dir, "--mode", "system",
		NULL };

	if (geteuid() == 0)
		TEST_IGNORE_MESSAGE("is root");
	TEST_ASSERT_EQUAL_INT(1, run_whole(options));
	TEST_ASSERT_NOT_NULL(strstr(said, "for root"));
}

/* -- the service manager ------------------------------------------------------ */

static int manager_open(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
		strlen(name));

	TEST_ASSERT_TRUE(fd >= 0);
	TEST_ASSERT_TRUE(strlen(name) < sizeof(address.sun_path));
	memcpy(address.sun_path, name, strlen(name));
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	else
		length++;
	TEST_ASSERT_EQUAL_INT(0, bind(fd, (struct sockaddr *)&address, length));
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

static void manager_hears(int fd, const char *text)
{
	struct pollfd poll_fd = { fd, POLLIN, 0 };
	char message[512];
	ssize_t n;

	TEST_ASSERT_EQUAL_INT_MESSAGE(1, poll(&poll_fd, 1, 60000), text);
	n = recv(fd, message, sizeof(message) - 1, 0);
	TEST_ASSERT_TRUE(n > 0);
	message[n] = '\0';
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(message, text), message);
}

static void manager_is_told(const char *name)
{
	int fd = manager_open(name);
	struct run run = run_serving("user");

	manager_hears(fd, "READY=1\nSTATUS=Serving ");
	kill(run.pid, SIGTERM);
	manager_hears(fd, "STOPPING=1");
	TEST_ASSERT_EQUAL_INT(0, run_end(&run, said, sizeof(said)));
	close(fd);
}

static void test_the_manager_is_told(void)
{
	char name[100];

	snprintf(name, sizeof(name), "%s/notify", dir);
	manager_is_told(name);
	snprintf(name, sizeof(name), "@ttmem-test-%d", (int)getpid());
	manager_is_told(name);
}

static void test_the_watchdog_is_fed(void)
{
	char name[100];
	struct run run;
	int fd;

	snprintf(name, sizeof(name), "@ttmem-test-%d", (int)getpid());
	fd = manager_open(name);
	setenv("WATCHDOG_USEC", "4000000", 1);
	run = run_serving("user");
	manager_hears(fd, "READY=1");
	manager_hears(fd, "WATCHDOG=1");
	kill(run.pid, SIGTERM);
	manager_hears(fd, "STOPPING=1");
	TEST_ASSERT_EQUAL_INT(0, run_end(&run, said, sizeof(said)));
	close(fd);
}

static void test_notify_without_a_manager_fails(void)
{
	const char *const options[] = { "--dir", dir, "--mode", "user",
		"--notify", NULL };

	TEST_ASSERT_EQUAL_INT(1, run_whole(options));
	TEST_ASSERT_NOT_NULL(strstr(said, "NOTIFY_SOCKET"));
}

/* stderr is a pipe here, and the journal's name for it is that of the pipe. */
static void test_for_the_journal_lines_have_priorities(void)
{
	const char *const options[] = { "--dir", dir, "--mode", "user",
		"--notify", NULL };
	char stream[64];
	struct stat st;
	int out[2], status;
	ssize_t n;
	pid_t pid;

	TEST_ASSERT_EQUAL_INT(0, pipe2(out, O_CLOEXEC));
	TEST_ASSERT_EQUAL_INT(0, fstat(out[1], &st));
	snprintf(stream, sizeof(stream), "%llu:%llu",
		(unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		setenv("JOURNAL_STREAM", stream, 1);
		dup2(out[1], STDERR_FILENO);
		execl(program, "ttmemd", options[0], options[1], options[2],
			options[3], options[4], (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	n = read(out[0], said, sizeof(said) - 1);
	TEST_ASSERT_TRUE(n > 0);
	said[n] = '\0';
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, strncmp(said, "<4>", 3), said);
	close(out[0]);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_EQUAL_INT(1 << 8, status);
}

int main(void)
{
	program = getenv("TTMEM_TEST_TTMEMD");
	if (!program)
		return 77;
	UNITY_BEGIN();
	RUN_TEST(test_help_and_version);
	RUN_TEST(test_wrong_use_is_2);
	RUN_TEST(test_slips_are_answered_with_the_closest_option);
	RUN_TEST(test_a_directory_that_is_not_there_is_a_failure);
	RUN_TEST(test_sigterm_and_sigint_end_it_well);
	RUN_TEST(test_a_broken_pipe_does_not_end_it);
	RUN_TEST(test_it_raises_its_limit_for_files);
	RUN_TEST(test_a_second_one_says_who_serves);
	RUN_TEST(test_the_system_takes_over_from_a_user);
	RUN_TEST(test_system_mode_is_for_root);
	RUN_TEST(test_the_manager_is_told);
	RUN_TEST(test_the_watchdog_is_fed);
	RUN_TEST(test_notify_without_a_manager_fails);
	RUN_TEST(test_for_the_journal_lines_have_priorities);
	return UNITY_END();
}

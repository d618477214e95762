/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A publisher that is killed, at any of the places where something becomes visible
 * and at any moment in between, leaves whole publications only; a reader that goes on
 * across the kills never sees an older one after a newer one, and objects that are
 * called one cut add up to what their copy says.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <unity.h>

#include "daemon/publish_story.h"
#include "support/test_dir.h"

void ttm_testpoint(const char *label);

enum {
	LABELS_MAX = 40,
	LABEL_SIZE = 32,
	TRIES = 100,
	RANDOM_KILLS = 300,
};

/* Shared with children; what they have done survives them. */
struct progress {
	uint64_t points;    /* places come by */
	uint64_t published; /* the last publication that returned */
	char killed_at[LABEL_SIZE];
	uint64_t labels_len;
	char labels[LABELS_MAX][LABEL_SIZE];
	/* The reader's. */
	uint64_t stop;
	uint64_t newest;
	uint64_t reads;
	uint64_t cuts;
	uint64_t moving;
	uint64_t files;
	char why[128];
};

static struct progress *progress;
static const char *dir;
static char path[128];
static int directory;
static uint64_t kill_at;

void setUp(void)
{
	dir = test_dir_make();
	snprintf(path, sizeof(path), "%s/aggregate", dir);
	directory = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	TEST_ASSERT_TRUE(directory >= 0);
}

void tearDown(void)
{
	close(directory);
	test_dir_remove();
}

static void label_note(const char *label)
{
	uint64_t i;

	for (i = 0; i < progress->labels_len; i++)
		if (!strcmp(progress->labels[i], label))
			return;
	if (i == LABELS_MAX)
		abort();
	snprintf(progress->labels[i], LABEL_SIZE, "%s", label);
	progress->labels_len = i + 1;
}

void ttm_testpoint(const char *label)
{
	if (!progress)
		return;
	progress->points++;
	if (progress->points == kill_at) {
		snprintf(progress->killed_at, LABEL_SIZE, "%s", label);
		raise(SIGKILL);
	}
	label_note(label);
}

/* First file, the same file, tables grow, objects grow, both, the same again. */
static void act(uint64_t base)
{
	static const struct {
		unsigned names, objects;
	} steps[] = { { 5, 10 }, { 8, 14 }, { 3, 4 }, { 300, 4 }, { 300, 1100 },
		{ 450, 1500 }, { 440, 1490 } };
	struct story story;
	size_t i;

	story_begin(&story, directory, base, 7);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		story_names(&story, steps[i].names);
		story_objects(&story, steps[i].objects);
		if (story_publish(&story) < 0)
			abort();
		progress->published = story.publication;
	}
	story_end(&story);
}

static pid_t child_start(void (*run)(uint64_t), uint64_t argument)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run(argument);
		_exit(0);
	}
	TEST_ASSERT_TRUE(pid > 0);
	return pid;
}

/* Whether the child was killed; else it ended well. */
static bool child_end(pid_t pid)
{
	int status;

	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return true;
	TEST_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return false;
}

static size_t temporaries(void)
{
	char pattern[160];
	size_t found = 0;
	glob_t all;

	snprintf(pattern, sizeof(pattern), "%s/.aggregate.*", dir);
	if (!glob(pattern, GLOB_NOSORT, NULL, &all)) {
		found = all.gl_pathc;
		globfree(&all);
	}
	return found;
}

static bool killed_at(const char *start)
{
	return !strncmp(progress->killed_at, start, strlen(start));
}

/*
 * What is half done has an odd sequence, and nothing else has. By the number of
 * publications before: these were followed by one into the same file.
 */
static void sequences_check(const struct reader *r, uint64_t published)
{
	bool same = published == 1 || published == 2 || published == 6;
	bool in_row = killed_at("row begun") || killed_at("row written");
	bool in_copy = killed_at("copy begun") || killed_at("copy head") ||
		killed_at("copy page");
	bool in_objects = killed_at("objects begun") || killed_at("row") ||
		killed_at("copy") || killed_at("active");
	uint64_t active = reader_load(r, READER_ACTIVE), i, odd = 0;

	for (i = 0; i < r->objects_capacity; i++)
		odd += reader_load(r, r->objects_off + i * READER_ROW) % 2;
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(
		same && in_row, odd, progress->killed_at);
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(same && in_copy,
		reader_load(r, r->copy_off[!active]) % 2, progress->killed_at);
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(same && in_objects,
		reader_load(r, READER_OBJECTS_SEQ) % 2, progress->killed_at);
}

/*
 * What is there: a whole publication, not older than what was published for sure.
 * Returns its number, 0 when there is no file.
 */
static uint64_t remains_check(uint64_t published)
{
	struct snapshot s;
	struct reader r;
	const char *why;
	uint64_t number;

	if (!reader_open(&r, path)) {
		TEST_ASSERT_EQUAL_INT_MESSAGE(
			ENOENT, r.fd < 0 ? errno : EPROTO, r.why);
		TEST_ASSERT_EQUAL_UINT64(0, published);
		return 0;
	}
	TEST_ASSERT_FALSE(reader_is_locked(&r));
	TEST_ASSERT_TRUE(reader_read(&r, 1, &s));
	TEST_ASSERT_TRUE(
		s.publication >= published && s.publication <= published + 1);
	why = story_copy_fault(&r, &s);
	TEST_ASSERT_NULL_MESSAGE(why, why);
	reader_rows(&r, &s);
	why = story_objects_fault(&r, &s);
	TEST_ASSERT_NULL_MESSAGE(why, why);
	progress->cuts += s.consistent;
	progress->moving += !s.consistent;
	number = s.publication;
	snapshot_free(&s);
	close(r.fd);
	return number;
}

static void successor(uint64_t base)
{
	struct story story;

	story_begin(&story, directory, base, 9);
	if (story_publish(&story) < 0)
		abort();
}

/* The rows are many, and a kill inside one is as good as inside the other. */
static uint64_t next_kill(uint64_t at)
{
	return at + 1 + at / 200 * (at % 7);
}

static void test_a_kill_at_any_place_leaves_a_whole_publication(void)
{
	uint64_t at, number, kills = 0;
	struct reader r;
	bool killed = true;

	for (at = 1; killed; at = next_kill(at)) {
		memset(progress, 0, offsetof(struct progress, labels_len));
		kill_at = at;
		killed = child_end(child_start(act, 0));
		kill_at = 0;
		kills += killed;
		TEST_ASSERT_TRUE(temporaries() <= 1);
		number = remains_check(progress->published);
		if (killed && number && reader_open(&r, path)) {
			sequences_check(&r, progress->published);
			close(r.fd);
		}
		TEST_ASSERT_FALSE(child_end(child_start(successor, number)));
		TEST_ASSERT_EQUAL_UINT64(0, temporaries());
		TEST_ASSERT_EQUAL_UINT64(number + 1, remains_check(number + 1));
		TEST_ASSERT_EQUAL_INT(0, unlink(path));
	}
	printf("%d kills, %d cuts, %d moving\n", (int)kills,
		(int)progress->cuts, (int)progress->moving);
	TEST_ASSERT_TRUE(kills > 100 && progress->moving > 10);
}

static void source_check(const char *source, unsigned *found)
{
	static const char call[] = "TTM_TESTPOINT(\"";
	FILE *file = fopen(source, "r");
	char line[256], *text, *end;
	uint64_t i;

	TEST_ASSERT_NOT_NULL_MESSAGE(file, source);
	while (fgets(line, sizeof(line), file)) {
		text = strstr(line, call);
		end = text ? strchr(text + strlen(call), '"') : NULL;
		if (!end)
			continue;
		*end = '\0';
		text += strlen(call);
		for (i = 0; i < progress->labels_len; i++)
			if (!strcmp(progress->labels[i], text))
				break;
		TEST_ASSERT_TRUE_MESSAGE(i < progress->labels_len, text);
		++*found;
	}
	fclose(file);
}

static void test_every_place_of_the_publisher_was_one_of_them(void)
{
	unsigned found = 0;
	glob_t files;
	size_t i;

	TEST_ASSERT_EQUAL_INT(0,
		glob(TTM_TEST_LIB_DIR "/daemon/publish/publish*.c", 0, NULL,
			&files));
	for (i = 0; i < files.gl_pathc; i++)
		source_check(files.gl_pathv[i], &found);
	globfree(&files);
	TEST_ASSERT_TRUE(found >= 15);
}

/* -- at any moment ------------------------------------------------------------ */

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static bool reader_is_replaced(const struct reader *r)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_ino != r->inode;
}

static const char *snapshot_judge(const struct reader *r, struct snapshot *s)
{
	const char *why = story_copy_fault(r, s);

	if (s->publication < progress->newest)
		return "an older publication";
	progress->newest = s->publication;
	progress->reads++;
	if (why)
		return why;
	reader_rows(r, s);
	progress->cuts += s->consistent;
	progress->moving += !s->consistent;
	return story_objects_fault(r, s);
}

/* Reads until it is told to stop, over all files that come. */
static void reader_run(uint64_t unused)
{
	struct reader r = { .fd = -1 };
	struct snapshot s;
	const char *why;

	(void)unused;
	while (!load(&progress->stop)) {
		if (r.fd < 0 || reader_is_replaced(&r)) {
			if (r.fd >= 0)
				close(r.fd);
			why = reader_open(&r, path) ? NULL : r.why;
			if (r.fd < 0)
				continue; /* none yet */
			progress->files++;
		} else {
			why = NULL;
		}
		if (!why && !reader_read(&r, TRIES, &s)) {
			sched_yield();
			continue;
		}
		if (!why) {
			why = snapshot_judge(&r, &s);
			snapshot_free(&s);
		}
		if (why) {
			snprintf(progress->why, sizeof(progress->why),
				"%s in publication %d", why,
				(int)progress->newest);
			return;
		}
	}
}

static void publisher_run(uint64_t base)
{
	struct story story;
	uint64_t draw;

	story_begin(&story, directory, base, base + 1);
	for (;;) {
		draw = story_draw(&story) >> 20;
		story_names(&story, (unsigned)(draw % 200 ? draw % 20 : 400));
		story_objects(&story,
			(unsigned)(draw % 150 ? draw % 60 : draw % 1500));
		if (story_publish(&story) < 0)
			abort();
	}
}

/* As a successor finds it. */
static uint64_t publication_now(void)
{
	struct snapshot s;
	struct reader r;
	uint64_t number = 0;

	if (!reader_open(&r, path)) {
		TEST_ASSERT_TRUE_MESSAGE(r.fd < 0, r.why);
		return 0;
	}
	TEST_ASSERT_TRUE(reader_read(&r, 1, &s));
	number = s.publication;
	snapshot_free(&s);
	close(r.fd);
	return number;
}

/* On a busy machine a publisher may be killed before it has begun, each time. */
static void publication_await(uint64_t after)
{
	struct timespec pause = { .tv_nsec = 1000000 };

	while (load(&progress->newest) <= after && !progress->why[0])
		nanosleep(&pause, NULL);
}

static void test_a_reader_across_kills_sees_whole_publications_only(void)
{
	uint64_t kills = test_scale(RANDOM_KILLS), i, draw = 77, before;
	struct timespec pause = { 0 };
	pid_t reader, publisher;

	memset(progress, 0, sizeof(*progress));
	reader = child_start(reader_run, 0);
	for (i = 0; i < kills && !progress->why[0]; i++) {
		before = publication_now();
		publisher = child_start(publisher_run, before);
		if (i % 4 == 0)
			publication_await(before);
		draw = draw * 6364136223846793005ull + 1442695040888963407ull;
		pause.tv_nsec = (long)((draw >> 33) % 12000000);
		nanosleep(&pause, NULL);
		kill(publisher, SIGKILL);
		TEST_ASSERT_TRUE(child_end(publisher));
	}
	__atomic_store_n(&progress->stop, 1, __ATOMIC_RELEASE);
	TEST_ASSERT_FALSE(child_end(reader));
	printf("%d kills, %d publications, %d reads of %d files, %d cuts, "
	       "%d moving\n",
		(int)i, (int)publication_now(), (int)progress->reads,
		(int)progress->files, (int)progress->cuts,
		(int)progress->moving);
	TEST_ASSERT_EQUAL_STRING("", progress->why);
	TEST_ASSERT_TRUE(progress->reads >= kills / 4 && progress->cuts > 0);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (progress == MAP_FAILED)
		return 1;
	UNITY_BEGIN();
	RUN_TEST(test_a_kill_at_any_place_leaves_a_whole_publication);
	RUN_TEST(test_every_place_of_the_publisher_was_one_of_them);
	RUN_TEST(test_a_reader_across_kills_sees_whole_publications_only);
	return UNITY_END();
}

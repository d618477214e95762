/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process killed at any of the places where its state changes leaves a segment
 * that reads well, in which at most one operation per lane is half done, and whose
 * lock is free. Each scenario is run once to see by which places it comes, then
 * once for each label to be killed there, and all that in rounds: with more or
 * fewer objects there already, with a ring about to wrap, beside another thread,
 * and in another thread.
 */
#include <glob.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "faults/killed.h"
#include "record/kill_lefts.h"
#include "record/kill_scenarios.h"

void ttm_testpoint(const char *label);

enum {
	ROUNDS = 20,
	POINTS_MAX = 128,
	LABELS_MAX = 128,
	MESH_KILLS = 1000,
};

/* How the rounds differ. The crowd is what is live already. */
enum company {
	ALONE,
	BESIDE, /* another thread goes on meanwhile */
	AWAY,   /* another thread does it, and the first goes on */
};

static const struct setting {
	unsigned crowd;
	unsigned past; /* events before, those of the crowd not counted */
	enum company company;
} settings[] = {
	{ 0, 0, ALONE },
	{ 3, 0, BESIDE },
	{ 0, 2, ALONE },
	{ 1, 0, AWAY },
	{ 15, 0, ALONE }, /* a batch of slots */
	{ 16, 0, ALONE },
	{ 16, 40, BESIDE },
	{ 17, 0, ALONE },
	{ 31, 1, AWAY },
	{ 32, 0, ALONE },
	{ 0, 2044, ALONE }, /* the ring wraps */
	{ 0, 2046, ALONE },
	{ 2, 2046, BESIDE },
	{ 0, 2048, ALONE },
	{ 1, 2048, AWAY },
	{ 7, 4100, ALONE },
	{ 100, 0, ALONE },
	{ 200, 100, BESIDE },
	{ 64, 0, AWAY },
	{ 300, 0, ALONE },
};

/* Shared with the child. */
struct progress {
	unsigned points;                /* places it came by */
	const char *labels[POINTS_MAX]; /* the same address in both */
	bool ready;                     /* there must be a file from now on */
	uint64_t before, after;         /* live objects */
	struct lefts lefts_before, lefts_after; /* on meshes */
};

static struct progress *progress;
static const char *dir;
static unsigned kill_at; /* 0: never */
static __thread bool armed;
static atomic_bool companion_is_there;

static struct {
	const char *text;
	uint64_t kills;
} labels[LABELS_MAX];
static unsigned labels_len;

void setUp(void)
{
	dir = test_dir_make();
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	TEST_ASSERT_TRUE(progress != MAP_FAILED);
}

void tearDown(void)
{
	munmap(progress, sizeof(*progress));
	test_dir_remove();
}

/* Called by the library's test form. */
void ttm_testpoint(const char *label)
{
	unsigned n;

	if (!armed)
		return;
	n = progress->points++;
	if (n < POINTS_MAX)
		progress->labels[n] = label;
	if (n + 1 == kill_at)
		kill(getpid(), SIGKILL);
}

/* -- what the child does ------------------------------------------------------ */

static uint64_t live_objects(struct lefts *ret_lefts)
{
	struct ttmem_status status = { .size = sizeof(status) };
	struct segment *segment = NULL;
	char why[512] = "";
	uint64_t live;

	ttmem_status(&status);
	if (!status.segment[0])
		return 0;
	if (segment_read(status.segment, &segment, why, sizeof(why)) ||
		segment_check_at_rest(segment, why, sizeof(why))) {
		fprintf(stderr, "not killed, and yet: %s\n", why);
		_exit(1);
	}
	live = segment->objects_len;
	lefts_take(ret_lefts, segment);
	segment_unref(&segment);
	return live;
}

static void *companion_main(void *argument)
{
	uint64_t i;

	(void)argument;
	for (i = 0;; i++) {
		ttmem_alloc(0, TTMEM_L1, OTHER_ID + i % 8, 0, 100);
		ttmem_kernel_load(0, OTHER_ID + i % 3, TTMEM_KERNEL_APPLICATION,
			100, 1 + i / 3 % 2, 0);
		ttmem_free(0, TTMEM_L1, OTHER_ID + (i + 5) % 8);
		atomic_store(&companion_is_there, true);
	}
	return NULL;
}

static void *act_main(void *argument)
{
	const struct scenario *scenario = argument;

	armed = true;
	scenario->act();
	armed = false;
	atomic_store(&companion_is_there, true);
	return NULL;
}

static pthread_t thread_start(
	void *(*work)(void *argument), const struct scenario *scenario)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)scenario))
		_exit(1);
	return thread;
}

static void crowd_come(const struct setting *setting)
{
	uint64_t i;

	for (i = 0; i < setting->crowd; i++)
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 10 + i);
	for (i = 0; i < setting->past; i += 2) {
		ttmem_alloc(0, TTMEM_DRAM, ID - 1, 0, 10);
		ttmem_free(0, TTMEM_DRAM, ID - 1);
	}
	if (!setting->crowd && !setting->past)
		ttmem_mark("the segment is there");
}

static void child_main(
	const struct scenario *scenario, const struct setting *setting)
{
	bool away = setting->company == AWAY || scenario->flags & IN_THREAD;
	pthread_t thread;

	/* Threads beside it have no end of their own. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!(scenario->flags & STARTS)) {
		crowd_come(setting);
		scenario->prepare();
		progress->ready = true;
		if (!kill_at)
			progress->before = live_objects(
				&progress->lefts_before);
	}
	if (setting->company == BESIDE) {
		thread_start(companion_main, NULL);
		/* At a start the two may meet; else the other is well under
		 * way. */
		while (!(scenario->flags & STARTS) &&
			!atomic_load(&companion_is_there))
			sched_yield();
	}
	if (away) {
		thread = thread_start(act_main, scenario);
		if (setting->company == AWAY)
			while (!atomic_load(&companion_is_there)) {
				ttmem_alloc(0, TTMEM_L1, OTHER_ID, 0, 100);
				ttmem_free(0, TTMEM_L1, OTHER_ID);
			}
		pthread_join(thread, NULL);
	} else {
		act_main((void *)(uintptr_t)scenario);
	}
	if (!kill_at && setting->company == ALONE && !(scenario->flags & ENDS))
		progress->after = live_objects(&progress->lefts_after);
	_exit(0);
}

/* -- what the parent finds ---------------------------------------------------- */

static void fail_at(const struct scenario *scenario,
	const struct setting *setting, const char *what)
{
	char text[700];

	snprintf(text, sizeof(text), "%s, round %d, place %d \"%s\": %s",
		scenario->name, (int)(setting - settings), (int)kill_at,
		kill_at && kill_at <= POINTS_MAX ?
			progress->labels[kill_at - 1] :
			"none",
		what);
	TEST_FAIL_MESSAGE(text);
}

/* False if it came to its end before the place. */
static bool child_run(const struct scenario *scenario,
	const struct setting *setting, unsigned at, pid_t *ret_pid)
{
	int status;
	pid_t pid;

	progress->points = 0;
	progress->ready = false;
	kill_at = at;
	kind_now = (enum ttmem_kind)((setting - settings) % 5);
	type_now = (enum ttmem_kernel_type)((setting - settings) % 3);
	fflush(NULL);
	pid = fork();
	TEST_ASSERT_TRUE(pid >= 0);
	if (!pid)
		child_main(scenario, setting);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	*ret_pid = pid;
	if (status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		fail_at(scenario, setting, "did not end as it should");
	return WIFSIGNALED(status);
}

static unsigned crowd_left(const struct segment *segment)
{
	unsigned crowd = 0;
	size_t i;

	for (i = 0; i < segment->objects_len; i++)
		crowd += segment->objects[i].figure == TTMEM_FIGURE_DRAM &&
			segment->objects[i].id < OTHER_ID;
	return crowd;
}

/* Each object is on all the devices where it was or will be, or it is gone. */
static bool meshes_are_whole(const struct segment *segment)
{
	struct left left;
	size_t i;

	for (i = 0; i < segment->objects_len; i++) {
		left = left_of(segment, &segment->objects[i]);
		if (left_is_mesh(&left) &&
			!lefts_have(&progress->lefts_before, &left) &&
			!lefts_have(&progress->lefts_after, &left))
			return false;
	}
	return true;
}

/* Alone, nothing else happens. A replacement is one object more for a moment. */
static bool live_is_right(const struct segment *segment)
{
	uint64_t before = progress->before, after = progress->after;
	uint64_t low = before < after ? before : after;
	uint64_t high = before < after ? after : before;
	uint64_t promised = 0;
	size_t i;

	/* What comes is there before what it replaces has gone. */
	for (i = 0; i < segment->lanes_len; i++)
		promised += segment->lanes[i].intent - segment->lanes[i].tail;
	return segment->objects_len >= low &&
		segment->objects_len <= high + (promised ? promised : 1);
}

static void check_left(const struct scenario *scenario,
	const struct setting *setting, pid_t pid)
{
	char why[600];
	struct segment *segment = killed_take(
		dir, pid, setting->company == ALONE ? 1 : 2, why, sizeof(why));

	if (why[0])
		fail_at(scenario, setting, why);
	if (!segment && progress->ready && !(scenario->flags & ENDS))
		fail_at(scenario, setting, "no segment");
	if (!segment)
		return;
	if (progress->ready && crowd_left(segment) != setting->crowd)
		fail_at(scenario, setting, "the others were touched");
	if (setting->company == ALONE && !(scenario->flags & ENDS) &&
		!live_is_right(segment))
		fail_at(scenario, setting, "a wrong number of live objects");
	if (setting->company == ALONE && scenario->flags & MESH &&
		!meshes_are_whole(segment))
		fail_at(scenario, setting, "an object on other devices");
	segment_unref(&segment);
}

/* -- the matrix --------------------------------------------------------------- */

/* Where a scenario comes by a label, and how often it was killed there. */
struct place {
	const char *label;
	const struct setting *setting; /* where it is sure to come by again */
	unsigned at;
	uint64_t before, after; /* as in progress, there */
	uint64_t kills;
};

static struct place places[POINTS_MAX];
static unsigned places_len;

static struct place *place_of(const char *label)
{
	unsigned i;

	for (i = 0; i < places_len; i++)
		if (!strcmp(places[i].label, label))
			return &places[i];
	TEST_ASSERT_TRUE(places_len < POINTS_MAX);
	memset(&places[places_len], 0, sizeof(places[0]));
	places[places_len].label = label;
	return &places[places_len++];
}

static void label_count(const char *label, uint64_t kills)
{
	unsigned i;

	for (i = 0; i < labels_len; i++)
		if (!strcmp(labels[i].text, label))
			break;
	if (i == labels_len) {
		TEST_ASSERT_TRUE(labels_len < LABELS_MAX);
		labels[labels_len++].text = label;
	}
	labels[i].kills += kills;
}

static void kill_once(const struct scenario *scenario,
	const struct setting *setting, unsigned at)
{
	struct place *place;
	pid_t pid;

	if (child_run(scenario, setting, at, &pid)) {
		place = place_of(progress->labels[at - 1]);
		place->kills++;
		if (setting->company == ALONE) {
			place->setting = setting;
			place->at = at;
			place->before = progress->before;
			place->after = progress->after;
		}
	}
	check_left(scenario, setting, pid);
}

/* What the run without a kill leaves is of no interest. */
static unsigned points_count(
	const struct scenario *scenario, const struct setting *setting)
{
	struct segment *segment;
	char why[600];
	pid_t pid;

	progress->before = 0;
	progress->after = 0;
	if (child_run(scenario, setting, 0, &pid))
		fail_at(scenario, setting, "killed by somebody else");
	segment = killed_take(dir, pid, 2, why, sizeof(why));
	if (why[0])
		fail_at(scenario, setting, why);
	segment_unref(&segment);
	TEST_ASSERT_TRUE(progress->points <= POINTS_MAX);
	return progress->points;
}

/*
 * Once at each label. Where it comes by a label more than once, another time is
 * chosen in each round.
 */
static void round_run(const struct scenario *scenario, unsigned round)
{
	const struct setting *setting = &settings[round % ROUNDS];
	unsigned points = points_count(scenario, setting), at, same, i;
	const char *seen[POINTS_MAX];

	memcpy(seen, progress->labels, sizeof(seen));
	for (at = 0; at < points; at++) {
		unsigned before = 0;

		for (i = 0, same = 0; i < points; i++) {
			if (strcmp(seen[i], seen[at]) != 0)
				continue;
			before += i < at;
			same++;
		}
		if (round % same == before)
			kill_once(scenario, setting, at + 1);
	}
}

static uint64_t scenario_run(const struct scenario *scenario, uint64_t rounds)
{
	uint64_t kills = 0;
	unsigned i;

	places_len = 0;
	for (i = 0; i < rounds; i++)
		round_run(scenario, i);
	for (i = 0; i < places_len; i++) {
		struct place *place = &places[i];

		/* Only in a new thread: that is a scenario of its own. */
		if (!place->setting)
			continue;
		progress->before = place->before;
		progress->after = place->after;
		while (place->kills < rounds)
			kill_once(scenario, place->setting, place->at);
	}
	for (i = 0; i < places_len; i++) {
		label_count(places[i].label, places[i].kills);
		kills += places[i].kills;
	}
	kill_at = 0;
	if (!places_len && !(scenario->flags & UNTOUCHED))
		fail_at(scenario, settings, "comes by no place");
	return kills;
}

static void test_any_place_leaves_at_most_one_operation_half_done(void)
{
	uint64_t rounds = test_scale(ROUNDS), kills = 0, pairs = 0, now;
	uint64_t mesh_kills = 0;
	unsigned i;

	for (i = 0; i < SCENARIOS; i++) {
		now = scenario_run(&scenarios[i], rounds);
		kills += now;
		if (scenarios[i].flags & MESH)
			mesh_kills += now;
		pairs += places_len;
	}
	printf("%d kills at %d places of %d scenarios, %d on meshes\n",
		(int)kills, (int)pairs, (int)SCENARIOS, (int)mesh_kills);
	TEST_ASSERT_TRUE(mesh_kills >= test_scale(MESH_KILLS));
}

/* -- none was left out -------------------------------------------------------- */

static void source_check(const char *path, unsigned *labels_found)
{
	static const char call[] = "TTM_TESTPOINT(\"";
	FILE *file = fopen(path, "r");
	char line[256], *text, *end;
	unsigned i;

	TEST_ASSERT_NOT_NULL_MESSAGE(file, path);
	while (fgets(line, sizeof(line), file)) {
		text = strstr(line, call);
		end = text ? strchr(text + strlen(call), '"') : NULL;
		if (!end)
			continue;
		*end = '\0';
		text += strlen(call);
		for (i = 0; i < labels_len; i++)
			if (!strcmp(labels[i].text, text))
				break;
		TEST_ASSERT_TRUE_MESSAGE(i < labels_len, text);
		TEST_ASSERT_TRUE_MESSAGE(
			labels[i].kills >= test_scale(ROUNDS), text);
		++*labels_found;
	}
	fclose(file);
}

static void test_every_place_in_the_sources_was_one_of_them(void)
{
	unsigned found = 0;
	glob_t files;
	size_t i;

	TEST_ASSERT_EQUAL_INT(
		0, glob(TTM_TEST_LIB_DIR "/record/*.[ch]", 0, NULL, &files));
	for (i = 0; i < files.gl_pathc; i++)
		source_check(files.gl_pathv[i], &found);
	globfree(&files);
	TEST_ASSERT_TRUE(found >= labels_len && found > 20);
}

int main(void)
{
	/* The reader's large tables: fresh pages are cheaper than a fork that
	 * shares old ones. */
	mallopt(M_MMAP_THRESHOLD, 65536);
	/* A leak check at the exit must not swallow what failed. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	UNITY_BEGIN();
	RUN_TEST(test_any_place_leaves_at_most_one_operation_half_done);
	RUN_TEST(test_every_place_in_the_sources_was_one_of_them);
	return UNITY_END();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer that publishes as fast as it can, and is killed within, while a reader
 * takes snapshots: every snapshot is one publication, none is older than the one
 * before, each object is whole, and those that are said to be one cut add up.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "read/read.h"

enum {
	OBJECTS = 6000,
	CHANGES_FEW = 40, /* rows of a publication */
	CHANGES_MANY = 2000,
};

static const char *base;
static char path[AGG_PATH_SIZE];
static struct agg agg;
static uint64_t seen_publication = 1, consistent, moving, busy;

void setUp(void)
{
	base = test_dir_make();
}

void tearDown(void)
{
	agg_free(&agg);
	test_dir_remove();
}

/* -- the writer, after the page ---------------------------------------------------- */

struct writer {
	uint8_t *map;
	uint64_t publication;
	uint64_t total;
	uint64_t used;
	uint64_t random;
	unsigned changes;
};

static uint64_t *word(struct writer *w, uint64_t off)
{
	return (uint64_t *)(void *)(w->map + off);
}

static void store(struct writer *w, uint64_t off, uint64_t value)
{
	__atomic_store_n(word(w, off), value, __ATOMIC_RELAXED);
}

static void store_last(struct writer *w, uint64_t off, uint64_t value)
{
	__atomic_store_n(word(w, off), value, __ATOMIC_RELEASE);
}

/* What follows is seen after what came before. */
static void store_first(struct writer *w, uint64_t off, uint64_t value)
{
	store(w, off, value);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static uint64_t next_random(struct writer *w)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return w->random >> 33;
}

static uint64_t banks_of(uint64_t id)
{
	return (id & 0xffff) + 1;
}

/* All words of an object follow from its id. */
static void object_change(
	struct writer *w, unsigned row, bool live, uint64_t id)
{
	uint64_t at = agg_object(&agg, row), seq = *word(w, at);
	uint64_t size = id % 100000 + 1;

	if (*word(w, at + 0x08)) {
		w->total -= *word(w, at + 0x30);
		w->used--;
	}
	store_first(w, at, seq + 1);
	store(w, at + 0x08, live ? (uint64_t)100 << 32 : 0);
	store(w, at + 0x10, 1);
	store(w, at + 0x18, 0);
	store(w, at + 0x20, id);
	store(w, at + 0x28, id * 3);
	store(w, at + 0x30, size);
	store(w, at + 0x38, size | banks_of(id) << 46);
	store(w, at + 0x40, id + 7);
	store(w, at + 0x48, 0);
	store(w, at + 0x50, (id & 0xffff) << 16);
	store_last(w, at, seq + 2);
	if (live) {
		w->total += size;
		w->used++;
	}
}

static void publish(struct writer *w)
{
	unsigned copy = *word(w, AGG_LIVE + 8) ? 0 : 1, i;
	uint64_t at = agg.copy_off[copy], seq = *word(w, at);
	uint64_t rows = *word(w, AGG_LIVE + 0x18);

	w->publication++;
	store_first(w, AGG_LIVE + 0x18, rows + 1);
	for (i = 0; i < w->changes; i++)
		object_change(w, (unsigned)(next_random(w) % OBJECTS),
			next_random(w) & 1,
			w->publication << 16 | (next_random(w) & 0xffff));
	store_first(w, at, seq + (seq & 1 ? 2 : 1));
	store(w, at + 0x08, w->publication);
	store(w, at + 0x10, rows + 2);
	store(w, at + 0x18, OBJECTS);
	store(w, at + 0x20, w->used);
	store(w, at + 0x28, agg_now());
	store(w, agg_row(&agg, copy, AGG_DEVICES, 0) + 0x180, w->total);
	store(w, agg_row(&agg, copy, AGG_DEVICES, 0) + 0x188, w->used);
	store(w, agg_row(&agg, copy, AGG_HEALTH, 0) + 0x98, w->publication);
	store(w, agg_row(&agg, copy, AGG_PROCESSES, 0) + 0x68, w->publication);
	store(w, agg_row(&agg, copy, AGG_SHARES, 0) + 0x380, w->publication);
	store(w, agg_row(&agg, copy, AGG_UNTRACKED, 0) + 0x18, w->publication);
	seq = *word(w, at);
	store_last(w, at, seq + 1);
	store_last(w, AGG_LIVE + 0x18, rows + 2);
	store_last(w, AGG_LIVE + 8, copy);
	store(w, AGG_LIVE, agg_now());
}

static void writer_run(int fd, uint64_t publication, unsigned changes)
{
	struct timespec moment = { 0, 0 };
	struct writer w = { .publication = publication, .random = publication };

	w.changes = changes;

	w.map = mmap(NULL, agg.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (w.map == MAP_FAILED)
		_exit(1);
	for (;;) {
		publish(&w);
		/* Bursts, and pauses long enough for one cut; or none. */
		if (changes == CHANGES_FEW && next_random(&w) % 64 == 0) {
			moment.tv_nsec = (long)(next_random(&w) % 3000000);
			nanosleep(&moment, NULL);
		}
	}
}

/* A new file of a publication under the name, and its writer. */
static pid_t writer_start(uint64_t publication, unsigned changes)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};
	struct agg_sample sample;
	struct stat st;
	pid_t pid;
	int fd, i;

	own_directory(base, path, &st);
	strcat(path, "/aggregate");
	agg_free(&agg);
	agg_make(&agg, NULL, OBJECTS, 0);
	agg_sample(&agg, st.st_dev, st.st_ino, &sample);
	for (i = 0; i < OBJECTS; i++)
		memset(agg.bytes + agg_object(&agg, (unsigned)i), 0,
			AGG_OBJECT_SIZE);
	for (i = 0; i < 2; i++) {
		unsigned c = (unsigned)i;

		agg_put64(&agg, agg.copy_off[i] + 0x08, publication);
		agg_put64(&agg, agg.copy_off[i] + 0x18, 0);
		agg_put64(&agg, agg.copy_off[i] + 0x20, 0);
		agg_put64(&agg, agg_row(&agg, c, AGG_DEVICES, 0) + 0x180, 0);
		agg_put64(&agg, agg_row(&agg, c, AGG_DEVICES, 0) + 0x188, 0);
		agg_put64(&agg, agg_row(&agg, c, AGG_HEALTH, 0) + 0x98,
			publication);
		agg_put64(&agg, agg_row(&agg, c, AGG_PROCESSES, 0) + 0x68,
			publication);
		agg_put64(&agg, agg_row(&agg, c, AGG_SHARES, 0) + 0x380,
			publication);
		agg_put64(&agg, agg_row(&agg, c, AGG_UNTRACKED, 0) + 0x18,
			publication);
	}
	agg_write(&agg, path);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd = open(path, O_RDWR);
		if (fd < 0 || fcntl(fd, F_SETLK, &lock) < 0)
			_exit(1);
		writer_run(fd, publication, changes);
	}
	TEST_ASSERT_TRUE(pid > 0);
	return pid;
}

/* -- the reader ---------------------------------------------------------------------- */

static void object_is_whole(const struct ttmem_object_row *o)
{
	TEST_ASSERT_EQUAL_UINT64(o->id * 3, o->address);
	TEST_ASSERT_EQUAL_UINT64(o->id % 100000 + 1, o->size);
	TEST_ASSERT_EQUAL_UINT64(banks_of(o->id), o->banks);
	TEST_ASSERT_EQUAL_UINT64(o->id + 7, o->allocated_ns);
	TEST_ASSERT_EQUAL_UINT64(o->id & 0xffff, o->stack);
}

static void snapshot_check(const struct ttmem_snapshot *s)
{
	const struct ttmem_info_row *info = ttmem_snapshot_info(s);
	uint64_t i, bytes = 0, len = ttmem_snapshot_objects_len(s);
	const struct ttmem_sums *sums = &ttmem_snapshot_device(s, 0)
						 ->figures[0];

	TEST_ASSERT_TRUE(info->publication >= seen_publication);
	seen_publication = info->publication;
	TEST_ASSERT_EQUAL_UINT64(
		info->publication, ttmem_snapshot_health(s)->started_ns);
	TEST_ASSERT_EQUAL_UINT64(
		info->publication, ttmem_snapshot_process(s, 0)->events);
	TEST_ASSERT_EQUAL_UINT64(info->publication,
		ttmem_snapshot_share(s, 0)->figures[8].free_bytes);
	TEST_ASSERT_EQUAL_UINT64(
		info->publication, ttmem_snapshot_untracked(s, 0)->start_time);
	for (i = 0; i < len; i++) {
		object_is_whole(ttmem_snapshot_object(s, i));
		bytes += ttmem_snapshot_object(s, i)->bytes;
	}
	if (info->objects_consistent != 1) {
		moving++;
		return;
	}
	consistent++;
	TEST_ASSERT_EQUAL_UINT64(sums->live_bytes, bytes);
	TEST_ASSERT_EQUAL_UINT64(sums->live_objects, len);
	TEST_ASSERT_EQUAL_UINT64(info->objects_used, len);
}

static void snapshots_take(struct ttmem_reader *reader, uint64_t times)
{
	struct ttmem_snapshot *snapshot = NULL;
	uint64_t i;

	for (i = 0; i < times; i++) {
		int r = ttmem_reader_snapshot(
			reader, TTMEM_SNAPSHOT_OBJECTS, &snapshot);

		if (r == -EAGAIN) {
			busy++;
			continue;
		}
		TEST_ASSERT_EQUAL_INT(0, r);
		snapshot_check(snapshot);
		ttmem_snapshot_free(&snapshot);
	}
}

static void test_every_snapshot_is_one_publication(void)
{
	/* The last one turns the copies over faster than they can be read. */
	static const unsigned changes[] = { CHANGES_FEW, CHANGES_MANY, 0 };
	struct ttmem_reader *reader = NULL;
	uint64_t round, rounds = test_scale(18);
	pid_t writer;

	TEST_ASSERT_EQUAL_INT(0, ttmem_reader_open(NULL, &reader));
	for (round = 0; round < rounds; round++) {
		writer = writer_start(seen_publication, changes[round % 3]);
		snapshots_take(reader, 100);
		kill(writer, SIGKILL);
		waitpid(writer, NULL, 0);
		/* Whatever it was at, what it had published is there. */
		snapshots_take(reader, 5);
		TEST_ASSERT_EQUAL_UINT32(TTMEM_SOURCE_DEAD, state_of(reader));
	}
	ttmem_reader_close(&reader);
	printf("%llu publications; snapshots: %llu one cut, %llu moving, %llu none\n",
		(unsigned long long)seen_publication,
		(unsigned long long)consistent, (unsigned long long)moving,
		(unsigned long long)busy);
	TEST_ASSERT_TRUE(consistent > 0);
	TEST_ASSERT_TRUE(rounds < 2 || moving > 0);
	TEST_ASSERT_TRUE(seen_publication > rounds);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_every_snapshot_is_one_publication);
	return UNITY_END();
}

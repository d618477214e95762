/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another process reads the lanes while threads write them as fast as they can,
 * by the lane protocol of docs/layout.md and with pread(2): what it accepts is
 * whole and is the record of that number, however often it is lapped; what it
 * misses it knows exactly; and a slot is never behind its record.
 *
 * Writer t allocates and frees object t << 32 | n for n = 0, 1, ... All other
 * fields follow from the id. So record k of its lane is known beforehand: the
 * allocation (k even) or free (k odd) of object k / 2.
 */
#include "stress/stress.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/calls.h"

#define WRITERS 2u
#define RECORDS 2048u
#define CONTROLS_AT 0x9000u
#define DIRECTORY_AT 0x1000u
#define EXTENTS_AT 0x50000u
#define BYTES_MASK ((1ull << 46) - 1)
#define EXTENT_SIZE 0x20000u

/* Between the two processes. */
struct meeting {
	atomic_bool has_segment;
	atomic_bool is_enough; /* the reader has seen what it wanted */
	atomic_bool is_over;   /* the writers have ended */
	char path[256];
};

static struct meeting *meeting;
static uint64_t wanted; /* records to accept of each lane */

void setUp(void)
{
}

void tearDown(void)
{
}

/* -- the writers ---------------------------------------------------------- */

static uint64_t id_of(unsigned writer, uint64_t n)
{
	return (uint64_t)writer << 32 | n;
}

static uint64_t addr_of(uint64_t id)
{
	return stress_mix(id);
}

static uint64_t size_of(uint64_t id)
{
	return 1 + (stress_mix(id + 1) & 0xffff);
}

static uint64_t used_of(uint64_t id)
{
	return stress_mix(id + 2) >> 18;
}

static void write_until_enough(unsigned number)
{
	uint64_t n;

	for (n = 0; n < UINT32_MAX; n++) {
		uint64_t id = id_of(number, n);

		call_buffer_alloc(0, TTMEM_DRAM, id, addr_of(id), size_of(id),
			used_of(id));
		ttmem_free(0, TTMEM_DRAM, id);
		if (atomic_load_explicit(
			    &meeting->is_enough, memory_order_relaxed))
			break;
	}
}

/* -- the reader, in a process of its own ---------------------------------- */

struct lane {
	uint64_t position; /* next record to look at */
	uint64_t accepted;
	uint64_t missed;
	uint64_t last_intent;
	uint64_t ring_off;
	unsigned writer;
	bool has_writer;
};

struct reader {
	int fd;
	struct lane lanes[WRITERS];
	uint64_t slots_off;
	uint64_t records[RECORDS][8];
};

#define require(condition)                                                     \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "reader_while_writing.c:%d: %s\n",     \
				__LINE__, #condition);                         \
			return false;                                          \
		}                                                              \
	} while (0)

static bool get(
	const struct reader *reader, void *to, size_t size, uint64_t off)
{
	return pread(reader->fd, to, size, (off_t)off) == (ssize_t)size;
}

/* Finds the rings and the first slots; false until all are there. */
static bool extents_found(struct reader *reader)
{
	uint32_t words[64];
	unsigned i;
	unsigned lanes = 0;

	if (!get(reader, words, sizeof(words), DIRECTORY_AT))
		return false;
	for (i = 0; i < 64; i++) {
		uint64_t off = EXTENTS_AT + (uint64_t)i * EXTENT_SIZE;

		if (words[i] >> 24 == 1 && (words[i] & 0xffffff) < WRITERS) {
			reader->lanes[words[i] & 0xffffff].ring_off = off;
			lanes++;
		}
		if (words[i] == 2u << 24)
			reader->slots_off = off;
	}
	return lanes == WRITERS && reader->slots_off;
}

static bool record_is_right(
	struct lane *lane, uint64_t number, const uint64_t *w)
{
	bool is_free = number & 1;
	uint64_t id;

	if (!lane->has_writer) {
		lane->writer = (unsigned)(w[2] >> 32);
		lane->has_writer = true;
	}
	id = id_of(lane->writer, number / 2);
	require(w[2] == id);
	require((w[4] & BYTES_MASK) == size_of(id));
	require(w[4] >> 46 == (w[0] >> 2 & 0x3fff));
	require(w[5] == (used_of(id) | 1ull << 46));
	require(is_free || w[3] == addr_of(id));
	require(w[1] >> 56 == (is_free ? SEGMENT_FREE : SEGMENT_ALLOC));
	require((w[0] & 3) ==
		(is_free ? SEGMENT_SLOT_FREE : SEGMENT_SLOT_LIVE));
	require(w[3] != 0 && w[6] != 0 && w[7] == 0);
	return true;
}

/* The slot reached the record's generation before the record was complete. */
static bool slot_is_not_behind(const struct reader *reader, const uint64_t *w)
{
	uint64_t slot = w[1] & 0xffffff;
	uint64_t word;

	if (slot >= RECORDS)
		return true; /* not in the first extent */
	require(get(reader, &word, 8, reader->slots_off + 64 * slot));
	require(word >> 16 >= w[0] >> 16);
	return true;
}

/* Records first to tail - 1 into their places of reader->records. */
static bool ring_copy(struct reader *reader, const struct lane *lane,
	uint64_t first, uint64_t tail)
{
	uint64_t from = first % RECORDS;
	uint64_t len = tail - first;
	uint64_t part = len < RECORDS - from ? len : RECORDS - from;

	require(get(reader, reader->records[from], 64 * part,
		lane->ring_off + 64 * from));
	return part == len ||
		get(reader, reader->records[0], 64 * (len - part),
			lane->ring_off);
}

/* The lower of two readings: see control_confirm() in lib/daemon/follow/drain.c. */
static bool get_count(const struct reader *reader, uint64_t *to, uint64_t off)
{
	uint64_t again;

	require(get(reader, to, 8, off) && get(reader, &again, 8, off));
	if (again < *to)
		*to = again;
	return true;
}

static bool lane_read(struct reader *reader, unsigned number)
{
	struct lane *lane = &reader->lanes[number];
	uint64_t control = CONTROLS_AT + 64 * (uint64_t)number;
	uint64_t first = lane->position;
	uint64_t tail;
	uint64_t intent;

	require(get_count(reader, &tail, control + 8));
	/* pairs(lane-tail): acquire, with ttm_ring_end: whole below it */
	atomic_thread_fence(memory_order_acquire);
	require(tail >= lane->position);
	if (tail - first > RECORDS)
		first = tail - RECORDS;
	require(ring_copy(reader, lane, first, tail));
	/* pairs(lane-intent): acquire, with ttm_ring_begin: whoever copied a
	 * byte of a newer record sees its intent */
	atomic_thread_fence(memory_order_acquire);
	require(get_count(reader, &intent, control));
	if (intent < tail || intent < lane->last_intent) {
		fprintf(stderr,
			"lane %u: tail %#llx, then intent %#llx, before %#llx\n",
			number, (unsigned long long)tail,
			(unsigned long long)intent,
			(unsigned long long)lane->last_intent);
		return false;
	}
	lane->last_intent = intent;
	if (intent - first > RECORDS)
		first = intent - RECORDS < tail ? intent - RECORDS : tail;
	lane->missed += first - lane->position;
	lane->accepted += tail - first;
	lane->position = tail;
	if (first < tail)
		require(slot_is_not_behind(
			reader, reader->records[(tail - 1) % RECORDS]));
	for (; first < tail; first++)
		require(record_is_right(
			lane, first, reader->records[first % RECORDS]));
	return true;
}

static bool read_until_over(struct reader *reader)
{
	bool is_over = false;
	bool is_enough;
	unsigned i;

	while (!atomic_load(&meeting->has_segment))
		sched_yield();
	reader->fd = open(meeting->path, O_RDONLY | O_CLOEXEC);
	require(reader->fd >= 0);
	while (!extents_found(reader))
		sched_yield();
	while (!is_over) {
		/* Looked at first: then what follows is all there is. */
		is_over = atomic_load(&meeting->is_over);
		is_enough = true;
		for (i = 0; i < WRITERS; i++) {
			require(lane_read(reader, i));
			is_enough &= reader->lanes[i].accepted >= wanted;
		}
		if (is_enough)
			atomic_store(&meeting->is_enough, true);
	}
	for (i = 0; i < WRITERS; i++) {
		struct lane *lane = &reader->lanes[i];

		require(lane->accepted >= wanted);
		require(lane->last_intent == lane->position);
		require(lane->accepted + lane->missed == lane->position);
		printf("lane %u: %llu records read, %llu missed\n", i,
			(unsigned long long)lane->accepted,
			(unsigned long long)lane->missed);
	}
	return true;
}

static int reader_main(void)
{
	static struct reader reader;
	bool is_right;

	/* Whatever becomes of the test, nobody is left spinning. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	is_right = read_until_over(&reader);
	/* Wrong: the writers must not write for ever. */
	atomic_store(&meeting->is_enough, true);
	fflush(NULL);
	return is_right ? 0 : 1;
}

static void test_a_reader_accepts_only_whole_records(void)
{
	struct segment *segment;
	int status;
	pid_t pid;

	wanted = test_scale(2000000);
	fflush(NULL);
	pid = fork();
	TEST_ASSERT_NOT_EQUAL(-1, pid);
	if (pid == 0)
		_exit(reader_main());
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	strcpy(meeting->path, test_segment_path());
	atomic_store(&meeting->has_segment, true);
	stress_run(WRITERS, write_until_enough);
	atomic_store(&meeting->is_over, true);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_TRUE(WIFEXITED(status));
	TEST_ASSERT_EQUAL_INT(0, WEXITSTATUS(status));
	segment = stress_at_rest(0);
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(0, stress_sum(segment).anomalies);
	TEST_ASSERT_EQUAL_UINT64(WRITERS, segment->lanes_count);
	segment_unref(&segment);
	ttmem_stop();
}

int main(void)
{
	test_dir_make();
	meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (meeting == MAP_FAILED)
		abort();
	UNITY_BEGIN();
	RUN_TEST(test_a_reader_accepts_only_whole_records);
	test_dir_remove();
	return UNITY_END();
}

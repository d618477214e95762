/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal handlers that call hooks, at 1 kHz each and nested in one another, while
 * four threads record as fast as they can: at rest everything is exact. A handler that
 * interrupted a hook loses its events, and each of them is counted. The timers' handlers
 * come anywhere; others are raised inside hooks.
 */
#include "stress/stress.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "life/life.h"
#include "record/ring.h"

#define THREADS 4u
#define TIMERS 3u
#define HELD 64u
#define MEMBERS 2u
#define MESH_MEMBER_A 8u
#define MESH_MEMBER_B 9u

void ttm_testpoint(const char *label);

enum counted {
	BUFFERS,    /* allocated and freed by the threads */
	PAIRS,      /* allocated and freed by handlers */
	MESH_PAIRS, /* the same on two devices */
	CB_PAIRS,
	KERNEL_PAIRS, /* with a dispatch in between */
	SCOPE_PAIRS,
	LOST_EVENTS,
	LOST_BYTES,
	COUNTED,
};

/* Of one thread and the handlers on it. */
struct life {
	_Alignas(64) atomic_ulong counts[COUNTED];
	atomic_ulong serial;
	uint64_t random;
	atomic_uint raising; /* handlers raised inside a hook, so far nested */
	unsigned number;
	timer_t timers[TIMERS];
};

static struct life lives[THREADS];
static __thread struct life *mine;
static uint64_t events_each;
static uint32_t mesh;

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

static void count(enum counted what, uint64_t n)
{
	atomic_fetch_add_explicit(&mine->counts[what], n, memory_order_relaxed);
}

static uint64_t total(enum counted what)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < THREADS; i++)
		sum += lives[i].counts[what];
	return sum;
}

/* -- handlers ----------------------------------------------------------------- */

/* Called by the library's test form. Handlers raised here are inside a hook. */
void ttm_testpoint(const char *label)
{
	struct life *self = mine;
	unsigned nested;
	uint64_t dice;

	(void)label;
	if (!self)
		return;
	nested = atomic_load_explicit(&self->raising, memory_order_relaxed);
	dice = stress_mix(atomic_fetch_add_explicit(
		       &self->serial, 1, memory_order_relaxed)) %
		4096;
	if (nested > 6 || (nested ? dice > 500 : dice > 2))
		return;
	atomic_store_explicit(&self->raising, nested + 1, memory_order_relaxed);
	raise(SIGUSR1);
	atomic_store_explicit(&self->raising, nested, memory_order_relaxed);
}

/* Each returns how many hooks it called, and the bytes it allocated. */
static unsigned buffer_pair(uint64_t id, uint64_t *ret_bytes)
{
	ttmem_alloc(1, TTMEM_L1, id, id, 100);
	ttmem_free(1, TTMEM_L1, id);
	*ret_bytes = 100;
	return 2;
}

static unsigned mesh_pair(uint64_t id, uint64_t *ret_bytes)
{
	ttmem_alloc(mesh, TTMEM_TRACE, id, id, 70000);
	ttmem_free(mesh, TTMEM_TRACE, id);
	*ret_bytes = 70000;
	return 2;
}

static unsigned cb_pair(uint64_t id, uint64_t *ret_bytes)
{
	ttmem_cb_alloc(1, id, 1, 0, 10, 10, 0);
	ttmem_cb_free(1, id, 1);
	*ret_bytes = 100;
	return 2;
}

static unsigned kernel_pair(uint64_t id, uint64_t *ret_bytes)
{
	ttmem_kernel_load(1, id, TTMEM_KERNEL_APPLICATION, 10, 5, 0);
	ttmem_kernel_load(1, id, TTMEM_KERNEL_APPLICATION, 10, 5, 0);
	ttmem_program_destroy(1, id);
	*ret_bytes = 100;
	return 3;
}

static unsigned scope_pair(uint64_t id, uint64_t *ret_bytes)
{
	ttmem_scope_push("handler", 0);
	ttmem_alloc(1, TTMEM_L1_SMALL, id, id, 64);
	ttmem_scope_pop();
	ttmem_free(1, TTMEM_L1_SMALL, id);
	*ret_bytes = 64;
	return 4;
}

static unsigned (*const pairs[])(uint64_t, uint64_t *) = {
	buffer_pair,
	mesh_pair,
	cb_pair,
	kernel_pair,
	scope_pair,
};

static void on_signal(int number)
{
	struct life *self = mine;
	uint64_t serial, id, bytes;
	unsigned which, hooks;
	int error = errno;
	bool nested;

	(void)number;
	/* TSan puts handlers off: this one until its thread was done. */
	if (!self)
		return;
	serial = atomic_fetch_add_explicit(
		&self->serial, 1, memory_order_relaxed);
	id = (uint64_t)(self->number + 1) << 48 | serial;
	/* What the handler interrupted is the same for all its hooks. */
	nested = ttm_self->inside != 0;
	which = (unsigned)(stress_mix(serial) % 5);
	hooks = pairs[which](id, &bytes);
	if (nested) {
		count(LOST_EVENTS, hooks);
		count(LOST_BYTES, bytes);
	} else {
		count(PAIRS + which, 1);
	}
	errno = error;
}

/* -- threads ------------------------------------------------------------------ */

static void timers_start(struct life *self)
{
	struct itimerspec every_ms = { { 0, 1000000 }, { 0, 1000000 } };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID };
	unsigned i;

	for (i = 0; i < TIMERS; i++) {
		event.sigev_signo = SIGRTMIN + (int)i;
		event._sigev_un._tid = gettid();
		if (timer_create(CLOCK_MONOTONIC, &event, &self->timers[i]) ||
			timer_settime(self->timers[i], 0, &every_ms, NULL))
			abort();
	}
}

static void timers_stop(struct life *self)
{
	unsigned i;

	for (i = 0; i < TIMERS; i++)
		timer_delete(self->timers[i]);
}

static void record(unsigned number)
{
	struct life *self = &lives[number];
	uint64_t base = (uint64_t)(number + 1) << 32;
	bool held[HELD] = { false };
	uint64_t i;

	self->number = number;
	self->random = number;
	atomic_store(&self->serial, 0);
	/* The seat comes first: a handler looks at it. */
	ttmem_scope_push("thread", 0);
	mine = self;
	timers_start(self);
	for (i = 0; i < events_each; i++) {
		uint64_t at = stress_below(&self->random, HELD);

		if (held[at])
			ttmem_free(0, TTMEM_DRAM, base + at);
		else
			ttmem_alloc(0, TTMEM_DRAM, base + at, at, 1000 + at);
		held[at] = !held[at];
		count(BUFFERS, 1);
	}
	timers_stop(self);
	mine = NULL;
}

static void flow_is(const struct segment *segment, uint32_t device,
	unsigned figure, uint64_t allocs, uint64_t frees)
{
	int entry = segment_entry(segment, device);
	const struct segment_flow *flow;

	TEST_ASSERT_TRUE(entry >= 0);
	flow = &segment->devices[entry].figures[figure];
	TEST_ASSERT_EQUAL_UINT64(allocs, flow->alloc_objects);
	TEST_ASSERT_EQUAL_UINT64(frees, flow->free_objects);
}

static void handlers_pairs_are_exact(const struct segment *segment)
{
	int entry = segment_entry(segment, 1);

	flow_is(segment, 1, TTMEM_FIGURE_L1, total(PAIRS), total(PAIRS));
	flow_is(segment, MESH_MEMBER_A, TTMEM_FIGURE_TRACE, total(MESH_PAIRS),
		total(MESH_PAIRS));
	flow_is(segment, MESH_MEMBER_B, TTMEM_FIGURE_TRACE, total(MESH_PAIRS),
		total(MESH_PAIRS));
	flow_is(segment, 1, TTMEM_FIGURE_CB, total(CB_PAIRS), total(CB_PAIRS));
	flow_is(segment, 1, TTMEM_FIGURE_KERNEL, total(KERNEL_PAIRS),
		total(KERNEL_PAIRS));
	flow_is(segment, 1, TTMEM_FIGURE_L1_SMALL, total(SCOPE_PAIRS),
		total(SCOPE_PAIRS));
	TEST_ASSERT_EQUAL_UINT64(
		total(KERNEL_PAIRS), segment->devices[entry].dispatches[0]);
}

static void losses_are_exact(const struct segment *segment)
{
	unsigned i;

	for (i = 0; i < SEGMENT_REASONS; i++) {
		bool nested = i == TTMEM_LOSS_NESTED;

		TEST_ASSERT_EQUAL_UINT64(nested ? total(LOST_EVENTS) : 0,
			segment->lost_events[i]);
		TEST_ASSERT_EQUAL_UINT64(
			nested ? total(LOST_BYTES) : 0, segment->lost_bytes[i]);
	}
}

static void test_handlers_at_any_moment_are_recorded_or_counted_as_lost(void)
{
	struct sigaction action = { .sa_handler = on_signal,
		.sa_flags = SA_NODEFER | SA_RESTART };
	uint32_t members[MEMBERS] = { MESH_MEMBER_A, MESH_MEMBER_B };
	const struct segment_flow *dram;
	struct segment *segment;
	unsigned i;

	for (i = 0; i < TIMERS; i++)
		sigaction(SIGRTMIN + (int)i, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	mesh = ttmem_mesh_open(members, MEMBERS);
	/* Entries are there before handlers ask for them. */
	ttmem_alloc(1, TTMEM_DRAM, 1, 0, 1);
	events_each = test_scale(10000000) / THREADS;
	stress_run(THREADS, record);

	segment = test_segment_at_rest();
	stress_histories_are_whole(segment);
	dram = &segment->devices[segment_entry(segment, 0)]
			.figures[TTMEM_FIGURE_DRAM];
	TEST_ASSERT_EQUAL_UINT64(events_each * THREADS,
		dram->alloc_objects + dram->free_objects);
	TEST_ASSERT_EQUAL_UINT64(
		dram->alloc_objects - dram->free_objects, dram->slot_objects);
	TEST_ASSERT_EQUAL_UINT64(dram->slot_objects + 1, segment->objects_len);
	handlers_pairs_are_exact(segment);
	losses_are_exact(segment);
	TEST_ASSERT_EQUAL_UINT64(0, stress_sum(segment).anomalies);
	/* There were handlers, and they nested; TSan puts them off. */
	TEST_ASSERT_TRUE(total(PAIRS) > 0);
	TEST_ASSERT_TRUE(LIFE_THREAD_SANITIZED || total(LOST_EVENTS) > 0);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(THREADS + 1, segment->lanes_count);
	segment_unref(&segment);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_handlers_at_any_moment_are_recorded_or_counted_as_lost);
	return UNITY_END();
}

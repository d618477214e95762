/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread allocates the CBs of a program in which another thread has a CB, too. The
 * other thread frees them, each while the next is on its way: it finds every one of them.
 */
#include "stress/stress.h"

#define PROGRAMS 400000u
#define CBS 6u
#define ITS_OWN 6u /* the CB of the thread that frees */

enum {
	ALLOC_ITS_OWN = 8,
	FREE_ITS_OWN = 9,
	END = 10,
};

static struct stress_queue queue;

void setUp(void)
{
	test_tracking_start();
	memset(&queue, 0, sizeof(queue));
}

void tearDown(void)
{
	test_tracking_stop();
}

static void alloc(uint64_t program, uint64_t cb)
{
	ttmem_cb_alloc(0, program, cb, 0x1000, 10, 1, 0);
}

static void tell(uint64_t program, uint64_t what)
{
	while (!stress_queue_push(&queue, program << 8 | what))
		sched_yield();
}

static void alloc_all(void)
{
	uint64_t program, cb, programs = test_scale(PROGRAMS);

	for (program = 0; program < programs; program++) {
		tell(program + 1, ALLOC_ITS_OWN);
		for (cb = 0; cb < CBS; cb++) {
			alloc(program, cb);
			tell(program, cb);
		}
		if (program)
			tell(program, FREE_ITS_OWN);
	}
	tell(programs, FREE_ITS_OWN);
	tell(0, END);
}

static void free_all(void)
{
	uint64_t message, program, what;

	for (;;) {
		if (!stress_queue_pop(&queue, &message)) {
			sched_yield();
			continue;
		}
		program = message >> 8;
		what = message & 0xff;
		if (what == END)
			return;
		if (what == ALLOC_ITS_OWN)
			alloc(program, ITS_OWN);
		else
			ttmem_cb_free(0, program,
				what == FREE_ITS_OWN ? ITS_OWN : what);
	}
}

static void work(unsigned number)
{
	if (number == 0)
		alloc_all();
	else
		free_all();
}

static void test_each_is_found(void)
{
	struct segment *segment;

	stress_run(2, work);
	TEST_ASSERT_EQUAL_UINT64(0, test_anomalies(TTMEM_ANOMALY_FREE_UNKNOWN));
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	segment_unref(&segment);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_each_is_found);
	return UNITY_END();
}

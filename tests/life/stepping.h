/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Something done at one instruction after the other of a hook. The processor's
 * single-step flag tells where the hook goes; then a breakpoint is put at one of
 * these places, and its handler does `act`. For x86-64 without sanitizers.
 */
#ifndef LIFE_STEPPING_H
#define LIFE_STEPPING_H

#include <signal.h>
#include <ucontext.h>

#include "life/life.h"

#define TRAP_FLAG 0x100ull
#define BREAKPOINT 0xcc
#define TRACE_MAX 100000u

/*
 * Shared, so that one process can trace for another of the same image: where the
 * hook has been, each place once.
 */
static struct trace {
	size_t len;
	uint8_t *places[TRACE_MAX];
} * trace;

static uint8_t *planted;
static uint8_t *act_place; /* for debuggers */
static uint8_t planted_over;
static bool is_tracing;
static bool has_acted;
static void (*act)(void);

static inline void on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	greg_t *rip = &interrupted->uc_mcontext.gregs[REG_RIP];

	(void)number;
	(void)info;
	if (is_tracing) {
		if (trace->len < TRACE_MAX)
			trace->places[trace->len++] = (uint8_t *)*rip;
		return;
	}
	expect(planted && *rip - 1 == (greg_t)planted);
	*planted = planted_over;
	act_place = planted;
	planted = NULL;
	*rip -= 1;
	has_acted = true;
	act();
}

static __attribute__((noinline)) void step_through(void (*hook)(void))
{
	trace->len = 0;
	is_tracing = true;
	__asm__ volatile("pushfq; orq %0, (%%rsp); popfq"
			 :
			 : "i"(TRAP_FLAG)
			 : "memory", "cc");
	hook();
	__asm__ volatile("pushfq; andq %0, (%%rsp); popfq"
			 :
			 : "i"(~TRAP_FLAG)
			 : "memory", "cc");
	is_tracing = false;
}

static inline int place_compare(const void *a, const void *b)
{
	const uint8_t *const *x = a;
	const uint8_t *const *y = b;

	return *x < *y ? -1 : *x > *y;
}

static inline void trace_make_unique(void)
{
	size_t len = 0;
	size_t i;

	qsort(trace->places, trace->len, sizeof(trace->places[0]),
		place_compare);
	for (i = 0; i < trace->len; i++)
		if (len == 0 || trace->places[len - 1] != trace->places[i])
			trace->places[len++] = trace->places[i];
	trace->len = len;
}

/* False where code cannot be written, as the kernel's part in a process. */
static inline bool plant(uint8_t *place)
{
	uintptr_t page = (uintptr_t)place & ~(uintptr_t)4095;

	if (mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	has_acted = false;
	planted_over = *place;
	planted = place;
	*place = BREAKPOINT;
	return true;
}

/* The hook did not come by. */
static inline void unplant(void)
{
	if (planted)
		*planted = planted_over;
	planted = NULL;
}

static inline void trap_set(void)
{
	struct sigaction action = { .sa_sigaction = on_trap,
		.sa_flags = SA_SIGINFO | SA_NODEFER };

	sigaction(SIGTRAP, &action, NULL);
	if (!trace)
		trace = life_shared(sizeof(*trace));
}

#endif

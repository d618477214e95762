/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane: lib/record/ring.h, its adoption in ring.c, and a reader as ring.h and
 * docs/layout.md describe it.
 *
 * Stores go through buffers to the memory that the reader sees: with TSO in their
 * order; otherwise (PSO) only stores to one word keep their order, and a release
 * fence waits until all buffers are empty. For a writer that loads nothing back
 * that is the same as a barrier between the stores. The reader's loads happen in
 * the order written, but where no fence or acquire stands between two, in any.
 *
 * Record n has WORDS words, each of them n + 1. An operation has one record or two.
 * The writer may stop anywhere, as when it is killed; what it has stored still
 * arrives. With ADOPT another thread then goes on with the lane.
 *
 *   always   an accepted record is untorn and the one of its index; intent and
 *            tail never go back; 0 <= intent - tail <= MOST, the most records of
 *            an operation, where PSO may show the next intent before the last
 *            tail: what is promised at once more; and an adopted lane may lag by
 *            one operation until its next
 *   at rest  0 <= intent - tail <= MOST, every record below tail that is not older
 *            than the capacity is there and whole
 */
#ifndef CAPACITY
#define CAPACITY 2
#endif
#ifndef RECORDS
#define RECORDS 5
#endif
#define WORDS 2
#define MOST 2
#define AT_ONCE 1	/* a second one is promised later, behind a fence */

/* words of memory */
#define INTENT 0
#define TAIL 1
#define WORD(n, i) (2 + ((n) % CAPACITY) * WORDS + (i))
#define CELLS (2 + CAPACITY * WORDS)

byte memory[CELLS];
byte at_rest;		/* the writers are gone and nothing is under way */

#ifdef TSO
chan buffer = [6] of { byte, byte };
#define STORE(cell, value) buffer ! cell, value
#define FENCE true
#define DRAINED empty(buffer)
#else
chan buffer[CELLS] = [2] of { byte };
#define STORE(cell, value) buffer[cell] ! value
#define FENCE DRAINED
#if CAPACITY == 2
#define DRAINED (empty(buffer[0]) && empty(buffer[1]) && \
	empty(buffer[2]) && empty(buffer[3]) && \
	empty(buffer[4]) && empty(buffer[5]))
#else
#define DRAINED (empty(buffer[0]) && empty(buffer[1]) && \
	empty(buffer[2]) && empty(buffer[3]) && \
	empty(buffer[4]) && empty(buffer[5]) && \
	empty(buffer[6]) && empty(buffer[7]))
#endif
#endif

/* Who ends between lane->tail and control->tail leaves the next one a tail that lags. */
#ifdef ADOPT
#define LAG MOST
#else
#define LAG 0
#endif

#if defined(NO_RELEASE_FENCE)
#define AHEAD RECORDS	/* to see what it does to the records */
#elif defined(TSO)
#define AHEAD (MOST + LAG)
#else
#define AHEAD (MOST + AT_ONCE + LAG)
#endif

/* A store arrives. */
inline arrive(cell, value)
{
	assert(cell > TAIL || value >= memory[cell]);
	memory[cell] = value;
	assert(memory[TAIL] <= memory[INTENT]);
	assert(memory[INTENT] <= memory[TAIL] + AHEAD)
}

active proctype Memory()
{
	byte c, v;

	do
#ifdef TSO
	:: atomic { buffer ? c, v -> arrive(c, v); c = 0; v = 0 }
#else
	:: atomic { buffer[INTENT] ? v -> arrive(INTENT, v); v = 0 }
	:: atomic { buffer[TAIL] ? v -> arrive(TAIL, v); v = 0 }
	:: atomic { buffer[2] ? v -> memory[2] = v; v = 0 }
	:: atomic { buffer[3] ? v -> memory[3] = v; v = 0 }
	:: atomic { buffer[4] ? v -> memory[4] = v; v = 0 }
	:: atomic { buffer[5] ? v -> memory[5] = v; v = 0 }
#if CAPACITY > 2
	:: atomic { buffer[6] ? v -> memory[6] = v; v = 0 }
	:: atomic { buffer[7] ? v -> memory[7] = v; v = 0 }
#endif
#endif
	:: at_rest && DRAINED -> break
	od
}

byte tail;		/* lane->tail: private */
byte gone;		/* 1: the writer has to stop, 2: it has */

/* ttm_ring_begin() */
inline lane_intend(n)
{
	STORE(INTENT, tail + n);
#ifndef NO_RELEASE_FENCE
	FENCE
#else
	skip
#endif
}

/* ttm_record_write() */
inline lane_write(ahead)
{
	STORE(WORD(tail + ahead, 0), tail + ahead + 1);
	STORE(WORD(tail + ahead, 1), tail + ahead + 1)
}

/* ttm_ring_end() */
inline lane_end(n)
{
	tail = tail + n;
#ifndef NO_TAIL_RELEASE
	FENCE;
#endif
	STORE(TAIL, tail)
}

/* A hook with one record, or one that replaces an object. */
inline operation()
{
	lane_intend(1);
#ifdef TAIL_FIRST
	lane_end(1);
	FENCE;
	STORE(WORD(tail - 1, 0), tail);
	STORE(WORD(tail - 1, 1), tail)
#else
	if
	:: lane_write(0); lane_end(1)
	:: tail + 2 <= RECORDS ->
#ifndef SECOND_NOT_INTENDED
		lane_intend(2);
#endif
		lane_write(0);
		lane_write(1);
		lane_end(2)
	fi
#endif
}

proctype Writer()
{
	do
	:: tail < RECORDS ->
		{
			operation()
		} unless { gone == 1 }	/* killed, cancelled, longjmp */
		if
		:: gone == 1 -> break
		:: else
		fi
	:: else -> break
	od;
	gone = 2
}

/* Ends the writer anywhere. */
proctype End()
{
	atomic {
		if
		:: gone == 0 -> gone = 1
		:: gone > 0
		fi
	}
}

/* ring_adopt(), then hooks as before */
proctype Adopter()
{
	gone == 2;
	DRAINED;	/* the seat's CAS has passed on what was stored */
#ifdef ADOPT
#ifndef ADOPT_AS_IS
	do
	:: memory[INTENT] != tail -> lane_write(0); lane_end(1)
	:: else -> break
	od;
#endif
	do
	:: tail < RECORDS -> operation()
	:: else -> break
	od;
	DRAINED;
#endif
	at_rest = 1
}

/* Loads in the order given by the fences; the copy itself in any order. */
active proctype Reader()
{
	byte t, n, limit;
	byte w[WORDS];
	bool got[WORDS], limited;

	do
	:: break
	:: true ->
#ifdef NO_TAIL_ACQUIRE
		/* words may be loaded before the tail that promises them */
		n = 0;
		do
		:: n < RECORDS -> n++
		:: break
		od;
		if
		:: w[0] = memory[WORD(n, 0)]; got[0] = true
		:: skip
		fi;
#endif
		t = memory[TAIL];
#ifdef NO_TAIL_ACQUIRE
		if
		:: n < t && n + CAPACITY >= t
		:: else -> goto again
		fi;
#else
		/* any record that should be there */
		n = (t > CAPACITY -> t - CAPACITY : 0);
		if
		:: n == t -> goto again
		:: else
		fi;
		do
		:: n + 1 < t -> n++
		:: break
		od;
#endif
#ifdef INTENT_EARLY
		limit = memory[INTENT];
		limited = true;
#endif
		do
		:: !got[0] -> w[0] = memory[WORD(n, 0)]; got[0] = true
		:: !got[1] -> w[1] = memory[WORD(n, 1)]; got[1] = true
#ifdef NO_ACQUIRE_FENCE
		:: !limited -> limit = memory[INTENT]; limited = true
#endif
		:: got[0] && got[1] -> break
		od;
		if
		:: limited
		:: else ->
#ifdef TAIL_AGAIN
			limit = memory[TAIL]
#else
			limit = memory[INTENT]
#endif
		fi;
		if
		:: limit - n <= CAPACITY ->
			assert(w[0] == n + 1);
			assert(w[1] == n + 1)
		:: else
		fi;
again:
		atomic {
			t = 0; n = 0; limit = 0; w[0] = 0; w[1] = 0;
			got[0] = false; got[1] = false; limited = false
		}
	od
}

/* The final read of a process that is dead, or at rest. */
active proctype Final()
{
	byte n;

	at_rest == 1;
	d_step {
		assert(memory[INTENT] >= memory[TAIL] &&
			memory[INTENT] <= memory[TAIL] + MOST);
		n = memory[TAIL];
		do
		:: n > 0 && memory[INTENT] - (n - 1) <= CAPACITY ->
			n--;
			assert(memory[WORD(n, 0)] == n + 1);
			assert(memory[WORD(n, 1)] == n + 1)
		:: else -> break
		od
	}
}

init
{
	atomic {
		run Writer();
		run End();
		run Adopter()
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks and the signal handlers that interrupt them: ttm_hook_enter(),
 * ttm_hook_leave() (lib/record/seat.h).
 *
 * One thread. Level 0 is the program; level n + 1 is a handler that interrupts level
 * n between any two of its steps and ends before level n goes on. Each level calls
 * hooks; handlers come a bounded number of times. One lane; a hook that finds its
 * thread inside another one is counted as lost.
 *
 *   always   nobody touches a lane between another level's begin and commit;
 *            intent and tail never go back
 *   at rest  recorded + lost == hooks called; each record is whole; lost only
 *            in handlers; the thread is inside no hook
 */
#define LANES 1
#define LEVELS 3
#define HOOKS 2		/* calls of each level, each time */
#ifndef SIGNALS
#define SIGNALS 3
#endif
#define RECORDS 9

byte running;		/* the level that runs */
byte signals = SIGNALS;

byte inside;		/* of the seat */
byte intent[LANES], tail[LANES];
byte record_a[LANES * RECORDS], record_b[LANES * RECORDS];

byte busy[LANES];	/* ghost: level + 1 of who is between begin and commit */
byte called, lost, number;


inline lane_touch()
{
	assert(busy[lane] == me + 1)
}

inline lane_write()
{
	/* ttm_lane_begin */
#ifndef TAIL_READ_EARLY
	t = tail[lane];
#endif
	atomic {
		assert(busy[lane] == 0);
		busy[lane] = me + 1;
		assert(t + 1 >= intent[lane]);
		intent[lane] = t + 1
	}
	/* ttm_lane_commit */
	atomic { lane_touch(); record_a[lane * RECORDS + t] = mine }
	atomic { lane_touch(); record_b[lane * RECORDS + t] = mine }
	atomic {
		lane_touch();
		assert(t + 1 > tail[lane]);
		tail[lane] = t + 1;
		busy[lane] = 0
	}
}

#ifdef BY_INTENT
/* Nesting guessed from a lane that is between intent and tail. */
inline hook()
{
	lane = 0;
	do
	:: lane < LANES && intent[lane] != tail[lane] -> lane++
	:: else -> break
	od;
	if
	:: lane == LANES -> lost++
	:: else -> lane_write()
	fi
}
#else
inline hook()
{
	lane = 0;
	d = inside;
#ifdef TAIL_READ_EARLY
	t = tail[lane];
#endif
	if
	:: d != 0 -> atomic { lost++; assert(running >= 1) }
	:: else ->
		inside = 1;
#ifdef LEAVE_EARLY
		inside = 0;
#endif
		lane_write();
		inside = 0	/* ttm_hook_leave */
	fi
}
#endif

/* The first process after init is level 0. */
proctype Level(byte me) provided (running == _pid - 1)
{
	byte d, lane, t, mine, n;

end:	do
	:: n < HOOKS ->
		atomic { called++; number++; mine = number; n++ }
		hook();
		atomic { d = 0; lane = 0; t = 0; mine = 0 }
	:: else ->
		if
		:: me == 0 -> break
		:: else -> n = 0; running = me - 1	/* the handler returns */
		fi
	od;
	running = 99
}

/* The kernel: delivers a signal at any moment, while there are levels left. */
proctype Signal()
{
	do
	:: atomic {
		signals > 0 && running + 1 < LEVELS ->
		signals--;
		running++
	   }
	:: running == 99 -> break
	od
}

init
{
	byte lane, n, recorded;

	atomic {
		run Level(0);
		run Level(1);
		run Level(2);
		run Signal()
	}
	running == 99;
	d_step {
		lane = 0;
		do
		:: lane < LANES ->
			assert(intent[lane] == tail[lane]);
			n = 0;
			do
			:: n < tail[lane] ->
				assert(record_a[lane * RECORDS + n] != 0);
				assert(record_a[lane * RECORDS + n] ==
					record_b[lane * RECORDS + n]);
				n++
			:: else -> break
			od;
			recorded = recorded + tail[lane];
			lane++
		:: else -> break
		od;
		assert(recorded + lost == called);
		assert(inside == 0)
	}
}

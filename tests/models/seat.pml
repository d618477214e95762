/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread takes a ring (its seat), calls hooks, leaves it, and is interrupted by a signal
 * handler that calls a hook at any step of this: lib/record/ring.c.
 *
 * Level 0 is the thread, level 1 a handler, which runs to its end before level 0
 * goes on. A second thread takes seats that are vacant. A seat has two lanes, each
 * with a cache of free slots. Seat 0 was left in the middle of an operation.
 *
 * When seats of dead owners are looked for (reaping_is_due) is left open.
 *
 *   always   nobody touches a lane, or its cache, while another level or thread is
 *            between begin and commit; no slot is handed out twice; a thread's
 *            seat is its own
 *   at rest  each slot is handed out, or in the supply, or in a cache, once; no seat
 *            is left but that of a handler that came last of all (reaped later)
 */
#define SEATS 3
#define SLOTS 4
#define NOBODY 9
#define US 1		/* our tid */
#define OTHER 2

byte running;		/* the level that runs */
byte signals = 2;

byte self = NOBODY;	/* thread-local: ttm_self */
byte specific = NOBODY;	/* the thread-specific value that ends the thread */

byte owner[SEATS];
bool inside[SEATS];
bool broken[SEATS];	/* intent != tail */
byte busy[SEATS];	/* ghost: who is between begin and commit */
byte cache_len[SEATS];
byte cache[SEATS * 2];
bool supply[SLOTS];
bool taken[SLOTS];	/* ghost: handed out */
bool other_ended;

#define ME_ (me + 1)	/* as a mark in busy[] */

inline lane_begin(l)
{
	d_step {
		assert(busy[l] == 0);
		busy[l] = ME_
	}
	broken[l] = true
}

inline lane_commit(l)
{
	atomic {
		assert(busy[l] == ME_);
		busy[l] = 0;
		broken[l] = false
	}
}

/* ring_settle(), ring_adopt() */
inline seat_settle(s)
{
	inside[s] = false;
	if
	:: broken[s] ->
		lane_begin(s);
		lane_commit(s)
	:: else
	fi
}

#ifdef REAP_OWN		/* a seat of our own tid, from a predecessor perhaps */
#define MAY_REAP(tid, s) (tid == US && owner[s] == US)
#else
#define MAY_REAP(tid, s) false
#endif

/* ring_find(): sets `seat` */
inline seat_find(tid)
{
	atomic {
		if
		:: owner[0] == 0 -> seat = 0
		:: owner[1] == 0 && owner[0] != 0 -> seat = 1
		:: owner[2] == 0 && owner[0] != 0 && owner[1] != 0 -> seat = 2
		/* rings_reap(); owners that are gone read as 0 here */
		:: MAY_REAP(tid, 0) -> seat = 0
		:: MAY_REAP(tid, 1) -> seat = 1
		:: MAY_REAP(tid, 2) -> seat = 2
		:: else -> seat = NOBODY
		fi;
		if
		:: seat != NOBODY -> owner[seat] = tid
		:: else
		fi
	}
}

/* thread_take_ring(): a handler that takes a ring meanwhile keeps it */
inline sit_down()
{
	before = self;
#ifndef LOOK_BEFORE_BEFORE
	/* A handler may have sat down since the caller looked. */
	if
	:: before == NOBODY -> seat_find(US)
	:: else -> seat = NOBODY
	fi;
#else
	seat_find(US);
#endif
	if
	:: seat == NOBODY
	:: else ->
		seat_settle(seat);
#ifdef SIT_WITHOUT_CAS
		self = seat;
#else
		d_step {	/* ttm_pointer_replace */
			won = (self == before);
			if
			:: won -> self = seat
			:: else
			fi
		}
		if
		:: !won -> owner[seat] = 0
		:: else
		fi;
#endif
		specific = self
	fi
}

/* ttm_supply_reserve(), ttm_supply_take_peeked(), with a batch of two slots */
inline supply_take(l)
{
	if
	:: cache_len[l] == 0 ->
		atomic {	/* stack_pop */
			if
			:: supply[0] && supply[1] ->
				supply[0] = false; supply[1] = false; slot = 0
			:: supply[2] && supply[3] ->
				supply[2] = false; supply[3] = false; slot = 2
			:: else -> slot = NOBODY
			fi
		}
		if
		:: slot == NOBODY
		:: else ->
			cache[(l) * 2] = slot;
			cache[(l) * 2 + 1] = slot + 1;
			cache_len[l] = 2
		fi
	:: else
	fi;
	if
	:: cache_len[l] == 0
	:: else ->
		cache_len[l] = cache_len[l] - 1;
		d_step {
			slot = cache[(l) * 2 + cache_len[l]];
			assert(!taken[slot] && !supply[slot]);
			taken[slot] = true
		}
	fi
}

/* ttm_supply_return(), ttm_supply_spill(): copies, forgets, pushes */
inline supply_return(l)
{
	n = cache_len[l];
	d_step {
		batch_0 = cache[(l) * 2];
		batch_1 = cache[(l) * 2 + 1]
	}
	cache_len[l] = 0;
	if
	:: n > 0 ->
		d_step {
			assert(!taken[batch_0] && !supply[batch_0]);
			supply[batch_0] = true
		}
	:: else
	fi;
	if
	:: n > 1 ->
		d_step {
			assert(!taken[batch_1] && !supply[batch_1]);
			supply[batch_1] = true
		}
	:: else
	fi;
	atomic { n = 0; batch_0 = 0; batch_1 = 0 }
}

/* ttm_hook_enter(), an allocation, ttm_hook_leave() */
inline hook()
{
	if
	:: self == NOBODY -> sit_down()
	:: else
	fi;
	if
	:: self == NOBODY	/* no lane: lost */
	:: else ->
		seat = self;
		assert(owner[seat] == US);
		if
		:: inside[seat]	/* nested: lost */
		:: else ->
			inside[seat] = true;
			lane = seat;
			supply_take(lane);
			lane_begin(lane);
			lane_commit(lane);
			inside[seat] = false
		fi
	fi;
	atomic { seat = 0; lane = 0; slot = 0; before = 0; won = false }
}

/* ring_leave(), ring_give_up() */
inline seat_leave()
{
	if
	:: self != seat
	:: else ->
#ifndef RETURN_BEFORE_LEAVE
		self = NOBODY;	/* from here on a handler sits down elsewhere */
#endif
		supply_return(seat);
#ifdef RETURN_BEFORE_LEAVE
		self = NOBODY;
#endif
		owner[seat] = 0
	fi
}

proctype Level(byte me) provided (running == _pid - 1)
{
	byte seat, before, lane, slot, round, n, batch_0, batch_1;
	bool won;

end_0:	if
	:: me == 1 ->
end_1:		do
		:: hook(); running = 0	/* the handler returns */
		od
	:: else
	fi;
	hook();
	/* The thread ends: glibc calls the destructor while there are values. */
	do
	:: round < 3 && specific != NOBODY ->
		seat = specific;
		specific = NOBODY;
		seat_leave();
		round++
	:: else -> break
	od;
	running = 99
}

proctype Signal()
{
	do
	:: atomic { signals > 0 && running == 0 -> signals--; running = 1 }
	:: running == 99 -> break
	od
}

/* Another thread that takes a vacant seat, uses it and leaves it. */
proctype Other(byte me)
{
	byte seat, lane, slot, n, batch_0, batch_1;

	seat_find(OTHER);
	if
	:: seat == NOBODY
	:: else ->
		seat_settle(seat);
		lane = seat;
		supply_take(lane);
		lane_begin(lane);
		assert(owner[seat] == OTHER);
		lane_commit(lane);
		supply_return(lane);
		owner[seat] = 0
	fi;
	other_ended = true
}

init
{
	byte i, n, lane;

	atomic {
		broken[0] = true;
		supply[0] = true; supply[1] = true;
		supply[2] = true; supply[3] = true;
		run Level(0);
		run Level(1);
		run Signal();
		run Other(2)
	}
	running == 99 && other_ended;
	d_step {
		i = 0;
		do
		:: i < SLOTS ->
			n = taken[i] + supply[i];
			lane = 0;
			do
			:: lane < SEATS ->
				n = n + (cache_len[lane] > 0 &&
					cache[lane * 2] == i);
				n = n + (cache_len[lane] > 1 &&
					cache[lane * 2 + 1] == i);
				lane++
			:: else -> break
			od;
			assert(n == 1);
			i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < SEATS ->
			assert(owner[i] == 0 || self == i);
			assert(self == i ||
				cache_len[i] == 0);
			i++
		:: else -> break
		od
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices are closed while objects are allocated and freed: place_close() and
 * close_finish() in lib/record/device.c, members_count() and
 * ttm_found_leave() in remove.c, ttm_stamp_is_orphaned() in lib/shm/layout.h.
 *
 * `closes` counts the complete closes of the process. A close takes the next number,
 * moves the epoch of each of its devices to this number, and then `closes`. An object
 * has a stamp: `closes` when its allocation began, cut to a few bits. Its part on a
 * device is orphaned if the device's epoch is newer than the stamp. Live figures belong
 * to an epoch of a device, and an orphaned part is counted in none.
 *
 * Checked:
 *
 *   always   an allocation that begins after a close has returned is not orphaned by
 *            it; a close that returns is complete, and its number is its own; a reader
 *            that loads `closes` last finds the stamp and sees what is orphaned
 *   at rest  the live figures of each device's epoch are those of the slots whose part
 *            there is not orphaned; what was allocated before a close is orphaned
 *
 * The counters of the lanes are one word per device and epoch: a lane sees the epochs of
 * a device in their order, and starts again at 0 with each. Loading an epoch and
 * counting is one step, for a counter is read by its owner only before all is at rest.
 */
#define DEVICES 2
#define SLOTS 2
#define EPOCHS 5
#define OPS 2		/* per thread */
#define STAMPS 4	/* 65536 in the code */

/* Operations; `devices` is a mask. */
#define ALLOC(slot, devices) (100 + (slot) * 10 + (devices))
#define FREE(slot, devices) (120 + (slot) * 10 + (devices))
#define CLOSE(devices) (140 + (devices))
#define READ(slot) (160 + (slot) * 10)
#define OP_DEVICES(op) ((op) % 10)
#define OP_SLOT(op) ((op) / 10 % 2)
#define DO(thread, n, what) op[(thread) * OPS + (n)] = what;
#define LIVE(devices) \
	state[0] = devices; due_from[0] = true; \
	live[0] = (devices) & 1; live[EPOCHS] = (devices) >> 1;

#if defined(ALLOC_CLOSE)	/* and goes again */
#define THREADS 2
#define SCRIPT DO(0, 0, ALLOC(0, 3)) DO(0, 1, FREE(0, 3)) \
	DO(1, 0, CLOSE(3)) DO(1, 1, CLOSE(2))
#elif defined(SEVERAL_CLOSES)	/* of different devices */
#define THREADS 3
#define SCRIPT DO(0, 0, ALLOC(0, 3)) DO(1, 0, CLOSE(1)) DO(1, 1, CLOSE(2)) \
	DO(2, 0, CLOSE(2))
#elif defined(SAME_CLOSES)	/* of one device, and of a mesh with it */
#define THREADS 3
#define SCRIPT DO(0, 0, ALLOC(0, 3)) DO(0, 1, FREE(0, 3)) \
	DO(1, 0, CLOSE(1)) DO(2, 0, CLOSE(3))
#elif defined(THREE_CLOSERS)
#define THREADS 3
#define SCRIPT DO(0, 0, CLOSE(1)) DO(0, 1, ALLOC(0, 3)) DO(1, 0, CLOSE(3)) \
	DO(2, 0, CLOSE(2)) DO(2, 1, ALLOC(1, 1))
#elif defined(PARTS_CLOSE)	/* each device is freed by another thread */
#define THREADS 3
#define SCRIPT LIVE(3) DO(0, 0, FREE(0, 1)) DO(1, 0, FREE(0, 3)) \
	DO(2, 0, CLOSE(3)) DO(2, 1, CLOSE(1))
#elif defined(REUSE_CLOSE)	/* the slot is used again, with a newer stamp */
#define THREADS 3
#define SCRIPT LIVE(3) DO(0, 0, FREE(0, 3)) DO(0, 1, ALLOC(0, 3)) \
	DO(1, 0, FREE(0, 1)) DO(1, 1, FREE(0, 2)) DO(2, 0, CLOSE(1)) \
	DO(2, 1, CLOSE(2))
#elif defined(READ_CLOSE)
#define THREADS 3
#define SCRIPT LIVE(3) DO(0, 0, FREE(0, 3)) DO(0, 1, ALLOC(0, 3)) \
	DO(1, 0, READ(0)) DO(2, 0, CLOSE(1)) DO(2, 1, CLOSE(3))
#endif

byte op[THREADS * OPS];

byte closes;	/* header->live.closes */
#define CLOSING(number, devices) ((number) * 4 + (devices))
#define NUMBER(closing) ((closing) / 4)
byte closing;	/* the last close: number and devices */
byte epoch[DEVICES];

/* slots: w0 is state (devices; 0: free) and generation */
byte state[SLOTS];
byte generation[SLOTS];
byte stamp[SLOTS];

short live[DEVICES * EPOCHS];	/* live figures of a device's epoch */

/* ghosts */
byte done;
byte allocated_at[SLOTS];	/* the stamp, not cut */
bool due_from[SLOTS];		/* the allocation has returned */
byte due[SLOTS];		/* devices on which a close began after that */
byte closed[DEVICES];		/* number of the last close that has returned */
byte numbers;			/* mask of the numbers of the closes that have returned */

/* The part on `devices` comes or goes: members_count(). */
#ifdef COUNTS_ORPHANS
#define COUNTS_IN(e) true
#else
#define COUNTS_IN(e) ((e) <= allocated)
#endif
inline count(devices, change)
{
	d = 0;
	do
	:: d < DEVICES ->
		d_step {
			e = epoch[d];
#if defined(ALLOC_EPOCH_EARLY) || defined(FREE_EPOCH_EARLY)
			if
			:: early[d] != 15 -> e = early[d]
			:: else
			fi;
#endif
			if
			:: ((devices) >> d & 1) && COUNTS_IN(e) ->
				live[d * EPOCHS + e] = live[d * EPOCHS + e] + (change)
			:: else
			fi;
			e = 0;
			d++
		}
	:: else -> break
	od;
	d = 0
}

inline epochs_early()
{
	early[0] = epoch[0];
	early[1] = epoch[1]
}

inline alloc()
{
	d_step {
		s = OP_SLOT(op[my]);
		begun[0] = closed[0];
		begun[1] = closed[1]
	}
#ifdef ALLOC_EPOCH_EARLY
	epochs_early();
#endif
#ifdef STAMP_IS_EPOCH
	allocated = epoch[!(OP_DEVICES(op[my]) & 1)];
#else
	allocated = closes;
#endif
	d_step {	/* slot_begin, slot_end; no other thread has the slot */
		d = 0;
		do
		:: d < DEVICES ->
			assert(!(OP_DEVICES(op[my]) >> d & 1) ||
				allocated >= begun[d]);
			begun[d] = 0;
			d++
		:: else -> break
		od;
		d = 0
	}
	atomic {
		if
		:: state[s] == 0 ->
			generation[s] = generation[s] + 1;
			state[s] = OP_DEVICES(op[my]);
			stamp[s] = allocated % STAMPS;
			allocated_at[s] = allocated;
			due[s] = 0;
			due_from[s] = false;
			w_gen = generation[s]
		:: else -> over = true
		fi
	}
	if
	:: over
	:: else ->
		count(OP_DEVICES(op[my]), 1);
		d_step {
			if
			:: generation[s] == w_gen -> due_from[s] = true
			:: else
			fi
		}
	fi
}

/* ttm_words_allocated() */
#define EXPANDED(c, w) ((c) - ((c) + STAMPS * 4 - (w)) % STAMPS)

/* ttm_found_leave(), from all that the slot is on, to what stays */
inline free()
{
	s = OP_SLOT(op[my]);
#ifdef FREE_EPOCH_EARLY
	epochs_early();
#endif
	do
	:: c = closes;
	   d_step {
		w_gen = generation[s];
		on = state[s];
		left = on & OP_DEVICES(op[my])
	   }
	   if
	   :: left == 0 -> break
	   :: else ->
		w_stamp = stamp[s];
		d_step {
			over = (generation[s] == w_gen);
			if
			:: over ->
				generation[s] = w_gen + 1;
				state[s] = on & ~left
			:: else
			fi
		}
		if
		:: over -> break
		:: else
		fi
	   fi
	od;
	if
	:: left == 0
	:: else ->
		if
		:: w_stamp == c % STAMPS -> allocated = c	/* key_glance() */
#ifdef FREE_CLOSES_EARLY
		:: w_stamp != c % STAMPS -> allocated = EXPANDED(c, w_stamp)
#else
		:: true -> allocated = EXPANDED(closes, w_stamp)
#endif
		fi;
		count(left, -1)
	fi
}

/* The aggregator: a slot, the epochs, then `closes`. */
inline read()
{
	s = OP_SLOT(op[my]);
#ifdef READ_CLOSES_EARLY
	c = closes;
#endif
	d_step {
		on = state[s];
		w_stamp = stamp[s];
		allocated = allocated_at[s]
	}
	e = epoch[0];
#ifndef READ_CLOSES_EARLY
	c = closes;
#endif
	assert(on == 0 || (e > EXPANDED(c, w_stamp)) == (e > allocated))
}

/* epoch_move() */
inline epoch_move(number)
{
	do
	:: e = epoch[d];
	   if
	   :: e >= number -> break
	   :: else ->
#ifdef EPOCH_STORED
		epoch[d] = number;
		break
#else
		d_step {
			over = (epoch[d] == e);
			if
			:: over -> epoch[d] = number
			:: else
			fi
		}
		if
		:: over -> break
		:: else
		fi
#endif
	   fi
	od;
	over = false
}

inline epochs_move(what)
{
	d = 0;
	do
	:: d < DEVICES ->
		if
		:: (what) >> d & 1 -> epoch_move(NUMBER(what))
		:: else
		fi;
		d++
	:: else -> break
	od;
	atomic { d = 0; e = 0 }
}

/* The CAS of `closes`, which is loaded just before, fails if it is not a step by one. */
inline closes_move(what)
{
	d_step {
		if
		:: closes + 1 == NUMBER(what) -> closes++
		:: else
		fi
	}
}

/* close_finish() */
inline close_finish(what)
{
#ifdef CLOSES_FIRST
	closes_move(what);
	epochs_move(what)
#else
	epochs_move(what);
	closes_move(what)
#endif
}

/* place_close() */
inline close()
{
	d_step {
		left = OP_DEVICES(op[my]);
		due[0] = due[0] | (due_from[0] -> left : 0);
		due[1] = due[1] | (due_from[1] -> left : 0)
	}
	do
	:: c = closing;
#ifdef CLEARED
	   on = closes;
	   if
	   :: c != 0 -> close_finish(c); d_step {
		if
		:: closing == c -> closing = 0
		:: else
		fi
	      }
#else
	   on = NUMBER(c);
	   if
#ifndef NO_HELP
#ifdef HELPS_COUNT_ONLY
	   :: closes != on -> closes_move(c)
#else
	   :: closes != on -> close_finish(c)
#endif
#endif
#endif
	   :: else ->
		d_step {
			over = (closing == c);
			if
			:: over ->
				c = CLOSING(on + 1, left);
				closing = c
			:: else
			fi
		}
		if
		:: over -> break
		:: else
		fi
	   fi
	od;
	over = false;
	close_finish(c);
#ifdef CLEARED
	d_step {
		if
		:: closing == c -> closing = 0
		:: else
		fi
	}
#endif
	d_step {
		assert(closes >= NUMBER(c));
		assert(!(numbers >> NUMBER(c) & 1));
		numbers = numbers | (1 << NUMBER(c));
		d = 0;
		do
		:: d < DEVICES ->
			if
			:: left >> d & 1 ->
				assert(epoch[d] >= NUMBER(c));
				if
				:: closed[d] < NUMBER(c) -> closed[d] = NUMBER(c)
				:: else
				fi
			:: else
			fi;
			d++
		:: else -> break
		od;
		d = 0
	}
}

proctype Thread(byte me)
{
	byte my = me * OPS;
	byte s, d, e, c, on, left, w_gen, w_stamp;
	byte begun[DEVICES];
	short allocated;
	bool over;
#if defined(ALLOC_EPOCH_EARLY) || defined(FREE_EPOCH_EARLY)
	byte early[DEVICES] = 15;
#endif

	do
	:: my == (me + 1) * OPS || op[my] == 0 -> break
	:: else ->
		if
		:: op[my] / 20 == 5 -> alloc()
		:: op[my] / 20 == 6 -> free()
		:: op[my] / 20 == 7 -> close()
		:: op[my] / 20 == 8 -> read()
		fi;
		atomic {
			my++;
			s = 0; d = 0; e = 0; c = 0; on = 0; left = 0; w_gen = 0;
			w_stamp = 0; allocated = 0; over = false;
#if defined(ALLOC_EPOCH_EARLY) || defined(FREE_EPOCH_EARLY)
			early[0] = 15; early[1] = 15
#endif
		}
	od;
	done++
}

init
{
	byte d, s, alive;

	d_step { SCRIPT }
	atomic {
		run Thread(0);
		run Thread(1);
#if THREADS > 2
		run Thread(2)
#endif
	}
	done == THREADS;
	d_step {
		d = 0;
		do
		:: d < DEVICES ->
			alive = 0;
			s = 0;
			do
			:: s < SLOTS ->
				if
				:: state[s] >> d & 1 ->
					alive = alive + (epoch[d] <= allocated_at[s]);
					assert(!(due[s] >> d & 1) ||
						epoch[d] > allocated_at[s])
				:: else
				fi;
				s++
			:: else -> break
			od;
			assert(live[d * EPOCHS + epoch[d]] == alive);
			d++
		:: else -> break
		od
	}
}

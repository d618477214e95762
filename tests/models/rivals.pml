/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several objects with one key: how insertions find each other and decide which object
 * stays, while other threads free the objects, wholly or on some of their devices
 * ("shrink" them): lib/record/insert.c, remove.c, object.h. object.pml has the life of one object.
 *
 * Slots and entries are those of object.pml, but an entry is 0 or the number of a slot,
 * plus 1. A thread takes the first free slot and entry, with ANY any free one.
 *
 * A scenario is a list of calls for each thread. Checked:
 *
 *   always   the supply gets a slot once, only the owner writes a slot, an object clears
 *            its own entry
 *   at rest  at most one slot is live; it has one entry, and other slots have none; each
 *            slot is live or in the supply; on each device allocations - frees are the
 *            live slots; insertions are allocations + dispatches
 *   ORDER    on each device, the value at rest is one that some order of the calls leaves
 *            (the calls of a thread in their order)
 *
 * Memory is sequentially consistent, but for the CAS of the insertion, whose store may be
 * seen after the loads that follow: see NO_FENCE_AFTER_CAS.
 */
#define SLOTS 3
#define OPS 2		/* per thread */
#define WHOLE 3		/* the devices of the key, a mask */
#define NONE 15

#ifndef KERNELS
#define KERNELS 0	/* 1: kernels, and PUT() is always of the same size and cores */
#endif
#define PUT(value) (KERNELS -> 101 : 100 + (value))
#define PUT_OTHER 102
#define FREE(devices) (200 + (devices))	/* a mask */
#define OP_IS_PUT(op) ((op) < 200)
#define OP_VALUE(op) ((op) % 100)	/* or devices */

/* T0() to T2(): the calls of the threads. LEAVES: the values that ORDER allows. */
#define T0(a, b) op[0] = a; op[1] = b;
#define T1(a, b) op[OPS] = a; op[OPS + 1] = b;
#define T2(a) op[2 * OPS] = a;
#define ONE 2
#define TWO 4
#define NOTHING 16

#if defined(PUT_PUT)		/* two insertions at once; with LIVE: two replacements */
#define SCRIPT T0(PUT(1), 0) T1(PUT(2), 0)
#define CHECK_MORE (!KERNELS || dispatches == 1)
#elif defined(PUT_TWICE)	/* another thread's object comes in between */
#define SCRIPT T0(PUT(1), 0) T1(PUT(3), PUT(2))
#elif defined(PUT_FREE)
#define SCRIPT T0(PUT(1), 0) T1(FREE(3), 0)
#define LEAVES(device) (ONE | NOTHING)
#elif defined(PUT_CYCLE)	/* one thread frees and puts */
#define SCRIPT T0(PUT(1), 0) T1(FREE(3), PUT(2))
#elif defined(PUT_UNDO)		/* one thread puts and frees */
#define SCRIPT T0(PUT(1), 0) T1(PUT(2), FREE(3))
#define LEAVES(device) (ONE | NOTHING)
#elif defined(SHRINK)		/* an object that is being replaced shrinks */
#define SCRIPT T0(PUT(1), 0) T1(FREE(1), 0)
#define LEAVES(device) ((device) == 0 -> ONE | NOTHING : ONE)
#elif defined(SHRINK_FREE)
#define SCRIPT T0(PUT(1), 0) T1(FREE(1), FREE(3))
#define LEAVES(device) (ONE | NOTHING)
#elif defined(SHRINK_CYCLE)
#define SCRIPT T0(PUT(1), 0) T1(FREE(1), PUT(2))
#elif defined(PUT_SHRINK)	/* one of two new objects shrinks */
#define SCRIPT T0(PUT(1), 0) T1(PUT(2), FREE(1))
#define LEAVES(device) ((device) == 0 -> ONE | NOTHING : ONE | TWO)
#elif defined(PUT_PUT_SHRINK)
#define THREADS 3
#define SCRIPT T0(PUT(1), 0) T1(PUT(2), 0) T2(FREE(1))
#elif defined(LOAD_TWICE)
#define SCRIPT T0(PUT(1), PUT(1)) T1(PUT(1), PUT(1))
#elif defined(LOAD_OTHER)	/* another size: replaced */
#define SCRIPT T0(PUT(1), PUT_OTHER) T1(PUT(1), 0)
#endif

#ifndef LEAVES
#define LEAVES(device) (ONE | TWO)
#endif
#ifndef THREADS
#define THREADS 2
#endif
#ifndef RANKS
#define RANKS 16	/* 256 in the code */
#endif
#ifndef BOLD
#define BOLD 0		/* 1: insert first, then look, as insert_boldly() */
#endif

byte op[THREADS * OPS];

/* slots; the state of a live one is its devices */
#define WRITING 8
#define IS_LIVE(state) ((state) != 0 && (state) != WRITING)
byte generation[SLOTS], state[SLOTS];
byte body_value[SLOTS];
byte body_life[SLOTS];	/* rank, and time of the allocation */
#define LIFE(rank, time) ((rank) * 16 + (time))
#define RANK(life) ((life) / 16)
#define MY_LIFE LIFE(rank, my + 1)

byte entry[SLOTS];
bool supply[SLOTS];

short count[2];	/* allocations - frees, of all threads */
byte allocs, dispatches, puts, done;

inline devices_count(devices, change)
{
	count[0] = count[0] + ((devices) & 1) * (change);
	count[1] = count[1] + ((devices) >> 1 & 1) * (change)
}

inline alloc_count() { d_step { devices_count(WHOLE, 1); allocs++ } }

/*
 * ttm_line_find_acquire(): the entries that are in use, one load after the other. A
 * search loads only these again.
 */
inline line_find()
{
	mask = (entry[0] != 0);
	d_step { mask = mask | (entry[1] != 0) << 1 }
	d_step { mask = mask | (entry[2] != 0) << 2 }
}

/* ttm_slot_copy(): sets f_gen, f_on (0: not live), f_value and `life`. */
inline slot_copy(life)
{
	do
	:: d_step { f_gen = generation[f_slot]; f_on = state[f_slot] }
	   if
	   :: !IS_LIVE(f_on) -> f_on = 0; break
	   :: else ->
		d_step { f_value = body_value[f_slot]; life = body_life[f_slot] }
		if
		:: generation[f_slot] == f_gen -> break
		:: else
#ifdef COPY_ONCE
			-> f_on = 0; break
#endif
		fi
	   fi
	od
}

/*
 * ttm_found_next(): the next live object but `mine`. `wanted` is an expression on what was
 * found. Sets f_at, NONE if there is none. line_find() has begun the search.
 */
inline found_next(wanted)
{
	f_at = NONE;
	do
	:: mask == 0 -> break
	:: else ->
		d_step {	/* ttm_search_next() */
			at = (mask & 1 -> 0 : (mask & 2 -> 1 : 2));
			mask = mask & ~(1 << at);
			e = entry[at];
			f_slot = (e == 0 || e - 1 == mine -> NONE : e - 1)
		}
		if
		:: f_slot == NONE
		:: else ->
			slot_copy(f_life);
			if	/* then entry_stands() */
			:: f_on != 0 && (wanted) && entry[at] == e ->
				f_at = at;
				break
			:: else
			fi
		fi
	od;
	atomic {
		e = 0;
		at = 0;
		if
		:: f_at == NONE ->
			f_slot = 0; f_gen = 0; f_on = 0; f_value = 0; f_life = 0
		:: else
		fi
	}
}

/* The signed difference of ranks; half-way round it is a tie. */
#define RANK_DIFF(a, b) (((a) + RANKS - (b)) % RANKS)
#define RANK_MORE(a, b) (RANK_DIFF(a, b) != 0 && RANK_DIFF(a, b) < RANKS / 2)
#define RANK_TIE(a, b) (RANK_DIFF(a, b) % (RANKS / 2) == 0)
/* is_later() */
#define RIVAL_LATER (RANK_MORE(RANK(f_life), rank) || \
	(RANK_TIE(RANK(f_life), rank) && f_slot > mine))

/*
 * may_end(), in one step: the thread's own object is still live, perhaps on fewer devices,
 * now that it has seen the rival; or it saw the rival before its insertion. Otherwise the
 * rival may be of a time after a free that ended the thread's object.
 */
#define WAS_BEFORE (b_slot == f_slot && b_life == f_life)
#if defined(ENDS_ANY)
#define MAY_END true
#elif defined(MAY_END_BY_W0)
#define MAY_END (generation[mine] == mine_gen || (WAS_BEFORE && b_gen == f_gen))
#else
#define MAY_END (WAS_BEFORE || \
	(IS_LIVE(state[mine]) && body_life[mine] == MY_LIFE))
#endif

/* The CAS of w0: the object stays on these devices, or ends. Sets `won`. */
inline found_cas(stays)
{
	d_step {
		won = (generation[f_slot] == f_gen);
		if
		:: won -> generation[f_slot] = f_gen + 1; state[f_slot] = stays
		:: else
		fi
	}
	if
	:: won && (stays) == 0 ->
		d_step {	/* ttm_index_clear() */
			assert(entry[f_at] == f_slot + 1);
			entry[f_at] = 0
		}
		d_step {	/* ttm_supply_put() */
			assert(!supply[f_slot]);
			supply[f_slot] = true
		}
	:: else
	fi
}

#ifdef RENEW_ANY
#define IS_SAME_LIFE true
#else
#define IS_SAME_LIFE (life == f_life)
#endif

/* ttm_found_renew(): the object that was found; f_on is 0 if it is gone. */
inline found_renew()
{
	slot_copy(life);
	if
	:: IS_SAME_LIFE && f_on != 0 && entry[f_at] == f_slot + 1
	:: else -> f_on = 0
	fi;
	life = 0
}

/* ttm_found_leave(), ttm_found_free(): sets `left`, the devices that the object has left. */
inline found_leave(devices)
{
	do
	:: left = f_on & (devices);
	   if
	   :: left == 0 -> break
	   :: else ->
		found_cas(f_on & ~left);
		if
		:: won -> break
		:: else -> found_renew()
		fi
	   fi
	od
}

/* ttm_found_count() */
inline free_count() { d_step { devices_count(left, -1); left = 0 } }

/* key_leave(): looks again while another thread is faster. */
inline remove()
{
	do
	:: line_find();
	   found_next((f_on & OP_VALUE(op[my])) != 0);
	   if
	   :: f_at == NONE -> break	/* FREE_UNKNOWN */
	   :: else ->
		found_leave(OP_VALUE(op[my]));
		if
		:: won -> free_count(); break
		:: else
		fi
	   fi
	od
}

#ifdef ANY
#define IF_FIRST(others) true
#else
#define IF_FIRST(others) (others)
#endif

/* ttm_supply_take_peeked(), slot_begin(), slot_end() */
inline slot_write()
{
	atomic {
		if
		:: supply[0] -> mine = 0
		:: supply[1] && IF_FIRST(!supply[0]) -> mine = 1
		:: supply[2] && IF_FIRST(!supply[0] && !supply[1]) -> mine = 2
		fi;
		supply[mine] = false;
		assert(state[mine] == 0);
		mine_gen = generation[mine] + 2;
		generation[mine] = mine_gen - 1;
		state[mine] = WRITING
	}
	d_step { body_value[mine] = OP_VALUE(op[my]); body_life[mine] = MY_LIFE }
	d_step {
		assert(generation[mine] == mine_gen - 1);
		generation[mine] = mine_gen;
		state[mine] = WHOLE
	}
}

/* ttm_bucket_put() */
inline index_insert()
{
	atomic {
		if
		:: !entry[0] -> mine_at = 0
		:: !entry[1] && IF_FIRST(entry[0]) -> mine_at = 1
		:: !entry[2] && IF_FIRST(entry[0] && entry[1]) -> mine_at = 2
		fi;
		entry[mine_at] = mine + 1
	}
}

#define SAME_VALUE (KERNELS && f_value == OP_VALUE(op[my]))
#ifdef SHRUNK_IS_SAME
#define SAME_KERNEL SAME_VALUE
#else
#define SAME_KERNEL (SAME_VALUE && f_on == WHOLE)
#endif
#ifdef RANK_OF_LAST
#define RANK_FROM_THIS true
#else
#define RANK_FROM_THIS (b_slot == NONE || RANK_MORE(RANK(f_life) + 1, rank))
#endif

/*
 * insertion_is_dispatch(): sets `over`; or `rank`, one more than that of the latest
 * object that is found, and remembers this object.
 */
inline insertion_is_dispatch()
{
	line_find();
	do
	:: found_next(true);
	   if
	   :: f_at == NONE -> break
	   :: f_at != NONE && SAME_KERNEL ->
		d_step { dispatches++; over = true; mask = 0 }
		break
	   :: else ->
		d_step {
			if
			:: RANK_FROM_THIS ->
				rank = (RANK(f_life) + 1) % RANKS;
				b_gen = f_gen; b_slot = f_slot; b_life = f_life
			:: else
			fi
		}
	   fi
	od
}

inline find_mine()
{
	d_step {
		f_slot = mine; f_gen = mine_gen; f_on = WHOLE;
		f_at = mine_at; f_life = MY_LIFE; mask = 0
	}
}

/*
 * insertion_withdraw(): only while the object is whole, for a thread that shrank it has
 * counted a free. Sets `won`.
 */
inline insertion_withdraw()
{
	find_mine();
#ifdef WITHDRAW_SHRUNK
	found_leave(WHOLE);
	left = 0
#else
	found_cas(0)
#endif
}

/* insertion_superseded(): ours was not needed, or it is counted and ends. */
inline insertion_superseded()
{
	if
	:: SAME_VALUE -> insertion_withdraw()
	:: else
	fi;
	if
	:: won -> dispatches++
	:: else ->
		alloc_count();
		find_mine();
		found_leave(WHOLE);
		free_count()
	fi
}

/* insertion_replaces_any(), and insertion_replaces() for the first that is still there */
inline insertion_replaces_any()
{
	line_find();
	do
	:: found_next(!RIVAL_LATER);
	   if
	   :: f_at == NONE -> break
	   :: f_at != NONE && !MAY_END
	   :: f_at != NONE && MAY_END ->
		found_leave(WHOLE);
		if
		:: won && !replaced && SAME_KERNEL -> dispatches++; left = 0
		:: won && !replaced && !SAME_KERNEL -> free_count(); alloc_count()
		:: else -> free_count()
		fi;
		replaced = replaced || won;
		won = false
	   fi
	od
}

inline insertion_settle()
{
	rival = false;
	line_find();
	do
	:: found_next(true);
	   if
	   :: f_at == NONE -> break
	   :: f_at != NONE && RIVAL_LATER ->
		insertion_superseded();
		over = true;
		break
	   :: else -> rival = true
	   fi
	od;
	if
	:: !over && rival -> insertion_replaces_any()
	:: else
	fi;
	if
	:: !over && !replaced -> alloc_count()
	:: else
	fi
}

/*
 * insertion_begin(), insert_boldly(). A bold insertion then looks for other entries
 * (ttm_index_may_have_other()), a careful one settles whatever there is.
 */
inline insertion_begin()
{
	slot_write();
#ifdef NO_FENCE_AFTER_CAS
	line_find();	/* before others see the entry */
	index_insert();
#else
	index_insert();
	if
	:: bold -> line_find()
	:: else
	fi;
#endif
#ifndef NO_RESCAN
	rival = !bold || (mask & ~(1 << mine_at)) != 0;
#endif
	mask = 0
}

/* insert_boldly() and insertion_check(), or insert_careful() */
inline put()
{
	do
	:: if
	   :: bold
	   :: else -> insertion_is_dispatch()
	   fi;
	   if
	   :: over -> break
	   :: else -> insertion_begin()
	   fi;
	   if
	   :: bold && rival ->
		line_find();
		found_next(true);
		if
		:: f_at == NONE -> rival = false
		:: else -> insertion_withdraw()
		fi;
#ifdef WITHDRAW_OR_COUNT
		rival = false
#endif
	   :: else
	   fi;
	   if
	   :: won ->
		d_step { won = false; rival = false; bold = false }
		d_step { mine = NONE; mine_gen = 0; mine_at = 0 }
	   :: !won && rival -> insertion_settle(); break
	   :: !won && !rival -> alloc_count(); break
	   fi
	od
}

proctype Thread(byte me)
{
	byte my = me * OPS;	/* the current operation */
	byte rank, mine = NONE, mine_gen, mine_at;
	byte mask, at, e, f_at, f_slot, f_gen, f_on, f_value, f_life, left, life;
	byte b_gen, b_slot = NONE, b_life;	/* ttm_before */
	bool won, over, rival, replaced, bold = BOLD;

	do
	:: my == (me + 1) * OPS || op[my] == 0 -> break
	:: else ->
		if
		:: OP_IS_PUT(op[my]) -> put()
		:: else -> remove()
		fi;
		atomic {
			puts = puts + OP_IS_PUT(op[my]);
			my++;
			rank = 0; mine = NONE; mine_gen = 0; mine_at = 0; mask = 0;
			f_at = 0; f_slot = 0; f_gen = 0; f_on = 0; f_value = 0;
			f_life = 0; left = 0; b_gen = 0; b_slot = NONE; b_life = 0;
			won = false; over = false; rival = false; replaced = false;
			bold = BOLD
		}
	od;
	done++
}

/* All threads have finished. */
inline check_rest()
{
	d_step {
		value = NOTHING;
		s = 0;
		do
		:: s < SLOTS ->
			assert(supply[s] == (state[s] == 0));
			assert(IS_LIVE(state[s]) == ((entry[0] == s + 1) +
				(entry[1] == s + 1) + (entry[2] == s + 1)));
			devices_count(state[s], -1);
			if
			:: IS_LIVE(state[s]) ->
				assert(!on);
				on = state[s];
				value = 1 << body_value[s]
			:: else
			fi;
			s++
		:: else -> break
		od;
		assert(count[0] == 0 && count[1] == 0);
		assert(puts == allocs + dispatches);
#ifdef CHECK_MORE
		assert(CHECK_MORE);
#endif
#ifdef ORDER
		assert((on & 1 -> value : NOTHING) & LEAVES(0));
		assert((on & 2 -> value : NOTHING) & LEAVES(1))
#endif
	}
}

init
{
	byte s, on, value;

	d_step {
		supply[0] = true; supply[1] = true; supply[2] = true;
#ifdef LIVE
		supply[1] = false; entry[1] = 2; generation[1] = 2; state[1] = WHOLE;
		body_life[1] = LIFE((RANKS < 16 -> RANKS / 2 - 1 : 0), 0);
		devices_count(WHOLE, 1);
#endif
		SCRIPT
	}
	atomic {
		run Thread(0); run Thread(1);
#if THREADS > 2
		run Thread(2);
#endif
	}
	done == THREADS;
	check_rest()
}

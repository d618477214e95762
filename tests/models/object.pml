/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects are inserted, replaced, freed, and freed on some of their devices ("shrunk"):
 * lib/record/object.h, found.c, insert.c, index.h.
 *
 * A slot's w0 has a generation, a state and the devices that the object is on; each
 * change adds 1 to the generation, so equal generations mean equal w0. A key is a place
 * of allocation and an id. The index is one bucket; an entry is 0, or key and slot. A
 * thread that takes a slot or an entry takes the first that is free, with ANY any of
 * them.
 *
 * A scenario (object_scenarios.h) is a list of operations for each thread. Checked:
 *
 *   always   a slot that returns to the supply was not there, a thread writes only its
 *            own slot, an entry that is cleared is the slot's own
 *   at rest  at most one live slot per key; it has one entry, other slots have none;
 *            each slot is live or in the supply; on each device allocations - frees are
 *            the live slots; insertions are allocations + dispatches
 *   ORDER    on each device, the object that is live at rest (key 0) is the result of
 *            some order of the operations in which an operation that began after
 *            another one had returned comes after it
 *
 * Memory is sequentially consistent, because each word that publishes something is
 * stored with release (or a CAS) and loaded with acquire. The exception is the CAS of
 * the insertion, whose store may be seen after the loads that follow: see
 * NO_FENCE_AFTER_CAS. The fast path of a free is the first step of the slow one.
 */
#define SLOTS 3
#define ENTRIES 3
#define OPS 3		/* per thread */
#define DEVICES 3
#define NONE 15

#define WRITING 8	/* the state of a live slot is its devices; 0: free */
#define IS_LIVE(state) ((state) != 0 && (state) != WRITING)
#define ENTRY(key, slot) ((key) * SLOTS + (slot) + 1)
#define ENTRY_KEY(e) (((e) - 1) / SLOTS)
#define ENTRY_SLOT(e) (((e) - 1) % SLOTS)

/* Operations: put a value (1 to 9) under a key; free an id on some devices. */
#define PUT(key, value) (100 + (key) * 10 + (value))
#define FREE(id, devices) (200 + (id) * 10 + (devices))
#define OP_IS_PUT(op) ((op) < 200)
#define OP_KEY(op) (((op) % 100) / 10)	/* or id */
#define OP_VALUE(op) ((op) % 10)	/* or devices */

#include "object_scenarios.h"

#define ALL 7
#define OP_DEVICES(op) (OP_IS_PUT(op) -> PLACE(OP_KEY(op)) : OP_VALUE(op))

byte op[THREADS * OPS];

/* slots */
byte generation[SLOTS];
byte state[SLOTS];
byte body_key[SLOTS];
byte body_value[SLOTS];	/* size and cores of a kernel */
byte body_life[SLOTS];	/* rank, time of the allocation: differs for each */
#define LIFE(rank, time) ((rank) * 16 + (time))
#define RANK(life) ((life) / 16)

byte entry[ENTRIES];	/* the bucket */
bool supply[SLOTS];

/* the counters, summed over the lanes */
short count[DEVICES];	/* allocations - frees on each device */
byte allocs, dispatches, puts;

/* ghosts */
byte done;		/* threads that have finished */
/* Devices on which an operation that has returned may be the latest one. */
byte latest[THREADS * OPS];
byte initial_latest;

/* An operation begins: it comes after the results of those that have returned. */
inline note_begin()
{
	d_step {
		i = 0;
		do
		:: i < THREADS * OPS ->
			if
			:: OP_IS_PUT(op[i]) || OP_IS_PUT(op[my]) ->
				latest[i] = latest[i] & ~OP_DEVICES(op[my])
			:: else
			fi;
			i++
		:: else -> break
		od;
		initial_latest = initial_latest & ~OP_DEVICES(op[my]);
		i = 0
	}
}

inline devices_count(devices, change)
{
	i = 0;
	do
	:: i < DEVICES ->
		count[i] = count[i] + (((devices) >> i) & 1) * (change);
		i++
	:: else -> break
	od;
	i = 0
}

inline alloc_count()
{
	d_step {
		devices_count(PLACE(key), 1);
		allocs++
	}
}

#ifdef NO_ENTRY_STANDS
#define ENTRY_STANDS true
#else
#define ENTRY_STANDS (entry[at - 1] == e)
#endif

/*
 * found_next(): the next live object with this key. `wanted` is an expression on what
 * was found. Sets f_at, NONE if there is none. slot_copy() reads a slot again that is
 * still live, but has changed meanwhile.
 */
inline found_next(a_key, except, wanted)
{
	f_at = NONE;
	do
	:: at == ENTRIES -> break
	:: at < ENTRIES ->
		d_step {	/* ttm_search_next: load of an entry */
			e = entry[at];
			at++
		}
		if
		:: e == 0 || ENTRY_KEY(e) != a_key || ENTRY_SLOT(e) == except
		:: else ->
			d_step {	/* slot_copy: first load of w0 */
				f_slot = ENTRY_SLOT(e);
				f_gen = generation[f_slot];
				f_on = state[f_slot]
			}
			if
			:: !IS_LIVE(f_on)
			:: else ->
				d_step {	/* slot_copy: the body */
					f_key = body_key[f_slot];
					f_value = body_value[f_slot];
					f_life = body_life[f_slot]
				}
				if	/* slot_copy: w0 again */
				:: generation[f_slot] != f_gen
#ifndef COPY_ONCE
					-> at--
#endif
				:: else ->
					/* words_have_key, then entry_stands */
					if
					:: f_key == a_key && (wanted) &&
					   ENTRY_STANDS ->
						f_at = at - 1;
						break
					:: else
					fi
				fi
			fi
		fi
	od;
	atomic {
		e = 0;
		f_key = 0;
		if
		:: f_at == NONE ->
			at = 0; f_slot = 0; f_gen = 0; f_on = 0; 
			f_value = 0; f_life = 0
		:: else
		fi
	}
}

/*
 * is_later(): the signed difference of the ranks, then the slot. Half way round is a
 * tie, too.
 */
#define RANK_DIFF(a, b) (((a) + RANKS - (b)) % RANKS)
#define RANK_MORE(a, b) \
	(RANK_DIFF(a, b) != 0 && RANK_DIFF(a, b) < RANKS / 2)
#define RANK_TIE(a, b) (RANK_DIFF(a, b) % (RANKS / 2) == 0)
#define RIVAL_LATER \
	(RANK_MORE(RANK(f_life), rank) || (RANK_TIE(RANK(f_life), rank) && f_slot > mine))

/*
 * may_end(): if its own object is still live, perhaps on fewer devices, now that the
 * rival has been seen, or if it saw the rival before it was inserted itself. Otherwise
 * the rival may be of a time after a free that ended our object.
 */
#if defined(ENDS_ANY)
#define MAY_END true
#elif defined(MAY_END_BY_W0)
#define MAY_END (generation[mine] == mine_gen || (b_gen == f_gen && \
	b_slot == f_slot))
#else
#define MAY_END ((IS_LIVE(state[mine]) && body_life[mine] == LIFE(rank, my + 1)) || \
	(b_gen != 0 && b_slot == f_slot && b_life == f_life))
#endif

/* ttm_supply_put() */
inline recycle(s)
{
	assert(!supply[s]);
	supply[s] = true
}

#ifdef SHRINK_KEEPS_GENERATION
#define NEXT(stays) (f_gen + ((stays) == 0))
#else
#define NEXT(stays) (f_gen + 1)
#endif

/* The CAS of w0: the object stays on these devices, or ends. Sets `won`. */
inline found_cas(stays)
{
#ifdef FREE_WITHOUT_CAS
	won = (generation[f_slot] == f_gen);
#endif
	d_step {
#ifndef FREE_WITHOUT_CAS
		won = (generation[f_slot] == f_gen);
#endif
		if
		:: won -> generation[f_slot] = NEXT(stays); state[f_slot] = stays
		:: else
		fi
	}
	if
	:: won && (stays) == 0 ->
#ifdef RECYCLE_BEFORE_CLEAR
		d_step { recycle(f_slot) }
#endif
		d_step {	/* ttm_index_clear */
			assert(entry[f_at] == ENTRY(body_key[f_slot], f_slot));
			entry[f_at] = 0
		}
#ifndef RECYCLE_BEFORE_CLEAR
		d_step { recycle(f_slot) }
#endif
	:: else
	fi
}

/* found_renew(): the object that was found, on fewer devices now; f_on 0: it is gone. */
inline found_renew()
{
	do
	:: d_step { f_gen = generation[f_slot]; f_on = state[f_slot] }
	   if
	   :: !IS_LIVE(f_on) -> f_on = 0; break
#ifndef RENEW_ANY
	   :: IS_LIVE(f_on) && body_life[f_slot] != f_life -> f_on = 0; break
#endif
	   :: else ->
		if
		:: generation[f_slot] == f_gen -> break
		:: else
#ifdef COPY_ONCE
			-> f_on = 0; break
#endif
		fi
	   fi
	od;
	if
	:: entry[f_at] != ENTRY(key, f_slot) -> f_on = 0
	:: else
	fi
}

/*
 * found_leave(): what was found leaves these devices. `left` are those that it was on
 * and that the caller has to count.
 */
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

#ifdef SHRINKS_COUNT_ALL
#define LEFT f_on
#else
#define LEFT left
#endif

/* found_count() */
inline free_count()
{
	d_step {
		if
		:: won -> devices_count(LEFT, -1)
		:: else
		fi;
		left = 0
	}
}

/*
 * ttm_remove_slow(): `wants` are the devices that still have to be found. All keys of
 * the id are looked at, the caller's own place first.
 */
inline remove()
{
	wants = OP_VALUE(op[my]);
	key = 0;
	own = 0;
#if KEYS > 1
	own = (ID(1) == OP_KEY(op[my]) && PLACE(1) == wants);
#endif
	key = own;
	do
	:: at = 0;	/* key_leave */
	   if
	   :: ID(key) == OP_KEY(op[my]) ->
		do
		:: found_next(key, NONE, (f_on & wants) != 0);
		   if
		   :: f_at == NONE -> break
		   :: else ->
			found_leave(wants);
			if
			:: won -> wants = wants & ~left; free_count(); break
			:: else -> at = 0
			fi
		   fi
		od
	   :: else
	   fi;
	   won = false;
	   key = (key + 1) % KEYS;
	   if
	   :: key == own || wants == 0 -> break
	   :: else
	   fi
	od	/* FREE_UNKNOWN if wants != 0 */
}

/* Of what is free the first, or with ANY any. */
#ifdef ANY
#define IF_FIRST(others) true
#else
#define IF_FIRST(others) (others)
#endif

/* ttm_supply_take() */
inline supply_take()
{
	atomic {
		if
		:: supply[0] -> mine = 0
		:: supply[1] && IF_FIRST(!supply[0]) -> mine = 1
		:: supply[2] && IF_FIRST(!supply[0] && !supply[1]) -> mine = 2
		fi;
		supply[mine] = false
	}
}

/* slot_begin() and slot_end() */
inline slot_write()
{
	d_step {
		assert(state[mine] == 0);
		mine_gen = generation[mine] + 2;
		generation[mine] = mine_gen - 1;
		state[mine] = WRITING
	}
	d_step {
		assert(generation[mine] == mine_gen - 1);
		body_key[mine] = key;
		body_value[mine] = OP_VALUE(op[my]);
		body_life[mine] = LIFE(rank, my + 1)
	}
	d_step {
		assert(generation[mine] == mine_gen - 1);
		generation[mine] = mine_gen;
		state[mine] = PLACE(key)
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
		entry[mine_at] = ENTRY(key, mine)
	}
}

#ifdef SHRUNK_IS_SAME
#define IS_SAME_KERNEL (KERNELS && f_value == OP_VALUE(op[my]))
#else
#define IS_SAME_KERNEL \
	(KERNELS && f_value == OP_VALUE(op[my]) && f_on == PLACE(key))
#endif

#ifdef RANK_OF_LAST
#define RANK_FROM_THIS true
#else
#define RANK_FROM_THIS (b_gen == 0 || RANK_MORE(RANK(f_life) + 1, rank))
#endif

/*
 * insertion_is_dispatch(): sets `over`, or `rank`, one more than that of the latest it
 * finds, and remembers that one.
 */
inline insertion_is_dispatch()
{
	rank = 0;
	at = 0;
	do
	:: found_next(key, NONE, true);
	   if
	   :: f_at == NONE -> break
	   :: f_at != NONE && IS_SAME_KERNEL ->
		dispatches++;
		over = true;
		break
	   :: else ->
		d_step {
			if
			:: RANK_FROM_THIS ->
				rank = (RANK(f_life) + 1) % RANKS;
				b_gen = f_gen;
				b_slot = f_slot;
				b_life = f_life
			:: else
			fi
		}
	   fi
	od
}

/* ttm_index_may_have_other(): an entry with our tag, not our own */
inline may_have_rivals()
{
	at = 0;
	do
	:: at == ENTRIES -> break
	:: at < ENTRIES ->
		d_step {
			e = entry[at];
			at++;
			rival = (e != 0 && ENTRY_KEY(e) == key &&
				ENTRY_SLOT(e) != mine)
		}
		if
		:: rival -> break
		:: else
		fi
	od;
	atomic { e = 0; at = 0 }
}

inline find_mine()
{
	d_step {
		f_slot = mine;
		f_gen = mine_gen;
		f_on = PLACE(key);
		f_at = mine_at;
		f_life = LIFE(rank, my + 1)
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
	found_leave(ALL);
	left = 0
#else
	found_cas(0)
#endif
}

#define SAME_LOAD (KERNELS && f_value == OP_VALUE(op[my]))

/* insertion_superseded(): ours was not needed, or is counted and ends. */
inline insertion_superseded()
{
	if
	:: SAME_LOAD -> insertion_withdraw()
	:: else
	fi;
	if
	:: won -> dispatches++
	:: else ->
		alloc_count();
		find_mine();
		found_leave(ALL);
		free_count()
	fi
}

/* insertion_replaces_any() and insertion_replaces() */
inline insertion_replaces_any()
{
	at = 0;
	do
	:: found_next(key, mine, !RIVAL_LATER);
	   if
	   :: f_at == NONE -> break
	   :: f_at != NONE && !MAY_END
	   :: f_at != NONE && MAY_END ->
		found_leave(ALL);
		if
		:: won && !replaced && IS_SAME_KERNEL -> dispatches++; left = 0
		:: won && !replaced && !IS_SAME_KERNEL ->
			free_count();
			alloc_count()
		:: else -> free_count()
		fi;
		replaced = replaced || won;
		won = false
	   fi
	od
}

/* insertion_settle() */
inline insertion_settle()
{
	rival = false;
	at = 0;
	do
	:: found_next(key, mine, true);
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

/* insertion_begin(), and the look at the index that follows */
inline insertion_begin()
{
	supply_take();
	slot_write();
#ifdef NO_FENCE_AFTER_CAS
	/*
	 * What a machine may do whose CAS is a pair of exclusive load and store:
	 * the loads that follow are done before the store is seen by others.
	 */
	if
	:: may_have_rivals(); index_insert()
	:: index_insert(); may_have_rivals()
	fi
#else
	index_insert();
#ifndef NO_RESCAN
	may_have_rivals()
#endif
#endif
}

/* insert_boldly() and insertion_check() if `bold`, and then insert_careful() */
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
		at = 0;
		found_next(key, mine, true);
		if
		:: f_at == NONE -> rival = false
		:: else -> insertion_withdraw()
		fi
	   :: else
	   fi;
	   if
	   :: won -> atomic {
		won = false; rival = false; bold = false; mine = NONE;
		mine_gen = 0; mine_at = 0
	      }
#ifdef WITHDRAW_OR_COUNT
	   :: !won && bold -> alloc_count(); break
	   :: !won && !bold && rival -> insertion_settle(); break
#else
	   :: !won && rival -> insertion_settle(); break
#endif
	   :: !won && !rival -> alloc_count(); break
	   fi
	od
}

proctype Thread(byte me)
{
	byte my = me * OPS;	/* current operation */
	byte key, rank, mine = NONE, mine_gen, mine_at;
	byte at, e, f_at, f_slot, f_gen, f_on, f_key, f_value, f_life;
	byte i, wants, left, own;
	byte b_gen, b_slot, b_life;	/* the latest seen before the insertion */
	bool won, over, rival, replaced, bold = BOLD;

	do
	:: my == (me + 1) * OPS || op[my] == 0 -> break
	:: else ->
		note_begin();
		if
		:: OP_IS_PUT(op[my]) -> key = OP_KEY(op[my]); put()
		:: else -> remove()
		fi;
		atomic {
			puts = puts + OP_IS_PUT(op[my]);
			latest[my] = OP_DEVICES(op[my]);
			my++;
			key = 0; rank = 0; mine = NONE; mine_gen = 0; mine_at = 0;
			at = 0; e = 0; f_at = 0; f_slot = 0; f_gen = 0; f_on = 0;
			f_key = 0; f_value = 0; f_life = 0;
			wants = 0; left = 0; own = 0; b_gen = 0; b_slot = 0;
			b_life = 0; won = false; over = false; rival = false;
			replaced = false; bold = BOLD
		}
	od;
	done++
}

/* Sets `which` to the slot of key k that is live, if there is one. */
inline find_live()
{
	which = NONE;
	s = 0;
	do
	:: s < SLOTS ->
		if
		:: IS_LIVE(state[s]) && body_key[s] == k ->
			assert(which == NONE);
			which = s
		:: else
		fi;
		s++
	:: else -> break
	od
}

/* The operations that may have been the latest on device d leave what is live there. */
inline check_order()
{
	k = 0;
	find_live();
	d = 0;
	do
	:: d < DEVICES && (PLACE(0) >> d & 1) ->
		value = NONE;
		if
		:: which != NONE && (state[which] >> d & 1) ->
			value = body_value[which]
		:: else
		fi;
		right = (initial_latest >> d & 1) && value == 0;
		s = 0;
		do
		:: s < THREADS * OPS ->
			right = right || ((latest[s] >> d & 1) && value ==
				(OP_IS_PUT(op[s]) -> OP_VALUE(op[s]) : NONE));
			s++
		:: else -> break
		od;
		assert(right);
		d++
	:: else -> break
	od
}

/* Everybody has finished. */
inline check_rest()
{
	d_step {
		k = 0;
		do
		:: k < KEYS -> find_live(); k++
		:: else -> break
		od;
#ifdef ORDER
		check_order();
#endif
		s = 0;
		do
		:: s < SLOTS ->
			entries = 0;
			k = 0;
			do
			:: k < ENTRIES ->
				if
				:: entry[k] != 0 && ENTRY_SLOT(entry[k]) == s ->
					entries++;
					assert(ENTRY_KEY(entry[k]) == body_key[s])
				:: else
				fi;
				k++
			:: else -> break
			od;
			assert(entries == IS_LIVE(state[s]));
			assert(supply[s] == (state[s] == 0));
			d = 0;
			do
			:: d < DEVICES ->
				count[d] = count[d] - (state[s] >> d & 1);
				d++
			:: else -> break
			od;
			s++
		:: else -> break
		od;
		assert(count[0] == 0 && count[1] == 0 && count[2] == 0);
		assert(puts == allocs + dispatches);
#ifdef CHECK_MORE
		assert(CHECK_MORE)
#endif
	}
}

/* An object with this key that is live from the beginning. */
inline begin_with(k, s, a_rank)
{
	supply[s] = false;
	generation[s] = 2;
	state[s] = PLACE(k);
	body_key[s] = k;
	body_life[s] = LIFE(a_rank, 0);
	entry[s] = ENTRY(k, s);
	count[0] = count[0] + (PLACE(k) & 1);
	count[1] = count[1] + (PLACE(k) >> 1 & 1);
	count[2] = count[2] + (PLACE(k) >> 2 & 1);
	initial_latest = initial_latest | PLACE(k)
}

init
{
	byte s, k, d, which, value, entries;
	bool right;

	d_step {
		supply[0] = true; supply[1] = true; supply[2] = true;
		INITIAL
		SCRIPT
	}
	atomic {
		run Thread(0);
		run Thread(1);
#if THREADS > 2
		run Thread(2);
#endif
	}
	done == THREADS;
	check_rest()
}

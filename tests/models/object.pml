/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects come, are replaced, and go: lib/record/object.h, put.c, object.c, index.h.
 *
 * Threads put and remove objects of one or two keys. A slot's generation tells its
 * state: 0 free, 1 writing, 2 live, 3 free again ... A place is an entry of the
 * key's bucket: 0, or key and slot. Whoever takes a slot or a place takes the first
 * that is free, with ANY any. One epoch.
 *
 * A scenario (object_scenarios.h) is a list of operations for each thread. Checked:
 *
 *   always   a slot that comes back to the supply was not there, nobody writes a
 *            slot that is not its own, an entry that is cleared is the slot's own
 *   at rest  at most one live slot per key; it has one entry, other slots none;
 *            every slot is live or in the supply; allocs - frees == live slots;
 *            puts == allocs + dispatches
 *   ORDER    what is live at rest is what some order of the operations leaves, where
 *            one that began after another had returned comes after it
 *
 * STRICT: rules under which ORDER holds in more scenarios than with the code's. See
 * README.md.
 *
 * Memory is sequentially consistent, for each word that passes something on is
 * stored with release (or a CAS) and loaded with acquire. The exception is the CAS
 * of the insertion, whose store may be seen after the loads that follow: see
 * NO_FENCE_AFTER_CAS.
 */
#define SLOTS 3
#define PLACES 3
#define OPS 3		/* per thread */
#define NONE 15

#define IS_LIVE(g) ((g) % 3 == 2)
#define ENTRY(key, slot) ((key) * SLOTS + (slot) + 1)
#define ENTRY_KEY(e) (((e) - 1) / SLOTS)
#define ENTRY_SLOT(e) (((e) - 1) % SLOTS)

/* Operations: put a value under a key, remove the key. A value is at most 9. */
#define PUT(key, value) (100 + (key) * 10 + (value))
#define REMOVE(key) (200 + (key) * 10)
#define OP_IS_PUT(op) ((op) < 200)
#define OP_KEY(op) (((op) % 100) / 10)
#define OP_VALUE(op) ((op) % 10)

#include "object_scenarios.h"

#ifndef TURNS
#define TURNS 16	/* 256 in the code */
#endif

byte op[THREADS * OPS];

/* slots */
byte generation[SLOTS];
byte body_key[SLOTS];
byte body_turn[SLOTS];
byte body_value[SLOTS];	/* size and cores of a kernel */

byte place[PLACES];	/* the bucket */
bool supply[SLOTS];

/* the counters, summed over the lanes */
byte allocs, frees, dispatches, puts;

/* ghosts */
byte done;		/* threads that have finished */
byte began[THREADS * OPS];	/* 0 not begun, 1 began, 2 returned, 3 outdated */

/*
 * An operation begins: the puts that had returned before cannot be the last word on
 * the key any more, and a put says the same of removes.
 */
inline note_begin()
{
	d_step {
		i = 0;
		do
		:: i < THREADS * OPS ->
			if
			:: began[i] == 2 && OP_KEY(op[i]) == key &&
			   (OP_IS_PUT(op[i]) || OP_IS_PUT(op[my])) ->
				began[i] = 3
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0;
		began[my] = 1
	}
}

#ifdef NO_ENTRY_STANDS
#define ENTRY_STANDS true
#else
#define ENTRY_STANDS (place[at - 1] == e)
#endif

/*
 * found_next(), rival_next(): the next live object with this key. `wanted` is an
 * expression on f_turn and f_slot. Sets f_place, NONE if there is none.
 */
inline found_next(except, wanted)
{
	f_place = NONE;
	do
	:: at == PLACES -> break
	:: at < PLACES ->
		d_step {	/* ttm_probe_next_tagged: load of an entry */
			e = place[at];
			at++
		}
		if
		:: e == 0 || ENTRY_KEY(e) != key || ENTRY_SLOT(e) == except
		:: else ->
			d_step {	/* slot_read: first load of w0 */
				f_slot = ENTRY_SLOT(e);
				f_gen = generation[f_slot]
			}
			if
			:: !IS_LIVE(f_gen)
			:: else ->
				d_step {	/* slot_read: the body */
					f_key = body_key[f_slot];
					f_turn = body_turn[f_slot];
					f_value = body_value[f_slot]
				}
				/* slot_read: w0 again */
				if
				:: generation[f_slot] != f_gen
				:: else ->
					/* words_have_key, then entry_stands */
					if
					:: f_key == key && (wanted) &&
					   ENTRY_STANDS ->
						f_place = at - 1;
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
		:: f_place == NONE ->
			at = 0;
			f_slot = 0;
			f_gen = 0;
			f_turn = 0;
			f_value = 0
		:: else
		fi
	}
}

/*
 * is_later(): the signed difference of the turns, then the slot. Half way round is a
 * tie, too.
 */
#define TURN_DIFF(a, b) (((a) + TURNS - (b)) % TURNS)
#define TURN_MORE(a, b) \
	(TURN_DIFF(a, b) != 0 && TURN_DIFF(a, b) < TURNS / 2)
#define TURN_TIE(a, b) (TURN_DIFF(a, b) % (TURNS / 2) == 0)
#define IS_LATER(a_turn, a_slot, b_turn, b_slot) \
	(TURN_MORE(a_turn, b_turn) || \
		(TURN_TIE(a_turn, b_turn) && (a_slot) > (b_slot)))

#define RIVAL_LATER IS_LATER(f_turn, f_slot, turn, mine)
#define RIVAL_EARLIER (!RIVAL_LATER)

/*
 * put_may_end(): if its own object still stands now that the rival has been seen, or if
 * it saw the rival before it went in itself. Otherwise the rival may have come after a
 * remove that took our object.
 */
#ifdef ENDS_ANY
#define MAY_END(s, g) true
#else
#define MAY_END(s, g) \
	(generation[mine] == mine_gen || (b_gen == (g) && b_slot == (s)))
#endif

/* slot_free(): sets `won`. */
inline slot_free(s, g, p)
{
#ifdef FREE_WITHOUT_CAS
	if
	:: generation[s] == g -> generation[s] = g + 1; won = true
	:: else -> won = false
	fi;
#else
	d_step {
		won = (generation[s] == g);
		if
		:: won -> generation[s] = g + 1
		:: else
		fi
	}
#endif
	if
	:: !won
	:: else ->
#ifdef RECYCLE_BEFORE_CLEAR
		recycle(s);
#endif
		d_step {	/* ttm_index_clear */
			assert(place[p] == ENTRY(key, s));
			place[p] = 0
		}
	fi
}

/* ttm_supply_put() */
inline recycle(s)
{
	d_step {
		assert(!supply[s]);
		supply[s] = true
	}
}

/* free_commit(), with or without free_count() */
inline free_commit(s, counted)
{
#ifdef RECYCLE_BEFORE_CLEAR
	frees = frees + counted
#else
	d_step {
		frees = frees + counted;
		assert(!supply[s]);
		supply[s] = true
	}
#endif
}

/* found_end() */
inline found_end()
{
	slot_free(f_slot, f_gen, f_place);
	if
	:: won -> free_commit(f_slot, 1)
	:: else
	fi;
	won = false
}

/* The one in hand is the latest so far. */
inline keep_as_latest()
{
	b_gen = f_gen;
	b_slot = f_slot;
	b_turn = f_turn;
	b_place = f_place
}

inline swap_with_latest()
{
	i = f_gen; f_gen = b_gen; b_gen = i;
	i = f_slot; f_slot = b_slot; b_slot = i;
	i = f_turn; f_turn = b_turn; b_turn = i;
	i = f_place; f_place = b_place; b_place = i;
	i = 0
}

#ifndef STRICT
/* ttm_object_remove(): the first that is found */
inline remove()
{
	at = 0;
	do
	:: found_next(NONE, true);
	   if
	   :: f_place == NONE -> break
	   :: else ->
		slot_free(f_slot, f_gen, f_place);
		if
		:: won -> free_commit(f_slot, 1); won = false; break
		:: else -> at = 0
		fi
	   fi
	od
}
#else
/*
 * Of several that are live the latest is the object. The earlier ones are ended as
 * replaced while it stands, and it goes last.
 */
inline remove()
{
	do
	:: at = 0;
	   b_gen = 0;
	   do
	   :: found_next(NONE, true);
	      if
	      :: f_place == NONE -> break
	      :: f_place != NONE && b_gen == 0 -> d_step { keep_as_latest() }
	      :: else ->
		d_step {
			if
			:: IS_LATER(f_turn, f_slot, b_turn, b_slot) ->
				swap_with_latest()
			:: else
			fi
		}
		if
		:: generation[b_slot] != b_gen -> at = 0; b_gen = 0
		:: else -> found_end()
		fi
	      fi
	   od;
	   if
	   :: b_gen == 0 -> break	/* FREE_UNKNOWN */
	   :: else ->
		slot_free(b_slot, b_gen, b_place);
		if
		:: won -> free_commit(b_slot, 1); won = false; break
		:: else
		fi
	   fi
	od
}
#endif

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
	mine_gen = generation[mine];
	d_step {
		assert(mine_gen % 3 == 0);
		generation[mine] = mine_gen + 1
	}
	d_step {
		assert(generation[mine] == mine_gen + 1);
		body_key[mine] = key;
		body_turn[mine] = turn;
		body_value[mine] = OP_VALUE(op[my])
	}
	d_step {
		assert(generation[mine] == mine_gen + 1);
		mine_gen = mine_gen + 2;
		generation[mine] = mine_gen
	}
}

/* ttm_bucket_put() */
inline index_insert()
{
	atomic {
		if
		:: !place[0] -> mine_place = 0
		:: !place[1] && IF_FIRST(place[0]) -> mine_place = 1
		:: !place[2] && IF_FIRST(place[0] && place[1]) -> mine_place = 2
		fi;
		place[mine_place] = ENTRY(key, mine)
	}
}

/*
 * put_is_dispatch(): sets `over`, or `turn`, one more than that of the latest it
 * finds, and remembers that one.
 */
#ifdef TURN_OF_LAST
#define TURN_FROM_THIS true
#else
#define TURN_FROM_THIS (b_gen == 0 || TURN_MORE(f_turn, b_turn))
#endif

inline put_is_dispatch()
{
	turn = 0;
	at = 0;
	do
	:: found_next(NONE, true);
	   if
	   :: f_place == NONE -> break
	   :: else ->
		if
		:: KERNELS && f_value == OP_VALUE(op[my]) ->
			dispatches++;
			over = true;
			break
		:: else ->
			d_step {
				if
				:: TURN_FROM_THIS ->
					turn = (f_turn + 1) % TURNS;
					keep_as_latest()
				:: else
				fi
			}
		fi
	   fi
	od
}

/* ttm_index_may_have(), put_may_have_rivals(): an entry with our tag, not our own */
inline may_have_rivals()
{
	at = 0;
	do
	:: at == PLACES -> break
	:: at < PLACES ->
		d_step {
			e = place[at];
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

/* put_withdraw(): sets `won` */
inline put_withdraw()
{
	slot_free(mine, mine_gen, mine_place);
	if
	:: won -> free_commit(mine, 0)
	:: else
	fi
}

/* put_superseded() */
inline put_superseded()
{
	if
	:: KERNELS && f_value == OP_VALUE(op[my]) ->
		put_withdraw();
		if
		:: won -> dispatches++
		:: else -> allocs++	/* the later one took ours over */
		fi
	:: else ->
		allocs++;
		slot_free(mine, mine_gen, mine_place);	/* found_end(mine) */
		if
		:: won -> free_commit(mine, 1)
		:: else
		fi
	fi;
	won = false
}

/* put_replaces(), on e_slot */
inline put_replaces()
{
	if
	:: MAY_END(e_slot, e_gen) -> slot_free(e_slot, e_gen, e_place)
	:: else
	fi;
	if
	:: !won -> allocs++
	:: won && KERNELS && e_value == OP_VALUE(op[my]) ->
		free_commit(e_slot, 0);
		dispatches++
	:: else ->
		free_commit(e_slot, 1);
		allocs++
	fi;
	won = false
}

/* put_settle() */
inline put_settle()
{
	at = 0;
	do
	:: found_next(mine, true);
	   if
	   :: f_place == NONE -> break
	   :: f_place != NONE && RIVAL_LATER ->
		put_superseded();
		over = true;
		break
	   :: else ->
		d_step {
			e_slot = f_slot;
			e_gen = f_gen;
			e_place = f_place;
			e_value = f_value;
			rivals++
		}
	   fi
	od;
	if
	:: over -> over = false
	:: !over && rivals == 0 -> allocs++
	:: else ->
		put_replaces();
		if
		:: rivals > 1 ->
			at = 0;
			do
			:: found_next(mine, RIVAL_EARLIER);
			   if
			   :: f_place == NONE -> break
			   :: else ->
				if
				:: MAY_END(f_slot, f_gen) -> found_end()
				:: else
				fi
			   fi
			od
		:: else
		fi
	fi
}

/* put_enter(), and the look at the index that follows */
inline put_enter()
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

/* ttm_put_carefully() */
inline put_carefully()
{
	put_is_dispatch();
	if
	:: over -> over = false
	:: else ->
		put_enter();
		if
		:: rival -> put_settle()
		:: else -> allocs++
		fi
	fi
}

/* ttm_object_put() of a buffer, ttm_put_meets() */
inline put_boldly()
{
	turn = 0;
	put_enter();
	if
	:: rival ->
		at = 0;
		found_next(mine, true);
		if
		:: f_place != NONE -> put_withdraw()
		:: else
		fi;
		if
		:: won ->
			atomic {
				won = false; rival = false; mine = NONE;
				mine_gen = 0; mine_place = 0
			}
			put_carefully()
		:: else -> allocs++
		fi
	:: else -> allocs++
	fi
}

proctype Thread(byte me)
{
	byte my = me * OPS;	/* current operation */
	byte key, turn, mine = NONE, mine_gen, mine_place;
	byte at, e, f_place, f_slot, f_gen, f_key, f_turn, f_value;
	byte i;
	byte b_gen, b_slot, b_turn, b_place;	/* the latest seen */
	byte e_slot, e_gen, e_place, e_value, rivals;	/* the last earlier one */
	bool won, over, rival;

	do
	:: my == (me + 1) * OPS || op[my] == 0 -> break
	:: else ->
		key = OP_KEY(op[my]);
		note_begin();
		if
		:: !OP_IS_PUT(op[my]) -> remove()
		:: OP_IS_PUT(op[my]) && BOLD -> put_boldly()
		:: OP_IS_PUT(op[my]) && !BOLD -> put_carefully()
		fi;
		atomic {
			puts = puts + OP_IS_PUT(op[my]);
			began[my] = 2;
			my++;
			key = 0; turn = 0; mine = NONE; mine_gen = 0;
			mine_place = 0; at = 0; e = 0; f_place = 0; f_slot = 0;
			f_gen = 0; f_key = 0; f_turn = 0; f_value = 0;
			b_gen = 0; b_slot = 0; b_turn = 0; b_place = 0;
			e_slot = 0; e_gen = 0; e_place = 0; e_value = 0; rivals = 0;
			won = false; over = false; rival = false
		}
	od;
	done++
}

/* Everybody has finished. */
inline check_rest()
{
	d_step {
		live = 0;
		k = 0;
		do
		:: k < KEYS ->
			live_of_key = 0;
			which = NONE;
			s = 0;
			do
			:: s < SLOTS ->
				if
				:: IS_LIVE(generation[s]) && body_key[s] == k ->
					live_of_key++;
					which = s
				:: else
				fi;
				s++
			:: else -> break
			od;
			assert(live_of_key <= 1);
			live = live + live_of_key;

			/* Is there an operation that may have been the last? */
			right = false;
			s = 0;
			do
			:: s < THREADS * OPS ->
				if
				:: op[s] == 0 || OP_KEY(op[s]) != k
				:: else ->
					if
					:: began[s] == 2 && OP_IS_PUT(op[s]) &&
					   live_of_key == 1 &&
					   OP_VALUE(op[s]) == body_value[which] ->
						right = true
					:: began[s] == 2 && !OP_IS_PUT(op[s]) &&
					   live_of_key == 0 ->
						right = true
					:: else
					fi
				fi;
				s++
			:: else -> break
			od;
#ifdef ORDER
			assert(right);
#endif
			k++
		:: else -> break
		od;

		s = 0;
		do
		:: s < SLOTS ->
			entries = 0;
			k = 0;
			do
			:: k < PLACES ->
				if
				:: place[k] == 0
				:: place[k] != 0 && ENTRY_SLOT(place[k]) == s ->
					entries++;
					assert(ENTRY_KEY(place[k]) == body_key[s])
				:: else
				fi;
				k++
			:: else -> break
			od;
			assert(entries == (IS_LIVE(generation[s]) -> 1 : 0));
			assert(supply[s] == !IS_LIVE(generation[s]));
			s++
		:: else -> break
		od;

		assert(allocs - frees == live);
		assert(puts == allocs + dispatches - INITIAL);
#ifdef CHECK_MORE
		assert(CHECK_MORE)
#endif
	}
}

init
{
	byte s, k, live, live_of_key, which, entries;
	bool right;

	d_step {
		s = 0;
		do
		:: s < SLOTS -> supply[s] = true; s++
		:: else -> break
		od;
#if INITIAL
		/* An object of key 0 that is live from the beginning. */
		supply[INITIAL_SLOT] = false;
		generation[INITIAL_SLOT] = 2;
		body_turn[INITIAL_SLOT] = INITIAL_TURN;
		place[INITIAL_PLACE] = ENTRY(0, INITIAL_SLOT);
		allocs = 1;
#endif
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

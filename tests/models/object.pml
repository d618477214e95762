/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of an object: it is inserted, freed, wholly or on some of its devices
 * ("shrunk"), and its slot and index entry are used again: lib/record/object.h, insert.c, remove.c,
 * index.h. No insertion meets another object with its key here; rivals.pml has these.
 *
 * A slot's w0 has a generation, a state and the devices that the object is on. Each
 * change adds 1 to the generation, so equal generations mean equal w0. A key is a place
 * of allocation and an id. The index is one bucket; an entry is 0, or key and slot. A
 * thread takes any free slot and any free entry.
 *
 * A scenario is a list of calls for each thread. Checked:
 *
 *   always   the supply gets a slot once, only the owner writes a slot, an object clears
 *            its own entry
 *   at rest  each live slot has one entry, and other slots have none; each slot is live
 *            or in the supply; on each device allocations - frees are the live slots; the
 *            devices of each key are those that the scenario leaves
 *
 * Memory is sequentially consistent, because each word that publishes something is stored
 * with release (or a CAS) and loaded with acquire.
 */
#define SLOTS 3
#define ENTRIES 3
#define OPS 3		/* per thread */
#define DEVICES 3
#define NONE 15

/* Insert under a key; free an id on some devices (a mask). */
#define PUT(key) (100 + (key) * 10)
#define FREE(id, devices) (200 + (id) * 10 + (devices))
#define OP_IS_PUT(op) ((op) < 200)
#define OP_KEY(op) (((op) % 100) / 10)	/* or id */
#define OP_DEVICES(op) ((op) % 10)

/* LEAVES: the devices of key 0 at rest. */
#define T0(a, b, c) op[0] = a; op[1] = b; op[2] = c;
#define T1(a, b, c) op[OPS] = a; op[OPS + 1] = b; op[OPS + 2] = c;
#define T2(a) op[2 * OPS] = a;

#if defined(FREE_FREE)
#define SCRIPT T0(FREE(0, 3), 0, 0) T1(FREE(0, 3), 0, 0)
#define LEAVES 0
#elif defined(FREE_REUSE)		/* the slot comes back under the same key */
#define SCRIPT T0(FREE(0, 3), 0, 0) T1(FREE(0, 3), PUT(0), FREE(0, 3))
#define LEAVES 0
#elif defined(TWO_IDS)			/* slots and entries change their key */
#define KEYS 2
#define SCRIPT T0(FREE(0, 3), PUT(1), PUT(0)) T1(FREE(0, 3), 0, 0)

#elif defined(PART_PART)		/* each thread frees one device */
#define SCRIPT T0(FREE(0, 1), 0, 0) T1(FREE(0, 2), 0, 0)
#define LEAVES 0
#elif defined(PARTS_OVERLAP)
#define PLACE(key) 7
#define SCRIPT T0(FREE(0, 3), 0, 0) T1(FREE(0, 6), 0, 0)
#define LEAVES 0
#elif defined(PARTS_THREE)		/* one device stays, and a CAS may fail twice */
#define THREADS 3
#define PLACE(key) 7
#define SCRIPT T0(FREE(0, 3), 0, 0) T1(FREE(0, 2), 0, 0) T2(FREE(0, 1))
#define LEAVES 4
#elif defined(PART_REUSE)		/* the slot comes back under the same key */
#define SCRIPT T0(FREE(0, 1), 0, 0) T1(FREE(0, 3), PUT(0), 0)
#elif defined(PART_REUSE_OTHER)		/* and under another one */
#define KEYS 2
#define SCRIPT T0(FREE(0, 1), 0, 0) T1(FREE(0, 3), PUT(1), 0)
#define LEAVES 0
#elif defined(TWO_PLACES)		/* one id on device 0 and on device 1, freed together */
#define KEYS 2
#define ID(key) 0
#define PLACE(key) ((key) + 1)
#define LIVE_TOO
#define SCRIPT T0(FREE(0, 3), 0, 0) T1(FREE(0, 1), PUT(0), 0)
#elif defined(TWO_PLACES_OVERLAP)	/* device 1 has the id twice: one goes at a time */
#define KEYS 2
#define ID(key) 0
#define PLACE(key) (2 + (key))
#define LIVE_TOO
#define SCRIPT T0(FREE(0, 2), 0, 0) T1(FREE(0, 3), 0, 0)
#define LEAVES 0
#endif

#ifndef THREADS
#define THREADS 2
#endif
#ifndef KEYS
#define KEYS 1
#endif
#ifndef ID
#define ID(key) (key)
#endif
#ifndef PLACE
#define PLACE(key) 3
#endif

byte op[THREADS * OPS];

/* slots; the state of a live one is its devices */
#define WRITING 8
#define IS_LIVE(state) ((state) != 0 && (state) != WRITING)
byte generation[SLOTS], state[SLOTS];
byte body_key[SLOTS];
byte body_life[SLOTS];	/* time of the allocation: differs for each */

#define ENTRY(key, slot) ((key) * SLOTS + (slot) + 1)
#define ENTRY_KEY(e) (((e) - 1) / SLOTS)
#define ENTRY_SLOT(e) (((e) - 1) % SLOTS)
byte entry[ENTRIES];
bool supply[SLOTS];

short count[DEVICES];	/* allocations - frees, of all threads */
byte done;

inline devices_count(devices, change)
{
	count[0] = count[0] + ((devices) & 1) * (change);
	count[1] = count[1] + ((devices) >> 1 & 1) * (change);
	count[2] = count[2] + ((devices) >> 2 & 1) * (change)
}

/*
 * ttm_line_find_acquire(): the entries with this key's tag, one load after the other. A
 * search loads only these again.
 */
#define HAS_TAG(at) (entry[at] != 0 && ENTRY_KEY(entry[at]) == key)
inline line_find()
{
	mask = HAS_TAG(0);
	d_step { mask = mask | HAS_TAG(1) << 1 }
	d_step { mask = mask | HAS_TAG(2) << 2 }
}

/* ttm_slot_copy(): sets f_gen, f_on (0: not live), f_key and `life`. */
inline slot_copy(life)
{
	do
	:: d_step { f_gen = generation[f_slot]; f_on = state[f_slot] }
	   if
	   :: !IS_LIVE(f_on) -> f_on = 0; break
	   :: else ->
		d_step { f_key = body_key[f_slot]; life = body_life[f_slot] }
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

#ifdef NO_ENTRY_STANDS
#define ENTRY_STANDS true
#else
#define ENTRY_STANDS (entry[at] == e)
#endif

/* ttm_key_find(): an object with this key on these devices. Sets f_at; NONE: there is none. */
inline key_find(devices)
{
	f_at = NONE;
	line_find();
	do
	:: mask == 0 -> break
	:: else ->
		d_step {	/* ttm_search_next() */
			at = (mask & 1 -> 0 : (mask & 2 -> 1 : 2));
			mask = mask & ~(1 << at);
			e = entry[at];
			f_slot = (HAS_TAG(at) -> ENTRY_SLOT(e) : NONE)
		}
		if
		:: f_slot == NONE
		:: else ->
			slot_copy(f_life);
			if	/* words_have_key(), then entry_stands() */
			:: f_key == key && (f_on & (devices)) && ENTRY_STANDS ->
				f_at = at;
				break
			:: else
			fi
		fi
	od;
	atomic {
		e = 0; at = 0; mask = 0; f_key = 0;
		if
		:: f_at == NONE -> f_slot = 0; f_gen = 0; f_on = 0; f_life = 0
		:: else
		fi
	}
}

inline recycle()	/* ttm_supply_put() */
{
	assert(!supply[f_slot]);
	supply[f_slot] = true
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
		d_step { recycle() }
#endif
		d_step {	/* ttm_index_clear() */
			assert(entry[f_at] == ENTRY(body_key[f_slot], f_slot));
			entry[f_at] = 0
		}
#ifndef RECYCLE_BEFORE_CLEAR
		d_step { recycle() }
#endif
	:: else
	fi
}

/* ttm_found_renew(): the object that was found; f_on is 0 if it is gone. */
inline found_renew()
{
	slot_copy(life);
	if
	:: life == f_life && f_on != 0 && entry[f_at] == ENTRY(key, f_slot)
	:: else -> f_on = 0
	fi;
	atomic { life = 0; f_key = 0 }
}

#ifdef SHRINKS_COUNT_ALL
#define LEFT f_on
#else
#define LEFT left
#endif

/* ttm_found_leave(): sets `left`, the devices that the object that was found has left. */
inline found_leave(devices)
{
	do
	:: left = f_on & (devices);
	   if
	   :: left == 0 -> break
	   :: else ->
		found_cas(f_on & ~left);
		if
		:: won -> d_step { devices_count(LEFT, -1) }; break
		:: else -> found_renew()
		fi
	   fi
	od;
	won = false
}

/* key_leave(): looks again while another thread is faster. */
inline key_leave()
{
	do
	:: key_find(wants);
	   if
	   :: f_at == NONE -> left = 0; break
	   :: else ->
		found_leave(wants);
		if
		:: left != 0 -> break
		:: else
		fi
	   fi
	od;
	wants = wants & ~left;
	left = 0
}

/* key_remove(): the caller's own place first, then the others that have the id. */
inline remove()
{
	wants = OP_DEVICES(op[my]);
#if KEYS > 1
	own = (ID(1) == OP_KEY(op[my]) && PLACE(1) == wants);
#endif
	key = own;
	do
	:: if
	   :: ID(key) == OP_KEY(op[my]) -> key_leave()
	   :: else
	   fi;
	   key = (key + 1) % KEYS;
	   if
	   :: key == own || wants == 0 -> break
	   :: else
	   fi
	od	/* FREE_UNKNOWN if wants != 0 */
}

/* insert_boldly(), without a rival */
inline put()
{
	key = OP_KEY(op[my]);
	atomic {	/* ttm_supply_take_peeked() */
		if
		:: supply[0] -> f_slot = 0
		:: supply[1] -> f_slot = 1
		:: supply[2] -> f_slot = 2
		fi;
		supply[f_slot] = false
	}
	d_step {	/* slot_begin() */
		assert(state[f_slot] == 0);
		f_gen = generation[f_slot] + 2;
		generation[f_slot] = f_gen - 1;
		state[f_slot] = WRITING
	}
	d_step { body_key[f_slot] = key; body_life[f_slot] = my + 1 }
	d_step {	/* slot_end() */
		assert(generation[f_slot] == f_gen - 1);
		generation[f_slot] = f_gen;
		state[f_slot] = PLACE(key)
	}
	atomic {	/* ttm_bucket_put() */
		if
		:: !entry[0] -> f_at = 0
		:: !entry[1] -> f_at = 1
		:: !entry[2] -> f_at = 2
		fi;
		entry[f_at] = ENTRY(key, f_slot)
	}
	d_step { devices_count(PLACE(key), 1) }
}

proctype Thread(byte me)
{
	byte my = me * OPS;	/* the current operation */
	byte key, own, wants, left, life;
	byte mask, at, e, f_at, f_slot, f_gen, f_on, f_key, f_life;
	bool won;

	do
	:: my == (me + 1) * OPS || op[my] == 0 -> break
	:: else ->
		if
		:: OP_IS_PUT(op[my]) -> put()
		:: else -> remove()
		fi;
		atomic {
			my++;
			key = 0; own = 0; wants = 0; f_at = 0; f_slot = 0;
			f_gen = 0; f_on = 0; f_life = 0
		}
	od;
	done++
}

/* All threads have finished. */
inline check_rest()
{
	d_step {
		s = 0;
		do
		:: s < SLOTS ->
			k = ENTRY(body_key[s], s);
			assert(IS_LIVE(state[s]) ==
				((entry[0] == k) + (entry[1] == k) + (entry[2] == k)));
			assert(supply[s] == (state[s] == 0));
			devices_count(state[s], -1);
			if
			:: IS_LIVE(state[s]) && body_key[s] == 0 ->
				assert(on == 0);
				on = state[s]
			:: else
			fi;
			s++
		:: else -> break
		od;
		assert(count[0] == 0 && count[1] == 0 && count[2] == 0);
#ifdef LEAVES
		assert(on == LEAVES)
#endif
	}
}

/* An object with this key that is live from the beginning. */
inline begin_with(k, s)
{
	supply[s] = false;
	generation[s] = 2;
	state[s] = PLACE(k);
	body_key[s] = k;
	entry[s] = ENTRY(k, s);
	devices_count(PLACE(k), 1)
}

init
{
	byte s, k, on;

	d_step {
		supply[0] = true; supply[1] = true; supply[2] = true;
		begin_with(0, 1);
#ifdef LIVE_TOO
		begin_with(1, 0);
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

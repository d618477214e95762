/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers on several devices: lib/record/group.h, group.c, and what found.h, put.c,
 * object.c and object.h do for objects that are in a group or may meet one.
 *
 * An eight has two devices here, and an octet two slots: device d is in the octet's
 * slot d. Slots 0 to 3 are two octets, the others are of objects by themselves
 * (singles). All entries are in one bucket, whose places are 0 or a tag and a slot.
 * There is a tag for the singles of each device and one for groups, whose entry names the
 * octet's first slot. A slot's generation tells its state, as in object.pml: 0 free, 1
 * writing, 2 live, 3 free again ... Whoever takes a slot, an octet or a place takes
 * the first that is free, with ANY any. One epoch.
 *
 * The word of an octet, and what is done to it, is as in group.h, with two bits for
 * the slots that are there and two for those that are going.
 *
 * A scenario (group_scenarios.h) is a list of operations for each thread: a mesh of
 * both devices puts or removes an id, a device by itself does. Checked:
 *
 *   always   who clears a place finds its own entry there, of the octet's current
 *            use; an octet that is given back was in use, none of its slots is live,
 *            and its word has no bits; what is claimed is live, and nobody else has
 *            claimed it; a plain store frees a slot only for who claimed it, and finds
 *            the object there that was seen; who stores the word plainly finds it as
 *            it left it; bits that are taken away were there; a slot that comes back to
 *            the supply was not there; nobody writes a slot that is not its own
 *   at rest  at most one live object per device and id; an octet has one entry while
 *            a slot of it is live, else none and is free; the slots that are live are
 *            those that its word says are there, and none is going; a single has one
 *            entry while it is live, else none and is free; allocs == objects put;
 *            allocs - frees == live slots; where every order of the calls leaves an
 *            object on each device (ALL_LIVE), there is one
 *
 * Memory is sequentially consistent: the stores that others have to see in time are a
 * CAS, or before one. That is why `groups` may be a plain store: see
 * GROUPS_ANNOUNCED_LATE; and see MEMBERS_BEFORE_ENTRY for loads that are done early.
 */
#define DEVICES 2
#define OCTETS 2
#define OCTET_SLOTS (OCTETS * DEVICES)
#define SLOTS (OCTET_SLOTS + SINGLES)
#define OPS 3		/* per thread */
#define NONE 15

#define IS_LIVE(g) ((g) % 3 == 2)
#define GROUP 2		/* beside the devices 0 and 1 */
#define TAG(id, kind) ((id) * 3 + (kind))
#define ENTRY(tag, slot) ((tag) * 8 + (slot) + 1)
#define ENTRY_TAG(e) (((e) - 1) / 8)
#define ENTRY_SLOT(e) (((e) - 1) % 8)
#define OCTET_OF(slot) ((slot) / DEVICES)

/* The word of an octet: TTM_OCTET_THERE() and so on. */
#define ALL 3		/* both slots */
#define BIT(slot) (1 << ((slot) % DEVICES))
#define THERE(w) ((w) % 4)
#define BITS(w) ((w) % 16)
#define USE(w) ((w) / 16)
#define GOING(bits) ((bits) * 4)
#define NEXT(w, bits) ((w) + 16 + (bits))
#ifdef DROPPED_AT_CLAIM
#define CLAIMED(w, bits) ((w) - (bits))
#else
#define CLAIMED(w, bits) ((w) + GOING(bits) - (bits))
#endif
#define GONE(w) ((w) - BITS(w))

/* Operations, on an id: `kind` is a device, or GROUP for a mesh of both. */
#define PUT(kind, id) (10 + (kind) + (id) * 3)
#define REMOVE(kind, id) (20 + (kind) + (id) * 3)
#define OP_IS_PUT(op) ((op) < 20)
#define OP_KIND(op) ((op) % 10 % 3)
#define OP_ID(op) ((op) % 10 / 3)

#include "group_scenarios.h"

byte op[THREADS * OPS];

/* slots */
byte generation[SLOTS];
byte body_id[SLOTS];
byte body_device[SLOTS];
byte body_turn[SLOTS];

byte place[PLACES];	/* the bucket */
bool supply[SLOTS];	/* singles that are free */
bool octet_free[OCTETS];
byte word[OCTETS];

/* the announcements */
bool groups;
byte singles;		/* a bit for each device */

/* the counters, summed over the lanes */
byte allocs, frees;

/* ghosts */
byte puts;		/* objects that the operations put */
byte done;		/* threads that have finished */
byte use[OCTETS];	/* how many times it was taken */
byte place_use[PLACES];	/* the use that an entry is of */
byte claimer[OCTET_SLOTS];	/* thread + 1, until the slot is free */

/* Of what is free the first, or with ANY any. */
#ifdef ANY
#define IF_FIRST(others) true
#else
#define IF_FIRST(others) (others)
#endif

/* -- the index ---------------------------------------------------------------------- */

/* ttm_bucket_put() */
inline index_insert(entry, its_use)
{
	atomic {
		if
		:: !place[0] -> mine_place = 0
		:: !place[1] && IF_FIRST(place[0]) -> mine_place = 1
#if PLACES > 2
		:: !place[2] && IF_FIRST(place[0] && place[1]) -> mine_place = 2
#endif
#if PLACES > 3
		:: !place[3] && IF_FIRST(place[0] && place[1] && place[2]) ->
			mine_place = 3
#endif
		fi;
		place[mine_place] = entry;
		place_use[mine_place] = its_use
	}
}

/* ttm_index_has_other(): whether there is an entry with that tag, but for `mine` */
inline index_has_other(tag, except)
{
	at = 0;
	do
	:: d_step {
		at < PLACES && !rival ->
		rival = (place[at] != 0 && ENTRY_TAG(place[at]) == (tag) &&
			ENTRY_SLOT(place[at]) != (except));
		at++
	   }
	:: else -> break
	od;
	at = 0
}

#ifdef NO_ENTRY_STANDS
#define ENTRY_STANDS(p, e) true
#else
#define ENTRY_STANDS(p, e) (place[p] == (e))
#endif

/*
 * ttm_found_next(), rival_next(): the next live object of the device and id, those by
 * themselves first, then those in groups. Sets f_place, NONE if there is none, and
 * f_word: 0 for one by itself.
 */
#define KIND (in_groups -> GROUP : device)
#define FOUND_SLOT (ENTRY_SLOT(place[at]) + (in_groups -> device : 0))
#define IS_WANTED(except) \
	(place[at] != 0 && ENTRY_TAG(place[at]) == TAG(id, KIND) && \
		FOUND_SLOT != (except))

/* ttm_octet_with() */
inline octet_with()
{
	if
	:: !in_groups
	:: d_step {
		in_groups ->
		f_word = (word[OCTET_OF(f_slot)] & BIT(f_slot) ->
			word[OCTET_OF(f_slot)] : 0)
	   }
	fi
}

#define HAS_WORD (f_word || !in_groups)
#ifdef WORD_AFTER_SLOT
#define MAY_READ true
#else
#define MAY_READ HAS_WORD
#endif

inline found_next(except)
{
	f_place = NONE;
	do
	/* search_groups: load of process->groups */
	:: at == PLACES && (in_groups || !groups) -> break
	:: d_step { at == PLACES && !in_groups && groups -> in_groups = true; at = 0 }
	/* ttm_search_next: load of an entry */
	:: d_step { at < PLACES && !IS_WANTED(except) -> at++ }
	:: d_step {
		at < PLACES && IS_WANTED(except) ->
		e = place[at];
		f_slot = FOUND_SLOT;
		f_word = 0;
		at++
	   }
#ifndef WORD_AFTER_SLOT
	   octet_with();
#endif
	   if	/* slot_read: first load of w0 */
	   :: !MAY_READ || !IS_LIVE(generation[f_slot])
	   :: d_step {
		MAY_READ && IS_LIVE(generation[f_slot]) ->
		f_gen = generation[f_slot]
	      }
	      d_step {	/* slot_read: the body */
		f_has_key = (body_id[f_slot] == id &&
			body_device[f_slot] == device);
		f_turn = body_turn[f_slot]
	      }
	      if	/* slot_read: w0 again; words_have_key */
	      :: generation[f_slot] != f_gen || !f_has_key
	      :: else ->
#ifdef WORD_AFTER_SLOT
		octet_with();
#endif
		if	/* entry_stands */
		:: HAS_WORD && ENTRY_STANDS(at - 1, e) -> f_place = at - 1; break
		:: else
		fi
	      fi
	   fi
	od;
	atomic {
		e = 0;
		f_has_key = false;
		if
		:: f_place == NONE ->
			at = 0; in_groups = false;
			f_slot = 0; f_gen = 0; f_turn = 0; f_word = 0
		:: else
		fi
	}
}

/* -- octets --------------------------------------------------------------------------- */

/* A claim has been made: what it must find. */
inline octet_has_claimed(s)
{
	assert(IS_LIVE(generation[s]));
	assert(claimer[s] == 0);
	claimer[s] = me + 1
}

#ifdef DROPPED_AT_CLAIM
#define NOTE_LAST(o) dropped_last = (dropped_last || BITS(word[o]) == 0)
#else
#define NOTE_LAST(o) skip
#endif

#ifdef NO_USE_COUNT
#define IS_OF_USE(w, seen) true
#else
#define IS_OF_USE(w, seen) (USE(w) == USE(seen))
#endif
#ifdef NO_BIT
#define IS_THERE(w, s, seen) IS_OF_USE(w, seen)
#else
#define IS_THERE(w, s, seen) (IS_OF_USE(w, seen) && ((w) & BIT(s)))
#endif

/* ttm_octet_claim(): its loop ends with a CAS, or a load that says no. Sets `won`. */
inline octet_claim(s, seen)
{
#ifdef CLAIM_WITHOUT_CAS
	claim_word = word[OCTET_OF(s)];
	won = IS_THERE(claim_word, s, seen);
	if
	:: d_step {
		won ->
		word[OCTET_OF(s)] = CLAIMED(claim_word, BIT(s));
		octet_has_claimed(s)
	   }
	:: else
	fi;
	claim_word = 0
#else
	d_step {
		won = IS_THERE(word[OCTET_OF(s)], s, seen);
		if
		:: won ->
			word[OCTET_OF(s)] = CLAIMED(word[OCTET_OF(s)], BIT(s));
			NOTE_LAST(OCTET_OF(s));
			octet_has_claimed(s)
		:: else
		fi
	}
#endif
}

/*
 * The CAS of group_remove(), of all that was seen there, from the very word. Sets `won`;
 * f_word is as it claimed it then.
 */
#ifdef MESH_NO_USE_COUNT
#define IS_WORD(o) (BITS(word[o]) == BITS(f_word))
#define CLAIM_FROM(o) word[o]
#else
#define IS_WORD(o) (word[o] == f_word)
#define CLAIM_FROM(o) f_word
#endif

inline octet_claim_all(o, bits)
{
#ifdef CLAIM_WITHOUT_CAS
	won = IS_WORD(o);
#endif
	d_step {
#ifndef CLAIM_WITHOUT_CAS
		won = IS_WORD(o);
#endif
		if
		:: won ->
			f_word = CLAIMED(CLAIM_FROM(o), bits);
			word[o] = f_word;
			NOTE_LAST(o);
			if
			:: (bits) & 1 -> octet_has_claimed((o) * DEVICES)
			:: else
			fi;
			if
			:: (bits) & 2 -> octet_has_claimed((o) * DEVICES + 1)
			:: else
			fi
		:: else
		fi
	}
}

/* slot_free_claimed(): a plain store */
inline slot_free_claimed(s, g)
{
	d_step {
		assert(claimer[s] == me + 1);
		assert(generation[s] == (g) && IS_LIVE(g));
		generation[s] = (g) + 1;
		claimer[s] = 0
	}
}

/* ttm_index_clear() for a group: `leave_use` is the use that ended */
inline group_clear(o, p)
{
	d_step {
		assert(place[p] != 0 && ENTRY_TAG(place[p]) % 3 == GROUP &&
			ENTRY_SLOT(place[p]) == (o) * DEVICES);
		assert(place_use[p] == leave_use);
		place[p] = 0;
		place_use[p] = 0
	}
}

/* ttm_octet_put() */
inline octet_put(o)
{
	d_step {
		assert(!octet_free[o]);
		assert(use[o] == leave_use);
		assert(BITS(word[o]) == 0);
		assert(!IS_LIVE(generation[(o) * DEVICES]) &&
			!IS_LIVE(generation[(o) * DEVICES + 1]));
		octet_free[o] = true
	}
}

/* octet_end() */
inline octet_end(o, p)
{
#ifdef OCTET_BEFORE_CLEAR
	octet_put(o);
	group_clear(o, p)
#else
#ifndef LAST_DOES_NOT_CLEAR
	group_clear(o, p);
#endif
	octet_put(o)
#endif
}

/* ttm_octet_leave(): a fetch-and-add */
#ifdef GOING_IGNORED
#define IS_LAST(w, bits) (THERE(w) == 0)
#else
#define IS_LAST(w, bits) (BITS(w) == GOING(bits))
#endif

inline octet_leave(o, p, bits)
{
#if defined(DROPPED_AT_CLAIM)
	d_step { leave_last = dropped_last; dropped_last = false; leave_use = use[o] }
#elif defined(LEAVE_WITHOUT_CAS)
	leave_word = word[o];
	d_step {
		leave_last = IS_LAST(leave_word, bits);
		word[o] = leave_word - GOING(bits);
		leave_word = 0;
		leave_use = use[o]
	}
#elif defined(LEAVE_READ_AGAIN)
	word[o] = word[o] - GOING(bits);
	d_step { leave_last = (BITS(word[o]) == 0); leave_use = use[o] }
#else
	d_step {
		assert((word[o] & GOING(bits)) == GOING(bits));
		leave_last = IS_LAST(word[o], bits);
		word[o] = word[o] - GOING(bits);
		leave_use = use[o]
	}
#endif
	if
	:: leave_last -> octet_end(o, p)
	:: else
	fi;
	d_step { leave_last = false; leave_use = 0 }
}

/* The end of group_remove() */
#ifdef PLAIN_END_ALWAYS
#define HAS_OTHERS (THERE(f_word) != 0)
#else
#define HAS_OTHERS (BITS(f_word) != GOING(gone))
#endif

inline octet_end_all(o, p)
{
	if
	:: HAS_OTHERS -> octet_leave(o, p, gone)
	:: else ->
		d_step {	/* a plain store */
			assert(word[o] == f_word);
			word[o] = GONE(f_word);
			leave_use = use[o]
		}
		octet_end(o, p);
		leave_use = 0
	fi
}

/* -- an object goes ------------------------------------------------------------------- */

/* slot_free(), of a single: sets `won`. */
inline slot_free(s, g)
{
	d_step {
		won = (generation[s] == (g));
		if
		:: won -> generation[s]++
		:: else
		fi
	}
}

/* ttm_index_clear() for a single */
inline single_clear(s, p)
{
	d_step {
		assert(place[p] == ENTRY(TAG(id, device), s));
		place[p] = 0
	}
}

/* ttm_supply_put() */
inline supply_put(s)
{
	d_step {
		assert(s >= OCTET_SLOTS);
		assert(!supply[s]);
		supply[s] = true
	}
}

/* ttm_found_free() */
inline found_free()
{
	if
	:: f_word ->
		octet_claim(f_slot, f_word);
		if
		:: won ->
#ifdef LEAVE_BEFORE_FREE
			octet_leave(OCTET_OF(f_slot), f_place, BIT(f_slot));
#endif
			slot_free_claimed(f_slot, f_gen)
		:: else
		fi
	:: else ->
		slot_free(f_slot, f_gen);
		if
		:: won -> single_clear(f_slot, f_place)
		:: else
		fi
	fi
}

/* ttm_found_recycle() */
inline found_recycle()
{
	if
#ifdef LEAVE_BEFORE_FREE
	:: f_word
#else
	:: f_word -> octet_leave(OCTET_OF(f_slot), f_place, BIT(f_slot))
#endif
	:: else -> supply_put(f_slot)
	fi
}

/* ttm_remove_rarely(), which the short ways lead to: they do the same with one look */
inline remove()
{
	do
	:: at = 0;
	   in_groups = false;
	   found_next(NONE);
	   if
	   :: f_place == NONE -> break	/* FREE_UNKNOWN */
	   :: else ->
		found_free();
		if
		:: won -> frees++; found_recycle(); won = false; break
		:: else
		fi
	   fi
	od
}

/* group_remove(): all that was claimed, member_remove() for each */
inline members_remove()
{
	device = 0;
	do
	:: device == DEVICES -> break
	:: else ->
		if
		:: gone & (1 << device) ->
			f_slot = octet * DEVICES + device;
#ifdef MEMBERS_BEFORE_ENTRY
			f_gen = (device == 0 -> mine_gen_0 : mine_gen_1);
#else
			f_gen = generation[f_slot];
#endif
			slot_free_claimed(f_slot, f_gen);
			frees++
		:: else
		fi;
		device++
	od
}

/* ttm_group_remove(): group_find(), group_remove(). Sets `todo`: what it left */
inline group_remove()
{
	todo = ALL;
	f_place = NONE;
	at = 0;
	do
	:: d_step {	/* ttm_bucket_find */
		at < PLACES && f_place == NONE ->
		if
		:: place[at] != 0 && ENTRY_TAG(place[at]) == TAG(id, GROUP) ->
			e = place[at];
			f_place = at
		:: else
		fi;
		at++
	   }
	:: else -> break
	od;
	at = 0;
	if
	:: f_place == NONE
	:: else ->
		d_step {	/* load of the word */
			octet = OCTET_OF(ENTRY_SLOT(e));
			f_word = word[octet];
			gone = THERE(f_word);
			f_slot = octet * DEVICES + (gone & 1 -> 0 : 1)
		}
		/* The first of what is there stands for all. */
		if
		:: !gone
		:: else ->
			f_gen = generation[f_slot];
			f_has_key = (body_id[f_slot] == id);
#ifdef MEMBERS_BEFORE_ENTRY
			/* the loads of members_remove, done early */
			mine_gen_0 = generation[octet * DEVICES];
			mine_gen_1 = generation[octet * DEVICES + 1];
#endif
			if
			:: !IS_LIVE(f_gen) || !f_has_key
			:: else ->
				if
				:: ENTRY_STANDS(f_place, e) ->
					octet_claim_all(octet, gone)
				:: else
				fi
			fi
		fi;
		if
		:: won ->
#ifdef LEAVE_BEFORE_FREE
			octet_end_all(octet, f_place);
#endif
			members_remove();
#ifndef LEAVE_BEFORE_FREE
			octet_end_all(octet, f_place);
#endif
			todo = todo - gone
		:: else
		fi
	fi;
	atomic {
		e = 0; gone = 0; f_place = 0; f_slot = 0; f_gen = 0; f_word = 0;
		f_has_key = false; device = 0; octet = 0; won = false;
		mine_gen_0 = 0; mine_gen_1 = 0
	}
}

/* -- an object comes ------------------------------------------------------------------ */

/* slot_begin() and slot_end() */
inline slot_write(s, d)
{
	mine_gen = generation[s];
	d_step {
		assert(mine_gen % 3 == 0);
		generation[s] = mine_gen + 1
	}
	d_step {
		assert(generation[s] == mine_gen + 1);
		body_id[s] = id;
		body_device[s] = d;
		body_turn[s] = turn
	}
	d_step {
		assert(generation[s] == mine_gen + 1);
		mine_gen = mine_gen + 2;
		generation[s] = mine_gen
	}
}

/* ttm_single_announce() */
inline single_announce()
{
#ifndef NO_SINGLES_ANNOUNCED
	singles = singles | (1 << device)	/* a CAS */
#else
	skip
#endif
}

/* put_enter(), the first part of put_boldly() */
inline put_enter()
{
	atomic {	/* ttm_supply_take */
		if
		:: supply[OCTET_SLOTS] -> mine = OCTET_SLOTS
#if SINGLES > 1
		:: supply[OCTET_SLOTS + 1] &&
		   IF_FIRST(!supply[OCTET_SLOTS]) -> mine = OCTET_SLOTS + 1
#endif
#if SINGLES > 2
		:: supply[OCTET_SLOTS + 2] &&
		   IF_FIRST(!supply[OCTET_SLOTS] &&
			!supply[OCTET_SLOTS + 1]) -> mine = OCTET_SLOTS + 2
#endif
		fi;
		supply[mine] = false
	}
	slot_write(mine, device);
	index_insert(ENTRY(TAG(id, device), mine), 0)
}

/* put_withdraw(), of a single: sets `won` */
inline put_withdraw()
{
	slot_free(mine, mine_gen);
	if
	:: won ->
		single_clear(mine, mine_place);
		supply_put(mine)
	:: else
	fi
}

/* ttm_index_may_have_other(), ttm_group_may_have(): sets `rival` */
inline single_looks()
{
	index_has_other(TAG(id, device), mine);
	if
	:: !rival && groups -> index_has_other(TAG(id, GROUP), NONE)
	:: else
	fi
}

/* put_boldly(), ttm_put_meets(). Sets `todo` if it is to be put carefully. */
inline put_boldly()
{
	turn = 0;
#if !defined(SINGLES_ANNOUNCED_LATE) && !defined(SINGLES_ANNOUNCED_BETWEEN)
	single_announce();
#endif
#ifdef SINGLE_LOOKS_FIRST
	single_looks();
#endif
	put_enter();
#ifdef SINGLES_ANNOUNCED_BETWEEN
	single_announce();	/* that would do, too: see README.md */
#endif
#ifndef SINGLE_LOOKS_FIRST
	single_looks();
#endif
#ifdef SINGLES_ANNOUNCED_LATE
	single_announce();
#endif
	if
	:: rival ->
		at = 0;
		in_groups = false;
		found_next(mine);
		if
		:: f_place != NONE -> put_withdraw()
		:: else
		fi
	:: else
	fi;
	atomic {
		if
		:: won -> todo = 1 << device
		:: else -> allocs++
		fi
	}
	forget_mine()
}

inline forget_mine()
{
	atomic {
		at = 0; in_groups = false; won = false; rival = false;
		mine = 0; mine_gen = 0; mine_place = 0; turn = 0;
		f_place = 0; f_slot = 0; f_gen = 0; f_turn = 0; f_word = 0;
		b_gen = 0; b_slot = 0
	}
}

/* is_later(). Slots of octets may have higher numbers or lower ones. */
#ifdef OCTETS_HIGH
#define RANK(s) ((s) < OCTET_SLOTS -> (s) + SLOTS : (s))
#else
#define RANK(s) (s)
#endif
#define RIVAL_LATER (f_turn > turn || (f_turn == turn && RANK(f_slot) > RANK(mine)))

/* put_is_dispatch(): the turn */
inline put_turn()
{
	turn = 0;
	do
	:: found_next(NONE);
	   if
	   :: f_place == NONE -> break
	   :: else ->
		atomic {
			if
			:: f_turn >= turn ->
				turn = f_turn + 1;
				b_gen = f_gen;
				b_slot = f_slot
			:: else
			fi
		}
	   fi
	od
}

/* put_may_end() */
#ifdef ENDS_ANY
#define MAY_END true
#else
#define MAY_END \
	(generation[mine] == mine_gen || (b_gen == f_gen && b_slot == f_slot))
#endif

/* put_superseded(), of a buffer: ttm_found_end(mine) */
inline put_superseded()
{
	allocs++;
	slot_free(mine, mine_gen);
	if
	:: won ->
		frees++;
		single_clear(mine, mine_place);
		supply_put(mine)
	:: else
	fi;
	won = false
}

/* put_replaces_any(): the first counts it. Sets `replaced`. */
inline put_replaces_any()
{
	do
	:: found_next(mine);
	   if
	   :: f_place == NONE -> break
	   :: else ->
		if
		:: RIVAL_LATER || !MAY_END
		:: else ->
			/* put_replaces, ttm_found_end */
			found_free();
			if
			:: won ->
				frees++;
				found_recycle();
				replaced = true;
				won = false
			:: else
			fi
		fi
	   fi
	od
}

/* put_settle() */
inline put_settle()
{
	do
	:: found_next(mine);
	   if
	   :: f_place == NONE -> break
	   :: f_place != NONE && RIVAL_LATER ->
		put_superseded();
		over = true;
		break
	   :: else -> rival = true
	   fi
	od;
	if
	:: over -> over = false
	:: else ->
		if
		:: rival -> at = 0; in_groups = false; put_replaces_any()
		:: else
		fi;
		allocs++;	/* together with the free, or alone */
		replaced = false
	fi
}

/* ttm_put_carefully() */
inline put_carefully()
{
	single_announce();
	put_turn();
	put_enter();
	put_settle();
	forget_mine()
}

/* process->groups is announced */
inline group_announce()
{
#ifndef NO_GROUPS_ANNOUNCED
	if
	:: !groups -> groups = true
	:: else
	fi
#else
	skip
#endif
}

/* ttm_index_may_have_other(), load of process->singles, group_may_meet() */
inline group_looks()
{
	index_has_other(TAG(id, GROUP), octet * DEVICES);
	if
	:: !rival && singles ->
		index_has_other(TAG(id, 0), NONE);
		index_has_other(TAG(id, 1), NONE)
	:: else
	fi
}

/* group_meets(), and ttm_put_yields() for each member */
inline group_meets()
{
	device = 0;
	do
	:: device == DEVICES -> break
	:: else ->
		mine = octet * DEVICES + device;
		mine_gen = (device == 0 -> mine_gen_0 : mine_gen_1);
		at = 0;
		in_groups = false;
		found_next(mine);
		if	/* ttm_found_free */
		:: f_place != NONE ->
			octet_claim(mine, mine_word);
			if
			:: won -> slot_free_claimed(mine, mine_gen)
			:: else
			fi
		:: else
		fi;
		atomic {
			if
			:: won ->
				gone = gone + (1 << device);
				won = false
			:: else -> allocs++
			fi;
			device++
		}
	od;
	device = 0;
	if
	:: gone -> octet_leave(octet, mine_place, gone)
	:: else
	fi;
	atomic { todo = gone; gone = 0 }
}

/* group_put(): the word of the next use */
inline group_next()
{
	mine_word = NEXT(word[octet], ALL);
	d_step {
		assert(BITS(word[octet]) == 0);
		word[octet] = mine_word
	}
}

/* ttm_group_put(), group_put(). Sets `todo`: what is to be put carefully */
inline group_put()
{
	turn = 0;
	atomic {	/* ttm_octet_take */
		if
		:: octet_free[0] -> octet = 0
		:: octet_free[1] && IF_FIRST(!octet_free[0]) -> octet = 1
		fi;
		octet_free[octet] = false;
		use[octet]++
	}
#ifdef WORD_BEFORE_SLOTS
	group_next();
#endif
#ifndef GROUPS_ANNOUNCED_LATE
	group_announce();
#endif
	slot_write(octet * DEVICES, 0);
	mine_gen_0 = mine_gen;
	slot_write(octet * DEVICES + 1, 1);
	mine_gen_1 = mine_gen;
#if !defined(WORD_BEFORE_SLOTS) && !defined(WORD_AFTER_ENTRY) && \
	!defined(WORD_AFTER_LOOK)
	group_next();
#endif
#ifdef GROUP_LOOKS_FIRST
	group_looks();
#endif
	index_insert(ENTRY(TAG(id, GROUP), octet * DEVICES), use[octet]);
#ifdef WORD_AFTER_ENTRY
	group_next();	/* that would do, too: see README.md */
#endif
#if defined(GROUPS_ANNOUNCED_LATE)
	/*
	 * A plain store behind the CAS: others may see it only after the loads that
	 * follow it are done.
	 */
	if
	:: group_announce(); group_looks()
	:: group_looks(); group_announce()
	fi;
#elif !defined(GROUP_LOOKS_FIRST)
	group_looks();
#endif
#ifdef WORD_AFTER_LOOK
	group_next();
#endif
	if
	:: rival -> group_meets()
	:: else -> allocs = allocs + DEVICES
	fi;
	atomic { octet = 0; mine_word = 0; mine_gen_0 = 0; mine_gen_1 = 0 }
	forget_mine()
}

proctype Thread(byte me)
{
	byte my = me * OPS;	/* current operation */
	byte id, device, turn, octet, gone, todo;
	byte mine, mine_gen, mine_gen_0, mine_gen_1, mine_place;
	byte at, e, f_place, f_slot, f_gen, f_turn;
	byte b_gen, b_slot;	/* the latest seen before it entered */
	byte f_word, mine_word;	/* of the octet, when it was found, and put */
	byte leave_use;
#ifdef CLAIM_WITHOUT_CAS
	byte claim_word;
#endif
#ifdef LEAVE_WITHOUT_CAS
	byte leave_word;
#endif
#ifdef DROPPED_AT_CLAIM
	bool dropped_last;
#endif
	bool leave_last;
	bool in_groups, f_has_key, won, rival, over, replaced;

	do
	:: my == (me + 1) * OPS || op[my] == 0 -> break
	:: else ->
		id = OP_ID(op[my]);
		if
		:: OP_IS_PUT(op[my]) ->
			if
			:: OP_KIND(op[my]) == GROUP ->
				group_put()
			:: else ->
				device = OP_KIND(op[my]);
				put_boldly()
			fi;
			do
			:: todo == 0 -> break
			:: else ->
				atomic {	/* ttm_mask_take */
					device = (todo & 1 -> 0 : 1);
					todo = todo & (todo - 1)
				}
				put_carefully()
			od
		:: else ->
			if
			:: OP_KIND(op[my]) == GROUP ->
				group_remove()
			:: else -> todo = 1 << OP_KIND(op[my])
			fi;
			do
			:: todo == 0 -> break
			:: else ->
				atomic {
					device = (todo & 1 -> 0 : 1);
					todo = todo & (todo - 1)
				}
				remove();
				forget_mine()
			od
		fi;
		atomic {
			puts = puts + (OP_IS_PUT(op[my]) ->
				(OP_KIND(op[my]) == GROUP -> DEVICES : 1) : 0);
			my++;
			id = 0;
			device = 0
		}
	od;
	done++
}

/* Everybody has finished. */
inline check_rest()
{
	d_step {
		i = 0;
		do
		:: i < IDS * DEVICES ->
			live = 0;
			s = 0;
			do
			:: s < SLOTS ->
				if
				:: IS_LIVE(generation[s]) &&
				   body_id[s] == i / DEVICES &&
				   body_device[s] == i % DEVICES -> live++
				:: else
				fi;
				s++
			:: else -> break
			od;
			assert(live <= 1);
			all_live = all_live + live;
			i++
		:: else -> break
		od;
		assert(allocs == puts);
		assert(allocs - frees == all_live);
#ifdef ALL_LIVE
		assert(all_live == DEVICES);
#endif

		s = 0;
		do
		:: s < SLOTS ->
			entries = 0;
			i = 0;
			do
			:: i < PLACES ->
				if
				:: place[i] == 0
				:: place[i] != 0 && ENTRY_SLOT(place[i]) == s ->
					entries++;
					assert(ENTRY_TAG(place[i]) == TAG(body_id[s],
						(s < OCTET_SLOTS -> GROUP :
							body_device[s])))
				:: else
				fi;
				i++
			:: else -> break
			od;
			if
			:: s >= OCTET_SLOTS ->
				live = (IS_LIVE(generation[s]) -> 1 : 0);
				assert(supply[s] == !live);
				assert(entries == live)
			:: s < OCTET_SLOTS && s % DEVICES == 0 ->
				/* its bits */
				live = (IS_LIVE(generation[s]) -> 1 : 0) +
					(IS_LIVE(generation[s + 1]) -> 2 : 0);
				assert(BITS(word[OCTET_OF(s)]) == live);
				assert(USE(word[OCTET_OF(s)]) == use[OCTET_OF(s)]);
				assert(octet_free[OCTET_OF(s)] == !live);
				assert(entries == (live -> 1 : 0))
			:: else -> assert(entries == 0)
			fi;
			s++
		:: else -> break
		od
	}
}

init
{
	byte s, i, live, all_live, entries;

	d_step {
		s = OCTET_SLOTS;
		do
		:: s < SLOTS -> supply[s] = true; s++
		:: else -> break
		od;
		octet_free[0] = true;
		octet_free[1] = true;
		SCRIPT
		INITIAL
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

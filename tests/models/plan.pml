/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Circular buffers of a program: lib/record/plan.h, plan.c, and what put.c and object.c
 * do with plans.
 *
 * A plan has two positions here, ids 0 and 1, and a word: how often it changed, a side
 * bit and a there bit for each position. Plan n is thread n % OWNERS's for good, which
 * alone fills it, adds to it and flips it; who takes the last object out of it clears
 * its place and returns it to that thread. A slot's generation tells its state, as in
 * object.pml: 0 free, 1 writing, 2 live, 3 free again ... A slot that is in a plan is
 * freed by a plain store of whoever changed the plan's word. All entries are in one
 * bucket, whose places are 0 or a tag, a plan, and which ids it may have; with SAME_TAG both
 * programs have one tag. Whoever takes a slot, a record, a place or a side takes the first, with ANY any.
 * One device, one epoch.
 *
 * A scenario (plan_scenarios.h) is a list of operations for each thread. Checked:
 *
 *   always   nobody writes a slot that is not its own; a slot that comes back to the
 *            supply was not there and is not live; who clears a place finds its own
 *            plan's entry there, of the current use; a record that is returned is dead,
 *            was not returned already, and is filled only when it was
 *   at rest  at most one live object per program and id; the live slots are those that
 *            the there bits of plans in the index name; each such plan has a there bit and
 *            one entry, all others are returned; every slot that is not live is in the
 *            supply; allocs == puts; allocs - frees == live slots; where every order of
 *            the calls leaves LEAVES objects, there are so many
 *   ORDER    of program 0 and id 0 that is live at rest which some order of the
 *            operations leaves, where one that began after another had returned comes
 *            after it
 *
 * Memory is sequentially consistent: key and slots are stored before the word is (by a
 * release or a CAS); the word is loaded with acquire; loads behind a CAS that publishes
 * are done after it (ttm_fence_after_cas); a record is returned by a release and taken by
 * an acquire.
 */
#define IDS 2		/* positions */
#define OPS 3		/* per thread */
#define NONE 15

#define IS_LIVE(g) ((g) % 3 == 2)

/* the word */
#define THERE_ALL(w) ((w) & 3)
#define THERE(w, pos) (((w) >> (pos)) & 1)
#define SIDE(w, pos) (((w) >> (2 + (pos))) & 1)
#define CHANGED(w) ((w) + 16)
#define WITHOUT(w, pos) (CHANGED(w) & ~(1 << (pos)))
#define SLOT_AT(p, side, pos) slots[(p) * 2 * IDS + (side) * IDS + (pos)]

/* Operations */
#define PUT(program, id) (10 + (program) * 2 + (id))
#define REMOVE(program, id) (20 + (program) * 2 + (id))
#define DESTROY(program) (30 + (program) * 2)
#define OP_PROGRAM(op) ((op) % 10 / 2)
#define OP_ID(op) ((op) % 2)

#include "plan_scenarios.h"

#ifdef SAME_TAG
#define TAG(program) 0
#else
#define TAG(program) (program)
#endif
#define ENTRY(tag, plan, may) ((may) * 16 + (tag) * 8 + (plan) + 1)
#define ENTRY_TAG(e) ((((e) & 15) - 1) / 8)
#define ENTRY_PLAN(e) ((((e) & 15) - 1) % 8)
#define ENTRY_MAY(e) ((e) / 16)
#define MAY_HAVE(e, pos) ((ENTRY_MAY(e) >> (pos)) & 1)
#define ALL 3
#define WITH_MAY(e, may) (((e) & 15) + (may) * 16)

byte op[THREADS * OPS];

/* slots */
byte generation[SLOTS];
byte body_program[SLOTS];
byte body_id[SLOTS];
byte body_turn[SLOTS];
bool supply[SLOTS];

/* plans */
short word[PLANS];
byte key[PLANS];
byte slots[PLANS * 2 * IDS];
byte owner[PLANS];
bool returned[PLANS];	/* is in its owner's list */

byte place[PLACES];	/* the bucket */
bool meet;		/* process->plans_meet */

/* the counters, summed over the lanes */
byte allocs, frees;

/* ghosts */
byte puts;
byte done;		/* threads that have finished */
byte use[PLANS];	/* how often it was taken */
byte place_use[PLACES];	/* the use that an entry is of */
#ifdef ORDER
byte by[SLOTS];		/* the operation that put it */
byte began[THREADS * OPS];	/* 0 not begun, 1 began, 2 returned, 3 outdated */
#endif

#define IS_ON_0(o) ((o) == PUT(0, 0) || (o) == REMOVE(0, 0) || (o) == DESTROY(0))
#define IS_PUT(o) ((o) < 20)

/*
 * An operation begins: the puts that had returned before cannot be the last word on
 * the key any more, and a put says the same of removes.
 */
inline note_begin()
{
#ifdef ORDER
	d_step {
		e = 0;
		do
		:: e < THREADS * OPS ->
			if
			:: began[e] == 2 && IS_ON_0(op[e]) && IS_ON_0(op[my]) &&
			   (IS_PUT(op[e]) || IS_PUT(op[my])) ->
				began[e] = 3
			:: else
			fi;
			e++
		:: else -> break
		od;
		e = 0;
		began[my] = 1
	}
#else
	skip
#endif
}

/* Of what is free the first, or with ANY any. */
#ifdef ANY
#define IF_FIRST(others) true
#else
#define IF_FIRST(others) (others)
#endif

/* The CAS on a word, from `w`. */
#ifdef BITS_ONLY
#define IS_SAME_WORD(p, w) ((word[p] & 15) == ((w) & 15))
#else
#define IS_SAME_WORD(p, w) (word[p] == (w))
#endif

/* -- find ---------------------------------------------------------------------------- */

/* plan_entry_stands() */
#ifdef STANDS_EXACTLY
#define IS_SAME_ENTRY(p, e) (place[p] == (e))
#else
#define IS_SAME_ENTRY(p, e) ((place[p] & 15) == ((e) & 15))
#endif
#ifdef NO_ENTRY_STANDS
#define ENTRY_STANDS(p, e) true
#else
#define ENTRY_STANDS(p, e) IS_SAME_ENTRY(p, e)
#endif
#ifdef NO_DESTROY_STANDS
#define DESTROY_STANDS(p, e) true
#else
#define DESTROY_STANDS(p, e) IS_SAME_ENTRY(p, e)
#endif

#define HAS_TAG \
	(place[at] != 0 && ENTRY_TAG(place[at]) == TAG(program))
#define MAY_BE_IN (HAS_TAG && MAY_HAVE(place[at], id))

/*
 * find(): the next live object of program and id, but for those in plan `except`. Sets
 * f_place, NONE if there is none.
 */
inline found_next(except)
{
	f_place = NONE;
	do
	:: at == PLACES -> break
	:: d_step {
		at < PLACES && !(MAY_BE_IN && ENTRY_PLAN(place[at]) != (except)) -> at++
	   }
	:: d_step {	/* load of an entry */
		at < PLACES && MAY_BE_IN && ENTRY_PLAN(place[at]) != (except) ->
		e = place[at];
		f_plan = ENTRY_PLAN(e);
		at++
	   }
	   f_word = word[f_plan];
	   if
#ifndef NO_THERE_IN_FIND
	   :: !THERE(f_word, id)
#endif
	   :: else ->
#ifdef NO_KEY_IN_FIND
	      if
	      :: true ->
#else
	      if
	      :: key[f_plan] != program
	      :: else ->
#endif
		f_slot = SLOT_AT(f_plan, SIDE(f_word, id), id);
		f_gen = generation[f_slot];	/* slot_read: first load of w0 */
		if
		:: !IS_LIVE(f_gen)
		:: else ->
			d_step {	/* slot_read: the body */
				f_has_key = (body_program[f_slot] == program &&
					body_id[f_slot] == id);
				f_turn = body_turn[f_slot]
			}
			if	/* slot_read: w0 again; words_have_key */
#ifdef NO_W0_AGAIN
			:: !f_has_key
#else
			:: generation[f_slot] != f_gen || !f_has_key
#endif
			:: else ->
				if	/* entry_stands */
				:: ENTRY_STANDS(at - 1, e) -> f_place = at - 1; break
				:: else
				fi
			fi
		fi
	      fi
	   fi
	od;
	atomic {
		e = 0;
		f_word = 0;
		f_has_key = false;
		if
		:: f_place == NONE ->
			at = 0; f_plan = 0; f_slot = 0; f_gen = 0; f_turn = 0
		:: else
		fi
	}
}

/* -- an object goes ------------------------------------------------------------------ */

/* ttm_index_clear() */
inline place_clear(p, pl)
{
	d_step {
		assert(place[p] != 0 && ENTRY_PLAN(place[p]) == (pl));
		assert(place_use[p] == c_use);
		place[p] = 0;
		place_use[p] = 0
	}
}

/* The record goes to its owner's list. */
inline record_return(pl)
{
	d_step {
		assert(!returned[pl]);
		assert(THERE_ALL(word[pl]) == 0);
		assert(use[pl] == c_use);
#ifdef RETURN_TO_KILLER
		owner[pl] = me;
#endif
		returned[pl] = true
	}
}

/* A plan that nothing is in any more. */
inline plan_leave(pl, p)
{
#ifdef RETURN_BEFORE_CLEAR
	record_return(pl);
	place_clear(p, pl)
#else
	place_clear(p, pl);
	record_return(pl)
#endif
}

/* ttm_supply_put() */
inline supply_put(s)
{
	d_step {
		assert(!supply[s]);
#ifndef RECYCLE_BEFORE_FREE
		assert(!IS_LIVE(generation[s]));
#endif
		supply[s] = true
	}
}

/* A plain store by who changed the word, and the slot back to the supply. */
inline slot_free(s, g)
{
#ifdef RECYCLE_BEFORE_FREE
	supply_put(s);
#endif
	d_step {
		assert(IS_LIVE(g) && generation[s] == (g));
		generation[s] = (g) + 1
	}
#ifndef RECYCLE_BEFORE_FREE
	supply_put(s)
#endif
}

#ifdef NO_SLOT_IN_CLAIM
#define CLAIM_SLOT_DIFFERS(pl, s) false
#else
#define CLAIM_SLOT_DIFFERS(pl, s) (SLOT_AT(pl, SIDE(c_word, id), id) != (s))
#endif
#if defined(NO_GENERATION_IN_CLAIM) || defined(GENERATION_BEFORE_WORD)
#define CLAIM_GENERATION_DIFFERS(s, g) false
#else
#define CLAIM_GENERATION_DIFFERS(s, g) (generation[s] != (g))
#endif

/* claim(), and the free of who won: sets `won` */
inline claim(pl, p, s, g)
{
	won = false;
	do
#ifdef GENERATION_BEFORE_WORD
	:: if
	   :: generation[s] != (g) -> break
	   :: else
	   fi;
	   c_word = word[pl];
#else
	:: c_word = word[pl];
#endif
	   if
	   :: !THERE(c_word, id) -> break
	   :: else ->
		if
		:: CLAIM_SLOT_DIFFERS(pl, s) -> break
		:: else ->
			if
			:: CLAIM_GENERATION_DIFFERS(s, g) -> break
			:: else ->
#ifdef CLAIM_WITHOUT_CAS
				d_step {
					word[pl] = WITHOUT(c_word, id);
					won = true;
					c_use = use[pl]
				}
				break
#else
				d_step {
					if
					:: IS_SAME_WORD(pl, c_word) ->
						word[pl] = WITHOUT(word[pl], id);
						won = true;
						c_use = use[pl]
					:: else
					fi
				}
				if
				:: won -> break
				:: else
				fi
#endif
			fi
		fi
	   fi
	od;
	if
	:: won ->
		if
#ifdef LAST_BY_LOAD
		:: THERE_ALL(word[pl]) == 0 -> plan_leave(pl, p)
#else
		:: THERE_ALL(WITHOUT(c_word, id)) == 0 -> plan_leave(pl, p)
#endif
		:: else
		fi;
		slot_free(s, g);
		frees++
	:: else
	fi;
	d_step { c_word = 0; c_use = 0 }
}

/* remove() */
inline remove()
{
	do
	:: at = 0;
	   found_next(NONE);
	   if
	   :: f_place == NONE -> break	/* FREE_UNKNOWN */
	   :: else ->
		claim(f_plan, f_place, f_slot, f_gen);
		if
		:: won -> break
		:: else
		fi
	   fi
	od
}

/* destroy() */
inline free_position(pos)
{
	if
	:: THERE(c_word, pos) ->
		f_slot = (pos -> f_turn : f_gen);
		assert(body_program[f_slot] == program && body_id[f_slot] == pos);
		slot_free(f_slot, generation[f_slot]);
		frees++
	:: else
	fi
}

inline destroy_reads_slots()
{
	f_gen = SLOT_AT(f_plan, SIDE(c_word, 0), 0);
	f_turn = SLOT_AT(f_plan, SIDE(c_word, 1), 1)
}

inline destroy()
{
	at = 0;
	do
	:: at == PLACES -> break
	:: d_step { at < PLACES && !HAS_TAG -> at++ }
	:: d_step {
		at < PLACES && HAS_TAG ->
		e = place[at];
		f_plan = ENTRY_PLAN(e);
		at++
	   }
	   won = false;
	   do
#ifdef KEY_BEFORE_WORD
	   :: f_has_key = (key[f_plan] == program);
	      c_word = word[f_plan];
#else
	   :: c_word = word[f_plan];
	      f_has_key = (key[f_plan] == program);
#endif
	      if
#ifdef DESTROYS_DEAD
	      :: !f_has_key -> break
#else
	      :: THERE_ALL(c_word) == 0 || !f_has_key -> break
#endif
	      :: else ->
		if
		:: !DESTROY_STANDS(at - 1, e) -> break
		:: else ->
			d_step {
				if
				:: IS_SAME_WORD(f_plan, c_word) ->
					word[f_plan] = CHANGED(word[f_plan]) & ~3;
					won = true;
					c_use = use[f_plan]
				:: else
				fi
			}
			if
			:: won -> break
			:: else
			fi
		fi
	      fi
	   od;
	   if
	   :: won ->
#ifdef SLOTS_READ_LATE
		plan_leave(f_plan, at - 1);
		destroy_reads_slots();
#else
		destroy_reads_slots();
		plan_leave(f_plan, at - 1);
#endif
		free_position(0);
		free_position(1)
	   :: else
	   fi;
	   d_step {
		won = false; c_word = 0; c_use = 0; e = 0; f_plan = 0; f_slot = 0;
		f_gen = 0; f_turn = 0; f_has_key = false
	   }
	od
}

/* -- an object comes ------------------------------------------------------------------ */

/* ttm_supply_take(), slot_begin() and slot_end() */
inline slot_write()
{
	atomic {
		if
		:: supply[0] -> mine = 0
		:: supply[1] && IF_FIRST(!supply[0]) -> mine = 1
#if SLOTS > 2
		:: supply[2] && IF_FIRST(!supply[0] && !supply[1]) -> mine = 2
#endif
#if SLOTS > 3
		:: supply[3] && IF_FIRST(!supply[0] && !supply[1] && !supply[2]) ->
			mine = 3
#endif
		fi;
		supply[mine] = false;
		mine_gen = generation[mine]
	}
	d_step {
		assert(mine_gen % 3 == 0 && generation[mine] == mine_gen);
		generation[mine] = mine_gen + 1
	}
	d_step {
		assert(generation[mine] == mine_gen + 1);
		body_program[mine] = program;
		body_id[mine] = id;
		body_turn[mine] = turn;
#ifdef ORDER
		by[mine] = my
#endif
	}
	d_step {
		assert(generation[mine] == mine_gen + 1);
		mine_gen = mine_gen + 2;
		generation[mine] = mine_gen
	}
}

/* What was made live is freed again, as if it had never been. */
inline withdraw()
{
	slot_free(mine, mine_gen)
}

/* What the put finds first: the turn, the one it means to replace. */
inline put_looks_first()
{
	turn = 0;
	at = 0;
	do
	:: found_next(NONE);
	   if
	   :: f_place == NONE -> break
	   :: else ->
		d_step {
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

/* A plan without there bits is dead. */
#ifdef DEAD_IS_FINE
#define IS_DEAD(w) false
#else
#define IS_DEAD(w) (THERE_ALL(w) == 0)
#endif

/* Its own CAS on the word: sets `won` */
inline own_change(to)
{
	d_step {
		if
#ifdef OWNER_WITHOUT_CAS
		:: true ->
#else
		:: IS_SAME_WORD(mine_plan, w) ->
#endif
			word[mine_plan] = to;
			won = true
		:: else
		fi
	}
}

/* Replace by flip: sets `won` */
inline flip()
{
	old = SLOT_AT(mine_plan, SIDE(w, id), id);
	d_step { old_gen = generation[old]; turn = body_turn[old] + 1 }
	slot_write();
#ifdef FLIP_ONE_SIDE
	SLOT_AT(mine_plan, SIDE(w, id), id) = mine;
	own_change(CHANGED(w));
#else
	SLOT_AT(mine_plan, 1 - SIDE(w, id), id) = mine;
	own_change(CHANGED(w) ^ (1 << (2 + id)));
#endif
	if
	:: won -> slot_free(old, old_gen); frees++
	:: else -> withdraw()
	fi;
	d_step { old = 0; old_gen = 0 }
}

/* A position that is not there: sets `won` */
inline add()
{
	slot_write();
	if
	:: side = SIDE(w, id)
#ifdef ANY
	:: side = 1 - SIDE(w, id)
#endif
	fi;
	SLOT_AT(mine_plan, side, id) = mine;
	own_change((CHANGED(w) & ~(1 << (2 + id))) | (side << (2 + id)) | (1 << id));
	if
	:: won
	:: else -> withdraw()
	fi;
	side = 0
}

/* From the thread's own list. There are as many records as are ever needed. */
#define IS_MINE(n) (returned[n] && owner[n] == me)
inline record_take()
{
	atomic {
		if
		:: IS_MINE(0) -> mine_plan = 0
#if PLANS > 1
		:: IS_MINE(1) && IF_FIRST(!IS_MINE(0)) -> mine_plan = 1
#endif
#if PLANS > 2
		:: IS_MINE(2) && IF_FIRST(!IS_MINE(0) && !IS_MINE(1)) -> mine_plan = 2
#endif
#if PLANS > 3
		:: IS_MINE(3) && IF_FIRST(!IS_MINE(0) && !IS_MINE(1) && !IS_MINE(2)) ->
			mine_plan = 3
#endif
		fi;
		returned[mine_plan] = false;
		use[mine_plan]++;
		w = word[mine_plan]
	}
}

/* ttm_plan_open(), before the id is in: sets `won` */
inline plan_open()
{
	won = true;
#ifndef NOT_OPENED
	if
	:: MAY_HAVE(mine_entry, id)
	:: else ->
		d_step {	/* a CAS */
			if
#ifdef OPEN_WITHOUT_CAS
			:: true ->
#else
			:: place[mine_place] == mine_entry ->
#endif
				mine_entry = WITH_MAY(mine_entry,
					ENTRY_MAY(mine_entry) | (1 << id));
				place[mine_place] = mine_entry
			:: else -> won = false
			fi
		}
	fi
#endif
}

/* The same of who adds without a look; as a mutant after it has looked. */
inline plan_open_early()
{
#ifdef OPENED_LATE
	won = true
#else
	plan_open()
#endif
}

inline plan_open_late()
{
#ifdef OPENED_LATE
	plan_open();
	won = false
#else
	skip
#endif
}

/* ttm_plan_narrow(), of who has met another */
inline plan_narrow()
{
#ifdef NARROWED_BY_OLD_WORD
	c_word = w;
#elif defined(NARROWED_BY_OTHERS)
	e = place[1 - mine_place];
	c_word = (e -> word[ENTRY_PLAN(e)] : 0);
#else
	c_word = word[mine_plan];
#endif
	d_step {	/* a CAS */
		if
#ifdef NARROWED_BY_OTHERS
		:: e && ENTRY_MAY(e) == ALL && place[1 - mine_place] == e ->
			place[1 - mine_place] = WITH_MAY(e, THERE_ALL(c_word))
#endif
#ifdef NARROW_WITHOUT_CAS
		:: ENTRY_MAY(mine_entry) == ALL ->
			place[mine_place] = WITH_MAY(mine_entry, THERE_ALL(c_word));
#else
		:: place[mine_place] == ENTRY(TAG(program), mine_plan, ALL) ->
			place[mine_place] = ENTRY(TAG(program), mine_plan,
				THERE_ALL(c_word));
#endif
		:: else
		fi;
		c_word = 0
	}
}

/* ttm_bucket_put() */
inline index_insert(may)
{
	atomic {
		if
		:: !place[0] -> mine_place = 0
		:: !place[1] && IF_FIRST(place[0]) -> mine_place = 1
#if PLACES > 2
		:: !place[2] && IF_FIRST(place[0] && place[1]) -> mine_place = 2
#endif
		fi;
		mine_entry = ENTRY(TAG(program), mine_plan, may);
		place[mine_place] = mine_entry;
		place_use[mine_place] = use[mine_plan]
	}
}

#ifdef COUNT_FROM_ZERO
#define NEW_WORD (16 + (1 << id))
#else
#define NEW_WORD ((CHANGED(w) & ~15) + (1 << id))
#endif

/* ttm_plan_fill(), ttm_plan_show() */
inline plan_fill()
{
#ifdef WORD_FIRST
	word[mine_plan] = NEW_WORD;
	key[mine_plan] = program;
	SLOT_AT(mine_plan, 0, id) = mine
#else
	key[mine_plan] = program;
	SLOT_AT(mine_plan, 0, id) = mine;
	d_step {
		assert(word[mine_plan] == w && THERE_ALL(w) == 0);
		word[mine_plan] = NEW_WORD
	}
#endif
}

/* cb_put_new(). The record first: see SLOT_BEFORE_RECORD in README.md. */
inline create()
{
#ifdef SLOT_BEFORE_RECORD
	slot_write();
	record_take();
#else
	record_take();
	slot_write();
#endif
	plan_fill();
	index_insert(ALL)
}

/* is_later() */
#define RIVAL_LATER (f_turn > turn || (f_turn == turn && f_slot > mine))

/* put_may_end() */
inline may_end()
{
#ifdef ENDS_ANY
	won = true
#else
	if
	:: b_gen == f_gen && b_slot == f_slot -> won = true
	:: else ->
#ifdef STANDS_BY_BIT
		won = THERE(word[mine_plan], id)
#else
		c_word = word[mine_plan];
		won = (THERE(c_word, id) &&
			SLOT_AT(mine_plan, SIDE(c_word, id), id) == mine);
		won = (won && generation[mine] == mine_gen)
#endif
	fi
#endif
}

/* Looks for others of its key in other plans. */
inline put_settle()
{
	at = 0;
	do
	:: found_next(mine_plan);
	   if
	   :: f_place == NONE -> break
	   :: f_place != NONE && RIVAL_LATER ->
		claim(mine_plan, mine_place, mine, mine_gen);
		break
	   :: else ->
		may_end();
		if
		:: won -> claim(f_plan, f_place, f_slot, f_gen)
		:: else
		fi
	   fi
	od
}

/*
 * ttm_index_has_other(): whether another plan has the tag; plan_may_have_other(): and may
 * have the id, or this one's entry says all. Sets `other`.
 */
inline index_has_other(whatever_it_has)
{
	at = 0;
	do
	:: d_step {
		at < PLACES && !other ->
		other = (HAS_TAG && ENTRY_PLAN(place[at]) != mine_plan &&
			(whatever_it_has || MAY_HAVE(place[at], id)));
		at++
	   }
	:: else -> break
	od;
	at = 0
}

/* ttm_plan_entered(): sets `other` */
inline plan_entered()
{
	index_has_other(true);
#if !defined(NO_ANNOUNCEMENT) && !defined(ANNOUNCED_LATE)
	if
	:: other -> meet = true	/* a CAS */
	:: else
	fi
#endif
}

/* plan_may_meet(), plan_may_have_other(): sets `other` */
inline plan_may_meet()
{
	if
#ifndef NO_LOOK
	:: meet -> index_has_other((ENTRY_MAY(mine_entry) == ALL))
#endif
	:: else
	fi
}

/* put_meets(), of what came in without a look: sets `todo` if it was withdrawn */
inline put_meets()
{
	if
	:: other ->
		plan_narrow();
		at = 0;
		found_next(mine_plan);
		if
		:: f_place == NONE -> allocs++
		:: else ->
			claim(mine_plan, mine_place, mine, mine_gen);
			atomic {
				if
				:: won -> frees--; todo = true; won = false
				:: else -> allocs++
				fi
			}
		fi
	:: else -> allocs++
	fi;
#ifdef ANNOUNCED_LATE
	if
	:: other -> meet = true
	:: else
	fi;
#endif
	other = false
}

inline forget_mine()
{
	d_step {
		mine = 0; mine_gen = 0; mine_plan = 0; mine_place = 0; turn = 0; w = 0;
		mine_entry = 0;
		b_gen = 0; b_slot = 0; won = false; at = 0; f_place = 0; f_plan = 0;
		f_slot = 0; f_gen = 0; f_turn = 0
	}
}

/*
 * cb_put_usual(), cb_put_anywhere(): by a plan of its own with the tag, whichever; by none if
 * no plan has it. Sets `todo` if it is to be put carefully.
 */
inline put_usual()
{
	mine_plan = NONE;
	turn = 0;
	at = 0;
	do	/* plan_point(), ttm_plan_find_own() */
	:: d_step { at < PLACES && !HAS_TAG -> at++ }
	:: d_step {
		at < PLACES && HAS_TAG ->
		mine_entry = place[at];
		mine_plan = ENTRY_PLAN(mine_entry);
		mine_place = at;
		at++
	   }
	   if
	   :: owner[mine_plan] == me -> break
	   :: true
	   fi
	:: at == PLACES -> break
	od;
	at = 0;
	if
	:: mine_plan == NONE ->
		create();
#ifndef NO_LOOK
		plan_entered();
#endif
		put_meets()
	:: else ->
		w = word[mine_plan];
		if
		:: owner[mine_plan] != me || key[mine_plan] != program || IS_DEAD(w) ->
			todo = true
		:: else ->
			if
			:: THERE(w, id) -> flip(); todo = !won
			:: else ->
				plan_open_early();
				if
				:: won -> won = false; add(); todo = !won
				:: else -> todo = true
				fi
			fi;
			if
			:: todo
			:: !todo && THERE(w, id) ->
				allocs++;
#ifndef FLIP_DOES_NOT_LOOK
				plan_may_meet();
				if
				:: other -> other = false; plan_narrow(); put_settle()
				:: else
				fi
#endif
			:: else ->
#ifndef ADD_DOES_NOT_LOOK
				plan_may_meet();
#endif
				plan_open_late();
				put_meets()
			fi
		fi
	fi;
	forget_mine()
}

/* own_plan_add(): sets `won` */
inline own_plan_add()
{
	mine_plan = NONE;
	at = 0;
	do
	:: at == PLACES || won -> break
	:: d_step { at < PLACES && !won && !HAS_TAG -> at++ }
	:: d_step {
		at < PLACES && !won && HAS_TAG ->
		mine_entry = place[at];
		mine_plan = ENTRY_PLAN(mine_entry);
		mine_place = at;
		at++
	   }
	   do
	   :: w = word[mine_plan];
	      if
	      :: owner[mine_plan] != me || key[mine_plan] != program ||
	         IS_DEAD(w) || THERE(w, id) -> break
	      :: else ->
		plan_open();
		if
		:: !won -> break
		:: else -> won = false
		fi;
		SLOT_AT(mine_plan, SIDE(w, id), id) = mine;
		own_change(CHANGED(w) | (1 << id));
		if
		:: won -> break
		:: else
		fi
	      fi
	   od
	od
}

/* put_carefully(): put_is_dispatch(), put_enter(), put_settle() */
inline put_carefully()
{
	put_looks_first();
#ifndef SLOT_BEFORE_RECORD
	record_take();
	mine_record = mine_plan;
#endif
	slot_write();
	won = false;
	own_plan_add();
#ifdef SLOT_BEFORE_RECORD
	if
	:: !won -> record_take(); mine_record = mine_plan
	:: else
	fi;
#endif
	if
	:: won ->
#ifndef SLOT_BEFORE_RECORD
		d_step {	/* was not needed */
			assert(!returned[mine_record]);
			returned[mine_record] = true
		}
#endif
	:: else ->
		mine_plan = mine_record;
		w = word[mine_plan];
		plan_fill();
		index_insert((1 << id));
		plan_entered()
	fi;
	atomic { mine_record = 0; won = false; w = 0; allocs++ }
#ifndef NO_LOOK
	put_settle();
#endif
#ifdef ANNOUNCED_LATE
	if
	:: other -> meet = true
	:: else
	fi;
#endif
	other = false;
	forget_mine()
}

/* cb_put(), ttm_cb_put_rarely() */
inline put()
{
	put_usual();
	if
	:: todo -> todo = false; put_carefully()
	:: else
	fi
}

proctype Thread(byte me)
{
	byte my = me * OPS;	/* current operation */
	byte program, id, turn, mine, mine_gen, mine_place, mine_plan, mine_entry;
	byte at, e, f_place, f_plan, f_slot, f_gen, f_turn;
	byte b_gen, b_slot;	/* the one to be replaced */
	byte old, old_gen, side, c_use;
	short w, f_word, c_word;
	byte mine_record;
	bool won, f_has_key, other, todo;

	do
	:: my == (me + 1) * OPS || op[my] == 0 -> break
	:: else ->
		d_step { program = OP_PROGRAM(op[my]); id = OP_ID(op[my]) }
		note_begin();
		if
		:: IS_PUT(op[my]) -> put()
		:: !IS_PUT(op[my]) && op[my] < 30 -> remove()
		:: else -> destroy()
		fi;
		atomic {
			puts = puts + (IS_PUT(op[my]) -> 1 : 0);
#ifdef ORDER
			began[my] = 2;
#endif
			my++;
			program = 0; id = 0; turn = 0; mine = 0; mine_gen = 0;
			mine_place = 0; mine_plan = 0; mine_entry = 0;
			at = 0; e = 0; f_place = 0;
			f_plan = 0; f_slot = 0; f_gen = 0; f_turn = 0; b_gen = 0;
			b_slot = 0; old = 0; old_gen = 0; side = 0; c_use = 0;
			w = 0; f_word = 0; c_word = 0; won = false; f_has_key = false
		}
	od;
	done++
}

/* Everybody has finished. */
inline check_rest()
{
	d_step {
		s = 0;
		do
		:: s < SLOTS ->
			assert(supply[s] == !IS_LIVE(generation[s]));
			if
			:: IS_LIVE(generation[s]) ->
				live++;
#ifdef ORDER
				if
				:: body_program[s] == 0 && body_id[s] == 0 -> which = s
				:: else
				fi;
#endif
				i = 0;
				do
				:: i < s ->
					assert(!IS_LIVE(generation[i]) ||
						body_program[i] != body_program[s] ||
						body_id[i] != body_id[s]);
					i++
				:: else -> break
				od
			:: else
			fi;
			s++
		:: else -> break
		od;
		assert(allocs == puts);
		assert(allocs - frees == live);
#ifdef LEAVES
		assert(live == LEAVES);
#endif
#ifdef ORDER
		/* Is there an operation that may have been the last? */
		i = 0;
		right = false;
		do
		:: i < THREADS * OPS ->
			if
			:: began[i] == 2 && IS_ON_0(op[i]) &&
			   (IS_PUT(op[i]) -> which != NONE && by[which] == i :
				which == NONE) -> right = true
			:: else
			fi;
			i++
		:: else -> break
		od;
		assert(right);
#endif

		p = 0;
		do
		:: p < PLANS ->
			entries = 0;
			i = 0;
			do
			:: i < PLACES ->
				if
				:: place[i] == 0
				:: place[i] != 0 && ENTRY_PLAN(place[i]) == p ->
					entries++;
					assert(ENTRY_TAG(place[i]) == TAG(key[p]));
					assert((THERE_ALL(word[p]) & ~ENTRY_MAY(place[i])) == 0);
					assert(place_use[i] == use[p])
				:: else
				fi;
				i++
			:: else -> break
			od;
			assert(entries == (THERE_ALL(word[p]) -> 1 : 0));
			assert(returned[p] == (entries == 0));
			i = 0;
			do
			:: i < IDS ->
				if
				:: THERE(word[p], i) ->
					s = SLOT_AT(p, SIDE(word[p], i), i);
					assert(IS_LIVE(generation[s]));
					assert(body_program[s] == key[p]);
					assert(body_id[s] == i);
					live--
				:: else
				fi;
				i++
			:: else -> break
			od;
			p++
		:: else -> break
		od;
		assert(live == 0)
	}
}

init
{
	byte s, i, p, live, entries;
#ifdef ORDER
	byte which = NONE;
	bool right;
#endif

	d_step {
		s = 0;
		do
		:: s < SLOTS -> supply[s] = true; s++
		:: else -> break
		od;
		p = 0;
		do
		:: p < PLANS -> returned[p] = true; owner[p] = p % OWNERS; p++
		:: else -> break
		od;
		SCRIPT
		INITIAL
#ifdef ORDER
		by[0] = NONE;
#endif
		s = 0;
		p = 0
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

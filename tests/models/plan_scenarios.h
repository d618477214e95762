/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of plan.pml do: SCRIPT fills op[thread * OPS + n]. P and Q are
 * programs. INITIAL: thread 0 has a plan of P with id 0 in it, or with both, or thread 1
 * has one of P, too, with the other id; then each entry says so, or with SAY_ALL has not yet.
 * LEAVES: what every order of the calls leaves.
 */
#define DO(thread, n, what) op[(thread)*OPS + (n)] = what;
#define P 0
#define Q 1

#define HAS(plan, at_place, id, slot, may)                                     \
	supply[slot] = false;                                                  \
	generation[slot] = 2;                                                  \
	body_id[slot] = id;                                                    \
	returned[plan] = false;                                                \
	use[plan] = 1;                                                         \
	word[plan] = (word[plan] & 15) + 16 + (1 << (id));                     \
	SLOT_AT(plan, 0, id) = slot;                                           \
	place[at_place] = ENTRY(TAG(P), plan, may);                            \
	place_use[at_place] = 1;                                               \
	allocs++;                                                              \
	puts++;
#define HAS_ONE HAS(0, 0, 0, 0, ALL)
#define HAS_BOTH HAS(0, 0, 0, 0, ALL) HAS(0, 0, 1, 1, ALL)
#ifdef SAY_ALL
#define EACH_HAS_ONE HAS(0, 0, 0, 0, ALL) HAS(1, 1, 1, 1, ALL) meet = true;
#else
#define EACH_HAS_ONE HAS(0, 0, 0, 0, 1) HAS(1, 1, 1, 1, 2) meet = true;
#endif

#if defined(PUT_PUT) /* one id, twice at once */
#define LEAVES 1
#define SCRIPT DO(0, 0, PUT(P, 0)) DO(1, 0, PUT(P, 0))
#elif defined(PUT_REMOVE)
#define SCRIPT DO(0, 0, PUT(P, 0)) DO(1, 0, REMOVE(P, 0))
#elif defined(PUT_DESTROY)
#define SCRIPT DO(0, 0, PUT(P, 0)) DO(0, 1, PUT(P, 1)) DO(1, 0, DESTROY(P))
#elif defined(FLIP_REMOVE) /* a flip and a remove of the same */
#define INITIAL HAS_ONE
#define SCRIPT DO(0, 0, PUT(P, 0)) DO(0, 1, PUT(P, 0)) DO(1, 0, REMOVE(P, 0))
#elif defined(FLIP_REMOVES) /* the same, where another id is in the plan */
#define INITIAL HAS_BOTH
#define SCRIPT                                                                 \
	DO(0, 0, PUT(P, 0))                                                    \
	DO(0, 1, PUT(P, 0)) DO(1, 0, REMOVE(P, 0)) DO(1, 1, REMOVE(P, 1))
#elif defined(FLIP_DESTROY)
#define INITIAL HAS_BOTH
#define SCRIPT DO(0, 0, PUT(P, 0)) DO(0, 1, PUT(P, 1)) DO(1, 0, DESTROY(P))
#elif defined(ADD_REMOVE) /* the plan dies under who adds to it */
#define LEAVES 1
#define INITIAL HAS_ONE
#define SCRIPT DO(0, 0, PUT(P, 1)) DO(1, 0, REMOVE(P, 0))
#elif defined(ADD_AGAIN) /* a position is left and comes back */
#define INITIAL HAS_BOTH
#define SCRIPT                                                                 \
	DO(0, 0, REMOVE(P, 0))                                                 \
	DO(0, 1, PUT(P, 0)) DO(1, 0, REMOVE(P, 0)) DO(1, 1, REMOVE(P, 1))
#elif defined(ADD_DESTROY) /* and the other puts, too */
#define INITIAL HAS_ONE
#define SCRIPT DO(0, 0, PUT(P, 1)) DO(1, 0, DESTROY(P)) DO(1, 1, PUT(P, 1))
#elif defined(CHANGE_HANDS) /* one replaces what the other one put */
#define LEAVES 1
#define INITIAL HAS_ONE
#define SCRIPT DO(0, 0, PUT(P, 0)) DO(0, 1, PUT(P, 0)) DO(1, 0, PUT(P, 0))
#elif defined(BOTH_REPLACE)
#define LEAVES 1
#define INITIAL HAS_ONE
#define SCRIPT DO(0, 0, PUT(P, 0)) DO(1, 0, PUT(P, 0)) DO(1, 1, PUT(P, 0))
#elif defined(ADD_PUT) /* both have a plan, and put one id */
#define LEAVES 2
#define INITIAL EACH_HAS_ONE
#define SCRIPT DO(0, 0, PUT(P, 1)) DO(1, 0, PUT(P, 1))
#elif defined(ADD_CREATE) /* one has a plan, the other one makes its first */
#define LEAVES 2
#define INITIAL HAS_ONE
#define SCRIPT DO(0, 0, PUT(P, 1)) DO(1, 0, PUT(P, 1))
#elif defined(CROSSWISE) /* each puts what the other one has */
#define LEAVES 2
#define INITIAL EACH_HAS_ONE
#define SCRIPT DO(0, 0, PUT(P, 1)) DO(1, 0, PUT(P, 0))
#elif defined(NARROW_OPEN) /* one says what it has, and then has more */
#define LEAVES 2
#define INITIAL EACH_HAS_ONE
#define SCRIPT DO(0, 0, PUT(P, 0)) DO(0, 1, PUT(P, 1)) DO(1, 0, PUT(P, 1))
#elif defined(NARROW_REMOVE) /* and its plan dies meanwhile */
#define INITIAL EACH_HAS_ONE
#define SCRIPT DO(0, 0, PUT(P, 0)) DO(0, 1, PUT(P, 1)) DO(1, 0, REMOVE(P, 0))
#elif defined(                                                                 \
	OPEN_FREE) /* what another one opens for is taken away by who put it */
#define LEAVES 1
#define INITIAL EACH_HAS_ONE
#define SCRIPT DO(0, 0, PUT(P, 1)) DO(1, 0, REMOVE(P, 0))
#elif defined(                                                                 \
	OPEN_FIND) /* who looks for one while the entry changes finds it */
#define LEAVES 1
#define INITIAL EACH_HAS_ONE
#define SCRIPT DO(0, 0, PUT(P, 1)) DO(1, 0, PUT(P, 1)) DO(1, 1, REMOVE(P, 0))
#elif defined(PUT_CYCLE) /* what remains is what was put last */
#define LEAVES 1
#define INITIAL HAS_ONE
#define SCRIPT DO(0, 0, PUT(P, 0)) DO(1, 0, REMOVE(P, 0)) DO(1, 1, PUT(P, 0))
#elif defined(FLIP_CYCLE)
#define LEAVES 1
#define INITIAL HAS_ONE
#define SCRIPT DO(0, 0, REMOVE(P, 0)) DO(0, 1, PUT(P, 0)) DO(1, 0, PUT(P, 0))
#elif defined(PUT_UNDO) /* who put removes it */
#define INITIAL HAS_ONE
#define SCRIPT DO(0, 0, PUT(P, 0)) DO(0, 1, REMOVE(P, 0)) DO(1, 0, DESTROY(P))
#elif defined(REUSE) /* the record comes back for another program */
#define LEAVES 1
#define INITIAL HAS_ONE
#define SCRIPT DO(0, 0, DESTROY(P)) DO(0, 1, PUT(Q, 0)) DO(1, 0, REMOVE(P, 0))
#elif defined(REUSE_DESTROY)
#define LEAVES 1
#define INITIAL HAS_ONE
#define SCRIPT DO(0, 0, REMOVE(P, 0)) DO(0, 1, PUT(Q, 0)) DO(1, 0, DESTROY(P))
#elif defined(REUSE_SAME) /* for the same one */
#define INITIAL HAS_ONE
#define SCRIPT                                                                 \
	DO(0, 0, DESTROY(P))                                                   \
	DO(0, 1, PUT(P, 0))                                                    \
	DO(0, 2, PUT(P, 1)) DO(1, 0, REMOVE(P, 0)) DO(1, 1, REMOVE(P, 1))
#elif defined(REUSE_SAME_DESTROY)
#define INITIAL HAS_ONE
#define SCRIPT DO(0, 0, REMOVE(P, 0)) DO(0, 1, PUT(P, 0)) DO(1, 0, DESTROY(P))
#elif defined(REUSE_THREE) /* another one destroys, a third one still looks */
#define THREADS 3
#define INITIAL HAS_ONE
#define SCRIPT                                                                 \
	DO(0, 0, PUT(Q, 0))                                                    \
	DO(0, 1, PUT(P, 0)) DO(1, 0, DESTROY(P)) DO(2, 0, REMOVE(P, 0))
#elif defined(LATE_FIND) /* a slot is back, its plan still entered */
#define THREADS 3
#define SLOTS 2
#define PLANS 2
#define INITIAL HAS_BOTH
#define SCRIPT                                                                 \
	DO(0, 0, PUT(P, 0))                                                    \
	DO(1, 0, REMOVE(P, 0)) DO(1, 1, REMOVE(P, 1)) DO(2, 0, REMOVE(P, 0))
#elif defined(LAST_OF_TWO) /* who is last clears */
#define THREADS 3
#define LEAVES 0
#define INITIAL HAS_BOTH
#define SCRIPT                                                                 \
	DO(0, 0, REMOVE(P, 0)) DO(1, 0, REMOVE(P, 1)) DO(2, 0, DESTROY(P))
#elif defined(PUT_PUT_REMOVE)
#define THREADS 3
#define SCRIPT DO(0, 0, PUT(P, 0)) DO(1, 0, PUT(P, 0)) DO(2, 0, REMOVE(P, 0))
#elif defined(FLIP_PUT_REMOVE)
#define THREADS 3
#define INITIAL HAS_ONE
#define SCRIPT DO(0, 0, PUT(P, 0)) DO(1, 0, PUT(P, 0)) DO(2, 0, REMOVE(P, 0))
#elif defined(PUT3)
#define LEAVES 1
#define THREADS 3
#define OWNERS 3
#define SCRIPT DO(0, 0, PUT(P, 0)) DO(1, 0, PUT(P, 0)) DO(2, 0, PUT(P, 0))
#endif

#ifndef OWNERS
#define OWNERS 2
#endif
#ifndef THREADS
#define THREADS 2
#endif
#ifndef SLOTS
#define SLOTS 4
#endif
#ifndef PLANS
#define PLANS 4
#endif
#ifndef PLACES
#define PLACES 3
#endif
#ifndef INITIAL
#define INITIAL
#endif

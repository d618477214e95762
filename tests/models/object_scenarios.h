/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of object.pml do: SCRIPT fills op[thread * OPS + n]. Buffers have
 * a value of their own for each put; kernels with the same value are the same.
 */
#define DO(thread, n, what) op[(thread)*OPS + (n)] = what;

#if defined(PUT_PUT) /* first allocation, twice at once */
#define THREADS 2
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 2))
#elif defined(REPLACE_REPLACE) /* a live one, replaced twice at once */
#define THREADS 2
#define INITIAL 1
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 2))
#elif defined(REPLACE_REMOVE)
#define THREADS 2
#define INITIAL 1
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, REMOVE(0))
#elif defined(REMOVE_REMOVE)
#define THREADS 2
#define INITIAL 1
#define SCRIPT DO(0, 0, REMOVE(0)) DO(1, 0, REMOVE(0)) DO(1, 1, PUT(0, 2))
#elif defined(PUT_CYCLE) /* one thread puts, another removes and puts */
#define THREADS 2
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, REMOVE(0)) DO(1, 1, PUT(0, 2))
#elif defined(REPLACE_CYCLE)
#define THREADS 2
#define INITIAL 1
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, REMOVE(0)) DO(1, 1, PUT(0, 2))
#elif defined(PUT_UNDO) /* one thread puts, another puts and removes */
#define THREADS 2
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 2)) DO(1, 1, REMOVE(0))
#elif defined(REPLACE_TWICE) /* and somebody else's comes in between */
#define THREADS 2
#define INITIAL 1
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 2)) DO(1, 1, PUT(0, 3))
#elif defined(REMOVE_REUSE) /* the slot comes back under the same key */
#define THREADS 2
#define INITIAL 1
#define SCRIPT DO(0, 0, REMOVE(0)) DO(1, 0, PUT(0, 1)) DO(1, 1, REMOVE(0))
#elif defined(CYCLE_CYCLE)
#define THREADS 2
#define SCRIPT                                                                 \
	DO(0, 0, PUT(0, 1))                                                    \
	DO(0, 1, REMOVE(0)) DO(1, 0, PUT(0, 2)) DO(1, 1, REMOVE(0))
#elif defined(PUT3)
#define THREADS 3
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 2)) DO(2, 0, PUT(0, 3))
#elif defined(PUT2_REMOVE)
#define THREADS 3
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 2)) DO(2, 0, REMOVE(0))
#elif defined(TWO_KEYS) /* slots and places change their key */
#define THREADS 2
#define INITIAL 1
#define KEYS 2
#define SCRIPT                                                                 \
	DO(0, 0, REMOVE(0))                                                    \
	DO(0, 1, PUT(1, 1)) DO(0, 2, PUT(0, 2)) DO(1, 0, REMOVE(0))
#elif defined(LOAD2) /* the same kernel */
#define THREADS 2
#define KERNELS 1
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 1))
#define CHECK_MORE allocs == 1 && frees == 0 && dispatches == 1
#elif defined(LOAD2_TWICE)
#define THREADS 2
#define KERNELS 1
#define SCRIPT                                                                 \
	DO(0, 0, PUT(0, 1))                                                    \
	DO(0, 1, PUT(0, 1)) DO(1, 0, PUT(0, 1)) DO(1, 1, PUT(0, 1))
#elif defined(LOAD3)
#define THREADS 3
#define KERNELS 1
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 1)) DO(2, 0, PUT(0, 1))
#elif defined(LOAD2_UNLOAD)
#define THREADS 3
#define KERNELS 1
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 1)) DO(2, 0, REMOVE(0))
#elif defined(LOAD_CYCLE)
#define THREADS 2
#define KERNELS 1
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, REMOVE(0)) DO(1, 1, PUT(0, 1))
#elif defined(LOAD_OTHER) /* another size: replaced */
#define THREADS 2
#define KERNELS 1
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(0, 1, PUT(0, 2)) DO(1, 0, PUT(0, 1))
#elif defined(LOAD3_OTHER)
#define THREADS 3
#define KERNELS 1
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 2)) DO(2, 0, PUT(0, 1))
#elif defined(TURN_WRAP) /* turns half way round meet */
#define TURNS 4
#define THREADS 2
#define INITIAL 1
#define INITIAL_TURN (TURNS / 2 - 1)
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, REMOVE(0)) DO(1, 1, PUT(0, 2))
#endif

#ifndef KERNELS
#define KERNELS 0
#endif
/* Kernels and CBs look before they enter, buffers do not. */
#ifndef BOLD
#define BOLD 0
#endif
#ifndef KEYS
#define KEYS 1
#endif
#ifndef INITIAL
#define INITIAL 0
#endif
#define INITIAL_SLOT 1
#define INITIAL_PLACE 1
#ifndef INITIAL_TURN
#define INITIAL_TURN 0
#endif

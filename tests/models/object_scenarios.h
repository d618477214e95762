/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of object.pml do: SCRIPT fills op[thread * OPS + n]. Key 0 is on
 * devices 0 and 1 unless PLACE says otherwise; devices are a mask. Buffers have a value
 * of their own for each put; kernels with the same value are the same.
 */
#define DO(thread, n, what) op[(thread)*OPS + (n)] = what;
#define WHOLE 3 /* devices 0 and 1 */
#define LIVE begin_with(0, 1, 0);

#if defined(PUT_PUT) /* first allocation, twice at once */
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 2))
#elif defined(REPLACE_REPLACE) /* a live one, replaced twice at once */
#define INITIAL LIVE
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 2))
#elif defined(REPLACE_FREE)
#define INITIAL LIVE
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, FREE(0, WHOLE))
#elif defined(FREE_FREE)
#define INITIAL LIVE
#define SCRIPT                                                                 \
	DO(0, 0, FREE(0, WHOLE)) DO(1, 0, FREE(0, WHOLE)) DO(1, 1, PUT(0, 2))
#elif defined(PUT_CYCLE) /* one thread puts, another frees and puts */
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, FREE(0, WHOLE)) DO(1, 1, PUT(0, 2))
#elif defined(REPLACE_CYCLE)
#define INITIAL LIVE
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, FREE(0, WHOLE)) DO(1, 1, PUT(0, 2))
#elif defined(PUT_UNDO) /* one thread puts, another puts and frees */
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 2)) DO(1, 1, FREE(0, WHOLE))
#elif defined(REPLACE_TWICE) /* and another thread's comes in between */
#define INITIAL LIVE
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 2)) DO(1, 1, PUT(0, 3))
#elif defined(FREE_REUSE) /* the slot comes back under the same key */
#define INITIAL LIVE
#define SCRIPT                                                                 \
	DO(0, 0, FREE(0, WHOLE)) DO(1, 0, PUT(0, 1)) DO(1, 1, FREE(0, WHOLE))
#elif defined(TWO_IDS) /* slots and entries change their key */
#define KEYS 2
#define ID(key) (key)
#define PLACE(key) WHOLE
#define INITIAL LIVE
#define SCRIPT                                                                 \
	DO(0, 0, FREE(0, WHOLE))                                               \
	DO(0, 1, PUT(1, 1)) DO(0, 2, PUT(0, 2)) DO(1, 0, FREE(0, WHOLE))
#elif defined(RANK_WRAP) /* ranks half way round meet */
#define RANKS 4
#define INITIAL begin_with(0, 1, RANKS / 2 - 1);
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, FREE(0, WHOLE)) DO(1, 1, PUT(0, 2))

/* Parts are freed. */
#elif defined(PART_PART) /* each thread frees one device */
#define INITIAL LIVE
#define SCRIPT DO(0, 0, FREE(0, 1)) DO(1, 0, FREE(0, 2))
#define CHECK_MORE state[1] == 0
#elif defined(PARTS_OVERLAP)
#define PLACE(key) 7
#define INITIAL LIVE
#define SCRIPT DO(0, 0, FREE(0, 3)) DO(1, 0, FREE(0, 6))
#define CHECK_MORE state[1] == 0
#elif defined(PARTS3) /* two of three that are freed may leave one CAS behind */
#define THREADS 3
#define PLACE(key) 7
#define INITIAL LIVE
#define SCRIPT DO(0, 0, FREE(0, 3)) DO(1, 0, FREE(0, 2)) DO(2, 0, FREE(0, 6))
#define CHECK_MORE state[1] == 0
#elif defined(PART_WHOLE)
#define INITIAL LIVE
#define SCRIPT DO(0, 0, FREE(0, 1)) DO(1, 0, FREE(0, WHOLE))
#define CHECK_MORE state[1] == 0
#elif defined(PART_REUSE) /* the slot comes back under the same key */
#define INITIAL LIVE
#define SCRIPT                                                                 \
	DO(0, 0, FREE(0, 1)) DO(1, 0, FREE(0, WHOLE)) DO(1, 1, PUT(0, 1))
#elif defined(PART_REUSE_OTHER) /* and under another one */
#define KEYS 2
#define ID(key) (key)
#define PLACE(key) WHOLE
#define INITIAL LIVE
#define SCRIPT                                                                 \
	DO(0, 0, FREE(0, 1)) DO(1, 0, FREE(0, WHOLE)) DO(1, 1, PUT(1, 1))
#elif defined(PART_REPLACE)
#define INITIAL LIVE
#define SCRIPT DO(0, 0, FREE(0, 1)) DO(1, 0, PUT(0, 1))
#elif defined(PARTS_REPLACE)
#define INITIAL LIVE
#define SCRIPT DO(0, 0, FREE(0, 1)) DO(0, 1, FREE(0, 2)) DO(1, 0, PUT(0, 1))
#elif defined(PARTS_REPLACE3)
#define PLACE(key) 7
#define INITIAL LIVE
#define SCRIPT DO(0, 0, FREE(0, 1)) DO(0, 1, FREE(0, 2)) DO(1, 0, PUT(0, 1))
#elif defined(PART_CYCLE)
#define INITIAL LIVE
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, FREE(0, 1)) DO(1, 1, PUT(0, 2))
#elif defined(PUT_PART) /* one of two that are inserted shrinks */
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 2)) DO(1, 1, FREE(0, 1))
#elif defined(PUT_PUT_PART)
#define THREADS 3
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 2)) DO(2, 0, FREE(0, 1))
#elif defined(REPLACE_PART_FREE) /* what is being replaced shrinks, then all goes */
#define INITIAL LIVE
#define SCRIPT                                                                 \
	DO(0, 0, PUT(0, 1)) DO(1, 0, FREE(0, 1)) DO(1, 1, FREE(0, WHOLE))
#elif defined(TWO_PLACES) /* one id on device 0 and on device 1, freed together */
#define KEYS 2
#define ID(key) 0
#define PLACE(key) ((key) + 1)
#define INITIAL begin_with(0, 0, 0); begin_with(1, 1, 0);
#define SCRIPT                                                                 \
	DO(0, 0, FREE(0, WHOLE)) DO(1, 0, FREE(0, 1)) DO(1, 1, PUT(0, 1))
#elif defined(TWO_PLACES_OVERLAP) /* device 1 has the id twice: one goes at a time */
#define KEYS 2
#define ID(key) 0
#define PLACE(key) (2 + (key))
#define INITIAL begin_with(0, 0, 0); begin_with(1, 1, 0);
#define SCRIPT DO(0, 0, FREE(0, 2)) DO(1, 0, FREE(0, WHOLE))
#define CHECK_MORE state[0] == 0 && state[1] == 0

/* kernels */
#elif defined(LOAD2) /* the same kernel */
#define KERNELS 1
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 1))
#define CHECK_MORE allocs == 1 && dispatches == 1
#elif defined(LOAD2_TWICE)
#define KERNELS 1
#define SCRIPT                                                                 \
	DO(0, 0, PUT(0, 1))                                                    \
	DO(0, 1, PUT(0, 1)) DO(1, 0, PUT(0, 1)) DO(1, 1, PUT(0, 1))
#elif defined(LOAD3)
#define THREADS 3
#define KERNELS 1
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 1)) DO(2, 0, PUT(0, 1))
#elif defined(LOAD_CYCLE)
#define KERNELS 1
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, FREE(0, WHOLE)) DO(1, 1, PUT(0, 1))
#elif defined(LOAD_OTHER) /* another size: replaced */
#define KERNELS 1
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(0, 1, PUT(0, 2)) DO(1, 0, PUT(0, 1))
#elif defined(LOAD_PART) /* a part of one that is inserted is unloaded */
#define KERNELS 1
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, PUT(0, 1)) DO(1, 1, FREE(0, 1))
#elif defined(LOAD_PART_AGAIN)
#define KERNELS 1
#define SCRIPT DO(0, 0, PUT(0, 1)) DO(1, 0, FREE(0, 1)) DO(1, 1, PUT(0, 1))
#endif

#ifndef THREADS
#define THREADS 2
#endif
#ifndef KERNELS
#define KERNELS 0
#endif
/* Kernels and CBs look before they are inserted, buffers do not. */
#ifndef BOLD
#define BOLD 0
#endif
#ifndef KEYS
#define KEYS 1
#endif
#ifndef ID
#define ID(key) 0
#endif
#ifndef PLACE
#define PLACE(key) WHOLE
#endif
#ifndef INITIAL
#define INITIAL
#endif
#ifndef RANKS
#define RANKS 16 /* 256 in the code */
#endif

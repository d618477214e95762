/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of group.pml do: SCRIPT fills op[thread * OPS + n]. X and Y are ids;
 * MESH is both devices. INITIAL: X is on both, in octet 0, from the beginning.
 */
#define DO(thread, n, what) op[(thread)*OPS + (n)] = what;
#define MESH GROUP
#define X 0
#define Y 1

#define IS_LIVE_ALREADY                                                        \
	octet_free[0] = false;                                                 \
	use[0] = 1;                                                            \
	word[0] = NEXT(0, ALL);                                                \
	generation[0] = 2;                                                     \
	generation[1] = 2;                                                     \
	body_device[1] = 1;                                                    \
	place[0] = ENTRY(TAG(X, GROUP), 0);                                    \
	place_use[0] = 1;                                                      \
	groups = true;                                                         \
	allocs = 2;                                                            \
	puts = 2;

#if defined(REUSE) /* the octet comes back while others free its slots */
#define THREADS 3
#define PLACES 2
#define SINGLES 1
#define SCRIPT                                                                 \
	DO(0, 0, PUT(MESH, X))                                                 \
	DO(0, 1, REMOVE(MESH, X))                                              \
	DO(0, 2, PUT(MESH, X)) DO(1, 0, REMOVE(1, X)) DO(2, 0, REMOVE(0, X))
#elif defined(LIVE_REUSE) /* and goes again */
#define THREADS 3
#define PLACES 2
#define SINGLES 1
#define INITIAL IS_LIVE_ALREADY
#define SCRIPT                                                                 \
	DO(0, 0, REMOVE(MESH, X))                                              \
	DO(0, 1, PUT(MESH, X))                                                 \
	DO(0, 2, REMOVE(MESH, X)) DO(1, 0, REMOVE(1, X)) DO(2, 0, REMOVE(0, X))
#elif defined(REUSE_OTHER) /* under another id */
#define THREADS 3
#define PLACES 2
#define SINGLES 1
#define IDS 2
#define INITIAL IS_LIVE_ALREADY
#define SCRIPT                                                                 \
	DO(0, 0, REMOVE(MESH, X))                                              \
	DO(0, 1, PUT(MESH, Y)) DO(1, 0, REMOVE(1, X)) DO(2, 0, REMOVE(0, Y))
#elif defined(REUSE_TWICE) /* two threads, but two meshes come and go */
#define THREADS 2
#define PLACES 2
#define SINGLES 1
#define INITIAL IS_LIVE_ALREADY
#define SCRIPT                                                                 \
	DO(0, 0, REMOVE(MESH, X))                                              \
	DO(0, 1, PUT(MESH, X))                                                 \
	DO(0, 2, REMOVE(MESH, X)) DO(1, 0, REMOVE(1, X)) DO(1, 1, REMOVE(0, X))
#elif defined(                                                                 \
	MESH_MESH_FREE) /* two meshes free it at once, one puts it again */
#define THREADS 2
#define PLACES 2
#define SINGLES 1
#define INITIAL IS_LIVE_ALREADY
#define SCRIPT                                                                 \
	DO(0, 0, REMOVE(MESH, X))                                              \
	DO(0, 1, PUT(MESH, X)) DO(1, 0, REMOVE(MESH, X))
#elif defined(MESH_MESH_MEMBER) /* and a member goes by itself */
#define THREADS 3
#define PLACES 2
#define SINGLES 1
#define INITIAL IS_LIVE_ALREADY
#define SCRIPT                                                                 \
	DO(0, 0, REMOVE(MESH, X))                                              \
	DO(0, 1, PUT(MESH, X))                                                 \
	DO(1, 0, REMOVE(MESH, X)) DO(2, 0, REMOVE(0, X))
#elif defined(MESH_MESH_OTHER) /* two meshes free, and another id comes */
#define THREADS 2
#define PLACES 2
#define SINGLES 1
#define IDS 2
#define INITIAL IS_LIVE_ALREADY
#define SCRIPT                                                                 \
	DO(0, 0, REMOVE(MESH, X))                                              \
	DO(0, 1, PUT(MESH, Y))                                                 \
	DO(1, 0, REMOVE(MESH, X)) DO(1, 1, REMOVE(MESH, Y))
#elif defined(MESH_SINGLE) /* rivals */
#define ALL_LIVE 1
#define THREADS 2
#define PLACES 3
#define SINGLES 2
#define SCRIPT DO(0, 0, PUT(MESH, X)) DO(1, 0, PUT(0, X))
#elif defined(MESH_SINGLE_FREE)
#define THREADS 2
#define PLACES 3
#define SINGLES 2
#define SCRIPT                                                                 \
	DO(0, 0, PUT(MESH, X)) DO(0, 1, REMOVE(MESH, X)) DO(1, 0, PUT(0, X))
#elif defined(MESH_SINGLES) /* and one on the other device */
#define ALL_LIVE 1
#define THREADS 2
#define PLACES 4
#define SINGLES 3
#define SCRIPT DO(0, 0, PUT(MESH, X)) DO(1, 0, PUT(0, X)) DO(1, 1, PUT(1, X))
#elif defined(MESH_CYCLE) /* the single goes, perhaps the mesh's */
#define THREADS 2
#define PLACES 3
#define SINGLES 2
#define SCRIPT DO(0, 0, PUT(MESH, X)) DO(1, 0, PUT(0, X)) DO(1, 1, REMOVE(0, X))
#elif defined(                                                                 \
	LIVE_SINGLE_FREE) /* a member is put again by itself, the mesh goes */
#define ALL_LIVE 1
#define THREADS 2
#define PLACES 3
#define SINGLES 2
#define INITIAL IS_LIVE_ALREADY
#define SCRIPT                                                                 \
	DO(0, 0, REMOVE(MESH, X)) DO(0, 1, PUT(MESH, X)) DO(1, 0, PUT(0, X))
#elif defined(MESH_SINGLE_REMOVE)
#define THREADS 3
#define PLACES 3
#define SINGLES 2
#define SCRIPT DO(0, 0, PUT(MESH, X)) DO(1, 0, PUT(0, X)) DO(2, 0, REMOVE(0, X))
#elif defined(MESH_MESH) /* one id, twice at once */
#define ALL_LIVE 1
#define THREADS 2
#define PLACES 4
#define SINGLES 3
#define SCRIPT DO(0, 0, PUT(MESH, X)) DO(1, 0, PUT(MESH, X))
#elif defined(MESH_MESH_REMOVE)
#define THREADS 2
#define PLACES 4
#define SINGLES 3
#define SCRIPT                                                                 \
	DO(0, 0, PUT(MESH, X)) DO(1, 0, PUT(MESH, X)) DO(1, 1, REMOVE(MESH, X))
#endif

#ifndef IDS
#define IDS 1
#endif
#ifndef INITIAL
#define INITIAL
#endif

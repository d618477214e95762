/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slot, the records about it, and the aggregator's mirror: slot_begin(),
 * ttm_found_leave() and the commits of lib/record/object.h and insert.c, remove.c, docs/layout.md
 * ("Records and slots"), and the rule by which an aggregator follows.
 *
 * Each thread has a lane of few records, so that the reader is lapped. The first
 * thread allocates on two devices, the second frees, all or the part on one device, the
 * third allocates, too, or (LIVES=1) frees: alloc on lane A, shrink and free on B, reuse or
 * free on C. They stop at any moment. The copy of a record is one step: lane.pml shows that an accepted record is
 * whole. A scan loads w0 and the body of the slot in either order, so it may tear.
 *
 * The reader attaches at any moment (tails, then slots), drains the lanes in any
 * order, and scans again when it was lapped.
 *
 * CANCEL: a thread may end inside an operation. The thread that adopts its lane writes a
 * NOOP (ring_adopt in ring.c), and the reader scans again when it reads one.
 *
 *   always   a scan is not older than the records drained before it
 *   at rest  the mirror is the slot: live on the same devices with the same body, or
 *            not live
 */
#ifndef LANES
#define LANES 3
#endif
#ifndef CAPACITY
#define CAPACITY 1
#endif
#ifndef LIVES
#define LIVES 2
#endif

/* Live is 2 on device 1, 3 on devices 0 and 1. */
#define FREE 0
#define WRITING 1
#define SHRUNK 2
#define WHOLE 3
#define W0(generation, state) ((generation) * 4 + (state))
#define GENERATION(w) ((w) / 4)
#define STATE(w) ((w) % 4)
#define IS_LIVE(w) (STATE(w) >= SHRUNK)
#define NOOP 255

byte w0, body;		/* the slot */
bool supply = true;		/* the slot is in the supply */
byte lives = LIVES;		/* how often it may still be used */

byte tail[LANES];
byte ring_w0[LANES * CAPACITY];
byte ring_body[LANES * CAPACITY];
#define AT(lane, n) ((lane) * CAPACITY + (n) % CAPACITY)

byte ended;

/* ttm_record_write(), ttm_ring_end() */
inline commit(w, body)
{
	d_step {
		ring_w0[AT(me, tail[me])] = w;
		ring_body[AT(me, tail[me])] = body;
		tail[me] = tail[me] + 1
	}
}

/* The thread ends here, and its lane is adopted. */
#ifdef CANCEL
#define MAY_END_HERE if :: commit(NOOP, 0); break :: skip fi;
#else
#define MAY_END_HERE
#endif

#ifdef FREE_KEEPS_GENERATION
#define FREED(w) W0(GENERATION(w), FREE)
#else
#define FREED(w) W0(GENERATION(w) + 1, FREE)
#endif
#ifdef SHRINK_KEEPS_GENERATION
#define SHRINK(w) W0(GENERATION(w), SHRUNK)
#else
#define SHRINK(w) W0(GENERATION(w) + 1, SHRUNK)
#endif

#define FREES (me == 1 || (me == 2 && LIVES == 1))
#ifdef NO_SHRINK
#define SHRINKS false
#else
#define SHRINKS FREES
#endif

proctype Thread(byte me)
{
	byte w, new;

	do
	:: atomic {	/* ttm_supply_take_peeked */
		supply && lives > 0 && me != 1 ->
		supply = false;
		lives--;
		w = w0;
		new = lives + 1	/* another one each time */
	   }
#ifdef RECORD_FIRST
	   commit(W0(GENERATION(w) + 2, WHOLE), new);
#endif
	   w0 = W0(GENERATION(w) + 1, WRITING);	/* slot_begin */
	   MAY_END_HERE
	   body = new;
	   w0 = W0(GENERATION(w) + 2, WHOLE);
	   MAY_END_HERE
#ifndef RECORD_FIRST
	   commit(W0(GENERATION(w) + 2, WHOLE), new);
#endif
	   w = 0; new = 0
	:: atomic {	/* ttm_found_leave: the CAS */
		IS_LIVE(w0) && FREES ->
		w0 = FREED(w0);
		w = w0
	   }
	   MAY_END_HERE
	   commit(w, 0);	/* ttm_found_commit */
	   supply = true;
	   w = 0
	:: atomic {	/* ttm_found_leave: the CAS; the body is as it was found */
		STATE(w0) == WHOLE && SHRINKS ->
		w0 = SHRINK(w0);
		w = w0;
		new = body
	   }
	   MAY_END_HERE
	   commit(w, new);
	   w = 0; new = 0
	:: break
	od;
	ended++
}

/* the mirror */
byte m_generation, m_state, m_body;
bool m_scanned;
byte position[LANES];
bool lapped;

inline read_tails()
{
	i = 0;
	do
	:: i < LANES -> position[i] = tail[i]; i++
	:: else -> break
	od;
	i = 0
}

#ifdef WRITING_IS_LIVE
#define SCANNED(w) (STATE(w) == WRITING -> WHOLE : STATE(w))
#else
#define SCANNED(w) (STATE(w) == WRITING -> FREE : STATE(w))
#endif

/* The words of the slot in either order. */
inline read_slot()
{
	do
	:: !(got & 1) -> s = w0; got = got | 1
	:: !(got & 2) -> b = body; got = got | 2
	:: got == 3 -> break
	od;
	atomic {
		assert(GENERATION(s) >= m_generation);
		m_generation = GENERATION(s);
		m_state = SCANNED(s);
		m_body = b;
		m_scanned = true;
		got = 0; s = 0; b = 0
	}
}

inline scan()
{
	lapped = false;
#ifdef SCAN_BEFORE_TAILS
	read_slot();
	read_tails()
#else
	read_tails();
	read_slot()
#endif
}

#ifdef NO_EQUAL_RULE
#define APPLIES(g) ((g) > m_generation)
#elif defined(NO_GENERATION_RULE)
#define APPLIES(g) true
#else
#define APPLIES(g) ((g) > m_generation || ((g) == m_generation && m_scanned))
#endif

/* The next record of lane i, if there is one. */
inline drain()
{
	d_step {
		if
		:: position[i] == tail[i]
		:: position[i] != tail[i] && tail[i] - position[i] > CAPACITY ->
			lapped = true;
			position[i] = tail[i] - CAPACITY
		:: else ->
			s = ring_w0[AT(i, position[i])];
			b = ring_body[AT(i, position[i])];
			position[i] = position[i] + 1;
			if
#ifndef NOOP_IS_NOTHING
			:: s == NOOP -> lapped = true
#else
			:: s == NOOP
#endif
			:: s != NOOP && APPLIES(GENERATION(s)) ->
				m_generation = GENERATION(s);
				m_state = STATE(s);
#ifdef SHRINK_KEEPS_BODY
				m_body = (m_state == SHRUNK -> m_body : b);
#else
				m_body = b;
#endif
				m_scanned = false
			:: else
			fi;
			s = 0; b = 0
		fi;
		i = 0
	}
}

#define BEHIND (position[0] != tail[0] || position[1] != tail[1] || \
	position[LANES - 1] != tail[LANES - 1])

active proctype Reader()
{
	byte i, s, b, got;

	scan();
	do
	:: position[0] != tail[0] -> i = 0; drain()
	:: position[1] != tail[1] -> i = 1; drain()
#if LANES > 2
	:: position[2] != tail[2] -> i = 2; drain()
#endif
	:: lapped -> scan()
	:: ended == LANES && !BEHIND && !lapped -> break
	od;
	assert(m_state == (IS_LIVE(w0) -> STATE(w0) : FREE));
	assert(m_state == FREE || m_body == body)
}

init
{
	atomic {
		run Thread(0);
		run Thread(1);
#if LANES > 2
		run Thread(2);
#endif
	}
}

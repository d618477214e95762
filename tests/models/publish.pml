/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A publication, and a reader of the aggregate: publication_write() in
 * lib/daemon/publish/publish.c, row_write() in publish_objects.c, docs/aggregate.md
 * ("Reading a copy").
 *
 * Stores go through buffers to the memory that the reader sees: with TSO in their
 * order; otherwise (PSO) only stores to one word keep their order, and a release
 * fence waits until all buffers are empty. The reader's loads happen in the order
 * written, but where no fence stands between two, in any.
 *
 * The file appears with publication 1 in copy 0. A copy has two words that say its
 * number; the second says its objects_seq, too. There is one object row of two
 * words, which say the objects_seq they belong to. A publication changes the row or
 * does not.
 *
 * The writer is killed anywhere. The next ttmemd makes a new file; with SUCCESSOR
 * one goes on in the old file, to show what the rule for an odd seq is for. With
 * COPIES there are no objects.
 *
 *   always   an accepted copy is whole and not older than one accepted before; an
 *            accepted row is whole; a cut's row is that of its copy and not odd;
 *            no sequence goes back
 *   at rest  the active copy is whole; an even objects_seq is that of the active
 *            copy, and so is the row then
 */
#ifndef LAST
#define LAST 3		/* publication */
#endif
#ifndef READS
#define READS 2
#endif

/* words of memory */
#define ACTIVE 0
#define OSEQ 1
#define RSEQ 2
#define ROW(i) (3 + (i))
#define SEQ(c) (5 + (c))
#define WORD(c, i) (7 + (c) * 2 + (i))
#define CELLS 11

#define NUMBER(w) ((w) % 16)
#define COPY_OSEQ(w) ((w) / 16)

byte memory[CELLS];

#ifdef TSO
chan buffer = [6] of { byte, byte };
#define STORE(cell, value) buffer ! cell, value
#define FENCE true
#define DRAINED empty(buffer)
#else
chan buffer[CELLS] = [2] of { byte };
#define STORE(cell, value) buffer[cell] ! value
#define FENCE DRAINED
#define DRAINED (empty(buffer[0]) && empty(buffer[1]) && \
	empty(buffer[2]) && empty(buffer[3]) && empty(buffer[4]) && \
	empty(buffer[5]) && empty(buffer[6]) && empty(buffer[7]) && \
	empty(buffer[8]) && empty(buffer[9]) && empty(buffer[10]))
#endif

bool at_rest;

/* A store arrives. */
inline arrive(cell, value)
{
	assert((cell != OSEQ && cell != RSEQ && cell != SEQ(0) &&
		cell != SEQ(1)) || value >= memory[cell]);
	memory[cell] = value
}

proctype Memory()
{
	byte c, v;

	do
#ifdef TSO
	:: atomic { buffer ? c, v -> arrive(c, v); c = 0; v = 0 }
#else
	:: atomic { buffer[0] ? v -> arrive(0, v); v = 0 }
	:: atomic { buffer[1] ? v -> arrive(1, v); v = 0 }
	:: atomic { buffer[2] ? v -> arrive(2, v); v = 0 }
	:: atomic { buffer[3] ? v -> arrive(3, v); v = 0 }
	:: atomic { buffer[4] ? v -> arrive(4, v); v = 0 }
	:: atomic { buffer[5] ? v -> arrive(5, v); v = 0 }
	:: atomic { buffer[6] ? v -> arrive(6, v); v = 0 }
	:: atomic { buffer[7] ? v -> arrive(7, v); v = 0 }
	:: atomic { buffer[8] ? v -> arrive(8, v); v = 0 }
	:: atomic { buffer[9] ? v -> arrive(9, v); v = 0 }
	:: atomic { buffer[10] ? v -> arrive(10, v); v = 0 }
#endif
	:: at_rest && DRAINED -> break
	od
}

/* struct ttm_publish_file: private */
byte active_copy, number = 1, oseq = 2, seq[2];
byte gone;		/* 1: the writer has to stop, 2: it has */

#define ODD_AFTER(s) ((s) + (((s) & 1) -> 2 : 1))

#ifdef NO_OBJECTS_FENCE
#define OBJECTS_FENCE true
#else
#define OBJECTS_FENCE FENCE
#endif
#ifdef NO_ROW_FENCE
#define ROW_FENCE true
#else
#define ROW_FENCE FENCE
#endif
#ifdef NO_ROW_RELEASE
#define ROW_RELEASE true
#else
#define ROW_RELEASE FENCE
#endif
#ifdef NO_COPY_FENCE
#define COPY_FENCE true
#else
#define COPY_FENCE FENCE
#endif
#ifdef NO_COPY_RELEASE
#define COPY_RELEASE true
#else
#define COPY_RELEASE FENCE
#endif
#ifdef NO_ACTIVE_RELEASE
#define ACTIVE_RELEASE true
#else
#define ACTIVE_RELEASE FENCE
#endif
#ifdef NO_OBJECTS_RELEASE
#define OBJECTS_RELEASE true
#else
#define OBJECTS_RELEASE FENCE
#endif

/* row_write() */
inline row_write()
{
	STORE(RSEQ, oseq);
	ROW_FENCE;
	STORE(ROW(0), oseq + 1);
	STORE(ROW(1), oseq + 1);
	ROW_RELEASE;
	STORE(RSEQ, oseq + 1)
}

/* rows_publish() */
inline rows_publish()
{
	oseq = ODD_AFTER(oseq);
#ifndef OBJECTS_ODD_LATE
	STORE(OSEQ, oseq);
	OBJECTS_FENCE;
#endif
	row_write();
#ifdef OBJECTS_ODD_LATE
	FENCE;
	STORE(OSEQ, oseq);
#endif
	oseq++
}

/* copy_write() */
inline copy_write(c)
{
	seq[c] = ODD_AFTER(seq[c]);
	STORE(SEQ(c), seq[c]);
	COPY_FENCE;
	STORE(WORD(c, 0), number + 1);
	STORE(WORD(c, 1), number + 1 + 16 * oseq);
#ifdef FLIP_BEFORE_END
	FENCE;
	STORE(ACTIVE, c);
#endif
	COPY_RELEASE;
	seq[c] = seq[c] + 1;
	STORE(SEQ(c), seq[c])
}

/* publication_write() */
inline publication_write()
{
#ifndef COPIES
	if
	:: rows_publish()
	:: skip
	fi;
#endif
#ifdef OBJECTS_EVEN_EARLY
	FENCE;
	STORE(OSEQ, oseq);
	FENCE;
#endif
	copy_write(1 - active_copy);
	active_copy = 1 - active_copy;
#ifndef FLIP_BEFORE_END
	ACTIVE_RELEASE;
	STORE(ACTIVE, active_copy);
#endif
#ifndef OBJECTS_EVEN_EARLY
	OBJECTS_RELEASE;
	STORE(OSEQ, oseq);
#endif
	number++
}

proctype Writer()
{
	do
	:: number < LAST ->
		{
			publication_write()
		} unless { gone == 1 }
		if
		:: gone == 1 -> break
		:: else
		fi
	:: else -> break
	od;
	gone = 2
}

/* Kills the writer anywhere. */
proctype Kill()
{
	atomic {
		if
		:: gone == 0 -> gone = 1
		:: gone > 0
		fi
	}
}

/* Goes by what it finds in the file. */
proctype Successor()
{
	gone == 2;
	DRAINED;
#ifdef SUCCESSOR
	atomic {
		active_copy = memory[ACTIVE];
		number = NUMBER(memory[WORD(active_copy, 0)]);
		oseq = memory[OSEQ];
		seq[0] = memory[SEQ(0)];
		seq[1] = memory[SEQ(1)]
	}
#ifdef REPAIR
	if
	:: seq[1 - active_copy] & 1 ->
		seq[1 - active_copy] = seq[1 - active_copy] + 1;
		STORE(SEQ(1 - active_copy), seq[1 - active_copy]);
		FENCE
	:: else
	fi;
#endif
#ifndef COPIES
	rows_publish();	/* it has all rows to write */
#endif
	copy_write(1 - active_copy);
	active_copy = 1 - active_copy;
	FENCE;
	STORE(ACTIVE, active_copy);
	FENCE;
	STORE(OSEQ, oseq);
	DRAINED;
#endif
	at_rest = true
}

#ifdef ODD_IS_FINE
#define IS_ODD(s) false
#else
#define IS_ODD(s) ((s) & 1)
#endif

byte newest;		/* that the reader has accepted */

/* ttm_view_read(), ttm_view_read_objects() */
proctype Reader()
{
	byte a, s, a_again, s_again, w[2], got, reads;
	byte q, o, o_again, r, r_again, row[2];

	do
	:: reads == READS -> break
	:: reads < READS ->
		reads++;
		a = memory[ACTIVE];
		s = memory[SEQ(a)];
		/* the copy */
		do
		:: !(got & 1) -> w[0] = memory[WORD(a, 0)]; got = got | 1
		:: !(got & 2) -> w[1] = memory[WORD(a, 1)]; got = got | 2
#ifdef NO_COPY_ACQUIRE
		:: !(got & 4) -> s_again = memory[SEQ(a)]; got = got | 4
#endif
		:: (got & 3) == 3 -> break
		od;
		do
		:: !(got & 4) -> s_again = memory[SEQ(a)]; got = got | 4
		:: !(got & 8) -> a_again = memory[ACTIVE]; got = got | 8
		:: got == 15 -> break
		od;
		got = 0;
#ifdef NO_ACTIVE_CHECK
		a_again = a;
#endif
		if
		:: IS_ODD(s) || s != s_again || a != a_again -> goto again
		:: else
		fi;
		assert(w[0] == NUMBER(w[1]));
		assert(w[0] >= newest);
		newest = w[0];
#ifndef COPIES
		q = COPY_OSEQ(w[1]);
		/* its objects */
		o = memory[OSEQ];
		r = memory[RSEQ];
		do
		:: !(got & 1) -> row[0] = memory[ROW(0)]; got = got | 1
		:: !(got & 2) -> row[1] = memory[ROW(1)]; got = got | 2
#ifdef NO_ROWS_ACQUIRE
		:: !(got & 4) -> o_again = memory[OSEQ]; got = got | 4
		:: !(got & 8) -> r_again = memory[RSEQ]; got = got | 8
#endif
		:: (got & 3) == 3 -> break
		od;
		do
		:: !(got & 4) -> o_again = memory[OSEQ]; got = got | 4
		:: !(got & 8) -> r_again = memory[RSEQ]; got = got | 8
		:: got == 15 -> break
		od;
		assert((r & 1) || r != r_again || row[0] == row[1]);
		if
#ifdef CUT_BY_ITSELF	/* without asking what the copy says */
		:: !(o & 1) && o == o_again ->
#else
		:: o == q && o_again == q ->
#endif
			assert(!(r & 1));
			assert(row[0] == q);
			assert(row[1] == q)
		:: else
		fi;
#endif
again:
		atomic {
			a = 0; s = 0; a_again = 0; s_again = 0; got = 0;
			w[0] = 0; w[1] = 0; q = 0; o = 0; o_again = 0;
			r = 0; r_again = 0; row[0] = 0; row[1] = 0
		}
	od
}

/* What is left when the writer is gone. */
proctype Final()
{
	byte c;

	at_rest && DRAINED;
	d_step {
		c = memory[ACTIVE];
		assert(!(memory[SEQ(c)] & 1));
		assert(memory[WORD(c, 0)] == NUMBER(memory[WORD(c, 1)]));
		assert(memory[WORD(c, 0)] >= newest);
		assert((memory[OSEQ] & 1) ||
			(memory[OSEQ] == COPY_OSEQ(memory[WORD(c, 1)]) &&
			memory[ROW(0)] == memory[OSEQ] &&
			memory[ROW(1)] == memory[OSEQ]))
	}
}

init
{
	atomic {
		memory[OSEQ] = 2;
		memory[RSEQ] = 2;
		memory[ROW(0)] = 2;
		memory[ROW(1)] = 2;
		memory[SEQ(0)] = 2;
		memory[WORD(0, 0)] = 1;
		memory[WORD(0, 1)] = 1 + 16 * 2;
		seq[0] = 2;
		run Memory();
		run Writer();
		run Kill();
		run Successor();
		run Reader();
		run Final()
	}
}

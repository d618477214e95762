/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack of batches of free slots: lib/record/supply.c, stack_push() and
 * stack_pop().
 *
 * A batch is known by its first slot, 1 to BATCHES, 0 is none. Threads pop and push
 * in any order, some number of times each. The tag has four bits, more than there
 * are changes.
 *
 *   always   a batch that is popped is in nobody's hands
 *   at rest  each batch is in the stack, or in one thread's hands, once
 */
#ifndef BATCHES
#define BATCHES 3
#endif
#ifndef THREADS
#define THREADS 2
#endif
#ifndef CHANGES
#define CHANGES 4	/* of each thread */
#endif
#define TAGS 16

/* the head: one word, loaded and compared as a whole */
byte head_tag, head_first;

byte next_batch[BATCHES + 1];
byte holder[BATCHES + 1];	/* ghost: thread + 1, 0: in the stack */
byte done;

#ifdef NO_TAG
#define HEAD_IS(tag, first) (head_first == (first))
#else
#define HEAD_IS(tag, first) (head_tag == (tag) && head_first == (first))
#endif

/* head_with() and the CAS */
inline head_cas(new_first)
{
	won = HEAD_IS(tag, first);
	if
	:: won ->
		head_tag = (head_tag + 1) % TAGS;
		head_first = new_first
	:: else
	fi
}

inline batches_push()
{
	do
	:: d_step { tag = head_tag; first = head_first }
#ifndef LINK_AFTER_CAS
	   next_batch[batch] = first;
#endif
	   d_step {
		head_cas(batch);
		if
		:: won -> holder[batch] = 0
		:: else
		fi
	   }
	   if
	   :: won -> break
	   :: else
	   fi
	od;
#ifdef LINK_AFTER_CAS
	next_batch[batch] = first;
#endif
	won = false
}

inline batch_pop()
{
	do
	:: d_step { tag = head_tag; first = head_first }
	   if
	   :: first == 0 -> break
	   :: else
	   fi;
	   next = next_batch[first];
	   d_step {
		head_cas(next);
		if
		:: won ->
			assert(holder[first] == 0);
			holder[first] = me + 1
		:: else
		fi
	   }
	   if
	   :: won -> break
	   :: else
	   fi
	od;
	won = false
}

proctype Thread(byte me)
{
	byte tag, first, next, batch, n;
	bool won;

	do
	:: n == CHANGES -> break
	:: n < CHANGES ->
		if
		:: batch_pop()
		:: holder[1] == me + 1 -> batch = 1; batches_push()
		:: holder[2] == me + 1 -> batch = 2; batches_push()
#if BATCHES > 2
		:: holder[3] == me + 1 -> batch = 3; batches_push()
#endif
		fi;
		atomic { n++; tag = 0; first = 0; next = 0; batch = 0 }
	od;
	done++
}

init
{
	byte i, b;

	d_step {
		head_first = 1;
		i = 1;
		do
		:: i < BATCHES -> next_batch[i] = i + 1; i++
		:: else -> break
		od;
		i = 0
	}
	atomic {
		run Thread(0);
		run Thread(1);
#if THREADS > 2
		run Thread(2);
#endif
	}
	done == THREADS;
	d_step {
		/* Walk the stack; a batch met twice would make it endless. */
		b = head_first;
		do
		:: b != 0 ->
			i++;
			assert(i <= BATCHES);
			assert(holder[b] == 0);
			holder[b] = 99;
			b = next_batch[b]
		:: else -> break
		od;
		b = 1;
		do
		:: b <= BATCHES -> assert(holder[b] != 0); b++
		:: else -> break
		od
	}
}

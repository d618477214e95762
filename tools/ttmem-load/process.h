/* SPDX-License-Identifier: Apache-2.0 */
/* What a child process does, from its fork to its end. */
#ifndef LOAD_PROCESS_H
#define LOAD_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "truth.h"

struct load_script;

/* How children and the parent talk. */
struct load_wires {
	int news[2]; /* pipe: children write struct load_news */
	int life[2]; /* pipe: nobody writes; ends when the parent does */
};

enum load_news_kind {
	LOAD_NEWS_HOLD, /* everything is in place; waits for `go` */
	LOAD_NEWS_SYNC, /* a script's sync; waits for `go` */
};

struct load_news {
	uint32_t process;
	uint32_t kind;
	char text[120];
};

struct load_child {
	const struct load_options *options;
	struct load_script *script; /* NULL: a pattern */
	struct truth *truth;
	size_t process;
	const struct load_wires *wires;
};

/* Never returns. */
_Noreturn void load_process_run(const struct load_child *child);

/* Tells the parent, and waits until it says go; ends with the parent. */
void load_process_wait(const struct load_child *child, enum load_news_kind kind,
	const char *text);

/* Ends the process by a signal, as planned. */
_Noreturn void load_process_crash(
	struct truth *truth, size_t process, int number);

/* Turns tracking on. Says why if it cannot, and ends the process. */
void load_process_start(const struct load_child *child);

/*
 * The i-th buffer that --leak leaves: which process, device and id it has. The same
 * for the one who makes it and the one who reports it.
 */
struct load_leak {
	uint64_t process;
	uint64_t device; /* number among the load's devices */
	uint64_t id;
	char scope[32];
};
void load_leak_describe(const struct load_options *options, uint64_t number,
	struct load_leak *ret_leak);

#endif

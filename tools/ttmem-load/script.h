/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts: one event per line, so that a test can say exactly what happens. The
 * grammar is in ttmem-load(1).
 */
#ifndef LOAD_SCRIPT_H
#define LOAD_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ttmem/ttmem.h>

#include "model.h"

struct load_child;
struct load_script;

enum {
	SCRIPT_NUMBERS_MAX = 8
};

/* A core set of the script: the cores of all its ranges. */
struct script_cores {
	char *name;
	struct ttmem_core_range *ranges;
	size_t ranges_len;
	uint32_t count;
};

/* The words of a line, understood. */
struct script_command {
	const struct script_verb *verb;
	unsigned line;
	struct model_device device;           /* the first device argument */
	uint64_t numbers[SCRIPT_NUMBERS_MAX]; /* the others, in order */
	size_t numbers_len;
	bool flag;      /* the word at the end is there */
	uint32_t flags; /* TTMEM_BUFFER_*, TTMEM_CB_* */
	/* A `cores` argument: a core set, or NULL and a count. */
	const struct script_cores *cores;
	uint32_t cores_count;
	/* Figures of an allocator; 0 banks and TTMEM_UNKNOWN if not said. */
	uint32_t banks;
	uint64_t bytes_per_bank;
	uint64_t free_per_bank;
	uint64_t largest_free_per_bank;
	uint64_t program;
	char *text;        /* a name or text, or NULL */
	uint32_t *devices; /* members of a mesh */
	size_t devices_len;
	struct ttmem_device_info info; /* of open */
};

struct script_run;

/*
 * `arguments`: d device, m name of a new mesh, k kind, K kind or cb, t kernel type,
 * n number, s size, c cores, l list of devices, w text, e exit status, g signal; those
 * behind a | may be missing. One of these takes the rest of the line: o what open
 * takes, a what alloc takes, f what failed takes, b flags of a CB, r the name and the
 * ranges of a core set.
 */
struct script_verb {
	const char *name;
	const char *arguments;
	const char *flag; /* a word that may stand at the end, or NULL */
	void (*run)(struct script_run *run, const struct script_command *c);
};

/* Found by name; they are in script_verbs.c. */
const struct script_verb *script_verb_find(const char *name);

#define SCRIPT_VERBS_MAX 64

/* Returns how many there are. */
size_t script_verb_names(const char *ret_names[SCRIPT_VERBS_MAX]);

extern const char *const script_fork;
extern const char *const script_end;

/*
 * A file is read as a whole, and nothing happens if something in it is wrong; stdin
 * ("-") is read line by line as it comes. Mistakes are told with their line, and end
 * the process with TTM_EXIT_USAGE.
 */
struct load_script *load_script_read(const char *path);
void load_script_free(struct load_script **script);

/* How many processes there can be. */
size_t load_script_processes(const struct load_script *script);

/* The command, or NULL at the end. May wait for stdin. */
const struct script_command *script_at(struct load_script *script, size_t at);

__attribute__((format(printf, 3, 4), noreturn)) void script_fail(
	const struct load_script *script, unsigned line, const char *format,
	...);

/* Does it all, in the child. */
void load_script_run(const struct load_child *child);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a process segment whose writer does what the input says, drained,
 * applied, published and retired by the engine of ttmemd, in its own loop. A good
 * process stands beside it: nothing of that one may move. Afterwards nothing of the
 * bad one may be left.
 */
#include <fcntl.h>
#include <hdr/hdr_histogram.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/find/registry.h"
#include "fuzz/faked.h"
#include "fuzz/segment.h"
#include "support/test_dir.h"

#define ROUNDS_MAX 6u
#define LAST_ROUNDS 12u

enum {
	FLAG_UNSEALED = 1, /* the checksum is as the steps leave it */
	FLAG_SERVED = 2,   /* its directory has a file of retired ones */
	FLAG_DIES = 4,
	FLAG_RELOADED = 8,    /* that file is read once more */
	FLAG_LINES = 16,      /* events are told one by one */
	FLAG_SLOW = 32,       /* processes are counted when it is time */
	FLAG_DESCRIBED = 192, /* distributions are described */
	FLAG_SKIPPED = 64,    /* a predecessor may have read its records */
};

static enum phase {
	PHASE_STEPS,
	PHASE_DEATH,
	PHASE_LEAVING,
	PHASE_RELOADING,
	PHASE_LEAVING_AGAIN,
	PHASE_END,
} phase;

struct segment_host host;
struct segment_run now;
static struct segment_base bases[BASES];
static uint64_t inode;  /* the last one given */
static unsigned rounds; /* of this phase */

/* -- the engine's loop ---------------------------------------------------------------- */

static void engine_log(int priority, const char *text)
{
	const char *reason = strstr(text, " is in quarantine: ");

	if (host.verbose)
		fprintf(stderr, "log %d: %s\n", priority, text);
	if (reason && reason[strlen(" is in quarantine: ")])
		now.told = true;
}

static void engine_event(const char *text)
{
	if (host.verbose)
		fprintf(stderr, "event: %s\n", text);
}

static void directory_begin(bool served)
{
	struct ttm_directory *directory = ttm_directory_new();

	if (!directory)
		fuzz_fail("no memory");
	strcpy(directory->path, "/fuzz");
	directory->fd = served ? dup(host.served_fd) : -1;
	directory->uid = geteuid();
	directory->inode = ++inode;
	directory->state = served ? TTM_DIRECTORY_SERVED : TTM_DIRECTORY_HELD;
	now.directory = directory;
	ttm_registry_add_directory(host.registry, directory);
}

static void attached_begin(void)
{
	struct faked_file *file = &faked.files[BAD_FILE];
	struct ttm_attached *attached = ttm_attached_new();

	if (!attached)
		fuzz_fail("no memory");
	attached->directory = now.directory;
	strcpy(attached->name, "p.4711.1.fuzz");
	attached->fd = FAKED_FD + (int)BAD_FILE;
	attached->inode = ++inode;
	if (pread(attached->fd, &attached->header, sizeof(attached->header),
		    0) != sizeof(attached->header))
		strcpy(attached->reason, "header cannot be read");
	else
		ttm_header_check(
			&attached->header, file->size, attached->reason);
	now.attached = attached;
	if (!ttm_registry_add(host.registry, attached))
		fuzz_fail("that inode is there");
}

/* Whether the engine still has it. */
static bool attached_is_there(void)
{
	struct ttm_attached *found;

	if (!now.attached)
		return false;
	rcu_read_lock();
	found = ttm_registry_find(host.registry, now.attached->inode);
	rcu_read_unlock();
	if (!found)
		now.attached = NULL;
	return found != NULL;
}

/* They cost more than all the rest. */
static void distributions_skip(void)
{
	struct ttm_chip *chip;
	unsigned figure, kind;

	for (chip = host.engine->output.chips.first; chip; chip = chip->next)
		for (figure = 0; figure < TTMEM_FIGURES; figure++)
			for (kind = 0; kind < 2; kind++)
				chip->distributions[figure][kind]
					.changed = false;
}

/* Those of earlier executions: to describe them takes time. */
static void distributions_empty(void)
{
	struct ttm_chip *chip;
	struct hdr_histogram *histogram;
	unsigned figure, kind;

	for (chip = host.engine->output.chips.first; chip; chip = chip->next)
		for (figure = 0; figure < TTMEM_FIGURES; figure++)
			for (kind = 0; kind < 2; kind++) {
				histogram = chip->distributions[figure][kind]
						    .histogram;
				if (histogram && histogram->total_count)
					hdr_reset(histogram);
			}
}

static void phase_next(void)
{
	rounds = 0;
	switch (phase) {
	case PHASE_STEPS:
		phase = PHASE_DEATH;
		if (now.attached && (now.input.flags & FLAG_DIES))
			now.attached->fate = TTM_FATE_DEAD;
		break;
	case PHASE_DEATH:
		segment_check_sums();
		phase = PHASE_LEAVING;
		now.directory->gone = 1;
		break;
	case PHASE_LEAVING:
		ttm_registry_tidy(now.directory);
		now.directory = NULL;
		phase = PHASE_END;
		if ((now.input.flags & FLAG_SERVED) &&
			(now.input.flags & FLAG_RELOADED)) {
			directory_begin(true);
			phase = PHASE_RELOADING;
		}
		break;
	case PHASE_RELOADING:
		segment_check_sums();
		phase = PHASE_LEAVING_AGAIN;
		now.directory->gone = 1;
		break;
	default:
		if (now.directory)
			ttm_registry_tidy(now.directory);
		now.directory = NULL;
		phase = PHASE_END;
		break;
	}
}

static bool phase_is_over(void)
{
	switch (phase) {
	case PHASE_STEPS:
		return (now.cursor >= now.input.len && !now.later) ||
			rounds > ROUNDS_MAX;
	case PHASE_DEATH:
		return !(now.input.flags & FLAG_DIES) || !attached_is_there() ||
			rounds >= 3;
	case PHASE_LEAVING:
	case PHASE_LEAVING_AGAIN:
		if (rounds > LAST_ROUNDS)
			fuzz_fail("a directory that is gone stays");
		return now.directory->released;
	case PHASE_RELOADING:
		return rounds >= 1;
	default:
		return false;
	}
}

/* Where the engine would wait. */
static void engine_waits(void)
{
	attached_is_there();
	segment_check_good();
	segment_check_work();
	segment_check_quarantine();
	rounds++;
	while (phase != PHASE_END && phase_is_over())
		phase_next();
	if ((now.input.flags & FLAG_DESCRIBED) != FLAG_DESCRIBED)
		distributions_skip();
	if (phase == PHASE_END) {
		host.engine->stop = 1;
		return;
	}
	now.later = 0;
	faked.now_ns += phase == PHASE_STEPS ? segment_steps() : ROUND_NS;
	host.engine->sweep_ns = 0; /* as if the watch had called */
	host.engine->slow_ns = 0;  /* and as if it were time to look around */
	if (!(now.input.flags & FLAG_SLOW))
		host.engine->counted_ns = 0;
}

/* -- the target ------------------------------------------------------------------------ */

static void warm_up_waits(void)
{
	faked.now_ns += 300 * MS;
	host.engine->sweep_ns = 0;
	host.engine->stop = ++rounds > 20;
}

static void good_begin(void)
{
	struct ttm_directory *directory = ttm_directory_new();

	host.good = ttm_attached_new();
	if (!directory || !host.good)
		fuzz_fail("no memory");
	strcpy(directory->path, "/good");
	directory->inode = ++inode;
	directory->state = TTM_DIRECTORY_HELD;
	ttm_registry_add_directory(host.registry, directory);
	host.good->directory = directory;
	strcpy(host.good->name, "p.42.1.good");
	host.good->fd = FAKED_FD + (int)GOOD_FILE;
	host.good->inode = ++inode;
	faked.files[GOOD_FILE].bytes = bases[BASE_GOOD].bytes;
	faked.files[GOOD_FILE].size = bases[BASE_GOOD].size;
	memcpy(&host.good->header, bases[BASE_GOOD].bytes,
		sizeof(host.good->header));
	if (ttm_header_check(&host.good->header, bases[BASE_GOOD].size,
		    host.good->reason) != 0 ||
		!ttm_registry_add(host.registry, host.good))
		fuzz_fail("the good process: %s", host.good->reason);
}

static void engine_begin(void)
{
	struct ttm_engine_config config = { .mode = TTM_MODE_USER,
		.file_mode = 0600,
		.group = (uint32_t)-1,
		.log = engine_log,
		.event = engine_event };
	const char *dir = test_dir_make();

	config.directory_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (config.directory_fd < 0 ||
		mkdirat(config.directory_fd, "served", 0700) < 0)
		fuzz_fail("no directory");
	host.served_fd = openat(config.directory_fd, "served",
		O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	faked.on = true;
	faked.now_ns = 1000000000000ull;
	if (ttm_registry_new(&host.registry) < 0)
		fuzz_fail("no registry");
	config.registry = host.registry;
	if (ttm_engine_new(&config, &host.engine) < 0)
		fuzz_fail("no engine");
	rcu_register_thread();
	good_begin();
	rcu_unregister_thread();
	faked.wait = warm_up_waits;
	if (ttm_engine_run(host.engine) != 0)
		fuzz_fail("nothing can be published");
	faked.on = false;
	segment_good_keep();
}

static void target_end(void)
{
	test_dir_remove();
}

static void target_begin(void)
{
	host.verbose = getenv("FUZZ_VERBOSE") != NULL;
	/* What is large is taken from the heap, too: no page faults. */
	mallopt(M_MMAP_THRESHOLD, 1 << 28);
	mallopt(M_TRIM_THRESHOLD, 1 << 28);
	segment_bases_make(bases);
	engine_begin();
	atexit(target_end);
}

static void bad_begin(void)
{
	struct faked_file *file = &faked.files[BAD_FILE];
	bool served = now.input.flags & FLAG_SERVED;

	memset(file, 0, sizeof(*file));
	file->bytes = now.base->bytes;
	file->size = now.base->size;
	if (served)
		unlinkat(host.served_fd, "retired", 0);
	now.cursor = 0;
	now.later = 0;
	rounds = 0;
	phase = PHASE_STEPS;
	now.told = false;
	now.attached = NULL;
	host.engine->watcher.record = now.input.flags & FLAG_LINES ?
		ttm_engine_record :
		NULL;
	if ((now.input.flags & FLAG_DESCRIBED) == FLAG_DESCRIBED)
		distributions_empty();
	/* The execution before may have set these. */
	memset(host.engine->let_go, 0, sizeof(host.engine->let_go));
	host.engine->read_before_ns = (now.input.flags & FLAG_DESCRIBED) ==
			FLAG_SKIPPED ?
		UINT64_MAX :
		0;
	segment_steps();
	if (!(now.input.flags & FLAG_UNSEALED))
		segment_seal();
	directory_begin(served);
	file->before = segment_before_read;
	attached_begin();
}

/* Chips that were made up go: each takes much time in every second. */
static void chips_forget(void)
{
	struct ttm_chip *chip;

	for (chip = host.engine->output.chips.first; chip; chip = chip->next)
		if (!chip->users)
			chip->claimed = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!host.engine)
		target_begin();
	fuzz_decode(data, size, &now.input);
	now.base = &bases[now.input.base % BASE_GOOD];
	faked.on = true;
	faked.wait = engine_waits;
	faked.now_ns += ROUND_NS;
	rcu_register_thread();
	bad_begin();
	rcu_unregister_thread();
	host.engine->stop = 0;
	if (ttm_engine_run(host.engine) != 0)
		fuzz_fail("nothing could be published");
	faked_reclaim();
	faked.on = false;
	segment_undo();
	segment_check_good();
	segment_check_sums();
	segment_check_rest();
	chips_forget();
	return 0;
}

/* -- inputs to begin with ---------------------------------------------------------------- */

size_t fuzz_seed(unsigned n, uint8_t to[FUZZ_INPUT_MAX])
{
	static const uint8_t flags[] = { 0, FLAG_DIES, FLAG_SERVED | FLAG_DIES,
		FLAG_SERVED | FLAG_DIES | FLAG_RELOADED, FLAG_LINES,
		FLAG_DESCRIBED | FLAG_SLOW, FLAG_SKIPPED | FLAG_DIES };
	struct fuzz_input input;
	uint64_t random = n;
	unsigned i;

	if (n >= BASE_GOOD * sizeof(flags))
		return 0;
	memset(&input, 0, sizeof(input));
	input.base = (uint8_t)(n % BASE_GOOD);
	input.flags = flags[n / BASE_GOOD];
	/* A writer that does nothing wrong, while it is looked at. */
	for (i = 0; i < 6; i++) {
		struct fuzz_step *step = &input.steps[input.len++];

		step->op = i % 3 == 2 ? FUZZ_ROUND : FUZZ_EVENT;
		step->how = (uint8_t)(i % 3 == 0 ? 0x11 : 0x12);
		step->index = (uint16_t)(i / 3);
		step->value = i % 3 == 2 ? 3 : fuzz_random(&random);
	}
	return fuzz_encode(&input, to);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * Start and stop.
 *
 * Several threads, and signal handlers on top of them, may start the process at once.
 * None waits: each builds a whole process; one of them is published by CAS, and the
 * others are dropped, with files that never had a name. So no event is lost to a start
 * that another thread has begun.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <unistd.h>

#include "record/counters.h"
#include "record/index.h"
#include "record/ring.h"
#include "record/segment.h"
#include "shm/text.h"

int ttmem_internal_switch = TTM_SWITCH_UNDECIDED;
uint32_t ttm_switch = TTM_SWITCH_UNDECIDED;

void *ttm_root_place; /* struct ttm_root */
static uint32_t
	start_error; /* errno of the last failed start; 0: none failed, or stopped */
static uint32_t start_marked; /* 1: a marker told others of the failure */

/*
 * Shows the switch to callers of ttmem_enabled(). A thread that stores an old value
 * late loads the switch again afterwards, so the last value shown is the current one.
 */
static void switch_show(void)
{
	uint32_t *shown = (uint32_t *)&ttmem_internal_switch, before, value;

	do {
		before = ttm_load32(shown); /* relaxed: the CAS */
		value = ttm_load32(
			&ttm_switch); /* relaxed: loaded again below */
		TTM_TESTPOINT("switch read");
		/* pairs(switch): full, with the same line of other threads */
		ttm_cas32(shown, before, value);
		ttm_fence_after_cas();
	} while (ttm_load32(&ttm_switch) != ttm_load32(shown));
}

static void switch_set(enum ttm_switch value)
{
	uint32_t before;

	do
		before = ttm_load32(&ttm_switch); /* relaxed: the CAS */
	/* pairs(stop): full, with start_check_stopped: if a stop sees no
	 * process, the thread that publishes one sees the stop */
	while (!ttm_cas32(&ttm_switch, before, (uint32_t)value));
	ttm_fence_after_cas();
	switch_show();
}

static enum ttm_switch switch_now(void)
{
	/* relaxed: see ttm_switch_is_off */
	return (enum ttm_switch)ttm_load32(&ttm_switch);
}

/* -- holding everything off ------------------------------------------------------- */

void ttm_hold(struct ttm_hold *hold)
{
	sigset_t all;

	hold->error = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &hold->cancel);
	sigfillset(&all);
	/* Holds all signals except those that the hardware or a sandbox
	 * raises, which cannot wait. */
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGTRAP);
	sigdelset(&all, SIGSYS);
	pthread_sigmask(SIG_BLOCK, &all, &hold->signals);
}

void ttm_release(const struct ttm_hold *hold)
{
	pthread_sigmask(SIG_SETMASK, &hold->signals, NULL);
	pthread_setcancelstate(hold->cancel, NULL);
	errno = hold->error;
}

/* -- memory ---------------------------------------------------------------------- */

void *ttm_private_memory(size_t size)
{
	int error = errno;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory != MAP_FAILED)
		return memory;
	errno = error; /* a hook preserves errno */
	return NULL;
}

void ttm_private_memory_drop(void *memory, size_t size)
{
	munmap(memory, size);
}

static struct ttm_root *root_get(void)
{
	struct ttm_root *root = ttm_pointer_load(&ttm_root_place);

	if (TTM_LIKELY(root != NULL))
		return root;
	root = ttm_private_memory(sizeof(*root));
	/* Where the kernel cannot wipe memory, fork_in_child() forgets the
	 * process. */
	if (root)
		madvise(root, sizeof(*root), MADV_WIPEONFORK);
	if (root && !ttm_pointer_set_once(&ttm_root_place, root))
		ttm_private_memory_drop(root, sizeof(*root));
	return ttm_pointer_load(&ttm_root_place);
}

/*
 * Returns false in a vfork child. The child has its parent's memory: a process that it
 * made would be its parent's, but with the child's pid, lock and descriptor.
 */
static bool root_is_ours(struct ttm_root *root)
{
	uint32_t self = (uint32_t)getpid();

	/* relaxed: others share this memory only after a vfork */
	if (!ttm_load32(&root->owner))
		ttm_cas32(&root->owner, 0, self);
	return ttm_load32(&root->owner) == self;
}

/* -- making a process ------------------------------------------------------------- */

static int process_make(
	const char *dir, uint64_t max_bytes, struct ttm_process **ret_process)
{
	struct ttm_process *process = ttm_private_memory(sizeof(*process));
	int r;

	if (!process)
		return -ENOMEM;
	process->fd = TTM_NO_DESCRIPTOR;
	r = ttm_index_init(process);
	if (r == 0) {
		r = ttm_segment_create(process, dir, max_bytes);
		if (r < 0)
			ttm_index_drop(process);
		else
			ttm_supply_init(process);
	}
	if (r < 0) {
		ttm_private_memory_drop(process, sizeof(*process));
		return r;
	}
	*ret_process = process;
	return 0;
}

static void process_drop(struct ttm_process *process)
{
	ttm_segment_discard(process);
	ttm_supply_drop(process);
	ttm_index_drop(process);
	ttm_private_memory_drop(process, sizeof(*process));
}

/* Removes the process from the root; returns false if another thread did. */
static bool process_retire(struct ttm_root *root, struct ttm_process *process)
{
	if (!ttm_pointer_clear(&root->process, process))
		return false;
	ttm_hooks_await(process);
	ttm_segment_end(process);
	ttm_segment_close(process);
	ttm_segment_let_go(process);
	return true;
}

/*
 * Starts a process without touching the switch. Returns -ECANCELED if it was stopped
 * before the segment had its name. A process that others may already use stays mapped.
 */
static int process_start(const char *dir, uint64_t max_bytes)
{
	struct ttm_root *root = root_get();
	struct ttm_process *process;
	int r;

	if (!root)
		return -ENOMEM;
	if (ttm_pointer_load(&root->process))
		return 0;
	if (!root_is_ours(root))
		return -ECANCELED;
	r = process_make(dir, max_bytes, &process);
	if (r < 0)
		return r;
	TTM_TESTPOINT("process made");
	if (!ttm_pointer_set_once(&root->process, process)) {
		process_drop(process);
		return 0;
	}
	TTM_TESTPOINT("process published");
	r = ttm_segment_name(process);
	if (r == 0)
		return 0;
	if (!ttm_pointer_clear(&root->process, process))
		return -ECANCELED;
	ttm_segment_close(process);
	return r;
}

static const char *error_text(int error)
{
	static const struct {
		int error;
		const char *text;
	} texts[] = {
		{ 0, "" },
		{ EMEDIUMTYPE, "the base directory is not on tmpfs" },
		{ EINVAL, "the base directory is not an absolute path" },
		{ EPERM,
			"the base directory belongs to somebody else, or "
			"others may write there and it is not sticky" },
		{ ENOENT, "the base directory does not exist" },
		{ EACCES, "no permission for the base directory" },
		{ ENOSPC, "the filesystem of the base directory is full" },
		{ EFBIG, "the limit for file sizes is too low" },
		{ EMFILE, "no file descriptor is left" },
		{ ENFILE, "no file descriptor is left" },
		{ ENOMEM, "no memory" },
		{ ENAMETOOLONG, "the path of the base directory is too long" },
	};
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].error == error)
			return texts[i].text;
	return "the segment could not be made";
}

/*
 * Writes a line to the program's standard error, if that is possible at once. A full
 * pipe must not block the program; a pipe without a reader, or a file at its limit,
 * must not kill it. Signals are held here, so a signal of our own making can be taken
 * back.
 */
static void stderr_say(const char *line, size_t length)
{
	const struct timespec at_once = { 0, 0 };
	sigset_t ours, pending;
	fd_set ready;
	int signal;

	/* Not poll, which fails under a low limit for descriptors. */
	FD_ZERO(&ready);
	FD_SET(STDERR_FILENO, &ready);
	if (pselect(STDERR_FILENO + 1, NULL, &ready, NULL, &at_once, NULL) != 1)
		return;
	sigpending(&pending);
	if (write(STDERR_FILENO, line, length) >= 0)
		return;
	signal = errno == EPIPE ? SIGPIPE : SIGXFSZ;
	sigemptyset(&ours);
	sigaddset(&ours, signal);
	if (!sigismember(&pending, signal))
		sigtimedwait(&ours, NULL, &at_once);
}

static void start_succeeded(const char *dir)
{
	/* relaxed: see start_failed */
	if (ttm_load32(&start_marked))
		ttm_leftover_unmark(dir);
	ttm_store32(&start_marked, 0);
	ttm_store32(&start_error, 0);
}

/*
 * Handles a start that failed: the program goes on without tracking, and a marker shows
 * that to others. A message is printed only on request.
 */
static void start_failed(const char *dir, int error)
{
	char line[256];
	struct ttm_text text;

	/* relaxed: read by ttmem_status for display */
	ttm_store32(&start_error, (uint32_t)-error);
	switch_set(TTM_SWITCH_OFF);
	ttm_leftover_mark(dir, error);
	ttm_store32(&start_marked, 1); /* relaxed: as above */
	/* Another thread's start may have succeeded meanwhile, without
	 * finding a marker to remove. */
	if (switch_now() == TTM_SWITCH_ON && ttm_process_now()) {
		start_succeeded(dir);
		return;
	}
	if (!ttm_environment("TTMEM_VERBOSE"))
		return;
	ttm_text_init(&text, line, sizeof(line));
	ttm_text_add(&text, "ttmem: not tracking this process: ");
	ttm_text_add(&text, error_text(-error));
	ttm_text_add(&text, "\n");
	stderr_say(line, text.length);
}

/* Completes a start. A stop or a failure of another thread meanwhile wins. */
static void start_check_stopped(void)
{
	struct ttm_root *root = ttm_pointer_load(&ttm_root_place);
	struct ttm_process *process = ttm_process_now();

	/* pairs(stop): full, after the CAS of process_start, with switch_set */
	ttm_fence_after_cas();
	if (process && switch_now() == TTM_SWITCH_OFF)
		process_retire(root, process);
}

struct ttm_process *ttm_process_start_lazily(void)
{
	int r = process_start(NULL, 0);

	if (r < 0 && r != -ECANCELED && !ttm_process_now())
		start_failed(NULL, r);
	start_check_stopped();
	return ttm_process_now();
}

/* -- the switch ----------------------------------------------------------------- */

static bool word_means_no(const char *value)
{
	return strcmp(value, "0") == 0 || strcmp(value, "false") == 0 ||
		strcmp(value, "no") == 0 || strcmp(value, "off") == 0;
}

static bool environment_forbids(void)
{
	const char *value = ttm_environment("TTMEM_ENABLED");

	return value && word_means_no(value);
}

static bool environment_asks(void)
{
	const char *value = ttm_environment("TTMEM_ENABLED");

	if (!value)
		value = ttm_environment("TT_ALLOC_TRACKING_ENABLED");
	return value && !word_means_no(value);
}

bool ttmem_internal_decide(void)
{
	/* The CAS fails if a start or stop came meanwhile, which then
	 * decides. */
	if (switch_now() == TTM_SWITCH_UNDECIDED)
		ttm_cas32(&ttm_switch, TTM_SWITCH_UNDECIDED,
			environment_asks() ? TTM_SWITCH_ON : TTM_SWITCH_OFF);
	switch_show();
	return switch_now() == TTM_SWITCH_ON;
}

static int start_as_asked(const struct ttmem_config *config)
{
	int r;

	if (config && config->size != sizeof(*config))
		return -EINVAL;
	if (environment_forbids()) {
		switch_set(TTM_SWITCH_OFF);
		return -ECANCELED;
	}
	r = process_start(
		config ? config->dir : NULL, config ? config->max_bytes : 0);
	/* Another thread's start may have succeeded meanwhile: tracking is
	 * on then. */
	if (r < 0 && !ttm_process_now()) {
		if (r != -ECANCELED)
			start_failed(config ? config->dir : NULL, r);
		start_check_stopped();
		return r;
	}
	/* Store this first: a thread that fails and sees that tracking is on
	 * removes its marker. */
	switch_set(TTM_SWITCH_ON);
	start_succeeded(config ? config->dir : NULL);
	return 0;
}

int ttmem_start(const struct ttmem_config *config)
{
	struct ttm_hold hold;
	int r;

	ttm_hold(&hold);
	r = start_as_asked(config);
	ttm_release(&hold);
	return r;
}

static void process_stop(void)
{
	struct ttm_process *process;

	/* Store this first: a thread that publishes a process after our look
	 * sees it. */
	switch_set(TTM_SWITCH_OFF);
	/* Otherwise a forked child would try again after a stop. */
	ttm_store32(&start_error, 0); /* relaxed: display */
	TTM_TESTPOINT("switched off");
	process = ttm_process_now();
	if (process) /* unless another stop does it */
		process_retire(ttm_pointer_load(&ttm_root_place), process);
}

void ttmem_stop(void)
{
	struct ttm_hold hold;

	ttm_hold(&hold);
	process_stop();
	ttm_release(&hold);
}

/* -- status --------------------------------------------------------------------- */

static uint32_t state_now(const struct ttm_process *process, int error)
{
	if (process)
		return TTMEM_STATE_ON;
	if (error)
		return TTMEM_STATE_UNTRACKED;
	return ttmem_enabled() ? TTMEM_STATE_PENDING : TTMEM_STATE_OFF;
}

int ttmem_status(struct ttmem_status *ret_status)
{
	struct ttm_process *process = ttm_process_now();
	int error = process ? 0 : (int)ttm_load32(&start_error); /* relaxed */
	struct ttm_losses losses;
	struct ttm_text text;

	if (!ret_status || ret_status->size != sizeof(*ret_status))
		return -EINVAL;
	memset(ret_status, 0, sizeof(*ret_status));
	ret_status->size = sizeof(*ret_status);
	ret_status->state = state_now(process, error);
	ret_status->error = -error;
	ttm_text_init(&text, ret_status->reason, sizeof(ret_status->reason));
	ttm_text_add(&text, error_text(error));
	if (!process)
		return 0;
	ttm_losses_sum(process, &losses);
	memcpy(ret_status->lost_events, losses.events, sizeof(losses.events));
	memcpy(ret_status->lost_bytes, losses.bytes, sizeof(losses.bytes));
	memcpy(ret_status->anomalies, losses.anomalies,
		sizeof(losses.anomalies));
	ttm_text_init(&text, ret_status->segment, sizeof(ret_status->segment));
	ttm_text_add(&text, process->directory_path);
	ttm_text_add(&text, "/");
	ttm_text_add(&text, process->file_name);
	if (text.truncated) /* a part of the path would name another file */
		ret_status->segment[0] = '\0';
	return 0;
}

/* -- load, fork, exit -------------------------------------------------------------- */

/*
 * Set between the two handlers of a fork; forks of several threads follow one another.
 */
static struct ttm_process *forking;

static void fork_in_parent(void)
{
	forking = ttm_process_now();
}

/*
 * Prepares the child's memory. If the fork came from a handler that interrupted a hook,
 * the child will finish that hook, on a private copy of the segment. Otherwise the
 * child needs no part of it.
 */
static void segment_disinherit(struct ttm_process *process)
{
	if (ttm_hook_is_running(process))
		ttm_segment_make_private(process);
	else
		ttm_segment_let_go(process);
	ttm_segment_close(process);
}

static void fork_in_child(void)
{
	struct ttm_root *root = ttm_pointer_load(&ttm_root_place);
	struct ttm_process *stopped = ttm_self ? ttm_self->process : NULL;

	if (forking) {
		/* For kernels and emulators that do not wipe the root. */
		ttm_pointer_clear(&root->process, forking);
		segment_disinherit(forking);
	}
	/* Another thread was about to stop the process, and waited for our
	 * hook. */
	if (stopped && stopped != forking && ttm_hook_is_running(stopped))
		segment_disinherit(stopped);
	forking = NULL;
	if (root)
		ttm_store32(&root->owner, (uint32_t)getpid()); /* relaxed */
	/* The reason why the parent was untracked may not hold for the
	 * child. */
	ttm_store32(&start_marked, 0);
	if (ttm_load32(&start_error)) { /* relaxed: one thread */
		ttm_store32(&start_error, 0);
		switch_set(TTM_SWITCH_ON);
	}
}

__attribute__((constructor)) static void library_load(void)
{
	struct ttm_root *root = root_get();

	pthread_atfork(fork_in_parent, NULL, fork_in_child);
	ttm_ring_key_make();
	/* Do this now, because the first event may be in a vfork child. */
	if (root)
		root_is_ours(root);
}

/* Hooks stay on: destructors that run after this one may still free. */
__attribute__((destructor)) static void library_exit(void)
{
	struct ttm_process *process = ttm_process_now();

	if (process)
		ttm_segment_end(process);
}

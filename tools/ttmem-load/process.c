/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "pattern.h"
#include "script.h"
#include "worker.h"

/* Above all ids that threads give out: see worker_init(). */
#define LEAK_IDS (1ull << 62)

/* -- starting, waiting, dying ---------------------------------------------------- */

void load_process_start(const struct load_child *child)
{
	struct ttmem_config config = { .size = sizeof(config) };
	struct ttmem_status status = { .size = sizeof(status) };
	int r;

	if (child->options->untracked)
		return;
	config.dir = child->options->dir;
	r = ttmem_start(&config);
	if (r == 0)
		return;
	ttmem_status(&status);
	if (r == -ECANCELED)
		ttm_error("cannot track: TTMEM_ENABLED=0 forbids it; unset it, "
			  "or say --untracked");
	else
		ttm_error("cannot track: %s (%s)",
			status.reason[0] ? status.reason : "no segment",
			strerror(-r));
	exit(TTM_EXIT_FAILURE);
}

/* The parent has gone without a word: so do we, without an end. */
static void parent_look(const struct load_child *child)
{
	struct pollfd life = { .fd = child->wires->life[0], .events = POLLIN };

	if (poll(&life, 1, 0) > 0 && (life.revents & POLLHUP))
		raise(SIGKILL);
}

void load_process_wait(const struct load_child *child, enum load_news_kind kind,
	const char *text)
{
	struct truth_process *process = &child->truth
						 ->processes[child->process];
	struct load_news news = { .process = (uint32_t)child->process,
		.kind = kind };
	struct timespec until;

	memcpy(news.text, text, strnlen(text, sizeof(news.text) - 1));
	while (write(child->wires->news[1], &news, sizeof(news)) < 0)
		if (errno != EINTR)
			return;
	do {
		parent_look(child);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 100000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
	} while (sem_timedwait(&process->go, &until) < 0);
}

void load_process_crash(struct truth *truth, size_t process, int number)
{
	static const struct rlimit no_core = { 0, 0 };

	ttm_word_store(&truth->processes[process].planned, (uint64_t)number);
	/* A sanitizer has a handler for some of them. */
	if (number != SIGKILL)
		signal(number, SIG_DFL);
	setrlimit(RLIMIT_CORE, &no_core);
	kill(getpid(), number);
	for (;;)
		pause();
}

/* -- devices --------------------------------------------------------------------- */

struct devices {
	const struct load_child *child;
	struct truth_process *process;
	struct load_worker main; /* for the calls of this thread */
	struct load_target targets[TRUTH_TARGETS_MAX];
	size_t meshes_len;
	size_t targets_len; /* that the threads use */
};

static void device_info(const struct load_options *o, uint64_t number,
	struct ttmem_device_info *ret_info)
{
	ttmem_device_info_init(
		ret_info, (uint32_t)(o->logical_offset + number));
	if (o->no_identity)
		load_board_describe(o->board, ret_info);
	else
		load_board_identify(
			o->board, o->chip_offset + number, ret_info);
}

static void entry_add(struct devices *devices, uint64_t number)
{
	const struct load_options *o = devices->child->options;
	struct truth_entry *entry = &devices->process->entries[number];
	struct truth_thread *truth = devices->main.truth;
	struct ttmem_device_info info;

	device_info(o, number, &info);
	entry->logical = info.device;
	entry->chip_id = entry->pci_address = TTMEM_UNKNOWN;
	if (!o->implicit) {
		entry->chip_id = info.chip_id;
		entry->pci_address = info.pci_address;
		memcpy(entry->arch, info.arch, sizeof(info.arch));
		memcpy(entry->board, info.board, sizeof(info.board));
		entry->open = true;
		truth_begin(truth, TRUTH_CALL_OPEN, info.device, 0);
		ttmem_device_open(&info);
		truth_commit(truth);
	}
	devices->process->targets[number] = 1ull << number;
	devices->targets[number].device = info.device;
	devices->targets[number].truth = (uint32_t)number;
	ttm_word_store(&devices->process->entries_len, number + 1);
	ttm_word_store(&devices->process->targets_len, number + 1);
}

/* Meshes are the targets after the devices, and then the only ones used. */
static void mesh_add(struct devices *devices, uint64_t first, uint64_t len)
{
	uint64_t number = devices->child->options->devices +
		devices->meshes_len++;
	struct load_target *target = &devices->targets[number];
	struct truth_thread *truth = devices->main.truth;
	uint32_t members[TRUTH_ENTRIES_MAX];
	uint64_t mask = 0, i;

	for (i = 0; i < len; i++) {
		members[i] = devices->targets[first + i].device;
		mask |= 1ull << (first + i);
	}
	devices->process->targets[number] = mask;
	ttm_word_store(&devices->process->targets_len, number + 1);
	truth_begin(truth, TRUTH_CALL_MESH_OPEN, members[0], 0);
	target->device = ttmem_mesh_open(members, len);
	truth_commit(truth);
	target->truth = (uint32_t)number;
	target->first = (uint32_t)first;
	target->members = (uint32_t)len;
}

static void devices_open(struct devices *devices)
{
	const struct load_options *o = devices->child->options;
	uint64_t i;

	for (i = 0; i < o->devices; i++)
		entry_add(devices, i);
	for (i = 0; o->mesh && i < o->devices; i += o->mesh)
		mesh_add(devices, i,
			o->devices - i < o->mesh ? o->devices - i : o->mesh);
	devices->targets_len = o->mesh ? devices->meshes_len : o->devices;
}

/* What is still there becomes orphaned. The other threads are at rest. */
static void device_close(struct devices *devices, size_t number)
{
	const struct load_child *child = devices->child;
	struct truth_thread *truth = devices->main.truth;
	const struct load_target *target = &devices->targets[number];
	struct truth_counters sum;
	unsigned figure;

	truth_entry_sum(child->truth, child->process, number, &sum);
	truth_begin(truth, TRUTH_CALL_CLOSE, target->device, 0);
	for (figure = 0; figure < TTMEM_FIGURES; figure++)
		if (truth_live_objects(sum.flows[figure]))
			truth_add_orphans(truth, number, figure,
				truth_live(sum.flows[figure]));
	ttmem_device_close(target->device);
	truth_commit(truth);
	devices->process->entries[number].open = false;
}

static void devices_close(struct devices *devices)
{
	const struct load_options *o = devices->child->options;
	struct truth_thread *truth = devices->main.truth;
	uint64_t i;

	for (i = 0; i < devices->meshes_len; i++) {
		uint32_t mesh = devices->targets[o->devices + i].device;

		truth_begin(truth, TRUTH_CALL_MESH_CLOSE, mesh, 0);
		ttmem_mesh_close(mesh);
		truth_commit(truth);
	}
	/* What was never opened is never closed. */
	for (i = 0; i < o->devices && o->close && !o->implicit; i++)
		device_close(devices, i);
}

/* -- leaks ------------------------------------------------------------------------ */

void load_leak_describe(const struct load_options *options, uint64_t number,
	struct load_leak *ret_leak)
{
	ret_leak->process = number % options->processes;
	ret_leak->device = number / options->processes % options->devices;
	ret_leak->id = LEAK_IDS + number;
	snprintf(ret_leak->scope, sizeof(ret_leak->scope), "leak %llu",
		(unsigned long long)number);
}

static void leaks_make(struct devices *devices)
{
	const struct load_child *child = devices->child;
	const struct load_options *o = child->options;
	struct load_leak leak;
	uint64_t i;

	for (i = child->process; i < o->leak; i += o->processes) {
		load_leak_describe(o, i, &leak);
		load_push(&devices->main, leak.scope, 0);
		load_leave(&devices->main, &devices->targets[leak.device],
			o->leak_kind, leak.id, o->leak_size);
		load_pop(&devices->main);
		ttm_word_add(&devices->process->leaks_made, 1);
	}
}

/* -- the process -------------------------------------------------------------------- */

static void worker_init(struct load_worker *worker,
	const struct devices *devices, size_t number, size_t truth_number)
{
	const struct load_child *child = devices->child;
	const struct load_options *o = child->options;

	memset(worker, 0, sizeof(*worker));
	worker->options = o;
	ttmem_device_info_init(&worker->board, 0);
	load_board_describe(o->board, &worker->board);
	load_core_sets(worker);
	worker->shared = child->truth;
	worker->truth = truth_thread(
		child->truth, child->process, truth_number);
	worker->devices = devices->targets;
	worker->targets = &devices->targets[o->mesh ? o->devices : 0];
	worker->targets_len = devices->targets_len;
	worker->process = child->process;
	worker->number = number;
	worker->ids = (uint64_t)truth_number << 40;
	worker->random = o->seed * 0x9e3779b97f4a7c15ull +
		(child->process * 1024 + number) * 0xd1342543de82ef95ull;
}

static void workers_start(struct load_worker *workers,
	const struct devices *devices, pthread_barrier_t *barrier)
{
	const struct load_options *o = devices->child->options;
	size_t i;
	int r;

	for (i = 0; i < o->threads; i++) {
		struct load_worker *worker = &workers[i];

		worker_init(worker, devices, i, i + 1);
		worker->barrier = barrier;
		worker->others = workers;
		pthread_mutex_init(&worker->mailbox.lock, NULL);
		worker->mailbox.buffers_max = o->cross_free ? o->live + 64 : 0;
		worker->mailbox.buffers = load_memory(
			worker->mailbox.buffers_max,
			sizeof(struct load_buffer));
	}
	for (i = 0; i < o->threads; i++) {
		r = pthread_create(&workers[i].thread, NULL, load_worker_main,
			&workers[i]);
		if (r) {
			ttm_error("no thread: %s", strerror(r));
			_exit(TTM_EXIT_FAILURE);
		}
	}
}

/* Called when every thread is past its loop and none has begun to free. */
static void middle(const struct load_child *child)
{
	const struct load_options *o = child->options;

	if (o->hold && !ttm_word_load(&child->truth->stop))
		load_process_wait(child, LOAD_NEWS_HOLD, "");
	if (o->crash)
		load_process_crash(child->truth, child->process, o->crash);
}

static void pattern_run(const struct load_child *child)
{
	const struct load_options *o = child->options;
	struct devices *devices = load_memory(1, sizeof(*devices));
	struct load_worker *workers = load_memory(o->threads, sizeof(*workers));
	pthread_barrier_t barrier;
	size_t i;

	devices->child = child;
	devices->process = &child->truth->processes[child->process];
	worker_init(&devices->main, devices, 0, 0);
	devices_open(devices);
	leaks_make(devices);
	pthread_barrier_init(&barrier, NULL, (unsigned)o->threads + 1);
	workers_start(workers, devices, &barrier);
	pthread_barrier_wait(&barrier);
	middle(child);
	pthread_barrier_wait(&barrier);
	for (i = 0; i < o->threads; i++) {
		pthread_join(workers[i].thread, NULL);
		pthread_mutex_destroy(&workers[i].mailbox.lock);
		free(workers[i].mailbox.buffers);
	}
	devices_close(devices);
	pthread_barrier_destroy(&barrier);
	free(workers);
	free(devices);
}

void load_process_run(const struct load_child *child)
{
	sigset_t none;

	/* Not to outlive it; it may be gone already. */
	close(child->wires->life[1]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	parent_look(child);
	/* The parent decides for all when a key is pressed. */
	signal(SIGINT, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	load_process_start(child);
	if (child->script)
		load_script_run(child);
	else
		pattern_run(child);
	exit(TTM_EXIT_OK);
}

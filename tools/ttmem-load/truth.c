/* SPDX-License-Identifier: Apache-2.0 */
#include "truth.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Reserved, not taken: a page is there once somebody counts in it. */
static void *shared_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

struct truth *truth_new(size_t processes_max, size_t threads_max)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct truth *truth = shared_memory(sizeof(*truth));
	size_t size;

	if (!truth)
		return NULL;
	truth->processes_max = processes_max;
	truth->threads_max = threads_max;
	/* Whole pages: no two threads share a cache line. */
	truth->thread_stride = (sizeof(struct truth_thread) + page - 1) / page *
		page;
	truth->processes = shared_memory(
		processes_max * sizeof(struct truth_process));
	if (!truth->processes ||
		__builtin_mul_overflow(processes_max * threads_max,
			truth->thread_stride, &size))
		return NULL;
	truth->threads = shared_memory(size);
	return truth->threads ? truth : NULL;
}

struct truth_process *truth_process_new(struct truth *truth)
{
	uint64_t number = ttm_word_take(&truth->processes_given, 1);
	struct truth_process *process;

	if (number >= truth->processes_max)
		return NULL;
	process = &truth->processes[number];
	process->threads_len = truth->threads_max;
	return sem_init(&process->go, 1, 0) < 0 ? NULL : process;
}

size_t truth_processes(const struct truth *truth)
{
	uint64_t given = ttm_word_load(&truth->processes_given);

	return given < truth->processes_max ? given : truth->processes_max;
}

struct truth_thread *truth_thread(
	const struct truth *truth, size_t process, size_t thread)
{
	return (void *)(truth->threads +
		(process * truth->threads_max + thread) * truth->thread_stride);
}

bool truth_is_noted(const struct truth_thread *thread, uint64_t offset)
{
	uint64_t i;

	for (i = 0; i < ttm_word_load(&thread->undo_len); i++)
		if (ttm_word_load(&thread->undo[i].offset) == offset)
			return true;
	return false;
}

static void counters_add(
	struct truth_counters *to, const struct truth_counters *from)
{
	const uint64_t *words = (const void *)from;
	uint64_t *sums = (void *)to;
	size_t i;

	for (i = 0; i < sizeof(*to) / sizeof(*sums); i++)
		sums[i] += ttm_word_load(&words[i]);
}

bool truth_thread_settle(
	const struct truth_thread *thread, struct truth_thread *ret_settled)
{
	uint64_t i;

	memcpy(ret_settled, thread, sizeof(*ret_settled));
	if (ret_settled->begun == ret_settled->done)
		return false;
	/* A counter may be there twice: its oldest value is taken back last. */
	for (i = ret_settled->undo_len; i-- > 0;)
		memcpy((char *)ret_settled + ret_settled->undo[i].offset,
			&ret_settled->undo[i].before, sizeof(uint64_t));
	return true;
}

void truth_process_sum(const struct truth *truth, size_t process,
	struct truth_counters ret_entries[TRUTH_ENTRIES_MAX])
{
	const struct truth_process *p = &truth->processes[process];
	static struct truth_thread settled;
	size_t thread, target, entry;

	memset(ret_entries, 0, TRUTH_ENTRIES_MAX * sizeof(ret_entries[0]));
	for (thread = 0; thread < p->threads_len; thread++) {
		truth_thread_settle(
			truth_thread(truth, process, thread), &settled);
		for (target = 0; target < p->targets_len; target++)
			for (entry = 0; entry < p->entries_len; entry++)
				if (p->targets[target] >> entry & 1)
					counters_add(&ret_entries[entry],
						&settled.targets[target]);
	}
}

void truth_entry_sum(const struct truth *truth, size_t process, size_t entry,
	struct truth_counters *ret_sum)
{
	const struct truth_process *p = &truth->processes[process];
	size_t thread, target;

	memset(ret_sum, 0, sizeof(*ret_sum));
	for (thread = 0; thread < p->threads_len; thread++)
		for (target = 0; target < p->targets_len; target++)
			if (p->targets[target] >> entry & 1)
				counters_add(ret_sum,
					&truth_thread(truth, process, thread)
						 ->targets[target]);
}

uint64_t truth_live_objects(const uint64_t flows[TRUTH_FLOWS])
{
	return flows[TRUTH_ALLOC_OBJECTS] - flows[TRUTH_FREE_OBJECTS] -
		flows[TRUTH_ORPHAN_OBJECTS];
}

uint64_t truth_live_bytes(const uint64_t flows[TRUTH_FLOWS])
{
	return flows[TRUTH_ALLOC_BYTES] - flows[TRUTH_FREE_BYTES] -
		flows[TRUTH_ORPHAN_BYTES];
}

uint64_t truth_live_requested(const uint64_t flows[TRUTH_FLOWS])
{
	return flows[TRUTH_ALLOC_REQUESTED] - flows[TRUTH_FREE_REQUESTED] -
		flows[TRUTH_ORPHAN_REQUESTED];
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a script can say: each event is noted, modelled and made. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "script_run.h"

const char *const script_fork = "fork";
const char *const script_end = "end";

/* The argument as the library takes it; a mesh not open is no device. */
static uint32_t handle(const struct script_run *run, struct model_device device)
{
	if (!device.is_mesh)
		return device.number;
	return device.number < run->handles_len ? run->handles[device.number] :
						  UINT32_MAX;
}

static void begin(struct script_run *run, const struct script_command *c,
	enum truth_call call, uint64_t id)
{
	truth_begin(run->thread, call, handle(run, c->device), id);
}

/* -- devices ---------------------------------------------------------------------- */

static void run_open(struct script_run *run, const struct script_command *c)
{
	begin(run, c, TRUTH_CALL_OPEN, 0);
	model_open(run->model, &c->info);
	ttmem_device_open(&c->info);
	truth_commit(run->thread);
}

static void run_close(struct script_run *run, const struct script_command *c)
{
	begin(run, c, TRUTH_CALL_CLOSE, 0);
	model_close(run->model, c->device);
	ttmem_device_close(handle(run, c->device));
	truth_commit(run->thread);
}

static void run_mesh(struct script_run *run, const struct script_command *c)
{
	script_run_handles(run, c->device.number + 1);
	begin(run, c, TRUTH_CALL_MESH_OPEN, 0);
	model_mesh_open(
		run->model, c->device.number, c->devices, c->devices_len);
	run->handles[c->device.number] = ttmem_mesh_open(
		c->devices, c->devices_len);
	truth_commit(run->thread);
}

static void run_mesh_close(
	struct script_run *run, const struct script_command *c)
{
	begin(run, c, TRUTH_CALL_MESH_CLOSE, 0);
	model_mesh_close(run->model, c->device);
	ttmem_mesh_close(handle(run, c->device));
	truth_commit(run->thread);
}

static void run_peak_reset(
	struct script_run *run, const struct script_command *c)
{
	begin(run, c, TRUTH_CALL_PEAK_RESET, 0);
	ttmem_peak_reset(handle(run, c->device));
	truth_commit(run->thread);
}

/* -- buffers ------------------------------------------------------------------------ */

/* Kinds that there are not are no figures either: see model.c. */
static unsigned kind_figure(uint64_t kind)
{
	return kind < TRUTH_KINDS ? (unsigned)kind : TTMEM_FIGURES;
}

/* A count, or the handle of a core set: the same cores always give the same. */
static uint32_t cores_of(const struct script_command *c)
{
	return c->cores ?
		ttmem_core_set(c->cores->ranges, c->cores->ranges_len) :
		c->cores_count;
}

static void run_alloc(struct script_run *run, const struct script_command *c)
{
	const uint64_t *n = c->numbers; /* kind, id, address, size, used */
	bool is_used_told = c->numbers_len > 4;
	struct model_object object = { .figure = kind_figure(n[0]),
		.id = n[1],
		.size = n[3],
		.cores = c->cores_count,
		.flags = c->flags,
		.banks = is_used_told ? 1 : c->banks,
		.bytes_per_bank = is_used_told ? n[4] : c->bytes_per_bank };
	enum ttmem_kind kind = (enum ttmem_kind)n[0];
	struct ttmem_buffer buffer;

	begin(run, c, TRUTH_CALL_ALLOC, n[1]);
	model_put(run->model, c->device, &object);
	ttmem_buffer_init(&buffer, handle(run, c->device), kind);
	buffer.id = n[1];
	buffer.address = n[2];
	buffer.bytes = n[3];
	buffer.bytes_per_bank = object.bytes_per_bank;
	buffer.banks = object.banks;
	buffer.cores = cores_of(c);
	buffer.flags = c->flags;
	/* The short form, where it says as much. */
	if (object.banks || object.cores || object.flags ||
		object.bytes_per_bank != TTMEM_UNKNOWN)
		ttmem_buffer_alloc(&buffer);
	else
		ttmem_alloc(buffer.device, kind, n[1], n[2], n[3]);
	truth_commit(run->thread);
}

static void run_free(struct script_run *run, const struct script_command *c)
{
	const uint64_t *n = c->numbers; /* kind, id */
	struct model_object object = { .figure = kind_figure(n[0]),
		.id = n[1] };

	begin(run, c, TRUTH_CALL_FREE, n[1]);
	model_remove(run->model, c->device, &object);
	ttmem_free(handle(run, c->device), (enum ttmem_kind)n[0], n[1]);
	truth_commit(run->thread);
}

static void run_failed(struct script_run *run, const struct script_command *c)
{
	const uint64_t *n = c->numbers; /* kind, size, largest free */
	struct ttmem_failure failure;

	begin(run, c, TRUTH_CALL_FAILED, 0);
	model_failed(run->model, c->device, n[0]);
	ttmem_failure_init(&failure, handle(run, c->device), (uint32_t)n[0]);
	failure.bytes = n[1];
	failure.bytes_per_bank = c->bytes_per_bank;
	failure.free_per_bank = c->free_per_bank;
	failure.largest_free_per_bank = c->numbers_len > 2 ?
		n[2] :
		c->largest_free_per_bank;
	failure.program = c->program;
	ttmem_alloc_failed(&failure);
	truth_commit(run->thread);
}

/* -- circular buffers and kernels --------------------------------------------------- */

static void run_cb(struct script_run *run, const struct script_command *c)
{
	const uint64_t *n = c->numbers; /* program, cb, address, size */
	struct model_object object = { .figure = TTMEM_FIGURE_CB,
		.program = n[0],
		.id = n[1],
		.size = n[3],
		.cores = c->cores_count,
		.flags = c->flags };

	begin(run, c, TRUTH_CALL_CB_ALLOC, n[1]);
	model_put(run->model, c->device, &object);
	ttmem_cb_alloc(handle(run, c->device), n[0], n[1], n[2], n[3],
		cores_of(c), c->flags);
	truth_commit(run->thread);
}

static void run_cb_free(struct script_run *run, const struct script_command *c)
{
	const uint64_t *n = c->numbers; /* program, cb */
	struct model_object object = {
		.figure = TTMEM_FIGURE_CB, .program = n[0], .id = n[1]
	};

	begin(run, c, TRUTH_CALL_CB_FREE, n[1]);
	model_remove(run->model, c->device, &object);
	ttmem_cb_free(handle(run, c->device), n[0], n[1]);
	truth_commit(run->thread);
}

static void run_cb_free_all(
	struct script_run *run, const struct script_command *c)
{
	begin(run, c, TRUTH_CALL_CB_FREE_ALL, 0);
	model_remove_cbs(run->model, c->device);
	ttmem_cb_free_all(handle(run, c->device));
	truth_commit(run->thread);
}

static void run_kernel(struct script_run *run, const struct script_command *c)
{
	const uint64_t *n = c->numbers; /* id, type, size */
	struct model_object object = { .figure = n[1] < TRUTH_KERNEL_TYPES ?
			TTMEM_FIGURE_KERNEL + (unsigned)n[1] :
			TTMEM_FIGURES,
		.id = n[0],
		.size = n[2],
		.cores = c->cores_count,
		.flags = c->flag ? TTMEM_KERNEL_IN_RING : 0 };

	begin(run, c, TRUTH_CALL_KERNEL_LOAD, n[0]);
	model_put(run->model, c->device, &object);
	ttmem_kernel_load(handle(run, c->device), n[0],
		(enum ttmem_kernel_type)n[1], n[2], cores_of(c), object.flags);
	truth_commit(run->thread);
}

static void run_unload(struct script_run *run, const struct script_command *c)
{
	struct model_object object = { .figure = TTMEM_FIGURE_KERNEL,
		.id = c->numbers[0] };

	begin(run, c, TRUTH_CALL_KERNEL_UNLOAD, c->numbers[0]);
	model_remove(run->model, c->device, &object);
	ttmem_kernel_unload(handle(run, c->device), c->numbers[0]);
	truth_commit(run->thread);
}

static void run_destroy(struct script_run *run, const struct script_command *c)
{
	begin(run, c, TRUTH_CALL_DESTROY, c->numbers[0]);
	model_remove_program(run->model, c->device, c->numbers[0]);
	ttmem_program_destroy(handle(run, c->device), c->numbers[0]);
	truth_commit(run->thread);
}

/* -- context ------------------------------------------------------------------------- */

static void run_push(struct script_run *run, const struct script_command *c)
{
	begin(run, c, TRUTH_CALL_PUSH, 0);
	model_push(run->model);
	ttmem_scope_push(c->text, c->flag ? TTMEM_SCOPE_PERSISTENT : 0);
	truth_commit(run->thread);
}

static void run_pop(struct script_run *run, const struct script_command *c)
{
	begin(run, c, TRUTH_CALL_POP, 0);
	model_pop(run->model);
	ttmem_scope_pop();
	truth_commit(run->thread);
}

static void run_pop_to(struct script_run *run, const struct script_command *c)
{
	begin(run, c, TRUTH_CALL_POP_TO, 0);
	model_pop_to(run->model, c->numbers[0]);
	ttmem_scope_pop_to((uint32_t)c->numbers[0]);
	truth_commit(run->thread);
}

static void run_mark(struct script_run *run, const struct script_command *c)
{
	begin(run, c, TRUTH_CALL_MARK, 0);
	model_mark(run->model);
	ttmem_mark(c->text);
	truth_commit(run->thread);
}

/* A name for later lines: the library hears of a core set when it is used. */
static void run_cores(struct script_run *run, const struct script_command *c)
{
	(void)run;
	(void)c;
}

/* -- the process itself --------------------------------------------------------------- */

static void run_sync(struct script_run *run, const struct script_command *c)
{
	load_process_wait(&run->child, LOAD_NEWS_SYNC, c->text ? c->text : "");
}

/* In slices: a load that is told to end does so without waiting for the rest. */
static void run_sleep(struct script_run *run, const struct script_command *c)
{
	uint64_t left_ms = c->numbers[0], slice_ms;
	struct timespec left;

	for (; left_ms && !ttm_word_load(&run->child.truth->stop);
		left_ms -= slice_ms) {
		slice_ms = left_ms < 100 ? left_ms : 100;
		left = (struct timespec){ .tv_nsec = (long)slice_ms * 1000000 };
		while (nanosleep(&left, &left) < 0)
			;
	}
}

static void run_exit(struct script_run *run, const struct script_command *c)
{
	int status = (int)c->numbers[0]; /* 0 if it is missing */

	ttm_word_store(&run->process->planned, (uint64_t)status << 8);
	exit(status);
}

static void run_kill(struct script_run *run, const struct script_command *c)
{
	load_process_crash(run->child.truth, run->child.process,
		c->numbers_len ? (int)c->numbers[0] : SIGKILL);
}

/* Sorted. */
static const struct script_verb verbs[] = {
	{ "alloc", "dknns|sa", NULL, run_alloc },
	{ "cb", "dnnnscb", NULL, run_cb },
	{ "cb_free", "dnn", NULL, run_cb_free },
	{ "cb_free_all", "d", NULL, run_cb_free_all },
	{ "close", "d", NULL, run_close },
	{ "cores", "r", NULL, run_cores },
	{ "destroy", "dn", NULL, run_destroy },
	{ "end", "", NULL, NULL },
	{ "exit", "|e", NULL, run_exit },
	{ "failed", "dKs|sf", NULL, run_failed },
	{ "fork", "", NULL, script_run_fork },
	{ "free", "dkn", NULL, run_free },
	{ "kernel", "dntsc", "ring", run_kernel },
	{ "kill", "|g", NULL, run_kill },
	{ "mark", "w", NULL, run_mark },
	{ "mesh", "ml", NULL, run_mesh },
	{ "mesh_close", "d", NULL, run_mesh_close },
	{ "open", "do", NULL, run_open },
	{ "peak_reset", "d", NULL, run_peak_reset },
	{ "pop", "", NULL, run_pop },
	{ "pop_to", "n", NULL, run_pop_to },
	{ "push", "w", "persistent", run_push },
	{ "sleep", "n", NULL, run_sleep },
	{ "sync", "|w", NULL, run_sync },
	{ "unload", "dn", NULL, run_unload },
	{ "wait", "", NULL, script_run_wait },
};

_Static_assert(sizeof(verbs) / sizeof(verbs[0]) <= SCRIPT_VERBS_MAX,
	"names of all verbs have room");

size_t script_verb_names(const char *ret_names[SCRIPT_VERBS_MAX])
{
	size_t i;

	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		ret_names[i] = verbs[i].name;
	return i;
}

const struct script_verb *script_verb_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(name, verbs[i].name) == 0)
			return &verbs[i];
	return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
#include "daemon/publish/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/follow/drain.h"
#include "daemon/publish/output_texts.h"
#include "daemon/publish/usage.h"
#include "shm/atomics.h"
#include "shm/clock.h"

/*
 * What takes long is done less often: at most a twentieth of the time goes into
 * reading the counters of a process, or into measuring its L1. Costs are those of
 * the processor: on a busy machine the clock says little.
 */
#define COST_SHARE 20u

/*
 * A look at the L1 of a process's devices takes little more than that: the objects of
 * one that has many devices may be on all of them.
 */
#define L1_COST_MOST_NS 20000000u

static bool is_due(uint64_t last_ns, uint64_t cost_ns, uint64_t now_ns)
{
	return now_ns - last_ns >= cost_ns * COST_SHARE;
}

/* -- objects ----------------------------------------------------------------- */

void ttm_output_object(struct ttm_output *output, struct ttm_process *process,
	uint32_t slot, const struct ttm_item *item,
	struct ttm_object_row *ret_row)
{
	struct ttm_object_row *row = ret_row;

	memset(row, 0, sizeof(*row));
	row->process = process->row;
	row->members = ttm_model_members(&process->model, item->place);
	row->w1 = TTM_W1(
		slot, item->stamp, item->figure, item->flags, item->rank);
	row->id = item->id;
	row->address = item->address;
	row->w4 = item->w4;
	row->w5 = item->w5;
	row->allocated_ns = ttm_process_time_ns(process, item->time);
	row->scope = ttm_output_name(output, process, TTM_W7_SCOPE(item->w7));
	row->w7 = item->w7;
}

/* Device entries that have a row, a bit for each. */
static uint64_t entries_shown(const struct ttm_process *process)
{
	uint64_t shown = 0;
	uint32_t i;

	for (i = 0; i < process->parts_len; i++)
		if (process->parts[i]->usage.row)
			shown |= 1ull << i;
	return shown;
}

/* Returns whether the slot's row is as it should be. */
static bool object_publish(struct ttm_output *output,
	struct ttm_process *process, uint32_t slot, uint64_t shown)
{
	struct ttm_mirror *mirror = ttm_model_mirror(&process->model, slot);
	struct ttm_object_row row;

	if (mirror->row) {
		ttm_objects_remove(output->publisher, mirror->row);
		mirror->row = 0;
	}
	if (!ttm_item_is_live(&mirror->item))
		return true;
	if (ttm_model_members(&process->model, mirror->item.place) & ~shown)
		return false; /* a device of it is not told yet */
	ttm_output_object(output, process, slot, &mirror->item, &row);
	mirror->row = ttm_objects_add(output->publisher, &row);
	if (!mirror->row)
		output->memory_errors++;
	return mirror->row != 0;
}

static void objects_publish(
	struct ttm_output *output, struct ttm_process *process)
{
	struct ttm_model *model = &process->model;
	uint64_t shown = entries_shown(process);
	uint32_t i, slot, kept = 0;

	if (model->changed_len > 1024)
		ttm_objects_expect(output->publisher, model->changed_len);
	for (i = 0; i < model->changed_len; i++) {
		slot = model->changed[i];
		if (object_publish(output, process, slot, shown))
			ttm_model_mirror(model, slot)->state &= ~(
				uint32_t)TTM_MIRROR_QUEUED;
		else
			model->changed[kept++] = slot;
	}
	model->changed_len = kept;
}

/* -- shares ------------------------------------------------------------------ */

static void facts_l1(
	const struct ttm_device_facts *facts, struct ttm_l1_facts *ret_l1)
{
	ret_l1->cores = facts->known & TTM_FACT_CORES ? facts->cores :
							TTMEM_UNKNOWN;
	ret_l1->base = facts->known & TTM_FACT_L1_BASE ? facts->l1_base :
							 TTMEM_UNKNOWN;
	ret_l1->top = facts->known & TTM_FACT_L1_TOP ? facts->l1_top :
						       TTMEM_UNKNOWN;
}

/*
 * An entry is there a moment before what its process tells of the device: until then
 * it is a device that nobody knows, unless something came without an opening.
 */
static bool part_is_told(const struct ttm_process *process, uint32_t entry)
{
	static const struct ttm_flows nothing;
	const struct ttm_share *share = &process->model.shares[entry];
	const struct ttm_part *part = process->parts[entry];
	unsigned i;

	for (i = 0; i < TTMEM_FIGURES; i++)
		if (share->live[i].objects || share->orphaned[i].objects)
			return true;
	return part->usage.chip || part->device.seq >= 2 ||
		memcmp(&part->flows, &nothing, sizeof(nothing)) != 0;
}

/* A device of a mesh has the L1 of the one before: it is measured once. */
static bool l1_copy(const struct ttm_process *process, uint32_t entry,
	uint32_t like, const struct ttm_l1_facts *facts)
{
	struct ttm_l1_facts others;

	if (like >= process->parts_len)
		return false;
	facts_l1(&process->parts[like]->device.facts, &others);
	if (memcmp(facts, &others, sizeof(others)) != 0 ||
		!ttm_model_l1_is_same(&process->model, entry, like))
		return false;
	process->parts[entry]->l1 = process->parts[like]->l1;
	return true;
}

static bool l1_is_due(
	const struct ttm_process *process, uint64_t now_ns, bool whole)
{
	if (whole)
		return true;
	return process->l1_ns == now_ns ?
		process->l1_cost_ns < L1_COST_MOST_NS :
		is_due(process->l1_ns, process->l1_cost_ns, now_ns);
}

/* `like` is the entry that was measured last in this look. */
static void l1_measure(struct ttm_output *output, struct ttm_process *process,
	uint32_t entry, uint64_t now_ns, bool whole, uint32_t *like)
{
	struct ttm_share *share = &process->model.shares[entry];
	struct ttm_part *part = process->parts[entry];
	uint64_t cpu_ns = ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct ttm_l1_facts facts;
	int r = 0;

	if (!share->l1_moved || !l1_is_due(process, now_ns, whole))
		return;
	facts_l1(&part->device.facts, &facts);
	if (!l1_copy(process, entry, *like, &facts))
		r = ttm_model_l1(&process->model, entry, &facts, &part->l1);
	if (r < 0) {
		output->memory_errors++;
	} else {
		/* What is too new comes in with a later round. */
		share->l1_moved = !part->l1.settled;
		*like = entry;
	}
	share->changed = true;
	if (process->l1_ns != now_ns)
		process->l1_cost_ns = 0;
	process->l1_ns = now_ns;
	process->l1_cost_ns += ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	process->l1_next = entry + 1;
}

/* The next look begins where the last one ended: none waits behind a busy one. */
static void l1_measure_all(struct ttm_output *output,
	struct ttm_process *process, uint64_t now_ns, bool whole)
{
	uint32_t first = process->l1_next, like = UINT32_MAX, i, entry;

	for (i = 0; i < process->parts_len; i++) {
		entry = (first + i) % process->parts_len;
		if (process->parts[entry]->ready &&
			part_is_told(process, entry))
			l1_measure(
				output, process, entry, now_ns, whole, &like);
	}
}

static void share_fill(const struct ttm_process *process, uint32_t entry,
	struct ttm_share_row *row)
{
	const struct ttm_share *share = &process->model.shares[entry];
	const struct ttm_part *part = process->parts[entry];
	unsigned i;

	memset(row, 0, sizeof(*row));
	row->self = part->usage.row;
	row->process = process->row;
	row->device = part->usage.chip->row;
	row->entry = entry;
	row->logical = TTM_DEVICE_LOGICAL(part->device.head);
	row->open = (part->device.head & TTM_DEVICE_OPEN) != 0;
	row->epoch = TTM_ERA_EPOCH(part->device.era);
	row->opened_ns = ttm_process_time_ns(process, part->device.opened);
	row->closed_ns = ttm_process_time_ns(process, part->device.closed);
	memcpy(row->dispatches, part->flows.dispatches,
		sizeof(row->dispatches));
	memcpy(row->failures, part->flows.failures, sizeof(row->failures));
	memcpy(row->ring_bytes, share->ring_bytes, sizeof(row->ring_bytes));
	row->cb_footprint = part->l1.cb_footprint;
	row->cb_footprint_exact = part->l1.cb_footprint_exact;
	row->headroom = part->l1.headroom;
	row->clash_program = part->l1.clash_program;
	for (i = 0; i < TTMEM_FIGURES; i++) {
		struct ttm_sums *sums = &row->figures[i];

		sums->live_bytes = share->live[i].bytes;
		sums->live_objects = share->live[i].objects;
		sums->orphaned_bytes = share->orphaned[i].bytes;
		sums->orphaned_objects = share->orphaned[i].objects;
		sums->peak_bytes = part->flows.figures[i].peak_bytes;
		sums->alloc_objects = part->flows.figures[i].alloc_objects;
		sums->alloc_bytes = part->flows.figures[i].alloc_bytes;
		sums->free_objects = part->flows.figures[i].free_objects;
		sums->free_bytes = part->flows.figures[i].free_bytes;
		sums->requested_bytes = i < TTMEM_FIGURE_CB ?
			share->requested[i] :
			share->live[i].bytes;
	}
}

void ttm_output_assign(struct ttm_output *output, struct ttm_process *process)
{
	uint32_t i;

	for (i = 0; i < process->parts_len; i++) {
		struct ttm_part *part = process->parts[i];

		if (part->usage.chip)
			ttm_usage_move(output, &part->usage,
				ttm_chip_again(&output->chips,
					process->attached->directory->uid,
					&part->device.facts,
					TTM_DEVICE_LOGICAL(part->device.head),
					part->usage.chip));
		process->model.shares[i].changed = true;
	}
	process->changed = true;
}

static void share_publish(
	struct ttm_output *output, struct ttm_process *process, uint32_t entry)
{
	struct ttm_usage *usage = &process->parts[entry]->usage;
	bool late = !usage->row && ttm_process_is_late(process);
	struct ttm_share_row row;

	if (!usage->chip)
		return;
	if (!usage->row)
		usage->row = ttm_image_add(output->image, TTM_TABLE_SHARES);
	if (!usage->row) {
		output->memory_errors++;
		return;
	}
	process->model.shares[entry].changed = false;
	share_fill(process, entry, &row);
	ttm_usage_set(output, usage, &row);
	if (late)
		ttm_chip_rates_skip(usage->chip, &row, 1);
}

void ttm_output_tell(struct ttm_output *output,
	const struct ttm_process *process, struct ttm_part *part)
{
	ttm_usage_move(output, &part->usage,
		ttm_chip_get(&output->chips, process->attached->directory->uid,
			&part->device.facts,
			TTM_DEVICE_LOGICAL(part->device.head)));
}

static void shares_publish(struct ttm_output *output,
	struct ttm_process *process, uint64_t now_ns, bool whole)
{
	uint32_t i;

	l1_measure_all(output, process, now_ns, whole);
	for (i = 0; i < process->parts_len; i++) {
		if (!process->parts[i]->ready || !part_is_told(process, i))
			continue;
		if (process->model.shares[i].changed)
			ttm_output_tell(output, process, process->parts[i]);
		if (process->model.shares[i].changed)
			share_publish(output, process, i);
	}
}

/* -- process ----------------------------------------------------------------- */

static enum ttm_process_state state_of(const struct ttm_process *process)
{
	/* relaxed: for display */
	if (ttm_load(&process->attached->fate) == TTM_FATE_UNKNOWN)
		return TTM_PROCESS_UNKNOWN;
	if (process->live.state == TTM_SEGMENT_ENDED)
		return TTM_PROCESS_ENDED;
	return TTM_PROCESS_REPORTING;
}

/* Never the header's pid: a reader may send signals to what is published. */
static void owner_publish(
	struct ttm_process *process, struct ttm_process_row *row)
{
	const struct ttm_attached *attached = process->attached;

	/* pairs(owner): acquire, with the watch, which stores the pid last */
	process->pid = ttm_load32_acquire(&attached->pid);
	if (!process->pid)
		return;
	/* relaxed: a process that changes meanwhile is published again */
	row->pid = ttm_load32(&attached->own_pid);
	row->pid_namespace = ttm_load(&attached->pid_namespace);
	row->start_time = ttm_load(&attached->start_time);
}

static void process_publish(
	struct ttm_output *output, struct ttm_process *process)
{
	const struct ttm_header_const *header = &process->attached->header;
	struct ttm_process_row row;

	memset(&row, 0, sizeof(row));
	row.state = state_of(process);
	memcpy(row.uuid, header->uuid, sizeof(row.uuid));
	memcpy(row.run_id, header->run_id, sizeof(row.run_id));
	row.directory = ttm_output_directory(
		output, process->attached->directory);
	row.uid = process->attached->directory->uid;
	owner_publish(process, &row);
	row.started_ns = header->monotonic_base_ns;
	row.last_event_ns = process->last_event_ns;
	row.events = process->events;
	row.events_per_s = process->events_per_s;
	row.missed = process->missed;
	row.in_flight = 0;
	row.lanes = process->live.lanes_len;
	row.objects = process->model.live_objects;
	row.closes = process->model.closes;
	memcpy(row.anomalies, process->anomalies, sizeof(row.anomalies));
	memcpy(row.lost_events, process->lost_events, sizeof(row.lost_events));
	memcpy(row.lost_bytes, process->lost_bytes, sizeof(row.lost_bytes));
	memcpy(row.comm, header->comm, sizeof(row.comm));
	if (!output->names_only)
		memcpy(row.cmdline, header->cmdline, sizeof(row.cmdline));
	memcpy(row.cgroup, header->cgroup, sizeof(row.cgroup));
	ttm_image_set(output->image, TTM_TABLE_PROCESSES, process->row, &row);
}

static int counters_read(
	struct ttm_process *process, uint64_t now_ns, bool whole)
{
	uint64_t cpu_ns = ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int r;

	if (!process->counters_wanted ||
		(!whole &&
			!is_due(process->counters_ns, process->counters_cost_ns,
				now_ns)))
		return 0;
	r = ttm_drain_counters(process);
	process->counters_ns = now_ns;
	process->counters_cost_ns = ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID) -
		cpu_ns;
	return r;
}

/* Whether a share has something to show next time: devices may be read at any time. */
static bool shares_are_behind(const struct ttm_process *process)
{
	uint32_t i;

	for (i = 0; i < process->parts_len; i++)
		if (process->model.shares[i].l1_moved ||
			(process->parts[i]->usage.row &&
				process->model.shares[i].changed))
			return true;
	return false;
}

int ttm_output_process(struct ttm_output *output, struct ttm_process *process,
	uint64_t now_ns, bool whole)
{
	int r;

	if (!process->row)
		process->row = ttm_image_add(
			output->image, TTM_TABLE_PROCESSES);
	if (!process->row) {
		output->memory_errors++;
		return -ENOMEM;
	}
	process->names_looked = false;
	r = counters_read(process, now_ns, whole);
	if (r < 0)
		return r;
	shares_publish(output, process, now_ns, whole);
	objects_publish(output, process);
	r = ttm_output_texts(output, process);
	if (!r && process->faulty)
		r = -EPROTO;
	process_publish(output, process);
	process->changed = process->counters_wanted || process->texts_wanted ||
		process->model.changed_len != 0 || shares_are_behind(process);
	output->changed = true;
	return r;
}

static void objects_forget(
	struct ttm_output *output, struct ttm_process *process)
{
	struct ttm_mirror *mirror;
	uint32_t slot;

	for (slot = 0; slot < ttm_model_slots(&process->model); slot++) {
		mirror = ttm_model_mirror(&process->model, slot);
		if (!mirror->row)
			continue;
		ttm_objects_remove(output->publisher, mirror->row);
		mirror->row = 0;
	}
}

void ttm_output_forget(struct ttm_output *output, struct ttm_process *process)
{
	uint32_t i;

	objects_forget(output, process);
	ttm_output_texts_forget(output, process);
	for (i = 0; i < process->parts_len; i++)
		ttm_usage_remove(output, &process->parts[i]->usage);
	ttm_image_remove(output->image, TTM_TABLE_PROCESSES, process->row);
	process->row = 0;
	output->changed = true;
}

/* -- chips and directories ------------------------------------------------------ */

/* A chip whose shares changed, while they are gone through. */
struct chip_look {
	struct ttm_chip *chip; /* NULL: it did not change */
	uint64_t logical;
};

static void chip_look_begin(struct chip_look *look, struct ttm_chip *chip)
{
	look->chip = chip;
	look->logical = TTMEM_UNKNOWN;
	chip->total.cb_footprint_exact = 1;
	chip->total.headroom = TTM_HEADROOM_UNKNOWN;
	chip->total.clash_process = 0;
	chip->total.clash_program = TTMEM_UNKNOWN;
}

static void chip_look_share(
	struct chip_look *look, const struct ttm_share_row *share)
{
	struct ttm_device_row *total = &look->chip->total;

	if (share->logical < look->logical)
		look->logical = share->logical;
	total->cb_footprint_exact &= share->cb_footprint_exact;
	if (share->headroom == TTM_HEADROOM_UNKNOWN ||
		(total->headroom != TTM_HEADROOM_UNKNOWN &&
			share->headroom >= total->headroom))
		return;
	total->headroom = share->headroom;
	total->clash_process = share->process;
	total->clash_program = share->clash_program;
}

static void chip_look_end(struct chip_look *look)
{
	look->chip->shares_changed = false;
	/* Who is known by his number has it, or is one of many: ttm_chip_get() */
	if (look->logical != TTMEM_UNKNOWN &&
		look->chip->total.identity != TTM_IDENTITY_LOGICAL)
		look->chip->total.logical = look->logical;
}

static bool chips_have_changed(const struct ttm_chips *chips)
{
	const struct ttm_chip *chip;

	for (chip = chips->first; chip; chip = chip->next)
		if (chip->shares_changed)
			return true;
	return false;
}

/* Once through all shares, whatever the number of chips. */
void ttm_output_chips(struct ttm_output *output)
{
	size_t looks_len = ttm_image_len(output->image, TTM_TABLE_DEVICES);
	size_t len = ttm_image_len(output->image, TTM_TABLE_SHARES), i;
	struct chip_look *looks, *look;
	struct ttm_chip *chip;

	if (!chips_have_changed(&output->chips))
		return;
	looks = calloc(looks_len, sizeof(*looks)); /* by index of the row */
	if (!looks) {
		output->memory_errors++;
		return;
	}
	for (chip = output->chips.first; chip; chip = chip->next)
		if (chip->shares_changed)
			chip_look_begin(&looks[TTM_REF_INDEX(chip->row)], chip);
	for (i = 0; i < len; i++) {
		const struct ttm_share_row *share = ttm_image_at(
			output->image, TTM_TABLE_SHARES, i);

		look = &looks[TTM_REF_INDEX(share->device)];
		if (share->self && look->chip &&
			share->device == look->chip->row)
			chip_look_share(look, share);
	}
	for (i = 0; i < looks_len; i++)
		if (looks[i].chip)
			chip_look_end(&looks[i]);
	free(looks);
}

uint64_t ttm_output_directory(
	struct ttm_output *output, struct ttm_directory *directory)
{
	struct ttm_directory_row row;

	if (directory->row)
		return directory->row;
	directory->row = ttm_image_add(output->image, TTM_TABLE_DIRECTORIES);
	if (!directory->row) {
		output->memory_errors++;
		return 0;
	}
	/* A process that is shown before the directory's figures has a place. */
	memset(&row, 0, sizeof(row));
	/* relaxed: for display */
	row.state = ttm_load(&directory->state);
	row.device = directory->device;
	row.inode = directory->inode;
	row.uid = directory->uid;
	memcpy(row.path, directory->path, sizeof(row.path));
	ttm_image_set(
		output->image, TTM_TABLE_DIRECTORIES, directory->row, &row);
	return directory->row;
}

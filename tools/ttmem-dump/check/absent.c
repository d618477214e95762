/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/*
 * Whoever asks for a process or a device by name and mistypes it must not be told
 * that it has no leaks.
 */
#include <inttypes.h>

#include "ttmem-dump/cell.h"
#include "check.h"

static bool process_is_there(
	const struct ttmem_snapshot *snapshot, uint64_t pid)
{
	size_t i;

	for (i = 0; i < ttmem_snapshot_processes_len(snapshot); i++)
		if (ttmem_snapshot_process(snapshot, i)->pid == pid)
			return true;
	return false;
}

static void process_need(struct check_verdict *verdict, uint64_t pid)
{
	if (!process_is_there(verdict->snapshot, pid))
		check_add(&verdict->missing,
			"process %" PRIu64 " never reported", pid);
}

static bool selector_fits_any(const struct ttmem_snapshot *snapshot,
	const struct ttm_device_selector *selector)
{
	size_t i;

	for (i = 0; i < ttmem_snapshot_devices_len(snapshot); i++)
		if (ttm_device_fits(selector, snapshot, i))
			return true;
	return false;
}

static void device_need(struct check_verdict *verdict,
	const struct ttm_device_selector *selector)
{
	char cell[DUMP_CELL_SIZE];

	if (selector_fits_any(verdict->snapshot, selector))
		return;
	if (selector->by == TTM_DEVICE_BY_CHIP)
		check_add(&verdict->missing, "there is no device asic:%" PRIx64,
			selector->first);
	else if (selector->by == TTM_DEVICE_BY_CHIP_END)
		check_add(&verdict->missing, "there is no device ..%0*" PRIx64,
			(64 - __builtin_clzll(selector->last)) / 4,
			selector->first);
	else if (selector->by == TTM_DEVICE_BY_LOGICAL)
		check_add(&verdict->missing,
			"there is no device logical:%" PRIu64, selector->first);
	else if (selector->by == TTM_DEVICE_BY_PCI)
		check_add(&verdict->missing, "there is no device pci:%s",
			ttm_pci_text(selector->first, cell));
	else if (selector->first == selector->last)
		check_add(&verdict->missing, "there is no device %" PRIu64,
			selector->first);
	else
		check_add(&verdict->missing,
			"there is no device from %" PRIu64 " to %" PRIu64,
			selector->first, selector->last);
}

/* Of a run: at least one, whatever is asked for of them. */
static bool somebody_reported(const struct check_verdict *verdict)
{
	const struct ttmem_snapshot *snapshot = verdict->snapshot;
	size_t i;

	for (i = 0; i < ttmem_snapshot_processes_len(snapshot); i++)
		if (check_is_of_run(&verdict->scope, snapshot, i))
			return true;
	return false;
}

void check_absent(struct check_verdict *verdict)
{
	const struct check_options *options = verdict->options;
	const struct dump_filter *filter = &options->filter;
	size_t i;

	if (verdict->worth.status)
		return; /* nobody knows who has come since */
	if (verdict->scope.is_run && !somebody_reported(verdict))
		check_add(&verdict->missing,
			"COMMAND never reported: it does not use libttmem, or "
			"did nothing on a device");
	if (options->wait_pid)
		process_need(verdict, options->wait_pid);
	for (i = 0; i < filter->pids_len; i++)
		if (filter->pids[i] != options->wait_pid)
			process_need(verdict, filter->pids[i]);
	for (i = 0; i < filter->devices_len; i++)
		device_need(verdict, &filter->devices[i]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* ttmemd, what it misses, devices and limits. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include <ttmem/version.h>

#include "ttmem-dump/cell.h"
#include "ttmem-dump/complete.h"
#include "ttmem-dump/proc.h"
#include "doctor.h"

static void version_tell(
	struct dump_doctor *doctor, const struct ttmem_info_row *info)
{
	char ours[32];

	snprintf(ours, sizeof(ours), "%d.%d.%d", TTMEM_VERSION_MAJOR,
		TTMEM_VERSION_MINOR, TTMEM_VERSION_PATCH);
	if (info->version && strcmp(info->version, ours) != 0)
		dump_tell(doctor, DUMP_NOTE, NULL,
			"ttmemd is %s, this is %s: what is newer is not shown",
			info->version, ours);
}

void dump_doctor_aggregator(struct dump_doctor *doctor)
{
	const struct dump_worth *worth = &doctor->worth;
	const struct ttmem_info_row *info;
	char age[DUMP_CELL_SIZE], pid[DUMP_CELL_SIZE];
	bool good = worth->status == 0 && doctor->snapshot;

	if (!doctor->snapshot) {
		dump_tell(doctor, DUMP_BAD, worth->hint, "ttmemd: %s",
			worth->reason);
		return;
	}
	info = ttmem_snapshot_info(doctor->snapshot);
	dump_tell(doctor, good ? DUMP_GOOD : DUMP_BAD, worth->hint,
		"ttmemd: pid %s, version %s, %s mode, %s, figures %s old%s%s",
		ttm_count_text(info->pid, pid),
		info->version ? info->version : "-",
		info->mode == TTMEM_MODE_SYSTEM ? "system" : "user",
		info->path ? info->path : "-", dump_duration(info->age_ns, age),
		good ? "" : ": ", good ? "" : worth->reason);
	version_tell(doctor, info);
}

static void gap_tell(void *context, const char *text)
{
	dump_tell(context, DUMP_BAD, NULL, "missing: %s", text);
}

void dump_doctor_losses(struct dump_doctor *doctor)
{
	if (doctor->snapshot &&
		dump_gaps(doctor->snapshot, gap_tell, doctor) == 0)
		dump_tell(doctor, DUMP_GOOD, NULL,
			"nothing is missing in what ttmemd knows");
}

/* -- devices --------------------------------------------------------------------------- */

static uint64_t device_nodes(void)
{
	DIR *names = opendir("/dev/tenstorrent");
	const struct dirent *entry;
	uint64_t len = 0;

	if (!names)
		return 0;
	while ((entry = readdir(names)) != NULL)
		len += entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
	closedir(names);
	return len;
}

void dump_doctor_devices(struct dump_doctor *doctor)
{
	uint64_t nodes = device_nodes(), unidentified = 0;
	size_t len, i;

	if (!doctor->snapshot)
		return;
	len = ttmem_snapshot_devices_len(doctor->snapshot);
	for (i = 0; i < len; i++)
		unidentified += ttmem_snapshot_device(doctor->snapshot, i)
					->identity == TTMEM_IDENTITY_LOGICAL;
	dump_tell(doctor, len ? DUMP_GOOD : DUMP_NOTE,
		len ? NULL :
		      "a device is seen once a tracked program opens it or has "
		      "something on it",
		"devices: %zu seen, %llu in /dev/tenstorrent", len,
		(unsigned long long)nodes);
	if (unidentified)
		dump_tell(doctor, DUMP_NOTE,
			"the runtime should call ttmem_device_open() with the "
			"chip's id or PCI address",
			"%llu devices are known by their number only: several "
			"chips may be taken for one",
			(unsigned long long)unidentified);
}

/* -- limits ---------------------------------------------------------------------------- */

void dump_doctor_limits(struct dump_doctor *doctor)
{
	const struct ttmem_health_row *health = doctor->snapshot ?
		ttmem_snapshot_health(doctor->snapshot) :
		NULL;
	char instances[DUMP_CELL_SIZE], watches[DUMP_CELL_SIZE];
	bool scans = health && health->inotify == 0;

	ttm_count_text(
		dump_proc_number("/proc/sys/fs/inotify/max_user_instances"),
		instances);
	ttm_count_text(
		dump_proc_number("/proc/sys/fs/inotify/max_user_watches"),
		watches);
	dump_tell(doctor, scans ? DUMP_NOTE : DUMP_GOOD,
		scans ? "new programs are seen later: raise "
			"fs.inotify.max_user_instances, and restart ttmemd" :
			NULL,
		"inotify: %s instances, %s watches%s", instances, watches,
		scans ? "; ttmemd got none and scans" : "");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What is in an aggregate is in a snapshot, each number in its place. */
#include "read/read.h"

static struct ttmem_snapshot *snapshot;

void setUp(void)
{
	snapshot = sample_snapshot(test_dir_make());
}

void tearDown(void)
{
	ttmem_snapshot_free(&snapshot);
	test_dir_remove();
}

static void number_is(unsigned table, unsigned row, unsigned off, uint64_t seen)
{
	TEST_ASSERT_EQUAL_UINT64(agg_sample_number(table, row, off), seen);
}

static void test_info_and_health(void)
{
	const struct ttmem_info_row *i = ttmem_snapshot_info(snapshot);
	const struct ttmem_health_row *h = ttmem_snapshot_health(snapshot);

	TEST_ASSERT_EQUAL_UINT64(1, i->publication);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_MODE_USER, i->mode);
	TEST_ASSERT_EQUAL_UINT64(getpid(), i->pid);
	TEST_ASSERT_EQUAL_UINT64(geteuid(), i->uid);
	TEST_ASSERT_EQUAL_UINT64(1000, i->started_ns);
	TEST_ASSERT_EQUAL_UINT64(1700000000000000000u, i->realtime_ns);
	TEST_ASSERT_EQUAL_UINT64(9, i->objects_used);
	TEST_ASSERT_EQUAL_UINT64(1, i->objects_listed);
	TEST_ASSERT_EQUAL_UINT64(1, i->objects_consistent);
	TEST_ASSERT_EQUAL_UINT8(1, i->uuid[0]);
	TEST_ASSERT_EQUAL_UINT8(32, i->boot_id[15]);
	TEST_ASSERT_EQUAL_STRING("0.1.0-test", i->version);
	TEST_ASSERT_TRUE(i->age_ns < 60000000000u);
	TEST_ASSERT_NOT_NULL(h);
	number_is(AGG_HEALTH, 0, 0x08, h->rounds);
	number_is(AGG_HEALTH, 0, 0x80, h->memory_errors);
	TEST_ASSERT_EQUAL_UINT64(1, h->inotify);
	number_is(AGG_HEALTH, 0, 0x98, h->started_ns);
}

static void test_directories(void)
{
	const struct ttmem_directory_row *d;

	TEST_ASSERT_EQUAL_UINT64(2, ttmem_snapshot_directories_len(snapshot));
	d = ttmem_snapshot_directory(snapshot, 0);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_DIRECTORY_SERVED, d->state);
	TEST_ASSERT_EQUAL_UINT64(1, d->own);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, d->holder);
	TEST_ASSERT_EQUAL_UINT64(0, d->error);
	number_is(AGG_DIRECTORIES, 0, 0x30, d->attached);
	number_is(AGG_DIRECTORIES, 0, 0x70, d->dropped_bytes);
	d = ttmem_snapshot_directory(snapshot, 1);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_DIRECTORY_HELD, d->state);
	TEST_ASSERT_EQUAL_UINT64(0, d->own);
	TEST_ASSERT_EQUAL_UINT64(4321, d->holder);
	TEST_ASSERT_EQUAL_UINT64(11, d->error);
	TEST_ASSERT_EQUAL_STRING("/run/ttmem/ttmem-1001", d->path);
	TEST_ASSERT_NULL(ttmem_snapshot_directory(snapshot, 2));
	TEST_ASSERT_NULL(ttmem_snapshot_directory(snapshot, TTMEM_NONE));
}

static void test_devices(void)
{
	const struct ttmem_device_row *d = ttmem_snapshot_device(snapshot, 0);

	TEST_ASSERT_EQUAL_UINT64(2, ttmem_snapshot_devices_len(snapshot));
	TEST_ASSERT_EQUAL_UINT64(TTMEM_IDENTITY_CHIP, d->identity);
	TEST_ASSERT_EQUAL_HEX64(0xdeadbeefcafef00du, d->chip_id);
	TEST_ASSERT_EQUAL_HEX64(
		TTMEM_PCI_ADDRESS(1, 0xc3, 1, 0), d->pci_address);
	TEST_ASSERT_EQUAL_STRING("wormhole_b0", d->arch);
	TEST_ASSERT_EQUAL_STRING("n300\xef\xbf\xbd", d->board);
	TEST_ASSERT_EQUAL_UINT64(12ull << 30, d->dram_bytes);
	TEST_ASSERT_EQUAL_UINT64(64 * 1499136, d->l1_bytes);
	TEST_ASSERT_EQUAL_INT64(-4096, d->headroom);
	TEST_ASSERT_EQUAL_UINT64(0, d->clash_process);
	TEST_ASSERT_EQUAL_HEX64(0xabcdef, d->clash_program);
	TEST_ASSERT_EQUAL_UINT64(1, d->cb_footprint_exact);
	TEST_ASSERT_EQUAL_HEX64(0xc0ffee, d->gateway);
	number_is(AGG_DEVICES, 0, 0x80, d->dram_banks);
	number_is(AGG_DEVICES, 0, 0x88, d->dram_bank_bytes);
	number_is(AGG_DEVICES, 0, 0x90, d->dram_base);
	number_is(AGG_DEVICES, 0, 0x98, d->l1_banks);
	number_is(AGG_DEVICES, 0, 0xc0, d->dispatches[0]);
	number_is(AGG_DEVICES, 0, 0x100, d->failures[TTMEM_FIGURE_CB]);
	number_is(AGG_DEVICES, 0, 0x118, d->ring_bytes[2]);
	number_is(AGG_DEVICES, 0, 0x120, d->cb_footprint);
	number_is(AGG_DEVICES, 0, 0x148, d->l1_tensix_use);
	number_is(AGG_DEVICES, 0, 0x178, d->free_bytes_per_s);
	number_is(AGG_DEVICES, 0, 0x180, d->figures[0].live_bytes);
	number_is(AGG_DEVICES, 0, 0x440, d->figures[8].free_bytes);
	number_is(AGG_DEVICES, 0, 0x448, d->figures[8].requested_bytes);
	d = ttmem_snapshot_device(snapshot, 1);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_IDENTITY_LOGICAL, d->identity);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, d->chip_id);
	TEST_ASSERT_NULL(d->arch);
	TEST_ASSERT_NULL(d->board);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, d->dram_banks);
	TEST_ASSERT_EQUAL_UINT64(0, d->cb_footprint_exact);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, d->dram_bytes);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, d->l1_bytes);
	TEST_ASSERT_EQUAL_UINT64(7, d->logical);
	TEST_ASSERT_EQUAL_INT64(TTMEM_HEADROOM_UNKNOWN, d->headroom);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_NONE, d->clash_process);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, d->clash_program);
}

static void test_processes(void)
{
	const struct ttmem_process_row *p = ttmem_snapshot_process(snapshot, 0);

	TEST_ASSERT_EQUAL_UINT64(3, ttmem_snapshot_processes_len(snapshot));
	TEST_ASSERT_EQUAL_UINT64(TTMEM_PROCESS_REPORTING, p->state);
	TEST_ASSERT_EQUAL_UINT64(0, p->directory);
	TEST_ASSERT_EQUAL_UINT64(1234, p->pid);
	TEST_ASSERT_EQUAL_UINT64(1000, p->uid);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, p->retired_ns);
	number_is(AGG_PROCESSES, 0, 0x98, p->unlisted);
	number_is(AGG_PROCESSES, 0, 0xa8, p->anomalies[0]);
	number_is(AGG_PROCESSES, 0, 0x128, p->lost_events[0]);
	number_is(AGG_PROCESSES, 0, 0x220, p->lost_bytes[15]);
	TEST_ASSERT_EQUAL_STRING("python3", p->comm);
	TEST_ASSERT_EQUAL_STRING("/user.slice/x.scope", p->cgroup);
	TEST_ASSERT_EQUAL_UINT64(4, p->cmdline_len);
	TEST_ASSERT_EQUAL_STRING("python3", p->cmdline[0]);
	TEST_ASSERT_EQUAL_STRING("-c", p->cmdline[1]);
	TEST_ASSERT_EQUAL_STRING("", p->cmdline[2]);
	TEST_ASSERT_EQUAL_STRING("print(\"\\n\")", p->cmdline[3]);
	p = ttmem_snapshot_process(snapshot, 1);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_PROCESS_DIED, p->state);
	TEST_ASSERT_EQUAL_STRING("\x1b[31mred\xef\xbf\xbd\xc2\x9b\"\\"
				 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
		p->comm);
	p = ttmem_snapshot_process(snapshot, 2);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_PROCESS_SILENT, p->state);
}

static void test_shares(void)
{
	const struct ttmem_share_row *s = ttmem_snapshot_share(snapshot, 1);

	TEST_ASSERT_EQUAL_UINT64(3, ttmem_snapshot_shares_len(snapshot));
	TEST_ASSERT_EQUAL_UINT64(1, s->process);
	TEST_ASSERT_EQUAL_UINT64(1, s->device);
	TEST_ASSERT_EQUAL_UINT64(1, s->entry);
	TEST_ASSERT_EQUAL_UINT64(11, s->logical);
	TEST_ASSERT_EQUAL_UINT64(0, s->open);
	TEST_ASSERT_EQUAL_INT64(4096, s->headroom);
	number_is(AGG_SHARES, 1, 0x40, s->dispatches[0]);
	number_is(AGG_SHARES, 1, 0x80, s->failures[TTMEM_FIGURE_CB]);
	number_is(AGG_SHARES, 1, 0xa0, s->cb_footprint);
	TEST_ASSERT_EQUAL_UINT64(1, s->cb_footprint_exact);
	TEST_ASSERT_EQUAL_UINT64(0x10003, s->epoch);
	number_is(AGG_SHARES, 1, 0xb8, s->clash_program);
	number_is(AGG_SHARES, 1, 0x380, s->figures[8].free_bytes);
	number_is(AGG_SHARES, 1, 0x388, s->figures[8].requested_bytes);
	s = ttmem_snapshot_share(snapshot, 2);
	TEST_ASSERT_EQUAL_INT64(TTMEM_HEADROOM_UNKNOWN, s->headroom);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, s->clash_program);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, s->closed_ns);
}

static void test_texts_failures_and_files(void)
{
	const struct ttmem_mark_row *m = ttmem_snapshot_mark(snapshot, 0);
	const struct ttmem_failure_row *f = ttmem_snapshot_failure(snapshot, 0);
	const struct ttmem_quarantined_row *q = ttmem_snapshot_quarantined(
		snapshot, 0);
	const struct ttmem_untracked_row *u = ttmem_snapshot_untracked(
		snapshot, 0);

	TEST_ASSERT_EQUAL_UINT64(1, ttmem_snapshot_marks_len(snapshot));
	TEST_ASSERT_EQUAL_STRING("warm ", m->text);
	number_is(AGG_MARKS, 0, 0x18, m->time_ns);
	TEST_ASSERT_EQUAL_UINT64(0, f->process);
	TEST_ASSERT_EQUAL_STRING(
		"7,15000016", ttmem_snapshot_place(snapshot, f->place)->label);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_FIGURE_L1, f->figure);
	number_is(AGG_FAILURES, 0, 0x10, f->number);
	number_is(AGG_FAILURES, 0, 0x28, f->bytes);
	number_is(AGG_FAILURES, 0, 0x30, f->bytes_per_bank);
	number_is(AGG_FAILURES, 0, 0x38, f->free_per_bank);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, f->largest_free_per_bank);
	number_is(AGG_FAILURES, 0, 0x48, f->program);
	number_is(AGG_FAILURES, 0, 0x50, f->time_ns);
	number_is(AGG_FAILURES, 0, 0x60, f->tid);
	TEST_ASSERT_EQUAL_STRING("op ttnn.matmul", f->scope);
	TEST_ASSERT_EQUAL_STRING("iteration 2 > op ttnn.matmul", f->scope_path);
	TEST_ASSERT_EQUAL_UINT64(1, q->directory);
	TEST_ASSERT_EQUAL_UINT64(99, q->pid);
	TEST_ASSERT_EQUAL_STRING("p.99.1.abc", q->name);
	TEST_ASSERT_EQUAL_STRING("tail goes backwards", q->reason);
	TEST_ASSERT_EQUAL_UINT64(55, u->pid);
	TEST_ASSERT_EQUAL_UINT64(28, u->error);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, u->alive);
}

static void test_histories_start_with_the_oldest(void)
{
	const struct ttmem_history_row *h;
	unsigned i;

	TEST_ASSERT_EQUAL_UINT64(3, ttmem_snapshot_histories_len(snapshot));
	h = ttmem_snapshot_history(snapshot, 0);
	TEST_ASSERT_EQUAL_UINT64(1000000000, h->interval_ns);
	TEST_ASSERT_EQUAL_UINT64(3, h->points_len);
	number_is(AGG_HISTORY_1S, 0, 0x40, h->points[0].time_ns);
	number_is(AGG_HISTORY_1S, 0, 0x40 + 2 * 0x80 + 0x78,
		h->points[2].live_bytes[8]);
	h = ttmem_snapshot_history(snapshot, 1);
	TEST_ASSERT_EQUAL_UINT64(AGG_HISTORY_POINTS, h->points_len);
	for (i = 0; i < AGG_HISTORY_POINTS; i++)
		number_is(AGG_HISTORY_10S, 0,
			0x40 + (i + 2) % AGG_HISTORY_POINTS * 0x80,
			h->points[i].time_ns);
	h = ttmem_snapshot_history(snapshot, 2);
	TEST_ASSERT_EQUAL_UINT64(0, h->points_len);
}

static void test_distributions(void)
{
	const struct ttmem_distribution_row *d;

	TEST_ASSERT_EQUAL_UINT64(2, ttmem_snapshot_distributions_len(snapshot));
	d = ttmem_snapshot_distribution(snapshot, 0);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_DISTRIBUTION_BYTES, d->kind);
	TEST_ASSERT_EQUAL_UINT64(12, d->total);
	number_is(AGG_DISTRIBUTIONS, 0, 0x28, d->min);
	number_is(AGG_DISTRIBUTIONS, 0, 0x58, d->p999);
	d = ttmem_snapshot_distribution(snapshot, 1);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_DISTRIBUTION_LIFETIME_NS, d->kind);
	TEST_ASSERT_EQUAL_UINT64(0, d->total);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, d->p50);
}

static void object_is(unsigned i, uint64_t figure, uint64_t leak_class,
	uint64_t orphaned, uint64_t bytes)
{
	const struct ttmem_object_row *o = ttmem_snapshot_object(snapshot, i);

	TEST_ASSERT_EQUAL_UINT64(figure, o->figure);
	TEST_ASSERT_EQUAL_UINT64(leak_class, o->leak_class);
	TEST_ASSERT_EQUAL_UINT64(orphaned, o->orphaned);
	TEST_ASSERT_EQUAL_UINT64(bytes, o->bytes);
	TEST_ASSERT_EQUAL_UINT64(
		ttmem_snapshot_info(snapshot)->taken_ns - o->allocated_ns,
		o->age_ns);
	TEST_ASSERT_EQUAL_UINT64(9, o->stack);
}

static const char *label_of(uint64_t place)
{
	const struct ttmem_place_row *p = ttmem_snapshot_place(snapshot, place);

	return p ? p->label : "none";
}

static void test_objects(void)
{
	const struct ttmem_object_row *o;

	TEST_ASSERT_EQUAL_UINT64(9, ttmem_snapshot_objects_len(snapshot));
	object_is(0, TTMEM_FIGURE_DRAM, TTMEM_CLASS_LIVE, 0, 4096);
	object_is(1, TTMEM_FIGURE_L1, TTMEM_CLASS_LIVE, 0, 2560);
	object_is(2, TTMEM_FIGURE_CB, TTMEM_CLASS_LIVE, 0, 65536);
	object_is(3, TTMEM_FIGURE_CB, TTMEM_CLASS_LIVE, 0, 0);
	object_is(4, TTMEM_FIGURE_KERNEL_FABRIC, TTMEM_CLASS_PERSISTENT, 0,
		57344 * 16);
	object_is(5, TTMEM_FIGURE_DRAM, TTMEM_CLASS_ORPHANED, 1, 8192);
	object_is(6, TTMEM_FIGURE_TRACE, TTMEM_CLASS_ORPHANED, 1, 16384);
	object_is(7, TTMEM_FIGURE_DRAM, TTMEM_CLASS_ORPHANED, 0, 1024);
	object_is(8, TTMEM_FIGURE_CB, TTMEM_CLASS_LIVE, 0, 1024);
	o = ttmem_snapshot_object(snapshot, 0);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, o->banks);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, o->bytes_per_bank);
	TEST_ASSERT_EQUAL_STRING("iteration 2 > op ttnn.matmul", o->scope_path);
	o = ttmem_snapshot_object(snapshot, 1);
	TEST_ASSERT_EQUAL_UINT64(0, o->process);
	TEST_ASSERT_EQUAL_STRING("7", label_of(o->place));
	TEST_ASSERT_EQUAL_HEX64(UINT64_MAX, o->id);
	TEST_ASSERT_EQUAL_HEX64(0x2000, o->address);
	TEST_ASSERT_EQUAL_UINT64(2048, o->size);
	TEST_ASSERT_EQUAL_UINT64(2048, o->requested);
	TEST_ASSERT_EQUAL_UINT64(20, o->banks);
	TEST_ASSERT_EQUAL_UINT64(128, o->bytes_per_bank);
	TEST_ASSERT_EQUAL_UINT64(4, o->cores);
	TEST_ASSERT_EQUAL_UINT64(1, o->per_core);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, o->program);
	TEST_ASSERT_EQUAL_STRING(
		"\xc3\xa9t\xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\n\x01",
		o->scope);
	TEST_ASSERT_EQUAL_STRING(o->scope, o->scope_path);
	o = ttmem_snapshot_object(snapshot, 3);
	TEST_ASSERT_EQUAL_UINT64(1, o->borrowed);
	TEST_ASSERT_EQUAL_UINT64(1, o->dataflow);
	TEST_ASSERT_EQUAL_UINT64(0, o->scratchpad);
	TEST_ASSERT_EQUAL_UINT64(77, o->program);
	TEST_ASSERT_EQUAL_UINT64(64, o->cores);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, o->banks);
	TEST_ASSERT_NULL(o->scope);
	TEST_ASSERT_NULL(o->scope_path);
	o = ttmem_snapshot_object(snapshot, 4);
	TEST_ASSERT_EQUAL_UINT64(1, o->in_ring);
	TEST_ASSERT_EQUAL_UINT64(1, o->persistent);
	TEST_ASSERT_EQUAL_UINT64(57344, o->size);
	TEST_ASSERT_EQUAL_UINT64(57344 * 16, o->requested);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, o->address);
}

static void place_is(uint64_t index, const char *label, size_t len,
	const uint64_t *usages, const uint64_t *devices)
{
	const struct ttmem_place_row *p = ttmem_snapshot_place(snapshot, index);

	TEST_ASSERT_NOT_NULL(p);
	TEST_ASSERT_EQUAL_UINT64(0, p->process);
	TEST_ASSERT_EQUAL_STRING(label, p->label);
	TEST_ASSERT_EQUAL_UINT64(len, p->devices_len);
	TEST_ASSERT_EQUAL_UINT64(len, p->usages_len);
	TEST_ASSERT_EQUAL_UINT64_ARRAY(usages, p->usages, len);
	TEST_ASSERT_EQUAL_UINT64_ARRAY(devices, p->devices, len);
}

static void test_an_object_on_several_devices_is_one(void)
{
	static const uint64_t usages[] = { 0, 2 }, devices[] = { 0, 1 };
	const struct ttmem_object_row *o = ttmem_snapshot_object(snapshot, 8);

	TEST_ASSERT_EQUAL_UINT64(2, o->devices);
	TEST_ASSERT_EQUAL_UINT64(0, o->orphaned_devices);
	TEST_ASSERT_EQUAL_UINT64(2048, o->total_bytes);
	TEST_ASSERT_EQUAL_UINT64(1, o->scratchpad);
	TEST_ASSERT_EQUAL_UINT64(o->place, o->live_place);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_NONE, o->orphaned_place);
	place_is(o->place, "7,15000016", 2, usages, devices);
	/* The failure names the same devices. */
	TEST_ASSERT_EQUAL_UINT64(
		o->place, ttmem_snapshot_failure(snapshot, 0)->place);
	/* 0 and 7 of process 0, both together; 7 of process 1. */
	TEST_ASSERT_EQUAL_UINT64(4, ttmem_snapshot_places_len(snapshot));
}

static void test_an_object_may_be_orphaned_in_part(void)
{
	static const uint64_t second[] = { 2, 1 };
	const struct ttmem_object_row *o = ttmem_snapshot_object(snapshot, 7);

	TEST_ASSERT_EQUAL_UINT64(2, o->devices);
	TEST_ASSERT_EQUAL_UINT64(1, o->orphaned_devices);
	TEST_ASSERT_EQUAL_UINT64(2048, o->total_bytes);
	TEST_ASSERT_EQUAL_UINT64(1000, o->requested);
	TEST_ASSERT_EQUAL_UINT64(1, o->trace_storage);
	TEST_ASSERT_EQUAL_STRING("7,15000016", label_of(o->place));
	TEST_ASSERT_EQUAL_STRING("15000016", label_of(o->live_place));
	place_is(o->orphaned_place, "7", 1, &second[0], &second[1]);
	TEST_ASSERT_EQUAL_STRING("iteration 2", o->scope);
	TEST_ASSERT_EQUAL_STRING("op ttnn.matmul > iteration 2", o->scope_path);
	o = ttmem_snapshot_object(snapshot, 6);
	TEST_ASSERT_EQUAL_UINT64(1, o->orphaned_devices);
	TEST_ASSERT_EQUAL_UINT64(o->place, o->orphaned_place);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_NONE, o->live_place);
}

static void test_without_flags_nothing_extra_is_there(void)
{
	struct ttmem_snapshot *plain = NULL;
	struct ttmem_reader *reader = NULL;

	TEST_ASSERT_EQUAL_INT(0, ttmem_reader_open(NULL, &reader));
	TEST_ASSERT_EQUAL_INT(0, ttmem_reader_snapshot(reader, 0, &plain));
	TEST_ASSERT_EQUAL_UINT64(0, ttmem_snapshot_objects_len(plain));
	TEST_ASSERT_EQUAL_UINT64(0, ttmem_snapshot_histories_len(plain));
	TEST_ASSERT_EQUAL_UINT64(0, ttmem_snapshot_distributions_len(plain));
	TEST_ASSERT_EQUAL_UINT64(9, ttmem_snapshot_info(plain)->objects_used);
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_UNKNOWN, ttmem_snapshot_info(plain)->objects_consistent);
	ttmem_snapshot_free(&plain);
	ttmem_reader_close(&reader);
}

static void test_capacities_say_where_they_come_from(void)
{
	TEST_ASSERT_EQUAL_UINT64(TTMEM_CAPACITY_BOARD,
		ttmem_snapshot_device(snapshot, 0)->capacity_source);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN,
		ttmem_snapshot_device(snapshot, 1)->capacity_source);
}

static void test_telemetry(void)
{
	const struct ttmem_telemetry_row *t = ttmem_snapshot_telemetry(
		snapshot, 0);

	TEST_ASSERT_EQUAL_UINT64(1, ttmem_snapshot_telemetry_len(snapshot));
	TEST_ASSERT_EQUAL_UINT64(0, t->device);
	number_is(AGG_TELEMETRY, 0, 0x10, t->number);
	TEST_ASSERT_EQUAL_HEX64(0xdeadbeefcafef00du, t->chip_id);
	TEST_ASSERT_EQUAL_HEX64(
		TTMEM_PCI_ADDRESS(1, 0xc3, 1, 0), t->pci_address);
	number_is(AGG_TELEMETRY, 0, 0x28, t->aiclk_mhz);
	number_is(AGG_TELEMETRY, 0, 0x30, t->axiclk_mhz);
	number_is(AGG_TELEMETRY, 0, 0x38, t->arcclk_mhz);
	number_is(AGG_TELEMETRY, 0, 0x40, t->heartbeat);
	number_is(AGG_TELEMETRY, 0, 0x48, t->therm_trips);
	TEST_ASSERT_EQUAL_INT64(-1, t->temperature_mc);
	TEST_ASSERT_EQUAL_INT64(
		TTMEM_TEMPERATURE_UNKNOWN, t->temperature_max_mc);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, t->power_uw);
	number_is(AGG_TELEMETRY, 0, 0x68, t->power_max_uw);
	number_is(AGG_TELEMETRY, 0, 0x70, t->current_ma);
	number_is(AGG_TELEMETRY, 0, 0x78, t->voltage_mv);
	number_is(AGG_TELEMETRY, 0, 0x80, t->fan_rpm);
	number_is(AGG_TELEMETRY, 0, 0x88, t->holders);
	number_is(AGG_TELEMETRY, 0, 0x90, t->holders_hidden);
	number_is(AGG_TELEMETRY, 0, 0x98, t->holders_unlisted);
	number_is(AGG_TELEMETRY, 0, 0xa0, t->heartbeat_ns);
	number_is(AGG_TELEMETRY, 0, 0xa8, t->rounds);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, t->busy_ns);
	TEST_ASSERT_EQUAL_STRING("wormhole_b0", t->arch);
	TEST_ASSERT_EQUAL_STRING("n300", t->card_type);
	TEST_ASSERT_EQUAL_STRING("0100014511701063", t->serial);
	TEST_ASSERT_NULL(t->firmware);
	TEST_ASSERT_EQUAL_STRING("wormhole\xef\xbf\xbd", t->sensor);
}

static void test_readings_have_ages_and_errors(void)
{
	const struct ttmem_telemetry_row *t = ttmem_snapshot_telemetry(
		snapshot, 0);
	uint64_t now = ttmem_snapshot_info(snapshot)->monotonic_ns;

	TEST_ASSERT_EQUAL_UINT64(0, t->ages_ns[TTMEM_READING_CHIP_ID]);
	TEST_ASSERT_EQUAL_UINT64(
		19000000000u, t->ages_ns[TTMEM_READING_HOLDERS]);
	TEST_ASSERT_EQUAL_UINT64(
		now - 19000000000u, t->times_ns[TTMEM_READING_HOLDERS]);
	TEST_ASSERT_EQUAL_UINT64(0, t->errors[TTMEM_READING_HOLDERS]);
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_UNKNOWN, t->ages_ns[TTMEM_READING_POWER]);
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_UNKNOWN, t->times_ns[TTMEM_READING_POWER]);
	TEST_ASSERT_EQUAL_UINT64(61, t->errors[TTMEM_READING_POWER]);
}

static void test_holders(void)
{
	const struct ttmem_holder_row *h = ttmem_snapshot_holder(snapshot, 0);

	TEST_ASSERT_EQUAL_UINT64(2, ttmem_snapshot_holders_len(snapshot));
	TEST_ASSERT_EQUAL_UINT64(0, h->telemetry);
	TEST_ASSERT_EQUAL_UINT64(0, h->device);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_NONE, h->process);
	TEST_ASSERT_EQUAL_UINT64(0, h->reporting);
	TEST_ASSERT_EQUAL_UINT64(4711, h->pid);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, h->uid);
	number_is(AGG_HOLDERS, 0, 0x28, h->start_time);
	number_is(AGG_HOLDERS, 0, 0x30, h->seen_ns);
	TEST_ASSERT_EQUAL_STRING("python3", h->comm);
	TEST_ASSERT_EQUAL_UINT64(2, h->cmdline_len);
	TEST_ASSERT_EQUAL_STRING("serve.py", h->cmdline[1]);
	h = ttmem_snapshot_holder(snapshot, 1);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_NONE, h->device);
	TEST_ASSERT_EQUAL_UINT64(0, h->process);
	TEST_ASSERT_EQUAL_UINT64(1, h->reporting);
	TEST_ASSERT_EQUAL_UINT64(1000, h->uid);
	TEST_ASSERT_NULL(h->comm);
	TEST_ASSERT_EQUAL_UINT64(0, h->cmdline_len);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_info_and_health);
	RUN_TEST(test_directories);
	RUN_TEST(test_devices);
	RUN_TEST(test_processes);
	RUN_TEST(test_shares);
	RUN_TEST(test_texts_failures_and_files);
	RUN_TEST(test_histories_start_with_the_oldest);
	RUN_TEST(test_distributions);
	RUN_TEST(test_objects);
	RUN_TEST(test_an_object_on_several_devices_is_one);
	RUN_TEST(test_an_object_may_be_orphaned_in_part);
	RUN_TEST(test_without_flags_nothing_extra_is_there);
	RUN_TEST(test_capacities_say_where_they_come_from);
	RUN_TEST(test_telemetry);
	RUN_TEST(test_readings_have_ages_and_errors);
	RUN_TEST(test_holders);
	return UNITY_END();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Every attribute of a device: there, missing, refused, nonsense, too long. */
#include <errno.h>
#include <inttypes.h>
#include <sys/wait.h>

#include "daemon/sensors/probe.h"
#include "daemon/telemetry_tree.h"

static struct ttm_probe probe;

void setUp(void)
{
	tree_roots(test_dir_make());
	tree_device(1);
	TEST_ASSERT_EQUAL_INT(
		0, ttm_probe_init(&probe, tree_sysfs, tree_proc, 1));
}

void tearDown(void)
{
	ttm_probe_drop(&probe);
	test_dir_remove();
}

static const struct ttm_telemetry_row *row_read(void)
{
	probe.until_all = 0;
	ttm_probe_read(&probe, NULL, NULL);
	return &probe.row;
}

/* What each reading depends on; how its value looks when it is unknown. */
static const struct {
	enum ttm_reading reading;
	const char *name;
	size_t off;
	size_t size;
	enum {
		NUMBER,
		SIGNED,
		TEXT
	} kind;
} values[] = {
#define VALUE(reading, name, member, kind)                                     \
	{                                                                      \
		reading, name, offsetof(struct ttm_telemetry_row, member),     \
			sizeof(probe.row.member), kind                         \
	}
	VALUE(TTM_READING_CHIP_ID, "tt_asic_id", chip_id, NUMBER),
	VALUE(TTM_READING_CARD_TYPE, "tt_card_type", card_type, TEXT),
	VALUE(TTM_READING_SERIAL, "tt_serial", serial, TEXT),
	VALUE(TTM_READING_FIRMWARE, "tt_fw_bundle_ver", firmware, TEXT),
	VALUE(TTM_READING_AICLK, "tt_aiclk", aiclk_mhz, NUMBER),
	VALUE(TTM_READING_AXICLK, "tt_axiclk", axiclk_mhz, NUMBER),
	VALUE(TTM_READING_ARCCLK, "tt_arcclk", arcclk_mhz, NUMBER),
	VALUE(TTM_READING_HEARTBEAT, "tt_heartbeat", heartbeat, NUMBER),
	VALUE(TTM_READING_THERM_TRIPS, "tt_therm_trip_count", therm_trips,
		NUMBER),
	VALUE(TTM_READING_SENSOR, HWMON "name", sensor, TEXT),
	VALUE(TTM_READING_TEMPERATURE, HWMON "temp1_input", temperature_mc,
		SIGNED),
	VALUE(TTM_READING_TEMPERATURE_MAX, HWMON "temp1_max",
		temperature_max_mc, SIGNED),
	VALUE(TTM_READING_POWER, HWMON "power1_input", power_uw, NUMBER),
	VALUE(TTM_READING_POWER_MAX, HWMON "power1_max", power_max_uw, NUMBER),
	VALUE(TTM_READING_CURRENT, HWMON "curr1_input", current_ma, NUMBER),
	VALUE(TTM_READING_VOLTAGE, HWMON "in0_input", voltage_mv, NUMBER),
	VALUE(TTM_READING_FAN, HWMON "fan1_input", fan_rpm, NUMBER),
	VALUE(TTM_READING_ARCH, "device/vendor", arch, TEXT),
	VALUE(TTM_READING_ARCH, "device/device", arch, TEXT),
	VALUE(TTM_READING_HOLDERS, "pids", holders, NUMBER),
#undef VALUE
};

#define VALUES (sizeof(values) / sizeof(values[0]))

static bool is_unknown(const struct ttm_telemetry_row *row, size_t v)
{
	const char *at = (const char *)row + values[v].off;
	int64_t number;

	if (values[v].kind == TEXT)
		return at[0] == '\0';
	memcpy(&number, at, sizeof(number));
	return number == (values[v].kind == SIGNED ? INT64_MIN : -1);
}

/* Only this one is unknown, for that reason; its time stays that of success. */
static void only_one_fails(size_t v, int error)
{
	uint64_t time_ns = probe.row.times_ns[values[v].reading];
	const struct ttm_telemetry_row *row = row_read();
	char text[160];
	size_t i;

	snprintf(text, sizeof(text), "%s with %d (%" PRIu64 ")", values[v].name,
		error, row->errors[values[v].reading]);
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(
		(uint64_t)error, row->errors[values[v].reading], text);
	TEST_ASSERT_TRUE_MESSAGE(is_unknown(row, v), text);
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(
		time_ns, row->times_ns[values[v].reading], text);
	for (i = 0; i < VALUES; i++) {
		if (values[i].reading == values[v].reading)
			continue;
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(
			0, row->errors[values[i].reading], text);
		TEST_ASSERT_FALSE_MESSAGE(is_unknown(row, i), text);
	}
}

static void all_is_well(void)
{
	const struct ttm_telemetry_row *row = row_read();
	size_t i;

	for (i = 0; i < VALUES; i++) {
		TEST_ASSERT_FALSE_MESSAGE(is_unknown(row, i), values[i].name);
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(
			0, row->errors[values[i].reading], values[i].name);
		TEST_ASSERT_NOT_EQUAL(0, row->times_ns[values[i].reading]);
	}
}

static void content_restore(size_t v)
{
	size_t i;

	for (i = 0; i < TREE_FILES; i++)
		if (strcmp(tree_files[i].name, values[v].name) == 0)
			tree_put(1, tree_files[i].name, tree_files[i].content);
}

static void test_every_attribute(void)
{
	const struct ttm_telemetry_row *row = row_read();

	all_is_well();
	TEST_ASSERT_EQUAL_UINT64(1, row->number);
	TEST_ASSERT_EQUAL_HEX64(0x00c0ffee0000beefu, row->chip_id);
	TEST_ASSERT_EQUAL_HEX64(
		TTMEM_PCI_ADDRESS(0, 1, 0, 0), row->pci_address);
	TEST_ASSERT_EQUAL_STRING("blackhole", row->arch);
	TEST_ASSERT_EQUAL_STRING("p150a", row->card_type);
	TEST_ASSERT_EQUAL_STRING("0000046131924055", row->serial);
	TEST_ASSERT_EQUAL_STRING("18.10.0.0", row->firmware);
	TEST_ASSERT_EQUAL_STRING("blackhole", row->sensor);
	TEST_ASSERT_EQUAL_UINT64(1350, row->aiclk_mhz);
	TEST_ASSERT_EQUAL_UINT64(960, row->axiclk_mhz);
	TEST_ASSERT_EQUAL_UINT64(800, row->arcclk_mhz);
	TEST_ASSERT_EQUAL_UINT64(4711, row->heartbeat);
	TEST_ASSERT_EQUAL_UINT64(0, row->therm_trips);
	TEST_ASSERT_EQUAL_INT64(45250, row->temperature_mc);
	TEST_ASSERT_EQUAL_INT64(83000, row->temperature_max_mc);
	TEST_ASSERT_EQUAL_UINT64(61000000, row->power_uw);
	TEST_ASSERT_EQUAL_UINT64(150000000, row->power_max_uw);
	TEST_ASSERT_EQUAL_UINT64(79000, row->current_ma);
	TEST_ASSERT_EQUAL_UINT64(772, row->voltage_mv);
	TEST_ASSERT_EQUAL_UINT64(1450, row->fan_rpm);
	TEST_ASSERT_EQUAL_UINT64(0, row->holders);
	TEST_ASSERT_EQUAL_UINT64(0, row->holders_hidden);
}

static void test_a_wormhole_without_a_fan(void)
{
	tree_put(1, "device/device", "0x401e\n");
	unlink(tree_path(1, HWMON "fan1_input"));
	TEST_ASSERT_EQUAL_STRING("wormhole_b0", row_read()->arch);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, probe.row.fan_rpm);
	TEST_ASSERT_EQUAL_UINT64(ENOENT, probe.row.errors[TTM_READING_FAN]);
}

static void test_nothing_at_all(void)
{
	size_t i;

	ttm_probe_drop(&probe);
	ttm_probe_init(&probe, tree_sysfs, tree_proc, 7);
	row_read();
	for (i = 0; i < VALUES; i++) {
		TEST_ASSERT_TRUE_MESSAGE(
			is_unknown(&probe.row, i), values[i].name);
		TEST_ASSERT_EQUAL_UINT64(
			ENOENT, probe.row.errors[values[i].reading]);
	}
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, probe.row.pci_address);
}

static void test_each_may_be_missing(void)
{
	size_t v;

	all_is_well();
	for (v = 0; v < VALUES; v++) {
		unlink(tree_path(1, values[v].name));
		only_one_fails(v, ENOENT);
		content_restore(v);
		all_is_well();
	}
}

/* Not ready, gone, and what else a driver may say. */
static void test_each_may_refuse_to_be_read(void)
{
	static const int errors[] = { ENODATA, ENODEV, EIO, EAGAIN, ETIMEDOUT };
	char content[32];
	size_t v, e;

	all_is_well();
	for (v = 0; v < VALUES; v++) {
		for (e = 0; e < sizeof(errors) / sizeof(errors[0]); e++) {
			snprintf(content, sizeof(content), "!errno %d",
				errors[e]);
			tree_put(1, values[v].name, content);
			only_one_fails(v, errors[e]);
		}
		content_restore(v);
		all_is_well();
	}
}

static void test_each_may_be_something_else_than_a_file(void)
{
	size_t v;

	all_is_well();
	for (v = 0; v < VALUES; v++) {
		unlink(tree_path(1, values[v].name));
		mkdir(tree_path(1, values[v].name), 0755);
		only_one_fails(v, EISDIR);
		rmdir(tree_path(1, values[v].name));
		content_restore(v);
	}
	all_is_well();
}

static void test_each_may_be_nonsense(void)
{
	static const char *const nonsense[] = { "\n", "\x1b[31m\n", "a\nb\n",
		"\x7f\n" };
	static const char *const no_number[] = { "garbage\n", "12 13\n",
		"--1\n", "1.5\n", "+1\n", "0x\n", "-\n" };
	size_t v, i;

	all_is_well();
	for (v = 0; v < VALUES; v++) {
		for (i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
			tree_put(1, values[v].name, nonsense[i]);
			only_one_fails(v, EBADMSG);
		}
		for (i = 0; values[v].kind != TEXT && i < 7; i++) {
			tree_put(1, values[v].name, no_number[i]);
			only_one_fails(v, EBADMSG);
		}
		content_restore(v);
	}
	all_is_well();
}

static void test_empty_says_nothing(void)
{
	size_t v;

	all_is_well();
	for (v = 0; v < VALUES; v++) {
		if (values[v].reading == TTM_READING_HOLDERS)
			continue; /* nobody */
		tree_put(1, values[v].name, "");
		only_one_fails(v, EBADMSG);
		content_restore(v);
	}
	all_is_well();
}

static void test_each_may_be_too_long(void)
{
	static char much[1u << 21];
	size_t v;

	memset(much, '1', sizeof(much) - 1);
	all_is_well();
	for (v = 0; v < VALUES; v++) {
		tree_put(1, values[v].name, much);
		only_one_fails(v, EMSGSIZE);
		content_restore(v);
	}
	all_is_well();
}

static void test_numbers_have_an_end(void)
{
	size_t v;

	all_is_well();
	for (v = 0; v < VALUES; v++) {
		if (values[v].kind == TEXT ||
			values[v].reading == TTM_READING_HOLDERS)
			continue;
		/* All ones would be unknown; with one more it is too large. */
		tree_put(1, values[v].name,
			values[v].reading == TTM_READING_CHIP_ID ?
				"ffffffffffffffff\n" :
				"18446744073709551615\n");
		only_one_fails(v, ERANGE);
		tree_put(1, values[v].name, "99999999999999999999999\n");
		only_one_fails(v, ERANGE);
		content_restore(v);
	}
	all_is_well();
}

static void test_below_zero(void)
{
	tree_put(1, HWMON "temp1_input", "-40250\n");
	TEST_ASSERT_EQUAL_INT64(-40250, row_read()->temperature_mc);
	tree_put(1, HWMON "temp1_input", "-1\n");
	TEST_ASSERT_EQUAL_INT64(-1, row_read()->temperature_mc);
	TEST_ASSERT_EQUAL_UINT64(0, probe.row.errors[TTM_READING_TEMPERATURE]);
	tree_put(1, HWMON "power1_input", "-1\n");
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, row_read()->power_uw);
	TEST_ASSERT_EQUAL_UINT64(EBADMSG, probe.row.errors[TTM_READING_POWER]);
}

static void test_texts_fill_their_field(void)
{
	tree_put(1, "tt_serial", "0123456789abcdef0123456789abcdef\n");
	row_read();
	TEST_ASSERT_EQUAL_MEMORY(
		"0123456789abcdef0123456789abcdef", probe.row.serial, 32);
	tree_put(1, "tt_serial", "0123456789abcdef0123456789abcdefX\n");
	row_read();
	TEST_ASSERT_EQUAL_UINT64(
		EMSGSIZE, probe.row.errors[TTM_READING_SERIAL]);
	TEST_ASSERT_EQUAL_UINT8(0, (uint8_t)probe.row.serial[0]);
}

static void test_an_id_of_zero_is_none(void)
{
	tree_put(1, "tt_asic_id", "0000000000000000\n");
	TEST_ASSERT_EQUAL_HEX64(TTMEM_UNKNOWN, row_read()->chip_id);
	TEST_ASSERT_EQUAL_UINT64(
		EBADMSG, probe.row.errors[TTM_READING_CHIP_ID]);
}

static void test_addresses(void)
{
	static const struct {
		const char *target;
		uint64_t address;
		int error;
	} links[] = {
		{ "../../../0001:c3:1f.7", TTMEM_PCI_ADDRESS(1, 0xc3, 0x1f, 7),
			0 },
		{ "10000:01:00.0", TTMEM_PCI_ADDRESS(0x10000, 1, 0, 0), 0 },
		{ "../0001:c3:20.0", TTMEM_UNKNOWN, EBADMSG },
		{ "../0001:c3:00.8", TTMEM_UNKNOWN, EBADMSG },
		{ "../0001:c3:00.0x", TTMEM_UNKNOWN, EBADMSG },
		{ "../platform", TTMEM_UNKNOWN, EBADMSG },
		{ "..", TTMEM_UNKNOWN, EBADMSG },
	};
	size_t i;

	for (i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		unlink(tree_path(1, "device"));
		TEST_ASSERT_EQUAL_INT(
			0, symlink(links[i].target, tree_path(1, "device")));
		row_read();
		TEST_ASSERT_EQUAL_HEX64_MESSAGE(links[i].address,
			probe.row.pci_address, links[i].target);
		TEST_ASSERT_EQUAL_UINT64((uint64_t)links[i].error,
			probe.row.errors[TTM_READING_PCI_ADDRESS]);
	}
	unlink(tree_path(1, "device"));
	mkdir(tree_path(1, "device"), 0755);
	TEST_ASSERT_EQUAL_HEX64(TTMEM_UNKNOWN, row_read()->pci_address);
	TEST_ASSERT_EQUAL_UINT64(
		EINVAL, probe.row.errors[TTM_READING_PCI_ADDRESS]);
}

static void test_somebody_else_s_device_has_no_architecture(void)
{
	tree_put(1, "device/vendor", "0x8086\n");
	TEST_ASSERT_EQUAL_STRING("", row_read()->arch);
	TEST_ASSERT_EQUAL_UINT64(EBADMSG, probe.row.errors[TTM_READING_ARCH]);
}

static void test_a_heartbeat_that_moves(void)
{
	row_read();
	TEST_ASSERT_EQUAL_UINT64(0, probe.row.heartbeat_ns);
	row_read();
	TEST_ASSERT_EQUAL_UINT64(0, probe.row.heartbeat_ns);
	tree_put(1, "tt_heartbeat", "4712\n");
	row_read();
	TEST_ASSERT_EQUAL_UINT64(probe.row.times_ns[TTM_READING_HEARTBEAT],
		probe.row.heartbeat_ns);
}

/* What hardly changes waits for its turn, unless it was not ready. */
static void test_not_everything_every_round(void)
{
	row_read();
	tree_put(1, "tt_fw_bundle_ver", "19.0.0.0\n");
	tree_put(1, "tt_aiclk", "800\n");
	ttm_probe_read(&probe, NULL, NULL);
	TEST_ASSERT_EQUAL_STRING("18.10.0.0", probe.row.firmware);
	TEST_ASSERT_EQUAL_UINT64(800, probe.row.aiclk_mhz);
	TEST_ASSERT_EQUAL_STRING("19.0.0.0", row_read()->firmware);
	tree_put(1, "tt_asic_id", "!errno 61");
	TEST_ASSERT_EQUAL_HEX64(TTMEM_UNKNOWN, row_read()->chip_id);
	tree_put(1, "tt_asic_id", "00C0FFEE0000BEEF\n");
	ttm_probe_read(&probe, NULL, NULL);
	TEST_ASSERT_EQUAL_HEX64(0x00c0ffee0000beefu, probe.row.chip_id);
}

/* -- holders ------------------------------------------------------------------ */

static pid_t child_start(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	TEST_ASSERT_TRUE(pid > 0);
	return pid;
}

static void child_end(pid_t pid)
{
	kill(pid, SIGKILL);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, NULL, 0));
}

static void test_holders_are_counted_once(void)
{
	pid_t child = child_start(), dead = child_start();
	char content[256];
	const struct ttm_holder *holder;
	size_t me;

	child_end(dead);
	snprintf(content, sizeof(content), "%d\n0\n%d\n%d\n%d\n0\n%d\n",
		getpid(), child, getpid(), dead, getpid());
	tree_put(1, "pids", content);
	row_read();
	TEST_ASSERT_EQUAL_UINT64(2, probe.row.holders);
	TEST_ASSERT_EQUAL_UINT64(2, probe.row.holders_hidden);
	TEST_ASSERT_EQUAL_UINT64(0, probe.row.holders_unlisted);
	TEST_ASSERT_EQUAL_UINT64(2, probe.holders.len);
	me = probe.holders.items[0].pid == (uint32_t)getpid() ? 0 : 1;
	holder = &probe.holders.items[me];
	TEST_ASSERT_EQUAL_UINT32((uint32_t)getpid(), holder->pid);
	TEST_ASSERT_EQUAL_UINT32(getuid(), holder->uid);
	TEST_ASSERT_NOT_EQUAL(0, holder->start_time);
	TEST_ASSERT_NOT_EQUAL(0, holder->seen_ns);
	TEST_ASSERT_NOT_EQUAL(0, holder->comm[0]);
	TEST_ASSERT_NOT_NULL(strstr(holder->cmdline, "probe"));
	TEST_ASSERT_EQUAL_UINT32(
		(uint32_t)child, probe.holders.items[1 - me].pid);
	child_end(child);
	row_read();
	TEST_ASSERT_EQUAL_UINT64(1, probe.row.holders);
}

static void test_who_holds_it_still_was_seen_before(void)
{
	char content[32];
	uint64_t seen_ns;

	snprintf(content, sizeof(content), "%d\n", getpid());
	tree_put(1, "pids", content);
	row_read();
	seen_ns = probe.holders.items[0].seen_ns;
	row_read();
	TEST_ASSERT_EQUAL_UINT64(seen_ns, probe.holders.items[0].seen_ns);
	tree_put(1, "pids", "");
	row_read();
	TEST_ASSERT_EQUAL_UINT64(0, probe.row.holders);
	TEST_ASSERT_EQUAL_UINT64(0, probe.holders.len);
}

static void test_a_list_without_its_last_newline(void)
{
	char content[32];

	snprintf(content, sizeof(content), "%d", getpid());
	tree_put(1, "pids", content);
	TEST_ASSERT_EQUAL_UINT64(1, row_read()->holders);
}

static void test_pids_that_cannot_be(void)
{
	static const char *const lists[] = { "99999999999\n", "-1\n",
		"1\n\n2\n", "1 2\n", "\n" };
	size_t i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		tree_put(1, "pids", lists[i]);
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(
			TTMEM_UNKNOWN, row_read()->holders, lists[i]);
		TEST_ASSERT_EQUAL_UINT64(0, probe.holders.len);
		TEST_ASSERT_EQUAL_UINT64(
			EBADMSG, probe.row.errors[TTM_READING_HOLDERS]);
	}
}

/* As many open files as one likes: one process, and bounded work. */
static void test_ten_thousand_open_files(void)
{
	static char content[100000];
	size_t at = 0;

	while (at < sizeof(content) - 16)
		at += (size_t)snprintf(
			content + at, 16, "%d\n", at % 7 ? getpid() : 0);
	tree_put(1, "pids", content);
	TEST_ASSERT_EQUAL_UINT64(1, row_read()->holders);
	TEST_ASSERT_TRUE(probe.row.holders_hidden > 100);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_every_attribute);
	RUN_TEST(test_a_wormhole_without_a_fan);
	RUN_TEST(test_nothing_at_all);
	RUN_TEST(test_each_may_be_missing);
	RUN_TEST(test_each_may_refuse_to_be_read);
	RUN_TEST(test_each_may_be_something_else_than_a_file);
	RUN_TEST(test_each_may_be_nonsense);
	RUN_TEST(test_empty_says_nothing);
	RUN_TEST(test_each_may_be_too_long);
	RUN_TEST(test_numbers_have_an_end);
	RUN_TEST(test_below_zero);
	RUN_TEST(test_texts_fill_their_field);
	RUN_TEST(test_an_id_of_zero_is_none);
	RUN_TEST(test_addresses);
	RUN_TEST(test_somebody_else_s_device_has_no_architecture);
	RUN_TEST(test_a_heartbeat_that_moves);
	RUN_TEST(test_not_everything_every_round);
	RUN_TEST(test_holders_are_counted_once);
	RUN_TEST(test_who_holds_it_still_was_seen_before);
	RUN_TEST(test_a_list_without_its_last_newline);
	RUN_TEST(test_pids_that_cannot_be);
	RUN_TEST(test_ten_thousand_open_files);
	return UNITY_END();
}

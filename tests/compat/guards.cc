/* SPDX-License-Identifier: Apache-2.0 */
/* The guards of ttmem.hpp: scopes and buffers end with their block, once. */
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <stdio.h>
#include <stdlib.h>

#include <unistd.h>

#include <ttmem/ttmem.hpp>

static_assert(!std::is_copy_constructible<ttmem::buffer>::value, "");
static_assert(!std::is_copy_assignable<ttmem::buffer>::value, "");
static_assert(std::is_nothrow_move_constructible<ttmem::buffer>::value, "");
static_assert(std::is_nothrow_move_assignable<ttmem::buffer>::value, "");
static_assert(!std::is_copy_constructible<ttmem::scope>::value, "");

#define CHECK(claim)                                                           \
	((claim) ? (void)0 :                                                   \
		   (fprintf(stderr, "line %d: not so: %s\n", __LINE__,         \
			    #claim),                                           \
			   exit(1)))

static uint64_t live(enum ttmem_figure figure)
{
	struct ttmem_usage usage;

	usage.size = sizeof(usage);
	return ttmem_usage(0, &usage) < 0 ? 0 :
					    usage.figures[figure].live_objects;
}

static uint64_t anomalies()
{
	struct ttmem_status status;
	uint64_t sum = 0;

	status.size = sizeof(status);
	CHECK(ttmem_status(&status) == 0);
	for (uint64_t count : status.anomalies)
		sum += count;
	return sum;
}

/* How many scopes there are. */
static uint32_t depth()
{
	uint32_t before = ttmem_scope_push("depth", 0);

	ttmem_scope_pop_to(before);
	return before;
}

static void thrower(int levels)
{
	ttmem::scope scope("level");
	ttmem::buffer buffer(0, TTMEM_DRAM, 100u + levels, 0x1000, 10);

	ttmem_scope_push("left behind", 0);
	if (levels == 0)
		throw std::runtime_error("the end");
	thrower(levels - 1);
}

static void scopes()
{
	ttmem::scope outer("outer");
	int i;

	CHECK(depth() == 1);
	for (i = 0; i < 40; i++) {
		try {
			thrower(3);
			CHECK(false);
		} catch (const std::runtime_error &) {
		}
		CHECK(depth() == 1);
		CHECK(live(TTMEM_FIGURE_DRAM) == 0);
	}
	{
		ttmem::scope inner(
			std::string("inner"), TTMEM_SCOPE_PERSISTENT);

		CHECK(depth() == 2);
	}
	CHECK(depth() == 1);
}

static void buffers()
{
	std::vector<struct ttmem_core_range> ranges(2);
	struct ttmem_buffer info = ttmem::buffer_info(
		0, TTMEM_L1, 1, 0x2000, 4096);
	ttmem::buffer empty;
	uint64_t id;

	ranges[0] = { 0, 0, 1, 1 };
	ranges[1] = { 1, 1, 2, 2 };
	info.cores = ttmem::core_set(ranges);
	CHECK(info.cores >> 31 || info.cores == 7);
	info.bytes_per_bank = 64;
	info.banks = 64;
	{
		ttmem::buffer one(info);
		ttmem::buffer two(0, TTMEM_L1, 2, 0x3000, 32);

		CHECK(one && two && !empty);
		CHECK(live(TTMEM_FIGURE_L1) == 2);
		empty = std::move(one);
		CHECK(empty && !one && empty.id() == 1);
		empty = std::move(two);
		CHECK(live(TTMEM_FIGURE_L1) == 1);
		empty = std::move(*&empty);
		CHECK(live(TTMEM_FIGURE_L1) == 1);
		ttmem::buffer three(std::move(empty));
		CHECK(live(TTMEM_FIGURE_L1) == 1);
	}
	CHECK(live(TTMEM_FIGURE_L1) == 0);
	{
		ttmem::buffer kept(0, TTMEM_L1, 4, 0x4000, 32);

		id = kept.release();
		CHECK(!kept);
	}
	CHECK(live(TTMEM_FIGURE_L1) == 1);
	ttmem_free(0, TTMEM_L1, id);
	CHECK(live(TTMEM_FIGURE_L1) == 0);
}

/* Begun while tracking is off, it ends no scope of ours. */
static void switched()
{
	ttmem::scope *early = new ttmem::scope("off");

	CHECK(ttmem_start(NULL) == 0);
	ttmem::scope outer("outer");
	delete early;
	CHECK(depth() == 1);
}

int main()
{
	char dir[] = "/dev/shm/ttmem-test.XXXXXX";
	char command[64];

	CHECK(mkdtemp(dir) != NULL);
	setenv("TTMEM_DIR", dir, 1);
	unsetenv("TTMEM_ENABLED");
	unsetenv("TT_ALLOC_TRACKING_ENABLED");
	switched();
	scopes();
	buffers();
	CHECK(anomalies() == 0);
	ttmem_stop();
	{
		ttmem::scope after("stopped");
		ttmem::buffer late(0, TTMEM_L1, 4, 0x4000, 32);
	}
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0);
	return 0;
}

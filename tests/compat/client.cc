/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: client SCENARIO
 *
 * Calls the first client's functions as its callers do. It stops at each sync, for
 * check_compat.py to look at what ttmemd has seen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ttmem/allocation_client.hpp>

#include "orders.h"

using tt::tt_metal::AllocationClient;

/* As the runtime has it. */
enum class BufferType {
	DRAM,
	L1,
	SYSTEM_MEMORY,
	L1_SMALL,
	TRACE
};

static void sync(const char *name)
{
	char line[16];

	printf("sync %s\n", name);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(3);
}

static void both_orders()
{
	uint64_t size = 4096, address = 0x1000;
	uint32_t address_of_32_bits = 0x2000;
	int device = 0;

	AllocationClient::report_allocation(
		device, size, static_cast<uint8_t>(BufferType::L1), address);
	AllocationClient::report_allocation(device, size + 1, address + 0x10,
		static_cast<uint8_t>(BufferType::L1_SMALL));
	AllocationClient::report_allocation(device, size + 2,
		static_cast<uint8_t>(BufferType::TRACE), address_of_32_bits);
	/* The type as a plain number: the other one is wider. */
	AllocationClient::report_allocation(device, 7000, 0, address);
	AllocationClient::report_allocation(device, 8000, address + 1, 0);
	/* Files that chose an order, for calls that say nothing. */
	first_order(1, 100, 1, 77);
	second_order(2, 100, 77, 1);
	sync("allocated");
}

static void any_kind()
{
	uint64_t id;
	uint8_t type;

	for (type = 0; type < 5; type++)
		AllocationClient::report_allocation(
			0, 100, type, uint64_t{ type } + 10);
	sync("allocated");
	for (id = 10; id < 15; id++)
		AllocationClient::report_deallocation(0, id);
	sync("freed");
	AllocationClient::report_deallocation(0, 10);
	AllocationClient::report_allocation(0, 1, uint8_t{ 200 }, id);
	AllocationClient::report_allocation(-1, 1, uint8_t{ 0 }, id);
	sync("wrong");
}

static void cbs_and_kernels()
{
	/* Fabric: 56 KiB on 16 cores; the caller multiplies. */
	AllocationClient::report_kernel_load(0, 917504, 1, 1);
	AllocationClient::report_kernel_load(0, 94208, 2, 2);
	AllocationClient::report_kernel_load(0, 8192000, 3, 0);
	AllocationClient::report_kernel_load(0, 8192000, 3);
	AllocationClient::report_cb_allocation(0, 262144, 0x20000);
	AllocationClient::report_cb_allocation(0, 1024, 0x60000);
	sync("loaded");
	AllocationClient::report_cb_deallocation(0, 262144, 0x20000);
	AllocationClient::report_kernel_unload(0, 8192000, 3);
	AllocationClient::report_kernel_unload(0, 0, 1);
	sync("unloaded");
}

int main(int argc, char **argv)
{
	if (argc != 2 || !AllocationClient::is_enabled())
		return 2;
	if (strcmp(argv[1], "both_orders") == 0)
		both_orders();
	else if (strcmp(argv[1], "any_kind") == 0)
		any_kind();
	else if (strcmp(argv[1], "cbs_and_kernels") == 0)
		cbs_and_kernels();
	else
		return 2;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a runtime in C does with ttmem: a device is opened, an operation allocates,
 * one allocation fails, and one buffer is forgotten.
 *
 *   cc embed.c -o embed $(pkg-config --cflags --libs ttmem)
 *   ttmem-dump run -- ./embed
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <ttmem/ttmem.h>

static void device_open(uint32_t device)
{
	struct ttmem_device_info info;

	ttmem_device_info_init(&info, device);
	/* The same for every process that uses this chip. */
	info.chip_id = 0x1000 + device;
	strcpy(info.arch, "wormhole_b0");
	strcpy(info.board, "n150");
	info.dram_bytes = UINT64_C(12) << 30;
	info.l1_bytes_per_core = 1499136;
	info.cores = 72;
	ttmem_device_open(&info);
}

/* The allocator reserves 1 KiB in each of 64 banks, whichever of them hold data. */
static void sharded_alloc(uint32_t device, uint32_t cores)
{
	struct ttmem_buffer buffer;

	ttmem_buffer_init(&buffer, device, TTMEM_L1);
	buffer.id = 1;
	buffer.address = 0x100000;
	buffer.bytes = 32 << 10;
	buffer.bytes_per_bank = 1 << 10;
	buffer.banks = 64;
	buffer.cores = cores;
	ttmem_buffer_alloc(&buffer);
}

/* After the allocator gave the memory; free before it goes back. */
static void matmul(uint32_t device, uint64_t program)
{
	const struct ttmem_core_range grid = { 0, 0, 7, 7 },
				      half = { 0, 0, 7, 3 };
	uint32_t cores = ttmem_core_set(&grid, 1);
	uint32_t depth = ttmem_scope_push("op matmul", 0);

	sharded_alloc(device, ttmem_core_set(&half, 1));
	ttmem_alloc(device, TTMEM_DRAM, 2, 0x4000, 1 << 20);
	ttmem_cb_alloc(device, program, 0, 0x20000, 4096, cores, 0);
	ttmem_kernel_load(device, program, TTMEM_KERNEL_APPLICATION, 20000,
		cores, TTMEM_KERNEL_IN_RING);
	ttmem_scope_pop_to(depth);
}

/* The figures are those of one bank; what is not known stays unknown. */
static void failed(uint32_t device, uint64_t program)
{
	struct ttmem_failure failure;

	ttmem_failure_init(&failure, device, TTMEM_L1);
	failure.bytes = 64 << 20;
	failure.bytes_per_bank = 1 << 20;
	failure.free_per_bank = 900 << 10;
	failure.largest_free_per_bank = 500 << 10;
	failure.program = program;
	ttmem_alloc_failed(&failure);
}

static void usage_print(uint32_t device)
{
	struct ttmem_usage usage = { .size = sizeof(usage) };

	if (ttmem_usage(device, &usage) < 0) {
		puts("tracking is off: set TTMEM_ENABLED=1");
		return;
	}
	printf("device %" PRIu32 ": DRAM %" PRIu64 ", L1 %" PRIu64
	       ", CBs %" PRIu64 " bytes\n",
		device, usage.figures[TTMEM_FIGURE_DRAM].live_bytes,
		usage.figures[TTMEM_FIGURE_L1].live_bytes,
		usage.figures[TTMEM_FIGURE_CB].live_bytes);
}

int main(void)
{
	device_open(0);
	matmul(0, 7);
	usage_print(0);
	failed(0, 7);
	ttmem_free(0, TTMEM_L1, 1);
	ttmem_program_destroy(0, 7);
	usage_print(0);
	/* Buffer 2 is still there: the device's survivor. */
	ttmem_device_close(0);
	return 0;
}

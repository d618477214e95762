/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ttmem in C++: scopes and buffers that end with their block, on a mesh of four
 * devices.
 *
 *   g++ embed.cc -o embed $(pkg-config --cflags --libs ttmem)
 *   ttmem-dump run -- ./embed
 */
#include <cstdint>
#include <iostream>
#include <stdexcept>

#include <ttmem/ttmem.hpp>

/* One handle for all its devices: a buffer on it is one object. */
static uint32_t mesh_open()
{
	const uint32_t devices[] = { 0, 1, 2, 3 };

	return ttmem_mesh_open(devices, 4);
}

/* As its allocator knows it: 64 banks of L1, each with the same range reserved. */
static ttmem::buffer sharded(uint32_t mesh, uint64_t id, uint64_t bytes)
{
	const struct ttmem_core_range shards = { 0, 0, 7, 3 };
	struct ttmem_buffer info = ttmem::buffer_info(
		mesh, TTMEM_L1, id, 0x100000, bytes);

	info.bytes_per_bank = bytes / 32;
	info.banks = 64;
	info.cores = ttmem_core_set(&shards, 1);
	return ttmem::buffer(info);
}

static uint64_t live_bytes(uint32_t mesh, enum ttmem_figure figure)
{
	struct ttmem_usage usage;

	usage.size = sizeof(usage);
	return ttmem_usage(mesh, &usage) < 0 ? 0 :
					       usage.figures[figure].live_bytes;
}

static void usage_print(const char *when, uint32_t mesh)
{
	std::cout << when << ": L1 " << live_bytes(mesh, TTMEM_FIGURE_L1)
		  << ", DRAM " << live_bytes(mesh, TTMEM_FIGURE_DRAM)
		  << " bytes\n";
}

static void softmax(uint32_t mesh)
{
	ttmem::scope op("op softmax");
	ttmem::buffer input = sharded(mesh, 2, 1 << 20);
	ttmem::buffer output(mesh, TTMEM_DRAM, 3, 0x4000, 1 << 21);

	usage_print("inside", mesh);
	throw std::runtime_error("the third one does not fit");
}

int main()
{
	uint32_t mesh = mesh_open();

	{
		/* Persistent: it may outlive the program, and is no leak. */
		ttmem::scope cached("program cache", TTMEM_SCOPE_PERSISTENT);

		ttmem::buffer(mesh, TTMEM_DRAM, 1, 0x1000, 4096).release();
	}
	try {
		softmax(mesh);
	} catch (const std::runtime_error &) {
		/* Its scope and its buffers have ended. */
	}
	usage_print("after", mesh);
	ttmem_mesh_close(mesh);
	return 0;
}

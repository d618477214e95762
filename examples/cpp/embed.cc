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
#include <string>

#include <ttmem/ttmem.h>

/* Names what its thread allocates until the end of the block. */
class Scope
{
      public:
	explicit Scope(const std::string &name, uint32_t flags = 0)
	{
		ttmem_scope_push(name.c_str(), flags);
	}
	~Scope()
	{
		ttmem_scope_pop();
	}
	Scope(const Scope &) = delete;
	Scope &operator=(const Scope &) = delete;
};

/* One handle for all its devices: an event on it is one on each. */
class Mesh
{
      public:
	Mesh()
	{
		const uint32_t devices[] = { 0, 1, 2, 3 };

		handle = ttmem_mesh_open(devices, 4);
	}
	~Mesh()
	{
		ttmem_mesh_close(handle);
	}
	Mesh(const Mesh &) = delete;
	Mesh &operator=(const Mesh &) = delete;

	uint32_t handle;
};

class Buffer
{
      public:
	Buffer(const Mesh &on, enum ttmem_kind of, uint64_t size)
		: mesh(on), kind(of), id(next++)
	{
		ttmem_alloc(mesh.handle, kind, id, 0x1000 * id, size);
	}
	~Buffer()
	{
		ttmem_free(mesh.handle, kind, id);
	}
	Buffer(const Buffer &) = delete;
	Buffer &operator=(const Buffer &) = delete;

      private:
	static uint64_t next;
	const Mesh &mesh;
	enum ttmem_kind kind;
	uint64_t id;
};

uint64_t Buffer::next = 1;

static std::uint64_t live_bytes(const Mesh &mesh, enum ttmem_figure figure)
{
	struct ttmem_usage usage;

	usage.size = sizeof(usage);
	return ttmem_usage(mesh.handle, &usage) < 0 ?
		0 :
		usage.figures[figure].live_bytes;
}

/* Persistent: it may outlive the program, and is no leak. */
Buffer *program_cache;

int main()
{
	Mesh mesh;

	{
		Scope cached("program cache", TTMEM_SCOPE_PERSISTENT);

		program_cache = new Buffer(mesh, TTMEM_DRAM, 4096);
	}
	{
		Scope op("op softmax");
		Buffer input(mesh, TTMEM_L1, 1 << 20);
		Buffer output(mesh, TTMEM_DRAM, 1 << 21);

		std::cout << "inside: L1 " << live_bytes(mesh, TTMEM_FIGURE_L1)
			  << ", DRAM " << live_bytes(mesh, TTMEM_FIGURE_DRAM)
			  << " bytes\n";
	}
	std::cout << "after: L1 " << live_bytes(mesh, TTMEM_FIGURE_L1)
		  << ", DRAM " << live_bytes(mesh, TTMEM_FIGURE_DRAM)
		  << " bytes\n";
	return 0;
}

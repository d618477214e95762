/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads devices, buffers and programs of the runtime, in whichever version: part of
 * ttmem_tt_metal.hpp. `requires` detects what a version lacks; it is then unknown.
 */
#ifndef TTMEM_TT_METAL_OBJECTS_HPP
#define TTMEM_TT_METAL_OBJECTS_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <tt-metalium/buffer.hpp>
#include <tt-metalium/core_coord.hpp>
#include <tt-metalium/device.hpp>
#include <tt-metalium/mesh_device.hpp>
#if __has_include(<tt-metalium/mesh_device_view.hpp>)
#include <tt-metalium/mesh_device_view.hpp>
#endif
#if __has_include(<tt-metalium/allocator.hpp>)
#include <tt-metalium/allocator.hpp>
#endif
#if __has_include(<tt-metalium/program.hpp>)
#include <tt-metalium/program.hpp>
#endif
#if __has_include(<tt-metalium/experimental/allocation_context.hpp>)
#include <tt-metalium/experimental/allocation_context.hpp>
#define TTMEM_TT_METAL_HAS_CONTEXT 1
#else
#define TTMEM_TT_METAL_HAS_CONTEXT 0
#endif
#if __has_include(<tt-metalium/experimental/per_core_allocation/buffer.hpp>)
#include <tt-metalium/experimental/per_core_allocation/buffer.hpp>
#endif
#if __has_include(<internal/cluster.hpp>) && !defined(TTMEM_TT_METAL_NO_CHIP_IDS)
#include <internal/cluster.hpp>
#endif

#include <ttmem/ttmem.h>

/* Overloads that nobody calls, for names that some versions lack. */
namespace tt::tt_metal
{
struct ttmem_no_argument;

namespace internal
{
void get_chip_unique_id_from_fabric_node_id(ttmem_no_argument);
} // namespace internal

namespace experimental::per_core_allocation
{
void is_per_core_allocation(ttmem_no_argument);
} // namespace experimental::per_core_allocation
} // namespace tt::tt_metal

namespace ttmem::metal
{

namespace rt = tt::tt_metal;

namespace detail
{

using MeshDevice = rt::distributed::MeshDevice;

/* Devices by logical id of which something is remembered. */
inline constexpr std::size_t devices_max = 1024;

/* The runtime's page size of buffers that hold kernel binaries. */
inline constexpr uint64_t binary_page_bytes = 2048;

/* -- devices ------------------------------------------------------------------ */

inline uint32_t logical_id(const rt::IDevice &device)
{
	auto id = device.id();

	return id < 0 ? UINT32_MAX : static_cast<uint32_t>(id);
}

inline void text_set(char *to, std::size_t size, std::string_view text)
{
	std::size_t length = text.size() < size ? text.size() : size - 1;

	std::memcpy(to, text.data(), length);
	to[length] = '\0';
}

template <class Allocator>
void regions_get(const Allocator &allocator, struct ttmem_device_info &info)
{
	if constexpr (requires {
			      allocator.get_base_allocator_addr(
				      rt::HalMemType::L1);
			      allocator.get_worker_l1_size();
			      allocator.get_bank_size(rt::BufferType::TRACE);
			      allocator.get_num_banks(rt::BufferType::TRACE);
		      }) {
		info.l1_base = allocator.get_base_allocator_addr(
			rt::HalMemType::L1);
		info.l1_top = allocator.get_worker_l1_size();
		info.l1_small_bytes = allocator.get_bank_size(
			rt::BufferType::L1_SMALL);
		info.trace_bytes = allocator.get_bank_size(
					   rt::BufferType::TRACE) *
			allocator.get_num_banks(rt::BufferType::TRACE);
		info.dram_banks = allocator.get_num_banks(rt::BufferType::DRAM);
		info.dram_bank_bytes = allocator.get_bank_size(
			rt::BufferType::DRAM);
		info.dram_base = allocator.get_base_allocator_addr(
			rt::HalMemType::DRAM);
		info.l1_banks = allocator.get_num_banks(rt::BufferType::L1);
	}
}

/* `owner` has the allocator: the device itself, or the mesh that it is in. */
template <class Device>
void capacities_get(const Device &device, const rt::IDevice &owner,
	struct ttmem_device_info &info)
{
	if constexpr (requires { arch_to_str(device.arch()); })
		text_set(info.arch, sizeof(info.arch),
			arch_to_str(device.arch()));
	if constexpr (requires { device.dram_size_per_channel(); })
		info.dram_bytes = static_cast<uint64_t>(
					  device.num_dram_channels()) *
			device.dram_size_per_channel();
	if constexpr (requires { device.l1_size_per_core(); })
		info.l1_bytes_per_core = device.l1_size_per_core();
	if constexpr (requires { device.compute_with_storage_grid_size().x; }) {
		auto grid = device.compute_with_storage_grid_size();

		info.cores = static_cast<uint64_t>(grid.x) * grid.y;
	}
	if constexpr (requires { owner.allocator(); }) {
		const auto &allocator = owner.allocator();

		if (allocator)
			regions_get(*allocator, info);
	}
}

/* Chip ids of the members, in the order of get_devices(); empty if unknown. */
template <class Mesh> std::vector<uint64_t> chip_ids(const Mesh &mesh)
{
	std::vector<uint64_t> ids;

	if constexpr (requires {
			      *rt::internal::
				      get_chip_unique_id_from_fabric_node_id(
					      mesh.get_view()
						      .get_fabric_node_ids()
						      .front());
		      }) {
		const auto nodes = mesh.get_view().get_fabric_node_ids();

		/* Nodes of other hosts have no device here. */
		if (nodes.size() != mesh.get_devices().size())
			return ids;
		for (const auto &node : nodes)
			ids.push_back(
				*rt::internal::
					get_chip_unique_id_from_fabric_node_id(
						node));
	}
	return ids;
}

/* Whether closing it closes its devices: submeshes share those of their parent. */
template <class Mesh> bool owns_devices(const Mesh &mesh)
{
	if constexpr (requires { mesh.is_parent_mesh(); })
		return mesh.is_parent_mesh();
	else
		return true;
}

/* -- cores -------------------------------------------------------------------- */

/* `cores` is a range of CoreRange or of CoreCoord. */
template <class Cores>
void ranges_add(
	std::vector<struct ttmem_core_range> &ranges, const Cores &cores)
{
	auto part = [](auto coordinate) {
		return coordinate > UINT32_MAX ?
			UINT32_MAX :
			static_cast<uint32_t>(coordinate);
	};

	for (const auto &c : cores)
		if constexpr (requires { c.start_coord.x; })
			ranges.push_back({ part(c.start_coord.x),
				part(c.start_coord.y), part(c.end_coord.x),
				part(c.end_coord.y) });
		else
			ranges.push_back(
				{ part(c.x), part(c.y), part(c.x), part(c.y) });
}

template <class Cores> uint32_t core_set_make(const Cores &cores)
{
	std::vector<struct ttmem_core_range> ranges;

	ranges_add(ranges, cores);
	return ttmem_core_set(ranges.data(), ranges.size());
}

/* -- buffers ------------------------------------------------------------------ */

template <class Buffer> uint64_t buffer_id(const Buffer &buffer)
{
	if constexpr (requires { buffer.unique_id(); })
		return buffer.unique_id();
	else
		return buffer.address();
}

template <class Buffer> bool is_per_core(const Buffer &buffer)
{
	if constexpr (requires {
			      rt::experimental::per_core_allocation::
				      is_per_core_allocation(buffer);
		      })
		return rt::experimental::per_core_allocation::
			is_per_core_allocation(buffer);
	else
		return false;
}

/*
 * The banks that the allocator reserves it on. A lockstep allocator takes the range of
 * the largest part from each of its banks; one that allocates per core takes it from
 * the cores that hold a part. 0: unknown.
 */
template <class Buffer> uint64_t banks_of(const Buffer &buffer)
{
	if (is_per_core(buffer))
		return buffer.num_cores().value_or(0);
	if constexpr (requires {
			      buffer.allocator()->get_num_banks(
				      buffer.buffer_type());
		      }) {
		auto *allocator = buffer.allocator();

		return allocator ?
			allocator->get_num_banks(buffer.buffer_type()) :
			0;
	} else if constexpr (requires {
				     buffer.device()
					     ->allocator()
					     ->get_num_banks(
						     buffer.buffer_type());
			     }) {
		return buffer.device()->allocator()->get_num_banks(
			buffer.buffer_type());
	} else {
		return 0;
	}
}

template <class Buffer>
void banks_get(const Buffer &buffer, struct ttmem_buffer &info)
{
	uint64_t banks = 0, bytes = 0;

	/* The host's memory has none. */
	if (info.kind == TTMEM_SYSTEM_MEMORY)
		return;
	if constexpr (requires { buffer.aligned_size_per_bank(); })
		bytes = buffer.aligned_size_per_bank();
	banks = banks_of(buffer);
	if (!bytes || !banks || banks > UINT32_MAX)
		return;
	info.bytes_per_bank = bytes;
	info.banks = static_cast<uint32_t>(banks);
}

/* Calls `found` with the cores of a sharded buffer in L1. */
template <class Buffer, class Found>
void shard_cores(const Buffer &buffer, Found found)
{
	if constexpr (requires {
			      buffer.shard_spec().grid().ranges();
			      buffer.has_shard_spec();
		      }) {
		if (buffer.has_shard_spec()) {
			const auto spec = buffer.shard_spec();

			found(spec.grid().ranges());
			return;
		}
	}
	if constexpr (requires {
			      buffer.buffer_distribution_spec()->cores();
		      }) {
		const auto &spec = buffer.buffer_distribution_spec();

		if (spec)
			found(spec->cores());
	}
}

/* The text that the runtime keeps about allocations, if it was asked to. */
inline std::string_view allocation_context()
{
#if TTMEM_TT_METAL_HAS_CONTEXT
	return rt::current_allocation_context();
#else
	return {};
#endif
}

/*
 * What the runtime puts at the top of DRAM: binaries of kernels, whose pages have a
 * size of their own, and traces if there is no trace region. See README.md.
 */
template <class Buffer> uint32_t buffer_flags(const Buffer &buffer)
{
	std::string_view context = allocation_context();
	uint32_t flags = is_per_core(buffer) ? TTMEM_BUFFER_PER_CORE : 0;

	if (context.substr(0, 14) == "program_cache:")
		return flags | TTMEM_BUFFER_PERSISTENT;
	if (context == "trace_storage")
		return buffer.buffer_type() == rt::BufferType::DRAM ?
			flags | TTMEM_BUFFER_TRACE :
			flags;
	if constexpr (requires {
			      buffer.bottom_up();
			      buffer.page_size();
		      }) {
		if (buffer.buffer_type() != rt::BufferType::DRAM ||
			buffer.bottom_up())
			return flags;
		if (buffer.page_size() == binary_page_bytes)
			return flags | TTMEM_BUFFER_PERSISTENT;
		/* Traces add their size here before they allocate. */
		if constexpr (requires {
				      buffer.device()->get_trace_buffers_size();
			      })
			if (buffer.device()->get_trace_buffers_size() >=
				buffer.size())
				return flags | TTMEM_BUFFER_TRACE;
	}
	return flags;
}

/* -- programs ----------------------------------------------------------------- */

/* The same for a program and its implementation, for as long as it lives. */
template <class Program> uint64_t program_id(const Program &program)
{
	if constexpr (requires { program.impl(); })
		return reinterpret_cast<uintptr_t>(&program.impl());
	else
		return reinterpret_cast<uintptr_t>(&program);
}

/*
 * The largest text that any core gets of the program's kernels: the size of the part
 * of the kernel ring that the program takes on a Tensix core. Versions that do not
 * have it: the binaries of all kernels, packed once (and then cores is 1).
 */
template <class Implementation> uint64_t kernel_bytes(Implementation &program)
{
	if constexpr (requires {
			      program.get_program_config(0).kernel_text_size;
		      })
		return program.get_program_config(0).kernel_text_size;
	else
		return program.kernel_bins_sizeB;
}

/* The Tensix cores that run kernels of the program. */
template <class Implementation> uint32_t kernel_cores(Implementation &program)
{
	if constexpr (requires {
			      program.get_program_config(0).kernel_text_size;
			      program.get_kernel_groups(0);
		      }) {
		std::vector<struct ttmem_core_range> ranges;

		for (const auto &group : program.get_kernel_groups(0))
			ranges_add(ranges, group->core_ranges.ranges());
		return ttmem_core_set(ranges.data(), ranges.size());
	} else {
		return 1;
	}
}

/* Where L1 that can be allocated begins. */
template <class Device> uint64_t l1_base(const Device &device)
{
	if constexpr (requires {
			      device.allocator()->get_base_allocator_addr(
				      rt::HalMemType::L1);
		      }) {
		const auto &allocator = device.allocator();

		if (allocator)
			return allocator->get_base_allocator_addr(
				rt::HalMemType::L1);
	}
	return TTMEM_UNKNOWN;
}

} // namespace detail
} // namespace ttmem::metal

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runtime's devices, buffers and programs say, in whichever version: part of
 * ttmem_tt_metal.hpp. What a version does not have is asked for with `requires`, and
 * unknown if it is not there.
 */
#ifndef TTMEM_TT_METAL_OBJECTS_HPP
#define TTMEM_TT_METAL_OBJECTS_HPP

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <tt-metalium/buffer.hpp>
#include <tt-metalium/core_coord.hpp>
#include <tt-metalium/device.hpp>
#include <tt-metalium/mesh_device.hpp>
#if __has_include(<tt-metalium/allocator.hpp>)
#include <tt-metalium/allocator.hpp>
#endif
#if __has_include(<tt-metalium/program.hpp>)
#include <tt-metalium/program.hpp>
#endif

#include <ttmem/ttmem.h>

namespace ttmem::metal
{

namespace rt = tt::tt_metal;

namespace detail
{

/* Devices by logical id of which something is remembered. */
inline constexpr std::size_t devices_max = 1024;

inline uint32_t logical_id(const rt::IDevice &device)
{
	auto id = device.id();

	return id < 0 ? UINT32_MAX : static_cast<uint32_t>(id);
}

/* A mesh is its members: its own id means nothing, and may be that of a chip. */
template <class Each> void each_member(const rt::IDevice *device, Each each)
{
	const auto *mesh = dynamic_cast<const rt::distributed::MeshDevice *>(
		device);

	if (mesh) {
		for (const rt::IDevice *member : mesh->get_devices())
			if (member)
				each(*member);
	} else if (device) {
		each(*device);
	}
}

template <class Buffer> uint64_t buffer_id(const Buffer &buffer)
{
	if constexpr (requires { buffer.unique_id(); })
		return buffer.unique_id();
	else
		return buffer.address();
}

/* Banks go in step: each of them loses what the largest part takes. */
template <class Buffer> uint64_t banks_of(const Buffer &buffer)
{
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
		return buffer.num_cores().value_or(0);
	}
}

template <class Buffer>
uint64_t charged_bytes(const Buffer &buffer, enum ttmem_kind kind)
{
	uint64_t bytes = 0;

	if (kind == TTMEM_SYSTEM_MEMORY)
		return TTMEM_UNKNOWN;
	if constexpr (requires { buffer.aligned_size_per_bank(); })
		bytes = buffer.aligned_size_per_bank() * banks_of(buffer);
	return bytes ? bytes : TTMEM_UNKNOWN;
}

inline void text_set(char *to, std::size_t size, std::string_view text)
{
	std::size_t length = text.size() < size ? text.size() : size - 1;

	std::memcpy(to, text.data(), length);
	to[length] = '\0';
}

template <class Device>
void capacities_get(const Device &device, struct ttmem_device_info &info)
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
	if constexpr (requires {
			      device.allocator()->get_base_allocator_addr(
				      rt::HalMemType::L1);
			      device.allocator()->get_worker_l1_size();
			      device.allocator()->get_bank_size(
				      rt::BufferType::TRACE);
		      }) {
		const auto &allocator = device.allocator();

		if (!allocator)
			return;
		info.l1_base = allocator->get_base_allocator_addr(
			rt::HalMemType::L1);
		info.l1_top = allocator->get_worker_l1_size();
		info.l1_small_bytes = allocator->get_bank_size(
			rt::BufferType::L1_SMALL);
		info.trace_bytes = allocator->get_bank_size(
					   rt::BufferType::TRACE) *
			allocator->get_num_banks(rt::BufferType::TRACE);
	}
}

/* The same for a program and its implementation, for as long as it lives. */
template <class Program> uint64_t program_id(const Program &program)
{
	if constexpr (requires { program.impl(); })
		return reinterpret_cast<uintptr_t>(&program.impl());
	else
		return reinterpret_cast<uintptr_t>(&program);
}

} // namespace detail
} // namespace ttmem::metal

#endif

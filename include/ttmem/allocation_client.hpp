/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For callers of the first tracking client, which sent each event to a server over a
 * socket: include this instead of "allocation_client.hpp" and keep the calls. C++11;
 * link with libttmem. What holds for the hooks of <ttmem/ttmem.h> in threads, signal
 * handlers, forked children and static destructors holds here.
 *
 * Numbers are the runtime's: devices are logical ids; buffer types DRAM 0, L1 1,
 * SYSTEM_MEMORY 2, L1_SMALL 3, TRACE 4; kernel types application 0, fabric 1,
 * dispatch 2.
 *
 * report_allocation() is called in two orders, (device, size, type, id) and (device,
 * size, id, type). The argument that is no wider than the other is the type: give it
 * as uint8_t (or int, enum of one) and the id as uint64_t. A call that can be read
 * both ways, such as one with two plain numbers, does not compile. For those define
 * TTMEM_COMPAT_ORDER before the include: 1 leaves only the first order, 2 only the
 * second.
 *
 * What cannot be the same as it was:
 *
 *   cores     sizes of CBs and kernels arrive multiplied by the cores already. They
 *             are recorded as of one core: bytes and totals are right, but neither
 *             the cores nor the size per core are known.
 *   address   a buffer's id was its address, and so was a CB's: it is recorded as
 *             both. Where one address is live twice (two buffer types, sub-devices)
 *             the types tell them apart, and a free without a type takes the first
 *             that has the id, in the order of the types.
 *   program   CBs name none: they are of program 0. The headroom of L1 is wrong if
 *             the sizes of CBs were multiplied.
 *   again     the server added the size of a repeated allocation once more. Here an
 *             id that is live is replaced (ALLOC_LIVE for a buffer, nothing for a
 *             CB), and a kernel loaded again with the same size is a dispatch.
 *   sizes     of frees and unloads are not needed: what was recorded is freed.
 *   ring      kernels are added to L1 use, as they were. Define
 *             TTMEM_COMPAT_KERNEL_FLAGS as TTMEM_KERNEL_IN_RING where their text is
 *             in the reserved ring: then they are shown but not added.
 *   server    there is no socket and no message. Set TT_ALLOC_TRACKING_ENABLED=1 as
 *             before, and run ttmemd instead of the server.
 */
#ifndef TTMEM_ALLOCATION_CLIENT_HPP
#define TTMEM_ALLOCATION_CLIENT_HPP

#ifndef __cplusplus
#error "allocation_client.hpp is for C++: C has <ttmem/ttmem.h>"
#endif

#include <ttmem/ttmem.h>

#ifndef TTMEM_COMPAT_ORDER
#define TTMEM_COMPAT_ORDER 0
#endif
#ifndef TTMEM_COMPAT_KERNEL_FLAGS
#define TTMEM_COMPAT_KERNEL_FLAGS 0u
#endif

namespace tt
{
namespace tt_metal
{

class AllocationClient
{
      public:
	AllocationClient() = delete;

	/* Whether the calls below do anything. */
	static bool is_enabled()
	{
		return ttmem_enabled();
	}

#if TTMEM_COMPAT_ORDER != 2
	static void report_allocation(
		int device, uint64_t size, uint8_t type, uint64_t id)
	{
		allocated(device, size, type, id);
	}
#endif

#if TTMEM_COMPAT_ORDER != 1
	static void report_allocation(
		int device, uint64_t size, uint64_t id, uint8_t type)
	{
		allocated(device, size, type, id);
	}
#endif

	/* A buffer of any type; unknown ones are counted as FREE_UNKNOWN. */
	static void report_deallocation(int device, uint64_t id)
	{
		ttmem_free_any(logical(device), id);
	}

	static void report_cb_allocation(int device, uint64_t size, uint64_t cb)
	{
		ttmem_cb_alloc(logical(device), 0, cb, cb, size, 1, 0);
	}

	static void report_cb_deallocation(
		int device, uint64_t /*size*/, uint64_t cb)
	{
		ttmem_cb_free(logical(device), 0, cb);
	}

	static void report_kernel_load(
		int device, uint64_t size, uint64_t kernel, uint8_t type = 0)
	{
		ttmem_kernel_load(logical(device), kernel,
			static_cast<enum ttmem_kernel_type>(type), size, 1,
			TTMEM_COMPAT_KERNEL_FLAGS);
	}

	static void report_kernel_unload(
		int device, uint64_t /*size*/, uint64_t kernel)
	{
		ttmem_kernel_unload(logical(device), kernel);
	}

      private:
	/* A negative number is no device, and not by chance a mesh. */
	static uint32_t logical(int device)
	{
		return device < 0 ? UINT32_MAX : static_cast<uint32_t>(device);
	}

	static void allocated(
		int device, uint64_t size, uint8_t type, uint64_t id)
	{
		ttmem_alloc(logical(device), static_cast<enum ttmem_kind>(type),
			id, id, size);
	}
};

} // namespace tt_metal
} // namespace tt

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries ttmem into the tt-metal runtime without patching it: a processor of its
 * graph tracker that turns buffers, circular buffers and functions into hooks. C++20;
 * include it in one implementation file of a program that links with libttmem and
 * with the runtime, and call
 *
 *   ttmem::metal::install();                     once, before devices are used
 *   ttmem::metal::ThreadGuard guard;             on every thread of your own
 *
 * README.md beside this file says which versions of the runtime tell what, and where
 * the calls of the last section go that its interface cannot carry.
 *
 * For every call below: any thread; nothing throws; with tracking off it does nothing.
 * Events may come while static objects are destroyed: the recorder and its state are
 * never destroyed. Only buffers of captures without dispatch take a lock.
 */
#ifndef TTMEM_TT_METAL_HPP
#define TTMEM_TT_METAL_HPP

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <typeinfo>

#include <tt-metalium/graph_tracking.hpp>
#if __has_include(<internal/graph_tracking.hpp>)
#include <internal/graph_tracking.hpp>
#endif

#include "ttmem_tt_metal_recorder.hpp"

/* Not in every version: an overload that nobody calls, so that it can be asked for. */
namespace tt::tt_metal::internal
{
struct ttmem_no_argument;
void register_background_processor_once(ttmem_no_argument);
} // namespace tt::tt_metal::internal

namespace ttmem::metal
{

/* What install() achieved. */
enum class Coverage {
	off,         /* tracking is off */
	failed,      /* no memory */
	this_thread, /* other threads need a ThreadGuard for everything */
	every_thread /* buffers everywhere; CBs and scopes need a ThreadGuard */
};

struct Options {
	bool cbs = true; /* false: call sites report them, with programs */
	bool scopes =
		true; /* functions of the runtime name what they allocate */
};

namespace detail
{

using Factory = std::function<std::shared_ptr<rt::IGraphProcessor>()>;

/* Whether the version can, and does. Any number of times. */
template <class Type> bool register_everywhere(const Type &type)
{
	if constexpr (requires(Factory factory) {
			      rt::internal::register_background_processor_once(
				      type, factory);
		      }) {
		Factory factory = [] { return recorder<true>(); };

		/* False means that there is one. */
		rt::internal::register_background_processor_once(type, factory);
		process().everywhere = true;
		return true;
	} else {
		return false;
	}
}

/*
 * At the bottom of the list: a capture that ends takes off what is on top, and must
 * find itself there.
 */
inline void list_set(bool is_with_us)
{
	auto &tracker = rt::GraphTracker::instance();
	auto others = tracker.get_processors();

	for (std::size_t i = others.size(); i; i--)
		tracker.pop_processor();
	if (is_with_us)
		tracker.push_processor(recorder<false>());
	for (const auto &other : others)
		if (other && !is_recorder(*other))
			tracker.push_processor(other);
}

inline void detach() noexcept
{
	try {
		if (is_attached())
			list_set(false);
	} catch (...) {
	}
}

/*
 * Made after the thread's list, it is destroyed before it. On the first thread
 * static destructors come afterwards: they must find the list empty if nobody but us
 * was on it, for its memory is gone.
 */
struct AtThreadExit {
	bool is_attached = false;

	~AtThreadExit()
	{
		if (is_attached)
			detach();
	}
};

inline thread_local AtThreadExit at_thread_exit;

/* False: the thread is listened to already. */
inline bool attach()
{
	if (is_attached())
		return false;
	list_set(true);
	at_thread_exit.is_attached = true;
	return true;
}

} // namespace detail

/* -- installation ------------------------------------------------------------- */

/*
 * Listens to buffers of every thread where the version of the runtime can, and to
 * everything of this thread. Calling it again is fine, from other shared objects
 * too; the last options count.
 */
inline Coverage install(Options options = {}) noexcept
{
	if (!ttmem_enabled())
		return Coverage::off;
	try {
		bool everywhere = detail::register_everywhere(
			typeid(detail::Recorder<true>));

		detail::process().cbs = options.cbs;
		detail::process().scopes = options.scopes;
		detail::attach();
		return everywhere ? Coverage::every_thread :
				    Coverage::this_thread;
	} catch (...) {
		return Coverage::failed;
	}
}

/*
 * Listens to this thread from here to the end of the block, unless it is listened to
 * already. Not for callbacks of the tracker.
 */
class ThreadGuard
{
      public:
	ThreadGuard() noexcept
	{
		detail::quietly([this] {
			detail::register_everywhere(
				typeid(detail::Recorder<true>));
			is_ours = detail::attach();
		});
	}

	~ThreadGuard()
	{
		if (is_ours)
			detail::detach();
	}

	ThreadGuard(const ThreadGuard &) = delete;
	ThreadGuard &operator=(const ThreadGuard &) = delete;

      private:
	bool is_ours = false;
};

/* -- for call sites in the runtime: see README.md ----------------------------- */

/* `device` may be a mesh in all of them: then each member is meant. */

/* What the interface does not tell: which chip it is. Sizes are asked for. */
inline void device_opened(const rt::IDevice &device,
	uint64_t chip_id = TTMEM_UNKNOWN, uint64_t pci_address = TTMEM_UNKNOWN,
	std::string_view board = "") noexcept
{
	detail::quietly([&] {
		detail::each_member(&device, [&](const rt::IDevice &member) {
			detail::device_tell(
				member, true, chip_id, pci_address, board);
		});
	});
}

/* What is live on it now was not freed: survivors of the device. */
inline void device_closing(const rt::IDevice &device) noexcept
{
	detail::quietly([&] {
		detail::each_member(&device, [](const rt::IDevice &member) {
			uint32_t id = detail::logical_id(member);

			ttmem_device_close(id);
			if (id < detail::devices_max)
				detail::process().told[id] = false;
		});
	});
}

/* As the hooks know it: of a Program, or of its implementation. */
template <class Program> uint64_t program_id(const Program &program) noexcept
{
	return detail::program_id(program);
}

/* `cores` on each member. Again for a live program: a dispatch. */
inline void kernels_loaded(const rt::IDevice &device, uint64_t program,
	enum ttmem_kernel_type type, uint64_t binary_size, uint32_t cores,
	bool is_in_ring = true) noexcept
{
	detail::quietly([&] {
		detail::each_member(&device, [&](const rt::IDevice &member) {
			ttmem_kernel_load(detail::logical_id(member), program,
				type, binary_size, cores,
				is_in_ring ? TTMEM_KERNEL_IN_RING : 0);
		});
	});
}

/* With Options::cbs off. `cb` is its number within the program. */
inline void cb_planned(const rt::IDevice &device, uint64_t program, uint64_t cb,
	const rt::CoreRangeSet &cores, uint64_t address, uint64_t size,
	bool is_borrowed) noexcept
{
	detail::quietly([&] {
		detail::each_member(&device, [&](const rt::IDevice &member) {
			ttmem_cb_alloc(detail::logical_id(member), program, cb,
				address, size,
				static_cast<uint32_t>(cores.num_cores()),
				is_borrowed ? TTMEM_CB_BORROWED : 0);
		});
	});
}

/* Its CBs and its kernels. */
inline void program_destroyed(
	const rt::IDevice &device, uint64_t program) noexcept
{
	detail::quietly([&] {
		detail::each_member(&device, [&](const rt::IDevice &member) {
			ttmem_program_destroy(
				detail::logical_id(member), program);
		});
	});
}

inline void allocation_failed(const rt::IDevice &device, rt::BufferType type,
	uint64_t size, uint64_t largest_free = TTMEM_UNKNOWN) noexcept
{
	detail::quietly([&] {
		detail::each_member(&device, [&](const rt::IDevice &member) {
			ttmem_alloc_failed(detail::logical_id(member),
				static_cast<enum ttmem_kind>(type), size,
				largest_free);
		});
	});
}

} // namespace ttmem::metal

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects the tt-metal runtime to ttmem without a patch: a listener of its graph
 * tracker that turns buffers, circular buffers and functions into hooks, one for each
 * event on a mesh. C++20; include it in one implementation file of a program that
 * links with libttmem and with the runtime, and call
 *
 *   ttmem::metal::install();                     once, before devices are used
 *   ttmem::metal::ThreadGuard guard;             on every thread of your own
 *
 * README.md beside this file says which versions of the runtime report which events.
 * The last section is for call sites in the runtime (patches/), for events that the
 * tracker does not report.
 *
 * For every call below: any thread; nothing throws; with tracking off it does nothing.
 * Events may come while static objects are destroyed: the listener and its state are
 * never destroyed. A lock is taken by buffers of captures without dispatch, and where
 * a thread meets a mesh or a program for the first time.
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

#include "ttmem_tt_metal_failure.hpp"
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

/*
 * `device` may be a mesh in all of them: then all its members are meant, with one
 * hook. A program is known by program_id() of it or of its implementation.
 */

template <class Program> uint64_t program_id(const Program &program) noexcept
{
	return detail::program_id(program);
}

/*
 * Which chip it is, for versions that do not tell. Sizes are asked for; members of a
 * mesh are told one by one.
 */
inline void device_opened(const rt::IDevice &device,
	uint64_t chip_id = TTMEM_UNKNOWN, uint64_t pci_address = TTMEM_UNKNOWN,
	std::string_view board = "") noexcept
{
	detail::quietly([&] {
		if (dynamic_cast<const detail::MeshDevice *>(&device))
			detail::place_of(&device);
		else
			detail::device_tell(device, device, true, chip_id,
				pci_address, board);
	});
}

/*
 * What is live on it now was not freed: survivors of the device. Call it while the
 * members of a mesh are known. A submesh only ends its handle: its devices go on.
 */
inline void device_closing(const rt::IDevice &device) noexcept
{
	detail::quietly([&] {
		const auto *mesh = dynamic_cast<const detail::MeshDevice *>(
			&device);
		const detail::Place *place = detail::place_of(&device);

		if (!place || (mesh && !detail::owns_devices(*mesh)))
			return;
		ttmem_device_close(place->handle);
		detail::place_forget(device, *place);
	});
}

/*
 * A program's kernels are on the device, or are launched again: the latter counts a
 * dispatch. `size` is for one core; `cores` is a count or a core set.
 */
inline void kernels_loaded(const rt::IDevice &device, uint64_t program,
	enum ttmem_kernel_type type, uint64_t size, uint32_t cores,
	bool is_in_ring = true) noexcept
{
	detail::quietly([&] {
		if (const detail::Place *place = detail::place_of(&device))
			detail::kernels_record(*place, program, type, size,
				cores, is_in_ring ? TTMEM_KERNEL_IN_RING : 0);
	});
}

/*
 * The same for an application's program that is enqueued on a part of a mesh, each
 * time. Sizes and cores are those of its implementation, after its offsets are final:
 * README.md says which.
 */
template <class Mesh, class Range, class Implementation>
void program_enqueued(
	const Mesh &mesh, const Range &range, Implementation &program) noexcept
{
	detail::quietly([&] {
		uint64_t id = detail::program_id(program);
		const detail::Place *place;

		if (const auto *known = detail::kernels_known(id)) {
			ttmem_kernel_load(known->place->handle, id, known->type,
				known->size, known->cores, known->flags);
			return;
		}
		place = detail::place_of_part(mesh, range);
		if (place)
			detail::kernels_record(*place, id,
				TTMEM_KERNEL_APPLICATION,
				detail::kernel_bytes(program),
				detail::kernel_cores(program),
				TTMEM_KERNEL_IN_RING);
	});
}

/* With Options::cbs off. `cb` is its number; `flags` are TTMEM_CB_*. */
inline void cb_planned(const rt::IDevice &device, uint64_t program, uint64_t cb,
	const rt::CoreRangeSet &cores, uint64_t address, uint64_t size,
	uint32_t flags) noexcept
{
	detail::quietly([&] {
		const detail::Place *place = detail::place_of(&device);

		if (!place)
			return;
		detail::program_meet(program, *place);
		detail::cb_record(
			*place, program, cb, cores, address, size, flags);
	});
}

/*
 * The same for all CBs, dataflow buffers and scratchpads of a program's
 * implementation, when all of them have addresses.
 */
template <class Implementation>
void program_planned(
	const rt::IDevice &device, Implementation &program) noexcept
{
	detail::quietly([&] {
		uint64_t id = detail::program_id(program);
		const detail::Place *place = detail::place_of(&device);

		if (!place)
			return;
		detail::program_meet(id, *place);
		detail::program_record(*place, id, program);
	});
}

/* Its CBs and its kernels end, wherever they were told to be. Needs no device. */
inline void program_destroyed(uint64_t program) noexcept
{
	detail::quietly([&] { detail::program_ended(program); });
}

/*
 * An allocation failed with this text of the runtime: its figures are those of one
 * bank, and what it does not say is unknown.
 */
inline void allocation_failed(const rt::IDevice &device, rt::BufferType type,
	uint64_t size, std::string_view what) noexcept
{
	detail::quietly([&] {
		const detail::Place *place = detail::place_of(&device);
		struct ttmem_failure failure;

		if (!place)
			return;
		ttmem_failure_init(
			&failure, place->handle, static_cast<uint32_t>(type));
		failure_read(what, failure);
		failure.bytes = size;
		failure.kind = static_cast<uint32_t>(type);
		ttmem_alloc_failed(&failure);
	});
}

namespace detail
{

/* Whether it is about memory, and if so of one of these kinds: recorded. */
inline bool failure_record(const rt::IDevice &device, std::string_view what,
	uint64_t program, bool is_any_kind)
{
	const Place *place = place_of(&device);
	struct ttmem_failure failure;

	if (!place)
		return false;
	ttmem_failure_init(&failure, place->handle, TTMEM_DRAM);
	if (!failure_read(what, failure, l1_base(device)) ||
		(!is_any_kind && failure.kind != TTMEM_FIGURE_CB))
		return false;
	failure.program = program;
	ttmem_alloc_failed(&failure);
	return true;
}

} // namespace detail

/*
 * Any failure of the runtime, for programs that catch its exceptions and whose runtime
 * has no call sites. Returns whether `what` is about memory; if not, nothing is
 * recorded.
 */
inline bool failure_reported(const rt::IDevice &device, std::string_view what,
	uint64_t program = TTMEM_UNKNOWN) noexcept
{
	bool is_about_memory = false;

	detail::quietly([&] {
		is_about_memory = detail::failure_record(
			device, what, program, true);
	});
	return is_about_memory;
}

/* A program failed; if because its CBs do not fit, that is recorded. */
inline void program_failed(const rt::IDevice &device, uint64_t program,
	std::string_view what) noexcept
{
	detail::quietly(
		[&] { detail::failure_record(device, what, program, false); });
}

} // namespace ttmem::metal

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the runtime's events to hooks, and the processors that the events come to: part
 * of ttmem_tt_metal.hpp.
 */
#ifndef TTMEM_TT_METAL_RECORDER_HPP
#define TTMEM_TT_METAL_RECORDER_HPP

#include <any>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <typeinfo>
#include <unordered_set>
#include <vector>

#include <tt-metalium/graph_tracking.hpp>

#include "ttmem_tt_metal_objects.hpp"

/* Not in every version: declared, so that it can be asked for. */
namespace tt::tt_metal
{
struct GraphFunctionAbort;
} // namespace tt::tt_metal

namespace ttmem::metal::detail
{

/* -- state ----------------------------------------------------------------------- */

struct Process {
	std::atomic<bool> everywhere{ false };
	std::atomic<bool> cbs{ true };
	std::atomic<bool> scopes{ true };
	/* By logical id: whether its sizes were told; CBs since all were freed. */
	std::array<std::atomic<bool>, devices_max> told{};
	std::array<std::atomic<uint64_t>, devices_max> planned{};
	/* Buffers that were never allocated: of captures without dispatch. */
	std::mutex lock;
	std::unordered_set<uint64_t> suppressed;
};

inline Process &process()
{
	static Process *const immortal = new Process;

	return *immortal;
}

/* Needs no destructor, so that it is there until the thread is gone. */
struct Thread {
	struct Count {
		uint32_t device;
		uint32_t cbs;
	};

	uint64_t program; /* the last one tracked, if has_program */
	uint32_t functions;
	uint32_t program_functions; /* under way when it was tracked */
	bool has_program;
	uint32_t counts_len;
	std::array<Count, 64> counts; /* CBs of it so far, by device */
};

inline thread_local constinit Thread this_thread{};

/* -- events ---------------------------------------------------------------------- */

/* Tells sizes once; what the runtime does not tell is unknown. */
inline void device_tell(const rt::IDevice &device, bool anew, uint64_t chip_id,
	uint64_t pci_address, std::string_view board)
{
	uint32_t id = logical_id(device);
	struct ttmem_device_info info;

	if (id >= devices_max)
		return;
	/* relaxed: told twice at worst */
	if (process().told[id].exchange(true, std::memory_order_relaxed) &&
		!anew)
		return;
	ttmem_device_info_init(&info, id);
	info.chip_id = chip_id;
	info.pci_address = pci_address;
	text_set(info.board, sizeof(info.board), board);
	try {
		capacities_get(device, info);
	} catch (...) {
	}
	ttmem_device_open(&info);
}

inline void device_meet(const rt::IDevice &device)
{
	uint32_t id = logical_id(device);

	if (id < devices_max &&
		!process().told[id].load(std::memory_order_relaxed))
		device_tell(device, false, TTMEM_UNKNOWN, TTMEM_UNKNOWN, "");
}

/* With a hook that answers for the allocator nothing has an address. */
inline bool is_without_dispatch(uint64_t address)
{
	return address == 0 &&
		rt::GraphTracker::instance().get_hook() != nullptr;
}

inline void buffer_allocated(const rt::Buffer &buffer)
{
	auto kind = static_cast<enum ttmem_kind>(buffer.buffer_type());
	uint64_t id = buffer_id(buffer), address = buffer.address(), charged;

	if (is_without_dispatch(address)) {
		std::lock_guard<std::mutex> held(process().lock);

		process().suppressed.insert(id);
		return;
	}
	charged = charged_bytes(buffer, kind);
	each_member(buffer.device(), [&](const rt::IDevice &member) {
		device_meet(member);
		ttmem_alloc_charged(logical_id(member), kind, id, address,
			buffer.size(), charged);
	});
}

inline void buffer_freed(const rt::Buffer &buffer)
{
	auto kind = static_cast<enum ttmem_kind>(buffer.buffer_type());
	uint64_t id = buffer_id(buffer);

	if (buffer.address() == 0) {
		std::lock_guard<std::mutex> held(process().lock);

		if (process().suppressed.erase(id))
			return;
	}
	each_member(buffer.device(), [&](const rt::IDevice &member) {
		ttmem_free(logical_id(member), kind, id);
	});
}

/* Of a CB that no program claims: planned anew, it is where it was. */
inline uint64_t cb_place(const rt::CoreRangeSet &cores, uint64_t address)
{
	uint64_t hash = address ^ 0xcbf29ce484222325u;

	for (const auto &range : cores.ranges())
		for (uint64_t word :
			{ static_cast<uint64_t>(range.start_coord.x),
				static_cast<uint64_t>(range.start_coord.y),
				static_cast<uint64_t>(range.end_coord.x),
				static_cast<uint64_t>(range.end_coord.y) })
			hash = (hash ^ word) * 0x100000001b3u;
	return hash;
}

/*
 * A program's CBs come in the same order whenever it is planned, so they are known by
 * their number since the program was tracked.
 */
inline uint64_t cb_number(uint32_t device, uint64_t place)
{
	Thread &thread = this_thread;
	uint32_t i;

	for (i = 0; i < thread.counts_len; i++)
		if (thread.counts[i].device == device)
			return thread.counts[i].cbs++;
	if (i == thread.counts.size())
		return place;
	thread.counts[i] = { device, 1 };
	thread.counts_len++;
	return 0;
}

inline void cb_allocated(const rt::CoreRangeSet &cores, uint64_t address,
	uint64_t size, bool is_borrowed, const rt::IDevice *device)
{
	if (is_without_dispatch(address))
		return;
	each_member(device, [&](const rt::IDevice &member) {
		uint32_t id = logical_id(member);
		uint64_t cb = cb_place(cores, address), program = 0;

		device_meet(member);
		if (this_thread.has_program) {
			program = this_thread.program;
			cb = cb_number(id, cb);
		}
		ttmem_cb_alloc(id, program, cb, address, size,
			static_cast<uint32_t>(cores.num_cores()),
			is_borrowed ? TTMEM_CB_BORROWED : 0);
		/* After the CB: who finds 0 here finds none of ours there. */
		if (id < devices_max)
			process().planned[id].fetch_add(1);
	});
}

/* Looks at all objects, and comes once per program: not if there is nothing. */
inline void cbs_freed(const rt::IDevice *device)
{
	each_member(device, [](const rt::IDevice &member) {
		uint32_t id = logical_id(member);

		if (id >= devices_max || process().planned[id].exchange(0))
			ttmem_cb_free_all(id);
	});
}

inline void program_tracked(const rt::Program &program)
{
	Thread &thread = this_thread;

	thread.program = program_id(program);
	thread.program_functions = thread.functions;
	thread.has_program = true;
	thread.counts_len = 0;
}

inline void function_started(std::string_view name)
{
	char text[128]; /* more is not kept */

	text_set(text, sizeof(text), name);
	ttmem_scope_push(text, 0);
	this_thread.functions++;
}

inline void function_ended(bool is_all)
{
	Thread &thread = this_thread;

	/* What began before we came is not ours to end. */
	if (!thread.functions)
		return;
	do {
		ttmem_scope_pop();
		thread.functions--;
	} while (is_all && thread.functions);
	if (thread.functions < thread.program_functions)
		thread.has_program = false;
}

/* An exception may leave all functions of the thread at once. */
template <class Abort> bool is_end_of_all(const std::any &output)
{
	if constexpr (requires { sizeof(Abort); }) {
		const auto *abort = std::any_cast<Abort>(&output);

		return abort && abort->unwind_all;
	} else {
		return false;
	}
}

/* -- the recorder ---------------------------------------------------------------- */

template <class Call> void quietly(Call call) noexcept
{
	if (!ttmem_enabled())
		return;
	try {
		call();
	} catch (...) {
	}
}

template <class> struct Second;
template <class R, class C, class A, class B> struct Second<R (C::*)(A, B)> {
	using type = B;
};

template <bool Everywhere> class Recorder;

inline bool is_recorder(const rt::IGraphProcessor &processor);

/* Whether this thread's list has one: clear() may have taken it. */
inline bool is_attached()
{
	for (const auto &processor :
		rt::GraphTracker::instance().get_processors())
		if (processor && is_recorder(*processor))
			return true;
	return false;
}

#if defined(__clang__)
#pragma clang diagnostic push
/* Not every version has all of these to override. */
#pragma clang diagnostic ignored "-Winconsistent-missing-override"
#pragma clang diagnostic ignored "-Wsuggest-override"
#elif defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsuggest-override"
#endif

/*
 * `Everywhere`: registered for all threads. Some versions tell such a one of buffers
 * alone, so one more is on the list of each thread that asked. Of the two, the first
 * takes the buffers; the rest is for the second where there is one.
 */
template <bool Everywhere> struct Turn {
	template <class Call> static void buffers(Call call) noexcept
	{
		quietly([&] {
			if (Everywhere || !process().everywhere.load())
				call();
		});
	}

	template <class Call> static void rest(Call call) noexcept
	{
		quietly([&] {
			if (!Everywhere || !is_attached())
				call();
		});
	}
};

/* What is in memory: buffers and CBs. */
template <bool Everywhere> class MemoryRecorder : public rt::IGraphProcessor
{
	using turn = Turn<Everywhere>;

      public:
	/* No capture: the runtime must go on as if nobody listened. */
	virtual bool is_capture_processor() const
	{
		return false;
	}

	void track_allocate(const rt::Buffer *buffer) override
	{
		turn::buffers([&] {
			if (buffer)
				buffer_allocated(*buffer);
		});
	}

	void track_deallocate(rt::Buffer *buffer) override
	{
		turn::buffers([&] {
			if (buffer)
				buffer_freed(*buffer);
		});
	}

	void track_allocate_cb(const rt::CoreRangeSet &cores, uint64_t address,
		uint64_t size, bool is_globally_allocated,
		const rt::IDevice *device) override
	{
		turn::rest([&] {
			if (process().cbs)
				cb_allocated(cores, address, size,
					is_globally_allocated, device);
		});
	}

	void track_deallocate_cb(const rt::IDevice *device) override
	{
		turn::rest([&] {
			if (process().cbs)
				cbs_freed(device);
		});
	}
};

/* And what it is for: programs and functions. */
template <bool Everywhere>
class Recorder final : public MemoryRecorder<Everywhere>
{
	using turn = Turn<Everywhere>;
	using Arguments = typename Second<
		decltype(&rt::IGraphProcessor::track_function_start)>::type;

      public:
	void track_program(rt::Program *program, const rt::IDevice *) override
	{
		turn::rest([&] {
			if (program)
				program_tracked(*program);
		});
	}

	void track_function_start(std::string_view name, Arguments) override
	{
		turn::rest([&] {
			if (process().scopes)
				function_started(name);
		});
	}

	void track_function_end() override
	{
		turn::rest([] { function_ended(false); });
	}

	void track_function_end(const std::any &output) override
	{
		turn::rest([&] {
			function_ended(
				is_end_of_all<rt::GraphFunctionAbort>(output));
		});
	}
};

#if defined(__clang__)
#pragma clang diagnostic pop
#elif defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/* Ours as well as the runtime's: no list that ends takes it along. */
template <bool Everywhere>
const std::shared_ptr<rt::IGraphProcessor> &recorder()
{
	static const auto
		*const immortal = new std::shared_ptr<rt::IGraphProcessor>(
			std::make_shared<Recorder<Everywhere>>());

	return *immortal;
}

/* By type: each shared object that includes this has statics of its own. */
inline bool is_recorder(const rt::IGraphProcessor &processor)
{
	return typeid(processor) == typeid(Recorder<false>);
}

} // namespace ttmem::metal::detail

#endif

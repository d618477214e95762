/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the runtime's events into hooks, and has the listener that receives them: part
 * of ttmem_tt_metal.hpp.
 */
#ifndef TTMEM_TT_METAL_RECORDER_HPP
#define TTMEM_TT_METAL_RECORDER_HPP

#include <algorithm>
#include <any>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
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

/* A device, or the devices of a mesh; never destroyed. */
struct Place {
	uint32_t handle; /* device or mesh */
	std::vector<uint32_t> members;

	bool is_mesh() const
	{
		return members.size() > 1;
	}

	bool has(uint32_t device) const
	{
		return std::find(members.begin(), members.end(), device) !=
			members.end();
	}
};

/* What was told about a device. */
enum : uint8_t {
	TOLD_NOTHING = 0,
	TOLD_SIZES = 1,
	TOLD_CHIP = 2
};

struct Process {
	std::atomic<bool> everywhere{ false };
	std::atomic<bool> cbs{ true };
	std::atomic<bool> scopes{ true };
	/* By logical id. `planned`: 1 + handle of the last CB; 0: no CB is live. */
	std::array<std::atomic<uint8_t>, devices_max> told{};
	std::array<std::atomic<uint64_t>, devices_max> planned{};
	/* Changes when a mesh is closed; when a program is destroyed. */
	std::atomic<uint32_t> closes{ 0 };
	std::atomic<uint32_t> destructions{ 0 };

	std::mutex lock;                               /* of everything below */
	std::unordered_map<int, const Place *> meshes; /* by the mesh's id */
	std::map<std::vector<uint32_t>, const Place *> places; /* by members */
	std::unordered_map<uint64_t, std::vector<uint32_t>> programs;
	/* Buffers that were never allocated: of captures without dispatch. */
	std::unordered_set<uint64_t> suppressed;
};

inline Process &process()
{
	static Process *const immortal = new Process;

	return *immortal;
}

/* Needs no destructor, so that it is there until the thread is gone. */
struct Thread {
	/* A device that was looked up; the type and id show a reused address. */
	struct Known {
		const rt::IDevice *device;
		const std::type_info *type;
		const Place *place;
		int id;
		uint32_t closes;
	};
	struct Cores {
		uint64_t hash;
		uint64_t ranges;
		uint32_t handle;
	};
	/* A program's kernels, as they were loaded last. */
	struct Loaded {
		uint64_t program;
		uint64_t size;
		const Place *place;
		uint32_t cores;
		uint32_t flags;
		enum ttmem_kernel_type type;
		uint32_t destructions;
	};
	struct Count {
		uint32_t device;
		uint32_t cbs;
	};
	/* A function of the runtime that has begun. */
	struct Function {
		uintptr_t frame; /* stack pointer where it began */
		uint32_t depth;  /* of scopes, before it */
		bool is_framed; /* its caller's frame lasts as long as it does */
	};

	std::array<Known, 8> known;
	std::array<Cores, 64> cores;
	std::array<Loaded, 64> loaded;

	uint64_t program; /* the last one tracked, if has_program */
	const Place *program_place;
	uint32_t program_functions; /* under way when it was tracked */
	bool has_program;
	uint32_t counts_len;
	std::array<Count, 64> counts; /* CBs of it so far, by device */
	/* Hashes of those that were recorded on the whole mesh, by number. */
	uint32_t shapes_len;
	std::array<uint64_t, 128> shapes;

	uint32_t functions; /* may be more than fit */
	std::array<Function, 64> open;
};

inline thread_local constinit Thread this_thread{};

/* -- devices and meshes ---------------------------------------------------------- */

/* Tells sizes and chip once; what the runtime does not tell is unknown. */
inline void device_tell(const rt::IDevice &device, const rt::IDevice &owner,
	bool anew, uint64_t chip_id, uint64_t pci_address,
	std::string_view board)
{
	uint8_t level = chip_id == TTMEM_UNKNOWN ? TOLD_SIZES : TOLD_CHIP;
	uint32_t id = logical_id(device);
	struct ttmem_device_info info;

	if (id >= devices_max)
		return;
	/* relaxed: told twice at worst */
	if (!anew &&
		process().told[id].load(std::memory_order_relaxed) >= level)
		return;
	process().told[id].store(level, std::memory_order_relaxed);
	ttmem_device_info_init(&info, id);
	info.chip_id = chip_id;
	info.pci_address = pci_address;
	text_set(info.board, sizeof(info.board), board);
	try {
		capacities_get(device, owner, info);
	} catch (...) {
	}
	ttmem_device_open(&info);
}

inline void members_tell(const MeshDevice &mesh)
{
	const auto members = mesh.get_devices();
	std::vector<uint64_t> chips;
	std::size_t i;

	try {
		chips = chip_ids(mesh);
	} catch (...) {
	}
	for (i = 0; i < members.size(); i++)
		if (members[i])
			device_tell(*members[i], mesh, false,
				i < chips.size() ? chips[i] : TTMEM_UNKNOWN,
				TTMEM_UNKNOWN, "");
}

/* The place of these devices; the same devices have one place. */
inline const Place *place_make(std::vector<uint32_t> members)
{
	std::lock_guard<std::mutex> held(process().lock);

	std::sort(members.begin(), members.end());
	members.erase(
		std::unique(members.begin(), members.end()), members.end());
	auto &place = process().places[members];

	if (!place && !members.empty()) {
		uint32_t handle = members.size() == 1 ?
			members[0] :
			ttmem_mesh_open(members.data(), members.size());

		/* Off: the next event tries again. */
		if (handle != UINT32_MAX)
			place = new Place{ handle, std::move(members) };
	}
	return place;
}

inline const Place *mesh_find(const MeshDevice &mesh, bool is_new)
{
	std::vector<uint32_t> ids;
	const Place *place;
	int id = mesh.id();

	{
		std::lock_guard<std::mutex> held(process().lock);
		auto found = process().meshes.find(id);

		if (found != process().meshes.end())
			return found->second;
	}
	for (const rt::IDevice *member : mesh.get_devices())
		if (member)
			ids.push_back(logical_id(*member));
	place = place_make(std::move(ids));
	if (!is_new)
		return place;
	members_tell(mesh);
	if (place) {
		std::lock_guard<std::mutex> held(process().lock);

		process().meshes[id] = place;
	}
	return place;
}

/* nullptr: no device of this host. `is_new`: its devices are told if they were not. */
inline const Place *place_of(const rt::IDevice *device, bool is_new = true)
{
	if (!device)
		return nullptr;

	const std::type_info *type = &typeid(*device);
	Thread::Known &known = this_thread.known[(reinterpret_cast<uintptr_t>(
							  device) >>
							 6) %
		8];
	uint32_t closes = process().closes.load(std::memory_order_acquire);
	int id = device->id();
	const Place *place;

	if (known.device == device && known.type == type && known.id == id &&
		known.closes == closes)
		return known.place;
	if (const auto *mesh = dynamic_cast<const MeshDevice *>(device)) {
		place = mesh_find(*mesh, is_new);
	} else {
		if (is_new)
			device_tell(*device, *device, false, TTMEM_UNKNOWN,
				TTMEM_UNKNOWN, "");
		place = place_make({ logical_id(*device) });
	}
	if (place && is_new)
		known = { device, type, place, id, closes };
	return place;
}

/* The place of a part of a mesh; without a view, that of the mesh. */
template <class Mesh, class Range>
const Place *place_of_part(const Mesh &mesh, const Range &range)
{
	if constexpr (requires { mesh.get_view().get_devices(range); }) {
		const Place *whole = place_of(&mesh);
		const auto devices = mesh.get_view().get_devices(range);
		std::vector<uint32_t> ids;

		if (!whole || devices.size() == whole->members.size())
			return whole;
		for (const rt::IDevice *device : devices)
			if (device)
				ids.push_back(logical_id(*device));
		return place_make(std::move(ids));
	} else {
		return place_of(&mesh);
	}
}

/* After the close, so that what is told next begins anew. */
inline void place_forget(const rt::IDevice &device, const Place &place)
{
	bool is_mesh = dynamic_cast<const MeshDevice *>(&device) != nullptr;

	if (is_mesh) {
		std::lock_guard<std::mutex> held(process().lock);

		process().meshes.erase(device.id());
	}
	for (uint32_t member : place.members)
		if (member < devices_max) {
			process().told[member].store(TOLD_NOTHING);
			process().planned[member].store(0);
		}
	process().closes.fetch_add(1, std::memory_order_release);
}

/* -- functions -------------------------------------------------------------------- */

/* Ends those from number `left` on. */
inline void functions_cut(uint32_t left)
{
	Thread &thread = this_thread;

	if (left >= thread.functions)
		return;
	if (left < thread.open.size())
		ttmem_scope_pop_to(thread.open[left].depth);
	thread.functions = left;
	if (thread.functions < thread.program_functions)
		thread.has_program = false;
}

/*
 * Ends the functions that an exception left: those whose caller's frame is gone,
 * because the stack is shorter than that now. README.md has the rule.
 */
inline void functions_leave(uintptr_t frame)
{
	Thread &thread = this_thread;
	uint32_t left = thread.functions, i = left;

	if (!left || left > thread.open.size())
		return;
	for (; i; i--) {
		const Thread::Function &function = thread.open[i - 1];

		if (!function.is_framed)
			continue;
		if (function.frame > frame)
			break;
		left = i - 1;
	}
	functions_cut(left);
}

inline void function_started(
	std::string_view name, bool is_framed, uintptr_t frame)
{
	Thread &thread = this_thread;
	char text[128]; /* more is not kept */

	functions_leave(frame);
	if (thread.functions < thread.open.size()) {
		text_set(text, sizeof(text), name);
		thread.open[thread.functions] = { frame,
			ttmem_scope_push(text, 0), is_framed };
	}
	thread.functions++;
}

/* Of those that are open it is the one that began nearest to where this one ends. */
inline void function_ended(bool is_all, uintptr_t frame)
{
	Thread &thread = this_thread;
	uint32_t best, i;
	auto distance = [&](uint32_t at) {
		uintptr_t began = thread.open[at].frame;

		return began > frame ? began - frame : frame - began;
	};

	/* What began before we came is not ours to end. */
	if (!thread.functions)
		return;
	if (is_all) {
		functions_cut(0);
	} else if (thread.functions > thread.open.size()) {
		thread.functions--;
	} else {
		best = thread.functions - 1;
		for (i = best; i; i--)
			if (distance(i - 1) < distance(best))
				best = i - 1;
		functions_cut(best);
	}
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

/* -- buffers ---------------------------------------------------------------------- */

/* With a hook that answers for the allocator nothing has an address. */
inline bool is_without_dispatch(uint64_t address)
{
	return address == 0 &&
		rt::GraphTracker::instance().get_hook() != nullptr;
}

inline uint64_t hash_add(uint64_t hash, uint64_t word)
{
	return (hash ^ word ^ (word >> 32)) * 0x100000001b3u;
}

/* Of ranges or of cores. */
template <class Cores> uint64_t cores_hash(const Cores &cores)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (const auto &c : cores)
		if constexpr (requires { c.start_coord.x; }) {
			hash = hash_add(hash, c.start_coord.x);
			hash = hash_add(hash, c.start_coord.y);
			hash = hash_add(hash, c.end_coord.x);
			hash = hash_add(hash, c.end_coord.y);
		} else {
			hash = hash_add(hash, c.x);
			hash = hash_add(hash, c.y);
		}
	return hash;
}

/* The handle of these cores. */
template <class Cores> uint32_t core_set_of(const Cores &cores)
{
	uint64_t hash = cores_hash(cores), ranges = cores.size();
	Thread::Cores &known = this_thread.cores[hash % 64];

	if (!known.handle || known.hash != hash || known.ranges != ranges)
		known = { hash, ranges, core_set_make(cores) };
	return known.handle;
}

inline void buffer_allocated(const rt::Buffer &buffer)
{
	auto kind = static_cast<enum ttmem_kind>(buffer.buffer_type());
	uint64_t id = buffer_id(buffer), address = buffer.address();
	struct ttmem_buffer info;

	if (is_without_dispatch(address)) {
		std::lock_guard<std::mutex> held(process().lock);

		process().suppressed.insert(id);
		return;
	}
	const Place *place = place_of(buffer.device());

	if (!place)
		return;
	ttmem_buffer_init(&info, place->handle, kind);
	info.id = id;
	info.address = address;
	info.bytes = buffer.size();
	/* Without its figures it is still there. */
	try {
		info.flags = buffer_flags(buffer);
		banks_get(buffer, info);
		if (kind == TTMEM_L1 || kind == TTMEM_L1_SMALL)
			shard_cores(buffer, [&](const auto &cores) {
				info.cores = core_set_of(cores);
			});
	} catch (...) {
	}
	ttmem_buffer_alloc(&info);
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
	/* It may be late: a closed device must not seem to be open again. */
	if (const Place *place = place_of(buffer.device(), false))
		ttmem_free(place->handle, kind, id);
}

/* -- CBs -------------------------------------------------------------------------- */

/*
 * Marks what is recorded meanwhile as persistent: CBs and kernels last as long as
 * their program, which the program cache may keep to the end of the process.
 */
class ProgramScope
{
      public:
	ProgramScope()
		: depth(ttmem_scope_push("program", TTMEM_SCOPE_PERSISTENT))
	{
	}
	~ProgramScope()
	{
		ttmem_scope_pop_to(depth);
	}
	ProgramScope(const ProgramScope &) = delete;
	ProgramScope &operator=(const ProgramScope &) = delete;

      private:
	uint32_t depth;
};

/*
 * A program's CBs come in the same order whenever it is planned, so they are known by
 * their number since the program was tracked. Too many devices: by their hash.
 */
inline uint64_t cb_number(uint32_t device, uint64_t hash)
{
	Thread &thread = this_thread;
	uint32_t i;

	for (i = 0; i < thread.counts_len; i++)
		if (thread.counts[i].device == device)
			return thread.counts[i].cbs++;
	if (i == thread.counts.size())
		return hash;
	thread.counts[i] = { device, 1 };
	thread.counts_len++;
	return 0;
}

/* After the CB: no CB of ours is live on a member for which 0 is found. */
inline void cb_is_planned(const Place &place)
{
	uint64_t planned = static_cast<uint64_t>(place.handle) + 1;

	for (uint32_t member : place.members)
		if (member < devices_max &&
			process().planned[member].load() != planned)
			process().planned[member].store(planned);
}

inline void cb_record(const Place &place, uint64_t program, uint64_t cb,
	const rt::CoreRangeSet &cores, uint64_t address, uint64_t size,
	uint32_t flags)
{
	ProgramScope scope;

	ttmem_cb_alloc(place.handle, program, cb, address, size,
		core_set_of(cores.ranges()), flags);
	cb_is_planned(place);
}

/*
 * The runtime reports a CB once for each member of the mesh that its program was
 * tracked on. The report for the first member records it on the mesh; the others only
 * confirm it.
 */
inline void cb_allocated(const rt::CoreRangeSet &cores, uint64_t address,
	uint64_t size, uint32_t flags, const rt::IDevice *device)
{
	Thread &thread = this_thread;

	if (is_without_dispatch(address))
		return;

	uint64_t hash = hash_add(cores_hash(cores.ranges()), address);
	const Place *place = place_of(device), *mesh = thread.program_place;

	if (!place)
		return;
	if (!thread.has_program) {
		/* Planned anew, it is where it was. */
		cb_record(*place, 0, hash, cores, address, size, flags);
		return;
	}

	uint32_t member = place->members[0];
	uint64_t number = cb_number(place->handle, hash);

	if (!place->is_mesh() && mesh && mesh->is_mesh() && mesh->has(member)) {
		hash = hash_add(hash_add(hash, size), flags);
		if (member != mesh->members[0]) {
			if (number < thread.shapes_len &&
				thread.shapes[number] == hash)
				return;
		} else if (number == thread.shapes_len &&
			number < thread.shapes.size()) {
			thread.shapes[thread.shapes_len++] = hash;
			place = mesh;
		}
	}
	cb_record(*place, thread.program, number, cores, address, size, flags);
}

/*
 * Looks at all objects, and comes once per program and member: not if there is
 * nothing. A CB that was planned on a mesh ends on all its members together.
 */
inline void cbs_freed(const rt::IDevice *device)
{
	const Place *place = place_of(device, false);
	uint64_t planned = 0;

	if (!place)
		return;
	for (uint32_t member : place->members) {
		uint64_t last = member < devices_max ?
			process().planned[member].exchange(0) :
			static_cast<uint64_t>(place->handle) + 1;

		planned = last ? last : planned;
	}
	if (!planned)
		return;
	if (!place->is_mesh()) {
		uint32_t handle = static_cast<uint32_t>(planned - 1);

		for (auto &other : process().planned) {
			uint64_t expected = planned;

			if (handle != place->handle)
				other.compare_exchange_strong(expected, 0);
		}
		ttmem_cb_free_all(handle);
	} else {
		ttmem_cb_free_all(place->handle);
	}
}

/* -- programs --------------------------------------------------------------------- */

/*
 * All memory of a program on its cores, with the addresses that it got. Other memory
 * than CBs has numbers of its own, above those of CBs.
 */
template <class Implementation>
void program_record(const Place &place, uint64_t id, Implementation &program)
{
	uint64_t scratchpads = UINT64_C(2) << 32;

	for (const auto &cb : program.circular_buffers())
		cb_record(place, id, cb->id(), cb->core_ranges(), cb->address(),
			cb->size(),
			cb->globally_allocated() ? TTMEM_CB_BORROWED : 0);
	if constexpr (requires {
			      program.dataflow_buffers();
			      program.get_kernels(0);
		      }) {
		for (const auto &dfb : program.dataflow_buffers()) {
			/* It shares the memory of another one. */
			if (dfb->alias_primary_id.has_value())
				continue;
			cb_record(place, id, (UINT64_C(1) << 32) | dfb->id,
				dfb->core_ranges,
				dfb->core_lookup_.empty() ?
					0 :
					dfb->uniform_alloc_addr(),
				dfb->total_size(),
				TTMEM_CB_DATAFLOW |
					(dfb->borrows_memory() ?
							TTMEM_CB_BORROWED :
							0));
		}
		/* Those of Tensix cores. */
		for (const auto &[handle, kernel] : program.get_kernels(0))
			for (const auto &part :
				kernel->scratchpad_binding_handles())
				cb_record(place, id, scratchpads++,
					kernel->core_range_set(),
					part.allocated_address, part.size_bytes,
					TTMEM_CB_SCRATCHPAD);
	}
}

inline void program_tracked(
	const rt::Program &program, const rt::IDevice *device)
{
	Thread &thread = this_thread;

	thread.program = program_id(program);
	thread.program_place = place_of(device);
	thread.program_functions = thread.functions;
	thread.has_program = true;
	thread.counts_len = 0;
	thread.shapes_len = 0;
}

/* Remembers where it is, so that its end needs no device. */
inline void program_meet(uint64_t program, const Place &place)
{
	std::lock_guard<std::mutex> held(process().lock);
	auto &handles = process().programs[program];

	if (std::find(handles.begin(), handles.end(), place.handle) ==
		handles.end())
		handles.push_back(place.handle);
}

inline void program_ended(uint64_t program)
{
	std::vector<uint32_t> handles;

	process().destructions.fetch_add(1, std::memory_order_release);
	{
		std::lock_guard<std::mutex> held(process().lock);
		auto found = process().programs.find(program);

		if (found == process().programs.end())
			return;
		handles = std::move(found->second);
		process().programs.erase(found);
	}
	for (uint32_t handle : handles)
		ttmem_program_destroy(handle, program);
}

/* Where this thread remembers the program, or another one. */
inline Thread::Loaded &loaded_slot(uint64_t program)
{
	uint64_t hash = program >> 4 ^ program >> 10 ^ program >> 16;

	return this_thread.loaded[hash % this_thread.loaded.size()];
}

/* What this thread loaded last of that program; nullptr: not known. */
inline Thread::Loaded *kernels_known(uint64_t program)
{
	Thread::Loaded &known = loaded_slot(program);

	return known.place && known.program == program &&
			known.destructions ==
				process().destructions.load(
					std::memory_order_acquire) ?
		&known :
		nullptr;
}

inline void kernels_record(const Place &place, uint64_t program,
	enum ttmem_kernel_type type, uint64_t size, uint32_t cores,
	uint32_t flags)
{
	Thread::Loaded *known = kernels_known(program);

	if (known && known->place == &place && known->type == type &&
		known->size == size && known->cores == cores &&
		known->flags == flags) {
		/* A dispatch. */
		ttmem_kernel_load(
			place.handle, program, type, size, cores, flags);
		return;
	}
	ProgramScope scope;

	program_meet(program, place);
	ttmem_kernel_load(place.handle, program, type, size, cores, flags);
	loaded_slot(program) = { program, size, &place, cores, flags, type,
		process().destructions.load(std::memory_order_acquire) };
}

/* -- the recorder ---------------------------------------------------------------- */

/* How much higher the stack has to be to be sure that a frame is gone. */
inline constexpr uintptr_t frame_slack = 1024;

/* Where the function that calls this has its frame: the stack grows downwards. */
#define TTMEM_TT_METAL_FRAME()                                                 \
	(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)))

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
		uintptr_t frame = TTMEM_TT_METAL_FRAME() - frame_slack;

		turn::buffers([&] {
			functions_leave(frame);
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
		cb(cores, address, size,
			is_globally_allocated ? TTMEM_CB_BORROWED : 0, device);
	}

	/* The next two are overrides where the version has them. */
	void track_allocate_dataflow_buffer(const rt::CoreRangeSet &cores,
		uint64_t address, uint64_t size, bool borrows_memory,
		const rt::IDevice *device)
	{
		cb(cores, address, size,
			TTMEM_CB_DATAFLOW |
				(borrows_memory ? TTMEM_CB_BORROWED : 0),
			device);
	}

	void track_allocate_scratchpad(const rt::CoreRangeSet &cores,
		uint64_t address, uint64_t size, const rt::IDevice *device)
	{
		cb(cores, address, size, TTMEM_CB_SCRATCHPAD, device);
	}

	void track_deallocate_cb(const rt::IDevice *device) override
	{
		turn::rest([&] {
			if (process().cbs)
				cbs_freed(device);
		});
	}

      private:
	static void cb(const rt::CoreRangeSet &cores, uint64_t address,
		uint64_t size, uint32_t flags, const rt::IDevice *device)
	{
		turn::rest([&] {
			if (process().cbs)
				cb_allocated(
					cores, address, size, flags, device);
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
	void track_program(
		rt::Program *program, const rt::IDevice *device) override
	{
		turn::rest([&] {
			if (program)
				program_tracked(*program, device);
		});
	}

	void track_function_start(
		std::string_view name, Arguments arguments) override
	{
		uintptr_t frame = TTMEM_TT_METAL_FRAME();

		/* Without arguments: Python's, whose caller returns at once. */
		turn::rest([&] {
			if (process().scopes)
				function_started(
					name, !arguments.empty(), frame);
		});
	}

	void track_function_end() override
	{
		uintptr_t frame = TTMEM_TT_METAL_FRAME();

		turn::rest([&] { function_ended(false, frame); });
	}

	void track_function_end(const std::any &output) override
	{
		uintptr_t frame = TTMEM_TT_METAL_FRAME();

		turn::rest([&] {
			function_ended(
				is_end_of_all<rt::GraphFunctionAbort>(output),
				frame);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for the part of the runtime that the adapter meets: devices that exist
 * in name only, an allocator that counts upwards, and a graph tracker. It is written
 * for the tests; it has the names of the real interface and nothing else of it.
 *
 * STAND_IN_NEW: the interface of the development version, with captures that can be
 * told from listeners, typed arguments, dataflow buffers, scratchpads, chip ids (in
 * stand_in_new/internal) and texts about allocations. STAND_IN_TELLS_ALL: with aborted
 * functions and processors that hear every thread, which were proposed and are in no
 * version at hand.
 */
#ifndef STAND_IN_HPP
#define STAND_IN_HPP

#include <any>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#ifndef STAND_IN_NEW
#define STAND_IN_NEW 0
#endif
#ifndef STAND_IN_TELLS_ALL
#define STAND_IN_TELLS_ALL 0
#endif

namespace tt
{

enum class ARCH {
	WORMHOLE_B0 = 2
};

inline std::string arch_to_str(ARCH)
{
	return "wormhole_b0";
}

namespace tt_fabric
{
struct FabricNodeId {
	uint32_t chip_id;
};
} // namespace tt_fabric

namespace tt_metal
{

enum class BufferType {
	DRAM,
	L1,
	SYSTEM_MEMORY,
	L1_SMALL,
	TRACE
};
enum class HalMemType : uint8_t {
	L1,
	DRAM
};

struct CoreCoord {
	std::size_t x = 0;
	std::size_t y = 0;
};

struct CoreRange {
	CoreCoord start_coord;
	CoreCoord end_coord;
};

class CoreRangeSet
{
      public:
	CoreRangeSet(std::vector<CoreRange> ranges) : ranges_(std::move(ranges))
	{
	}

	const std::vector<CoreRange> &ranges() const
	{
		return ranges_;
	}

	uint32_t num_cores() const
	{
		std::size_t cores = 0;

		for (const auto &r : ranges_)
			cores += (r.end_coord.x - r.start_coord.x + 1) *
				(r.end_coord.y - r.start_coord.y + 1);
		return static_cast<uint32_t>(cores);
	}

      private:
	std::vector<CoreRange> ranges_;
};

class Allocator
{
      public:
	uint64_t next = 0x10000;

	uint32_t get_num_banks(const BufferType &type) const
	{
		if (type == BufferType::SYSTEM_MEMORY)
			throw std::runtime_error("no banks of the host");
		return type == BufferType::DRAM ? 12 : 64;
	}

	uint64_t get_bank_size(const BufferType &type) const
	{
		return type == BufferType::TRACE ? 1 << 20 :
			type == BufferType::DRAM ? 1 << 30 :
						   1 << 15;
	}

	uint64_t get_base_allocator_addr(const HalMemType &type) const
	{
		return type == HalMemType::L1 ? 0x18000 : 0x400;
	}

	std::size_t get_worker_l1_size() const
	{
		return 0x160000;
	}
};

class IDevice
{
      public:
	explicit IDevice(int id) : id_(id)
	{
	}
	virtual ~IDevice() = default;

	int id() const
	{
		return id_;
	}
	ARCH arch() const
	{
		return ARCH::WORMHOLE_B0;
	}
	int num_dram_channels() const
	{
		return 12;
	}
	uint32_t dram_size_per_channel() const
	{
		return 1u << 30;
	}
	uint32_t l1_size_per_core() const
	{
		return 1499136;
	}
	CoreCoord compute_with_storage_grid_size() const
	{
		return { 8, 8 };
	}
	const std::unique_ptr<Allocator> &allocator() const
	{
		return allocator_;
	}
	uint32_t get_trace_buffers_size() const
	{
		return traces_size;
	}

	uint32_t traces_size = 0;

      private:
	int id_;
	std::unique_ptr<Allocator> allocator_ = std::make_unique<Allocator>();
};

namespace distributed
{

/* Counts from the first member on: a part of the mesh. */
struct MeshCoordinateRange {
	std::size_t devices;
};

class MeshDeviceView
{
      public:
	explicit MeshDeviceView(const std::vector<IDevice *> &members)
		: members_(members)
	{
	}

	std::vector<IDevice *> get_devices(
		const MeshCoordinateRange &range) const
	{
		return { members_.begin(),
			members_.begin() +
				static_cast<std::ptrdiff_t>(range.devices) };
	}

	std::vector<tt_fabric::FabricNodeId> get_fabric_node_ids() const
	{
		std::vector<tt_fabric::FabricNodeId> nodes;

		for (const IDevice *member : members_)
			nodes.push_back(
				{ member ? static_cast<uint32_t>(member->id()) :
					   99 });
		return nodes;
	}

      private:
	std::vector<IDevice *> members_;
};

class MeshDevice : public IDevice
{
      public:
	/* Ids of meshes are the numbers of chips, too. */
	MeshDevice(
		int id, std::vector<IDevice *> members, bool is_submesh = false)
		: IDevice(id), members_(std::move(members)), view_(members_),
		  is_submesh_(is_submesh)
	{
	}

	std::vector<IDevice *> get_devices() const
	{
		return members_;
	}
	const MeshDeviceView &get_view() const
	{
		return view_;
	}
	bool is_parent_mesh() const
	{
		return !is_submesh_;
	}

      private:
	std::vector<IDevice *> members_;
	MeshDeviceView view_;
	bool is_submesh_;
};

} // namespace distributed

struct KernelGroup {
	CoreRangeSet core_ranges;
};

struct ProgramConfig {
	uint32_t kernel_text_size;
};

class ProgramImpl
{
      public:
	const ProgramConfig &get_program_config(uint32_t) const
	{
		return config;
	}
	const std::vector<std::shared_ptr<KernelGroup>> &get_kernel_groups(
		uint32_t) const
	{
		return groups;
	}

	ProgramConfig config{ 2000 };
	std::vector<std::shared_ptr<KernelGroup>> groups;
};

class Program
{
      public:
	Program();
	ProgramImpl &impl() const
	{
		return *impl_;
	}

      private:
	std::shared_ptr<ProgramImpl> impl_;
};

struct ShardSpec {
	CoreRangeSet grid() const
	{
		return cores;
	}

	CoreRangeSet cores;
};

class Buffer
{
      public:
	Buffer(IDevice *device, uint64_t size, BufferType type,
		bool bottom_up = true, uint64_t page_size = 4096);
	/* Sharded. */
	Buffer(IDevice *device, uint64_t size, BufferType type,
		const CoreRangeSet &cores);
	~Buffer();
	Buffer(const Buffer &) = delete;
	Buffer &operator=(const Buffer &) = delete;

	IDevice *device() const
	{
		return device_;
	}
	uint64_t size() const
	{
		return size_;
	}
	uint32_t address() const
	{
		return address_;
	}
	BufferType buffer_type() const
	{
		return type_;
	}
	uint64_t aligned_size_per_bank() const
	{
		uint64_t banks = shards_ ?
			shards_->num_cores() :
			device_->allocator()->get_num_banks(type_);

		return ((size_ + banks - 1) / banks + 31) / 32 * 32;
	}
	std::optional<uint32_t> num_cores() const
	{
		return shards_ ? std::optional(shards_->num_cores()) :
				 std::nullopt;
	}
	bool has_shard_spec() const
	{
		return shards_.has_value();
	}
	ShardSpec shard_spec() const
	{
		return { shards_.value() };
	}
	bool bottom_up() const
	{
		return bottom_up_;
	}
	uint64_t page_size() const
	{
		return page_size_;
	}
	std::size_t unique_id() const
	{
		return id_;
	}

      private:
	void allocate();

	IDevice *device_;
	uint64_t size_;
	BufferType type_;
	bool bottom_up_ = true;
	uint64_t page_size_ = 4096;
	std::optional<CoreRangeSet> shards_;
	uint32_t address_ = 0;
	std::size_t id_;
};

/* -- the tracker ---------------------------------------------------------------- */

struct TrackedArgument {
	std::any value;
};

#if STAND_IN_TELLS_ALL
struct GraphFunctionAbort {
	std::string reason;
	bool unwind_all = false;
};
#endif

#if STAND_IN_NEW
using Argument = TrackedArgument;
#else
using Argument = std::any;
#endif

class IGraphProcessor
{
      public:
#if STAND_IN_NEW
	virtual bool is_capture_processor() const
	{
		return true;
	}
#endif
	virtual void track_allocate(const Buffer *)
	{
	}
	virtual void track_deallocate(Buffer *)
	{
	}
	virtual void track_allocate_cb(
		const CoreRangeSet &, uint64_t, uint64_t, bool, const IDevice *)
	{
	}
#if STAND_IN_NEW
	virtual void track_allocate_dataflow_buffer(
		const CoreRangeSet &, uint64_t, uint64_t, bool, const IDevice *)
	{
	}
	virtual void track_allocate_scratchpad(
		const CoreRangeSet &, uint64_t, uint64_t, const IDevice *)
	{
	}
#endif
	virtual void track_deallocate_cb(const IDevice *)
	{
	}
	virtual void track_program(Program *, const IDevice *)
	{
	}
	virtual void track_function_start(std::string_view, std::span<Argument>)
	{
	}
	virtual void track_function_end()
	{
	}
	virtual void track_function_end(const std::any &)
	{
	}
	virtual ~IGraphProcessor() = default;
};

class IGraphHooks
{
      public:
	virtual bool hook_allocate(const Buffer *) = 0;
	virtual ~IGraphHooks() = default;
};

class GraphTracker
{
      public:
	using Processors = std::vector<std::shared_ptr<IGraphProcessor>>;

	static GraphTracker &instance();

	bool is_enabled() const;
	void push_processor(const std::shared_ptr<IGraphProcessor> &processor);
	void pop_processor();
	void clear();
	const Processors &get_processors() const;

	bool add_hook(const std::shared_ptr<IGraphHooks> &hook);
	void clear_hook();
	const std::shared_ptr<IGraphHooks> &get_hook() const;

	/* Tells who listens to this thread; buffers: to all threads, too. */
	void tell(bool is_buffer,
		const std::function<void(IGraphProcessor &)> &what);

	/* For stand_in_new. */
	bool add_background(const std::type_info &type,
		const std::function<std::shared_ptr<IGraphProcessor>()>
			&factory);

      private:
	std::shared_mutex lock_;
	Processors background_;
};

} // namespace tt_metal
} // namespace tt

#endif

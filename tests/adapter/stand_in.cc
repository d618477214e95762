/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the stand-in that is one for the whole program. */
#include "stand_in.hpp"

#include <algorithm>
#include <atomic>
#include <typeinfo>

namespace tt::tt_metal
{

Program::Program() : impl_(std::make_shared<ProgramImpl>())
{
}

static thread_local GraphTracker::Processors processors;
static thread_local std::shared_ptr<IGraphHooks> hooks;

static std::size_t next_id()
{
	static std::atomic<std::size_t> ids;

	return ++ids;
}

Buffer::Buffer(IDevice *device, uint64_t size, BufferType type, bool bottom_up,
	uint64_t page_size)
	: device_(device), size_(size), type_(type), bottom_up_(bottom_up),
	  page_size_(page_size), id_(next_id())
{
	allocate();
}

Buffer::Buffer(IDevice *device, uint64_t size, BufferType type,
	const CoreRangeSet &cores)
	: device_(device), size_(size), type_(type), shards_(cores),
	  id_(next_id())
{
	allocate();
}

void Buffer::allocate()
{
	if (!hooks || !hooks->hook_allocate(this)) {
		address_ = static_cast<uint32_t>(device_->allocator()->next);
		device_->allocator()->next += size_;
	}
	GraphTracker::instance().tell(
		true, [this](IGraphProcessor &p) { p.track_allocate(this); });
}

Buffer::~Buffer()
{
	GraphTracker::instance().tell(
		true, [this](IGraphProcessor &p) { p.track_deallocate(this); });
}

GraphTracker &GraphTracker::instance()
{
	static GraphTracker tracker;

	return tracker;
}

bool GraphTracker::is_enabled() const
{
#if STAND_IN_NEW
	return std::any_of(processors.begin(), processors.end(),
		[](const auto &p) { return p->is_capture_processor(); });
#else
	return !processors.empty();
#endif
}

void GraphTracker::push_processor(
	const std::shared_ptr<IGraphProcessor> &processor)
{
	processors.push_back(processor);
}

void GraphTracker::pop_processor()
{
	processors.pop_back();
}

void GraphTracker::clear()
{
	processors.clear();
}

const GraphTracker::Processors &GraphTracker::get_processors() const
{
	return processors;
}

bool GraphTracker::add_hook(const std::shared_ptr<IGraphHooks> &hook)
{
	if (hooks)
		return false;
	hooks = hook;
	return true;
}

void GraphTracker::clear_hook()
{
	hooks = nullptr;
}

const std::shared_ptr<IGraphHooks> &GraphTracker::get_hook() const
{
	return hooks;
}

void GraphTracker::tell(
	bool is_buffer, const std::function<void(IGraphProcessor &)> &what)
{
	for (const auto &processor : processors)
		what(*processor);
	if (!is_buffer && !STAND_IN_TELLS_ALL)
		return;
	std::shared_lock held(lock_);
	for (const auto &processor : background_)
		what(*processor);
}

bool GraphTracker::add_background(const std::type_info &type,
	const std::function<std::shared_ptr<IGraphProcessor>()> &factory)
{
	std::unique_lock held(lock_);

	for (const auto &processor : background_) {
		const IGraphProcessor &there = *processor;

		if (typeid(there) == type)
			return false;
	}
	background_.push_back(factory());
	return true;
}

} // namespace tt::tt_metal

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: runtime SCENARIO
 *
 * A program of the stand-in's runtime with the adapter in it. It stops at each sync,
 * for check_adapter.py to look at what ttmemd has seen, until it is told to go on. What
 * only the program itself can see is checked here: it ends with 1 then.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "ttmem_tt_metal.hpp"

using namespace tt::tt_metal;
using ttmem::metal::Coverage;

namespace
{

constexpr Coverage whole = STAND_IN_NEW ? Coverage::every_thread :
					  Coverage::this_thread;
const CoreRangeSet four(std::vector<CoreRange>{ { { 0, 0 }, { 1, 1 } } });
const CoreRangeSet ten(std::vector<CoreRange>{
	{ { 0, 0 }, { 7, 0 } }, { { 0, 1 }, { 1, 1 } } });

/* One more than is used, so that a mesh can have the number of a chip. */
std::unique_ptr<IDevice> chips[4] = { std::make_unique<IDevice>(0),
	std::make_unique<IDevice>(1), std::make_unique<IDevice>(2),
	std::make_unique<IDevice>(3) };

distributed::MeshDevice &mesh()
{
	static distributed::MeshDevice all(
		1, { chips[0].get(), chips[1].get(), nullptr, chips[2].get() });

	return all;
}

void sync(const char *name)
{
	char line[16];

	std::printf("sync %s\n", name);
	std::fflush(stdout);
	if (!std::fgets(line, sizeof(line), stdin))
		std::exit(3);
}

#define CHECK(claim)                                                           \
	((claim) ? (void)0 :                                                   \
		   (std::fprintf(stderr, "line %d: not so: %s\n", __LINE__,    \
			    #claim),                                           \
			   std::exit(1)))

GraphTracker &tracker()
{
	return GraphTracker::instance();
}

void cb(const CoreRangeSet &cores, uint64_t address, uint64_t size,
	bool is_borrowed, IDevice *device)
{
	tracker().tell(false, [&](IGraphProcessor &p) {
		p.track_allocate_cb(cores, address, size, is_borrowed, device);
	});
}

void cbs_end(IDevice *device)
{
	tracker().tell(false,
		[&](IGraphProcessor &p) { p.track_deallocate_cb(device); });
}

void program(Program &which, IDevice *device)
{
	tracker().tell(false,
		[&](IGraphProcessor &p) { p.track_program(&which, device); });
}

void begin(const char *name)
{
	tracker().tell(false,
		[&](IGraphProcessor &p) { p.track_function_start(name, {}); });
}

void end()
{
	tracker().tell(
		false, [](IGraphProcessor &p) { p.track_function_end(); });
}

void end(const std::any &output)
{
	tracker().tell(false,
		[&](IGraphProcessor &p) { p.track_function_end(output); });
}

/* -- scenarios ------------------------------------------------------------------ */

void buffers_of_a_mesh()
{
	auto shared = std::make_unique<Buffer>(&mesh(), 5000, BufferType::DRAM);
	auto own = std::make_unique<Buffer>(
		chips[2].get(), 3000, BufferType::L1);
	Buffer host(chips[0].get(), 700, BufferType::SYSTEM_MEMORY);

	sync("live");
	shared.reset();
	own.reset();
	sync("freed");
}

void borrowed_cbs()
{
	cb(four, 0x20000, 1000, false, chips[0].get());
	cb(ten, 0x90000, 3000, true, chips[0].get());
	sync("planned");
}

class NoDispatch : public IGraphHooks
{
      public:
	bool is_blocking = true;

	bool hook_allocate(const Buffer *) override
	{
		return is_blocking;
	}
};

void suppressed_captures()
{
	auto hook = std::make_shared<NoDispatch>();
	std::unique_ptr<Buffer> outlives;

	CHECK(tracker().add_hook(hook));
	{
		Buffer inside(&mesh(), 5000, BufferType::DRAM);

		outlives = std::make_unique<Buffer>(
			chips[0].get(), 5000, BufferType::L1);
		cb(four, 0, 1000, false, chips[0].get());
	}
	/* A hook may be there and not answer: that one is real. */
	hook->is_blocking = false;
	Buffer real(chips[0].get(), 64, BufferType::L1);
	tracker().clear_hook();
	sync("captured");
	outlives.reset();
	sync("outlived");
}

void other_threads()
{
	std::unique_ptr<Buffer> here = std::make_unique<Buffer>(
		chips[0].get(), 100, BufferType::DRAM);
	std::unique_ptr<Buffer> guarded, unguarded;

	std::thread([&] {
		ttmem::metal::ThreadGuard guard;
		ttmem::metal::ThreadGuard again;

		CHECK(tracker().get_processors().size() == 1);
		begin("guarded");
		guarded = std::make_unique<Buffer>(
			chips[0].get(), 1000, BufferType::DRAM);
		cb(four, 0x20000, 10, false, chips[0].get());
		here.reset();
		end();
	}).join();
	std::thread([&] {
		{
			ttmem::metal::ThreadGuard guard;
		}
		CHECK(tracker().get_processors().empty());
		begin("unguarded");
		unguarded = std::make_unique<Buffer>(
			chips[0].get(), 10000, BufferType::DRAM);
		cb(ten, 0x30000, 100, false, chips[0].get());
		end();
	}).join();
	sync("threads");
}

void all_cbs_of_a_device()
{
	Program first, second;

	program(first, &mesh());
	cb(four, 0x20000, 1000, false, &mesh());
	cb(four, 0x21000, 500, false, &mesh());
	program(second, &mesh());
	cb(four, 0x20000, 1000, false, &mesh());
	sync("planned");
	/* Planned anew, it is larger; the others are as they were. */
	program(first, chips[0].get());
	cb(four, 0x20000, 2000, false, chips[0].get());
	cb(four, 0x22000, 500, false, chips[0].get());
	sync("replanned");
	cbs_end(chips[0].get());
	cbs_end(chips[0].get());
	sync("one");
	cbs_end(&mesh());
	sync("all");
}

void cbs_without_programs()
{
	Program inner;

	begin("op");
	program(inner, chips[0].get());
	end();
	cb(four, 0x20000, 1000, false, chips[0].get());
	cb(ten, 0x20000, 1000, false, chips[0].get());
	/* In the same place: the same. */
	cb(four, 0x20000, 1200, false, chips[0].get());
	sync("planned");
}

void scopes()
{
	std::vector<std::unique_ptr<Buffer>> kept;
	auto keep = [&](uint64_t size) {
		kept.push_back(std::make_unique<Buffer>(
			chips[0].get(), size, BufferType::DRAM));
	};

	end(); /* began before we came */
	begin("ttnn.matmul");
	begin("ttnn.to_memory_config");
	keep(1);
	end();
	keep(2);
	end(std::any(3));
	keep(3);
	begin("outer");
	begin("thrown");
	begin("thrown too");
#if STAND_IN_NEW
	end(std::any(GraphFunctionAbort{ "an exception", false }));
	keep(4);
	end(std::any(GraphFunctionAbort{ "all of them", true }));
#else
	end();
	keep(4);
	end();
	end();
#endif
	keep(5);
	sync("scopes");
}

void call_sites()
{
	Program kernels;
	uint64_t id = ttmem::metal::program_id(kernels);
	auto survivor = std::make_unique<Buffer>(
		chips[1].get(), 256, BufferType::L1_SMALL);

	CHECK(id == ttmem::metal::program_id(kernels));
	ttmem::metal::device_opened(
		*chips[0], 0xabc, TTMEM_PCI_ADDRESS(0, 3, 0, 0), "n150");
	ttmem::metal::device_opened(*chips[1], 0xdef);
	ttmem::metal::kernels_loaded(
		mesh(), id, TTMEM_KERNEL_APPLICATION, 1000, 8);
	ttmem::metal::kernels_loaded(
		mesh(), id, TTMEM_KERNEL_APPLICATION, 1000, 8);
	ttmem::metal::kernels_loaded(
		*chips[0], id + 1, TTMEM_KERNEL_FABRIC, 57344, 16, false);
	ttmem::metal::cb_planned(*chips[0], id, 0, ten, 0x20000, 64, false);
	ttmem::metal::allocation_failed(
		*chips[0], BufferType::L1, 1 << 20, 4096);
	sync("called");
	ttmem::metal::program_destroyed(mesh(), id);
	ttmem::metal::device_closing(*chips[1]);
	sync("closed");
	survivor.reset();
	sync("late");
}

void events_by_call_site()
{
	ttmem::metal::install({ .cbs = false, .scopes = false });
	begin("ttnn.matmul");
	Buffer plain(chips[0].get(), 64, BufferType::L1);
	cb(four, 0x20000, 1000, false, chips[0].get());
	sync("without");
}

class Capture : public IGraphProcessor
{
      public:
	unsigned buffers = 0;

	void track_allocate(const Buffer *) override
	{
		buffers++;
	}
};

void captures()
{
	auto capture = std::make_shared<Capture>();

	std::thread([&] {
		tracker().push_processor(capture);
		{
			ttmem::metal::ThreadGuard guard;
			Buffer seen(chips[0].get(), 10, BufferType::DRAM);

			CHECK(tracker().get_processors().size() == 2);
			CHECK(tracker().get_processors().back() == capture);
		}
		CHECK(tracker().get_processors().size() == 1);
		CHECK(tracker().get_processors().back() == capture);
		CHECK(ttmem::metal::install() == whole);
		/* The capture ends and takes itself off, not us. */
		CHECK(tracker().get_processors().back() == capture);
		tracker().pop_processor();
		CHECK(tracker().get_processors().size() == 1);
		CHECK(tracker().is_enabled() == !STAND_IN_NEW);
		tracker().clear();
		{
			ttmem::metal::ThreadGuard guard;

			tracker().push_processor(capture);
			Buffer seen(chips[0].get(), 100, BufferType::DRAM);
		}
		CHECK(tracker().get_processors().size() == 1);
		CHECK(tracker().get_processors().back() == capture);
	}).join();
	CHECK(capture->buffers == 2);
	sync("captured");
}

/* Freed by static destructors, in either order with those of the runtime. */
struct Late {
	std::unique_ptr<Buffer> buffer;
	IGraphProcessor *recorder = nullptr;

	~Late()
	{
		if (recorder) {
			/* Its list is gone with the thread; it is not. */
			Buffer last(chips[3].get(), 5, BufferType::TRACE);

			recorder->track_program(nullptr, nullptr);
			recorder->track_deallocate_cb(chips[3].get());
			recorder->track_function_end();
		}
	}
};

Late &late()
{
	static Late kept;

	return kept;
}

void destruction()
{
	std::thread([] {
		/* Both end with the thread, the buffer first. */
		static thread_local ttmem::metal::ThreadGuard guard;
		static thread_local std::unique_ptr<Buffer> own;

		own = std::make_unique<Buffer>(
			chips[3].get(), 7, BufferType::L1);
	}).join();
	late().buffer = std::make_unique<Buffer>(
		chips[3].get(), 100, BufferType::DRAM);
	late().recorder = tracker().get_processors().back().get();
	cb(four, 0x20000, 1000, false, chips[3].get());
	sync("before");
}

const struct {
	const char *name;
	void (*run)();
} scenarios[] = {
	{ "all_cbs_of_a_device", all_cbs_of_a_device },
	{ "borrowed_cbs", borrowed_cbs },
	{ "buffers_of_a_mesh", buffers_of_a_mesh },
	{ "call_sites", call_sites },
	{ "captures", captures },
	{ "cbs_without_programs", cbs_without_programs },
	{ "destruction", destruction },
	{ "events_by_call_site", events_by_call_site },
	{ "other_threads", other_threads },
	{ "scopes", scopes },
	{ "suppressed_captures", suppressed_captures },
};

} // namespace

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	CHECK(ttmem::metal::install() == whole);
	CHECK(ttmem::metal::install() == whole);
	CHECK(tracker().get_processors().size() == 1);
	for (const auto &scenario : scenarios)
		if (std::strcmp(scenario.name, argv[1]) == 0) {
			scenario.run();
			return 0;
		}
	return 2;
}

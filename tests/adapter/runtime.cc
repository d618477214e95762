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

constexpr Coverage whole = STAND_IN_TELLS_ALL ? Coverage::every_thread :
						Coverage::this_thread;
const CoreRangeSet four(std::vector<CoreRange>{ { { 0, 0 }, { 1, 1 } } });
const CoreRangeSet one(std::vector<CoreRange>{ { { 4, 4 }, { 4, 4 } } });
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

/* A function whose caller returns at once, as Python's do. */
void begin(const char *name)
{
	tracker().tell(false,
		[&](IGraphProcessor &p) { p.track_function_start(name, {}); });
}

/* A function of the runtime: it ends, or is left, before its caller returns. */
void begin_with_arguments(const char *name)
{
	Argument arguments[1];

	tracker().tell(false, [&](IGraphProcessor &p) {
		p.track_function_start(name, arguments);
	});
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

/* One on the cores of its shards: the allocator takes the range from all banks. */
void sharded_buffers()
{
	Buffer sharded(&mesh(), 4000, BufferType::L1, four);
	Buffer again(&mesh(), 8000, BufferType::L1, four);

	sync("live");
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
	/* Seen after it, so that what must not be seen is awaited, too. */
	Buffer after(chips[0].get(), 32, BufferType::L1);
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

/* As the runtime reports them: each CB for each member. */
void plan(Program &which, std::size_t cbs)
{
	program(which, &mesh());
	for (std::size_t i = 0; i < cbs; i++)
		for (IDevice *member : mesh().get_devices())
			if (member)
				cb(four, 0x20000 + 0x1000 * i, 500 * (i + 1),
					i == 2, member);
}

void cbs_of_members()
{
	Program first, second;

	plan(first, 3);
	plan(second, 1);
	sync("planned");
	/* One member more, by itself. */
	cb(ten, 0x30000, 100, false, chips[1].get());
	/* The same again. */
	plan(first, 3);
	sync("again");
	for (IDevice *member : mesh().get_devices())
		if (member)
			cbs_end(member);
	sync("freed");
}

#if STAND_IN_NEW
/* Other memory of programs; none in captures without dispatch. */
void program_memory()
{
	Program planned;

	program(planned, &mesh());
	for (IDevice *member : mesh().get_devices())
		if (member)
			tracker().tell(false, [&](IGraphProcessor &p) {
				p.track_allocate_dataflow_buffer(
					four, 0x20000, 1000, false, member);
				p.track_allocate_dataflow_buffer(
					four, 0x21000, 300, true, member);
				p.track_allocate_scratchpad(
					ten, 0x22000, 50, member);
			});
	sync("planned");
	cbs_end(&mesh());
	sync("freed");
}
#endif

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
#if STAND_IN_TELLS_ALL
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

template <class Body>
[[gnu::noinline]] void operation_inside(const char *name, Body body)
{
	begin_with_arguments(name);
	body();
	end(std::any(0));
}

const char *volatile stack_used;

/* An operation begins 4 KiB below its caller, wherever a compiler puts variables. */
template <class Body>
[[gnu::noinline]] void operation(const char *name, Body body)
{
	char room[4096];

	stack_used = room;
	operation_inside(name, body);
	stack_used = nullptr;
}

[[noreturn]] void fail()
{
	throw std::runtime_error("does not fit");
}

void exceptions()
{
	std::vector<std::unique_ptr<Buffer>> kept;
	auto keep = [&](uint64_t size) {
		kept.push_back(std::make_unique<Buffer>(
			chips[0].get(), size, BufferType::DRAM));
	};
	auto caught = [](const char *name) {
		try {
			operation(name, fail);
		} catch (const std::runtime_error &) {
		}
	};
	char name[16];

	for (int i = 0; i < 40; i++) {
		std::snprintf(name, sizeof(name), "thrown %d", i);
		caught(name);
	}
	keep(32 * 12 * 1);
	operation("works", [&] { keep(32 * 12 * 2); });
	keep(32 * 12 * 3);
	operation("outer", [&] {
		operation("inner", [&] { keep(32 * 12 * 4); });
		keep(32 * 12 * 5);
		caught("lost");
		keep(32 * 12 * 6);
	});
	keep(32 * 12 * 7);
	/* Python ends its functions, and the operation inside is gone with it. */
	begin("python");
	caught("of python");
	end();
	keep(32 * 12 * 8);
	sync("thrown");
}

/* Buffers that nothing destroys: LeakSanitizer finds them here. */
const void *volatile buffers_kept[4];

/* Programs that are cached are not destroyed before the process ends. */
void program_cache()
{
	static Program cached;
	static distributed::MeshDevice part(
		7, { chips[0].get(), chips[1].get() }, true);
	auto *binaries = new Buffer(
		&mesh(), 40960, BufferType::DRAM, false, 2048);
	auto *config = static_cast<Buffer *>(nullptr);
	auto tensor = std::make_unique<Buffer>(&mesh(), 5000, BufferType::DRAM);
	auto *forgotten = new Buffer(&mesh(), 9216, BufferType::DRAM);

#if STAND_IN_NEW
	allocation_context_of_thread() = "program_cache: ttnn.matmul";
	config = new Buffer(&mesh(), 128, BufferType::L1);
	allocation_context_of_thread() = "";
#endif
	mesh().traces_size = 8192;
	auto *trace = new Buffer(&mesh(), 8192, BufferType::DRAM, false, 4096);

	cached.impl().groups.push_back(
		std::make_shared<KernelGroup>(KernelGroup{ four }));
	cached.impl().groups.push_back(
		std::make_shared<KernelGroup>(KernelGroup{ one }));
	for (int i = 0; i < 4; i++) {
		plan(cached, 2);
		ttmem::metal::program_enqueued(mesh(),
			distributed::MeshCoordinateRange{ 4 }, cached.impl());
	}
	tensor.reset();
	sync("cached");
	ttmem::metal::device_closing(part);
	sync("part");
	ttmem::metal::device_closing(mesh());
	sync("closed");
	buffers_kept[0] = binaries;
	buffers_kept[1] = config;
	buffers_kept[2] = trace;
	buffers_kept[3] = forgotten;
}

void failures()
{
	using ttmem::metal::allocation_failed;
	using ttmem::metal::failure_reported;
	const char *first =
		"TT_FATAL @ bank_manager.cpp:449: Out of Memory: Not enough "
		"space to allocate 1048576 B L1_SMALL buffer across 64 banks, "
		"where each bank needs to store 16384 B, but bank size is 32768 "
		"B (allocated: 20480 B, free: 12288 B, largest free block: 8192 "
		"B)\nbacktrace:";
	const char *second = "Out of Memory: Not enough space after "
			     "considering dependencies to allocate 4096 B L1 "
			     "across 4 banks (1024 B per bank), bank size is "
			     "32768 B (allocated: 0 B, free: 32768 B, largest "
			     "free block: 32768 B)";
	const char *clash =
		"Statically allocated circular buffers in program 12 clash "
		"with L1 buffers on core range [(x=0,y=0) - (x=7,y=7)]. L1 "
		"buffer allocated at 131072 and static circular buffer region "
		"ends at 200000";
	const char *grown = "Statically allocated dataflow buffers on core "
			    "range [(x=0,y=0)] grow to 2000000 B which is "
			    "beyond max L1 size of 1499136 B";

	allocation_failed(mesh(), BufferType::L1_SMALL, 1048576, first);
	CHECK(failure_reported(*chips[0], second));
	CHECK(failure_reported(mesh(), clash, 77));
	CHECK(failure_reported(*chips[1], grown));
	CHECK(!failure_reported(*chips[1], "TT_FATAL: a shape is wrong"));
	CHECK(failure_reported(
		*chips[2], "Out of Memory: Not enough space to"));
	sync("failed");
}

void call_sites()
{
	static distributed::MeshDevice pair(
		9, { chips[0].get(), chips[1].get() });
	Program kernels;
	uint64_t id = ttmem::metal::program_id(kernels);
	auto survivor = std::make_unique<Buffer>(
		chips[1].get(), 2048, BufferType::L1_SMALL);

	CHECK(id == ttmem::metal::program_id(kernels.impl()));
	ttmem::metal::device_opened(
		*chips[0], 0xabc, TTMEM_PCI_ADDRESS(0, 3, 0, 0), "n150");
	ttmem::metal::device_opened(*chips[1], 0xdef);
	ttmem::metal::kernels_loaded(
		pair, id, TTMEM_KERNEL_APPLICATION, 1000, 8);
	ttmem::metal::kernels_loaded(
		pair, id, TTMEM_KERNEL_APPLICATION, 1000, 8);
	ttmem::metal::kernels_loaded(
		*chips[0], id + 16, TTMEM_KERNEL_FABRIC, 57344, 16, false);
	ttmem::metal::cb_planned(*chips[0], id, 0, ten, 0x20000, 64, 0);
	sync("called");
	ttmem::metal::program_destroyed(id);
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
	{ "cbs_of_members", cbs_of_members },
	{ "cbs_without_programs", cbs_without_programs },
	{ "destruction", destruction },
	{ "events_by_call_site", events_by_call_site },
	{ "exceptions", exceptions },
	{ "failures", failures },
	{ "other_threads", other_threads },
	{ "program_cache", program_cache },
#if STAND_IN_NEW
	{ "program_memory", program_memory },
#endif
	{ "scopes", scopes },
	{ "sharded_buffers", sharded_buffers },
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

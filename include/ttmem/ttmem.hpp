/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards for C++ around the hooks of <ttmem/ttmem.h>: scopes that end with their
 * block, also when an exception leaves it, and buffers that are freed by their
 * destructor. C++11, header only; link with libttmem. No call throws, and every call
 * may be made where the hooks may be: on any thread, in static destructors, with
 * tracking off.
 */
#ifndef TTMEM_TTMEM_HPP
#define TTMEM_TTMEM_HPP

#ifndef __cplusplus
#error "ttmem.hpp is for C++: C has <ttmem/ttmem.h>"
#endif

#include <cstddef>
#include <cstdint>
#include <string>

#include <ttmem/ttmem.h>

namespace ttmem
{

/*
 * Names what its thread allocates until the end of the block. The destructor also ends
 * the scopes that were begun inside and not ended. Construct and destroy it on one
 * thread.
 */
class scope
{
      public:
	explicit scope(const char *name, uint32_t flags = 0) noexcept
		: depth_(ttmem_scope_push(name, flags)),
		  is_pushed_(ttmem_enabled())
	{
	}

	explicit scope(const std::string &name, uint32_t flags = 0) noexcept
		: scope(name.c_str(), flags)
	{
	}

	~scope()
	{
		/* Pushed while tracking was off: the depth is not ours. */
		if (is_pushed_)
			ttmem_scope_pop_to(depth_);
	}

	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;

      private:
	uint32_t depth_;
	bool is_pushed_;
};

/*
 * Records a buffer while it exists. Construct it after the allocator gave the memory,
 * and destroy it before the memory goes back.
 */
class buffer
{
      public:
	/* Holds nothing. */
	buffer() noexcept : device_(0), kind_(TTMEM_DRAM), id_(0), owns_(false)
	{
	}

	/* Records what ttmem_buffer_alloc() takes. */
	explicit buffer(const struct ttmem_buffer &info) noexcept
		: device_(info.device),
		  kind_(static_cast<enum ttmem_kind>(info.kind)), id_(info.id),
		  owns_(true)
	{
		ttmem_buffer_alloc(&info);
	}

	/* The short form: bank figures are unknown. */
	buffer(uint32_t device, enum ttmem_kind kind, uint64_t id,
		uint64_t address, uint64_t bytes) noexcept
		: device_(device), kind_(kind), id_(id), owns_(true)
	{
		ttmem_alloc(device, kind, id, address, bytes);
	}

	~buffer()
	{
		reset();
	}

	buffer(buffer &&from) noexcept
		: device_(from.device_), kind_(from.kind_), id_(from.id_),
		  owns_(from.owns_)
	{
		from.owns_ = false;
	}

	buffer &operator=(buffer &&from) noexcept
	{
		if (this != &from) {
			reset();
			device_ = from.device_;
			kind_ = from.kind_;
			id_ = from.id_;
			owns_ = from.owns_;
			from.owns_ = false;
		}
		return *this;
	}

	buffer(const buffer &) = delete;
	buffer &operator=(const buffer &) = delete;

	/* Frees it now; holds nothing afterwards. */
	void reset() noexcept
	{
		if (owns_)
			ttmem_free(device_, kind_, id_);
		owns_ = false;
	}

	/* Leaves it live for another owner to free, and returns its id. */
	uint64_t release() noexcept
	{
		owns_ = false;
		return id_;
	}

	/* Whether the destructor frees a buffer. */
	explicit operator bool() const noexcept
	{
		return owns_;
	}

	uint64_t id() const noexcept
	{
		return id_;
	}

      private:
	uint32_t device_;
	enum ttmem_kind kind_;
	uint64_t id_;
	bool owns_;
};

/* Returns a ttmem_buffer whose other fields are unknown or 0. */
inline struct ttmem_buffer buffer_info(uint32_t device, enum ttmem_kind kind,
	uint64_t id, uint64_t address, uint64_t bytes) noexcept
{
	struct ttmem_buffer info;

	ttmem_buffer_init(&info, device, kind);
	info.id = id;
	info.address = address;
	info.bytes = bytes;
	return info;
}

/*
 * Returns the handle of the cores of any container of struct ttmem_core_range with
 * data() and size(). See ttmem_core_set().
 */
template <class Ranges> uint32_t core_set(const Ranges &ranges) noexcept
{
	return ttmem_core_set(ranges.data(), ranges.size());
}

} // namespace ttmem

#endif

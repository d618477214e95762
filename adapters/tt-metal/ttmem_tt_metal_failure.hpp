/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads figures out of the runtime's texts about memory that did not suffice: part of
 * ttmem_tt_metal.hpp, but it needs nothing of the runtime. README.md has the texts.
 */
#ifndef TTMEM_TT_METAL_FAILURE_HPP
#define TTMEM_TT_METAL_FAILURE_HPP

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ttmem/ttmem.h>

namespace ttmem::metal
{

namespace detail
{

/* Takes texts and numbers from the left of a text. */
class Words
{
      public:
	explicit Words(std::string_view text) : rest(text)
	{
	}

	/* Moves behind the next `text`, or not at all. */
	bool skip(std::string_view text)
	{
		std::size_t at = rest.find(text);

		if (at == std::string_view::npos)
			return false;
		rest.remove_prefix(at + text.size());
		return true;
	}

	/* The number that follows the next `before`; UNKNOWN if none does. */
	uint64_t number(std::string_view before)
	{
		Words ahead = *this;
		uint64_t value;

		if (!ahead.skip(before))
			return TTMEM_UNKNOWN;
		const char *begin = ahead.rest.data();
		auto end = std::from_chars(
			begin, begin + ahead.rest.size(), value);

		if (end.ec != std::errc())
			return TTMEM_UNKNOWN;
		ahead.rest.remove_prefix(
			static_cast<std::size_t>(end.ptr - begin));
		*this = ahead;
		return value;
	}

	std::string_view rest;
};

/* The kind that the text goes on with; `otherwise` if it is none. */
inline uint32_t kind_read(std::string_view text, uint32_t otherwise)
{
	static constexpr std::string_view names[] = { "DRAM", "L1",
		"SYSTEM_MEMORY", "L1_SMALL", "TRACE" };
	std::string_view word = text.substr(0, text.find(' '));
	uint32_t kind;

	for (kind = 0; kind < 5; kind++)
		if (word == names[kind])
			return kind;
	return otherwise;
}

inline void memory_read(Words words, struct ttmem_failure &failure)
{
	uint64_t free, largest;
	bool is_dependent = words.skip("after considering dependencies");

	failure.bytes = words.number("to allocate ");
	if (words.skip("B "))
		failure.kind = kind_read(words.rest, failure.kind);
	failure.bytes_per_bank = words.number(
		is_dependent ? " banks (" : "needs to store ");
	free = words.number(" free: ");
	largest = words.number("largest free block: ");
	/*
	 * The second form counts what this allocator has free, not what others that
	 * share the memory leave it: a block that would do is not there.
	 */
	if (is_dependent &&
		(largest == TTMEM_UNKNOWN || largest >= failure.bytes_per_bank))
		return;
	failure.free_per_bank = free;
	failure.largest_free_per_bank = largest;
}

inline uint64_t above(uint64_t address, uint64_t base)
{
	return address == TTMEM_UNKNOWN || base == TTMEM_UNKNOWN ||
			address < base ?
		TTMEM_UNKNOWN :
		address - base;
}

/* CBs grow upwards from the base to the lowest buffer: that is one block. */
inline void clash_read(uint64_t end, uint64_t top, uint64_t base,
	struct ttmem_failure &failure)
{
	failure.kind = TTMEM_FIGURE_CB;
	failure.bytes_per_bank = above(end, base);
	failure.free_per_bank = above(top, base);
	failure.largest_free_per_bank = failure.free_per_bank;
}

} // namespace detail

/*
 * Fills in what the text says and leaves the rest alone; returns whether it is one of
 * the texts. `l1_base`: where CBs begin; without it the figures of clashes are unknown.
 */
inline bool failure_read(std::string_view what, struct ttmem_failure &failure,
	uint64_t l1_base = TTMEM_UNKNOWN)
{
	detail::Words words(what);

	if (words.skip("Out of Memory: Not enough space ")) {
		detail::memory_read(words, failure);
		return true;
	}
	for (std::string_view owner :
		{ "circular buffer", "dataflow buffer" }) {
		uint64_t top, end;

		words = detail::Words(what);
		if (!words.skip("Statically allocated ") ||
			words.rest.substr(0, owner.size()) != owner)
			continue;
		if (words.skip(" clash with L1 buffers")) {
			top = words.number("L1 buffer allocated at ");
			end = words.number("region ends at ");
		} else if (words.skip(" grow to ")) {
			end = words.number("");
			top = words.number("beyond max L1 size of ");
		} else {
			continue;
		}
		detail::clash_read(end, top, l1_base, failure);
		return true;
	}
	return false;
}

} // namespace ttmem::metal

#endif

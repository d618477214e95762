/* SPDX-License-Identifier: Apache-2.0 */
#include <ttmem/ttmem.h>
#include <array>
#include <span>

static void allocate(std::span<const uint64_t> ids)
{
	for (auto id : ids)
		ttmem_alloc(0, TTMEM_DRAM, id, id * 0x1000, id * 4096);
}

int main()
{
	constexpr std::array<uint64_t, 2> ids{ 1, 2 };

	allocate(ids);
	ttmem_free(0, TTMEM_DRAM, ids.front());
	ttmem_cb_alloc(0, 5, 3, 0x100, 2048, 64, 0);
}

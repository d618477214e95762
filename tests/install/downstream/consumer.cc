/* SPDX-License-Identifier: Apache-2.0 */
#include <ttmem/ttmem.hpp>
#include <initializer_list>

int main()
{
	for (uint64_t id : { 1, 2 })
		ttmem_alloc(0, TTMEM_DRAM, id, id * 0x1000, id * 4096);
	ttmem_free(0, static_cast<ttmem_kind>(0), 1);
	ttmem_cb_alloc(0, 5, 3, 0x100, 2048, 64, 0);
	ttmem::scope scope("consumer");
	ttmem::buffer none;
}

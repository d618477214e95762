/* SPDX-License-Identifier: Apache-2.0 */
#include <ttmem/ttmem.h>

int main(void)
{
	ttmem_alloc(0, TTMEM_DRAM, 1, 0x1000, 4096);
	ttmem_alloc(0, TTMEM_DRAM, 2, 0x2000, 8192);
	ttmem_free(0, TTMEM_DRAM, 1);
	ttmem_cb_alloc(0, 5, 3, 0x100, 2048, 64, 0);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls every hook with tracking off, for check_disabled_hooks.py to count the
 * instructions of: once outside of measured(), so that all is decided and bound,
 * then as often as the argument says inside.
 */
#include <stdlib.h>

#include <ttmem/ttmem.h>

static void all_hooks(void)
{
	static const uint32_t devices[] = { 0, 1 };
	static const struct ttmem_core_range range = { 0, 0, 7, 7 };
	static const struct ttmem_buffer buffer = { .size = sizeof(buffer),
		.kind = TTMEM_L1 };
	static const struct ttmem_failure failure = { .size = sizeof(failure),
		.kind = TTMEM_L1 };
	struct ttmem_device_info info;

	ttmem_device_info_init(&info, 0);
	ttmem_device_open(&info);
	ttmem_mesh_open(devices, 2);
	ttmem_core_set(&range, 1);
	ttmem_scope_push("scope", 0);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0x1000, 4096);
	ttmem_buffer_alloc(&buffer);
	ttmem_alloc_failed(&failure);
	ttmem_free(0, TTMEM_DRAM, 1);
	ttmem_free_any(0, 2);
	ttmem_cb_alloc(0, 1, 2, 0x1000, 4096, 8, 0);
	ttmem_cb_free(0, 1, 2);
	ttmem_cb_free_all(0);
	ttmem_kernel_load(0, 1, TTMEM_KERNEL_APPLICATION, 4096, 8, 0);
	ttmem_kernel_unload(0, 1);
	ttmem_program_destroy(0, 1);
	ttmem_mark("mark");
	ttmem_peak_reset(0);
	ttmem_scope_pop();
	ttmem_scope_pop_to(0);
	ttmem_mesh_close(0x80000000u);
	ttmem_device_close(0);
}

/* Its name is what callgrind begins and ends to count at. */
void measured(long times);

__attribute__((noinline)) void measured(long times)
{
	while (times-- > 0)
		all_hooks();
}

int main(int argc, char **argv)
{
	if (argc != 2 || ttmem_enabled())
		return 2;
	all_hooks();
	measured(atol(argv[1]));
	return 0;
}

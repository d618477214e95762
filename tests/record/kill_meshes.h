/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on meshes that a process is killed in: a part of kill_scenarios.h. */
#ifndef TEST_RECORD_KILL_MESHES_H
#define TEST_RECORD_KILL_MESHES_H

static uint32_t pair;   /* a mesh */
static uint32_t triple; /* another, opened by prepare_mesh, too */
static uint32_t eight;  /* devices 0 to 7 */
static uint32_t half;   /* devices 4 to 11 */

static void prepare_mesh(void)
{
	uint32_t members[] = { 0, 1, 7 };

	pair = ttmem_mesh_open(members, 2);
	triple = ttmem_mesh_open(members, 3);
	ttmem_alloc(pair, TTMEM_L1, ID, 0, 50);
	ttmem_cb_alloc(pair, ID, 1, 0, 10, 10, 0);
	ttmem_kernel_load(pair, ID, TTMEM_KERNEL_APPLICATION, 5, 5, 0);
}

static void act_mesh_open(void)
{
	uint32_t members[] = { 10, 11 };

	ttmem_mesh_open(members, 2);
}

static void act_mesh_open_empty(void)
{
	ttmem_mesh_open(NULL, 0);
}

static void act_mesh_close(void)
{
	ttmem_mesh_close(pair);
	ttmem_alloc(pair, TTMEM_L1, ID + 1, 0, 50); /* a bad device now */
}

static void act_mesh_alloc(void)
{
	ttmem_alloc(triple, TTMEM_DRAM, ID, 0, BIG);
}

static void act_mesh_replace(void)
{
	ttmem_alloc(pair, TTMEM_L1, ID, 0, 60);
}

static void act_mesh_free(void)
{
	ttmem_free(pair, TTMEM_L1, ID);
}

static void act_mesh_cb_replace(void)
{
	ttmem_cb_alloc(pair, ID, 1, 0, 20, 10, 0);
}

static void act_mesh_kernel_again(void)
{
	ttmem_kernel_load(pair, ID, TTMEM_KERNEL_APPLICATION, 5, 5, 0);
}

static void act_mesh_destroy(void)
{
	ttmem_program_destroy(pair, ID);
}

static void act_mesh_free_all(void)
{
	ttmem_cb_free_all(triple);
}

static void act_mesh_devices_close(void)
{
	ttmem_device_close(triple);
}

static void act_mesh_failed(void)
{
	call_alloc_failed(triple, TTMEM_L1, 10, 5);
}

/* -- parts of eight devices ------------------------------------------------------ */

static void eight_open(void)
{
	uint32_t members[12], i;

	for (i = 0; i < 12; i++)
		members[i] = i;
	eight = ttmem_mesh_open(members, 8);
	half = ttmem_mesh_open(members + 4, 8);
}

static void prepare_eight(void)
{
	eight_open();
	ttmem_alloc(eight, kind_now, ID, 0, 50);
	ttmem_cb_alloc(eight, ID, 1, 0, 10, 10, 0);
	ttmem_cb_alloc(eight, ID, 2, 0, 10, 10, 0);
	ttmem_kernel_load(eight, ID, TTMEM_KERNEL_APPLICATION, 5, 5, 0);
	ttmem_cb_alloc(half, ID, 3, 0, 10, 10, 0);
}

static void prepare_part(void)
{
	prepare_eight();
	ttmem_free(half, kind_now, ID);
}

static void prepare_closed_part(void)
{
	prepare_eight();
	ttmem_device_close(half);
}

static void act_eight_first(void)
{
	eight_open();
	ttmem_alloc(eight, kind_now, ID, 0, 50);
}

static void act_eight_alloc(void)
{
	ttmem_alloc(eight, kind_now, ID + 1, 0, 100);
}

static void act_eight_alloc_big(void)
{
	ttmem_alloc(eight, TTMEM_L1, ID + 1, 0, BIG);
}

static void act_eight_replace(void)
{
	ttmem_alloc(eight, kind_now, ID, 0, 60);
}

static void act_eight_free(void)
{
	ttmem_free(eight, kind_now, ID);
}

static void act_half_free(void)
{
	ttmem_free(half, kind_now, ID);
}

static void act_one_free(void)
{
	ttmem_free(3, kind_now, ID);
}

static void act_half_free_any(void)
{
	ttmem_free_any(half, ID);
}

static void act_eight_cb_replace(void)
{
	ttmem_cb_alloc(eight, ID, 1, 0, 20, 10, 0);
}

static void act_half_cb_free(void)
{
	ttmem_cb_free(half, ID, 2);
}

static void act_half_cb_free_all(void)
{
	ttmem_cb_free_all(half);
}

static void act_half_kernel_load(void)
{
	ttmem_kernel_load(half, ID, TTMEM_KERNEL_APPLICATION, 5, 5, 0);
}

static void act_half_kernel_other(void)
{
	ttmem_kernel_load(half, ID, TTMEM_KERNEL_FABRIC, 6, 6, 0);
}

static void act_eight_kernel(void)
{
	ttmem_kernel_load(eight, ID, TTMEM_KERNEL_APPLICATION, 5, 5, 0);
}

static void act_half_kernel_unload(void)
{
	ttmem_kernel_unload(half, ID);
}

static void act_eight_destroy(void)
{
	ttmem_program_destroy(eight, ID);
}

static void act_half_destroy(void)
{
	ttmem_program_destroy(half, ID);
}

static void act_eight_close(void)
{
	ttmem_device_close(eight);
}

static void act_half_close(void)
{
	ttmem_device_close(half);
}

/* clang-format off */
#define MESH_SCENARIOS                                                         \
	{ "mesh open", prepare_nothing, act_mesh_open, UNTOUCHED }, \
	{ "mesh open empty", prepare_nothing, act_mesh_open_empty, 0 }, \
	{ "mesh close", prepare_mesh, act_mesh_close, MESH }, \
	{ "mesh alloc", prepare_mesh, act_mesh_alloc, MESH }, \
	{ "mesh replace", prepare_mesh, act_mesh_replace, MESH }, \
	{ "mesh free", prepare_mesh, act_mesh_free, MESH }, \
	{ "mesh cb replace", prepare_mesh, act_mesh_cb_replace, MESH }, \
	{ "mesh kernel dispatched", prepare_mesh, act_mesh_kernel_again, MESH }, \
	{ "mesh program destroy", prepare_mesh, act_mesh_destroy, MESH }, \
	{ "mesh cb free all", prepare_mesh, act_mesh_free_all, MESH }, \
	{ "mesh devices close", prepare_mesh, act_mesh_devices_close, MESH }, \
	{ "mesh alloc failed", prepare_mesh, act_mesh_failed, MESH }, \
	{ "first event on eight", prepare_nothing, act_eight_first, MESH }, \
	{ "alloc on eight", prepare_eight, act_eight_alloc, MESH }, \
	{ "alloc a big one on eight", prepare_eight, act_eight_alloc_big, MESH }, \
	{ "replace on eight", prepare_eight, act_eight_replace, MESH }, \
	{ "free on eight", prepare_eight, act_eight_free, MESH }, \
	{ "free through half", prepare_eight, act_half_free, MESH }, \
	{ "free on one of eight", prepare_eight, act_one_free, MESH }, \
	{ "free of any kind through half", prepare_eight, act_half_free_any, MESH }, \
	{ "free the rest of eight", prepare_part, act_eight_free, MESH }, \
	{ "late free through half", prepare_closed_part, act_half_free, MESH }, \
	{ "cb replace on eight", prepare_eight, act_eight_cb_replace, MESH }, \
	{ "cb free through half", prepare_eight, act_half_cb_free, MESH }, \
	{ "cb free all through half", prepare_eight, act_half_cb_free_all, MESH }, \
	{ "kernel dispatched through half", prepare_eight, act_half_kernel_load, MESH }, \
	{ "kernel replaced through half", prepare_eight, act_half_kernel_other, MESH }, \
	{ "kernel loaded where it is orphaned", prepare_closed_part, act_eight_kernel, MESH }, \
	{ "kernel unload through half", prepare_eight, act_half_kernel_unload, MESH }, \
	{ "program destroy on eight", prepare_eight, act_eight_destroy, MESH }, \
	{ "program destroy on a part", prepare_eight, act_half_destroy, MESH }, \
	{ "close of eight", prepare_eight, act_eight_close, MESH }, \
	{ "close of half", prepare_eight, act_half_close, MESH },
/* clang-format on */

#endif

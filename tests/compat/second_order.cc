/* SPDX-License-Identifier: Apache-2.0 */
/* A caller whose calls could be read both ways. */
#define TTMEM_COMPAT_ORDER 2
#include <ttmem/allocation_client.hpp>

#include "orders.h"

void second_order(int device, int size, int id, int type)
{
	tt::tt_metal::AllocationClient::report_allocation(
		device, size, id, type);
}

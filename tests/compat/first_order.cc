/* SPDX-License-Identifier: Apache-2.0 */
/* A caller whose calls could be read both ways. */
#define TTMEM_COMPAT_ORDER 1
#include <ttmem/allocation_client.hpp>

#include "orders.h"

void first_order(int device, int size, int type, int id)
{
	tt::tt_metal::AllocationClient::report_allocation(
		device, size, type, id);
}

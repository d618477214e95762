/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime says about the allocations of a thread. */
#ifndef STAND_IN_ALLOCATION_CONTEXT_HPP
#define STAND_IN_ALLOCATION_CONTEXT_HPP

#include <string>

namespace tt::tt_metal
{

inline std::string &allocation_context_of_thread()
{
	static thread_local std::string context;

	return context;
}

inline const std::string &current_allocation_context()
{
	return allocation_context_of_thread();
}

} // namespace tt::tt_metal

#endif

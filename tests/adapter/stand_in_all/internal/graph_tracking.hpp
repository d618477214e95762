/* SPDX-License-Identifier: Apache-2.0 */
/* Processors that hear every thread: proposed, and in no version at hand. */
#ifndef STAND_IN_INTERNAL_GRAPH_TRACKING_HPP
#define STAND_IN_INTERNAL_GRAPH_TRACKING_HPP

#include <tt-metalium/graph_tracking.hpp>

namespace tt::tt_metal::internal
{

inline bool register_background_processor_once(const std::type_info &type,
	const std::function<std::shared_ptr<IGraphProcessor>()> &factory)
{
	return GraphTracker::instance().add_background(type, factory);
}

} // namespace tt::tt_metal::internal

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of chips that are the same for every process. */
#ifndef STAND_IN_INTERNAL_CLUSTER_HPP
#define STAND_IN_INTERNAL_CLUSTER_HPP

#include "../../stand_in/stand_in.hpp"

namespace tt::tt_metal::internal
{

struct AsicID {
	uint64_t operator*() const
	{
		return id;
	}

	uint64_t id;
};

inline AsicID get_chip_unique_id_from_fabric_node_id(
	const tt_fabric::FabricNodeId &node)
{
	return { 0x100u + node.chip_id };
}

} // namespace tt::tt_metal::internal

#endif

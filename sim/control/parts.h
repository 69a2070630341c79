// SPDX-License-Identifier: BSD-2-Clause
// What the ranks of a run say, each of its own part of the network, put together.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace exrnic {

// The "nodes" of all parts, in the order of their "id".
nlohmann::ordered_json nodes_of(const std::vector<nlohmann::ordered_json>& parts);

}  // namespace exrnic

// SPDX-License-Identifier: BSD-2-Clause
// Whether frames arrive in a fabric as its switches are set, whoever has set them.
#pragma once

#include <string>
#include <vector>

#include "tools/fabric/testing/fake_fabric.h"

namespace exrnic::fabric::testing {

// Empty if a frame from each of these nodes gets to each other one.
std::string trouble_of_nodes(const FakeFabric& fabric, const std::vector<int>& nodes);

// Likewise from each node to each switch, and back.
std::string trouble_of_switches(const FakeFabric& fabric, const std::vector<int>& nodes,
                                const std::vector<int>& switches);

// Empty if no frame that is at one of these switches goes round, wherever it is to go.
std::string round_trip(const FakeFabric& fabric, const std::vector<int>& switches);

// Empty if a frame to a group gets from each of these nodes to each other one, once.
std::string trouble_of_floods(const FakeFabric& fabric, const std::vector<int>& nodes);

// Empty if no lines can wait for each other in a circle, whatever is under way to whom (Dally and
// Seitz, 1987).
std::string circle_of_waits(const FakeFabric& fabric);

}  // namespace exrnic::fabric::testing

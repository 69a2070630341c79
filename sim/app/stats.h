// SPDX-License-Identifier: BSD-2-Clause
// Statistics of a run, as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/app/options.h"
#include "sim/app/pebs.h"
#include "sim/service/service_loop.h"
#include "sim/testbed.h"

namespace exrnic {

// Counters of everything that was simulated; times in the unit of their key.
nlohmann::ordered_json statistics(const Options& options, const Testbed& testbed,
                                  const ServiceLoop::Servers& servers, const Pebs& pebs,
                                  double wall_s);

// Of a run by several ranks, each of which has given the statistics of its part. `names`: of all
// switches, in the topology's order.
nlohmann::ordered_json merged_statistics(std::vector<nlohmann::ordered_json> parts,
                                         const std::vector<std::string>& names);

}  // namespace exrnic

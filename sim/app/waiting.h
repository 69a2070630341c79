// SPDX-License-Identifier: BSD-2-Clause
// Who worked in a run, and who waited for whom. `ranks`: nullptr of one process.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/ranks/ranks.h"
#include "sim/testbed.h"

namespace exrnic {

// Of this process: {"rank", "nodes", "switches": how many, "total_s", "bin_s", "bins": TimeUse,
// "worked_s": {"node0": seconds, ...}: its kMostNamed busiest nodes and switches}.
nlohmann::ordered_json waiting_of(const Testbed& testbed, const Ranks* ranks,
                                  TimeUse::Clock::time_point start);
constexpr size_t kMostNamed = 32;

// A line for each part, which is what a process says; and the one that the others wait for.
std::string waiting_text(const std::vector<nlohmann::ordered_json>& parts);

}  // namespace exrnic

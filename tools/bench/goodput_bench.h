// SPDX-License-Identifier: BSD-2-Clause
// How much PUSH, PULL and messages carry between two nodes on in-process hosts, in simulated time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/bench/path.h"
#include "tools/bench/results.h"

namespace exrnic::bench {

// {push,pull,msg}.goodput_ratio: goodput of back-to-back operations as a share of the computed
// limit, per size. Keys: profile, size. Also *.goodput_mbps (10^6 bytes per second), *.limit_mbps.
void measure_goodput(const std::string& profile, Carrier carrier,
                     const std::vector<uint32_t>& sizes, Results& results);

// msg.rate_mps: 8-byte operations per second (10^6) with a full send queue. Keys: profile,
// operation.
void measure_message_rate(const std::string& profile, Carrier carrier, Results& results);

}  // namespace exrnic::bench

// SPDX-License-Identifier: BSD-2-Clause
// What messages of UC and UD carry between two nodes on in-process hosts, and how long a datagram
// takes, in simulated time.
#pragma once

#include <string>

#include "tools/bench/results.h"

namespace exrnic::bench {

// {uc,ud}.goodput_ratio: SENDs that arrive one behind the other, as a share of the computed limit,
// per size; also *.goodput_mbps (10^6 bytes per second), *.limit_mbps. A message that is lost is
// an error: there is a receive for each. Of UD none is longer than the MTU. ud.rtt_us: a datagram
// of 8 bytes inline, and its answer. Keys: profile, size.
void measure_once(const std::string& profile, Results& results);

}  // namespace exrnic::bench

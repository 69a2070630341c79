// SPDX-License-Identifier: BSD-2-Clause
// How long a small PUSH and a small message take between two nodes at rest, in simulated time, and
// where the cycles go. The hosts' software takes no time here.
#pragma once

#include <string>

#include "tools/bench/results.h"

namespace exrnic::bench {

// push.oneway_ns: doorbell store of one 8-byte PUSH to its last byte visible at the peer, both
// cores at rest before. Keys: profile, size, via.
void measure_oneway(const std::string& profile, Results& results);

// msg.rtt_us: doorbell store of a SEND of 8 bytes to the completion of the receive of its answer,
// which the peer posts when its own receive has completed. The bytes come from a region, or are
// inline. Keys: profile, size, via, data.
void measure_round_trip(const std::string& profile, bool is_inline, Results& results);

// stage.cycles.*: where the clock cycles of that PUSH go, from the doorbell's arrival at one core
// to the CQE's departure from it. Key: profile.
void measure_stages(const std::string& profile, Results& results);

}  // namespace exrnic::bench

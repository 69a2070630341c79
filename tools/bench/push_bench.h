// SPDX-License-Identifier: BSD-2-Clause
// What PUSH does between two nodes on in-process hosts, in simulated time: goodput, one-way
// latency, its cycle budget; and how fast the simulator is meanwhile, in wall time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/bench/results.h"

namespace exrnic::bench {

// push.goodput_ratio: goodput of back-to-back PUSHes as a share of push_limit(), per size.
// Keys: profile, size. Also push.goodput_mbps (10^6 bytes per second) and push.limit_mbps.
void measure_goodput(const std::string& profile, const std::vector<uint32_t>& sizes,
                     Results& results);

// push.oneway_ns: doorbell store of one 8-byte PUSH to its last byte visible at the peer, both
// cores at rest before. Keys: profile, size, via.
void measure_oneway(const std::string& profile, Results& results);

// stage.cycles.*: where the clock cycles of that PUSH go, from the doorbell's arrival at one core
// to the CQE's departure from it. Key: profile.
void measure_stages(const std::string& profile, Results& results);

// msg.rate_mps: 8-byte PUSHes per second (10^6) with a full send queue. Key: profile.
void measure_message_rate(const std::string& profile, Results& results);

// sim.rtl_kcps: thousand core cycles simulated per second of wall time while one core sends 1 MiB
// messages and another receives them; cycles of both count.
void measure_simulator(const std::string& profile, Results& results);

}  // namespace exrnic::bench

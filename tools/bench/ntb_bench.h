// SPDX-License-Identifier: BSD-2-Clause
// What stores and loads of a processor do at another node, in simulated time. Both cores are at
// rest before, but for the rate; the hosts' software takes no time here.
#pragma once

#include <string>

#include "tools/bench/results.h"

namespace exrnic::bench {

// push.oneway_ns: store of 8 bytes into a remote window to the last byte visible at the peer, as
// measure_oneway() has it for a PUSH. Keys: profile, size, via.
// window.load_ns: a load of 8 bytes from there, as the processor sees it. Keys: profile, size.
// window.store_mbps: payload of stores one behind the other, which the core combines. Keys:
// profile, size (8: as they come from uncached memory; 64: as packets of a write-combining buffer).
// doorbell.ns: store that rings a doorbell bit to the interrupt at the peer. Keys: profile.
void measure_ntb(const std::string& profile, Results& results);

}  // namespace exrnic::bench

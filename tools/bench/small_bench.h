// SPDX-License-Identifier: BSD-2-Clause
// How many small messages a second go between two nodes on in-process hosts, by one queue pair and
// by several, in simulated time.
#pragma once

#include <string>

#include "tools/bench/results.h"

namespace exrnic::bench {

// small.rate_mps: 10^6 operations a second of 8 and of 64 bytes from host memory, each with a
// completion; of one queue pair, and of eight that share their completion queue. As libverbs-lite
// does it there is one doorbell for all that is posted at a time, and one for a quarter of the
// completion queue. small.ratio: the same as a share of the limit that the line computes to.
// Keys: profile, operation (push, pull, send, ud), size, queue_pairs.
void measure_small(const std::string& profile, Results& results);

}  // namespace exrnic::bench

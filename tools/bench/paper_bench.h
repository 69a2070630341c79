// SPDX-License-Identifier: BSD-2-Clause
// What the figures of the papers need beside a table's rows: the same quantities over the sizes
// that the papers swept, each with its computed limit, in simulated time, on the RTL.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/bench/results.h"

namespace exrnic::bench {

// One measurement that takes more than a moment, and what to call it while it runs.
struct Step {
  std::string what;
  std::function<void(Results&)> measure;
};

// Of expether-gbe: mmio.load_ns, a load of one register by the host's CPU, and mmio.load_limit_ns.
// Of rhinet2: PUSH, PULL and SEND from 64 B to 1 MiB (see goodput_bench.h); msg.rtt_us of 4 B to
// 8 KiB (see latency_bench.h) with msg.rtt_limit_us. Of ntb-gen3x8: PUSH from 64 B to 64 MiB.
// Keys: profile, size. Throws DataFileError for any other profile.
std::vector<Step> paper_steps(const std::string& profile);

}  // namespace exrnic::bench

// SPDX-License-Identifier: BSD-2-Clause
// What firmware does on the data path: PULL beside that of hardware, and atomics.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/results.h"

namespace exrnic::bench {

// fwpull.ratio: goodput of PULLs that firmware answers, over that of hardware's; and
// fwpull.goodput_mbps.
void measure_firmware_pull(const std::string& profile, const std::vector<uint32_t>& sizes,
                           Results& results);

// atomic.us: from the doorbell of a fetch-and-add to its completion, at rest; atomic.rate_mps: of
// one queue pair with as many under way as it may have.
void measure_atomics(const std::string& profile, Results& results);

}  // namespace exrnic::bench

// SPDX-License-Identifier: BSD-2-Clause
// Channels of firmware: messages and barriers; and the processor's work for them.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/results.h"

namespace exrnic::bench {

// fwmsg.rtt_us: 8 bytes there and back, from the bell to the event. fwmsg.goodput_ratio: messages
// of 8 KiB in a stream, over the limit of the profile. cpu.ipc: instructions in a cycle of that
// stream, at the sender, while its processor does not rest; cpu.waits: the share of those cycles in
// which it asks whether a direct command has ended.
void measure_channels(const std::string& profile, Results& results);

// barrier.us: from the bell of the last node, which finds all others waiting or on their way, to
// the event of the last, and barrier.cycles, for each number of nodes at one switch.
void measure_barriers(const std::string& profile, const std::vector<unsigned>& counts,
                      Results& results);

}  // namespace exrnic::bench

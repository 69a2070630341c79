// SPDX-License-Identifier: BSD-2-Clause
// The counters of a node as the capture of its port tells them, from the frames alone: no code and
// no state of a core is used.
#pragma once

#include <map>
#include <vector>

#include "exrnic_hw.h"
#include "sim/testing/read_capture.h"

namespace exrnic::testing {

// Every counter that a capture can show. `packets` are all that passed the port of `node`, of a run
// in which no RNIC was reset and no queue pair failed but by terminate messages.
std::map<exrnic_counter, uint64_t> capture_counters(const std::vector<Packet>& packets,
                                                    unsigned node);

}  // namespace exrnic::testing

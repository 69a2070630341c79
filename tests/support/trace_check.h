// SPDX-License-Identifier: BSD-2-Clause
// Judges a capture by the rules of EFE's reliable class, from the frames alone: it shares no code
// and no state with the cores. For each pair of nodes it follows sessions, sequence numbers and
// acknowledgements at both ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/capture.h"

namespace exrnic::testing {

struct TraceRules {
  uint64_t least_rto_ns = 0;    // no time-out strikes sooner
  uint64_t seen_ns = 500;       // from the core, whose clock starts then, to the MAC
  uint64_t reaction_ns = 3000;  // from a frame at the MAC to the end of what it stops or starts
};

// What a node's counters must say.
struct NodeTrace {
  uint64_t frames_tx = 0;
  uint64_t frames_rx = 0;
  uint64_t acks_tx = 0;  // frames without a segment
  uint64_t acks_rx = 0;
  uint64_t retransmits = 0;
  uint64_t rx_fcs_error = 0;
  uint64_t segments_rx = 0;  // with a good FCS, copies too
  uint64_t rx_marked = 0;    // of those: with CE
  uint64_t needless = 0;     // of retransmits: the segment had arrived before
};

struct TraceVerdict {
  std::vector<NodeTrace> nodes;
  // One line for each rule that was broken:
  // - new segments are numbered one after the other from INITIAL_SEQ;
  // - a segment that is sent again is the same, byte for byte;
  // - it is not yet acknowledged, and since it was sent last a frame came that says that something
  // is
  //   missing (SACK), or a time-out struck;
  // - nothing is acknowledged that has not arrived, and no acknowledgement is taken back;
  // - a mark that came is echoed in the next acknowledgement, and none is that did not come;
  // - no more segments are under way than the largest window that can follow from the
  //   acknowledgements and echoes so far (what a sender takes off for loss and delay is left out);
  // - of a sender's segments one at a time is refused, one that has arrived, and nothing behind it
  //   is acknowledged until the sender says that it has heard of that; refusals are numbered one
  //   after the other, and one that is sent again is the same;
  // - nothing is heard of that did not come.
  // Frames of the unreliable class are only counted.
  std::vector<std::string> faults;
};

TraceVerdict check_trace(const std::vector<CapturedFrame>& frames, unsigned nodes,
                         const TraceRules& rules);

// Where counters of a node differ from its trace, one line each. For a run without errors whose
// segments were all to be placed (PUSHes): each good one received was placed or dropped for a
// reason.
std::vector<std::string> compare_counters(const NodeTrace& trace,
                                          const std::vector<uint64_t>& counters);

}  // namespace exrnic::testing

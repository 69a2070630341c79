// SPDX-License-Identifier: BSD-2-Clause
// The checks of exrnic-guest-test with both ends in one process, in two threads.
#ifndef EXRNIC_GUEST_BOTH_ENDS_H
#define EXRNIC_GUEST_BOTH_ENDS_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench.h"

namespace exrnic {

struct CheckOutcome {
  int failed = 0;
  std::string output;  // of the requester
  std::string error;   // why it ended early, or ""
  int peer_failed = 0;
  std::string peer_output;  // and error, of the responder

  // Checks that the requester found right.
  size_t passed() const;
};

// open(node): the RNIC of an end.
CheckOutcome RunBothEnds(const std::vector<GuestCheck>& checks,
                         const std::function<vl_rnic*(uint32_t node)>& open);

}  // namespace exrnic

#endif  // EXRNIC_GUEST_BOTH_ENDS_H

// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ranks/meeting.h"

#include <algorithm>

namespace exrnic {
namespace {

// A word as a number, of which the greatest is that of all. A request is greater than any of them.
constexpr SimTime kRequest = SimTime{1} << 63;
constexpr SimTime kStays = SimTime{1} << 62;

}  // namespace

Meeting::Word Meeting::meet(const Word& own) {
  const auto took = static_cast<SimTime>(own.took.count());
  for (;;) {
    const SimTime word = ranks_.greatest((own.stays ? kStays : 0) | std::min(took, kStays - 1));
    if (word < kRequest)
      return {(word & kStays) != 0, std::chrono::nanoseconds(word & (kStays - 1))};
    answer({});
  }
}

std::string Meeting::ask(const std::string& request) {
  ranks_.greatest(kRequest);
  return answer(request);
}

std::string Meeting::answer(const std::string& request) {
  const Bytes told = ranks_.tell(Bytes(request.begin(), request.end()));
  return answer_(std::string(told.begin(), told.end()));
}

}  // namespace exrnic

// SPDX-License-Identifier: BSD-2-Clause
// The counters of RNICs, wherever they are read: names and order are those of the spec.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace exrnic::ctl {

// One clear line: what is wrong, and what to do.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct NodeCounters {
  unsigned node = 0;
  std::vector<uint64_t> values;  // EXRNIC_COUNTERS of them
};

struct Snapshot {
  std::vector<NodeCounters> nodes;
  std::optional<uint64_t> simulated_ns;  // of a simulator
};

class CounterSource {
 public:
  virtual ~CounterSource() = default;
  virtual Snapshot read() = 0;  // throws Failure
};

}  // namespace exrnic::ctl

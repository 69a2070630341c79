// SPDX-License-Identifier: BSD-2-Clause
// A queue pair of the simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <tuple>

namespace exrnic::lockstep {

struct Endpoint {
  uint32_t node = 0;
  uint32_t qpn = 0;

  friend bool operator<(const Endpoint& a, const Endpoint& b) {
    return std::tie(a.node, a.qpn) < std::tie(b.node, b.qpn);
  }
  friend bool operator==(const Endpoint& a, const Endpoint& b) {
    return a.node == b.node && a.qpn == b.qpn;
  }

  friend bool operator!=(const Endpoint& a, const Endpoint& b) { return !(a == b); }
};

// For whom memory is written: for a receive of the queue pair, or for a tagged message.
struct Owner {
  Endpoint qp;
  bool receive = false;
};

// Whether a difference in what is written for it is one that time may make.
using Excused = std::function<bool(const Owner&)>;

}  // namespace exrnic::lockstep

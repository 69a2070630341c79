// SPDX-License-Identifier: BSD-2-Clause
// The clocks of efe_tx in a verilated core: when a frame counts as lost (tx_timer), and how long a
// node is paced (tx_pacer). Both look at one node a cycle, at each in turn.
//
// While a core waits for acknowledgements, or for what it reads of its host (waits_o of
// exrnic_core), nothing else in it changes. So cycles in which no clock strikes need not be
// evaluated: the clocks are set forward by as many. What the core does, and when, is the same in
// every cycle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "exrnic_hw.h"

namespace exrnic {

// Root: the class of Verilator with the registers of sampled_core.
template <typename Root>
class TransmitClocks {
 public:
  explicit TransmitClocks(Root& root) : root_(root) {}

  // Cycles of a core that waits, from the next one on, in which no clock strikes.
  uint32_t quiet_cycles() const {
    const uint32_t lost = first(outstanding(), deadlines(), 0, timer_scan());
    return std::min(lost, first(paced(), due(), kPacedAfter, pacer_scan()));
  }

  // Sets the clocks forward; `cycles` is at most quiet_cycles().
  void advance(uint32_t cycles) {
    now() += cycles;
    advance_scan(timer_scan(), cycles);
    advance_scan(pacer_scan(), cycles);
    // What Verilator reads at these places only behind an edge of the clock.
    deadline() = deadlines()[timer_scan()];
    scan_due() = due()[pacer_scan()];
  }

 private:
  // tx_pacer forgets a node that has been due for longer than its wide_t can say.
  static constexpr uint32_t kPacedAfter = (1u << 26) + 1;

  // N_NODE of this build: a power of two, at which the scans wrap.
  uint32_t nodes() const {
    const auto& times = deadlines();
    return static_cast<uint32_t>(sizeof(times) / sizeof(times[0]));
  }

  // A scan has as many bits as Verilator gives the number of a node.
  template <typename Scan>
  void advance_scan(Scan& scan, uint32_t cycles) const {
    scan = static_cast<Scan>((scan + cycles) % nodes());
  }

  // 32 bits of a register with one for each node: one number, or words.
  template <typename Register>
  static uint32_t word_of(const Register& bits, uint32_t word) {
    if constexpr (std::is_integral_v<Register>) {
      return static_cast<uint32_t>(uint64_t{bits} >> 32 * word);
    } else {
      return bits[word];
    }
  }

  // Cycles before one of the nodes of `set` is looked at whose time has come, `after` behind its
  // entry.
  template <typename Set, typename Times>
  uint32_t first(const Set& set, const Times& times, uint32_t after, uint32_t scan) const {
    uint32_t cycles = std::numeric_limits<int32_t>::max();
    for (uint32_t word = 0; 32 * word < nodes(); ++word) {
      for (uint32_t left = word_of(set, word); left != 0; left &= left - 1) {
        const uint32_t node = 32 * word + static_cast<uint32_t>(__builtin_ctz(left));
        const auto until = static_cast<int32_t>(times[node] + after - now());
        const uint32_t wait = until > 0 ? static_cast<uint32_t>(until) : 0;
        cycles = std::min(cycles, wait + (node - scan - wait) % nodes());
      }
    }
    return cycles;
  }

  // The registers by Verilator's names.
#define EXRNIC_EFE_TX(name) root_.sampled_core__DOT__u_core__DOT__u_wire__DOT__u_efe_tx__DOT__##name
  uint32_t& now() { return EXRNIC_EFE_TX(u_timer__DOT__now_q); }
  uint32_t now() const { return EXRNIC_EFE_TX(u_timer__DOT__now_q); }
  auto& timer_scan() { return EXRNIC_EFE_TX(u_timer__DOT__scan_q); }
  uint32_t timer_scan() const { return EXRNIC_EFE_TX(u_timer__DOT__scan_q); }
  auto& pacer_scan() { return EXRNIC_EFE_TX(u_pacer__DOT__scan_q); }
  uint32_t pacer_scan() const { return EXRNIC_EFE_TX(u_pacer__DOT__scan_q); }
  const auto& deadlines() const { return EXRNIC_EFE_TX(u_timer__DOT__u_deadlines__DOT__memory); }
  uint32_t& deadline() { return EXRNIC_EFE_TX(u_timer__DOT__deadline); }
  const auto& outstanding() const { return EXRNIC_EFE_TX(u_sequencer__DOT__outstanding_q); }
  const auto& due() const { return EXRNIC_EFE_TX(u_pacer__DOT__u_due__DOT__memory); }
  uint32_t& scan_due() { return EXRNIC_EFE_TX(u_pacer__DOT__scan_due); }
  const auto& paced() const { return EXRNIC_EFE_TX(u_pacer__DOT__paced_q); }
#undef EXRNIC_EFE_TX

  Root& root_;
};

}  // namespace exrnic

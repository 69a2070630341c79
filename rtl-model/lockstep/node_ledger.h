// SPDX-License-Identifier: BSD-2-Clause
// Everything of one node that is compared, but what it sends: memory, completions, interrupts.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "rtl-model/lockstep/driver_view.h"
#include "rtl-model/lockstep/excuses.h"
#include "rtl-model/lockstep/first_copies.h"
#include "rtl-model/lockstep/in_order.h"
#include "rtl-model/lockstep/memory_ledger.h"
#include "rtl-model/lockstep/messages.h"

namespace exrnic::lockstep {

// All but the time, and what nobody promises of a failed work request.
struct SameCompletion {
  bool operator()(const exrnic_cqe& expected, const exrnic_cqe& came) const;
};

class NodeLedger {
 public:
  NodeLedger(uint32_t node, Excuses& excuses, Messages& messages);
  NodeLedger(const NodeLedger&) = delete;
  DriverView& driver() { return driver_; }
  const DriverView& driver() const { return driver_; }

  // These throw Mismatch at a difference.
  void predict(const PostedWrite& write, const Owner& owner);
  void done(const PostedWrite& write);  // Nothing is under way: nothing may be left unmatched, but
                                        // what time `excused`.
  void rest(bool excused);

  // Of the subject: its payload may explain a write that nobody has predicted.
  void received(Segment&& segment);

  void overlay(uint64_t address, uint8_t* out, size_t length) const {
    memory_.overlay(address, out, length, excused_);
  }

 private:
  using Completions = InOrder<exrnic_cqe, SameCompletion>;
  // Completions of its receive queue are a stream of their own.
  struct Queue {
    uint32_t qpn = 0;
    bool receives = false;
    friend bool operator<(const Queue& a, const Queue& b) {
      return std::tie(a.qpn, a.receives) < std::tie(b.qpn, b.receives);
    }
  };

  // Segments of a core that it may still be placing: as many as its receive buffer takes.
  static constexpr size_t kReceived = 128;

  bool take_completion(Side side, const PostedWrite& write);
  bool take_event(Side side, const PostedWrite& write);
  void judge(const exrnic_cqe& cqe);
  void compare(Side side, exrnic_cqe cqe);
  void rest_completions();
  void rest_events() const;
  void rest_interrupts() const;
  std::vector<Owner> explanations(const Bytes& data) const;
  [[noreturn]] void report(const MemoryLedger::Difference& difference) const;

  const uint32_t node_;
  Excuses& excuses_;
  Messages& messages_;  // of the subjects
  const Excused excused_;
  DriverView driver_;
  MemoryLedger memory_;
  std::map<Queue, Completions> completions_;
  std::array<std::array<unsigned, EXRNIC_MSIX_VECTORS>, kSides> fired_{};
  std::deque<Segment> received_;
};

}  // namespace exrnic::lockstep

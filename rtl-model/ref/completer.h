// SPDX-License-Identifier: BSD-2-Clause
// Writes completions: gives each work request that ended its status, writes the CQE with its phase
// bit, and fires the vector of an armed queue behind it.
#pragma once

#include <deque>
#include <set>

#include "rtl-model/ref/dma_write.h"
#include "rtl-model/ref/segment.h"
#include "rtl-model/ref/xlate.h"

namespace exrnic::ref {

// A store to a completion queue's doorbell.
struct CqDoorbell {
  uint32_t cqn = 0;
  uint32_t consumer = 0;
  CompletionQueue::Arm arm = CompletionQueue::Arm::kNone;
  uint32_t page = 0;
};

class Completer {
 public:
  Completer(State& state, Xlate& xlate, DmaWrite& dma_write)
      : state_(state), xlate_(xlate), dma_write_(dma_write) {}

  void ended(const Ended& ended) { ended_.push_back(ended); }
  void ended(const ReceiveEnded& ended) {
    ++state_.qps[ended.qpn].at.reports;
    receives_ended_.push_back(ended);
    if (ended.emptied || ended.drained) return;
    const bool pull = ended.opcode == EXRNIC_WQE_OPCODE_PULL;
    state_.trace(EXRNIC_TRACE_MESSAGE_END, ended.qpn, ended.wqe_index, 0,
                 (pull ? EXRNIC_TRACE_FLAGS_PULL : EXRNIC_TRACE_FLAGS_RECEIVE) |
                     (ended.signaled ? EXRNIC_TRACE_FLAGS_SIGNALED : 0));
  }
  void ring(const CqDoorbell& bell);

  void run();
  bool idle() const {
    return !busy_ && ended_.empty() && receives_ended_.empty() && timed_.empty();
  }
  // Does nothing until it gets something to do.
  bool rests() const {
    return busy_ || (ended_.empty() && receives_ended_.empty() && timed_.empty());
  }

 private:
  bool known(uint32_t qpn, uint16_t generation) const;
  void complete(const Ended& ended);
  void complete(const ReceiveEnded& ended);
  void lose_response(const Ended& ended);
  void count_end(uint32_t qpn);
  void end_silent();
  void go_to_error(const Ended& ended);
  void tell_drained(uint32_t qpn);
  static void take_fault(QueuePair& qp, exrnic_cqe& cqe);

  void write_cqe(uint32_t cqn, const exrnic_cqe& cqe);
  void lose_completion(uint32_t cqn, uint32_t qpn);
  void moderate(uint32_t cqn, const exrnic_cqe& cqe);
  void fire(uint32_t cqn);
  void fire_late();

  State& state_;
  Xlate& xlate_;
  DmaWrite& dma_write_;
  std::deque<Ended> ended_;
  std::deque<ReceiveEnded> receives_ended_;
  std::set<uint32_t> timed_;  // completion queues that fire by themselves, unless taken
  bool busy_ = false;         // waits for the place of a CQE
};

}  // namespace exrnic::ref

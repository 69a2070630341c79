// SPDX-License-Identifier: BSD-2-Clause
// Remote windows: a store to BAR 4 leaves as an RDMA Write, a load as an RDMA Read Request whose
// answer is the load's. Combining stores is a matter of time: here each leaves alone.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "rtl-model/ref/efe_tx.h"
#include "rtl-model/ref/state.h"

namespace exrnic::ref {

class Windows {
 public:
  Windows(State& state, EfeTx& efe_tx) : state_(state), efe_tx_(efe_tx) {}

  void store(const MmioAccess& access);
  void load(const MmioAccess& access);  // while none waits

  // Of the oldest load, once.
  std::optional<uint64_t> take_answer();

  // An RDMA Read Response for a load has come.
  void answered(uint32_t qpn, uint64_t token, const uint8_t* data, size_t length);
  void set(uint32_t index, const Window& entry);

  void run();
  bool stores_wait() const { return !stores_.empty(); }  // for room to be sent
  // Those that wait now; and they were sent.
  void mark() { marked_ = stores_.size(); }
  bool sent_to_mark() const { return marked_ == 0; }
  bool loading() const { return loading_.has_value(); }
  bool idle() const { return !stores_wait() && !loading() && !answer_; }

 private:
  struct Store {
    uint32_t window = 0;
    uint32_t qpn = 0;
    uint16_t generation = 0;
    uint32_t stag = 0;
    uint64_t to = 0;
    Bytes data;
    uint64_t deadline = 0;  // cycle; 0: it does not wait for the meeting of the queue pairs yet
  };
  struct Load {
    uint32_t window = 0;
    uint32_t qpn = 0;
    uint64_t token = 0;
    size_t size = 0;
    uint32_t stag = 0;
    uint64_t to = 0;
    uint64_t deadline = 0;  // cycle
    bool asked = false;     // its request has left
  };

  Window* granted(const MmioAccess& access, uint32_t right);
  bool can_send(uint32_t qpn, uint16_t generation) const;
  Segment segment(uint32_t qpn) const;
  bool waits(Store& store);
  bool crowded_for_long();
  void send(const Store& store);
  void ask_for_load();
  void end_load(uint64_t value);
  void fail_load();

  State& state_;
  EfeTx& efe_tx_;
  std::deque<Store> stores_;
  size_t marked_ = 0;  // so many of them
  std::optional<Load> loading_;
  std::optional<uint64_t> answer_;
  uint64_t waits_since_ = 0;              // cycle; 0: the first store does not wait for room
  uint64_t crowded_ = 0;                  // cycles that others have waited for it
  uint32_t loads_ = 0;                    // asked so far
  std::pair<uint32_t, uint16_t> missed_;  // queue pair that did not meet its peer, its generation
};

}  // namespace exrnic::ref

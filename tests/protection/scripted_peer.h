// SPDX-License-Identifier: BSD-2-Clause
// The other node as a test writes it: numbers and sends the DDP segments that it is given, whatever
// they say, acknowledges what comes, and sends again what the core had no room for.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "tests/protection/bare_core.h"

namespace exrnic::testing {

class ScriptedPeer {
 public:
  static constexpr uint16_t kNode = 1;

  // `take`: a segment came, for our queue pair `qpn`.
  using Take = std::function<void(uint32_t qpn, const uint8_t* ddp, size_t length)>;
  ScriptedPeer(BareCore& core, Take take) : core_(core), take_(std::move(take)) {}

  // From queue pair `qpn` of ours to that of the same number.
  void send(uint32_t qpn, const Bytes& ddp);

  // A frame of the core.
  void receive(const Bytes& frame);

  // All that was sent is placed or refused; otherwise it is sent again by resend().
  bool settled() const { return sent_.empty(); }
  void resend();

 private:
  struct Sent {
    uint32_t seq;
    uint32_t qpn;
    uint16_t generation;  // of the core's queue pair
    Bytes ddp;
  };

  void introduce(uint32_t qpn);
  void transmit(uint8_t flags, const Sent& segment);
  void acknowledged(uint32_t up_to);

  BareCore& core_;
  Take take_;
  std::deque<Sent> sent_;
  std::map<uint32_t, uint16_t> core_generations_;  // by queue pair, as it has told
  uint32_t next_seq_ = EXRNIC_INITIAL_SEQ;
  uint16_t core_session_ = 0;
  uint32_t core_next_ = EXRNIC_INITIAL_SEQ;
  uint8_t heard_ = 0;  // number of the core's last refusal
};

}  // namespace exrnic::testing

// SPDX-License-Identifier: BSD-2-Clause
// efe_rx between a test and a MAC.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "Vefe_rx.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/tiles/wire/efe_tx/efe_types.h"

namespace exrnic::testing {

constexpr uint8_t kOwnNode = 5;
constexpr uint8_t kPeer = 2;
constexpr uint16_t kSession = 0x0a0b;
constexpr uint32_t kFirst = EXRNIC_INITIAL_SEQ;
constexpr uint32_t kSynSeq = EXRNIC_EFE_FLAGS_SYN | EXRNIC_EFE_FLAGS_SEQ;

class EfeRx : public Bench<Vefe_rx> {
 public:
  static constexpr unsigned kBeat = sizeof(Vefe_rx::rx_data_i);

  struct AckRequest {
    uint8_t node;
    bool sack;
  };
  enum class Refused { kInForce, kPutOff, kVoid };
  struct Restart {
    uint8_t node;
    uint16_t known;
  };

  EfeRx() {
    dut().cfg_node_i = kOwnNode;
    dut().enable_i = 1;
    dut().rx_valid_i = dut().rx_looped_i = dut().refuse_valid_i = 0;
    dut().desc_ready_i = dut().once_ready_i = dut().frame_done_valid_i = 0;
    dut().peer_heard_valid_i = dut().peer_ack_sent_i = 0;
    dut().peer_ack_ready_i = 1;
    dut().peer_restart_ready_i = 1;
    reset();
    wait_for("init_done_o", 1000, [this] { return dut().init_done_o; });
  }

  void cycle() override {
    if (!injector_.busy() && !arriving_.empty()) {
      injector_.start(std::move(arriving_.front()));
      arriving_.pop_front();
    }
    injector_.drive(dut());
    settle();
    dut().group_known_i = dut().group_look_o && groups.count(dut().group_o) != 0;
    settle();
    sample();
    tick();
    dut().desc_ready_i = dut().once_ready_i = 0;
    dut().frame_done_valid_i = 0;
    dut().peer_heard_valid_i = 0;
    settle();
  }
  void run(int cycles) {
    for (int i = 0; i < cycles; ++i) cycle();
  }

  // Frames back to back; returns when all are judged.
  void receive(const std::vector<Frame>& frames) {
    for (const Frame& frame : frames) arriving_.push_back(frame);
    while (injector_.busy() || !arriving_.empty()) cycle();
    run(6);
  }
  void receive(const Frame& frame) { receive(std::vector<Frame>{frame}); }

  // What is sent once gives way.
  RxDesc take() {
    wait_for("desc_valid_o, once_valid_o", 20,
             [this] { return dut().desc_valid_o || dut().once_valid_o; });
    const bool reliable = dut().desc_valid_o;
    const RxDesc desc = reliable ? unpack<RxDesc>(dut().desc_o) : unpack<RxDesc>(dut().once_o);
    dut().desc_ready_i = reliable;
    dut().once_ready_i = !reliable;
    cycle();
    return desc;
  }
  Bytes read(uint32_t start, std::size_t length, unsigned step = kBeat) {
    Bytes bytes;
    while (bytes.size() < length) {
      dut().read_address_i = static_cast<uint32_t>((start + bytes.size()) % kRxBytes);
      cycle();
      for (unsigned i = 0; i < step && bytes.size() < length; ++i)
        bytes.push_back(static_cast<uint8_t>(dut().read_data_o[i / 4] >> (8 * (i % 4))));
    }
    return bytes;
  }
  // The oldest one that was taken; without one, the next one is taken.
  void place(uint8_t node) {
    if (placing_ == 0) take();
    --placing_;
    dut().frame_done_valid_i = 1;
    dut().frame_done_node_i = node;
    cycle();
    run(2);
  }
  RxState state(uint8_t node) {
    dut().peer_query_node_i = node;
    settle();
    return unpack<RxState>(dut().peer_state_o);
  }
  // The segment taken last is refused.
  Refused refuse(uint8_t node, uint32_t seq) {
    dut().refuse_valid_i = 1;
    dut().refuse_node_i = node;
    dut().refuse_seq_i = seq;
    settle();
    wait_for("refuse_ready_o", 100, [this] { return dut().refuse_ready_o; });
    const Refused result = dut().peer_refusal_set_o ? Refused::kInForce
                           : dut().refuse_put_off_o ? Refused::kPutOff
                                                    : Refused::kVoid;
    cycle();
    dut().refuse_valid_i = 0;
    settle();
    return result;
  }
  // The peer has dealt with our refusal.
  void hear(uint8_t node, uint8_t number) {
    dut().peer_heard_valid_i = 1;
    dut().peer_heard_node_i = node;
    dut().peer_heard_i = number;
    cycle();
    run(3);
  }

  std::set<uint32_t> groups;  // to which a queue pair is attached
  Counters counters{};
  std::vector<RxAck> acks;
  std::vector<AckRequest> requests;
  std::vector<Restart> restarts;
  std::vector<CreditUpdate> credits;

 private:
  void sample() {
    placing_ +=
        (dut().desc_valid_o && dut().desc_ready_i) || (dut().once_valid_o && dut().once_ready_i);
    count_events(counters, dut());
    if (dut().peer_ack_valid_o && dut().peer_ack_ready_i)
      acks.push_back(unpack<RxAck>(dut().peer_ack_o));
    if (dut().credit_valid_o) credits.push_back(unpack<CreditUpdate>(dut().credit_o));
    if (dut().peer_ack_request_o)
      requests.push_back({dut().peer_ack_request_node_o, dut().peer_ack_request_sack_o != 0});
    if (dut().peer_restart_valid_o && dut().peer_restart_ready_i)
      restarts.push_back({dut().peer_restart_node_o, dut().peer_restart_known_o});
  }

  unsigned placing_ = 0;  // taken, not placed
  std::deque<Frame> arriving_;
  FrameInjector injector_;
};

}  // namespace exrnic::testing

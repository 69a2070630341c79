// SPDX-License-Identifier: BSD-2-Clause
// efe_tx between a test and simple models: payload memory, receive side, MAC.
#pragma once

#include <deque>
#include <map>
#include <random>

#include "Vefe_tx.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/tiles/wire/efe_tx/efe_types.h"

namespace exrnic::testing {

constexpr uint8_t kOwnNode = 1;
constexpr uint32_t kRto = 1500;
constexpr uint8_t kRetryLimit = 3;
// Sessions are made of the time (and the peer's node) when they are first needed.
constexpr uint64_t kTime = 0x12340000;
constexpr uint16_t session_to(uint8_t node) { return 0x1234 ^ node; }

class EfeTx : public Bench<Vefe_tx> {
 public:
  static constexpr unsigned kBeat = sizeof(Vefe_tx::tx_data_o);

  explicit EfeTx(uint32_t seed = 1) : Bench(false), random_(seed) {
    dut().settings_node_i = kOwnNode;
    dut().settings_rto_cycles_i = kRto;
    dut().settings_retry_limit_i = kRetryLimit;
    dut().enable_i = 1;
    dut().settings_now_i = kTime;
    dut().tx_ready_i = 1;
    dut().done_ready_i = 1;
    dut().quota_slots_i = 1;
    reset();
    wait_for("init_done_o", 1000, [this] { return dut().init_done_o; });
  }

  void cycle() override {
    drive_beat();
    if (random_ready) dut().tx_ready_i = random_() % 4 != 0;
    settle();
    pack(dut().peer_state_i, rx_states[dut().peer_query_node_o]);
    settle();
    sample();
    tick();
    dut().submit_valid_i = 0;
    dut().peer_ack_request_i = 0;
    settle();
  }
  void run(int cycles) {
    for (int i = 0; i < cycles; ++i) cycle();
  }

  uint8_t allocate() {
    wait_for("alloc_payload_valid_o", 20000, [this] { return dut().alloc_payload_valid_o; });
    return take_slot();
  }
  uint8_t allocate_prompt() {
    wait_for("alloc_valid_o", 20000, [this] { return dut().alloc_valid_o; });
    return take_slot();
  }
  void submit(const TxDesc& desc) {
    wait_for("submit_ready_o", 100, [this] { return dut().submit_ready_o; });
    pack(dut().submit_i, desc);
    dut().submit_valid_i = 1;
    cycle();
  }

  // Payload for a slot, in beats of any size and so at any alignment.
  void load(uint8_t slot, const Bytes& payload) {
    for (std::size_t at = 0; at < payload.size();) {
      const std::size_t bytes = std::min<std::size_t>(1 + random_() % kBeat, payload.size() - at);
      beats_.push_back(read_beat(slot, payload, at, bytes));
      at += bytes;
    }
  }
  void fail(uint8_t slot, uint16_t bytes) {
    beats_.push_back({uint32_t{slot} * EXRNIC_MTU_MAX, {}, bytes, true});
  }

  void acknowledge(const RxAck& ack) {
    pack(dut().peer_ack_i, ack);
    dut().peer_ack_valid_i = 1;
    wait_for("peer_ack_ready_o", 1000, [this] { return dut().peer_ack_ready_o; });
    cycle();
    dut().peer_ack_valid_i = 0;
    run(10);
  }
  void request_ack(uint8_t node, bool sack = false) {
    dut().peer_ack_request_i = 1;
    dut().peer_ack_request_node_i = node;
    dut().peer_ack_request_sack_i = sack;
    cycle();
  }
  void tell(const CreditUpdate& credit) {
    pack(dut().credit_data_i, credit);
    dut().credit_valid_i = 1;
    wait_for("credit_ready_o", 1000, [this] { return dut().credit_ready_o; });
    cycle();
    dut().credit_valid_i = 0;
    pack(dut().credit_data_i, CreditUpdate{});
  }
  // It is in force from now on.
  void refuse(const Refusal& refusal, uint8_t number) {
    pack(dut().refusal_i, refusal);
    dut().peer_refusal_set_i = 1;
    cycle();
    dut().peer_refusal_set_i = 0;
    rx_states[refusal.node].refusal = number;
    rx_states[refusal.node].refused = refusal.seq;
  }
  void restart_peer(uint8_t node, uint16_t known) {
    dut().peer_restart_node_i = node;
    dut().peer_restart_known_i = known;
    dut().peer_restart_valid_i = 1;
    wait_for("peer_restart_ready_o", 1000, [this] { return dut().peer_restart_ready_o; });
    cycle();
    dut().peer_restart_valid_i = 0;
    run(10);
  }

  Frame next_frame(int limit = 6000) {
    wait_for("a frame", limit, [this] { return !frames.empty(); });
    Frame frame = frames.front();
    frames.pop_front();
    return frame;
  }
  TxDone next_done(int limit = 20000) {
    wait_for("done_o", limit, [this] { return !dones.empty(); });
    TxDone done = dones.front();
    dones.pop_front();
    return done;
  }

  std::deque<Frame> frames;
  std::deque<std::size_t> sizes;  // of the frames, before padding
  std::deque<TxDone> dones;
  std::deque<TxDone> prompt_dones;
  Counters counters{};
  std::map<uint8_t, RxState> rx_states;
  bool random_ready = false;
  std::vector<std::pair<uint8_t, uint8_t>> heard;  // node, number of a refusal
  long stalls = 0;                                 // cycles in the middle of a frame without a beat
  FrameCollector collector;

 private:
  uint8_t take_slot() {
    const uint8_t slot = dut().alloc_slot_o;
    dut().alloc_ready_i = 1;
    cycle();
    dut().alloc_ready_i = 0;
    return slot;
  }

  void drive_beat() {
    dut().beat_valid_i = !beats_.empty();
    if (beats_.empty()) return;
    pack(dut().beat_i, beats_.front());
    beats_.pop_front();
  }

  void sample() {
    if (dut().peer_heard_valid_o) heard.emplace_back(dut().peer_heard_node_o, dut().peer_heard_o);
    count_events(counters, dut());
    if (dut().done_valid_o && dut().done_ready_i) dones.push_back(unpack<TxDone>(dut().done_o));
    if (dut().prompt_done_valid_o) prompt_dones.push_back(unpack<TxDone>(dut().prompt_done_o));
    if (in_frame_ && !dut().tx_valid_o) ++stalls;
    if (dut().tx_valid_o && dut().tx_ready_i) in_frame_ = !dut().tx_eop_o;
    if (collector.sample(dut())) {
      frames.push_back(collector.take());
      sizes.push_back(collector.unpadded_size());
    }
  }

  std::mt19937 random_;
  std::deque<DmaReadBeat> beats_;
  bool in_frame_ = false;
};

}  // namespace exrnic::testing

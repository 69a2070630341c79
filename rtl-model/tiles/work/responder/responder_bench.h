// SPDX-License-Identifier: BSD-2-Clause
// The responder with its neighbours: queue pairs with their reads under way, shared receive queues,
// rings in host memory, translation, slots, and the places where writes,
// terminate messages, completions, status changes and wake-ups go.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "Vresponder.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/neighbours.h"
#include "rtl-model/tiles/work/responder/ring_memory.h"
#include "rtl-model/tiles/work/responder/segments.h"

namespace exrnic::testing {

constexpr int kLimit = 2000;  // cycles for anything here

class Responder : public Bench<Vresponder> {
 public:
  explicit Responder(uint32_t seed = 1)
      : events(dut()), xlate(dut(), seed), memory(dut(), seed), random_(seed) {
    xlate.answer = [this](const XlateReq& request) { return region(request); };
    dut().queues_posted_valid_i = dut().queues_clear_ring_i = 0;
    dut().quiesce_i = dut().desc_valid_i = dut().flush_valid_i = 0;
    dut().clear_i = dut().look_i = 0;
    dut().refusal_ready_i = 0;
    dut().write_idle_i = 1;
    dut().pkeys_i = {};
    dut().port_ready_i = dut().firmware_punt_ready_i = 1;
    dut().firmware_crowded_i = dut().firmware_lost_i = 0;
    dut().firmware_active_i = dut().firmware_held_i = dut().firmware_atomics_i = 0;
    dut().refusal_put_off_i = dut().punt_reads_i = 0;
    dut().xlate_let_go_i = dut().fetch_xlate_let_go_i = 0;
    reset();
    wait_for("init_done_o", EXRNIC_MAX_QP + 2, [&] { return dut().init_done_o != 0; });
  }

  std::map<unsigned, Qp> qps;
  std::map<unsigned, Srq> srqs;
  std::map<unsigned, std::deque<Pull>> pulls;
  std::map<unsigned, std::deque<Read>> reads;
  bool in_force = false;  // another refusal of the sender's
  bool completer_rests = false;
  bool writes_rest = false;
  int put_offs = 0;
  std::vector<DmaWriteCmd> writes;
  std::vector<Refusal> refusals;
  std::vector<RxDone> ended;
  std::vector<unsigned> wakes;
  std::vector<unsigned> pauses;  // codes
  // Of what left: w(rite), h(old), t(erminate), s(tatus), d(one with the frame), c(ompletion).
  std::string order;
  int qp_errors = 0;
  int limit_events = 0;
  std::vector<CreditTaken> credits;
  Events<Vresponder> events;
  XlateModel<Vresponder> xlate;
  std::function<XlateRsp(const XlateReq&)> region = translate_in_place;
  RingMemory memory;
  std::vector<PortMessage> port_messages;
  std::vector<bool> well_formed;  // each of them
  std::vector<WindowAnswer> answers;
  std::vector<Punt> punts;
  std::map<unsigned, FwGrant> grants;  // of firmware, by place
  bool placed_granted = false;         // bytes that it has granted were in hand

  void cycle() override {
    drive_tables();
    xlate.drive();
    memory.drive();
    dut().queues_status_ready_i = random_() % 2;
    dut().wake_ready_i = random_() % 2;
    dut().write_ready_i = !writes_rest && random_() % 2;
    dut().rx_done_ready_i = !completer_rests && random_() % 2;
    dut().refusal_ready_i = random_() % 2;
    dut().refusal_put_off_i = dut().refusal_ready_i && in_force;
    settle();
    pack(dut().firmware_grant_i, grants[dut().firmware_grant_index_o]);
    settle();
    placed_granted |= dut().firmware_placing_o;
    desc_taken_ = dut().desc_valid_i && dut().desc_ready_o;
    flush_taken_ = dut().flush_valid_i && dut().flush_ready_o;
    sample();
    tick();
    settle();
  }

  void begin(const RxDesc& desc) {
    pack(dut().desc_data_i, desc);
    dut().desc_valid_i = 1;
    do cycle();
    while (!desc_taken_ && --patience_ > 0);
    REQUIRE(desc_taken_);
    patience_ = kLimit;
    dut().desc_valid_i = 0;
  }
  void rest() {
    wait_for("idle_o", kLimit, [&] { return dut().idle_o != 0; });
  }
  void receive(const RxDesc& desc) {
    begin(desc);
    rest();
  }
  void flush(unsigned qpn) {
    dut().flush_qpn_i = qpn;
    dut().flush_valid_i = 1;
    do cycle();
    while (!flush_taken_ && --patience_ > 0);
    REQUIRE(flush_taken_);
    patience_ = kLimit;
    dut().flush_valid_i = 0;
    rest();
  }
  void clear(unsigned qpn) {
    dut().clear_i = dut().queues_clear_ring_i = 1;
    dut().clear_qpn_i = dut().queues_clear_ring_id_i = qpn;
    cycle();
    dut().clear_i = dut().queues_clear_ring_i = 0;
  }
  // What the doorbell of a receive queue tells.
  void tell(const SlotRing& ring) {
    pack(dut().queues_posted_i, ring);
    dut().queues_posted_valid_i = 1;
    cycle();
    dut().queues_posted_valid_i = 0;
  }
  void tell_posted(unsigned qpn) {
    const Qp& qp = qps[qpn];
    tell({false, static_cast<uint16_t>(qpn), qp.cfg.rq_pbl, qp.cfg.rq_log, qp.rq_consumer,
          qp.rq_producer});
  }
  bool message_open(unsigned qpn) {
    dut().look_i = 1;
    dut().look_qpn_i = qpn;
    cycle();
    dut().look_i = 0;
    return dut().message_open_o;
  }
  void run(int cycles) {
    for (int i = 0; i < cycles; ++i) cycle();
  }
  uint16_t refusal_code() const { return refusals.at(0).code; }

  // The cycle was lost to a neighbour: a look-up, or a write that was not taken.
  bool waited() const { return waited_; }

 private:
  // The answer to a look comes in the next cycle.
  void drive_tables() {
    if (asked_qp_) {
      pack(dut().qp_row_i, qps[qpn_]);
      dut().queues_pull_count_i = static_cast<uint8_t>(pulls[qpn_].size());
      dut().queues_read_count_i = static_cast<uint8_t>(reads[qpn_].size());
      pack(dut().queues_pull_head_i, pulls[qpn_].empty() ? Pull{} : pulls[qpn_].front());
    }
    if (asked_srq_) pack(dut().srq_row_i, srqs[srqn_]);
    asked_qp_ = asked_srq_ = false;
  }
  void sample_tables() {
    if (dut().qp_read_o) asked_qp_ = true, qpn_ = dut().qp_index_o;
    if (dut().srq_read_o) asked_srq_ = true, srqn_ = dut().srq_index_o;
    if (dut().queues_rq_we_o) qps[dut().qp_index_o].rq_consumer = dut().queues_rq_consumer_o;
    if (dut().queues_srq_we_o) {
      srqs[dut().srq_index_o].consumer = dut().queues_srq_consumer_o;
      srqs[dut().srq_index_o].limit = dut().queues_srq_limit_o;
    }
    if (dut().queues_peer_we_o) qps[dut().qp_index_o].peer = unpack<QpPeer>(dut().queues_peer_o);
    if (dut().queues_refused_we_o)
      qps[dut().qp_index_o].refused = unpack<RefusedRequest>(dut().queues_refused_o);
    limit_events += dut().srq_limit_event_o;
    if (dut().queues_taken_o) credits.push_back(unpack<CreditTaken>(dut().queues_taken_what_o));
    auto& under_way = pulls[dut().qp_index_o];
    if (dut().queues_pull_set_o) under_way.front() = unpack<Pull>(dut().queues_pull_rest_o);
    if (dut().queues_pull_pop_o) under_way.pop_front();
    if (dut().queues_read_push_o)
      reads[dut().qp_index_o].push_back(unpack<Read>(dut().queues_read_new_o));
  }
  void sample_waits() {
    if (dut().xlate_rsp_valid_i) looking_ = false;
    waited_ = looking_ || (dut().xlate_valid_o && !dut().xlate_ready_i) ||
              (dut().write_valid_o && !dut().write_ready_i);
    if (dut().xlate_valid_o && dut().xlate_ready_i) looking_ = true;
  }
  void sample() {
    sample_waits();
    sample_tables();
    xlate.sample();
    memory.sample();
    events.sample();
    if (dut().refusal_valid_o && dut().refusal_ready_i) {
      if (in_force) {
        ++put_offs;
      } else {
        order += 'r';
        refusals.push_back(unpack<Refusal>(dut().refusal_what_o));
      }
    }
    if (dut().queues_pause_o) pauses.push_back(dut().queues_pause_code_o);
    if (dut().queues_status_valid_o && dut().queues_status_ready_i) {
      order += 's';
      qps[dut().queues_status_qpn_o].status = unpack<QpStatus>(dut().queues_status_o);
    }
    if (dut().rx_done_valid_o && dut().rx_done_ready_i) {
      order += 'c';
      ended.push_back(unpack<RxDone>(dut().rx_done_o));
    }
    if (dut().wake_valid_o && dut().wake_ready_i) wakes.push_back(dut().wake_data_o);
    if (dut().write_valid_o && dut().write_ready_i) {
      const auto write = unpack<DmaWriteCmd>(dut().write_data_o);
      if (write.kind != kDmaWriteNone) order += 'w';
      if (write.frame_done) order += 'd';
      writes.push_back(write);
    }
    qp_errors += dut().qp_error_o;
    sample_core();
  }
  // What is for the core itself.
  void sample_core() {
    if (dut().port_valid_o && dut().port_ready_i) {
      port_messages.push_back(unpack<PortMessage>(dut().port_message_o));
      well_formed.push_back(dut().port_good_o);
    }
    if (dut().answer_valid_o) answers.push_back(unpack<WindowAnswer>(dut().answer_o));
    if (dut().firmware_punt_valid_o && dut().firmware_punt_ready_i)
      punts.push_back(unpack<Punt>(dut().firmware_punt_o));
  }

  bool desc_taken_ = false, flush_taken_ = false;  // in the last cycle
  int patience_ = kLimit;
  std::mt19937 random_;
  bool asked_qp_ = false, asked_srq_ = false;
  bool waited_ = false, looking_ = false;
  unsigned qpn_ = 0, srqn_ = 0;
};

inline void post(Responder& responder, const std::vector<RingMemory::Word>& words) {
  post(responder.memory, kRqPbl, kRqLog, responder.qps[kQpn].rq_producer, words);
}

// ---- A queue pair with receives

constexpr exrnic_sge kElement{0x40000, 4096, 0x11111111};

// A responder with one queue pair that has one receive.
struct Receiver : Responder {
  explicit Receiver(const std::vector<exrnic_sge>& elements = {kElement}, uint32_t seed = 1)
      : Responder(seed) {
    qps[kQpn] = receiving_qp();
    post(*this, recv_wqe(elements));
  }
  void check_failed(uint8_t status, uint16_t code, const std::string& expected_order = "crsd") {
    CHECK(order == expected_order);
    REQUIRE(ended.size() == 1);
    CHECK(ended[0].opcode == EXRNIC_WQE_OPCODE_RECV);
    CHECK(ended[0].status == status);
    CHECK(ended[0].byte_length == 0);
    CHECK(ended[0].signaled);
    CHECK(refusal_code() == code);
    CHECK(qps[kQpn].status.state == EXRNIC_QP_STATE_ERROR);
    CHECK(qps[kQpn].status.told);
    CHECK(events[EXRNIC_COUNTER_RECVS] == 0);
  }
};

}  // namespace exrnic::testing

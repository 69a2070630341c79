// SPDX-License-Identifier: BSD-2-Clause
// The mailbox with the tables that it changes and a core that takes its time to come to rest.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "Vmailbox.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/neighbours.h"

namespace exrnic::testing {

constexpr int kLimit = 500;  // cycles for anything here
constexpr uint8_t kNode = 4;
constexpr unsigned kWindowShift = EXRNIC_WINDOW_SHIFT_MIN;

class Mailbox : public Bench<Vmailbox> {
 public:
  Mailbox() : qp_reader_(dut(), qps) {
    dut().cfg_node_i = kNode;
    dut().cfg_window_shift_i = kWindowShift;
    dut().pkeys_i = {};
    dut().drained_i = 1;
    dut().eqs_i = 0;
    dut().start_i = dut().quiescent_i = dut().command_flush_done_i = 0;
    dut().wake_ready_i = 1;
    dut().command_group_done_i = dut().command_group_found_i = dut().command_group_full_i = 0;
    dut().command_pull_count_i = dut().command_read_count_i = dut().command_message_open_i = 0;
    reset();
  }

  void set_pkey(unsigned index, uint16_t pkey) { set_element(dut().pkeys_i, index, 16, pkey); }

  std::map<unsigned, Qp> qps;
  std::map<unsigned, uint8_t> pulls, reads;  // under way, by queue pair
  std::map<unsigned, bool> messages;         // likewise
  unsigned pulls_free = EXRNIC_READ_POOL, reads_free = EXRNIC_READ_POOL;
  std::map<unsigned, CqConfig> cqs;
  std::map<unsigned, uint32_t> cq_producers, cq_unread;
  std::map<unsigned, EqConfig> eqs;
  std::map<unsigned, Srq> srqs;
  std::map<unsigned, Mr> regions;
  std::vector<unsigned> wakes;
  // Entries of windows that were set.
  struct WindowEntry {
    unsigned access = 0, qpn = 0, generation = 0;
    uint32_t stag = 0;
    uint64_t base = 0;
    uint32_t length = 0;

    template <typename Visit>
    void fields(Visit&& visit) {
      visit(access, 2), visit(qpn, kQpnBits), visit(generation, 16), visit(stag, 32);
      visit(base, 64), visit(length, EXRNIC_WINDOW_SHIFT_MAX + 1);
    }
  };
  std::map<unsigned, WindowEntry> windows;
  // Changes of attachments, and what they are answered.
  struct GroupChange {
    unsigned op, group, qpn;
  };
  std::vector<GroupChange> group_changes;
  bool group_found = false, group_full = false;
  // What happened: 1 at rest from here, w(rite of a table), c(lear of the rings), t(akes places for
  // reads), g(ives them back), f(lush), F(lushed), a(ttached or not), 0 no longer at rest, k(: a
  // wake-up), d(one).
  std::string order;
  std::function<void()> while_coming_to_rest;  // happens once

  void cycle() override {
    qp_reader_.drive();
    dut().command_flush_done_i = flushing_ > 0 && --flushing_ == 0;
    resting_ = dut().quiesce_o ? resting_ + 1 : 0;
    if (resting_ == kTimeToRest && while_coming_to_rest) {
      while_coming_to_rest();
      while_coming_to_rest = nullptr;
    }
    dut().quiescent_i = resting_ > kTimeToRest;
    dut().command_group_found_i = group_found;
    dut().command_group_full_i = group_full;
    dut().command_pulls_free_i = pulls_free;
    dut().command_reads_free_i = reads_free;
    settle();
    dut().command_group_done_i = dut().command_group_valid_o && ++group_cycles_ % 3 == 0;
    settle();
    const bool srq_asked = dut().srq_read_o, qp_asked = dut().qp_read_o,
               cq_asked = dut().command_cq_look_o;
    const unsigned srqn = dut().srq_index_o, cqn = dut().command_cqn_o;
    sample();
    tick();
    if (qp_asked) {
      dut().command_pull_count_i = pulls[dut().qp_index_o];
      dut().command_read_count_i = reads[dut().qp_index_o];
      dut().command_message_open_i = messages[dut().qp_index_o];
    }
    if (srq_asked) pack(dut().srq_row_i, srqs[srqn]);
    if (cq_asked) {
      pack(dut().command_cq_now_i, cqs[cqn]);
      dut().command_cq_producer_i = cq_producers[cqn];
      dut().command_cq_unread_i = cq_unread[cqn];
    }
    pack(dut().command_mr_now_i, regions[mr_index_]);
    settle();
  }

  template <typename Payload>
  exrnic_mbox_status run(uint32_t op, const Payload& payload) {
    order.clear();
    wakes.clear();
    static_assert(sizeof(payload) <= EXRNIC_MBOX_DATA_BYTES);
    for (auto& word : dut().data_i.m_storage) word = 0xa5a5a5a5;  // left by the command before
    std::memcpy(dut().data_i.m_storage, &payload, sizeof(payload));
    dut().op_i = op;
    dut().start_i = 1;
    cycle();
    dut().start_i = 0;
    wait_for("done_o", kLimit, [&] { return dut().done_o != 0; });
    const auto status = static_cast<exrnic_mbox_status>(dut().status_o);
    has_answer = dut().answer_o;
    Unpacker answer_bits(dut().answer_data_o, 8 * sizeof(exrnic_mbox_query_qp));
    answer_bytes = answer_bits.bytes(8 * sizeof(exrnic_mbox_query_qp));
    cycle();
    CHECK(dut().idle_o);
    return status;
  }

  template <typename Answer>
  Answer answer() const {
    Answer answer;
    REQUIRE(sizeof(answer) <= answer_bytes.size());
    std::memcpy(&answer, answer_bytes.data(), sizeof(answer));
    return answer;
  }

  bool has_answer = false;
  std::vector<uint8_t> answer_bytes;

 private:
  static constexpr int kTimeToRest = 7;
  unsigned group_cycles_ = 0;

  void sample() {
    const bool at_rest = dut().quiesce_o && dut().quiescent_i;
    if (at_rest != at_rest_) order += at_rest ? '1' : '0';
    at_rest_ = at_rest;
    qp_reader_.sample();
    mr_index_ = dut().command_mr_index_o;
    if (dut().command_qp_we_o) write_qp();
    if (dut().command_cq_we_o) {
      order += dut().command_cq_clear_o ? "wc" : "w";
      cqs[dut().command_cqn_o] = unpack<CqConfig>(dut().command_cq_config_o);
    }
    if (dut().eq_we_o) {
      order += 'w';
      const unsigned eqn = dut().eqn_o;
      eqs[eqn] = unpack<EqConfig>(dut().eq_o);
      const uint32_t bit = 1u << eqn;
      dut().eqs_i = eqs[eqn].valid ? dut().eqs_i | bit : dut().eqs_i & ~bit;
    }
    if (dut().command_srq_we_o) write_srq();
    if (dut().command_mr_we_o) {
      order += 'w';
      regions[dut().command_mr_index_o] = unpack<Mr>(dut().command_mr_o);
    }
    if (dut().command_window_we_o) {
      order += 'w';
      windows[dut().command_window_index_o] = unpack<WindowEntry>(dut().command_window_o);
    }
    if (dut().command_flush_o) {
      order += 'f';
      flushing_ = 5;
    }
    if (dut().command_flush_done_i) order += 'F';
    if (dut().wake_valid_o) {
      order += 'k';
      wakes.push_back(dut().qp_index_o);
    }
    if (dut().command_group_done_i) {
      order += 'a';
      group_changes.push_back(
          {dut().command_group_op_o, dut().command_group_o, dut().command_group_qpn_o});
    }
    if (dut().done_o) order += 'd';
  }
  void write_qp() {
    order += dut().command_qp_clear_o ? "wc" : "w";
    if (dut().command_reads_take_o) order += 't';
    if (dut().command_reads_give_o) order += 'g';
    Qp& qp = qps[dut().qp_index_o];
    qp.cfg = unpack<QpConfig>(dut().command_qp_config_o);
    qp.status = unpack<QpStatus>(dut().command_qp_status_o);
    if (!dut().command_qp_clear_o) return;
    qp.sq = {};
    qp.sq_producer = qp.rq_producer = qp.rq_consumer = 0;
  }
  void write_srq() {
    order += dut().command_srq_clear_o ? "wc" : "w";
    Srq& srq = srqs[dut().srq_index_o];
    srq.cfg = unpack<SrqConfig>(dut().command_srq_config_o);
    srq.limit = dut().command_srq_limit_o;
    if (dut().command_srq_clear_o) srq.producer = srq.consumer = 0;
  }

  QpReader<Vmailbox> qp_reader_;
  unsigned mr_index_ = 0;
  int flushing_ = 0;
  int resting_ = 0;
  bool at_rest_ = false;
};

}  // namespace exrnic::testing

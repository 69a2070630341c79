// SPDX-License-Identifier: BSD-2-Clause
// The completer with its neighbours: queue pairs, translation, and the places where status changes,
// wake-ups and writes go.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "Vcompleter.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/neighbours.h"

namespace exrnic::testing {

constexpr int kLimit = 500;  // cycles for anything here
constexpr uint64_t kTime = 0x123456789abcdef0;

constexpr unsigned kQpn = 5;
constexpr unsigned kCqn = 3;
constexpr unsigned kRecvCqn = 9;
constexpr uint8_t kPage = 2;
constexpr uint16_t kGeneration = 0x7778;
constexpr uint8_t kVector = 7;
constexpr uint8_t kNode = 0x21;
constexpr uint64_t kPbl = 0x90000;
constexpr uint64_t kRecvPbl = 0xa0000;
constexpr uint8_t kLog = 2;
constexpr uint32_t kEntries = 1 << kLog;

class Completer : public Bench<Vcompleter> {
 public:
  explicit Completer(uint32_t seed = 1)
      : events(dut()), qp_reader_(dut(), qps), xlate(dut(), seed), random_(seed) {
    dut().quiesce_i = 0;
    dut().queues_silent_valid_i = 0;
    dut().done_valid_i = 0;
    dut().rx_done_valid_i = 0;
    dut().bell_valid_i = 0;
    dut().command_cq_look_i = 0;
    dut().command_cq_we_i = 0;
    dut().time_i = kTime;
    reset();
    wait_for("init_done_o", EXRNIC_MAX_CQ + 2, [&] { return dut().init_done_o != 0; });
  }

  // Declared before what refers to it.
  std::map<unsigned, Qp> qps;
  Events<Vcompleter> events;

 private:
  QpReader<Vcompleter> qp_reader_;

 public:
  XlateModel<Vcompleter> xlate;
  std::vector<DmaWriteCmd> writes;  // completions and interrupts, in order
  std::vector<unsigned> wakes;
  int qp_errors = 0;
  int cq_errors = 0;
  std::vector<bool> heard;                            // and whether nothing is awaited any more
  int statuses = 0;                                   // that it has written
  std::function<void()> others_status_write = [] {};  // done while status_ready_i is low
  std::vector<unsigned> qp_causes;
  std::vector<std::pair<unsigned, unsigned>> told;  // queue that fired, and its event queue
  std::vector<std::size_t> drained;                 // as many writes were out when one had
  unsigned overrun = ~0u;                           // the last queue that lost a completion

  void cycle() override {
    qp_reader_.drive();
    xlate.drive();
    dut().queues_status_ready_i = random_() % 2;
    dut().wake_ready_i = random_() % 2;
    dut().write_ready_i = random_() % 2;
    settle();
    sample();
    tick();
    settle();
  }

  void create_cq(unsigned cqn, const CqConfig& config) { configure(cqn, config, true); }
  void resize_cq(unsigned cqn, const CqConfig& config) { configure(cqn, config, false); }
  // The driver's look at a queue.
  void look_at(unsigned cqn) {
    dut().command_cqn_i = cqn;
    dut().command_cq_look_i = 1;
    cycle();
    dut().command_cq_look_i = 0;
    dut().command_cqn_i = 0;
  }
  void end(const TxDone& done) {
    pack(dut().done_i, done);
    dut().done_valid_i = 1;
    accept("done_ready_o", [&] { return dut().done_ready_o != 0; });
    dut().done_valid_i = 0;
    rest();
  }
  void end(const RxDone& done) {
    pack(dut().rx_done_i, done);
    dut().rx_done_valid_i = 1;
    accept("rx_done_ready_o", [&] { return dut().rx_done_ready_o != 0; });
    dut().rx_done_valid_i = 0;
    rest();
  }
  // Nothing was heard of its work for too long.
  void silent(unsigned qpn) {
    dut().queues_silent_valid_i = 1;
    dut().queues_silent_qpn_i = qpn;
    accept("queues_silent_ready_o", [&] { return dut().queues_silent_ready_o != 0; });
    dut().queues_silent_valid_i = 0;
    rest();
  }
  void ring(const CqDoorbell& bell) {
    pack(dut().bell_data_i, bell);
    dut().bell_valid_i = 1;
    accept("bell_ready_o", [&] { return dut().bell_ready_o != 0; });
    dut().bell_valid_i = 0;
    rest();
  }
  void rest() {
    wait_for("quiescent_o", kLimit, [&] { return dut().quiescent_o != 0; });
  }

  // Lets device time pass, a nanosecond a cycle.
  void pass(int nanoseconds) {
    for (int i = 0; i < nanoseconds; ++i) {
      ++dut().time_i;
      cycle();
    }
  }
  int interrupts() const {
    return static_cast<int>(
        std::count_if(writes.begin(), writes.end(),
                      [](const DmaWriteCmd& write) { return write.kind == kDmaWriteMsix; }));
  }

  exrnic_cqe cqe(std::size_t index) const {
    REQUIRE(index < writes.size());
    REQUIRE(writes[index].kind == kDmaWriteInline);
    exrnic_cqe cqe;
    static_assert(sizeof(cqe) == sizeof(DmaWriteCmd::data));
    std::memcpy(&cqe, writes[index].data.data(), sizeof(cqe));
    return cqe;
  }

 private:
  void configure(unsigned cqn, const CqConfig& config, bool clear) {
    dut().command_cq_we_i = 1;
    dut().command_cq_clear_i = clear;
    dut().command_cqn_i = cqn;
    pack(dut().command_cq_config_i, config);
    cycle();
    dut().command_cq_we_i = 0;
  }

  template <typename Ready>
  void accept(const char* what, Ready ready) {
    wait_for(what, kLimit, ready);
    cycle();
  }

  void sample() {
    qp_reader_.sample();
    xlate.sample();
    events.sample();
    if (!dut().queues_status_ready_i) others_status_write();
    statuses += dut().queues_status_valid_o && dut().queues_status_ready_i;
    if (dut().queues_status_valid_o && dut().queues_status_ready_i)
      qps[dut().queues_status_qpn_o].status = unpack<QpStatus>(dut().queues_status_o);
    if (dut().queues_ended_we_o)
      qps[dut().qp_index_o].ended = unpack<QpEnded>(dut().queues_ended_o);
    if (dut().queues_heard_o)
      heard.push_back(dut().queues_heard_none_o || dut().queues_heard_error_o);
    if (dut().wake_valid_o && dut().wake_ready_i) wakes.push_back(dut().wake_data_o);
    if (dut().write_valid_o && dut().write_ready_i)
      writes.push_back(unpack<DmaWriteCmd>(dut().write_data_o));
    qp_errors += dut().qp_error_o;
    if (dut().qp_error_o) qp_causes.push_back(dut().qp_cause_o);
    if (dut().sq_drained_o) {
      CHECK(dut().queues_status_qpn_o == kQpn);
      drained.push_back(writes.size());
    }
    if (dut().completion_o) told.emplace_back(dut().cq_error_cqn_o, dut().completion_eqn_o);
    cq_errors += dut().cq_error_o;
    if (dut().cq_error_o) overrun = dut().cq_error_cqn_o;
  }

  std::mt19937 random_;
};

inline CqConfig small_cq() {
  CqConfig cq;
  cq.valid = true;
  cq.page = kPage;
  cq.log_entries = kLog;
  cq.msix_vector = kVector;
  cq.pbl = kPbl;
  return cq;
}

// A queue pair in RTS on a completion queue of four entries, another for receives.
inline void connect(Completer& completer) {
  completer.create_cq(kCqn, small_cq());
  CqConfig receives = small_cq();
  receives.pbl = kRecvPbl;
  completer.create_cq(kRecvCqn, receives);
  Qp qp;
  qp.cfg.valid = true;
  qp.cfg.page = kPage;
  qp.cfg.send_cqn = kCqn;
  qp.cfg.recv_cqn = kRecvCqn;
  qp.cfg.generation = kGeneration;
  qp.status.state = EXRNIC_QP_STATE_RTS;
  completer.qps[kQpn] = qp;
}

inline TxDone done(uint16_t wqe_index, exrnic_cqe_status status = EXRNIC_CQE_STATUS_SUCCESS) {
  TxDone done;
  done.tag = {kTxKindLast, kQpn, kGeneration, wqe_index, 0x1234, true, EXRNIC_WQE_OPCODE_PUSH};
  done.node = kNode;
  done.seq = 100u + wqe_index;
  done.status = status;
  return done;
}
inline TxDone segment(exrnic_cqe_status status) {
  TxDone segment = done(0, status);
  segment.tag.kind = kTxKindSegment;
  return segment;
}
inline CqDoorbell bell(uint32_t consumer, bool arm = false, bool solicited = false) {
  return {kCqn, consumer, arm, solicited, kPage};
}

inline void fail_remotely(Completer& completer, uint32_t first_refused) {
  QpStatus& status = completer.qps[kQpn].status;
  status.state = EXRNIC_QP_STATE_ERROR;
  status.fault = status.exact = true;
  status.fault_status = EXRNIC_CQE_STATUS_REM_ACCESS_ERR;
  status.fault_detail = EXRNIC_TERM_CODE_TAGGED_BOUNDS;
  status.fault_seq = first_refused;
}

}  // namespace exrnic::testing

// SPDX-License-Identifier: BSD-2-Clause
// What the blocks of the reference core share: the tables that the driver fills, the settings, the
// counters, and whose turn it is. Widths, encodings and meanings: rtl-model/gen/reference.md.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "exrnic_hw.h"
#include "rtl-model/systemc/core.h"

namespace exrnic::ref {

// A queue pair. Ring indices are free-running, modulo 2^16.
struct QueuePair {
  bool valid = false;
  uint32_t page = 0;
  uint32_t pd = 0;
  uint32_t send_cqn = 0;
  uint32_t recv_cqn = 0;
  uint32_t sq_log = 0;
  uint32_t rq_log = 0;
  uint64_t sq_pbl = 0;
  uint32_t dest_node = 0;
  uint32_t dest_qpn = 0;
  uint8_t generation = 0;  // tells a new queue pair of this number from an older one

  // How it stands. All but the state count in ERROR only.
  struct Status {
    exrnic_qp_state state = EXRNIC_QP_STATE_RESET;
    bool fault = false;  // the next failed completion carries these two
    exrnic_cqe_status fault_status = EXRNIC_CQE_STATUS_SUCCESS;
    uint16_t fault_detail = 0;
    bool exact = false;  // frames before fault_seq were placed, those from it on were not
    uint32_t fault_seq = 0;
    bool told = false;  // the peer has been sent a terminate message
  } status;

  bool halted = false;  // a work request failed: no other is taken
  uint16_t sq_producer = 0;
  uint16_t sq_consumer = 0;
  uint16_t rq_producer = 0;
  uint16_t rq_consumer = 0;

  bool in_error() const { return status.state == EXRNIC_QP_STATE_ERROR; }
  bool sq_posted() const { return sq_producer != sq_consumer; }
  bool rq_posted() const { return rq_producer != rq_consumer; }
  void empty_rings() { sq_producer = sq_consumer = rq_producer = rq_consumer = halted = 0; }
};

struct CompletionQueue {
  bool valid = false;
  uint32_t page = 0;
  uint32_t log_entries = 0;
  uint32_t vector = 0;
  uint64_t pbl = 0;
  uint32_t producer = 0;  // free-running, modulo 2^32
  uint32_t consumer = 0;
  bool armed = false;
};

struct Region {
  bool valid = false;
  uint8_t key = 0;
  uint32_t pd = 0;
  uint32_t access = 0;
  uint32_t page_shift = 0;
  uint64_t base = 0;
  uint64_t length = 0;
  uint64_t pbl = 0;
};

struct Settings {
  bool enable = false;
  uint32_t mtu = EXRNIC_MTU_DEFAULT;
  uint32_t rto_cycles = EXRNIC_RTO_CYCLES_DEFAULT;
  uint32_t retry_limit = EXRNIC_RETRY_LIMIT_DEFAULT;
};

struct State {
  explicit State(const CoreConfig& config) : config(config) {}

  void count(exrnic_counter which) { ++counters.at(which); }

  // A queue pair has something to do. Each is queued at most once.
  void wake(uint32_t qpn) {
    if (queued.at(qpn)) return;
    queued.at(qpn) = true;
    turns.push_back(qpn);
  }
  uint32_t next_turn() {
    const uint32_t qpn = turns.front();
    turns.pop_front();
    queued.at(qpn) = false;
    return qpn;
  }

  const CoreConfig config;
  Settings settings;
  uint64_t time_ns = 0;
  uint64_t cycle = 0;
  std::array<uint64_t, EXRNIC_COUNTERS> counters{};
  std::vector<QueuePair> qps{EXRNIC_MAX_QP};
  std::vector<CompletionQueue> cqs{EXRNIC_MAX_CQ};
  std::vector<Region> regions{EXRNIC_MAX_STAG};
  std::deque<uint32_t> turns;
  std::vector<bool> queued = std::vector<bool>(EXRNIC_MAX_QP);
  bool quiesce = false;  // the driver changes something: begin nothing
  uint32_t causes = 0;   // flags INT_CAUSE that came since the registers looked
};

}  // namespace exrnic::ref

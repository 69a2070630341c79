// SPDX-License-Identifier: BSD-2-Clause
// The blocks next to a block under test, as simple models behind its ports: the queue pair table,
// address translation, and counters. drive() sets their answers for a cycle, sample() takes what
// the block asks in it. They take their time, by a seeded generator.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "rtl-model/testing/records.h"

namespace exrnic::testing {

// One reader of the queue pair table: the answer comes in the next cycle.
template <typename Model>
class QpReader {
 public:
  QpReader(Model& dut, std::map<unsigned, Qp>& table) : dut_(dut), table_(table) {}

  void drive() {
    if (asked_) pack(dut_.qp_row_i, table_[qpn_]);
    asked_ = false;
  }
  void sample() {
    if (!dut_.qp_read_o) return;
    asked_ = true;
    qpn_ = dut_.qp_index_o;
  }

 private:
  Model& dut_;
  std::map<unsigned, Qp>& table_;
  bool asked_ = false;
  unsigned qpn_ = 0;
};

// Address translation. By default every page is where its offset says, behind kPageFrames.
constexpr uint64_t kPageFrames = 0x5000000000;

inline XlateRsp translate_in_place(const XlateReq& request) {
  constexpr uint64_t kPage = uint64_t{1} << EXRNIC_PAGE_SHIFT;
  const uint64_t rest = kPage - request.to % kPage;
  return {kXlateOk, kPageFrames + request.to,
          static_cast<uint32_t>(std::min<uint64_t>(rest, request.length))};
}

template <typename Model>
class XlateModel {
 public:
  XlateModel(Model& dut, uint32_t seed) : dut_(dut), random_(seed) {}

  std::function<XlateRsp(const XlateReq&)> answer = translate_in_place;
  std::vector<XlateReq> requests;
  bool silent = false;  // waits for its memory

  void drive() {
    dut_.xlate_ready_i = !busy_ && random_() % 2;
    dut_.xlate_rsp_valid_i = 0;
    if (!busy_ || silent || random_() % 4 == 0) return;
    pack(dut_.xlate_rsp_i, answer(requests.back()));
    dut_.xlate_rsp_valid_i = 1;
    busy_ = false;
    dut_.xlate_ready_i = 0;
  }
  void sample() {
    if (!dut_.xlate_valid_o || !dut_.xlate_ready_i) return;
    requests.push_back(unpack<XlateReq>(dut_.xlate_req_o));
    busy_ = true;
  }

 private:
  Model& dut_;
  std::mt19937 random_;
  bool busy_ = false;
};

// Sums of the pulses of event_o.
template <typename Model>
class Events {
 public:
  explicit Events(Model& dut) : dut_(dut) {}
  void sample() {
    for (unsigned i = 0; i < EXRNIC_COUNTERS; ++i) counts_[i] += get_bit(dut_.event_o, i);
  }
  int operator[](unsigned counter) const { return counts_.at(counter); }

 private:
  Model& dut_;
  std::array<int, EXRNIC_COUNTERS> counts_{};
};

}  // namespace exrnic::testing

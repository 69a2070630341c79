// SPDX-License-Identifier: BSD-2-Clause
// The blocks next to a block under test, as simple models behind its ports: the queue pair table,
// address translation, and counters. drive() sets their answers for a cycle, sample() takes what
// the block asks in it. They take their time, by a seeded generator.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <numeric>
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

// The ports of a client of translation.
template <typename Model>
struct XlatePorts {
  static auto& ready(Model& dut) { return dut.xlate_ready_i; }
  static auto& valid(Model& dut) { return dut.xlate_valid_o; }
  static auto& req(Model& dut) { return dut.xlate_req_o; }
  static auto& rsp_valid(Model& dut) { return dut.xlate_rsp_valid_i; }
  static auto& rsp(Model& dut) { return dut.xlate_rsp_i; }
};

template <typename Model, typename Ports = XlatePorts<Model>>
class XlateModel {
 public:
  XlateModel(Model& dut, uint32_t seed) : dut_(dut), random_(seed) {}

  std::function<XlateRsp(const XlateReq&)> answer = translate_in_place;
  std::vector<XlateReq> requests;
  bool silent = false;  // waits for its memory

  void drive() {
    Ports::ready(dut_) = !busy_ && random_() % 2;
    Ports::rsp_valid(dut_) = 0;
    if (!busy_ || silent || random_() % 4 == 0) return;
    pack(Ports::rsp(dut_), answer(requests.back()));
    Ports::rsp_valid(dut_) = 1;
    busy_ = false;
    Ports::ready(dut_) = 0;
  }
  void sample() {
    if (!Ports::valid(dut_) || !Ports::ready(dut_)) return;
    requests.push_back(unpack<XlateReq>(Ports::req(dut_)));
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
  // All that was counted.
  int sum() const { return std::accumulate(counts_.begin(), counts_.end(), 0); }

 private:
  Model& dut_;
  std::array<int, EXRNIC_COUNTERS> counts_{};
};

}  // namespace exrnic::testing

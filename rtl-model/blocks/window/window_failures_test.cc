// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "Vwindow_failures.h"
#include "rtl-model/blocks/testing/bench.h"
#include "rtl-model/blocks/testing/records.h"

namespace exrnic::testing {
namespace {

class Failures : public Bench<Vwindow_failures> {
 public:
  Failures() {
    dut().failed_valid_i = dut().done_ready_i = 0;
    reset();
  }
  void fail(uint16_t window, uint16_t qpn) {
    TxTag tag;
    tag.kind = kTxKindSegment;
    tag.qpn = qpn;
    tag.generation = static_cast<uint16_t>(qpn + 1);
    tag.wqe_index = window;
    pack(dut().failed_i, tag);
    dut().failed_valid_i = 1;
    cycle();
    dut().failed_valid_i = 0;
    settle();
  }
  std::vector<uint16_t> take_all() {
    std::vector<uint16_t> qpns;
    dut().done_ready_i = 1;
    for (settle(); dut().done_valid_o; cycle(), settle()) {
      const TxDone done = unpack<TxDone>(dut().done_o);
      CHECK(done.status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
      CHECK(done.tag.kind == kTxKindSegment);
      CHECK(done.tag.generation == done.tag.qpn + 1);
      qpns.push_back(done.tag.qpn);
    }
    dut().done_ready_i = 0;
    return qpns;
  }
};

TEST_CASE("Every window that failed has its queue pair told once, however long nobody listens") {
  Failures failures;
  std::vector<uint16_t> wanted;
  for (uint16_t window = 0; window < EXRNIC_MAX_WINDOWS; ++window) {
    for (int i = 0; i < 3; ++i) failures.fail(window, static_cast<uint16_t>(window + 100));
    wanted.push_back(static_cast<uint16_t>(window + 100));
  }
  std::vector<uint16_t> told = failures.take_all();
  std::sort(told.begin(), told.end());
  CHECK(told == wanted);
  CHECK_FALSE(failures.dut().done_valid_o);
  failures.fail(5, 7);
  CHECK(failures.take_all() == std::vector<uint16_t>{7});
}

}  // namespace
}  // namespace exrnic::testing

// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "Vwindow_failures.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {
namespace {

class Failures : public Bench<Vwindow_failures> {
 public:
  Failures() {
    dut().failed_valid_i = dut().done_ready_i = 0;
    reset();
  }
  void fail(uint16_t qpn, uint16_t generation = 1) {
    TxTag tag;
    tag.kind = kTxKindSegment;
    tag.qpn = qpn;
    tag.generation = generation;
    pack(dut().failed_i, tag);
    dut().failed_valid_i = 1;
    cycle();
    dut().failed_valid_i = 0;
    settle();
  }
  // Queue pairs and lives of them.
  using Told = std::vector<std::pair<uint16_t, uint16_t>>;
  Told take_all() {
    Told told;
    dut().done_ready_i = 1;
    for (unsigned quiet = 0; quiet < 3; cycle(), settle()) {
      settle();
      quiet = dut().done_valid_o ? 0 : quiet + 1;
      if (quiet) continue;
      const TxDone done = unpack<TxDone>(dut().done_o);
      CHECK(done.status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
      CHECK(done.tag.kind == kTxKindSegment);
      told.emplace_back(done.tag.qpn, done.tag.generation);
    }
    dut().done_ready_i = 0;
    return told;
  }
};

TEST_CASE("Every queue pair that failed is told once, however long nobody listens") {
  Failures failures;
  Failures::Told wanted;
  for (int i = 0; i < 3; ++i)
    for (uint16_t qpn = 0; qpn < EXRNIC_MAX_QP; ++qpn) failures.fail(qpn);
  for (uint16_t qpn = 0; qpn < EXRNIC_MAX_QP; ++qpn) wanted.emplace_back(qpn, 1);
  Failures::Told told = failures.take_all();
  std::sort(told.begin(), told.end());
  CHECK(told == wanted);
  CHECK_FALSE(failures.dut().done_valid_o);
  failures.fail(7, 2);
  CHECK(failures.take_all() == Failures::Told{{7, 2}});
}

TEST_CASE("What is left of an earlier life of a queue pair hides no failure of a later one") {
  Failures failures;
  failures.fail(5, 2);
  failures.fail(7, 0xffff);
  failures.fail(7, 1);  // the one behind it
  failures.fail(7, 0xffff);
  CHECK(failures.take_all() == Failures::Told{{5, 2}, {7, 1}});
}

}  // namespace
}  // namespace exrnic::testing

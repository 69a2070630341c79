// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "Vrequests_open.h"
#include "exrnic_hw.h"
#include "rtl-model/testing/bench.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kQpn = 11;
constexpr unsigned kOther = 700;
constexpr int kWalk = EXRNIC_MAX_QP + 100;

class RequestsOpen : public Bench<Vrequests_open> {
 public:
  RequestsOpen() {
    clear_inputs();
    dut().wake_ready_i = 1;
    dut().ready_i = 1;
    reset();
    wait_for("the tables", kWalk, [&] { return dut().init_done_o && dut().active_o; });
  }

  void cycle() override {
    settle();
    if (dut().wake_valid_o && dut().wake_ready_i) woken.push_back(dut().wake_qpn_o);
    tick();
    clear_inputs();
    settle();
  }
  void open(unsigned qpn) {
    dut().open_i = 1;
    dut().open_qpn_i = qpn;
    cycle();
  }
  void close(unsigned qpn) {
    dut().close_i = 1;
    dut().close_qpn_i = qpn;
    cycle();
  }
  void clear(unsigned qpn) {
    dut().clear_i = 1;
    dut().clear_qpn_i = qpn;
    cycle();
  }
  void lose() {
    dut().ready_i = 0;
    cycle();
  }
  void end_walk() {
    wait_for("the end of the walk", kWalk, [&] { return dut().idle_o; });
  }
  bool is_lost(unsigned qpn) {
    dut().look_i = 1;
    dut().look_qpn_i[0] = qpn;
    cycle();
    return dut().lost_o & 1;
  }

  std::vector<unsigned> woken;

 private:
  void clear_inputs() { dut().open_i = dut().close_i = dut().clear_i = dut().look_i = 0; }
};

TEST_CASE(
    "Who has requests in hands that are gone is marked and woken, whoever is cleared meanwhile") {
  for (unsigned when = 0; when < kQpn + 5; ++when) {
    INFO("cleared in cycle " << when << " of the walk");
    RequestsOpen open;
    open.open(kQpn);
    open.lose();
    for (unsigned i = 0; i < when; ++i) open.cycle();
    open.clear(kOther);
    open.end_walk();
    CHECK(open.woken == std::vector{kQpn});
    CHECK(open.is_lost(kQpn));
    CHECK_FALSE(open.is_lost(kOther));
  }
}

TEST_CASE("Who is cleared itself has lost nothing") {
  for (unsigned when = 0; when < kQpn; ++when) {
    INFO("cleared in cycle " << when << " of the walk");
    RequestsOpen open;
    open.open(kQpn);
    open.lose();
    for (unsigned i = 0; i < when; ++i) open.cycle();
    open.clear(kQpn);
    open.end_walk();
    CHECK(open.woken.empty());
    CHECK_FALSE(open.is_lost(kQpn));
  }
}

TEST_CASE("Who has had an answer to each of its requests has lost nothing, others have") {
  RequestsOpen open;
  for (int i = 0; i < 3; ++i) open.open(kQpn);
  for (int i = 0; i < 2; ++i) open.open(kOther);
  for (int i = 0; i < 3; ++i) open.close(kQpn);
  open.close(kOther);
  open.lose();
  open.end_walk();
  CHECK(open.woken == std::vector{kOther});
  CHECK_FALSE(open.is_lost(kQpn));
  CHECK(open.is_lost(kOther));
}

}  // namespace
}  // namespace exrnic::testing

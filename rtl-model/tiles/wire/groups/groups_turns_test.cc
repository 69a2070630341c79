// SPDX-License-Identifier: BSD-2-Clause
// class_turns: what is sent once gives way to the reliable class, but not for ever.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "Vclass_turns.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {
namespace {

class ClassTurns : public Bench<Vclass_turns> {
 public:
  ClassTurns() {
    RxDesc once;
    once.unreliable = true;
    pack(dut().once_i, once);
    pack(dut().reliable_i, RxDesc{});
    dut().desc_ready_i = 1;
    reset();
  }

  // What is taken in each cycle, while these wait: r(eliable), o(nce), - nothing.
  std::string take(bool reliable, bool once, unsigned cycles, bool ready = true) {
    std::string taken;
    dut().reliable_valid_i = reliable;
    dut().once_valid_i = once;
    dut().desc_ready_i = ready;
    for (unsigned i = 0; i < cycles; ++i) {
      settle();
      CHECK(dut().desc_valid_o == (reliable || once));
      CHECK(dut().reliable_ready_o + dut().once_ready_o == ready);
      const bool is_once = dut().once_ready_o && once;
      if (ready && (reliable || once)) CHECK(unpack<RxDesc>(dut().desc_o).unreliable == is_once);
      taken += is_once ? 'o' : dut().reliable_ready_o && reliable ? 'r' : '-';
      tick();
    }
    return taken;
  }
};

TEST_CASE("Each class has all turns when the other has nothing") {
  ClassTurns turns;
  CHECK(turns.take(true, false, 20) == std::string(20, 'r'));
  CHECK(turns.take(false, true, 20) == std::string(20, 'o'));
  CHECK(turns.take(false, false, 1) == "-");
}

TEST_CASE("What is sent once waits for seven reliable segments, and no more") {
  ClassTurns turns;
  CHECK(turns.take(true, true, 16) == "rrrrrrrorrrrrrro");
  CHECK(turns.take(true, false, 20) == std::string(20, 'r'));  // nobody waits: they do not count
  CHECK(turns.take(true, true, 8) == "rrrrrrro");
  CHECK(turns.take(true, true, 20, false) == std::string(20, '-'));
  CHECK(turns.take(true, true, 8) == "rrrrrrro");
}

}  // namespace
}  // namespace exrnic::testing

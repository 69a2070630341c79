// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "Vpio_hold.h"
#include "exrnic_hw.h"
#include "rtl-model/testing/bench.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kPlaces = 4;
constexpr unsigned kQpn = 0x2f1;

class PioHold : public Bench<Vpio_hold> {
 public:
  PioHold() {
    clear_inputs();
    reset();
  }

  void cycle() override {
    settle();
    tick();
    clear_inputs();
    settle();
  }
  void put(unsigned qpn, uint16_t index, uint8_t fill) {
    dut().put_i = 1;
    dut().put_qpn_i = qpn;
    dut().put_index_i = index;
    std::memset(&dut().put_slot_i, fill, sizeof dut().put_slot_i);
  }
  bool look(unsigned qpn) {
    dut().look_i = 1;
    dut().look_qpn_i = qpn;
    cycle();
    return dut().held_o;
  }
  void take() {
    dut().take_i = 1;
    cycle();
  }
  void drop(unsigned qpn) {
    dut().drop_i = 1;
    dut().drop_qpn_i = qpn;
  }
  bool slot_is(uint8_t fill) {
    uint8_t slot[sizeof(exrnic_wqe)];
    uint8_t expected[sizeof slot];
    std::memcpy(slot, &dut().slot_o, sizeof slot);
    std::memset(expected, fill, sizeof expected);
    return std::memcmp(slot, expected, sizeof slot) == 0;
  }

 private:
  void clear_inputs() { dut().put_i = dut().look_i = dut().take_i = dut().drop_i = 0; }
};

TEST_CASE("A held slot is found by its queue pair until it is taken") {
  PioHold hold;
  hold.put(kQpn, 0x1234, 0xab);
  hold.cycle();
  CHECK_FALSE(hold.look(kQpn ^ 1));
  REQUIRE(hold.look(kQpn));
  CHECK(hold.dut().index_o == 0x1234);
  CHECK(hold.slot_is(0xab));
  hold.take();
  CHECK_FALSE(hold.dut().held_o);
  CHECK_FALSE(hold.look(kQpn));
  CHECK(hold.slot_is(0xab));  // it is still being used
}

TEST_CASE("What was found stays while another look finds nothing") {
  PioHold hold;
  for (unsigned i = 0; i < 2; ++i) {
    hold.put(kQpn + i, i, static_cast<uint8_t>(i + 1));
    hold.cycle();
  }
  REQUIRE(hold.look(kQpn + 1));
  CHECK_FALSE(hold.look(kQpn + 2));
  CHECK(hold.dut().index_o == 1);
  CHECK(hold.slot_is(2));
}

TEST_CASE("A slot that comes in the cycle of a look is not found, nor taken, before the next one") {
  PioHold hold;
  hold.put(kQpn, 7, 0x11);
  CHECK_FALSE(hold.look(kQpn));
  hold.take();
  CHECK(hold.look(kQpn));
}

TEST_CASE("When all places are full a slot is not kept, and the others stay") {
  PioHold hold;
  for (unsigned i = 0; i <= kPlaces; ++i) {
    hold.put(kQpn + i, i, static_cast<uint8_t>(i));
    hold.cycle();
  }
  CHECK_FALSE(hold.look(kQpn + kPlaces));
  for (unsigned i = 0; i < kPlaces; ++i) {
    REQUIRE(hold.look(kQpn + i));
    CHECK(hold.dut().index_o == i);
    CHECK(hold.slot_is(static_cast<uint8_t>(i)));
  }
  hold.take();  // the last one looked at
  hold.put(kQpn + kPlaces, 99, 0x99);
  hold.cycle();
  CHECK_FALSE(hold.look(kQpn + kPlaces - 1));
  CHECK(hold.look(kQpn + kPlaces));
  CHECK(hold.look(kQpn));
}

TEST_CASE("What the driver drops is gone, also when it was found already") {
  PioHold hold;
  hold.put(kQpn, 1, 0x11);
  hold.cycle();
  hold.put(kQpn + 1, 2, 0x22);
  hold.cycle();
  REQUIRE(hold.look(kQpn));
  hold.drop(kQpn);
  hold.cycle();
  CHECK_FALSE(hold.dut().held_o);
  CHECK_FALSE(hold.look(kQpn));
  CHECK(hold.look(kQpn + 1));
  hold.drop(kQpn + 1);
  CHECK_FALSE(hold.look(kQpn + 1));  // in the very cycle
}

}  // namespace
}  // namespace exrnic::testing

// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "Vregisters.h"
#include "exrnic_registers.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kOnes = 0xffffffff;
constexpr unsigned kWord = 4;
constexpr unsigned kSources = 8;

class Registers : public Bench<Vregisters> {
 public:
  Registers() {
    Vregisters& d = dut();
    d.cfg_node_i = 0xab;
    d.cfg_clock_khz_i = 250000;
    d.cfg_window_shift_i = 23;
    d.link_up_i = d.ready_i = d.here_i = d.irq_ready_i = 1;
    d.time_i = 0x1122334455667788;
    d.valid_i = d.mbox_done_i = d.mbox_answer_i = d.firmware_i = 0;
    for (unsigned i = 0; i < kSources; ++i) d.event_i[i] = {};
    reset();
  }

  int interrupts = 0;
  int commands = 0;
  uint32_t op = 0;

  void cycle() override {
    settle();
    interrupts += dut().irq_valid_o && dut().irq_ready_i;
    if (dut().mbox_start_o) {
      ++commands;
      op = dut().mbox_op_o;
    }
    tick();
    settle();
  }
  // Sets up a write for the next cycle(); a pulse beside it then happens in the same one.
  void drive_write(uint32_t address, uint32_t data, unsigned size = kWord) {
    dut().valid_i = dut().write_i = 1;
    dut().address_i = address;
    dut().size_i = size;
    dut().data_i = data;
  }
  void write(uint32_t address, uint32_t data, unsigned size = kWord) {
    drive_write(address, data, size);
    cycle();
    dut().valid_i = 0;
    CHECK_FALSE(dut().rsp_valid_o);
  }
  uint32_t read(uint32_t address, unsigned size = kWord) {
    dut().valid_i = 1;
    dut().write_i = 0;
    dut().address_i = address;
    dut().size_i = size;
    cycle();
    dut().valid_i = 0;
    CHECK(dut().rsp_valid_o);
    const uint32_t data = dut().rsp_data_o;
    cycle();
    CHECK_FALSE(dut().rsp_valid_o);
    return data;
  }
  template <typename Signal>
  void pulse(Signal& signal) {
    signal = 1;
    cycle();
    signal = 0;
    dut().valid_i = 0;
    cycle();
  }
  uint64_t counter(unsigned index) {
    const uint64_t low = read(EXRNIC_REG_COUNTERS + 8 * index);
    return uint64_t{read(EXRNIC_REG_COUNTERS + 8 * index + 4)} << 32 | low;
  }
};

TEST_CASE("After reset every register reads as the specification says") {
  Registers registers;
  CHECK_FALSE(registers.dut().rsp_valid_o);
  const std::vector<std::pair<uint32_t, uint32_t>> expected = {
      {EXRNIC_REG_ID, 0x58524e43},
      {EXRNIC_REG_ABI_VERSION, EXRNIC_ABI_VERSION},
      {EXRNIC_REG_MAX_QP, kNQp},
      {EXRNIC_REG_MAX_CQ, kNCq},
      {EXRNIC_REG_MAX_SRQ, kNSrq},
      {EXRNIC_REG_READ_POOL, kNReads},
      {EXRNIC_REG_MAX_STAG, kNStag},
      {EXRNIC_REG_MAX_NODE, kNNode},
      {EXRNIC_REG_USER_PAGES, EXRNIC_USER_PAGES},
      {EXRNIC_REG_CLOCK_KHZ, 250000},
      {EXRNIC_REG_STATUS, EXRNIC_DEVICE_STATUS_READY | EXRNIC_DEVICE_STATUS_LINK_UP},
      {EXRNIC_REG_CONTROL, 0},
      {EXRNIC_REG_NODE_ID, 0xab},
      {EXRNIC_REG_MAC_LO, 0x585200ab},  // 02:45:58:52:00:ab
      {EXRNIC_REG_MAC_HI, 0x0245},
      {EXRNIC_REG_MTU, EXRNIC_MTU_DEFAULT},
      {EXRNIC_REG_RTO_CYCLES, EXRNIC_RTO_CYCLES_DEFAULT},
      {EXRNIC_REG_RETRY_LIMIT, EXRNIC_RETRY_LIMIT_DEFAULT},
      {EXRNIC_REG_MAX_WINDOW, kNWindow},
      {EXRNIC_REG_WINDOW_SIZE, 1 << 23},
      {EXRNIC_REG_COMBINE_CYCLES, EXRNIC_COMBINE_CYCLES_DEFAULT},
      {EXRNIC_REG_LOAD_CYCLES, EXRNIC_LOAD_CYCLES_DEFAULT},
      {EXRNIC_REG_INT_ENABLE, 0},
      {EXRNIC_REG_INT_CAUSE, 0},
      {EXRNIC_REG_MBOX_STATUS, EXRNIC_MBOX_STATUS_OK},
      {EXRNIC_REG_MBOX_COMMAND, kOnes},  // write only
      {EXRNIC_REG_PULL_MODE, EXRNIC_PULL_MODE_HARDWARE},
      {EXRNIC_REG_ERRATA, 0},
      {EXRNIC_REG_MAX_EQ, EXRNIC_MAX_EQ},
      {EXRNIC_REG_READ_POOL + 4, kOnes},
      {EXRNIC_REG_EQ_CONSUMER, kOnes},  // write only
      {EXRNIC_REG_EQ_ARM + kWord * (EXRNIC_MAX_EQ - 1), kOnes},
      {EXRNIC_REG_PKEYS - 4, kOnes},
      {EXRNIC_REG_PKEYS, EXRNIC_PKEY_DEFAULT},
      {EXRNIC_REG_PKEYS + kWord * (EXRNIC_PKEYS - 1), 0},
      {EXRNIC_REG_PKEYS + kWord * EXRNIC_PKEYS, kOnes},
      {EXRNIC_REG_MBOX_STATUS + 4, kOnes},
      {EXRNIC_REG_COUNTERS - 4, kOnes},
      {EXRNIC_REG_COUNTERS, 0},
      {EXRNIC_REG_COUNTERS + 8 * EXRNIC_COUNTERS, kOnes},
      {EXRNIC_BAR0_SIZE - 4, kOnes},
  };
  for (const auto& [address, value] : expected) {
    CAPTURE(address);
    CHECK(registers.read(address) == value);
  }
}

TEST_CASE("Status follows the tables and the link") {
  Registers registers;
  registers.dut().ready_i = 0;
  CHECK(registers.read(EXRNIC_REG_STATUS) == EXRNIC_DEVICE_STATUS_LINK_UP);
  registers.dut().link_up_i = 0;
  CHECK(registers.read(EXRNIC_REG_STATUS) == 0);
}

TEST_CASE("A read that is not an aligned word of BAR 0 gives all ones") {
  Registers registers;
  for (const unsigned size : {1u, 2u, 8u}) CHECK(registers.read(EXRNIC_REG_ID, size) == kOnes);
  for (const uint32_t offset : {1u, 2u, 3u})
    CHECK(registers.read(EXRNIC_REG_MTU + offset) == kOnes);
  CHECK(registers.read(EXRNIC_BAR0_SIZE + EXRNIC_REG_ID) == kOnes);
  registers.dut().here_i = 0;
  CHECK(registers.read(EXRNIC_REG_ID) == kOnes);
}

TEST_CASE("A write that is not an aligned word of BAR 0 is ignored") {
  Registers registers;
  for (const unsigned size : {1u, 2u, 8u}) registers.write(EXRNIC_REG_MTU, 512, size);
  registers.write(EXRNIC_REG_MTU + 1, 512);
  registers.write(EXRNIC_REG_MBOX_DATA, 7);
  registers.write(EXRNIC_REG_MBOX_DATA + 2, 512);
  registers.write(EXRNIC_BAR0_SIZE + EXRNIC_REG_MTU, 512);
  registers.write(EXRNIC_REG_MBOX_COMMAND, 0, 8);
  registers.dut().here_i = 0;
  registers.write(EXRNIC_REG_MTU, 512);
  registers.write(EXRNIC_REG_MBOX_COMMAND, 0);
  registers.dut().here_i = 1;
  CHECK(registers.read(EXRNIC_REG_MTU) == EXRNIC_MTU_DEFAULT);
  CHECK(registers.read(EXRNIC_REG_MBOX_DATA) == 7);
  CHECK(registers.commands == 0);
}

TEST_CASE("Configuration takes the values that its register allows") {
  // Register, value written, value read then.
  const auto [address, value, expected] = GENERATE(table<uint32_t, uint32_t, uint32_t>({
      {EXRNIC_REG_CONTROL, kOnes, EXRNIC_DEVICE_CONTROL_ENABLE},
      {EXRNIC_REG_MTU, EXRNIC_MTU_MIN, EXRNIC_MTU_MIN},
      {EXRNIC_REG_MTU, EXRNIC_MTU_MAX, EXRNIC_MTU_MAX},
      {EXRNIC_REG_MTU, EXRNIC_MTU_DEFAULT + EXRNIC_MTU_STEP, EXRNIC_MTU_DEFAULT + EXRNIC_MTU_STEP},
      {EXRNIC_REG_MTU, EXRNIC_MTU_DEFAULT + EXRNIC_MTU_STEP / 2, EXRNIC_MTU_DEFAULT},
      {EXRNIC_REG_MTU, EXRNIC_MTU_MIN - EXRNIC_MTU_STEP, EXRNIC_MTU_DEFAULT},
      {EXRNIC_REG_MTU, EXRNIC_MTU_MAX + EXRNIC_MTU_STEP, EXRNIC_MTU_DEFAULT},
      {EXRNIC_REG_MTU, 0x80000400, EXRNIC_MTU_DEFAULT},
      {EXRNIC_REG_RTO_CYCLES, EXRNIC_RTO_CYCLES_MIN, EXRNIC_RTO_CYCLES_MIN},
      {EXRNIC_REG_RTO_CYCLES, EXRNIC_RTO_CYCLES_MIN - 1, EXRNIC_RTO_CYCLES_MIN},
      {EXRNIC_REG_RTO_CYCLES, 0, EXRNIC_RTO_CYCLES_MIN},
      {EXRNIC_REG_RTO_CYCLES, kOnes, kOnes},
      {EXRNIC_REG_RETRY_LIMIT, EXRNIC_RETRY_LIMIT_MIN, EXRNIC_RETRY_LIMIT_MIN},
      {EXRNIC_REG_RETRY_LIMIT, EXRNIC_RETRY_LIMIT_MAX, EXRNIC_RETRY_LIMIT_MAX},
      {EXRNIC_REG_RETRY_LIMIT, EXRNIC_RETRY_LIMIT_MIN - 1, EXRNIC_RETRY_LIMIT_DEFAULT},
      {EXRNIC_REG_RETRY_LIMIT, EXRNIC_RETRY_LIMIT_MAX + 1, EXRNIC_RETRY_LIMIT_DEFAULT},
      {EXRNIC_REG_COMBINE_CYCLES, 0, 0},
      {EXRNIC_REG_COMBINE_CYCLES, EXRNIC_COMBINE_CYCLES_MAX + 1, EXRNIC_COMBINE_CYCLES_DEFAULT},
      {EXRNIC_REG_LOAD_CYCLES, EXRNIC_LOAD_CYCLES_MIN, EXRNIC_LOAD_CYCLES_MIN},
      {EXRNIC_REG_LOAD_CYCLES, EXRNIC_LOAD_CYCLES_MIN - 1, EXRNIC_LOAD_CYCLES_DEFAULT},
      {EXRNIC_REG_LOAD_CYCLES, EXRNIC_LOAD_CYCLES_MAX + 1, EXRNIC_LOAD_CYCLES_DEFAULT},
      {EXRNIC_REG_PULL_MODE, EXRNIC_PULL_MODE_FIRMWARE, EXRNIC_PULL_MODE_FIRMWARE},
      {EXRNIC_REG_PULL_MODE, EXRNIC_PULL_MODE_FIRMWARE + 1, EXRNIC_PULL_MODE_HARDWARE},
      {EXRNIC_REG_ERRATA, kOnes, EXRNIC_ERRATA_PULL_BESIDE_PUSH},
      {EXRNIC_REG_INT_ENABLE, kOnes, 3},
      {EXRNIC_REG_ID, 1, EXRNIC_DEVICE_MAGIC},
      {EXRNIC_REG_NODE_ID, 1, 0xab},
  }));
  CAPTURE(address, value);
  Registers registers;
  registers.write(address, value);
  CHECK(registers.read(address) == expected);
}

TEST_CASE("What the specification says all of is the same in C++") {
  std::mt19937 random(90125);
  const std::vector<uint32_t> least = {0,
                                       1,
                                       EXRNIC_MTU_STEP,
                                       EXRNIC_RETRY_LIMIT_MAX,
                                       EXRNIC_MTU_MIN,
                                       EXRNIC_RTO_CYCLES_MIN,
                                       EXRNIC_MTU_MAX,
                                       EXRNIC_COMBINE_CYCLES_MAX,
                                       EXRNIC_LOAD_CYCLES_MAX,
                                       kOnes};
  Registers registers;
  registers::PlainRegisters plain;
  for (int i = 0; i < 20'000; ++i) {
    const uint32_t offset = kWord * (random() % (EXRNIC_REG_MBOX_DATA / kWord));
    const uint32_t value = least[random() % least.size()] + random() % 3 - 1;
    registers.write(offset, value);
    plain.write(offset, value);
    CAPTURE(offset, value);
    if (const auto kept = plain.read(offset)) REQUIRE(registers.read(offset) == *kept);
  }
}

TEST_CASE("Configuration reaches the blocks") {
  Registers registers;
  registers.write(EXRNIC_REG_CONTROL, EXRNIC_DEVICE_CONTROL_ENABLE);
  registers.write(EXRNIC_REG_MTU, 2048);
  registers.write(EXRNIC_REG_RTO_CYCLES, 5000);
  registers.write(EXRNIC_REG_RETRY_LIMIT, 3);
  CHECK(registers.dut().enable_o);
  CHECK(registers.dut().mtu_o == 2048);
  CHECK(registers.dut().rto_cycles_o == 5000);
  CHECK(registers.dut().retry_limit_o == 3);
  registers.write(EXRNIC_REG_CONTROL, 0);
  CHECK_FALSE(registers.dut().enable_o);
}

TEST_CASE("The table of P_Keys keeps 16 bits an entry, and reaches the blocks") {
  Registers registers;
  for (unsigned i = 0; i < EXRNIC_PKEYS; ++i)
    registers.write(EXRNIC_REG_PKEYS + kWord * i, 0xabcd8000 + 3 * i);
  Unpacker table(registers.dut().pkeys_o, 16 * EXRNIC_PKEYS);
  for (unsigned i = EXRNIC_PKEYS; i-- > 0;) {
    CHECK(table.field(16) == 0x8000 + 3 * i);
    CHECK(registers.read(EXRNIC_REG_PKEYS + kWord * i) == 0x8000 + 3 * i);
  }
  registers.write(EXRNIC_REG_PKEYS, 7, 2);
  CHECK(registers.read(EXRNIC_REG_PKEYS) == 0x8000);
}

TEST_CASE("The time is consistent: the high half is that of the last read of the low half") {
  Registers registers;
  CHECK(registers.read(EXRNIC_REG_TIME_LO) == 0x55667788);
  registers.dut().time_i = 0x99aabbcc00000000;
  registers.read(EXRNIC_REG_TIME_LO, 8);  // no read of the register
  CHECK(registers.read(EXRNIC_REG_TIME_HI) == 0x11223344);
  registers.read(EXRNIC_REG_TIME_LO);
  CHECK(registers.read(EXRNIC_REG_TIME_HI) == 0x99aabbcc);
}

TEST_CASE("A command starts once, with its payload, and is busy until it is done") {
  Registers registers;
  for (unsigned i = 0; i < EXRNIC_MBOX_DATA_BYTES / kWord; ++i)
    registers.write(EXRNIC_REG_MBOX_DATA + kWord * i, 0x01010101 * (i + 1));
  registers.write(EXRNIC_REG_MBOX_COMMAND, 0x12345678);
  CHECK(registers.commands == 1);
  CHECK(registers.op == 0x12345678);
  for (unsigned i = 0; i < EXRNIC_MBOX_DATA_BYTES; ++i)
    CHECK((registers.dut().mbox_data_o[i / kWord] >> 8 * (i % kWord) & 0xff) == i / kWord + 1);
  CHECK(registers.read(EXRNIC_REG_MBOX_STATUS) == EXRNIC_MBOX_STATUS_BUSY);

  registers.write(EXRNIC_REG_MBOX_COMMAND, 1);  // ignored, as are changes of the payload
  registers.write(EXRNIC_REG_MBOX_DATA, 0);
  CHECK(registers.commands == 1);
  CHECK(registers.read(EXRNIC_REG_MBOX_DATA) == 0x01010101);

  registers.dut().mbox_status_i = EXRNIC_MBOX_STATUS_BAD_INDEX;
  registers.pulse(registers.dut().mbox_done_i);
  CHECK(registers.read(EXRNIC_REG_MBOX_STATUS) == EXRNIC_MBOX_STATUS_BAD_INDEX);
  CHECK(registers.read(EXRNIC_REG_MBOX_DATA) == 0x01010101);
  registers.write(EXRNIC_REG_MBOX_COMMAND, 2);
  CHECK(registers.commands == 2);
}

TEST_CASE("Before the tables are cleared no command starts") {
  Registers registers;
  registers.dut().ready_i = 0;
  registers.write(EXRNIC_REG_MBOX_COMMAND, EXRNIC_MBOX_OP_NOP);
  CHECK(registers.commands == 0);
  CHECK(registers.read(EXRNIC_REG_MBOX_STATUS) == EXRNIC_MBOX_STATUS_OK);
}

TEST_CASE("An answer replaces the payload as far as it reaches") {
  Registers registers;
  constexpr unsigned kAnswer = sizeof(exrnic_mbox_query_qp) / kWord;
  for (unsigned i = 0; i <= kAnswer; ++i)
    registers.write(EXRNIC_REG_MBOX_DATA + kWord * i, 0xdddd0000 + i);
  registers.write(EXRNIC_REG_MBOX_COMMAND, EXRNIC_MBOX_OP_QUERY_QP);
  exrnic_mbox_query_qp answer{};
  answer.state = 3;
  answer.dest_qpn = 0x654321;
  answer.pkey_index = 9;
  Packer(registers.dut().mbox_answer_data_i, 8 * sizeof(answer))
      .bytes({reinterpret_cast<const uint8_t*>(&answer),
              reinterpret_cast<const uint8_t*>(&answer + 1)},
             8 * sizeof(answer));
  registers.dut().mbox_answer_i = 1;
  registers.pulse(registers.dut().mbox_done_i);
  for (unsigned i = 0; i < kAnswer; ++i) {
    uint32_t expected;
    std::memcpy(&expected, reinterpret_cast<const uint8_t*>(&answer) + kWord * i, kWord);
    CHECK(registers.read(EXRNIC_REG_MBOX_DATA + kWord * i) == expected);
  }
  CHECK(registers.read(EXRNIC_REG_MBOX_DATA + kWord * kAnswer) == 0xdddd0000 + kAnswer);
}

TEST_CASE("Each cause is pending until a one clears it, and fires if it is enabled") {
  Registers registers;
  registers.write(EXRNIC_REG_INT_ENABLE, EXRNIC_INT_CAUSE_FIRMWARE);
  registers.pulse(registers.dut().mbox_done_i);
  CHECK(registers.interrupts == 0);
  registers.pulse(registers.dut().firmware_i);
  CHECK(registers.interrupts == 1);
  CHECK(registers.read(EXRNIC_REG_INT_CAUSE) ==
        (EXRNIC_INT_CAUSE_MBOX | EXRNIC_INT_CAUSE_FIRMWARE));
  registers.write(EXRNIC_REG_INT_CAUSE, EXRNIC_INT_CAUSE_FIRMWARE);
  CHECK(registers.read(EXRNIC_REG_INT_CAUSE) == EXRNIC_INT_CAUSE_MBOX);
  registers.pulse(registers.dut().firmware_i);
  registers.pulse(registers.dut().firmware_i);  // pending already: the driver may be looking now
  CHECK(registers.interrupts == 3);
}

TEST_CASE("Enabling a cause that is pending fires") {
  Registers registers;
  registers.pulse(registers.dut().firmware_i);
  registers.write(EXRNIC_REG_INT_ENABLE, EXRNIC_INT_CAUSE_MBOX);
  registers.cycle();
  CHECK(registers.interrupts == 0);
  registers.write(EXRNIC_REG_INT_ENABLE, EXRNIC_INT_CAUSE_FIRMWARE);
  registers.cycle();
  CHECK(registers.interrupts == 1);
}

TEST_CASE("A doorbell of an event queue says which it is, what was taken, and whether it arms") {
  Registers registers;
  Vregisters& dut = registers.dut();
  for (const uint32_t eqn : {0u, 5u, EXRNIC_MAX_EQ - 1u}) {
    for (const bool arm : {false, true}) {
      const uint32_t first = arm ? EXRNIC_REG_EQ_ARM : EXRNIC_REG_EQ_CONSUMER;
      registers.drive_write(first + kWord * eqn, 0x1234'5678 + eqn);
      registers.settle();
      CHECK(dut.eq_bell_o);
      CHECK(dut.eq_bell_eqn_o == eqn);
      CHECK(dut.eq_bell_consumer_o == 0x1234'5678 + eqn);
      CHECK(dut.eq_bell_arm_o == arm);
      registers.cycle();
      dut.valid_i = 0;
      registers.settle();
      CHECK_FALSE(dut.eq_bell_o);
    }
  }
  registers.drive_write(EXRNIC_REG_EQ_CONSUMER, 1, 2);  // no word
  registers.settle();
  CHECK_FALSE(dut.eq_bell_o);
}

TEST_CASE("A cause that comes in the very cycle of its enabling fires") {
  Registers registers;
  registers.drive_write(EXRNIC_REG_INT_ENABLE, EXRNIC_INT_CAUSE_MBOX);
  registers.pulse(registers.dut().mbox_done_i);
  CHECK(registers.interrupts == 1);
}

TEST_CASE("A cause that comes in the very cycle of its clearing stays, and fires") {
  Registers registers;
  registers.write(EXRNIC_REG_INT_ENABLE, EXRNIC_INT_CAUSE_MBOX);
  registers.pulse(registers.dut().mbox_done_i);
  registers.drive_write(EXRNIC_REG_INT_CAUSE, EXRNIC_INT_CAUSE_MBOX);
  registers.pulse(registers.dut().mbox_done_i);
  CHECK(registers.read(EXRNIC_REG_INT_CAUSE) == EXRNIC_INT_CAUSE_MBOX);
  CHECK(registers.interrupts == 2);
}

TEST_CASE(
    "An interrupt waits until it is taken; one more in the cycle in which it is taken stays") {
  Registers registers;
  registers.write(EXRNIC_REG_INT_ENABLE, 7);
  registers.dut().irq_ready_i = 0;
  registers.pulse(registers.dut().firmware_i);
  registers.pulse(registers.dut().firmware_i);
  CHECK(registers.dut().irq_valid_o);
  registers.dut().irq_ready_i = 1;
  registers.pulse(registers.dut().mbox_done_i);
  CHECK(registers.interrupts == 2);
  CHECK_FALSE(registers.dut().irq_valid_o);
}

TEST_CASE("A counter counts every source that pulses it in a cycle, and no other counter") {
  Registers registers;
  Vregisters& dut = registers.dut();
  for (unsigned source = 0; source < kSources; ++source)
    set_bit(dut.event_i[source], EXRNIC_COUNTER_DOORBELLS, 1);
  set_bit(dut.event_i[2], EXRNIC_COUNTER_MSIX, 1);
  registers.cycle();
  for (unsigned source = 2; source < kSources; ++source) dut.event_i[source] = {};
  registers.cycle();
  dut.event_i[0] = dut.event_i[1] = {};
  CHECK(registers.counter(EXRNIC_COUNTER_DOORBELLS) == kSources + 2);
  CHECK(registers.counter(EXRNIC_COUNTER_MSIX) == 1);
  for (unsigned index = 0; index < EXRNIC_COUNTERS; ++index)
    if (index != EXRNIC_COUNTER_DOORBELLS && index != EXRNIC_COUNTER_MSIX)
      CHECK(registers.counter(index) == 0);
}

}  // namespace
}  // namespace exrnic::testing

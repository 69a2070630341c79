// SPDX-License-Identifier: BSD-2-Clause
// Firmware on the processor of a whole node, beside the data path.
#include "tests/support/firmware.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "firmware/test/faulty.h"
#include "rtl-model/ref/ref_core.h"
#include "tests/support/pair.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kRestLimitNs = 1'000'000;

uint32_t run_command(RnicDriver& rnic, uint32_t op) {
  rnic.write_register(EXRNIC_REG_FW_COMMAND, op);
  wait_while_register(rnic, EXRNIC_REG_FW_COMMAND_STATUS, EXRNIC_FW_STATUS_BUSY);
  return rnic.read_register(EXRNIC_REG_FW_COMMAND_STATUS);
}

struct Pushes : Pair {
  Pushes() : source(source_of(left, kBytes)), sink(sink_of(right, kBytes)) {}

  void post() { left.rnic.post(left.qp, {&source, 0, kBytes, kSinkStag, kSinkBase, true}); }
  void expect_done() { CHECK(left.wait().status == EXRNIC_CQE_STATUS_SUCCESS); }

  static constexpr uint32_t kBytes = 100'000;
  Region source;
  Region sink;
};

TEST_CASE(
    "firmware is loaded and serves a command while PUSHes are under way, then the node rests") {
  Pushes pair;
  pair.post();
  start_firmware(pair.left.rnic, EXRNIC_FIRMWARE);
  REQUIRE(pair.left.rnic.read_register(EXRNIC_REG_FW_STATE) == EXRNIC_FW_STATE_READY);
  CHECK(run_command(pair.left.rnic, EXRNIC_FW_OP_QUERY) == EXRNIC_FW_STATUS_OK);
  CHECK(pair.left.rnic.read_register(EXRNIC_REG_FW_WORDS) ==
        pair.left.rnic.read_register(EXRNIC_REG_FW_VERSION));
  pair.expect_done();
  pair.testbed.run_while_busy(kRestLimitNs);
  CHECK(!pair.testbed.busy());
}

TEST_CASE("firmware that fails tells the driver by an interrupt, and data goes on without it") {
  Pushes pair;
  pair.left.rnic.write_register(EXRNIC_REG_INT_ENABLE, EXRNIC_INT_CAUSE_FIRMWARE);
  start_firmware(pair.left.rnic, EXRNIC_FAULTY_FIRMWARE);
  pair.left.rnic.host().clear_records();
  CHECK(run_command(pair.left.rnic, FAULTY_SPIN) == EXRNIC_FW_STATUS_FAILED);
  CHECK(pair.left.rnic.read_register(EXRNIC_REG_FW_STATE) == EXRNIC_FW_STATE_FAILED);
  CHECK((pair.left.rnic.read_register(EXRNIC_REG_INT_CAUSE) & EXRNIC_INT_CAUSE_FIRMWARE) != 0);
  EventQueue events = pair.left.rnic.create_eq(EXRNIC_EQN_ASYNC, 5);
  pair.testbed.run_for(1000);
  const auto eqe = pair.left.rnic.poll(events);
  REQUIRE(eqe.has_value());
  CHECK(eqe->event_type == EXRNIC_EQE_TYPE_FIRMWARE);
  pair.post();
  pair.expect_done();
  const auto& interrupts = pair.left.rnic.host().interrupts();
  CHECK(std::count(interrupts.begin(), interrupts.end(), EXRNIC_MSIX_VECTOR_CONTROL) == 1);
}

TEST_CASE("a core without a processor says so, and ignores what is written there") {
  Pair pair(options_for("dc-25g"), make_ref_core);
  for (uint32_t reg = EXRNIC_REG_FW_MEMORY; reg < EXRNIC_REG_FW_MEMORY + 0x100; reg += 4) {
    pair.left.rnic.write_register(reg, 1);
    CHECK(pair.left.rnic.read_register(reg) == ~0u);
  }
}

}  // namespace
}  // namespace exrnic::testing

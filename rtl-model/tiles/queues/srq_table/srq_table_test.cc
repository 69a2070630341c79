// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "Vsrq_table.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kSrqn = 0xff;
constexpr unsigned kOther = 0x55;

// A record as its bits, so that two compare in every field.
template <typename Record>
std::vector<uint32_t> bits_of(const Record& record) {
  VlWide<8> words{};
  pack(words, record);
  return {words.m_storage, words.m_storage + 8};
}

class SrqTable : public Bench<Vsrq_table> {
 public:
  SrqTable() {
    clear_inputs();
    restart();
  }

  void restart() {
    reset();
    wait_for("init_done_o", EXRNIC_MAX_SRQ + 2, [&] { return dut().init_done_o != 0; });
  }

  void cycle() override {
    settle();
    tick();
    clear_inputs();
    settle();
  }
  Srq read(unsigned srqn, SrqClient client = kSrqMailbox) {
    ask(srqn, client);
    cycle();
    return answer(client);
  }
  void ask(unsigned srqn, SrqClient client) {
    dut().read_i |= 1u << client;
    dut().read_srqn_i[client] = static_cast<uint8_t>(srqn);
  }
  Srq answer(SrqClient client) { return unpack<Srq>(dut().read_o[client]); }

  void drive_config(unsigned srqn, const SrqConfig& config, uint16_t limit, bool clear) {
    dut().config_we_i = 1;
    dut().config_srqn_i = static_cast<uint8_t>(srqn);
    dut().config_limit_i = limit;
    dut().config_clear_i = clear;
    pack(dut().config_i, config);
  }
  void drive_producer(unsigned srqn, uint16_t index) {
    dut().producer_we_i = 1;
    dut().producer_srqn_i = static_cast<uint8_t>(srqn);
    dut().producer_i = index;
  }
  void drive_consumer(unsigned srqn, uint16_t index, uint16_t limit) {
    dut().consumer_we_i = 1;
    dut().consumer_srqn_i = static_cast<uint8_t>(srqn);
    dut().consumer_i = index;
    dut().limit_i = limit;
  }

 private:
  void clear_inputs() {
    dut().read_i = dut().config_we_i = dut().config_clear_i = 0;
    dut().producer_we_i = dut().consumer_we_i = 0;
  }
};

SrqConfig config() { return {true, 0x42, 0xbeef, 12, 0xaaaaaaaaaac0}; }

TEST_CASE("After reset no shared receive queue exists") {
  SrqTable table;
  for (unsigned srqn = 0; srqn < EXRNIC_MAX_SRQ; ++srqn) CHECK_FALSE(table.read(srqn).cfg.valid);
}

TEST_CASE("After another reset none is left") {
  SrqTable table;
  for (unsigned srqn = 0; srqn < EXRNIC_MAX_SRQ; ++srqn) {
    table.drive_config(srqn, config(), 0, true);
    table.cycle();
  }
  table.restart();
  for (unsigned srqn = 0; srqn < EXRNIC_MAX_SRQ; ++srqn) CHECK_FALSE(table.read(srqn).cfg.valid);
}

TEST_CASE("What the driver writes is read, by each client, in each field") {
  SrqTable table;
  table.drive_config(kSrqn, config(), 0x1234, true);
  table.cycle();
  for (unsigned client = 0; client < kSrqClients; ++client) {
    const Srq srq = table.read(kSrqn, static_cast<SrqClient>(client));
    CHECK(bits_of(srq.cfg) == bits_of(config()));
    CHECK(srq.limit == 0x1234);
    CHECK(srq.producer == 0);
    CHECK(srq.consumer == 0);
  }
  CHECK_FALSE(table.read(kOther).cfg.valid);
}

TEST_CASE("An answer stays until the client's next read, whatever others read or write") {
  SrqTable table;
  table.drive_config(kSrqn, config(), 7, true);
  table.cycle();
  table.ask(kSrqn, kSrqResponder);
  table.ask(kOther, kSrqUserPage);
  table.cycle();
  table.drive_producer(kSrqn, 9);
  table.ask(kSrqn, kSrqMailbox);  // in the cycle of the write: as before it
  table.cycle();
  CHECK(table.answer(kSrqResponder).producer == 0);
  CHECK(table.answer(kSrqMailbox).producer == 0);
  CHECK_FALSE(table.answer(kSrqUserPage).cfg.valid);
  CHECK(table.read(kSrqn, kSrqResponder).producer == 9);
}

TEST_CASE("Each ring index has its place, and writes of one cycle do not meet") {
  SrqTable table;
  table.drive_config(kSrqn, config(), 7, true);
  table.cycle();
  table.drive_config(kOther, config(), 8, true);
  table.cycle();
  table.drive_producer(kSrqn, 0xfff1);
  table.drive_consumer(kOther, 0xfff2, 0);
  table.cycle();
  table.drive_consumer(kSrqn, 0xfff0, 7);
  table.cycle();
  const Srq srq = table.read(kSrqn);
  CHECK(srq.producer == 0xfff1);
  CHECK(srq.consumer == 0xfff0);
  CHECK(srq.limit == 7);
  const Srq other = table.read(kOther);
  CHECK(other.producer == 0);
  CHECK(other.consumer == 0xfff2);
  CHECK(other.limit == 0);
}

TEST_CASE("The driver's write empties the ring when it says so, else it only arms the limit") {
  SrqTable table;
  table.drive_config(kSrqn, config(), 0, true);
  table.cycle();
  table.drive_producer(kSrqn, 7);
  table.drive_consumer(kSrqn, 5, 0);
  table.cycle();
  table.drive_config(kSrqn, config(), 3, false);
  table.cycle();
  CHECK(table.read(kSrqn).producer == 7);
  CHECK(table.read(kSrqn).consumer == 5);
  CHECK(table.read(kSrqn).limit == 3);
  table.drive_config(kSrqn, SrqConfig{}, 0, true);
  table.cycle();
  CHECK(table.read(kSrqn).producer == 0);
  CHECK(table.read(kSrqn).consumer == 0);
  CHECK_FALSE(table.read(kSrqn).cfg.valid);
}

}  // namespace
}  // namespace exrnic::testing

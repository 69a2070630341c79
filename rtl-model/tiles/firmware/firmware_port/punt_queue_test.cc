// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>

#include "Vpunt_queue.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kPlaces = 16;

class PuntQueue : public Bench<Vpunt_queue> {
 public:
  PuntQueue() {
    dut().empty_i = dut().push_valid_i = dut().pop_i = dut().read_i = 0;
    reset();
  }
  void push(unsigned from, bool message = true) {
    Punt punt{};
    punt.message = message;
    (message ? punt.generation : punt.qpn) = static_cast<uint16_t>(from);
    pack(dut().push_i, punt);
    dut().push_valid_i = 1;
    cycle();
    dut().push_valid_i = 0;
  }
  void pop() {
    dut().pop_i = 1;
    cycle();
    dut().pop_i = 0;
  }
  uint32_t word(unsigned index) {
    dut().word_index_i = static_cast<uint8_t>(index);
    dut().read_i = 1;
    settle();
    const uint32_t word = dut().word_o;
    dut().read_i = 0;
    settle();
    CHECK(dut().word_o == 0);
    return word;
  }
  bool is_crowded(unsigned node) {
    dut().node_i = node;
    settle();
    return dut().crowded_o != 0;
  }
};

TEST_CASE("A node has half of the places, or more while others leave some free") {
  PuntQueue queue;
  for (unsigned i = 0; i < kPlaces; ++i) {
    CHECK_FALSE(queue.is_crowded(1));
    queue.push(i < kPlaces / 2 ? 1 : i < kPlaces - 1 ? 2 : 3);
  }
  CHECK(queue.dut().push_ready_o == 0);
  CHECK(queue.is_crowded(1));
  CHECK_FALSE(queue.is_crowded(2));
  CHECK_FALSE(queue.is_crowded(3));
  queue.pop();
  CHECK_FALSE(queue.is_crowded(1));
  queue.push(2);
  CHECK_FALSE(queue.is_crowded(1));
  CHECK(queue.is_crowded(2));
  queue.pop();
  queue.push(4);
  CHECK(queue.is_crowded(2));
}

TEST_CASE("The oldest one is read word by word, and those behind it in their order") {
  PuntQueue queue;
  const auto punt_of = [](unsigned number) {
    Punt punt{};
    punt.message = number % 2;
    punt.qpn = static_cast<uint16_t>(0x300 + number);
    punt.generation = static_cast<uint16_t>(0x8001 + number);
    punt.pd = static_cast<uint16_t>(0xc000 + number);
    punt.msn = 0xfedc'0000 + number;
    for (std::size_t i = 0; i < punt.payload.size(); ++i)
      punt.payload[i] = static_cast<uint8_t>(100 * number + i);
    return punt;
  };
  for (unsigned i = 0; i < 5; ++i) {
    pack(queue.dut().push_i, punt_of(i));
    queue.dut().push_valid_i = 1;
    queue.cycle();
  }
  queue.dut().push_valid_i = 0;
  for (unsigned i = 0; i < 5; ++i) {
    CHECK(queue.dut().count_o == 5 - i);
    const Punt punt = punt_of(i);
    CHECK(queue.word(EXRNIC_FW_PUNT_WORD_REQUEST) ==
          ((punt.message ? EXRNIC_FW_PUNT_KIND_MESSAGE : EXRNIC_FW_PUNT_KIND_READ) |
           uint32_t{punt.qpn} << EXRNIC_FW_REQUEST_NUMBER_SHIFT |
           uint32_t{punt.generation} << EXRNIC_FW_REQUEST_GENERATION_SHIFT));
    CHECK(queue.word(EXRNIC_FW_PUNT_WORD_MSN) == punt.msn);
    CHECK(queue.word(EXRNIC_FW_PUNT_WORD_PD) == punt.pd);
    for (unsigned word = 0; word < punt.payload.size() / 4; ++word) {
      const uint8_t* const bytes = &punt.payload[4 * word];
      CHECK(queue.word(EXRNIC_FW_PUNT_WORD_PAYLOAD + word) ==
            (uint32_t{bytes[0]} << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3]));
    }
    queue.pop();
  }
  queue.pop();  // there is none
  CHECK(queue.dut().count_o == 0);
}

TEST_CASE("When nobody takes them all go, and none is taken in") {
  PuntQueue queue;
  for (unsigned i = 0; i < 3; ++i) queue.push(i);
  queue.dut().empty_i = 1;
  queue.settle();
  CHECK_FALSE(queue.dut().push_ready_o);
  queue.push(4);
  CHECK(queue.dut().count_o == 0);
  queue.dut().empty_i = 0;
  queue.push(5);
  CHECK(queue.dut().count_o == 1);
}

TEST_CASE("A request of a queue pair is no message of the node of that number") {
  PuntQueue queue;
  for (unsigned i = 0; i < kPlaces; ++i) queue.push(5, i < kPlaces / 2 - 1);
  CHECK(queue.dut().push_ready_o == 0);
  CHECK_FALSE(queue.is_crowded(5));
}

}  // namespace
}  // namespace exrnic::testing

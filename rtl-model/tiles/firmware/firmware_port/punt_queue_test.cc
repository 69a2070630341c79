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

TEST_CASE("A request of a queue pair is no message of the node of that number") {
  PuntQueue queue;
  for (unsigned i = 0; i < kPlaces; ++i) queue.push(5, i < kPlaces / 2 - 1);
  CHECK(queue.dut().push_ready_o == 0);
  CHECK_FALSE(queue.is_crowded(5));
}

}  // namespace
}  // namespace exrnic::testing

// SPDX-License-Identifier: BSD-2-Clause
// A queue of 8 places in a memory is a queue: its head is there without asking, whatever is pushed
// and popped.
#include <catch2/catch_test_macros.hpp>
#include <deque>
#include <random>

#include "Vram_fifo.h"
#include "rtl-model/testing/bench.h"

namespace exrnic::testing {
namespace {

constexpr size_t kPlaces = 8;

class Fifo : public Bench<Vram_fifo> {
 public:
  Fifo() {
    dut().push_i = dut().pop_i = 0;
    reset();
  }

  // One cycle, and what has to be seen before it.
  void step(bool push, uint32_t data, bool pop) {
    dut().push_i = push;
    dut().push_data_i = data;
    dut().pop_i = pop;
    settle();
    check();
    tick();
    dut().push_i = dut().pop_i = 0;
    settle();
    if (pop) model_.pop_front();
    if (push) model_.push_back(data);
    check();
  }
  size_t size() const { return model_.size(); }

 private:
  void check() {
    REQUIRE(dut().count_o == model_.size());
    if (!model_.empty()) REQUIRE(dut().head_o == model_.front());
  }

  std::deque<uint32_t> model_;
};

TEST_CASE("what is pushed to an empty queue is its head in the next cycle, and stays it") {
  Fifo fifo;
  fifo.step(true, 0xc0de, false);
  for (int i = 0; i < 3; ++i) fifo.step(false, 0, false);
  fifo.step(true, 0xbeef, false);
  fifo.step(false, 0, true);
  fifo.step(false, 0, true);
  CHECK(fifo.size() == 0);
}

TEST_CASE("a full queue takes a push together with a pop") {
  Fifo fifo;
  for (uint32_t i = 0; i < kPlaces; ++i) fifo.step(true, i, false);
  for (uint32_t i = 0; i < 3 * kPlaces; ++i) fifo.step(true, 100 + i, true);
  while (fifo.size() != 0) fifo.step(false, 0, true);
}

TEST_CASE("pushes and pops in any order are those of a queue, be it empty, full or between") {
  Fifo fifo;
  std::mt19937 random(25);
  for (int i = 0; i < 50000; ++i) {
    const unsigned filling = i / 500 % 3;  // it gets fuller, stays, gets emptier
    const bool pop = fifo.size() != 0 && random() % 4 < (filling == 0 ? 1 : filling + 1);
    const bool push = (fifo.size() < kPlaces || pop) && random() % 4 < (filling == 2 ? 1 : 3);
    fifo.step(push, random(), pop);
  }
}

}  // namespace
}  // namespace exrnic::testing

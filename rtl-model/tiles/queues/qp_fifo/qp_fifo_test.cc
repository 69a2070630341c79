// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <deque>
#include <map>
#include <random>

#include "Vqp_fifo.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kReaders = 3;

// That a queue takes.
unsigned places(unsigned limit) {
  unsigned places = EXRNIC_READ_SLICE;
  while (places < limit) places *= 2;
  return limit == 0 ? 0 : places;
}
constexpr unsigned kQpn = 0x3ff;
constexpr unsigned kOther = 0x155;

class QpFifo : public Bench<Vqp_fifo> {
 public:
  QpFifo() {
    clear_inputs();
    reset();
    wait_for("init_done_o", EXRNIC_MAX_QP + 2, [&] { return dut().init_done_o != 0; });
  }

  void cycle() override {
    settle();
    tick();
    clear_inputs();
    settle();
  }
  void push(unsigned qpn, uint32_t value) {
    dut().push_i = 1;
    dut().push_qpn_i = qpn;
    pack(dut().push_data_i, entry(value));
  }
  void pop(unsigned qpn) {
    dut().pop_i = 1;
    dut().pop_qpn_i = qpn;
  }
  bool pops_last(unsigned qpn) {
    pop(qpn);
    settle();
    const bool last = dut().last_o;
    cycle();
    return last;
  }
  void set(unsigned qpn, uint32_t value) {
    dut().set_i = 1;
    dut().pop_qpn_i = qpn;
    pack(dut().set_data_i, entry(value));
  }
  void clear(unsigned qpn) {
    dut().clear_i = 1;
    dut().clear_qpn_i = qpn;
  }
  // A queue begins or ends, and its slices come or go.
  void take(unsigned qpn, unsigned limit) {
    dut().take_i = 1;
    change(qpn, limit);
  }
  void give(unsigned qpn, unsigned limit) {
    dut().give_i = 1;
    change(qpn, limit);
  }
  unsigned free() { return dut().free_o; }
  void ask(unsigned reader, unsigned qpn) {
    dut().look_i |= 1u << reader;
    dut().look_qpn_i[reader] = qpn;
  }
  unsigned count(unsigned reader) { return dut().count_o[reader]; }
  uint32_t head() { return unpack<Read>(dut().head_o).msn; }
  unsigned count_of(unsigned qpn, unsigned reader = 0) {
    ask(reader, qpn);
    cycle();
    return count(reader);
  }
  uint32_t head_of(unsigned qpn) {
    ask(0, qpn);
    cycle();
    return head();
  }

 private:
  static Read entry(uint32_t value) {
    Read read;
    read.request.fill(static_cast<uint8_t>(value));
    read.msn = value;
    read.done = ~value;
    return read;
  }
  void change(unsigned qpn, unsigned limit) {
    dut().limit_i = limit;
    clear(qpn);
    cycle();
    unsigned cycles = 0;
    for (; dut().moves_o; ++cycles) cycle();
    REQUIRE(cycles == places(limit) / EXRNIC_READ_SLICE);
  }
  void clear_inputs() {
    dut().look_i = dut().push_i = dut().pop_i = dut().set_i = 0;
    dut().clear_i = dut().take_i = dut().give_i = 0;
  }
};

// One with two queues that may hold all that a queue can.
class TwoQueues : public QpFifo {
 public:
  TwoQueues() {
    take(kQpn, EXRNIC_MAX_READS);
    take(kOther, EXRNIC_MAX_READS);
  }
};

TEST_CASE("After reset every queue is empty, and all places are free") {
  QpFifo fifo;
  for (unsigned qpn = 0; qpn < EXRNIC_MAX_QP; ++qpn) CHECK(fifo.count_of(qpn) == 0);
  CHECK(fifo.free() == EXRNIC_READ_POOL);
}

TEST_CASE("A queue holds MAX_READS entries and gives them back in order") {
  TwoQueues fifo;
  for (uint32_t i = 0; i < EXRNIC_MAX_READS; ++i) {
    fifo.push(kQpn, 100 + i);
    fifo.cycle();
  }
  for (unsigned reader = 0; reader < kReaders; ++reader) {
    CHECK(fifo.count_of(kQpn, reader) == EXRNIC_MAX_READS);
    CHECK(fifo.count_of(kOther, reader) == 0);
  }
  for (uint32_t i = 0; i < EXRNIC_MAX_READS; ++i) {
    CHECK(fifo.head_of(kQpn) == 100 + i);
    fifo.pop(kQpn);
    fifo.cycle();
  }
  CHECK(fifo.count_of(kQpn) == 0);
}

TEST_CASE("A queue gets slices for what it may hold, a power of two, and gives back as many") {
  const std::map<unsigned, unsigned> wanted = {{0, 0}, {1, 4},  {4, 4},  {5, 8},
                                               {8, 8}, {9, 16}, {16, 16}};
  QpFifo fifo;
  for (const auto& [limit, places] : wanted) {
    CAPTURE(limit);
    fifo.take(kQpn, limit);
    CHECK(fifo.free() == EXRNIC_READ_POOL - places);
    fifo.give(kQpn, limit);
    CHECK(fifo.free() == EXRNIC_READ_POOL);
  }
}

TEST_CASE("A queue of fewer slices goes round in them") {
  for (unsigned limit = 1; limit <= EXRNIC_MAX_READS; ++limit) {
    CAPTURE(limit);
    QpFifo fifo;
    fifo.take(kOther, limit);
    fifo.take(kQpn, limit);
    for (uint32_t i = 0; i < 3 * EXRNIC_MAX_READS; ++i) {
      if (i >= limit) {
        REQUIRE(fifo.head_of(kQpn) == i - limit);
        fifo.pop(kQpn);
        fifo.cycle();
      }
      fifo.push(kQpn, i);
      fifo.cycle();
    }
  }
}

TEST_CASE("All places can be in use, and no queue sees what another one holds") {
  constexpr unsigned kQueues = EXRNIC_READ_POOL / EXRNIC_MAX_READS;
  const auto value = [](unsigned qpn, unsigned i) { return qpn << 8 | i; };
  QpFifo fifo;
  for (unsigned qpn = 0; qpn < kQueues; ++qpn) fifo.take(qpn, EXRNIC_MAX_READS);
  CHECK(fifo.free() == 0);
  for (unsigned i = 0; i < EXRNIC_MAX_READS; ++i) {
    for (unsigned qpn = 0; qpn < kQueues; ++qpn) {
      fifo.push(qpn, value(qpn, i));
      fifo.cycle();
    }
  }
  for (unsigned qpn = 0; qpn < kQueues; ++qpn) {
    REQUIRE(fifo.count_of(qpn) == EXRNIC_MAX_READS);
    for (unsigned i = 0; i < EXRNIC_MAX_READS; ++i) {
      REQUIRE(fifo.head_of(qpn) == value(qpn, i));
      fifo.pop(qpn);
      fifo.cycle();
    }
  }
}

TEST_CASE("Every queue pair can have a slice") {
  static_assert(EXRNIC_READ_POOL == EXRNIC_MAX_QP * EXRNIC_READ_SLICE);
  QpFifo fifo;
  for (unsigned qpn = 0; qpn < EXRNIC_MAX_QP; ++qpn) fifo.take(qpn, 1 + qpn % EXRNIC_READ_SLICE);
  CHECK(fifo.free() == 0);
  for (unsigned qpn = 0; qpn < EXRNIC_MAX_QP; ++qpn) {
    fifo.push(qpn, qpn);
    fifo.cycle();
  }
  for (unsigned qpn = 0; qpn < EXRNIC_MAX_QP; ++qpn) REQUIRE(fifo.head_of(qpn) == qpn);
}

TEST_CASE("A look is answered as of its own cycle and stays until the reader's next") {
  TwoQueues fifo;
  fifo.push(kQpn, 1);
  fifo.cycle();
  fifo.ask(0, kQpn);
  fifo.push(kQpn, 2);
  fifo.cycle();
  CHECK(fifo.count(0) == 1);
  fifo.ask(1, kQpn);
  fifo.pop(kQpn);
  fifo.cycle();
  CHECK(fifo.count(0) == 1);
  CHECK(fifo.head() == 1);
  CHECK(fifo.count(1) == 2);
}

TEST_CASE(
    "A cleared queue is empty, also of what replaced its head, and has its places; others stay") {
  TwoQueues fifo;
  const unsigned free = fifo.free();
  fifo.push(kQpn, 1);
  fifo.cycle();
  fifo.push(kOther, 2);
  fifo.cycle();
  fifo.set(kQpn, 7);
  fifo.cycle();
  CHECK(fifo.head_of(kQpn) == 7);
  fifo.clear(kQpn);
  fifo.cycle();
  CHECK(fifo.count_of(kQpn) == 0);
  CHECK(fifo.head_of(kOther) == 2);
  CHECK(fifo.free() == free);
  fifo.push(kQpn, 3);
  fifo.cycle();
  CHECK(fifo.head_of(kQpn) == 3);
}

TEST_CASE("With a pop it says whether that was the last entry, also beside a push") {
  TwoQueues fifo;
  for (uint32_t i = 0; i < 2; ++i) {
    fifo.push(kQpn, i);
    fifo.cycle();
  }
  fifo.push(kOther, 0);
  fifo.cycle();
  CHECK_FALSE(fifo.pops_last(kQpn));
  CHECK(fifo.pops_last(kQpn));
  fifo.push(kOther, 1);
  CHECK_FALSE(fifo.pops_last(kOther));
  CHECK(fifo.pops_last(kOther));
}

// Queues that come and go, in what the others have left of the pool.
class RandomQueues {
 public:
  explicit RandomQueues(uint32_t seed) : random_(seed) {
    for (unsigned qpn = kQueues; free_ > kLeft; ++qpn) take(qpn, EXRNIC_MAX_READS);
  }

  void step() {
    if (random_() % 16 == 0)
      change(random_() % kQueues);
    else
      move(random_() % kQueues, random_() % kQueues);
    check(random_() % kQueues, random_() % kReaders);
  }

 private:
  static constexpr unsigned kQueues = 8;
  static constexpr unsigned kLeft = 4 * EXRNIC_MAX_READS;  // for half of them
  struct Queue {
    bool exists = false;
    unsigned limit = 0;
    std::deque<uint32_t> entries;
  };

  void take(unsigned qpn, unsigned limit) {
    if (places(limit) > free_) return;
    free_ -= places(limit);
    queues_[qpn] = {true, limit, {}};
    fifo_.take(qpn, limit);
  }
  void change(unsigned qpn) {
    Queue& queue = queues_[qpn];
    if (!queue.exists) return take(qpn, random_() % (EXRNIC_MAX_READS + 1));
    queue.entries.clear();
    if (random_() % 3 == 0) {
      fifo_.clear(qpn);
      fifo_.cycle();
      return;
    }
    fifo_.give(qpn, queue.limit);
    free_ += places(queue.limit);
    queue = {};
  }
  // A push and a pop in one cycle, of one queue or two.
  void move(unsigned producer, unsigned consumer) {
    auto& filled = queues_[producer].entries;
    auto& emptied = queues_[consumer].entries;
    const bool pushes = filled.size() < queues_[producer].limit && random_() % 2;
    const bool takes = !emptied.empty() && random_() % 2;
    if (takes && random_() % 2) {
      emptied.front() = random_();
      fifo_.set(consumer, emptied.front());
    } else if (takes) {
      emptied.pop_front();
      fifo_.pop(consumer);
    }
    if (pushes) {
      filled.push_back(random_());
      fifo_.push(producer, filled.back());
    }
    fifo_.cycle();
  }
  void check(unsigned qpn, unsigned reader) {
    const auto& entries = queues_[qpn].entries;
    REQUIRE(fifo_.free() == free_);
    REQUIRE(fifo_.count_of(qpn, reader) == entries.size());
    if (!entries.empty()) REQUIRE(fifo_.head_of(qpn) == entries.front());
  }

  std::mt19937 random_;
  QpFifo fifo_;
  std::map<unsigned, Queue> queues_;
  unsigned free_ = EXRNIC_READ_POOL;
};

TEST_CASE(
    "After random pushes, pops, replacements, resets and new queues each is what a list would be") {
  constexpr uint32_t kSeed = 20261120;
  INFO("seed " << kSeed);
  RandomQueues queues(kSeed);
  for (unsigned step = 0; step < 20000; ++step) queues.step();
}

}  // namespace
}  // namespace exrnic::testing

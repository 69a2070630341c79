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
  void ask(unsigned reader, unsigned qpn) {
    dut().look_i |= 1u << reader;
    dut().look_qpn_i[reader] = qpn;
  }
  unsigned count(unsigned reader) { return dut().count_o[reader]; }
  uint32_t head(unsigned reader) { return unpack<Read>(dut().head_o[reader]).msn; }
  unsigned count_of(unsigned qpn, unsigned reader = 0) {
    ask(reader, qpn);
    cycle();
    return count(reader);
  }
  uint32_t head_of(unsigned qpn, unsigned reader = 0) {
    ask(reader, qpn);
    cycle();
    return head(reader);
  }

 private:
  static Read entry(uint32_t value) {
    Read read;
    read.request.fill(static_cast<uint8_t>(value));
    read.msn = value;
    read.done = ~value;
    return read;
  }
  void clear_inputs() {
    dut().look_i = dut().push_i = dut().pop_i = dut().set_i = dut().clear_i = 0;
  }
};

TEST_CASE("After reset every queue is empty") {
  QpFifo fifo;
  for (unsigned qpn = 0; qpn < EXRNIC_MAX_QP; ++qpn) CHECK(fifo.count_of(qpn) == 0);
}

TEST_CASE("A queue holds MAX_READS entries and gives them back in order") {
  QpFifo fifo;
  for (uint32_t i = 0; i < EXRNIC_MAX_READS; ++i) {
    fifo.push(kQpn, 100 + i);
    fifo.cycle();
  }
  CHECK(fifo.count_of(kQpn) == EXRNIC_MAX_READS);
  CHECK(fifo.count_of(kOther) == 0);
  for (uint32_t i = 0; i < EXRNIC_MAX_READS; ++i) {
    CHECK(fifo.head_of(kQpn, i % kReaders) == 100 + i);
    fifo.pop(kQpn);
    fifo.cycle();
  }
  CHECK(fifo.count_of(kQpn) == 0);
}

TEST_CASE("A look is answered as of its own cycle and stays until the reader's next") {
  QpFifo fifo;
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
  CHECK(fifo.head(0) == 1);
  CHECK(fifo.count(1) == 2);
}

TEST_CASE("A cleared queue is empty, also of what replaced its head; others stay") {
  QpFifo fifo;
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
  fifo.push(kQpn, 3);
  fifo.cycle();
  CHECK(fifo.head_of(kQpn) == 3);
}

TEST_CASE("With a pop it says whether that was the last entry, also beside a push") {
  QpFifo fifo;
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

TEST_CASE("After random pushes, pops and replacements every queue is what a list would be") {
  constexpr uint32_t kSeed = 20261120;
  INFO("seed " << kSeed);
  std::mt19937 random(kSeed);
  QpFifo fifo;
  std::map<unsigned, std::deque<uint32_t>> want;
  for (unsigned step = 0; step < 5000; ++step) {
    const unsigned producer = random() % 4;
    const unsigned consumer = random() % 4;
    auto& filled = want[producer];
    auto& emptied = want[consumer];
    const bool pushes = filled.size() < EXRNIC_MAX_READS && random() % 2;
    const bool takes = !emptied.empty() && random() % 2;
    if (takes && random() % 2) {
      emptied.front() = random();
      fifo.set(consumer, emptied.front());
    } else if (takes) {
      emptied.pop_front();
      fifo.pop(consumer);
    }
    if (pushes) {
      filled.push_back(random());
      fifo.push(producer, filled.back());
    }
    fifo.cycle();
    const unsigned qpn = random() % 4;
    REQUIRE(fifo.count_of(qpn, step % kReaders) == want[qpn].size());
    if (!want[qpn].empty()) REQUIRE(fifo.head_of(qpn, step % kReaders) == want[qpn].front());
  }
}

}  // namespace
}  // namespace exrnic::testing

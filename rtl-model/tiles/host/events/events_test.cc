// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "Vevents.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/neighbours.h"

namespace exrnic::testing {
namespace {

constexpr int kLimit = 10'000;  // cycles for anything here: for many that wait for room
constexpr uint64_t kRing = 0x7'0000'0000;
constexpr uint64_t kRingGap = 0x10'0000;
constexpr unsigned kVectorOfFirst = 3;
constexpr uint8_t kLog = 3;
constexpr uint32_t kEntries = 1u << kLog;

struct Entry {
  unsigned eqn;
  exrnic_eqe eqe;
};

class EventQueues : public Bench<Vevents> {
 public:
  explicit EventQueues(uint32_t seed = 1) : random_(seed) {
    Vevents& d = dut();
    d.quiesce_i = d.happened_host_silent_i = d.happened_firmware_failed_i = d.eq_we_i =
        d.forget_qp_i = d.renew_qp_i = d.forget_cq_i = d.forget_srq_i = d.bell_i = 0;
    d.happened_qp_error_i = d.happened_cq_error_i = d.happened_srq_limit_i = d.happened_last_wqe_i =
        d.happened_completion_i = d.happened_peer_dead_i = d.happened_sq_drained_i = 0;
    d.link_up_i = 1;
    d.write_ready_i = 1;
    reset();
  }

  std::vector<Entry> entries;     // as they were written
  std::map<unsigned, int> fired;  // by vector
  std::array<uint64_t, EXRNIC_COUNTERS> counters{};
  bool stalls = false;  // the way to host memory does not take everything at once

  void cycle() override {
    dut().write_ready_i = !stalls || random_() % 3 == 0;
    settle();
    for (unsigned i = 0; i < EXRNIC_COUNTERS; ++i) counters[i] += get_bit(dut().event_o, i);
    if (dut().write_valid_o && dut().write_ready_i)
      written(unpack<DmaWriteCmd>(dut().write_data_o));
    tick();
    settle();
  }
  void rest() {
    wait_for("quiescent_o", kLimit, [&] { return dut().quiescent_o != 0 && dut().idle_o != 0; });
  }

  void create(unsigned eqn, bool armed = true, uint8_t log = kLog) {
    EqConfig config;
    config.valid = true;
    config.log_entries = log;
    config.address = kRing + eqn * kRingGap;
    config.msix_vector = static_cast<uint8_t>(kVectorOfFirst + eqn);
    change(eqn, config);
    next_[eqn] = 0;
    if (armed) ring(eqn, 0, true);
  }
  void destroy(unsigned eqn) { change(eqn, {}); }
  void ring(unsigned eqn, uint32_t consumer, bool arm) {
    dut().bell_i = 1;
    dut().bell_eqn_i = eqn;
    dut().bell_consumer_i = consumer;
    dut().bell_arm_i = arm;
    cycle();
    dut().bell_i = 0;
  }
  template <typename Signal>
  void pulse(Signal& signal) {
    signal = 1;
    cycle();
    signal = 0;
  }
  void qp_error(unsigned qpn, exrnic_qp_cause cause) {
    dut().happened_qpn_i = qpn;
    dut().happened_cause_i = cause;
    pulse(dut().happened_qp_error_i);
  }
  void cq_error(unsigned cqn) {
    dut().happened_cqn_i = cqn;
    pulse(dut().happened_cq_error_i);
  }
  void completion(unsigned cqn, unsigned eqn) {
    dut().happened_completion_cqn_i = cqn;
    dut().happened_completion_eqn_i = eqn;
    pulse(dut().happened_completion_i);
  }
  uint32_t next(unsigned eqn) { return next_[eqn]; }

 private:
  void change(unsigned eqn, const EqConfig& config) {
    dut().quiesce_i = 1;
    wait_for("quiescent_o", kLimit, [&] { return dut().quiescent_o != 0; });
    dut().eq_we_i = 1;
    dut().eqn_i = eqn;
    pack(dut().eq_i, config);
    cycle();
    dut().eq_we_i = 0;
    dut().quiesce_i = 0;
    logs_[eqn] = config.log_entries;
  }
  void written(const DmaWriteCmd& write) {
    if (write.kind == kDmaWriteMsix) {
      ++fired[static_cast<unsigned>(write.address)];
      return;
    }
    REQUIRE(write.kind == kDmaWriteInline);
    REQUIRE(write.length == sizeof(exrnic_eqe));
    Entry entry;
    entry.eqn = static_cast<unsigned>((write.address - kRing) / kRingGap);
    std::memcpy(&entry.eqe, write.data.data(), sizeof entry.eqe);
    const uint32_t at = next_[entry.eqn]++;
    const uint32_t size = 1u << logs_[entry.eqn];
    CHECK(write.address == kRing + entry.eqn * kRingGap + at % size * sizeof(exrnic_eqe));
    CHECK(entry.eqe.phase == !(at / size % 2));
    entries.push_back(entry);
  }

  std::mt19937 random_;
  std::map<unsigned, uint32_t> next_;
  std::map<unsigned, uint8_t> logs_;
};

void check(const Entry& entry, exrnic_eqe_type type, exrnic_eqe_object object, uint32_t number,
           uint32_t detail = 0) {
  CHECK(entry.eqe.event_type == type);
  CHECK(entry.eqe.object == object);
  CHECK(entry.eqe.number == number);
  CHECK(entry.eqe.detail == detail);
}

TEST_CASE("What happens is told in the queue of all but completions, with its object and detail") {
  EventQueues events;
  events.stalls = true;
  events.create(EXRNIC_EQN_ASYNC);
  const auto told = [&](exrnic_eqe_type type, exrnic_eqe_object object, uint32_t number,
                        uint32_t detail = 0) {
    events.rest();
    REQUIRE(events.entries.size() == 1);
    check(events.entries[0], type, object, number, detail);
    CHECK(events.entries[0].eqe.flags == 0);
    CHECK(events.fired[kVectorOfFirst] == 1);
    events.entries.clear();
    events.fired.clear();
    events.ring(EXRNIC_EQN_ASYNC, events.next(EXRNIC_EQN_ASYNC), true);
  };
  events.qp_error(1000, EXRNIC_QP_CAUSE_REQUEST);
  told(EXRNIC_EQE_TYPE_QP_ERROR, EXRNIC_EQE_OBJECT_QP, 1000, EXRNIC_QP_CAUSE_REQUEST);
  events.cq_error(33);
  told(EXRNIC_EQE_TYPE_CQ_ERROR, EXRNIC_EQE_OBJECT_CQ, 33);
  events.dut().happened_srqn_i = 255;
  events.pulse(events.dut().happened_srq_limit_i);
  told(EXRNIC_EQE_TYPE_SRQ_LIMIT, EXRNIC_EQE_OBJECT_SRQ, 255);
  events.dut().happened_last_wqe_qpn_i = 1023;
  events.pulse(events.dut().happened_last_wqe_i);
  told(EXRNIC_EQE_TYPE_LAST_WQE, EXRNIC_EQE_OBJECT_QP, 1023);
  events.dut().happened_sq_drained_qpn_i = 513;
  events.pulse(events.dut().happened_sq_drained_i);
  told(EXRNIC_EQE_TYPE_SQ_DRAINED, EXRNIC_EQE_OBJECT_QP, 513);
  events.dut().happened_dead_node_i = 77;
  events.pulse(events.dut().happened_peer_dead_i);
  told(EXRNIC_EQE_TYPE_PEER_DEAD, EXRNIC_EQE_OBJECT_NODE, 77);
  events.dut().link_up_i = 0;
  events.cycle();
  told(EXRNIC_EQE_TYPE_LINK, EXRNIC_EQE_OBJECT_DEVICE, 0, 0);
  events.dut().link_up_i = 1;
  events.cycle();
  told(EXRNIC_EQE_TYPE_LINK, EXRNIC_EQE_OBJECT_DEVICE, 0, 1);
  events.pulse(events.dut().happened_host_silent_i);
  told(EXRNIC_EQE_TYPE_HOST_SILENT, EXRNIC_EQE_OBJECT_DEVICE, 0);
  events.pulse(events.dut().happened_firmware_failed_i);
  told(EXRNIC_EQE_TYPE_FIRMWARE, EXRNIC_EQE_OBJECT_DEVICE, 0);
}

TEST_CASE("An armed queue fires once; one that is armed behind an event fires at once") {
  EventQueues events;
  events.create(2, false);
  const unsigned vector = kVectorOfFirst + 2;
  events.completion(9, 2);
  events.rest();
  CHECK(events.fired[vector] == 0);
  events.ring(2, 0, true);  // it has not been taken
  events.rest();
  CHECK(events.fired[vector] == 1);
  events.completion(9, 2);
  events.rest();
  CHECK(events.fired[vector] == 1);
  events.ring(2, 2, true);
  events.rest();
  CHECK(events.fired[vector] == 1);
  events.completion(8, 2);
  events.rest();
  CHECK(events.fired[vector] == 2);
  REQUIRE(events.entries.size() == 3);
  check(events.entries[2], EXRNIC_EQE_TYPE_COMPLETION, EXRNIC_EQE_OBJECT_CQ, 8);
}

TEST_CASE("A doorbell in any cycle of an event misses no interrupt") {
  const int delay = GENERATE(Catch::Generators::range(0, 12));
  EventQueues events;
  events.create(1, false);
  events.completion(5, 1);
  for (int i = 0; i < delay; ++i) events.cycle();
  events.ring(1, 0, true);
  events.rest();
  CHECK(events.entries.size() == 1);
  CHECK(events.fired[kVectorOfFirst + 1] == 1);
}

TEST_CASE("A queue that is full keeps nobody else waiting, and loses nobody") {
  EventQueues events;
  events.create(EXRNIC_EQN_ASYNC);
  events.create(1);
  events.create(2);
  constexpr unsigned kMany = 40;
  for (unsigned cqn = 0; cqn < kMany; ++cqn) events.completion(cqn, 1);
  events.rest();
  CHECK(events.entries.size() == kEntries);
  CHECK(events.counters[EXRNIC_COUNTER_EVENTS_LATE] >= kMany - kEntries);
  // Others go on.
  events.completion(900, 2);
  events.cq_error(7);
  events.rest();
  REQUIRE(events.entries.size() == kEntries + 2);
  for (unsigned i = 0; i < kEntries + 2; ++i) CHECK(events.entries[i].eqe.flags == 0);
  std::set<uint32_t> numbers;
  while (events.next(1) < kMany) {
    events.ring(1, events.next(1), false);
    events.rest();
  }
  unsigned late = 0;
  for (const Entry& entry : events.entries) {
    if (entry.eqn != 1) continue;
    CHECK(numbers.insert(entry.eqe.number).second);
    late += entry.eqe.flags == EXRNIC_EQE_FLAGS_LATE;
  }
  CHECK(numbers.size() == kMany);
  CHECK(late == kMany / kEntries - 1);  // the first behind each time that it was full
}

TEST_CASE("A new queue has room for as many events as it has entries, before any doorbell") {
  EventQueues events;
  events.create(1);
  events.completion(1, 1);
  events.rest();
  events.ring(1, 1, false);
  events.create(1, false);  // anew
  for (unsigned cqn = 0; cqn <= kEntries; ++cqn) events.completion(cqn, 1);
  events.rest();
  CHECK(events.next(1) == kEntries);
  CHECK(events.entries.size() == 1 + kEntries);
}

TEST_CASE("What happens while the queue is full, or does not exist, waits for it") {
  EventQueues events;
  events.qp_error(3, EXRNIC_QP_CAUSE_PEER);
  events.qp_error(4, EXRNIC_QP_CAUSE_NO_ANSWER);
  events.qp_error(4, EXRNIC_QP_CAUSE_REQUEST);  // becomes one with that before
  events.rest();
  CHECK(events.entries.empty());
  events.create(EXRNIC_EQN_ASYNC);
  events.rest();
  REQUIRE(events.entries.size() == 2);
  check(events.entries[0], EXRNIC_EQE_TYPE_QP_ERROR, EXRNIC_EQE_OBJECT_QP, 3, EXRNIC_QP_CAUSE_PEER);
  check(events.entries[1], EXRNIC_EQE_TYPE_QP_ERROR, EXRNIC_EQE_OBJECT_QP, 4,
        EXRNIC_QP_CAUSE_REQUEST);
  for (unsigned qpn = 10; qpn < 30; ++qpn) events.qp_error(qpn, EXRNIC_QP_CAUSE_PEER);
  events.rest();
  CHECK(events.next(EXRNIC_EQN_ASYNC) == kEntries);
  events.destroy(EXRNIC_EQN_ASYNC);
  events.rest();
  CHECK(events.entries.size() == kEntries);
  events.create(EXRNIC_EQN_ASYNC, true, 6);
  events.rest();
  CHECK(events.entries.size() == 22);
}

TEST_CASE("Of an object that begins another life nothing is told, and of others all") {
  EventQueues events;
  events.qp_error(3, EXRNIC_QP_CAUSE_PEER);
  events.qp_error(4, EXRNIC_QP_CAUSE_PEER);
  events.cq_error(3);
  events.cq_error(4);
  events.completion(3, 1);
  events.completion(4, 1);
  events.dut().happened_srqn_i = 3;
  events.pulse(events.dut().happened_srq_limit_i);
  events.rest();
  events.dut().quiesce_i = 1;
  events.dut().forget_qpn_i = events.dut().forget_cqn_i = events.dut().forget_srqn_i = 3;
  events.pulse(events.dut().forget_qp_i);
  events.pulse(events.dut().forget_cq_i);
  events.pulse(events.dut().forget_srq_i);
  events.dut().quiesce_i = 0;
  events.create(1);
  events.create(EXRNIC_EQN_ASYNC);
  events.rest();
  REQUIRE(events.entries.size() == 3);
  for (const Entry& entry : events.entries) CHECK(entry.eqe.number == 4);
}

TEST_CASE("A doorbell that says more than was written, or takes back, is refused and counted") {
  EventQueues events;
  events.create(1);
  for (unsigned cqn = 0; cqn < 5; ++cqn) events.completion(cqn, 1);
  events.rest();
  events.ring(1, 3, false);
  CHECK(events.counters[EXRNIC_COUNTER_DOORBELLS_REFUSED] == 0);
  int refused = 0;
  for (const uint32_t garbage : {2u, 6u, ~0u, 0x80000000u, 3u + kEntries}) {
    events.ring(1, garbage, garbage % 2);
    CHECK(events.counters[EXRNIC_COUNTER_DOORBELLS_REFUSED] == static_cast<uint64_t>(++refused));
  }
  events.ring(7, 0, true);  // there is no such queue
  CHECK(events.counters[EXRNIC_COUNTER_DOORBELLS_REFUSED] == static_cast<uint64_t>(++refused));
  events.rest();
  CHECK(events.fired[kVectorOfFirst + 1] == 1);
  // Room is what it was.
  for (unsigned cqn = 0; cqn < 20; ++cqn) events.completion(cqn, 1);
  events.rest();
  CHECK(events.next(1) == 3 + kEntries);
}

TEST_CASE("While the core comes to rest no event is written; it comes behind that") {
  EventQueues events;
  events.create(1);
  events.dut().quiesce_i = 1;
  events.completion(5, 1);
  for (int i = 0; i < 50; ++i) events.cycle();
  CHECK(events.entries.empty());
  CHECK(events.dut().quiescent_o);
  CHECK_FALSE(events.dut().idle_o);
  events.dut().quiesce_i = 0;
  events.rest();
  CHECK(events.entries.size() == 1);
}

TEST_CASE("However often one object has something to tell, all others have their turn") {
  EventQueues events;
  events.create(EXRNIC_EQN_ASYNC, false);
  events.create(1, false);
  for (int i = 0; i < 30; ++i) events.cq_error(4);  // fills its queue
  for (const unsigned cqn : {3u, 5u, 36u, 1000u}) events.cq_error(cqn);
  events.qp_error(9, EXRNIC_QP_CAUSE_PEER);
  std::set<std::pair<uint8_t, uint32_t>> told;
  for (int round = 0; round < 12; ++round) {
    const size_t before = events.entries.size();
    events.ring(EXRNIC_EQN_ASYNC, events.next(EXRNIC_EQN_ASYNC) - kEntries + 1, false);
    events.cq_error(4);
    events.rest();
    REQUIRE(events.entries.size() == before + 1);
    told.insert({events.entries.back().eqe.event_type, events.entries.back().eqe.number});
  }
  CHECK(told.size() == 6);
}

TEST_CASE(
    "Random events, doorbells and rest: each is told, behind what it says, as often as needed") {
  const uint32_t seed = GENERATE(Catch::Generators::range(1u, 9u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  EventQueues events(seed);
  events.stalls = true;
  constexpr unsigned kQueues = 3;
  for (unsigned eqn = 0; eqn < kQueues; ++eqn) events.create(eqn, false);
  // What is to be told since it was told last, by queue, type and number.
  std::set<std::tuple<unsigned, unsigned, unsigned>> due;
  std::array<uint32_t, kQueues> taken{};
  size_t seen = 0;
  const auto look = [&] {
    for (; seen < events.entries.size(); ++seen) {
      const Entry& entry = events.entries[seen];
      due.erase({entry.eqn, entry.eqe.event_type, entry.eqe.number});
    }
  };
  for (int i = 0; i < 3000; ++i) {
    look();
    switch (random() % 8) {
      case 0: {
        const unsigned eqn = random() % kQueues;
        taken[eqn] += random() % (events.next(eqn) - taken[eqn] + 1);
        events.ring(eqn, taken[eqn], random() % 2);
        break;
      }
      case 1:
        events.dut().quiesce_i = random() % 4 == 0;
        events.cycle();
        break;
      case 2: {
        const unsigned cqn = random() % 64 * 16 % 1024;
        events.cq_error(cqn);
        due.insert({0, EXRNIC_EQE_TYPE_CQ_ERROR, cqn});
        break;
      }
      case 3: {
        const unsigned qpn = random() % 1024;
        events.qp_error(qpn, EXRNIC_QP_CAUSE_PEER);
        due.insert({0, EXRNIC_EQE_TYPE_QP_ERROR, qpn});
        break;
      }
      case 4: {
        const unsigned cqn = random() % 1024;
        events.completion(cqn, cqn % kQueues);
        due.insert({cqn % kQueues, EXRNIC_EQE_TYPE_COMPLETION, cqn});
        break;
      }
      default:
        for (unsigned wait = random() % 6; wait > 0; --wait) events.cycle();
    }
  }
  events.dut().quiesce_i = 0;
  for (int rounds = 0; rounds < 1000 && events.dut().idle_o == 0; ++rounds) events.cycle();
  for (int round = 0; round < 400; ++round) {
    for (unsigned eqn = 0; eqn < kQueues; ++eqn) events.ring(eqn, events.next(eqn), false);
    events.rest();
  }
  look();
  CHECK(due.empty());
}

}  // namespace
}  // namespace exrnic::testing

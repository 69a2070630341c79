// SPDX-License-Identifier: BSD-2-Clause
// Receives that are fetched before their messages come: nobody may see more of that than time.
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "rtl-model/tiles/work/responder/responder_bench.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kBatch = 8;  // slots that are fetched at a time

// A queue pair without receives yet.
struct Early : Responder {
  explicit Early(uint32_t seed = 1) : Responder(seed) { qps[kQpn] = receiving_qp(); }

  void post_some(unsigned receives) {
    for (unsigned i = 0; i < receives; ++i)
      post(*this, recv_wqe({{0x100000 + 0x1000 * uint64_t{posted++}, 100, 1}}));
  }
  void post_and_tell(unsigned receives) {
    post_some(receives);
    tell_posted(kQpn);
    rest();
  }
  void message(uint32_t number) {
    receive(send_segment(number, 0, 50));
    REQUIRE(ended.size() == number);
    CHECK(ended.back().status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(ended.back().wqe_index == static_cast<uint16_t>(number - 1));
    CHECK(writes.back().address == kPageFrames + 0x100000 + 0x1000 * uint64_t{number - 1});
  }

  unsigned posted = 0;
};

TEST_CASE("A receive is fetched when it is posted, and its message waits for no memory") {
  Early responder;
  responder.post_and_tell(1);
  CHECK(responder.memory.reads() == 1);
  responder.message(1);
  CHECK(responder.memory.reads() == 1);
}

// Cycles of a message without bytes, but those in which others are waited for.
long cycles_of(Early& responder, uint32_t number) {
  responder.begin(send_segment(number, 0, 0));
  long waits = 0;
  const long begun = responder.cycles();
  while (responder.ended.size() < number) {
    responder.cycle();
    waits += responder.waited();
    REQUIRE(responder.cycles() - begun < kLimit);
  }
  return responder.cycles() - begun - waits;
}

TEST_CASE("The receive after the one that was taken is known at once, if it is a plain one") {
  const bool plain = GENERATE(true, false);
  Early responder;
  responder.post_some(1);
  if (plain)
    responder.post_some(1);
  else
    post(responder, recv_wqe(std::vector<exrnic_sge>(2, exrnic_sge{0x40000, 10, 1})));
  responder.tell_posted(kQpn);
  responder.rest();
  const long first = cycles_of(responder, 1);
  responder.rest();
  const long second = cycles_of(responder, 2);
  CHECK((second + 5 == first) == plain);
}

TEST_CASE("Receives are fetched in batches, some of them before they are needed") {
  Early responder;
  constexpr unsigned kAhead = 4;  // batches
  responder.post_and_tell(6 * kBatch);
  CHECK(responder.memory.reads() == kAhead);
  CHECK(responder.memory.read.size() == kAhead * kBatch);
  for (uint32_t number = 1; number <= 6 * kBatch; ++number) {
    responder.message(number);
    CHECK(responder.memory.read.size() >=
          std::min<std::size_t>(number + (kAhead - 1) * kBatch, 6 * kBatch));
  }
  CHECK(responder.memory.reads() == 6);
}

TEST_CASE("A slot is not read before the doorbell that posts it") {
  const auto seed = GENERATE(range(1u, 9u));
  CAPTURE(seed);
  Early responder(seed);
  uint32_t number = 0;
  for (unsigned i = 1; i <= 12; ++i) {
    responder.post_and_tell(i % 4);
    responder.post_some(1);  // in the ring already, but nobody has told
    --responder.qps[kQpn].rq_producer;
    responder.rest();
    CHECK(responder.memory.read.size() <= responder.qps[kQpn].rq_producer);
    while (number < responder.qps[kQpn].rq_producer) responder.message(++number);
    --responder.posted;
  }
}

TEST_CASE("A ring that cannot be read ahead is an error of the message that needs it, no earlier") {
  Early responder;
  if (GENERATE(true, false)) {
    responder.memory.no_page = true;
  } else {
    responder.memory.refused.insert(kRqPbl);
  }
  responder.post_and_tell(3);
  CHECK(responder.ended.empty());
  CHECK(responder.refusals.empty());
  SECTION("and it stays so") {
    responder.receive(send_segment(1, 0, 50));
    REQUIRE(responder.ended.size() == 1);
    CHECK(responder.ended[0].status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
    CHECK(responder.refusal_code() == 0x0000);
    CHECK(responder.qps[kQpn].rq_consumer == 1);
  }
  SECTION("and it can be read then") {
    responder.memory.no_page = false;
    responder.memory.refused.clear();
    responder.message(1);
  }
}

TEST_CASE("Receives before a slot that cannot be read ahead are good") {
  Early responder;
  responder.memory.refused.insert(kRqPbl + kWqeBytes);
  responder.post_and_tell(3);
  responder.message(1);
  responder.receive(send_segment(2, 0, 50));
  REQUIRE(responder.ended.size() == 2);
  CHECK(responder.ended[1].status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
  CHECK(responder.ended[1].wqe_index == 1);
  CHECK(responder.qps[kQpn].rq_consumer == 2);
}

TEST_CASE("A receive of several slots, part of which is there, waits for the rest") {
  Early responder;
  responder.post_some(kBatch - 2);
  const std::vector<exrnic_sge> elements(16, exrnic_sge{0x40000, 10, 1});
  post(responder, recv_wqe(elements));  // five slots: two of them in the first batch
  responder.tell_posted(kQpn);
  responder.rest();
  for (uint32_t number = 1; number <= kBatch - 2; ++number) responder.message(number);
  responder.receive(send_segment(kBatch - 1, 0, 160));
  REQUIRE(responder.ended.size() == kBatch - 1);
  CHECK(responder.ended.back().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(responder.ended.back().wqe_index == kBatch + 2);
}

TEST_CASE("What was fetched ahead goes with its queue pair") {
  Early responder;
  responder.post_and_tell(2);
  responder.clear(kQpn + 16);  // another ring in the same place
  responder.message(1);
  responder.clear(kQpn);
  responder.qps[kQpn].rq_producer = responder.qps[kQpn].rq_consumer = 0;
  post(responder, recv_wqe({{0x70000, 100, 1}}));
  responder.receive(send_segment(1, 0, 50));
  CHECK(responder.writes.back().address == kPageFrames + 0x70000);
}

// A ring of another queue pair, or shared, with a batch of receives.
void tell_other(Early& responder, bool shared, unsigned number) {
  responder.tell({shared, static_cast<uint16_t>(number), kRqPbl + 0x10000 * uint64_t{number + 1}, 4,
                  0, kBatch});
  responder.rest();
}

TEST_CASE("Rings of numbers that are equal modulo anything do not take each other's place") {
  Early responder;
  responder.post_and_tell(kBatch);
  int reads = 1;
  for (const unsigned step : {16u, 32u, 64u, 128u, 256u}) {
    tell_other(responder, false, kQpn ^ step);
    CHECK(responder.memory.reads() == ++reads);
  }
  tell_other(responder, true, kQpn & 0xff);
  CHECK(responder.memory.reads() == ++reads);
  for (uint32_t number = 1; number <= kBatch; ++number) responder.message(number);
  CHECK(responder.memory.reads() == reads);
}

TEST_CASE("A ring for which there is no place gets one with its first message") {
  Early responder;
  constexpr int kRings = 32;
  for (int i = 1; i <= kRings; ++i) tell_other(responder, false, kQpn ^ static_cast<unsigned>(i));
  CHECK(responder.memory.reads() == kRings);
  responder.post_and_tell(kBatch);
  CHECK(responder.memory.reads() == kRings);  // none of the others gives way to a wish
  for (uint32_t number = 1; number <= kBatch; ++number) {
    responder.message(number);
    CHECK(responder.memory.reads() == kRings + 1);
  }
}

TEST_CASE("A doorbell that was late for its receives wastes a read and changes nothing") {
  Early responder;
  responder.post_some(2);
  const Qp early = responder.qps[kQpn];
  responder.message(1);
  responder.tell(
      {false, kQpn, early.cfg.rq_pbl, early.cfg.rq_log, early.rq_consumer, early.rq_producer});
  responder.rest();
  responder.message(2);
}

TEST_CASE("While the core is brought to rest nothing is fetched ahead, and wishes are forgotten") {
  Early responder;
  responder.post_some(2);
  responder.dut().quiesce_i = 1;
  responder.tell_posted(kQpn);
  responder.run(50);
  CHECK(responder.dut().quiescent_o);
  responder.dut().quiesce_i = 0;
  responder.run(50);
  CHECK(responder.memory.reads() == 0);
  responder.message(1);
  responder.message(2);
}

TEST_CASE("A responder that fetches is not at rest") {
  Early responder;
  responder.post_some(1);
  responder.tell_posted(kQpn);
  CHECK_FALSE(responder.dut().idle_o);
  responder.dut().quiesce_i = 1;
  responder.run(1);
  int cycles = 0;
  while (!responder.dut().quiescent_o) {
    responder.run(1);
    REQUIRE(++cycles < kLimit);
  }
  const int reads = responder.memory.reads();
  responder.run(200);
  CHECK(responder.memory.reads() == reads);
}

// ---- Many rings, more than there are places for

constexpr unsigned kRings = 24;
constexpr uint64_t kRingStride = 0x100000;

struct Crowd : Responder {
  explicit Crowd(uint32_t seed) : Responder(seed), random(seed) {
    for (unsigned i = 0; i < kRings; ++i) {
      Qp qp = receiving_qp();
      qp.cfg.rq_pbl = kRqPbl + i * kRingStride;
      qp.cfg.rq_log = 3 + i % 3;
      if (i % 6 == 5) {
        qp.cfg.has_srq = true;
        qp.cfg.srqn = i;
        srqs[i].cfg = {true, 0, kPd, qp.cfg.rq_log, qp.cfg.rq_pbl};
      }
      qps[i] = qp;
    }
  }

  // The place of a receive says whose and which one it is.
  static exrnic_sge place(unsigned ring, unsigned number) {
    return {0x10000000ull * (ring + 1) + 0x1000ull * number, 100, 1};
  }
  void post_to(unsigned i) {
    Qp& qp = qps[i];
    const bool shared = qp.cfg.has_srq;
    uint16_t& producer = shared ? srqs[i].producer : qp.rq_producer;
    const uint16_t consumer = shared ? srqs[i].consumer : qp.rq_consumer;
    std::vector<exrnic_sge> elements(1 + random() % 16, exrnic_sge{0, 0, 1});
    elements[0] = place(i, posted[i]);
    const auto words = recv_wqe(elements);
    const auto free = (1u << qp.cfg.rq_log) - static_cast<uint16_t>(producer - consumer);
    if (words.size() / 4 > free) return;
    post(memory, qp.cfg.rq_pbl, qp.cfg.rq_log, producer, words);
    ++posted[i];
    const SlotRing ring{shared,  static_cast<uint16_t>(i), qp.cfg.rq_pbl, qp.cfg.rq_log, consumer,
                        producer};
    if (random() % 4 != 0) tell(ring);
  }
  void send_to(unsigned i) {
    if (sent[i] == posted[i]) return;
    RxDesc desc = send_segment(sent[i] + 1, 0, 10);
    desc.dst_qpn = i;
    begin(desc);
    wait_for("the end of the message", kLimit, [&] { return !ended.empty(); });
    REQUIRE(ended.back().status == EXRNIC_CQE_STATUS_SUCCESS);
    REQUIRE(refusals.empty());
    REQUIRE(writes.back().address == kPageFrames + place(i, sent[i]).address);
    ++sent[i];
    ended.clear();
  }

  std::mt19937 random;
  unsigned posted[kRings] = {}, sent[kRings] = {};
};

TEST_CASE("A ring that cannot be read ahead does no harm to the message of another") {
  const auto delay = GENERATE(range(0, 40));
  CAPTURE(delay);
  Crowd responder(1);
  responder.memory.refused.insert(kRqPbl);  // the first slot of ring 0
  for (const unsigned ring : {0u, 1u}) {
    Qp& qp = responder.qps[ring];
    post(responder.memory, qp.cfg.rq_pbl, qp.cfg.rq_log, qp.rq_producer,
         recv_wqe({Crowd::place(ring, 0)}));
    ++responder.posted[ring];
  }
  const Qp& bad = responder.qps[0];
  responder.tell({false, 0, bad.cfg.rq_pbl, bad.cfg.rq_log, 0, bad.rq_producer});
  responder.run(delay);
  responder.send_to(1);
}

// A receive is posted; how a message to it has ended.
uint8_t status_of_message(Crowd& crowd, unsigned ring, uint32_t number) {
  RxDesc desc = send_segment(number, 0, 10);
  desc.dst_qpn = ring;
  crowd.ended.clear();
  crowd.begin(desc);
  crowd.wait_for("the end of the message", kLimit, [&] { return !crowd.ended.empty(); });
  return static_cast<uint8_t>(crowd.ended.back().status);
}
void post_quietly(Crowd& crowd, unsigned ring, unsigned number) {
  Qp& qp = crowd.qps[ring];
  post(crowd.memory, qp.cfg.rq_pbl, qp.cfg.rq_log, qp.rq_producer,
       recv_wqe({Crowd::place(ring, number)}));
}

TEST_CASE("The next receive of a ring, which cannot be read, does no harm to another ring") {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    for (int delay = 0; delay < 30; ++delay) {
      CAPTURE(seed, delay);
      Crowd crowd(seed);
      for (unsigned number = 0; number < 2; ++number) post_quietly(crowd, 0, number);
      crowd.memory.refused.insert(kRqPbl + kWqeBytes);  // the second slot of ring 0
      post_quietly(crowd, 1, 0);
      CHECK(status_of_message(crowd, 0, 1) == EXRNIC_CQE_STATUS_SUCCESS);
      crowd.run(delay);
      CHECK(status_of_message(crowd, 1, 1) == EXRNIC_CQE_STATUS_SUCCESS);
    }
  }
}

TEST_CASE("When the core may rest no receive is looked at, nor begins to be") {
  int rests = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    for (int delay = 0; delay < 60; ++delay) {
      CAPTURE(seed, delay);
      Crowd crowd(seed);
      for (unsigned number = 0; number < 2; ++number) post_quietly(crowd, 0, number);
      crowd.memory.refused.insert(kRqPbl + kWqeBytes);
      CHECK(status_of_message(crowd, 0, 1) == EXRNIC_CQE_STATUS_SUCCESS);
      crowd.run(delay);
      crowd.dut().quiesce_i = 1;
      crowd.settle();
      if (!crowd.dut().quiescent_o) continue;
      ++rests;
      const int reads = crowd.memory.reads();
      for (int i = 0; i < 60; ++i) {
        crowd.cycle();
        REQUIRE(crowd.dut().quiescent_o);
      }
      CHECK(crowd.memory.reads() == reads);
    }
  }
  CHECK(rests > 100);
}

TEST_CASE("Segments directly behind each other are each placed in their own receive") {
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    Crowd crowd(seed);
    constexpr unsigned kMessages = 7, kOf[] = {0, 1, 3};
    for (unsigned number = 0; number < kMessages; ++number)
      for (const unsigned ring : kOf) post_quietly(crowd, ring, number);
    std::vector<std::pair<unsigned, unsigned>> order;  // queue pair, and which message of it
    unsigned sent[kRings] = {};
    while (order.size() < kMessages * std::size(kOf)) {
      const unsigned ring =
          kOf[crowd.random() % 3 == 0 ? crowd.random() % 3 : order.size() / 5 % 3];
      if (sent[ring] == kMessages) {
        RxDesc write = write_segment(16);
        write.dst_qpn = ring;
        crowd.begin(write);
        for (const unsigned other : kOf)
          if (sent[other] < kMessages) {
            RxDesc desc = send_segment(++sent[other], 0, 10);
            desc.dst_qpn = other;
            crowd.begin(desc);
            order.emplace_back(other, sent[other] - 1);
          }
        continue;
      }
      RxDesc desc = send_segment(++sent[ring], 0, 10);
      desc.dst_qpn = ring;
      crowd.begin(desc);
      order.emplace_back(ring, sent[ring] - 1);
    }
    crowd.rest();
    REQUIRE(crowd.refusals.empty());
    REQUIRE(crowd.ended.size() == order.size());
    std::size_t placed = 0;
    for (const DmaWriteCmd& write : crowd.writes) {
      if (write.length != 10) continue;
      REQUIRE(placed < order.size());
      const auto [ring, number] = order[placed];
      CHECK(write.address == kPageFrames + Crowd::place(ring, number).address);
      CHECK(crowd.ended[placed].qpn == ring);
      CHECK(crowd.ended[placed].wqe_index == number);
      CHECK(crowd.ended[placed].status == EXRNIC_CQE_STATUS_SUCCESS);
      ++placed;
    }
    CHECK(placed == order.size());
  }
}

TEST_CASE("Each message finds the next receive of its ring, whatever was fetched ahead or lost") {
  const auto seed = GENERATE(range(1u, 13u));
  CAPTURE(seed);
  Crowd crowd(seed);
  for (int step = 0; step < 1500; ++step) {
    const unsigned ring =
        crowd.random() % 3 ? crowd.random() % 4 * 16 % kRings : crowd.random() % kRings;
    crowd.dut().quiesce_i = 0;
    switch (crowd.random() % 4) {
      case 0:
        crowd.dut().quiesce_i = 1;
        crowd.run(static_cast<int>(crowd.random() % 8));
        break;
      case 1:
        crowd.send_to(ring);
        break;
      default:
        crowd.post_to(ring);
        if (crowd.random() % 2) crowd.send_to(ring);
    }
  }
}

}  // namespace
}  // namespace exrnic::testing

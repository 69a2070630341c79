// SPDX-License-Identifier: BSD-2-Clause
// When an armed completion queue fires.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "rtl-model/tiles/work/completer/completer_bench.h"

namespace exrnic::testing {
namespace {

constexpr int kNs = 300;  // a delay that is long beside the completer's own steps

// Room for many completions; fires behind `count`, or `ns` after the first.
CqConfig moderated(uint16_t count, uint32_t ns) {
  CqConfig cq = small_cq();
  cq.log_entries = 8;
  cq.moderation_count = count;
  cq.moderation_ns = ns;
  return cq;
}
void connect_moderated(Completer& completer, uint16_t count, uint32_t ns) {
  connect(completer);
  completer.create_cq(kCqn, moderated(count, ns));
  completer.create_cq(kRecvCqn, moderated(count, ns));
}
CqDoorbell recv_bell(uint32_t consumer, bool solicited = false) {
  return {kRecvCqn, consumer, true, solicited, kPage};
}
RxDone message(uint8_t flags, exrnic_cqe_status status = EXRNIC_CQE_STATUS_SUCCESS) {
  RxDone done;
  done.qpn = kQpn;
  done.generation = kGeneration;
  done.signaled = true;
  done.opcode = EXRNIC_WQE_OPCODE_RECV;
  done.status = status;
  done.flags = flags;
  return done;
}

TEST_CASE("A queue that is armed for solicited completions fires for one, and for a failure") {
  Completer completer;
  connect(completer);
  completer.ring(recv_bell(0, true));
  completer.end(message(0));
  completer.end(message(EXRNIC_CQE_FLAGS_IMM));
  CHECK(completer.interrupts() == 0);
  SECTION("solicited") { completer.end(message(EXRNIC_CQE_FLAGS_SOLICITED)); }
  SECTION("failed") { completer.end(message(0, EXRNIC_CQE_STATUS_LOC_LEN_ERR)); }
  CHECK(completer.interrupts() == 1);
  CHECK(completer.writes.back().kind == kDmaWriteMsix);
  completer.end(message(EXRNIC_CQE_FLAGS_SOLICITED));
  CHECK(completer.interrupts() == 1);
}

TEST_CASE("A queue that has an event queue is told there when it fires, and fires no vector") {
  Completer completer;
  connect(completer);
  CqConfig cq = small_cq();
  cq.has_eq = true;
  cq.eqn = 19;
  completer.create_cq(kCqn, cq);
  completer.ring(bell(0, true));
  completer.end(done(0));
  CHECK(completer.told == std::vector<std::pair<unsigned, unsigned>>{{kCqn, 19}});
  completer.end(done(1));
  CHECK(completer.told.size() == 1);  // it is not armed
  completer.ring(bell(1, true));      // one is pending
  CHECK(completer.told.size() == 2);
  CHECK(completer.interrupts() == 0);
  CHECK(completer.writes.size() == 2);
}

TEST_CASE("Arming for solicited completions while any is pending fires at once") {
  Completer completer;
  connect(completer);
  completer.end(message(0));
  completer.ring(recv_bell(0, true));
  CHECK(completer.interrupts() == 1);
  completer.end(message(EXRNIC_CQE_FLAGS_SOLICITED));
  CHECK(completer.interrupts() == 1);
}

TEST_CASE(
    "A queue armed for any completion stays so, whoever arms it for solicited ones behind that") {
  Completer completer;
  connect(completer);
  completer.ring(recv_bell(0, true));
  completer.end(message(0));
  CHECK(completer.interrupts() == 0);
  completer.ring(recv_bell(1, false));
  completer.ring(recv_bell(1, true));
  completer.end(message(0));
  CHECK(completer.interrupts() == 1);
  completer.ring(recv_bell(2, true));
  completer.end(message(0));
  CHECK(completer.interrupts() == 1);
}

TEST_CASE("A moderated queue fires behind as many completions as it was told") {
  Completer completer;
  connect_moderated(completer, 3, 1 << 23);
  completer.ring(bell(0, true));
  completer.end(done(0));
  completer.end(done(1));
  CHECK(completer.interrupts() == 0);
  CHECK_FALSE(completer.dut().idle_o);
  completer.end(done(2));
  CHECK(completer.interrupts() == 1);
  CHECK(completer.writes.back().kind == kDmaWriteMsix);
  for (uint16_t i = 3; i < 9; ++i) completer.end(done(i));
  CHECK(completer.interrupts() == 1);  // not armed
  completer.wait_for("idle_o", 10, [&] { return completer.dut().idle_o != 0; });
}

TEST_CASE("A count without a time, and a count of none, do not moderate") {
  Completer completer;
  SECTION("no time") { connect_moderated(completer, 100, 0); }
  SECTION("no count") { connect_moderated(completer, 0, kNs); }
  SECTION("a count of one") { connect_moderated(completer, 1, kNs); }
  completer.ring(bell(0, true));
  completer.end(done(0));
  CHECK(completer.interrupts() == 1);
}

TEST_CASE("If fewer completions come, the queue fires that long after the first, once") {
  Completer completer;
  connect_moderated(completer, 10, kNs);
  completer.ring(bell(0, true));
  completer.pass(2 * kNs);  // time before the first one does not count
  CHECK(completer.dut().idle_o);
  completer.end(done(0));
  completer.pass(kNs / 2);
  completer.end(done(1));
  completer.pass(kNs / 2 - 20);
  CHECK(completer.interrupts() == 0);
  CHECK_FALSE(completer.dut().idle_o);
  CHECK(completer.dut().quiescent_o);
  completer.pass(40);
  CHECK(completer.interrupts() == 1);
  CHECK(completer.writes.back().address == kVector);
  CHECK(completer.dut().idle_o);
  completer.end(done(2));
  completer.pass(2 * kNs);
  CHECK(completer.interrupts() == 1);
}

TEST_CASE("The delay is measured across the wrap of the timer's bits") {
  Completer completer;
  completer.dut().time_i = 0x4fffffff0;
  connect_moderated(completer, 10, kNs);
  completer.ring(bell(0, true));
  completer.end(done(0));
  completer.pass(kNs - 20);
  CHECK(completer.interrupts() == 0);
  completer.pass(40);
  CHECK(completer.interrupts() == 1);
}

TEST_CASE("Only completions that the queue is armed for start its time, and count") {
  Completer completer;
  connect_moderated(completer, 2, kNs);
  completer.ring(recv_bell(0, true));
  for (int i = 0; i < 3; ++i) completer.end(message(0));
  completer.pass(2 * kNs);
  CHECK(completer.interrupts() == 0);
  CHECK(completer.dut().idle_o);
  completer.end(message(EXRNIC_CQE_FLAGS_SOLICITED));
  completer.end(message(0));
  CHECK(completer.interrupts() == 0);
  completer.end(message(0, EXRNIC_CQE_STATUS_WR_FLUSH_ERR));
  CHECK(completer.interrupts() == 1);
}

TEST_CASE("Arming while entries are pending is not moderated, and ends the time that runs") {
  Completer completer;
  connect_moderated(completer, 10, kNs);
  completer.ring(bell(0, true));
  completer.end(done(0));
  completer.ring(bell(0, true));
  CHECK(completer.interrupts() == 1);
  completer.pass(2 * kNs);
  CHECK(completer.interrupts() == 1);
}

TEST_CASE("Who has taken all and arms anew starts a new count and a new time") {
  Completer completer;
  connect_moderated(completer, 3, kNs);
  completer.ring(bell(0, true));
  completer.end(done(0));
  completer.end(done(1));
  completer.pass(kNs / 2);
  completer.ring(bell(2, true));
  completer.end(done(2));
  completer.end(done(3));
  CHECK(completer.interrupts() == 0);
  completer.pass(kNs * 3 / 4);  // the first time would be over
  CHECK(completer.interrupts() == 0);
  completer.pass(kNs / 2);
  CHECK(completer.interrupts() == 1);
}

TEST_CASE("A doorbell that does not arm leaves count and time alone") {
  Completer completer;
  connect_moderated(completer, 3, kNs);
  completer.ring(bell(0, true));
  completer.end(done(0));
  completer.ring(bell(1));
  completer.pass(kNs + 20);
  CHECK(completer.interrupts() == 1);
}

TEST_CASE("A queue that is destroyed or created anew while its time runs does not fire") {
  Completer completer;
  connect_moderated(completer, 10, kNs);
  completer.ring(bell(0, true));
  completer.end(done(0));
  completer.create_cq(kCqn, moderated(10, kNs));
  completer.pass(2 * kNs);
  CHECK(completer.interrupts() == 0);
  CHECK(completer.dut().idle_o);
  completer.ring(bell(0, true));
  completer.end(done(1));
  completer.pass(kNs + 20);
  CHECK(completer.interrupts() == 1);
}

TEST_CASE("A new ring leaves a queue armed, with its count and its time") {
  Completer completer;
  connect_moderated(completer, 3, kNs);
  CqConfig cq = moderated(3, kNs);
  cq.log_entries = 5;
  completer.ring(bell(0, true));
  completer.resize_cq(kCqn, cq);
  completer.end(done(0));
  completer.pass(kNs / 2);
  cq.log_entries = 3;
  completer.resize_cq(kCqn, cq);
  completer.end(done(1));
  CHECK(completer.interrupts() == 0);
  SECTION("its time") { completer.pass(kNs / 2 + 20); }
  SECTION("its count") { completer.end(done(2)); }
  CHECK(completer.interrupts() == 1);
}

TEST_CASE("A quiesced completer does not fire late queues, and does so afterwards") {
  Completer completer;
  connect_moderated(completer, 10, kNs);
  completer.ring(bell(0, true));
  completer.end(done(0));
  completer.dut().quiesce_i = 1;
  completer.pass(2 * kNs);
  CHECK(completer.dut().quiescent_o);
  CHECK(completer.interrupts() == 0);
  completer.dut().quiesce_i = 0;
  completer.pass(20);
  CHECK(completer.interrupts() == 1);
}

// Random work on many queues with times of their own, and what each has to do.
class RandomQueues {
 public:
  explicit RandomQueues(uint32_t seed) : random_(seed), completer_(seed) {
    connect(completer_);
    for (unsigned i = 0; i < queues_.size(); ++i) {
      CqConfig& config = queues_[i].config;
      config = moderated(static_cast<uint16_t>(random_() % 6), random_() % 3 * 300);
      config.log_entries = EXRNIC_CQ_LOG_MAX;
      config.msix_vector = static_cast<uint8_t>(i);
      completer_.create_cq(kFirst + i, config);
    }
  }

  void step() {
    completer_.pass(static_cast<int>(random_() % 20));
    observe();
    const auto number = static_cast<unsigned>(random_() % queues_.size());
    Queue& queue = queues_[number];
    // One whose time is over may fire at any moment: let it.
    for (int i = 0; queue.late(now()) && i < kSlack; ++i) {
      completer_.pass(1);
      observe();
    }
    if (random_() % 4 == 0)
      ring(number);
    else
      complete(number);
    observe();
    for (const Queue& other : queues_) REQUIRE_FALSE(other.late(now() - kSlack));
  }

  int at_once = 0;  // fired behind a doorbell or a completion
  int late = 0;     // when their time was over

 private:
  static constexpr unsigned kFirst = 100;
  static constexpr int kSlack = 400;  // ns: a round through all times, and the writes before

  struct Queue {
    CqConfig config;
    uint32_t producer = 0;
    uint32_t consumer = 0;
    bool armed = false;
    bool solicited = false;
    unsigned count = 0;
    uint64_t deadline = 0;
    bool fires = false;  // now

    bool late(uint64_t now) const { return count != 0 && now >= deadline; }
  };

  uint64_t now() { return completer_.dut().time_i; }

  void ring(unsigned number) {
    Queue& queue = queues_[number];
    const uint32_t told = queue.producer == 0 ? 0 : random_() % 2;
    const uint32_t pending = std::min(told, queue.producer - queue.consumer);  // none comes back
    queue.consumer = queue.producer - pending;
    const bool solicited = random_() % 2;
    queue.solicited = solicited && !(queue.armed && !queue.solicited);
    queue.armed = pending == 0;
    queue.count = 0;
    queue.fires = pending != 0;
    completer_.ring({kFirst + number, queue.producer - told, true, solicited, kPage});
  }

  void complete(unsigned number) {
    Queue& queue = queues_[number];
    const bool failed = random_() % 8 == 0;
    const bool solicited = random_() % 2;
    ++queue.producer;
    if (queue.armed && (!queue.solicited || solicited || failed)) {
      if (queue.count++ == 0) queue.deadline = now() + queue.config.moderation_ns;
      queue.fires = queue.config.moderation_ns == 0 || queue.count >= queue.config.moderation_count;
      if (queue.fires) queue.armed = false, queue.count = 0;
    }
    completer_.qps[kQpn].cfg.recv_cqn = static_cast<uint16_t>(kFirst + number);
    completer_.end(message(solicited ? EXRNIC_CQE_FLAGS_SOLICITED : 0,
                           failed ? EXRNIC_CQE_STATUS_LOC_LEN_ERR : EXRNIC_CQE_STATUS_SUCCESS));
  }

  void observe() {
    for (const DmaWriteCmd& write : completer_.writes) {
      if (write.kind != kDmaWriteMsix) continue;
      Queue& queue = queues_.at(write.address);
      CAPTURE(write.address, now(), queue.count, queue.deadline);
      REQUIRE((queue.fires || queue.late(now())));
      ++(queue.fires ? at_once : late);
      if (!queue.fires) queue.armed = false, queue.count = 0;
      queue.fires = false;
    }
    completer_.writes.clear();
    for (const Queue& queue : queues_) REQUIRE_FALSE(queue.fires);
  }

  std::mt19937 random_;
  Completer completer_;
  std::array<Queue, EXRNIC_MSIX_VECTORS> queues_;
};

TEST_CASE("Random completions and doorbells on many queues fire as the specification says") {
  constexpr uint32_t kSeed = 20261120;
  constexpr int kSteps = 20000;
  INFO("seed " << kSeed);
  RandomQueues queues(kSeed);
  for (int i = 0; i < kSteps; ++i) queues.step();
  CHECK(queues.at_once > kSteps / 20);
  CHECK(queues.late > kSteps / 100);
}

}  // namespace
}  // namespace exrnic::testing

// SPDX-License-Identifier: BSD-2-Clause
// The time-out and the retry count of a queue pair: it ends when nothing was heard of its work for
// so long, and nobody else does.
#include <catch2/generators/catch_generators.hpp>
#include <map>
#include <utility>
#include <vector>

#include "tests/support/exchange.h"
#include "tests/support/ntb.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kBytes = 3000;
constexpr uint64_t kTick = uint64_t{1} << EXRNIC_QP_TICK_SHIFT;
constexpr uint64_t kSlackNs = 100'000;  // from there to the last completion

// Two pairs of queue pairs between two nodes; the sessions of the nodes give up late.
struct Timed : Exchange {
  static constexpr uint32_t kLeft = 30, kRight = 40;

  Timed() : Exchange(100'000) {
    other = left.rnic.create_qp(kLeft, End::kPage, End::kPd, left.cq);
    peer = right.rnic.create_qp(kRight, End::kPage, End::kPd, right.cq);
    connect_others();
    std::mt19937_64 random(5);
    data = random_bytes(random, kBytes);
    left.rnic.write(left.near, 0, data);
    for (End* end : {&left, &right}) {
      end->rnic.write_register(EXRNIC_REG_RETRY_LIMIT, EXRNIC_RETRY_LIMIT_MAX);
      end->rnic.write_register(EXRNIC_REG_RTO_CYCLES, 16384);
    }
    rest();
    // They have met, and know of no receives.
    left.rnic.post(other, push(60'000));
    left.post(push(60'000));
    for (int i = 0; i < 2; ++i) REQUIRE(left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    rest();
  }

  void connect_others() {
    left.rnic.connect(other, 1, kRight);
    right.rnic.connect(peer, 0, kLeft);
  }
  Elements near(uint32_t length = kBytes) const { return {element(left.near, 0, length)}; }
  Work push(uint64_t offset) const { return push_of(near(), offset); }
  Bytes at_right(uint64_t offset) { return right.rnic.read(right.far, offset, kBytes); }

  void set(End& end, uint8_t timeout, uint8_t retries) {
    exrnic_mbox_modify_qp change{};
    change.qpn = end.qp.qpn;
    change.state = EXRNIC_QP_STATE_RTS;
    change.attributes = EXRNIC_QP_ATTRIBUTES_TIMEOUT | EXRNIC_QP_ATTRIBUTES_RETRY_COUNT;
    change.timeout = timeout;
    change.retry_count = retries;
    REQUIRE(end.rnic.modify(change) == EXRNIC_MBOX_STATUS_OK);
  }
  void set(uint8_t timeout, uint8_t retries) { set(left, timeout, retries); }
  static uint64_t interval(unsigned timeout) {
    return std::max(kTick, uint64_t{1} << (EXRNIC_QP_TIMEOUT_SHIFT + timeout));
  }

  void set_link(bool up) { testbed.fabric().set_up(testbed.fabric().topology().links.at(0), up); }

  // All `count` work requests of the queue pair end, the first with RETRY_EXC_ERR, in their order.
  void expect_ends(unsigned timeout, unsigned retries, unsigned count, uint16_t first = 1) {
    const uint64_t begin = testbed.now_ns();
    for (unsigned i = 0; i < count; ++i) {
      const exrnic_cqe cqe = left.wait(1'000'000'000);
      CHECK(cqe.qpn == kLeftQpn);
      CHECK(int{cqe.status} ==
            (i == 0 ? EXRNIC_CQE_STATUS_RETRY_EXC_ERR : EXRNIC_CQE_STATUS_WR_FLUSH_ERR));
      CHECK(cqe.wqe_index == first + i);
      if (i != 0) continue;
      CHECK(testbed.now_ns() - begin >= (retries + 1) * interval(timeout) - kTick);
      CHECK(testbed.now_ns() - begin <= (retries + 2) * interval(timeout) + kSlackNs);
    }
    CHECK(left.state() == EXRNIC_QP_STATE_ERROR);
    CHECK(left.rnic.counter(EXRNIC_COUNTER_QP_TIMEOUTS) == 1);
    CHECK(left.rnic.counter(EXRNIC_COUNTER_PEERS_DEAD) == 0);
  }
  void expect_nothing_ended() {
    CHECK_FALSE(left.rnic.poll(left.cq, End::kPage).has_value());
    CHECK(left.rnic.counter(EXRNIC_COUNTER_QP_TIMEOUTS) == 0);
    CHECK(left.state() == EXRNIC_QP_STATE_RTS);
  }

  // Their generations are others than before.
  void begin_anew() {
    for (End* end : {&left, &right}) {
      REQUIRE(end->rnic.modify(end->qp.qpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
      end->qp.sq.index = end->qp.rq.index = 0;
    }
    connect();
  }
  void expect_works(uint64_t offset) {
    right.receive({element(right.far, offset, kBytes)});
    left.post(send_of(near()));
    CHECK(int{left.wait(100'000'000).status} == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(int{right.wait_receive(100'000'000).status} == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(difference(at_right(offset), data) == "");
  }

  QueuePair other;
  QueuePair peer;
  Bytes data;
};

TEST_CASE(
    "behind a cut link a queue pair ends when its time is over; another one goes on when it is "
    "mended") {
  const auto [timeout, retries] = GENERATE(std::pair{1u, 0u}, std::pair{3u, 1u}, std::pair{1u, 7u});
  Timed e;
  e.set(static_cast<uint8_t>(timeout), static_cast<uint8_t>(retries));
  e.set_link(false);
  for (uint64_t i = 0; i < 3; ++i) e.left.post(e.push(0));
  for (uint64_t i = 0; i < 2; ++i) e.left.rnic.post(e.other, e.push(4000 + 4000 * i));
  e.expect_ends(timeout, retries, 3);
  CHECK_FALSE(e.left.rnic.poll(e.left.cq, End::kPage).has_value());
  e.set_link(true);
  for (uint16_t i = 0; i < 2; ++i) {
    const exrnic_cqe cqe = e.left.wait();
    CHECK(cqe.qpn == Timed::kLeft);
    CHECK(cqe.wqe_index == 1 + i);
    CHECK(int{cqe.status} == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(difference(e.at_right(4000 + 4000 * i), e.data) == "");
  }
  e.rest();
  CHECK_FALSE(e.left.rnic.poll(e.left.cq, End::kPage).has_value());
  CHECK(e.left.rnic.query(Timed::kLeft).state == EXRNIC_QP_STATE_RTS);
}

TEST_CASE("nothing that waits in front of the network leaves when its queue pair has ended") {
  constexpr unsigned kMany = 40;
  Timed e;
  e.set(2, 0);
  e.set_link(false);
  for (uint64_t i = 0; i < kMany; ++i) e.left.post(push_of(e.near(1000), 1000 * i));
  e.expect_ends(2, 0, kMany);
  e.set_link(true);
  e.rest();
  // What had left comes: a beginning of all, without a gap.
  unsigned placed = 0;
  for (uint64_t i = 0; i < kMany; ++i) {
    const bool is_there = e.right.rnic.read(e.right.far, 1000 * i, 1000) ==
                          Bytes(e.data.begin(), e.data.begin() + 1000);
    if (is_there) CHECK(placed == i);
    placed += is_there;
  }
  CHECK(placed < kMany);
}

// Its segments wait in front of the network, with those of another queue pair between them. When
// the turn of the last one comes it is of a life that is over, and that the peer still knows.
TEST_CASE("nor does what waits still when its queue pair is reset or destroyed meanwhile") {
  constexpr unsigned kBefore = 4;
  constexpr uint32_t kLong = 16'000, kTo = 30'000;
  const bool destroys = GENERATE(false, true);
  Timed e;
  e.set(4, 1);
  e.right.receive({element(e.right.far, 90'000, kBytes)});
  e.left.rnic.write(e.left.near, kLong - 8, Bytes(8, 0x77));
  // Behind so many time-outs of the session one frame leaves at a time.
  e.set_link(false);
  e.left.rnic.post(e.other, e.push(60'000));
  e.testbed.run_for(500'000);
  e.set_link(true);
  CHECK(int{e.left.wait().status} == EXRNIC_CQE_STATUS_SUCCESS);
  e.rest();
  e.set_link(false);
  for (uint64_t i = 0; i < kBefore; ++i) e.left.post(push_of(e.near(1000), 1000 * i));
  e.testbed.run_for(5'000);
  e.left.rnic.post(e.other, push_of({element(e.left.near, 0, kLong)}, kTo));
  e.testbed.run_for(10'000);
  e.left.post(send_of(e.near(1000)));
  e.expect_ends(4, 1, kBefore + 1);
  // The other one has begun to leave, and goes on behind the command.
  const auto there = [&](uint64_t offset) {
    return e.right.rnic.read(e.right.far, kTo + offset, 8) != Bytes(8);
  };
  e.set_link(true);
  REQUIRE(e.testbed.run_until([&] { return there(0); }, 2'000'000) == RunResult::kDone);
  e.set_link(false);
  if (destroys) {
    e.left.rnic.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{Timed::kLeftQpn});
  } else {
    REQUIRE(e.left.rnic.modify(Timed::kLeftQpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
  }
  REQUIRE_FALSE(there(kLong - 8));
  e.set_link(true);
  CHECK(int{e.left.wait().status} == EXRNIC_CQE_STATUS_SUCCESS);  // of the other one
  e.rest();
  CHECK(there(kLong - 8));
  CHECK_FALSE(e.right.rnic.poll(e.right.recv_cq, End::kPage).has_value());
  CHECK(difference(e.right.rnic.read(e.right.far, 90'000, 1000), Bytes(1000)) == "");
}

TEST_CASE("behind a reset that follows at once, nothing of the life that ended is placed") {
  const bool sends = GENERATE(false, true);
  Timed e;
  e.set(2, 1);
  if (sends) e.right.receive({element(e.right.far, 0, kBytes)});
  e.set_link(false);
  for (uint64_t i = 0; i < 3; ++i) e.left.post(sends ? send_of(e.near()) : e.push(4000 * i));
  e.expect_ends(2, 1, 3);
  e.begin_anew();
  e.set_link(true);
  e.expect_works(12'000);
  e.rest();
  for (uint64_t i = 0; i < 3; ++i) CHECK(difference(e.at_right(4000 * i), Bytes(kBytes)) == "");
  CHECK(e.left.state() == EXRNIC_QP_STATE_RTS);
  CHECK(e.right.state() == EXRNIC_QP_STATE_RTS);
  e.expect_nothing_refused();
}

TEST_CASE("a new life of one side alone, before the link is mended, works as well") {
  Timed e;
  e.set(2, 1);
  e.set_link(false);
  for (uint64_t i = 0; i < 3; ++i) e.left.post(e.push(4000 * i));
  e.expect_ends(2, 1, 3);
  REQUIRE(e.left.rnic.modify(Timed::kLeftQpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
  e.left.qp.sq.index = e.left.qp.rq.index = 0;
  e.left.rnic.connect(e.left.qp, 1, Timed::kRightQpn);
  e.set(2, 7);
  e.set_link(true);
  e.left.post(e.push(12'000));
  CHECK(int{e.left.wait(100'000'000).status} == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(difference(e.at_right(12'000), e.data) == "");
  e.rest();
}

TEST_CASE("nothing ends while acknowledgements come, however long it takes") {
  Timed e;
  e.set(1, 0);
  SECTION("of one work request after the other") {
    for (uint16_t i = 0; i < 30; ++i) {
      e.left.post(e.push(0));
      e.testbed.run_for(kTick / 3);
    }
    for (uint16_t i = 0; i < 30; ++i) {
      const exrnic_cqe cqe = e.left.wait();
      CHECK(cqe.wqe_index == static_cast<uint16_t>(1 + i));
      CHECK(int{cqe.status} == EXRNIC_CQE_STATUS_SUCCESS);
    }
  }
  SECTION("of parts of one") {
    // 90,000 bytes from a narrow place: several intervals.
    for (int i = 0; i < 4; ++i) e.left.post(push_of({element(e.left.near, 0, 90'000)}, 0));
    for (int i = 0; i < 4; ++i) CHECK(int{e.left.wait().status} == EXRNIC_CQE_STATUS_SUCCESS);
  }
  SECTION("of PULLs") {
    for (int i = 0; i < 4; ++i) e.left.post(pull_of({element(e.left.near, 0, 90'000)}, 0));
    for (int i = 0; i < 4; ++i) CHECK(int{e.left.wait().status} == EXRNIC_CQE_STATUS_SUCCESS);
  }
  e.expect_nothing_ended();
}

TEST_CASE("a queue pair without work under way waits for nothing, whatever becomes of the link") {
  Timed e;
  e.set(1, 0);
  e.left.post(e.push(0));
  CHECK(int{e.left.wait().status} == EXRNIC_CQE_STATUS_SUCCESS);
  e.set_link(false);
  e.testbed.run_for(20 * kTick);
  e.expect_nothing_ended();
}

TEST_CASE("without a time-out nothing ends before the peer is given up") {
  Timed e;
  e.set(0, 7);
  e.set_link(false);
  e.left.post(e.push(0));
  e.testbed.run_for(500'000);
  e.expect_nothing_ended();
  e.set_link(true);
  CHECK(int{e.left.wait().status} == EXRNIC_CQE_STATUS_SUCCESS);
}

TEST_CASE("the device gives its peer up as ever, if that is sooner") {
  Timed e;
  e.set(12, 7);
  e.left.rnic.write_register(EXRNIC_REG_RTO_CYCLES, EXRNIC_RTO_CYCLES_MIN);
  e.left.rnic.write_register(EXRNIC_REG_RETRY_LIMIT, 1);
  e.set_link(false);
  e.left.post(e.push(0));
  CHECK(int{e.left.wait().status} == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  CHECK(e.left.rnic.counter(EXRNIC_COUNTER_QP_TIMEOUTS) == 0);
  CHECK(e.left.rnic.counter(EXRNIC_COUNTER_PEERS_DEAD) == 1);
}

TEST_CASE("the pauses of a message that finds no receive do not count") {
  Timed e;
  constexpr uint8_t kCode = 6;  // 80 us
  for (End* end : {&e.left, &e.right}) {
    exrnic_mbox_modify_qp change{};
    change.qpn = end->qp.qpn;
    change.state = EXRNIC_QP_STATE_RTS;
    change.attributes = EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER | EXRNIC_QP_ATTRIBUTES_RNR_RETRY;
    change.min_rnr_timer = kCode;
    change.rnr_retry = EXRNIC_RNR_RETRY_ENDLESS;
    REQUIRE(end->rnic.modify(change) == EXRNIC_MBOX_STATUS_OK);
  }
  e.set(1, 0);
  e.left.post(send_of(e.near()));
  e.left.post(e.push(4000));
  e.testbed.run_for(400'000);
  CHECK(e.left.rnic.counter(EXRNIC_COUNTER_RNR_NAK_RX) > 2);
  e.expect_nothing_ended();
  e.right.receive({element(e.right.far, 0, kBytes)});
  for (int i = 0; i < 2; ++i) CHECK(int{e.left.wait().status} == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(difference(e.at_right(0), e.data) == "");
  SECTION("nor does waiting for credits") {
    e.left.post(send_of(e.near()));
    e.testbed.run_for(500'000);
    CHECK(e.left.rnic.counter(EXRNIC_COUNTER_CREDIT_STALLS) > 0);
    e.expect_nothing_ended();
    e.right.receive({element(e.right.far, 8000, kBytes)});
    CHECK(int{e.left.wait().status} == EXRNIC_CQE_STATUS_SUCCESS);
  }
}

TEST_CASE("in SQD what has begun ends when its time is over") {
  Timed e;
  e.set(3, 1);
  e.set_link(false);
  e.left.post(e.push(0));
  e.testbed.run_for(5'000);
  REQUIRE(e.left.rnic.modify(Timed::kLeftQpn, EXRNIC_QP_STATE_SQD) == EXRNIC_MBOX_STATUS_OK);
  e.expect_ends(3, 1, 1);
}

TEST_CASE(
    "a PULL has its time-out, whatever was stored to windows before and is acknowledged then") {
  constexpr uint8_t kTimeout = 5;
  Timed e;
  e.set(kTimeout, 0);
  RemoteWindow window(e.left.rnic, 3);
  REQUIRE(window.set(Timed::kLeftQpn, kFarStag, kFarBase, 20'000, kStore) == EXRNIC_MBOX_STATUS_OK);
  for (const uint64_t page : e.right.far.memory.pages)
    e.right.rnic.host().slow_reads(page, 4096, 5'000'000);
  e.set_link(false);
  window.store(8000, 8, 0x1234);
  e.testbed.run_for(2'000);
  REQUIRE(window.close() == EXRNIC_MBOX_STATUS_OK);
  e.left.post(pull_of(e.near(), 0));
  e.testbed.run_for(5'000);
  e.set_link(true);
  CHECK(int{e.left.wait(1'000'000).status} == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  CHECK(e.right.rnic.read(e.right.far, 8000, 2) == Bytes{0x34, 0x12});
  CHECK(e.left.rnic.counter(EXRNIC_COUNTER_QP_TIMEOUTS) == 1);
  e.rest();
}

TEST_CASE("a time-out that is set or taken back while work is under way counts from then on") {
  Timed e;
  e.set_link(false);
  SECTION("set") {
    e.left.post(e.push(0));
    e.testbed.run_for(10 * kTick);
    e.set(2, 1);
    e.expect_ends(2, 1, 1);
  }
  SECTION("taken back") {
    e.set(2, 1);
    e.left.post(e.push(0));
    e.testbed.run_for(Timed::interval(2));
    e.set(0, 1);
    e.testbed.run_for(10 * Timed::interval(2));
    e.expect_nothing_ended();
    e.set_link(true);
    CHECK(int{e.left.wait().status} == EXRNIC_CQE_STATUS_SUCCESS);
  }
}

TEST_CASE("many queue pairs end at one time, each once") {
  constexpr uint32_t kMany = 12, kFirst = 100;
  Timed e;
  std::vector<QueuePair> own, peers;
  for (uint32_t i = 0; i < kMany; ++i) {
    own.push_back(e.left.rnic.create_qp(kFirst + i, End::kPage, End::kPd, e.left.cq));
    peers.push_back(e.right.rnic.create_qp(kFirst + i, End::kPage, End::kPd, e.right.cq));
    e.left.rnic.connect(own[i], 1, kFirst + i);
    e.right.rnic.connect(peers[i], 0, kFirst + i);
    exrnic_mbox_modify_qp change{};
    change.qpn = own[i].qpn;
    change.state = EXRNIC_QP_STATE_RTS;
    change.attributes = EXRNIC_QP_ATTRIBUTES_TIMEOUT;
    change.timeout = 4;
    REQUIRE(e.left.rnic.modify(change) == EXRNIC_MBOX_STATUS_OK);
    e.left.rnic.post(own[i], e.push(0));
    REQUIRE(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  e.set_link(false);
  for (QueuePair& qp : own)
    for (int i = 0; i < 2; ++i) e.left.rnic.post(qp, push_of(e.near(100), 0));
  std::map<uint32_t, std::vector<unsigned>> ends;
  for (uint32_t i = 0; i < 2 * kMany; ++i) {
    const exrnic_cqe cqe = e.left.wait();
    ends[cqe.qpn].push_back(cqe.status);
  }
  const std::vector<unsigned> want{EXRNIC_CQE_STATUS_RETRY_EXC_ERR, EXRNIC_CQE_STATUS_WR_FLUSH_ERR};
  for (const QueuePair& qp : own) CHECK(ends[qp.qpn] == want);
  CHECK(e.left.rnic.counter(EXRNIC_COUNTER_QP_TIMEOUTS) == kMany);
}

TEST_CASE("on the own node a queue pair ends likewise, and only when nothing is heard") {
  constexpr uint32_t kOne = 50, kTwo = 51;
  Timed e;
  QueuePair one = e.left.rnic.create_qp(kOne, End::kPage, End::kPd, e.left.cq);
  QueuePair two = e.left.rnic.create_qp(kTwo, End::kPage, End::kPd, e.left.cq);
  e.left.rnic.connect(one, 0, kTwo);
  e.left.rnic.connect(two, 0, kOne);
  exrnic_mbox_modify_qp change{};
  change.qpn = kOne;
  change.state = EXRNIC_QP_STATE_RTS;
  change.attributes = EXRNIC_QP_ATTRIBUTES_TIMEOUT;
  change.timeout = 5;
  REQUIRE(e.left.rnic.modify(change) == EXRNIC_MBOX_STATUS_OK);
  for (int i = 0; i < 3; ++i) {
    e.left.rnic.post(one, e.push(4000));
    CHECK(int{e.left.wait().status} == EXRNIC_CQE_STATUS_SUCCESS);
    e.testbed.run_for(3 * Timed::interval(5));
  }
  for (const uint64_t page : e.left.far.memory.pages)
    e.left.rnic.host().slow_reads(page, 4096, 5'000'000);
  e.left.rnic.post(one, pull_of(e.near(), 0));
  e.left.rnic.post(one, e.push(4000));
  CHECK(int{e.left.wait().status} == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  CHECK(int{e.left.wait().status} == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(e.left.rnic.counter(EXRNIC_COUNTER_QP_TIMEOUTS) == 1);
  e.rest();
}

}  // namespace
}  // namespace exrnic::testing

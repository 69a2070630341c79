// SPDX-License-Identifier: BSD-2-Clause
// Messages that find no receive: refused for now, sent again behind a pause, counted.
#include <map>

#include "tests/support/exchange.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kUnitNs = EXRNIC_RNR_UNIT_NS;
constexpr uint8_t kOneUnit = 1;  // code of a pause
constexpr Rnr kEndless{kOneUnit, EXRNIC_RNR_RETRY_ENDLESS};

struct Patient : Exchange {
  explicit Patient(const Rnr& rnr, const TestbedOptions& options = options_for("dc-25g"))
      : Exchange(20'000, {}, options, test_cores()) {
    for (End* end : {&left, &right})
      REQUIRE(end->rnic.modify(end->qp.qpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
    left.rnic.connect(left.qp, 1, kRightQpn, rnr);
    right.rnic.connect(right.qp, 0, kLeftQpn, rnr);
  }

  void run(uint64_t ns) {
    testbed.run_until([] { return false; }, ns);
  }
  uint64_t count(End& end, exrnic_counter which) { return end.rnic.counter(which); }

  // `bytes` from the start of left.near.
  Elements out(uint32_t bytes) { return {element(left.near, 0, bytes)}; }
  void receive(uint32_t room) { right.receive({element(right.near, 0, room)}); }
};

Bytes some_bytes(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  return random_bytes(random, count);
}

TEST_CASE("a message that finds no receive comes again, and completes once when there is one") {
  for (const uint32_t bytes : {0u, 10u, 9 * kMtu + 5}) {
    INFO(bytes << " bytes");
    Patient p(kEndless);
    const Bytes data = some_bytes(bytes, bytes);
    p.left.rnic.write(p.left.near, 0, data);
    p.left.post(send_of(p.out(bytes)));
    p.run(5 * kUnitNs);
    CHECK_FALSE(p.left.rnic.poll(p.left.cq, End::kPage).has_value());
    CHECK(p.left.state() == EXRNIC_QP_STATE_RTS);
    CHECK(p.right.state() == EXRNIC_QP_STATE_RTS);
    p.receive(10'000);
    CHECK(p.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    const exrnic_cqe received = p.right.wait_receive();
    CHECK(received.status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(received.byte_length == bytes);
    CHECK(difference(p.right.rnic.read(p.right.near, 0, bytes), data) == "");
    p.rest();
    CHECK_FALSE(p.left.rnic.poll(p.left.cq, End::kPage).has_value());
    CHECK_FALSE(p.right.rnic.poll(p.right.recv_cq, End::kPage).has_value());
    const uint64_t asked = p.count(p.right, EXRNIC_COUNTER_RNR_NAK_TX);
    CHECK(asked >= 2);
    CHECK(asked <= 6);
    CHECK(p.count(p.left, EXRNIC_COUNTER_RNR_NAK_RX) == asked);
  }
}

TEST_CASE("what was posted behind a refused message waits, and goes in its order") {
  Patient p(kEndless);
  const Bytes data = some_bytes(3, 6000);
  p.left.rnic.write(p.left.near, 0, data);
  const Bytes before = p.right.rnic.read(p.right.far, 0, 3000);
  p.left.post(send_of({element(p.left.near, 0, 3000)}));
  p.left.post(push_of({element(p.left.near, 3000, 3000)}, 0));
  p.left.post(with_imm(send_of({element(p.left.near, 0, 20)}), EXRNIC_WQE_OPCODE_SEND_IMM, 5));
  p.run(5 * kUnitNs);
  CHECK(difference(p.right.rnic.read(p.right.far, 0, 3000), before) == "");
  p.right.receive({element(p.right.near, 0, 3000)});
  p.right.receive({element(p.right.near, 4000, 3000)});
  for (uint32_t i = 0; i < 3; ++i) {
    const exrnic_cqe cqe = p.left.wait();
    CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(cqe.wqe_index == i);
  }
  CHECK(p.right.wait_receive().byte_length == 3000);
  CHECK(p.right.wait_receive().imm_data == 5);
  CHECK(difference(p.right.rnic.read(p.right.near, 0, 3000),
                   Bytes(data.begin(), data.begin() + 3000)) == "");
  CHECK(difference(p.right.rnic.read(p.right.far, 0, 3000),
                   Bytes(data.begin() + 3000, data.end())) == "");
}

TEST_CASE("immediate data that finds no receive comes again without its bytes") {
  Patient p(kEndless);
  const Bytes data = some_bytes(4, 5000);
  p.left.rnic.write(p.left.near, 0, data);
  p.left.post(with_imm(push_of(p.out(5000), 0), EXRNIC_WQE_OPCODE_PUSH_IMM, 77));
  p.run(5 * kUnitNs);
  const uint64_t placed = p.count(p.right, EXRNIC_COUNTER_SEGMENTS_PLACED);
  p.receive(0);
  CHECK(p.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  const exrnic_cqe received = p.right.wait_receive();
  CHECK(received.imm_data == 77);
  CHECK(received.byte_length == 5000);
  CHECK(difference(p.right.rnic.read(p.right.far, 0, 5000), data) == "");
  CHECK(p.count(p.right, EXRNIC_COUNTER_SEGMENTS_PLACED) == placed + 1);
}

TEST_CASE("after rnr_retry pauses the message fails with RNR_RETRY_EXC_ERR, the rest is flushed") {
  for (const uint8_t retry : {uint8_t{0}, uint8_t{1}, uint8_t{6}}) {
    INFO("rnr_retry " << uint32_t{retry});
    Patient p({kOneUnit, retry});
    p.left.post(send_of(p.out(100)));
    p.left.post(push_of(p.out(100), 0));
    const exrnic_cqe failed = p.left.wait();
    CHECK(failed.status == EXRNIC_CQE_STATUS_RNR_RETRY_EXC_ERR);
    CHECK(failed.detail == EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER);
    CHECK(failed.wqe_index == 0);
    const exrnic_cqe flushed = p.left.wait();
    CHECK(flushed.status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
    CHECK(flushed.wqe_index == 1);
    CHECK(p.left.state() == EXRNIC_QP_STATE_ERROR);
    CHECK(p.right.state() == EXRNIC_QP_STATE_RTS);
    CHECK(p.count(p.left, EXRNIC_COUNTER_RNR_NAK_RX) == retry + 1u);
    p.rest();
    CHECK_FALSE(p.left.rnic.poll(p.left.cq, End::kPage).has_value());
  }
}

TEST_CASE("a message that was taken gives the next one all its retries") {
  Patient p({kOneUnit, 3});
  for (int i = 0; i < 2; ++i) p.left.post(send_of(p.out(10)));
  for (int i = 0; i < 2; ++i) {
    const uint64_t before = p.count(p.left, EXRNIC_COUNTER_RNR_NAK_RX);
    for (int units = 0; p.count(p.left, EXRNIC_COUNTER_RNR_NAK_RX) < before + 3; ++units) {
      REQUIRE(units < 100);
      p.run(kUnitNs / 2);
    }
    p.receive(10);
    CHECK(p.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  CHECK(p.count(p.left, EXRNIC_COUNTER_RNR_NAK_RX) > 4);
}

TEST_CASE("the pause is at least the one that the receiver asks for, by the table of the verbs") {
  const struct {
    uint8_t code;
    uint64_t units;
  } rows[] = {{2, 2}, {5, 6}};  // the others: tiles/queues/pause
  for (const auto& row : rows) {
    INFO("code " << uint32_t{row.code});
    Patient p({row.code, 1});
    const uint64_t before = p.testbed.now_ns();
    p.left.post(send_of(p.out(10)));
    CHECK(p.left.wait().status == EXRNIC_CQE_STATUS_RNR_RETRY_EXC_ERR);
    const uint64_t took = p.testbed.now_ns() - before;
    CHECK(took >= row.units * kUnitNs);
    CHECK(took < row.units * kUnitNs + 2 * kUnitNs);
  }
}

TEST_CASE("while the receiver is not ready a long message costs one frame for each pause") {
  Patient p(kEndless);
  p.left.post(send_of(p.out(15 * kMtu)));
  p.run(4 * kUnitNs);
  const uint64_t sent = p.count(p.left, EXRNIC_COUNTER_FRAMES_TX);
  const uint64_t asked = p.count(p.left, EXRNIC_COUNTER_RNR_NAK_RX);
  p.run(10 * kUnitNs);
  const uint64_t more = p.count(p.left, EXRNIC_COUNTER_RNR_NAK_RX) - asked;
  CHECK(more >= 5);
  CHECK(p.count(p.left, EXRNIC_COUNTER_FRAMES_TX) - sent <= 4 * more);  // with acknowledgements
}

TEST_CASE("a queue pair that waits for a receive keeps no other of its nodes waiting") {
  Patient p(kEndless);
  QueuePair other[2];
  End* ends[2] = {&p.left, &p.right};
  for (unsigned i = 0; i < 2; ++i)
    other[i] = ends[i]->rnic.create_qp(40 + i, End::kPage, End::kPd, ends[i]->cq);
  p.left.rnic.connect(other[0], 1, 41);
  p.right.rnic.connect(other[1], 0, 40);
  p.left.post(send_of(p.out(10)));
  p.run(3 * kUnitNs);
  for (int i = 0; i < 5; ++i) {
    const uint64_t before = p.testbed.now_ns();
    p.left.rnic.post(other[0], push_of(p.out(1000), 0));
    CHECK(p.left.wait().qpn == 40);
    CHECK(p.testbed.now_ns() - before < kUnitNs);
  }
  p.receive(10);
  CHECK(p.left.wait().qpn == Exchange::kLeftQpn);
}

TEST_CASE("a pause ends in time while others of its node get credits again and again") {
  constexpr uint32_t kOthers = 16, kFirst = 40, kBehind = 4;
  Patient p(kEndless);
  const uint32_t waits = p.left.rnic.read_register(EXRNIC_REG_MAX_QP) - 1;
  QueuePairOptions left, right;
  left.recv_cq = &p.left.recv_cq;
  right.recv_cq = &p.right.recv_cq;
  const auto connect = [&](uint32_t qpn) {
    const QueuePair from = p.left.rnic.create_qp(qpn, End::kPage, End::kPd, p.left.cq, left);
    const QueuePair to = p.right.rnic.create_qp(qpn, End::kPage, End::kPd, p.right.cq, right);
    p.left.rnic.connect(from, 1, qpn, kEndless);
    p.right.rnic.connect(to, 0, qpn, kEndless);
    return std::pair(from, to);
  };
  std::map<uint32_t, std::pair<QueuePair, QueuePair>> qps;
  for (uint32_t i = 0; i < kOthers; ++i) qps[kFirst + i] = connect(kFirst + i);
  qps[waits] = connect(waits);
  const auto send = [&](uint32_t qpn) { p.left.rnic.post(qps[qpn].first, send_of(p.out(8))); };
  const auto receive = [&](uint32_t qpn) {
    p.right.rnic.post_receive(qps[qpn].second, {element(p.right.near, 0, 8)});
  };
  bool ended = false;
  const auto run = [&](uint64_t ns) {
    for (const uint64_t end = p.testbed.now_ns() + ns; p.testbed.now_ns() < end && !ended;) {
      p.run(200);
      while (const auto cqe = p.left.rnic.poll(p.left.cq, End::kPage)) {
        ended |= cqe->qpn == waits;
        if (cqe->qpn != waits) send(cqe->qpn);
      }
      while (const auto cqe = p.right.rnic.poll(p.right.recv_cq, End::kPage))
        if (cqe->qpn != waits) receive(cqe->qpn);
    }
  };
  for (uint32_t i = 0; i < kOthers; ++i) {
    receive(kFirst + i);
    for (uint32_t j = 0; j < kBehind; ++j) send(kFirst + i);
  }
  run(20 * kUnitNs);
  send(waits);
  run(2 * kUnitNs);
  CHECK_FALSE(ended);
  receive(waits);
  run(20 * kUnitNs);
  CHECK(ended);
}

TEST_CASE("the other direction of a queue pair that waits goes on") {
  Patient p(kEndless);
  p.left.post(send_of(p.out(10)));
  p.run(3 * kUnitNs);
  p.left.receive({element(p.left.near, 0, 2000)});
  p.right.post(send_of({element(p.right.near, 0, 2000)}));
  CHECK(p.right.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(p.left.wait_receive().byte_length == 2000);
  p.right.post(pull_of({element(p.right.near, 0, 3000)}, 0));
  CHECK(p.right.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
}

TEST_CASE("a queue pair that is stopped in its pause flushes what it has, once each") {
  for (const bool longer : {false, true}) {
    INFO((longer ? "in a long pause" : "between pauses"));
    Patient p({longer ? uint8_t{20} : kOneUnit, EXRNIC_RNR_RETRY_ENDLESS});
    for (int i = 0; i < 3; ++i) p.left.post(send_of(p.out(10)));
    p.run(4 * kUnitNs);
    p.left.rnic.stop(p.left.qp.qpn);
    for (uint32_t i = 0; i < 3; ++i) {
      const exrnic_cqe cqe = p.left.wait();
      CHECK(cqe.status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
      CHECK(cqe.wqe_index == i);
    }
    p.rest();  // a pause does not outlive its queue pair
    CHECK_FALSE(p.left.rnic.poll(p.left.cq, End::kPage).has_value());
  }
}

TEST_CASE("over a bad network messages that wait for receives arrive once and in order") {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    INFO("seed " << seed);
    TestbedOptions options = options_for("dc-25g");
    options.seed = seed;
    options.faults.rates = {0.02, 0.02, 0.02, 0.02, 0.02};
    Patient p(kEndless, options);
    constexpr uint32_t kMessages = 24;
    for (uint32_t i = 0; i < kMessages; ++i) {
      Work work = with_imm(send_of(p.out(i % 5 == 0 ? 3000 : 7)), EXRNIC_WQE_OPCODE_SEND_IMM, i);
      if (i % 7 == 3) work = with_imm(push_of(p.out(2500), 0), EXRNIC_WQE_OPCODE_PUSH_IMM, i);
      p.left.post(work);
    }
    for (uint32_t i = 0; i < kMessages; ++i) {
      if (i % 3 == 0) p.run(kUnitNs * (i % 4));
      p.receive(3000);
      const exrnic_cqe received = p.right.wait_receive(200'000'000);
      CHECK(received.status == EXRNIC_CQE_STATUS_SUCCESS);
      CHECK(received.imm_data == i);
    }
    for (uint32_t i = 0; i < kMessages; ++i) {
      const exrnic_cqe cqe = p.left.wait(200'000'000);
      CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
      CHECK(cqe.wqe_index == i);
    }
    CHECK(p.count(p.right, EXRNIC_COUNTER_RNR_NAK_TX) > 0);
    CHECK(p.count(p.right, EXRNIC_COUNTER_RECVS) == kMessages);
  }
}

TEST_CASE("values beyond the table of pauses and beyond the retries are refused") {
  Exchange e;
  RnicDriver& rnic = e.left.rnic;
  const uint32_t qpn = e.left.qp.qpn;
  REQUIRE(rnic.modify(qpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
  REQUIRE(rnic.modify(qpn, EXRNIC_QP_STATE_INIT) == EXRNIC_MBOX_STATUS_OK);
  for (const uint8_t bad : {32, 255})
    CHECK(rnic.modify(qpn, EXRNIC_QP_STATE_RTR, 1, 22, bad) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(rnic.modify(qpn, EXRNIC_QP_STATE_RTR, 1, 22, 31) == EXRNIC_MBOX_STATUS_OK);
  for (const uint8_t bad : {8, 255})
    CHECK(rnic.modify(qpn, EXRNIC_QP_STATE_RTS, 0, 0, bad) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(rnic.modify(qpn, EXRNIC_QP_STATE_RTS, 0, 0, 7) == EXRNIC_MBOX_STATUS_OK);
}

}  // namespace
}  // namespace exrnic::testing

// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs of service UC: each message is sent once, and placed whole or not completed at all.
#include "tests/support/capture.h"
#include "tests/support/exchange.h"
#include "tests/support/trace_check.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kLongEnoughNs = 100'000;
constexpr uint32_t kFrames = 5;  // of a long message
constexpr uint32_t kLong = (kFrames - 1) * kMtu + 77;

QueuePairOptions of_service(exrnic_service service) {
  QueuePairOptions options;
  options.service = service;
  return options;
}

struct Unreliable : Exchange {
  explicit Unreliable(const TestbedOptions& options = options_for("dc-25g"),
                      Capture* capture = nullptr)
      : Exchange(20'000, of_service(EXRNIC_SERVICE_UC), options, test_cores(),
                 [capture](Testbed& testbed) {
                   if (capture != nullptr) capture->attach(testbed);
                 }) {
    run();
    for (End* end : {&left, &right}) {
      std::mt19937_64 random(end->qp.qpn);
      end->rnic.write(end->near, 0, random_bytes(random, 20'000));
    }
  }

  // What is under way arrives.
  void run() {
    testbed.run_until([] { return false; }, kLongEnoughNs);
  }
  // Of what is sent to the right from now on, this frame.
  void harm(uint64_t frame, Fault fault) {
    FaultConfig faults;
    faults.script[frame] = fault;
    testbed.fabric().set_faults({false, 1, 0}, faults, 1);
  }

  Elements out(uint32_t offset, uint32_t bytes) { return {element(left.near, offset, bytes)}; }
  Work imm(const Work& work, uint32_t data) {
    const bool send = work.opcode == EXRNIC_WQE_OPCODE_SEND;
    return with_imm(work, send ? EXRNIC_WQE_OPCODE_SEND_IMM : EXRNIC_WQE_OPCODE_PUSH_IMM, data);
  }
  void receive(uint32_t offset, uint32_t room) {
    right.receive({element(right.near, offset, room)});
  }

  uint64_t lost() { return right.rnic.counter(EXRNIC_COUNTER_UC_LOST); }
  uint64_t dropped() { return right.rnic.counter(EXRNIC_COUNTER_UNRELIABLE_DROPPED); }
  uint64_t no_receive() { return right.rnic.counter(EXRNIC_COUNTER_UNRELIABLE_NO_RECEIVE); }
  bool nothing_received() { return !right.rnic.poll(right.recv_cq, End::kPage).has_value(); }

  // As if nothing had ever been sent: SENDs arrive, both ways.
  void expect_alive() {
    CHECK(left.state() == EXRNIC_QP_STATE_RTS);
    CHECK(right.state() == EXRNIC_QP_STATE_RTS);
    expect_nothing_refused();
  }
};

// The bytes that `work` of the left one sends.
Bytes bytes_of(Unreliable& u, const Work& work) { return u.left.read(u.left.near, work.elements); }

TEST_CASE("UC: messages of every kind and length arrive, both ways, and nobody answers") {
  for (const uint32_t bytes : {0u, 1u, kMtu, kLong}) {
    INFO(bytes << " bytes");
    Unreliable u;
    const uint64_t quiet = u.right.rnic.counter(EXRNIC_COUNTER_FRAMES_TX);
    for (uint32_t i = 0; i < 3; ++i) u.receive(i * 6000, 6000);
    const Work works[] = {push_of(u.out(10, bytes), 5), u.imm(push_of(u.out(20, bytes), 7000), 3),
                          send_of(u.out(30, bytes)), u.imm(send_of(u.out(40, bytes)), 4)};
    for (const Work& work : works) u.left.post(work);
    for (uint32_t i = 0; i < 4; ++i) {
      const exrnic_cqe cqe = u.left.wait();
      CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
      CHECK(cqe.wqe_index == i);
    }
    const exrnic_cqe pushed = u.right.wait_receive();
    CHECK(pushed.imm_data == 3);
    CHECK(pushed.byte_length == bytes);
    CHECK(u.right.wait_receive().byte_length == bytes);
    CHECK(u.right.wait_receive().imm_data == 4);
    RnicDriver& right = u.right.rnic;
    CHECK(difference(right.read(u.right.far, 5, bytes), bytes_of(u, works[0])) == "");
    CHECK(difference(right.read(u.right.far, 7000, bytes), bytes_of(u, works[1])) == "");
    CHECK(difference(right.read(u.right.near, 6000, bytes), bytes_of(u, works[2])) == "");
    CHECK(difference(right.read(u.right.near, 12'000, bytes), bytes_of(u, works[3])) == "");
    u.run();
    CHECK(right.counter(EXRNIC_COUNTER_FRAMES_TX) == quiet);
    CHECK(u.lost() + u.dropped() == 0);
    u.left.receive({element(u.left.far, 0, 100)});
    u.right.post(inlined(send_of({}), Bytes(9, 0x5a)));
    CHECK(u.left.wait_receive().byte_length == 9);
    CHECK(u.left.rnic.read(u.left.far, 0, 9) == Bytes(9, 0x5a));
    u.expect_alive();
  }
}

TEST_CASE("UC: a SEND that misses any frame is abandoned, and the next one takes its receive") {
  for (uint32_t missing = 0; missing < kFrames; ++missing) {
    INFO("frame " << missing);
    Unreliable u;
    u.harm(missing, Fault::kDrop);
    u.receive(0, 6000);
    u.receive(6000, 6000);
    u.left.post(send_of(u.out(0, kLong)));
    const Work next = u.imm(send_of(u.out(1000, kLong - 1)), 2);
    u.left.post(next);
    for (int i = 0; i < 2; ++i) CHECK(u.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    const exrnic_cqe received = u.right.wait_receive();
    CHECK(received.status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(received.imm_data == 2);
    CHECK(received.wqe_index == 0);
    CHECK(received.byte_length == kLong - 1);
    CHECK(difference(u.right.rnic.read(u.right.near, 0, kLong - 1), bytes_of(u, next)) == "");
    u.run();
    CHECK(u.nothing_received());
    CHECK(u.lost() == 1);
    CHECK(u.dropped() == kFrames - 1 - missing);
    u.expect_alive();
  }
}

TEST_CASE("UC: immediate data of a PUSH that misses a frame takes no receive") {
  for (const uint32_t missing : {0u, 2u, kFrames - 1, kFrames}) {
    INFO("frame " << missing);
    Unreliable u;
    u.harm(missing, Fault::kDrop);
    u.receive(0, 0);
    u.left.post(u.imm(push_of(u.out(0, kLong), 0), 1));
    const Work next = u.imm(push_of(u.out(500, kLong), 6000), 2);
    u.left.post(next);
    for (int i = 0; i < 2; ++i) CHECK(u.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    const exrnic_cqe received = u.right.wait_receive();
    CHECK(received.imm_data == 2);
    CHECK(received.byte_length == kLong);
    CHECK(difference(u.right.rnic.read(u.right.far, 6000, kLong), bytes_of(u, next)) == "");
    u.run();
    CHECK(u.nothing_received());
    CHECK(u.lost() == 1);
    u.expect_alive();
  }
}

TEST_CASE("UC: a frame that comes twice or is overtaken doubles nothing") {
  for (const Fault fault : {Fault::kDuplicate, Fault::kReorder, Fault::kDelay}) {
    INFO("fault " << int(fault));
    Unreliable u;
    u.harm(1, fault);
    for (uint32_t i = 0; i < 4; ++i) u.receive(i * 1000, 1000);
    for (uint32_t i = 0; i < 4; ++i) u.left.post(u.imm(send_of(u.out(i, 10)), i));
    for (uint32_t i = 0; i < 4; ++i) CHECK(u.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    u.run();
    const bool overtaken = fault != Fault::kDuplicate;
    for (uint32_t i = 0; i < 4; ++i)
      if (!overtaken || i != 1) CHECK(u.right.wait_receive().imm_data == i);
    CHECK(u.nothing_received());
    CHECK(u.lost() == overtaken);
    CHECK(u.dropped() == 1);
  }
}

TEST_CASE("UC: a message that finds no receive is dropped and counted, and the next one arrives") {
  Unreliable u;
  u.left.post(send_of(u.out(0, kLong)));
  u.left.post(u.imm(push_of(u.out(0, 100), 0), 1));
  for (int i = 0; i < 2; ++i) CHECK(u.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  u.run();
  CHECK(u.no_receive() == 2);
  CHECK(u.dropped() == kFrames + 1);
  u.receive(0, 100);
  u.left.post(u.imm(send_of(u.out(0, 100)), 7));
  CHECK(u.right.wait_receive().imm_data == 7);
  CHECK(u.lost() == 0);
  CHECK(u.right.rnic.counter(EXRNIC_COUNTER_RNR_NAK_TX) == 0);
  u.expect_alive();
}

TEST_CASE("UC: what needs an answer is a malformed work request") {
  for (const uint8_t opcode : {EXRNIC_WQE_OPCODE_PULL, EXRNIC_WQE_OPCODE_FETCH_ADD,
                               EXRNIC_WQE_OPCODE_COMPARE_SWAP, EXRNIC_WQE_OPCODE_SEND_INVALIDATE}) {
    INFO("opcode " << int(opcode));
    Unreliable u;
    u.left.post(remote_work(opcode, u.out(0, 8), 0));
    u.left.post(send_of(u.out(0, 8)));
    CHECK(u.left.wait().status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
    CHECK(u.left.wait().status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
    CHECK(u.left.state() == EXRNIC_QP_STATE_ERROR);
  }
}

TEST_CASE("UC: a PUSH that is not allowed writes nothing, and neither side hears of it") {
  Unreliable u;
  const Bytes before = u.right.rnic.read(u.right.near, 0, 20'000);
  Work stray = push_of(u.out(0, 3 * kMtu), 0);
  stray.remote_stag = kNearStag;
  stray.remote_to = kNearBase;
  u.left.post(stray);
  u.left.post(push_of(u.out(0, 3 * kMtu), 19'000));  // behind the end
  const Work good = push_of(u.out(0, 300), 40);
  u.left.post(good);
  for (int i = 0; i < 3; ++i) CHECK(u.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  u.run();
  CHECK(difference(u.right.rnic.read(u.right.near, 0, 20'000), before) == "");
  CHECK(difference(u.right.rnic.read(u.right.far, 40, 300), bytes_of(u, good)) == "");
  CHECK(u.dropped() == 6);
  CHECK(u.right.rnic.counter(EXRNIC_COUNTER_TERMINATES_TX) == 0);
  u.expect_alive();
}

TEST_CASE("UC: a receive that is too short fails, and its queue pair with it; the sender goes on") {
  Unreliable u;
  u.receive(0, 10);
  u.receive(0, 100);
  u.left.post(send_of(u.out(0, 11)));
  u.left.post(send_of(u.out(0, 11)));
  for (int i = 0; i < 2; ++i) CHECK(u.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(u.right.wait_receive().status == EXRNIC_CQE_STATUS_LOC_LEN_ERR);
  CHECK(u.right.wait_receive().status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(u.right.state() == EXRNIC_QP_STATE_ERROR);
  u.run();
  CHECK(u.left.state() == EXRNIC_QP_STATE_RTS);
  CHECK(u.dropped() == 2);
}

TEST_CASE("UC: sends complete though the peer is gone; the queue pair stays") {
  TestbedOptions options = options_for("dc-25g");
  options.faults.rates.drop = 1;
  Unreliable u(options);
  for (int i = 0; i < 3; ++i) u.left.post(send_of(u.out(0, kLong)));
  for (int i = 0; i < 3; ++i) CHECK(u.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(u.left.state() == EXRNIC_QP_STATE_RTS);
  // For the introduction that asked; nothing else is repeated.
  CHECK(u.left.rnic.counter(EXRNIC_COUNTER_PEERS_DEAD) == 1);
  const uint64_t repeated = u.left.rnic.counter(EXRNIC_COUNTER_RETRANSMITS);
  for (int i = 0; i < 3; ++i) u.left.post(send_of(u.out(0, kLong)));
  for (int i = 0; i < 3; ++i) CHECK(u.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  u.run();
  CHECK(u.left.rnic.counter(EXRNIC_COUNTER_RETRANSMITS) == repeated);
}

TEST_CASE("queue pairs of different services do not hear each other") {
  Exchange e;
  QueuePair other =
      e.right.rnic.create_qp(50, End::kPage, End::kPd, e.right.cq, of_service(EXRNIC_SERVICE_UC));
  REQUIRE(e.left.rnic.modify(e.left.qp.qpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
  e.left.rnic.connect(e.left.qp, 1, 50);
  e.right.rnic.connect(other, 0, Exchange::kLeftQpn);
  e.left.receive({element(e.left.near, 0, 100)});
  e.right.rnic.post(other, send_of({element(e.right.near, 0, 10)}));  // of UC to RC: dropped
  CHECK(e.right.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  e.testbed.run_until([] { return false; }, kLongEnoughNs);
  CHECK(e.left.rnic.counter(EXRNIC_COUNTER_UNRELIABLE_DROPPED) == 1);
  CHECK(e.left.state() == EXRNIC_QP_STATE_RTS);
  e.left.post(push_of({element(e.left.near, 0, 10)}, 0));  // of RC to UC: refused
  const exrnic_cqe refused = e.left.wait();
  CHECK(refused.status == EXRNIC_CQE_STATUS_REM_OP_ERR);
  CHECK(refused.detail == EXRNIC_TERM_CODE_STREAM);
  CHECK(e.right.rnic.query(50).state == EXRNIC_QP_STATE_RTS);
}

TEST_CASE("a window needs a queue pair of RC") {
  Unreliable u;
  exrnic_mbox_set_window window{};
  window.qpn = u.left.qp.qpn;
  window.stag = kFarStag;
  window.base = kFarBase;
  window.length = 4096;
  window.access = EXRNIC_WINDOW_ACCESS_STORE;
  CHECK(u.left.rnic.command(EXRNIC_MBOX_OP_SET_WINDOW, window) == EXRNIC_MBOX_STATUS_BAD_STATE);
}

TEST_CASE(
    "over a bad network UC completes whole messages only, in order; RC beside it all of its") {
  constexpr uint32_t kMessages = 32;
  TestbedOptions options = options_for("dc-25g");
  options.seed = 5;
  options.faults.rates = {0.05, 0.05, 0.05, 0.05, 0.05};
  Capture capture;
  Unreliable u(options, &capture);
  QueuePair reliable[2];
  End* ends[2] = {&u.left, &u.right};
  for (unsigned i = 0; i < 2; ++i)
    reliable[i] = ends[i]->rnic.create_qp(40 + i, End::kPage, End::kPd, ends[i]->cq);
  u.left.rnic.connect(reliable[0], 1, 41);
  u.right.rnic.connect(reliable[1], 0, 40);
  int64_t last = -1;
  for (uint32_t i = 0; i < kMessages; ++i) {
    u.receive(0, 6000);
    const Work sent = u.imm(send_of(u.out(i * 100, i % 3 ? kLong - i : i)), i);
    u.left.post(sent);
    u.left.rnic.post(reliable[0], push_of(u.out(i * 50, 1500), 0));
    for (int k = 0; k < 2; ++k) CHECK(u.left.wait(200'000'000).status == EXRNIC_CQE_STATUS_SUCCESS);
    u.run();
    CHECK(difference(u.right.rnic.read(u.right.far, 0, 1500),
                     u.left.rnic.read(u.left.near, i * 50, 1500)) == "");
    const auto received = u.right.rnic.poll(u.right.recv_cq, End::kPage);
    if (!received) continue;
    CHECK(received->status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(received->imm_data > last);
    CHECK(received->imm_data == i);
    last = received->imm_data;
    CHECK(difference(u.right.rnic.read(u.right.near, 0, received->byte_length),
                     bytes_of(u, sent)) == "");
  }
  CHECK(last > int64_t{kMessages} / 2);
  CHECK(u.lost() > 0);
  u.expect_alive();
  TraceRules rules;
  rules.least_rto_ns = uint64_t{EXRNIC_RTO_CYCLES_LEAST} * 1'000'000 / options.profile.clock_khz;
  for (const std::string& fault : check_trace(capture.frames, 2, rules).faults) FAIL_CHECK(fault);
}

}  // namespace
}  // namespace exrnic::testing

// SPDX-License-Identifier: BSD-2-Clause
// A queue pair that is reset and connected anew, with the numbers that it had: nothing of an
// earlier life counts for a later one, whatever the network still holds.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "rtl-model/ref/ref_core.h"
#include "tests/support/exchange.h"
#include "tests/support/ntb.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kBytes = 3000;  // three frames
constexpr uint64_t kOld = 0;       // where each life has its bytes
constexpr uint64_t kNew = 8000;
constexpr uint64_t kBeyond = 1 << 20;  // of the region

struct Lives : Exchange {
  explicit Lives(const TestbedOptions& options, const QueuePairOptions& wanted = {},
                 const CoreFactory& make_core = test_cores())
      : Exchange(20'000, wanted, options, make_core) {
    std::mt19937_64 random(7);
    old_bytes = random_bytes(random, kBytes);
    new_bytes = random_bytes(random, kBytes);
    left.rnic.write(left.near, kOld, old_bytes);
    left.rnic.write(left.near, kNew, new_bytes);
  }

  void reset(End& end) {
    REQUIRE(end.rnic.modify(end.qp.qpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
    end.qp.sq.index = end.qp.rq.index = 0;
  }
  using Exchange::connect;
  void connect(End& end) {
    const bool is_left = &end == &left;
    end.rnic.connect(end.qp, is_left ? 1 : 0, is_left ? kRightQpn : kLeftQpn);
  }
  // What the earlier life has completed is of no interest then.
  void begin_anew(End& end) {
    reset(end);
    connect(end);
    forget_completions(end);
  }
  void begin_anew() {
    reset(left);
    reset(right);
    connect();
    forget_completions(left);
    forget_completions(right);
  }
  static void forget_completions(End& end) {
    while (end.rnic.poll(end.cq, End::kPage)) continue;
    while (end.rnic.poll(end.recv_cq, End::kPage)) continue;
  }
  void set_link(bool up) { testbed.fabric().set_up(testbed.fabric().topology().links.at(0), up); }
  // So long that who misses an answer gives the other one up.
  void cut_link() {
    set_link(false);
    testbed.run_for(20'000'000);
    set_link(true);
  }

  Elements of(uint64_t offset) { return {element(left.near, offset, kBytes)}; }
  Bytes at_right(uint64_t offset) { return right.rnic.read(right.far, offset, kBytes); }

  // The new life works, and knows nothing of the old one.
  void expect_new_life_works() {
    right.receive({element(right.far, kNew, kBytes)});
    left.post(with_imm(send_of(of(kNew)), EXRNIC_WQE_OPCODE_SEND_IMM, 0x2222));
    const exrnic_cqe sent = left.wait(400'000'000);
    CHECK(int{sent.status} == EXRNIC_CQE_STATUS_SUCCESS);
    const exrnic_cqe received = right.wait_receive(400'000'000);
    CHECK(int{received.status} == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(received.imm_data == 0x2222);
    CHECK(difference(at_right(kNew), new_bytes) == "");
    rest(400'000'000);
    CHECK_FALSE(left.rnic.poll(left.cq, End::kPage).has_value());
    CHECK_FALSE(right.rnic.poll(right.recv_cq, End::kPage).has_value());
    CHECK(left.state() == EXRNIC_QP_STATE_RTS);
    CHECK(right.state() == EXRNIC_QP_STATE_RTS);
    expect_nothing_refused();
  }

  Bytes old_bytes;
  Bytes new_bytes;
};

// Every frame of an exchange, one after the other, is lost and sent again, or late by so much.
TestbedOptions with_fault(unsigned towards, uint64_t frame, Fault fault) {
  TestbedOptions options = options_for("dc-25g");
  options.faults_towards[towards].script[frame] = fault;
  options.faults_towards[towards].delay_ns = 60'000;
  return options;
}

constexpr uint64_t kFrames = 8;  // towards each side: introductions, three segments and answers

// Each frame sees both times, one with each fault.
template <typename Try>
void for_each_frame(const Try& attempt) {
  for (const Fault fault : {Fault::kDrop, Fault::kDelay})
    for (const unsigned towards : {0u, 1u})
      for (uint64_t frame = 0; frame < kFrames; ++frame) {
        const bool soon = (frame + towards + (fault == Fault::kDrop)) % 2 == 0;
        const uint64_t after_ns = soon ? 1'500 : 20'000;
        INFO((fault == Fault::kDrop ? "drop" : "delay")
             << " of frame " << frame << " towards node " << towards << ", reset after " << after_ns
             << " ns");
        attempt(with_fault(towards, frame, fault), after_ns);
      }
}

TEST_CASE("a SEND of an earlier life takes no receive of a later one") {
  for_each_frame([](const TestbedOptions& options, uint64_t after_ns) {
    Lives lives(options);
    lives.right.receive({element(lives.right.far, kOld, kBytes)});
    lives.left.post(send_of(lives.of(kOld)));
    lives.testbed.run_for(after_ns);
    lives.begin_anew();
    lives.expect_new_life_works();
  });
}

TEST_CASE("a PUSH of an earlier life writes nothing when both have begun a later one") {
  for_each_frame([](const TestbedOptions& options, uint64_t after_ns) {
    Lives lives(options);
    lives.left.post(push_of(lives.of(kOld), kOld));
    lives.testbed.run_for(after_ns);
    lives.begin_anew();
    const Bytes blank(kBytes, 0xee);
    lives.right.rnic.write(lives.right.far, kOld, blank);
    lives.expect_new_life_works();
    CHECK(difference(lives.at_right(kOld), blank) == "");
  });
}

TEST_CASE("a store through a window of an earlier life writes nothing in a later one") {
  constexpr uint64_t kStores = 16;
  for (const Fault fault : {Fault::kDrop, Fault::kDelay})
    for (uint64_t frame = 0; frame < kFrames; ++frame) {
      INFO((fault == Fault::kDrop ? "drop" : "delay") << " of frame " << frame);
      Lives lives(with_fault(1, frame, fault));
      RemoteWindow window(lives.left.rnic, 3);
      REQUIRE(window.set(Exchange::kLeftQpn, kFarStag, kFarBase, kBytes, kStore) ==
              EXRNIC_MBOX_STATUS_OK);
      // Every other place: none is combined with its neighbour.
      for (uint64_t i = 0; i < kStores; ++i) window.store(16 * i, 8, i);
      lives.testbed.run_for(1'500);
      lives.begin_anew();
      const Bytes blank(kBytes, 0xee);
      lives.right.rnic.write(lives.right.far, kOld, blank);
      window.store(8, 8, 1);  // the window is void
      lives.expect_new_life_works();
      CHECK(difference(lives.at_right(kOld), blank) == "");
    }
}

TEST_CASE("the answer to a PULL of an earlier life writes nothing in a later one") {
  for_each_frame([](const TestbedOptions& options, uint64_t after_ns) {
    Lives lives(options);
    lives.left.post(pull_of(lives.of(kOld), kOld));
    lives.testbed.run_for(after_ns);
    lives.begin_anew();
    const Bytes blank(kBytes, 0xee);
    lives.left.rnic.write(lives.left.near, kOld, blank);
    lives.expect_new_life_works();
    CHECK(difference(lives.left.rnic.read(lives.left.near, kOld, kBytes), blank) == "");
  });
}

// Of the reference model: RTL needs firmware for it.
TEST_CASE("the answer to an atomic of an earlier life writes nothing in a later one") {
  constexpr uint64_t kAt = 0xb;  // makes it a multiple of 8
  for_each_frame([](const TestbedOptions& options, uint64_t after_ns) {
    Lives lives(options, {}, make_ref_core);
    const Bytes before = lives.right.rnic.read(lives.right.far, kAt, 8);
    lives.left.post(fetch_add_of(element(lives.left.near, kOld, 8), kAt, 1));
    lives.testbed.run_for(after_ns);
    lives.begin_anew();
    const Bytes now = lives.right.rnic.read(lives.right.far, kAt, 8);
    const Bytes blank(8, 0xee);
    lives.left.rnic.write(lives.left.near, kOld, blank);
    lives.expect_new_life_works();
    CHECK(difference(lives.left.rnic.read(lives.left.near, kOld, 8), blank) == "");
    // Nor is it executed any more: once, or not at all.
    CHECK(lives.right.rnic.read(lives.right.far, kAt, 8) == now);
    CHECK(now[0] - before[0] <= 1);
  });
}

TEST_CASE("what an earlier life was told of receives is no credit for a later one") {
  for (uint64_t frame = 0; frame < kFrames; ++frame)
    for (const uint64_t after_ns : {1'500u, 5'000u, 20'000u}) {
      INFO("delay of frame " << frame << ", reset after " << after_ns << " ns");
      Lives lives(with_fault(0, frame, Fault::kDelay));
      for (int i = 0; i < 30; ++i) lives.right.receive({element(lives.right.far, kOld, kBytes)});
      for (int i = 0; i < 2; ++i) lives.left.post(send_of(lives.of(kOld)));
      lives.testbed.run_for(after_ns);
      lives.begin_anew();
      // It hears of one receive, which it has used then.
      lives.right.receive({element(lives.right.far, kNew, kBytes)});
      lives.left.post(send_of(lives.of(kNew)));
      CHECK(int{lives.left.wait(400'000'000).status} == EXRNIC_CQE_STATUS_SUCCESS);
      lives.testbed.run_for(100'000);
      for (int i = 0; i < 2; ++i) lives.left.post(send_of(lives.of(kNew)));
      lives.testbed.run_for(200'000);  // less than it waits before it asks
      CHECK(lives.right.rnic.counter(EXRNIC_COUNTER_RNR_NAK_TX) == 0);
      CHECK(lives.left.rnic.counter(EXRNIC_COUNTER_CREDIT_STALLS) == 1);
      for (int i = 0; i < 2; ++i) lives.right.receive({element(lives.right.far, kNew, kBytes)});
      for (int i = 0; i < 2; ++i)
        CHECK(int{lives.left.wait(400'000'000).status} == EXRNIC_CQE_STATUS_SUCCESS);
      for (int i = 0; i < 3; ++i)
        CHECK(int{lives.right.wait_receive().status} == EXRNIC_CQE_STATUS_SUCCESS);
      CHECK(difference(lives.at_right(kNew), lives.new_bytes) == "");
    }
}

TEST_CASE(
    "a refusal, and one for want of a receive, of an earlier life ends nothing of a later one") {
  for (const bool wants_receive : {false, true})
    for_each_frame([&](const TestbedOptions& options, uint64_t after_ns) {
      Lives lives(options);
      lives.left.post(wants_receive ? send_of(lives.of(kOld)) : push_of(lives.of(kOld), kBeyond));
      lives.testbed.run_for(after_ns);
      lives.begin_anew();
      lives.expect_new_life_works();
    });
}

TEST_CASE("256 lives and more pass while a peer is given up: its error does not end the last one") {
  TestbedOptions options = options_for("dc-25g");
  Lives lives(options);
  lives.rest();
  lives.set_link(false);
  lives.left.post(push_of(lives.of(kOld), kOld));
  lives.testbed.run_for(5'000);
  for (int life = 0; life < 256; ++life) lives.reset(lives.left);
  lives.begin_anew();
  CHECK(lives.left.rnic.counter(EXRNIC_COUNTER_PEERS_DEAD) == 0);
  lives.testbed.run_for(400'000'000);
  CHECK(lives.left.rnic.counter(EXRNIC_COUNTER_PEERS_DEAD) >= 1);
  CHECK(lives.left.state() == EXRNIC_QP_STATE_RTS);
  CHECK_FALSE(lives.left.rnic.poll(lives.left.cq, End::kPage).has_value());
}

TEST_CASE("who goes on when the peer has begun a new life gets an error, and harms nothing") {
  Lives lives(options_for("dc-25g"));
  lives.left.post(push_of(lives.of(kOld), kOld));
  CHECK(int{lives.left.wait().status} == EXRNIC_CQE_STATUS_SUCCESS);
  const Bytes blank(kBytes, 0xee);
  lives.right.rnic.write(lives.right.far, kOld, blank);
  lives.reset(lives.right);
  lives.left.post(push_of(lives.of(kOld), kOld));
  const exrnic_cqe refused = lives.left.wait();
  CHECK(int{refused.status} == EXRNIC_CQE_STATUS_REM_OP_ERR);
  CHECK(refused.detail == EXRNIC_TERM_CODE_STREAM);
  CHECK(difference(lives.at_right(kOld), blank) == "");
  lives.reset(lives.left);
  lives.connect();
  lives.expect_new_life_works();
}

TEST_CASE("a queue pair whose peer is connected later sends when the two have met") {
  Lives lives(options_for("dc-25g"));
  lives.reset(lives.left);
  lives.reset(lives.right);
  lives.connect(lives.left);
  lives.rest();  // nobody has answered
  lives.connect(lives.right);
  lives.expect_new_life_works();
}

TEST_CASE("work for a queue pair that is not there ends with an error") {
  Lives lives(options_for("dc-25g"));
  lives.reset(lives.left);
  lives.reset(lives.right);
  lives.connect(lives.left);
  lives.left.post(push_of(lives.of(kOld), kOld));
  const exrnic_cqe refused = lives.left.wait();
  CHECK(int{refused.status} == EXRNIC_CQE_STATUS_REM_OP_ERR);
  CHECK(refused.detail == EXRNIC_TERM_CODE_STREAM);
}

TEST_CASE("UC: a message of an earlier life is lost, and the next one arrives") {
  QueuePairOptions wanted;
  wanted.service = EXRNIC_SERVICE_UC;
  for (uint64_t frame = 0; frame < kFrames; ++frame) {
    INFO("delay of frame " << frame);
    Lives lives(with_fault(1, frame, Fault::kDelay), wanted);
    lives.right.receive({element(lives.right.far, kOld, kBytes)});
    lives.left.post(send_of(lives.of(kOld)));
    lives.testbed.run_for(3'000);
    lives.begin_anew();
    lives.expect_new_life_works();
  }
}

TEST_CASE(
    "two of whom only one knows of their meeting, as the link was cut, meet when one has work") {
  for (const bool left_works : {true, false})
    for (uint64_t after_ns = left_works ? 0 : 100; after_ns < 800; after_ns += 200) {
      INFO("the link is cut " << after_ns << " ns behind the last connection");
      Lives lives(options_for("dc-25g"));
      lives.rest();
      lives.reset(lives.left);
      lives.reset(lives.right);
      lives.connect(lives.left);
      lives.rest();
      lives.connect(lives.right);
      lives.testbed.run_for(after_ns);
      lives.cut_link();
      End& works = left_works ? lives.left : lives.right;
      works.post(push_of({element(works.near, 0, 100)}, 0));
      REQUIRE(int{works.wait(400'000'000).status} == EXRNIC_CQE_STATUS_SUCCESS);
      lives.expect_new_life_works();
    }
}

constexpr uint32_t kLong = 9'000;   // so many bytes need a while,
constexpr uint64_t kSink = 11'000;  // and go there

TEST_CASE("a PULL whose peer begins a new life, and is connected again, ends in an error") {
  for (uint64_t after_ns = 1'000; after_ns < 5'000; after_ns += 500) {
    INFO("reset after " << after_ns << " ns");
    Lives lives(options_for("dc-25g"));
    lives.rest();
    lives.left.post(pull_of({element(lives.left.near, kSink, kLong)}, 0));
    lives.testbed.run_for(after_ns);
    lives.begin_anew(lives.right);
    const exrnic_cqe pulled = lives.left.wait();
    if (int{pulled.status} == EXRNIC_CQE_STATUS_SUCCESS) continue;
    CHECK(int{pulled.status} == EXRNIC_CQE_STATUS_REM_OP_ERR);
    CHECK(pulled.detail == EXRNIC_TERM_CODE_STREAM);
    lives.begin_anew();
    lives.expect_new_life_works();
  }
}

TEST_CASE("a PULL whose peer's node is reset, and has the same numbers again, ends in an error") {
  Lives lives(options_for("dc-25g"));
  lives.rest();
  lives.left.post(pull_of({element(lives.left.near, kSink, kLong)}, 0));
  lives.testbed.run_for(1'800);
  lives.testbed.node(1).device().reset();
  End again(lives.testbed, 1, Exchange::kRightQpn, 20'000);
  again.rnic.connect(again.qp, 0, Exchange::kLeftQpn);
  const exrnic_cqe pulled = lives.left.wait();
  CHECK((int{pulled.status} == EXRNIC_CQE_STATUS_REM_OP_ERR ||
         int{pulled.status} == EXRNIC_CQE_STATUS_RETRY_EXC_ERR));
}

// The node that refuses has had nothing acknowledged: so its late frames are heard by a node that
// knows no session of it. Nothing else of it comes before them.
TEST_CASE("a refusal of the life before a reset of the node ends nothing of the life after it") {
  for (uint64_t after_ns = 1'500; after_ns < 4'000; after_ns += 500) {
    INFO("reset after " << after_ns << " ns");
    TestbedOptions options = with_fault(0, 0, Fault::kDelay);
    for (const uint64_t frame : {1u, 2u}) options.faults_towards[0].script[frame] = Fault::kDelay;
    for (const uint64_t frame : {2u, 3u, 4u})
      options.faults_towards[1].script[frame] = Fault::kDrop;
    Testbed testbed(options, test_cores());
    End right(testbed, 1, Exchange::kRightQpn, 20'000);  // in RESET
    {
      End left(testbed, 0, Exchange::kLeftQpn, 20'000);
      left.rnic.connect(left.qp, 1, Exchange::kRightQpn);
      left.post(push_of({element(left.near, 0, 100)}, 0));
      testbed.run_for(after_ns);
      testbed.node(0).device().reset();
    }
    End again(testbed, 0, Exchange::kLeftQpn, 20'000);
    again.rnic.connect(again.qp, 1, Exchange::kRightQpn);
    right.rnic.connect(right.qp, 0, Exchange::kLeftQpn);
    testbed.run_for(100'000);
    again.post(push_of({element(again.near, 0, 100)}, 0));
    CHECK(int{again.wait(400'000'000).status} == EXRNIC_CQE_STATUS_SUCCESS);
  }
}

TEST_CASE("a new life that PUSHes to one whose receives were missed by an earlier one is served") {
  Lives lives(options_for("dc-25g"));
  lives.left.post(send_of(lives.of(kOld)));  // there is no receive
  lives.testbed.run_for(20'000);
  lives.begin_anew(lives.left);
  lives.left.post(push_of(lives.of(kNew), kNew));
  CHECK(int{lives.left.wait().status} == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(difference(lives.at_right(kNew), lives.new_bytes) == "");
  lives.expect_new_life_works();
}

TEST_CASE("UC: who begins a new life is heard by one that does not") {
  QueuePairOptions wanted;
  wanted.service = EXRNIC_SERVICE_UC;
  Lives lives(options_for("dc-25g"), wanted);
  for (int i = 0; i < 4; ++i) {
    lives.left.post(push_of(lives.of(kOld), kOld));
    CHECK(int{lives.left.wait().status} == EXRNIC_CQE_STATUS_SUCCESS);
  }
  lives.rest();
  lives.begin_anew(lives.left);
  lives.expect_new_life_works();
}

}  // namespace
}  // namespace exrnic::testing

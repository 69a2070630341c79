// SPDX-License-Identifier: BSD-2-Clause
// PULLs of which nothing is heard: those that can never end end in an error, those that take long
// do not.
#include <catch2/generators/catch_generators.hpp>
#include <utility>
#include <vector>

#include "rtl-model/lockstep/lockstep.h"
#include "rtl-model/ref/ddp_check.h"
#include "rtl-model/ref/ref_core.h"
#include "tests/support/exchange.h"
#include "tests/support/faulty_core.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kInterval = uint64_t{1} << EXRNIC_PULL_ASK_SHIFT;  // ns
constexpr uint64_t kLongest = 2 * kInterval + 10'000'000;             // and a peer that is given up
constexpr uint32_t kLong = 200'000;
constexpr uint8_t kPatience = EXRNIC_PULL_ASK_SHIFT + 8;  // of a board whose host may take long

// The host of the right node answers no read while it is slow.
class SlowHost {
 public:
  CoreFactory factory(const CoreFactory& left, const CoreFactory& right) {
    return [=](const CoreConfig& config, CoreSink& sink) -> std::unique_ptr<Core> {
      if (config.node_id == 0) return left(config, sink);
      sink_ = &sink;
      CoreConfig patient = config;
      patient.read_timeout_shift = kPatience;
      Fault fault;
      fault.read = [this](const ReadRequest& request) {
        if (slow_) reads_.push_back(request);
        return !slow_;
      };
      return std::make_unique<FaultyCore>(patient, sink, right, fault);
    };
  }
  void stop() { slow_ = true; }
  bool asked() const { return !reads_.empty(); }
  void go_on() {
    slow_ = false;
    for (const ReadRequest& request : reads_) sink_->read(request);
    reads_.clear();
  }

 private:
  CoreSink* sink_ = nullptr;
  bool slow_ = false;
  std::vector<ReadRequest> reads_;
};

// The left node PULLs from the right one. If the host of that is slow its core is the reference
// model, which spares the cycles in which it waits for payload.
struct Pulling : SlowHost, Exchange {
  explicit Pulling(const CoreFactory& left_core, const CoreFactory& right_core = make_ref_core)
      : Exchange(kLong, {}, options_for("dc-25g"), factory(left_core, right_core)) {
    testbed.node(0).mac().observe([this](Mac::Direction direction, const Bytes& wire) {
      const uint8_t* efe = wire.data() + EXRNIC_ETH_BYTES;
      const uint8_t* ddp = efe + EXRNIC_EFE_BYTES;
      if (direction == Mac::Direction::kTransmit &&
          exrnic_efe_length(efe) == EXRNIC_DDP_TAGGED_BYTES && exrnic_ddp_tagged_t(ddp) &&
          exrnic_ddp_tagged_opcode(ddp) == EXRNIC_RDMAP_OPCODE_WRITE &&
          !ref::is_introduction(ddp, exrnic_efe_length(efe)))
        questions.push_back(testbed.now_ns());
    });
    data = random_bytes(random, kLong);
    right.rnic.write(right.far, 0, data);
  }

  void pull(uint32_t from, uint32_t length) {
    left.post(pull_of({element(left.near, from, length)}, from));
  }
  // The request is with the right node, which waits for its host, and does nothing else.
  void pull_in_vain() { ask_in_vain(pull_of({element(left.near, 0, kMtu)}, 0)); }
  void ask_in_vain(const Work& work) {
    stop();
    left.post(work);
    REQUIRE(testbed.run_until([this] { return asked(); }, 1'000'000) == RunResult::kDone);
    testbed.run_for(10'000);
  }
  void expect_failure(exrnic_cqe_status status) {
    const uint64_t begin = testbed.now_ns();
    const exrnic_cqe cqe = left.wait(kLongest);
    CHECK(cqe.opcode == EXRNIC_WQE_OPCODE_PULL);
    CHECK(cqe.status == status);
    CHECK(testbed.now_ns() - begin > kInterval / 2);
    CHECK(left.state() == EXRNIC_QP_STATE_ERROR);
    CHECK(left.rnic.query(kLeftQpn).under_way == 0);
  }

  std::mt19937_64 random{20261123};
  Bytes data;
  std::vector<uint64_t> questions;  // when they left
};

auto either() { return GENERATE(make_rtl_core, make_ref_core); }

void reset(RnicDriver& rnic) {
  REQUIRE(rnic.modify(Exchange::kRightQpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
}
void destroy(RnicDriver& rnic) {
  rnic.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{Exchange::kRightQpn});
}

TEST_CASE("a PULL whose peer's queue pair is taken away without a word ends in an error") {
  const auto take_away = GENERATE(reset, destroy);
  Pulling e(either(), GENERATE(make_rtl_core, make_ref_core));
  e.pull(0, kLong);
  e.pull(0, 1);
  e.testbed.run_until([&] { return e.left.rnic.host().writes().size() > 2; }, 1'000'000);
  take_away(e.right.rnic);
  e.expect_failure(EXRNIC_CQE_STATUS_REM_OP_ERR);
  CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(e.questions.size() == 1);
  e.rest();
}

TEST_CASE("in lockstep the two cores ask, each when it has waited, and end in the same error") {
  const CoreFactory make = lockstep::make_lockstep(make_rtl_core, make_ref_core);
  Pulling e(make, make);
  e.pull(0, kLong);
  e.testbed.run_until([&] { return e.left.rnic.host().writes().size() > 2; }, 1'000'000);
  reset(e.right.rnic);
  e.expect_failure(EXRNIC_CQE_STATUS_REM_OP_ERR);
  e.rest();
}

TEST_CASE("a PULL whose peer's node is reset when it has taken the request ends in an error") {
  Pulling e(either());
  e.pull_in_vain();
  e.testbed.node(1).device().reset();
  e.expect_failure(EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  e.rest();
}

TEST_CASE("a PULL whose peer's node is reset, and is there again, ends in an error") {
  Pulling e(either());
  e.pull_in_vain();
  e.testbed.node(1).device().reset();
  e.go_on();
  Side again(e.testbed, 1, Exchange::kRightQpn + 1);
  again.rnic.connect(again.qp, 0, Exchange::kLeftQpn + 1);
  const exrnic_cqe cqe = e.left.wait(kLongest);
  CHECK((cqe.status == EXRNIC_CQE_STATUS_REM_OP_ERR ||
         cqe.status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR));
  CHECK(e.left.state() == EXRNIC_QP_STATE_ERROR);
}

TEST_CASE("a PULL whose link is cut when the peer has taken the request ends in an error") {
  Pulling e(either());
  e.pull_in_vain();
  e.testbed.fabric().set_up(e.testbed.fabric().topology().links.at(0), false);
  e.expect_failure(EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  CHECK(e.left.rnic.counter(EXRNIC_COUNTER_PEERS_DEAD) == 1);
}

TEST_CASE("a PULL whose answer is given up, as the link was cut for a while, ends in an error") {
  Pulling e(either(), GENERATE(make_rtl_core, make_ref_core));
  e.pull(0, kLong);
  e.testbed.run_until([&] { return e.left.rnic.host().writes().size() > 2; }, 1'000'000);
  const TopologyLink& link = e.testbed.fabric().topology().links.at(0);
  e.testbed.fabric().set_up(link, false);
  e.testbed.run_for(kInterval / 2);  // the left node does not ask yet
  e.testbed.fabric().set_up(link, true);
  CHECK(e.questions.empty());
  const exrnic_cqe cqe = e.left.wait(kLongest);
  CHECK(cqe.opcode == EXRNIC_WQE_OPCODE_PULL);
  CHECK(cqe.status == EXRNIC_CQE_STATUS_REM_OP_ERR);
  CHECK(cqe.detail == EXRNIC_TERM_CODE_STREAM);
  CHECK(e.right.state() == EXRNIC_QP_STATE_ERROR);
}

TEST_CASE("a PULL from a peer whose host takes as long as its board allows ends well") {
  Pulling e(either());
  e.pull_in_vain();
  const uint64_t cycles = e.testbed.node(0).rnic().cycles();
  e.testbed.run_for(10 * kInterval);
  CHECK_FALSE(e.left.rnic.poll(e.left.cq, End::kPage));
  // A question for every second interval: it is the last word that was heard.
  CHECK(e.questions.size() >= 4);
  CHECK(e.questions.size() <= 6);
  for (size_t i = 1; i < e.questions.size(); ++i)
    CHECK(e.questions[i] - e.questions[i - 1] > kInterval);
  CHECK(e.testbed.node(0).rnic().cycles() - cycles < 100'000);
  e.pull(100, 1000);  // behind the other: it may begin at once
  e.go_on();
  for (uint32_t i = 0; i < 2; ++i) {
    const exrnic_cqe cqe = e.left.wait();
    CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(cqe.wqe_index == i);
  }
  const Bytes want(e.data.begin(), e.data.begin() + 1100);
  CHECK(difference(e.left.rnic.read(e.left.near, 0, 1100), want) == "");
  e.rest(kInterval / 2);  // with the PULL its watch ends
  e.expect_nothing_refused();
}

// The reference model needs no firmware for them.
TEST_CASE("an atomic of which nothing is heard is no other") {
  Pulling e(either());
  constexpr uint64_t kAt = 0xb;  // makes it a multiple of 8
  e.ask_in_vain(fetch_add_of(element(e.left.near, 0, 8), kAt, 1));
  SECTION("from a host that takes long") {
    e.testbed.run_for(5 * kInterval);
    CHECK(e.questions.size() >= 2);
    e.go_on();
    CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  SECTION("from a node that is reset") {
    e.testbed.node(1).device().reset();
    const exrnic_cqe cqe = e.left.wait(kLongest);
    CHECK(cqe.opcode == EXRNIC_WQE_OPCODE_FETCH_ADD);
    CHECK(cqe.status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  }
}

TEST_CASE(
    "a PULL or atomic whose answer takes longer than its queue pair waits ends, and no other") {
  // The second is longer than two questions to the peer, which are acknowledged.
  const auto [timeout, retries] = GENERATE(std::pair{6u, 2u}, std::pair{13u, 2u});
  const bool atomic = GENERATE(false, true);
  Pulling e(either());
  QueuePair other = e.left.rnic.create_qp(30, End::kPage, End::kPd, e.left.cq);
  QueuePair peer = e.right.rnic.create_qp(31, End::kPage, End::kPd, e.right.cq);
  e.left.rnic.connect(other, 1, 31);
  e.right.rnic.connect(peer, 0, 30);
  exrnic_mbox_modify_qp change{};
  change.qpn = Exchange::kLeftQpn;
  change.state = EXRNIC_QP_STATE_RTS;
  change.attributes = EXRNIC_QP_ATTRIBUTES_TIMEOUT | EXRNIC_QP_ATTRIBUTES_RETRY_COUNT;
  change.timeout = static_cast<uint8_t>(timeout);
  change.retry_count = static_cast<uint8_t>(retries);
  REQUIRE(e.left.rnic.modify(change) == EXRNIC_MBOX_STATUS_OK);
  const uint64_t unit = uint64_t{1} << (EXRNIC_QP_TIMEOUT_SHIFT + timeout);
  const uint64_t begin = e.testbed.now_ns();
  e.ask_in_vain(atomic ? fetch_add_of(element(e.left.near, 0, 8), 0xb, 1)
                       : pull_of({element(e.left.near, 0, kMtu)}, 0));
  e.pull(0, 1000);
  e.left.post(inlined(push_of({}, 100'000), Bytes(8)));
  e.left.rnic.post(other, pull_of({element(e.left.near, 5000, 1000)}, 5000));
  for (int i = 0; i < 3; ++i) {
    const exrnic_cqe cqe = e.left.wait(5 * unit);
    CHECK(cqe.qpn == Exchange::kLeftQpn);
    CHECK(cqe.wqe_index == i);
    CHECK(int{cqe.status} ==
          (i == 0 ? EXRNIC_CQE_STATUS_RETRY_EXC_ERR : EXRNIC_CQE_STATUS_WR_FLUSH_ERR));
  }
  CHECK(e.testbed.now_ns() - begin >= (retries + 1) * unit);
  CHECK(e.testbed.now_ns() - begin <= (retries + 2) * unit + 100'000);
  CHECK(e.left.rnic.counter(EXRNIC_COUNTER_QP_TIMEOUTS) == 1);
  CHECK(e.left.state() == EXRNIC_QP_STATE_ERROR);
  // What is answered now is for nobody any more; another one's is as good as ever.
  e.left.rnic.write(e.left.near, 0, Bytes(kMtu, 0x11));
  e.go_on();
  const exrnic_cqe late = e.left.wait();
  CHECK(late.qpn == other.qpn);
  CHECK(int{late.status} == EXRNIC_CQE_STATUS_SUCCESS);
  e.rest(kInterval / 2);
  CHECK(e.left.rnic.read(e.left.near, 0, kMtu) == Bytes(kMtu, 0x11));
}

TEST_CASE("a queue pair that is gone with a PULL under way asks nobody, and the simulation rests") {
  Pulling e(either());
  e.pull_in_vain();
  SECTION("destroyed") {
    e.left.rnic.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{Exchange::kLeftQpn});
  }
  SECTION("reset") {
    REQUIRE(e.left.rnic.modify(Exchange::kLeftQpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
  }
  e.go_on();
  e.rest(kInterval / 2);
  e.testbed.run_for(3 * kInterval);
  CHECK(e.questions.empty());
}

TEST_CASE("while PULLs are answered, nobody asks") {
  Pulling e(either());
  const uint64_t begin = e.testbed.now_ns();
  while (e.testbed.now_ns() - begin < 3 * kInterval) {
    e.pull(0, 1000);
    REQUIRE(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    e.testbed.run_for(kInterval / 8);
  }
  CHECK(e.questions.empty());
}

TEST_CASE("PULLs of two queue pairs end, each as its own peer's queue pair stands") {
  Pulling e(either());
  QueuePair other = e.left.rnic.create_qp(30, End::kPage, End::kPd, e.left.cq);
  QueuePair peer = e.right.rnic.create_qp(31, End::kPage, End::kPd, e.right.cq);
  e.left.rnic.connect(other, 1, 31);
  e.right.rnic.connect(peer, 0, 30);
  e.pull(0, kLong);
  e.testbed.run_until([&] { return e.left.rnic.host().writes().size() > 2; }, 1'000'000);
  reset(e.right.rnic);
  e.stop();
  e.left.rnic.post(other, pull_of({element(e.left.near, 0, 1000)}, 0));
  const exrnic_cqe lost = e.left.wait(kLongest);
  CHECK(lost.qpn == Exchange::kLeftQpn);
  CHECK(lost.status == EXRNIC_CQE_STATUS_REM_OP_ERR);
  e.testbed.run_for(kLongest);
  e.go_on();
  const exrnic_cqe late = e.left.wait();
  CHECK(late.qpn == other.qpn);
  CHECK(late.status == EXRNIC_CQE_STATUS_SUCCESS);
}

}  // namespace
}  // namespace exrnic::testing

// SPDX-License-Identifier: BSD-2-Clause
// Atomics, executed at the node that has the memory.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <set>

#include "tests/support/exchange.h"
#include "tests/support/window_owner.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kAt = 0xb;  // in the far region, whose base makes it a multiple of 8

// The left one asks, the right one has the memory.
struct Atomics : Exchange {
  explicit Atomics(const TestbedOptions& options = options_for("dc-25g"))
      : Exchange(20'000, {}, options) {}

  static void set(End& end, uint64_t value) {
    Bytes bytes(8);
    std::memcpy(bytes.data(), &value, 8);
    end.rnic.write(end.far, kAt, bytes);
  }
  static uint64_t number(End& end, const Region& region, uint64_t offset) {
    const Bytes bytes = end.rnic.read(region, offset, 8);
    uint64_t value = 0;
    std::memcpy(&value, bytes.data(), 8);
    return value;
  }
  exrnic_sge slot(End& end, uint64_t offset) { return element(end.near, offset, 8); }
};

TEST_CASE("fetch-and-add adds, and brings what was there before") {
  Atomics pair;
  Atomics::set(pair.right, 0xffff'ffff'0000'0001);
  pair.left.post(fetch_add_of(pair.slot(pair.left, 3), kAt, 0x1'0000'0002));
  const exrnic_cqe cqe = pair.left.wait();
  CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(cqe.opcode == EXRNIC_WQE_OPCODE_FETCH_ADD);
  CHECK(cqe.byte_length == 8);
  CHECK(Atomics::number(pair.left, pair.left.near, 3) == 0xffff'ffff'0000'0001);
  CHECK(Atomics::number(pair.right, pair.right.far, kAt) == 3);
  CHECK(pair.right.rnic.counter(EXRNIC_COUNTER_ATOMICS_SERVED) == 1);
  CHECK(pair.right.rnic.counter(EXRNIC_COUNTER_READS_SERVED) == 0);
  pair.expect_nothing_refused();
  pair.rest();
}

TEST_CASE("a queue pair of the own node executes atomics like that of another one") {
  Atomics pair;
  End& end = pair.right;
  end.rnic.stop(end.qp.qpn);
  end.rnic.modify(end.qp.qpn, EXRNIC_QP_STATE_RESET);
  end.rnic.connect(end.qp, end.rnic.node(), end.qp.qpn);
  Atomics::set(end, 5);
  for (uint64_t i = 0; i < 10; ++i) {
    end.post(fetch_add_of(pair.slot(end, 8 * i), kAt, 3));
    CHECK(end.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(Atomics::number(end, end.near, 8 * i) == 5 + 3 * i);
  }
  CHECK(Atomics::number(end, end.far, kAt) == 35);
  CHECK(end.rnic.counter(EXRNIC_COUNTER_ATOMICS_SERVED) == 10);
}

TEST_CASE("compare-and-swap swaps only what is equal, and always brings what was there") {
  Atomics pair;
  Atomics::set(pair.right, 0x1122'3344'5566'7788);
  pair.left.post(compare_swap_of(pair.slot(pair.left, 0), kAt, 0x1122'3344'5566'7789, 1));
  pair.left.post(compare_swap_of(pair.slot(pair.left, 8), kAt, 0x1122'3344'5566'7788, 2));
  pair.left.post(compare_swap_of(pair.slot(pair.left, 16), kAt, 2, 0xffff'0000'ffff'0000));
  const uint64_t found[] = {0x1122'3344'5566'7788, 0x1122'3344'5566'7788, 2};
  for (uint32_t i = 0; i < 3; ++i) {
    const exrnic_cqe cqe = pair.left.wait();
    CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(cqe.opcode == EXRNIC_WQE_OPCODE_COMPARE_SWAP);
    CHECK(Atomics::number(pair.left, pair.left.near, 8 * i) == found[i]);
  }
  CHECK(Atomics::number(pair.right, pair.right.far, kAt) == 0xffff'0000'ffff'0000);
}

TEST_CASE("an atomic sees the PUSH before it, and a PULL behind it sees the atomic") {
  Atomics pair;
  pair.left.rnic.write(pair.left.near, 100, Bytes{5, 0, 0, 0, 0, 0, 0, 0});
  pair.left.rnic.put(pair.left.qp, push_of({element(pair.left.near, 100, 8)}, kAt));
  pair.left.rnic.put(pair.left.qp, fetch_add_of(pair.slot(pair.left, 0), kAt, 7));
  pair.left.rnic.put(pair.left.qp, pull_of({element(pair.left.near, 8, 8)}, kAt));
  pair.left.rnic.ring(pair.left.qp);
  for (int i = 0; i < 3; ++i) CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(Atomics::number(pair.left, pair.left.near, 0) == 5);
  CHECK(Atomics::number(pair.left, pair.left.near, 8) == 12);
}

// A slow bus: what is read has left memory long before it comes.
TEST_CASE("an atomic sees the PUSH before it, also if one of another queue pair is under way") {
  TestbedOptions options = options_for("dc-25g");
  options.profile.pcie.latency_ns = 10'000;
  Atomics pair(options);
  QueuePairOptions more;
  more.recv_cq = &pair.left.recv_cq;
  QueuePair second = pair.left.rnic.create_qp(30, End::kPage, End::kPd, pair.left.cq, more);
  more.recv_cq = &pair.right.recv_cq;
  QueuePair peer = pair.right.rnic.create_qp(31, End::kPage, End::kPd, pair.right.cq, more);
  pair.left.rnic.connect(second, 1, 31);
  pair.right.rnic.connect(peer, 0, 30);
  pair.left.rnic.post(second, fetch_add_of(pair.slot(pair.left, 16), kAt + 16, 0));  // they meet
  CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  pair.left.post(fetch_add_of(pair.slot(pair.left, 16), kAt + 16, 0));
  CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  Atomics::set(pair.right, 1);
  pair.left.rnic.put(pair.left.qp, fetch_add_of(pair.slot(pair.left, 0), kAt, 0));
  pair.left.rnic.put(second, inlined(push_of({}, kAt), Bytes{50, 0, 0, 0, 0, 0, 0, 0}));
  pair.left.rnic.put(second, fetch_add_of(pair.slot(pair.left, 8), kAt, 7));
  pair.left.rnic.ring(pair.left.qp);
  pair.left.rnic.ring(second);
  for (int i = 0; i < 3; ++i) CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CAPTURE(Atomics::number(pair.left, pair.left.near, 0));
  CHECK(Atomics::number(pair.left, pair.left.near, 8) == 50);
  CHECK(Atomics::number(pair.right, pair.right.far, kAt) == 57);
}

TEST_CASE("atomics behind one that is refused change nothing, however many are on their way") {
  Atomics pair;
  Atomics::set(pair.right, 41);
  Work refused = fetch_add_of(pair.slot(pair.left, 0), kAt, 1);
  refused.remote_stag = kFarStag ^ 1;
  pair.left.rnic.put(pair.left.qp, refused);
  for (uint64_t i = 1; i < 30; ++i)
    pair.left.rnic.put(pair.left.qp, fetch_add_of(pair.slot(pair.left, 8 * i), kAt, 1));
  pair.left.rnic.ring(pair.left.qp);
  for (int i = 0; i < 30; ++i) CHECK(pair.left.wait().status != EXRNIC_CQE_STATUS_SUCCESS);
  pair.rest();
  CHECK(Atomics::number(pair.right, pair.right.far, kAt) == 41);
}

TEST_CASE("the old value may lie across two pages") {
  Atomics pair;
  Atomics::set(pair.right, 0x0102'0304'0506'0708);
  for (uint64_t offset = 0; offset < 8; ++offset) {
    const uint64_t at = 4096 - (kNearBase & 4095) - offset;
    pair.left.post(fetch_add_of(pair.slot(pair.left, at), kAt, 0));
    CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(Atomics::number(pair.left, pair.left.near, at) == 0x0102'0304'0506'0708);
  }
}

// Every value that one number has had came to somebody once.
void count_together(const TestbedOptions& options, uint32_t each) {
  Atomics pair(options);
  for (End* end : {&pair.left, &pair.right}) end->rnic.write_register(EXRNIC_REG_RTO_CYCLES, 4096);
  QueuePairOptions more;
  more.recv_cq = &pair.left.recv_cq;
  QueuePair second = pair.left.rnic.create_qp(30, End::kPage, End::kPd, pair.left.cq, more);
  more.recv_cq = &pair.right.recv_cq;
  QueuePair peer = pair.right.rnic.create_qp(31, End::kPage, End::kPd, pair.right.cq, more);
  pair.left.rnic.connect(second, 1, 31);
  pair.right.rnic.connect(peer, 0, 30);
  for (uint32_t i = 0; i < each; ++i) {
    pair.left.rnic.put(pair.left.qp, fetch_add_of(pair.slot(pair.left, 16 * i), kAt, 1));
    pair.left.rnic.put(second, fetch_add_of(pair.slot(pair.left, 16 * i + 8), kAt, 1));
  }
  pair.left.rnic.ring(pair.left.qp);
  pair.left.rnic.ring(second);
  for (uint32_t i = 0; i < 2 * each; ++i)
    REQUIRE(pair.left.wait(100'000'000).status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(Atomics::number(pair.right, pair.right.far, kAt) == 2 * each);
  std::set<uint64_t> seen;
  for (uint32_t i = 0; i < 2 * each; ++i)
    seen.insert(Atomics::number(pair.left, pair.left.near, 8 * i));
  CHECK(seen.size() == 2 * each);
  CHECK(*seen.rbegin() == 2 * each - 1);
  CHECK(pair.right.rnic.counter(EXRNIC_COUNTER_ATOMICS_SERVED) == 2 * each);
}

TEST_CASE("atomics of two queue pairs on one number each take effect exactly once") {
  count_together(options_for("dc-25g"), 30);
}

void count_with_fault(Fault fault, unsigned towards, uint64_t frame) {
  INFO("fault " << static_cast<int>(fault) << " of frame " << frame << " to node " << towards);
  TestbedOptions options = options_for("dc-25g");
  options.faults_towards[towards].script[frame] = fault;
  count_together(options, 2);
}

TEST_CASE("any one frame of atomics may be lost, or come twice: each takes effect exactly once") {
  for (const unsigned towards : {0u, 1u}) {
    count_with_fault(Fault::kDrop, towards, 1);
    count_with_fault(Fault::kDrop, towards, 3);
    count_with_fault(Fault::kDuplicate, towards, 2);
  }
}

TEST_CASE("any one fault at any one frame of atomics leaves each exactly once", "[.soak]") {
  for (const Fault fault : {Fault::kDrop, Fault::kDuplicate})
    for (const unsigned towards : {0u, 1u})
      for (uint64_t frame = 0; frame < 8; ++frame) count_with_fault(fault, towards, frame);
}

struct Refusal {
  const char* name;
  uint32_t stag;
  uint64_t to;
  uint16_t code;
};

TEST_CASE("an atomic that is not granted changes nothing, and has its terminate code") {
  const Refusal cases[] = {
      {"not at a multiple of 8", kFarStag, kFarBase + kAt + 4, EXRNIC_TERM_CODE_STREAM},
      {"another key", kFarStag ^ 1, kFarBase + kAt, EXRNIC_TERM_CODE_RDMAP_STAG},
      {"without a right", kNearStag, kNearBase + 1, EXRNIC_TERM_CODE_ACCESS},
      {"half outside", kFarStag, kFarBase - 5, EXRNIC_TERM_CODE_RDMAP_BOUNDS},
  };
  for (const Refusal& one : cases) {
    INFO(one.name);
    Atomics pair;
    Atomics::set(pair.right, 41);
    Work work = fetch_add_of(pair.slot(pair.left, 0), kAt, 1);
    work.remote_stag = one.stag;
    work.remote_to = one.to;
    pair.left.post(work);
    const exrnic_cqe cqe = pair.left.wait();
    CHECK(cqe.status != EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(cqe.detail == one.code);
    CHECK(Atomics::number(pair.right, pair.right.far, kAt) == 41);
    CHECK(pair.right.state() == EXRNIC_QP_STATE_ERROR);
    CHECK(pair.right.rnic.counter(EXRNIC_COUNTER_ATOMICS_SERVED) == 0);
    pair.rest();
  }
}

TEST_CASE("atomics by a memory window are executed for the peer of its queue pair alone") {
  Atomics pair;
  WindowOwner owner(pair.right);
  constexpr uint64_t kPlace = WindowOwner::kFirst + 12;  // a multiple of 8
  static_assert(kPlace % 8 == 0);
  const auto put = [&](uint64_t value) {
    Bytes bytes(8);
    std::memcpy(bytes.data(), &value, 8);
    pair.right.rnic.write(owner.region, kPlace - WindowOwner::kBase, bytes);
  };
  const auto got = [&] {
    return Atomics::number(pair.right, owner.region, kPlace - WindowOwner::kBase);
  };
  const auto add = [&] { return owner.by_window(fetch_add_of(pair.slot(pair.left, 0), 0, 5), 12); };
  put(100);
  SECTION("granted") {
    owner.must_bind(owner.bind(EXRNIC_ACCESS_REMOTE_ATOMIC));
    pair.left.post(add());
    CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(Atomics::number(pair.left, pair.left.near, 0) == 100);
    CHECK(got() == 105);
  }
  SECTION("without that right") {
    owner.must_bind(owner.bind(EXRNIC_ACCESS_REMOTE_WRITE));
    pair.left.post(add());
    CHECK(pair.left.wait().detail == EXRNIC_TERM_CODE_ACCESS);
    CHECK(got() == 100);
  }
  SECTION("by another queue pair") {
    owner.must_bind(owner.bind(EXRNIC_ACCESS_REMOTE_ATOMIC));
    constexpr uint32_t kOther = 55;
    QueuePair left = pair.left.rnic.create_qp(kOther, End::kPage, End::kPd, pair.left.cq);
    QueuePair right = pair.right.rnic.create_qp(kOther, End::kPage, End::kPd, pair.right.cq);
    pair.left.rnic.connect(left, 1, kOther);
    pair.right.rnic.connect(right, 0, kOther);
    pair.left.rnic.post(left, add());
    CHECK(pair.left.wait().detail == EXRNIC_TERM_CODE_RDMAP_STREAM);
    CHECK(got() == 100);
  }
}

TEST_CASE("a malformed atomic is not sent") {
  Atomics pair;
  Work work = fetch_add_of(pair.slot(pair.left, 0), kAt, 1);
  exrnic_cqe_status status = EXRNIC_CQE_STATUS_LOC_QP_OP_ERR;
  SECTION("without an element") { work.elements.clear(); }
  SECTION("of 4 bytes") {
    work.elements[0].length = 4;
    status = EXRNIC_CQE_STATUS_LOC_LEN_ERR;
  }
  SECTION("solicited") { work.flags |= EXRNIC_WQE_FLAGS_SOLICITED; }
  SECTION("with immediate data") { work.imm_data = 1; }
  SECTION("to memory that may not be written") {
    work.elements[0].stag ^= 1;
    status = EXRNIC_CQE_STATUS_LOC_PROT_ERR;
  }
  pair.left.post(work);
  CHECK(pair.left.wait().status == status);
  CHECK(pair.right.rnic.counter(EXRNIC_COUNTER_ATOMICS_SERVED) == 0);
}

}  // namespace
}  // namespace exrnic::testing

// SPDX-License-Identifier: BSD-2-Clause
// SEND and its kinds, receives, and invalidation.
#include "tests/support/exchange.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kVictimStag = 0x0002'22'0c;
constexpr uint64_t kVictimBase = 0x4400'0000'0000;
constexpr uint32_t kPage = 4096;

Region victim_of(End& end, uint32_t access = EXRNIC_ACCESS_REMOTE_WRITE) {
  return end.rnic.create_region(kVictimStag, End::kPd, kVictimBase, kPage, access);
}

Work send_invalidate_of(const Elements& elements, uint32_t stag) {
  return with_imm(send_of(elements), EXRNIC_WQE_OPCODE_SEND_INVALIDATE, stag);
}

TEST_CASE("a solicited message is one at the receiver, whatever its kind") {
  Exchange e;
  victim_of(e.right);
  const Elements eight{element(e.left.near, 0, 8)};
  const Work works[] = {
      send_of(eight),
      with_imm(send_of(eight), EXRNIC_WQE_OPCODE_SEND_IMM, 5),
      with_imm(push_of(eight, 0), EXRNIC_WQE_OPCODE_PUSH_IMM, 6),
      send_invalidate_of(eight, kVictimStag),
  };
  const uint8_t flags[] = {0, EXRNIC_CQE_FLAGS_IMM, EXRNIC_CQE_FLAGS_IMM | EXRNIC_CQE_FLAGS_WRITTEN,
                           EXRNIC_CQE_FLAGS_INVALIDATED};
  for (const uint8_t solicited : {uint8_t{EXRNIC_WQE_FLAGS_SOLICITED}, uint8_t{0}})
    for (size_t i = 0; i < std::size(works); ++i) {
      if (!solicited && i == 3) continue;  // the victim is gone
      INFO("kind " << i << " solicited " << unsigned{solicited});
      Work work = works[i];
      work.flags |= solicited;
      e.right.receive({element(e.right.near, 0, 8)});
      e.left.post(work);
      CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
      const exrnic_cqe cqe = e.right.wait_receive();
      CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
      CHECK(cqe.flags == (flags[i] | (solicited ? EXRNIC_CQE_FLAGS_SOLICITED : 0)));
      CHECK(cqe.imm_data == work.imm_data);
    }
}

TEST_CASE("a receive with more room than the message keeps the rest of its bytes") {
  Exchange e;
  std::mt19937_64 random(31);
  const Bytes before = random_bytes(random, 3000), data = random_bytes(random, 1500);
  const Elements room = scattered(e.right.near, 3000, 7);
  e.right.write(e.right.near, room, before);
  e.left.rnic.write(e.left.near, 0, data);
  e.right.receive(room);
  e.left.post(send_of({element(e.left.near, 0, 1500)}));
  CHECK(e.right.wait_receive().byte_length == 1500);
  Bytes expected = before;
  std::copy(data.begin(), data.end(), expected.begin());
  CHECK(difference(e.right.read(e.right.near, room), expected) == "");
}

TEST_CASE("messages without bytes take receives without elements") {
  Exchange e;
  for (int i = 0; i < 3; ++i) e.right.receive({});
  e.left.post(send_of({}));
  e.left.post(with_imm(push_of({}, 0), EXRNIC_WQE_OPCODE_PUSH_IMM, 77));
  e.left.post(with_imm(send_of({}), EXRNIC_WQE_OPCODE_SEND_IMM, 78));
  for (uint32_t i = 0; i < 3; ++i) {
    CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    const exrnic_cqe cqe = e.right.wait_receive();
    CHECK(cqe.byte_length == 0);
    CHECK(cqe.wqe_index == i);
    CHECK(cqe.imm_data == (i == 0 ? 0 : 76 + i));
  }
}

TEST_CASE("messages meet receives in the order of posting, both ways at once") {
  Exchange e;
  constexpr uint32_t kMessages = 30;
  End* ends[2] = {&e.left, &e.right};
  for (End* end : ends)
    for (uint32_t i = 0; i < kMessages; ++i) {
      end->rnic.write(end->near, 64 * i, Bytes(64, static_cast<uint8_t>(i)));
      end->receive({element(end->near, 10'000 + 64 * i, 64)});
    }
  for (End* end : ends) {
    for (uint32_t i = 0; i < kMessages; ++i) {
      Work work = send_of({element(end->near, 64 * i, 1 + i)});
      if (i + 1 < kMessages) work.flags = 0;
      end->rnic.put(end->qp, work);
    }
    end->rnic.ring(end->qp);
  }
  for (End* end : ends) {
    CHECK(end->wait().wqe_index == kMessages - 1);
    for (uint32_t i = 0; i < kMessages; ++i) {
      const exrnic_cqe cqe = end->wait_receive();
      REQUIRE(cqe.wqe_index == i);
      REQUIRE(cqe.byte_length == 1 + i);
      const Bytes got = end->rnic.read(end->near, 10'000 + 64 * i, 1 + i);
      REQUIRE(difference(got, Bytes(1 + i, static_cast<uint8_t>(i))) == "");
    }
    CHECK(end->rnic.counter(EXRNIC_COUNTER_RECVS) == kMessages);
  }
}

TEST_CASE("a receive completes behind its bytes") {
  Exchange e;
  e.right.receive({element(e.right.near, 0, 5000)});
  e.left.post(send_of({element(e.left.near, 0, 5000)}));
  e.right.wait_receive();
  const auto& writes = e.right.rnic.host().writes();
  size_t bytes = 0;
  for (size_t i = 0; i + 1 < writes.size(); ++i) bytes += writes[i].data.size();
  CHECK(bytes == 5000);
  CHECK(writes.back().data.size() == sizeof(exrnic_cqe));
}

TEST_CASE(
    "the peer's STag that a message invalidates is of no use to anyone, until its driver frees "
    "it") {
  Exchange e;
  const Region victim = victim_of(e.right);
  const auto op = EXRNIC_MBOX_OP_REGISTER_MR;
  exrnic_mbox_register_mr again{};
  again.stag = kVictimStag;
  again.pd = End::kPd;
  again.base = kVictimBase;
  again.length = kPage;
  again.pbl_address = victim.memory.pbl;
  again.access = EXRNIC_ACCESS_REMOTE_WRITE;
  again.page_shift = EXRNIC_PAGE_SHIFT;

  e.right.receive({element(e.right.near, 0, 3000)});
  e.left.post(send_invalidate_of({element(e.left.near, 0, 3000)}, kVictimStag));
  CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  const exrnic_cqe cqe = e.right.wait_receive();
  CHECK(cqe.byte_length == 3000);
  CHECK(cqe.flags == EXRNIC_CQE_FLAGS_INVALIDATED);
  CHECK(cqe.imm_data == kVictimStag);
  CHECK(e.right.rnic.command(op, again) == EXRNIC_MBOX_STATUS_BAD_STATE);

  Work push = push_of({element(e.left.near, 0, 8)}, 0);
  push.remote_stag = kVictimStag;
  push.remote_to = kVictimBase;
  e.left.post(push);
  const exrnic_cqe refused = e.left.wait();
  CHECK(refused.status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR);
  CHECK(refused.detail == EXRNIC_TERM_CODE_TAGGED_STAG);
  e.right.rnic.must(EXRNIC_MBOX_OP_INVALIDATE_MR, exrnic_mbox_object{kVictimStag});
  CHECK(e.right.rnic.command(op, again) == EXRNIC_MBOX_STATUS_OK);
}

TEST_CASE("a local invalidation comes behind all work before it, and takes effect at once") {
  Exchange e;
  const Region victim = victim_of(e.left, EXRNIC_ACCESS_LOCAL_WRITE);
  std::mt19937_64 random(33);
  const Bytes data = random_bytes(random, kPage);
  e.left.rnic.write(victim, 0, data);
  e.right.rnic.write(e.right.far, 9000, data);
  e.left.rnic.put(e.left.qp, push_of({element(victim, 0, kPage)}, 0));
  e.left.rnic.put(e.left.qp, pull_of({element(victim, 0, kPage)}, 9000));
  e.left.rnic.put(e.left.qp, push_of({element(victim, 0, kPage)}, 5000));
  e.left.rnic.put(e.left.qp, local_invalidate_of(kVictimStag));
  e.left.rnic.put(e.left.qp, push_of({element(victim, 0, 1)}, 0));
  e.left.rnic.ring(e.left.qp);
  for (uint32_t i = 0; i < 4; ++i) {
    const exrnic_cqe cqe = e.left.wait();
    CHECK(cqe.wqe_index == i);
    CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  CHECK(difference(e.right.rnic.read(e.right.far, 5000, kPage), data) == "");
}

TEST_CASE("a local invalidation of what is not there, or not of the domain, fails") {
  for (const uint32_t stag : {kVictimStag ^ 1, kVictimStag + 0x100, kSinkStag}) {
    INFO("STag " << stag);
    Exchange e;
    victim_of(e.left);
    e.left.rnic.create_region(kSinkStag, End::kPd + 1, kSinkBase, kPage, kAllRights);
    e.left.post(local_invalidate_of(stag));
    const exrnic_cqe cqe = e.left.wait();
    CHECK(cqe.status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
    CHECK(cqe.opcode == EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE);
    CHECK(e.left.state() == EXRNIC_QP_STATE_ERROR);
  }
}

TEST_CASE("every kind of work survives a bad link, with its bytes and in its order") {
  TestbedOptions options = options_for("dc-25g");
  options.faults.rates = {0.02, 0.02, 0.02, 0.02, 0.02};
  Exchange e(40'000, {}, options);
  std::mt19937_64 random(34);
  for (int round = 0; round < 12; ++round) {
    const Bytes data = random_bytes(random, 9000), there = random_bytes(random, 9000);
    e.left.rnic.write(e.left.near, 0, data);
    e.right.rnic.write(e.right.far, 20'000, there);
    e.right.receive({element(e.right.near, 0, 9000)});
    e.right.receive({});
    const Elements from{element(e.left.near, 0, 9000)}, to{element(e.left.near, 20'000, 9000)};
    e.left.rnic.put(e.left.qp, with_imm(send_of(from), EXRNIC_WQE_OPCODE_SEND_IMM, 1 + round));
    e.left.rnic.put(e.left.qp, pull_of(to, 20'000));
    e.left.rnic.put(e.left.qp, with_imm(push_of(from, 0), EXRNIC_WQE_OPCODE_PUSH_IMM, 1 + round));
    e.left.rnic.ring(e.left.qp);
    for (int i = 0; i < 3; ++i)
      REQUIRE(e.left.wait(100'000'000).status == EXRNIC_CQE_STATUS_SUCCESS);
    for (int i = 0; i < 2; ++i) {
      const exrnic_cqe cqe = e.right.wait_receive();
      REQUIRE(cqe.byte_length == 9000);
      REQUIRE(cqe.imm_data == static_cast<uint32_t>(1 + round));
    }
    REQUIRE(difference(e.right.rnic.read(e.right.near, 0, 9000), data) == "");
    REQUIRE(difference(e.right.rnic.read(e.right.far, 0, 9000), data) == "");
    REQUIRE(difference(e.left.rnic.read(e.left.near, 20'000, 9000), there) == "");
  }
}

}  // namespace
}  // namespace exrnic::testing

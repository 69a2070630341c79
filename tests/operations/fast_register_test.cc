// SPDX-License-Identifier: BSD-2-Clause
// Regions that work requests register, and work requests or peers invalidate.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <optional>

#include "tests/support/exchange.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kIndex = 0x0003'11;
constexpr uint64_t kBase = 0x5500'0000'0123;
constexpr uint32_t kBytes = 20'000;
constexpr uint64_t kPageSize = 1 << EXRNIC_PAGE_SHIFT;

uint32_t stag_of(uint8_t key) { return kIndex << EXRNIC_STAG_INDEX_SHIFT | key; }

// A region of kind fast, and pages that it may become.
struct Fast {
  explicit Fast(End& owner, uint32_t pd = End::kPd, uint32_t stag = stag_of(0)) : end(owner) {
    exrnic_mbox_register_mr create{};
    create.stag = stag;
    create.pd = pd;
    create.kind = EXRNIC_REGION_KIND_FAST;
    end.rnic.must(EXRNIC_MBOX_OP_REGISTER_MR, create);
  }

  Region pages(uint8_t key) {
    return {stag_of(key), kBase, kBytes,
            end.rnic.pin(kBase % kPageSize, kBytes, DmaRights::kReadWrite)};
  }

  static exrnic_wqe registration(const Region& region, uint32_t access = kAllRights) {
    exrnic_wqe wqe{};
    wqe.opcode = EXRNIC_WQE_OPCODE_FAST_REGISTER;
    wqe.flags = EXRNIC_WQE_FLAGS_SIGNALED;
    wqe.num_slots = 1;
    wqe.imm_data = region.stag;
    wqe.remote_to = region.base;
    wqe.remote_stag = access;
    wqe.sge0_address = region.length;
    wqe.sge0_length = EXRNIC_PAGE_SHIFT;
    wqe.sge1_address = region.memory.pbl;
    return wqe;
  }

  template <typename Request>
  exrnic_cqe do_work(const Request& request) {
    end.rnic.put(end.qp, request);
    end.rnic.ring(end.qp);
    return end.wait();
  }

  End& end;
};

TEST_CASE("a region is registered by a work request, and is local and remote memory") {
  Exchange e;
  Fast fast(e.right);
  const Region region = fast.pages(0x42);
  std::mt19937_64 random(5);
  const Bytes data = random_bytes(random, kBytes);
  e.left.rnic.write(e.left.near, 0, data);

  const exrnic_cqe cqe = fast.do_work(Fast::registration(region));
  CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(cqe.opcode == EXRNIC_WQE_OPCODE_FAST_REGISTER);
  CHECK(cqe.byte_length == 0);

  // Of the peer: PUSH and PULL. Own work: a PUSH from it.
  Work push = push_of({element(e.left.near, 0, kBytes)}, 0);
  push.remote_stag = region.stag;
  push.remote_to = kBase;
  e.left.post(push);
  CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(difference(e.right.rnic.read(region, 0, kBytes), data) == "");
  e.right.post(push_of({element(region, 100, 9000)}, 0));
  CHECK(e.right.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(difference(e.left.rnic.read(e.left.far, 0, 9000),
                   Bytes(data.begin() + 100, data.begin() + 9100)) == "");
}

TEST_CASE("a list that is used again, with the same key, has its new pages") {
  Exchange e;
  Fast fast(e.right);
  Region region = fast.pages(0x42);
  std::mt19937_64 random(6);
  for (int round = 0; round < 12; ++round) {
    CAPTURE(round);
    REQUIRE(fast.do_work(Fast::registration(region)).status == EXRNIC_CQE_STATUS_SUCCESS);
    const Bytes data = random_bytes(random, kBytes);
    e.left.rnic.write(e.left.near, 0, data);
    Work push = push_of({element(e.left.near, 0, kBytes)}, 0);
    push.remote_stag = region.stag;
    push.remote_to = kBase;
    e.left.post(push);
    REQUIRE(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    REQUIRE(difference(e.right.rnic.read(region, 0, kBytes), data) == "");
    REQUIRE(fast.do_work(local_invalidate_of(region.stag)).status == EXRNIC_CQE_STATUS_SUCCESS);
    // Other pages in the same list.
    const Region other = fast.pages(0x42);
    region.memory.pages = other.memory.pages;
    Bytes list(region.memory.pages.size() * EXRNIC_PBL_ENTRY_SIZE);
    std::memcpy(list.data(), region.memory.pages.data(), list.size());
    e.right.rnic.host().poke(region.memory.pbl, list);
  }
}

TEST_CASE("a list that another region had has its new pages") {
  Exchange e;
  Fast fast(e.right);
  constexpr uint32_t kOtherStag = 0x0002'33'01;
  Fast(e.right, End::kPd, kOtherStag);
  const Region first = fast.pages(0x42);
  const auto push = [&](const Region& region, uint64_t from) {
    Work work = push_of({element(e.left.near, from, 4000)}, 0);
    work.remote_stag = region.stag;
    work.remote_to = kBase;
    e.left.post(work);
    REQUIRE(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  };
  std::mt19937_64 random(7);
  const Bytes data = random_bytes(random, 8000);
  e.left.rnic.write(e.left.near, 0, data);
  REQUIRE(fast.do_work(Fast::registration(first)).status == EXRNIC_CQE_STATUS_SUCCESS);
  push(first, 0);
  REQUIRE(fast.do_work(local_invalidate_of(first.stag)).status == EXRNIC_CQE_STATUS_SUCCESS);
  // The other one gets the list of the first, with pages of its own.
  Region second = fast.pages(0);
  second.stag = kOtherStag;
  second.memory.pbl = first.memory.pbl;
  Bytes list(second.memory.pages.size() * EXRNIC_PBL_ENTRY_SIZE);
  std::memcpy(list.data(), second.memory.pages.data(), list.size());
  e.right.rnic.host().poke(second.memory.pbl, list);
  REQUIRE(fast.do_work(Fast::registration(second)).status == EXRNIC_CQE_STATUS_SUCCESS);
  push(second, 4000);
  const Bytes one(data.begin(), data.begin() + 4000), other(data.begin() + 4000, data.end());
  CHECK(difference(e.right.rnic.read(first, 0, 4000), one) == "");
  CHECK(difference(e.right.rnic.read(second, 0, 4000), other) == "");
}

TEST_CASE("what is not registered, or is again with another key, is refused") {
  Exchange e;
  Fast fast(e.right);
  const Region region = fast.pages(0x42);
  const auto push = [&](uint32_t stag) {
    Work work = push_of({element(e.left.near, 0, 100)}, 0);
    work.remote_stag = stag;
    work.remote_to = kBase;
    return work;
  };
  uint32_t stag = region.stag;
  SECTION("never registered") {}
  SECTION("invalidated") {
    REQUIRE(fast.do_work(Fast::registration(region)).status == EXRNIC_CQE_STATUS_SUCCESS);
    REQUIRE(fast.do_work(local_invalidate_of(stag)).status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  SECTION("another key") {
    REQUIRE(fast.do_work(Fast::registration(region)).status == EXRNIC_CQE_STATUS_SUCCESS);
    stag = stag_of(0x43);
  }
  SECTION("without the right") {
    REQUIRE(fast.do_work(Fast::registration(region, EXRNIC_ACCESS_REMOTE_READ)).status ==
            EXRNIC_CQE_STATUS_SUCCESS);
  }
  e.left.post(push(stag));
  CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR);
}

TEST_CASE("a peer's SEND_INVALIDATE ends a registration, and the next one may come") {
  Exchange e;
  Fast fast(e.right);
  for (const uint8_t key : {1, 2, 3}) {
    const Region region = fast.pages(key);
    REQUIRE(fast.do_work(Fast::registration(region)).status == EXRNIC_CQE_STATUS_SUCCESS);
    e.right.receive({element(e.right.near, 0, 100)});
    e.left.post(with_imm(send_of({element(e.left.near, 0, 100)}), EXRNIC_WQE_OPCODE_SEND_INVALIDATE,
                         region.stag));
    CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    const exrnic_cqe got = e.right.wait_receive();
    CHECK(got.flags & EXRNIC_CQE_FLAGS_INVALIDATED);
    CHECK(got.imm_data == region.stag);
  }
}

TEST_CASE("what cannot be registered fails its queue pair, and stays as it was") {
  Exchange e;
  std::optional<Fast> fast;
  uint8_t status = EXRNIC_CQE_STATUS_LOC_PROT_ERR;
  exrnic_wqe work;
  SECTION("pages that the driver has given") {
    fast.emplace(e.right);
    work = Fast::registration(fast->pages(1));
    work.imm_data = kFarStag;
  }
  SECTION("nothing") {
    fast.emplace(e.right);
    work = Fast::registration(fast->pages(1));
    work.imm_data += 1 << EXRNIC_STAG_INDEX_SHIFT;
  }
  SECTION("a region of another domain") {
    fast.emplace(e.right, End::kPd + 1);
    work = Fast::registration(fast->pages(1));
  }
  SECTION("one that is registered") {
    fast.emplace(e.right);
    work = Fast::registration(fast->pages(1));
    REQUIRE(fast->do_work(work).status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  SECTION("no bytes") {
    fast.emplace(e.right);
    work = Fast::registration(fast->pages(1));
    work.sge0_address = 0;
    status = EXRNIC_CQE_STATUS_LOC_QP_OP_ERR;
  }
  SECTION("rights that there are not") {
    fast.emplace(e.right);
    work = Fast::registration(fast->pages(1), 0x100);
    status = EXRNIC_CQE_STATUS_LOC_QP_OP_ERR;
  }
  CHECK(fast->do_work(work).status == status);
  CHECK(e.right.state() == EXRNIC_QP_STATE_ERROR);
  exrnic_mbox_object gone{stag_of(0x99)};  // its key does not count
  CHECK(e.right.rnic.command(EXRNIC_MBOX_OP_INVALIDATE_MR, gone) == EXRNIC_MBOX_STATUS_OK);
}

TEST_CASE("work behind a registration uses it, and the work before it has ended") {
  Exchange e(60'000);
  Fast fast(e.left);
  const Region region = fast.pages(7);
  std::mt19937_64 random(8);
  const Bytes data = random_bytes(random, kBytes), old = random_bytes(random, 20'000);
  e.left.rnic.write(region, 0, data);
  e.left.rnic.write(e.left.near, 0, old);
  e.left.rnic.put(e.left.qp, push_of({element(e.left.near, 0, 20'000)}, 0));
  e.left.rnic.put(e.left.qp, Fast::registration(region));
  e.left.rnic.put(e.left.qp, push_of({element(region, 0, kBytes)}, 20'000));
  e.left.rnic.put(e.left.qp, local_invalidate_of(region.stag));
  e.left.rnic.put(e.left.qp, Fast::registration(region));
  e.left.rnic.ring(e.left.qp);
  for (int i = 0; i < 5; ++i) CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(difference(e.right.rnic.read(e.right.far, 0, 20'000), old) == "");
  CHECK(difference(e.right.rnic.read(e.right.far, 20'000, kBytes), data) == "");
}

}  // namespace
}  // namespace exrnic::testing

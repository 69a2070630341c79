// SPDX-License-Identifier: BSD-2-Clause
// Memory windows: parts of regions for the peer of one queue pair, as long as its owner wants.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <utility>

#include "tests/support/window_owner.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kBytes = WindowOwner::kLength;

// The left one is the peer of the one that has the window.
struct Windowed : Exchange {
  explicit Windowed(uint32_t access = EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_MW_BIND,
                    const QueuePairOptions& options = {},
                    exrnic_region_kind kind = EXRNIC_REGION_KIND_MEMORY_WINDOW)
      : Exchange(20'000, options), owner(right, access, kind) {
    left.rnic.write(left.near, 0, data);
  }

  Work push(uint32_t bytes = kBytes, uint64_t offset = 0) {
    return owner.by_window(push_of({element(left.near, 0, bytes)}, 0), offset);
  }
  Work pull(uint32_t bytes = kBytes, uint64_t offset = 0) {
    return owner.by_window(pull_of({element(left.near, 0, bytes)}, 0), offset);
  }
  exrnic_cqe ask(const Work& work) {
    left.post(work);
    return left.wait();
  }
  void expect_refused(const Work& work, exrnic_term_code code) {
    const Bytes before = right.rnic.read(owner.region, 0, WindowOwner::kBytes);
    const exrnic_cqe cqe = ask(work);
    CHECK(cqe.status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR);
    CHECK(cqe.detail == code);
    CHECK(right.rnic.read(owner.region, 0, WindowOwner::kBytes) == before);
  }
  Bytes owned(uint64_t offset, uint64_t bytes) {
    return right.rnic.read(owner.region, WindowOwner::kFirst - WindowOwner::kBase + offset, bytes);
  }

  std::mt19937_64 random{7};
  Bytes data = random_bytes(random, 20'000);
  WindowOwner owner;
};

TEST_CASE("a peer pushes and pulls by a memory window that is bound, and its owner sees it") {
  Windowed pair;
  const exrnic_cqe bound = pair.owner.do_work(bind_of(pair.owner.bind()));
  CHECK(bound.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(bound.opcode == EXRNIC_WQE_OPCODE_BIND_MW);
  CHECK(bound.byte_length == 0);
  CHECK(pair.ask(pair.push()).status == EXRNIC_CQE_STATUS_SUCCESS);
  const Bytes first(pair.data.begin(), pair.data.begin() + kBytes);
  CHECK(difference(pair.owned(0, kBytes), first) == "");
  pair.left.rnic.write(pair.left.near, 0, Bytes(kBytes, 0));
  CHECK(pair.ask(pair.pull()).status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(difference(pair.left.rnic.read(pair.left.near, 0, kBytes), first) == "");
  pair.expect_nothing_refused();
  pair.rest();
}

TEST_CASE("a memory window covers the bytes and grants the rights of its bind, no more") {
  Windowed pair;
  Bind bind = pair.owner.bind();
  Work work = pair.push(100);
  exrnic_term_code code = EXRNIC_TERM_CODE_TAGGED_BOUNDS;
  SECTION("a byte behind it") { work = pair.push(100, kBytes - 99); }
  SECTION("a byte before it") { work = pair.push(100, ~uint64_t{0}); }
  SECTION("a byte behind it, read") {
    work = pair.pull(100, kBytes - 99);
    code = EXRNIC_TERM_CODE_RDMAP_BOUNDS;
  }
  SECTION("a write of what is to be read") {
    bind.rights = EXRNIC_ACCESS_REMOTE_READ;
    code = EXRNIC_TERM_CODE_ACCESS;
  }
  SECTION("a read of what is to be written") {
    bind.rights = EXRNIC_ACCESS_REMOTE_WRITE;
    work = pair.pull(100);
    code = EXRNIC_TERM_CODE_ACCESS;
  }
  SECTION("the key of before") {
    work.remote_stag ^= 1;
    code = EXRNIC_TERM_CODE_TAGGED_STAG;
  }
  SECTION("its region, which grants peers nothing") {
    work.remote_stag = pair.owner.region.stag;
    code = EXRNIC_TERM_CODE_ACCESS;
  }
  pair.owner.must_bind(bind);
  pair.expect_refused(work, code);
}

TEST_CASE("a memory window is nobody's that is not bound, or has been") {
  Windowed pair;
  SECTION("never bound") {}
  SECTION("invalidated by its owner") {
    pair.owner.must_bind(pair.owner.bind());
    REQUIRE(pair.owner.do_work(local_invalidate_of(pair.owner.stag)).status ==
            EXRNIC_CQE_STATUS_SUCCESS);
  }
  SECTION("invalidated by the driver") {
    pair.owner.must_bind(pair.owner.bind());
    pair.right.rnic.must(EXRNIC_MBOX_OP_INVALIDATE_MR, exrnic_mbox_object{pair.owner.stag ^ 0xff});
  }
  SECTION("bound again with another key") {
    pair.owner.must_bind(pair.owner.bind());
    REQUIRE(pair.owner.do_work(local_invalidate_of(pair.owner.stag)).status ==
            EXRNIC_CQE_STATUS_SUCCESS);
    Bind bind = pair.owner.bind();
    ++bind.stag;
    pair.owner.must_bind(bind);
  }
  pair.expect_refused(pair.push(100), EXRNIC_TERM_CODE_TAGGED_STAG);
}

TEST_CASE("a peer's SEND_INVALIDATE ends a bind, and the next one may come") {
  Windowed pair;
  for (int round = 0; round < 3; ++round) {
    Bind bind = pair.owner.bind();
    if (round == 1) bind.rights = EXRNIC_ACCESS_REMOTE_ATOMIC;
    pair.owner.must_bind(bind);
    if (round != 1) REQUIRE(pair.ask(pair.push()).status == EXRNIC_CQE_STATUS_SUCCESS);
    pair.right.receive({element(pair.right.near, 0, 100)});
    CHECK(pair.ask(with_imm(send_of({element(pair.left.near, 0, 100)}),
                            EXRNIC_WQE_OPCODE_SEND_INVALIDATE, pair.owner.stag))
              .status == EXRNIC_CQE_STATUS_SUCCESS);
    const exrnic_cqe got = pair.right.wait_receive();
    CHECK(got.flags & EXRNIC_CQE_FLAGS_INVALIDATED);
    CHECK(got.imm_data == pair.owner.stag);
  }
  pair.expect_refused(pair.push(100), EXRNIC_TERM_CODE_TAGGED_STAG);
}

// Another queue pair of the same two nodes, and of the same domain.
struct Others {
  static constexpr uint32_t kQpn = 55;

  explicit Others(Windowed& pair)
      : left(pair.left.rnic.create_qp(kQpn, End::kPage, End::kPd, pair.left.cq)),
        right(pair.right.rnic.create_qp(kQpn, End::kPage, End::kPd, pair.right.cq)) {
    pair.left.rnic.connect(left, 1, kQpn);
    pair.right.rnic.connect(right, 0, kQpn);
  }

  template <typename Request>
  exrnic_cqe do_work(Windowed& pair, const Request& request) {
    pair.right.rnic.put(right, request);
    pair.right.rnic.ring(right);
    return pair.right.wait();
  }

  QueuePair left, right;
};

TEST_CASE("peers of another queue pair of the domain have nothing of a memory window") {
  Windowed pair;
  Others others(pair);
  pair.owner.must_bind(pair.owner.bind());
  Work work = pair.push(100);
  exrnic_term_code code = EXRNIC_TERM_CODE_TAGGED_STREAM;
  SECTION("writes") {}
  SECTION("reads") {
    work = pair.pull(100);
    code = EXRNIC_TERM_CODE_RDMAP_STREAM;
  }
  SECTION("invalidates") {
    pair.right.rnic.post_receive(others.right, {});
    work = with_imm(send_of({}), EXRNIC_WQE_OPCODE_SEND_INVALIDATE, pair.owner.stag);
    code = EXRNIC_TERM_CODE_RDMAP_STREAM;
  }
  const Bytes before = pair.owned(0, 100);
  pair.left.rnic.post(others.left, work);
  CHECK(pair.left.wait().detail == code);
  CHECK(pair.owned(0, 100) == before);
  // The other one is none the worse for it.
  CHECK(pair.ask(pair.push()).status == EXRNIC_CQE_STATUS_SUCCESS);
}

TEST_CASE("a memory window ends with the life of its queue pair, and its owner may bind it anew") {
  Windowed pair;
  Others others(pair);
  pair.owner.must_bind(pair.owner.bind());
  for (End* end : {&pair.left, &pair.right}) {
    end->rnic.stop(end->qp.qpn);
    REQUIRE(end->rnic.modify(end->qp.qpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
    end->qp.sq.index = end->qp.rq.index = 0;
  }
  SECTION("reset") {}
  SECTION("another one of its number") {
    for (End* end : {&pair.left, &pair.right}) {
      end->rnic.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{end->qp.qpn});
      QueuePairOptions options;
      options.recv_cq = &end->recv_cq;
      end->qp = end->rnic.create_qp(end->qp.qpn, End::kPage, End::kPd, end->cq, options);
    }
  }
  pair.connect();
  SECTION("the new one has nothing of it") {
    pair.expect_refused(pair.push(100), EXRNIC_TERM_CODE_TAGGED_STREAM);
  }
  SECTION("it is bound to the new one") {
    // By another queue pair, as the old one is no more.
    pair.right.rnic.post(others.right, local_invalidate_of(pair.owner.stag));
    REQUIRE(pair.right.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    pair.owner.must_bind(pair.owner.bind());
    CHECK(pair.ask(pair.push()).status == EXRNIC_CQE_STATUS_SUCCESS);
  }
}

TEST_CASE("a memory window ends with the life of its region") {
  Windowed pair;
  RnicDriver& rnic = pair.right.rnic;
  pair.owner.must_bind(pair.owner.bind());
  REQUIRE(pair.ask(pair.push()).status == EXRNIC_CQE_STATUS_SUCCESS);
  const uint32_t stag = pair.owner.region.stag;
  constexpr uint32_t kAccess = EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_MW_BIND;
  const auto again = [&] {
    return rnic.create_region(stag, End::kPd, WindowOwner::kBase, WindowOwner::kBytes, kAccess);
  };
  SECTION("the driver takes it away") {
    rnic.must(EXRNIC_MBOX_OP_INVALIDATE_MR, exrnic_mbox_object{stag});
  }
  SECTION("and registers another one with that STag") {
    rnic.must(EXRNIC_MBOX_OP_INVALIDATE_MR, exrnic_mbox_object{stag});
    pair.owner.region = again();
  }
  SECTION("256 times over") {
    for (int i = 0; i < 256; ++i) {
      rnic.must(EXRNIC_MBOX_OP_INVALIDATE_MR, exrnic_mbox_object{stag});
      pair.owner.region = again();
    }
  }
  SECTION("a work request invalidates it") {
    REQUIRE(pair.owner.do_work(local_invalidate_of(stag)).status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  pair.expect_refused(pair.push(100), EXRNIC_TERM_CODE_TAGGED_STAG);
}

TEST_CASE("a memory window of a region that a work request registers ends with that registration") {
  Windowed pair;
  constexpr uint32_t kIndex = 0x0003'11;
  exrnic_mbox_register_mr create{};
  create.stag = kIndex << EXRNIC_STAG_INDEX_SHIFT;
  create.pd = End::kPd;
  create.kind = EXRNIC_REGION_KIND_FAST;
  pair.right.rnic.must(EXRNIC_MBOX_OP_REGISTER_MR, create);
  exrnic_wqe registration{};
  registration.opcode = EXRNIC_WQE_OPCODE_FAST_REGISTER;
  registration.flags = EXRNIC_WQE_FLAGS_SIGNALED;
  registration.num_slots = 1;
  registration.imm_data = create.stag | 0x77;
  registration.remote_to = WindowOwner::kBase;
  registration.remote_stag = EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_MW_BIND;
  registration.sge0_address = WindowOwner::kBytes;
  registration.sge0_length = EXRNIC_PAGE_SHIFT;
  registration.sge1_address = pair.owner.region.memory.pbl;
  Bind bind = pair.owner.bind();
  bind.region = registration.imm_data;
  REQUIRE(pair.owner.do_work(registration).status == EXRNIC_CQE_STATUS_SUCCESS);
  pair.owner.must_bind(bind);
  CHECK(pair.ask(pair.push()).status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(pair.owned(0, kBytes) == Bytes(pair.data.begin(), pair.data.begin() + kBytes));
  REQUIRE(pair.owner.do_work(local_invalidate_of(registration.imm_data)).status ==
          EXRNIC_CQE_STATUS_SUCCESS);
  REQUIRE(pair.owner.do_work(registration).status == EXRNIC_CQE_STATUS_SUCCESS);
  pair.expect_refused(pair.push(100), EXRNIC_TERM_CODE_TAGGED_STAG);
}

// One for peers of the whole domain.
struct DomainWindowed : Windowed {
  DomainWindowed()
      : Windowed(EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_MW_BIND, {},
                 EXRNIC_REGION_KIND_DOMAIN_WINDOW) {}
};

TEST_CASE("peers of all queue pairs of a domain push and pull by its window") {
  DomainWindowed pair;
  Others others(pair);
  SECTION("bound by one") { pair.owner.must_bind(pair.owner.bind()); }
  SECTION("bound by the other") {
    REQUIRE(others.do_work(pair, bind_of(pair.owner.bind())).status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  SECTION("bound by one that is no more") {
    REQUIRE(others.do_work(pair, bind_of(pair.owner.bind())).status == EXRNIC_CQE_STATUS_SUCCESS);
    pair.right.rnic.stop(others.right.qpn);
    pair.right.rnic.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{others.right.qpn});
    CHECK(pair.ask(pair.push()).status == EXRNIC_CQE_STATUS_SUCCESS);
    return;
  }
  CHECK(pair.ask(pair.push()).status == EXRNIC_CQE_STATUS_SUCCESS);
  pair.left.rnic.post(others.left, pair.pull(100));
  CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  pair.expect_nothing_refused();
  pair.rest();
}

TEST_CASE("the last bind of a domain's window counts") {
  DomainWindowed pair;
  Bind bind = pair.owner.bind();
  pair.owner.must_bind(bind);
  SECTION("with another key the one of before is gone") {
    ++bind.stag;
    pair.owner.must_bind(bind);
    pair.expect_refused(pair.push(100), EXRNIC_TERM_CODE_TAGGED_STAG);
  }
  SECTION("with the same key other bytes count") {
    bind.length = 99;
    pair.owner.must_bind(bind);
    CHECK(pair.ask(pair.push(99)).status == EXRNIC_CQE_STATUS_SUCCESS);
    pair.expect_refused(pair.push(100), EXRNIC_TERM_CODE_TAGGED_BOUNDS);
  }
  SECTION("one that fails changes nothing") {
    Others others(pair);
    bind.length = WindowOwner::kBytes + 1;
    CHECK(others.do_work(pair, bind_of(bind)).status == EXRNIC_CQE_STATUS_MW_BIND_ERR);
    CHECK(pair.ask(pair.push()).status == EXRNIC_CQE_STATUS_SUCCESS);
  }
}

TEST_CASE("a domain's window is ended by its owner, with whatever key, or by its region") {
  DomainWindowed pair;
  uint32_t stag = pair.owner.stag;
  SECTION("never bound") {}
  SECTION("bound") { pair.owner.must_bind(pair.owner.bind()); }
  SECTION("by another key") {
    pair.owner.must_bind(pair.owner.bind());
    stag ^= 0xff;
  }
  SECTION("by its region") {
    pair.owner.must_bind(pair.owner.bind());
    stag = pair.owner.region.stag;
  }
  REQUIRE(pair.owner.do_work(local_invalidate_of(stag)).status == EXRNIC_CQE_STATUS_SUCCESS);
  pair.expect_refused(pair.push(100), EXRNIC_TERM_CODE_TAGGED_STAG);
}

TEST_CASE("no peer ends a domain's window, and no other domain has anything of it") {
  DomainWindowed pair;
  pair.owner.must_bind(pair.owner.bind());
  SECTION("a SEND_INVALIDATE") {
    pair.right.receive({element(pair.right.near, 0, 100)});
    const exrnic_cqe cqe = pair.ask(with_imm(send_of({element(pair.left.near, 0, 100)}),
                                             EXRNIC_WQE_OPCODE_SEND_INVALIDATE, pair.owner.stag));
    CHECK(cqe.status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR);
    CHECK(cqe.detail == EXRNIC_TERM_CODE_NOT_INVALIDATED);
  }
  SECTION("another domain's bind, invalidation") {
    constexpr uint32_t kQpn = 55;
    QueuePair other = pair.right.rnic.create_qp(kQpn, End::kPage, End::kPd + 1, pair.right.cq);
    pair.right.rnic.connect(other, 0, kQpn);
    SECTION("invalidation") {
      pair.right.rnic.post(other, local_invalidate_of(pair.owner.stag));
      CHECK(pair.right.wait().status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
    }
    SECTION("bind") {
      pair.right.rnic.put(other, bind_of(pair.owner.bind()));
      pair.right.rnic.ring(other);
      CHECK(pair.right.wait().status == EXRNIC_CQE_STATUS_MW_BIND_ERR);
    }
    CHECK(pair.ask(pair.push()).status == EXRNIC_CQE_STATUS_SUCCESS);
  }
}

TEST_CASE("own work has nothing of a memory window") {
  Windowed pair;
  pair.owner.must_bind(pair.owner.bind());
  const exrnic_sge own{WindowOwner::kFirst, 100, pair.owner.stag};
  SECTION("a PUSH from it") {
    CHECK(pair.owner.do_work(push_of({own}, 0)).status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  }
  SECTION("a PULL into it") {
    CHECK(pair.owner.do_work(pull_of({own}, 0)).status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  }
  SECTION("a receive") {
    pair.right.receive({own});
    pair.left.post(send_of({element(pair.left.near, 0, 100)}));
    CHECK(pair.right.wait_receive().status == EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  }
}

TEST_CASE("what cannot be bound fails its queue pair, and stays as it was") {
  uint32_t access = EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_MW_BIND;
  SECTION("of the region") {
    SECTION("no windows on it") { access = EXRNIC_ACCESS_LOCAL_WRITE | kRemoteRights; }
    SECTION("its owner does not write it") { access = EXRNIC_ACCESS_MW_BIND; }
    Windowed pair(access);
    CHECK(pair.owner.do_work(bind_of(pair.owner.bind())).status == EXRNIC_CQE_STATUS_MW_BIND_ERR);
    CHECK(pair.right.state() == EXRNIC_QP_STATE_ERROR);
  }
  SECTION("of the bind") {
    Windowed pair;
    Bind bind = pair.owner.bind();
    uint8_t status = EXRNIC_CQE_STATUS_MW_BIND_ERR;
    SECTION("a byte beyond the region") {
      bind.to = WindowOwner::kBase;
      bind.length = WindowOwner::kBytes + 1;
    }
    SECTION("4 GiB beyond it") { bind.length += uint64_t{1} << 32; }
    SECTION("a byte before it") { bind.to = WindowOwner::kBase - 1; }
    SECTION("another key of the region") { bind.region ^= 1; }
    SECTION("a region as window") { std::swap(bind.stag, bind.region); }
    SECTION("no window") { bind.stag += 1 << EXRNIC_STAG_INDEX_SHIFT; }
    SECTION("a window beyond the table") { bind.stag = EXRNIC_MAX_STAG << EXRNIC_STAG_INDEX_SHIFT; }
    SECTION("a region beyond it") { bind.region = ~0u; }
    SECTION("a window of another domain") {
      bind.stag = create_memory_window(pair.right.rnic, 99, End::kPd + 1);
    }
    SECTION("a region of another domain") {
      bind.region = 0x0002'34'05;
      pair.right.rnic.create_region(bind.region, End::kPd + 1, WindowOwner::kBase,
                                    WindowOwner::kBytes, access);
    }
    SECTION("on a window") {
      pair.owner.must_bind(bind);
      bind.region = bind.stag;
      bind.stag = create_memory_window(pair.right.rnic, 99, End::kPd);
    }
    SECTION("one that is bound") { pair.owner.must_bind(bind); }
    SECTION("no bytes") {
      bind.length = 0;
      status = EXRNIC_CQE_STATUS_LOC_QP_OP_ERR;
    }
    SECTION("more than there are") {
      bind.length = ~uint64_t{0};
      status = EXRNIC_CQE_STATUS_LOC_QP_OP_ERR;
    }
    SECTION("rights of its owner") {
      bind.rights |= EXRNIC_ACCESS_LOCAL_WRITE;
      status = EXRNIC_CQE_STATUS_LOC_QP_OP_ERR;
    }
    SECTION("windows on windows") {
      bind.rights |= EXRNIC_ACCESS_MW_BIND;
      status = EXRNIC_CQE_STATUS_LOC_QP_OP_ERR;
    }
    CHECK(pair.owner.do_work(bind_of(bind)).status == status);
    CHECK(pair.right.state() == EXRNIC_QP_STATE_ERROR);
  }
}

TEST_CASE("a memory window to read needs no right to write of its region") {
  Windowed pair(EXRNIC_ACCESS_MW_BIND);
  pair.owner.must_bind(pair.owner.bind(EXRNIC_ACCESS_REMOTE_READ));
  CHECK(pair.ask(pair.pull()).status == EXRNIC_CQE_STATUS_SUCCESS);
  pair.expect_refused(pair.push(100), EXRNIC_TERM_CODE_ACCESS);
}

TEST_CASE("work behind a bind may tell the peer of it, and the work before it has ended") {
  Windowed pair;
  RnicDriver& rnic = pair.right.rnic;
  pair.left.receive({element(pair.left.near, 0, 4)});
  rnic.put(pair.right.qp, push_of({element(pair.right.near, 0, 20'000)}, 0));
  rnic.put(pair.right.qp, bind_of(pair.owner.bind()));
  rnic.put(pair.right.qp, send_of({element(pair.right.near, 0, 4)}));
  rnic.ring(pair.right.qp);
  for (const uint8_t opcode :
       {EXRNIC_WQE_OPCODE_PUSH, EXRNIC_WQE_OPCODE_BIND_MW, EXRNIC_WQE_OPCODE_SEND}) {
    const exrnic_cqe cqe = pair.right.wait();
    CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(cqe.opcode == opcode);
  }
  REQUIRE(pair.left.wait_receive().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(pair.ask(pair.push()).status == EXRNIC_CQE_STATUS_SUCCESS);
}

TEST_CASE("a queue pair of UC has memory windows, one of UD has none") {
  const exrnic_service service = GENERATE(EXRNIC_SERVICE_UC, EXRNIC_SERVICE_UD);
  Windowed pair;
  QueuePairOptions options;
  options.service = service;
  QueuePair left = pair.left.rnic.create_qp(55, End::kPage, End::kPd, pair.left.cq, options);
  QueuePair right = pair.right.rnic.create_qp(55, End::kPage, End::kPd, pair.right.cq, options);
  const auto bind = [&] {
    pair.right.rnic.put(right, bind_of(pair.owner.bind()));
    pair.right.rnic.ring(right);
    return pair.right.wait().status;
  };
  if (service == EXRNIC_SERVICE_UD) {
    pair.right.rnic.open_datagrams(right, 1);
    CHECK(bind() == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
    return;
  }
  pair.left.rnic.connect(left, 1, 55);
  pair.right.rnic.connect(right, 0, 55);
  REQUIRE(bind() == EXRNIC_CQE_STATUS_SUCCESS);
  pair.left.rnic.post(left, pair.push());
  REQUIRE(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  pair.rest();
  CHECK(pair.owned(0, kBytes) == Bytes(pair.data.begin(), pair.data.begin() + kBytes));
}

TEST_CASE("a memory window is bound to memory that ends with the last byte there is") {
  Windowed pair;
  constexpr uint64_t kEnd = 5000, kBegin = ~uint64_t{0} - (kEnd - 1);
  Bind bind = pair.owner.bind();
  bind.region = 0x0002'34'05;
  const Region region = pair.right.rnic.create_region(
      bind.region, End::kPd, kBegin, kEnd, EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_MW_BIND);
  bind.to = kBegin + 1000;
  bind.length = kEnd - 1000;
  pair.owner.must_bind(bind);
  Work work = pair.push(kEnd - 1000);
  work.remote_to = bind.to;
  CHECK(pair.ask(work).status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(pair.right.rnic.read(region, 1000, kEnd - 1000) ==
        Bytes(pair.data.begin(), pair.data.begin() + kEnd - 1000));
  work = pair.push(2);
  work.remote_to = ~uint64_t{0};
  CHECK(pair.ask(work).detail == EXRNIC_TERM_CODE_TAGGED_WRAP);
}

}  // namespace
}  // namespace exrnic::testing

// SPDX-License-Identifier: BSD-2-Clause
// What a peer refuses, of two nodes that keep to the wire: the terminate code, the status at both
// ends, and what becomes of the work behind. Of a PUSH it is in protection_test.cc, of shared
// receive queues in srq_test.cc.
#include <functional>
#include <string>
#include <utility>

#include "tests/support/exchange.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kForeignStag = 0x0000'09'02;
constexpr uint32_t kQuietStag = 0x0000'0a'03;  // without any right
constexpr uint64_t kBytes = 20'000;

struct Refusal {
  Exchange e;
  std::vector<Bytes> terminates;  // DDP segments, as they came to the left node
  uint64_t last_refusal = 0;      // number of the one that came last

  explicit Refusal(uint64_t bytes = kBytes) : e(bytes) {
    e.right.rnic.create_region(kForeignStag, End::kPd + 1, kFarBase, kBytes, kAllRights);
    e.right.rnic.create_region(kQuietStag, End::kPd, kFarBase, kBytes, 0);
    e.testbed.node(0).mac().observe([this](Mac::Direction direction, const Bytes& wire) {
      const uint8_t* efe = wire.data() + EXRNIC_ETH_BYTES;
      const uint8_t* ddp = efe + EXRNIC_EFE_BYTES;
      const uint64_t length = exrnic_efe_length(efe);
      // It is repeated until it has been heard.
      const uint64_t refusal = exrnic_efe_refusal(efe);
      if (refusal != 0 && std::exchange(last_refusal, refusal) == refusal) return;
      if (direction == Mac::Direction::kReceive && length > 0 && !exrnic_ddp_untagged_t(ddp) &&
          exrnic_ddp_untagged_opcode(ddp) == EXRNIC_RDMAP_OPCODE_TERMINATE)
        terminates.emplace_back(ddp, ddp + length);
    });
  }

  Elements near(uint32_t bytes) const { return {element(e.left.near, 0, bytes)}; }
  void receive(uint32_t room) { e.right.receive({element(e.right.near, 0, room)}); }
  Work pull(uint32_t stag, uint64_t offset = 0) const {
    Work work = pull_of(near(3000), offset);
    work.remote_stag = stag;
    return work;
  }
  Work invalidate(uint32_t stag) const {
    return with_imm(send_of(near(8)), EXRNIC_WQE_OPCODE_SEND_INVALIDATE, stag);
  }
};

struct Case {
  std::string name;
  uint16_t code;
  std::function<Work(Refusal&)> work;
  uint8_t received = EXRNIC_CQE_STATUS_SUCCESS;  // status of a receive that fails with it
};

constexpr uint16_t kQuotesRequest[] = {0x0100, 0x0101, 0x0102, 0x0103, 0x0104, 0x0207};

const std::vector<Case>& pull_cases() {
  static const std::vector<Case> cases = {
      {"an STag with another key", 0x0100, [](Refusal& r) { return r.pull(kFarStag ^ 1); }},
      {"an STag that names no region", 0x0100, [](Refusal& r) { return r.pull(0xffff'ff02); }},
      {"bytes behind the region", 0x0101,
       [](Refusal& r) { return r.pull(kFarStag, kBytes - 2999); }},
      {"bytes before the region", 0x0101,
       [](Refusal& r) { return r.pull(kFarStag, ~uint64_t{0}); }},
      {"a region without the right to read", 0x0102, [](Refusal& r) { return r.pull(kQuietStag); }},
      {"a region of another domain", 0x0103, [](Refusal& r) { return r.pull(kForeignStag); }},
      {"an offset that wraps", 0x0104,
       [](Refusal& r) { return r.pull(kFarStag, ~uint64_t{0} - kFarBase - 100); }},
      {"a PBL that the host took back", 0x0207,
       [](Refusal& r) {
         r.e.right.rnic.host().revoke(r.e.right.far.memory.pbl, EXRNIC_PBL_LINE_SIZE);
         return r.pull(kFarStag);
       }},
  };
  return cases;
}

const std::vector<Case>& send_cases() {
  static const std::vector<Case> cases = {
      {"a receive that is too short", 0x1205,
       [](Refusal& r) {
         r.receive(2999);
         return send_of(r.near(3000));
       },
       EXRNIC_CQE_STATUS_LOC_LEN_ERR},
      {"a receive whose STag is none", 0x0000,
       [](Refusal& r) {
         r.e.right.receive({{kNearBase, 100, kNearStag ^ 1}});
         return send_of(r.near(10));
       },
       EXRNIC_CQE_STATUS_LOC_PROT_ERR},
      {"a receive that leaves its region, if not with this message", 0x0000,
       [](Refusal& r) {
         r.receive(kBytes + 1);
         return send_of(r.near(10));
       },
       EXRNIC_CQE_STATUS_LOC_PROT_ERR},
      {"a receive into memory that may not be written", 0x0000,
       [](Refusal& r) {
         r.e.right.receive({{kFarBase, 100, kQuietStag}});
         return send_of(r.near(10));
       },
       EXRNIC_CQE_STATUS_LOC_PROT_ERR},
      {"a receive whose length is not that of its elements", 0x0000,
       [](Refusal& r) {
         Bytes slots = slots_of(receive_into({element(r.e.right.near, 0, 100)}));
         exrnic_wqe wqe = first_slot(slots);
         ++wqe.length;
         set_first_slot(slots, wqe);
         r.e.right.rnic.put(r.e.right.qp.rq, slots);
         r.e.right.rnic.store_doorbell(End::kPage, EXRNIC_DOORBELL_RQ, Exchange::kRightQpn, 1);
         return send_of(r.near(10));
       },
       EXRNIC_CQE_STATUS_LOC_LEN_ERR},
      {"a work request that is no receive", 0x0000,
       [](Refusal& r) {
         r.e.right.rnic.put(r.e.right.qp.rq, slots_of(send_of({})));
         r.e.right.rnic.store_doorbell(End::kPage, EXRNIC_DOORBELL_RQ, Exchange::kRightQpn, 1);
         return send_of(r.near(10));
       },
       EXRNIC_CQE_STATUS_LOC_QP_OP_ERR},
      {"a receive queue that the host took back", 0x0000,
       [](Refusal& r) {
         r.receive(100);
         r.e.right.rnic.host().revoke(r.e.right.qp.rq.ring.pages[0], 4096);
         return send_of(r.near(10));
       },
       EXRNIC_CQE_STATUS_LOC_QP_OP_ERR},
      {"an STag to invalidate that is none", 0x0100,
       [](Refusal& r) {
         r.receive(100);
         return r.invalidate(kFarStag ^ 1);
       },
       EXRNIC_CQE_STATUS_WR_FLUSH_ERR},
      {"an STag to invalidate of another domain", 0x0103,
       [](Refusal& r) {
         r.receive(100);
         return r.invalidate(kForeignStag);
       },
       EXRNIC_CQE_STATUS_WR_FLUSH_ERR},
      {"an STag to invalidate that is not the peer's to use", 0x0109,
       [](Refusal& r) {
         r.receive(100);
         return r.invalidate(kNearStag);
       },
       EXRNIC_CQE_STATUS_WR_FLUSH_ERR},
  };
  return cases;
}

bool is_access_error(uint16_t code) { return code >> 8 == 0x01; }

void expect_terminate(const Refusal& r, const Case& one, const Work& work) {
  REQUIRE(r.terminates.size() == 1);
  const uint8_t* body = r.terminates[0].data() + EXRNIC_DDP_UNTAGGED_BYTES;
  CHECK(exrnic_ddp_untagged_qn(r.terminates[0].data()) == EXRNIC_TERMINATE_QN);
  CHECK(exrnic_terminate_code(body) == one.code);
  CHECK(exrnic_terminate_m(body) == 1);
  CHECK(exrnic_terminate_d(body) == 1);
  const bool request = work.opcode == EXRNIC_WQE_OPCODE_PULL &&
                       std::count(std::begin(kQuotesRequest), std::end(kQuotesRequest), one.code);
  CHECK(exrnic_terminate_r(body) == request);
  if (!request) return;
  const uint8_t* quoted = body + EXRNIC_TERMINATE_HEADER_OFFSET;
  CHECK(exrnic_ddp_untagged_opcode(quoted) == EXRNIC_RDMAP_OPCODE_READ_REQUEST);
  const uint8_t* read = quoted + EXRNIC_DDP_UNTAGGED_BYTES;
  CHECK(exrnic_read_request_source_stag(read) == work.remote_stag);
  CHECK(exrnic_read_request_source_to(read) == work.remote_to);
  CHECK(exrnic_read_request_sink_stag(read) == kNearStag);
  CHECK(exrnic_read_request_length(read) == 3000);
}

void expect_refused(const Case& one) {
  INFO(one.name);
  Refusal r;
  const Work work = one.work(r);
  const size_t writes = r.e.right.rnic.host().writes().size();
  r.e.left.rnic.put(r.e.left.qp, work);
  r.e.left.rnic.put(r.e.left.qp, send_of({}));
  r.e.left.rnic.ring(r.e.left.qp);
  const exrnic_cqe cqe = r.e.left.wait();
  CHECK(cqe.wqe_index == 0);
  CHECK(cqe.opcode == work.opcode);
  CHECK(cqe.status == (is_access_error(one.code) ? EXRNIC_CQE_STATUS_REM_ACCESS_ERR
                                                 : EXRNIC_CQE_STATUS_REM_OP_ERR));
  CHECK(cqe.detail == one.code);
  CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  if (one.received != EXRNIC_CQE_STATUS_SUCCESS) {
    const exrnic_cqe received = r.e.right.wait_receive();
    CHECK(received.status == one.received);
    CHECK(received.wqe_index == 0);
  }
  r.e.rest();
  CHECK_FALSE(r.e.right.rnic.poll(r.e.right.recv_cq, End::kPage).has_value());
  CHECK(r.e.left.state() == EXRNIC_QP_STATE_ERROR);
  CHECK(r.e.right.state() == EXRNIC_QP_STATE_ERROR);
  CHECK(r.e.right.rnic.host().refused_writes().empty());
  if (one.code == 0x0000)  // of a receive that is unusable not a byte, only its completion
    CHECK(r.e.right.rnic.host().writes().size() == writes + 1);
  expect_terminate(r, one, work);
}

TEST_CASE("a PULL that the peer must not serve ends with the code of RFC 5040, which quotes it") {
  for (const Case& one : pull_cases()) expect_refused(one);
}

TEST_CASE(
    "a message that the peer cannot receive ends with its code, and the receive with its own") {
  for (const Case& one : send_cases()) expect_refused(one);
}

TEST_CASE("a message number that is not the next is refused, as a peer's reset leaves it") {
  for (const bool pull : {false, true}) {
    INFO((pull ? "PULL" : "SEND"));
    Refusal r;
    for (int i = 0; i < 4; ++i) r.receive(100);
    const Work work = pull ? pull_of(r.near(100), 0) : send_of(r.near(100));
    r.e.left.post(work);
    CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    REQUIRE(r.e.left.rnic.modify(Exchange::kLeftQpn, EXRNIC_QP_STATE_RESET) ==
            EXRNIC_MBOX_STATUS_OK);
    r.e.left.qp.sq.index = 0;
    r.e.left.rnic.connect(r.e.left.qp, 1, Exchange::kRightQpn);
    r.e.left.post(work);
    const exrnic_cqe cqe = r.e.left.wait();
    CHECK(cqe.status == EXRNIC_CQE_STATUS_REM_OP_ERR);
    CHECK(cqe.detail == EXRNIC_TERM_CODE_UNTAGGED_MSN);
  }
}

TEST_CASE("a message that its sender's reset cut short leaves its receive to the next one") {
  constexpr uint32_t kLong = 400'000;  // more than can be under way
  Refusal r(kLong);
  r.receive(kLong);
  r.e.left.post(send_of(r.near(kLong)));
  auto& right_host = r.e.right.rnic.host();
  r.e.testbed.run_until([&] { return !right_host.writes().empty(); }, 1'000'000);
  REQUIRE(r.e.left.rnic.modify(Exchange::kLeftQpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
  r.e.rest();
  REQUIRE_FALSE(r.e.right.rnic.poll(r.e.right.recv_cq, End::kPage).has_value());
  r.e.left.qp.sq.index = 0;
  r.e.left.rnic.connect(r.e.left.qp, 1, Exchange::kRightQpn);
  r.e.left.post(send_of(r.near(10)));
  CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  const exrnic_cqe received = r.e.right.wait_receive();
  CHECK(received.status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(received.byte_length == 10);
}

TEST_CASE("a message is placed as far as its last whole segment that the receive has room for") {
  Refusal r;
  std::mt19937_64 random(61);
  const Bytes data = random_bytes(random, 3000);
  r.e.left.rnic.write(r.e.left.near, 0, data);
  r.receive(2500);
  r.e.left.post(send_of(r.near(3000)));
  CHECK(r.e.left.wait().detail == EXRNIC_TERM_CODE_UNTAGGED_TOO_LONG);
  Bytes expected(3000, 0);
  std::copy_n(data.begin(), 2 * kMtu, expected.begin());
  CHECK(difference(r.e.right.rnic.read(r.e.right.near, 0, 3000), expected) == "");
}

}  // namespace
}  // namespace exrnic::testing

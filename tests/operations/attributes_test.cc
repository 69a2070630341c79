// SPDX-License-Identifier: BSD-2-Clause
// Attributes of queue pairs (mbox_modify_qp): what each does to the work of the two ends, and that
// a query tells it.
#include <algorithm>
#include <optional>

#include "tests/support/exchange.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kWrite = EXRNIC_ACCESS_REMOTE_WRITE;
constexpr uint32_t kRead = EXRNIC_ACCESS_REMOTE_READ;
constexpr uint32_t kAtomic = EXRNIC_ACCESS_REMOTE_ATOMIC;

// Two ends whose queue pairs begin anew, with attributes of their own.
struct Restarted {
  Exchange e;
  exrnic_mbox_modify_qp left = change_of(Exchange::kLeftQpn, 1, Exchange::kRightQpn);
  exrnic_mbox_modify_qp right = change_of(Exchange::kRightQpn, 0, Exchange::kLeftQpn);

  explicit Restarted(uint64_t bytes = 20'000, const QueuePairOptions& options = {})
      : e(bytes, options) {}

  static exrnic_mbox_modify_qp change_of(uint32_t qpn, uint32_t dest_node, uint32_t dest_qpn) {
    exrnic_mbox_modify_qp change{};
    change.qpn = qpn;
    change.dest_node = dest_node;
    change.dest_qpn = dest_qpn;
    return change;
  }

  void connect() {
    e.rest();
    for (End* end : {&e.left, &e.right}) {
      REQUIRE(end->rnic.modify(end->qp.qpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
      end->qp.sq.index = end->qp.rq.index = 0;
    }
    for (const auto& [end, change] : {std::pair(&e.left, left), std::pair(&e.right, right)}) {
      to(*end, change, EXRNIC_QP_STATE_INIT, EXRNIC_QP_ATTRIBUTES_ACCESS);
      to(*end, change, EXRNIC_QP_STATE_RTR,
         EXRNIC_QP_ATTRIBUTES_PATH_MTU | EXRNIC_QP_ATTRIBUTES_MAX_READS_IN,
         EXRNIC_QP_ATTRIBUTES_DEST);
      to(*end, change, EXRNIC_QP_STATE_RTS,
         EXRNIC_QP_ATTRIBUTES_MAX_READS_OUT | EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER |
             EXRNIC_QP_ATTRIBUTES_RNR_RETRY | EXRNIC_QP_ATTRIBUTES_TIMEOUT |
             EXRNIC_QP_ATTRIBUTES_RETRY_COUNT);
    }
  }

  // To that state, with those of its attributes that are given in it.
  static void to(End& end, exrnic_mbox_modify_qp change, exrnic_qp_state state, uint32_t of_those,
                 uint32_t needed = 0) {
    change.state = state;
    change.attributes = (change.attributes & of_those) | needed;
    REQUIRE(end.rnic.modify(change) == EXRNIC_MBOX_STATUS_OK);
  }

  // In RTS, and there it stays.
  static void change(End& end, uint32_t attribute, const exrnic_mbox_modify_qp& values) {
    exrnic_mbox_modify_qp change = values;
    change.state = EXRNIC_QP_STATE_RTS;
    change.attributes = attribute;
    REQUIRE(end.rnic.modify(change) == EXRNIC_MBOX_STATUS_OK);
  }

  Elements near(uint32_t bytes, uint32_t offset = 0) const {
    return {element(e.left.near, offset, bytes)};
  }
};

struct Request {
  const char* name;
  uint32_t right;
  Work work;
};

std::vector<Request> requests(const Restarted& r) {
  return {{"PUSH", kWrite, push_of(r.near(3000), 0)},
          {"PULL", kRead, pull_of(r.near(3000), 0)},
          {"atomic", kAtomic, fetch_add_of(element(r.e.left.near, 0, 8), 3, 1)}};
}

TEST_CASE("a query tells all attributes as they were set, and RESET takes them back") {
  Restarted r;
  r.left.attributes = ~0u;
  r.left.access = kRead;
  r.left.path_mtu = 272;
  r.left.max_reads_in = 3;
  r.left.max_reads_out = 2;
  r.left.min_rnr_timer = 12;
  r.left.rnr_retry = 6;
  r.left.timeout = 14;
  r.left.retry_count = 7;
  r.connect();
  RnicDriver& rnic = r.e.left.rnic;
  exrnic_mbox_query_qp now = rnic.query(Exchange::kLeftQpn);
  CHECK(now.state == EXRNIC_QP_STATE_RTS);
  CHECK(now.dest_node == 1);
  CHECK(now.dest_qpn == Exchange::kRightQpn);
  CHECK(now.access == kRead);
  CHECK(now.path_mtu == 272);
  CHECK(now.max_reads_in == 3);
  CHECK(now.max_reads_out == 2);
  CHECK(now.min_rnr_timer == 12);
  CHECK(now.rnr_retry == 6);
  CHECK(now.timeout == 14);
  CHECK(now.retry_count == 7);
  REQUIRE(rnic.modify(Exchange::kLeftQpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
  now = rnic.query(Exchange::kLeftQpn);
  CHECK(now.access == (kWrite | kRead | kAtomic));
  CHECK(now.path_mtu == EXRNIC_MTU_MAX);
  CHECK(now.max_reads_in == EXRNIC_MAX_READS);
  CHECK(now.max_reads_out == EXRNIC_MAX_READS);
  CHECK(now.min_rnr_timer == 0);
  CHECK(now.rnr_retry == 0);
  CHECK(now.timeout == 0);
  CHECK(now.retry_count == 0);
}

TEST_CASE("attributes that a change does not take, or out of range, are refused and change none") {
  Restarted r;
  RnicDriver& rnic = r.e.left.rnic;
  exrnic_mbox_modify_qp change = r.left;
  change.state = EXRNIC_QP_STATE_RTS;
  change.path_mtu = 512;
  change.access = kWrite;
  change.rnr_retry = EXRNIC_RNR_RETRY_ENDLESS + 1;
  change.attributes = EXRNIC_QP_ATTRIBUTES_ACCESS | EXRNIC_QP_ATTRIBUTES_PATH_MTU;
  CHECK(rnic.modify(change) == EXRNIC_MBOX_STATUS_BAD_STATE);
  change.attributes = EXRNIC_QP_ATTRIBUTES_ACCESS | EXRNIC_QP_ATTRIBUTES_RNR_RETRY;
  CHECK(rnic.modify(change) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  change.attributes = EXRNIC_QP_ATTRIBUTES_ACCESS | EXRNIC_QP_ATTRIBUTES_QKEY;
  CHECK(rnic.modify(change) == EXRNIC_MBOX_STATUS_BAD_STATE);
  change.attributes = EXRNIC_QP_ATTRIBUTES_ACCESS | 1u << 31;
  CHECK(rnic.modify(change) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(rnic.query(Exchange::kLeftQpn).access == (kWrite | kRead | kAtomic));
  CHECK(rnic.query(Exchange::kLeftQpn).path_mtu == EXRNIC_MTU_MAX);
}

TEST_CASE("a peer without a right of the queue pair is refused, and no other queue pair is hit") {
  for (size_t i = 0; i < 3; ++i) {
    Restarted r;
    const Request request = requests(r)[i];
    INFO(request.name);
    QueuePair others[2];
    End* ends[2] = {&r.e.left, &r.e.right};
    for (uint32_t side = 0; side < 2; ++side)
      others[side] = ends[side]->rnic.create_qp(90 + side, End::kPage, End::kPd, ends[side]->cq);
    for (uint32_t side = 0; side < 2; ++side)
      ends[side]->rnic.connect(others[side], 1 - side, 91 - side);
    r.right.attributes = EXRNIC_QP_ATTRIBUTES_ACCESS;
    r.right.access = (kWrite | kRead | kAtomic) & ~request.right;
    r.connect();
    const Bytes before = r.e.right.rnic.read(r.e.right.far, 0, 4000);
    r.e.left.post(request.work);
    const exrnic_cqe cqe = r.e.left.wait();
    CHECK(cqe.status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR);
    CHECK(cqe.detail == EXRNIC_TERM_CODE_ACCESS);
    CHECK(r.e.right.state() == EXRNIC_QP_STATE_ERROR);
    CHECK(difference(r.e.right.rnic.read(r.e.right.far, 0, 4000), before) == "");
    r.e.left.rnic.post(others[0], push_of(r.near(64), 0));
    CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    r.e.rest();
    CHECK(r.e.right.rnic.query(91).state == EXRNIC_QP_STATE_RTS);
  }
}

TEST_CASE("each right is for its requests alone; SENDs and what has no bytes need none") {
  Restarted r;
  r.right.attributes = EXRNIC_QP_ATTRIBUTES_ACCESS;
  for (const uint32_t access : {kWrite, kRead, 0u}) {
    r.right.access = access;
    r.connect();
    if (access == kWrite) r.e.left.post(push_of(r.near(3000), 0));
    if (access == kRead) r.e.left.post(pull_of(r.near(3000), 0));
    if (access != 0) CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    r.e.right.receive({element(r.e.right.near, 0, 100)});
    r.e.left.post(send_of(r.near(100)));
    CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(r.e.right.wait_receive().status == EXRNIC_CQE_STATUS_SUCCESS);
    r.e.left.post(push_of({}, 0));
    CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    r.e.left.post(pull_of({}, 0));
    CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  }
}

TEST_CASE("rights that are given in INIT or RTS count from then on, and can be taken back") {
  Restarted r;
  r.right.attributes = EXRNIC_QP_ATTRIBUTES_ACCESS;
  r.right.access = 0;
  r.connect();
  r.right.access = kWrite;
  Restarted::change(r.e.right, EXRNIC_QP_ATTRIBUTES_ACCESS, r.right);
  r.e.left.post(push_of(r.near(3000), 0));
  CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  r.e.rest();
  r.right.access = kRead;
  Restarted::change(r.e.right, EXRNIC_QP_ATTRIBUTES_ACCESS, r.right);
  r.e.left.post(pull_of(r.near(3000), 0));
  CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  r.e.left.post(push_of(r.near(3000), 0));
  CHECK(r.e.left.wait().detail == EXRNIC_TERM_CODE_ACCESS);

  REQUIRE(r.e.left.rnic.modify(Exchange::kLeftQpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
  exrnic_mbox_modify_qp change = r.left;
  change.attributes = EXRNIC_QP_ATTRIBUTES_ACCESS;
  change.state = EXRNIC_QP_STATE_INIT;
  for (const uint32_t access : {kRead, kWrite}) {
    change.access = access;
    CHECK(r.e.left.rnic.modify(change) == EXRNIC_MBOX_STATUS_OK);
    CHECK(r.e.left.rnic.query(Exchange::kLeftQpn).access == access);
  }
}

TEST_CASE("UC: what lacks its right is dropped, and the next message is served") {
  QueuePairOptions options;
  options.service = EXRNIC_SERVICE_UC;
  Restarted r(20'000, options);
  r.right.attributes = EXRNIC_QP_ATTRIBUTES_ACCESS;
  r.right.access = 0;
  r.connect();
  const auto dropped = [&] { return r.e.right.rnic.counter(EXRNIC_COUNTER_UNRELIABLE_DROPPED); };
  const uint64_t before = dropped();
  r.e.left.post(push_of(r.near(3000), 0));
  CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  r.e.right.receive({element(r.e.right.near, 0, 100)});
  r.e.left.post(send_of(r.near(100)));
  CHECK(r.e.right.wait_receive().status == EXRNIC_CQE_STATUS_SUCCESS);
  r.e.rest();
  CHECK(dropped() - before == 3);
  CHECK(r.e.right.state() == EXRNIC_QP_STATE_RTS);
}

TEST_CASE("no segment has more bytes than path MTU and MTU, in messages and answers") {
  Restarted r;
  r.left.attributes = r.right.attributes = EXRNIC_QP_ATTRIBUTES_PATH_MTU;
  r.left.path_mtu = 272;
  r.right.path_mtu = 4096;
  std::vector<uint64_t> most(2);
  for (unsigned node = 0; node < 2; ++node)
    r.e.testbed.node(node).mac().observe([&, node](Mac::Direction direction, const Bytes& wire) {
      const uint8_t* efe = wire.data() + EXRNIC_ETH_BYTES;
      if (direction == Mac::Direction::kTransmit)
        most[node] = std::max<uint64_t>(most[node], exrnic_efe_length(efe));
    });
  r.connect();
  std::mt19937_64 random(7);
  const Bytes data = random_bytes(random, 5000);
  r.e.left.rnic.write(r.e.left.near, 0, data);
  r.e.left.post(push_of(r.near(5000), 0));
  CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(difference(r.e.right.rnic.read(r.e.right.far, 0, 5000), data) == "");
  r.e.left.post(pull_of(r.near(5000, 6000), 0));
  CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(difference(r.e.left.rnic.read(r.e.left.near, 6000, 5000), data) == "");
  CHECK(most[0] == 272 + EXRNIC_DDP_TAGGED_BYTES);
  CHECK(most[1] == EXRNIC_MTU_DEFAULT + EXRNIC_DDP_TAGGED_BYTES);
}

TEST_CASE(
    "no more PULLs are under way than max_reads_out says, and more than max_reads_in are refused") {
  Restarted r(60'000);
  r.left.attributes = EXRNIC_QP_ATTRIBUTES_MAX_READS_OUT;
  r.left.max_reads_out = 2;
  r.right.attributes = EXRNIC_QP_ATTRIBUTES_MAX_READS_IN;
  r.right.max_reads_in = 2;
  r.connect();
  for (uint32_t i = 0; i < 10; ++i)
    r.e.left.rnic.put(r.e.left.qp, pull_of(r.near(3000, 3000 * i), 0));
  r.e.left.rnic.ring(r.e.left.qp);
  for (int i = 0; i < 10; ++i) CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  const Elements three = {element(r.e.left.near, 0, 8), element(r.e.left.near, 8, 8),
                          element(r.e.left.near, 16, 8)};
  r.e.left.post(pull_of(three, 0));
  CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);

  r.left.max_reads_out = 3;
  r.connect();
  r.e.left.post(pull_of(three, 0));
  const exrnic_cqe cqe = r.e.left.wait();
  CHECK(cqe.status != EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(cqe.detail == EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER);
}

TEST_CASE("how often a message comes again can be changed in RTS, as its peer's pause can") {
  Restarted r;
  r.connect();
  r.left.rnr_retry = EXRNIC_RNR_RETRY_ENDLESS;
  r.right.min_rnr_timer = 1;
  Restarted::change(r.e.left, EXRNIC_QP_ATTRIBUTES_RNR_RETRY, r.left);
  Restarted::change(r.e.right, EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER, r.right);
  r.e.left.post(send_of(r.near(100)));
  r.e.testbed.run_until([] { return false; }, 500'000);  // refused a few times
  CHECK_FALSE(r.e.left.rnic.poll(r.e.left.cq, End::kPage).has_value());
  r.e.right.receive({element(r.e.right.near, 0, 100)});
  CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(r.e.left.rnic.counter(EXRNIC_COUNTER_RNR_NAK_RX) > 1);
  r.e.rest();
  r.left.rnr_retry = 0;
  Restarted::change(r.e.left, EXRNIC_QP_ATTRIBUTES_RNR_RETRY, r.left);
  r.e.left.post(send_of(r.near(100)));
  CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_RNR_RETRY_EXC_ERR);
}

// ---- SQD

void to_sqd(End& end, uint32_t attributes = 0, const exrnic_mbox_modify_qp& values = {}) {
  exrnic_mbox_modify_qp change = values;
  change.qpn = end.qp.qpn;
  change.state = EXRNIC_QP_STATE_SQD;
  change.attributes = attributes;
  REQUIRE(end.rnic.modify(change) == EXRNIC_MBOX_STATUS_OK);
}

uint32_t is_draining(End& end) { return end.rnic.query(end.qp.qpn).sq_draining; }

TEST_CASE("a pause lasts as long as the peer asks for, whatever is changed meanwhile") {
  for (const bool drains : {false, true}) {
    INFO((drains ? "SQD and back" : "attributes in RTS"));
    Restarted r;
    r.left.attributes = EXRNIC_QP_ATTRIBUTES_RNR_RETRY;
    r.left.rnr_retry = 2;
    r.right.attributes = EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER;
    r.right.min_rnr_timer = 12;  // 640 us
    r.connect();
    r.e.left.post(send_of(r.near(100)));
    r.e.testbed.run_for(50'000);
    for (uint32_t i = 0; i < 4; ++i) {
      if (drains) to_sqd(r.e.left);
      r.left.timeout = static_cast<uint8_t>(i);
      Restarted::change(r.e.left, EXRNIC_QP_ATTRIBUTES_TIMEOUT, r.left);
      r.e.testbed.run_for(20'000);
    }
    CHECK(r.e.left.rnic.counter(EXRNIC_COUNTER_RNR_NAK_RX) == 1);
    CHECK(r.e.left.state() == EXRNIC_QP_STATE_RTS);
    r.e.right.receive({element(r.e.right.near, 0, 100)});
    CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(r.e.right.wait_receive().status == EXRNIC_CQE_STATUS_SUCCESS);
  }
}

TEST_CASE("in SQD nothing that is posted begins, while the peer is served; in RTS it goes on") {
  Exchange e;
  to_sqd(e.left);
  e.rest();
  CHECK(is_draining(e.left) == 0);
  e.left.post(push_of({element(e.left.near, 0, 3000)}, 0));
  e.left.post(pull_of({element(e.left.near, 0, 3000)}, 0));
  e.left.post(local_invalidate_of(kNearStag));
  e.left.receive({element(e.left.near, 4000, 100)});
  e.right.post(pull_of({element(e.right.near, 0, 3000)}, 0));
  e.right.post(send_of({element(e.right.near, 0, 100)}));
  for (int i = 0; i < 2; ++i) CHECK(e.right.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(e.left.wait_receive().status == EXRNIC_CQE_STATUS_SUCCESS);
  e.rest();
  CHECK_FALSE(e.left.rnic.poll(e.left.cq, End::kPage).has_value());
  CHECK(e.left.rnic.query(e.left.qp.qpn).sq_consumer == 0);
  REQUIRE(e.left.rnic.modify(e.left.qp.qpn, EXRNIC_QP_STATE_RTS) == EXRNIC_MBOX_STATUS_OK);
  for (int i = 0; i < 3; ++i) CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
}

TEST_CASE("attributes are changed in SQD, reads too, and hold in RTS") {
  Restarted r;
  r.connect();
  to_sqd(r.e.left);
  r.e.rest();
  r.left.max_reads_out = 2;
  r.left.rnr_retry = 3;
  to_sqd(r.e.left, EXRNIC_QP_ATTRIBUTES_MAX_READS_OUT | EXRNIC_QP_ATTRIBUTES_RNR_RETRY, r.left);
  const exrnic_mbox_query_qp now = r.e.left.rnic.query(Exchange::kLeftQpn);
  CHECK(now.state == EXRNIC_QP_STATE_SQD);
  CHECK(now.max_reads_out == 2);
  CHECK(now.rnr_retry == 3);
  REQUIRE(r.e.left.rnic.modify(Exchange::kLeftQpn, EXRNIC_QP_STATE_RTS) == EXRNIC_MBOX_STATUS_OK);
  const Elements three = {element(r.e.left.near, 0, 8), element(r.e.left.near, 8, 8),
                          element(r.e.left.near, 16, 8)};
  r.e.left.post(pull_of(three, 0));
  CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
}

TEST_CASE("a send queue drains: what has begun ends well, the rest begins in RTS, all of it once") {
  for (const uint64_t after_ns : {0, 1'000, 3'000, 5'000, 8'000}) {
    for (const bool pulls : {false, true}) {
      CAPTURE(after_ns, pulls);
      constexpr uint32_t kEach = 5'000, kWork = 12;
      Exchange e(kWork * kEach);
      std::mt19937_64 random(5);
      End& from = pulls ? e.right : e.left;
      const Bytes data = random_bytes(random, kWork * kEach);
      from.rnic.write(pulls ? from.far : from.near, 0, data);
      for (uint32_t i = 0; i < kWork; ++i) {
        const Elements near = {element(e.left.near, uint64_t{i} * kEach, kEach)};
        e.left.rnic.put(e.left.qp, pulls ? pull_of(near, i * kEach) : push_of(near, i * kEach));
      }
      e.left.rnic.ring(e.left.qp);
      e.testbed.run_for(after_ns);
      to_sqd(e.left);
      e.testbed.run_until([&] { return is_draining(e.left) == 0; }, 1'000'000);
      REQUIRE(is_draining(e.left) == 0);
      e.testbed.run_for(10'000);
      const uint32_t begun = e.left.rnic.query(e.left.qp.qpn).sq_consumer;
      for (uint32_t i = 0; i < begun; ++i) CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
      CHECK_FALSE(e.left.rnic.poll(e.left.cq, End::kPage).has_value());
      REQUIRE(e.left.rnic.modify(e.left.qp.qpn, EXRNIC_QP_STATE_RTS) == EXRNIC_MBOX_STATUS_OK);
      for (uint32_t i = begun; i < kWork; ++i)
        CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
      End& to = pulls ? e.left : e.right;
      CHECK(difference(to.rnic.read(pulls ? to.near : to.far, 0, kWork * kEach), data) == "");
    }
  }
}

TEST_CASE("a send queue that has drained is told, once for each time that it is to drain") {
  Exchange e;
  EventQueue events = e.left.rnic.create_eq(EXRNIC_EQN_ASYNC, 9);
  const auto drained = [&] {
    e.testbed.run_for(50'000);
    unsigned count = 0;
    while (const auto eqe = e.left.rnic.poll(events)) {
      CHECK(eqe->event_type == EXRNIC_EQE_TYPE_SQ_DRAINED);
      CHECK(eqe->number == Exchange::kLeftQpn);
      ++count;
    }
    e.left.rnic.ring(events);
    return count;
  };
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < round; ++i) e.left.post(inlined(push_of({}, 0), Bytes(8)));
    CHECK(e.left.rnic.modify(Exchange::kLeftQpn, EXRNIC_QP_STATE_SQD) == EXRNIC_MBOX_STATUS_OK);
    CHECK(drained() == 1);
    CHECK(drained() == 0);
    CHECK(e.left.rnic.modify(Exchange::kLeftQpn, EXRNIC_QP_STATE_RTS) == EXRNIC_MBOX_STATUS_OK);
    CHECK(drained() == 0);
    for (int i = 0; i < round; ++i) CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  }
}

TEST_CASE("in SQD a message that finds no receive comes again until it ends") {
  Restarted r;
  r.left.attributes = EXRNIC_QP_ATTRIBUTES_RNR_RETRY;
  r.left.rnr_retry = EXRNIC_RNR_RETRY_ENDLESS;
  r.right.attributes = EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER;
  r.right.min_rnr_timer = 1;
  r.connect();
  r.e.left.post(send_of(r.near(3000)));
  r.e.left.post(push_of(r.near(3000), 0));
  r.e.testbed.run_for(20'000);
  to_sqd(r.e.left);
  r.e.testbed.run_for(100'000);
  CHECK(is_draining(r.e.left) == 1);
  r.e.right.receive({element(r.e.right.near, 0, 3000)});
  CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  r.e.rest();
  CHECK(is_draining(r.e.left) == 0);
  CHECK_FALSE(r.e.left.rnic.poll(r.e.left.cq, End::kPage).has_value());
  REQUIRE(r.e.left.rnic.modify(Exchange::kLeftQpn, EXRNIC_QP_STATE_RTS) == EXRNIC_MBOX_STATUS_OK);
  CHECK(r.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
}

TEST_CASE("a queue pair that fails in SQD flushes what is posted") {
  Exchange e;
  to_sqd(e.left);
  e.left.post(push_of({element(e.left.near, 0, 100)}, 0));
  REQUIRE(e.left.rnic.modify(e.left.qp.qpn, EXRNIC_QP_STATE_ERROR) == EXRNIC_MBOX_STATUS_OK);
  CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  CHECK(is_draining(e.left) == 0);
}

// Four PUSHes, PULLs or SENDs, and SQD at some time of their way.
void drain_under_way(Exchange& e, int kind, uint64_t after) {
  for (uint32_t i = 0; i < 4; ++i) {
    const Elements near = {element(e.left.near, 64 * i, 64)};
    if (kind == 2) e.right.receive({element(e.right.near, 0, 64)});
    e.left.rnic.put(e.left.qp, kind == 0   ? push_of(near, 0)
                               : kind == 1 ? pull_of(near, 0)
                                           : send_of(near));
  }
  e.left.rnic.ring(e.left.qp);
  e.testbed.run_for(after);
  to_sqd(e.left);
}

TEST_CASE("all completions are written when a send queue tells that it has drained") {
  for (const int kind : {0, 1, 2}) {
    for (const bool by_event : {false, true}) {
      for (const uint64_t after : {0, 500, 2'000, 4'000}) {
        CAPTURE(kind, by_event, after);
        Exchange e;
        EventQueue events = e.left.rnic.create_eq(EXRNIC_EQN_ASYNC, 9);
        drain_under_way(e, kind, after);
        const auto has_drained = [&] {
          return by_event ? e.left.rnic.poll(events).has_value() : is_draining(e.left) == 0;
        };
        for (int looks = 0; !has_drained(); ++looks) {
          REQUIRE(looks < 4'000);
          if (by_event) e.testbed.run_for(50);
        }
        while (e.left.rnic.poll(e.left.cq, End::kPage)) {
        }
        e.testbed.run_for(50'000);
        CHECK_FALSE(e.left.rnic.poll(e.left.cq, End::kPage).has_value());
      }
    }
  }
}

}  // namespace
}  // namespace exrnic::testing

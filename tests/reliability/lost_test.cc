// SPDX-License-Identifier: BSD-2-Clause
// What is lost for good: given up, dropped, or without its bytes. Nothing of its queue pair that is
// behind it reaches the peer, which would place it behind a gap; and the queue pair hears of it,
// whoever else has failed, and however long nobody listened.
#include "tests/support/exchange.h"
#include "tests/support/faulty_core.h"
#include "tests/support/ntb.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kBytes = 16'000;
constexpr uint32_t kWindow = 3;
constexpr uint64_t kSlowNs = 2'000'000;

// The left node's frames can be kept from the line. It has three more queue pairs.
struct Losing : Exchange {
  static constexpr uint32_t kLeft = 30, kRight = 40, kMore = 3;

  Losing()
      : Exchange(kBytes, {}, options_for("dc-25g"),
                 [this](const CoreConfig& config, CoreSink& sink) -> std::unique_ptr<Core> {
                   if (config.node_id != 0) return test_cores()(config, sink);
                   Fault fault;
                   fault.transmit = [this](Frame&) { return !mute; };
                   return std::make_unique<FaultyCore>(config, sink, test_cores(), fault);
                 }) {
    for (uint32_t i = 0; i < kMore; ++i) {
      more.push_back(left.rnic.create_qp(kLeft + i, End::kPage, End::kPd, left.cq));
      const QueuePair peer = right.rnic.create_qp(kRight + i, End::kPage, End::kPd, right.cq);
      left.rnic.connect(more[i], 1, kRight + i);
      right.rnic.connect(peer, 0, kLeft + i);
    }
    left.rnic.write_register(EXRNIC_REG_RTO_CYCLES, EXRNIC_RTO_CYCLES_MIN);
    left.rnic.write_register(EXRNIC_REG_RETRY_LIMIT, 1);
    rest();
  }

  void open(uint32_t index, unsigned which) {
    REQUIRE(window(index).set(kLeft + which, kFarStag, kFarBase, kBytes, kStore | kLoad) ==
            EXRNIC_MBOX_STATUS_OK);
  }
  RemoteWindow window(uint32_t index) { return {left.rnic, index}; }
  uint32_t state(unsigned which) { return left.rnic.query(kLeft + which).state; }

  // The left completer waits for the page list of its queue.
  void nobody_listens() {
    left.rnic.host().slow_reads(left.cq.ring.pbl, EXRNIC_PBL_LINE_SIZE, kSlowNs);
    left.post(inlined(push_of({}, 0), Bytes(8, 0x77)));
    testbed.run_for(5'000);
    REQUIRE_FALSE(left.rnic.poll(left.cq, End::kPage));
  }
  void wait_for_death() {
    for (int i = 0; i < 100 && left.rnic.counter(EXRNIC_COUNTER_PEERS_DEAD) == 0; ++i)
      testbed.run_for(kSlowNs / 200);
    REQUIRE(left.rnic.counter(EXRNIC_COUNTER_PEERS_DEAD) == 1);
    REQUIRE_FALSE(left.rnic.poll(left.cq, End::kPage));
  }
  uint8_t there(uint64_t offset) { return right.rnic.read(right.far, offset, 1)[0]; }

  bool mute = false;
  std::vector<QueuePair> more;
};

TEST_CASE("no store to a window is placed behind one that was given up, while nobody listens") {
  Losing e;
  e.open(kWindow, 0);
  e.window(kWindow).store(4096, 8, 1);
  e.rest();
  e.nobody_listens();
  e.mute = true;
  for (uint64_t i = 0; i < 4; ++i) e.window(kWindow).store(8192 + 16 * i, 8, 2);
  e.wait_for_death();
  e.mute = false;
  for (uint64_t i = 0; i < 4; ++i) e.window(kWindow).store(12288 + 16 * i, 8, 3);
  CHECK(e.state(0) == EXRNIC_QP_STATE_RTS);
  e.rest();
  CHECK(e.there(4096) == 1);
  CHECK(e.there(8192) == 0);
  for (uint64_t i = 0; i < 4; ++i) CHECK(e.there(12288 + 16 * i) == 0);
  CHECK(e.state(0) == EXRNIC_QP_STATE_ERROR);
  // Others have lost nothing.
  e.open(kWindow, 1);
  e.window(kWindow).store(12288, 8, 4);
  e.rest();
  CHECK(e.there(12288) == 4);
}

TEST_CASE("no PUSH is placed behind one that was given up, while nobody listens") {
  Losing e;
  e.nobody_listens();
  e.mute = true;
  e.left.rnic.post(e.more[0], inlined(push_of({}, 8192), Bytes(8, 2)));
  e.wait_for_death();
  e.mute = false;
  e.left.rnic.post(e.more[0], inlined(push_of({}, 12288), Bytes(8, 3)));
  e.left.rnic.post(e.more[1], inlined(push_of({}, 12352), Bytes(8, 3)));
  e.rest();
  CHECK(e.there(8192) == 0);
  CHECK(e.there(12288) == 0);
  CHECK(e.there(12352) == 3);
  const std::pair<uint32_t, exrnic_cqe_status> ends[] = {
      {Losing::kLeftQpn, EXRNIC_CQE_STATUS_SUCCESS},
      {Losing::kLeft, EXRNIC_CQE_STATUS_RETRY_EXC_ERR},
      {Losing::kLeft, EXRNIC_CQE_STATUS_WR_FLUSH_ERR},
      {Losing::kLeft + 1, EXRNIC_CQE_STATUS_SUCCESS}};
  std::vector<std::pair<uint32_t, exrnic_cqe_status>> got;
  while (const auto cqe = e.left.rnic.poll(e.left.cq, End::kPage))
    got.emplace_back(cqe->qpn, static_cast<exrnic_cqe_status>(cqe->status));
  std::stable_sort(got.begin(), got.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  CHECK(got == std::vector(std::begin(ends), std::end(ends)));
}

TEST_CASE(
    "no message ends well at the peer of which bytes could not be read, and nothing is behind it") {
  Losing e;
  const Region& near = e.left.near;
  e.left.rnic.write(near, 0, Bytes(3 * kMtu, 5));
  e.left.rnic.host().revoke(near.memory.pages[1], 4096);
  const Elements middle_missing = {element(near, 0, kMtu), element(near, 5000, kMtu),
                                   element(near, 0, kMtu)};
  e.right.receive({element(e.right.near, 0, 64)});
  e.left.post(with_imm(push_of(middle_missing, 0), EXRNIC_WQE_OPCODE_PUSH_IMM, 99));
  e.left.post(inlined(push_of({}, 12288), Bytes(8, 3)));
  e.left.rnic.post(e.more[0], inlined(push_of({}, 12352), Bytes(8, 3)));
  e.rest();
  CHECK(e.there(0) == 5);
  CHECK(e.there(2 * kMtu) == 0);
  CHECK(e.there(12288) == 0);
  CHECK(e.there(12352) == 3);
  CHECK_FALSE(e.right.rnic.poll(e.right.recv_cq, End::kPage));
  std::vector<unsigned> failed;
  for (unsigned i = 0; i < 3; ++i) {
    const exrnic_cqe cqe = e.left.wait();
    if (cqe.qpn == Losing::kLeftQpn) failed.push_back(cqe.status);
  }
  CHECK(failed ==
        std::vector<unsigned>{EXRNIC_CQE_STATUS_LOC_PROT_ERR, EXRNIC_CQE_STATUS_WR_FLUSH_ERR});
}

TEST_CASE(
    "queue pairs that had the same window one after the other fail, each for its own stores") {
  Losing e;
  e.open(kWindow, 0);
  e.open(30, 2);
  e.mute = true;
  e.window(30).store(8000, 8, 2);
  e.window(kWindow).store(8192, 8, 2);
  e.open(kWindow, 1);
  e.window(kWindow).store(8200, 8, 2);
  e.rest();
  for (unsigned which : {0, 1, 2}) CHECK(e.state(which) == EXRNIC_QP_STATE_ERROR);
}

TEST_CASE("no store is placed behind one that found no room, while nobody listens") {
  constexpr uint64_t kRoomNs = 4 * EXRNIC_ROOM_CYCLES;
  constexpr unsigned kStores = 200;
  Losing e;
  e.left.rnic.write_register(EXRNIC_REG_RTO_CYCLES, 65536);
  e.left.rnic.write_register(EXRNIC_REG_RETRY_LIMIT, 100);
  e.open(kWindow, 0);
  e.left.rnic.host().slow_reads(e.left.cq.ring.pbl, EXRNIC_PBL_LINE_SIZE, 2 * kRoomNs);
  e.left.post(inlined(push_of({}, 0), Bytes(8, 0x77)));
  e.testbed.run_for(5'000);
  e.mute = true;
  for (uint64_t i = 0; i < kStores; ++i) e.window(kWindow).store(4096 + 16 * i, 8, 2);
  e.testbed.run_for(kRoomNs + kRoomNs / 8);
  CHECK_FALSE(e.left.rnic.poll(e.left.cq, End::kPage));
  e.mute = false;
  e.testbed.run_for(kRoomNs / 4);
  e.window(kWindow).store(12288, 8, 3);
  e.rest();
  bool gap = false;
  for (uint64_t i = 0; i < kStores; ++i) {
    if (gap) CHECK(e.there(4096 + 16 * i) == 0);
    gap |= e.there(4096 + 16 * i) == 0;
  }
  CHECK(gap);
  CHECK(e.there(12288) == 0);
  CHECK(e.state(0) == EXRNIC_QP_STATE_ERROR);
}

TEST_CASE("a peer that is gone is told of a refused request once, then its queue pair rests") {
  constexpr uint32_t kFew = 50, kPeer = 51;
  Losing e;
  QueuePairOptions few;
  few.max_reads_in = 2;
  const QueuePair own = e.left.rnic.create_qp(kFew, End::kPage, End::kPd, e.left.cq, few);
  QueuePair peer = e.right.rnic.create_qp(kPeer, End::kPage, End::kPd, e.right.cq);
  e.left.rnic.connect(own, 1, kPeer);
  e.right.rnic.connect(peer, 0, kFew);
  e.rest();
  e.mute = true;
  for (uint32_t i = 0; i < 4; ++i)
    e.right.rnic.put(peer, pull_of({element(e.right.near, 1000 * i, 1000)}, 1000 * i));
  e.right.rnic.ring(peer);
  e.rest();
  CHECK(e.left.rnic.query(kFew).state == EXRNIC_QP_STATE_ERROR);
  CHECK(e.left.rnic.query(kFew).under_way == 0);
  CHECK(e.left.rnic.counter(EXRNIC_COUNTER_TERMINATES_TX) <= 1);
}

}  // namespace
}  // namespace exrnic::testing

// SPDX-License-Identifier: BSD-2-Clause
// Work requests that are stored into the user page: every cut and order of the stores is a send;
// what is torn, out of order or not one's own is refused, counted, and harms nobody.
#include "tests/support/pio.h"

#include <catch2/generators/catch_generators.hpp>
#include <functional>
#include <string>

#include "tests/support/exchange.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kRestNs = 200'000;
constexpr uint32_t kInlineMost = 32;  // bytes that fit into one slot

Work inline_push(const Bytes& data, uint64_t offset) {
  Work work;
  work.opcode = EXRNIC_WQE_OPCODE_PUSH;
  work.flags |= EXRNIC_WQE_FLAGS_INLINE;
  work.inline_data = data;
  work.remote_stag = kFarStag;
  work.remote_to = kFarBase + offset;
  return work;
}

struct Pio : Exchange {
  Bytes pushed(uint64_t offset, uint64_t length) {
    return right.rnic.read(right.far, offset, length);
  }
  uint64_t sends() { return left.rnic.counter(EXRNIC_COUNTER_PIO_SENDS); }
  uint64_t refused() { return left.rnic.counter(EXRNIC_COUNTER_PIO_REFUSED); }
  void rest() { testbed.run_while_busy(kRestNs); }
};

void expect_success(const exrnic_cqe& cqe, uint32_t slot) {
  REQUIRE(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
  REQUIRE(cqe.wqe_index == (slot & 0xffff));
}

TEST_CASE("every cut and order of the stores of a block is a send, without a read of the ring") {
  std::mt19937_64 random(5);
  Pio pio;
  for (unsigned round = 0; round < 60; ++round) {
    const Bytes data = random_bytes(random, round % (kInlineMost + 1));
    PioStores stores = round < 4 ? pio_stores(1u << round) : random_pio_stores(random);
    if (round == 4) std::reverse(stores.begin(), stores.end());
    const uint64_t reads = pio.left.rnic.testbed().node(0).pcie().counters().reads;
    post_by_pio(pio.left.rnic, pio.left.qp, inline_push(data, 5), stores,
                random() % EXRNIC_PIO_BLOCKS);
    const exrnic_cqe cqe = pio.left.wait();
    expect_success(cqe, round);
    CHECK(cqe.byte_length == data.size());
    REQUIRE(difference(pio.pushed(5, data.size()), data) == "");
    // The first completion reads a PBL.
    if (round > 0) CHECK(pio.testbed.node(0).pcie().counters().reads == reads);
  }
  CHECK(pio.sends() == 60);
  CHECK(pio.refused() == 0);
}

TEST_CASE("a block may hold any work request of one slot") {
  std::mt19937_64 random(6);
  Pio pio;
  const Bytes data = random_bytes(random, 3000);
  pio.left.rnic.write(pio.left.near, 0, data);
  SECTION("PUSH of two elements") {
    const Elements from = {element(pio.left.near, 0, 1000), element(pio.left.near, 1000, 2000)};
    Work work = push_of(from, 0);
    post_by_pio(pio.left.rnic, pio.left.qp, work);
    expect_success(pio.left.wait(), 0);
    CHECK(difference(pio.pushed(0, 3000), data) == "");
  }
  SECTION("SEND with immediate data") {
    pio.right.receive({element(pio.right.near, 0, kInlineMost)});
    pio.rest();
    Work work = inline_push(Bytes(data.begin(), data.begin() + kInlineMost), 0);
    work.opcode = EXRNIC_WQE_OPCODE_SEND_IMM;
    work.imm_data = 0x1234'5678;
    post_by_pio(pio.left.rnic, pio.left.qp, work);
    expect_success(pio.left.wait(), 0);
    CHECK(pio.right.wait_receive().imm_data == work.imm_data);
    CHECK(difference(pio.right.rnic.read(pio.right.near, 0, kInlineMost), work.inline_data) == "");
  }
  SECTION("PULL") {
    pio.right.rnic.write(pio.right.far, 0, data);
    Work work;
    work.opcode = EXRNIC_WQE_OPCODE_PULL;
    work.elements = {element(pio.left.near, 0, 3000)};
    work.remote_stag = kFarStag;
    work.remote_to = kFarBase;
    post_by_pio(pio.left.rnic, pio.left.qp, work);
    expect_success(pio.left.wait(), 0);
    CHECK(difference(pio.left.rnic.read(pio.left.near, 0, 3000), data) == "");
  }
  SECTION("none that can be executed") {
    Work work = inline_push(Bytes(8), 0);
    work.opcode = 99;
    post_by_pio(pio.left.rnic, pio.left.qp, work);
    CHECK(pio.left.wait().status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
    CHECK(pio.left.rnic.counter(EXRNIC_COUNTER_WQE_ERRORS) == 1);
  }
  CHECK(pio.sends() == 1);
}

struct BadBlock {
  std::string name;
  std::function<void(Pio&, const exrnic_wqe& block)> store;
};

const std::vector<BadBlock>& bad_blocks() {
  static const auto store = [](Pio& pio, const exrnic_wqe& block, uint32_t page = End::kPage) {
    store_block(pio.left.rnic, page, block);
  };
  static const std::vector<BadBlock> cases = {
      {"torn by another block",
       [](Pio& pio, const exrnic_wqe& block) {
         PioStores stores = pio_stores();
         stores.pop_back();
         store_block(pio.left.rnic, End::kPage, block, stores, 1);
         store_block(pio.left.rnic, End::kPage, block, {{56, 8}}, 2);
       }},
      {"torn by a second store",
       [](Pio& pio, const exrnic_wqe& block) {
         PioStores stores = pio_stores(4);
         stores.insert(stores.begin() + 8, {0, 8});
         store_block(pio.left.rnic, End::kPage, block, stores);
       }},
      {"from a page that does not own the queue pair",
       [](Pio& pio, const exrnic_wqe& block) { store(pio, block, End::kPage + 1); }},
      {"of a queue pair that does not exist",
       [](Pio& pio, exrnic_wqe block) {
         block.number = Pio::kLeftQpn + 1;
         store(pio, block);
       }},
      {"of a queue pair beyond the table",
       [](Pio& pio, exrnic_wqe block) {
         block.number = EXRNIC_MAX_QP + Pio::kLeftQpn;
         store(pio, block);
       }},
      {"of the slot before",
       [](Pio& pio, exrnic_wqe block) {
         block.index = block.index - 1;
         store(pio, block);
       }},
      {"of a slot too far",
       [](Pio& pio, exrnic_wqe block) {
         block.index = block.index + 1;
         store(pio, block);
       }},
      {"of an index with high bits",
       [](Pio& pio, exrnic_wqe block) {
         block.index = block.index | 0x10000;
         store(pio, block);
       }},
      {"of two slots",
       [](Pio& pio, exrnic_wqe block) {
         block.num_slots = 2;
         store(pio, block);
       }},
      {"to a core that is not enabled",
       [](Pio& pio, const exrnic_wqe& block) {
         pio.left.rnic.write_register(EXRNIC_REG_CONTROL, 0);
         store_block(pio.left.rnic, End::kPage, block, {{0, 8}});
         pio.left.rnic.write_register(EXRNIC_REG_CONTROL, EXRNIC_DEVICE_CONTROL_ENABLE);
       }},
  };
  return cases;
}

TEST_CASE("a block that is torn, out of order or not one's own is refused, and nothing is sent") {
  for (const BadBlock& bad : bad_blocks()) {
    INFO(bad.name);
    Pio pio;
    const Work work = inline_push(Bytes(8, 0x77), 0);
    const exrnic_wqe block = put_block(pio.left.rnic, pio.left.qp, work);
    bad.store(pio, block);
    pio.rest();
    CHECK(pio.refused() == 1);
    CHECK(pio.sends() == 0);
    CHECK(pio.left.rnic.counter(EXRNIC_COUNTER_DOORBELLS) == 0);
    CHECK(pio.left.rnic.query(pio.left.qp.qpn).sq_producer == 0);
    CHECK(difference(pio.pushed(0, 8), Bytes(8)) == "");
    // The queue pair is none the worse, nor is the next block of the page.
    pio.left.rnic.ring(pio.left.qp);
    expect_success(pio.left.wait(), 0);
    post_by_pio(pio.left.rnic, pio.left.qp, inline_push(Bytes(8, 0x88), 0), pio_stores(), 7);
    expect_success(pio.left.wait(), 1);
    CHECK(difference(pio.pushed(0, 8), Bytes(8, 0x88)) == "");
    CHECK(pio.sends() == 1);
  }
}

TEST_CASE("a block of a queue pair in reset is refused; in error it is posted, and flushed") {
  Pio pio;
  const bool in_error = GENERATE(false, true);
  REQUIRE(pio.left.rnic.modify(pio.left.qp.qpn,
                               in_error ? EXRNIC_QP_STATE_ERROR : EXRNIC_QP_STATE_RESET) ==
          EXRNIC_MBOX_STATUS_OK);
  post_by_pio(pio.left.rnic, pio.left.qp, inline_push(Bytes(8, 0x77), 0));
  if (in_error) CHECK(pio.left.wait().status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  pio.rest();
  CHECK(pio.refused() == (in_error ? 0 : 1));
  CHECK(pio.sends() == 0);
  CHECK(difference(pio.pushed(0, 8), Bytes(8)) == "");
}

TEST_CASE("stores of another process between those of a block neither tear nor change it") {
  std::mt19937_64 random(7);
  constexpr uint32_t kOtherPage = End::kPage + 1;
  Pio pio;
  exrnic_wqe evil;
  std::memset(&evil, 0xee, sizeof evil);
  evil.number = Pio::kLeftQpn;
  for (unsigned round = 0; round < 20; ++round) {
    const Bytes data = random_bytes(random, kInlineMost);
    const exrnic_wqe block = put_block(pio.left.rnic, pio.left.qp, inline_push(data, 0));
    for (const PioStore& store : random_pio_stores(random)) {
      store_block(pio.left.rnic, End::kPage, block, {store});
      store_block(pio.left.rnic, kOtherPage, evil, {{8 * uint32_t(random() % 8), 8}}, random() % 2);
    }
    expect_success(pio.left.wait(), round);
    REQUIRE(difference(pio.pushed(0, kInlineMost), data) == "");
  }
  CHECK(pio.sends() == 20);
}

TEST_CASE("work through the page and work through the ring keep their order") {
  std::mt19937_64 random(8);
  constexpr uint32_t kCount = 60;
  Pio pio;
  for (uint32_t i = 0; i < kCount; ++i) pio.right.receive({});
  pio.rest();
  for (uint32_t posted = 0; posted < kCount;) {
    // As many through the ring, with one doorbell; then one block.
    const uint32_t ringed = random() % 4;
    for (uint32_t i = 0; i < ringed && posted < kCount - 1; ++i) {
      Work work = send_of({});
      work.opcode = EXRNIC_WQE_OPCODE_SEND_IMM;
      work.imm_data = posted++;
      pio.left.rnic.put(pio.left.qp, work);
    }
    if (ringed) pio.left.rnic.ring(pio.left.qp);
    Work work = inline_push(Bytes(8), 0);
    work.opcode = EXRNIC_WQE_OPCODE_SEND_IMM;
    work.inline_data.clear();
    work.imm_data = posted++;
    post_by_pio(pio.left.rnic, pio.left.qp, work, random_pio_stores(random));
    pio.testbed.run_while_busy(random() % 3000);
  }
  for (uint32_t i = 0; i < kCount; ++i) {
    expect_success(pio.left.wait(), i);
    REQUIRE(pio.right.wait_receive().imm_data == i);
  }
  CHECK(pio.refused() == 0);
  CHECK(pio.left.rnic.counter(EXRNIC_COUNTER_WQES) == kCount);
}

TEST_CASE("a block behind work that goes on is only a doorbell") {
  Pio pio;
  pio.left.post(push_of({element(pio.left.near, 0, 20'000)}, 0));
  post_by_pio(pio.left.rnic, pio.left.qp, inline_push(Bytes(8, 0x77), 0));
  expect_success(pio.left.wait(), 0);
  expect_success(pio.left.wait(), 1);
  CHECK(difference(pio.pushed(0, 8), Bytes(8, 0x77)) == "");
  CHECK(pio.sends() == 0);
  CHECK(pio.refused() == 0);
}

// A queue pair beside that of the exchange, connected to a queue pair of the right.
QueuePair second_queue_pair(Pio& pio) {
  constexpr uint32_t kSecond = 40;
  const QueuePair left = pio.left.rnic.create_qp(kSecond, End::kPage, End::kPd, pio.left.cq);
  const QueuePair right = pio.right.rnic.create_qp(kSecond, End::kPage, End::kPd, pio.right.cq);
  pio.left.rnic.connect(left, 1, kSecond);
  pio.right.rnic.connect(right, 0, kSecond);
  return left;
}

void reconnect(Pio& pio, QueuePair& qp) {
  for (RnicDriver* rnic : {&pio.left.rnic, &pio.right.rnic})
    REQUIRE(rnic->modify(qp.qpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
  qp.sq.index = 0;
  pio.left.rnic.connect(qp, 1, qp.qpn);
  pio.right.rnic.connect(qp, 0, qp.qpn);
}

TEST_CASE("a queue pair that is reset while its block waits for its turn does not send it") {
  constexpr uint64_t kTarget = 19'500;  // behind what the first queue pair pushes
  constexpr int kFilling = 5;           // PUSHes that need more slots than there are
  Pio pio;
  QueuePair second = second_queue_pair(pio);
  for (uint8_t round = 1; round < 7; ++round) {  // more rounds than blocks are held
    // The peer takes nothing: the first queue pair fills all slots, and the second one waits.
    pio.right.rnic.write_register(EXRNIC_REG_CONTROL, 0);
    for (int i = 0; i < kFilling; ++i)
      pio.left.post(push_of({element(pio.left.near, 0, 19'000)}, 0));
    pio.testbed.run_for(100'000);
    post_by_pio(pio.left.rnic, second, inline_push(Bytes(8, 0x77), kTarget));
    pio.testbed.run_for(1'000);
    CHECK(pio.left.rnic.query(second.qpn).sq_producer == 1);
    reconnect(pio, second);
    pio.right.rnic.write_register(EXRNIC_REG_CONTROL, EXRNIC_DEVICE_CONTROL_ENABLE);
    for (int i = 0; i < kFilling; ++i)
      REQUIRE(pio.left.wait(50'000'000).status == EXRNIC_CQE_STATUS_SUCCESS);
    pio.rest();
    CHECK(difference(pio.pushed(kTarget, 8), Bytes(8, static_cast<uint8_t>(round - 1))) == "");
    // Its place was given back.
    const uint64_t sends = pio.sends();
    post_by_pio(pio.left.rnic, second, inline_push(Bytes(8, round), kTarget));
    expect_success(pio.left.wait(), 0);
    CHECK(difference(pio.pushed(kTarget, 8), Bytes(8, round)) == "");
    CHECK(pio.sends() == sends + 1);
    reconnect(pio, second);
  }
}

TEST_CASE("what a process left of a block is no part of the next one's") {
  Pio pio;
  exrnic_wqe block = put_block(pio.left.rnic, pio.left.qp, inline_push(Bytes(8, 0x77), 0));
  PioStores rest = pio_stores();
  const PioStores index = {rest[3]};
  rest.erase(rest.begin() + 3);
  store_block(pio.left.rnic, End::kPage, block, rest);
  pio.rest();
  const uint32_t qpn = second_queue_pair(pio).qpn;  // of the next process
  block.number = qpn;
  block.index = 1;
  store_block(pio.left.rnic, End::kPage, block, index);
  pio.rest();
  CHECK(pio.sends() == 0);
  CHECK(pio.left.rnic.query(qpn).sq_producer == 0);
  CHECK(difference(pio.pushed(0, 8), Bytes(8)) == "");
}

}  // namespace
}  // namespace exrnic::testing

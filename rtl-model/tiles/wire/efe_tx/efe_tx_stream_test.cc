// SPDX-License-Identifier: BSD-2-Clause
// Behind a segment that is lost for good nothing of its queue pair leaves.
#include <catch2/catch_test_macros.hpp>

#include "rtl-model/tiles/wire/efe_tx/efe_tx_segments.h"

namespace exrnic::testing {
namespace {

constexpr uint8_t kStreamPeer = 2;

TxDesc of_stream(EfeTx& tx, uint16_t qpn, uint16_t generation, uint16_t index) {
  TxDesc desc = tagged(tx.allocate(), kStreamPeer, 8, index);
  desc.stream = desc.inlined = true;
  put_bytes(desc.inline_data, pattern(8, index));
  desc.tag.kind = kTxKindSegment;
  desc.tag.qpn = qpn;
  desc.tag.generation = generation;
  return desc;
}
// What leaves, and how it ends when all that left is acknowledged.
std::vector<exrnic_cqe_status> ends(EfeTx& tx, unsigned count, uint32_t acknowledge) {
  tx.run(200);
  tx.acknowledge({kStreamPeer, session_to(kStreamPeer), kFirst + acknowledge});
  tx.wait_for("all ends", 5000, [&] { return tx.dones.size() == count; });
  std::vector<exrnic_cqe_status> all;
  for (const TxDone& done : tx.dones) all.push_back(static_cast<exrnic_cqe_status>(done.status));
  tx.dones.clear();
  return all;
}
using Ends = std::vector<exrnic_cqe_status>;
constexpr auto kGood = EXRNIC_CQE_STATUS_SUCCESS;
constexpr auto kUnreadable = EXRNIC_CQE_STATUS_LOC_PROT_ERR;
constexpr auto kFlushed = EXRNIC_CQE_STATUS_WR_FLUSH_ERR;

void submit_unreadable(EfeTx& tx, uint16_t qpn, uint16_t generation) {
  TxDesc desc = of_stream(tx, qpn, generation, 99);
  desc.inlined = false;
  tx.submit(desc);
  tx.fail(desc.slot, 8);
}

void change(EfeTx& tx, uint16_t qpn, uint16_t generation) {
  tx.dut().change_qpn_i = qpn;
  tx.dut().change_generation_i = generation;
  tx.cycle();
  tx.dut().change_goes_back_i = tx.dut().change_begins_i = 0;
}
void goes_back(EfeTx& tx, uint16_t qpn, uint16_t generation) {
  tx.dut().change_goes_back_i = 1;
  change(tx, qpn, generation);
}
void begins(EfeTx& tx, uint16_t qpn, uint16_t generation) {
  tx.dut().change_begins_i = 1;
  change(tx, qpn, generation);
}

TEST_CASE(
    "Behind a segment without its payload nothing of its queue pair leaves, until it goes back") {
  EfeTx tx;
  tx.dut().settings_rto_cycles_i = 100'000;
  tx.submit(of_stream(tx, 5, 7, 0));
  submit_unreadable(tx, 5, 7);
  tx.submit(of_stream(tx, 5, 7, 1));
  tx.submit(of_stream(tx, 6, 7, 2));  // another queue pair,
  tx.submit(of_stream(tx, 5, 8, 3));  // and another life
  TxDesc terminate = of_stream(tx, 5, 7, 4);
  terminate.stream = false;
  tx.submit(terminate);
  CHECK(ends(tx, 6, 4) == Ends{kGood, kUnreadable, kFlushed, kGood, kGood, kGood});
  CHECK(tx.counters[EXRNIC_COUNTER_FRAMES_TX] == 4);

  goes_back(tx, 5, 6);  // not this life
  tx.submit(of_stream(tx, 5, 7, 5));
  CHECK(ends(tx, 1, 4) == Ends{kFlushed});
  goes_back(tx, 5, 7);
  tx.submit(of_stream(tx, 5, 7, 6));
  tx.submit(of_stream(tx, 5, 6, 7));  // of a life before nothing leaves
  CHECK(ends(tx, 2, 5) == Ends{kGood, kFlushed});
  submit_unreadable(tx, 5, 7);
  tx.submit(of_stream(tx, 5, 7, 8));
  CHECK(ends(tx, 2, 5) == Ends{kUnreadable, kFlushed});
}

TEST_CASE("What waits of a life that is broken stays when others begin, also of those before it") {
  EfeTx tx;
  tx.dut().settings_rto_cycles_i = 100'000;
  submit_unreadable(tx, 5, 7);
  tx.submit(of_stream(tx, 5, 7, 0));
  CHECK(ends(tx, 2, 0) == Ends{kUnreadable, kFlushed});
  begins(tx, 5, 8);
  tx.submit(of_stream(tx, 5, 7, 1));
  tx.submit(of_stream(tx, 5, 8, 2));
  CHECK(ends(tx, 2, 1) == Ends{kFlushed, kGood});
  submit_unreadable(tx, 5, 8);
  tx.submit(of_stream(tx, 5, 7, 3));
  tx.submit(of_stream(tx, 5, 8, 4));
  CHECK(ends(tx, 3, 1) == Ends{kUnreadable, kFlushed, kFlushed});
  goes_back(tx, 5, 8);
  tx.submit(of_stream(tx, 5, 7, 5));
  tx.submit(of_stream(tx, 5, 8, 6));
  CHECK(ends(tx, 2, 2) == Ends{kFlushed, kGood});
}

TEST_CASE("A broken life is forgotten before the count of lives comes round") {
  EfeTx tx;
  tx.dut().settings_rto_cycles_i = 100'000;
  submit_unreadable(tx, 5, 0xfff0);
  CHECK(ends(tx, 1, 0) == Ends{kUnreadable});
  begins(tx, 6, 0x4000);  // another queue pair
  begins(tx, 5, 0x3fef);
  tx.submit(of_stream(tx, 5, 0xfff0, 0));
  CHECK(ends(tx, 1, 0) == Ends{kFlushed});
  begins(tx, 5, 0x3ff0);
  tx.submit(of_stream(tx, 5, 0xfff0, 1));
  CHECK(ends(tx, 1, 1) == Ends{kGood});
  submit_unreadable(tx, 5, 0x8000);
  tx.submit(of_stream(tx, 5, 0x8000, 2));
  CHECK(ends(tx, 2, 1) == Ends{kUnreadable, kFlushed});
}

TEST_CASE("A segment that is lost of an earlier life hides none of a later one") {
  EfeTx tx;
  tx.dut().settings_rto_cycles_i = 100'000;
  submit_unreadable(tx, 5, 0xffff);
  submit_unreadable(tx, 5, 1);  // the next one
  submit_unreadable(tx, 5, 0xffff);
  tx.submit(of_stream(tx, 5, 1, 0));
  CHECK(ends(tx, 4, 0) == Ends{kUnreadable, kUnreadable, kFlushed, kFlushed});
  CHECK(tx.counters[EXRNIC_COUNTER_FRAMES_TX] == 0);
}

TEST_CASE("Behind what was given up, or never submitted, nothing of its queue pair leaves") {
  EfeTx tx;
  tx.submit(of_stream(tx, 5, 7, 0));
  CHECK(tx.next_done().status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  const uint64_t sent = tx.counters[EXRNIC_COUNTER_FRAMES_TX];
  tx.submit(of_stream(tx, 5, 7, 1));
  CHECK(tx.next_done(100).status == kFlushed);
  TxTag dropped;
  dropped.kind = kTxKindSegment;
  dropped.qpn = 6;
  dropped.generation = 3;
  pack(tx.dut().drop_i, dropped);
  tx.dut().drop_valid_i = 1;
  tx.settle();
  REQUIRE(tx.dut().drop_ready_o);
  tx.cycle();
  tx.dut().drop_valid_i = 0;
  TxDesc prompt = of_stream(tx, 6, 3, 2);
  prompt.prompt = true;
  tx.submit(prompt);
  tx.run(50);
  REQUIRE(tx.prompt_dones.size() == 1);
  CHECK(tx.prompt_dones[0].status == kFlushed);
  CHECK(tx.counters[EXRNIC_COUNTER_FRAMES_TX] == sent);
  CHECK(tx.dut().idle_o);
}

}  // namespace
}  // namespace exrnic::testing

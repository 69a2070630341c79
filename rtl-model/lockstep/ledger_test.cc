// SPDX-License-Identifier: BSD-2-Clause
// The parts that compare, without cores.
#include <catch2/catch_test_macros.hpp>

#include "exrnic_hw.h"
#include "rtl-model/lockstep/excuses.h"
#include "rtl-model/lockstep/first_copies.h"
#include "rtl-model/lockstep/in_order.h"
#include "rtl-model/lockstep/memory_ledger.h"

namespace exrnic::lockstep {
namespace {

constexpr uint64_t kAddress = 0x1000;
const Owner kOwner{{1, 22}, false};
const Owner kOther{{1, 23}, false};

bool nobody(const Owner&) { return false; }
bool other(const Owner& owner) { return owner.qp == kOther.qp; }
std::vector<Owner> unexplained() { return {}; }

TEST_CASE("the same bytes match, however the writes are cut") {
  MemoryLedger ledger;
  CHECK_FALSE(ledger.predict(kAddress, {1, 2, 3, 4}, kOwner, nobody));
  CHECK_FALSE(ledger.done(kAddress + 2, {3, 4}, nobody, unexplained));
  CHECK(ledger.unmatched(nobody)->expected == 1);
  CHECK_FALSE(ledger.done(kAddress, {1}, nobody, unexplained));
  CHECK_FALSE(ledger.done(kAddress + 1, {2}, nobody, unexplained));
  CHECK_FALSE(ledger.unmatched(nobody));
}

TEST_CASE("a byte that is written twice has to come in order") {
  MemoryLedger ledger;
  ledger.predict(kAddress, {1, 1}, kOwner, nobody);
  ledger.predict(kAddress, {2, 2}, kOwner, nobody);
  const auto difference = ledger.done(kAddress, {2}, nobody, unexplained);
  REQUIRE(difference);
  CHECK(difference->address == kAddress);
  CHECK(difference->expected == 1);
  CHECK(difference->came == 2);
  CHECK(difference->owner.qp == kOwner.qp);
}

TEST_CASE("a write that comes first waits for its prediction") {
  MemoryLedger ledger;
  CHECK_FALSE(ledger.done(kAddress, {7, 8}, nobody, unexplained));
  CHECK(ledger.unmatched(nobody)->came == 7);
  CHECK(ledger.predict(kAddress, {7, 9}, kOwner, nobody)->came == 8);
  MemoryLedger again;
  again.done(kAddress, {7, 8}, nobody, unexplained);
  CHECK_FALSE(again.predict(kAddress, {7, 8}, kOwner, nobody));
  CHECK_FALSE(again.unmatched(nobody));
}

TEST_CASE("what is excused may stay away, or be passed over") {
  MemoryLedger ledger;
  ledger.predict(kAddress, {1}, kOther, other);
  ledger.predict(kAddress, {2}, kOwner, other);
  CHECK_FALSE(ledger.done(kAddress, {2}, other, unexplained));
  CHECK_FALSE(ledger.unmatched(other));
  CHECK(ledger.unwritten_for() == std::set<Endpoint>{kOther.qp});
  ledger.done(kAddress, {5}, other, [] { return std::vector<Owner>{kOther}; });
  CHECK_FALSE(ledger.unmatched(other));
  CHECK(ledger.unmatched(nobody)->came == 5);
}

TEST_CASE("a shadow reads what it has written, the last byte of each address") {
  MemoryLedger ledger;
  ledger.predict(kAddress, {1, 2, 3}, kOwner, nobody);
  ledger.predict(kAddress + 1, {9}, kOwner, nobody);
  uint8_t bytes[4] = {0, 0, 0, 0};
  ledger.overlay(kAddress, bytes, sizeof bytes, nobody);
  CHECK(Bytes(bytes, bytes + 4) == Bytes{1, 9, 3, 0});
  ledger.done(kAddress, {1}, nobody, unexplained);
  bytes[0] = 77;  // the host has changed it since
  ledger.overlay(kAddress, bytes, sizeof bytes, nobody);
  CHECK(bytes[0] == 77);
}

TEST_CASE("two streams are compared record by record, whichever is ahead") {
  InOrder<int, std::equal_to<int>> streams;
  CHECK_FALSE(streams.predict(1));
  CHECK_FALSE(streams.done(1));
  CHECK_FALSE(streams.done(2));
  CHECK(streams.came().front() == 2);
  const auto difference = streams.predict(3);
  REQUIRE(difference);
  CHECK(difference->expected == 3);
  CHECK(difference->came == 2);
  CHECK(streams.empty());
}

TEST_CASE("an excuse holds for both ends, until rest; what is lost, until each is reset") {
  const Endpoint left{0, 11}, right{1, 22}, third{1, 23};
  Excuses excuses([&](const Endpoint& qp) { return qp == left ? right : qp == right ? left : qp; });
  excuses.failed(left);
  CHECK(excuses.cut_short(right));
  CHECK_FALSE(excuses.any_outcome(right));
  CHECK_FALSE(excuses.cut_short(third));
  excuses.posted(left);
  CHECK_FALSE(excuses.any_outcome(left));
  excuses.posted(right);
  CHECK(excuses.any_outcome(left));
  excuses.rest();
  CHECK_FALSE(excuses.cut_short(left));
  excuses.lost(left);
  excuses.rest();
  CHECK(excuses.lost_at(1));
  excuses.renewed(left);
  CHECK(excuses.any_outcome(left));  // its peer still remembers
  excuses.renewed(right);
  CHECK_FALSE(excuses.any_outcome(left));
}

Frame frame_of(uint16_t session, uint32_t seq) {
  Frame frame;
  frame.data.resize(EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES + EXRNIC_DDP_TAGGED_BYTES);
  uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
  exrnic_efe_set_flags(efe, EXRNIC_EFE_FLAGS_SEQ);
  exrnic_efe_set_length(efe, EXRNIC_DDP_TAGGED_BYTES);
  exrnic_efe_set_session(efe, session);
  exrnic_efe_set_seq(efe, seq);
  return frame;
}

TEST_CASE("a frame that is sent again counts once, past the wrap; a new session counts anew") {
  FirstCopies copies;
  CHECK(copies.first(frame_of(5, 0xffffffff)));
  CHECK(copies.first(frame_of(5, 0)));
  CHECK_FALSE(copies.first(frame_of(5, 0xffffffff)));
  CHECK_FALSE(copies.first(frame_of(5, 0)));
  CHECK(copies.first(frame_of(5, 1)));
  CHECK(copies.first(frame_of(6, 0xffffff80)));
}

TEST_CASE("a refusal that is repeated counts once, in the next session too") {
  const auto refusal_of = [](uint16_t session, uint32_t seq, uint8_t number) {
    Frame frame = frame_of(session, seq);
    exrnic_efe_set_flags(frame.data.data() + EXRNIC_ETH_BYTES, EXRNIC_EFE_FLAGS_ACK);
    exrnic_efe_set_refusal(frame.data.data() + EXRNIC_ETH_BYTES, number);
    return frame;
  };
  FirstCopies copies;
  CHECK(copies.first(frame_of(5, 10)));
  CHECK(segment_of(refusal_of(5, 3, 1)));
  CHECK(copies.first(refusal_of(5, 3, 1)));
  CHECK_FALSE(copies.first(refusal_of(5, 3, 1)));
  CHECK(copies.first(frame_of(5, 11)));
  CHECK(copies.first(refusal_of(5, 200, 2)));
  CHECK(copies.first(frame_of(6, 0xffffff80)));
  CHECK_FALSE(copies.first(refusal_of(6, 200, 2)));
}

TEST_CASE("a frame without a segment, or with a broken length, has none") {
  Frame frame = frame_of(1, 1);
  CHECK(segment_of(frame));
  exrnic_efe_set_length(frame.data.data() + EXRNIC_ETH_BYTES, 15);
  CHECK_FALSE(segment_of(frame));
  frame.data.resize(40);
  CHECK_FALSE(segment_of(frame));
}

}  // namespace
}  // namespace exrnic::lockstep

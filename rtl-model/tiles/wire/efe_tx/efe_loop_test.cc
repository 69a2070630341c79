// SPDX-License-Identifier: BSD-2-Clause
// Two nodes against each other: every segment arrives exactly once, in order and intact; every slot
// ends exactly once.
#include <catch2/catch_test_macros.hpp>

#include "rtl-model/tiles/wire/efe_tx/efe_loop_bench.h"

namespace exrnic::testing {
namespace {

constexpr uint8_t kSuccess = EXRNIC_CQE_STATUS_SUCCESS;

Bytes pattern(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// Work that both sides of a test can make again from its number.
Work work(uint8_t to, uint16_t number, std::size_t length) {
  return {to, number, pattern(length, number), number % 5 == 4, false};
}

void post(Pair& pair, const std::vector<Work>& all) {
  for (const Work& one : all) pair.at(one.to == 1 ? 2 : 1).post(one);
}

// All of `sent` arrived at `to`, once, in order, with these bytes.
void check_placed(EfeNode& to, const std::vector<Work>& sent) {
  REQUIRE(to.placed.size() == sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    CAPTURE(i);
    REQUIRE(to.placed[i].src_qpn == sent[i].number);
    REQUIRE(to.placed[i].segment == segment_of(sent[i]));
  }
}

void check_dones(EfeNode& from, const std::vector<Work>& sent, uint8_t status = kSuccess) {
  REQUIRE(from.dones.size() == sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    CAPTURE(i);
    REQUIRE(from.dones[i].tag.wqe_index == sent[i].number);
    REQUIRE(from.dones[i].status == status);
  }
}

std::vector<Work> some_work(uint8_t to, unsigned count, std::size_t max_length, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Work> all;
  for (uint16_t i = 0; i < count; ++i) all.push_back(work(to, i, random() % (max_length + 1)));
  return all;
}

TEST_CASE("Segments of every kind pass both ways, past the wrap of the sequence number") {
  Pair pair(1);
  const auto to_b = some_work(2, 300, 600, 1);
  const auto to_a = some_work(1, 300, 4096, 2);
  post(pair, to_b);
  post(pair, to_a);
  pair.settle();
  check_placed(pair.b, to_b);
  check_placed(pair.a, to_a);
  check_dones(pair.a, to_b);
  check_dones(pair.b, to_a);
  CHECK(pair.b.placed.back().seq == static_cast<uint32_t>(EXRNIC_INITIAL_SEQ + 299));
  CHECK(pair.a.counters[EXRNIC_COUNTER_RETRANSMITS] == 0);
}

TEST_CASE("One fault at any place of an exchange is healed") {
  const auto to_b = some_work(2, 6, 200, 3);
  const auto to_a = some_work(1, 5, 200, 4);
  unsigned frames = 1;
  for (const Fault fault :
       {Fault::kDrop, Fault::kDuplicate, Fault::kReorder, Fault::kCorrupt, Fault::kDelay}) {
    for (unsigned place = 0; place < frames; ++place) {
      CAPTURE(static_cast<int>(fault), place);
      Pair pair(5);
      pair.decide = [&](const Frame&, unsigned index) {
        return index == place ? fault : Fault::kNone;
      };
      post(pair, to_b);
      post(pair, to_a);
      pair.settle();
      check_placed(pair.b, to_b);
      check_placed(pair.a, to_a);
      check_dones(pair.a, to_b);
      check_dones(pair.b, to_a);
      frames = std::max(frames, pair.frames());
    }
  }
  CHECK(frames > 11);
}

TEST_CASE("Random faults lose nothing, double nothing and change nothing") {
  for (uint32_t seed = 100; seed < 112; ++seed) {
    CAPTURE(seed);
    Pair pair(seed, 1200, 255);
    std::mt19937 random(seed);
    pair.decide = [&](const Frame&, unsigned) {
      const unsigned dice = random() % 100;
      return dice < 25 ? static_cast<Fault>(1 + dice / 5) : Fault::kNone;
    };
    const auto to_b = some_work(2, 150, seed % 2 ? 300 : 2000, seed);
    const auto to_a = some_work(1, 150, 300, seed + 1);
    post(pair, to_b);
    post(pair, to_a);
    pair.settle(4000000);
    check_placed(pair.b, to_b);
    check_placed(pair.a, to_a);
    check_dones(pair.a, to_b);
    check_dones(pair.b, to_a);
  }
}

TEST_CASE("A receiver that is slow loses nothing") {
  Pair pair(7, 1200, 255);
  pair.b.place_delay = 1500;
  const auto to_b = some_work(2, 60, 4096, 7);
  post(pair, to_b);
  pair.settle(1000000);
  check_placed(pair.b, to_b);
  check_dones(pair.a, to_b);
}

TEST_CASE("A dead peer ends all work with an error, and a later try succeeds") {
  Pair pair(8, 1200, 3);
  bool cut = true;
  pair.decide = [&](const Frame&, unsigned) { return cut ? Fault::kDrop : Fault::kNone; };
  const auto lost = some_work(2, 20, 100, 8);
  post(pair, lost);
  pair.settle();
  CHECK(pair.b.placed.empty());
  check_dones(pair.a, lost, EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  CHECK(pair.a.counters[EXRNIC_COUNTER_PEERS_DEAD] == 1);
  CHECK(pair.a.dead_node == 2);
  cut = false;
  pair.a.dones.clear();
  const auto to_b = some_work(2, 20, 100, 9);
  post(pair, to_b);
  pair.settle();
  check_placed(pair.b, to_b);
  check_dones(pair.a, to_b);
}

TEST_CASE("After a cut in the middle both directions work again, without restarting each other") {
  Pair pair(10, 1200, 2);
  bool cut = false;
  pair.decide = [&](const Frame&, unsigned) { return cut ? Fault::kDrop : Fault::kNone; };
  post(pair, some_work(2, 10, 100, 1));
  post(pair, some_work(1, 10, 100, 2));
  pair.settle();
  cut = true;
  post(pair, some_work(2, 10, 100, 3));
  post(pair, some_work(1, 10, 100, 4));
  pair.settle();
  CHECK(pair.a.counters[EXRNIC_COUNTER_PEERS_DEAD] == 1);
  CHECK(pair.b.counters[EXRNIC_COUNTER_PEERS_DEAD] == 1);
  cut = false;
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    for (EfeNode* node : {&pair.a, &pair.b}) {
      node->dones.clear();
      node->placed.clear();
    }
    const auto to_b = some_work(2, 5, 100, 5);
    post(pair, to_b);
    pair.settle();
    check_placed(pair.b, to_b);
    check_dones(pair.a, to_b);
    const auto to_a = some_work(1, 5, 100, 6);
    post(pair, to_a);
    pair.settle();
    check_placed(pair.a, to_a);
    check_dones(pair.b, to_a);
  }
}

// What must hold for one direction when peers were given up: no segment twice, none out of order,
// none changed; each slot ended once, in order; and what ended well was placed.
void check_partial(EfeNode& from, EfeNode& to, const std::vector<Work>& sent) {
  std::vector<bool> arrived(sent.size());
  int last = -1;
  for (const Placed& one : to.placed) {
    CAPTURE(one.src_qpn, last);
    REQUIRE(static_cast<int>(one.src_qpn) > last);
    last = static_cast<int>(one.src_qpn);
    REQUIRE(one.segment == segment_of(sent[one.src_qpn]));
    arrived[one.src_qpn] = true;
  }
  REQUIRE(from.dones.size() == sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    CAPTURE(i);
    REQUIRE(from.dones[i].tag.wqe_index == i);
    if (from.dones[i].status == kSuccess) REQUIRE(arrived[i]);
  }
}

TEST_CASE("Cuts and random faults together never double, swap or falsely confirm a segment") {
  uint64_t deaths = 0;
  for (uint32_t seed = 200; seed < 208; ++seed) {
    CAPTURE(seed);
    Pair pair(seed, 1200, 2);
    std::mt19937 random(seed);
    bool cut = false;
    pair.decide = [&](const Frame&, unsigned) {
      const unsigned dice = random() % 100;
      if (cut) return Fault::kDrop;
      return dice < 15 ? static_cast<Fault>(1 + dice / 3) : Fault::kNone;
    };
    const auto to_b = some_work(2, 400, 300, seed);
    const auto to_a = some_work(1, 400, 300, seed + 1);
    post(pair, to_b);
    post(pair, to_a);
    for (int i = 0; i < 12; ++i) {
      pair.run(static_cast<int>(random() % 8000));
      cut = !cut;
    }
    cut = false;
    pair.settle(4000000);
    check_partial(pair.a, pair.b, to_b);
    check_partial(pair.b, pair.a, to_a);
    for (EfeNode* node : {&pair.a, &pair.b}) deaths += node->counters[EXRNIC_COUNTER_PEERS_DEAD];
  }
  CHECK(deaths > 0);
}

TEST_CASE("The first frames of a session may be lost: nothing starts in the middle") {
  for (unsigned lost = 1; lost <= 4; ++lost) {
    CAPTURE(lost);
    Pair pair(11);
    pair.decide = [&](const Frame&, unsigned index) {
      return index < lost ? Fault::kDrop : Fault::kNone;
    };
    const auto to_b = some_work(2, 6, 100, 11);
    post(pair, to_b);
    pair.settle();
    check_placed(pair.b, to_b);
    check_dones(pair.a, to_b);
  }
}

TEST_CASE("A peer that restarts is heard at once, and the other one gives up what it had sent") {
  Pair pair(12);
  post(pair, some_work(2, 10, 100, 1));
  post(pair, some_work(1, 10, 100, 2));
  pair.settle();
  pair.a.restart(4711);
  pair.a.placed.clear();
  pair.a.dones.clear();
  pair.b.placed.clear();
  pair.b.dones.clear();
  const auto stale = some_work(1, 3, 100, 3);  // to the session that is no more
  post(pair, stale);
  pair.run(200);
  const auto to_b = some_work(2, 4, 100, 4);
  post(pair, to_b);
  pair.settle();
  check_placed(pair.b, to_b);
  check_dones(pair.a, to_b);
  check_dones(pair.b, stale, EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  CHECK(pair.a.placed.empty());
  CHECK(pair.a.counters[EXRNIC_COUNTER_RX_SESSION] > 0);
  CHECK(pair.b.counters[EXRNIC_COUNTER_PEERS_DEAD] == 0);
  pair.b.dones.clear();
  const auto to_a = some_work(1, 4, 100, 5);
  post(pair, to_a);
  pair.settle();
  check_placed(pair.a, to_a);
  check_dones(pair.b, to_a);
}

TEST_CASE("Late frames of an old session do not bring it back") {
  Pair pair(13);
  pair.decide = [](const Frame&, unsigned index) {
    return index == 0 ? Fault::kDelay : Fault::kNone;
  };
  const std::vector<Work> before = {work(2, 1, 50)};
  post(pair, before);
  pair.run(1800);  // resent and acknowledged, but the first frame is still on its way
  check_dones(pair.a, before);
  pair.a.restart(99);
  pair.a.dones.clear();
  pair.b.placed.clear();
  const auto to_b = some_work(2, 10, 100, 6);
  post(pair, to_b);
  pair.settle();
  check_placed(pair.b, to_b);
  check_dones(pair.a, to_b);
  CHECK(pair.b.counters[EXRNIC_COUNTER_RX_SESSION] == 1);
}

TEST_CASE("Unreadable payload is not sent, and its error comes in its place") {
  Pair pair(14);
  std::vector<Work> all = some_work(2, 30, 300, 14);
  std::vector<Work> readable;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 4 == 1) all[i] = {2, static_cast<uint16_t>(i), pattern(50, 1), false, true};
    if (!all[i].unreadable) readable.push_back(all[i]);
  }
  pair.decide = [](const Frame&, unsigned index) {
    return index % 7 == 3 ? Fault::kDrop : Fault::kNone;
  };
  post(pair, all);
  pair.settle();
  check_placed(pair.b, readable);
  REQUIRE(pair.a.dones.size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i);
    CHECK(pair.a.dones[i].tag.wqe_index == i);
    CHECK(pair.a.dones[i].status ==
          (all[i].unreadable ? EXRNIC_CQE_STATUS_LOC_PROT_ERR : EXRNIC_CQE_STATUS_SUCCESS));
  }
}

bool is_refusal(const Frame& frame) { return exrnic_efe_refusal(frame.efe()) != 0; }

TEST_CASE("A refused segment is not acknowledged, nor what is behind it, before that is heard") {
  Pair pair(15, 1200, 255);
  bool lost = true;
  pair.decide = [&](const Frame& frame, unsigned) {
    return lost && is_refusal(frame) ? Fault::kDrop : Fault::kNone;
  };
  const auto to_b = some_work(2, 10, 100, 15);
  pair.b.refuse = [](const RxDesc& desc) { return desc.src_qpn == 4; };
  post(pair, to_b);
  pair.run(10000);
  check_placed(pair.b, to_b);
  CHECK(pair.a.dones.size() == 4);
  CHECK(pair.a.named.empty());
  lost = false;
  pair.settle();
  check_placed(pair.b, to_b);
  check_dones(pair.a, to_b);
}

// Whatever else happens, each refusal is heard once, names the segment that it is about, and comes
// before that segment's slot ends: so no sender takes what was refused for placed.
void check_named(EfeNode& sender, unsigned refused) {
  REQUIRE(sender.named.size() == refused);
  for (const EfeNode::Named& named : sender.named) {
    CAPTURE(named.work);
    CHECK_FALSE(named.ended);
    const auto done = std::find_if(sender.dones.begin(), sender.dones.end(),
                                   [&](const TxDone& d) { return d.tag.wqe_index == named.work; });
    REQUIRE(done != sender.dones.end());
    REQUIRE(done->status == kSuccess);
    CHECK(named.number == done->seq);
  }
}

TEST_CASE("Refusals that are lost both ways are repeated") {
  Pair pair(16, 1200, 255);
  bool lost = true;
  pair.decide = [&](const Frame& frame, unsigned) {
    return lost && is_refusal(frame) ? Fault::kDrop : Fault::kNone;
  };
  pair.a.refuse = pair.b.refuse = [](const RxDesc& desc) { return desc.src_qpn == 0; };
  post(pair, some_work(2, 1, 60, 1));
  post(pair, some_work(1, 1, 60, 2));
  pair.run(2000);
  lost = false;
  pair.settle();
  check_named(pair.a, 1);
  check_named(pair.b, 1);
}

TEST_CASE("A refusal that comes twice is heard once, and a lost confirmation is repeated") {
  Pair pair(17, 1200, 255);
  unsigned confirmations = 0;
  pair.decide = [&](const Frame& frame, unsigned) {
    if (is_refusal(frame)) return Fault::kDuplicate;
    return exrnic_efe_heard(frame.efe()) != 0 && confirmations++ < 3 ? Fault::kDrop : Fault::kNone;
  };
  pair.b.refuse = [](const RxDesc& desc) { return desc.src_qpn == 1; };
  const auto to_b = some_work(2, 4, 60, 1);
  post(pair, to_b);
  pair.settle();
  CHECK(confirmations > 3);
  check_named(pair.a, 1);
  check_placed(pair.b, to_b);
  check_dones(pair.a, to_b);
}

TEST_CASE(
    "While a refusal is in force another one is put off, with what is behind it, and comes again") {
  Pair pair(18, 1200, 255);
  const auto to_b = some_work(2, 40, 60, 1);
  pair.b.refuse = [](const RxDesc& desc) { return desc.src_qpn % 3 == 1; };
  post(pair, to_b);
  pair.settle();
  CHECK(pair.b.put_off > 0);
  CHECK(pair.b.refused == 13);
  check_named(pair.a, 13);
  check_placed(pair.b, to_b);
  check_dones(pair.a, to_b);
}

// Both refuse nearly all that they send to each other, with all slots taken.
TEST_CASE("Nodes that refuse segments of each other end, whatever the line does") {
  unsigned put_off = 0;
  for (uint32_t seed = 300; seed < 306; ++seed) {
    CAPTURE(seed);
    Pair pair(seed, 1200, 255);
    std::mt19937 random(seed);
    const unsigned faults = seed % 2 * 10;
    pair.decide = [&](const Frame&, unsigned) {
      const unsigned dice = random() % 100;
      return dice < faults ? static_cast<Fault>(1 + dice / 2) : Fault::kNone;
    };
    pair.a.refuse = pair.b.refuse = [&](const RxDesc& desc) { return desc.src_qpn % 4 != 0; };
    pair.a.place_delay = pair.b.place_delay = seed % 3 * 20;
    const auto to_b = some_work(2, 200, 60, seed);
    const auto to_a = some_work(1, 200, 60, seed + 1);
    post(pair, to_b);
    post(pair, to_a);
    pair.settle(4000000);
    check_named(pair.a, 150);
    check_named(pair.b, 150);
    check_placed(pair.b, to_b);
    check_placed(pair.a, to_a);
    check_dones(pair.a, to_b);
    check_dones(pair.b, to_a);
    put_off += pair.a.put_off + pair.b.put_off;
  }
  CHECK(put_off > 0);
}

}  // namespace
}  // namespace exrnic::testing

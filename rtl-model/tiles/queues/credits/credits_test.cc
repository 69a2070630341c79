// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <deque>
#include <random>
#include <vector>

#include "Vcredits.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kQpn = 0x3ff;
constexpr unsigned kOther = 0x155;
constexpr uint8_t kPeer = 9;
constexpr uint32_t kPeerQpn = 0x0abc;
constexpr uint16_t kGeneration = 0x0102;
constexpr uint16_t kPeerGeneration = 0x0304;
constexpr unsigned kModulus = 1 << 15;

class Credits : public Bench<Vcredits> {
 public:
  Credits() {
    clear_inputs();
    dut().update_ready_i = 1;
    qp.cfg.valid = true;
    qp.cfg.service = EXRNIC_SERVICE_RC;
    qp.cfg.dest_node = kPeer;
    qp.cfg.dest_qpn = kPeerQpn;
    qp.cfg.generation = kGeneration;
    qp.peer = {kPeerGeneration, true, 0};
    qp.status.state = EXRNIC_QP_STATE_RTS;
    reset();
    wait_for("init_done_o", EXRNIC_MAX_QP + 2, [&] { return dut().init_done_o != 0; });
    for (const unsigned qpn : {kQpn, kOther}) restart(qpn);  // as they are made
  }

  void cycle() override {
    settle();
    const bool read = dut().qp_read_o;
    if (dut().update_valid_o && dut().update_ready_i)
      told.push_back(unpack<CreditUpdate>(dut().update_o));
    if (dut().raised_o) raised.push_back(dut().raised_qpn_o);
    refused += get_bit(dut().event_o, EXRNIC_COUNTER_CREDIT_REFUSED);
    tick();
    clear_inputs();
    if (read) pack(dut().qp_i, qp);
    settle();
  }
  void run(int cycles = 12) {
    for (int i = 0; i < cycles; ++i) cycle();
  }

  void post(unsigned producer, unsigned qpn = kQpn) {
    dut().posted_i = 1;
    dut().posted_qpn_i = qpn;
    dut().posted_producer_i = producer % kModulus;
    run();
  }
  void drive_taken(unsigned messages, unsigned consumer, bool lapsed = false) {
    dut().taken_i = 1;
    pack(dut().taken_what_i, CreditTaken{kQpn, kPeer, kPeerQpn, kGeneration, kPeerGeneration,
                                         static_cast<uint16_t>(messages % kModulus),
                                         static_cast<uint16_t>(consumer % kModulus), lapsed});
  }
  void take(unsigned messages, unsigned consumer, bool lapsed = false) {
    drive_taken(messages, consumer, lapsed);
    run();
  }
  void restart(unsigned qpn = kQpn) {
    dut().reset_i = 1;
    dut().reset_qpn_i = qpn;
    run();
  }
  void hear(unsigned limit, unsigned qpn = kQpn) {
    hear({kPeer, qpn, kPeerQpn, kPeerGeneration, kGeneration, uint16_t(limit)});
  }
  void hear(const CreditUpdate& update) {
    dut().heard_i = 1;
    pack(dut().heard_what_i, update);
    run();
  }
  // -1: none was told.
  int limit(unsigned qpn = kQpn) {
    dut().look_qpn_i = qpn;
    settle();
    return dut().known_o ? dut().limit_o : -1;
  }
  std::vector<unsigned> limits_told() {
    std::vector<unsigned> limits;
    for (const CreditUpdate& update : told) limits.push_back(update.limit);
    told.clear();
    return limits;
  }

  Qp qp;
  std::deque<CreditUpdate> told;
  std::vector<unsigned> raised;
  unsigned refused = 0;

 private:
  void clear_inputs() {
    dut().posted_i = dut().taken_i = dut().reset_i = dut().failed_i = dut().heard_i = 0;
    dut().reset_qpn_i = kQpn;  // says nothing without its pulse, nor do these
    for (auto& qpn : dut().failed_qpn_i) qpn = kQpn;
  }
};

using Limits = std::vector<unsigned>;

TEST_CASE("Of the first message its sender hears how many it may send, and who says so") {
  Credits credits;
  credits.post(4);
  CHECK(credits.told.empty());
  credits.take(1, 1);
  REQUIRE(credits.told.size() == 1);
  const CreditUpdate update = credits.told[0];
  CHECK(update.node == kPeer);
  CHECK(update.dst_qpn == kPeerQpn);
  CHECK(update.src_qpn == kQpn);
  CHECK(update.src_generation == kGeneration);
  CHECK(update.dst_generation == kPeerGeneration);
  CHECK(update.limit == 4);
  CHECK(credits.dut().idle_o);
}

TEST_CASE("A sender that knows of more receives than are new is told nothing") {
  Credits credits;
  credits.post(8);
  credits.take(1, 1);
  credits.limits_told();
  credits.post(9);
  credits.take(2, 2);
  credits.post(11);
  CHECK(credits.limits_told().empty());  // 6 known, 3 new
  for (unsigned taken = 3; taken <= 4; ++taken) credits.take(taken, taken);
  CHECK(credits.limits_told().empty());  // 4 known, 3 new
  credits.take(6, 6);
  CHECK(credits.limits_told() == Limits{11});  // 2 known, 3 new
}

TEST_CASE("A sender without any is told of the next receive at once") {
  Credits credits;
  credits.post(1);
  credits.take(1, 1);
  CHECK(credits.limits_told() == Limits{1});
  credits.post(2);
  CHECK(credits.limits_told() == Limits{2});
  credits.take(2, 2);
  CHECK(credits.limits_told().empty());
  credits.post(5);
  CHECK(credits.limits_told() == Limits{5});
}

TEST_CASE("A message that found no receive, or a sender that asks, is told again") {
  Credits credits;
  credits.take(0, 0, /*lapsed=*/true);
  CHECK(credits.limits_told() == Limits{0});
  credits.post(3);
  CHECK(credits.limits_told() == Limits{3});
  credits.take(1, 1);
  CHECK(credits.limits_told().empty());
  credits.take(2, 2, /*lapsed=*/true);
  CHECK(credits.limits_told() == Limits{3});
  credits.take(3, 3, /*lapsed=*/true);
  CHECK(credits.limits_told().empty());  // there is none
  credits.post(4);
  CHECK(credits.limits_told() == Limits{4});
}

TEST_CASE("A receive of several slots counts as one when it is taken") {
  Credits credits;
  credits.post(10);
  credits.take(1, 5);
  CHECK(credits.limits_told() == Limits{6});
  credits.take(2, 10, /*lapsed=*/true);
  credits.post(11);
  CHECK(credits.limits_told() == Limits{3});
}

TEST_CASE("What changes while an update waits is told behind it; numbers wrap") {
  Credits credits;
  const unsigned at = kModulus - 2;
  credits.post(at + 1);
  credits.dut().update_ready_i = 0;
  credits.take(at, at);
  CHECK(credits.told.empty());
  credits.post(at + 5);
  CHECK_FALSE(credits.dut().idle_o);
  credits.dut().update_ready_i = 1;
  credits.run();
  CHECK(credits.limits_told() == Limits{at + 1, (at + 5) % kModulus});
  CHECK(credits.dut().idle_o);
}

TEST_CASE("A queue pair that fails or begins anew tells nothing, until a message comes") {
  for (const bool anew : {false, true}) {
    Credits credits;
    credits.post(1);
    credits.take(1, 1);
    credits.limits_told();
    if (anew) {
      credits.restart();
    } else {
      credits.dut().failed_i = 2;
      credits.dut().failed_qpn_i[1] = kQpn;
      credits.run();
    }
    credits.post(5);
    CHECK(credits.told.empty());
    if (!anew) continue;
    credits.restart();
    credits.take(0, 0, true);  // nothing is posted since
    CHECK(credits.limits_told() == Limits{0});
  }
}

TEST_CASE("An update that waits for its frame is dropped when its queue pair fails") {
  Credits credits;
  credits.dut().update_ready_i = 0;
  credits.post(1);
  credits.take(1, 1);
  credits.dut().failed_i = 1;
  credits.dut().failed_qpn_i[0] = kQpn;
  credits.run();
  credits.dut().update_ready_i = 1;
  credits.run();
  CHECK(credits.told.empty());
  CHECK(credits.dut().idle_o);
}

TEST_CASE("Receives that are posted in the cycle of a message are not forgotten") {
  Credits credits;
  credits.post(1);
  credits.take(1, 1);
  credits.limits_told();
  credits.drive_taken(2, 2);
  credits.post(6);
  CHECK(credits.limits_told() == Limits{6});
}

TEST_CASE("A limit rises with what its peer says, wakes once for each rise, and never falls") {
  Credits credits;
  CHECK(credits.limit() == -1);
  credits.hear(kModulus - 3);
  CHECK(credits.limit() == kModulus - 3);
  for (const unsigned late : {kModulus - 3, kModulus - 4, kModulus - 3000}) credits.hear(late);
  CHECK(credits.limit() == kModulus - 3);
  credits.hear(2);
  CHECK(credits.limit() == 2);
  CHECK(credits.raised == std::vector<unsigned>{kQpn, kQpn});
  CHECK(credits.limit(kOther) == -1);
  credits.restart();
  CHECK(credits.limit() == -1);
  credits.hear(0);
  CHECK(credits.limit() == 0);
}

TEST_CASE("A limit that comes is judged, then told: until then it is not idle") {
  Credits credits;
  CHECK(credits.dut().idle_o);
  credits.dut().heard_i = 1;
  pack(credits.dut().heard_what_i,
       CreditUpdate{kPeer, kQpn, kPeerQpn, kPeerGeneration, kGeneration, 4});
  credits.cycle();
  CHECK_FALSE(credits.dut().idle_o);
  credits.cycle();
  CHECK(credits.dut().raised_o);
  CHECK_FALSE(credits.dut().idle_o);
  credits.cycle();
  CHECK(credits.dut().idle_o);
}

TEST_CASE("Only the peer of a connected queue pair of RC can say anything") {
  Credits credits;
  const CreditUpdate good{kPeer, kQpn, kPeerQpn, kPeerGeneration, kGeneration, 5};
  std::vector<CreditUpdate> bad(5, good);
  bad[0].node = kPeer + 1;
  bad[1].src_qpn = kPeerQpn + 1;
  bad[2].dst_qpn = EXRNIC_MAX_QP + kQpn;
  bad[3].src_generation = kPeerGeneration - 1;  // of an earlier life of the peer,
  bad[4].dst_generation = kGeneration - 1;      // or to one of ours
  for (const CreditUpdate& update : bad) credits.hear(update);
  const Qp connected = credits.qp;
  credits.qp.cfg.valid = false;
  credits.hear(good);
  credits.qp = connected;
  credits.qp.cfg.service = EXRNIC_SERVICE_UC;
  credits.hear(good);
  credits.qp = connected;
  for (const auto state : {EXRNIC_QP_STATE_RESET, EXRNIC_QP_STATE_INIT, EXRNIC_QP_STATE_ERROR}) {
    credits.qp.status.state = state;
    credits.hear(good);
  }
  CHECK(credits.limit() == -1);
  CHECK(credits.raised.empty());
  CHECK(credits.refused == 10);
  credits.qp = connected;
  credits.hear(good);
  CHECK(credits.limit() == 5);
}

// A sender that obeys its limit and a receiver, with updates that are lost, late and doubled.
TEST_CASE("Random work: a limit never exceeds what was posted, and no receive stays unknown") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    Credits credits;
    unsigned posted = 1, taken = 0;
    credits.post(posted);
    for (int step = 0; step < 400; ++step) {
      const auto which = random() % 4;
      if (which == 0 && posted - taken < 64) credits.post(posted += 1 + random() % 4);
      if (which != 0 && taken < posted) {
        ++taken;
        credits.take(taken, taken, random() % 8 == 0);
      }
      while (!credits.told.empty() && random() % 3 != 0) {
        const CreditUpdate update = credits.told[random() % credits.told.size()];
        if (random() % 3 != 0) credits.told.pop_front();
        credits.hear(update.limit);
      }
      const int limit = credits.limit();
      if (limit >= 0) REQUIRE((posted - limit) % kModulus < kModulus / 2);
    }
    if (taken == posted) credits.post(++posted);
    credits.told.clear();
    ++taken;
    credits.take(taken, taken, true);
    for (const CreditUpdate& update : credits.told) credits.hear(update.limit);
    if (posted != taken) CHECK(static_cast<unsigned>(credits.limit()) == posted % kModulus);
  }
}

}  // namespace
}  // namespace exrnic::testing

// SPDX-License-Identifier: BSD-2-Clause
// Random lives: queue pairs of two nodes do random work, and are reset, destroyed, created and
// connected anew, by one end or both, while frames are lost, late and double, and the link is cut;
// some have a short time-out of their own.
// Each work request of a life ends, and none of another one. Then all begin a last life, in which
// all must work, and nothing else may change.
#include <fmt/core.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/exchange.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kPairs = 4;
constexpr unsigned kSteps = 150;
constexpr uint32_t kFirstQpn = 11;
constexpr uint32_t kSlice = 16'000;  // of each region, for each pair; receives have another one
constexpr uint64_t kFarBytes = uint64_t{kSlice} * kPairs * 2;
constexpr uint64_t kPatienceNs = 50'000'000;
constexpr unsigned kPatiences = 12;  // with new receives before each
constexpr uint32_t kBeyond = 1 << 24;
constexpr uint8_t kBlank = 0xee;
constexpr size_t kMostUnderWay = 20, kMostReceives = 30;

uint64_t slice(unsigned pair) { return uint64_t{pair} * kSlice; }

struct Member {
  Member(Testbed& testbed, unsigned node, exrnic_service service)
      : rnic(testbed, node),
        cq(rnic.create_cq(Side::kCqn, End::kPage, 12)),
        recv_cq(rnic.create_cq(kRecvCqn, End::kPage, 12, 2)),
        far(rnic.create_region(kFarStag, End::kPd, kFarBase, kFarBytes, kAllRights)),
        near(rnic.create_region(kNearStag, End::kPd, kNearBase, kFarBytes,
                                EXRNIC_ACCESS_LOCAL_WRITE)) {
    QueuePairOptions options;
    options.recv_cq = &recv_cq;
    options.service = service;
    for (unsigned pair = 0; pair < kPairs; ++pair)
      ends[pair].qp = rnic.create_qp(kFirstQpn + pair, End::kPage, End::kPd, cq, options);
  }

  RnicDriver rnic;
  Queue cq, recv_cq;
  Region far, near;
  struct {
    QueuePair qp;
    bool connected = false;
    std::set<uint32_t> posted;  // in this life, and not ended: by wqe_index
    size_t receives = 0;        // likewise
  } ends[kPairs];
};

class Lives {
 public:
  Lives(uint64_t seed, const TestbedOptions& options, exrnic_service service)
      : random_(seed), service_(service), testbed_(options, test_cores()) {
    for (unsigned node = 0; node < 2; ++node)
      members_.push_back(std::make_unique<Member>(testbed_, node, service));
    for (unsigned pair = 0; pair < kPairs; ++pair)
      for (unsigned node = 0; node < 2; ++node) connect(node, pair);
  }

  Member& operator[](unsigned node) { return *members_.at(node); }
  uint64_t below(uint64_t limit) { return random_() % limit; }
  void run_for(uint64_t ns) { testbed_.run_for(ns); }

  void live() {
    const uint64_t calm_ns = 1 + below(30'000), churn = 3 + below(30);
    const bool cuts = below(3) == 0;
    for (unsigned step = 0; step < kSteps; ++step) {
      const auto node = static_cast<unsigned>(below(2));
      const auto pair = static_cast<unsigned>(below(kPairs));
      if (below(churn) == 0) {
        begin_anew(node, pair);
      } else if (below(4) == 0) {
        if (!(*this)[node].ends[pair].connected) connect(node, pair);
      } else if (below(3) == 0) {
        receive(node, pair);
      } else {
        post(node, pair);
      }
      if (cuts && below(25) == 0) cut_link();
      if (below(2)) run_for(below(calm_ns));
      collect();
    }
  }

  // What has not ended though it had the time, and receives.
  std::string hanging() {
    for (unsigned round = 0; round < kPatiences; ++round) {
      for (unsigned node = 0; node < 2; ++node)
        for (unsigned pair = 0; pair < kPairs; ++pair)
          for (int i = 0; i < 10; ++i) receive(node, pair);
      testbed_.run_until([this] { return all_ended(); }, kPatienceNs);
      if (all_ended()) return "";
    }
    std::string text;
    for (unsigned node = 0; node < 2; ++node)
      for (unsigned pair = 0; pair < kPairs; ++pair)
        if (const size_t left = (*this)[node].ends[pair].posted.size())
          text +=
              fmt::format(" {} of node {}, queue pair {} in state {}", left, node, kFirstQpn + pair,
                          static_cast<int>((*this)[node].rnic.query(kFirstQpn + pair).state));
    return text;
  }

  // All begin a life together, and PUSH once; nothing of an earlier one changes a byte.
  void expect_last_life_works() {
    for (unsigned pair = 0; pair < kPairs; ++pair)
      for (unsigned node = 0; node < 2; ++node) end_life(node, pair);
    last_ = true;
    for (unsigned pair = 0; pair < kPairs; ++pair)
      for (unsigned node = 0; node < 2; ++node) connect(node, pair);
    run_for(1000);
    CHECK(ended_ > 0);
    failed_ = 0;
    constexpr uint32_t kBytes = 5000, kPlace = 1000;
    const Bytes blank(kFarBytes, kBlank);
    std::vector<Bytes> expected(2, blank);
    for (unsigned node = 0; node < 2; ++node) (*this)[node].rnic.write((*this)[node].far, 0, blank);
    for (unsigned pair = 0; pair < kPairs; ++pair)
      for (unsigned node = 0; node < 2; ++node) {
        Member& member = (*this)[node];
        const Bytes data = random_bytes(random_, kBytes);
        member.rnic.write(member.near, slice(pair), data);
        put(node, pair, push_of({element(member.near, slice(pair), kBytes)}, slice(pair) + kPlace));
        std::copy(data.begin(), data.end(),
                  expected[1 - node].begin() + static_cast<ptrdiff_t>(slice(pair) + kPlace));
      }
    CHECK(hanging() == "");
    CHECK(failed_ == 0);
    run_for(1'000'000);
    // What UC sends may be lost.
    if (service_ == EXRNIC_SERVICE_RC)
      for (unsigned node = 0; node < 2; ++node)
        CHECK(difference((*this)[node].rnic.read((*this)[node].far, 0, kFarBytes),
                         expected[node]) == "");
    for (const auto& member : members_) {
      CHECK(member->rnic.host().refused_reads() == 0);
      CHECK(member->rnic.host().refused_writes().empty());
    }
  }

  const std::string& ghosts() const { return ghosts_; }

 private:
  void connect(unsigned node, unsigned pair) {
    Member& member = (*this)[node];
    Rnr patience{1, EXRNIC_RNR_RETRY_ENDLESS};
    if (!last_ && below(2)) {
      patience.timeout = static_cast<uint8_t>(1 + below(7));
      patience.retry_count = static_cast<uint8_t>(below(3));
    }
    member.rnic.connect(member.ends[pair].qp, 1 - node, kFirstQpn + pair, patience);
    member.ends[pair].connected = true;
  }

  void end_life(unsigned node, unsigned pair) {
    Member& member = (*this)[node];
    auto& end = member.ends[pair];
    const bool destroys = below(3) == 0;
    if (destroys) {
      member.rnic.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{end.qp.qpn});
    } else {
      REQUIRE(member.rnic.modify(end.qp.qpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
    }
    collect();
    end.qp.sq.index = end.qp.rq.index = 0;
    end.posted.clear();
    end.receives = 0;
    end.connected = false;
    if (!destroys) return;
    QueuePairOptions options;
    options.recv_cq = &member.recv_cq;
    member.rnic.create_again(end.qp, member.cq, options);
  }

  // One end, which may be connected later; or both, in any order.
  void begin_anew(unsigned node, unsigned pair) {
    end_life(node, pair);
    if (below(4) == 0) return;
    if (below(3) == 0) return connect(node, pair);
    if (below(2)) run_for(below(20'000));
    const bool early = below(2);
    if (early) connect(node, pair);
    end_life(1 - node, pair);
    if (!early) connect(node, pair);
    if (below(2)) post(node, pair);
    connect(1 - node, pair);
  }

  void post(unsigned node, unsigned pair) {
    Member& member = (*this)[node];
    if (!member.ends[pair].connected || member.ends[pair].posted.size() > kMostUnderWay) return;
    const auto length = static_cast<uint32_t>(below(4) ? below(3000) + 1 : below(kSlice / 2));
    const uint64_t from = slice(pair) + below(kSlice - length);
    const uint64_t to = slice(pair) + below(kSlice - length);
    const Elements elements{element(member.near, from, length)};
    member.rnic.write(member.near, from, random_bytes(random_, length));
    switch (below(service_ == EXRNIC_SERVICE_RC ? 8 : 5)) {
      case 0:
      case 1:
        return put(node, pair, push_of(elements, to));
      case 2:
        return put(node, pair,
                   with_imm(push_of(elements, to), EXRNIC_WQE_OPCODE_PUSH_IMM,
                            static_cast<uint32_t>(random_())));
      case 3:
      case 4:
        return put(node, pair, send_of(elements));
      case 5:
      case 6:
        return put(node, pair, pull_of(elements, to));
      default:
        return put(node, pair, push_of(elements, below(2) ? to : kBeyond));
    }
  }
  void put(unsigned node, unsigned pair, const Work& work) {
    auto& end = (*this)[node].ends[pair];
    (*this)[node].rnic.post(end.qp, work);
    end.posted.insert((end.qp.sq.index - 1) & 0xffff);
  }
  void receive(unsigned node, unsigned pair) {
    Member& member = (*this)[node];
    if (!member.ends[pair].connected || member.ends[pair].receives > kMostReceives) return;
    member.rnic.post_receive(member.ends[pair].qp,
                             {element(member.far, slice(kPairs + pair), kSlice)});
    ++member.ends[pair].receives;
  }

  void cut_link() {
    const TopologyLink& cable = testbed_.fabric().topology().links.at(0);
    testbed_.fabric().set_up(cable, false);
    run_for(below(2) ? below(100'000) : below(20'000'000));
    testbed_.fabric().set_up(cable, true);
  }

  // A completion of what its queue pair has not posted in this life is a ghost.
  void collect() {
    for (unsigned node = 0; node < 2; ++node) {
      Member& member = (*this)[node];
      while (const auto cqe = member.rnic.poll(member.cq, End::kPage)) {
        ++ended_;
        failed_ += cqe->status != EXRNIC_CQE_STATUS_SUCCESS;
        if (member.ends[cqe->qpn - kFirstQpn].posted.erase(cqe->wqe_index) == 0)
          ghosts_ += fmt::format(" work request {} of node {}, queue pair {}",
                                 uint32_t{cqe->wqe_index}, node, uint32_t{cqe->qpn});
      }
      while (const auto cqe = member.rnic.poll(member.recv_cq, End::kPage)) {
        size_t& receives = member.ends[cqe->qpn - kFirstQpn].receives;
        if (receives == 0)
          ghosts_ += fmt::format(" receive of node {}, queue pair {}", node, uint32_t{cqe->qpn});
        receives -= receives != 0;
      }
    }
  }
  bool all_ended() {
    collect();
    for (const auto& member : members_)
      for (const auto& end : member->ends)
        if (!end.posted.empty()) return false;
    return true;
  }

  std::mt19937_64 random_;
  const exrnic_service service_;
  Testbed testbed_;
  std::vector<std::unique_ptr<Member>> members_;
  unsigned ended_ = 0, failed_ = 0;
  std::string ghosts_;
  bool last_ = false;  // the last lives have no time-outs of their own
};

void live_and_begin_anew(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto rate = [&random](unsigned per_mille) {
    return static_cast<double>(random() % per_mille) / 1000;
  };
  TestbedOptions options = options_for("dc-25g");
  options.seed = seed;
  if (random() % 4 != 0) {
    options.faults.rates.drop = rate(30);
    options.faults.rates.duplicate = rate(50);
    options.faults.rates.reorder = rate(50);
    options.faults.rates.delay = rate(50);
    options.faults.delay_ns = static_cast<uint32_t>(1000 + random() % 200'000);
    options.faults.reorder_frames = static_cast<unsigned>(1 + random() % 7);
  }
  Lives lives(seed, options, random() % 5 ? EXRNIC_SERVICE_RC : EXRNIC_SERVICE_UC);
  // One of the two is sooner tired of the other.
  if (random() % 3 == 0) lives[random() % 2].rnic.write_register(EXRNIC_REG_RTO_CYCLES, 20'000);
  lives.live();
  CHECK(lives.hanging() == "");
  lives.expect_last_life_works();
  CHECK(lives.ghosts() == "");
}

void live_often(uint64_t seeds) {
  const char* given = std::getenv("EXRNIC_SEED");
  const uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 0) : 1;
  for (uint64_t seed = first; seed < first + (given != nullptr ? 1 : seeds); ++seed) {
    INFO("EXRNIC_SEED=" << seed);
    live_and_begin_anew(seed);
  }
}

TEST_CASE("in random lives all that is posted ends, and nothing of one counts in another") {
  live_often(20);
}

TEST_CASE("in many random lives all that is posted ends", "[.][soak]") { live_often(2000); }

}  // namespace
}  // namespace exrnic::testing

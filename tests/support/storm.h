// SPDX-License-Identifier: BSD-2-Clause
// What a test needs that throws garbage at the core: the garbage, and two nodes whose processes
// must neither lose nor gain a byte by it.
#pragma once

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <vector>

#include "tests/support/pair.h"
#include "tests/support/seed.h"

namespace exrnic::testing {

constexpr uint64_t kStormLength = 3000;

class Garbage {
 public:
  uint64_t seed() const { return seed_; }
  uint64_t any() { return random_(); }
  std::mt19937_64& generator() { return random_; }
  uint64_t below(uint64_t limit) { return random_() % limit; }
  bool one_in(uint64_t n) { return below(n) == 0; }
  Bytes bytes(size_t count) { return random_bytes(random_, count); }

  template <typename T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }

  // A few bytes become others.
  void spoil(uint8_t* data, size_t length) {
    for (uint64_t i = 1 + below(3); i > 0; --i) data[below(length)] = static_cast<uint8_t>(any());
  }

 private:
  const uint64_t seed_ = draw_seed();  // EXRNIC_SEED if that is set
  std::mt19937_64 random_{seed_};
};

// Two nodes, on each a process that PUSHes to the other's and has memory that nobody may write.
class Nodes {
 public:
  Nodes() : testbed(options_for("dc-25g"), test_cores()) {
    open(0);
    open(1);
    connect();
  }

  Side& side(unsigned node) { return *stations_[node]->side; }
  RnicDriver& rnic(unsigned node) { return side(node).rnic; }

  // Resets the function of one node and starts its driver anew; the other only its queue pair.
  void restart(unsigned node) {
    testbed.node(node).device().reset();
    stations_[node].reset();
    open(node);
    Side& other = side(1 - node);
    REQUIRE(other.rnic.modify(other.qp.qpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
    other.qp.sq.index = 0;
    connect();
  }

  void expect_pushes(Garbage& garbage) {
    for (const unsigned from : {0u, 1u}) {
      INFO("from node " << from << " at " << testbed.now_ns() << " ns");
      Station& source = *stations_[from];
      Station& sink = *stations_[1 - from];
      const Bytes data = garbage.bytes(kStormLength);
      source.side->rnic.write(source.source, 0, data);
      source.side->rnic.post(source.side->qp,
                             {&source.source, 0, kStormLength, kSinkStag, kSinkBase, true});
      REQUIRE(source.side->wait().status == EXRNIC_CQE_STATUS_SUCCESS);
      REQUIRE(difference(sink.side->rnic.read(sink.sink, 0, kStormLength), data) == "");
      sink.received = data;
    }
  }

  // Only where no peer may have written it since the last expect_pushes().
  void expect_sinks_untouched() {
    for (auto& station : stations_)
      REQUIRE(difference(station->side->rnic.read(station->sink, 0, kStormLength),
                         station->received) == "");
  }

  void expect_secret_untouched(unsigned node) {
    Station& station = *stations_[node];
    CHECK(difference(rnic(node).read(station.secret, 0, kStormLength), secret_) == "");
  }

  void expect_nothing_refused(unsigned node) {
    CHECK(rnic(node).host().refused_reads() == 0);
    CHECK(rnic(node).host().refused_writes().empty());
  }

  static constexpr uint32_t kSecretStag = 0x000244'02;
  static constexpr uint8_t kSecret = 0x5e;  // each byte of that region

  Testbed testbed;

 private:
  struct Station {
    std::unique_ptr<Side> side;
    Region source, sink, secret;
    Bytes received = Bytes(kStormLength, 0);  // in the sink
  };

  void open(unsigned node) {
    auto side = std::make_unique<Side>(testbed, node, node ? Pair::kRightQpn : Pair::kLeftQpn);
    stations_[node] = std::make_unique<Station>();
    Station& station = *stations_[node];
    station.source = source_of(*side, kStormLength);
    station.sink = sink_of(*side, kStormLength);
    station.secret = side->rnic.create_region(kSecretStag, Side::kPd, kSinkBase, kStormLength,
                                              EXRNIC_ACCESS_LOCAL_WRITE);
    side->rnic.write(station.secret, 0, secret_);
    station.side = std::move(side);
  }

  void connect() {
    rnic(0).connect(side(0).qp, 1, Pair::kRightQpn);
    rnic(1).connect(side(1).qp, 0, Pair::kLeftQpn);
  }

  const Bytes secret_ = Bytes(kStormLength, kSecret);
  std::array<std::unique_ptr<Station>, 2> stations_;
};

}  // namespace exrnic::testing

// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/mac.h"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "sim/testing/test_kernel.h"

namespace exrnic {
namespace {

// Two MACs joined by two lines of 8 Gb/s without latency.
struct Bench {
  struct Rnic final : FrameReceiver {
    void receive(Frame&& frame) override { frames.push_back(std::move(frame)); }
    std::vector<Frame> frames;
  };

  explicit Bench(const FaultConfig& faults = {})
      : left(left_rnic),
        right(right_rnic),
        to_right(kernel.scheduler(), kernel.scheduler(), {8000, 0}, faults, 1, right) {
    left.connect(to_right);
  }

  TestKernel kernel;
  Rnic left_rnic, right_rnic;
  Mac left, right;
  EthernetLink to_right;
};

TEST_CASE("the FCS is the CRC-32 of IEEE 802.3, least significant byte first") {
  const std::string check = "123456789";  // CRC-32 0xcbf43926, the check value of its catalogue
  Bytes wire(check.begin(), check.end());
  wire.insert(wire.end(), {0x26, 0x39, 0xf4, 0xcb});
  CHECK(remove_fcs(wire));
  CHECK(wire == Bytes(check.begin(), check.end()));
}

TEST_CASE("a frame comes out as it went in, padded with zeros to 60 bytes") {
  Bench bench;
  bench.left.transmit({Bytes(20, 0xab)});
  bench.left.transmit({Bytes(1000, 0xcd)});
  bench.kernel.run_all();
  REQUIRE(bench.right_rnic.frames.size() == 2);
  Bytes padded(60);
  std::fill_n(padded.begin(), 20, 0xab);
  CHECK(bench.right_rnic.frames[0].data == padded);
  CHECK(bench.right_rnic.frames[1].data == Bytes(1000, 0xcd));
  CHECK_FALSE(bench.right_rnic.frames[0].fcs_error);
}

TEST_CASE("the smallest frame occupies 84 byte times") {
  Bench bench;
  bench.left.transmit({Bytes(20)});
  CHECK(bench.to_right.queued_bytes() == 84);
}

TEST_CASE("a corrupted frame goes up with its FCS error and is counted") {
  FaultConfig faults;
  faults.script[0] = Fault::kCorrupt;
  Bench bench(faults);
  bench.left.transmit({Bytes(100)});
  bench.kernel.run_all();
  REQUIRE(bench.right_rnic.frames.size() == 1);
  CHECK(bench.right_rnic.frames[0].fcs_error);
  CHECK(bench.right.counters().fcs_errors == 1);
}

TEST_CASE("a wire frame too short for an FCS is an FCS error") {
  Bench bench;
  bench.right.receive_wire(Bytes(3));
  REQUIRE(bench.right_rnic.frames.size() == 1);
  CHECK(bench.right_rnic.frames[0].fcs_error);
}

TEST_CASE("the MAC holds one frame beside the one on the line") {
  Bench bench;
  bench.left.transmit({Bytes(60)});
  CHECK(bench.left.can_transmit());
  bench.left.transmit({Bytes(60)});
  CHECK_FALSE(bench.left.can_transmit());
  bench.kernel.context.run_to(84 * kPsPerNs, false);
  CHECK(bench.left.can_transmit());
}

TEST_CASE("without a line frames are dropped and counted") {
  Bench bench;
  REQUIRE(bench.right.can_transmit());
  bench.right.transmit({Bytes(60)});
  CHECK(bench.right.counters().dropped_link_down == 1);
  CHECK(bench.right.counters().transmitted == 0);
}

TEST_CASE("an observer sees each frame with its FCS at both ends") {
  Bench bench;
  std::vector<Bytes> sent, received;
  bench.left.observe([&](Mac::Direction direction, const Bytes& wire) {
    CHECK(direction == Mac::Direction::kTransmit);
    sent.push_back(wire);
  });
  bench.right.observe([&](Mac::Direction direction, const Bytes& wire) {
    CHECK(direction == Mac::Direction::kReceive);
    received.push_back(wire);
  });
  bench.left.transmit({Bytes(70, 1)});
  bench.kernel.run_all();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].size() == 74);
  CHECK(sent == received);
}

}  // namespace
}  // namespace exrnic

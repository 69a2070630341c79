// SPDX-License-Identifier: BSD-2-Clause
// Times are computed by hand for 8 Gb/s, one byte per ns, and 500 ns of latency.
#include "sim/ethernet/ethernet_link.h"

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <vector>

#include "exrnic_hw.h"
#include "sim/testing/test_kernel.h"

namespace exrnic {
namespace {

struct Bench final : WireReceiver {
  explicit Bench(const FaultConfig& faults = {}, uint64_t seed = 1)
      : link(kernel.scheduler(), kernel.scheduler(), {8000, 500}, faults, seed, *this) {}

  void receive_wire(Bytes&& wire) override {
    order.push_back(wire.at(0));
    times_ns.push_back(kernel.context.now() / kPsPerNs);
    frames.push_back(std::move(wire));
  }

  // Sends frames of 64 bytes, numbered from 0, back to back: 84 ns each.
  void send(unsigned count) {
    for (unsigned i = 0; i < count; ++i) link.send(Bytes(64, static_cast<uint8_t>(i)));
    kernel.run_all();
  }

  TestKernel kernel;
  EthernetLink link;
  std::vector<int> order;
  std::vector<uint64_t> times_ns;
  std::vector<Bytes> frames;
};

FaultConfig at_frame(uint64_t index, Fault fault) {
  FaultConfig config;
  config.script[index] = fault;
  return config;
}

TEST_CASE("a frame arrives after its preamble, its bytes and the latency; a gap follows") {
  Bench bench;
  bench.send(3);
  CHECK(bench.order == std::vector<int>{0, 1, 2});
  CHECK(bench.times_ns == std::vector<uint64_t>{8 + 64 + 500, 84 + 572, 2 * 84 + 572});
}

TEST_CASE("a dropped frame keeps its time on the line") {
  Bench bench(at_frame(1, Fault::kDrop));
  bench.send(3);
  CHECK(bench.order == std::vector<int>{0, 2});
  CHECK(bench.times_ns == std::vector<uint64_t>{572, 2 * 84 + 572});
  CHECK(bench.link.counters().dropped == 1);
  CHECK(bench.link.counters().frames == 3);
}

TEST_CASE("a duplicated frame arrives twice") {
  Bench bench(at_frame(0, Fault::kDuplicate));
  bench.send(2);
  CHECK(bench.order == std::vector<int>{0, 0, 1});
  CHECK(bench.link.counters().duplicated == 1);
}

TEST_CASE("a reordered frame arrives right behind the chosen number of later frames") {
  Bench bench(at_frame(1, Fault::kReorder));  // behind two
  bench.send(5);
  CHECK(bench.order == std::vector<int>{0, 2, 3, 1, 4});
  CHECK(bench.times_ns[2] == bench.times_ns[3]);
  CHECK(bench.link.counters().reordered == 1);
}

TEST_CASE("a reordered frame without later ones arrives when its time to hold is over") {
  FaultConfig config = at_frame(1, Fault::kReorder);
  config.hold_ns = 1000;
  Bench bench(config);
  bench.send(2);
  CHECK(bench.order == std::vector<int>{0, 1});
  CHECK(bench.times_ns[1] == 84 + 572 + 1000);
}

TEST_CASE("a corrupted frame arrives with one to three bits flipped") {
  Bench bench(at_frame(0, Fault::kCorrupt));
  bench.link.send(Bytes(64, 0));
  bench.kernel.run_all();
  REQUIRE(bench.frames.size() == 1);
  int flipped = 0;
  for (const uint8_t byte : bench.frames[0]) flipped += __builtin_popcount(byte);
  CHECK(flipped >= 1);
  CHECK(flipped <= 3);
  CHECK(bench.link.counters().corrupted == 1);
}

TEST_CASE("a delayed frame arrives late and later ones pass it") {
  FaultConfig config = at_frame(0, Fault::kDelay);
  config.delay_ns = 100;
  Bench bench(config);
  bench.send(2);
  CHECK(bench.order == std::vector<int>{1, 0});
  CHECK(bench.times_ns == std::vector<uint64_t>{84 + 572, 572 + 100});
  CHECK(bench.link.counters().delayed == 1);
}

TEST_CASE("with random faults one seed gives one history") {
  const FaultConfig config =
      parse_faults("drop=0.1,duplicate=0.1,reorder=0.1,corrupt=0.1,delay=0.1");
  const auto history = [&](uint64_t seed) {
    Bench bench(config, seed);
    bench.send(200);
    return std::pair(bench.frames, bench.times_ns);
  };
  CHECK(history(5) == history(5));
  CHECK(history(5) != history(6));
}

// ---- Flow control

// The end of a line whose buffer has room for two frames of 64 bytes.
struct CreditBench final : WireReceiver {
  void receive_wire(Bytes&& wire) override { receive_buffered(std::move(wire), {}); }
  void receive_buffered(Bytes&& wire, Room room) override {
    times_ns.push_back(kernel.context.now() / kPsPerNs);
    order.push_back(wire.at(0));
    if (keeps) rooms.push_back(std::move(room));
  }
  void send(unsigned count) {
    for (unsigned i = 0; i < count; ++i) line->send(Bytes(64, static_cast<uint8_t>(i)));
    kernel.run_all();
  }

  TestKernel kernel;
  bool keeps = false;
  std::vector<Room> rooms;
  std::vector<int> order;
  std::vector<uint64_t> times_ns;
  std::unique_ptr<EthernetLink> line = std::make_unique<EthernetLink>(
      kernel.scheduler(), kernel.scheduler(), EthernetLink::Config{8000, 500, 2 * 84},
      FaultConfig{}, 1, *this);
};

TEST_CASE("a frame waits until the far buffer has room and the credit is back") {
  CreditBench bench;
  bench.send(4);
  // Each is taken out as it arrives, and its credit needs the latency to come back.
  CHECK(bench.times_ns == std::vector<uint64_t>{572, 656, 572 + 500 + 572, 656 + 500 + 572});
}

TEST_CASE("frames that stay in the far buffer stop the line, in order, and lose nothing") {
  CreditBench bench;
  bench.keeps = true;
  bench.send(5);
  CHECK(bench.order == std::vector<int>{0, 1});
  CHECK(bench.line->queued_frames() == 3);
  CHECK(bench.line->queued_bytes() == 3 * 84);
  bench.rooms.erase(bench.rooms.begin());
  bench.kernel.run_all();
  CHECK(bench.order == std::vector<int>{0, 1, 2});
  bench.keeps = false;
  bench.rooms.clear();
  bench.kernel.run_all();
  CHECK(bench.order == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(bench.line->queued_frames() == 0);
}

TEST_CASE("a frame that is lost on the line gives its credit back") {
  CreditBench bench;
  FaultConfig faults;
  faults.rates.drop = 1;
  bench.line =
      std::make_unique<EthernetLink>(bench.kernel.scheduler(), bench.kernel.scheduler(),
                                     EthernetLink::Config{8000, 500, 2 * 84}, faults, 1, bench);
  bench.send(50);
  CHECK(bench.line->counters().dropped == 50);
  CHECK(bench.line->queued_frames() == 0);
}

TEST_CASE("room may outlive the line that it was taken on") {
  CreditBench bench;
  bench.keeps = true;
  bench.send(2);
  bench.line.reset();
  bench.rooms.clear();
  bench.kernel.run_all();
  CHECK(bench.order.size() == 2);
}

TEST_CASE("a line into a cut-through switch delivers a frame with its head") {
  Bench bench;
  EthernetLink line(bench.kernel.scheduler(), bench.kernel.scheduler(), {8000, 500, 0, 64}, {}, 1,
                    bench);
  line.send(Bytes(1000));
  bench.kernel.run_all();
  CHECK(bench.times_ns == std::vector<uint64_t>{8 + 64 + 500});
  CHECK(bench.frames[0].size() == 1000);
}

TEST_CASE("a line that is down loses what would arrive, and carries again when it is up") {
  Bench bench;
  bench.link.set_up(false);
  bench.send(2);
  CHECK(bench.order.empty());
  CHECK(bench.link.counters().lost_down == 2);
  bench.link.send(Bytes(64, 7));  // arrives after the line came up
  bench.link.set_up(true);
  bench.kernel.run_all();
  CHECK(bench.order == std::vector<int>{7});
}

TEST_CASE("more latency delays what enters from then on; less lets no frame pass another") {
  Bench bench;
  bench.link.set_extra_latency(1000);
  bench.link.send(Bytes(64, 0));
  bench.link.set_extra_latency(0);
  bench.link.send(Bytes(64, 1));
  bench.kernel.run_all();
  CHECK(bench.order == std::vector<int>{0, 1});
  CHECK(bench.times_ns == std::vector<uint64_t>{572 + 1000, 572 + 1000});
  bench.link.send(Bytes(64, 2));
  bench.kernel.run_all();
  CHECK(bench.times_ns[2] == 572 + 1000 + 572);
}

TEST_CASE("faults that are set while a line runs are those of their seed from the next frame on") {
  FaultConfig faults;
  faults.rates.drop = 0.3;
  Bench from_start(faults, 7), later;
  later.send(10);
  later.order.clear();
  later.link.set_faults(faults, 7);
  from_start.send(100);
  later.send(100);
  CHECK(from_start.link.counters().dropped > 0);
  CHECK(later.order == from_start.order);
}

TEST_CASE("frames of a blocked sender are lost, others arrive") {
  Bench bench;
  const auto send_from = [&](uint64_t station, uint8_t tag) {
    Bytes wire(64, tag);
    exrnic_eth_set_src(wire.data(), station);
    bench.link.send(std::move(wire));
    bench.kernel.run_all();
  };
  bench.link.block_senders({5, 6});
  send_from(5, 1);
  send_from(4, 2);
  bench.link.block_senders({});
  send_from(5, 3);
  CHECK(bench.order == std::vector<int>{2, 3});
  CHECK(bench.link.counters().lost_partitioned == 1);
}

TEST_CASE("who observes losses sees each frame that does not arrive whole, as it was, and why") {
  FaultConfig faults = at_frame(1, Fault::kDrop);
  faults.script[2] = Fault::kCorrupt;
  faults.script[3] = Fault::kDuplicate;
  Bench bench(faults);
  std::vector<std::pair<Loss, int>> lost;
  std::vector<uint64_t> times_ns;
  bench.link.observe_losses([&](Loss loss, SimTime now, const Bytes& wire) {
    CHECK(wire == Bytes(64, wire[0]));
    lost.push_back({loss, wire[0]});
    times_ns.push_back(now / kPsPerNs);
  });
  bench.send(5);
  CHECK(lost == std::vector<std::pair<Loss, int>>{{Loss::kDropped, 1}, {Loss::kCorrupted, 2}});
  CHECK(times_ns == std::vector<uint64_t>{84 + 572, 2 * 84 + 572});
  bench.link.set_up(false);
  bench.send(1);
  bench.link.set_up(true);
  bench.link.block_senders({0x010101010101});
  bench.send(2);
  REQUIRE(lost.size() == 4);
  CHECK(lost[2] == std::pair(Loss::kDown, 0));
  CHECK(lost[3] == std::pair(Loss::kPartitioned, 1));
}

TEST_CASE("an observer sees a frame when its first bit enters and when its last bit arrives") {
  Bench bench(at_frame(1, Fault::kDrop));
  std::vector<uint64_t> entered, left;
  bench.link.observe([&](EthernetLink::Point point, SimTime now, const Bytes& wire) {
    CHECK(wire.size() == 64);
    (point == EthernetLink::Point::kEnters ? entered : left).push_back(now / kPsPerNs);
  });
  bench.send(3);
  CHECK(entered == std::vector<uint64_t>{0, 84, 2 * 84});
  CHECK(left == std::vector<uint64_t>{572, 2 * 84 + 572});
}

}  // namespace
}  // namespace exrnic

// SPDX-License-Identifier: BSD-2-Clause
// Times are computed by hand for a link of 1 byte per ns and 100 ns of latency.
#include "sim/pcie/pcie_link.h"

#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/testing/test_kernel.h"

namespace exrnic {
namespace {

struct Event {
  std::string what;
  uint64_t ns;
  bool operator==(const Event& other) const { return what == other.what && ns == other.ns; }
};
std::ostream& operator<<(std::ostream& out, const Event& event) {
  return out << event.what << '@' << event.ns;
}
using Events = std::vector<Event>;

struct Bench : PcieEndpoint, HostPort {
  static constexpr uint64_t kSlow = 0x7000;    // address of what is read late,
  static constexpr uint64_t kSilent = 0x8000;  // and never

  explicit Bench(uint32_t host_load_ns = 0, uint32_t host_memory_ns = 0)
      : link(kernel.scheduler(), {1000, 100, 256, 512, host_load_ns, host_memory_ns}, *this) {
    link.connect_host(this);
  }

  void note(const std::string& what) { events.push_back({what, kernel.context.now() / kPsPerNs}); }
  void run() { kernel.run_all(); }

  // The device.
  void mmio_write(const MmioAccess& access) override {
    note("store " + std::to_string(access.data));
  }
  void mmio_read(const MmioAccess& access) override {
    note("load");
    if (answer_loads) link.mmio_read_done(0x1122334455667788u + access.offset);
  }
  void read_completion(ReadCompletion&& completion) override {
    note((completion.error ? "error " : "data ") + std::to_string(completion.tag) + ":" +
         std::to_string(completion.data.size()) + (completion.last ? " last" : ""));
    data.insert(data.end(), completion.data.begin(), completion.data.end());
  }
  void reset() override { note("reset"); }

  // The host: memory below 64 KiB reads as the low byte of its address.
  bool dma_read(uint64_t address, uint8_t* out, size_t length) override {
    note("read " + std::to_string(length));
    for (size_t i = 0; i < length; ++i) out[i] = static_cast<uint8_t>(address + i);
    return address < 0x10000;
  }
  uint64_t read_wait_ns(uint64_t address, size_t) override {
    return address == kSlow ? 1000 : address == kSilent ? kNever : 0;
  }
  bool dma_write(uint64_t address, const uint8_t*, size_t length) override {
    note("write " + std::to_string(length));
    return address < 0x10000;
  }
  void fire_msix(unsigned vector) override { note("msix " + std::to_string(vector)); }

  TestKernel kernel;
  PcieLink link;
  Events events;
  Bytes data;
  bool answer_loads = true;
};

PostedWrite memory_write(uint64_t address, size_t length) {
  return {PostedWrite::Kind::kMemory, address, Bytes(length)};
}

PostedWrite part_of_write(uint64_t address, size_t length) {
  return {PostedWrite::Kind::kMemory, address, Bytes(length), true};
}

PostedWrite interrupt(unsigned vector) { return {PostedWrite::Kind::kMsix, vector, {}, false}; }

TEST_CASE("a write arrives after its payload and 24 bytes at the link's rate, and the latency") {
  Bench bench;
  bench.link.write(memory_write(0x1000, 256));
  bench.run();
  CHECK(bench.events == Events{{"write 256", 256 + 24 + 100}});
  CHECK(bench.link.counters().write_bytes == 256);
}

TEST_CASE("writes, interrupts and reads arrive in the order in which they were sent") {
  Bench bench;
  bench.link.write(memory_write(0x1000, 100));  // leaves at 124
  bench.link.write(interrupt(3));               // one word: 28, leaves at 152
  bench.link.read({7, 0x2000, 64});             // 24, leaves at 176
  bench.run();
  // The completion: 64 + 20 bytes and the latency after the read's arrival at 276.
  CHECK(bench.events == Events{{"write 100", 224},
                               {"msix 3", 252},
                               {"read 64", 276},
                               {"data 7:64 last", 276 + 84 + 100}});
}

// Gives what comes to it when it is told to.
class HeldEntrance final : public Scheduler::Entrance {
 public:
  explicit HeldEntrance(std::vector<std::function<void()>>& held) : held_(held) {}
  void at(SimTime, std::function<void()> action) override { held_.push_back(std::move(action)); }

 private:
  std::vector<std::function<void()>>& held_;
};

struct OutsideBench : Bench {
  OutsideBench() { link.connect_host(this, std::make_unique<HeldEntrance>(held)); }
  void let_out() {
    for (const auto& action : std::exchange(held, {})) action();
  }
  std::vector<std::function<void()>> held;
};

TEST_CASE("an outside host notices nothing before its turn, and then all in order") {
  OutsideBench bench;
  bench.link.write(memory_write(0x1000, 100));
  bench.link.write(part_of_write(0x2000, 8));
  bench.link.write(memory_write(0x2008, 8));
  bench.link.write(interrupt(3));
  bench.link.mmio_read(0, 8, 8, [&](uint64_t) { bench.note("answer"); });
  bench.run();
  bench.link.write(memory_write(0xffff'0000, 4));
  bench.run();
  CHECK(bench.events.size() == 1);  // the load, at the device
  CHECK(bench.link.counters().writes == 0);
  bench.events.clear();
  bench.let_out();
  std::vector<std::string> seen;
  for (const Event& event : bench.events) seen.push_back(event.what);
  CHECK(seen == std::vector<std::string>{"write 100", "write 16", "msix 3", "answer", "write 4"});
  CHECK(bench.link.counters().writes == 3);
  CHECK(bench.link.counters().writes_refused == 1);
}

TEST_CASE("a device reads what it wrote, when the outside has not noticed it yet") {
  OutsideBench bench;
  for (const uint64_t address : {0x1000, 0x2000, 0x3000})
    bench.link.write(memory_write(address, 64));
  bench.run();
  bench.link.read({1, 0x1fc1, 63});  // ends before the second
  bench.link.read({2, 0x2040, 8});   // begins after it
  bench.run();
  CHECK(bench.link.counters().writes == 0);
  SECTION("the last byte") { bench.link.read({3, 0x203f, 64}); }
  SECTION("the first byte") { bench.link.read({3, 0x1fc1, 64}); }
  SECTION("at a look outside of time") {
    uint8_t byte;
    bench.link.peek(0x2020, &byte, 1);
  }
  bench.run();
  CHECK(bench.link.counters().writes == 3);
  bench.link.write(memory_write(0x4000, 64));
  bench.run();
  bench.let_out();  // each once
  CHECK(bench.link.counters().writes == 4);
}

TEST_CASE("a read of slow memory sees it late; other reads, and writes, go before") {
  Bench bench;
  bench.link.read({7, Bench::kSilent, 64});
  bench.link.read({8, Bench::kSlow, 64});       // leaves at 48
  bench.link.read({9, 0x2000, 64});             // leaves at 72
  bench.link.write(memory_write(0x1000, 100));  // leaves at 196
  bench.run();
  CHECK(bench.events == Events{{"read 64", 172},
                               {"write 100", 296},
                               {"data 9:64 last", 172 + 84 + 100},
                               {"read 64", 148 + 1000},
                               {"data 8:64 last", 148 + 1000 + 84 + 100}});
  CHECK(bench.link.next_touch() == PcieLink::kNoTouch);
}

TEST_CASE("a reset forgets a read of slow memory") {
  Bench bench;
  bench.link.read({8, Bench::kSlow, 64});
  bench.kernel.context.run_to(500 * kPsPerNs, true);
  bench.link.reset();
  bench.run();
  CHECK(bench.events == Events{{"reset", 500}});
}

TEST_CASE(
    "parts of a write reach the host together with the last one, and an interrupt behind it") {
  Bench bench;
  bench.link.write(part_of_write(0x1000, 256));
  bench.link.write(part_of_write(0x1100, 256));
  bench.link.write(memory_write(0x1200, 16));
  bench.link.write(interrupt(3));
  bench.run();
  const uint64_t last = 280 + 280 + 40 + 100;
  CHECK(bench.events == Events{{"write 528", last}, {"msix 3", last + 28}});
  CHECK(bench.link.counters().writes == 3);
  CHECK(bench.link.counters().write_bytes == 528);
}

TEST_CASE("what does not continue a part of a write is a write of its own") {
  Bench bench;
  bench.link.write(part_of_write(0x1000, 256));
  bench.link.write(memory_write(0x2000, 256));
  bench.link.write(part_of_write(0x3000, 4));
  bench.link.write(interrupt(3));
  bench.run();
  const uint64_t last = 280 + 280 + 28 + 28 + 100;
  CHECK(bench.events == Events{{"write 256", 280 + 280 + 100},
                               {"write 256", 280 + 280 + 100},
                               {"write 4", last},
                               {"msix 3", last}});
}

TEST_CASE("parts of a write that the host refuses are all refused") {
  Bench bench;
  bench.link.write(part_of_write(0x10000, 256));
  bench.link.write(memory_write(0x10100, 1));
  bench.run();
  CHECK(bench.link.counters().writes == 0);
  CHECK(bench.link.counters().writes_refused == 2);
}

TEST_CASE("a read finds those parts of a write in place that left before it") {
  Bench bench;
  bench.link.write(part_of_write(0x1000, 256));
  bench.link.write(part_of_write(0x1100, 256));
  bench.link.read({7, 0x2000, 64});
  bench.link.write(memory_write(0x1200, 256));
  bench.run();
  const uint64_t read = 280 + 280 + 24 + 100;
  CHECK(bench.events == Events{{"write 512", read},
                               {"read 64", read},
                               {"data 7:64 last", read + 84 + 100},
                               {"write 256", read + 280}});
}

TEST_CASE("a read does not find those parts of a write in place that left behind it") {
  Bench bench;
  bench.link.read({7, 0x2000, 64});
  bench.link.write(part_of_write(0x1000, 256));
  bench.link.write(memory_write(0x1100, 256));
  bench.run();
  CHECK(bench.events == Events{{"read 64", 124},
                               {"data 7:64 last", 124 + 84 + 100},
                               {"write 512", 24 + 280 + 280 + 100}});
}

TEST_CASE("a load's answer finds the parts of a write in place that left before it") {
  Bench bench;
  bench.answer_loads = false;
  bench.link.write(part_of_write(0x1000, 256));
  bench.link.mmio_read(0, 0, 4, [&](uint64_t) { bench.note("answer"); });
  bench.run();
  bench.link.mmio_read_done(1);
  bench.run();
  REQUIRE(bench.events.size() == 3);
  CHECK(bench.events[1].what == "write 256");
  CHECK(bench.events[2].what == "answer");
}

TEST_CASE("a reset drops the parts of a write whose last one has not arrived") {
  Bench bench;
  bench.link.write(part_of_write(0x1000, 256));
  bench.run();
  bench.link.reset();
  bench.link.read({7, 0x2000, 64});
  bench.run();
  CHECK(bench.events.at(0).what == "reset");
  CHECK(bench.events.at(1).what == "read 64");
}

TEST_CASE("completions end at multiples of 64 bytes and carry at most MPS") {
  Bench bench(0, 50);
  bench.link.read({1, 0x1010, 512});  // arrives at 124, its data are ready at 174
  bench.run();
  // 0x1010..0x1100, ..0x1200, ..0x1210
  CHECK(bench.events == Events{{"read 512", 124},
                               {"data 1:240", 174 + 260 + 100},
                               {"data 1:256", 174 + 260 + 276 + 100},
                               {"data 1:16 last", 174 + 260 + 276 + 36 + 100}});
  REQUIRE(bench.data.size() == 512);
  for (size_t i = 0; i < 512; ++i) REQUIRE(bench.data[i] == static_cast<uint8_t>(0x10 + i));
}

TEST_CASE(
    "a read that is wanted whole comes with the last of its completions, none of them early") {
  Bench bench(0, 30);
  bench.link.read({5, 0x1030, 512, true});
  bench.link.read({6, 0xffff'ffff'ffff'fff8, 8, true});
  bench.run();
  CHECK(bench.events == Events{{"read 512", 124},
                               {"read 8", 148},
                               {"data 5:512 last", 124 + 30 + 512 + 3 * 20 + 100},
                               {"error 6:0 last", 124 + 30 + 512 + 3 * 20 + 20 + 100}});
  CHECK(bench.data.size() == 512);
}

TEST_CASE("a read at the very top of the address space is cut like any other") {
  Bench bench;
  bench.link.read({1, ~uint64_t{0} - 511, 512});
  bench.run();
  CHECK(bench.events.back().what == "error 1:0 last");
}

TEST_CASE("a read that the host refuses completes with an error, after 20 bytes") {
  Bench bench;
  bench.link.read({9, 0x10000, 64});
  bench.run();
  CHECK(bench.events == Events{{"read 64", 124}, {"error 9:0 last", 124 + 20 + 100}});
  CHECK(bench.link.counters().reads_refused == 1);
  CHECK(bench.link.counters().reads == 0);
}

TEST_CASE("a write that the host refuses is counted and dropped") {
  Bench bench;
  bench.link.write(memory_write(0x10000, 4));
  bench.run();
  CHECK(bench.link.counters().writes_refused == 1);
  CHECK(bench.link.counters().writes == 0);
}

TEST_CASE("without a host every DMA is refused and an interrupt vanishes") {
  Bench bench;
  bench.link.connect_host(nullptr);
  bench.link.write(memory_write(0x1000, 4));
  bench.link.write(interrupt(0));
  bench.link.read({1, 0x1000, 4});
  bench.run();
  CHECK(bench.link.counters().writes_refused == 1);
  CHECK(bench.link.counters().reads_refused == 1);
  CHECK(bench.events.size() == 1);
  CHECK(bench.events[0].what == "error 1:0 last");
}

TEST_CASE("a load pushes earlier stores in front of it and takes link, device and host time") {
  Bench bench(40);
  uint64_t value = 0;
  bench.link.mmio_write(0, 0, 4, 1);  // 28 bytes
  bench.link.mmio_write(2, 8, 8, 2);  // 32 bytes
  bench.link.mmio_read(0, 0, 4, [&](uint64_t v) {
    value = v;
    bench.note("answer");
  });
  bench.run();
  // Load: 24 bytes behind the stores; answer: 4 + 20 bytes, the latency, 40 ns in the host.
  CHECK(bench.events ==
        Events{{"store 1", 128}, {"store 2", 160}, {"load", 184}, {"answer", 184 + 24 + 100 + 40}});
  CHECK(value == 0x55667788u);  // cut to the size of the access
}

TEST_CASE("a block of 64 bytes is one packet, and comes to the device in stores of 8 bytes") {
  Bench bench;
  uint64_t words[8];
  for (uint64_t i = 0; i < 8; ++i) words[i] = 10 + i;
  bench.link.mmio_write_block(2, 0x40, reinterpret_cast<const uint8_t*>(words));
  bench.run();
  REQUIRE(bench.events.size() == 8);
  for (uint64_t i = 0; i < 8; ++i)  // 24 + 64 bytes, then the latency
    CHECK(bench.events[i] == Event{"store " + std::to_string(10 + i), 188});
  CHECK(bench.link.counters().stores == 1);
}

TEST_CASE("loads are answered in order, each with its own size") {
  Bench bench;
  std::vector<uint64_t> values;
  for (const unsigned size : {1u, 8u, 2u}) {
    bench.link.mmio_read(0, 0, size, [&](uint64_t v) { values.push_back(v); });
  }
  bench.run();
  CHECK(values == std::vector<uint64_t>{0x88, 0x1122334455667788, 0x7788});
}

TEST_CASE("a load's answer arrives behind the writes that the device made before it") {
  Bench bench;
  bench.answer_loads = false;
  bench.link.mmio_read(0, 0, 4, [&](uint64_t) { bench.note("answer"); });
  bench.run();
  bench.link.write(memory_write(0, 256));
  bench.link.mmio_read_done(0);
  bench.run();
  REQUIRE(bench.events.size() == 3);
  CHECK(bench.events[1] == Event{"write 256", 124 + 280 + 100});
  CHECK(bench.events[2] == Event{"answer", 124 + 280 + 24 + 100});
}

TEST_CASE("read completions stay behind stores that the CPU made before them") {
  Bench bench;
  bench.link.read({1, 0, 4});  // arrives at 124
  bench.kernel.scheduler().at(100 * kPsPerNs, [&] {
    for (int i = 0; i < 3; ++i) bench.link.mmio_write(0, 0, 4, i);  // the line is busy until 184
  });
  bench.run();
  CHECK(bench.events == Events{{"read 4", 124},
                               {"store 0", 228},
                               {"store 1", 256},
                               {"store 2", 284},
                               {"data 1:4 last", 184 + 24 + 100}});
}

TEST_CASE("the link refuses a fifth write until the first has left, and reads apart from writes") {
  Bench bench;
  for (unsigned i = 0; i < kPcieQueueTlps; ++i) {
    REQUIRE(bench.link.can_write());
    bench.link.write(memory_write(0, 256));
  }
  CHECK_FALSE(bench.link.can_write());
  CHECK(bench.link.can_read());
  bench.kernel.context.run_to(279 * kPsPerNs, false);
  CHECK_FALSE(bench.link.can_write());
  bench.kernel.context.run_to(280 * kPsPerNs, false);
  CHECK(bench.link.can_write());
}

TEST_CASE("back-pressure loses no bandwidth: writes leave back to back") {
  Bench bench;
  unsigned sent = 0;
  for (SimTime t = 0; t < 20'000; t += 4) {  // a core at 250 MHz that always wants to write
    bench.kernel.context.run_to(t * kPsPerNs, false);
    if (bench.link.can_write()) {
      bench.link.write(memory_write(0, 256));
      ++sent;
    }
  }
  bench.run();
  CHECK(bench.events.back().ns == sent * 280 + 100);
}

TEST_CASE("a reset drops what is in flight and answers pending loads with all ones") {
  Bench bench;
  bench.answer_loads = false;
  std::vector<uint64_t> values;
  bench.link.mmio_read(0, 0, 4, [&](uint64_t v) { values.push_back(v); });
  bench.run();  // this one waits in the device, the next one on the link
  bench.link.mmio_read(0, 0, 8, [&](uint64_t v) { values.push_back(v); });
  bench.link.mmio_write(0, 0, 4, 1);
  bench.link.write(memory_write(0, 256));
  bench.link.read({1, 0, 64});
  bench.events.clear();
  bench.link.reset();
  bench.run();
  CHECK(values == std::vector<uint64_t>{0xffffffff, ~uint64_t{0}});
  CHECK(bench.events.size() == 1);
  CHECK(bench.events[0].what == "reset");
}

TEST_CASE("the link works at once after a reset") {
  Bench bench;
  for (int i = 0; i < 4; ++i) bench.link.write(memory_write(0, 256));
  bench.link.reset();
  CHECK(bench.link.can_write());
  bench.events.clear();
  uint64_t value = 0;
  bench.link.mmio_read(0, 0, 1, [&](uint64_t v) { value = v; });
  bench.run();
  CHECK(value == 0x88);
  CHECK(bench.events == Events{{"load", 124}});
}

TEST_CASE("stores that have not left the host are seen as backlog") {
  Bench bench;
  for (int i = 0; i < 10; ++i) bench.link.mmio_write(0, 0, 4, i);
  CHECK(bench.link.backlog() == 10);
  bench.run();
  CHECK(bench.link.backlog() == 0);
}

}  // namespace
}  // namespace exrnic

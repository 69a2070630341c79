// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <deque>
#include <list>
#include <random>
#include <vector>

#include "rtl-model/testing/bench.h"
#include "rtl-model/tiles/memory/dma_read/read_host.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kSeed = 90125;
constexpr unsigned kClients = 5;
constexpr unsigned kTags = 32;
constexpr unsigned kRequestMax = 4096;
constexpr unsigned kTimeoutShift = 6;
constexpr uint64_t kInterval = uint64_t{1} << kTimeoutShift;
constexpr unsigned kRequestBits = 64 + kChunkBits + kTxAddressBits;

struct Request {
  uint64_t address = 0;
  unsigned length = 0;
  unsigned dst = 0;
};

struct Beat : DmaReadBeat {
  unsigned client = 0;
};

class DmaReadReq : public Bench<Vdma_read> {
 public:
  explicit DmaReadReq(uint32_t seed = kSeed) : host(dut(), seed) {
    dut().req_valid_i = 0;
    dut().cfg_max_read_i = 512;
    dut().cfg_timeout_i = kTimeoutShift;
    dut().time_i = 0;
    dut().fence_i = 0;
    reset();
  }

  void cycle() override {
    host.drive();
    run_cycle();
  }
  // A cycle with the completion that the test drove itself.
  void run_cycle() {
    settle();
    taken_clients = dut().req_valid_i & dut().req_ready_o;
    took_read = host.sample();
    tick();
    dut().req_valid_i &= static_cast<uint8_t>(~taken_clients);
    dut().cpl_valid_i = 0;
    settle();
    dut().fence_i = 0;
    errors += get_bit(dut().event_o, EXRNIC_COUNTER_DMA_READ_ERRORS);
    timeouts += get_bit(dut().event_o, EXRNIC_COUNTER_DMA_READ_TIMEOUTS);
    if (dut().beat_valid_o) beats.push_back(beat());
  }

  void drive_request(unsigned client, const Request& request) {
    dut().req_valid_i |= static_cast<uint8_t>(1u << client);
    Packer(dut().req_i[client], kRequestBits)
        .field(request.address, 64)
        .field(request.length, kChunkBits)
        .field(request.dst, kTxAddressBits);
  }

  // Asks, and waits until the reads for it are out.
  void issue(unsigned client, const Request& request) {
    host.paused = true;
    drive_request(client, request);
    wait_for("the request to be taken", 100, [&] { return dut().req_valid_i == 0; });
    wait_for("the reads to be issued", 100, [&] { return dut().rd_valid_o == 0; });
  }

  void complete(unsigned tag, unsigned bytes, bool last, bool error = false, uint64_t address = 0) {
    host.drive_beat(tag, bytes, last, error, address);
    run_cycle();
  }

  ReadHost host;
  std::deque<Beat> beats;
  unsigned taken_clients = 0;  // in the last cycle
  bool took_read = false;
  int errors = 0;
  int timeouts = 0;

 private:
  Beat beat() {
    const unsigned valid = dut().beat_valid_o;
    REQUIRE((valid & (valid - 1)) == 0);
    return {unpack<DmaReadBeat>(dut().beat_o), log2_of(valid)};
  }
};

std::vector<std::pair<uint64_t, unsigned>> cuts(const Request& request, unsigned max_read) {
  DmaReadReq dma;
  dma.dut().cfg_max_read_i = static_cast<uint16_t>(max_read);
  dma.issue(2, request);
  std::vector<std::pair<uint64_t, unsigned>> result;
  for (const Read& read : dma.host.taken) result.emplace_back(read.address, read.length);
  return result;
}

void check_beat(const Beat& beat, unsigned client, unsigned dst, unsigned bytes, bool error) {
  CHECK(beat.client == client);
  CHECK(beat.dst == dst);
  CHECK(beat.bytes == bytes);
  CHECK(beat.error == error);
}

TEST_CASE("A read is cut at 4 KiB boundaries and at the size that the host allows") {
  using Cuts = std::vector<std::pair<uint64_t, unsigned>>;
  CHECK(cuts({0x10000, 64, 0}, 512) == Cuts{{0x10000, 64}});
  CHECK(cuts({0x1ff0, 0x40, 0}, 512) == Cuts{{0x1ff0, 0x10}, {0x2000, 0x30}});
  CHECK(cuts({0x1fff, 1, 0}, 512) == Cuts{{0x1fff, 1}});
  CHECK(cuts({0x1000, 300, 0}, 128) == Cuts{{0x1000, 128}, {0x1080, 128}, {0x1100, 44}});
  CHECK(cuts({0x1800, 4096, 0}, 4096) == Cuts{{0x1800, 0x800}, {0x2000, 0x800}});
  CHECK(cuts({0x3000, 4096, 0}, 4096) == Cuts{{0x3000, 4096}});
}

TEST_CASE("A beat comes one cycle after its completion, with the place advanced") {
  DmaReadReq dma;
  dma.issue(1, {0x5000, 24, 0x2345});
  dma.complete(0, 10, false, false, 0x5000);
  REQUIRE(dma.beats.size() == 1);
  check_beat(dma.beats[0], 1, 0x2345, 10, false);
  for (unsigned i = 0; i < 10; ++i) CHECK(dma.beats[0].data[i] == byte_at(0x5000 + i));
  dma.complete(0, 14, true, false, 0x500a);
  REQUIRE(dma.beats.size() == 2);
  check_beat(dma.beats[1], 1, 0x234f, 14, false);
  for (unsigned i = 0; i < 14; ++i) CHECK(dma.beats[1].data[i] == byte_at(0x500a + i));
  dma.run_cycle();
  CHECK(dma.dut().idle_o);
  CHECK(dma.errors == 0);
}

TEST_CASE("An error ends its read with one beat for all bytes that will not come") {
  DmaReadReq dma;
  dma.issue(0, {0x5000, 64, 0x100});
  dma.complete(0, 16, false);
  dma.complete(0, 0, false, true);
  REQUIRE(dma.beats.size() == 2);
  check_beat(dma.beats[1], 0, 0x110, 48, true);
  dma.complete(0, 16, true);  // too late: the tag has ended
  CHECK(dma.beats.size() == 2);
  CHECK(dma.dut().idle_o);
  CHECK(dma.errors == 1);
}

TEST_CASE("A last beat that comes early is an error for what is missing") {
  DmaReadReq dma;
  dma.issue(0, {0x5000, 64, 0x100});
  dma.complete(0, 16, false);
  dma.complete(0, 16, true);
  REQUIRE(dma.beats.size() == 2);
  check_beat(dma.beats[1], 0, 0x110, 48, true);
  CHECK(dma.errors == 1);
}

TEST_CASE("Bytes beyond those asked for are cut off") {
  DmaReadReq dma;
  dma.issue(0, {0x5000, 10, 0x100});
  dma.complete(0, 16, false);
  dma.complete(0, 16, false);
  dma.complete(0, 16, true);
  REQUIRE(dma.beats.size() == 1);
  check_beat(dma.beats[0], 0, 0x100, 10, false);
  dma.run_cycle();
  CHECK(dma.dut().idle_o);
  CHECK(dma.errors == 0);
}

TEST_CASE("Completions of tags that are not in flight are ignored") {
  DmaReadReq dma;
  dma.issue(0, {0x5000, 16, 0});
  for (unsigned tag : {1u, 31u, 32u, 255u}) dma.complete(tag, 16, true, tag % 2 == 0);
  CHECK(dma.beats.empty());
  CHECK(dma.errors == 0);
  dma.complete(0, 16, true);
  CHECK(dma.beats.size() == 1);
}

TEST_CASE("A read waits while all tags are in flight, and takes the first that ends") {
  DmaReadReq dma;
  dma.dut().cfg_max_read_i = 128;
  dma.issue(2, {0x10000, 4096, 0});
  CHECK(dma.host.in_flight() == kTags);
  dma.drive_request(2, {0x20000, 128, 0});
  for (int i = 0; i < 10; ++i) dma.cycle();
  CHECK(dma.host.in_flight() == kTags);
  CHECK_FALSE(dma.dut().rd_valid_o);
  dma.complete(7, 0, false, true);
  CHECK(dma.dut().rd_valid_o);
  CHECK(dma.dut().rd_tag_o == 7);
}

TEST_CASE("Reads are issued one a cycle, also from one request to the next") {
  DmaReadReq dma;
  dma.host.paused = true;
  dma.dut().cfg_max_read_i = 256;
  dma.drive_request(0, {0x10000, 1024, 0});
  dma.drive_request(1, {0x20000, 256, 0});
  dma.drive_request(2, {0x30000, 1024, 0});
  dma.cycle();
  for (int i = 0; i < 9; ++i) dma.cycle();
  CHECK(dma.host.taken.size() == 9);
}

// ---- Reads without an answer

TEST_CASE("A read without an answer fails behind one interval, and before two are over") {
  DmaReadReq dma;
  dma.dut().time_i = 5;
  dma.issue(1, {0x5000, 64, 0x100});
  CHECK(dma.dut().watches_o);
  dma.complete(0, 16, false);
  dma.dut().time_i = 2 * kInterval - 1;
  for (int i = 0; i < 10; ++i) dma.run_cycle();
  CHECK(dma.beats.size() == 1);
  dma.dut().time_i = 2 * kInterval;
  for (int i = 0; i < 3; ++i) dma.run_cycle();
  REQUIRE(dma.beats.size() == 2);
  check_beat(dma.beats[1], 1, 0x110, 48, true);
  CHECK(dma.errors == 1);
  CHECK(dma.timeouts == 1);
  CHECK(dma.dut().idle_o);
  CHECK_FALSE(dma.dut().watches_o);
}

TEST_CASE("What comes behind a time-out is no answer to a later read") {
  DmaReadReq dma;
  dma.dut().cfg_max_read_i = 128;
  dma.issue(2, {0x10000, 4096, 0});  // all tags
  for (const uint64_t time : {kInterval, 2 * kInterval}) {
    dma.dut().time_i = time;
    for (unsigned i = 0; i < kTags + 2; ++i) dma.run_cycle();
  }
  CHECK(dma.beats.size() == kTags);
  CHECK(dma.timeouts == kTags);
  CHECK(dma.dut().idle_o);
  dma.beats.clear();
  dma.host.forget();
  dma.issue(0, {0x5000, 16, 0x100});
  const unsigned tag = dma.host.taken.back().tag;
  CHECK(tag >= kTags);
  dma.complete(tag % kTags, 16, true, false, 0xbad0);
  CHECK(dma.beats.empty());
  dma.complete(tag, 16, true, false, 0x5000);
  REQUIRE(dma.beats.size() == 1);
  check_beat(dma.beats[0], 0, 0x100, 16, false);
  CHECK(dma.beats[0].data[0] == byte_at(0x5000));
}

TEST_CASE("What comes while another read is late is not touched by that") {
  DmaReadReq dma;
  dma.issue(0, {0x5000, 16, 0x100});
  dma.dut().time_i = kInterval;
  dma.run_cycle();
  dma.issue(1, {0x6000, 32, 0x200});
  dma.dut().time_i = 2 * kInterval;
  dma.run_cycle();
  dma.complete(1, 16, false, false, 0x6000);  // goes first
  dma.run_cycle();
  dma.complete(1, 16, true, false, 0x6010);
  REQUIRE(dma.beats.size() == 3);
  check_beat(dma.beats[0], 1, 0x200, 16, false);
  check_beat(dma.beats[1], 0, 0x100, 16, true);
  check_beat(dma.beats[2], 1, 0x210, 16, false);
  CHECK(dma.timeouts == 1);
}

// ---- Fence

TEST_CASE("After a reset nothing is asked, comes or ends, also in the midst of reads and a fence") {
  DmaReadReq dma;
  CHECK_FALSE(dma.dut().fence_done_o);
  CHECK(dma.dut().idle_o);
  dma.issue(2, {0x10000, 64, 0});
  dma.dut().fence_i = 1;
  dma.run_cycle();
  dma.drive_request(1, {0x20000, 64, 0});
  dma.run_cycle();
  dma.reset();
  CHECK(dma.dut().idle_o);
  CHECK_FALSE(dma.dut().watches_o);
  for (int i = 0; i < 4; ++i) {
    CHECK_FALSE(dma.dut().fence_done_o);
    dma.run_cycle();
  }
  CHECK(dma.beats.empty());
}

TEST_CASE("A fence ends when the reads before it have ended, whatever comes behind") {
  DmaReadReq dma;
  dma.dut().fence_i = 1;
  dma.run_cycle();
  CHECK(dma.dut().fence_done_o);  // there are none
  dma.issue(0, {0x5000, 16, 0});
  dma.issue(1, {0x6000, 16, 0});
  dma.dut().fence_i = 1;
  dma.run_cycle();
  dma.issue(2, {0x7000, 16, 0});
  dma.complete(1, 16, true);
  for (int i = 0; i < 10; ++i) {
    CHECK_FALSE(dma.dut().fence_done_o);
    dma.run_cycle();
  }
  SECTION("with an answer") { dma.complete(0, 16, true); }
  SECTION("by a time-out") {
    for (const uint64_t time : {kInterval, 2 * kInterval}) {
      dma.dut().time_i = time;
      dma.run_cycle();
    }
    for (int i = 0; i < 10 && !dma.dut().fence_done_o; ++i) dma.run_cycle();
  }
  CHECK(dma.dut().fence_done_o);
  dma.run_cycle();
  CHECK_FALSE(dma.dut().fence_done_o);
}

TEST_CASE("A request that is not wholly asked for belongs before the fence") {
  DmaReadReq dma;
  dma.host.paused = true;
  dma.host.ready_percent = 0;
  dma.drive_request(0, {0x5000, 1024, 0});
  dma.cycle();
  dma.cycle();
  dma.dut().fence_i = 1;
  for (int i = 0; i < 10; ++i) {
    dma.cycle();
    CHECK_FALSE(dma.dut().fence_done_o);
  }
  dma.host.ready_percent = 100;
  for (int i = 0; i < 4; ++i) dma.cycle();
  dma.complete(0, 0, false, true);
  for (int i = 0; i < 10; ++i) {
    CHECK_FALSE(dma.dut().fence_done_o);
    dma.run_cycle();
  }
  dma.complete(1, 0, false, true);
  CHECK(dma.dut().fence_done_o);
}

// Three clients that keep asking; every byte is followed from the request to its beat.
class RandomTraffic {
 public:
  explicit RandomTraffic(uint32_t seed) : random_(seed), dma(seed) {}

  void run(int requests) {
    for (int idle = 0; finished < requests || !outstanding_.empty();) {
      if (asked_ < requests) ask();
      const int before = finished;
      dma.cycle();
      follow_requests();
      if (dma.took_read) follow_read(dma.host.taken.back());
      for (; !dma.beats.empty(); dma.beats.pop_front()) follow_beat(dma.beats.front());
      idle = finished == before ? idle + 1 : 0;
      REQUIRE(idle < 10000);  // waited in vain for a request to end
    }
  }

  int finished = 0;
  int failed = 0;
  int expected_errors = 0;

 private:
  struct Outstanding {
    unsigned client;
    Request request;
    unsigned issued = 0;
    std::vector<bool> arrived;
    bool may_fail = false;
    bool has_failed = false;
  };

  void ask() {
    for (unsigned client = 0; client < kClients; ++client) {
      if (dma.dut().req_valid_i >> client & 1 || random_() % 4 != 0) continue;
      if (outstanding_.size() + kClients > kTxSlots) return;
      Request& request = asked_requests_[client];
      request.address = random_();
      if (random_() % 2) request.address = (request.address & ~uint64_t{4095}) - random_() % 64;
      request.length = 1 + static_cast<unsigned>(random_() % (random_() % 2 ? 64 : kRequestMax));
      request.dst = take_slot() * EXRNIC_MTU_MAX;
      dma.drive_request(client, request);
      ++asked_;
    }
  }

  // A slot of its own for each request in flight.
  unsigned take_slot() {
    while (slot_used_[next_slot_ % kTxSlots]) ++next_slot_;
    slot_used_[next_slot_ % kTxSlots] = true;
    return next_slot_ % kTxSlots;
  }

  void follow_requests() {
    for (unsigned client = 0; client < kClients; ++client) {
      if (!(dma.taken_clients >> client & 1)) continue;
      Outstanding out{client, asked_requests_[client], 0, {}, false, false};
      out.arrived.resize(out.request.length);
      outstanding_.push_back(out);
    }
  }

  // Requests are cut in the order in which they were taken.
  void follow_read(const Read& read) {
    for (Outstanding& out : outstanding_) {
      if (out.issued == out.request.length) continue;
      REQUIRE(read.address == out.request.address + out.issued);
      out.issued += read.length;
      REQUIRE(out.issued <= out.request.length);
      const bool fails = read.fault == Read::Fault::kError || read.fault == Read::Fault::kEndsEarly;
      out.may_fail |= fails;
      expected_errors += fails;
      return;
    }
    FAIL("a read that nobody asked for");
  }

  void follow_beat(const Beat& beat) {
    for (auto out = outstanding_.begin(); out != outstanding_.end(); ++out) {
      const unsigned at = beat.dst - out->request.dst;
      if (out->client != beat.client || beat.dst < out->request.dst || at >= out->request.length)
        continue;
      take(*out, beat, at);
      if (std::find(out->arrived.begin(), out->arrived.end(), false) != out->arrived.end()) return;
      REQUIRE(out->has_failed == out->may_fail);
      failed += out->has_failed;
      ++finished;
      slot_used_[out->request.dst / EXRNIC_MTU_MAX] = false;
      outstanding_.erase(out);
      return;
    }
    FAIL("a beat that nobody waits for");
  }

  static void take(Outstanding& out, const Beat& beat, unsigned at) {
    REQUIRE(beat.bytes >= 1);
    REQUIRE(at + beat.bytes <= out.request.length);
    out.has_failed |= beat.error;
    for (unsigned i = 0; i < beat.bytes; ++i) {
      REQUIRE_FALSE(out.arrived[at + i]);
      out.arrived[at + i] = true;
      if (!beat.error) REQUIRE(beat.data.at(i) == byte_at(out.request.address + at + i));
    }
  }

  std::mt19937_64 random_;

 public:
  DmaReadReq dma;

 private:
  std::array<Request, kClients> asked_requests_{};
  std::list<Outstanding> outstanding_;
  int asked_ = 0;
  unsigned next_slot_ = 0;
  std::array<bool, kTxSlots> slot_used_{};
};

TEST_CASE("Every byte comes once, in its place, whatever the order of completions") {
  for (unsigned max_read : {128u, 512u, 4096u}) {
    INFO("seed " << kSeed << ", max_read " << max_read);
    RandomTraffic traffic(kSeed);
    traffic.dma.dut().cfg_max_read_i = static_cast<uint16_t>(max_read);
    traffic.dma.host.ready_percent = 70;
    traffic.dma.host.completion_percent = 90;
    traffic.run(600);
    CHECK(traffic.failed == 0);
    CHECK(traffic.dma.errors == 0);
    traffic.dma.cycle();
    CHECK(traffic.dma.dut().idle_o);
  }
}

TEST_CASE("Byte counts add up under errors, short, long and stray completions") {
  for (unsigned max_read : {128u, 512u, 4096u}) {
    INFO("seed " << kSeed << ", max_read " << max_read);
    RandomTraffic traffic(kSeed + max_read);
    traffic.dma.dut().cfg_max_read_i = static_cast<uint16_t>(max_read);
    traffic.dma.host.ready_percent = 70;
    traffic.dma.host.fault_percent = 30;
    traffic.dma.host.stray_percent = 10;
    traffic.run(600);
    CHECK(traffic.failed > 50);
    CHECK(traffic.dma.errors == traffic.expected_errors);
  }
}

}  // namespace
}  // namespace exrnic::testing

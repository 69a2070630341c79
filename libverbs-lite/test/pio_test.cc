// SPDX-License-Identifier: BSD-2-Clause
// Sends by PIO: which requests go so, and what the device finds in the page.
#include "pio.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "qp.h"
#include "rig.h"
#include "rnic.h"

namespace exrnic {
namespace {

constexpr uint32_t kArea = 0x800;
constexpr uint32_t kDoorbellAt = 0x18;  // of a block
constexpr uint64_t kIdle = FakeFabric::kIdle;

// A queue pair that is connected to itself, on the only node.
struct Self {
  explicit Self(uint32_t send_wr = 16) : end(&fabric, 0, SizeOf(send_wr)) {
    end.Connect(0, vl_qp_number(end.qp));
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i + 1);
  }
  static EndpointSize SizeOf(uint32_t send_wr) {
    EndpointSize size;
    size.send_wr = send_wr;
    size.sge = 6;  // so that inline data may take two slots
    return size;
  }

  vl_send_wr Inline(uint32_t length, uint64_t wr_id = 1) {
    sge = {reinterpret_cast<uintptr_t>(data.data()), length, 0};
    vl_send_wr wr = {};
    wr.wr_id = wr_id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = VL_OP_PUSH;
    wr.flags = VL_SEND_SIGNALED | VL_SEND_INLINE;
    wr.remote_stag = vl_mr_stag(end.mr);
    wr.remote_address = reinterpret_cast<uintptr_t>(end.buffer.data());
    return wr;
  }
  std::vector<uint8_t> Block(uint32_t number) const {
    std::vector<uint8_t> block(64);
    for (uint32_t at = 0; at < 64; at += 8) {
      const uint64_t word = fabric.DoorbellAt(kArea + 64 * number + at);
      memcpy(&block[at], &word, sizeof(word));
    }
    return block;
  }
  const FakeCounters& counters() { return fabric.device(0).counters(); }

  FakeFabric fabric{1};
  Endpoint end;
  std::vector<uint8_t> data = std::vector<uint8_t>(64);
  vl_sge sge = {};
};

TEST_CASE("a small inline request goes as a block: its slot, and the doorbell that it is") {
  Self self;
  const vl_send_wr wr = self.Inline(32);
  REQUIRE(vl_post_sq(self.end.qp, &wr, nullptr) == 0);
  CHECK(self.fabric.DoorbellAt(0) == kIdle);
  std::vector<uint8_t> block = self.Block(0);
  const uint64_t doorbell = uint64_t{1} << 32 | vl_qp_number(self.end.qp);
  CHECK(memcmp(&block[kDoorbellAt], &doorbell, sizeof(doorbell)) == 0);
  memset(&block[kDoorbellAt], 0, sizeof(doorbell));
  CHECK(memcmp(block.data(), self.end.qp->sq.ring(), block.size()) == 0);
  CHECK(memcmp(&block[32], self.data.data(), 32) == 0);

  self.fabric.Step();
  CHECK(self.counters().blocks == 1);
  vl_wc wc;
  REQUIRE(vl_poll_cq(self.end.cq, 1, &wc) == 1);
  CHECK(wc.status == VL_WC_SUCCESS);
  CHECK(memcmp(self.end.buffer.data(), self.data.data(), 32) == 0);
}

TEST_CASE("what is no single inline request of one slot rings the doorbell") {
  Self self;
  vl_send_wr first = self.Inline(8);
  vl_send_wr second = first;
  SECTION("two requests") { first.next = &second; }
  SECTION("a good and a bad one") {
    first.next = &second;
    second.opcode = static_cast<vl_wr_opcode>(99);
  }
  SECTION("more bytes than a slot has room for") { self.sge.length = 33; }
  SECTION("bytes in a region") {
    first.flags = VL_SEND_SIGNALED;
    self.sge.address = reinterpret_cast<uintptr_t>(self.end.buffer.data());
    self.sge.stag = vl_mr_stag(self.end.mr);
  }
  vl_post_sq(self.end.qp, &first, nullptr);
  CHECK(self.fabric.DoorbellAt(0) != kIdle);
  self.fabric.Step();
  CHECK(self.counters().doorbells == 1);
  CHECK(self.counters().blocks + self.counters().blocks_refused == 0);
}

TEST_CASE(
    "VL_PIO=0 in the environment turns it off, for an RNIC opened then; other values do not") {
  const bool off = GENERATE(false, true);
  setenv("VL_PIO", off ? "0" : "1", 1);
  Self self;
  unsetenv("VL_PIO");
  const vl_send_wr wr = self.Inline(8);
  REQUIRE(vl_post_sq(self.end.qp, &wr, nullptr) == 0);
  self.fabric.Step();
  CHECK(self.counters().blocks == (off ? 0 : 1));
  CHECK(self.counters().doorbells == (off ? 1 : 0));
}

TEST_CASE("while somebody else stores a block of the page, the doorbell is rung") {
  Self self;
  const vl_send_wr wr = self.Inline(8);
  {
    std::lock_guard<SpinLock> guard(self.end.rnic->pio.lock());
    REQUIRE(vl_post_sq(self.end.qp, &wr, nullptr) == 0);
  }
  REQUIRE(vl_post_sq(self.end.qp, &wr, nullptr) == 0);
  self.fabric.Step();
  CHECK(self.counters().doorbells == 1);
  CHECK(self.counters().blocks == 1);
  CHECK(self.counters().wqes == 2);
}

TEST_CASE("blocks and doorbells, in turn and around the ring, post each request once") {
  Self self(64);
  uint64_t wr_id = 0;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 8; ++i, ++wr_id) {
      vl_send_wr wr = self.Inline(wr_id % 3 == 0 ? 40 : 8, wr_id);
      REQUIRE(vl_post_sq(self.end.qp, &wr, nullptr) == 0);
    }
    self.fabric.Step();
    vl_wc wc[8];
    REQUIRE(vl_poll_cq(self.end.cq, 8, wc) == 8);
    for (int i = 0; i < 8; ++i) REQUIRE(wc[i].wr_id == wr_id - 8 + i);
  }
  CHECK(self.counters().blocks_refused == 0);
  CHECK(self.counters().blocks >= 100);  // a later doorbell may be served first
}

}  // namespace
}  // namespace exrnic

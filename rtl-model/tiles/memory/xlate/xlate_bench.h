// SPDX-License-Identifier: BSD-2-Clause
// The block xlate with host memory behind its read port, and its requests and responses as plain
// structs.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <ostream>

#include "Vxlate.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/pbl_host.h"

namespace exrnic::testing {

constexpr unsigned kClients = 3;
constexpr unsigned kRequestBits =
    1 + 1 + 1 + 1 + 64 + 32 + 32 + kQpnBits + kGenerationBits + kPdBits + 8 + 64 + 32 + 64 + 1;
constexpr unsigned kResponseBits = 3 + 64 + 32;
constexpr int kLimit = 2000;  // cycles for anything here

struct Request {
  bool invalidate = false;
  bool ring = false;
  uint64_t pbl_address = 0;
  uint32_t stag = 0;
  uint16_t pd = 0;
  uint8_t access = 0;
  uint64_t to = 0;
  uint32_t length = 1;
  bool registers = false;
  bool binds = false;
  uint32_t region = 0;
  uint16_t qpn = 0;
  uint16_t generation = 0;
  uint64_t size = 0;
  bool huge_pages = false;
};

struct Response {
  XlateStatus status = kXlateOk;
  uint64_t address = 0;
  uint32_t length = 0;
};

inline bool operator==(const Response& a, const Response& b) {
  // Address and length mean nothing in a refusal.
  if (a.status != kXlateOk || b.status != kXlateOk) return a.status == b.status;
  return a.address == b.address && a.length == b.length;
}

inline std::ostream& operator<<(std::ostream& out, const Response& response) {
  return out << "status " << int{response.status} << " address " << std::hex << response.address
             << " length " << response.length << std::dec;
}

inline uint32_t stag_of(uint32_t index, uint8_t key) {
  return (index << EXRNIC_STAG_INDEX_SHIFT) | key;
}

class Xlate : public Bench<Vxlate> {
 public:
  explicit Xlate(uint32_t seed = 1)
      : host_(dut(), seed, [this](uint64_t address) { return entry_at(address, epoch); }) {
    dut().req_valid_i = 0;
    dut().mr_we_i = 0;
    dut().flush_i = 0;
    dut().hold_i = 0;
    dut().fence_done_i = 0;
    reset();
    wait_for("init_done_o", EXRNIC_MAX_STAG + 2, [&] { return dut().init_done_o != 0; });
  }

  void cycle() override {
    host_.drive();
    settle();
    host_.sample();
    if (get_bit(dut().event_o, EXRNIC_COUNTER_PBL_HITS)) ++hits;
    if (get_bit(dut().event_o, EXRNIC_COUNTER_PBL_MISSES)) ++misses;
    const unsigned taken = dut().req_valid_i & dut().req_ready_o;
    fence_asked |= dut().fence_o;
    tick();
    dut().fence_done_i = fence_asked && !reads_under_way;
    if (dut().fence_done_i) fence_asked = false;
    dut().req_valid_i &= static_cast<uint8_t>(~taken);
    dut().mr_we_i = 0;
    dut().flush_i = 0;
    settle();
  }

  void drive_request(unsigned client, const Request& request) {
    dut().req_valid_i |= 1u << client;
    Packer(dut().req_i[client], kRequestBits)
        .field(request.invalidate, 1)
        .field(request.registers, 1)
        .field(request.binds, 1)
        .field(request.ring, 1)
        .field(request.pbl_address, 64)
        .field(request.stag, 32)
        .field(request.region, 32)
        .field(request.qpn, kQpnBits)
        .field(request.generation, kGenerationBits)
        .field(request.pd, kPdBits)
        .field(request.access, 8)
        .field(request.to, 64)
        .field(request.length, 32)
        .field(request.size, 64)
        .field(request.huge_pages, 1);
  }
  void drive_region(uint32_t index, const Mr& region) {
    dut().mr_we_i = 1;
    dut().mr_index_i = index;
    pack(dut().mr_i, region);
  }
  void write_region(uint32_t index, const Mr& region) {
    drive_region(index, region);
    cycle();
  }
  Mr read_region(uint32_t index) {
    dut().mr_index_i = index;
    cycle();
    return unpack<Mr>(dut().mr_o);
  }

  Response response() {
    Unpacker fields(dut().rsp_o, kResponseBits);
    Response response;
    response.status = static_cast<XlateStatus>(fields.field(3));
    response.address = fields.field(64);
    response.length = static_cast<uint32_t>(fields.field(32));
    return response;
  }
  Response look_up(const Request& request, unsigned client = 0) {
    drive_request(client, request);
    cycle();
    wait_for("rsp_valid_o", kLimit, [&] { return dut().rsp_valid_o != 0; });
    REQUIRE(dut().rsp_valid_o == 1u << client);
    return response();
  }

  PblHost<Vxlate>& host() { return host_; }

  bool reads_under_way = false;  // that a fence waits for
  bool fence_asked = false;
  uint64_t epoch = 0;
  int hits = 0;
  int misses = 0;

 private:
  PblHost<Vxlate> host_;
};

constexpr uint32_t kSeed = 4711;
constexpr uint64_t kSmallPage = uint64_t{1} << EXRNIC_PAGE_SHIFT;
constexpr uint64_t kHugePage = uint64_t{1} << EXRNIC_HUGE_PAGE_SHIFT;

// Three pages and a bit from 0x7000_0800, in domain 7, behind STag 0x000005_2a.
inline Mr example_region() {
  Mr region;
  region.valid = true;
  region.key = 0x2a;
  region.pd = 7;
  region.access = EXRNIC_ACCESS_REMOTE_WRITE;
  region.base = 0x70000800;
  region.length = 0x3000;
  region.pbl_address = 0x40000;
  return region;
}
constexpr uint32_t kExampleIndex = 5;

inline Request example_request() {
  Request request;
  request.stag = 0x52a;
  request.pd = 7;
  request.access = EXRNIC_ACCESS_REMOTE_WRITE;
  request.to = 0x70000800;
  request.length = 0x3000;
  return request;
}

inline Request ring_request(uint64_t to, uint32_t length = 64) {
  Request request;
  request.ring = true;
  request.pbl_address = 0x80000;
  request.to = to;
  request.length = length;
  return request;
}

}  // namespace exrnic::testing

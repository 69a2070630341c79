// SPDX-License-Identifier: BSD-2-Clause
// The block stag_table, its accesses and answers as plain structs, and a region to start from.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>

#include "Vstag_table.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {

constexpr uint64_t kTop = ~uint64_t{0};  // the last byte of the address space
constexpr uint8_t kAllRights =
    EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ;

constexpr uint8_t kPeerRights =
    EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ | EXRNIC_ACCESS_REMOTE_ATOMIC;
constexpr uint16_t kQps = 1 << kQpnBits;

struct Access {
  uint32_t stag = 0;
  uint16_t pd = 0;
  uint8_t access = 0;
  uint64_t to = 0;
  uint64_t length = 1;
  bool invalidate = false;
  bool registers = false;  // and so becomes what these say:
  uint64_t pbl_address = 0;
  bool huge = false;
  bool binds = false;   // likewise
  bool behind = false;  // of a memory window, in this life:
  uint16_t life = 0;
  uint16_t qpn = 0;
  uint16_t generation = 0;
};

struct Answer {
  XlateStatus status = kXlateOk;
  uint64_t pbl_address = 0;
  bool huge = false;
  uint64_t offset = 0;
  bool window = false;
};

inline uint32_t stag_of(uint32_t index, uint8_t key) {
  return (index << EXRNIC_STAG_INDEX_SHIFT) | key;
}

// A memory window says in mr.pbl_address what it is bound to.
inline uint64_t in_entry(MwBinding binding) {
  uint64_t entry = binding.region;
  entry = entry << kMrLifeBits | binding.life;
  entry = entry << kQpnBits | binding.qpn;
  return entry << kGenerationBits | binding.generation;
}
inline MwBinding binding_of(const Mr& window) {
  uint64_t entry = window.pbl_address;
  const auto take = [&](unsigned bits) {
    const uint64_t low = entry & ((uint64_t{1} << bits) - 1);
    entry >>= bits;
    return static_cast<uint16_t>(low);
  };
  MwBinding binding;
  binding.generation = take(kGenerationBits);
  binding.qpn = take(kQpnBits);
  binding.life = take(kMrLifeBits);
  binding.region = take(kStagIndexBits);
  return binding;
}

class StagTable : public Bench<Vstag_table> {
 public:
  StagTable() {
    dut().we_i = 0;
    dut().req_valid_i = 0;
    restart();
  }

  // A reset, and the wait until the table is cleared.
  void restart() {
    reset();
    wait_for("init_done_o", EXRNIC_MAX_STAG / 64 + 2, [&] { return dut().init_done_o != 0; });
  }

  void write(uint32_t index, const Mr& region) {
    drive_write(index, region);
    cycle();
    dut().we_i = 0;
  }

  Mr read(uint32_t index) {
    dut().index_i = index;
    cycle();
    return unpack<Mr>(dut().mr_o);
  }

  Answer look_up(const Access& access) {
    drive_request(access);
    wait_for("req_ready_o", 4, [&] { return dut().req_ready_o != 0; });
    cycle();
    dut().req_valid_i = 0;
    wait_for("rsp_valid_o", 4, [&] { return dut().rsp_valid_o != 0; });
    return answer();
  }

  void drive_write(uint32_t index, const Mr& region) {
    dut().we_i = 1;
    dut().index_i = index;
    pack(dut().mr_i, region);
  }

  void drive_request(const Access& access) {
    dut().req_valid_i = 1;
    dut().req_invalidate_i = access.invalidate;
    dut().req_registers_i = access.registers;
    dut().req_binds_i = access.binds;
    dut().req_behind_i = access.behind;
    dut().req_life_i = access.life;
    dut().req_qpn_i = access.qpn;
    dut().req_generation_i = access.generation;
    dut().req_pbl_address_i = access.pbl_address;
    dut().req_huge_i = access.huge;
    dut().req_stag_i = access.stag;
    dut().req_pd_i = access.pd;
    dut().req_access_i = access.access;
    dut().req_to_i = access.to;
    dut().req_length_i = access.length;
  }

  Answer answer() {
    return {static_cast<XlateStatus>(dut().rsp_status_o), dut().rsp_pbl_address_o,
            dut().rsp_huge_o != 0, dut().rsp_offset_o, dut().rsp_window_o != 0};
  }
};

// 0x1800 bytes from 0x7000_0800, readable by peers, in domain 7, behind STag 0x000005_2a.
inline Mr example_region() {
  Mr region;
  region.valid = true;
  region.key = 0x2a;
  region.pd = 7;
  region.access = EXRNIC_ACCESS_REMOTE_READ;
  region.base = 0x70000800;
  region.length = 0x1800;
  region.pbl_address = 0x1234567890abc0;
  return region;
}
constexpr uint32_t kExampleIndex = 5;
constexpr uint32_t kExampleStag = 0x52a;

inline Access example_access() {
  return {kExampleStag, 7, EXRNIC_ACCESS_REMOTE_READ, 0x70000800, 0x1800};
}

// Invalidates the region above.
inline Access invalidation(uint8_t rights = 0) {
  Access access;
  access.stag = kExampleStag;
  access.pd = 7;
  access.access = rights;
  access.to = kTop;  // means nothing
  access.length = 0xffffffff;
  access.invalidate = true;
  return access;
}

inline void check_equal(const Answer& got, const Answer& want) {
  REQUIRE(int{got.status} == int{want.status});
  if (want.status != kXlateOk) return;
  REQUIRE(got.pbl_address == want.pbl_address);
  REQUIRE(got.huge == want.huge);
  REQUIRE(got.offset == want.offset);
  REQUIRE(got.window == want.window);
}

}  // namespace exrnic::testing

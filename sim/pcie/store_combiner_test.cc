// SPDX-License-Identifier: BSD-2-Clause
#include "sim/pcie/store_combiner.h"

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "exrnic_hw.h"

namespace exrnic {
namespace {

constexpr uint64_t kBlock = 3 * EXRNIC_USER_PAGE_SIZE + EXRNIC_PIO_AREA + 5 * 64;

struct CombinedDevice final : DevicePort {
  void mmio_write(unsigned bar, uint64_t offset, unsigned, uint64_t value) override {
    seen.push_back(std::to_string(bar) + ": " + std::to_string(value) +
                   (offset % 64 == 0 ? " begins" : ""));
  }
  void mmio_write_block(unsigned bar, uint64_t offset, const uint8_t* data) override {
    CHECK(bar == EXRNIC_BAR_USER);
    uint64_t words[8];
    std::memcpy(words, data, sizeof words);
    for (uint64_t i = 0; i < 8; ++i) CHECK(words[i] == 100 + i);
    seen.push_back("block " + std::to_string(offset));
  }
  void mmio_read(unsigned, uint64_t, unsigned, ReadDone) override { seen.emplace_back("load"); }
  void reset() override { seen.emplace_back("reset"); }

  std::vector<std::string> seen;
};

using Stores = std::vector<std::string>;

struct CombiningCpu {
  void store(uint64_t offset, unsigned from, unsigned to) {
    for (unsigned i = from; i < to; ++i)
      combiner.mmio_write(EXRNIC_BAR_USER, offset + i * 8, 8, 100 + i);
  }

  CombinedDevice device;
  StoreCombiner combiner{device};
};

}  // namespace

TEST_CASE("eight stores that fill a PIO block leave as one packet") {
  CombiningCpu cpu;
  cpu.store(kBlock, 0, 7);
  CHECK(cpu.device.seen.empty());
  cpu.store(kBlock, 7, 8);
  cpu.store(EXRNIC_PIO_FIRMWARE, 0, 8);
  CHECK(cpu.device.seen ==
        Stores{"block " + std::to_string(kBlock), "block " + std::to_string(EXRNIC_PIO_FIRMWARE)});
}

TEST_CASE("a block that is not complete goes before whatever comes next, store by store") {
  CombiningCpu cpu;
  cpu.store(kBlock, 0, 2);
  SECTION("a doorbell") {
    cpu.combiner.mmio_write(EXRNIC_BAR_USER, EXRNIC_DOORBELL_RQ, 8, 7);
    CHECK(cpu.device.seen == Stores{"2: 100 begins", "2: 101", "2: 7"});
  }
  SECTION("another block") {
    cpu.store(kBlock + 64, 0, 8);
    CHECK(cpu.device.seen ==
          Stores{"2: 100 begins", "2: 101", "block " + std::to_string(kBlock + 64)});
  }
  SECTION("a store that leaves one out") {
    cpu.store(kBlock, 3, 4);
    CHECK(cpu.device.seen == Stores{"2: 100 begins", "2: 101", "2: 103"});
  }
  SECTION("half a word") {
    cpu.combiner.mmio_write(EXRNIC_BAR_USER, kBlock + 16, 4, 7);
    CHECK(cpu.device.seen == Stores{"2: 100 begins", "2: 101", "2: 7"});
  }
  SECTION("another BAR") {
    cpu.combiner.mmio_write(EXRNIC_BAR_USER + 2, kBlock + 16, 8, 7);
    CHECK(cpu.device.seen == Stores{"2: 100 begins", "2: 101", "4: 7"});
  }
  SECTION("a load") {
    cpu.combiner.mmio_read(0, 0, 4, [](uint64_t) {});
    CHECK(cpu.device.seen == Stores{"2: 100 begins", "2: 101", "load"});
  }
  SECTION("a reset, which takes it away") {
    cpu.combiner.reset();
    cpu.store(kBlock, 2, 8);
    CHECK(cpu.device.seen.size() == 7);
    CHECK(cpu.device.seen[1] == "2: 102");
  }
}

TEST_CASE("what is no block goes on at once") {
  CombiningCpu cpu;
  cpu.combiner.mmio_write(EXRNIC_BAR_USER, EXRNIC_DOORBELL_SQ, 8, 1);
  cpu.store(kBlock, 1, 8);
  for (unsigned i = 0; i < 8; ++i) cpu.combiner.mmio_write(EXRNIC_BAR_USER + 2, i * 8, 8, i);
  CHECK(cpu.device.seen.size() == 16);
}

}  // namespace exrnic

// SPDX-License-Identifier: BSD-2-Clause
// The commands of I/O queues, how they point to their data, and the files behind them.
#include <random>

#include "sim/devices/nvme/nvme_fixture.h"
#include "sim/devices/nvme/nvme_pci.h"

namespace exrnic::nvme {
namespace {

constexpr uint64_t kList = NvmeFixture::kData + (1 << 20);

}  // namespace

TEST_CASE_METHOD(NvmeFixture, "what was written is on the disk, and is read") {
  enable_io();
  const auto data = fill_data(kData, 8 * kBlockBytes, 1);
  CHECK(io(command_of(IoOpcode::kWrite, 100, 8)) == Status::kSuccess);
  CHECK(disk(100, 8) == data);
  Command command = command_of(IoOpcode::kRead, 100, 8);
  command.prp1 = kData + 0x10000;
  CHECK(io(command) == Status::kSuccess);
  CHECK(memory(kData + 0x10000, data.size()) == data);
  CHECK(disk(99, 1) == std::vector<uint8_t>(kBlockBytes));
  CHECK(disk(108, 1) == std::vector<uint8_t>(kBlockBytes));
}

TEST_CASE_METHOD(NvmeFixture, "data lies where the PRP entries say, of each length and offset") {
  enable_io();
  std::mt19937 random(1);
  for (unsigned round = 0; round < 100; ++round) {
    const uint32_t blocks = 1 + random() % 200;
    const size_t length = blocks * kBlockBytes;
    const uint64_t offset = random() % 1024 * 4;
    // Pages of the data in any order: every second one of the second half of the memory.
    const size_t pages = (offset + length + kPageBytes - 1) / kPageBytes;
    std::vector<uint64_t> order(100);
    for (size_t i = 0; i < order.size(); ++i) order[i] = kData + i * 2 * kPageBytes;
    std::shuffle(order.begin(), order.end(), random);
    const uint64_t list = kList + 0x80000 + (pages > 2 ? random() % 512 * 8 : 0);
    Command command = command_of(IoOpcode::kWrite, random() % (kBlocks - blocks), blocks);
    command.prp1 = order[0] + offset;
    command.prp2 = pages == 2 ? order[1] : pages > 2 ? list : ~uint64_t{0};
    uint64_t at = list;
    for (size_t page = 1; page < pages && pages > 2; ++page) {
      if (at % kPageBytes == kPageBytes - 8 && page + 1 < pages) {
        host.store(at, list / kPageBytes * kPageBytes + kPageBytes);
        at = list / kPageBytes * kPageBytes + kPageBytes;
      }
      host.store(at, order[page]);
      at += 8;
    }
    std::vector<uint8_t> data;
    for (size_t done = 0, page = 0; done < length; ++page) {
      const size_t from = page == 0 ? offset : 0;
      const size_t bytes = std::min<size_t>(length - done, kPageBytes - from);
      const auto piece = fill_data(order[page] + from, bytes, static_cast<unsigned>(random()));
      data.insert(data.end(), piece.begin(), piece.end());
      done += bytes;
    }
    INFO("round " << round << ": " << blocks << " blocks at offset " << offset);
    REQUIRE(io(command) == Status::kSuccess);
    REQUIRE(disk(command.cdw10, blocks) == data);
    for (size_t page = 0; page < pages; ++page) std::memset(host.at(order[page]), 0, kPageBytes);
    command.opcode = static_cast<uint8_t>(IoOpcode::kRead);
    REQUIRE(io(command) == Status::kSuccess);
    std::vector<uint8_t> came;
    for (size_t page = 0; page < pages; ++page) {
      const size_t from = page == 0 ? offset : 0;
      const auto piece = memory(order[page] + from, kPageBytes - from);
      came.insert(came.end(), piece.begin(), piece.end());
    }
    CHECK(std::equal(data.begin(), data.end(), came.begin()));
    CHECK(std::count(came.begin() + static_cast<std::ptrdiff_t>(length), came.end(), 0) ==
          static_cast<std::ptrdiff_t>(came.size() - length));
  }
}

TEST_CASE_METHOD(NvmeFixture, "the longest transfer works, and one block more is refused") {
  enable_io();
  constexpr uint32_t kMost = kMaxTransferBytes / kBlockBytes;
  const auto data = fill_data(kData, kMaxTransferBytes, 5);
  Command command = command_of(IoOpcode::kWrite, 0, kMost);
  command.prp2 = kList;
  for (uint64_t page = 1; page < kMaxTransferBytes / kPageBytes; ++page) {
    host.store(kList + (page - 1) * 8, kData + page * kPageBytes);
  }
  CHECK(io(command) == Status::kSuccess);
  CHECK(disk(0, kMost) == data);
  ++command.cdw12;
  CHECK(io(command) == Status::kInvalidField);
  command.cdw12 = 0xffff;
  CHECK(io(command) == Status::kInvalidField);
}

TEST_CASE_METHOD(NvmeFixture, "PRP entries that are wrong are refused, and nothing is written") {
  enable_io();
  fill_data(kData, 16 * kPageBytes, 9);
  Command command = command_of(IoOpcode::kWrite, 0, 8 * kPageBytes / kBlockBytes);
  command.prp2 = kList;
  for (uint64_t page = 0; page < 7; ++page) host.store(kList + 8 * page, kData + page * kPageBytes);
  Status expected = Status::kInvalidPrpOffset;
  SECTION("data at no dword") { command.prp1 = kData + 2; }
  SECTION("a list at no qword") { command.prp2 = kList + 4; }
  SECTION("an entry within a page") { host.store(kList + 16, kData + 0x800); }
  SECTION("a second page within a page") {
    command.cdw12 = 2 * kPageBytes / kBlockBytes - 1;
    command.prp2 = kData + 0x800;
  }
  SECTION("a list that goes on within a page") {
    command.prp2 = kList + kPageBytes - 8;
    host.store(command.prp2, kList + 8);
  }
  SECTION("data that is not granted") {
    command.prp1 = 0x1000;
    expected = Status::kDataTransferError;
  }
  SECTION("a list that is not granted") {
    command.prp2 = 0x1000;
    expected = Status::kDataTransferError;
  }
  SECTION("a list that goes on in what is not granted") {
    command.prp2 = kList + kPageBytes - 8;
    host.store<uint64_t>(command.prp2, 0);
    expected = Status::kDataTransferError;
  }
  SECTION("an entry at the very end of the address space") {
    host.store(kList + 16, ~uint64_t{0xfff});
    expected = Status::kDataTransferError;
  }
  CHECK(io(command) == expected);
  CHECK(disk(0, 64) == std::vector<uint8_t>(64 * kBlockBytes));
}

TEST_CASE_METHOD(NvmeFixture, "blocks and namespaces that there are not are refused") {
  enable_io();
  for (const IoOpcode opcode : {IoOpcode::kRead, IoOpcode::kWrite, IoOpcode::kWriteZeroes}) {
    CHECK(io(command_of(opcode, kBlocks - 1, 1)) == Status::kSuccess);
    CHECK(io(command_of(opcode, kBlocks - 1, 2)) == Status::kLbaOutOfRange);
    CHECK(io(command_of(opcode, kBlocks, 1)) == Status::kLbaOutOfRange);
    CHECK(io(command_of(opcode, ~uint64_t{0}, 2)) == Status::kLbaOutOfRange);
    for (const uint32_t nsid : {0u, 2u, kEveryNamespace}) {
      Command command = command_of(opcode, 0, 1);
      command.nsid = nsid;
      CHECK(io(command) == Status::kInvalidNamespace);
    }
  }
}

TEST_CASE_METHOD(NvmeFixture, "Flush, FUA and a write cache that is off succeed") {
  enable_io();
  CHECK(io(command_of(IoOpcode::kFlush, 0, 1)) == Status::kSuccess);
  Command flush = command_of(IoOpcode::kFlush, 0, 1);
  flush.nsid = kEveryNamespace;
  CHECK(io(flush) == Status::kSuccess);
  flush.nsid = 2;
  CHECK(io(flush) == Status::kInvalidNamespace);
  Command write = command_of(IoOpcode::kWrite, 0, 1);
  write.cdw12 |= 1u << 30;
  CHECK(io(write) == Status::kSuccess);
  Command cache = command_of(AdminOpcode::kSetFeatures);
  cache.cdw10 = static_cast<uint32_t>(Feature::kVolatileWriteCache);
  CHECK(status_of(admin(cache)) == Status::kSuccess);
  CHECK(io(command_of(IoOpcode::kWrite, 0, 1)) == Status::kSuccess);
}

TEST_CASE_METHOD(NvmeFixture, "zeroed and deallocated blocks read as zeroes, others stay") {
  enable_io();
  const auto data = fill_data(kData, 8 * kBlockBytes, 3);
  const std::vector<uint8_t> zeroes(2 * kBlockBytes);
  const auto blocks = [&](size_t first, size_t count) {
    return std::vector<uint8_t>(
        data.begin() + static_cast<std::ptrdiff_t>(first * kBlockBytes),
        data.begin() + static_cast<std::ptrdiff_t>((first + count) * kBlockBytes));
  };
  CHECK(io(command_of(IoOpcode::kWrite, 16, 8)) == Status::kSuccess);
  CHECK(io(command_of(IoOpcode::kWriteZeroes, 18, 2)) == Status::kSuccess);
  CHECK(disk(16, 2) == blocks(0, 2));
  CHECK(disk(18, 2) == zeroes);
  CHECK(disk(20, 4) == blocks(4, 4));

  Command trim = command_of(IoOpcode::kDatasetManagement, 1, 1);  // two ranges
  trim.cdw11 = 1u << 2;
  const uint64_t ranges[4] = {uint64_t{2} << 32, 21, 0, ~uint64_t{0}};
  host.store(kData, ranges);
  CHECK(io(trim) == Status::kSuccess);
  CHECK(disk(21, 2) == zeroes);
  CHECK(disk(20, 1) == blocks(4, 1));
  CHECK(disk(23, 1) == blocks(7, 1));

  const uint64_t wrong[4] = {uint64_t{1} << 32, 20, uint64_t{1} << 32, kBlocks};
  host.store(kData, wrong);
  CHECK(io(trim) == Status::kLbaOutOfRange);
  CHECK(disk(20, 1) == blocks(4, 1));
}

TEST_CASE_METHOD(NvmeFixture, "a file that somebody cuts gives errors of the medium") {
  enable_io();
  std::filesystem::resize_file(path(), kBlockBytes);
  CHECK(io(command_of(IoOpcode::kRead, 0, 1)) == Status::kSuccess);
  CHECK(io(command_of(IoOpcode::kRead, 0, 2)) == Status::kUnrecoveredRead);
}

TEST_CASE_METHOD(NvmeFixture, "files that cannot be a namespace are refused with a line") {
  const auto reason = [](const std::string& file, unsigned shift) {
    try {
      const NamespaceFile opened(file, shift);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(reason(path(), 9).find("another process") != std::string::npos);
  controller.reset();
  CHECK(reason(path(), 9).empty());
  std::filesystem::resize_file(path(), 5 * 512);
  CHECK(reason(path(), 9).empty());
  CHECK(reason(path(), 12).find("2560 bytes") != std::string::npos);
  std::filesystem::resize_file(path(), 0);
  CHECK(reason(path(), 9).find("0 bytes") != std::string::npos);
  CHECK(reason(folder / "none", 9).find("truncate") != std::string::npos);
  CHECK(reason("/dev/null", 9).find("no regular file") != std::string::npos);
}

// Commands of noise that is sensible here and there, in queues that come and go.
TEST_CASE_METHOD(NvmeFixture,
                 "whatever a host writes, the controller lives, touches what is granted, and works "
                 "when enabled anew") {
  const uint32_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  const auto address = [&]() -> uint64_t {
    switch (below(4)) {
      case 0:
        return FakeHost::kBase + below(FakeHost::kSize / kPageBytes) * kPageBytes;
      case 1:
        return FakeHost::kBase + below(FakeHost::kSize);
      case 2:
        return FakeHost::kBase + FakeHost::kSize - below(64);
      default:
        return uint64_t{random()} << 32 | random();
    }
  };
  const auto edge = [&]() -> uint32_t {
    constexpr uint32_t kEdges[] = {0,  1,      2,       3,       7,         8,          64,
                                   65, 0xffff, 0x10000, 0x10001, 0x3ff0001, 0x7fffffff, 0xffffffff};
    return below(3) == 0 ? static_cast<uint32_t>(random())
                         : kEdges[below(sizeof kEdges / sizeof *kEdges)];
  };
  for (unsigned round = 0; round < 30; ++round) {
    enable_io();
    for (unsigned step = 0; step < 300; ++step) {
      Command command{};
      command.opcode = static_cast<uint8_t>(below(8) == 0 ? random() : below(14));
      command.flags = static_cast<uint8_t>(below(16) == 0 ? random() : 0);
      command.id = static_cast<uint16_t>(random());
      command.nsid = below(4) == 0 ? edge() : 1;
      command.prp1 = address();
      command.prp2 = address();
      for (uint32_t* dword : {&command.cdw10, &command.cdw11, &command.cdw12, &command.cdw13})
        *dword = edge();
      const uint64_t place = kQueueMemory + below(2) * 4 * kPageBytes + below(8) * sizeof command;
      host.store(place, command);
      const uint64_t doorbell = kRegDoorbells + 4 * below(below(8) == 0 ? 0xc00 : 6);
      write(doorbell, below(16) == 0 ? edge() : below(kAdminEntries));
      if (below(64) == 0) write(below(0x1000) & ~3u, edge());
      for (unsigned i = 0; i < 4 && controller->work(); ++i) {
      }
    }
    enable_io();
    // The disk may have been overwritten, not cut.
    CHECK(io(command_of(IoOpcode::kRead, kBlocks - 1, 1)) == Status::kSuccess);
  }
}

TEST_CASE("hosts find an NVM Express controller, whose interrupts have room") {
  const PciDescription description = pci_description();
  PciConfigSpace space(description);
  uint8_t code[3];
  space.read(9, code, sizeof code);
  CHECK((code[0] == 2 && code[1] == 8 && code[2] == 1));
  CHECK(description.msix.vectors == kMaxIoQueues + 1);
  CHECK(kRegDoorbells + 8 * (kMaxIoQueues + 1) <= description.bars[0].size);
}

}  // namespace exrnic::nvme

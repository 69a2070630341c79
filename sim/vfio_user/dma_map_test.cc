// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/dma_map.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "sim/vfio_user/test_support.h"

namespace exrnic::vfio_user {
namespace {

constexpr uint64_t kPage = kDmaPageSize;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kTiB = uint64_t{1} << 40;
const uint64_t kMostMappings = MemoryBudget{}.mappings;
const uint64_t kMostOpenFiles = MemoryBudget{}.open_files;

int error_of(const std::optional<Fault>& fault) { return fault ? fault->error : 0; }

struct Fixture {
  DmaMap dma;

  int map(uint64_t address, uint64_t size, const Memory& memory, uint64_t offset = 0,
          bool readable = true, bool writable = true) {
    return error_of(dma.map({readable, writable, offset, address, size}, memory.duplicate()));
  }
  int unmap(uint64_t address, uint64_t size) { return error_of(dma.unmap({false, address, size})); }
  bool readable(uint64_t address, size_t length) {
    Bytes out(length);
    return dma.read(address, out.data(), length);
  }
  bool writable(uint64_t address, size_t length) {
    const Bytes data(length, 0xee);
    return dma.write(address, data.data(), length);
  }
};

TEST_CASE_METHOD(Fixture, "what is written is in the client's memory, and can be read back") {
  for (const Memory::Kind kind : {Memory::Kind::kSealed, Memory::Kind::kUnsealed}) {
    const Memory memory(4 * kPage, kind);
    REQUIRE(map(0x10000, 2 * kPage, memory, kPage) == 0);
    Bytes data(1000);
    std::iota(data.begin(), data.end(), uint8_t{1});
    REQUIRE(dma.write(0x10003, data.data(), data.size()));
    CHECK(std::memcmp(memory.bytes() + kPage + 3, data.data(), data.size()) == 0);
    CHECK(memory.bytes()[kPage + 2] == 0);
    CHECK(memory.bytes()[kPage + 3 + data.size()] == 0);
    Bytes back(data.size());
    REQUIRE(dma.read(0x10003, back.data(), back.size()));
    CHECK(back == data);
    dma.clear();
  }
}

TEST_CASE_METHOD(Fixture, "every length and alignment lands on its own bytes only") {
  const Memory memory(kPage, Memory::Kind::kSealed);
  REQUIRE(map(0, kPage, memory) == 0);
  for (size_t offset = 0; offset < 9; ++offset) {
    for (size_t length = 1; length < 40; ++length) {
      std::memset(memory.bytes(), 0, 64);
      const Bytes data(length, 0xa5);
      REQUIRE(dma.write(offset, data.data(), length));
      Bytes expected(64, 0);
      std::memset(expected.data() + offset, 0xa5, length);
      CHECK(std::memcmp(memory.bytes(), expected.data(), 64) == 0);
    }
  }
}

TEST_CASE_METHOD(Fixture, "an access may span regions that touch, but no hole") {
  const Memory memory(4 * kPage, Memory::Kind::kSealed);
  const Memory unsealed(kPage, Memory::Kind::kUnsealed);
  REQUIRE(map(0x1000, kPage, memory, 2 * kPage) == 0);
  REQUIRE(map(0x2000, kPage, unsealed) == 0);
  REQUIRE(map(0x4000, kPage, memory, 0) == 0);
  CHECK(writable(0x1800, 0x1000));
  CHECK(memory.bytes()[3 * kPage - 1] == 0xee);
  CHECK(unsealed.bytes()[0x7ff] == 0xee);
  CHECK(unsealed.bytes()[0x800] == 0);
  CHECK(readable(0x1000, 2 * kPage));
  CHECK_FALSE(readable(0x1000, 2 * kPage + 1));
  CHECK_FALSE(readable(0x2000, 3 * kPage));
  CHECK_FALSE(readable(0xfff, 2));
}

TEST_CASE_METHOD(Fixture, "a write that is not wholly granted writes nothing") {
  const Memory memory(kPage, Memory::Kind::kSealed);
  REQUIRE(map(0x1000, kPage, memory) == 0);
  CHECK_FALSE(writable(0x1ff0, 0x11));
  CHECK(memory.bytes()[0xff0] == 0);
  CHECK_FALSE(writable(0xff0, 0x20));
  CHECK(memory.bytes()[0] == 0);
}

TEST_CASE_METHOD(Fixture, "nothing is granted before the first map and after an unmap") {
  const Memory memory(kPage, Memory::Kind::kSealed);
  CHECK_FALSE(readable(0, 1));
  REQUIRE(map(0, kPage, memory) == 0);
  CHECK(readable(0, 1));
  REQUIRE(unmap(0, kPage) == 0);
  CHECK_FALSE(readable(0, 1));
  CHECK_FALSE(writable(0, 1));
}

TEST_CASE_METHOD(Fixture, "rights are kept apart") {
  const Memory memory(2 * kPage, Memory::Kind::kSealed);
  REQUIRE(map(0x1000, kPage, memory, 0, true, false) == 0);
  REQUIRE(map(0x2000, kPage, memory, kPage, false, true) == 0);
  CHECK(readable(0x1000, 8));
  CHECK_FALSE(writable(0x1000, 8));
  CHECK_FALSE(readable(0x2000, 8));
  CHECK(writable(0x2000, 8));
}

TEST_CASE_METHOD(Fixture, "a region that overlaps another is refused") {
  const Memory memory(4 * kPage, Memory::Kind::kSealed);
  REQUIRE(map(0x4000, 2 * kPage, memory) == 0);
  CHECK(map(0x4000, 2 * kPage, memory) == EEXIST);
  CHECK(map(0x3000, 2 * kPage, memory) == EEXIST);
  CHECK(map(0x5000, 2 * kPage, memory) == EEXIST);
  CHECK(map(0x3000, 4 * kPage, memory) == EEXIST);
  CHECK(map(0x3000, kPage, memory) == 0);
  CHECK(map(0x6000, kPage, memory) == 0);
  CHECK(dma.size() == 3);
}

TEST_CASE_METHOD(Fixture, "the last page of the address space can be mapped") {
  const Memory memory(kPage, Memory::Kind::kSealed);
  const uint64_t last_page = 0 - kPage;
  REQUIRE(map(last_page, kPage, memory) == 0);
  CHECK(readable(UINT64_MAX, 1));
  CHECK(readable(last_page, kPage));
  CHECK_FALSE(readable(UINT64_MAX, 2));
  CHECK_FALSE(readable(last_page, kPage + 1));
  CHECK(unmap(last_page, kPage) == 0);
}

TEST_CASE_METHOD(Fixture, "a file shorter than its region is refused") {
  const Memory memory(kPage, Memory::Kind::kSealed);
  CHECK(map(0, 2 * kPage, memory) == EINVAL);
  CHECK(map(0, kPage, memory, kPage) == EINVAL);
  CHECK(dma.size() == 0);
}

TEST_CASE_METHOD(Fixture, "what is no regular file is refused") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  UniqueFd other_end(ends[1]);
  CHECK(error_of(dma.map({true, true, 0, 0, kPage}, UniqueFd(ends[0]))) == EINVAL);
}

TEST_CASE_METHOD(Fixture, "a descriptor that cannot write backs no writable region") {
  const Memory memory(kPage, Memory::Kind::kUnsealed);
  const std::string path = "/proc/self/fd/" + std::to_string(memory.fd());
  UniqueFd read_only(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(read_only);
  CHECK(error_of(dma.map({true, true, 0, 0, kPage}, std::move(read_only))) == EACCES);
}

TEST_CASE_METHOD(Fixture, "a file that is cut short while mapped fails cleanly and stays short") {
  const Memory memory(2 * kPage, Memory::Kind::kUnsealed);
  REQUIRE(map(0, 2 * kPage, memory) == 0);
  REQUIRE(::ftruncate(memory.fd(), static_cast<off_t>(kPage)) == 0);
  CHECK(readable(0, kPage));
  CHECK_FALSE(readable(kPage, 1));
  CHECK_FALSE(writable(kPage - 1, 2));
  CHECK(memory.bytes()[kPage - 1] == 0);
  CHECK(memory.file_size() == kPage);
}

// Of huge pages that this system has for the time being.
class HugePages {
 public:
  HugePages() {
    std::ifstream(kPool) >> before_;
    std::ofstream(kPool) << before_ + 1;
  }
  ~HugePages() {
    for (void* page : taken_) ::munmap(page, kBytes);
    std::ofstream(kPool) << before_;
  }
  // All that are free; false: there are too many.
  bool take_all() {
    while (taken_.size() < kMost) {
      void* page = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
      if (page == MAP_FAILED) return true;
      taken_.push_back(page);
    }
    return false;
  }
  static constexpr size_t kBytes = 2 * kMiB;

 private:
  static constexpr char kPool[] = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
  static constexpr size_t kMost = 4096;
  uint64_t before_ = 0;
  std::vector<void*> taken_;
};

TEST_CASE_METHOD(Fixture, "huge pages that are taken away again are memory that is not there") {
#ifdef __SANITIZE_THREAD__
  SKIP("TSan takes all that follows a jump out of a signal handler for a part of that handler");
#endif
  HugePages pool;
  const UniqueFd file(::memfd_create("huge", MFD_HUGETLB | MFD_HUGE_2MB | MFD_ALLOW_SEALING));
  if (!file || ::ftruncate(file.get(), HugePages::kBytes) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    SKIP("no huge pages in this kernel");
  }
  const DmaMapRequest request = {true, true, 0, 0, HugePages::kBytes};
  if (dma.map(request, UniqueFd(::dup(file.get())))) SKIP("no huge page is free");
  REQUIRE(writable(0, 16));
  REQUIRE(::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                      HugePages::kBytes) == 0);
  if (!pool.take_all()) SKIP("huge pages without end");
  CHECK_FALSE(writable(0, 16));
  CHECK_FALSE(readable(kPage, 1));
  CHECK_FALSE(readable(0, kPage));
  // Nobody else is concerned.
  const Memory memory(kPage, Memory::Kind::kSealed);
  REQUIRE(map(kTiB, kPage, memory) == 0);
  CHECK(writable(kTiB, kPage));
}

TEST_CASE_METHOD(Fixture, "a region without a file holds its place but cannot be accessed") {
  CHECK(error_of(dma.map({true, true, 0, 0x1000, kPage}, UniqueFd())) == 0);
  CHECK_FALSE(readable(0x1000, 1));
  CHECK_FALSE(writable(0x1000, 1));
  CHECK(error_of(dma.map({true, true, 0, 0x1000, kPage}, UniqueFd())) == EEXIST);
  CHECK(unmap(0x1000, kPage) == 0);
}

TEST_CASE_METHOD(Fixture, "an unmap takes whole regions or none") {
  const Memory memory(4 * kPage, Memory::Kind::kSealed);
  REQUIRE(map(0x1000, kPage, memory) == 0);
  REQUIRE(map(0x2000, 2 * kPage, memory) == 0);
  CHECK(unmap(0x2000, kPage) == EINVAL);
  CHECK(unmap(0x3000, kPage) == EINVAL);
  CHECK(unmap(0x1000, 2 * kPage) == EINVAL);
  CHECK(unmap(0x8000, kPage) == 0);  // nothing is there
  CHECK(dma.size() == 2);
  CHECK(unmap(0x1000, 3 * kPage) == 0);
  CHECK(dma.size() == 0);
}

TEST_CASE_METHOD(Fixture, "unmap all takes everything") {
  const Memory memory(kPage, Memory::Kind::kSealed);
  REQUIRE(map(0, kPage, memory) == 0);
  REQUIRE(map(0x5000, kPage, memory) == 0);
  CHECK(error_of(dma.unmap({true, 0, 0})) == 0);
  CHECK(dma.size() == 0);
}

size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

TEST_CASE_METHOD(Fixture, "there is a limit to the number of regions") {
  const Memory memory(kPage, Memory::Kind::kSealed);
  const size_t before = mappings();
  for (uint64_t i = 0; i < kMaxDmaMaps; ++i) REQUIRE(map(i * kPage, kPage, memory) == 0);
  CHECK(map(kMaxDmaMaps * kPage, kPage, memory) == ENOSPC);
  CHECK(mappings() < before + 100);  // those of the heap; one would be enough for the file
}

TEST_CASE_METHOD(Fixture, "there is a limit to the number of files, and room again when they go") {
  for (uint64_t i = 0; i < kMostMappings; ++i) {
    const Memory file(kPage, Memory::Kind::kSealed);
    REQUIRE(map(i * kPage, kPage, file) == 0);
  }
  const Memory more(kPage, Memory::Kind::kSealed);
  CHECK(map(kMostMappings * kPage, kPage, more) == ENOSPC);
  CHECK(unmap(0, kPage) == 0);
  CHECK(map(kMostMappings * kPage, kPage, more) == 0);
}

TEST_CASE_METHOD(Fixture, "regions of one file that is not sealed share one file descriptor") {
  const Memory memory(2 * kPage, Memory::Kind::kUnsealed);
  const size_t before = open_fds();
  for (uint64_t i = 0; i < 5000; ++i) REQUIRE(map(i * kPage, kPage, memory, i % 2 * kPage) == 0);
  CHECK(open_fds() == before + 1);
  REQUIRE(unmap(0, 4999 * kPage) == 0);
  CHECK(writable(4999 * kPage, kPage));
  CHECK(memory.bytes()[0] == 0);
  CHECK(memory.bytes()[kPage] == 0xee);
  REQUIRE(unmap(4999 * kPage, kPage) == 0);
  CHECK(open_fds() == before);
}

TEST_CASE_METHOD(Fixture, "a descriptor that can only read is not taken for one that can write") {
  const Memory memory(kPage, Memory::Kind::kUnsealed);
  const std::string path = "/proc/self/fd/" + std::to_string(memory.fd());
  UniqueFd reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(dma.map({true, false, 0, 0, kPage}, std::move(reader)) == std::nullopt);
  REQUIRE(map(kPage, kPage, memory) == 0);
  CHECK(writable(kPage, kPage));
  CHECK(readable(0, kPage));
}

TEST_CASE_METHOD(Fixture,
                 "there is a limit to the files that are held open, and the error says so") {
  const Memory more(kPage, Memory::Kind::kUnsealed);
  for (uint64_t i = 0; i < kMostOpenFiles; ++i) {
    REQUIRE(map(i * kPage, kPage, Memory(kPage, Memory::Kind::kUnsealed)) == 0);
  }
  const auto fault = dma.map({true, true, 0, kMostOpenFiles * kPage, kPage}, more.duplicate());
  REQUIRE(error_of(fault) == ENOSPC);
  CHECK(fault->reason ==
        "DMA_MAP of more than 256 files that are not sealed against shrinking, this "
        "client's share");
  REQUIRE(unmap(0, kPage) == 0);
  CHECK(map(kMostOpenFiles * kPage, kPage, more) == 0);
}

// A memfd without a page, which this test does not map itself.
UniqueFd sparse(uint64_t size) {
  UniqueFd file(::memfd_create("sparse", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(file.get(), static_cast<off_t>(size)) == 0);
  REQUIRE(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0);
  return file;
}

uint64_t address_space() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * kPage;
}

TEST_CASE_METHOD(Fixture, "of a huge file only what lies around its grant takes address space") {
  constexpr uint64_t kFiles = 100;
  const uint64_t before = address_space();
  for (uint64_t i = 0; i < kFiles; ++i)
    REQUIRE(dma.map({true, true, kTiB + kPage, i * kPage, kPage}, sparse(2 * kTiB)) ==
            std::nullopt);
  CHECK(address_space() - before <= (kFiles + 1) * MappedFiles::kWindowBytes);
  CHECK(writable(0, kFiles * kPage));
  CHECK(readable(0, kFiles * kPage));
}

TEST_CASE_METHOD(Fixture,
                 "regions far apart in one file, and one across windows, are all reached") {
  constexpr uint64_t kWindow = MappedFiles::kWindowBytes;
  const UniqueFd file = sparse(10 * kWindow + kPage);
  const auto map_at = [&](uint64_t offset, uint64_t address, uint64_t size) {
    return error_of(dma.map({true, true, offset, address, size},
                            UniqueFd(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0))));
  };
  REQUIRE(map_at(0, 0, kPage) == 0);
  REQUIRE(map_at(10 * kWindow, kPage, kPage) == 0);
  REQUIRE(map_at(3 * kWindow - kPage, 2 * kPage, 2 * kPage) == 0);
  REQUIRE(map_at(4 * kWindow + kPage, kTiB, 3 * kWindow) == 0);
  const auto holds = [&](uint64_t address, uint64_t offset) {
    const uint64_t word = 0x1122'3344'5566'7788 + address;
    uint64_t read = 0, there = 0;
    CHECK(dma.write(address, reinterpret_cast<const uint8_t*>(&word), sizeof word));
    CHECK(dma.read(address, reinterpret_cast<uint8_t*>(&read), sizeof read));
    CHECK(::pread(file.get(), &there, sizeof there, static_cast<off_t>(offset)) == sizeof there);
    CHECK(read == word);
    CHECK(there == word);
  };
  holds(8, 8);
  holds(kPage, 10 * kWindow);
  holds(2 * kPage, 3 * kWindow - kPage);
  holds(3 * kPage + 8, 3 * kWindow + 8);
  holds(kTiB + 3 * kWindow - 8, 7 * kWindow + kPage - 8);
}

TEST_CASE("a client's memory ends at its budget, and there is room again when some goes") {
  DmaMap dma({256 * kMiB, 3, 1});
  const auto map = [&](uint64_t address, uint64_t size, UniqueFd file) {
    const auto fault = dma.map({true, true, 0, address, size}, std::move(file));
    return fault ? fault->reason : std::string();
  };
  CHECK(map(0, 2 * kTiB, sparse(2 * kTiB)) ==
        "DMA_MAP of 2199023255552 bytes beside 0; this client's share of address space is "
        "268435456");
  CHECK(map(0, 192 * kMiB, sparse(2 * kTiB)).empty());
  CHECK(map(kTiB, 128 * kMiB, sparse(2 * kTiB)).find("beside 201326592") != std::string::npos);
  CHECK(map(kTiB, kPage, sparse(kPage)).empty());
  CHECK(map(2 * kTiB, kPage, sparse(kPage)).empty());
  CHECK(map(3 * kTiB, kPage, sparse(kPage)) ==
        "DMA_MAP of more than 3 parts of files, this client's share");
  REQUIRE(dma.unmap({false, 0, 192 * kMiB}) == std::nullopt);
  CHECK(map(4 * kTiB, 128 * kMiB, sparse(2 * kTiB)).empty());
}

TEST_CASE("the shares of all clients leave half of what the process may have") {
  rlimit files{}, space{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
  REQUIRE(::getrlimit(RLIMIT_AS, &space) == 0);
  uint64_t mappings = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> mappings;
  for (const uint64_t clients : {1, 2, 16, 256}) {
    const MemoryBudget share = MemoryBudget::share_of(clients);
    CHECK(share.mapped_bytes * clients <= uint64_t{1} << 46);
    CHECK(share.mapped_bytes >= uint64_t{64} << 30);
    CHECK(share.mappings * clients <= mappings / 2);
    CHECK((share.open_files == 4 || share.open_files * clients <= files.rlim_cur / 2));
  }
  CHECK(MemoryBudget::share_of(0).mappings == MemoryBudget::share_of(1).mappings);
  const rlimit less{uint64_t{1} << 45, space.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_AS, &less) == 0);
  CHECK(MemoryBudget::share_of(256).mapped_bytes == uint64_t{1} << 36);
  REQUIRE(::setrlimit(RLIMIT_AS, &space) == 0);
}

TEST_CASE_METHOD(Fixture, "a file that grows is mapped anew, within the same limit") {
  const int file = ::memfd_create("growing", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  REQUIRE(::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
  for (uint64_t i = 0; i <= kMostMappings; ++i) {
    REQUIRE(::ftruncate(file, static_cast<off_t>((i + 1) * kPage)) == 0);
    const auto fault = dma.map({true, true, i * kPage, i * kPage, kPage},
                               UniqueFd(::fcntl(file, F_DUPFD_CLOEXEC, 0)));
    REQUIRE(error_of(fault) == (i < kMostMappings ? 0 : ENOSPC));
  }
  CHECK(writable(0, kMostMappings * kPage));
  ::close(file);
}

TEST_CASE_METHOD(Fixture, "maps and unmaps leave no file descriptor behind") {
  const Memory sealed(kPage, Memory::Kind::kSealed);
  const Memory unsealed(kPage, Memory::Kind::kUnsealed);
  const size_t before = open_fds();
  REQUIRE(map(0x0000, kPage, sealed) == 0);
  REQUIRE(map(0x1000, kPage, unsealed) == 0);
  CHECK(map(0x1000, kPage, unsealed) == EEXIST);
  CHECK(map(0x2000, 2 * kPage, unsealed) == EINVAL);
  CHECK(open_fds() == before + 1);
  dma.clear();
  CHECK(open_fds() == before);
}

TEST_CASE_METHOD(Fixture, "whoever sees the last byte of a write sees all of it") {
  const Memory memory(kPage, Memory::Kind::kSealed);
  REQUIRE(map(0, kPage, memory) == 0);
  constexpr size_t kLength = 251;  // no multiple of a word, and not aligned
  constexpr size_t kStart = 3;
  constexpr uint8_t kRounds = 250;
  std::atomic<uint8_t> seen{0};
  std::atomic<bool> torn{false};
  std::atomic<bool> stop{false};
  std::thread guest([&] {
    uint8_t* last = memory.bytes() + kStart + kLength - 1;
    while (!stop) {
      const uint8_t value = __atomic_load_n(last, __ATOMIC_ACQUIRE);
      if (value == seen) continue;
      for (size_t i = 0; i < kLength; ++i) {
        const uint8_t byte = __atomic_load_n(memory.bytes() + kStart + i, __ATOMIC_RELAXED);
        if (byte != value) torn = true;
      }
      seen = value;
    }
  });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (uint8_t value = 1; value <= kRounds; ++value) {
    const Bytes data(kLength, value);
    dma.write(kStart, data.data(), data.size());
    while (seen != value && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
  }
  stop = true;
  guest.join();
  CHECK(seen == kRounds);  // else: waited 20 s for the other thread to see the last byte
  CHECK_FALSE(torn);
}

TEST_CASE_METHOD(Fixture, "random maps, unmaps and accesses agree with a page table") {
  const uint32_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const Memory memory(64 * kPage, Memory::Kind::kSealed);
  std::map<uint64_t, uint64_t> regions;  // first page, pages
  const auto overlaps = [&](uint64_t first, uint64_t pages) {
    for (const auto& [start, count] : regions) {
      if (first < start + count && start < first + pages) return true;
    }
    return false;
  };
  const auto covered = [&](uint64_t page) { return overlaps(page, 1); };
  for (int step = 0; step < 20000; ++step) {
    const uint64_t first = random() % 60;
    const uint64_t pages = 1 + random() % 4;
    switch (random() % 3) {
      case 0: {
        const bool expected = !overlaps(first, pages);
        REQUIRE((map(first * kPage, pages * kPage, memory, first * kPage) == 0) == expected);
        if (expected) regions[first] = pages;
        break;
      }
      case 1: {
        const auto found = regions.find(first);
        if (found == regions.end()) break;
        REQUIRE(unmap(first * kPage, found->second * kPage) == 0);
        regions.erase(found);
        break;
      }
      default: {
        const uint64_t address = first * kPage + random() % kPage;
        const size_t length = 1 + random() % (2 * kPage);
        bool expected = true;
        for (uint64_t page = address / kPage; page <= (address + length - 1) / kPage; ++page) {
          expected = expected && covered(page);
        }
        REQUIRE(readable(address, length) == expected);
      }
    }
  }
}

TEST_CASE_METHOD(Fixture, "a process's memory is reached by its /proc file, whatever it is") {
  static uint8_t global[3 * kPage];
  std::vector<uint8_t> heap(3 * kPage);
  uint8_t stack[100];
  const int file = ::open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  REQUIRE(file >= 0);
  REQUIRE(error_of(dma.map({true, true, kPage, kPage, uint64_t{1} << 56}, UniqueFd(file))) == 0);
  Bytes data(sizeof(stack));
  std::iota(data.begin(), data.end(), uint8_t{1});
  for (uint8_t* place : {global + kPage - 7, heap.data() + kPage - 7, stack + 0}) {
    const auto address = reinterpret_cast<uintptr_t>(place);
    REQUIRE(dma.write(address, data.data(), data.size()));
    CHECK(std::memcmp(place, data.data(), data.size()) == 0);
    Bytes back(data.size());
    REQUIRE(dma.read(address, back.data(), back.size()));
    CHECK(back == data);
  }
}

TEST_CASE_METHOD(Fixture,
                 "a process's memory that is not mapped is not reached, and harms nobody") {
  REQUIRE(error_of(dma.map({true, true, kPage, kPage, uint64_t{1} << 56},
                           UniqueFd(::open("/proc/self/mem", O_RDWR | O_CLOEXEC)))) == 0);
  void* hole = ::mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(hole != MAP_FAILED);
  ::munmap(hole, kPage);
  CHECK(!readable(reinterpret_cast<uintptr_t>(hole), 16));
  CHECK(!writable(reinterpret_cast<uintptr_t>(hole), 16));
}

TEST_CASE_METHOD(Fixture, "no other file of /proc stands behind a region") {
  for (const char* path : {"/proc/self/comm", "/proc/self/oom_score_adj", "/proc/self/maps"}) {
    INFO(path);
    CHECK(error_of(dma.map({true, false, 0, kPage, kPage},
                           UniqueFd(::open(path, O_RDONLY | O_CLOEXEC)))) == EINVAL);
  }
}

}  // namespace
}  // namespace exrnic::vfio_user

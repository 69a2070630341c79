// SPDX-License-Identifier: BSD-2-Clause
#include "sim/host/in_process_host.h"

#include <catch2/catch_test_macros.hpp>
#include <stdexcept>

#include "sim/testing/fake_core.h"

namespace exrnic {
namespace {

struct Bench {
  Bench() : testbed(options(), cores.factory()), host(testbed, 0) {}

  static TestbedOptions options() {
    TestbedOptions options;
    options.nodes = 1;
    options.profile = load_profile("dc-25g");
    return options;
  }

  bool can_read(uint64_t address, size_t length) {
    Bytes out(length);
    return host.dma_read(address, out.data(), length);
  }
  bool can_write(uint64_t address, size_t length) {
    const Bytes data(length, 0xee);
    return host.dma_write(address, data.data(), length);
  }

  FakeCores cores;
  Testbed testbed;
  InProcessHost host;
};

TEST_CASE("memory is as slow as it was told last") {
  Bench bench;
  bench.host.slow_reads(0x1000, 0x1000, 500);
  bench.host.slow_reads(0x1800, 0x10, HostPort::kNever);
  bench.host.slow_reads(0x1900, 0x10, 0);
  CHECK(bench.host.read_wait_ns(0xff0, 16) == 0);
  CHECK(bench.host.read_wait_ns(0xff0, 17) == 500);
  CHECK(bench.host.read_wait_ns(0x1ff0, 64) == 500);
  CHECK(bench.host.read_wait_ns(0x2000, 64) == 0);
  CHECK(bench.host.read_wait_ns(0x17ff, 2) == HostPort::kNever);
  CHECK(bench.host.read_wait_ns(0x1900, 8) == 0);
}

TEST_CASE("memory that was never granted is neither read nor written") {
  Bench bench;
  CHECK_FALSE(bench.can_read(0x1000, 1));
  CHECK_FALSE(bench.can_write(0x1000, 1));
  CHECK(bench.host.peek(0x1000, 1) == Bytes{0});
  CHECK(bench.host.refused_reads() == 1);
  REQUIRE(bench.host.refused_writes().size() == 1);
  CHECK(bench.host.refused_writes()[0].address == 0x1000);
  CHECK(bench.host.writes().empty());
}

TEST_CASE("a peek sees what a read would, and leaves no record") {
  Bench bench;
  bench.host.grant(0x1000, 0x1000, DmaRights::kRead);
  bench.host.poke(0x1004, {7});
  uint8_t byte = 0;
  CHECK(bench.host.dma_peek(0x1004, &byte, 1));
  CHECK(byte == 7);
  CHECK_FALSE(bench.host.dma_peek(0x2000, &byte, 1));
  CHECK(bench.host.refused_reads() == 0);
}

TEST_CASE("a grant ends at its last byte, and an access across its edge touches nothing") {
  Bench bench;
  bench.host.grant(0x1800, 0x1000, DmaRights::kReadWrite);
  CHECK(bench.can_write(0x1800, 0x1000));
  CHECK_FALSE(bench.can_write(0x17ff, 2));
  CHECK_FALSE(bench.can_write(0x27ff, 2));
  CHECK(bench.host.peek(0x17ff, 2) == Bytes{0, 0xee});
  CHECK(bench.host.peek(0x27ff, 2) == Bytes{0xee, 0});
}

TEST_CASE("rights are those of the grant") {
  Bench bench;
  bench.host.grant(0x1000, 0x1000, DmaRights::kRead);
  bench.host.grant(0x2000, 0x1000, DmaRights::kWrite);
  CHECK(bench.can_read(0x1000, 64));
  CHECK_FALSE(bench.can_write(0x1000, 64));
  CHECK_FALSE(bench.can_read(0x2000, 64));
  CHECK(bench.can_write(0x2000, 64));
  CHECK_FALSE(bench.can_read(0x1fff, 2));
}

TEST_CASE("an access may span neighbouring grants") {
  Bench bench;
  bench.host.grant(0x1000, 0x1000, DmaRights::kRead);
  bench.host.grant(0x2000, 0x1000, DmaRights::kReadWrite);
  CHECK(bench.can_read(0x1f00, 0x200));
  CHECK_FALSE(bench.can_write(0x1f00, 0x200));
}

TEST_CASE("revoking a piece leaves what is before and after it") {
  Bench bench;
  bench.host.grant(0x1000, 0x3000, DmaRights::kReadWrite);
  bench.host.revoke(0x2000, 0x1000);
  CHECK(bench.can_read(0x1000, 0x1000));
  CHECK(bench.can_read(0x3000, 0x1000));
  CHECK_FALSE(bench.can_read(0x1fff, 2));
  CHECK_FALSE(bench.can_read(0x2fff, 1));
  bench.host.revoke(0, ~uint64_t{0});
  CHECK_FALSE(bench.can_read(0x1000, 1));
}

TEST_CASE("no access wraps around the end of the address space") {
  Bench bench;
  bench.host.grant(~uint64_t{0} - 0xfff, 0x1000, DmaRights::kReadWrite);
  bench.host.grant(0, 0x1000, DmaRights::kReadWrite);
  CHECK(bench.can_read(~uint64_t{0} - 0xf, 16));
  CHECK_FALSE(bench.can_read(~uint64_t{0} - 0xf, 17));
}

TEST_CASE("every write of the RNIC is recorded with address and bytes, and interrupts too") {
  Bench bench;
  bench.host.grant(0x1000, 0x1000, DmaRights::kWrite);
  bench.cores[0].writes_out.push_back({PostedWrite::Kind::kMemory, 0x1004, {1, 2, 3}});
  bench.cores[0].writes_out.push_back({PostedWrite::Kind::kMemory, 0x3000, {4}});
  bench.cores[0].writes_out.push_back({PostedWrite::Kind::kMsix, 5, {}});
  bench.host.store(0, 0, 4, 0);
  CHECK(bench.testbed.run_until([&] { return !bench.host.interrupts().empty(); }, 10'000) ==
        RunResult::kDone);
  REQUIRE(bench.host.writes().size() == 1);
  CHECK(bench.host.writes()[0].address == 0x1004);
  CHECK(bench.host.writes()[0].data == Bytes{1, 2, 3});
  REQUIRE(bench.host.refused_writes().size() == 1);
  CHECK(bench.host.refused_writes()[0].address == 0x3000);
  CHECK(bench.host.interrupts() == std::vector<unsigned>{5});
  CHECK(bench.host.peek(0x1003, 5) == Bytes{0, 1, 2, 3, 0});
}

TEST_CASE("a load runs the simulation until it is answered, behind earlier stores") {
  Bench bench;
  bench.host.store(0, 8, 4, 0x1234);
  CHECK(bench.host.load(0, 8, 4) == 0x1234);
}

TEST_CASE("memory is granted, poked and peeked across pages") {
  Bench bench;
  Bytes data(10'000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 7);
  bench.host.poke(0xfff, data);
  CHECK(bench.host.peek(0xfff, data.size()) == data);
}

}  // namespace
}  // namespace exrnic

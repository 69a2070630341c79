// SPDX-License-Identifier: BSD-2-Clause
// Captures, read back through libpcap.
#include "sim/capture/captures.h"

#include <sys/resource.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "exrnic_hw.h"
#include "sim/testing/fake_core.h"
#include "sim/testing/read_capture.h"
#include "sim/testing/temp_dir.h"

namespace exrnic {
namespace {

namespace fs = std::filesystem;

struct Bench {
  explicit Bench(unsigned nodes) {
    TestbedOptions options;
    options.profile = load_profile("dc-25g");
    options.nodes = nodes;
    testbed = std::make_unique<Testbed>(options, cores.factory());
  }
  Captures capture() {
    return Captures(dir.path / "c", *testbed,
                    [this](const std::string& line) { log.push_back(line); });
  }
  void send(unsigned from, unsigned to, uint8_t fill = 0) {
    Frame frame{Bytes(100, fill)};
    exrnic_eth_set_dst(frame.data.data(), mac_address(to));
    exrnic_eth_set_src(frame.data.data(), mac_address(from));
    cores[from].frames_out.push_back(frame);
    testbed->node(from).device().mmio_write(0, 0, 4, 0);
    testbed->run_for(100'000);
  }

  TempDir dir;
  FakeCores cores;
  std::unique_ptr<Testbed> testbed;
  std::vector<std::string> log;
};

TEST_CASE("each port's capture has what passed it, with its FCS, in simulated time") {
  Bench bench(3);
  Captures captures = bench.capture();
  CHECK(captures.ports() == 6);
  bench.send(0, 1, 0xaa);
  bench.testbed->run_for(2'000'000'000);
  bench.send(1, 0, 0xbb);
  captures.flush();
  const auto of = [&](const std::string& port) {
    return read_capture(bench.dir.path / "c" / (port + ".pcap"));
  };
  const std::string middle = bench.testbed->fabric().topology().switches[0].name;
  for (const char* port : {"node0", "node1"}) {
    const auto packets = of(port);
    REQUIRE(packets.size() == 2);
    CHECK(packets[0].wire.size() == 104);
    CHECK(packets[0].wire[50] == 0xaa);
    CHECK(packets[1].wire[50] == 0xbb);
    CHECK(has_good_fcs(packets[0].wire));
    CHECK(packets[1].time_ns - packets[0].time_ns > 1'999'000'000);
  }
  CHECK(of("node2").empty());
  CHECK(of(middle + ".0").size() == 2);
  // Of each line: 8 + 104 bytes take 35.84 ns, the profile's latency is 500 ns; times are cut to
  // ns.
  const auto took_a_line = [](uint64_t ns) { return ns == 535 || ns == 536; };
  CHECK(took_a_line(of(middle + ".0")[0].time_ns - of("node0")[0].time_ns));
  CHECK(took_a_line(of("node1")[0].time_ns - of(middle + ".1")[0].time_ns));
  CHECK(bench.log.empty());
}

TEST_CASE("a folder that cannot be made is one line, and the simulation goes on") {
  Bench bench(2);
  std::ofstream(bench.dir / "c") << "a file";
  Captures captures = bench.capture();
  bench.send(0, 1);
  CHECK(bench.cores[1].frames_in.size() == 1);
  captures.flush();
  REQUIRE(bench.log.size() == 1);
  CHECK(bench.log[0].find("the run goes on without captures") != std::string::npos);
}

TEST_CASE("a full disk is one line for each capture, and the simulation goes on") {
  Bench bench(2);
  fs::create_directory(bench.dir / "c");
  fs::create_symlink("/dev/full", bench.dir.path / "c/node0.pcap");
  Captures captures = bench.capture();
  CHECK(captures.ports() == 1);
  bench.send(0, 1);
  captures.flush();
  REQUIRE(bench.log.size() == 1);
  CHECK(bench.log[0].find("node0.pcap: No space left on device") != std::string::npos);
  CHECK(bench.cores[1].frames_in.size() == 1);
  CHECK(read_capture(bench.dir.path / "c/node1.pcap").size() == 1);
}

TEST_CASE("a file that takes no more is one line, and the simulation goes on") {
  Bench bench(2);
  Captures captures = bench.capture();
  bench.send(0, 1);
  captures.flush();
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{300, limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
  for (int i = 0; i < 100; ++i) bench.send(0, 1);
  captures.flush();
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, old_handler);
  CHECK(bench.log.size() == 2);
  for (const std::string& line : bench.log) {
    CHECK(line.find("File too large; the run goes on without this capture") != std::string::npos);
  }
  CHECK(captures.ports() == 0);
  CHECK(bench.cores[1].frames_in.size() == 101);
  CHECK_THROWS(read_capture(bench.dir.path / "c/node1.pcap"));  // its last packet is cut
  CHECK(fs::file_size(bench.dir.path / "c/node1.pcap") == 300);
}

}  // namespace
}  // namespace exrnic

// SPDX-License-Identifier: BSD-2-Clause
// The program exrnic-sim from outside: arguments, readiness, idleness, signals, statistics.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "exrnic_hw.h"
#include "sim/posix/unique_fd.h"
#include "sim/testing/register_driver.h"
#include "sim/testing/simulator_process.h"

namespace exrnic {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Arguments = std::vector<std::string>;

void refused(const Arguments& arguments, const std::string& because) {
  INFO(fmt::format("expected: {}", because));
  Simulator simulator(arguments);
  CHECK(simulator.wait_for_exit() == 2);
  const std::string line = simulator.rest_of_stderr();
  INFO(line);
  CHECK(line.rfind("exrnic-sim: ", 0) == 0);
  CHECK(line.find(because) != std::string::npos);
  CHECK(line.find('\n') == line.size() - 1);
  CHECK(simulator.rest_of_stdout().empty());
}

TEST_CASE("it serves its sockets until a signal, then removes them and writes its statistics") {
  for (const int number : {SIGTERM, SIGINT}) {
    TempDir dir;
    Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--node",
                         "vfio-user:" + (dir / "b.sock"), "--seed", "7", "--profile", "ntb-gen3x8",
                         "--faults", "drop=0.5", "--stats", dir / "stats.json"});
    simulator.wait_until_ready();
    CHECK(fs::is_socket(dir / "a.sock"));
    CHECK(fs::is_socket(dir / "b.sock"));
    simulator.signal(number);
    CHECK(simulator.wait_for_exit() == 0);
    CHECK_FALSE(fs::exists(dir / "a.sock"));
    CHECK_FALSE(fs::exists(dir / "b.sock"));
    const auto stats = nlohmann::json::parse(std::ifstream(dir / "stats.json"));
    CHECK(stats.at("profile") == "ntb-gen3x8");
    CHECK(stats.at("seed") == 7);
    CHECK(stats.at("simulated_ns").is_number_unsigned());
    REQUIRE(stats.at("nodes").size() == 2);
    CHECK(stats.at("nodes")[1].at("socket") == dir / "b.sock");
    CHECK(stats.at("nodes")[1].at("cycles") == 0);  // nobody came: the core was not clocked
    CHECK(stats.at("nodes")[0].at("line_towards").at("frames") == 0);
  }
}

TEST_CASE("statistics have the counters of the core, also of clients that have left") {
  for (const char* core : {"rtl", "ref"}) {
    TempDir dir;
    Simulator simulator(
        {"--node", "vfio-user:" + (dir / "a.sock"), "--core", core, "--stats", dir / "stats.json"});
    simulator.wait_until_ready();
    for (int i = 0; i < 2; ++i) {
      RegisterDriver driver(dir / "a.sock");
      const uint64_t doorbell = 0;  // of a queue pair that is not there
      REQUIRE(driver.client.write(VFIO_PCI_BAR2_REGION_INDEX, EXRNIC_DOORBELL_SQ, &doorbell,
                                  sizeof doorbell) == 0);
      CHECK(driver.load(EXRNIC_REG_NODE_ID) == 0);
    }
    simulator.signal(SIGTERM);
    REQUIRE(simulator.wait_for_exit() == 0);
    const auto stats = nlohmann::json::parse(std::ifstream(dir / "stats.json"));
    const auto& counters = stats.at("nodes")[0].at("counters");
    CHECK(counters.size() == EXRNIC_COUNTERS);
    CHECK(counters.at("doorbells_refused") == 2);
    CHECK(counters.at("frames_tx") == 0);
  }
}

TEST_CASE("BAR 4 is as large as it is told to be, and windows are its parts") {
  for (const auto& [size, bytes] : {std::pair("64M", uint64_t{1} << 26),
                                    {"1G", uint64_t{1} << 30},
                                    {"1024M", uint64_t{1} << 30},
                                    {"4G", uint64_t{1} << 32}}) {
    for (const char* core : {"rtl", "ref"}) {
      TempDir dir;
      Simulator simulator(
          {"--node", "vfio-user:" + (dir / "a.sock"), "--core", core, "--window-bar", size});
      simulator.wait_until_ready();
      RegisterDriver driver(dir / "a.sock");
      vfio_user::VfioUserClient::RegionInfo info;
      REQUIRE(driver.client.get_region_info(VFIO_PCI_BAR4_REGION_INDEX, &info) == 0);
      CHECK(info.size == bytes);
      CHECK(driver.load(EXRNIC_REG_WINDOW_SIZE) == bytes / EXRNIC_MAX_WINDOWS);
      // What a host finds that asks for its size: the address bits that can be written.
      const uint64_t all = UINT64_MAX;
      uint64_t address = 0;
      REQUIRE(driver.client.write(VFIO_PCI_CONFIG_REGION_INDEX, PCI_BASE_ADDRESS_4, &all, 4) == 0);
      REQUIRE(driver.client.write(VFIO_PCI_CONFIG_REGION_INDEX, PCI_BASE_ADDRESS_5, &all, 4) == 0);
      REQUIRE(driver.client.read(VFIO_PCI_CONFIG_REGION_INDEX, PCI_BASE_ADDRESS_4, &address, 8) ==
              0);
      CHECK((address & ~uint64_t{0xf}) == ~(bytes - 1));
      // Up to its last byte, and no further.
      uint64_t word = 0;
      CHECK(driver.client.read(VFIO_PCI_BAR4_REGION_INDEX, bytes - 8, &word, sizeof word) == 0);
      CHECK(word == UINT64_MAX);
      CHECK(driver.client.read(VFIO_PCI_BAR4_REGION_INDEX, bytes, &word, sizeof word) == -EINVAL);
    }
  }
}

// A memfd of 2 TiB without a page, that cannot shrink.
UniqueFd sparse_file() {
  UniqueFd file(::memfd_create("sparse", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(file.get(), off_t{2} << 40) == 0);
  REQUIRE(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0);
  return file;
}

TEST_CASE("a client that grants more memory than there is address space takes none from others") {
  constexpr uint64_t kPage = 4096;
  TempDir dir;
  Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--node",
                       "vfio-user:" + (dir / "b.sock"), "--core", "ref"});
  simulator.wait_until_ready();
  RegisterDriver greedy(dir / "a.sock");
  for (uint64_t i = 0; i < 100; ++i) {
    const UniqueFd file = sparse_file();
    CHECK(greedy.client.dma_map({true, true, 0, i << 42, uint64_t{2} << 40}, file.get()) ==
          -ENOSPC);
    REQUIRE(greedy.client.dma_map({true, true, 0, i << 42, kPage}, file.get()) == 0);
  }
  RegisterDriver other(dir / "b.sock");
  const UniqueFd file = sparse_file();
  CHECK(other.client.dma_map({true, true, 0, 0, kPage}, file.get()) == 0);
  CHECK(other.load(EXRNIC_REG_NODE_ID) == 1);
  CHECK(greedy.load(EXRNIC_REG_NODE_ID) == 0);
}

TEST_CASE("an idle simulator uses no CPU, nor do its threads") {
  const auto cpu_seconds = [](std::chrono::milliseconds idle) {
    TempDir dir;
    Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--node",
                         "vfio-user:" + (dir / "b.sock"), "--threads", "2"});
    simulator.wait_until_ready();
    std::this_thread::sleep_for(idle);
    simulator.signal(SIGTERM);
    REQUIRE(simulator.wait_for_exit() == 0);
    return simulator.cpu_seconds();
  };
  const double start_and_stop = cpu_seconds(0ms);
  CHECK(cpu_seconds(1500ms) < start_and_stop + 0.1);
}

TEST_CASE("each client reaches the RNIC of its own node, in simulated time") {
  const std::string threads = GENERATE("1", "2", "auto");
  TempDir dir;
  Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--node",
                       "vfio-user:" + (dir / "b.sock"), "--profile", "expether-gbe", "--stats",
                       dir / "stats.json", "--threads", threads});
  simulator.wait_until_ready();
  {
    RegisterDriver first(dir / "a.sock");
    RegisterDriver second(dir / "b.sock");
    CHECK(first.load(EXRNIC_REG_NODE_ID) == 0);
    CHECK(second.load(EXRNIC_REG_NODE_ID) == 1);
    CHECK(second.load(EXRNIC_REG_CLOCK_KHZ) == 125'000);
  }
  simulator.signal(SIGTERM);
  REQUIRE(simulator.wait_for_exit() == 0);
  const auto stats = nlohmann::json::parse(std::ifstream(dir / "stats.json"));
  CHECK(stats.at("nodes")[0].at("pcie").at("loads") == 1);
  CHECK(stats.at("nodes")[1].at("pcie").at("loads") == 2);
  CHECK(stats.at("nodes")[1].at("cycles") > 0);
  CHECK(stats.at("simulated_ns") >= 3 * 500);
  CHECK(stats.at("simulated_ns") < 1'000'000);  // and it stood still in between
  if (threads != "auto") CHECK(stats.at("threads") == std::stoi(threads));
}

TEST_CASE("a network without latency is simulated by one thread, which is told") {
  TempDir dir;
  nlohmann::json profile = nlohmann::json::parse(std::ifstream(EXRNIC_PROFILES "/dc-25g.json"));
  profile["ethernet"]["latency_ns"] = 0;
  std::ofstream(dir / "p.json") << profile;
  Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--node",
                       "vfio-user:" + (dir / "b.sock"), "--profile", dir / "p.json", "--threads",
                       "2", "--stats", dir / "stats.json"});
  simulator.wait_until_ready();
  simulator.signal(SIGTERM);
  REQUIRE(simulator.wait_for_exit() == 0);
  CHECK(nlohmann::json::parse(std::ifstream(dir / "stats.json")).at("threads") == 1);
  CHECK(simulator.rest_of_stderr().find("--threads: one simulates") != std::string::npos);
}

TEST_CASE("threads that cannot be started are one clear line and exit code 1") {
  TempDir dir;
  // A thread's stack is as large as this limit says: none can be had.
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_STACK, &usual) == 0);
  const rlimit huge{std::min<rlim_t>(usual.rlim_max, rlim_t{1} << 46), usual.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_STACK, &huge) == 0);
  Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--node",
                       "vfio-user:" + (dir / "b.sock"), "--threads", "2"});
  REQUIRE(::setrlimit(RLIMIT_STACK, &usual) == 0);
  CHECK(simulator.wait_for_exit() == 1);
  const std::string line = simulator.rest_of_stderr();
  INFO(line);
  CHECK(line.find("--threads") != std::string::npos);
  CHECK(line.find('\n') == line.size() - 1);
}

TEST_CASE("after a client has gone the next one is served, and the core sleeps again") {
  TempDir dir;
  Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock")});
  simulator.wait_until_ready();
  for (int i = 0; i < 3; ++i) CHECK(RegisterDriver(dir / "a.sock").load(EXRNIC_REG_NODE_ID) == 0);
  std::this_thread::sleep_for(1500ms);
  simulator.signal(SIGTERM);
  REQUIRE(simulator.wait_for_exit() == 0);
  CHECK(simulator.cpu_seconds() < 1);
}

TEST_CASE("a socket file that a killed simulator left is replaced") {
  TempDir dir;
  const Arguments arguments = {"--node", "vfio-user:" + (dir / "a.sock")};
  Simulator first(arguments);
  first.wait_until_ready();
  first.signal(SIGKILL);
  CHECK(first.wait_for_exit() == -SIGKILL);
  REQUIRE(fs::is_socket(dir / "a.sock"));
  Simulator second(arguments);
  second.wait_until_ready();
  second.signal(SIGTERM);
  CHECK(second.wait_for_exit() == 0);
}

// A file of the test's own.
std::string write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

TEST_CASE("a workload needs no hosts, and ends by itself with what each flow took") {
  TempDir dir;
  const std::string file = write_file(dir / "w.json", R"({"name": "x", "traffic": [
    {"pattern": "incast", "operation": "push", "bytes": 2000, "target": 2},
    {"pattern": "incast", "operation": "fetch-add", "bytes": 8, "target": 1}]})");
  for (const char* core : {"rtl", "ref"}) {
    Simulator simulator({"--workload", file, "--topology", "star:4", "--core", core, "--results",
                         dir / "flows.csv", "--stats", dir / "stats.json", "--losses",
                         dir / "losses.json", "--faults", "drop=0.2"});
    REQUIRE(simulator.wait_for_exit() == 0);
    std::ifstream csv(dir / "flows.csv");
    std::string line;
    std::getline(csv, line);
    CHECK(line.rfind("traffic,from,to,", 0) == 0);
    for (const char* flow : {"0,0,2,1,1,0,2000,", "1,0,1,1,1,0,8,", "0,1,2,1,1,0,2000,",
                             "1,2,1,1,1,0,8,", "0,3,2,1,1,0,2000,", "1,3,1,1,1,0,8,"}) {
      std::getline(csv, line);
      CHECK(line.rfind(flow, 0) == 0);
    }
    CHECK(nlohmann::json::parse(std::ifstream(dir / "stats.json")).at("nodes").size() == 4);
    std::ifstream losses(dir / "losses.json");
    REQUIRE(std::getline(losses, line));
    CHECK(nlohmann::json::parse(line).at("cause") == "line: dropped by a fault");
  }
}

TEST_CASE("a workload that the network cannot carry is one clear line and exit code 2") {
  TempDir dir;
  const std::string incast = write_file(dir / "w.json", R"({"name": "x", "traffic": [
    {"pattern": "incast", "operation": "push", "bytes": 2000, "target": 2}]})");
  refused({"--workload", incast}, "'traffic[0].target' is 2; give a whole number in 0..1");
  refused({"--workload", dir / "none.json"}, "none.json: no such file");
  refused({"--workload", incast, "--topology", "star:4", "--node", "vfio-user:" + (dir / "a.sock")},
          "--node: with --workload nodes have no hosts; leave it out");
  refused({"--workload", incast, "--topology", "star:4", "--control", dir / "c.sock"}, "--control");
  refused({"--workload", incast, "--topology", "star"},
          "topology star: write star:N; N, from 1 to 4096, counts nodes");
  refused({"--workload", incast, "--topology", "star:4", "--results", incast},
          "--workload names this path, too");
  refused({"--workload", incast, "--topology", "star:4", "--results", dir / "no/flows.csv"},
          "--results");
  refused({"--node", "vfio-user:" + (dir / "a.sock"), "--results", dir / "flows.csv"},
          "give --workload, too");
}

TEST_CASE("a wrong argument is one clear line and exit code 2") {
  TempDir dir;
  const std::string node = "vfio-user:" + (dir / "a.sock");
  refused({}, "--node is required");
  refused({"--node", (dir / "a.sock")}, "write vfio-user:PATH");
  refused({"--node", "vfio-user:"}, "write vfio-user:PATH");
  refused({"--node", node, "--node", node}, "this socket has a node already");
  refused({"--node", node, "stray"}, "stray");
  refused({"--node", node, "--bogus"}, "--bogus");
  refused({"--node", node, "--core", "fpga"},
          "--core fpga: there is no such core; take rtl, ref or lockstep");
  refused({"--node", node, "--seed", "x"}, "--seed");
  refused({"--node", node, "--profile", "dc-1g"}, "no profile 'dc-1g'; take one of dc-25g");
  refused({"--node", node, "--profile", dir / "p.json"}, "p.json: no such file");
  refused({"--node", node, "--faults", "drop=2"}, "fault 'drop=2': a probability lies in 0..1");
  refused({"--node", node, "--faults-at", "node0"}, "--faults-at: 'node0': write END:KIND=P");
  refused({"--node", node, "--faults-at", "node0:drop=x"}, "--faults-at: fault 'drop=x'");
  refused({"--node", node, "--faults-at", "node0:drop=1"}, "--faults-at: topology single: no link");
  refused({"--node", node, "--topology", "mesh"}, "--topology: no topology 'mesh'; take one of");
  refused({"--node", node, "--topology", "star:0"}, "--topology: topology star: 0 nodes");
  refused({"--node", node, "--topology", "star:257"},
          "--topology: topology star: it has 257 nodes, and cores of --core rtl talk to 256 at "
          "most; take --core ref");
  refused({"--node", node, "--topology", dir / "t.json"}, "t.json: no such file");
  refused({"--node", node, "--profile", "rhinet2", "--topology", "ring:8"},
          "may wait for each other for ever");
  for (const char* size : {"32M", "96M", "8G", "1g", "67108864", "M", ""})
    refused({"--node", node, "--window-bar", size},
            fmt::format("--window-bar {}: write a power of two from 64M to 4G", size));
  refused({"--node", node, "--stats", dir / "no/stats.json"}, "cannot be written");
  const auto waves_refused = [&](const std::string& window, const std::string& because) {
    refused({"--node", node, "--waves", window}, "--waves: " + because);
  };
  waves_refused("w.fst,node=1", "there is no node 1; the nodes are 0 to 0");
  waves_refused("w.fst,node=99999999999", "there is no node 4294967295");
  waves_refused("w.fst,from=x", "'from=x': write a whole number");
  waves_refused("w.fst,to", "'to': write a whole number");
  waves_refused("w.fst,until=3", "'until=3': write node=N, from=NS, to=NS or length=NS");
  waves_refused("w.fst,from=20,to=20", "to=20 does not lie behind from=20");
  waves_refused("w.fst,to=20,length=3", "'to' and 'length' say the same: give one");
  waves_refused(",node=0", "name a file");
  waves_refused("w.fst", "this program is not built for waves, exrnic-sim-waves is");
  refused({"--node", node, "--waves", "w.fst", "--core", "ref"},
          "--waves: the reference model has no signals; take --core rtl");
  refused({"--node", node, "--control", dir / "no/c.sock"}, "--control: socket ");
  const std::string number = "write auto, or a number from 1 to 4096";
  for (const char* threads : {"0", "4097", "2x", "-1", "4294967297"})
    refused({"--node", node, "--threads", threads}, number);
  const Arguments two = {"--node", node, "--threads", "2"};
  const auto two_refused = [&](const char* option, const char* value, const char* because) {
    Arguments arguments = two;
    arguments.insert(arguments.end(), {option, value});
    refused(arguments, because);
  };
  two_refused("--core", "lockstep", "--threads 2: the cores in lockstep are one object; take 1");
  two_refused("--trace", "t.json", "a trace is written in the order of time; take 1");
  two_refused("--gdb", "0:g.sock", "a debugger looks at single cycles; take 1");
  two_refused("--time", "sync:clock", "guests and simulation take turns; take 1");
  two_refused("--reach-memory", "messages", "all nodes wait for memory");
  refused({"--node", node, "--reach-memory", "pigeons"},
          "--reach-memory pigeons: write files or messages");
  refused({"--node", node, "--reach-memory", "messages", "--time", "sync:clock"},
          "--reach-memory messages: not in synchronised time; take files");
  refused({"--node", node, "--retired", "r.txt"}, "--retired: 'r.txt': write NODE:PATH");
  refused({"--node", node, "--retired", "0:" + (dir / "no/r.txt")}, "no/r.txt: cannot be written");
  refused({"--node", node, "--retired", "0:r.txt", "--core", "ref"},
          "--retired: the reference model has no processor; take --core rtl");
  refused({"--node", node, "--symbols", dir / "no.symbols"},
          "no.symbols: no such file; check the path");
  refused({"--node", node, "--gdb", dir / "g.sock"}, "write NODE:PATH");
  refused({"--node", node, "--gdb", "0:"}, "write NODE:PATH");
  refused({"--node", node, "--gdb", "1:g.sock"}, "--gdb: '1:g.sock': the nodes are 0 to 0");
  refused({"--node", node, "--gdb", "0:" + (dir / "no/g.sock")}, "--gdb: socket ");
}

TEST_CASE("PEBs that cannot be are refused with what is wrong") {
  TempDir dir;
  const std::string host = "vfio-user:" + (dir / "slot.sock");
  const std::string nobody = dir / "nobody.sock";
  refused({"--peb-host", dir / "slot.sock"}, "write vfio-user:PATH");
  refused({"--peb-host", host + ",,x"}, "paths at most with commas between");
  refused({"--peb-host", "vfio-user:a,b,c,d,e"}, "4 paths at most");
  refused({"--peb-device", "vfio-user:" + nobody}, "--node is required");
  refused({"--peb-host", host, "--peb-device", "vfio-user:" + nobody},
          "--peb-device " + nobody + ": socket " + nobody + ": No such file");
  refused({"--peb-host", host, "--assign", "zero=1"}, "write HOST[.SLOT]=DEVICE");
  refused({"--peb-host", host, "--assign", "0=1", "--fabric", "managed"}, "exrnic-fm --assign");
  refused({"--peb-host", host, "--assign", "1=0"}, "node 1 is no --peb-host");
  refused({"--peb-host", host, "--assign", "0.1=1"}, "node 0 has 1 slots");
  refused({"--peb-host", host, "--assign", "0=1"}, "node 1 is no --peb-device");
  refused({"--peb-host", host, "--time", "sync:clock"}, "--time sync: not of networks with PEBs");
  refused({"--peb-host", host, "--trace", dir / "trace"}, "--trace: not of networks with PEBs");
  refused({"--peb-host", host, "--peb-host", host}, "names this path, too");
  refused({"--peb-host", host, "--topology", "back-to-back", "--peb-device", "vfio-user:x",
           "--node", "vfio-user:y"},
          "3 nodes; it has 2 to 2");
}

TEST_CASE("what is given twice for one line, node or kind is refused, not ignored") {
  TempDir dir;
  const std::string node = "vfio-user:" + (dir / "a.sock");
  const auto twice = [&](const std::string& option, const std::string& first,
                         const std::string& second, const std::string& because) {
    refused({"--node", node, "--node", node + "b", option, first, option, second}, because);
  };
  twice("--faults-at", "node0:drop=1", "node0:drop=0.5",
        "--faults-at node0:drop=0.5: it is given for node0 already; give it once");
  twice("--gdb", "1:" + (dir / "a"), "1:" + (dir / "b"), "it is given for 1 already");
  twice("--retired", "0:" + (dir / "a"), "0:" + (dir / "b"), "it is given for 0 already");
  for (const char* option : {"--profile", "--stats", "--seed", "--time", "--control", "--faults"})
    twice(option, "1", "1", std::string(option) + ": ");
  refused({"--node", node, "--faults", "drop=0.1,corrupt=0.1,drop=0.2"},
          "fault 'drop=0.2': its kind is given twice");
  refused({"--node", node, "--waves", "w.fst,node=0,node=0"},
          "--waves: 'node=0': 'node' is given twice");
  CHECK_FALSE(fs::exists(dir / "a"));
}

TEST_CASE("a path that two options name is refused, and the file there is left alone") {
  TempDir dir;
  const std::string socket = dir / "a.sock";
  const auto shared = [&](const Arguments& others, const std::string& because) {
    Arguments arguments = {"--node", "vfio-user:" + socket};
    arguments.insert(arguments.end(), others.begin(), others.end());
    refused(arguments, because);
  };
  shared({"--control", socket}, "--control " + socket + ": --node names this path, too");
  shared({"--gdb", "0:" + socket}, "--gdb " + socket + ": --node names this path, too");
  shared({"--stats", dir / "x", "--trace", dir / "./x"}, "--stats names this path, too");
  shared({"--trace", dir / "x", "--retired", "0:" + (dir / "x")}, "--trace names this path, too");
  fs::copy_file(EXRNIC_PROFILES "/dc-25g.json", dir / "p.json");
  const auto size = fs::file_size(dir / "p.json");
  shared({"--profile", dir / "p.json", "--stats", dir / "p.json"}, "--profile names this path");
  CHECK(fs::file_size(dir / "p.json") == size);
  Simulator simulator(
      {"--node", "vfio-user:" + socket, "--stats", "/dev/null", "--trace", "/dev/null"});
  simulator.wait_until_ready();
}

TEST_CASE("a FIFO at which nobody is holds the program at no option") {
  TempDir dir;
  const std::string fifo = dir / "fifo.json";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const std::string node = "vfio-user:" + (dir / "a.sock");
  for (const char* option : {"--profile", "--topology", "--symbols"})
    refused({"--node", node, option, fifo}, "cannot be read: it is no regular file");
  refused({"--node", node, "--stats", fifo}, "cannot be written");
  refused({"--node", node, "--retired", "0:" + fifo}, "cannot be written");
  fs::create_directory(dir / "capture");
  REQUIRE(::mkfifo((dir / "capture/node0.pcap").c_str(), 0600) == 0);
  Simulator simulator(
      {"--node", node, "--node", node + "b", "--trace", fifo, "--capture", dir / "capture"});
  simulator.wait_until_ready();
  simulator.signal(SIGTERM);
  CHECK(simulator.wait_for_exit() == 0);
  const std::string said = simulator.rest_of_stderr();
  INFO(said);
  CHECK(said.find("fifo.json: No such device or address; no trace is written") !=
        std::string::npos);
  CHECK(said.find("node0.pcap: No such device or address") != std::string::npos);
}

TEST_CASE("statistics go to a FIFO that somebody reads") {
  TempDir dir;
  const std::string fifo = dir / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const UniqueFd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--stats", fifo});
  simulator.wait_until_ready();
  simulator.signal(SIGTERM);
  CHECK(simulator.wait_for_exit() == 0);
  char text[65'536];
  const ssize_t got = ::read(reader.get(), text, sizeof text);
  REQUIRE(got > 0);
  CHECK(nlohmann::json::parse(text, text + got).at("profile") == "dc-25g");
}

TEST_CASE("a trace that cannot be written is told in one line, and the run goes on") {
  TempDir dir;
  const std::string path = dir / "no/trace.json";
  Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--trace", path});
  simulator.wait_until_ready();
  CHECK(RegisterDriver(dir / "a.sock").load(EXRNIC_REG_NODE_ID) == 0);
  simulator.signal(SIGTERM);
  CHECK(simulator.wait_for_exit() == 0);
  const std::string said = simulator.rest_of_stderr();
  const std::string line = "exrnic-sim: trace " + path +
                           ": No such file or directory; no trace is written from here on\n";
  CHECK(said.find(line) != std::string::npos);
  CHECK(said.find("trace", said.find(line) + line.size()) == std::string::npos);
}

TEST_CASE("a trace is complete when the program has ended, and names what the driver did") {
  TempDir dir;
  Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--trace", dir / "trace.json"});
  simulator.wait_until_ready();
  CHECK(RegisterDriver(dir / "a.sock").load(EXRNIC_REG_NODE_ID) == 0);
  simulator.signal(SIGTERM);
  CHECK(simulator.wait_for_exit() == 0);
  const auto trace = nlohmann::json::parse(std::ifstream(dir / "trace.json"));
  const auto& last = trace.at("traceEvents").back();
  CHECK(last.at("name") == "register_read");
  CHECK(last.at("dur") > 0);
}

TEST_CASE("more nodes than the topology has are one clear line and exit code 2") {
  TempDir dir;
  Arguments arguments = {"--topology", "star:2"};
  for (const char* name : {"a", "b", "c"}) {
    arguments.insert(arguments.end(), {"--node", "vfio-user:" + (dir / name)});
  }
  refused(arguments, "topology star: it has 2 nodes, and --node is given 3 times");
}

TEST_CASE("statistics name the topology, its switches and their ports; nodes may lack a host") {
  TempDir dir;
  Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--topology", "two-levels:5",
                       "--faults-at", "spine1.0:drop=1", "--stats", dir / "stats.json"});
  simulator.wait_until_ready();
  simulator.signal(SIGTERM);
  REQUIRE(simulator.wait_for_exit() == 0);
  const auto stats = nlohmann::json::parse(std::ifstream(dir / "stats.json"));
  CHECK(stats.at("topology") == "two-levels");
  REQUIRE(stats.at("nodes").size() == 5);
  CHECK(stats.at("nodes")[0].contains("socket"));
  CHECK_FALSE(stats.at("nodes")[4].contains("socket"));
  CHECK(stats.at("switches").size() == 4);
  const auto& port = stats.at("switches").at("leaf1").at("ports").at("0");
  CHECK(port.at("dropped") == 0);
  CHECK(port.at("line_towards").at("frames") == 0);
}

TEST_CASE("a socket that cannot be served is one clear line and exit code 2") {
  TempDir dir;
  std::ofstream(dir / "file") << "mine";
  refused({"--node", "vfio-user:" + (dir / "file")}, "a file is there that is no socket");
  CHECK(fs::file_size(dir / "file") == 4);
  refused({"--node", "vfio-user:" + (dir / "no/a.sock")}, "No such file or directory");
  refused({"--node", "vfio-user:" + (dir / std::string(120, 'x'))}, "a path of 1 to 107 bytes");
}

TEST_CASE("a wrong profile is one clear line and exit code 2") {
  TempDir dir;
  std::ofstream(dir / "p.json") << "{\"name\": 3}";
  refused({"--node", "vfio-user:" + (dir / "a.sock"), "--profile", dir / "p.json"},
          "p.json: 'name' is 3; give a text");
}

TEST_CASE("--help names every option and ends with 0") {
  Simulator simulator({"--help"});
  CHECK(simulator.wait_for_exit() == 0);
  const std::string help = simulator.rest_of_stdout();
  for (const char* option : {"--node", "--profile", "--topology", "--core", "--seed", "--faults",
                             "--faults-at", "--reach-memory", "--peb-host", "--peb-device",
                             "--assign", "--stats", "--capture", "--trace", "--waves"}) {
    CHECK(help.find(option) != std::string::npos);
  }
  for (const char* name : {"dc-25g", "expether-gbe", "ntb-gen3x8", "rhinet2"}) {
    CHECK(help.find(name) != std::string::npos);
  }
}

}  // namespace
}  // namespace exrnic

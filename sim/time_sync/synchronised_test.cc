// SPDX-License-Identifier: BSD-2-Clause
// exrnic-sim --time sync from outside, its guests played: each is a vfio-user client, and a thread
// of its own that does to the shared clock what the plugin in a QEMU does.
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "exrnic_hw.h"
#include "sim/posix/unix_socket.h"
#include "sim/testing/simulator_process.h"
#include "sim/time_sync/played_guest.h"

namespace exrnic {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr uint64_t kMs = 1'000'000;

struct OneGuest {
  explicit OneGuest(const std::string& core)
      : simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--time", "sync:" + (dir / "clock"),
                   "--profile", "expether-gbe", "--core", core}) {
    simulator.wait_until_ready();
  }
  TempDir dir;
  Simulator simulator;
};

TEST_CASE("a load takes the guest's clock to the moment of its answer, the same each time") {
  for (const char* core : {"ref", "rtl"}) {
    OneGuest run(core);
    PlayedGuest guest(run.dir / "clock", run.dir / "a.sock", 0);
    guest.await_start();
    guest.run_to(2'000 * kMs);
    uint32_t value = 0;
    const uint64_t first = guest.load(EXRNIC_REG_ID, &value);
    CHECK(value == EXRNIC_DEVICE_MAGIC);
    CHECK(first > 540);
    CHECK(first < 620);
    guest.run_to(guest.now() + kMs);  // the core's tables are ready, and it rests
    // The device's clock has a grid, of 8 ns.
    for (int i = 0; i < 10; ++i) {
      guest.run_to(guest.now() + 8 - guest.now() % 8 + 800);
      const uint64_t again = guest.load(EXRNIC_REG_ID, &value);
      guest.run_to(guest.now() + 8 - guest.now() % 8 + 800);
      CHECK(guest.load(EXRNIC_REG_ID, &value) == again);
    }
  }
}

TEST_CASE("a guest that stores faster than its bus carries waits for the bus, and time goes on") {
  OneGuest run("ref");
  PlayedGuest guest(run.dir / "clock", run.dir / "a.sock", 0);
  guest.await_start();
  guest.run_to(2'000 * kMs);
  const uint64_t begin = guest.now();
  constexpr unsigned kAtOnce = 1024, kStores = 3000;
  for (unsigned i = 0; i < kStores; ++i) guest.store(EXRNIC_REG_FW_ADDRESS, 0);
  const uint64_t took = guest.now() - begin;
  CHECK(took > (kStores - kAtOnce) * 10);
  uint32_t value = 0;
  CHECK(guest.load(EXRNIC_REG_ID, &value) > kAtOnce * 10);  // after those that are on their way
  CHECK(value == EXRNIC_DEVICE_MAGIC);
}

// With changes of the profile dc-25g, and a topology, both as JSON.
struct TwoGuests {
  explicit TwoGuests(const std::string& changes = "{}", const std::string& topology = {})
      : simulator(arguments(changes, topology)) {
    simulator.wait_until_ready();
    first.emplace(dir / "clock", dir / "a.sock", 0);
    second.emplace(dir / "clock", dir / "b.sock", 1);
    first->await_start();
    second->await_start();
  }
  std::vector<std::string> arguments(const std::string& changes,
                                     const std::string& topology) const {
    nlohmann::json profile = nlohmann::json::parse(std::ifstream(EXRNIC_PROFILES "/dc-25g.json"));
    profile.merge_patch(nlohmann::json::parse(changes));
    std::ofstream(dir / "p.json") << profile;
    std::ofstream(dir / "t.json") << topology;
    std::vector<std::string> result = {"--node",    "vfio-user:" + (dir / "a.sock"),
                                       "--node",    "vfio-user:" + (dir / "b.sock"),
                                       "--time",    "sync:" + (dir / "clock"),
                                       "--profile", dir / "p.json",
                                       "--core",    "ref"};
    if (!topology.empty()) result.insert(result.end(), {"--topology", dir / "t.json"});
    return result;
  }
  void master() {
    first->set_command(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    second->set_command(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
  }
  TempDir dir;
  Simulator simulator;
  std::optional<PlayedGuest> first;
  std::optional<PlayedGuest> second;
};

TEST_CASE("a guest that its device may touch runs no further ahead than another can reach it") {
  constexpr uint64_t kWay = 120 + 500 + 120;  // dc-25g: two PCIe links and a line
  TwoGuests run;
  run.first->run_to(5 * kMs);  // it boots, and waits for nobody
  run.second->run_to(2 * kMs);
  run.second->set_command(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
  wait_for("the simulator to notice bus mastering",
           [&] { return run.second->limit() == 5 * kMs + kWay; });
  run.first->run_to(6 * kMs);
  CHECK(run.second->limit() == 6 * kMs + kWay);
  run.second->run_to(6 * kMs);
}

TEST_CASE("how far a guest may be ahead follows from the shortest way through the topology") {
  // Frames take the direct way, of few hops; one around it has less latency.
  const std::string topology = R"({"name": "t", "nodes": 2,
    "switches": [{"name": "a", "latency_ns": 3}, {"name": "b", "latency_ns": 4},
                 {"name": "c", "latency_ns": 5}],
    "links": [{"ends": ["node0", "a.0"], "latency_ns": 10}, {"ends": ["node1", "b.0"]},
              {"ends": ["a.1", "b.1"], "latency_ns": 600},
              {"ends": ["a.2", "c.0"], "latency_ns": 20},
              {"ends": ["b.2", "c.1"], "latency_ns": 30}]})";
  constexpr uint64_t kWay = 120 + 10 + 3 + 20 + 5 + 30 + 4 + 500 + 120;
  const std::string direct = R"({"name": "t", "nodes": 2, "switches": [],
    "links": [{"ends": ["node0", "node1"], "latency_ns": 10}]})";
  constexpr uint64_t kDirect = 120 + 10 + 120;
  for (const auto& [text, way] : {std::pair(topology, kWay), std::pair(direct, kDirect)}) {
    TwoGuests run("{}", text);
    run.second->set_command(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    run.first->run_to(kMs);
    wait_for("the simulator to notice bus mastering",
             [&] { return run.second->limit() != EXRNIC_TIME_NEVER; });
    CHECK(run.second->limit() == kMs + way);
  }
}

TEST_CASE("time goes on where neither PCIe nor network has a latency") {
  TwoGuests run(R"({"pcie": {"latency_ns": 0}, "ethernet": {"latency_ns": 0}})");
  run.master();
  uint32_t id = 0;
  std::thread other([&] {
    run.second->run_to(3'000);
    run.second->load(EXRNIC_REG_NODE_ID, &id);
    run.second->run_to(5'000);
  });
  run.first->run_to(2'000);
  uint32_t value = 0;
  const uint64_t took = run.first->load(EXRNIC_REG_ID, &value);
  run.first->run_to(5'000);
  other.join();
  CHECK(value == EXRNIC_DEVICE_MAGIC);
  CHECK(id == 1);
  CHECK(took < 500);
}

TEST_CASE("a byte that is under way to a guest that sleeps holds the others until it has it") {
  constexpr uint64_t kWay = 120 + 500 + 120;
  TwoGuests run;
  run.first->set_command(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
  run.second->halt_until(5 * kMs);
  wait_for("the simulator to notice bus mastering",
           [&] { return run.first->limit() == 5 * kMs + kWay; });
  run.first->run_to(kMs);
  run.first->send_byte(1, 'x', 2 * kMs);
  CHECK(run.first->limit() == 5 * kMs + kWay);  // it does not listen yet
  run.second->listen(kMs);
  CHECK(run.first->limit() == 2 * kMs + kWay);
  CHECK(run.second->next_byte() == 2 * kMs);
  // Nor does the simulator pass it: a load that is later waits.
  run.first->run_to(2 * kMs + 600);
  std::atomic<uint64_t> took = 0;
  std::thread loading([&] {
    uint32_t value = 0;
    took = run.first->load(EXRNIC_REG_ID, &value);
  });
  std::this_thread::sleep_for(20ms);
  CHECK(took == 0);
  run.second->take_byte();
  CHECK(run.second->next_byte() == EXRNIC_TIME_NEVER);
  run.second->halt_until(5 * kMs);
  loading.join();
  CHECK(took > 500);
  CHECK(took < 600);
}

TEST_CASE("a load waits for what another guest may do before, and takes the same time") {
  TwoGuests run;
  run.second->run_to(kMs);
  uint64_t took = 0;
  std::thread loading([&] {
    uint32_t value = 0;
    took = run.second->load(EXRNIC_REG_NODE_ID, &value);
  });
  run.first->run_to(3 * kMs);
  loading.join();
  CHECK(took > 500);
  CHECK(took < 600);
}

TEST_CASE("a guest that dies holds nobody, and one that comes later joins the time of the others") {
  TwoGuests run;
  run.first->set_command(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
  run.second.reset();
  run.first->run_to(7 * kMs);
  run.second.emplace(run.dir / "clock", run.dir / "b.sock", 1);
  run.second->await_start();
  CHECK(run.second->now() == 7 * kMs);
  uint32_t value = 0;
  std::thread loading([&] { run.second->load(EXRNIC_REG_NODE_ID, &value); });
  run.first->run_to(7 * kMs + 700);
  loading.join();
  CHECK(value == 1);
}

void expect_refusal(const TempDir& dir, const std::string& because) {
  Simulator simulator(
      {"--node", "vfio-user:" + (dir / "a.sock"), "--time", "sync:" + (dir / "clock")});
  CHECK(simulator.wait_for_exit() == 2);
  const std::string line = simulator.rest_of_stderr();
  INFO(line);
  CHECK(line.find("--time sync:" + (dir / "clock") + ": " + because) != std::string::npos);
  CHECK(line.find('\n') == line.size() - 1);
}

TEST_CASE("what is no clock of a simulator is refused, and left alone") {
  TempDir dir;
  std::ofstream(dir / "file") << "mine";
  const std::string because = "something is there that is no clock of exrnic-sim; remove it";
  SECTION("a file") {
    fs::copy(dir / "file", dir / "clock");
    expect_refusal(dir, because);
    CHECK(fs::file_size(dir / "clock") == 4);
  }
  SECTION("a link to a file, and one to nothing") {
    for (const char* target : {"file", "nothing", "/proc/self/exe"}) {
      fs::create_symlink(target, dir / "clock");
      expect_refusal(dir, because);
      CHECK(fs::read_symlink(dir / "clock") == target);
      fs::remove(dir / "clock");
    }
    CHECK(fs::file_size(dir / "file") == 4);
  }
  SECTION("a folder") {
    fs::create_directory(dir / "clock");
    expect_refusal(dir, because);
    CHECK(fs::is_directory(dir / "clock"));
  }
  SECTION("a FIFO") {
    REQUIRE(::mkfifo((dir / "clock").c_str(), 0600) == 0);
    expect_refusal(dir, because);
    CHECK(fs::is_fifo(dir / "clock"));
  }
  SECTION("in a folder that is not there") {
    Simulator simulator(
        {"--node", "vfio-user:" + (dir / "a.sock"), "--time", "sync:" + (dir / "no/clock")});
    CHECK(simulator.wait_for_exit() == 2);
    CHECK(simulator.rest_of_stderr().find("No such file or directory") != std::string::npos);
  }
}

TEST_CASE("the clock of a simulator that is dead is replaced, of one that lives it is not") {
  TempDir dir;
  const auto arguments = [&](const char* socket) -> std::vector<std::string> {
    return {"--node", "vfio-user:" + (dir / socket), "--time", "sync:" + (dir / "clock")};
  };
  Simulator first(arguments("b.sock"));
  first.wait_until_ready();
  expect_refusal(dir, "another exrnic-sim keeps its clock there (/proc/");
  first.signal(SIGKILL);
  first.wait_for_exit();
  REQUIRE(fs::is_symlink(dir / "clock"));
  Simulator second(arguments("b.sock"));
  second.wait_until_ready();
  CHECK(Clock(dir / "clock")->magic == EXRNIC_TIME_MAGIC);
  second.signal(SIGTERM);
  CHECK(second.wait_for_exit() == 0);
  CHECK_FALSE(fs::is_symlink(dir / "clock"));
}

TEST_CASE("what has taken the place of the clock's link stays when the simulator ends") {
  OneGuest run("ref");
  fs::remove(run.dir / "clock");
  std::ofstream(run.dir / "clock") << "mine";
  run.simulator.signal(SIGTERM);
  CHECK(run.simulator.wait_for_exit() == 0);
  CHECK(fs::file_size(run.dir / "clock") == 4);
}

TEST_CASE("a clock cannot be cut short, and wild words in it do not end the simulator") {
  for (const uint64_t word :
       {~uint64_t{0}, uint64_t{0x7fff'ffff'ffff'fff1}, uint64_t{0x7fff'ffff'ffff'fff2},
        uint64_t{0x7fff'ffff'ffff'fff3}, uint64_t{0x7fff'ffff'ffff'fff4}}) {
    TwoGuests run;
    CHECK(::truncate((run.dir / "clock").c_str(), 0) != 0);
    CHECK(::truncate((run.dir / "clock").c_str(), 1 << 30) != 0);
    run.first->run_to(kMs);
    const Clock clock(run.dir / "clock");
    auto* words = reinterpret_cast<uint64_t*>(clock.get());
    for (size_t i = 0; i < sizeof(exrnic_shared_time) / sizeof word; ++i)
      exrnic_time_store(words + i, word);
    std::this_thread::sleep_for(20ms);
    run.simulator.signal(SIGTERM);
    CHECK(run.simulator.wait_for_exit() == 0);
  }
}

TEST_CASE("what is no time is refused") {
  for (const char* time : {"slow", "sync", "sync:"}) {
    TempDir dir;
    Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--time", time});
    CHECK(simulator.wait_for_exit() == 2);
    CHECK(simulator.rest_of_stderr() ==
          std::string("exrnic-sim: --time ") + time + ": write free or sync:FILE\n");
  }
}

}  // namespace
}  // namespace exrnic

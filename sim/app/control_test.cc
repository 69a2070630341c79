// SPDX-License-Identifier: BSD-2-Clause
// The control socket of exrnic-sim, and exrnicctl, from outside.
#include <poll.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "exrnic_hw.h"
#include "sim/posix/unix_socket.h"
#include "sim/testing/register_driver.h"
#include "sim/testing/simulator_process.h"

namespace exrnic {
namespace {

namespace fs = std::filesystem;

// A client of the control socket.
struct Control {
  explicit Control(const std::string& path) : socket(connect_unix(path)) {
    const timeval limit{10, 0};
    REQUIRE(::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
  }
  void send(const std::string& text) {
    ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  // One line; empty when the simulator has closed the connection.
  std::string line() {
    std::string text;
    for (char byte; text.empty() || text.back() != '\n'; text += byte) {
      const ssize_t got = ::recv(socket.get(), &byte, 1, 0);
      INFO("waited 10 s for an answer, got '" << text << "'");
      if (got == 0 || (got < 0 && errno == ECONNRESET)) return text;
      REQUIRE(got == 1);
    }
    return text;
  }
  nlohmann::json ask(const std::string& request) {
    send(request + "\n");
    return nlohmann::json::parse(line());
  }
  UniqueFd socket;
};

TEST_CASE("the control socket answers while nothing runs, and to several requests at once") {
  TempDir dir;
  Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--node",
                       "vfio-user:" + (dir / "b.sock"), "--control", dir / "c.sock"});
  simulator.wait_until_ready();
  Control control(dir / "c.sock");
  CHECK(control.ask(R"({"command": "status"})").at("nodes")[0].at("host") == false);
  {
    RegisterDriver driver(dir / "a.sock");
    CHECK(driver.load(EXRNIC_REG_STATUS) & EXRNIC_DEVICE_STATUS_LINK_UP);
    CHECK(control.ask(R"({"command": "status"})").at("nodes")[0].at("host") == true);
    CHECK(control.ask(R"({"command": "link", "link": "0-1", "up": false})").at("ok") == true);
    CHECK_FALSE(driver.load(EXRNIC_REG_STATUS) & EXRNIC_DEVICE_STATUS_LINK_UP);
  }
  control.send(R"({"command": "status"})"
               "\n"
               R"({"command": "counters"})"
               "\n");
  CHECK(nlohmann::json::parse(control.line()).contains("links"));
  CHECK(nlohmann::json::parse(control.line()).contains("nodes"));
  CHECK(control.ask(R"({"command": "statistics"})").at("profile") == "dc-25g");
  simulator.signal(SIGTERM);
  CHECK(simulator.wait_for_exit() == 0);
  CHECK_FALSE(fs::exists(dir / "c.sock"));
  CHECK(simulator.rest_of_stderr().find("control: link node0-node1: down") != std::string::npos);
}

TEST_CASE("hostile clients of the control socket are refused, and the run goes on") {
  TempDir dir;
  Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--control", dir / "c.sock"});
  simulator.wait_until_ready();
  Control endless(dir / "c.sock");
  endless.send(std::string(100'000, 'x'));
  CHECK(endless.line().find("a request of more than 16384 bytes") != std::string::npos);
  CHECK(endless.line().empty());
  Control deaf(dir / "c.sock");  // asks and asks, and never reads
  for (int i = 0; i < 1000; ++i) {
    const std::string request = "{\"command\": \"statistics\"}\n";
    ::send(deaf.socket.get(), request.data(), request.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  Control half(dir / "c.sock");
  half.send("{\"command\"");
  CHECK(Control(dir / "c.sock").ask("\x00\xff\x1b[2J").at("ok") == false);
  {
    std::vector<std::unique_ptr<Control>> crowd;
    for (int i = 0; i < 20; ++i) crowd.push_back(std::make_unique<Control>(dir / "c.sock"));
    CHECK(crowd.back()->line().find("16 clients are connected") != std::string::npos);
  }
  half.send(": \"status\"}\n");
  CHECK(nlohmann::json::parse(half.line()).at("ok") == true);
  CHECK(RegisterDriver(dir / "a.sock").load(EXRNIC_REG_NODE_ID) == 0);
  simulator.signal(SIGTERM);
  CHECK(simulator.wait_for_exit() == 0);
}

TEST_CASE("a client that comes when no descriptor is free waits, and nothing spins meanwhile") {
#ifdef __SANITIZE_ADDRESS__
  SKIP(
      "UBSan looks at objects through a pipe: without a free descriptor it takes each for a wrong "
      "one");
#endif
  TempDir dir;
  Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--control", dir / "c.sock"});
  simulator.wait_until_ready();
  auto driver = std::make_unique<RegisterDriver>(dir / "a.sock");
  CHECK(driver->load(EXRNIC_REG_NODE_ID) == 0);
  const std::string folder = "/proc/" + std::to_string(simulator.pid()) + "/fd";
  rlim_t free = 0;  // the lowest descriptor
  while (fs::is_symlink(fs::symlink_status(folder + "/" + std::to_string(free)))) ++free;
  const rlimit none{free, free};
  REQUIRE(::prlimit(simulator.pid(), RLIMIT_NOFILE, &none, nullptr) == 0);
  Control waiting(dir / "c.sock");
  waiting.send("{\"command\": \"status\"}\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  driver.reset();  // its descriptor is free
  CHECK(nlohmann::json::parse(waiting.line()).at("ok") == true);
  simulator.signal(SIGTERM);
  REQUIRE(simulator.wait_for_exit() == 0);
  CHECK(simulator.cpu_seconds() < 1);
  const std::string said = simulator.rest_of_stderr();
  const size_t told = said.find("control: cannot accept a client: Too many open files; it waits");
  CHECK(told != std::string::npos);
  CHECK(said.find("cannot accept", told + 20) == std::string::npos);
}

// exrnicctl as a user runs it: its exit code, and what it says on both outputs.
std::pair<int, std::string> exrnicctl(const std::string& arguments) {
  std::FILE* out = ::popen((EXRNICCTL_PROGRAM " 2>&1 " + arguments).c_str(), "r");
  REQUIRE(out != nullptr);
  std::string text;
  for (char bytes[4096]; const size_t got = std::fread(bytes, 1, sizeof bytes, out);) {
    text.append(bytes, got);
  }
  return {WEXITSTATUS(::pclose(out)), text};
}

TEST_CASE("exrnicctl takes no answer without end") {
  TempDir dir;
  const UniqueFd listener = listen_unix(dir / "c.sock");
  std::thread babbler([&] {
    pollfd fd{listener.get(), POLLIN, 0};
    ::poll(&fd, 1, 10'000);
    const UniqueFd client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::string text(100'000, 'x');
    while (::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  const auto [status, text] = exrnicctl("--control " + (dir / "c.sock") + " status");
  babbler.join();
  CHECK(status == 1);
  CHECK(text.find("the answer is none of exrnic-sim's") != std::string::npos);
}

TEST_CASE("exrnicctl shows counters and breaks links by hand, and what is wrong is one line") {
  TempDir dir;
  Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--node",
                       "vfio-user:" + (dir / "b.sock"), "--control", dir / "c.sock"});
  simulator.wait_until_ready();
  const std::string control = "--control " + (dir / "c.sock") + " ";
  const auto says = [&](const std::string& arguments, int code, const std::string& what) {
    const auto [status, text] = exrnicctl(control + arguments);
    INFO(arguments << "\n" << text);
    CHECK(status == code);
    CHECK(text.find(what) != std::string::npos);
    if (code != 0) CHECK(text.find('\n') == text.size() - 1);
  };
  says("stat", 0, "node 1");
  says("stat --all", 0, "pio_refused");
  says("stat --json", 0, R"({"nodes":[{"id":0,"counters":{"frames_tx":0,)");
  says("top --count 2 --interval 0.01", 0, "simulated time");
  says("link 0-1 --drop 0.01 --seed 7", 0, "link node0-node1: faults drop=0.01, seed 7");
  says("link 0-1 delay 20us --towards node1", 0, "towards node1: 20000 ns slower");
  says("status", 0, "towards node1: faults drop=0.01, 20000 ns slower");
  says("link 0-1 clear", 0, "0 ns slower, faults none");
  says("link 0-1 down", 0, "link node0-node1: down");
  says("status", 0, "link node0-node1: down");
  says("link 0-1 up", 0, "up");
  says("partition 0 1", 0, "partition [[0],[1]]");
  says("partition --heal", 0, "no partition");
  says("link 0-7 down", 1, "exrnicctl: there is no link '0-7'; topology back-to-back has");
  says("link 0-1 --drop 7", 1, "a probability lies in 0..1");
  says("link 0-1 sideways", 1, "there is no 'sideways'; give up, down, clear or delay TIME");
  says("link 0-1 delay 3weeks", 1, "delay 3weeks: give a time");
  says("link 0-1", 1, "no \"up\", \"faults\"");
  says("partition 0,9 1", 1, "there is no node 9");
  says("partition x", 1, "partition: 'x'");
  says("partition", 1, "or --heal");
  says("explode", 2, "exrnicctl --help");
  says("status >/dev/full", 1, "could not be written; is the disk full?");
  simulator.signal(SIGTERM);
  CHECK(simulator.wait_for_exit() == 0);
  says("stat", 1, "no simulator answers: socket");
}

TEST_CASE("exrnicctl top fills a terminal anew at each look, and no more than there is of it") {
  TempDir dir;
  Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--control", dir / "c.sock"});
  simulator.wait_until_ready();
  constexpr winsize kWindow{10, 30, 0, 0};
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &kWindow);
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::string socket = dir / "c.sock";
    ::execl(EXRNICCTL_PROGRAM, "exrnicctl", "--control", socket.c_str(), "top", "--all", "--count",
            "3", "--interval", "0.01", nullptr);
    ::_exit(127);
  }
  std::string shown;
  for (char byte; ::read(terminal, &byte, 1) == 1;) shown += byte;  // fails when the child has gone
  ::close(terminal);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  const std::string anew = "\x1b[H\x1b[2J";
  size_t looks = 0;
  for (size_t at = shown.find(anew); at != std::string::npos; ++looks) {
    const size_t next = shown.find(anew, at + 1);
    std::istringstream screen(shown.substr(at + anew.size(), next - at - anew.size()));
    std::vector<std::string> lines;
    for (std::string line; std::getline(screen, line);) lines.push_back(line);
    REQUIRE(lines.size() == kWindow.ws_row - 1u);
    for (const std::string& line : lines) CHECK(line.size() <= kWindow.ws_col + 1u);  // and a '\r'
    CHECK(lines[0].find("simulated time") == 0);
    CHECK(lines.back() == std::to_string(EXRNIC_COUNTERS + 2 - 8) + " more: enlarge the window\r");
    at = next;
  }
  CHECK(looks == 3);
  simulator.signal(SIGTERM);
  CHECK(simulator.wait_for_exit() == 0);
}

TEST_CASE("exrnicctl reads the counters of a guest where its driver shows them") {
  static constexpr const char* kNames[] = EXRNIC_COUNTER_NAMES;
  TempDir dir;
  const fs::path device = dir.path / "exrnic0";
  CHECK(exrnicctl("stat --sysfs " + dir.path.string()) ==
        std::pair(1, "exrnicctl: no RNIC in " + dir.path.string() + "; load exrnic.ko\n"));
  fs::create_directories(device / "counters");
  std::ofstream(device / "node_id") << "5\n";
  for (const char* name : kNames) std::ofstream(device / "counters" / name) << "12\n";
  const auto [status, text] = exrnicctl("stat --json --sysfs " + dir.path.string());
  CHECK(status == 0);
  const auto node = nlohmann::json::parse(text).at("nodes").at(0);
  CHECK(node.at("id") == 5);
  CHECK(node.at("counters").size() == EXRNIC_COUNTERS);
  CHECK(node.at("counters").at("frames_rx") == 12);
  fs::remove(device / "counters/cqes");
  CHECK(exrnicctl("stat --sysfs " + dir.path.string()).second.find("counters/cqes: no number") !=
        std::string::npos);
}

TEST_CASE("captures that cannot be written are one line, and the simulator serves") {
  TempDir dir;
  std::ofstream(dir / "file") << "not a folder";
  Simulator simulator({"--node", "vfio-user:" + (dir / "a.sock"), "--node",
                       "vfio-user:" + (dir / "b.sock"), "--capture", dir / "file/c"});
  simulator.wait_until_ready();
  CHECK(RegisterDriver(dir / "a.sock").load(EXRNIC_REG_NODE_ID) == 0);
  simulator.signal(SIGTERM);
  CHECK(simulator.wait_for_exit() == 0);
  CHECK(simulator.rest_of_stderr().find("the run goes on without captures") != std::string::npos);
}

}  // namespace
}  // namespace exrnic

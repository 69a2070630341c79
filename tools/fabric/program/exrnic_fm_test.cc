// SPDX-License-Identifier: BSD-2-Clause
// exrnic-fm and exrnicctl at nodes of exrnic-sim, as a user starts them.
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "sim/testing/simulator_process.h"
#include "sim/testing/temp_dir.h"

namespace exrnic {
namespace {

using Catch::Matchers::ContainsSubstring;

struct Outcome {
  int status;
  std::string text;  // of both outputs
};

Outcome run(const std::string& command) {
  std::FILE* const out = ::popen(("timeout 60 " + command + " 2>&1").c_str(), "r");
  REQUIRE(out != nullptr);
  Outcome outcome{0, {}};
  char buffer[4096];
  while (const size_t bytes = std::fread(buffer, 1, sizeof(buffer), out))
    outcome.text.append(buffer, bytes);
  const int status = ::pclose(out);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 255;
  return outcome;
}

// A program that goes on until it is told to end.
class Background {
 public:
  explicit Background(const std::string& command) {
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      ::execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
      ::_exit(127);
    }
  }
  ~Background() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  int end(int signal) {
    ::kill(pid_, signal);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
  }

 private:
  pid_t pid_;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Bench {
  explicit Bench(const std::string& topology, unsigned nodes = 4,
                 const std::string& fabric = "managed")
      : simulator(arguments(folder, topology, nodes, fabric)) {
    simulator.wait_until_ready();
    std::ofstream(folder / "key") << "1234abcd\n";
  }
  static std::vector<std::string> arguments(const TempDir& folder, const std::string& topology,
                                            unsigned nodes, const std::string& fabric) {
    std::vector<std::string> all = {"--core",   "ref",  "--topology", topology,
                                    "--fabric", fabric, "--control",  folder / "control"};
    for (unsigned node = 0; node < nodes; ++node) {
      all.push_back("--node");
      all.push_back("vfio-user:" + folder / std::to_string(node));
    }
    return all;
  }
  std::string node(unsigned number) const { return "sim:" + folder / std::to_string(number); }
  std::string manager(unsigned node_number, const std::string& more) const {
    return EXRNIC_FM " --device " + node(node_number) + " --key-file " + folder / "key" + " " +
           more;
  }
  Outcome control(const std::string& command) const {
    return run(EXRNICCTL " --control " + folder / "control" + " " + command);
  }
  std::string fabric(unsigned node_number, const std::string& more = "") const {
    return EXRNICCTL " fabric --device " + node(node_number) + " --key-file " + folder / "key" +
           " " + more;
  }

  TempDir folder;
  Simulator simulator;
};

TEST_CASE("a fabric is managed by one program, and others work in it") {
  Bench bench("two-levels:6");
  const Outcome managed = run(bench.manager(0, "--once"));
  INFO(managed.text);
  REQUIRE(managed.status == 0);
  CHECK_THAT(managed.text, ContainsSubstring("6 nodes and 4 switches"));

  const Outcome map = run(bench.fabric(1));
  INFO(map.text);
  CHECK(map.status == 0);
  CHECK_THAT(map.text, ContainsSubstring("0245585200000005  rnic             5"));
  CHECK_THAT(map.text, ContainsSubstring("switch"));
  CHECK_THAT(run(bench.fabric(1, "--dot")).text, ContainsSubstring("graph"));

  const std::string pingpong = EXRNIC_PINGPONG " --rounds 10 --oob unix:" + bench.folder / "oob";
  Background server("env VL_DEVICE=" + bench.node(1) + " " + pingpong + " --node 1 >/dev/null");
  const Outcome client = run("env VL_DEVICE=" + bench.node(0) + " " + pingpong + " --node 0");
  INFO(client.text);
  CHECK(client.status == 0);
}

TEST_CASE("who manages repairs what is cut, keeps its map in a file, and ends when it is told to") {
  Bench bench("ring:4");
  const std::string map = bench.folder / "map";
  const std::string dot = bench.folder / "dot";
  Background manager(
      bench.manager(0, "--sweep 0.2 --map " + map + " --dot " + dot + " >/dev/null"));
  const auto becomes = [&](const std::string& text) {
    for (unsigned tries = 0; tries < 200; ++tries) {
      if (text_of(map).find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    INFO(text_of(map));
    return false;
  };
  CHECK(becomes("0245585200000003  rnic             3"));
  CHECK_THAT(text_of(dot), ContainsSubstring("graph"));
  CHECK(bench.control("link 3-switch3 down").status == 0);
  const auto lost = [&] {
    for (unsigned tries = 0; tries < 200; ++tries) {
      if (text_of(map).find("0245585200000003") == std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  };
  CHECK(lost());
  CHECK(bench.control("link 3-switch3 up").status == 0);
  CHECK(becomes("0245585200000003  rnic             3"));
  CHECK(manager.end(SIGTERM) == 0);
}

TEST_CASE("a map is written to its own file, and not where a link beside it leads") {
  Bench bench("star:3", 1);
  const std::string map = bench.folder / "map", other = bench.folder / "other";
  std::ofstream(other) << "somebody's\n";
  std::filesystem::create_symlink(other, map + ".new");
  const Outcome managed = run(bench.manager(0, "--once --map " + map));
  INFO(managed.text);
  CHECK(managed.status == 0);
  CHECK(text_of(other) == "somebody's\n");
  CHECK_THAT(text_of(map), ContainsSubstring("switch"));
  CHECK(!std::filesystem::is_symlink(map));
  CHECK(!std::filesystem::exists(map + ".new"));

  // What is no file is not taken away.
  std::filesystem::create_directory(map + ".new");
  const Outcome hindered = run(bench.manager(0, "--once --map " + map));
  CHECK(hindered.status == 1);
  CHECK_THAT(hindered.text, ContainsSubstring(map + ".new: it cannot be written"));
}

TEST_CASE("who manages ends within seconds when it is told to, though its simulator stands still") {
  for (const int signal : {SIGTERM, SIGINT}) {
    Bench bench("star:3", 1);
    const std::string map = bench.folder / "map";
    Background manager(bench.manager(0, "--map " + map + " >/dev/null 2>&1"));
    for (unsigned tries = 0; tries < 200 && text_of(map).empty(); ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    REQUIRE(!text_of(map).empty());
    bench.simulator.signal(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // it waits for a reply
    const auto told = std::chrono::steady_clock::now();
    CHECK(manager.end(signal) == 0);
    CHECK(std::chrono::steady_clock::now() - told < std::chrono::seconds(4));
    bench.simulator.signal(SIGCONT);
  }
}

TEST_CASE("who is told to end before all is written once says that it is not") {
  Bench bench("star:3", 1);
  const std::string said = bench.folder / "said";
  Background waiting(bench.manager(0, "--once --standby --takeover 600 >" + said));
  for (unsigned tries = 0; tries < 200 && text_of(said).empty(); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_THAT(text_of(said), ContainsSubstring("waiting"));
  CHECK(waiting.end(SIGTERM) == 1);
}

TEST_CASE("a fabric whose routes are fixed has a map, too") {
  Bench bench("star:3", 3, "static");
  const Outcome map = run(EXRNICCTL " fabric --device " + bench.node(2));
  INFO(map.text);
  CHECK(map.status == 0);
  CHECK_THAT(map.text, ContainsSubstring("0245585200000001  rnic             1"));
}

TEST_CASE(
    "who looks at a fabric with a foreign node gets the map, and an exit status that says so") {
  Bench bench("star:3", 2);
  std::ofstream(bench.folder / "key2") << "77\n";
  CHECK(bench.control("link 1-switch0 down").status == 0);
  const Outcome managed = run(bench.manager(0, "--once"));
  INFO(managed.text);
  CHECK(managed.status == 0);
  // Node 1 does not have the fabric's key: a manager with another one has had it alone.
  const Outcome alone =
      run(EXRNIC_FM " --once --device " + bench.node(1) + " --key-file " + bench.folder / "key2");
  INFO(alone.text);
  CHECK(alone.status == 1);  // its line leads nowhere
  CHECK(bench.control("link 1-switch0 up").status == 0);

  const std::string err = bench.folder / "err";
  for (const char* more : {"", "--dot"}) {
    const Outcome map = run("sh -c '" + bench.fabric(0, more) + " 2>" + err + "'");
    INFO(map.text);
    CHECK(map.status == 1);
    CHECK_THAT(map.text, ContainsSubstring("0245585200000002"));
    CHECK_THAT(map.text, !ContainsSubstring("nobody answers there"));
    CHECK_THAT(text_of(err), ContainsSubstring("exrnicctl: port 1 of switch"));
    CHECK_THAT(text_of(err), ContainsSubstring("nobody answers there"));
    CHECK_THAT(text_of(err), ContainsSubstring("the fabric has 1 problem\n"));
  }
}

TEST_CASE("what is wrong is said with its value, and with what to do") {
  Bench bench("star:3", 2);
  std::ofstream(bench.folder / "long") << "0123456789abcdef0\n";
  std::ofstream(bench.folder / "two") << "12\n34\n";
  std::ofstream(bench.folder / "zero") << "0\n";
  for (const char* file : {"long", "two", "zero"}) {
    const Outcome outcome = run(EXRNIC_FM " --key-file " + bench.folder / file);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.text, ContainsSubstring("16 hexadecimal digits"));
  }
  const Outcome none = run(EXRNIC_FM " --key-file /nowhere");
  CHECK(none.status == 2);
  CHECK_THAT(none.text, ContainsSubstring("/nowhere"));
  const Outcome assign = run(EXRNIC_FM " --assign 12");
  CHECK(assign.status == 2);
  CHECK_THAT(assign.text, ContainsSubstring("HOST[.PORT]=DEVICE"));
  CHECK(run(EXRNIC_FM " --sweep 0").status == 2);
  const Outcome gone = run(EXRNIC_FM " --device sim:/nowhere");
  CHECK(gone.status == 1);
  CHECK_THAT(gone.text, ContainsSubstring("/nowhere"));
  CHECK(run(bench.manager(0, "--once")).status == 0);
  const Outcome locked = run(EXRNICCTL " fabric --device " + bench.node(1));
  CHECK(locked.status == 1);
  CHECK_THAT(locked.text, ContainsSubstring("--key-file"));
  const Outcome full = run(bench.manager(0, "--once --map /dev/full/map"));
  CHECK(full.status == 1);
  CHECK_THAT(full.text, ContainsSubstring("/dev/full/map"));
}

TEST_CASE("a workload wants a static fabric, and there are two kinds") {
  for (const char* more : {"--workload x.json", "--node vfio-user:a --fabric else"}) {
    const Outcome outcome = run(std::string(EXRNIC_SIM_PROGRAM " --fabric managed ") + more);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.text, ContainsSubstring("--fabric"));
  }
}

}  // namespace
}  // namespace exrnic

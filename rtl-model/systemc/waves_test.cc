// SPDX-License-Identifier: BSD-2-Clause
// Waves of a small model: the window, the list for GTKWave, and what can be wrong with disks.
#include "waves.h"

#include <gtkwave/fstapi.h>
#include <sys/resource.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "Vwaves_check.h"
#include "sim/testing/temp_dir.h"

namespace exrnic {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kPeriodNs = 4;

struct Bench {
  Bench() {
    window.path = dir / "w.fst";
    window.log = [this](const std::string& line) { log.push_back(line); };
  }
  // Clocks the model until `end_ns`; at `store_ns` a store comes.
  void run(uint64_t end_ns, uint64_t store_ns = ~uint64_t{0}) {
    VerilatedContext context;
    Vwaves_check model(&context);
    Waves waves(model, &window);
    std::mt19937 random(1);
    for (uint64_t now = kPeriodNs; now <= end_ns; now += kPeriodNs) {
      if (now >= store_ns) waves.stored();
      model.clk_i = 0;
      model.step_i = static_cast<uint32_t>(random());
      model.eval();
      waves.record(now, kPeriodNs * 500);
      model.clk_i = 1;
      model.eval();
      waves.record(now, 0);
    }
    last_count = model.count_o;
    model.final();
  }
  void expect_one_line(const std::string& what) {
    REQUIRE(log.size() == 1);
    INFO(log[0]);
    CHECK(log[0].rfind("waves " + window.path + ": ", 0) == 0);
    CHECK(log[0].find(what) != std::string::npos);
    CHECK(log[0].find('\n') == std::string::npos);
  }

  TempDir dir;
  WaveWindow window;
  std::vector<std::string> log;
  unsigned last_count = 0;
};

// First and last time in the file, in ps.
std::pair<uint64_t, uint64_t> times_of(const std::string& path) {
  void* reader = fstReaderOpen(path.c_str());
  REQUIRE(reader != nullptr);
  const std::pair times(fstReaderGetStartTime(reader), fstReaderGetEndTime(reader));
  fstReaderClose(reader);
  return times;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("waves lie within their window, and what comes behind it costs nothing more") {
  Bench bench;
  bench.window.from_ns = 100;
  bench.window.to_ns = 200;
  bench.run(10'000);
  CHECK(times_of(bench.window.path) == std::pair<uint64_t, uint64_t>(98'000, 200'000));
  CHECK(bench.log.empty());
}

TEST_CASE("without a beginning the window begins with the first store, and has its length") {
  Bench bench;
  bench.window.length_ns = 40;
  bench.run(10'000, 1000);
  CHECK(times_of(bench.window.path) == std::pair<uint64_t, uint64_t>(998'000, 1'040'000));
  Bench idle;
  idle.run(10'000);
  CHECK_FALSE(fs::exists(idle.window.path));
  CHECK(idle.log.empty());
}

TEST_CASE("a window that is still open at the end is complete, and has the signals' values") {
  Bench bench;
  bench.window.from_ns = 0;
  bench.run(400);
  void* reader = fstReaderOpen(bench.window.path.c_str());
  REQUIRE(reader != nullptr);
  fstHandle count = 0;
  while (const fstHier* item = fstReaderIterateHier(reader)) {
    if (item->htyp == FST_HT_VAR && std::string(item->u.var.name).rfind("count_o", 0) == 0 &&
        count == 0)
      count = item->u.var.handle;
  }
  REQUIRE(count != 0);
  char text[64] = {};
  fstReaderGetValueFromHandleAtTime(reader, 400'000, count, text);
  CHECK(std::stoul(text, nullptr, 2) == bench.last_count);
  fstReaderClose(reader);
  CHECK(bench.last_count != 0);
}

TEST_CASE("the list for GTKWave has the ports of the core, a group for each tile and block") {
  Bench bench;
  bench.window.from_ns = 0;
  bench.run(40);
  const std::string list = text_of(bench.window.path + ".gtkw");
  INFO(list);
  CHECK(list.find("[dumpfile] \"" + fs::absolute(bench.window.path).string() + "\"") !=
        std::string::npos);
  const auto group = [](const std::string& name, const std::string& path) {
    return "@c00200\n-" + name + "\n@28\n" + path + "clk_i\n@22\n" + path + "step_i[31:0]\n" +
           path + "count_o[31:0]\n@1401200\n-" + name + "\n";
  };
  const std::string core = "TOP.waves_check.u_core.";
  CHECK(list.find(group("core", core)) != std::string::npos);
  CHECK(list.find(group("first", core + "u_first.")) != std::string::npos);
  CHECK(list.find(group("second", core + "u_second.")) != std::string::npos);
  CHECK(list.find(group("block", core + "u_second.u_block.")) != std::string::npos);
  CHECK(list.find("u_part") == std::string::npos);
}

TEST_CASE("a folder that cannot be written is one line, and the model runs on") {
  Bench bench;
  bench.window.path = bench.dir / "no/w.fst";
  bench.window.from_ns = 0;
  bench.run(400);
  bench.expect_one_line("No such file or directory; the run goes on without waves");
  CHECK(bench.last_count != 0);
}

TEST_CASE("what is no file is left alone, in one line") {
  Bench bench;
  fs::create_symlink("/dev/full", bench.window.path);
  bench.window.from_ns = 0;
  bench.run(400);
  bench.expect_one_line("something is there that is no file");
  CHECK(fs::is_symlink(bench.window.path));
}

TEST_CASE("a file that takes no more is one line, and the model runs on") {
  Bench bench;
  bench.window.from_ns = 0;
  bench.window.to_ns = 1'000'000;
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  constexpr rlim_t kMost = 16'384;  // the writer's own temporary files stay below that
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{kMost, limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
  bench.run(14'000);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, old_handler);
  bench.expect_one_line("incomplete; is the disk full?");
  CHECK(bench.last_count != 0);
}

}  // namespace
}  // namespace exrnic

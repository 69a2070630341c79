// SPDX-License-Identifier: BSD-2-Clause
// exrnic-guest-test: the library on the real device, from two guests.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench.h"
#include "oob_line.h"
#include "output.h"

namespace {

enum Message : uint32_t { kStart = 1, kEnd };

struct Options {
  uint32_t node = 0;
  uint64_t seed = 0;
  std::string line;
  std::string device;
  std::vector<std::string> only;
  uint32_t deaths = 8;
};

// Those whose sentence has one of the texts; without texts all.
std::vector<exrnic::GuestCheck> ChecksWith(const std::vector<std::string>& texts) {
  auto wanted = [&](const exrnic::GuestCheck& check) {
    return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
      return check.sentence.find(text) != std::string::npos;
    });
  };
  std::vector<exrnic::GuestCheck> checks;
  for (exrnic::GuestCheck& check : exrnic::AllChecks()) {
    if (texts.empty() || wanted(check)) checks.push_back(std::move(check));
  }
  return checks;
}

int RunAll(const std::vector<exrnic::GuestCheck>& checks, const Options& options,
           exrnic::Oob* oob) {
  oob->Connect();
  const uint64_t theirs = oob->Exchange(kStart, options.seed);
  const uint64_t seed = options.node == 0 ? options.seed : theirs;
  printf("# exrnic-guest-test: node %u, seed 0x%016llx\n", options.node,
         static_cast<unsigned long long>(seed));
  exrnic::Bench bench(options.node, [&] { return exrnic::OpenDevice(options.device); }, oob, seed);
  bench.set_deaths(options.deaths);
  const int failed = exrnic::RunChecks(checks, &bench, stdout);
  oob->Exchange<uint32_t>(kEnd, 0);
  printf("# %zu checks, %d failed\n", checks.size(), failed);
  exrnic::FinishOutput(stdout);
  return failed == 0 ? 0 : 1;
}

int Run(const Options& options) {
  try {
    const std::vector<exrnic::GuestCheck> checks = ChecksWith(options.only);
    if (checks.empty()) throw std::runtime_error("no check has a text of --only in its sentence");
    exrnic::RaiseMemlockLimit();
    exrnic::Oob oob(exrnic::OpenOobLine(options.line, options.node), "exrnic-guest-test");
    try {
      return RunAll(checks, options, &oob);
    } catch (const std::exception& error) {
      oob.Abort(error.what());
      throw;
    }
  } catch (const std::exception& error) {
    fprintf(stderr, "exrnic-guest-test: %s\n", error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::random_device random;
  options.seed = uint64_t{random()} << 32 | random();

  CLI::App app(
      "Checks libverbs-lite on real RNICs, from two guests at once: run it in both. The guest of\n"
      "node 0 prints \"ok - sentence\" or \"not ok - sentence\" for each check.");
  app.add_option("--node", options.node, "Node of this guest: 0 or 1")
      ->required()
      ->check(CLI::Range(0, 1));
  app.add_option("--oob", options.line, exrnic::kOobLineHelp)->required();
  app.add_option("--seed", options.seed, "Seed; that of node 0 counts");
  app.add_option("--device", options.device, exrnic::kDeviceHelp);
  app.add_option("--only", options.only,
                 "Only checks whose sentence has one of these texts; in both guests");
  app.add_option("--deaths", options.deaths,
                 "Processes that are killed under traffic (8); in both guests the same");
  CLI11_PARSE(app, argc, argv);
  return Run(options);
}

// SPDX-License-Identifier: BSD-2-Clause
// exrnic-push: PUSHes between two guests, checks every byte, and tells latency and bandwidth.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <random>

#include "oob_line.h"
#include "output.h"
#include "push_program.h"

namespace {

uint64_t DrawSeed() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

int Run(const exrnic::PushOptions& options, const std::string& line, const std::string& device) {
  try {
    exrnic::RaiseMemlockLimit();
    exrnic::Oob oob(exrnic::OpenOobLine(line, options.node), "exrnic-push");
    printf("exrnic-push: node %u, seed 0x%016llx\n", options.node,
           static_cast<unsigned long long>(options.seed));
    exrnic::RunPush(options, [&] { return exrnic::OpenDevice(device); }, &oob, stdout);
    exrnic::FinishOutput(stdout);
  } catch (const std::exception& error) {
    fprintf(stderr, "exrnic-push: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  exrnic::PushOptions options;
  options.sizes = exrnic::DefaultSizes();
  options.seed = DrawSeed();
  std::string line;
  std::string device;

  CLI::App app(
      "PUSHes between two guests, in both directions, compares every byte at the receiver, and\n"
      "prints simulated latency and bandwidth. Run it in both guests with the same sizes.");
  app.add_option("--node", options.node, "Node of this guest; its peer has another")->required();
  app.add_option("--oob", line, exrnic::kOobLineHelp)->required();
  app.add_option("--sizes", options.sizes, "Bytes of a PUSH, separated by commas")
      ->delimiter(',')
      ->check(CLI::Range(1u, exrnic::kPushSizeMax));
  app.add_option("--ops", options.ops, "PUSHes per size and direction (default: fewer for larger)")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--seed", options.seed, "Seed of the patterns; that of node 0 counts");
  app.add_option("--device", device, exrnic::kDeviceHelp);
  CLI11_PARSE(app, argc, argv);
  return Run(options, line, device);
}

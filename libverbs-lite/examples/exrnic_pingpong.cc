// SPDX-License-Identifier: BSD-2-Clause
// exrnic-pingpong: SENDs a message back and forth between two guests, and tells its round trip.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <random>

#include "oob_line.h"
#include "output.h"
#include "pingpong_program.h"

namespace {

int Run(const exrnic::PingpongOptions& options, const std::string& line,
        const std::string& device) {
  try {
    exrnic::RaiseMemlockLimit();
    exrnic::Oob oob(exrnic::OpenOobLine(line, options.node), "exrnic-pingpong");
    printf("exrnic-pingpong: node %u, seed 0x%016llx\n", options.node,
           static_cast<unsigned long long>(options.seed));
    exrnic::RunPingpong(options, [&] { return exrnic::OpenDevice(device); }, &oob, stdout);
    exrnic::FinishOutput(stdout);
  } catch (const std::exception& error) {
    fprintf(stderr, "exrnic-pingpong: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::random_device random;
  exrnic::PingpongOptions options;
  options.sizes = exrnic::DefaultPingpongSizes();
  options.seed = uint64_t{random()} << 32 | random();
  std::string line;
  std::string device;

  CLI::App app(
      "SENDs messages from node 0 to node 1 and back, compares every byte, and prints the "
      "simulated\n"
      "round trip for each size. Run it in both guests with the same sizes.");
  app.add_option("--node", options.node, "Node of this guest; its peer has another")->required();
  app.add_option("--oob", line, exrnic::kOobLineHelp)->required();
  app.add_option("--sizes", options.sizes, "Bytes of a message, separated by commas")
      ->delimiter(',')
      ->check(CLI::Range(1u, exrnic::kPingpongSizeMax));
  app.add_option("--rounds", options.rounds, "Round trips per size")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_flag("--events", options.events,
               "This end sleeps until the interrupt of its completion queue, instead of polling");
  app.add_option("--seed", options.seed, "Seed of the patterns, at node 0");
  app.add_option("--device", device, exrnic::kDeviceHelp);
  CLI11_PARSE(app, argc, argv);
  return Run(options, line, device);
}

// SPDX-License-Identifier: BSD-2-Clause
// exrnic-collective: barriers, reductions and messages among any number of guests, by firmware.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "collective_program.h"
#include "output.h"

namespace {

int Run(const exrnic::CollectiveOptions& options, const std::string& device) {
  try {
    exrnic::RaiseMemlockLimit();
    exrnic::RunCollective(options, [&] { return exrnic::OpenDevice(device); }, stdout);
    exrnic::FinishOutput(stdout);
  } catch (const std::exception& error) {
    fprintf(stderr, "exrnic-collective: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  exrnic::CollectiveOptions options;
  std::string device;

  CLI::App app(
      "Runs barriers, and reductions of every kind whose results it compares, and sends a message\n"
      "from each node to each, all by firmware of the RNICs. Run it in the guests of nodes 0 to\n"
      "NODES - 1 with the same options; they find each other. It tells the median time of a\n"
      "barrier: barrier_guest_us by the guest's clock (simulated time with TIME=sync only), or,\n"
      "without guests, barrier_wall_us.");
  app.add_option("--node", options.node, "Node of this guest")->required();
  app.add_option("--nodes", options.nodes, "Nodes that take part")
      ->check(CLI::Range(1u, exrnic::kCollectiveNodesMax))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "Barriers, and reductions of each kind")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--channel", options.channel, "Message channel")->capture_default_str();
  app.add_flag("--events", options.events, "Sleep until an event interrupts, instead of polling");
  app.add_option("--device", device, exrnic::kDeviceHelp);
  CLI11_PARSE(app, argc, argv);
  options.in_guest = !exrnic::IsSimulatorNode(device);
  return Run(options, device);
}

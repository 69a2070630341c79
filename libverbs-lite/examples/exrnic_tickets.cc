// SPDX-License-Identifier: BSD-2-Clause
// exrnic-tickets: datagrams, a multicast group, a shared receive queue and atomics.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "output.h"
#include "ticket_node.h"
#include "tickets_program.h"

namespace {

int Run(const exrnic::TicketOptions& options, const std::string& device) {
  try {
    exrnic::RaiseMemlockLimit();
    exrnic::RunTickets(options, [&] { return exrnic::OpenDevice(device); }, stdout);
    exrnic::FinishOutput(stdout);
  } catch (const std::exception& error) {
    fprintf(stderr, "exrnic-tickets: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  exrnic::TicketOptions options;
  std::string device;
  CLI::App app(
      "Draws numbers of a counter at node 0 by atomics, each number once. The nodes find node 0 "
      "by\n"
      "multicast. Run it at all nodes with the same options.");
  app.add_option("--nodes", options.nodes, "Nodes that take part, with node 0")
      ->check(CLI::Range(2u, exrnic::kTicketNodesMax))
      ->capture_default_str();
  app.add_option("--tickets", options.tickets, "Numbers that each node but node 0 draws")
      ->check(CLI::Range(1u, 1'000'000u))
      ->capture_default_str();
  app.add_option("--device", device, exrnic::kDeviceHelp);
  CLI11_PARSE(app, argc, argv);
  return Run(options, device);
}

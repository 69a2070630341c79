// SPDX-License-Identifier: BSD-2-Clause
// exrnic-pm: round trips and bandwidth of messages, and of remote write and read, between nodes 0
// and 1 of PM; every byte compared.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <stdexcept>

#include "output.h"
#include "pm_program.h"
#include "verbs_objects.h"

namespace {

int RunPm(const exrnic::PmArguments& arguments) {
  try {
    exrnic::RaiseMemlockLimit();
    if (arguments.addresses.size() != 2) throw std::runtime_error("--addresses: two are needed");
    exrnic::RunPmProgram(arguments);
    exrnic::FinishOutput(stdout);
  } catch (const std::exception& error) {
    fprintf(stderr, "exrnic-pm: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  exrnic::PmArguments arguments;
  CLI::App app(
      "Measures PM between two nodes: round trips and bandwidth of messages, and of remote write "
      "and\n"
      "read. The time is the host's: in guests with TIME=sync it is simulated time, else that "
      "which\n"
      "the simulation took.");
  app.add_option("--node", arguments.node, "0 or 1")->check(CLI::Range(0, 1))->required();
  app.add_option("--addresses", arguments.addresses, "HOST:PORT of both")
      ->delimiter(',')
      ->required();
  app.add_option("--rounds", arguments.rounds, "Round trips of each length")
      ->check(CLI::Range(1u, 1000000u))
      ->capture_default_str();
  app.add_option("--messages", arguments.messages, "Messages of each length in one direction")
      ->check(CLI::Range(1u, 1000000u))
      ->capture_default_str();
  app.add_option("--transfers", arguments.transfers, "Writes, and reads, of each length")
      ->check(CLI::Range(1u, 1000000u))
      ->capture_default_str();
  app.add_option("--only", arguments.parts,
                 "rtt, messages, transfers: what to measure, at both nodes")
      ->delimiter(',')
      ->check(CLI::IsMember({"rtt", "messages", "transfers"}))
      ->capture_default_str();
  app.add_option("--device", arguments.device, exrnic::kDeviceHelp);
  CLI11_PARSE(app, argc, argv);
  return RunPm(arguments);
}

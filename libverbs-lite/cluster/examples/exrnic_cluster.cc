// SPDX-License-Identifier: BSD-2-Clause
// exrnic-cluster: all patterns of exrnic/cluster.hpp by all operations, every byte compared, with
// the rate at which this node received.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "cluster_program.h"
#include "output.h"
#include "verbs_objects.h"

namespace {

int RunCluster(const exrnic::ClusterArguments& arguments) {
  try {
    exrnic::RaiseMemlockLimit();
    exrnic::RunClusterProgram(arguments);
    exrnic::FinishOutput(stdout);
  } catch (const std::exception& error) {
    fprintf(stderr, "exrnic-cluster: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  exrnic::ClusterArguments arguments;
  unsigned seconds = 60;
  CLI::App app(
      "Runs many-to-many, one-to-many and many-to-one by every operation among nodes that know "
      "each\n"
      "other's addresses, and compares every byte. mb_per_s is what this node received, by the "
      "time\n"
      "of its device, from when all nodes were ready.");
  app.add_option("--node", arguments.options.self, "Which of the addresses is this node's")
      ->required();
  app.add_option("--addresses", arguments.options.addresses, "HOST:PORT of each node")
      ->delimiter(',')
      ->required();
  app.add_option("--sizes", arguments.sizes, "Bytes of messages")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--operations", arguments.operations, "How they go")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--patterns", arguments.patterns, "Which, at all nodes alike")
      ->delimiter(',')
      ->check(CLI::IsMember({"many_to_many", "one_to_many", "many_to_one"}))
      ->capture_default_str();
  app.add_option("--rounds", arguments.rounds, "Times that each is done")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  app.add_option("--seconds", seconds, "Limit of each wait")
      ->check(CLI::Range(1u, 3600u))
      ->capture_default_str();
  app.add_option("--device", arguments.options.device, exrnic::kDeviceHelp);
  CLI11_PARSE(app, argc, argv);
  arguments.options.limit = std::chrono::seconds(seconds);
  arguments.options.meet_limit = std::chrono::seconds(seconds);
  return RunCluster(arguments);
}

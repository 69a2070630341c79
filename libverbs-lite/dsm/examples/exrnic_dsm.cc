// SPDX-License-Identifier: BSD-2-Clause
// exrnic-dsm: programs of shared memory, their results compared with those of one process, and
// where their time went.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "dsm_program.h"
#include "output.h"
#include "verbs_objects.h"

namespace {

using exrnic::DsmProgram;
using exrnic::DsmSizes;

const DsmProgram* const kDsmPrograms[] = {&exrnic::kLaplaceProgram, &exrnic::kSorProgram,
                                          &exrnic::kLuProgram,      &exrnic::kMatrixProgram,
                                          &exrnic::kSortProgram,    &exrnic::kTspProgram,
                                          &exrnic::kBarrierProgram};

struct DsmArguments {
  int node = 0;
  std::vector<std::string> addresses;
  std::string device;
  long limit_ms = 0;
};

void RunProgram(const DsmProgram& program, const DsmArguments& arguments, const DsmSizes& sizes) {
  constexpr size_t kSpare = size_t{1} << 20;
  std::vector<const char*> list;
  for (const std::string& address : arguments.addresses) list.push_back(address.c_str());
  if (list.empty()) list.push_back("");
  jia_init_nodes(arguments.node, static_cast<int>(list.size()), list.data(),
                 program.area(sizes) + kSpare, arguments.limit_ms);
  exrnic::DsmTimer timer;
  uint64_t digest = 0;
  try {
    digest = program.run(sizes, &timer);
  } catch (const std::exception& error) {
    jia_error("%s", error.what());
  }
  const jia_stat& stat = timer.statistics();
  const double waited = stat.faults + stat.diffs + stat.barrier + stat.locks;
  printf(
      "@exrnic {\"dsm\":\"%s\",\"nodes\":%d,\"node\":%d,\"size\":%u,\"iterations\":%u,"
      "\"seconds\":%.6f,\"compute\":%.6f,\"faults\":%.6f,\"diffs\":%.6f,\"barrier\":%.6f,"
      "\"locks\":%.6f,\"fetched\":%llu,\"pushed_bytes\":%llu,\"result\":\"%016llx\"}\n",
      program.name, jiahosts, jiapid, sizes.size, sizes.iterations, timer.seconds(),
      timer.seconds() - waited, stat.faults, stat.diffs, stat.barrier, stat.locks,
      static_cast<unsigned long long>(stat.pages_fetched),
      static_cast<unsigned long long>(stat.bytes_pushed), static_cast<unsigned long long>(digest));
  jia_exit();
}

}  // namespace

int main(int argc, char** argv) {
  DsmArguments arguments;
  CLI::App app(
      "Programs of shared memory: each node runs one, and node 0 compares the result with that of\n"
      "one process, and says so if it differs. A line of JSON tells the time, and where it went.\n"
      "The time is the host's: in guests with TIME=sync it is simulated time, else that which the\n"
      "simulation took.");
  app.add_option("--node", arguments.node, "This one, 0 and on")->capture_default_str();
  app.add_option("--addresses", arguments.addresses, "HOST:PORT of all; none: this node is alone")
      ->delimiter(',');
  app.add_option("--limit-ms", arguments.limit_ms, "How long a node waits for others (60000)");
  app.add_option("--device", arguments.device, exrnic::kDeviceHelp);
  DsmSizes sizes = {};
  const DsmProgram* chosen = nullptr;
  for (const DsmProgram* const program : kDsmPrograms) {
    CLI::App* const command = app.add_subcommand(program->name, program->what);
    command
        ->add_option("--size", sizes.size,
                     "Of the problem (" + std::to_string(program->usual.size) + ")")
        ->check(CLI::Range(1u, 1u << 24));
    command
        ->add_option("--iterations", sizes.iterations,
                     "(" + std::to_string(program->usual.iterations) + ")")
        ->check(CLI::Range(1u, 1000000u));
    command->add_flag("!--unchecked", sizes.checked, "Without the comparison");
    command->callback([&chosen, program] { chosen = program; });
  }
  app.require_subcommand(1);
  sizes.checked = true;
  CLI11_PARSE(app, argc, argv);
  if (sizes.size == 0) sizes.size = chosen->usual.size;
  if (sizes.iterations == 0) sizes.iterations = chosen->usual.iterations;
  try {
    exrnic::RaiseMemlockLimit();
    if (!arguments.device.empty()) setenv("VL_DEVICE", arguments.device.c_str(), 1);
    RunProgram(*chosen, arguments, sizes);
    exrnic::FinishOutput(stdout);
  } catch (const std::exception& error) {
    fprintf(stderr, "exrnic-dsm: %s\n", error.what());
    return 1;
  }
  return 0;
}

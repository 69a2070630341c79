// SPDX-License-Identifier: BSD-2-Clause
// exrnic-demo: two processes exchange data; "make demo" runs it.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "demo_program.h"
#include "oob_line.h"
#include "output.h"

namespace {

int Run(uint32_t node, const std::string& line, const std::string& device) {
  try {
    exrnic::RaiseMemlockLimit();
    exrnic::Oob oob(exrnic::OpenOobLine(line, node), "exrnic-demo");
    exrnic::RunDemo({}, [&] { return exrnic::OpenDevice(device); }, &oob, stdout);
    exrnic::FinishOutput(stdout);
  } catch (const std::exception& error) {
    fprintf(stderr, "exrnic-demo: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  uint32_t node = 0;
  std::string line;
  std::string device;
  CLI::App app(
      "PUSHes, PULLs and SENDs between two processes, compares every byte, and prints a table.\n"
      "Run it at both nodes.");
  app.add_option("--node", node, "Node of this process: 0 or 1")
      ->required()
      ->check(CLI::Range(0, 1));
  app.add_option("--oob", line, exrnic::kOobLineHelp)->required();
  app.add_option("--device", device, exrnic::kDeviceHelp);
  CLI11_PARSE(app, argc, argv);
  return Run(node, line, device);
}

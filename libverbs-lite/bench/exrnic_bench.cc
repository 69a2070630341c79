// SPDX-License-Identifier: BSD-2-Clause
// exrnic-bench: the microbenchmarks of the ExpEther RNIC paper on this host, beside its figures.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "local_bench.h"
#include "oob_line.h"
#include "output.h"
#include "pair_bench.h"

namespace {

using exrnic::LocalOptions;
using exrnic::PairOptions;
using exrnic::Report;

struct Options {
  LocalOptions local;
  PairOptions pair;
  std::string line;
  std::string json;
  std::vector<std::string> only;
};

constexpr char kPin[] = "pin";

using Local = void (*)(const LocalOptions&, Report*);
const std::vector<std::pair<std::string, Local>>& LocalParts() {
  static const std::vector<std::pair<std::string, Local>> parts = {
      {"registers", exrnic::MeasureRegisterReads},   {"pbl", exrnic::MeasurePbl},
      {"registration", exrnic::MeasureRegistration}, {"work", exrnic::MeasureWork},
      {"syscalls", exrnic::CountSystemCalls},        {kPin, exrnic::MeasurePin},
  };
  return parts;
}

constexpr char kPair[] = "pair";

bool Wanted(const Options& options, const std::string& part) {
  if (options.only.empty()) return part != kPin;  // part of registration then
  return std::find(options.only.begin(), options.only.end(), part) != options.only.end();
}

void Measure(const Options& options, Report* report) {
  exrnic::RaiseMemlockLimit();
  for (const auto& [name, measure] : LocalParts()) {
    if (!Wanted(options, name)) continue;
    fprintf(stderr, "exrnic-bench: %s\n", name.c_str());
    measure(options.local, report);
  }
  if (options.line.empty() || !Wanted(options, kPair)) return;
  fprintf(stderr, "exrnic-bench: %s\n", kPair);
  exrnic::Oob oob(exrnic::OpenOobLine(options.line, options.pair.node), "exrnic-bench");
  exrnic::MeasurePair(
      options.pair, [&] { return exrnic::OpenDevice(options.local.device); }, &oob, report);
}

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

// None for the standard output, and without --json.
File OpenJson(const std::string& path) {
  File file(nullptr, fclose);
  if (path.empty() || path == "-") return file;
  file.reset(fopen(path.c_str(), "w"));
  if (file == nullptr) exrnic::ThrowErrno("--json " + path);
  return file;
}

void Print(const Report& report, const std::string& path, File json) {
  if (path == "-") return report.PrintJson(stdout);
  report.PrintTable(stdout);
  if (json == nullptr) return;
  report.PrintJson(json.get());
  if (fclose(json.release()) != 0) exrnic::ThrowErrno("--json " + path);
}

int Run(const Options& options) {
  try {
    File json = OpenJson(options.json);  // not behind minutes of measuring
    Report report;
    Measure(options, &report);
    Print(report, options.json, std::move(json));
    exrnic::FinishOutput(stdout);
  } catch (const std::exception& error) {
    fprintf(stderr, "exrnic-bench: %s\n", error.what());
    return 1;
  }
  return 0;
}

void Describe(CLI::App* app, Options* options) {
  std::vector<std::string> parts;
  for (const auto& part : LocalParts()) parts.push_back(part.first);
  parts.push_back(kPair);
  app->add_option("--only", options->only,
                  "Measure only these parts, separated by commas. pin is what the kernel alone "
                  "needs to pin\n"
                  "memory; it takes no RNIC, and registration has it too")
      ->delimiter(',')
      ->check(CLI::IsMember(parts));
  app->add_option("--count", options->local.count, "Register reads, and other single calls")
      ->check(CLI::Range(10u, 1'000'000'000u))
      ->capture_default_str();
  app->add_option("--seconds", options->local.seconds,
                  "At most so long for each measurement that repeats: an emulated host would take\n"
                  "minutes for all reads. The count that was reached stands beside the figure.")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  app->add_option("--max-size", options->local.max_size,
                  "Largest buffer to pin and register, bytes (4K, 64M, 1G)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(uint64_t{4096}, uint64_t{1} << 30))
      ->capture_default_str();
  app->add_option("--device", options->local.device, "RNIC")->capture_default_str();
  app->add_option(
      "--json", options->json,
      "File for the figures, one JSON object a line; - for the standard output, in the\n"
      "place of the table");
  auto* oob = app->add_option("--oob", options->line, exrnic::kOobLineHelp);
  app->add_option("--node", options->pair.node, "With --oob: this end, 0 or 1; 0 has the figures")
      ->check(CLI::Range(0, 1))
      ->needs(oob);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Measures what the ExpEther RNIC paper measured, in its way, and prints it beside the "
      "paper's\n"
      "figures: register reads from user level and by ioctl, the physical buffer list against\n"
      "mlock, registration, posting and polling, and the system calls of the data path.\n"
      "With --oob, at two hosts: round trips and writes between them. All in wall clock.");
  Describe(&app, &options);
  CLI11_PARSE(app, argc, argv);
  options.pair.seconds = options.local.seconds;
  return Run(options);
}

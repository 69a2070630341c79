// SPDX-License-Identifier: BSD-2-Clause
// Measures the core on in-process hosts and writes results.json; `make bench` runs it and prints
// the table.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

#include "rtl-model/peb/rtl_peb.h"
#include "rtl-model/ref/peb/peb.h"
#include "tools/bench/channel_bench.h"
#include "tools/bench/fabric_bench.h"
#include "tools/bench/firmware_bench.h"
#include "tools/bench/goodput_bench.h"
#include "tools/bench/latency_bench.h"
#include "tools/bench/network_bench.h"
#include "tools/bench/ntb_bench.h"
#include "tools/bench/once_bench.h"
#include "tools/bench/paper_bench.h"
#include "tools/bench/peb_bench.h"
#include "tools/bench/simulator_bench.h"
#include "tools/bench/small_bench.h"

using exrnic::bench::Carrier;
using exrnic::bench::Post;

namespace {

void measure_latencies(const std::string& profile, exrnic::bench::Results& results) {
  for (const Post post : {Post::kRegion, Post::kInline, Post::kPio}) {
    exrnic::bench::measure_oneway(profile, post, results);
    exrnic::bench::measure_loopback(profile, post, results);
    exrnic::bench::measure_round_trip(profile, post, results);
  }
  exrnic::bench::measure_events(profile, results);
  for (const Post post : {Post::kRegion, Post::kPio})
    exrnic::bench::measure_stages(profile, post, results);
  exrnic::bench::measure_ntb(profile, results);
}

void measure_rates(const std::string& profile, exrnic::bench::Results& results) {
  const std::vector<uint32_t> sizes = {64, 256, 1024, 4096, 8192, 16384, 65536, 262144, 1048576};
  for (const Carrier carrier : {Carrier::kPush, Carrier::kPull, Carrier::kSend}) {
    exrnic::bench::measure_goodput(profile, carrier, sizes, results);
    exrnic::bench::measure_message_rate(profile, carrier, results);
  }
  exrnic::bench::measure_small(profile, results);
  exrnic::bench::measure_once(profile, results);
  for (const unsigned threads : {1u, 2u})
    exrnic::bench::measure_rtl_speed(profile, threads, results);
  exrnic::bench::measure_ref_speed(profile, results);
}

void measure_firmware(const std::string& profile, exrnic::bench::Results& results) {
  exrnic::bench::measure_firmware_pull(profile, {4096, 65536, 1048576}, results);
  exrnic::bench::measure_atomics(profile, results);
  exrnic::bench::measure_channels(profile, results);
  if (profile == "dc-25g")
    exrnic::bench::measure_barriers(profile, {2, 3, 4, 8, 16, 32, 64}, results);
}

void measure_network(const std::string& profile, exrnic::bench::Results& results) {
  exrnic::bench::measure_loss(profile, results);
  exrnic::bench::measure_reordering(profile, results);
  exrnic::bench::measure_tail_loss(profile, results);
  exrnic::bench::measure_incast(profile, results);
  exrnic::bench::measure_hops(profile, results);
}

void measure_fabrics(const std::string& profile, exrnic::bench::Results& results) {
  for (const char* topology : {"two-levels:64", "two-levels:256"})
    exrnic::bench::measure_fabric(profile, topology, results);
}

// Of those that are a data centre's, and ExpEther's.
void measure_pebs(const std::vector<std::string>& profiles, exrnic::bench::Results& results) {
  for (const std::string& profile : profiles) {
    if (profile != "dc-25g" && profile != "expether-gbe") continue;
    fmt::print(stderr, "bench: PEBs, {}\n", profile);
    exrnic::bench::measure_peb(profile, "rtl", exrnic::peb::make_rtl_peb, results);
    exrnic::bench::measure_peb(profile, "ref", exrnic::peb::make_ref_peb, results);
  }
}

// Whoever shows progress reads these lines: what is done, of how much, what comes now. A step that
// fails is told, and lacks in the results.
void measure_papers(const std::vector<std::string>& profiles, exrnic::bench::Results& results) {
  std::vector<exrnic::bench::Step> steps;
  for (const std::string& profile : profiles)
    for (auto& step : exrnic::bench::paper_steps(profile)) steps.push_back(std::move(step));
  for (size_t i = 0; i < steps.size(); ++i) {
    fmt::print(stderr, "bench: [{}/{}] {}\n", i, steps.size(), steps[i].what);
    try {
      steps[i].measure(results);
    } catch (const std::runtime_error& error) {
      fmt::print(stderr, "bench: no figure: {}: {}\n", steps[i].what, error.what());
    }
  }
}

void write_results(const std::string& path, const exrnic::bench::Results& results) {
  std::ofstream file(path);
  file << results.rows().dump(1) << "\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures the RNIC core, in simulated time, and writes results.json."};
  std::string output;
  std::vector<std::string> profiles = {"dc-25g", "ntb-gen3x8", "rhinet2", "expether-gbe"};
  app.add_option("--output", output, "file to write")->required();
  app.add_option("--profile", profiles, "profiles to measure (default: all)");
  bool latency_only = false;
  app.add_flag("--latency", latency_only, "latencies and stages only");
  bool small_only = false;
  app.add_flag("--small", small_only, "small messages, UC and UD only");
  bool network_only = false;
  app.add_flag("--network", network_only, "loss, incast and the like only");
  bool firmware_only = false;
  app.add_flag("--firmware", firmware_only, "what firmware does only");
  bool pebs_only = false;
  app.add_flag("--pebs", pebs_only, "a disk behind PEBs only, in dc-25g and expether-gbe");
  bool fabric_only = false;
  app.add_flag("--fabric", fabric_only, "a fabric's manager only");
  std::string network_profile = "dc-25g";
  app.add_option("--network-profile", network_profile, "profile to measure those with")
      ->capture_default_str();
  bool papers_only = false;
  app.add_flag("--papers", papers_only,
               "only what the figures of the papers need, of the profiles given: expether-gbe, "
               "rhinet2, ntb-gen3x8");
  CLI11_PARSE(app, argc, argv);

  exrnic::bench::Results results;
  try {
    if (papers_only) {
      measure_papers(profiles, results);
      write_results(output, results);
      return 0;
    }
    if (pebs_only) {
      measure_pebs(profiles, results);
      write_results(output, results);
      return 0;
    }
    if (fabric_only) {
      measure_fabrics(network_profile, results);
      write_results(output, results);
      return 0;
    }
    if (small_only) {
      for (const std::string& profile : profiles) {
        exrnic::bench::measure_small(profile, results);
        exrnic::bench::measure_once(profile, results);
      }
      write_results(output, results);
      return 0;
    }
    if (network_only) profiles.clear();
    for (const std::string& profile : profiles) {
      fmt::print(stderr, "bench: {}\n", profile);
      if (!latency_only) measure_firmware(profile, results);
      if (firmware_only) continue;
      measure_latencies(profile, results);
      if (!latency_only) measure_rates(profile, results);
    }
    if (!latency_only && !firmware_only) {
      measure_pebs(profiles, results);
      fmt::print(stderr, "bench: network, {}\n", network_profile);
      measure_network(network_profile, results);
      measure_fabrics(network_profile, results);
    }
    write_results(output, results);
  } catch (const std::exception& error) {
    fmt::print(stderr, "exrnic-bench-core: {}\n", error.what());
    return 1;
  }
  return 0;
}

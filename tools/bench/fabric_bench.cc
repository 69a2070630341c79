// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/fabric_bench.h"

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "sim/host/in_process_host.h"
#include "sim/topology/topology.h"
#include "tools/fabric/simulated/simulated_port.h"

namespace exrnic::bench {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr uint64_t kLimitNs = 1'000 * kNsPerMs;

// Between two switches.
const TopologyLink& line_inside(const Topology& topology) {
  const auto found = std::find_if(
      topology.links.begin(), topology.links.end(),
      [](const TopologyLink& link) { return link.ends[0].at_switch && link.ends[1].at_switch; });
  if (found == topology.links.end())
    throw std::invalid_argument("topology " + topology.name + " has no line between switches");
  return *found;
}

}  // namespace

void measure_fabric(const std::string& profile, const std::string& topology, Results& results) {
  TestbedOptions options;
  options.profile = load_profile(profile);
  options.topology = load_topology(topology, options.nodes);
  options.fabric = Fabric::Control::kManaged;
  Testbed testbed(options, make_rtl_core);
  InProcessHost host(testbed, 0);
  fabric::SimulatedPort port(host);
  fabric::ManagerOptions manager_options;
  manager_options.key = 1;
  manager_options.seed = 1;
  fabric::Manager manager(port, manager_options);
  const auto routed = [&](uint64_t before) {
    const auto done = [&] {
      return manager.state() == fabric::ManagerState::kActive &&
             manager.times().routed_ns != before;
    };
    if (!fabric::run_managers(testbed, {&manager}, done, kLimitNs) || !manager.problems().empty())
      throw std::runtime_error("the manager of " + topology + " did not come to an end");
    return manager.times().routed_ns;
  };
  const auto add = [&](const char* name, uint64_t ns) {
    results.add(name, static_cast<double>(ns) / kNsPerMs, "ms", Clock::kSimulated,
                {{"profile", profile},
                 {"topology", topology},
                 {"nodes", options.topology->nodes},
                 {"switches", options.topology->switches.size()},
                 {"core", "rtl"}});
  };
  const uint64_t discovered = routed(fabric::kNever);
  add("fm.discover_ms", discovered - manager.times().started_ns);
  // Sweeps have their own time: a trap is to tell.
  testbed.run_for(kNsPerMs);
  const uint64_t cut = testbed.now_ns();
  testbed.fabric().set_up(line_inside(*options.topology), false);
  add("fm.reroute_ms", routed(discovered) - cut);
}

}  // namespace exrnic::bench

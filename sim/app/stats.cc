// SPDX-License-Identifier: BSD-2-Clause
#include "sim/app/stats.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "exrnic_hw.h"
#include "sim/app/counters_json.h"
#include "sim/control/parts.h"

namespace exrnic {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const SwitchCounters& c) {
  return {{"received", c.received},
          {"received_bytes", c.received_bytes},
          {"fcs_errors", c.fcs_errors},
          {"unknown_station", c.unknown_station},
          {"sent", c.sent},
          {"sent_bytes", c.sent_bytes},
          {"marked", c.marked},
          {"dropped", c.dropped},
          {"queue_high_water", c.queue_high_water}};
}

// Over the whole run. A driver's own begin anew when the device is reset, as it is when its client
// leaves.
Json core_counters(const RnicModule& rnic) {
  static constexpr const char* kNames[] = EXRNIC_COUNTER_NAMES;
  Json json = Json::object();
  for (unsigned i = 0; i < EXRNIC_COUNTERS; ++i) json[kNames[i]] = rnic.counted_ever(i);
  return json;
}

Json node_to_json(const Testbed& testbed, unsigned id) {
  const Node& node = testbed.node(id);
  Json json = {{"id", id},
               {"cycles", node.rnic().cycles()},
               {"counters", core_counters(node.rnic())},
               {"pcie", to_json(node.pcie().counters())},
               {"mac", to_json(node.mac().counters())}};
  if (const EthernetLink* line = testbed.line_towards(id)) {
    json["line_towards"] = to_json(line->counters());
  }
  return json;
}

Json switch_to_json(const Fabric& fabric, unsigned index) {
  const Switch& ethernet_switch = fabric.ethernet_switch(index);
  Json json = to_json(ethernet_switch.counters());
  json["ports"] = Json::object();
  for (const unsigned port : ethernet_switch.ports()) {
    const std::string end = fabric.topology().name_of({true, index, port});
    Json& entry = json["ports"][std::to_string(port)];
    entry = to_json(ethernet_switch.port_counters(port));
    entry["line_towards"] = to_json(fabric.line_towards(end)->counters());
  }
  return json;
}

// Of lines that end at another rank.
Json near_halves(const Fabric& fabric) {
  Json halves = Json::object();
  for (const TopologyLink& link : fabric.topology().links)
    for (const LinkEnd& end : link.ends) {
      const std::string name = fabric.topology().name_of(end);
      const EthernetLink* const line = fabric.line_towards(name);
      if (line == nullptr || line->has_receiver()) continue;
      const EthernetLinkCounters counters = line->counters();
      halves[name] = {{"frames", counters.frames}, {"bytes", counters.bytes}};
    }
  return halves;
}

}  // namespace

Json statistics(const Options& options, const Testbed& testbed, const ServiceLoop::Servers& servers,
                const Pebs& pebs, double wall_s) {
  const Fabric& fabric = testbed.fabric();
  Json json = {{"profile", options.profile.name},
               {"core", options.core},
               {"seed", options.seed},
               {"topology", fabric.topology().name},
               {"threads", testbed.threads()},
               {"simulated_ns", testbed.now_ns()},
               {"actions", testbed.actions()},
               {"wall_s", wall_s},
               {"links", Json::array()},
               {"nodes", Json::array()},
               {"switches", Json::object()}};
  for (const TopologyLink& link : fabric.topology().links) {
    json["links"].push_back(
        {fabric.topology().name_of(link.ends[0]), fabric.topology().name_of(link.ends[1])});
  }
  for (unsigned id = 0; id < testbed.nodes(); ++id) {
    if (!testbed.has(id)) continue;
    json["nodes"].push_back(node_to_json(testbed, id));
    if (id >= servers.size()) continue;
    json["nodes"].back()["socket"] = options.sockets[id];
    json["nodes"].back()["vfio_user"] = to_json(servers[id]->counters());
  }
  for (unsigned i = 0; i < fabric.switches(); ++i) {
    if (!fabric.has_switch(i)) continue;
    json["switches"][fabric.topology().switches[i].name] = switch_to_json(fabric, i);
  }
  if (!options.peb_hosts.empty()) json["peb_hosts"] = pebs.hosts(testbed);
  if (!options.peb_devices.empty()) json["peb_devices"] = pebs.devices(testbed);
  const Json halves = near_halves(fabric);
  if (!halves.empty()) json["near_halves"] = halves;
  return json;
}

// Each part has its nodes and switches, and counts what enters lines that leave it; where those end
// that belongs to the line.
Json merged_statistics(std::vector<Json> parts, const std::vector<std::string>& names) {
  Json all = parts.front();
  all["ranks"] = parts.size();
  all["actions"] = uint64_t{0};
  std::map<std::string, Json> halves;
  Json switches = Json::object();
  for (Json& part : parts) {
    all["actions"] = all["actions"].get<uint64_t>() + part["actions"].get<uint64_t>();
    switches.update(part["switches"]);
    if (!part.contains("near_halves")) continue;
    for (const auto& [end, counters] : part["near_halves"].items()) halves[end] = counters;
  }
  all.erase("near_halves");
  all["switches"] = Json::object();
  for (const std::string& name : names) all["switches"][name] = switches[name];
  const auto add_half = [&](const std::string& end, Json& line) {
    const auto half = halves.find(end);
    if (half == halves.end()) return;
    for (const char* key : {"frames", "bytes"}) line[key] = half->second[key];
  };
  all["nodes"] = nodes_of(parts);
  for (Json& node : all["nodes"])
    if (node.contains("line_towards"))
      add_half(fmt::format("node{}", node["id"].get<unsigned>()), node["line_towards"]);
  for (auto& [name, item] : all["switches"].items())
    for (auto& [port, entry] : item["ports"].items())
      add_half(fmt::format("{}.{}", name, port), entry["line_towards"]);
  return all;
}

}  // namespace exrnic

// SPDX-License-Identifier: BSD-2-Clause
#include "sim/app/stats.h"

#include "exrnic_hw.h"

namespace exrnic {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const PcieCounters& c) {
  return {{"writes", c.writes},
          {"write_bytes", c.write_bytes},
          {"writes_refused", c.writes_refused},
          {"reads", c.reads},
          {"read_bytes", c.read_bytes},
          {"reads_refused", c.reads_refused},
          {"interrupts", c.interrupts},
          {"stores", c.stores},
          {"loads", c.loads},
          {"resets", c.resets}};
}

Json to_json(const MacCounters& c) {
  return {{"transmitted", c.transmitted},
          {"received", c.received},
          {"fcs_errors", c.fcs_errors},
          {"dropped_link_down", c.dropped_link_down}};
}

Json to_json(const EthernetLinkCounters& c) {
  return {{"frames", c.frames},
          {"bytes", c.bytes},
          {"dropped", c.dropped},
          {"duplicated", c.duplicated},
          {"reordered", c.reordered},
          {"corrupted", c.corrupted},
          {"delayed", c.delayed},
          {"lost_down", c.lost_down},
          {"lost_partitioned", c.lost_partitioned}};
}

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

Json to_json(const vfio_user::Counters& c) {
  return {{"clients", c.clients},
          {"clients_refused", c.clients_refused},
          {"connections_malformed", c.connections_malformed},
          {"requests_refused", c.requests_refused},
          {"posted_writes_refused", c.posted_writes_refused},
          {"dma_refused_bus_master", c.dma_refused_bus_master},
          {"dma_refused_address", c.dma_refused_address},
          {"interrupts_dropped", c.interrupts_dropped}};
}

// Over the whole run. A driver's own begin anew when the device is reset, as it is when its client
// leaves.
Json core_counters(const RnicModule& rnic) {
  static constexpr const char* kNames[] = EXRNIC_COUNTER_NAMES;
  Json json = Json::object();
  for (unsigned i = 0; i < EXRNIC_COUNTERS; ++i) json[kNames[i]] = rnic.counted_ever(i);
  return json;
}

Json to_json(const Testbed& testbed, unsigned id) {
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

}  // namespace

Json statistics(const Options& options, const Testbed& testbed, const ServiceLoop::Servers& servers,
                double wall_s) {
  const Fabric& fabric = testbed.fabric();
  Json json = {{"profile", options.profile.name},
               {"core", options.core},
               {"seed", options.seed},
               {"topology", fabric.topology().name},
               {"threads", testbed.threads()},
               {"simulated_ns", testbed.now_ns()},
               {"actions", testbed.actions()},
               {"wall_s", wall_s},
               {"nodes", Json::array()},
               {"switches", Json::object()}};
  for (unsigned id = 0; id < testbed.nodes(); ++id) {
    json["nodes"].push_back(to_json(testbed, id));
    if (id >= servers.size()) continue;
    json["nodes"].back()["socket"] = options.sockets[id];
    json["nodes"].back()["vfio_user"] = to_json(servers[id]->counters());
  }
  for (unsigned i = 0; i < fabric.switches(); ++i) {
    json["switches"][fabric.topology().switches[i].name] = switch_to_json(fabric, i);
  }
  return json;
}

}  // namespace exrnic

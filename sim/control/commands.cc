// SPDX-License-Identifier: BSD-2-Clause
#include "sim/control/commands.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "exrnic_hw.h"
#include "sim/control/parts.h"
#include "sim/files/strict_object.h"
#include "sim/topology/link_names.h"
#include "sim/topology/topology.h"

namespace exrnic {
namespace {

using Json = ControlCommands::Json;

constexpr char kWhere[] = "request";
constexpr uint64_t kMostExtraNs = 1'000'000'000;

Json counters_of(const Testbed& testbed, unsigned id) {
  static constexpr const char* kNames[] = EXRNIC_COUNTER_NAMES;
  Json counters = Json::object();
  for (unsigned i = 0; i < EXRNIC_COUNTERS; ++i) {
    counters[kNames[i]] = testbed.node(id).rnic().peek_counter(i);
  }
  return {{"id", id}, {"counters", counters}};
}

// What a line's two halves know of it, each where it is.
constexpr std::array kOfLine = {"towards", "faults",    "extra_latency_ns", "frames",
                                "dropped", "lost_down", "lost_partitioned"};

Json own_line_status(const Fabric& fabric, const LinkEnd& to) {
  const std::string end = fabric.topology().name_of(to);
  Json json = {{"towards", end}};
  const EthernetLink* const line = fabric.line_towards(end);
  if (line == nullptr) return json;
  const EthernetLinkCounters counters = line->counters();
  if (line->has_sender()) {
    json["extra_latency_ns"] = line->extra_latency_ns();
    json["frames"] = counters.frames;
  }
  if (line->has_receiver()) {
    json["up"] = line->up();
    json["faults"] = to_text(line->faults());
    json["dropped"] = counters.dropped;
    json["lost_down"] = counters.lost_down;
    json["lost_partitioned"] = counters.lost_partitioned;
  }
  return json;
}

Json own_link_status(const Fabric& fabric, const TopologyLink& link) {
  Json lines = Json::array();
  for (const LinkEnd& to : link.ends) lines.push_back(own_line_status(fabric, to));
  return lines;
}

// `parts`: of each rank, the lines of link number `link`.
Json link_status(const Topology& topology, size_t link, const std::vector<Json>& parts) {
  Json json = {
      {"link", name_of(topology, topology.links[link])}, {"up", true}, {"lines", Json::array()}};
  for (const unsigned end : {0, 1}) {
    Json known;
    for (const Json& part : parts) known.update(part["links"][link][end]);
    if (end == 0) json["up"] = known["up"];
    Json line = Json::object();
    for (const char* key : kOfLine) line[key] = known[key];
    json["lines"].push_back(line);
  }
  return json;
}

// What a link request asks for.
struct LinkChange {
  std::optional<bool> up;
  std::optional<FaultConfig> faults;
  std::optional<uint64_t> extra_latency_ns;
  uint64_t seed;
};

LinkChange read_change(StrictObject& request, uint64_t usual_seed) {
  LinkChange change{{}, {}, {}, usual_seed};
  if (request.has("up")) change.up = request.boolean("up");
  if (request.has("faults")) change.faults = parse_faults(request.text("faults"));
  if (request.has("extra_latency_ns")) {
    change.extra_latency_ns = request.integer("extra_latency_ns", 0, kMostExtraNs);
  }
  if (request.has("seed")) {
    change.seed = request.integer("seed", 0, UINT64_MAX);
    if (!change.faults) request.refuse("seed", "\"faults\" that it is the seed of");
  }
  return change;
}

std::string describe(const LinkChange& change) {
  std::string text;
  if (change.up) text += *change.up ? ", up" : ", down";
  if (change.extra_latency_ns) text += fmt::format(", {} ns slower", *change.extra_latency_ns);
  if (change.faults) {
    text += fmt::format(", faults {}, seed {}", to_text(*change.faults), change.seed);
  }
  return text.empty() ? text : text.substr(2);
}

}  // namespace

std::string ControlCommands::refusal(const std::string& why) {
  return Json({{"ok", false}, {"error", why}}).dump();
}

std::string ControlCommands::answer(const std::string& request) {
  try {
    Json answer = {{"ok", true}};
    answer.update(run(parse_json(request, kWhere)));
    return answer.dump();
  } catch (const DataFileError& error) {
    return refusal(error.what());
  } catch (const std::invalid_argument& error) {
    return refusal(error.what());
  }
}

Json ControlCommands::run(const nlohmann::json& request) {
  if (!request.is_object()) {
    throw DataFileError("request: no JSON object; write {\"command\": \"status\"}");
  }
  StrictObject object(request, kWhere, "");
  const std::string command =
      object.choice("command", {"status", "counters", "statistics", "link", "partition", "assign"});
  if (command == "counters") return counters(request);
  if (command == "link") return change_link(request);
  if (command == "partition") return change_partition(request);
  if (command == "assign") return assign(request);
  object.finish();
  return command == "status" ? status() : context_.statistics();
}

Json ControlCommands::own_status() const {
  const Testbed& testbed = context_.testbed;
  Json json = {{"nodes", Json::array()}, {"links", Json::array()}};
  for (unsigned id = 0; id < testbed.nodes(); ++id)
    if (testbed.has(id)) json["nodes"].push_back({{"id", id}, {"host", context_.has_host(id)}});
  for (const TopologyLink& link : testbed.fabric().topology().links)
    json["links"].push_back(own_link_status(testbed.fabric(), link));
  return json;
}

Json ControlCommands::status() const {
  const std::vector<Json> parts = context_.gather(own_status());
  if (parts.empty()) return Json::object();
  const Fabric& fabric = context_.testbed.fabric();
  Json json = {{"simulated_ns", context_.testbed.now_ns()},
               {"topology", fabric.topology().name},
               {"nodes", nodes_of(parts)},
               {"links", Json::array()},
               {"partition", fabric.partition()},
               {"slots", slots()}};
  for (size_t link = 0; link < fabric.topology().links.size(); ++link)
    json["links"].push_back(link_status(fabric.topology(), link, parts));
  return json;
}

Json ControlCommands::counters(const nlohmann::json& request) const {
  StrictObject object(request, kWhere, "");
  object.text("command");
  const Testbed& testbed = context_.testbed;
  const unsigned nodes = testbed.nodes();
  std::optional<uint64_t> only;
  if (object.has("node")) {
    if (nodes == 0) object.refuse("node", "none: no node has an RNIC");
    only = object.integer("node", 0, nodes - 1);
  }
  object.finish();
  Json own = {{"nodes", Json::array()}};
  for (unsigned id = 0; id < nodes; ++id) {
    if (testbed.has(id) && (!only || *only == id)) own["nodes"].push_back(counters_of(testbed, id));
  }
  return {{"simulated_ns", testbed.now_ns()}, {"nodes", nodes_of(context_.gather(own))}};
}

Json ControlCommands::change_link(const nlohmann::json& request) {
  StrictObject object(request, kWhere, "");
  object.text("command");
  Fabric& fabric = context_.testbed.fabric();
  const std::string ends = object.text("link");
  const TopologyLink& link = link_named(fabric.topology(), ends);
  const LinkChange change = read_change(object, context_.seed);
  std::optional<unsigned> towards;
  if (object.has("towards")) {
    towards = end_of(fabric.topology(), link, object.text("towards"));
    if (change.up) object.refuse("towards", "no direction: a link is cut in both");
  }
  object.finish();
  const std::string what = describe(change);
  if (what.empty()) throw DataFileError("request: no \"up\", \"faults\" or \"extra_latency_ns\"");

  if (change.up) fabric.set_up(link, *change.up);
  for (unsigned i : {0, 1}) {
    if (towards && *towards != i) continue;
    if (change.faults) fabric.set_faults(link.ends[i], *change.faults, change.seed);
    if (change.extra_latency_ns) fabric.set_extra_latency(link.ends[i], *change.extra_latency_ns);
  }
  std::string done = fmt::format("link {}", name_of(fabric.topology(), link));
  if (towards) done += " towards " + fabric.topology().name_of(link.ends[*towards]);
  done += ": " + what;
  context_.log(done);
  return {{"done", done}};
}

Json ControlCommands::change_partition(const nlohmann::json& request) {
  StrictObject object(request, kWhere, "");
  object.text("command");
  const std::vector<std::set<unsigned>> groups = object.sets("groups", kMostNodes - 1);
  object.finish();
  Fabric& fabric = context_.testbed.fabric();
  check_partition(fabric.topology(), groups);
  fabric.partition(groups);
  const std::string done =
      groups.empty() ? "no partition" : "partition " + nlohmann::json(groups).dump();
  context_.log(done);
  return {{"done", done}};
}

Json ControlCommands::slots() const {
  const Testbed& testbed = context_.testbed;
  Json slots = Json::array();
  for (unsigned index = 0; index < testbed.peb_hosts(); ++index) {
    const peb::PebHost& host = testbed.peb_host(index);
    for (unsigned number = 0; number < host.slots(); ++number) {
      const peb::HostSlot& slot = host.slot(number);
      Json json = {{"host", host.index()}, {"slot", number}, {"up", slot.is_up()}};
      const std::optional<peb::Peer> peer = slot.peer();
      if (const auto* box = peer ? testbed.peb_box_with(peer->node) : nullptr)
        json["device"] = box->index();
      if (slot.description())
        json["pci"] = fmt::format("{:04x}:{:04x}", slot.description()->vendor_id,
                                  slot.description()->device_id);
      slots.push_back(json);
    }
  }
  return slots;
}

// In the network hosts come behind all that have RNICs, and boxes behind them.
Json ControlCommands::assign(const nlohmann::json& request) {
  StrictObject object(request, kWhere, "");
  object.text("command");
  Testbed& testbed = context_.testbed;
  const unsigned first_host = testbed.nodes();
  const unsigned first_box = first_host + testbed.peb_hosts();
  if (testbed.peb_hosts() == 0) object.refuse("host", "none: no node is a host with a PEB");
  const auto host = static_cast<unsigned>(object.integer("host", first_host, first_box - 1));
  const unsigned slots = testbed.peb_host(host - first_host).slots();
  const auto slot =
      object.has("slot") ? static_cast<unsigned>(object.integer("slot", 0, slots - 1)) : 0;
  std::optional<unsigned> box;
  if (object.has("device")) {
    if (testbed.peb_boxes() == 0) object.refuse("device", "none: no node has a device");
    const unsigned last = first_box + testbed.peb_boxes() - 1;
    box = static_cast<unsigned>(object.integer("device", first_box, last)) - first_box;
  }
  object.finish();
  if (testbed.fabric().control() == Fabric::Control::kManaged)
    throw DataFileError("request: the fabric's manager assigns devices; take exrnic-fm --assign");
  testbed.assign(host - first_host, slot, box);
  const std::string done =
      box ? fmt::format("slot {}.{}: the device of node {}", host, slot, first_box + *box)
          : fmt::format("slot {}.{}: empty", host, slot);
  context_.log(done);
  return {{"done", done}};
}

}  // namespace exrnic

// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/text.h"

#include <fmt/format.h>

namespace exrnic::fabric {
namespace {

constexpr size_t kMostOfMap = 256;
constexpr size_t kMostOfDevice = 8;

std::string number_text(uint16_t number) {
  return number == kNoNumber ? "-" : fmt::format("{}", number);
}

std::string port_text(const Map& map, const PortId& id) {
  const Device* const device = map.find(id.guid);
  if (device == nullptr) return fmt::format("{}.{}", name_of_guid(id.guid), id.port);
  if (!device->is_switch()) return name_of(*device);
  return fmt::format("port {} of {}", id.port, name_of(*device));
}

void add_duplicates(const Map& map, std::vector<std::string>& problems) {
  for (const auto& [guid, places] : map.duplicates) {
    std::string where;
    for (const PortId& place : places) {
      where += (where.empty() ? "" : ", and behind ") + port_text(map, place);
    }
    problems.push_back(fmt::format(
        "GUID {}: several devices have it, behind {}; {}, give each its own", name_of_guid(guid),
        where, guid == map.own ? "all but the own node are left out" : "all are left out"));
  }
}

void add_ports(const Map& map, const Device& device, std::vector<std::string>& problems) {
  const bool last = device.path.out.size() >= kMostLines;
  size_t silent = 0;
  for (size_t i = 0; i < device.ports.size(); ++i) {
    if (problems.size() >= kMostOfMap) return;
    const MapPort& port = device.ports[i];
    const std::string name = port_text(map, {device.data.guid, static_cast<uint16_t>(i)});
    if (port.silent) {
      if (++silent > kMostOfDevice) continue;
      problems.push_back(fmt::format(
          "{}: its line is up, but nobody answers there; give the device this fabric's key, or "
          "none",
          name));
    } else if (last && device.is_switch() && port.data.up && !port.neighbour) {
      problems.push_back(fmt::format(
          "{}: what is behind it is more than {} lines away from the own node; shorten the way",
          name, kMostLines));
    }
  }
  if (silent <= kMostOfDevice) return;
  problems.push_back(
      fmt::format("{}: at {} more of its ports the line is up, and nobody has answered so far; "
                  "give the devices "
                  "this fabric's key, or none, or look whether the switch tells the truth",
                  name_of(device), silent - kMostOfDevice));
}

std::string node_of_dot(uint64_t guid) { return fmt::format("\"{}\"", name_of_guid(guid)); }

}  // namespace

std::vector<std::string> problems_of(const Map& map) {
  std::vector<std::string> problems;
  if (map.full) {
    problems.push_back(fmt::format(
        "there are more devices and ports than the {} devices that are taken; some of them may "
        "be lies, look at the switches that tell most",
        map.devices.size()));
  }
  add_duplicates(map, problems);
  for (const uint64_t guid : map.deaf) {
    problems.push_back(fmt::format(
        "switch {}: it does not answer what it is told; it is left out, and what is behind "
        "it; look at it, or take it away",
        name_of_guid(guid)));
  }
  for (const uint64_t guid : map.mute) {
    problems.push_back(fmt::format(
        "switch {}: it does not say what is at its ports; it is left out, and what is behind it; "
        "look at it, or take it away",
        name_of_guid(guid)));
  }
  for (const auto& [guid, device] : map.devices) {
    if (device.is_switch() && device.data.ports > device.ports.size()) {
      problems.push_back(fmt::format("{}: it says that it has {} ports; only the first {} are used",
                                     name_of(device), device.data.ports, device.ports.size()));
    }
    add_ports(map, device, problems);
  }
  return problems;
}

std::string text_of(const Map& map, const std::vector<std::string>& problems) {
  std::string text = fmt::format("{:<17} {:<11} {:>6} {:>6} {:>6} {:>8}\n", "GUID", "kind",
                                 "number", "ports", "lines", "manager");
  for (const auto& [guid, device] : map.devices) {
    text += fmt::format("{:<17} {:<11} {:>6} {:>6} {:>6} {:>8}{}{}\n", name_of_guid(guid),
                        name_of_kind(device.data.kind), number_text(device.data.number),
                        device.data.ports, device.path.out.size(), number_text(device.data.manager),
                        device.data.fixed ? "  fixed" : "", guid == map.own ? "  own" : "");
  }
  text += fmt::format("\n{:<22} {:>8} {:<8} {}\n", "line", "Mbit/s", "", "leads to");
  for (const auto& [guid, device] : map.devices) {
    if (!device.is_switch()) continue;
    for (size_t i = 0; i < device.ports.size(); ++i) {
      const MapPort& port = device.ports[i];
      if (!port.data.up) continue;
      text += fmt::format("{:<22} {:>8} {:<8} {}\n", fmt::format("{}.{}", name_of_guid(guid), i),
                          port.data.mbps, port.data.credits ? "credits" : "",
                          port.neighbour ? port_text(map, *port.neighbour) : "?");
    }
  }
  if (!problems.empty()) text += "\n";
  for (const std::string& problem : problems) text += problem + "\n";
  return text;
}

std::string dot_of(const Map& map) {
  std::string text = "graph fabric {\n";
  for (const auto& [guid, device] : map.devices) {
    text += fmt::format("  {} [label=\"{}\", shape={}];\n", node_of_dot(guid), name_of(device),
                        device.is_switch() ? "box" : "ellipse");
  }
  for (const auto& [guid, device] : map.devices) {
    for (size_t i = 0; i < device.ports.size(); ++i) {
      const std::optional<PortId>& to = device.ports[i].neighbour;
      const PortId from{guid, static_cast<uint16_t>(i)};
      if (!to || *to < from) continue;  // once
      text += fmt::format("  {} -- {} [taillabel=\"{}\", headlabel=\"{}\"];\n", node_of_dot(guid),
                          node_of_dot(to->guid), i, to->port);
    }
  }
  return text + "}\n";
}

}  // namespace exrnic::fabric

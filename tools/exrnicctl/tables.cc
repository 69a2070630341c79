// SPDX-License-Identifier: BSD-2-Clause
#include "tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "exrnic_hw.h"

namespace exrnic::ctl {
namespace {

constexpr const char* kNames[] = EXRNIC_COUNTER_NAMES;
constexpr int kNameWidth = 18;
constexpr int kWidth = 14;

bool counted(const Snapshot& snapshot, unsigned counter) {
  return std::any_of(snapshot.nodes.begin(), snapshot.nodes.end(),
                     [&](const NodeCounters& node) { return node.values[counter] != 0; });
}

// A reset RNIC counts from zero: what came since is then all it has.
uint64_t since(const Snapshot& before, size_t place, unsigned counter, uint64_t now) {
  if (place >= before.nodes.size()) return now;
  const uint64_t then = before.nodes[place].values[counter];
  return then <= now ? now - then : now;
}

std::string seconds(uint64_t ns) {
  return fmt::format("{}.{:09} s", ns / 1'000'000'000, ns % 1'000'000'000);
}

}  // namespace

std::string counter_table(const Snapshot& now, bool all, const Snapshot* before) {
  std::string text;
  if (now.simulated_ns) text += fmt::format("simulated time {}\n", seconds(*now.simulated_ns));
  text += fmt::format("{:<{}}", "", kNameWidth);
  for (const NodeCounters& node : now.nodes) {
    text += fmt::format("{:>{}}", fmt::format("node {}", node.node), kWidth);
    if (before != nullptr) text += fmt::format("{:>{}}", "new", kWidth);
  }
  text += '\n';
  bool any = false;
  for (unsigned i = 0; i < EXRNIC_COUNTERS; ++i) {
    if (!all && !counted(now, i)) continue;
    any = true;
    text += fmt::format("{:<{}}", kNames[i], kNameWidth);
    for (size_t place = 0; place < now.nodes.size(); ++place) {
      const uint64_t value = now.nodes[place].values[i];
      text += fmt::format("{:>{}}", value, kWidth);
      if (before == nullptr) continue;
      text += fmt::format("{:>{}}", fmt::format("+{}", since(*before, place, i, value)), kWidth);
    }
    text += '\n';
  }
  return any ? text : text + "all counters are zero\n";
}

std::string fitted(const std::string& text, unsigned rows, unsigned columns) {
  const auto lines = static_cast<unsigned>(std::count(text.begin(), text.end(), '\n'));
  const unsigned shown = lines < rows ? lines : rows - 2;  // the cursor has a line of its own
  std::istringstream all(text);
  std::string kept;
  std::string line;
  for (unsigned i = 0; i < shown && std::getline(all, line); ++i)
    kept += line.substr(0, columns) + '\n';
  if (shown < lines)
    kept += fmt::format("{} more: enlarge the window", lines - shown).substr(0, columns) + '\n';
  return kept;
}

std::string counter_json(const Snapshot& now) {
  nlohmann::ordered_json json = {{"nodes", nlohmann::ordered_json::array()}};
  for (const NodeCounters& node : now.nodes) {
    nlohmann::ordered_json counters = nlohmann::ordered_json::object();
    for (unsigned i = 0; i < EXRNIC_COUNTERS; ++i) counters[kNames[i]] = node.values[i];
    json["nodes"].push_back({{"id", node.node}, {"counters", counters}});
  }
  return json.dump() + '\n';
}

std::string status_text(const nlohmann::ordered_json& status) {
  std::string text = fmt::format("simulated time {}, topology {}\n",
                                 seconds(status.at("simulated_ns").get<uint64_t>()),
                                 status.at("topology").get<std::string>());
  for (const auto& node : status.at("nodes")) {
    text += fmt::format("node {}: {}\n", node.at("id").get<unsigned>(),
                        node.at("host").get<bool>() ? "has a host" : "no host");
  }
  for (const auto& slot : status.at("slots")) {
    text += fmt::format("slot {}.{}: ", slot.at("host").get<unsigned>(),
                        slot.at("slot").get<unsigned>());
    if (!slot.contains("device")) {
      text += "empty\n";
    } else {
      text += fmt::format("device {} of node {}, {}\n", slot.value("pci", "unknown"),
                          slot.at("device").get<unsigned>(),
                          slot.at("up").get<bool>() ? "there" : "not there");
    }
  }
  for (const auto& link : status.at("links")) {
    text += fmt::format("link {}: {}\n", link.at("link").get<std::string>(),
                        link.at("up").get<bool>() ? "up" : "down");
    for (const auto& line : link.at("lines")) {
      text += fmt::format(
          "  towards {}: faults {}, {} ns slower; {} frames, {} dropped, {} lost while down, {} by "
          "partition\n",
          line.at("towards").get<std::string>(), line.at("faults").get<std::string>(),
          line.at("extra_latency_ns").get<uint64_t>(), line.at("frames").get<uint64_t>(),
          line.at("dropped").get<uint64_t>(), line.at("lost_down").get<uint64_t>(),
          line.at("lost_partitioned").get<uint64_t>());
    }
  }
  if (!status.at("partition").empty()) {
    text += fmt::format("partition {}\n", status.at("partition").dump());
  }
  return text;
}

}  // namespace exrnic::ctl

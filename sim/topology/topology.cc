// SPDX-License-Identifier: BSD-2-Clause
#include "sim/topology/topology.h"

#include <fmt/format.h>

#include <set>

#include "sim/files/strict_object.h"

namespace exrnic {
namespace {

constexpr char kNode[] = "node";
constexpr size_t kLongestName = 32;

// What a number in a name may be: digits, no leading zero, at most `most`.
std::optional<unsigned> parse_number(const std::string& text, unsigned most) {
  const bool digits = !text.empty() && text.size() <= 4 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  const auto number = static_cast<unsigned>(std::stoul(text));
  if (number > most) return std::nullopt;
  return number;
}

bool is_name(const std::string& text) {
  constexpr char kAllowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
  return !text.empty() && text.size() <= kLongestName && text[0] >= 'a' && text[0] <= 'z' &&
         text.find_first_not_of(kAllowed) == std::string::npos && text.rfind(kNode, 0) != 0;
}

// One file, as it is read.
class Reader {
 public:
  Reader(const std::string& text, const std::string& where)
      : json_(parse_json(text, where)), where_(where) {}

  Topology read() {
    StrictObject root(json_, where_, "");
    topology_.name = root.text("name");
    topology_.nodes = static_cast<unsigned>(root.integer("nodes", 1, kMostNodes));
    for (StrictObject& item : root.objects("switches")) read_switch(item);
    for (StrictObject& item : root.objects("links")) read_link(item);
    root.finish();
    return topology_;
  }

 private:
  static constexpr uint32_t kMostNs = 1'000'000'000;
  static constexpr uint64_t kMostBytes = uint64_t{1} << 40;

  void read_switch(StrictObject& object) {
    if (topology_.switches.size() == kMostSwitches) {
      throw DataFileError(
          fmt::format("{}: it has more than {} switches; leave some out", where_, kMostSwitches));
    }
    TopologySwitch item;
    item.name = object.text("name");
    if (!is_name(item.name)) {
      object.refuse("name", "1 to 32 of a-z, 0-9 and -, a letter first, not node...");
    }
    const auto index = static_cast<unsigned>(topology_.switches.size());
    if (!switches_.try_emplace(item.name, index).second) {
      object.refuse("name", "a name that no other switch has");
    }
    if (object.has("latency_ns")) {
      item.latency_ns = static_cast<uint32_t>(object.integer("latency_ns", 0, kMostNs));
    }
    if (object.has("queue_bytes")) {
      item.queue_bytes = object.integer("queue_bytes", 16'384, kMostBytes);
    }
    if (object.has("mark_bytes")) item.mark_bytes = object.integer("mark_bytes", 0, kMostBytes);
    if (object.has("spread"))
      item.spread = static_cast<unsigned>(object.integer("spread", 1, kMostNodes));
    object.finish();
    topology_.switches.push_back(item);
  }

  void read_link(StrictObject& object) {
    TopologyLink link;
    const std::vector<std::string> ends = object.texts("ends", 2);
    for (int i : {0, 1}) {
      const std::optional<LinkEnd> end = parse_end(ends[i]);
      if (!end) {
        object.refuse("ends", fmt::format("nodeN with N below {}, or SWITCH.PORT with a switch of "
                                          "this file and a port below {}",
                                          topology_.nodes, kMostPorts));
      }
      link.ends[i] = *end;
      if (!used_.insert(topology_.name_of(*end)).second) {
        object.refuse("ends", topology_.name_of(*end) + " to one link only");
      }
    }
    if (link.ends[0].at_switch && link.ends[1].at_switch &&
        link.ends[0].index == link.ends[1].index) {
      object.refuse("ends", "two different switches");
    }
    if (object.has("megabits_per_second")) {
      link.megabits_per_second = object.multiple("megabits_per_second", 8, 8'000'000, 8);
    }
    if (object.has("latency_ns")) {
      link.latency_ns = static_cast<uint32_t>(object.integer("latency_ns", 0, kMostNs));
    }
    if (object.has("faults_towards")) read_faults(object.object("faults_towards"), ends, link);
    object.finish();
    topology_.links.push_back(link);
  }

  static void read_faults(StrictObject object, const std::vector<std::string>& ends,
                          TopologyLink& link) {
    for (int i : {0, 1}) {
      if (!object.has(ends[i])) continue;
      const std::string text = object.text(ends[i]);
      try {
        link.faults_towards[i] = parse_faults(text);
      } catch (const std::invalid_argument& error) {
        object.refuse(ends[i], std::string("no such text: ") + error.what());
      }
    }
    object.finish();
  }

  std::optional<LinkEnd> parse_end(const std::string& text) const {
    if (text.rfind(kNode, 0) == 0) {
      const auto node = parse_number(text.substr(sizeof kNode - 1), topology_.nodes - 1);
      if (!node) return std::nullopt;
      return LinkEnd{false, *node, 0};
    }
    const size_t dot = text.find('.');
    if (dot == std::string::npos) return std::nullopt;
    const auto port = parse_number(text.substr(dot + 1), kMostPorts - 1);
    const auto found = switches_.find(text.substr(0, dot));
    if (!port || found == switches_.end()) return std::nullopt;
    return LinkEnd{true, found->second, *port};
  }

  nlohmann::json json_;
  std::string where_;
  Topology topology_;
  std::map<std::string, unsigned> switches_;  // by name
  std::set<std::string> used_;
};

}  // namespace

std::string Topology::name_of(const LinkEnd& end) const {
  if (!end.at_switch) return fmt::format("{}{}", kNode, end.index);
  return fmt::format("{}.{}", switches.at(end.index).name, end.port);
}

LinkEnd Topology::end_named(const std::string& text) const {
  for (const TopologyLink& link : links) {
    for (const LinkEnd& end : link.ends) {
      if (name_of(end) == text) return end;
    }
  }
  throw DataFileError(
      fmt::format("topology {}: no link ends at '{}'; write nodeN, or SWITCH.PORT such as {}", name,
                  text, links.empty() ? "switch0.0" : name_of(links.back().ends[1])));
}

Topology parse_topology(const std::string& text, const std::string& where) {
  return Reader(text, where).read();
}

}  // namespace exrnic

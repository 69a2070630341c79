// SPDX-License-Identifier: BSD-2-Clause
#include "sim/topology/link_names.h"

#include <fmt/format.h>

namespace exrnic {
namespace {

bool names(const Topology& topology, const LinkEnd& end, const std::string& name) {
  if (name == topology.name_of(end)) return true;
  return name == (end.at_switch ? topology.switches[end.index].name : std::to_string(end.index));
}

// A name may hold a '-' itself: every way to cut it is tried.
bool names(const Topology& topology, const TopologyLink& link, const std::string& name) {
  for (size_t cut = name.find('-'); cut != std::string::npos; cut = name.find('-', cut + 1)) {
    const std::string left = name.substr(0, cut);
    const std::string right = name.substr(cut + 1);
    for (int i : {0, 1}) {
      if (names(topology, link.ends[i], left) && names(topology, link.ends[1 - i], right)) {
        return true;
      }
    }
  }
  return false;
}

// Enough of them to see how they are named.
std::string some_links(const Topology& topology) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t i = 0; i < topology.links.size() && i < kMost; ++i) {
    text += (i == 0 ? "" : ", ") + name_of(topology, topology.links[i]);
  }
  if (topology.links.size() > kMost) text += ", ...";
  return text.empty() ? "none" : text;
}

}  // namespace

std::string name_of(const Topology& topology, const TopologyLink& link) {
  return topology.name_of(link.ends[0]) + "-" + topology.name_of(link.ends[1]);
}

const TopologyLink& link_named(const Topology& topology, const std::string& name) {
  const TopologyLink* found = nullptr;
  for (const TopologyLink& link : topology.links) {
    if (!names(topology, link, name)) continue;
    if (found != nullptr) {
      throw DataFileError(fmt::format("link '{}' may be {} or {}; name the port", name,
                                      name_of(topology, *found), name_of(topology, link)));
    }
    found = &link;
  }
  if (found != nullptr) return *found;
  throw DataFileError(fmt::format("there is no link '{}'; topology {} has {}", name, topology.name,
                                  some_links(topology)));
}

unsigned end_of(const Topology& topology, const TopologyLink& link, const std::string& name) {
  for (unsigned i : {0, 1}) {
    if (names(topology, link.ends[i], name)) return i;
  }
  throw DataFileError(fmt::format("'{}' is no end of the link {}", name, name_of(topology, link)));
}

void check_partition(const Topology& topology, const std::vector<std::set<unsigned>>& groups) {
  std::set<unsigned> seen;
  for (const auto& group : groups) {
    for (const unsigned node : group) {
      if (node >= topology.nodes) {
        throw DataFileError(fmt::format("there is no node {}; topology {} has nodes 0 to {}", node,
                                        topology.name, topology.nodes - 1));
      }
      if (!seen.insert(node).second) {
        throw DataFileError(fmt::format("node {} stands in two groups", node));
      }
    }
  }
}

}  // namespace exrnic

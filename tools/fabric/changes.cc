// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/changes.h"

#include <algorithm>
#include <set>

#include "tools/fabric/turns.h"

namespace exrnic::fabric {
namespace {

template <typename Block>
const Block& block_of(const std::map<uint32_t, Block>& blocks, uint32_t number,
                      const Block& without) {
  const auto found = blocks.find(number);
  return found == blocks.end() ? without : found->second;
}

template <typename Block>
std::set<uint32_t> blocks_of_both(const std::map<uint32_t, Block>& a,
                                  const std::map<uint32_t, Block>& b,
                                  const std::set<uint32_t>& unsure) {
  std::set<uint32_t> result = unsure;
  for (const auto& [number, block] : a) result.insert(number);
  for (const auto& [number, block] : b) result.insert(number);
  return result;
}

bool leads_somewhere(const Device& device, uint16_t port) {
  return port < device.ports.size() && device.ports[port].neighbour.has_value();
}

// Whether frames are lost, or may go round, until it is written.
bool urgent_routes(const Device& device, const SwitchPlan& plan, const RoutesBlock& is,
                   const RoutesBlock& wanted) {
  for (unsigned i = 0; i < kRoutesOfBlock; ++i) {
    if (is[i] == wanted[i] || is[i] == kNoPort) continue;
    const bool down_to_up = plan.up.count(is[i]) == 0 && plan.up.count(wanted[i]) != 0;
    if (!leads_somewhere(device, is[i]) || wanted[i] == kNoPort || down_to_up) return true;
  }
  return false;
}

// Of the old block what may stay while others become new. What leads nowhere may lead somewhere
// again meanwhile, and was not looked at.
RoutesBlock kept(const Device& device, const RoutesBlock& is, const RoutesBlock& wanted,
                 uint32_t number, bool unsure, const std::set<uint16_t>& turning) {
  RoutesBlock result = is;
  for (unsigned i = 0; i < kRoutesOfBlock; ++i) {
    const auto to = static_cast<uint16_t>(number * kRoutesOfBlock + i);
    const bool stays = !unsure && turning.count(to) == 0 && leads_somewhere(device, is[i]);
    if (is[i] != wanted[i] && !stays) result[i] = kNoPort;
  }
  return result;
}

void add_routes(const Device& device, const SwitchPlan& plan, const KnownSwitch& known,
                bool up_down, const std::set<uint16_t>& turning, std::vector<BlockWrite>& writes) {
  const RoutesBlock none = no_routes();
  for (const uint32_t number : blocks_of_both(plan.routes, known.routes, known.unsure_routes)) {
    const RoutesBlock& is = block_of(known.routes, number, none);
    const RoutesBlock& wanted = block_of(plan.routes, number, none);
    const bool unsure = known.unsure_routes.count(number) != 0;
    if (is == wanted && !unsure) continue;
    BlockWrite write{device.data.guid, number, false, true, plan.rank, wanted, {}};
    if (!up_down) {
      write.urgent = unsure || urgent_routes(device, plan, is, wanted);
      writes.push_back(write);
      continue;
    }
    write.ports = kept(device, is, wanted, number, unsure, turning);
    if (unsure || write.ports != is) writes.push_back(write);
    if (write.ports == wanted) continue;
    write.urgent = false;
    write.ports = wanted;
    writes.push_back(write);
  }
}

void add_floods(const Device& device, const SwitchPlan& plan, const KnownSwitch& known,
                std::vector<BlockWrite>& writes) {
  const Data none{};
  for (const uint32_t number : blocks_of_both(plan.floods, known.floods, known.unsure_floods)) {
    const Data& is = block_of(known.floods, number, none);
    const Data& wanted = block_of(plan.floods, number, none);
    BlockWrite write{device.data.guid, number, true, true, plan.rank, {}, is};
    for (size_t i = 0; i < wanted.size(); ++i) write.bits[i] &= wanted[i];
    if (write.bits != is || known.unsure_floods.count(number) != 0) writes.push_back(write);
    if (write.bits == wanted) continue;
    write.urgent = false;
    write.bits = wanted;
    writes.push_back(write);
  }
}

}  // namespace

std::vector<BlockWrite> writes_for(const Map& map, const RoutesPlan& plan, const Known& known) {
  std::vector<BlockWrite> writes;
  const KnownSwitch nothing;
  std::set<uint16_t> turning;
  if (plan.up_down) turning = numbers_that_turn(map, plan, known);
  for (const auto& [guid, item] : plan.switches) {
    const Device* const device = map.find(guid);
    if (device == nullptr) continue;
    const auto found = known.find(guid);
    const KnownSwitch& is = found == known.end() ? nothing : found->second;
    add_routes(*device, item, is, plan.up_down, turning, writes);
    add_floods(*device, item, is, writes);
  }
  std::stable_sort(writes.begin(), writes.end(), [](const BlockWrite& a, const BlockWrite& b) {
    if (a.urgent != b.urgent) return a.urgent;
    return a.urgent ? a.rank > b.rank : a.rank < b.rank;
  });
  return writes;
}

}  // namespace exrnic::fabric

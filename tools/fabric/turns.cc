// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/turns.h"

#include <vector>

namespace exrnic::fabric {
namespace {

constexpr uint32_t kNoSwitch = ~uint32_t{0};

struct Switch {
  uint32_t rank = 0;
  std::vector<uint32_t> next;  // by port: the switch there, or kNoSwitch
  const std::map<uint32_t, RoutesBlock>* is = nullptr;
  const std::map<uint32_t, RoutesBlock>* planned = nullptr;
  const RoutesBlock* blocks[2] = {nullptr, nullptr};  // of the numbers that it is about
};

class Turns {
 public:
  Turns(const Map& map, const RoutesPlan& plan, const Known& known) {
    std::map<uint64_t, uint32_t> index;
    for (const auto& [guid, item] : plan.switches) {
      if (map.find(guid) == nullptr) continue;
      index[guid] = static_cast<uint32_t>(switches_.size());
      Switch& added = switches_.emplace_back();
      added.rank = item.rank;
      added.planned = &item.routes;
      const auto found = known.find(guid);
      if (found != known.end()) added.is = &found->second.routes;
    }
    for (const auto& [guid, place] : index) {
      for (const MapPort& port : map.devices.at(guid).ports) {
        const auto found = port.neighbour ? index.find(port.neighbour->guid) : index.end();
        switches_[place].next.push_back(found == index.end() ? kNoSwitch : found->second);
      }
    }
  }

  std::set<uint16_t> run() {
    std::set<uint32_t> blocks;
    for (const Switch& item : switches_) {
      for (const auto* routes : {item.is, item.planned}) {
        if (routes == nullptr) continue;
        for (const auto& [number, block] : *routes) blocks.insert(number);
      }
    }
    std::set<uint16_t> result;
    for (const uint32_t block : blocks) {
      look_at(block);
      for (unsigned i = 0; i < kRoutesOfBlock; ++i) {
        if (turns(i)) result.insert(static_cast<uint16_t>(block * kRoutesOfBlock + i));
      }
    }
    return result;
  }

 private:
  void look_at(uint32_t block) {
    for (Switch& item : switches_) {
      const auto block_of = [&](const auto* routes) -> const RoutesBlock* {
        if (routes == nullptr) return nullptr;
        const auto found = routes->find(block);
        return found == routes->end() ? nullptr : &found->second;
      };
      item.blocks[0] = block_of(item.is);
      item.blocks[1] = block_of(item.planned);
    }
  }

  static uint32_t next(const Switch& item, int which, unsigned i) {
    const uint16_t port = item.blocks[which] == nullptr ? kNoPort : (*item.blocks[which])[i];
    return port < item.next.size() ? item.next[port] : kNoSwitch;
  }

  bool turns(unsigned i) {
    entered_.assign(switches_.size(), false);  // from above
    for (const Switch& item : switches_) {
      for (const int which : {0, 1}) {
        const uint32_t to = next(item, which, i);
        if (to != kNoSwitch && switches_[to].rank < item.rank) entered_[to] = true;
      }
    }
    for (size_t at = 0; at < switches_.size(); ++at) {
      if (!entered_[at]) continue;
      for (const int which : {0, 1}) {
        const uint32_t to = next(switches_[at], which, i);
        if (to != kNoSwitch && switches_[to].rank > switches_[at].rank) return true;
      }
    }
    return false;
  }

  std::vector<Switch> switches_;
  std::vector<bool> entered_;
};

}  // namespace

std::set<uint16_t> numbers_that_turn(const Map& map, const RoutesPlan& plan, const Known& known) {
  return Turns(map, plan, known).run();
}

}  // namespace exrnic::fabric

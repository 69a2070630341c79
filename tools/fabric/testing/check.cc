// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/testing/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace exrnic::fabric::testing {
namespace {

constexpr uint16_t kUnnumbered = 0xffff;

bool up(const FakeFabric& fabric, int device, uint16_t port) {
  const auto& ports = fabric.at(device).ports;
  return port < ports.size() && ports[port].up && ports[port].peer >= 0;
}

// Where a frame for `to` ends that is at `device`; -1 if it is dropped or goes round.
int end_of(const FakeFabric& fabric, int device, uint16_t to) {
  for (size_t steps = 0; steps <= fabric.size(); ++steps) {
    const FakeDevice& at = fabric.at(device);
    if (at.number == to) return device;
    if (!at.is_switch() && steps > 0) return -1;
    const uint16_t port = at.is_switch() ? at.route(to) : 0;
    if (!up(fabric, device, port)) return -1;
    device = at.ports[port].peer;
  }
  return -1;
}

std::string trouble_between(const FakeFabric& fabric, const std::vector<int>& from,
                            const std::vector<int>& to) {
  for (const int target : to) {
    const uint16_t number = fabric.at(target).number;
    if (number == kUnnumbered) return fmt::format("device {} has no number", target);
    for (const int device : from) {
      if (device != target && end_of(fabric, device, number) != target) {
        return fmt::format("from device {} to {} ({})", device, target, number);
      }
    }
  }
  return "";
}

class Waits {
 public:
  explicit Waits(const FakeFabric& fabric) : fabric_(fabric) {
    for (size_t i = 0; i < fabric.size(); ++i) {
      first_line_.push_back(lines_);
      lines_ += fabric.at(static_cast<int>(i)).ports.size();
    }
    after_.resize(lines_);
    for (size_t i = 0; i < fabric.size(); ++i) add_device(static_cast<int>(i));
    for (size_t i = 0; i < fabric.size(); ++i) add_floods(static_cast<int>(i));
  }

  // Lines are taken away that wait for none; what is left waits in circles, or for one.
  std::string circle() const {
    std::vector<size_t> waits(lines_);
    std::vector<std::vector<size_t>> before(lines_);
    std::vector<size_t> free;
    for (size_t line = 0; line < lines_; ++line) {
      waits[line] = after_[line].size();
      if (waits[line] == 0) free.push_back(line);
      for (const size_t next : after_[line]) before[next].push_back(line);
    }
    for (size_t i = 0; i < free.size(); ++i) {
      for (const size_t line : before[free[i]]) {
        if (--waits[line] == 0) free.push_back(line);
      }
    }
    if (free.size() == lines_) return "";
    return fmt::format("{} of {} lines wait in a circle or for one", lines_ - free.size(), lines_);
  }

 private:
  size_t line(int device, uint16_t port) const { return first_line_[device] + port; }

  // Ways of frames for this device from all switches, whether nodes are there or not.
  void add_device(int target) {
    const uint16_t to = fabric_.at(target).number;
    if (to == kUnnumbered) return;
    for (size_t i = 0; i < fabric_.size(); ++i) {
      const int device = static_cast<int>(i);
      const FakeDevice& at = fabric_.at(device);
      const uint16_t port = at.is_switch() ? at.route(to) : 0;
      if (at.number == to || !up(fabric_, device, port)) continue;
      const int next = at.ports[port].peer;
      const FakeDevice& there = fabric_.at(next);
      if (there.number == to || !there.is_switch() || !up(fabric_, next, there.route(to))) continue;
      after_[line(device, port)].insert(line(next, there.route(to)));
    }
  }

  void add_floods(int device) {
    const FakeDevice& at = fabric_.at(device);
    if (!at.is_switch()) return;
    for (uint16_t in = 0; in < at.ports.size(); ++in) {
      if (!up(fabric_, device, in)) continue;
      const FakePort& port = at.ports[in];
      const FakeDevice& before = fabric_.at(port.peer);
      if (before.is_switch() && !before.floods[port.peer_port]) continue;
      for (uint16_t out = 0; out < at.ports.size(); ++out) {
        if (out == in || !at.floods[out] || !up(fabric_, device, out)) continue;
        after_[line(port.peer, port.peer_port)].insert(line(device, out));
      }
    }
  }

  const FakeFabric& fabric_;
  std::vector<size_t> first_line_;  // that leaves each device
  size_t lines_ = 0;
  std::vector<std::set<size_t>> after_;
};

}  // namespace

std::string trouble_of_nodes(const FakeFabric& fabric, const std::vector<int>& nodes) {
  return trouble_between(fabric, nodes, nodes);
}

std::string trouble_of_switches(const FakeFabric& fabric, const std::vector<int>& nodes,
                                const std::vector<int>& switches) {
  const std::string there = trouble_between(fabric, nodes, switches);
  return there.empty() ? trouble_between(fabric, switches, nodes) : there;
}

std::string round_trip(const FakeFabric& fabric, const std::vector<int>& switches) {
  std::set<uint16_t> numbers;
  for (size_t i = 0; i < fabric.size(); ++i) {
    for (const auto& route : fabric.at(static_cast<int>(i)).routes) numbers.insert(route.first);
  }
  for (const uint16_t to : numbers) {
    for (const int from : switches) {
      int at = from;
      size_t steps = 0;
      for (; steps <= fabric.size(); ++steps) {
        const FakeDevice& device = fabric.at(at);
        if (!device.is_switch() || device.number == to || !up(fabric, at, device.route(to))) break;
        at = device.ports[device.route(to)].peer;
      }
      if (steps > fabric.size()) return fmt::format("from device {} to {}", from, to);
    }
  }
  return "";
}

std::string trouble_of_floods(const FakeFabric& fabric, const std::vector<int>& nodes) {
  for (const int from : nodes) {
    std::vector<std::pair<int, uint16_t>> next;  // where it comes in
    std::vector<unsigned> times(fabric.size());
    const auto leave = [&](int device, uint16_t port) {
      if (!up(fabric, device, port)) return;
      const FakePort& item = fabric.at(device).ports[port];
      next.emplace_back(item.peer, item.peer_port);
    };
    leave(from, 0);
    for (size_t i = 0; i < next.size(); ++i) {
      const auto [device, in] = next[i];
      if (++times[device] > 1) return fmt::format("from {} twice to {}", from, device);
      if (!fabric.at(device).is_switch()) continue;
      for (uint16_t port = 0; port < fabric.at(device).ports.size(); ++port) {
        if (fabric.at(device).floods[port] && port != in) leave(device, port);
      }
    }
    for (const int to : nodes) {
      if (to != from && times[to] != 1) return fmt::format("from {} not to {}", from, to);
    }
  }
  return "";
}

std::string circle_of_waits(const FakeFabric& fabric) { return Waits(fabric).circle(); }

}  // namespace exrnic::fabric::testing

// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/testing/fake_fabric.h"

#include <algorithm>
#include <stdexcept>

namespace exrnic::fabric::testing {

constexpr uint64_t kSendNs = 200;

int FakeFabric::add(uint64_t guid, uint8_t kind, size_t ports, uint32_t nodes) {
  devices_.emplace_back(guid, kind, ports, nodes);
  return static_cast<int>(devices_.size()) - 1;
}

void FakeFabric::join(int a, uint16_t port_a, int b, uint16_t port_b, bool up) {
  FakePort& at_a = at(a).ports.at(port_a);
  FakePort& at_b = at(b).ports.at(port_b);
  if (at_a.peer >= 0 || at_b.peer >= 0) throw std::logic_error("a port has one line");
  at_a.peer = b;
  at_a.peer_port = port_b;
  at_b.peer = a;
  at_b.peer_port = port_a;
  if (up) set_line(a, port_a, true);
}

void FakeFabric::set_line(int device, uint16_t port, bool up) {
  const FakePort& item = at(device).ports.at(port);
  const int peer = item.peer;
  const uint16_t peer_port = item.peer_port;
  send(device, at(device).set_carrier(port, up));
  if (peer >= 0) send(peer, at(peer).set_carrier(peer_port, up));
}

void FakeFabric::power(int device, bool on) {
  if (!on) at(device).forget();
  for (size_t port = 0; port < at(device).ports.size(); ++port) {
    if (at(device).ports[port].peer >= 0) set_line(device, static_cast<uint16_t>(port), on);
  }
  if (!on) at(device).forget();
}

void FakeFabric::set_credits() {
  for (FakeDevice& device : devices_) {
    for (FakePort& port : device.ports) port.credits = true;
  }
}

void FakeFabric::lose(double share, uint64_t seed) {
  loss_ = share;
  random_.seed(seed);
}

Manager& FakeFabric::manage(int node, const ManagerOptions& options) {
  Host& host = hosts_[node];
  host.port = std::make_unique<HostPort>(*this, node);
  host.manager = std::make_unique<Manager>(*host.port, options);
  host.wake_ns = now_;
  host.stopped = false;
  return *host.manager;
}

void FakeFabric::inject(int node, const Frame& frame) { deliver(node, frame); }

void FakeFabric::send(int device, const std::vector<Sent>& frames) {
  for (const Sent& sent : frames) {
    if (sent.port == FakeDevice::kHost) {
      deliver(device, sent.frame);
      continue;
    }
    const bool lost = loss_ > 0 && std::generate_canonical<double, 32>(random_) < loss_;
    const FakePort& port = at(device).ports.at(sent.port);
    if (lost || port.peer < 0) continue;
    events_.emplace(now_ + kLineNs, Event{port.peer, port.peer_port, sent.frame});
  }
}

void FakeFabric::deliver(int node, const Frame& frame) {
  const auto found = hosts_.find(node);
  if (found == hosts_.end()) return;
  Host& host = found->second;
  if (host.in.size() >= EXRNIC_MANAGEMENT_WAITING) {
    ++overflows_;
    return;
  }
  host.in.push_back(frame);
  most_waiting_ = std::max(most_waiting_, host.in.size());
  host.wake_ns = std::min(host.wake_ns, now_);
}

void FakeFabric::run(uint64_t until_ns, const std::function<bool()>& done) {
  while (!done || !done()) {
    uint64_t next = until_ns;
    if (!events_.empty()) next = std::min(next, events_.begin()->first);
    for (const auto& [node, host] : hosts_) {
      if (!host.stopped) next = std::min(next, std::max(host.wake_ns, now_));
    }
    now_ = std::max(now_, next);
    while (!events_.empty() && events_.begin()->first <= now_) {
      const Event event = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      if (!at(event.device).ports.at(event.port).up) continue;  // cut meanwhile
      send(event.device, at(event.device).take(event.frame, event.port));
    }
    for (auto& [node, host] : hosts_) {
      if (host.stopped || host.wake_ns > now_) continue;
      host.wake_ns = kNever;
      const uint64_t wake = host.manager->poll(now_);
      // A frame may have come while it looked.
      host.wake_ns = std::min(host.in.empty() ? kNever : now_, std::max(wake, now_ + 1));
    }
    if (now_ >= until_ns) return;
  }
}

bool FakeFabric::HostPort::send(const Frame& frame) {
  Host& host = fabric_.hosts_.at(node_);
  if (fabric_.now_ < host.sending_until_ns) return false;
  host.sending_until_ns = fabric_.now_ + kSendNs;
  fabric_.send(node_, fabric_.at(node_).take(frame, FakeDevice::kHost));
  return true;
}

std::optional<Frame> FakeFabric::HostPort::receive() {
  Host& host = fabric_.hosts_.at(node_);
  if (host.in.empty()) return std::nullopt;
  const Frame frame = host.in.front();
  host.in.pop_front();
  return frame;
}

}  // namespace exrnic::fabric::testing

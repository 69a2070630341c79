// SPDX-License-Identifier: BSD-2-Clause
// A fabric of fake devices, in which time passes by events: lines take time, may lose frames, and
// can be cut; each node may have a host with a manager.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "tools/fabric/manager.h"
#include "tools/fabric/testing/fake_device.h"

namespace exrnic::fabric::testing {

class FakeFabric {
 public:
  static constexpr uint64_t kLineNs = 500;

  // The index of a device.
  int add(uint64_t guid, uint8_t kind, size_t ports, uint32_t nodes = 65535);
  int add_node(uint64_t guid, uint8_t kind = EXRNIC_MANAGEMENT_KIND_RNIC, uint32_t nodes = 8192) {
    return add(guid, kind, 1, nodes);
  }
  int add_switch(uint64_t guid, size_t ports) {
    return add(guid, EXRNIC_MANAGEMENT_KIND_SWITCH, ports);
  }
  void join(int a, uint16_t port_a, int b, uint16_t port_b, bool up = true);

  // The line that ends there.
  void set_line(int device, uint16_t port, bool up);
  // All lines of the device; without power it forgets what it was told.
  void power(int device, bool on);
  void set_credits();
  // Of each frame on each line, from now on.
  void lose(double share, uint64_t seed);

  // A manager on the host of that node.
  Manager& manage(int node, const ManagerOptions& options);
  Manager& manager(int node) { return *hosts_.at(node).manager; }
  // It gets no time any more.
  void stop_manager(int node) { hosts_.at(node).stopped = true; }

  // What comes from nowhere, to the host of that node.
  void inject(int node, const Frame& frame);

  // Runs until then, or until it is so.
  void run(uint64_t until_ns, const std::function<bool()>& done = nullptr);
  uint64_t now() const { return now_; }

  FakeDevice& at(int device) { return devices_.at(device); }
  const FakeDevice& at(int device) const { return devices_.at(device); }
  size_t size() const { return devices_.size(); }
  uint64_t overflows() const { return overflows_; }
  size_t most_waiting() const { return most_waiting_; }

 private:
  struct Event {
    int device;
    uint16_t port;
    Frame frame;
  };
  struct Host;
  class HostPort final : public ManagementPort {
   public:
    HostPort(FakeFabric& fabric, int node) : fabric_(fabric), node_(node) {}
    bool send(const Frame& frame) override;
    std::optional<Frame> receive() override;

   private:
    FakeFabric& fabric_;
    const int node_;
  };
  struct Host {
    std::unique_ptr<HostPort> port;
    std::unique_ptr<Manager> manager;
    std::deque<Frame> in;
    uint64_t wake_ns = 0;
    uint64_t sending_until_ns = 0;
    bool stopped = false;
  };

  void send(int device, const std::vector<Sent>& frames);
  void deliver(int node, const Frame& frame);

  std::deque<FakeDevice> devices_;
  std::multimap<uint64_t, Event> events_;
  std::map<int, Host> hosts_;
  uint64_t now_ = 0;
  double loss_ = 0;
  std::mt19937_64 random_;
  uint64_t overflows_ = 0;
  size_t most_waiting_ = 0;
};

}  // namespace exrnic::fabric::testing

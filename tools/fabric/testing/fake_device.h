// SPDX-License-Identifier: BSD-2-Clause
// A device of a fabric with its agent, as FABRIC.md says, for tests.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "tools/fabric/port.h"

namespace exrnic::fabric::testing {

struct FakePort {
  int peer = -1;  // device
  uint16_t peer_port = 0;
  bool up = false;
  bool credits = false;
  uint16_t changes = 0;
};

// What an agent does with a frame: where it goes on. Port kHost: to the host.
struct Sent {
  uint16_t port;
  Frame frame;
};

class FakeDevice {
 public:
  static constexpr uint16_t kHost = EXRNIC_PORT_NONE;

  FakeDevice(uint64_t guid, uint8_t kind, size_t ports, uint32_t nodes)
      : guid(guid), kind(kind), nodes(nodes), ports(ports) {
    forget();
  }

  // `in`: the port by which it came, or kHost.
  std::vector<Sent> take(Frame frame, uint16_t in);

  // Power goes: what it was told is lost.
  void forget();

  // The carrier of a port comes or goes; a trap, if one is due.
  std::vector<Sent> set_carrier(uint16_t port, bool up);

  bool is_switch() const { return kind == EXRNIC_MANAGEMENT_KIND_SWITCH; }
  uint16_t route(uint16_t to) const {
    const auto found = routes.find(to);
    return found == routes.end() ? static_cast<uint16_t>(EXRNIC_PORT_NONE) : found->second;
  }

  uint64_t guid;
  uint8_t kind;
  uint32_t nodes;
  std::vector<FakePort> ports;
  bool fixed = false;  // its number
  bool fixed_routes = false;
  uint16_t told_ports = 0;  // what it says instead of how many it has; 0: the truth
  uint16_t number = EXRNIC_NODE_NONE;
  uint16_t manager = EXRNIC_NODE_NONE;
  uint64_t key = 0;
  uint16_t changes = 0;
  uint8_t beat = 0;
  std::map<uint16_t, uint16_t> routes;  // by number
  std::vector<bool> floods;
  std::map<uint32_t, std::array<uint16_t, 2>> assignments;  // of a PEB, by port: node and group
  uint64_t sets = 0;                                        // that have been served
  uint64_t dropped = 0;
  // Of a hostile device: changes an answer, or says false to keep silent.
  std::function<bool(Frame&)> lie;

 private:
  void forget_assignments();
  std::vector<Sent> serve(Frame frame, uint16_t in);
  uint8_t handle(Frame& frame);
  uint8_t handle_device(uint8_t* data, bool set);
  uint8_t handle_routes(uint8_t* data, uint32_t block, bool set);
  uint8_t handle_floods(uint8_t* data, uint32_t block, bool set);
  uint8_t handle_assignment(uint8_t* data, uint32_t port, bool set);
  void tell_device(uint8_t* data) const;
  void tell_port(uint8_t* at, size_t port) const;
  std::vector<Sent> forward(const Frame& frame, uint16_t port);
  std::vector<Sent> drop() {
    ++dropped;
    return {};
  }
};

}  // namespace exrnic::fabric::testing

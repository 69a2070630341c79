// SPDX-License-Identifier: BSD-2-Clause
// The agent of a device (FABRIC.md): what those of nodes and of switches have in common.
#pragma once

#include <cstdint>

#include "rtl-model/ref/management/frame.h"

namespace exrnic::management {

constexpr unsigned kHost = EXRNIC_PORT_NONE;  // where a frame comes from, or goes

// The attribute device, and the key.
struct Device {
  uint64_t guid = 0;
  exrnic_management_kind kind = EXRNIC_MANAGEMENT_KIND_RNIC;
  bool fixed = false;  // a board has decided its number, and its routes
  uint16_t number = EXRNIC_NODE_NONE;
  uint16_t ports = 1;
  uint32_t nodes = 0;
  uint16_t manager = EXRNIC_NODE_NONE;
  uint64_t key = 0;
  uint16_t changes = 0;
  uint8_t beat = 0;
};

class Agent {
 public:
  explicit Agent(const Device& device) : device_(device) {}
  virtual ~Agent() = default;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // A frame that came by port `from`, with a good FCS, or that the host sends.
  void take(unsigned from, Bytes&& frame);

  const Device& device() const { return device_; }
  bool has_number() const { return device_.number != EXRNIC_NODE_NONE; }
  uint64_t mac() const { return mac_of(device_.number); }
  void carrier_changed() { ++device_.changes; }

 protected:
  // May such a frame go on that way?
  virtual bool goes(bool answer, unsigned from, unsigned to) const = 0;
  // One that may, or an answer that goes back to where its request came from.
  virtual void send(unsigned to, Bytes&& frame) = 0;
  // An answer to another device's routed request.
  virtual void send_routed(unsigned from, Bytes&& frame) = 0;
  // A routed answer or trap for who is behind this device.
  virtual void deliver(Bytes&& frame) = 0;

  // Other attributes than the device. `data`: MANAGEMENT_DATA_BYTES, zero for a get; afterwards
  // what is. With `sets` they are set to them first.
  virtual exrnic_management_status serve(exrnic_management_attribute attribute, uint32_t modifier,
                                         bool sets, uint8_t* data);
  virtual void number_changes() {}  // it has; before the answer leaves
  virtual void count(exrnic_counter which) = 0;

  Device device_;

 private:
  void drop() { count(EXRNIC_COUNTER_MANAGEMENT_DROPPED); }
  void take_routed(unsigned from, Bytes&& frame);
  void forward(unsigned from, unsigned to, bool answer, Bytes&& frame);
  void answer(unsigned from, Bytes&& frame);
  exrnic_management_status serve_device(uint32_t modifier, bool sets, uint8_t* data);
  exrnic_management_status set_device(const uint8_t* data);
};

}  // namespace exrnic::management

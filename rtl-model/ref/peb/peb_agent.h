// SPDX-License-Identifier: BSD-2-Clause
// The management agent of a PEB (FABRIC.md). It has no host: what would go there is dropped.
#pragma once

#include <optional>
#include <utility>

#include "rtl-model/ref/management/node_agent.h"
#include "rtl-model/ref/peb/peb_core.h"

namespace exrnic::peb {

class PebAgent final : public management::NodeAgent {
 public:
  // Whose peers a manager reads and sets.
  class Ports {
   public:
    virtual ~Ports() = default;
    virtual unsigned count() const = 0;
    virtual std::optional<Peer> peer_of(unsigned port) const = 0;
    // False: it cannot have this one, and keeps the one that it has.
    virtual bool set_peer(unsigned port, const std::optional<Peer>& peer) = 0;
  };

  PebAgent(const management::Device& device, bool carrier, Counter counter, Ports& ports)
      : NodeAgent(device, carrier, std::move(counter)), ports_(ports) {}

 protected:
  void deliver(Bytes&& /*frame*/) override { count(EXRNIC_COUNTER_MANAGEMENT_DROPPED); }
  exrnic_management_status serve(exrnic_management_attribute attribute, uint32_t modifier,
                                 bool sets, uint8_t* data) override;

 private:
  Ports& ports_;
};

// `nodes`: see Device.
management::Device device_of(const CoreConfig& config, Side side, uint32_t nodes);

}  // namespace exrnic::peb

// SPDX-License-Identifier: BSD-2-Clause
// The device's side of a port: the bus of a box with one device in it, and no CPU. It decodes what
// the device's host says, and is the HostPort of the device's PCIe link.
//
// Base address registers, the command register and the MSI-X table are the device's; the slot
// watches what is written to them. Interrupts that are masked are pending here, and the device's
// own pending bits do not show them.
//
// When the link goes down the device is reset: nothing of the old host comes to it any more.
//
// Threads: none of its own; one calls at a time, see "Several threads" in sim/README.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "sim/pcie/pcie_device.h"
#include "sim/pcie/pcie_link.h"
#include "sim/peb/discovery.h"
#include "sim/peb/peb_module.h"

namespace exrnic::peb {

class DeviceSlot final : public Slot, public HostPort {
 public:
  DeviceSlot(PebModule& module, unsigned port, Scheduler& scheduler, const PcieConfig& config,
             std::unique_ptr<PcieDevice> device);

  // The device's host, if any.
  void assign(const std::optional<Peer>& peer);
  std::optional<Peer> peer() const { return module_.peb().peer(port_); }
  bool is_up() const { return up_; }

  PcieDevice& device() { return *device_; }
  const PcieLink& pcie() const { return link_; }
  uint64_t unsupported() const { return unsupported_; }  // accesses that no BAR claims

  // Slot
  bool can_write() override { return link_.backlog() < kMostBacklog; }
  void write(Write&& write) override;
  bool can_request() override {
    return link_.backlog() < kMostBacklog && serving_.size() < kMostServing;
  }
  void request(uint64_t name, Request&& request) override;
  void answered(Answer&& answer) override;
  void link(bool up) override;
  void step(uint64_t time_ns) override;
  bool idle() const override { return done_.empty(); }

  // HostPort: from the device
  bool dma_read(uint64_t /*address*/, uint8_t* /*out*/, size_t /*length*/) override {
    return false;
  }
  bool answers_later() const override { return true; }
  void dma_read_later(uint64_t address, size_t length, DmaDone done) override;
  bool dma_write(uint64_t address, const uint8_t* data, size_t length) override;
  bool can_take_write() override { return !up_ || module_.peb().has_room(port_, kPosted); }
  bool can_take_read() override { return !up_ || module_.peb().has_room(port_, kNonPosted); }
  void fire_msix(unsigned vector) override;

 private:
  // Of the host, that the device has not answered wholly.
  struct Serving {
    Bytes data;
    size_t left;  // bytes
  };
  struct Place {
    unsigned bar;
    uint64_t offset;
  };

  static constexpr size_t kMostBacklog = 64;
  static constexpr size_t kMostServing = 64;

  std::optional<Place> place_of(uint64_t address, size_t length) const;
  void store(const Place& place, const Bytes& data);
  void load(uint64_t name, const Place& place, size_t length);
  void take_part(uint64_t name, size_t at, size_t bytes, uint64_t value);
  void config_read(uint64_t name, const Request& request);
  void config_write(uint64_t name, const Request& request);
  void refuse(uint64_t name);
  void end(uint64_t name, exrnic_completion_status status, Bytes&& data);
  uint16_t written(size_t place) const;
  void note_config(size_t place, const Bytes& data);
  void note_table(const Place& place, const Bytes& data);
  bool may_master() const;
  uint16_t msix_control() const;
  bool has_interrupts() const;
  bool is_masked(unsigned vector) const;
  void interrupt(unsigned vector);
  void interrupt_pending();
  void forget();

  PebModule& module_;
  const unsigned port_;
  std::unique_ptr<PcieDevice> device_;
  const PciDescription description_;
  PcieLink link_;
  bool up_ = false;
  uint64_t unsupported_ = 0;

  Bytes config_;  // as it was written
  BarRegisters bars_{};
  Bytes table_;  // of MSI-X, likewise
  std::set<unsigned> pending_;

  std::map<uint64_t, Serving> serving_;  // by name
  struct Done {
    uint64_t name;
    exrnic_completion_status status;
    Bytes data;
  };
  std::vector<Done> done_;
  uint64_t last_id_ = 0;
  std::map<uint64_t, DmaDone> dmas_;  // reads of the device, by identifier
};

}  // namespace exrnic::peb

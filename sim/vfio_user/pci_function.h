// SPDX-License-Identifier: BSD-2-Clause
// The function of the device as a session shows it to its client: what of it is done here, in front
// of the DevicePort. Either configuration space and MSI-X table are kept here, or all is passed on.
// Threads: none of its own; every call comes from the thread that serves the sockets.
#pragma once

#include <optional>

#include "sim/pcie/config_space.h"
#include "sim/pcie/host_port.h"
#include "sim/vfio_user/msix.h"
#include "sim/vfio_user/msix_bar.h"
#include "sim/vfio_user/protocol.h"
#include "sim/vfio_user/report.h"

namespace exrnic::vfio_user {

class PciFunction {
 public:
  virtual ~PciFunction() = default;

  // Of an access within its region: why it is not possible.
  virtual std::optional<Fault> check(const RegionAccess& access) const = 0;
  // True: done here. False: it is for the device.
  virtual bool read(const RegionAccess& access, uint8_t* out) = 0;
  virtual bool write(const RegionWrite& write) = 0;

  // The client has set up these vectors, or wants no more interrupts.
  virtual void interrupts_set_up(const SetIrqsRequest& /*request*/) {}
  virtual void interrupts_released() {}

  // The device may do DMA and interrupt.
  virtual bool may_reach_host() const = 0;

  // Back to the state after a reset; loads in flight are answered by the device.
  virtual void reset() = 0;

  // What is behind the socket now.
  virtual void describe(const PciDescription& /*present*/) {}
};

// Whose configuration space and MSI-X table are here. Everything referred to outlives it.
class KeptFunction : public PciFunction {
 public:
  KeptFunction(const PciDescription& description, PciConfigSpace& config, Msix& msix,
               DevicePort& device);

  std::optional<Fault> check(const RegionAccess& access) const override;
  bool read(const RegionAccess& access, uint8_t* out) override;
  bool write(const RegionWrite& write) override;
  bool may_reach_host() const override { return config_.bus_master_enabled(); }
  void reset() override;

 private:
  PciConfigSpace& config_;
  Msix& msix_;
  DevicePort& device_;
  const uint32_t msix_region_;
  MsixBar msix_bar_;
};

// Which is somewhere else. It checks itself what the host has enabled; what a host's kernel does
// for its interrupts is done here.
class PassedOnFunction : public PciFunction {
 public:
  PassedOnFunction(const PciDescription& description, Msix& msix, DevicePort& device,
                   const Log& log);

  std::optional<Fault> check(const RegionAccess& access) const override;
  bool read(const RegionAccess& access, uint8_t* out) override;
  bool write(const RegionWrite& write) override;
  void interrupts_set_up(const SetIrqsRequest& request) override;
  void interrupts_released() override;
  bool may_reach_host() const override { return !other_; }
  void reset() override;
  void describe(const PciDescription& present) override;

 private:
  void write_entry(unsigned vector);
  void write_flags(uint16_t flags);

  const PciDescription told_;  // to the client
  Msix& msix_;
  DevicePort& device_;
  const Log& log_;
  bool other_ = false;  // than the client was told of is there
};

}  // namespace exrnic::vfio_user

// SPDX-License-Identifier: BSD-2-Clause
// Stands between the vfio-user server of a node and its device, in synchronised time: holds what
// the guest does to its device until the simulation has reached the moment at which it did so, and
// tells the guest's clock what the device does to it.
//
// Threads: none; in synchronised time the simulator has one.
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "rtl-model/systemc/scheduler.h"
#include "sim/pcie/host_port.h"
#include "sim/time_sync/guest_clocks.h"
#include "sim/vfio_user/server.h"

namespace exrnic {

class TimedNode final : public DevicePort, public HostPort {
 public:
  TimedNode(unsigned id, Scheduler& scheduler, DevicePort& device,
            vfio_user::VfioUserServer& server, GuestClocks& clocks)
      : id_(id), scheduler_(scheduler), device_(device), server_(server), clocks_(clocks) {}

  // When the guest has done what is held here, as far as that is known; it does nothing else before
  // begin() and release().
  std::optional<uint64_t> access_ns();
  // Hands it on; simulated time is there.
  void begin();
  // So many stores are on their way to the device that the bus takes no more: the guest's processor
  // stalls, and its store is to be looked at again later in simulated time. Asked when that is at
  // the store's moment.
  bool stalls();
  // Lets the guest go on, once the horizon is drawn.
  void release();

  // Answers what the guest's clock waits for and needs no simulated time. True: something was done.
  bool settle();
  // The guest waits for more than time.
  bool waiting() const { return !held_.empty() || clocks_.interrupts_under_way(id_); }

  // DevicePort, from the server
  void mmio_write(unsigned bar, uint64_t offset, unsigned size, uint64_t value) override;
  void mmio_read(unsigned bar, uint64_t offset, unsigned size, ReadDone done) override;
  // Whatever is before the device: while a store is not read, time stands still, and nothing
  // drains.
  size_t backlog() override { return held_.size(); }
  void reset() override;

  // HostPort, from the device
  bool dma_read(uint64_t address, uint8_t* out, size_t length) override;
  bool dma_write(uint64_t address, const uint8_t* data, size_t length) override;
  void fire_msix(unsigned vector) override;

 private:
  struct Access {
    bool load;
    unsigned bar;
    uint64_t offset;
    unsigned size;
    uint64_t value;
    ReadDone done;
  };

  uint64_t now_ns() const;  // rounded up
  std::optional<uint64_t> load_ns();
  void begin_load(Access access);

  unsigned id_;
  Scheduler& scheduler_;
  DevicePort& device_;
  vfio_user::VfioUserServer& server_;
  GuestClocks& clocks_;
  std::deque<Access> held_;
  bool asked_ = false;  // for the time of the load that is held
  bool was_connected_ = false;
  uint64_t refused_ = 0;  // requests, when the last store was settled
};

}  // namespace exrnic

// SPDX-License-Identifier: BSD-2-Clause
// The two faces between a host and its link, with an observer between them.
#pragma once

#include <utility>

#include "sim/pcie/host_port.h"
#include "sim/trace/observer.h"

namespace exrnic::trace {

// Whose time counts: of what reaches the device, and of what the host notices (writes, interrupts,
// answers of loads), which is the same unless the host is outside of the simulation.
struct HostClocks {
  const Scheduler* node;
  const Scheduler* host;

  // The outside's clock stands where its last action ran. What the host notices outside of its
  // actions (a reset, a write that is read again) it does at the node's time.
  SimTime of_host() const { return host->runs() ? host->now() : node->now(); }
};

class TracedDevice final : public DevicePort {
 public:
  // `clocks` outlives it.
  TracedDevice(Observer& observer, unsigned node, const HostClocks& clocks, DevicePort& device)
      : observer_(observer), node_(node), clocks_(clocks), device_(device) {}

  void mmio_write(unsigned bar, uint64_t offset, unsigned size, uint64_t value) override {
    observer_.store(at(), bar, offset, size, value);
    device_.mmio_write(bar, offset, size, value);
  }
  void mmio_write_block(unsigned bar, uint64_t offset, const uint8_t* data) override {
    observer_.block(at(), bar, offset, data);
    device_.mmio_write_block(bar, offset, data);
  }
  void mmio_read(unsigned bar, uint64_t offset, unsigned size, ReadDone done) override {
    device_.mmio_read(
        bar, offset, size,
        [this, bar, offset, since = clocks_.node->now(), done = std::move(done)](uint64_t value) {
          observer_.loaded({node_, clocks_.of_host()}, bar, offset, value, since);
          done(value);
        });
  }
  size_t backlog() override { return device_.backlog(); }
  void reset() override {
    observer_.reset(at());
    device_.reset();
  }

 private:
  At at() const { return {node_, clocks_.node->now()}; }

  Observer& observer_;
  const unsigned node_;
  const HostClocks& clocks_;
  DevicePort& device_;
};

class TracedHost final : public HostPort {
 public:
  TracedHost(Observer& observer, unsigned node, const HostClocks& clocks, HostPort& host)
      : observer_(observer), node_(node), clocks_(clocks), host_(host) {}

  bool dma_read(uint64_t address, uint8_t* out, size_t length) override {
    observer_.memory({node_, clocks_.node->now()}, false, address, nullptr, length);
    return host_.dma_read(address, out, length);
  }
  uint64_t read_wait_ns(uint64_t address, size_t length) override {
    return host_.read_wait_ns(address, length);
  }
  bool dma_peek(uint64_t address, uint8_t* out, size_t length) override {
    return host_.dma_peek(address, out, length);
  }
  bool dma_write(uint64_t address, const uint8_t* data, size_t length) override {
    observer_.memory({node_, clocks_.of_host()}, true, address, data, length);
    return host_.dma_write(address, data, length);
  }
  void fire_msix(unsigned vector) override {
    observer_.interrupt({node_, clocks_.of_host()}, vector);
    host_.fire_msix(vector);
  }

 private:
  Observer& observer_;
  const unsigned node_;
  const HostClocks& clocks_;
  HostPort& host_;
};

}  // namespace exrnic::trace

// SPDX-License-Identifier: BSD-2-Clause
// A host with an NVMe controller: its memory, and the least of a driver that measures one. There is
// one queue of commands beside the admin queue, and no interrupt: who waits looks at phase bits.
#pragma once

#include <cstdint>
#include <functional>

#include "rtl-model/systemc/core.h"
#include "sim/devices/nvme/nvme.h"
#include "sim/pcie/host_port.h"

namespace exrnic::bench {

class NvmeDriver final : public HostPort {
 public:
  static constexpr uint32_t kMostBytes = 128 << 10;  // of a command
  static constexpr unsigned kDepth = 8;              // commands under way
  static constexpr uint32_t kBlockBytes = 512;

  // Simulates until it holds; throws if it never does.
  using Await = std::function<void(const std::function<bool()>& done)>;

  NvmeDriver(DevicePort& device, Await await);

  // Throws std::runtime_error if the controller does not do what it is told.
  void start();

  // A command for whole blocks, of which the controller hears by ring(). Its data are those of
  // `buffer`, which is 0 to kDepth - 1.
  void put(nvme::IoOpcode opcode, unsigned buffer, uint64_t disk_offset, uint32_t bytes);
  void ring();
  // Waits for the next one to end, and returns its buffer. Throws if it has failed.
  unsigned complete();
  uint8_t* data(unsigned buffer);

  // Of a register.
  uint32_t load(uint64_t place);

  // HostPort
  bool dma_read(uint64_t address, uint8_t* out, size_t length) override;
  bool dma_write(uint64_t address, const uint8_t* data, size_t length) override;
  void fire_msix(unsigned /*vector*/) override {}

 private:
  struct Queue {
    unsigned number;
    uint64_t commands;  // addresses
    uint64_t completions;
    unsigned tail = 0;
    unsigned head = 0;
    uint16_t phase = 1;
  };

  void store(uint64_t place, uint64_t value, unsigned bytes);
  void put(Queue& queue, const nvme::Command& command);
  void ring(const Queue& queue);
  nvme::Completion complete(Queue& queue);
  void administer(nvme::AdminOpcode opcode, uint64_t queue, uint32_t cdw11);
  uint64_t second_pointer(unsigned buffer, uint32_t bytes);

  DevicePort& device_;
  const Await await_;
  Bytes memory_;
  Queue admin_;
  Queue io_;
};

}  // namespace exrnic::bench

// SPDX-License-Identifier: BSD-2-Clause
// The write-combining buffer of a CPU, which QEMU does not have: of the blocks of 64 bytes that a
// guest stores into its user pages, 8 bytes after the other, each leaves as one packet. All else
// goes on as it comes, and before it whatever there is of a block.
//
// A block that is not complete waits for the next access, whatever that is: nothing but the whole
// block means anything to the device.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "sim/pcie/host_port.h"

namespace exrnic {

class StoreCombiner final : public DevicePort {
 public:
  explicit StoreCombiner(DevicePort& device) : device_(device) {}

  void mmio_write(unsigned bar, uint64_t offset, unsigned size, uint64_t value) override;
  void mmio_write_block(unsigned bar, uint64_t offset, const uint8_t* data) override {
    flush();
    device_.mmio_write_block(bar, offset, data);
  }
  void mmio_read(unsigned bar, uint64_t offset, unsigned size, ReadDone done) override {
    flush();
    device_.mmio_read(bar, offset, size, std::move(done));
  }
  size_t backlog() override { return device_.backlog(); }
  void reset() override {
    count_ = 0;
    device_.reset();
  }

 private:
  static constexpr unsigned kWords = kBlockBytes / sizeof(uint64_t);

  void flush();  // what there is of a block, store by store

  DevicePort& device_;
  std::array<uint64_t, kWords> words_{};
  unsigned count_ = 0;
  uint64_t block_ = 0;  // its offset
};

}  // namespace exrnic

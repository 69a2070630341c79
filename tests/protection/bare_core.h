// SPDX-License-Identifier: BSD-2-Clause
// A core by itself: no SystemC, no links. Host memory is an array, frames are handed to it and
// taken from it, and whoever watches sees each DMA access before it counts. Made for millions of
// accesses.
//
// Errors: what must come and does not within a limit throws std::runtime_error.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <random>

#include "exrnic_hw.h"
#include "rtl-model/systemc/core.h"

namespace exrnic::testing {

using MakeCore = std::function<std::unique_ptr<Core>(const CoreConfig&, CoreSink&)>;

struct CoreWatcher {
  virtual ~CoreWatcher() = default;
  virtual void wrote(uint64_t address, size_t length) = 0;  // behind the write
  virtual void reads(uint64_t address, size_t length) = 0;  // ahead of the answer
  virtual void sent(const Frame& frame) = 0;
};

class BareCore final : private CoreSink {
 public:
  static constexpr uint64_t kMemory = 0x7'4000'0000;  // bus address of the memory's first byte
  static constexpr uint16_t kNode = 0;

  // Enabled and ready. DMA outside of the memory is told to the watcher and refused.
  BareCore(const MakeCore& make_core, size_t memory_bytes, CoreWatcher& watcher, uint64_t seed);

  uint8_t* at(uint64_t address) { return memory_.data() + (address - kMemory); }
  bool inside(uint64_t address, size_t length) const;

  uint32_t read_register(uint32_t offset);
  void write_register(uint32_t offset, uint32_t value);
  void store_doorbell(uint32_t page, uint32_t offset, uint32_t number, uint32_t index);
  exrnic_mbox_status command(exrnic_mbox_op op, const void* payload, size_t bytes);
  template <typename Payload>
  void must(exrnic_mbox_op op, const Payload& payload) {
    expect_ok(op, command(op, &payload, sizeof payload));
  }

  void receive(Bytes&& frame, bool fcs_error = false) {
    core_->receive({std::move(frame), fcs_error});
  }
  void step();
  bool at_rest() const { return reads_.empty() && core_->idle(); }
  void run_to_rest();
  bool is_reading(uint64_t address, uint64_t length) const;  // a read of it is not answered yet

 private:
  struct Read {
    ReadRequest request;
    uint64_t due;  // cycle of its completion
  };

  void expect_ok(exrnic_mbox_op op, exrnic_mbox_status status);
  void complete_reads();

  bool can_write() override { return random_() % 8 != 0; }
  void write(PostedWrite&& write) override;
  bool can_read() override { return true; }
  void read(const ReadRequest& request) override;
  void mmio_read_done(uint64_t data) override;
  bool can_transmit() override { return random_() % 8 != 0; }
  void transmit(Frame&& frame) override { watcher_.sent(frame); }
  bool peek(uint64_t address, uint8_t* out, size_t length) override;

  CoreWatcher& watcher_;
  std::minstd_rand random_;
  Bytes memory_;
  std::deque<Read> reads_;
  uint64_t cycle_ = 0;
  bool answered_ = false;
  uint64_t answer_ = 0;
  std::unique_ptr<Core> core_;
};

}  // namespace exrnic::testing

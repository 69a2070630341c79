// SPDX-License-Identifier: BSD-2-Clause
// A core with a fault: what leaves it passes through functions of the test.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "rtl-model/systemc/core.h"

namespace exrnic::testing {

// Each may change what leaves; false: it does not leave at all.
struct Fault {
  std::function<bool(const ReadRequest&)> read = [](const ReadRequest&) { return true; };
  std::function<bool(PostedWrite&)> write = [](PostedWrite&) { return true; };
  std::function<bool(Frame&)> transmit = [](Frame&) { return true; };
  std::function<uint64_t(uint64_t)> answer = [](uint64_t value) { return value; };  // of a load
};

class FaultyCore : public Core, private CoreSink {
 public:
  using MakeCore = std::function<std::unique_ptr<Core>(const CoreConfig&, CoreSink&)>;

  FaultyCore(const CoreConfig& config, CoreSink& sink, const MakeCore& make_core, Fault fault)
      : sink_(sink), fault_(std::move(fault)), core_(make_core(config, *this)) {}

  void reset() override { core_->reset(); }
  void mmio_write(const MmioAccess& access) override { core_->mmio_write(access); }
  void mmio_read(const MmioAccess& access) override { core_->mmio_read(access); }
  void read_completion(ReadCompletion&& completion) override {
    core_->read_completion(std::move(completion));
  }
  void receive(Frame&& frame) override { core_->receive(std::move(frame)); }
  void step(uint64_t time_ns) override { core_->step(time_ns); }
  bool idle() const override { return core_->idle(); }
  uint64_t wakes_at_ns() const override { return core_->wakes_at_ns(); }
  uint32_t spare_cycles() override { return core_->spare_cycles(); }
  void skip(uint64_t cycles) override { core_->skip(cycles); }
  void set_link(bool up) override { core_->set_link(up); }
  uint64_t peek_counter(unsigned index) const override { return core_->peek_counter(index); }

 protected:
  uint64_t busy_cycles(Ready which) override { return sink_.busy_cycles(which); }

 private:
  bool can_write() override { return sink_.can_write(); }
  void write(PostedWrite&& write) override {
    if (fault_.write(write)) sink_.write(std::move(write));
  }
  bool can_read() override { return sink_.can_read(); }
  void read(const ReadRequest& request) override {
    if (fault_.read(request)) sink_.read(request);
  }
  void mmio_read_done(uint64_t data) override { sink_.mmio_read_done(fault_.answer(data)); }
  bool can_transmit() override { return sink_.can_transmit(); }
  void transmit(Frame&& frame) override {
    if (fault_.transmit(frame)) sink_.transmit(std::move(frame));
  }
  bool peek(uint64_t address, uint8_t* out, size_t length) override {
    return sink_.peek(address, out, length);
  }

  CoreSink& sink_;
  Fault fault_;
  std::unique_ptr<Core> core_;
};

}  // namespace exrnic::testing

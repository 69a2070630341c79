// SPDX-License-Identifier: BSD-2-Clause
// A core between two logs: tells an observer every transaction that passes its boundary, with the
// number of the clock cycle. The core inside knows nothing of it.
#pragma once

#include <functional>
#include <memory>

#include "rtl-model/systemc/core.h"

namespace exrnic::bench {

enum class Passage { kStore, kRead, kReadCompletion, kWrite, kMsix, kTransmit, kReceive };

// `cycle`: clock cycles that the core had seen when it took or gave the transaction. An input is
// consumed in that cycle or later. `bytes`: of payload or frame.
using PassageObserver = std::function<void(Passage passage, uint64_t cycle, size_t bytes)>;

class TracedCore final : public Core, private CoreSink {
 public:
  using Maker = std::unique_ptr<Core> (*)(const CoreConfig&, CoreSink&);

  TracedCore(const CoreConfig& config, CoreSink& sink, Maker make, PassageObserver observer)
      : sink_(sink), observer_(std::move(observer)), core_(make(config, *this)) {}

  void reset() override { core_->reset(); }
  void mmio_write(const MmioAccess& access) override {
    note(Passage::kStore, access.size);
    core_->mmio_write(access);
  }
  void mmio_read(const MmioAccess& access) override { core_->mmio_read(access); }
  void read_completion(ReadCompletion&& completion) override {
    note(Passage::kReadCompletion, completion.data.size());
    core_->read_completion(std::move(completion));
  }
  void receive(Frame&& frame) override {
    note(Passage::kReceive, frame.data.size());
    core_->receive(std::move(frame));
  }
  void step(uint64_t time_ns) override {
    ++cycle_;
    core_->step(time_ns);
  }
  bool idle() const override { return core_->idle(); }
  uint64_t wakes_at_ns() const override { return core_->wakes_at_ns(); }
  void set_link(bool up) override { core_->set_link(up); }
  uint64_t peek_counter(unsigned index) const override { return core_->peek_counter(index); }

 private:
  bool can_write() override { return sink_.can_write(); }
  void write(PostedWrite&& write) override {
    note(write.kind == PostedWrite::Kind::kMsix ? Passage::kMsix : Passage::kWrite,
         write.data.size());
    sink_.write(std::move(write));
  }
  bool can_read() override { return sink_.can_read(); }
  void read(const ReadRequest& request) override {
    note(Passage::kRead, request.length);
    sink_.read(request);
  }
  void mmio_read_done(uint64_t data) override { sink_.mmio_read_done(data); }
  bool can_transmit() override { return sink_.can_transmit(); }
  bool peek(uint64_t address, uint8_t* out, size_t length) override {
    return sink_.peek(address, out, length);
  }
  void transmit(Frame&& frame) override {
    note(Passage::kTransmit, frame.data.size());
    sink_.transmit(std::move(frame));
  }

  void note(Passage passage, size_t bytes) { observer_(passage, cycle_, bytes); }

  CoreSink& sink_;
  PassageObserver observer_;
  uint64_t cycle_ = 0;
  std::unique_ptr<Core> core_;
};

}  // namespace exrnic::bench

// SPDX-License-Identifier: BSD-2-Clause
// A core between an observer and its module: passes on everything, and tells of frames and of the
// core's own trace events.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "rtl-model/systemc/core.h"
#include "sim/trace/observer.h"
#include "sim/trace/reception_watch.h"

namespace exrnic::trace {

class TracedCore final : public Core, private CoreSink {
 public:
  TracedCore(Observer& observer, unsigned node, const Scheduler& scheduler,
             const CoreConfig& config, CoreSink& sink, const CoreFactory& make)
      : observer_(observer),
        node_(node),
        scheduler_(scheduler),
        sink_(sink),
        core_(make(config, *this)) {
    if (observer.watches_losses()) watch_.emplace(observer);
  }

  void reset() override {
    core_->reset();
    if (watch_) watch_->reset();
  }
  void mmio_write(const MmioAccess& access) override { core_->mmio_write(access); }
  void mmio_read(const MmioAccess& access) override { core_->mmio_read(access); }
  void read_completion(ReadCompletion&& completion) override {
    core_->read_completion(std::move(completion));
  }
  void receive(Frame&& frame) override {
    observer_.frame(at(), frame, false);
    if (watch_) watch_->arrived(frame);
    core_->receive(std::move(frame));
  }
  void step(uint64_t time_ns) override {
    core_->step(time_ns);
    if (watch_) watch_->look(at(), *core_);
  }
  bool idle() const override { return core_->idle(); }
  uint64_t wakes_at_ns() const override { return core_->wakes_at_ns(); }
  uint32_t spare_cycles() override { return core_->spare_cycles(); }
  void skip(uint64_t cycles) override { core_->skip(cycles); }
  void set_link(bool up) override { core_->set_link(up); }
  void observe_retirement(RetireObserver observer) override {
    core_->observe_retirement(std::move(observer));
  }
  uint64_t peek_counter(unsigned index) const override { return core_->peek_counter(index); }
  bool processor_runs() const override { return core_->processor_runs(); }

 private:
  At at() const { return {node_, scheduler_.now()}; }

  bool can_write() override { return sink_.can_write(); }
  void write(PostedWrite&& write) override { sink_.write(std::move(write)); }
  bool can_read() override { return sink_.can_read(); }
  void read(const ReadRequest& request) override { sink_.read(request); }
  void mmio_read_done(uint64_t data) override { sink_.mmio_read_done(data); }
  bool can_transmit() override { return sink_.can_transmit(); }
  void transmit(Frame&& frame) override {
    observer_.frame(at(), frame, true);
    if (watch_) watch_->transmitted(at(), frame);
    sink_.transmit(std::move(frame));
  }
  uint64_t busy_cycles(Ready which) override { return sink_.busy_cycles(which); }
  bool peek(uint64_t address, uint8_t* out, size_t length) override {
    return sink_.peek(address, out, length);
  }
  bool tracing() override { return true; }
  void trace(const TraceEvent& event) override {
    if (watch_ && event.what == EXRNIC_TRACE_SEGMENT) watch_->taken(at(), *core_, event.args);
    observer_.core_event(at(), event);
  }
  void looped(const Frame& /*frame*/) override {
    if (watch_) watch_->looped();
  }

  Observer& observer_;
  const unsigned node_;
  const Scheduler& scheduler_;
  CoreSink& sink_;
  std::unique_ptr<Core> core_;
  std::optional<ReceptionWatch> watch_;
};

}  // namespace exrnic::trace

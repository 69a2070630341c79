// SPDX-License-Identifier: BSD-2-Clause
// A PEB as a SystemC module: gives it a clock, and joins it to its MAC and to the slots of its bus,
// one for each port.
//
// Threads: none of its own; one calls at a time, see "Several threads" in sim/README.md.
#pragma once

#include <memory>
#include <systemc>
#include <vector>

#include "rtl-model/ref/peb/peb_core.h"
#include "rtl-model/systemc/clock.h"
#include "rtl-model/systemc/rnic_ports.h"

namespace exrnic::peb {

// What stands at a port of a PEB: as PebSink, of this port alone.
class Slot {
 public:
  virtual ~Slot() = default;
  virtual bool can_write() = 0;
  virtual void write(Write&& write) = 0;
  virtual bool can_request() = 0;
  virtual void request(uint64_t name, Request&& request) = 0;
  virtual void answered(Answer&& answer) = 0;
  virtual void link(bool up) = 0;
  virtual void assigned() {}

  // In each cycle, before the PEB's: what it has for the PEB. An idle one needs no cycles.
  virtual void step(uint64_t time_ns) = 0;
  virtual bool idle() const = 0;
  virtual uint64_t wakes_at_ns() const { return Core::kNever; }
};

class PebModule final : public sc_core::sc_module,
                        public FrameReceiver,
                        private Clocked,
                        private PebSink {
 public:
  // Must be constructed in the SystemC context that is to run it.
  PebModule(const sc_core::sc_module_name& name, Scheduler& scheduler, const CoreConfig& config,
            Side side, unsigned ports, const PebFactory& make_peb);

  // Before the first input; all outlive the module's use. slots[i] is at port i.
  void connect(EthernetPort& ethernet, const std::vector<Slot*>& slots);

  // Any call of the PEB from outside of a cycle stands in one of these.
  template <typename Call>
  void between_cycles(Call call) {
    clock_.finish_edge();
    call(*peb_);
    clock_.wake();
  }
  PebCore& peb() { return *peb_; }  // in a cycle
  const PebCore& peb() const { return *peb_; }
  uint64_t cycles() const { return clock_.cycles(); }

  void receive(Frame&& frame) override;
  void set_link(bool up) {
    between_cycles([up](PebCore& peb) { peb.set_link(up); });
  }

 private:
  void step(uint64_t time_ns) override;
  bool idle() const override;
  uint64_t wakes_at_ns() const override;

  bool can_transmit() override { return ethernet_->can_transmit(); }
  void transmit(Frame&& frame) override { ethernet_->transmit(std::move(frame)); }
  bool can_write(unsigned port) override { return slots_[port]->can_write(); }
  void write(unsigned port, Write&& write) override { slots_[port]->write(std::move(write)); }
  bool can_request(unsigned port) override { return slots_[port]->can_request(); }
  void request(unsigned port, uint64_t name, Request&& request) override {
    slots_[port]->request(name, std::move(request));
  }
  void answered(unsigned port, Answer&& answer) override {
    slots_[port]->answered(std::move(answer));
  }
  void link(unsigned port, bool up) override { slots_[port]->link(up); }
  void assigned(unsigned port) override { slots_[port]->assigned(); }

  std::unique_ptr<PebCore> peb_;
  Clock clock_;
  EthernetPort* ethernet_ = nullptr;
  std::vector<Slot*> slots_;
};

}  // namespace exrnic::peb

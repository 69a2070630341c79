// SPDX-License-Identifier: BSD-2-Clause
// The RNIC as a SystemC module: owns a Core, gives it a clock, and joins it to its PCIe and
// Ethernet connectors by plain calls (a signal per port would cost more than the verilated core).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <systemc>

#include "exrnic_hw.h"
#include "rtl-model/systemc/clock.h"
#include "rtl-model/systemc/core.h"
#include "rtl-model/systemc/rnic_ports.h"
#include "rtl-model/systemc/scheduler.h"

namespace exrnic {

class RnicModule final : public sc_core::sc_module,
                         public PcieEndpoint,
                         public FrameReceiver,
                         private Clocked,
                         private CoreSink {
 public:
  // Must be constructed in the SystemC context (see SimContext) that is to run it.
  RnicModule(const sc_core::sc_module_name& name, Scheduler& scheduler, const CoreConfig& config,
             const CoreFactory& make_core);

  // Plugs in both connectors, before the first input. They must outlive the module's use.
  void connect(PciePort& pcie, EthernetPort& ethernet);

  void mmio_write(const MmioAccess& access) override;
  void mmio_read(const MmioAccess& access) override;
  void read_completion(ReadCompletion&& completion) override;
  void receive(Frame&& frame) override;

  // Accesses that come from beside the PCIe link, as from a debugger's port. `answer` gets the
  // value in a later cycle; all ones if the core is reset before.
  using ReadAnswer = std::function<void(uint64_t)>;
  void side_write(const MmioAccess& access) { mmio_write(access); }
  void side_read(const MmioAccess& access, ReadAnswer answer);

  // The core goes back to power-on. Cycles keep counting.
  void reset() override;

  void set_link(bool up);
  void observe_retirement(RetireObserver observer) {
    core_->observe_retirement(std::move(observer));
  }
  uint64_t peek_counter(unsigned index) const { return core_->peek_counter(index); }
  // The same since the beginning: a reset of the core takes nothing from it.
  uint64_t counted_ever(unsigned index) const { return counted_[index] + peek_counter(index); }

  bool processor_runs() const { return core_->processor_runs(); }

  uint64_t cycles() const { return clock_.cycles(); }  // clock edges that the core has seen
  bool clocked() const { return clock_.clocked(); }    // false: idle, no edge is scheduled
  uint64_t period_ps() const { return clock_.period_ps(); }

 private:
  bool can_write() override { return pcie_->can_write(); }
  void write(PostedWrite&& write) override { pcie_->write(std::move(write)); }
  bool can_read() override { return pcie_->can_read(); }
  void read(const ReadRequest& request) override { pcie_->read(request); }
  void mmio_read_done(uint64_t data) override;
  bool peek(uint64_t address, uint8_t* out, size_t length) override {
    return pcie_->peek(address, out, length);
  }
  bool can_transmit() override { return ethernet_->can_transmit(); }
  void transmit(Frame&& frame) override { ethernet_->transmit(std::move(frame)); }
  uint64_t busy_cycles(Ready which) override;

  void step(uint64_t time_ns) override { core_->step(time_ns); }
  bool idle() const override { return core_->idle(); }
  uint64_t wakes_at_ns() const override { return core_->wakes_at_ns(); }
  uint32_t spare_cycles() override { return core_->spare_cycles(); }
  void skip(uint64_t cycles) override { core_->skip(cycles); }
  void wake();

  Clock clock_;
  PciePort* pcie_ = nullptr;
  EthernetPort* ethernet_ = nullptr;
  std::unique_ptr<Core> core_;
  std::array<uint64_t, EXRNIC_COUNTERS> counted_{};  // before the last reset
  std::deque<ReadAnswer> reads_;                     // under way; empty: of the PCIe link
};

}  // namespace exrnic

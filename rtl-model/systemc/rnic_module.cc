// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/systemc/rnic_module.h"

#include <cassert>
#include <utility>

namespace exrnic {

RnicModule::RnicModule(const sc_core::sc_module_name& name, Scheduler& scheduler,
                       const CoreConfig& config, const CoreFactory& make_core)
    : sc_module(name),
      clock_(scheduler, config.clock_khz, *this),
      core_(make_core(config, *this)) {}

void RnicModule::connect(PciePort& pcie, EthernetPort& ethernet) {
  pcie_ = &pcie;
  ethernet_ = &ethernet;
}

void RnicModule::mmio_write(const MmioAccess& access) {
  clock_.finish_edge();
  core_->mmio_write(access);
  wake();
}

void RnicModule::mmio_read(const MmioAccess& access) { side_read(access, nullptr); }

void RnicModule::side_read(const MmioAccess& access, ReadAnswer answer) {
  clock_.finish_edge();
  reads_.push_back(std::move(answer));
  core_->mmio_read(access);
  wake();
}

void RnicModule::mmio_read_done(uint64_t data) {
  assert(!reads_.empty());
  const ReadAnswer answer = std::move(reads_.front());
  reads_.pop_front();
  if (answer) {
    answer(data);
  } else {
    pcie_->mmio_read_done(data);
  }
}

void RnicModule::read_completion(ReadCompletion&& completion) {
  clock_.finish_edge();
  core_->read_completion(std::move(completion));
  wake();
}

void RnicModule::receive(Frame&& frame) {
  clock_.finish_edge();
  core_->receive(std::move(frame));
  wake();
}

void RnicModule::reset() {
  clock_.finish_edge();
  for (unsigned i = 0; i < counted_.size(); ++i) counted_[i] += peek_counter(i);
  core_->reset();
  for (const ReadAnswer& answer : std::exchange(reads_, {})) {
    if (answer) answer(~uint64_t{0});
  }
  clock_.restart();  // a core may need cycles to clear its tables
}

void RnicModule::set_link(bool up) {
  clock_.finish_edge();
  core_->set_link(up);
  wake();
}

// Edges that come before the port has room.
uint64_t RnicModule::busy_cycles(Ready which) {
  const uint64_t until = which == Ready::kTransmit ? ethernet_->busy_until()
                         : which == Ready::kWrite  ? pcie_->writes_busy_until()
                                                   : pcie_->reads_busy_until();
  return clock_.edges_before(until);
}

void RnicModule::wake() {
  assert(pcie_ != nullptr && ethernet_ != nullptr);
  clock_.wake();
}

}  // namespace exrnic

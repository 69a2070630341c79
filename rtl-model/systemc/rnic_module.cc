// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/systemc/rnic_module.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace exrnic {
namespace {

uint64_t period_of(uint32_t clock_khz) {
  assert(clock_khz != 0);
  constexpr uint64_t kPsPerMs = 1'000'000'000;
  return kPsPerMs / clock_khz;
}

}  // namespace

RnicModule::RnicModule(const sc_core::sc_module_name& name, Scheduler& scheduler,
                       const CoreConfig& config, const CoreFactory& make_core)
    : sc_module(name),
      period_ps_(period_of(config.clock_khz)),
      scheduler_(scheduler),
      edge_(scheduler.alarm([this] { clock_edge(); })),
      wake_up_(scheduler.alarm([this] { wake_up(); })),
      core_(make_core(config, *this)) {}

void RnicModule::connect(PciePort& pcie, EthernetPort& ethernet) {
  pcie_ = &pcie;
  ethernet_ = &ethernet;
}

void RnicModule::mmio_write(const MmioAccess& access) {
  finish_edge();
  core_->mmio_write(access);
  wake();
}

void RnicModule::mmio_read(const MmioAccess& access) { side_read(access, nullptr); }

void RnicModule::side_read(const MmioAccess& access, ReadAnswer answer) {
  finish_edge();
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
  finish_edge();
  core_->read_completion(std::move(completion));
  wake();
}

void RnicModule::receive(Frame&& frame) {
  finish_edge();
  core_->receive(std::move(frame));
  wake();
}

void RnicModule::reset() {
  finish_edge();
  for (unsigned i = 0; i < counted_.size(); ++i) counted_[i] += peek_counter(i);
  core_->reset();
  clocked_ = spare_ = false;  // what it could spare before is void
  next_edge_ps_ = 0;
  sleep();
  for (const ReadAnswer& answer : std::exchange(reads_, {})) {
    if (answer) answer(~uint64_t{0});
  }
  wake();  // a core may need cycles to clear its tables
}

void RnicModule::set_link(bool up) {
  finish_edge();
  core_->set_link(up);
  wake();
}

// Edges that come before the port has room.
uint64_t RnicModule::busy_cycles(Ready which) {
  const uint64_t until = which == Ready::kTransmit ? ethernet_->busy_until()
                         : which == Ready::kWrite  ? pcie_->writes_busy_until()
                                                   : pcie_->reads_busy_until();
  const uint64_t now = now_ps();
  return until <= now ? 0 : (until - now - 1) / period_ps_;
}

uint64_t RnicModule::now_ps() const { return scheduler_.now(); }

void RnicModule::finish_edge() {
  if (clocked_ && next_edge_ps_ == now_ps()) clock_edge();
  wake_up();
}

void RnicModule::clock_edge() {
  if (next_edge_ps_ != now_ps()) return;  // an input was there first
  next_edge_ps_ = 0;
  if (std::exchange(spare_, false)) core_->skip((now_ps() - last_edge_ps_) / period_ps_ - 1);
  last_edge_ps_ = now_ps();
  core_->step(now_ps() / kPsPerNs);
  ++cycles_;
  clocked_ = !core_->idle();
  if (!clocked_) return sleep();
  uint64_t spare = core_->spare_cycles();
  const uint64_t wake = spare > 0 ? wake_ps() : 0;
  if (wake != 0) spare = std::min(spare, (wake - now_ps() - 1) / period_ps_);
  spare_ = spare > 0;
  schedule(period_ps_ * (spare + 1));
}

// While cycles are left out, a later edge is scheduled, and is moved here.
void RnicModule::wake() {
  assert(pcie_ != nullptr && ethernet_ != nullptr);
  if ((clocked_ && !spare_) || core_->idle()) return;
  clocked_ = true;
  schedule(period_ps_ - now_ps() % period_ps_);
}

uint64_t RnicModule::wake_ps() const {
  const uint64_t ns = core_->wakes_at_ns();
  return ns == Core::kNever ? 0 : (ns * kPsPerNs + period_ps_ - 1) / period_ps_ * period_ps_;
}

// The alarm stays while the core is clocked: often it wants to sleep again until the same time.
void RnicModule::sleep() {
  const uint64_t wake = wake_ps();
  if (wake == sleeps_until_ps_) return;
  sleeps_until_ps_ = wake;
  wake == 0 ? wake_up_->cancel() : wake_up_->set(wake);
}

// A core that is clocked sees by itself that its time has come.
void RnicModule::wake_up() {
  if (sleeps_until_ps_ == 0 || sleeps_until_ps_ != now_ps()) return;
  sleeps_until_ps_ = 0;
  if (clocked_) return;
  next_edge_ps_ = now_ps();
  clock_edge();
}

void RnicModule::schedule(uint64_t ps) {
  next_edge_ps_ = now_ps() + ps;
  edge_->set(next_edge_ps_);
}

}  // namespace exrnic

// SPDX-License-Identifier: BSD-2-Clause
#include "sim/time_sync/timed_node.h"

#include <algorithm>
#include <utility>

namespace exrnic {
namespace {

constexpr uint64_t kAllOnes = ~uint64_t{0};
constexpr size_t kMostStores = 1024;
constexpr uint64_t kStallNs = 100;

}  // namespace

uint64_t TimedNode::now_ns() const { return (scheduler_.now() + kPsPerNs - 1) / kPsPerNs; }

void TimedNode::mmio_write(unsigned bar, uint64_t offset, unsigned size, uint64_t value) {
  held_.push_back({false, bar, offset, size, value, {}});
}

void TimedNode::mmio_read(unsigned bar, uint64_t offset, unsigned size, ReadDone done) {
  held_.push_back({true, bar, offset, size, 0, std::move(done)});
}

void TimedNode::reset() {
  asked_ = false;
  for (const Access& access : std::exchange(held_, {})) {
    if (access.load) access.done(kAllOnes);
  }
  device_.reset();
}

// The guest's clock stands still while it waits for the load; the time of an answer that it has
// not seen yet is in its bound.
std::optional<uint64_t> TimedNode::load_ns() {
  if (!asked_) {
    clocks_.ask(id_);
    asked_ = true;
  }
  uint64_t ns = 0;
  if (!clocks_.answered(id_, &ns)) return std::nullopt;
  ns = std::max(ns, clocks_.bound(id_));
  clocks_.set(id_, EXRNIC_GUEST_RUNNING, ns);
  return ns;
}

std::optional<uint64_t> TimedNode::access_ns() {
  const exrnic_guest_state state = clocks_.state(id_);
  if (state == EXRNIC_GUEST_STORING) {
    if (held_.size() < clocks_.messages(id_)) return std::nullopt;
    return clocks_.bound(id_);
  }
  if (held_.empty() || !held_.front().load || state != EXRNIC_GUEST_RUNNING) return std::nullopt;
  return load_ns();
}

bool TimedNode::stalls() {
  if (clocks_.state(id_) != EXRNIC_GUEST_STORING || device_.backlog() < kMostStores) return false;
  clocks_.set(id_, EXRNIC_GUEST_STORING, clocks_.bound(id_) + kStallNs);
  return true;
}

void TimedNode::begin() {
  asked_ = false;
  for (const Access& access : std::exchange(held_, {})) {
    if (access.load) {
      begin_load(access);
    } else {
      device_.mmio_write(access.bar, access.offset, access.size, access.value);
    }
  }
}

void TimedNode::begin_load(Access access) {
  device_.mmio_read(access.bar, access.offset, access.size,
                    [this, done = std::move(access.done)](uint64_t value) {
                      clocks_.answer_load(id_, now_ns());
                      done(value);
                    });
}

void TimedNode::release() {
  if (clocks_.state(id_) == EXRNIC_GUEST_STORING) {
    clocks_.set(id_, EXRNIC_GUEST_RUNNING, clocks_.bound(id_));
  } else {
    clocks_.set(id_, EXRNIC_GUEST_LOADING, GuestClocks::kNever);
  }
}

bool TimedNode::settle() {
  bool settled = false;
  if (clocks_.interrupts_under_way(id_) && server_.interrupts_taken()) {
    clocks_.interrupts_taken(id_);
    settled = true;
  }
  clocks_.set_deaf(id_, !server_.config_space().bus_master_enabled());
  // A store that the server refused will not come.
  const uint64_t refused = server_.counters().requests_refused;
  if (held_.empty() && refused != refused_ && clocks_.state(id_) == EXRNIC_GUEST_STORING) {
    release();
    settled = true;
  }
  if (clocks_.state(id_) != EXRNIC_GUEST_STORING) refused_ = refused;
  if (std::exchange(was_connected_, server_.connected()) && !server_.connected()) {
    clocks_.set(id_, EXRNIC_GUEST_ABSENT, GuestClocks::kNever);
    settled = true;
  }
  return settled;
}

bool TimedNode::dma_read(uint64_t address, uint8_t* out, size_t length) {
  return server_.dma_read(address, out, length);
}

bool TimedNode::dma_write(uint64_t address, const uint8_t* data, size_t length) {
  return server_.dma_write(address, data, length);
}

void TimedNode::fire_msix(unsigned vector) {
  server_.fire_msix(vector);
  clocks_.interrupt(id_, now_ns());
}

}  // namespace exrnic

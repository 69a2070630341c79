// SPDX-License-Identifier: BSD-2-Clause
#include "tests/protection/bare_core.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace exrnic::testing {
namespace {

constexpr int kPolls = 100'000;
constexpr uint64_t kRestCycles = 2'000'000;
constexpr uint64_t kNsPerCycle = 4;
constexpr uint64_t kMostLatency = 40;  // cycles

}  // namespace

BareCore::BareCore(const MakeCore& make_core, size_t memory_bytes, CoreWatcher& watcher,
                   uint64_t seed)
    : watcher_(watcher), random_(static_cast<uint32_t>(seed)), memory_(memory_bytes) {
  CoreConfig config;
  config.node_id = kNode;
  core_ = make_core(config, *this);
  for (int i = 0; !(read_register(EXRNIC_REG_STATUS) & EXRNIC_DEVICE_STATUS_READY); ++i)
    if (i == kPolls) throw std::runtime_error("waited in vain for the core to be ready");
  write_register(EXRNIC_REG_CONTROL, EXRNIC_DEVICE_CONTROL_ENABLE);
}

bool BareCore::inside(uint64_t address, size_t length) const {
  return address >= kMemory && address - kMemory <= memory_.size() &&
         length <= memory_.size() - (address - kMemory);
}

bool BareCore::is_reading(uint64_t address, uint64_t length) const {
  return std::any_of(reads_.begin(), reads_.end(), [=](const Read& read) {
    return read.request.address < address + length &&
           address < read.request.address + read.request.length;
  });
}

void BareCore::step() {
  ++cycle_;
  complete_reads();
  core_->step(cycle_ * kNsPerCycle);
}

void BareCore::run_to_rest() {
  for (uint64_t i = 0; !at_rest(); ++i) {
    if (i == kRestCycles)
      throw std::runtime_error("the core is not at rest after " + std::to_string(kRestCycles) +
                               " cycles");
    step();
  }
}

uint32_t BareCore::read_register(uint32_t offset) {
  answered_ = false;
  core_->mmio_read({EXRNIC_BAR_REGISTERS, offset, 4, 0});
  for (int i = 0; !answered_; ++i) {
    if (i == kPolls)
      throw std::runtime_error("waited in vain for register " + std::to_string(offset));
    step();
  }
  return static_cast<uint32_t>(answer_);
}

void BareCore::write_register(uint32_t offset, uint32_t value) {
  core_->mmio_write({EXRNIC_BAR_REGISTERS, offset, 4, value});
}

void BareCore::store_doorbell(uint32_t page, uint32_t offset, uint32_t number, uint32_t index) {
  core_->mmio_write({EXRNIC_BAR_USER, page * EXRNIC_USER_PAGE_SIZE + offset, 8,
                     number | static_cast<uint64_t>(index) << 32});
}

exrnic_mbox_status BareCore::command(exrnic_mbox_op op, const void* payload, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 4) {
    uint32_t word;
    std::memcpy(&word, static_cast<const uint8_t*>(payload) + at, 4);
    write_register(static_cast<uint32_t>(EXRNIC_REG_MBOX_DATA + at), word);
  }
  write_register(EXRNIC_REG_MBOX_COMMAND, op);
  for (int i = 0; i < kPolls; ++i) {
    const uint32_t status = read_register(EXRNIC_REG_MBOX_STATUS);
    if (status != EXRNIC_MBOX_STATUS_BUSY) return static_cast<exrnic_mbox_status>(status);
  }
  throw std::runtime_error("waited in vain for mailbox command " + std::to_string(op));
}

void BareCore::expect_ok(exrnic_mbox_op op, exrnic_mbox_status status) {
  if (status == EXRNIC_MBOX_STATUS_OK) return;
  throw std::runtime_error("mailbox command " + std::to_string(op) + " ended with status " +
                           std::to_string(status));
}

// Whole, in the order of the requests.
void BareCore::complete_reads() {
  while (!reads_.empty() && reads_.front().due <= cycle_) {
    const ReadRequest request = reads_.front().request;
    reads_.pop_front();
    ReadCompletion completion{request.tag, true, !inside(request.address, request.length), {}};
    if (!completion.error)
      completion.data.assign(at(request.address), at(request.address) + request.length);
    core_->read_completion(std::move(completion));
  }
}

void BareCore::write(PostedWrite&& write) {
  if (write.kind == PostedWrite::Kind::kMsix) return;
  if (inside(write.address, write.data.size()))
    std::memcpy(at(write.address), write.data.data(), write.data.size());
  watcher_.wrote(write.address, write.data.size());
}

void BareCore::read(const ReadRequest& request) {
  watcher_.reads(request.address, request.length);
  reads_.push_back({request, cycle_ + 1 + random_() % kMostLatency});
}

void BareCore::mmio_read_done(uint64_t data) {
  answered_ = true;
  answer_ = data;
}

bool BareCore::peek(uint64_t address, uint8_t* out, size_t length) {
  if (!inside(address, length)) return false;
  std::memcpy(out, at(address), length);
  return true;
}

}  // namespace exrnic::testing

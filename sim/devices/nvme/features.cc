// SPDX-License-Identifier: BSD-2-Clause
#include "sim/devices/nvme/features.h"

#include <algorithm>

namespace exrnic::nvme {
namespace {

constexpr uint32_t kSave = 1u << 31;
constexpr uint32_t kSelect = 7u << 8;
constexpr uint32_t kNoQueues = 0xffff;  // of a number of queues: one less than there are
constexpr uint32_t kCoalescingDisabled = 1u << 16;

// The bits of dword 11 that are kept; 0 for those that are more than one number.
uint32_t kept_bits(uint8_t feature) {
  switch (static_cast<Feature>(feature)) {
    case Feature::kArbitration:
      return 0xffffff07;
    case Feature::kErrorRecovery:
      return 0xffff;
    case Feature::kVolatileWriteCache:
    case Feature::kWriteAtomicity:
      return 1;
    case Feature::kInterruptCoalescing:
      return 0xffff;
    case Feature::kEventConfiguration:
      return 0xff;
    default:
      return 0;
  }
}

// Which of the two limits of the one sensor that there is; others are none of ours.
bool names_limit(uint32_t cdw11, bool set, unsigned* which) {
  const uint32_t sensor = cdw11 >> 16 & 15;
  *which = cdw11 >> 20 & 3;
  return *which < 2 && (sensor == 0 || (set && sensor == 15));
}

Result invalid_field() { return {Status::kInvalidField}; }

}  // namespace

Result Features::set(const Command& command, bool has_io_queues) {
  if ((command.cdw10 & kSave) != 0) return {Status::kFeatureNotSaveable};
  const auto id = static_cast<uint8_t>(command.cdw10);
  const uint32_t value = command.cdw11;
  unsigned index = 0;
  switch (static_cast<Feature>(id)) {
    case Feature::kPowerManagement:  // one state
      return value == 0 ? Result{} : invalid_field();
    case Feature::kTemperatureThreshold:
      if (!names_limit(value, true, &index)) return invalid_field();
      temperature_limits_[index] = static_cast<uint16_t>(value);
      return {};
    case Feature::kNumberOfQueues:
      return set_io_queues(value, has_io_queues);
    case Feature::kInterruptVector:
      index = value & 0xffff;
      if (index >= kInterruptVectors) return invalid_field();
      coalescing_disabled_[index] = (value & kCoalescingDisabled) != 0;
      return {};
    default:
      break;
  }
  const uint32_t kept = kept_bits(id);
  if (kept == 0) return invalid_field();
  stored_[id] = value & kept;
  return {};
}

Result Features::set_io_queues(uint32_t wanted, bool has_io_queues) {
  const uint32_t submission = wanted & 0xffff;
  const uint32_t completion = wanted >> 16;
  if (submission == kNoQueues || completion == kNoQueues) return invalid_field();
  if (has_io_queues) return {Status::kCommandSequenceError};
  io_queues_ = std::min(std::max(submission, completion) + 1, kMaxIoQueues);
  return {Status::kSuccess, granted()};
}

uint32_t Features::granted() const { return (io_queues_ - 1) << 16 | (io_queues_ - 1); }

Result Features::get(const Command& command) const {
  if ((command.cdw10 & kSelect) != 0) return invalid_field();  // only current values
  const auto id = static_cast<uint8_t>(command.cdw10);
  unsigned index = 0;
  switch (static_cast<Feature>(id)) {
    case Feature::kPowerManagement:
      return {};
    case Feature::kTemperatureThreshold:
      if (!names_limit(command.cdw11, false, &index)) return invalid_field();
      return {Status::kSuccess, temperature_limits_[index]};
    case Feature::kNumberOfQueues:
      return {Status::kSuccess, granted()};
    case Feature::kInterruptVector:
      index = command.cdw11 & 0xffff;
      if (index >= kInterruptVectors) return invalid_field();
      return {Status::kSuccess, index | (coalescing_disabled_[index] ? kCoalescingDisabled : 0)};
    default:
      break;
  }
  if (kept_bits(id) == 0) return invalid_field();
  return {Status::kSuccess, stored_[id]};
}

}  // namespace exrnic::nvme

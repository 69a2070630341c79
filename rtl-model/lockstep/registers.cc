// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/lockstep/registers.h"

#include <algorithm>

#include "exrnic_registers.h"

namespace exrnic::lockstep {
namespace {

// Frames, retransmissions, and look-ups in caches depend on time; interrupts on who is ahead.
constexpr exrnic_counter kCompared[] = {EXRNIC_COUNTER_TERMINATES_TX,
                                        EXRNIC_COUNTER_TERMINATES_RX,
                                        EXRNIC_COUNTER_DOORBELLS,
                                        EXRNIC_COUNTER_DOORBELLS_REFUSED,
                                        EXRNIC_COUNTER_PIO_REFUSED,
                                        EXRNIC_COUNTER_WQES,
                                        EXRNIC_COUNTER_WQE_ERRORS,
                                        EXRNIC_COUNTER_CQES,
                                        EXRNIC_COUNTER_CQ_OVERRUNS,
                                        EXRNIC_COUNTER_SEGMENTS_PLACED,
                                        EXRNIC_COUNTER_RECVS,
                                        EXRNIC_COUNTER_READS_SERVED,
                                        EXRNIC_COUNTER_ATOMICS_SERVED,
                                        EXRNIC_COUNTER_UC_LOST,
                                        EXRNIC_COUNTER_UNRELIABLE_NO_RECEIVE,
                                        EXRNIC_COUNTER_UNRELIABLE_DROPPED,
                                        EXRNIC_COUNTER_BAD_PKEY,
                                        EXRNIC_COUNTER_BAD_QKEY,
                                        EXRNIC_COUNTER_GROUP_COPIES};

uint32_t offset_of(exrnic_counter counter) {
  return EXRNIC_REG_COUNTERS + static_cast<uint32_t>(sizeof(uint64_t)) * counter;
}

}  // namespace

RegisterKind kind_of(uint32_t offset) {
  switch (offset) {
    case EXRNIC_REG_STATUS:
      return RegisterKind::kReadiness;
    case EXRNIC_REG_INT_CAUSE:
      return RegisterKind::kCause;
    case EXRNIC_REG_TIME_LO:
    case EXRNIC_REG_TIME_HI:
      return RegisterKind::kTiming;
    case EXRNIC_REG_MBOX_STATUS:
      return RegisterKind::kOutcome;
    default:
      break;
  }
  // The reference has no processor.
  if (offset >= EXRNIC_REG_FW_MEMORY) return RegisterKind::kTiming;
  if (registers::in_mbox_data(offset)) return RegisterKind::kAnswer;
  if (!registers::in_counters(offset)) return RegisterKind::kConstant;
  const auto compared = compared_counters();
  const bool is_compared = std::find(compared.begin(), compared.end(), offset) != compared.end();
  return is_compared ? RegisterKind::kCounter : RegisterKind::kTiming;
}

std::vector<uint32_t> compared_counters() {
  std::vector<uint32_t> offsets;
  for (const exrnic_counter counter : kCompared) offsets.push_back(offset_of(counter));
  return offsets;
}

uint32_t placed_counter() { return offset_of(EXRNIC_COUNTER_SEGMENTS_PLACED); }

uint32_t overrun_counter() { return offset_of(EXRNIC_COUNTER_CQ_OVERRUNS); }

const char* counter_name(uint32_t offset) {
  static constexpr const char* kNames[] = EXRNIC_COUNTER_NAMES;
  return kNames[(offset - EXRNIC_REG_COUNTERS) / sizeof(uint64_t)];
}

}  // namespace exrnic::lockstep

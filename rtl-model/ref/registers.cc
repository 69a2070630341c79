// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/registers.h"

#include <algorithm>

namespace exrnic::ref {
namespace {

constexpr uint32_t kRtoLeast = 1024;
constexpr uint32_t kCauses = EXRNIC_INT_CAUSE_MBOX | EXRNIC_INT_CAUSE_QP_ERROR |
                             EXRNIC_INT_CAUSE_CQ_ERROR | EXRNIC_INT_CAUSE_SRQ_LIMIT |
                             EXRNIC_INT_CAUSE_FIRMWARE | EXRNIC_INT_CAUSE_LINK |
                             EXRNIC_INT_CAUSE_HOST_SILENT;

bool is_word(const MmioAccess& access) {
  return access.bar == EXRNIC_BAR_REGISTERS && access.size == 4 && access.offset % 4 == 0 &&
         access.offset < EXRNIC_BAR0_SIZE;
}

bool in_range(uint32_t offset, uint32_t first, uint32_t bytes) {
  return offset >= first && offset - first < bytes;
}

bool in_mailbox(uint32_t offset) {
  return in_range(offset, EXRNIC_REG_MBOX_DATA, EXRNIC_MBOX_DATA_BYTES);
}

bool in_counters(uint32_t offset) {
  return in_range(offset, EXRNIC_REG_COUNTERS, EXRNIC_COUNTERS * sizeof(uint64_t));
}

template <size_t kWords>
bool in_bits(const std::array<uint32_t, kWords>& bits, uint32_t first, uint32_t offset) {
  return in_range(offset, first, sizeof bits);
}

template <size_t kWords>
uint32_t words_of(const std::array<uint32_t, kWords>& bits) {
  static_assert(kWords <= 32);
  uint32_t words = 0;
  for (size_t i = 0; i < kWords; ++i) words |= uint32_t{bits[i] != 0} << i;
  return words;
}

bool mtu_good(uint32_t mtu) {
  return mtu >= EXRNIC_MTU_MIN && mtu <= EXRNIC_MTU_MAX && mtu % 16 == 0;
}

}  // namespace

void Registers::write(const MmioAccess& access) {
  if (!is_word(access)) return;
  const auto value = static_cast<uint32_t>(access.data);
  Settings& settings = state_.settings;
  switch (access.offset) {
    case EXRNIC_REG_CONTROL:
      settings.enable = value & EXRNIC_DEVICE_CONTROL_ENABLE;
      break;
    case EXRNIC_REG_MTU:
      if (mtu_good(value)) settings.mtu = value;
      break;
    case EXRNIC_REG_RTO_CYCLES:
      settings.rto_cycles = std::max(value, kRtoLeast);
      break;
    case EXRNIC_REG_RETRY_LIMIT:
      if (value >= 1 && value <= 255) settings.retry_limit = value;
      break;
    case EXRNIC_REG_COMBINE_CYCLES:
      if (value <= EXRNIC_COMBINE_CYCLES_MAX) settings.combine_cycles = value;
      break;
    case EXRNIC_REG_LOAD_CYCLES:
      if (value >= EXRNIC_LOAD_CYCLES_MIN && value <= EXRNIC_LOAD_CYCLES_MAX)
        settings.load_cycles = value;
      break;
    case EXRNIC_REG_PULL_MODE:
      if (value == EXRNIC_PULL_MODE_HARDWARE || value == EXRNIC_PULL_MODE_FIRMWARE)
        settings.pull_mode = value;
      break;
    case EXRNIC_REG_ERRATA:
      settings.errata = value & EXRNIC_ERRATA_PULL_BESIDE_PUSH;
      break;
    case EXRNIC_REG_INT_ENABLE:
      int_enable_ = value & kCauses;
      if (int_cause_ & int_enable_) dma_write_.fire(EXRNIC_MSIX_VECTOR_CONTROL);
      break;
    case EXRNIC_REG_INT_CAUSE:
      int_cause_ &= ~value;
      break;
    case EXRNIC_REG_MBOX_COMMAND:
      if (mailbox_.idle()) mailbox_.start(value);
      break;
    default:
      if (in_mailbox(access.offset) && mailbox_.idle())
        mailbox_.payload()[(access.offset - EXRNIC_REG_MBOX_DATA) / 4] = value;
      if (uint32_t* bits = event_bits(access.offset)) *bits &= ~value;
  }
}

uint64_t Registers::read(const MmioAccess& access) {
  const uint32_t value = is_word(access) ? value_of(access.offset) : UINT32_MAX;
  return value == UINT32_MAX ? UINT64_MAX : value;
}

uint32_t Registers::value_of(uint32_t offset) {
  const uint64_t mac = uint64_t{EXRNIC_MAC_PREFIX} << 16 | state_.config.node_id;
  switch (offset) {
    case EXRNIC_REG_ID:
      return EXRNIC_DEVICE_MAGIC;
    case EXRNIC_REG_ABI_VERSION:
      return EXRNIC_ABI_VERSION;
    case EXRNIC_REG_MAX_QP:
      return EXRNIC_MAX_QP;
    case EXRNIC_REG_MAX_CQ:
      return EXRNIC_MAX_CQ;
    case EXRNIC_REG_MAX_SRQ:
      return EXRNIC_MAX_SRQ;
    case EXRNIC_REG_READ_POOL:
      return EXRNIC_READ_POOL;
    case EXRNIC_REG_MAX_STAG:
      return EXRNIC_MAX_STAG;
    case EXRNIC_REG_MAX_NODE:
      return EXRNIC_MAX_NODE;
    case EXRNIC_REG_USER_PAGES:
      return EXRNIC_USER_PAGES;
    case EXRNIC_REG_CLOCK_KHZ:
      return state_.config.clock_khz;
    case EXRNIC_REG_STATUS:  // the tables of a model need no clearing: always ready
      return EXRNIC_DEVICE_STATUS_READY |
             (state_.config.link_up ? EXRNIC_DEVICE_STATUS_LINK_UP : 0);
    case EXRNIC_REG_CONTROL:
      return state_.settings.enable ? EXRNIC_DEVICE_CONTROL_ENABLE : 0;
    case EXRNIC_REG_NODE_ID:
      return state_.config.node_id;
    case EXRNIC_REG_MAC_LO:
      return static_cast<uint32_t>(mac);
    case EXRNIC_REG_MAC_HI:
      return static_cast<uint32_t>(mac >> 32);
    case EXRNIC_REG_MTU:
      return state_.settings.mtu;
    case EXRNIC_REG_RTO_CYCLES:
      return state_.settings.rto_cycles;
    case EXRNIC_REG_RETRY_LIMIT:
      return state_.settings.retry_limit;
    case EXRNIC_REG_MAX_WINDOW:
      return EXRNIC_MAX_WINDOWS;
    case EXRNIC_REG_COMBINE_CYCLES:
      return state_.settings.combine_cycles;
    case EXRNIC_REG_LOAD_CYCLES:
      return state_.settings.load_cycles;
    case EXRNIC_REG_PULL_MODE:
      return state_.settings.pull_mode;
    case EXRNIC_REG_ERRATA:
      return state_.settings.errata;
    case EXRNIC_REG_INT_ENABLE:
      return int_enable_;
    case EXRNIC_REG_INT_CAUSE:
      return int_cause_;
    case EXRNIC_REG_QP_FAILED_WORDS:
      return words_of(state_.qp_failed);
    case EXRNIC_REG_CQ_OVERRUN_WORDS:
      return words_of(state_.cq_overrun);
    case EXRNIC_REG_SRQ_LOW_WORDS:
      return words_of(state_.srq_low);
    case EXRNIC_REG_TIME_LO:
      time_high_ = static_cast<uint32_t>(state_.time_ns >> 32);
      return static_cast<uint32_t>(state_.time_ns);
    case EXRNIC_REG_TIME_HI:
      return time_high_;
    case EXRNIC_REG_MBOX_STATUS:
      return mailbox_.status();
    default:
      if (const uint32_t* bits = event_bits(offset)) return *bits;
      if (in_mailbox(offset)) return mailbox_.payload()[(offset - EXRNIC_REG_MBOX_DATA) / 4];
      return in_counters(offset) ? counter_word(offset - EXRNIC_REG_COUNTERS) : UINT32_MAX;
  }
}

// nullptr: none of these registers.
uint32_t* Registers::event_bits(uint32_t offset) {
  if (in_bits(state_.qp_failed, EXRNIC_REG_QP_FAILED, offset))
    return &state_.qp_failed[(offset - EXRNIC_REG_QP_FAILED) / 4];
  if (in_bits(state_.cq_overrun, EXRNIC_REG_CQ_OVERRUN, offset))
    return &state_.cq_overrun[(offset - EXRNIC_REG_CQ_OVERRUN) / 4];
  if (in_bits(state_.srq_low, EXRNIC_REG_SRQ_LOW, offset))
    return &state_.srq_low[(offset - EXRNIC_REG_SRQ_LOW) / 4];
  return nullptr;
}

uint32_t Registers::counter_word(uint32_t offset) {
  if (offset % sizeof(uint64_t) != 0) return counter_high_;
  const uint64_t counter = state_.counters[offset / sizeof(uint64_t)];
  counter_high_ = static_cast<uint32_t>(counter >> 32);
  return static_cast<uint32_t>(counter);
}

// A cause that comes while it is pending fires again: a driver that clears, then looks, misses
// nothing.
void Registers::run() {
  if (state_.causes & int_enable_) dma_write_.fire(EXRNIC_MSIX_VECTOR_CONTROL);
  int_cause_ |= state_.causes;
  state_.causes = 0;
}

}  // namespace exrnic::ref

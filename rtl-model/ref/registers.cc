// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/registers.h"

namespace exrnic::ref {
namespace {

bool is_word(const MmioAccess& access) {
  return access.bar == EXRNIC_BAR_REGISTERS && access.size == 4 && access.offset % 4 == 0 &&
         access.offset < EXRNIC_BAR0_SIZE;
}

}  // namespace

void Registers::write(const MmioAccess& access) {
  if (!is_word(access)) return;
  const auto value = static_cast<uint32_t>(access.data);
  state_.settings.write(access.offset, value);
  switch (access.offset) {
    case EXRNIC_REG_INT_ENABLE:
      if (int_cause_ & state_.settings.int_enable) dma_write_.fire(EXRNIC_MSIX_VECTOR_CONTROL);
      break;
    case EXRNIC_REG_INT_CAUSE:
      int_cause_ &= ~value;
      break;
    case EXRNIC_REG_MBOX_COMMAND:
      if (mailbox_.idle()) mailbox_.start(value);
      break;
    default:
      if (registers::in_mbox_data(access.offset) && mailbox_.idle())
        mailbox_.payload()[(access.offset - EXRNIC_REG_MBOX_DATA) / 4] = value;
      if (registers::in_pkeys(access.offset))
        state_.pkeys[(access.offset - EXRNIC_REG_PKEYS) / 4] = static_cast<uint16_t>(value);
      if (registers::in_eq_consumer(access.offset))
        events_.ring((access.offset - EXRNIC_REG_EQ_CONSUMER) / 4, value, /*arm=*/false);
      if (registers::in_eq_arm(access.offset))
        events_.ring((access.offset - EXRNIC_REG_EQ_ARM) / 4, value, /*arm=*/true);
  }
}

uint64_t Registers::read(const MmioAccess& access) {
  const uint32_t value = is_word(access) ? value_of(access.offset) : UINT32_MAX;
  return value == UINT32_MAX ? UINT64_MAX : value;
}

uint32_t Registers::value_of(uint32_t offset) {
  if (const std::optional<uint32_t> value = state_.settings.read(offset)) return *value;
  const uint64_t mac = uint64_t{EXRNIC_MAC_PREFIX} << 16 | state_.config.node_id;
  switch (offset) {
    case EXRNIC_REG_CLOCK_KHZ:
      return state_.config.clock_khz;
    case EXRNIC_REG_WINDOW_SIZE:
      return state_.window_size();
    case EXRNIC_REG_STATUS:  // the tables of a model need no clearing: always ready
      return EXRNIC_DEVICE_STATUS_READY |
             (state_.config.link_up ? EXRNIC_DEVICE_STATUS_LINK_UP : 0);
    case EXRNIC_REG_NODE_ID:
      return state_.config.node_id;
    case EXRNIC_REG_MAC_LO:
      return static_cast<uint32_t>(mac);
    case EXRNIC_REG_MAC_HI:
      return static_cast<uint32_t>(mac >> 32);
    case EXRNIC_REG_INT_CAUSE:
      return int_cause_;
    case EXRNIC_REG_TIME_LO:
      time_high_ = static_cast<uint32_t>(state_.time_ns >> 32);
      return static_cast<uint32_t>(state_.time_ns);
    case EXRNIC_REG_TIME_HI:
      return time_high_;
    case EXRNIC_REG_MBOX_STATUS:
      return mailbox_.status();
    default:
      if (registers::in_mbox_data(offset))
        return mailbox_.payload()[(offset - EXRNIC_REG_MBOX_DATA) / 4];
      if (registers::in_pkeys(offset)) return state_.pkeys[(offset - EXRNIC_REG_PKEYS) / 4];
      return registers::in_counters(offset) ? counter_word(offset - EXRNIC_REG_COUNTERS)
                                            : UINT32_MAX;
  }
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
  if (state_.causes & state_.settings.int_enable) dma_write_.fire(EXRNIC_MSIX_VECTOR_CONTROL);
  int_cause_ |= state_.causes;
  state_.causes = 0;
}

}  // namespace exrnic::ref

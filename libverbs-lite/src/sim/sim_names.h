// SPDX-License-Identifier: BSD-2-Clause
// What the specification calls commands of the device and of firmware, and how they end: for texts.
#ifndef EXRNIC_LIBVERBS_SIM_NAMES_H
#define EXRNIC_LIBVERBS_SIM_NAMES_H

#include <cstddef>
#include <cstdint>
#include <string>

#include "exrnic_hw.h"

namespace exrnic {

struct NamedValue {
  uint32_t value;
  const char* name;
  const char* meaning;
};

inline constexpr NamedValue kMailboxCommands[] = EXRNIC_MBOX_OP_TABLE;
inline constexpr NamedValue kMailboxStatuses[] = EXRNIC_MBOX_STATUS_TABLE;
inline constexpr NamedValue kFirmwareCommands[] = EXRNIC_FW_OP_TABLE;
inline constexpr NamedValue kFirmwareStatuses[] = EXRNIC_FW_STATUS_TABLE;

// "MODIFY_QP", or the number of what has no name.
template <size_t N>
std::string NameOf(const NamedValue (&table)[N], uint32_t value) {
  for (const NamedValue& named : table)
    if (named.value == value) return named.name;
  return std::to_string(value);
}

// "status BAD_STATE: The object exists already, ...", or "status 99".
template <size_t N>
std::string StatusText(const NamedValue (&table)[N], uint32_t value) {
  for (const NamedValue& named : table)
    if (named.value == value) return std::string("status ") + named.name + ": " + named.meaning;
  return "status " + std::to_string(value);
}

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SIM_NAMES_H

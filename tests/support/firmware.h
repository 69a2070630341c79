// SPDX-License-Identifier: BSD-2-Clause
// Loads firmware into a node's processor, as the driver does.
#pragma once

#include <stdexcept>
#include <string>

#include "firmware/image/firmware_image.h"
#include "tests/support/rnic_driver.h"

namespace exrnic::testing {

inline void wait_while_register(RnicDriver& rnic, uint32_t reg, uint32_t value) {
  constexpr int kPolls =
      2000;  // a load takes half a microsecond; a start, 20,000 cycles at 125 MHz
  for (int i = 0; rnic.read_register(reg) == value; ++i)
    if (i == kPolls) throw std::runtime_error("waited in vain for register " + std::to_string(reg));
}

// `path`: an image. Whatever runs is stopped before. Returns when firmware has left STARTING.
inline void start_firmware(RnicDriver& rnic, const char* path) {
  rnic.write_register(EXRNIC_REG_FW_CONTROL, 0);
  rnic.write_register(EXRNIC_REG_FW_ADDRESS, 0);
  for (const uint32_t word : read_firmware_image(path).payload)
    rnic.write_register(EXRNIC_REG_FW_DATA, word);
  rnic.write_register(EXRNIC_REG_FW_CONTROL, EXRNIC_FW_CONTROL_RUN);
  wait_while_register(rnic, EXRNIC_REG_FW_STATE, EXRNIC_FW_STATE_STARTING);
}

}  // namespace exrnic::testing

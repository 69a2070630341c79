// SPDX-License-Identifier: BSD-2-Clause
#include "own_firmware.h"

namespace exrnic {

namespace {

constexpr uint32_t kWords[] = {
#include "firmware.words"
};

}  // namespace

FirmwareImage OwnFirmware() {
  return parse_firmware_image("the library's own firmware", kWords, sizeof(kWords));
}

}  // namespace exrnic

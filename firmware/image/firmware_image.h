// SPDX-License-Identifier: BSD-2-Clause
// A firmware image, as a driver in user space reads it: the library's, and that of the tests. The
// kernel module has the same checks (kmod/exrnic_firmware.c); make_image.py writes images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exrnic_hw.h"

namespace exrnic {

struct FirmwareImage {
  exrnic_fw_image head;
  std::vector<uint32_t> payload;  // what is loaded to address 0
};

// Nothing in it is trusted. Throws std::runtime_error, which names the image and what is wrong: it
// is too short, of another kind or version, of another length than it says, or damaged.
FirmwareImage parse_firmware_image(const std::string& name, const void* bytes, size_t size);

// The same of a regular file, and of no other: nothing is waited for. Throws std::system_error,
// which names it, where it cannot be read.
FirmwareImage read_firmware_image(const std::string& path);

}  // namespace exrnic

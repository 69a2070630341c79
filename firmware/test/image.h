// SPDX-License-Identifier: BSD-2-Clause
// Reads a firmware image, as a driver does: head and payload, both checked.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "exrnic_hw.h"

namespace exrnic::testing {

struct FirmwareImage {
  exrnic_fw_image head;
  std::vector<uint32_t> payload;
};

// Throws std::runtime_error with the path if it is none.
inline FirmwareImage read_firmware_image(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  FirmwareImage image{};
  if (bytes.size() < sizeof image.head) throw std::runtime_error("no firmware image: " + path);
  std::memcpy(&image.head, bytes.data(), sizeof image.head);
  const size_t length = bytes.size() - sizeof image.head;
  const auto* payload = reinterpret_cast<const Bytef*>(bytes.data() + sizeof image.head);
  if (image.head.magic != EXRNIC_FW_IMAGE_MAGIC || image.head.length != length ||
      image.head.crc != crc32(0, payload, static_cast<uInt>(length)))
    throw std::runtime_error("a damaged firmware image: " + path);
  image.payload.resize(length / 4);
  std::memcpy(image.payload.data(), payload, length);
  return image;
}

}  // namespace exrnic::testing

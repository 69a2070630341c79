// SPDX-License-Identifier: BSD-2-Clause
// A data structure that a host reads: bytes, and fields at their offsets.
#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace exrnic::nvme {

class Image {
 public:
  explicit Image(size_t size) : bytes_(size) {}

  template <typename T>
  void put(size_t offset, T value) {
    assert(offset + sizeof value <= bytes_.size());
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
  }
  // Text of `length` bytes, cut or filled up with blanks.
  void put_text(size_t offset, size_t length, std::string text) {
    assert(offset + length <= bytes_.size());
    text.resize(length, ' ');
    std::memcpy(bytes_.data() + offset, text.data(), length);
  }

  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

}  // namespace exrnic::nvme

// SPDX-License-Identifier: BSD-2-Clause
#include "oob_frame.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace exrnic {

namespace {

constexpr std::array<uint8_t, 4> kMagic = {'X', 'O', 'O', 'B'};
constexpr size_t kVersionAt = 4;
constexpr size_t kKindAt = 5;
constexpr size_t kLengthAt = 6;
constexpr size_t kHeaderBytes = 24;
constexpr size_t kCrcBytes = 4;

uint32_t Crc32(const uint8_t* bytes, size_t count) {
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < count; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1)));
  }
  return ~crc;
}

void Put(std::vector<uint8_t>* out, uint32_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out->push_back(static_cast<uint8_t>(value >> (8 * i)));
}

uint32_t Get(const uint8_t* at, size_t bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= static_cast<uint32_t>(at[i]) << (8 * i);
  return value;
}

bool KindIsKnown(uint8_t kind) {
  return kind >= static_cast<uint8_t>(OobKind::kSyn) &&
         kind <= static_cast<uint8_t>(OobKind::kAbort);
}

OobFrame Decode(const uint8_t* bytes, size_t payload) {
  OobFrame frame;
  frame.kind = static_cast<OobKind>(bytes[kKindAt]);
  frame.session = Get(bytes + 8, 4);
  frame.peer_session = Get(bytes + 12, 4);
  frame.sequence = Get(bytes + 16, 4);
  frame.type = Get(bytes + 20, 4);
  frame.payload.assign(bytes + kHeaderBytes, bytes + kHeaderBytes + payload);
  return frame;
}

}  // namespace

std::vector<uint8_t> EncodeOobFrame(const OobFrame& frame) {
  std::vector<uint8_t> out(kMagic.begin(), kMagic.end());
  Put(&out, kOobVersion, 1);
  Put(&out, static_cast<uint32_t>(frame.kind), 1);
  Put(&out, static_cast<uint32_t>(frame.payload.size()), 2);
  Put(&out, frame.session, 4);
  Put(&out, frame.peer_session, 4);
  Put(&out, frame.sequence, 4);
  Put(&out, frame.type, 4);
  out.insert(out.end(), frame.payload.begin(), frame.payload.end());
  Put(&out, Crc32(out.data(), out.size()), kCrcBytes);
  return out;
}

void OobParser::SkipToMagic() {
  // A magic that is only begun at the end stays.
  auto at = std::search(buffer_.begin(), buffer_.end(), kMagic.begin(), kMagic.end());
  if (at == buffer_.end()) {
    const size_t keep = std::min(buffer_.size(), kMagic.size() - 1);
    at = buffer_.end() - static_cast<std::ptrdiff_t>(keep);
  }
  buffer_.erase(buffer_.begin(), at);
}

std::optional<OobFrame> OobParser::Next() {
  for (;;) {
    SkipToMagic();
    if (buffer_.size() < kHeaderBytes + kCrcBytes) return std::nullopt;
    const size_t payload = Get(&buffer_[kLengthAt], 2);
    const bool sane = payload <= kOobPayloadMax;
    const size_t whole = kHeaderBytes + payload;
    if (sane && buffer_.size() < whole + kCrcBytes) return std::nullopt;
    if (sane && Crc32(buffer_.data(), whole) == Get(&buffer_[whole], kCrcBytes)) {
      const OobFrame frame = Decode(buffer_.data(), payload);
      const uint8_t version = buffer_[kVersionAt];
      const bool known = KindIsKnown(buffer_[kKindAt]);
      buffer_.erase(buffer_.begin(),
                    buffer_.begin() + static_cast<std::ptrdiff_t>(whole + kCrcBytes));
      if (version != kOobVersion) foreign_version_ = version;
      if (version == kOobVersion && known) return frame;
      continue;
    }
    // Noise that looks like a magic, or a damaged frame: look behind it.
    buffer_.erase(buffer_.begin());
  }
}

}  // namespace exrnic

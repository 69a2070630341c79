// SPDX-License-Identifier: BSD-2-Clause
// Frames of the out-of-band channel between two guests, a byte stream that may carry boot noise.
//
// Little-endian: magic (4 bytes "XOOB"), version (1), kind (1), payload length (2), session of the
// sender (4), session of the receiver as far as the sender knows it (4), sequence number (4),
// message type (4), payload, CRC-32 (IEEE 802.3) of all before (4).
#ifndef EXRNIC_EXAMPLES_OOB_FRAME_H
#define EXRNIC_EXAMPLES_OOB_FRAME_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace exrnic {

constexpr uint8_t kOobVersion = 1;
constexpr size_t kOobPayloadMax = 512;

enum class OobKind : uint8_t {
  kSyn = 1,  // who I am; repeated until a kSynAck comes
  kSynAck,   // I have seen your kSyn
  kData,     // a message; repeated until its kAck comes
  kAck,      // I have the message of this sequence number
  kAbort,    // I give up; the payload says why
};

struct OobFrame {
  OobKind kind = OobKind::kSyn;
  uint32_t session = 0;
  uint32_t peer_session = 0;
  uint32_t sequence = 0;
  uint32_t type = 0;
  std::vector<uint8_t> payload;
};

// payload: at most kOobPayloadMax.
std::vector<uint8_t> EncodeOobFrame(const OobFrame& frame);

// Finds frames in a stream, and steps over everything else.
class OobParser {
 public:
  void Add(const uint8_t* bytes, size_t count) {
    buffer_.insert(buffer_.end(), bytes, bytes + count);
  }
  // The next whole frame with a right checksum, if there is one.
  std::optional<OobFrame> Next();
  // Version of a frame that was stepped over because it is not kOobVersion; 0: there was none.
  uint8_t foreign_version() const { return foreign_version_; }

 private:
  void SkipToMagic();

  std::vector<uint8_t> buffer_;
  uint8_t foreign_version_ = 0;
};

}  // namespace exrnic

#endif  // EXRNIC_EXAMPLES_OOB_FRAME_H

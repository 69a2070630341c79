// SPDX-License-Identifier: BSD-2-Clause
// A bare core whose process has a connected queue pair, receives and two regions, and a hostile
// peer that sends it frames. Found is: DMA outside of what was granted, a frame that is none of
// this node's, a core that does not come to rest.
#pragma once

#include "tests/fuzz/target.h"
#include "tests/protection/bare_core.h"

namespace exrnic::fuzz {

// What of a frame is put right before it is sent, so that parsers behind the first check are
// reached.
enum Right : uint8_t {
  kAddresses = 1,  // of Ethernet
  kHeader = 2,     // of EFE, but for what follows
  kSequence = 4,
  kQueuePairs = 8,
  kLength = 16,
  kDropFcs = 32,  // this one: FCS error
  kShortPause = 64,
  kUnreliable =
      128,  // sent once: to the queue pair of service UC, or if the class in the input has
            // this bit as a datagram, to one of UD or, with an odd dst_qpn, the group of both
  kDatagram = 2,
  kAllRight = kAddresses | kHeader | kSequence | kQueuePairs | kLength,
};

constexpr size_t kFrameHeaders = EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES;
constexpr uint32_t kSink = 0x000777'21;    // a region of the queue pair's domain, with all rights
constexpr uint32_t kSecret = 0x000778'22;  // one of another domain
constexpr uint64_t kSinkBase = 0x10'0123;
constexpr uint64_t kSinkBytes = 6000;

class FrameBench final : private testing::CoreWatcher {
 public:
  explicit FrameBench(const testing::MakeCore& make_core);

  // An input is a list of frames: a byte of the flags above, the length (2 bytes), the frame.
  void run(const uint8_t* data, size_t size);

 private:
  enum Access : uint8_t { kNone = 0, kRead = 1, kWrite = 2 };

  void grant();
  void allow(uint64_t address, uint64_t length, unsigned access);
  uint64_t pbl(unsigned slot, const std::vector<uint64_t>& pages);
  void open();
  void register_region(uint32_t stag, uint32_t domain, uint64_t length, uint64_t entries);
  void send(Reader& in);
  void create_queue_pair(uint32_t qpn, exrnic_service service, unsigned slot, uint64_t ring);
  void put_right(Bytes& frame, uint8_t rights);
  void check(const char* what, uint64_t address, size_t length, Access wanted);
  void wrote(uint64_t address, size_t length) override;
  void reads(uint64_t address, size_t length) override;
  void sent(const Frame& frame) override;

  uint32_t expected_ = EXRNIC_INITIAL_SEQ;
  uint32_t once_ = 0;             // number of the next frame of the unreliable class
  std::vector<uint8_t> allowed_;  // by byte of memory
  testing::BareCore core_;
};

}  // namespace exrnic::fuzz

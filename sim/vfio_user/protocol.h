// SPDX-License-Identifier: BSD-2-Clause
// The messages of vfio-user: layout, and what a well-formed one looks like. No I/O happens here, so
// tests and fuzzers need no socket. Everything decoded is untrusted input.
//
// Source: QEMU's docs/interop/vfio-user.rst; region, interrupt and DMA flags and indexes are those
// of <linux/vfio.h>, which it refers to.
// Byte order: that of the host. Sizes and offsets are bytes. Threads: none, all functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace exrnic::vfio_user {

using Bytes = std::vector<uint8_t>;

constexpr uint16_t kMajorVersion = 0;
constexpr uint16_t kMinorVersion = 0;

enum class Command : uint16_t {
  kVersion = 1,
  kDmaMap = 2,
  kDmaUnmap = 3,
  kDeviceGetInfo = 4,
  kDeviceGetRegionInfo = 5,
  kDeviceGetRegionIoFds = 6,
  kDeviceGetIrqInfo = 7,
  kDeviceSetIrqs = 8,
  kRegionRead = 9,
  kRegionWrite = 10,
  kDmaRead = 11,   // server to client
  kDmaWrite = 12,  // server to client
  kDeviceReset = 13,
  kRegionWriteMulti = 15,
  kDeviceFeature = 16,
  kMigrationDataRead = 17,
  kMigrationDataWrite = 18,
};

struct Header {
  static constexpr uint32_t kTypeMask = 0xf;
  static constexpr uint32_t kTypeCommand = 0;
  static constexpr uint32_t kTypeReply = 1;
  static constexpr uint32_t kNoReply = 0x10;
  static constexpr uint32_t kError = 0x20;

  uint16_t id = 0;
  uint16_t command = 0;
  uint32_t size = 0;  // of the whole message, this header included
  uint32_t flags = 0;
  uint32_t error = 0;  // errno, in a reply that has kError

  bool is_reply() const { return (flags & kTypeMask) == kTypeReply; }
  bool wants_reply() const { return (flags & kNoReply) == 0; }
};
static_assert(sizeof(Header) == 16, "the header of the protocol has 16 bytes");

// Limits of this implementation, told to the peer in VERSION where the protocol has a word for it.
constexpr size_t kMaxMessageFds = 8;        // file descriptors in one message
constexpr size_t kMaxDataTransfer = 4096;   // bytes of one region access: all of config space
constexpr size_t kMaxMessageSize = 16384;   // a full WRITE_MULTI of QEMU (200 writes) is 4,824
constexpr size_t kMaxDmaMaps = 65535;       // regions of memory at one time: as many as QEMU knows
constexpr size_t kMaxMultiWriteLength = 8;  // bytes of one write in WRITE_MULTI
constexpr uint64_t kDmaPageSize = 4096;     // address, size and offset of a DMA region align to it

// Why a request is not carried out.
struct Fault {
  bool malformed = false;  // the stream cannot be trusted any more: close the connection
  int error = 0;           // otherwise: errno for the reply
  std::string reason;      // what is wrong, with the value
};
std::string hex(uint64_t value);  // for such reasons
Fault malformed(std::string reason);
Fault refused(int error, std::string reason);

template <typename T>
using Parsed = std::variant<T, Fault>;

// ---- VERSION ----
struct Capabilities {
  uint64_t max_message_fds = 1;              // the protocol's default when not told
  uint64_t max_data_transfer = 1024 * 1024;  // likewise
  bool write_multiple = false;
};
struct Version {
  uint16_t major = 0;
  uint16_t minor = 0;
  Capabilities capabilities;
};

// ---- DMA ----
struct DmaMapRequest {
  bool readable = false;
  bool writable = false;
  uint64_t offset = 0;  // in the file
  uint64_t address = 0;
  uint64_t size = 0;
};
struct DmaUnmapRequest {
  bool all = false;
  uint64_t address = 0;
  uint64_t size = 0;
};

// Of a device to memory that its client has granted without a file.
struct DmaAccess {
  uint64_t address = 0;
  uint64_t count = 0;
};
struct DmaWrite {
  DmaAccess access;
  const uint8_t* data = nullptr;  // `access.count` bytes inside the decoded payload
};

// ---- interrupts ----
enum class IrqData { kNone, kBool, kEventfd };
enum class IrqAction { kMask, kUnmask, kTrigger };
struct SetIrqsRequest {
  IrqData data = IrqData::kNone;
  IrqAction action = IrqAction::kTrigger;
  uint32_t index = 0;
  uint32_t start = 0;
  uint32_t count = 0;
  std::vector<bool> selected;  // with kBool: `count` of them
};

// ---- regions ----
struct RegionAccess {
  uint64_t offset = 0;
  uint32_t region = 0;
  uint32_t count = 0;
};
struct RegionWrite {
  RegionAccess access;
  const uint8_t* data = nullptr;  // `access.count` bytes inside the decoded payload
};

// Header. The first judges what comes to a server; both leave the payload alone.
Header decode_header(const uint8_t bytes[sizeof(Header)]);
Parsed<Header> check_request(const Header& header);
Parsed<Header> check_reply(const Header& header);

// Payloads of requests, without the header. Exactly the size that the message has, or malformed.
Parsed<Version> decode_version(const Bytes& payload);
Parsed<DmaMapRequest> decode_dma_map(const Bytes& payload);
Parsed<DmaUnmapRequest> decode_dma_unmap(const Bytes& payload);
Parsed<std::monostate> decode_get_info(const Bytes& payload);
Parsed<uint32_t> decode_get_region_info(const Bytes& payload);  // the region's index
Parsed<uint32_t> decode_get_irq_info(const Bytes& payload);     // the interrupt's index
Parsed<SetIrqsRequest> decode_set_irqs(const Bytes& payload);
Parsed<RegionAccess> decode_region_read(const Bytes& payload);
Parsed<RegionWrite> decode_region_write(const Bytes& payload);
Parsed<std::vector<RegionWrite>> decode_region_write_multi(const Bytes& payload);

// Likewise, of what a server asks its client for.
Parsed<DmaAccess> decode_dma_read(const Bytes& payload);
Parsed<DmaWrite> decode_dma_write(const Bytes& payload);

// Payloads that go out.
Bytes encode_version(const Version& version);
Bytes encode_dma_map(const DmaMapRequest& request);
Bytes encode_dma_unmap(const DmaUnmapRequest& request);
Bytes encode_device_info(uint32_t flags, uint32_t regions, uint32_t irqs);
Bytes encode_region_info(uint32_t flags, uint32_t index, uint64_t size);
Bytes encode_irq_info(uint32_t flags, uint32_t index, uint32_t count);
Bytes encode_set_irqs(const SetIrqsRequest& request);
Bytes encode_region_access(const RegionAccess& access, const uint8_t* data, size_t length);
Bytes encode_region_write_multi(const std::vector<RegionWrite>& writes);
Bytes encode_write_count(uint64_t count);
Bytes encode_dma_access(const DmaAccess& access, const uint8_t* data, size_t length);

}  // namespace exrnic::vfio_user

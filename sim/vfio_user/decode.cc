// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "sim/vfio_user/protocol.h"
#include "sim/vfio_user/wire.h"

namespace exrnic::vfio_user {
namespace {

using nlohmann::json;

Fault wrong_size(const char* message, size_t got, size_t want) {
  return malformed(std::string(message) + " with a payload of " + std::to_string(got) +
                   " bytes; it has " + std::to_string(want));
}

Fault small_argsz(const char* message, uint32_t argsz, size_t want) {
  return refused(EINVAL, std::string(message) + " with argsz " + std::to_string(argsz) +
                             "; it is at least " + std::to_string(want));
}

Fault wrong_flags(const char* message, uint32_t flags) {
  return refused(EINVAL, std::string(message) + " with flags " + hex(flags));
}

}  // namespace

std::string hex(uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

Fault malformed(std::string reason) { return {true, EPROTO, std::move(reason)}; }
Fault refused(int error, std::string reason) { return {false, error, std::move(reason)}; }

Header decode_header(const uint8_t bytes[sizeof(Header)]) { return load<Header>(bytes); }

static Parsed<Header> check_size(const Header& header) {
  if (header.size < sizeof(Header) || header.size > kMaxMessageSize) {
    return malformed("message size " + std::to_string(header.size) + " is outside of " +
                     std::to_string(sizeof(Header)) + ".." + std::to_string(kMaxMessageSize));
  }
  return header;
}

Parsed<Header> check_request(const Header& header) {
  if ((header.flags & ~Header::kNoReply) != Header::kTypeCommand) {
    return malformed("header flags " + hex(header.flags) + " are not those of a command");
  }
  if (header.error != 0) {
    return malformed("error field " + std::to_string(header.error) + " in a command");
  }
  return check_size(header);
}

Parsed<Header> check_reply(const Header& header) {
  if ((header.flags & ~Header::kError) != Header::kTypeReply) {
    return malformed("header flags " + hex(header.flags) + " are not those of a reply");
  }
  return check_size(header);
}

static Parsed<Capabilities> decode_capabilities(const uint8_t* text, size_t length) {
  Capabilities capabilities;
  const json document = json::parse(text, text + length, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return malformed("version data is not a JSON object");
  const auto found = document.find("capabilities");
  if (found == document.end()) return capabilities;
  if (!found->is_object()) return malformed("capabilities are not a JSON object");

  const auto number = [&](const char* name, uint64_t& value) {
    const auto item = found->find(name);
    if (item == found->end()) return true;
    if (!item->is_number_unsigned()) return false;
    value = item->get<uint64_t>();
    return true;
  };
  if (!number("max_msg_fds", capabilities.max_message_fds)) {
    return malformed("max_msg_fds is not a number");
  }
  if (!number("max_data_xfer_size", capabilities.max_data_transfer)) {
    return malformed("max_data_xfer_size is not a number");
  }
  const auto multiple = found->find("write_multiple");
  if (multiple != found->end()) {
    if (!multiple->is_boolean()) return malformed("write_multiple is not a boolean");
    capabilities.write_multiple = multiple->get<bool>();
  }
  return capabilities;
}

Parsed<Version> decode_version(const Bytes& payload) {
  if (payload.size() < sizeof(VersionWire)) {
    return wrong_size("VERSION", payload.size(), sizeof(VersionWire));
  }
  const auto wire = load<VersionWire>(payload.data());
  Version version{wire.major, wire.minor, {}};
  if (version.major != kMajorVersion) {
    return malformed("protocol version " + std::to_string(version.major) + "." +
                     std::to_string(version.minor) + " is not spoken here; 0.0 is");
  }
  if (payload.size() == sizeof(VersionWire)) return version;
  if (payload.back() != 0) return malformed("version data does not end in a NUL");
  const Parsed<Capabilities> capabilities = decode_capabilities(
      payload.data() + sizeof(VersionWire), payload.size() - sizeof(VersionWire) - 1);
  if (const auto* fault = std::get_if<Fault>(&capabilities)) return *fault;
  version.capabilities = std::get<Capabilities>(capabilities);
  return version;
}

static bool aligned(uint64_t value) { return value % kDmaPageSize == 0; }

static bool wraps(uint64_t start, uint64_t length) { return length - 1 > UINT64_MAX - start; }

Parsed<DmaMapRequest> decode_dma_map(const Bytes& payload) {
  if (payload.size() != sizeof(DmaMapWire)) {
    return wrong_size("DMA_MAP", payload.size(), sizeof(DmaMapWire));
  }
  const auto wire = load<DmaMapWire>(payload.data());
  if (wire.argsz < sizeof(wire)) return small_argsz("DMA_MAP", wire.argsz, sizeof(wire));
  constexpr uint32_t kKnown = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
  if (wire.flags == 0 || (wire.flags & ~kKnown) != 0) return wrong_flags("DMA_MAP", wire.flags);
  const std::string range = hex(wire.address) + " size " + hex(wire.size);
  if (wire.size == 0 || wraps(wire.address, wire.size)) {
    return refused(EINVAL, "DMA_MAP of " + range + " is empty or wraps");
  }
  if (wraps(wire.offset, wire.size) || wire.offset + wire.size > INT64_MAX) {
    return refused(EINVAL, "DMA_MAP at file offset " + hex(wire.offset) + " size " +
                               hex(wire.size) + " wraps");
  }
  if (!aligned(wire.address) || !aligned(wire.size) || !aligned(wire.offset)) {
    return refused(EINVAL, "DMA_MAP of " + range + " at file offset " + hex(wire.offset) +
                               " is not a multiple of 4 KiB");
  }
  return DmaMapRequest{(wire.flags & VFIO_DMA_MAP_FLAG_READ) != 0,
                       (wire.flags & VFIO_DMA_MAP_FLAG_WRITE) != 0, wire.offset, wire.address,
                       wire.size};
}

Parsed<DmaUnmapRequest> decode_dma_unmap(const Bytes& payload) {
  if (payload.size() != sizeof(DmaUnmapWire)) {
    return wrong_size("DMA_UNMAP", payload.size(), sizeof(DmaUnmapWire));
  }
  const auto wire = load<DmaUnmapWire>(payload.data());
  if (wire.argsz < sizeof(wire)) return small_argsz("DMA_UNMAP", wire.argsz, sizeof(wire));
  if ((wire.flags & VFIO_DMA_UNMAP_FLAG_GET_DIRTY_BITMAP) != 0) {
    return refused(ENOTSUP, "DMA_UNMAP with a dirty bitmap: pages are not tracked");
  }
  if ((wire.flags & ~uint32_t{VFIO_DMA_UNMAP_FLAG_ALL}) != 0) {
    return wrong_flags("DMA_UNMAP", wire.flags);
  }
  const bool all = wire.flags == VFIO_DMA_UNMAP_FLAG_ALL;
  const bool empty = wire.size == 0 || wraps(wire.address, wire.size);
  if (all ? (wire.address != 0 || wire.size != 0) : empty) {
    return refused(EINVAL, "DMA_UNMAP of " + hex(wire.address) + " size " + hex(wire.size) +
                               (all ? " with the flag for all" : " is empty or wraps"));
  }
  return DmaUnmapRequest{all, wire.address, wire.size};
}

Parsed<std::monostate> decode_get_info(const Bytes& payload) {
  if (payload.size() != kDeviceInfoSize) {
    return wrong_size("DEVICE_GET_INFO", payload.size(), kDeviceInfoSize);
  }
  const auto argsz = load<uint32_t>(payload.data());
  const auto flags = load<uint32_t>(payload.data() + sizeof(argsz));
  if (argsz < kDeviceInfoSize) return small_argsz("DEVICE_GET_INFO", argsz, kDeviceInfoSize);
  if (flags != 0) return wrong_flags("DEVICE_GET_INFO", flags);
  return std::monostate{};
}

Parsed<uint32_t> decode_get_region_info(const Bytes& payload) {
  if (payload.size() != sizeof(vfio_region_info)) {
    return wrong_size("GET_REGION_INFO", payload.size(), sizeof(vfio_region_info));
  }
  const auto wire = load<vfio_region_info>(payload.data());
  if (wire.argsz < sizeof(wire)) return small_argsz("GET_REGION_INFO", wire.argsz, sizeof(wire));
  if (wire.flags != 0) return wrong_flags("GET_REGION_INFO", wire.flags);
  if (wire.index >= VFIO_PCI_NUM_REGIONS) {
    return refused(EINVAL, "GET_REGION_INFO of region " + std::to_string(wire.index));
  }
  return wire.index;
}

Parsed<uint32_t> decode_get_irq_info(const Bytes& payload) {
  if (payload.size() != sizeof(vfio_irq_info)) {
    return wrong_size("GET_IRQ_INFO", payload.size(), sizeof(vfio_irq_info));
  }
  const auto wire = load<vfio_irq_info>(payload.data());
  if (wire.argsz < sizeof(wire)) return small_argsz("GET_IRQ_INFO", wire.argsz, sizeof(wire));
  if (wire.flags != 0) return wrong_flags("GET_IRQ_INFO", wire.flags);
  if (wire.index >= VFIO_PCI_NUM_IRQS) {
    return refused(EINVAL, "GET_IRQ_INFO of interrupt " + std::to_string(wire.index));
  }
  return wire.index;
}

// The two groups of flags, each with exactly one bit.
static bool decode_irq_flags(uint32_t flags, SetIrqsRequest& request) {
  switch (flags & VFIO_IRQ_SET_DATA_TYPE_MASK) {
    case VFIO_IRQ_SET_DATA_NONE:
      request.data = IrqData::kNone;
      break;
    case VFIO_IRQ_SET_DATA_BOOL:
      request.data = IrqData::kBool;
      break;
    case VFIO_IRQ_SET_DATA_EVENTFD:
      request.data = IrqData::kEventfd;
      break;
    default:
      return false;
  }
  switch (flags & VFIO_IRQ_SET_ACTION_TYPE_MASK) {
    case VFIO_IRQ_SET_ACTION_MASK:
      request.action = IrqAction::kMask;
      break;
    case VFIO_IRQ_SET_ACTION_UNMASK:
      request.action = IrqAction::kUnmask;
      break;
    case VFIO_IRQ_SET_ACTION_TRIGGER:
      request.action = IrqAction::kTrigger;
      break;
    default:
      return false;
  }
  return (flags & ~(VFIO_IRQ_SET_DATA_TYPE_MASK | VFIO_IRQ_SET_ACTION_TYPE_MASK)) == 0;
}

Parsed<SetIrqsRequest> decode_set_irqs(const Bytes& payload) {
  if (payload.size() < kSetIrqsSize) return wrong_size("SET_IRQS", payload.size(), kSetIrqsSize);
  const auto wire = load<vfio_irq_set>(payload.data());
  SetIrqsRequest request;
  request.index = wire.index;
  request.start = wire.start;
  request.count = wire.count;
  if (!decode_irq_flags(wire.flags, request)) return wrong_flags("SET_IRQS", wire.flags);
  // 64 bits, so that a count near 2^32 does not wrap into a size that fits.
  const uint64_t size = uint64_t{kSetIrqsSize} + (request.data == IrqData::kBool ? wire.count : 0);
  if (payload.size() != size) return wrong_size("SET_IRQS", payload.size(), size);
  if (wire.argsz != size) {
    return refused(EINVAL, "SET_IRQS with argsz " + std::to_string(wire.argsz) + " instead of " +
                               std::to_string(size));
  }
  if (wire.index >= VFIO_PCI_NUM_IRQS) {
    return refused(EINVAL, "SET_IRQS of interrupt " + std::to_string(wire.index));
  }
  const bool disable_all = wire.count == 0 && wire.start == 0 && request.data == IrqData::kNone &&
                           request.action == IrqAction::kTrigger;
  if (wire.count == 0 && !disable_all) return refused(EINVAL, "SET_IRQS of no interrupt");
  for (size_t i = kSetIrqsSize; i < payload.size(); ++i) {
    request.selected.push_back(payload[i] != 0);
  }
  return request;
}

static Parsed<RegionAccess> check_access(const char* message, const RegionAccessWire& wire,
                                         size_t longest) {
  if (wire.count == 0 || wire.count > longest) {
    return refused(EINVAL, std::string(message) + " of " + std::to_string(wire.count) +
                               " bytes; 1.." + std::to_string(longest) + " are possible");
  }
  if (wire.region >= VFIO_PCI_NUM_REGIONS || wraps(wire.offset, wire.count)) {
    return refused(EINVAL, std::string(message) + " of region " + std::to_string(wire.region) +
                               " offset " + hex(wire.offset));
  }
  return RegionAccess{wire.offset, wire.region, wire.count};
}

Parsed<RegionAccess> decode_region_read(const Bytes& payload) {
  if (payload.size() != sizeof(RegionAccessWire)) {
    return wrong_size("REGION_READ", payload.size(), sizeof(RegionAccessWire));
  }
  return check_access("REGION_READ", load<RegionAccessWire>(payload.data()), kMaxDataTransfer);
}

Parsed<RegionWrite> decode_region_write(const Bytes& payload) {
  if (payload.size() < sizeof(RegionAccessWire)) {
    return wrong_size("REGION_WRITE", payload.size(), sizeof(RegionAccessWire));
  }
  const auto wire = load<RegionAccessWire>(payload.data());
  if (payload.size() - sizeof(wire) != wire.count) {
    return wrong_size("REGION_WRITE", payload.size(), sizeof(wire) + uint64_t{wire.count});
  }
  const Parsed<RegionAccess> access = check_access("REGION_WRITE", wire, kMaxDataTransfer);
  if (const auto* fault = std::get_if<Fault>(&access)) return *fault;
  return RegionWrite{std::get<RegionAccess>(access), payload.data() + sizeof(wire)};
}

Parsed<std::vector<RegionWrite>> decode_region_write_multi(const Bytes& payload) {
  if (payload.size() < sizeof(uint64_t)) {
    return wrong_size("REGION_WRITE_MULTI", payload.size(), sizeof(uint64_t));
  }
  const auto count = load<uint64_t>(payload.data());
  const size_t entries = (payload.size() - sizeof(count)) / sizeof(MultiEntryWire);
  if (count != entries || payload.size() != sizeof(count) + entries * sizeof(MultiEntryWire)) {
    return malformed("REGION_WRITE_MULTI of " + std::to_string(count) +
                     " writes with a payload of " + std::to_string(payload.size()) + " bytes");
  }
  std::vector<RegionWrite> writes;
  for (size_t i = 0; i < entries; ++i) {
    const uint8_t* entry = payload.data() + sizeof(count) + i * sizeof(MultiEntryWire);
    const Parsed<RegionAccess> access =
        check_access("REGION_WRITE_MULTI", load<RegionAccessWire>(entry), kMaxMultiWriteLength);
    if (const auto* fault = std::get_if<Fault>(&access)) return *fault;
    writes.push_back({std::get<RegionAccess>(access), entry + offsetof(MultiEntryWire, data)});
  }
  return writes;
}

static Parsed<DmaAccess> check_dma(const char* message, const DmaAccessWire& wire) {
  if (wire.count == 0 || wire.count > kMaxDataTransfer || wraps(wire.address, wire.count)) {
    return refused(EINVAL, std::string(message) + " of " + std::to_string(wire.count) +
                               " bytes at " + hex(wire.address) + "; 1.." +
                               std::to_string(kMaxDataTransfer) + " are possible");
  }
  return DmaAccess{wire.address, wire.count};
}

Parsed<DmaAccess> decode_dma_read(const Bytes& payload) {
  if (payload.size() != sizeof(DmaAccessWire)) {
    return wrong_size("DMA_READ", payload.size(), sizeof(DmaAccessWire));
  }
  return check_dma("DMA_READ", load<DmaAccessWire>(payload.data()));
}

Parsed<DmaWrite> decode_dma_write(const Bytes& payload) {
  if (payload.size() < sizeof(DmaAccessWire)) {
    return wrong_size("DMA_WRITE", payload.size(), sizeof(DmaAccessWire));
  }
  const auto wire = load<DmaAccessWire>(payload.data());
  if (payload.size() - sizeof(wire) != wire.count) {
    return malformed("DMA_WRITE of " + std::to_string(wire.count) + " bytes with a payload of " +
                     std::to_string(payload.size()));
  }
  const Parsed<DmaAccess> access = check_dma("DMA_WRITE", wire);
  if (const auto* fault = std::get_if<Fault>(&access)) return *fault;
  return DmaWrite{std::get<DmaAccess>(access), payload.data() + sizeof(wire)};
}

}  // namespace exrnic::vfio_user

// SPDX-License-Identifier: BSD-2-Clause
// The payloads that go out, for server and client alike.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/vfio_user/protocol.h"
#include "sim/vfio_user/wire.h"

namespace exrnic::vfio_user {
namespace {

template <typename T>
Bytes encode(const T& value) {
  Bytes out;
  append(out, value);
  return out;
}

uint32_t irq_flags(const SetIrqsRequest& request) {
  uint32_t flags = 0;
  switch (request.data) {
    case IrqData::kNone:
      flags = VFIO_IRQ_SET_DATA_NONE;
      break;
    case IrqData::kBool:
      flags = VFIO_IRQ_SET_DATA_BOOL;
      break;
    case IrqData::kEventfd:
      flags = VFIO_IRQ_SET_DATA_EVENTFD;
      break;
  }
  switch (request.action) {
    case IrqAction::kMask:
      return flags | VFIO_IRQ_SET_ACTION_MASK;
    case IrqAction::kUnmask:
      return flags | VFIO_IRQ_SET_ACTION_UNMASK;
    case IrqAction::kTrigger:
      break;
  }
  return flags | VFIO_IRQ_SET_ACTION_TRIGGER;
}

}  // namespace

Bytes encode_version(const Version& version) {
  nlohmann::json capabilities = {
      {"max_msg_fds", version.capabilities.max_message_fds},
      {"max_data_xfer_size", version.capabilities.max_data_transfer},
      {"max_dma_maps", kMaxDmaMaps},
  };
  if (version.capabilities.write_multiple) capabilities["write_multiple"] = true;
  const std::string text = nlohmann::json{{"capabilities", capabilities}}.dump();
  Bytes out = encode(VersionWire{version.major, version.minor});
  out.insert(out.end(), text.begin(), text.end());
  out.push_back(0);
  return out;
}

Bytes encode_dma_map(const DmaMapRequest& request) {
  const uint32_t flags = (request.readable ? VFIO_DMA_MAP_FLAG_READ : 0) |
                         (request.writable ? VFIO_DMA_MAP_FLAG_WRITE : 0);
  return encode(
      DmaMapWire{sizeof(DmaMapWire), flags, request.offset, request.address, request.size});
}

Bytes encode_dma_unmap(const DmaUnmapRequest& request) {
  const uint32_t flags = request.all ? VFIO_DMA_UNMAP_FLAG_ALL : 0;
  return encode(DmaUnmapWire{sizeof(DmaUnmapWire), flags, request.address, request.size});
}

Bytes encode_device_info(uint32_t flags, uint32_t regions, uint32_t irqs) {
  Bytes out;
  for (const uint32_t field : {uint32_t{kDeviceInfoSize}, flags, regions, irqs}) append(out, field);
  return out;
}

Bytes encode_region_info(uint32_t flags, uint32_t index, uint64_t size) {
  vfio_region_info info{};
  info.argsz = sizeof(info);
  info.flags = flags;
  info.index = index;
  info.size = size;
  return encode(info);
}

Bytes encode_irq_info(uint32_t flags, uint32_t index, uint32_t count) {
  return encode(vfio_irq_info{sizeof(vfio_irq_info), flags, index, count});
}

Bytes encode_set_irqs(const SetIrqsRequest& request) {
  const auto argsz = static_cast<uint32_t>(kSetIrqsSize + request.selected.size());
  Bytes out;
  for (const uint32_t field :
       {argsz, irq_flags(request), request.index, request.start, request.count}) {
    append(out, field);
  }
  for (const bool selected : request.selected) out.push_back(selected ? 1 : 0);
  return out;
}

Bytes encode_region_access(const RegionAccess& access, const uint8_t* data, size_t length) {
  Bytes out = encode(RegionAccessWire{access.offset, access.region, access.count});
  out.insert(out.end(), data, data + length);
  return out;
}

Bytes encode_region_write_multi(const std::vector<RegionWrite>& writes) {
  Bytes out = encode(uint64_t{writes.size()});
  for (const RegionWrite& write : writes) {
    MultiEntryWire entry{{write.access.offset, write.access.region, write.access.count}, {}};
    std::memcpy(entry.data, write.data, std::min<size_t>(write.access.count, sizeof(entry.data)));
    append(out, entry);
  }
  return out;
}

Bytes encode_write_count(uint64_t count) { return encode(count); }

Bytes encode_dma_access(const DmaAccess& access, const uint8_t* data, size_t length) {
  Bytes out = encode(DmaAccessWire{access.address, access.count});
  out.insert(out.end(), data, data + length);
  return out;
}

}  // namespace exrnic::vfio_user

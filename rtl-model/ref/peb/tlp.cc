// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/peb/tlp.h"

#include <algorithm>

namespace exrnic::peb {
namespace {

constexpr uint32_t kDw = 4;
constexpr uint32_t kMostDws = 1024;  // which is 0 in a header
constexpr uint64_t kLowEnd = uint64_t{1} << 32;
constexpr unsigned kAllBytes = 0xf;

uint32_t offset_of(uint64_t address) { return static_cast<uint32_t>(address % kDw); }
uint32_t dws_of(uint32_t offset, size_t length) {
  return static_cast<uint32_t>((offset + length + kDw - 1) / kDw);
}

// The first eight bytes of a request for these.
Bytes request_header(exrnic_tlp_type type, uint64_t address, size_t length, uint8_t tag,
                     const Way& way) {
  const uint32_t offset = offset_of(address);
  const uint32_t dws = dws_of(offset, length);
  const unsigned first = kAllBytes << offset & kAllBytes;
  const unsigned last = kAllBytes >> (dws * kDw - offset - length);
  Bytes bytes(EXRNIC_TLP_BYTES);
  exrnic_tlp_set_kind(bytes.data(), type);
  exrnic_tlp_set_length(bytes.data(), dws % kMostDws);
  exrnic_tlp_set_requester(bytes.data(), way.from);
  exrnic_tlp_set_tag(bytes.data(), tag);
  exrnic_tlp_set_first_be(bytes.data(), dws == 1 ? first & last : first);
  exrnic_tlp_set_last_be(bytes.data(), dws == 1 ? 0 : last);
  return bytes;
}

Bytes memory_header(bool write, uint64_t address, size_t length, uint8_t tag, const Way& way) {
  const uint64_t aligned = address - offset_of(address);
  uint8_t place[EXRNIC_TLP_ADDRESS_64_BYTES] = {};
  if (address < kLowEnd) {
    const auto type = write ? EXRNIC_TLP_TYPE_WRITE : EXRNIC_TLP_TYPE_READ;
    Bytes bytes = request_header(type, address, length, tag, way);
    exrnic_tlp_address_set_low(place, aligned);
    bytes.insert(bytes.end(), place, place + EXRNIC_TLP_ADDRESS_BYTES);
    return bytes;
  }
  const auto type = write ? EXRNIC_TLP_TYPE_WRITE_64 : EXRNIC_TLP_TYPE_READ_64;
  Bytes bytes = request_header(type, address, length, tag, way);
  exrnic_tlp_address_64_set_address(place, aligned);
  bytes.insert(bytes.end(), place, place + EXRNIC_TLP_ADDRESS_64_BYTES);
  return bytes;
}

Bytes header(const Write& write, const Way& way) {
  return memory_header(true, write.address, write.data.size(), 0, way);
}

Bytes header(const Request& request, const Way& way) {
  if (request.kind == Request::Kind::kRead)
    return memory_header(false, request.address, request.length, request.tag, way);
  const auto type = request.kind == Request::Kind::kConfigRead ? EXRNIC_TLP_TYPE_CONFIG_READ
                                                               : EXRNIC_TLP_TYPE_CONFIG_WRITE;
  Bytes bytes = request_header(type, request.address, request.length, request.tag, way);
  uint8_t place[EXRNIC_TLP_REGISTER_BYTES] = {};
  exrnic_tlp_register_set_place(place, request.address - offset_of(request.address));
  bytes.insert(bytes.end(), place, place + EXRNIC_TLP_REGISTER_BYTES);
  return bytes;
}

Bytes header(const Completion& completion, const Way& way) {
  Bytes bytes(EXRNIC_TLP_COMPLETION_BYTES);
  uint8_t* p = bytes.data();
  const bool has_data = !completion.data.empty();
  exrnic_tlp_completion_set_kind(
      p, has_data ? EXRNIC_TLP_TYPE_COMPLETION_DATA : EXRNIC_TLP_TYPE_COMPLETION);
  exrnic_tlp_completion_set_length(
      p, has_data ? dws_of(offset_of(completion.lower_address), completion.data.size()) % kMostDws
                  : 0);
  exrnic_tlp_completion_set_completer(p, way.from);
  exrnic_tlp_completion_set_status(p, completion.status);
  exrnic_tlp_completion_set_byte_count(p, completion.left % EXRNIC_PEB_REQUEST_MAX);
  exrnic_tlp_completion_set_requester(p, way.to);
  exrnic_tlp_completion_set_tag(p, completion.tag);
  exrnic_tlp_completion_set_lower_address(p, completion.lower_address);
  return bytes;
}

uint32_t data_offset(const Write& write) { return offset_of(write.address); }
uint32_t data_offset(const Request& request) { return offset_of(request.address); }
uint32_t data_offset(const Completion& completion) { return offset_of(completion.lower_address); }

unsigned first_bit(uint64_t mask) {
  unsigned bit = 0;
  while (bit < kDw - 1 && !(mask >> bit & 1)) ++bit;
  return bit;
}
unsigned last_bit(uint64_t mask) {
  unsigned bit = kDw - 1;
  while (bit > 0 && !(mask >> bit & 1)) --bit;
  return bit;
}

struct Range {
  uint64_t address = 0;
  uint32_t length = 0;
};

// Of a request whose first DW lies there.
Range range_of(const uint8_t* bytes, uint64_t address) {
  const auto dws = static_cast<uint32_t>(exrnic_tlp_length(bytes));
  const unsigned first = first_bit(exrnic_tlp_first_be(bytes));
  const unsigned last = last_bit(dws == 1 ? exrnic_tlp_first_be(bytes) : exrnic_tlp_last_be(bytes));
  return {address + first, ((dws == 0 ? kMostDws : dws) - 1) * kDw + last + 1 - first};
}

Bytes data_of(const uint8_t* bytes, size_t size, size_t header, uint32_t offset, size_t length) {
  if (size - header < offset + length) return {};
  return {bytes + header + offset, bytes + header + offset + length};
}

std::optional<Tlp> decode_memory(const uint8_t* bytes, size_t size, bool write, bool is_64) {
  const size_t header =
      EXRNIC_TLP_BYTES + (is_64 ? EXRNIC_TLP_ADDRESS_64_BYTES : EXRNIC_TLP_ADDRESS_BYTES);
  if (size < header) return std::nullopt;
  const uint8_t* place = bytes + EXRNIC_TLP_BYTES;
  const Range range =
      range_of(bytes, is_64 ? exrnic_tlp_address_64_address(place) : exrnic_tlp_address_low(place));
  if (range.address % EXRNIC_PEB_REQUEST_MAX + range.length > EXRNIC_PEB_REQUEST_MAX)
    return std::nullopt;
  const auto tag = static_cast<uint8_t>(exrnic_tlp_tag(bytes));
  if (!write) return Request{Request::Kind::kRead, tag, range.address, range.length, {}};
  return Write{range.address, data_of(bytes, size, header, offset_of(range.address), range.length)};
}

std::optional<Tlp> decode_config(const uint8_t* bytes, size_t size, bool write) {
  constexpr size_t kHeader = EXRNIC_TLP_BYTES + EXRNIC_TLP_REGISTER_BYTES;
  if (size < kHeader || exrnic_tlp_length(bytes) != 1) return std::nullopt;
  const Range range = range_of(bytes, exrnic_tlp_register_place(bytes + EXRNIC_TLP_BYTES));
  Request request;
  request.kind = write ? Request::Kind::kConfigWrite : Request::Kind::kConfigRead;
  request.tag = static_cast<uint8_t>(exrnic_tlp_tag(bytes));
  request.address = range.address;
  request.length = range.length;
  if (write) request.data = data_of(bytes, size, kHeader, offset_of(range.address), range.length);
  return request;
}

std::optional<Tlp> decode_completion(const uint8_t* bytes, size_t size, bool has_data) {
  if (size < EXRNIC_TLP_COMPLETION_BYTES) return std::nullopt;
  Completion completion;
  completion.tag = static_cast<uint8_t>(exrnic_tlp_completion_tag(bytes));
  completion.status = static_cast<exrnic_completion_status>(exrnic_tlp_completion_status(bytes));
  const auto left = static_cast<uint32_t>(exrnic_tlp_completion_byte_count(bytes));
  completion.left = left == 0 ? EXRNIC_PEB_REQUEST_MAX : left;
  completion.lower_address = static_cast<uint8_t>(exrnic_tlp_completion_lower_address(bytes));
  if (!has_data) return completion;
  const uint32_t offset = offset_of(completion.lower_address);
  const size_t behind = size - EXRNIC_TLP_COMPLETION_BYTES;
  if (behind <= offset) return std::nullopt;
  completion.data = data_of(bytes, size, EXRNIC_TLP_COMPLETION_BYTES, offset,
                            std::min<size_t>(completion.left, behind - offset));
  return completion;
}

std::optional<Tlp> decode_leniently(const uint8_t* bytes, size_t size) {
  if (size < EXRNIC_TLP_BYTES) return std::nullopt;
  switch (exrnic_tlp_kind(bytes)) {
    case EXRNIC_TLP_TYPE_READ:
      return decode_memory(bytes, size, false, false);
    case EXRNIC_TLP_TYPE_READ_64:
      return decode_memory(bytes, size, false, true);
    case EXRNIC_TLP_TYPE_WRITE:
      return decode_memory(bytes, size, true, false);
    case EXRNIC_TLP_TYPE_WRITE_64:
      return decode_memory(bytes, size, true, true);
    case EXRNIC_TLP_TYPE_CONFIG_READ:
      return decode_config(bytes, size, false);
    case EXRNIC_TLP_TYPE_CONFIG_WRITE:
      return decode_config(bytes, size, true);
    case EXRNIC_TLP_TYPE_COMPLETION:
      return decode_completion(bytes, size, false);
    case EXRNIC_TLP_TYPE_COMPLETION_DATA:
      return decode_completion(bytes, size, true);
    default:
      return std::nullopt;
  }
}

Bytes header_of(const Tlp& tlp, const Way& way) {
  return std::visit([&](const auto& each) { return header(each, way); }, tlp);
}

const Bytes* data_in(const Write& write) { return &write.data; }
const Bytes* data_in(const Request& request) {
  return request.kind == Request::Kind::kConfigWrite ? &request.data : nullptr;
}
const Bytes* data_in(const Completion& completion) {
  return completion.data.empty() ? nullptr : &completion.data;
}

// Bytes of the DWs that its data take.
size_t room_of_data(const Tlp& tlp) {
  return std::visit(
      [](const auto& each) {
        const Bytes* data = data_in(each);
        return data == nullptr ? size_t{0} : size_t{kDw} * dws_of(data_offset(each), data->size());
      },
      tlp);
}

}  // namespace

Bytes encode(const Tlp& tlp, const Way& way) {
  Bytes bytes = header_of(tlp, way);
  const size_t header = bytes.size();
  bytes.resize(header + room_of_data(tlp));
  std::visit(
      [&](const auto& each) {
        if (const Bytes* data = data_in(each))
          std::copy(data->begin(), data->end(),
                    bytes.begin() + static_cast<std::ptrdiff_t>(header + data_offset(each)));
      },
      tlp);
  return bytes;
}

// What is not meant by a field shows when the header is made anew: reserved bits, gaps in the byte
// enables, lengths that contradict each other, other nodes.
std::optional<Tlp> decode(const uint8_t* bytes, size_t size, const Way& way) {
  auto tlp = decode_leniently(bytes, size);
  if (!tlp) return std::nullopt;
  const Bytes* data = std::visit([](const auto& each) { return data_in(each); }, *tlp);
  const size_t room = room_of_data(*tlp);
  if ((data != nullptr && data->empty()) || room > EXRNIC_PEB_PAYLOAD_MAX + kDw)
    return std::nullopt;
  const Bytes header = header_of(*tlp, way);
  if (size != header.size() + room || !std::equal(header.begin(), header.end(), bytes))
    return std::nullopt;
  return tlp;
}

}  // namespace exrnic::peb

// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/protocol.h"

#include <linux/vfio.h>

#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <cstring>
#include <string>

namespace exrnic::vfio_user {
namespace {

// A payload as a peer would write it, field by field.
class Payload {
 public:
  Payload& u16(uint16_t value) { return put(&value, sizeof(value)); }
  Payload& u32(uint32_t value) { return put(&value, sizeof(value)); }
  Payload& u64(uint64_t value) { return put(&value, sizeof(value)); }
  Payload& text(const std::string& value) { return put(value.data(), value.size()); }
  Payload& zeros(size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  operator const Bytes&() const { return bytes_; }

 private:
  Payload& put(const void* data, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), bytes, bytes + size);
    return *this;
  }
  Bytes bytes_;
};

template <typename T>
bool is_malformed(const Parsed<T>& parsed) {
  const auto* fault = std::get_if<Fault>(&parsed);
  return fault != nullptr && fault->malformed && !fault->reason.empty();
}

template <typename T>
int refusal(const Parsed<T>& parsed) {  // 0: it was accepted
  const auto* fault = std::get_if<Fault>(&parsed);
  if (fault == nullptr) return 0;
  CHECK_FALSE(fault->malformed);
  CHECK_FALSE(fault->reason.empty());
  return fault->error;
}

// Every decoder must take exactly its size: neither a byte less nor one more.
template <typename Decode>
void check_every_other_size(Decode decode, const Bytes& good) {
  for (size_t size = 0; size <= good.size() + 9; ++size) {
    if (size == good.size()) continue;
    Bytes payload = good;
    payload.resize(size);
    INFO("size " << size);
    CHECK(is_malformed(decode(payload)));
  }
}

Header request_header() { return {7, 9, 32, 0, 0}; }

TEST_CASE("the header is sixteen bytes in the host's byte order") {
  const uint8_t bytes[16] = {0x34, 0x12, 9, 0, 32, 0, 0, 0, 0x10, 0, 0, 0, 5, 0, 0, 0};
  const Header header = decode_header(bytes);
  CHECK(header.id == 0x1234);
  CHECK(header.command == 9);
  CHECK(header.size == 32);
  CHECK_FALSE(header.wants_reply());
  CHECK(header.error == 5);
}

TEST_CASE("a command header with a wrong field is malformed") {
  CHECK_FALSE(is_malformed(check_request(request_header())));
  Header header = request_header();
  SECTION("a size below its own") { header.size = 15; }
  SECTION("a size of zero") { header.size = 0; }
  SECTION("a size above the limit") { header.size = kMaxMessageSize + 1; }
  SECTION("the largest size there is") { header.size = UINT32_MAX; }
  SECTION("the type of a reply") { header.flags = Header::kTypeReply; }
  SECTION("a type that does not exist") { header.flags = 2; }
  SECTION("the error flag") { header.flags = Header::kError; }
  SECTION("a flag that does not exist") { header.flags = 0x40; }
  SECTION("an error number") { header.error = 1; }
  CHECK(is_malformed(check_request(header)));
}

TEST_CASE("a command may ask for no reply") {
  Header header = request_header();
  header.flags = Header::kNoReply;
  CHECK_FALSE(is_malformed(check_request(header)));
}

TEST_CASE("only a reply is taken for a reply") {
  Header header = request_header();
  CHECK(is_malformed(check_reply(header)));
  header.flags = Header::kTypeReply;
  CHECK_FALSE(is_malformed(check_reply(header)));
  header.flags = Header::kTypeReply | Header::kError;
  CHECK_FALSE(is_malformed(check_reply(header)));
}

Payload version(const std::string& json) { return Payload().u16(0).u16(0).text(json).zeros(1); }

TEST_CASE("the version of QEMU is understood") {
  const auto parsed = decode_version(
      version(R"({"capabilities": {"pgsizes": 4096, "max_msg_fds": 16, "max_dma_maps": 65535,)"
              R"( "max_data_xfer_size": 1048576, "migration": {"pgsize": 4096},)"
              R"( "write_multiple": true}})"));
  REQUIRE(std::holds_alternative<Version>(parsed));
  const Capabilities& capabilities = std::get<Version>(parsed).capabilities;
  CHECK(capabilities.max_message_fds == 16);
  CHECK(capabilities.max_data_transfer == 1048576);
  CHECK(capabilities.write_multiple);
}

TEST_CASE("a version without capabilities has the defaults of the protocol") {
  for (const Bytes& payload : {Bytes(Payload().u16(0).u16(3)), Bytes(version("{}"))}) {
    const auto parsed = decode_version(payload);
    REQUIRE(std::holds_alternative<Version>(parsed));
    CHECK(std::get<Version>(parsed).capabilities.max_message_fds == 1);
    CHECK_FALSE(std::get<Version>(parsed).capabilities.write_multiple);
  }
}

TEST_CASE("a version that is not one is malformed") {
  CHECK(is_malformed(decode_version({})));
  CHECK(is_malformed(decode_version({0, 0, 0})));
  CHECK(is_malformed(decode_version(Payload().u16(1).u16(0))));
  CHECK(is_malformed(decode_version(Payload().u16(0).u16(0).text("{}"))));
  CHECK(is_malformed(decode_version(version(""))));
  CHECK(is_malformed(decode_version(version("[]"))));
  CHECK(is_malformed(decode_version(version("{\"capabilities\": "))));
  CHECK(is_malformed(decode_version(version("{\"capabilities\": 1}"))));
  CHECK(is_malformed(decode_version(version(R"({"capabilities": {"max_msg_fds": -1}})"))));
  CHECK(is_malformed(decode_version(version(R"({"capabilities": {"max_msg_fds": "8"}})"))));
  CHECK(is_malformed(decode_version(version(R"({"capabilities": {"max_data_xfer_size": {}}})"))));
  CHECK(is_malformed(decode_version(version(R"({"capabilities": {"write_multiple": 1}})"))));
  CHECK(is_malformed(decode_version(version("{\"a\": \"\xff\xfe\"}"))));
  CHECK(is_malformed(decode_version(version(std::string(kMaxMessageSize - 100, '[')))));
}

TEST_CASE("what is encoded as a version decodes to the same") {
  const auto parsed = decode_version(encode_version({0, 0, {5, 999, true}}));
  REQUIRE(std::holds_alternative<Version>(parsed));
  const Capabilities& capabilities = std::get<Version>(parsed).capabilities;
  CHECK(capabilities.max_message_fds == 5);
  CHECK(capabilities.max_data_transfer == 999);
  CHECK(capabilities.write_multiple);
}

Payload dma_map(uint32_t argsz, uint32_t flags, uint64_t offset, uint64_t address, uint64_t size) {
  return Payload().u32(argsz).u32(flags).u64(offset).u64(address).u64(size);
}

TEST_CASE("DMA_MAP gives file offset, address, size and rights") {
  const auto parsed = decode_dma_map(dma_map(32, 1, 0x3000, 0x10000, 0x2000));
  REQUIRE(std::holds_alternative<DmaMapRequest>(parsed));
  const auto& request = std::get<DmaMapRequest>(parsed);
  CHECK(request.readable);
  CHECK_FALSE(request.writable);
  CHECK(request.offset == 0x3000);
  CHECK(request.address == 0x10000);
  CHECK(request.size == 0x2000);
}

TEST_CASE("a DMA_MAP with a wrong field is refused") {
  const uint64_t page = kDmaPageSize;
  CHECK(refusal(decode_dma_map(dma_map(31, 3, 0, 0, page))) == EINVAL);
  CHECK(refusal(decode_dma_map(dma_map(32, 0, 0, 0, page))) == EINVAL);
  CHECK(refusal(decode_dma_map(dma_map(32, 4, 0, 0, page))) == EINVAL);
  CHECK(refusal(decode_dma_map(dma_map(32, 3, 0, 0, 0))) == EINVAL);
  CHECK(refusal(decode_dma_map(dma_map(32, 3, 0, 0, 1))) == EINVAL);
  CHECK(refusal(decode_dma_map(dma_map(32, 3, 0, 8, page))) == EINVAL);
  CHECK(refusal(decode_dma_map(dma_map(32, 3, 8, 0, page))) == EINVAL);
  CHECK(refusal(decode_dma_map(dma_map(32, 3, 0, 0 - page, 2 * page))) == EINVAL);
  CHECK(refusal(decode_dma_map(dma_map(32, 3, 0 - page, 0, 2 * page))) == EINVAL);
  CHECK(refusal(decode_dma_map(dma_map(32, 3, INT64_MAX - page + 1, 0, page))) == EINVAL);
  CHECK(refusal(decode_dma_map(dma_map(32, 3, 0, 0 - page, page))) == 0);
  check_every_other_size(decode_dma_map, dma_map(32, 3, 0, 0, page));
}

Payload dma_unmap(uint32_t argsz, uint32_t flags, uint64_t address, uint64_t size) {
  return Payload().u32(argsz).u32(flags).u64(address).u64(size);
}

TEST_CASE("a DMA_UNMAP with a wrong field is refused") {
  CHECK(refusal(decode_dma_unmap(dma_unmap(24, 0, 0x1000, 0x1000))) == 0);
  CHECK(refusal(decode_dma_unmap(dma_unmap(24, VFIO_DMA_UNMAP_FLAG_ALL, 0, 0))) == 0);
  CHECK(refusal(decode_dma_unmap(dma_unmap(24, VFIO_DMA_UNMAP_FLAG_ALL, 0, 1))) == EINVAL);
  CHECK(refusal(decode_dma_unmap(dma_unmap(24, VFIO_DMA_UNMAP_FLAG_ALL, 1, 0))) == EINVAL);
  CHECK(refusal(decode_dma_unmap(dma_unmap(23, 0, 0, 0x1000))) == EINVAL);
  CHECK(refusal(decode_dma_unmap(dma_unmap(24, 0, 0, 0))) == EINVAL);
  CHECK(refusal(decode_dma_unmap(dma_unmap(24, 0, UINT64_MAX, 2))) == EINVAL);
  CHECK(refusal(decode_dma_unmap(dma_unmap(24, VFIO_DMA_UNMAP_FLAG_VADDR, 0, 1))) == EINVAL);
  check_every_other_size(decode_dma_unmap, dma_unmap(24, 0, 0, 1));
}

TEST_CASE("a dirty bitmap is refused as not supported") {
  const uint32_t flags = VFIO_DMA_UNMAP_FLAG_GET_DIRTY_BITMAP;
  CHECK(refusal(decode_dma_unmap(dma_unmap(24, flags, 0, 0x1000))) == ENOTSUP);
}

TEST_CASE("a request for information with a wrong field is refused") {
  const auto info = [](uint32_t argsz, uint32_t flags) {
    return Payload().u32(argsz).u32(flags).zeros(8);
  };
  CHECK(refusal(decode_get_info(info(16, 0))) == 0);
  CHECK(refusal(decode_get_info(info(15, 0))) == EINVAL);
  CHECK(refusal(decode_get_info(info(16, 1))) == EINVAL);
  check_every_other_size(decode_get_info, info(16, 0));

  const auto region = [](uint32_t argsz, uint32_t flags, uint32_t index) {
    return Payload().u32(argsz).u32(flags).u32(index).zeros(20);
  };
  CHECK(refusal(decode_get_region_info(region(32, 0, 8))) == 0);
  CHECK(refusal(decode_get_region_info(region(4096, 0, 0))) == 0);
  CHECK(refusal(decode_get_region_info(region(31, 0, 0))) == EINVAL);
  CHECK(refusal(decode_get_region_info(region(32, 1, 0))) == EINVAL);
  CHECK(refusal(decode_get_region_info(region(32, 0, 9))) == EINVAL);
  CHECK(refusal(decode_get_region_info(region(32, 0, UINT32_MAX))) == EINVAL);
  check_every_other_size(decode_get_region_info, region(32, 0, 0));

  const auto irq = [](uint32_t argsz, uint32_t flags, uint32_t index) {
    return Payload().u32(argsz).u32(flags).u32(index).zeros(4);
  };
  CHECK(refusal(decode_get_irq_info(irq(16, 0, 4))) == 0);
  CHECK(refusal(decode_get_irq_info(irq(12, 0, 0))) == EINVAL);
  CHECK(refusal(decode_get_irq_info(irq(16, 1, 0))) == EINVAL);
  CHECK(refusal(decode_get_irq_info(irq(16, 0, 5))) == EINVAL);
  check_every_other_size(decode_get_irq_info, irq(16, 0, 0));
}

Payload set_irqs(uint32_t argsz, uint32_t flags, uint32_t index, uint32_t start, uint32_t count) {
  return Payload().u32(argsz).u32(flags).u32(index).u32(start).u32(count);
}
constexpr uint32_t kNoneTrigger = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER;
constexpr uint32_t kBoolMask = VFIO_IRQ_SET_DATA_BOOL | VFIO_IRQ_SET_ACTION_MASK;
constexpr uint32_t kEventfdTrigger = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;

TEST_CASE("SET_IRQS names data, action and vectors") {
  const auto parsed = decode_set_irqs(set_irqs(23, kBoolMask, 2, 5, 3).text({1, 0, 1}));
  REQUIRE(std::holds_alternative<SetIrqsRequest>(parsed));
  const auto& request = std::get<SetIrqsRequest>(parsed);
  CHECK(request.data == IrqData::kBool);
  CHECK(request.action == IrqAction::kMask);
  CHECK(request.index == 2);
  CHECK(request.start == 5);
  CHECK(request.count == 3);
  CHECK(request.selected == std::vector<bool>{true, false, true});
}

TEST_CASE("a SET_IRQS with a wrong field is refused") {
  CHECK(refusal(decode_set_irqs(set_irqs(20, kNoneTrigger, 2, 0, 0))) == 0);
  CHECK(refusal(decode_set_irqs(set_irqs(20, kEventfdTrigger, 2, 0, 4))) == 0);
  CHECK(refusal(decode_set_irqs(set_irqs(19, kNoneTrigger, 2, 0, 1))) == EINVAL);
  CHECK(refusal(decode_set_irqs(set_irqs(21, kNoneTrigger, 2, 0, 1))) == EINVAL);
  CHECK(refusal(decode_set_irqs(set_irqs(20, kNoneTrigger, 5, 0, 1))) == EINVAL);
  CHECK(refusal(decode_set_irqs(set_irqs(20, 0, 2, 0, 1))) == EINVAL);
  CHECK(refusal(decode_set_irqs(set_irqs(20, VFIO_IRQ_SET_DATA_NONE, 2, 0, 1))) == EINVAL);
  CHECK(refusal(decode_set_irqs(set_irqs(20, VFIO_IRQ_SET_ACTION_MASK, 2, 0, 1))) == EINVAL);
  CHECK(refusal(decode_set_irqs(set_irqs(20, kNoneTrigger | kBoolMask, 2, 0, 1))) == EINVAL);
  CHECK(refusal(decode_set_irqs(set_irqs(20, kNoneTrigger | 0x40, 2, 0, 1))) == EINVAL);
  CHECK(refusal(decode_set_irqs(set_irqs(20, kNoneTrigger, 2, 1, 0))) == EINVAL);
  CHECK(refusal(decode_set_irqs(set_irqs(20, kEventfdTrigger, 2, 0, 0))) == EINVAL);
  check_every_other_size(decode_set_irqs, set_irqs(20, kNoneTrigger, 2, 0, 1));
  check_every_other_size(decode_set_irqs, set_irqs(22, kBoolMask, 2, 0, 2).zeros(2));
}

TEST_CASE("a count of booleans near 2^32 does not wrap") {
  CHECK(is_malformed(decode_set_irqs(set_irqs(20, kBoolMask, 2, 0, UINT32_MAX - 19))));
  CHECK(is_malformed(decode_set_irqs(set_irqs(20, kBoolMask, 2, 0, UINT32_MAX))));
}

Payload access(uint64_t offset, uint32_t region, uint32_t count) {
  return Payload().u64(offset).u32(region).u32(count);
}

TEST_CASE("a REGION_READ with a wrong field is refused") {
  CHECK(refusal(decode_region_read(access(0, 7, 4096))) == 0);
  CHECK(refusal(decode_region_read(access(0, 7, 0))) == EINVAL);
  CHECK(refusal(decode_region_read(access(0, 7, 4097))) == EINVAL);
  CHECK(refusal(decode_region_read(access(0, 7, UINT32_MAX))) == EINVAL);
  CHECK(refusal(decode_region_read(access(0, 9, 4))) == EINVAL);
  CHECK(refusal(decode_region_read(access(UINT64_MAX - 2, 0, 4))) == EINVAL);
  check_every_other_size(decode_region_read, access(0, 0, 4));
}

TEST_CASE("a REGION_WRITE carries exactly the bytes that it counts") {
  const Bytes good = access(8, 2, 4).u32(0x04030201);
  const auto parsed = decode_region_write(good);
  REQUIRE(std::holds_alternative<RegionWrite>(parsed));
  const auto& write = std::get<RegionWrite>(parsed);
  CHECK(write.access.offset == 8);
  CHECK(write.access.region == 2);
  CHECK(write.access.count == 4);
  CHECK(std::memcmp(write.data, "\x01\x02\x03\x04", 4) == 0);
  check_every_other_size(decode_region_write, good);
  CHECK(is_malformed(decode_region_write(access(0, 0, UINT32_MAX).u32(0))));
  CHECK(refusal(decode_region_write(access(0, 0, 0))) == EINVAL);
  CHECK(refusal(decode_region_write(access(0, 9, 4).u32(0))) == EINVAL);
}

TEST_CASE("REGION_WRITE_MULTI holds as many writes as it counts") {
  const uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const Bytes good = encode_region_write_multi({{{16, 2, 8}, data}, {{24, 0, 4}, data}});
  const auto parsed = decode_region_write_multi(good);
  REQUIRE(std::holds_alternative<std::vector<RegionWrite>>(parsed));
  const auto& writes = std::get<std::vector<RegionWrite>>(parsed);
  REQUIRE(writes.size() == 2);
  CHECK(writes[0].access.offset == 16);
  CHECK(std::memcmp(writes[0].data, data, 8) == 0);
  CHECK(writes[1].access.region == 0);
  CHECK(std::memcmp(writes[1].data, data, 4) == 0);
  check_every_other_size(decode_region_write_multi, good);
}

TEST_CASE("a REGION_WRITE_MULTI with a wrong count is malformed") {
  for (const uint64_t count : {uint64_t{0}, uint64_t{2}, UINT64_MAX, (UINT64_MAX / 24) + 2}) {
    CHECK(is_malformed(decode_region_write_multi(Payload().u64(count).zeros(24))));
  }
  const Bytes nine_bytes = Payload().u64(1).u64(0).u32(0).u32(9).u64(0);
  CHECK(refusal(decode_region_write_multi(nine_bytes)) == EINVAL);
}

TEST_CASE("what the client encodes is what the server decodes") {
  const auto map = decode_dma_map(encode_dma_map({true, false, 0x1000, 0x4000, 0x2000}));
  REQUIRE(std::holds_alternative<DmaMapRequest>(map));
  CHECK(std::get<DmaMapRequest>(map).address == 0x4000);
  CHECK_FALSE(std::get<DmaMapRequest>(map).writable);
  const auto unmap = decode_dma_unmap(encode_dma_unmap({true, 0, 0}));
  REQUIRE(std::holds_alternative<DmaUnmapRequest>(unmap));
  CHECK(std::get<DmaUnmapRequest>(unmap).all);
  const SetIrqsRequest wanted{IrqData::kBool, IrqAction::kUnmask, 2, 1, 2, {true, false}};
  const auto irqs = decode_set_irqs(encode_set_irqs(wanted));
  REQUIRE(std::holds_alternative<SetIrqsRequest>(irqs));
  CHECK(std::get<SetIrqsRequest>(irqs).action == IrqAction::kUnmask);
  CHECK(std::get<SetIrqsRequest>(irqs).selected == wanted.selected);
}

}  // namespace
}  // namespace exrnic::vfio_user

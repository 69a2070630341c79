// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/client.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "sim/vfio_user/wire.h"

namespace exrnic::vfio_user {
namespace {

using Clock = std::chrono::steady_clock;

uint16_t number(Command command) { return static_cast<uint16_t>(command); }

template <typename T>
bool load_reply(const Bytes& payload, T* out) {
  if (payload.size() < sizeof(T)) return false;
  std::memcpy(out, payload.data(), sizeof(T));
  return true;
}

}  // namespace

VfioUserClient::VfioUserClient(UniqueFd socket, Options options)
    : connection_(std::move(socket), Connection::Peer::kServer), options_(std::move(options)) {}

int VfioUserClient::fail(int error, std::string what) {
  last_error_ = std::move(what);
  return -error;
}

int VfioUserClient::send(uint16_t command, uint32_t flags, const Bytes& payload,
                         const std::vector<int>& fds) {
  const Header header{++next_id_, command, 0, flags, 0};
  if (!connection_.send(header, payload, fds)) {
    return fail(ECONNRESET, "sending command " + std::to_string(command) + " failed");
  }
  return 0;
}

int VfioUserClient::await(const Header& request, Message* reply) {
  const std::string awaited = "the reply to command " + std::to_string(request.command);
  const auto deadline = Clock::now() + std::chrono::milliseconds(options_.timeout_ms);
  for (;;) {
    if (!connection_.flush()) return fail(ECONNRESET, "waiting for " + awaited + ": server gone");
    switch (connection_.receive(reply)) {
      case Connection::Status::kMessage:
        if (reply->header.id == request.id && reply->header.command == request.command) return 0;
        return fail(EPROTO, "waiting for " + awaited + ": another reply came");
      case Connection::Status::kClosed:
        return fail(ECONNRESET, "waiting for " + awaited + ": the server closed the connection");
      case Connection::Status::kMalformed:
        return fail(EPROTO, "waiting for " + awaited + ": " + connection_.failure());
      case Connection::Status::kNothing:
        break;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return fail(ETIMEDOUT, "waited too long for " + awaited);
    if (options_.idle) {
      options_.idle();
      continue;
    }
    const int output = connection_.queued_bytes() > 0 ? POLLOUT : 0;
    pollfd fd{connection_.fd(), static_cast<short>(POLLIN | output), 0};
    ::poll(&fd, 1, static_cast<int>(left));
  }
}

int VfioUserClient::request(uint16_t command, const Bytes& payload, const std::vector<int>& fds,
                            Bytes* reply) {
  if (const int error = send(command, Header::kTypeCommand, payload, fds)) return error;
  Message message;
  if (const int error = await({next_id_, command, 0, 0, 0}, &message)) return error;
  if ((message.header.flags & Header::kError) != 0) {
    // The protocol allows an error without a number.
    const int error = message.header.error != 0 ? static_cast<int>(message.header.error) : EIO;
    return fail(error, "command " + std::to_string(command) + ": " + strerror(error));
  }
  if (reply != nullptr) *reply = std::move(message.payload);
  return 0;
}

int VfioUserClient::negotiate() {
  const Version mine{kMajorVersion, kMinorVersion, {kMaxMessageFds, kMaxDataTransfer, true}};
  Bytes reply;
  if (const int error = request(number(Command::kVersion), encode_version(mine), {}, &reply)) {
    return error;
  }
  const Parsed<Version> version = decode_version(reply);
  if (const auto* fault = std::get_if<Fault>(&version)) return fail(EPROTO, fault->reason);
  server_ = std::get<Version>(version).capabilities;
  return 0;
}

int VfioUserClient::dma_map(const DmaMapRequest& map, int fd) {
  const std::vector<int> fds = fd < 0 ? std::vector<int>() : std::vector<int>{fd};
  return request(number(Command::kDmaMap), encode_dma_map(map), fds, nullptr);
}

int VfioUserClient::dma_unmap(const DmaUnmapRequest& unmap) {
  return request(number(Command::kDmaUnmap), encode_dma_unmap(unmap), {}, nullptr);
}

int VfioUserClient::get_device_info(DeviceInfo* info) {
  Bytes reply;
  const int error =
      request(number(Command::kDeviceGetInfo), encode_device_info(0, 0, 0), {}, &reply);
  if (error != 0) return error;
  struct {
    uint32_t argsz, flags, regions, irqs;
  } wire;
  if (!load_reply(reply, &wire)) return fail(EPROTO, "short reply to DEVICE_GET_INFO");
  *info = {wire.flags, wire.regions, wire.irqs};
  return 0;
}

int VfioUserClient::get_region_info(uint32_t region, RegionInfo* info) {
  Bytes reply;
  const int error =
      request(number(Command::kDeviceGetRegionInfo), encode_region_info(0, region, 0), {}, &reply);
  if (error != 0) return error;
  vfio_region_info wire;
  if (!load_reply(reply, &wire)) return fail(EPROTO, "short reply to GET_REGION_INFO");
  *info = {wire.flags, wire.size};
  return 0;
}

int VfioUserClient::get_irq_info(uint32_t index, IrqInfo* info) {
  Bytes reply;
  const int error =
      request(number(Command::kDeviceGetIrqInfo), encode_irq_info(0, index, 0), {}, &reply);
  if (error != 0) return error;
  vfio_irq_info wire;
  if (!load_reply(reply, &wire)) return fail(EPROTO, "short reply to GET_IRQ_INFO");
  *info = {wire.flags, wire.count};
  return 0;
}

int VfioUserClient::set_irqs(const SetIrqsRequest& irqs, const std::vector<int>& eventfds) {
  return request(number(Command::kDeviceSetIrqs), encode_set_irqs(irqs), eventfds, nullptr);
}

int VfioUserClient::read(uint32_t region, uint64_t offset, void* out, size_t length) {
  const RegionAccess access{offset, region, static_cast<uint32_t>(length)};
  Bytes reply;
  const int error =
      request(number(Command::kRegionRead), encode_region_access(access, nullptr, 0), {}, &reply);
  if (error != 0) return error;
  if (reply.size() != sizeof(RegionAccessWire) + length) {
    return fail(EPROTO, "reply to REGION_READ with " + std::to_string(reply.size()) + " bytes");
  }
  std::memcpy(out, reply.data() + sizeof(RegionAccessWire), length);
  return 0;
}

int VfioUserClient::write(uint32_t region, uint64_t offset, const void* data, size_t length) {
  const RegionAccess access{offset, region, static_cast<uint32_t>(length)};
  return request(number(Command::kRegionWrite),
                 encode_region_access(access, static_cast<const uint8_t*>(data), length), {},
                 nullptr);
}

int VfioUserClient::post(uint32_t region, uint64_t offset, const void* data, size_t length) {
  const RegionAccess access{offset, region, static_cast<uint32_t>(length)};
  return send(number(Command::kRegionWrite), Header::kNoReply,
              encode_region_access(access, static_cast<const uint8_t*>(data), length), {});
}

int VfioUserClient::post_many(const std::vector<RegionWrite>& writes) {
  return send(number(Command::kRegionWriteMulti), Header::kNoReply,
              encode_region_write_multi(writes), {});
}

int VfioUserClient::reset_device() {
  return request(number(Command::kDeviceReset), {}, {}, nullptr);
}

}  // namespace exrnic::vfio_user

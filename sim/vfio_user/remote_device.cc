// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/remote_device.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include "sim/vfio_user/wire.h"

namespace exrnic::vfio_user {
namespace {

constexpr size_t kMostServed = 64;  // of one service()
constexpr size_t kMostUnsent = 4 << 20;

}  // namespace

// ---- What is asked of it

void RemoteDevice::send(const Header& header, const Bytes& payload) {
  Connection& connection = client_.connection();
  connection.send(header, payload);  // a loss shows in service()
  if (connection.queued_bytes() > kMostUnsent) give_up("the server does not read");
}

void RemoteDevice::ask(Command command, const Bytes& payload, size_t reply_head,
                       size_t reply_length, ReadDone done) {
  if (!alive()) return done(nullptr);
  const auto number = static_cast<uint16_t>(command);
  // One that is under way keeps its identifier: there are never as many.
  do {
    ++last_id_;
  } while (requests_.count(last_id_) != 0);
  order_.push_back(last_id_);
  requests_[last_id_] = {number, reply_head, reply_length, server_time() + limits_.answer,
                         std::move(done)};
  send({last_id_, number, 0, Header::kTypeCommand, 0}, payload);
}

void RemoteDevice::read(uint32_t region, uint64_t offset, uint32_t length, ReadDone done) {
  assert(length >= 1 && length <= kMaxDataTransfer);
  ask(Command::kRegionRead, encode_region_access({offset, region, length}, nullptr, 0),
      sizeof(RegionAccessWire), length, std::move(done));
  ping();
}

void RemoteDevice::write(uint32_t region, uint64_t offset, const Bytes& data) {
  assert(!data.empty() && data.size() <= kMaxDataTransfer);
  if (!alive()) return;
  const RegionAccess access{offset, region, static_cast<uint32_t>(data.size())};
  send({0, static_cast<uint16_t>(Command::kRegionWrite), 0, Header::kTypeCommand | Header::kNoReply,
        0},
       encode_region_access(access, data.data(), data.size()));
  ping();
}

void RemoteDevice::reset(ReadDone done) {
  ask(Command::kDeviceReset, {}, 0, 0, std::move(done));
  ping();
}

// Something that is answered, behind what was sent: the server has then done what that made it do.
void RemoteDevice::ping() {
  ping_again_ = ping_under_way_;
  if (ping_under_way_ || !alive()) return;
  ping_under_way_ = true;
  ask(Command::kDeviceGetInfo, encode_device_info(0, 0, 0), 0, 0, [this](const Bytes*) {
    ping_under_way_ = false;
    if (!alive()) return;
    // What it has signalled before is heard of before it has settled.
    note_interrupts();
    if (ping_again_) ping();
  });
}

// Stands still while the server waits for the host.
RemoteDevice::Clock::time_point RemoteDevice::server_time() const {
  return (dmas_ > 0 ? dmas_since_ : Clock::now()) - waited_for_host_;
}

// ---- What comes from it

bool RemoteDevice::service() {
  if (!alive()) return false;
  Connection& connection = client_.connection();
  if (!connection.flush()) give_up("the server has left");
  // Looked at before the messages, and told behind them: no interrupt overtakes DMA.
  bool worked = note_interrupts();
  bool drained = false;
  for (size_t i = 0; i < kMostServed && alive(); ++i) {
    Message message;
    const Connection::Status status = connection.receive(&message);
    drained = status == Connection::Status::kNothing;
    if (drained) break;
    worked = true;
    if (status == Connection::Status::kClosed) give_up("the server has left");
    if (status == Connection::Status::kMalformed) give_up(connection.failure());
    if (status == Connection::Status::kMessage) take(message);
  }
  if (drained && alive()) worked |= tell_interrupts();
  if (alive() && !order_.empty() && requests_.at(order_.front()).deadline <= server_time()) {
    give_up("no answer to command " + std::to_string(requests_.at(order_.front()).command) +
            " within " + std::to_string(limits_.answer.count()) + " ms");
    worked = true;
  }
  return worked;
}

void RemoteDevice::take(Message& message) {
  if (!message.fds.empty()) return give_up("file descriptors from the server");
  if (message.header.is_reply()) return take_reply(message);
  const auto command = static_cast<Command>(message.header.command);
  if (command != Command::kDmaRead && command != Command::kDmaWrite) {
    return give_up("command " + std::to_string(message.header.command) + " from the server");
  }
  if (dmas_ >= limits_.dmas) {
    return give_up("more than " + std::to_string(limits_.dmas) + " DMA accesses at one time");
  }
  if (command == Command::kDmaRead) return take_dma_read(message);
  take_dma_write(message);
}

void RemoteDevice::take_reply(const Message& message) {
  const auto found = requests_.find(message.header.id);
  if (found == requests_.end() || found->second.command != message.header.command) {
    return give_up("a reply to what nobody has asked");
  }
  const Request& request = found->second;
  const bool refused = (message.header.flags & Header::kError) != 0;
  // A server may say more of itself in front; behind that is what was asked for, or nothing.
  if (!refused && request.reply_length > 0 &&
      message.payload.size() != request.reply_head + request.reply_length) {
    return give_up("a reply to command " + std::to_string(request.command) + " with " +
                   std::to_string(message.payload.size()) + " bytes instead of " +
                   std::to_string(request.reply_head + request.reply_length));
  }
  const ReadDone done = std::move(found->second.done);
  const size_t length = request.reply_length;
  requests_.erase(found);
  order_.erase(std::find(order_.begin(), order_.end(), message.header.id));
  if (refused) return done(nullptr);
  const Bytes data(message.payload.end() - static_cast<std::ptrdiff_t>(length),
                   message.payload.end());
  done(&data);
}

void RemoteDevice::take_dma_read(const Message& message) {
  const Parsed<DmaAccess> parsed = decode_dma_read(message.payload);
  if (const auto* fault = std::get_if<Fault>(&parsed)) return give_up(fault->reason);
  const auto& access = std::get<DmaAccess>(parsed);
  if (dmas_++ == 0) dmas_since_ = Clock::now();
  host_.dma_read(access.address, static_cast<size_t>(access.count),
                 [self = std::weak_ptr(self_), header = message.header, access](const Bytes* data) {
                   const auto device = self.lock();
                   if (!device) return;
                   if (data == nullptr || data->size() != access.count)
                     return (*device)->answer(header, EFAULT, {});
                   (*device)->answer(header, 0,
                                     encode_dma_access(access, data->data(), data->size()));
                 });
}

void RemoteDevice::take_dma_write(const Message& message) {
  const Parsed<DmaWrite> parsed = decode_dma_write(message.payload);
  if (const auto* fault = std::get_if<Fault>(&parsed)) return give_up(fault->reason);
  const auto& write = std::get<DmaWrite>(parsed);
  if (dmas_++ == 0) dmas_since_ = Clock::now();
  host_.dma_write(
      write.access.address, Bytes(write.data, write.data + write.access.count),
      [self = std::weak_ptr(self_), header = message.header, access = write.access](bool written) {
        const auto device = self.lock();
        if (!device) return;
        (*device)->answer(header, written ? 0 : EFAULT,
                          written ? encode_dma_access(access, nullptr, 0) : Bytes());
      });
}

void RemoteDevice::answer(const Header& request, int error, const Bytes& payload) {
  if (--dmas_ == 0) waited_for_host_ += Clock::now() - dmas_since_;
  if (!alive() || !request.wants_reply()) return;
  const uint32_t flags = Header::kTypeReply | (error != 0 ? Header::kError : 0);
  send({request.id, request.command, 0, flags, static_cast<uint32_t>(error)}, payload);
  ping();
}

// However often a vector was signalled since the last look, it interrupts once, as MSI-X may.
bool RemoteDevice::note_interrupts() {
  std::vector<pollfd> fds;
  for (const UniqueFd& fd : interrupts_) fds.push_back({fd.get(), POLLIN, 0});
  if (fds.empty() || ::poll(fds.data(), fds.size(), 0) <= 0) return false;
  for (unsigned vector = 0; vector < fds.size(); ++vector) {
    uint64_t times;
    if (fds[vector].revents != 0 && ::read(fds[vector].fd, &times, sizeof times) == sizeof times)
      noted_.insert(vector);
  }
  return true;
}

bool RemoteDevice::tell_interrupts() {
  const std::set<unsigned> noted = std::exchange(noted_, {});
  for (const unsigned vector : noted) host_.interrupt(vector);
  return !noted.empty();
}

void RemoteDevice::give_up(const std::string& reason) {
  if (!alive()) return;
  end_reason_ = reason;
  client_.connection().shut_down();
  order_.clear();
  for (auto& [id, request] : std::exchange(requests_, {})) request.done(nullptr);
}

void RemoteDevice::append_poll_fds(std::vector<pollfd>& fds) {
  if (!alive()) return;
  Connection& connection = client_.connection();
  const int output = connection.queued_bytes() > 0 ? POLLOUT : 0;
  fds.push_back({connection.fd(), static_cast<short>(POLLIN | output), 0});
  for (const UniqueFd& fd : interrupts_) fds.push_back({fd.get(), POLLIN, 0});
}

int RemoteDevice::poll_timeout_ms() const {
  if (!alive() || order_.empty() || dmas_ > 0) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      requests_.at(order_.front()).deadline - server_time());
  return static_cast<int>(std::max<int64_t>(0, left.count()));
}

}  // namespace exrnic::vfio_user

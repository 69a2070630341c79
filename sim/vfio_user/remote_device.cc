// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/remote_device.h"

#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "sim/vfio_user/wire.h"

namespace exrnic::vfio_user {
namespace {

constexpr size_t kMostServed = 64;  // of one service()
constexpr size_t kMostUnsent = 4 << 20;
constexpr uint64_t kLeastBar = 16;
constexpr unsigned kMostVectors = PCI_MSIX_FLAGS_QSIZE + 1;
constexpr size_t kLeastConfig = PCI_CFG_SPACE_SIZE;
constexpr size_t kMostConfig = PCI_CFG_SPACE_EXP_SIZE;

// All that a host has: which of it the device may reach, the host knows.
constexpr uint64_t kEveryAddress = (uint64_t{1} << 63) - kDmaPageSize;

[[noreturn]] void refuse(const std::string& reason) { throw std::runtime_error(reason); }

VfioUserClient::Options client_options(std::chrono::milliseconds limit) {
  VfioUserClient::Options options;
  options.timeout_ms = static_cast<int>(limit.count());
  return options;
}

}  // namespace

// ---- What the device is

RemoteDevice::RemoteDevice(UniqueFd socket, RemoteHost& host, const Limits& limits)
    : host_(host), limits_(limits), client_(std::move(socket), client_options(limits.answer)) {
  discover();
  client_.connection().talk_both_ways();
}

void RemoteDevice::require(int error) {
  if (error != 0) refuse(client_.last_error());
}

void RemoteDevice::discover() {
  require(client_.negotiate());
  VfioUserClient::DeviceInfo info;
  require(client_.get_device_info(&info));
  if ((info.flags & VFIO_DEVICE_FLAGS_PCI) == 0) refuse("the device is none of PCI");
  find_regions(info.regions);
  find_interrupts(info.irqs);
  require(client_.dma_map({true, true, 0, 0, kEveryAddress}, -1));
}

void RemoteDevice::find_regions(unsigned regions) {
  if (regions <= VFIO_PCI_CONFIG_REGION_INDEX) {
    refuse("the device has " + std::to_string(regions) + " regions, none of configuration");
  }
  VfioUserClient::RegionInfo info;
  require(client_.get_region_info(VFIO_PCI_CONFIG_REGION_INDEX, &info));
  if (info.size < kLeastConfig || info.size > kMostConfig) {
    refuse("the configuration space has " + std::to_string(info.size) + " bytes");
  }
  config_bytes_ = static_cast<size_t>(info.size);
  require(client_.read(VFIO_PCI_CONFIG_REGION_INDEX, 0, header_.data(), header_.size()));
  if ((header_[PCI_HEADER_TYPE] & PCI_HEADER_TYPE_MASK) != PCI_HEADER_TYPE_NORMAL) {
    refuse("the device has a header of type " + std::to_string(header_[PCI_HEADER_TYPE]));
  }
  for (unsigned index = 0; index < PCI_STD_NUM_BARS; ++index) {
    require(client_.get_region_info(VFIO_PCI_BAR0_REGION_INDEX + index, &info));
    if (info.size > 0) find_bar(index, info.size);
  }
}

void RemoteDevice::find_bar(unsigned index, uint64_t size) {
  const std::string name = "BAR " + std::to_string(index);
  if (size < kLeastBar || size > limits_.bar_bytes || (size & (size - 1)) != 0) {
    refuse(name + " has " + std::to_string(size) + " bytes; a power of two from " +
           std::to_string(kLeastBar) + " to " + std::to_string(limits_.bar_bytes) + " is possible");
  }
  const auto type = load<uint32_t>(header_.data() + PCI_BASE_ADDRESS_0 + 4 * index);
  if ((type & PCI_BASE_ADDRESS_SPACE) == PCI_BASE_ADDRESS_SPACE_IO) {
    refuse(name + " is one of I/O ports");
  }
  const bool is_64bit = (type & PCI_BASE_ADDRESS_MEM_TYPE_MASK) == PCI_BASE_ADDRESS_MEM_TYPE_64;
  const bool taken = !bars_.empty() && bars_.back().is_64bit && bars_.back().index + 1 == index;
  if (taken || (is_64bit && index + 1 == PCI_STD_NUM_BARS)) {
    refuse(name + " is a half of one of 64 bits, and has a size of its own");
  }
  bars_.push_back({index, size, is_64bit, (type & PCI_BASE_ADDRESS_MEM_PREFETCH) != 0});
}

void RemoteDevice::find_interrupts(unsigned irqs) {
  VfioUserClient::IrqInfo info;
  if (irqs > VFIO_PCI_MSIX_IRQ_INDEX) {
    require(client_.get_irq_info(VFIO_PCI_MSIX_IRQ_INDEX, &info));
  }
  if (info.count > kMostVectors) {
    refuse("the device has " + std::to_string(info.count) + " MSI-X vectors; " +
           std::to_string(kMostVectors) + " are possible");
  }
  const size_t at_once =
      std::clamp<uint64_t>(client_.server_capabilities().max_message_fds, 1, kMaxMessageFds);
  while (interrupts_.size() < info.count) {
    SetIrqsRequest request;
    request.data = IrqData::kEventfd;
    request.action = IrqAction::kTrigger;
    request.index = VFIO_PCI_MSIX_IRQ_INDEX;
    request.start = static_cast<uint32_t>(interrupts_.size());
    request.count = static_cast<uint32_t>(std::min(at_once, info.count - interrupts_.size()));
    std::vector<int> fds;
    for (uint32_t i = 0; i < request.count; ++i) {
      interrupts_.emplace_back(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
      if (!interrupts_.back()) refuse(std::string("an eventfd: ") + strerror(errno));
      fds.push_back(interrupts_.back().get());
    }
    require(client_.set_irqs(request, fds));
  }
}

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
  requests_[last_id_] = {number, reply_head, reply_length, Clock::now() + limits_.answer,
                         std::move(done)};
  send({last_id_, number, 0, Header::kTypeCommand, 0}, payload);
}

void RemoteDevice::read(uint32_t region, uint64_t offset, uint32_t length, ReadDone done) {
  assert(length >= 1 && length <= kMaxDataTransfer);
  ask(Command::kRegionRead, encode_region_access({offset, region, length}, nullptr, 0),
      sizeof(RegionAccessWire), length, std::move(done));
}

void RemoteDevice::write(uint32_t region, uint64_t offset, const Bytes& data) {
  assert(!data.empty() && data.size() <= kMaxDataTransfer);
  if (!alive()) return;
  const RegionAccess access{offset, region, static_cast<uint32_t>(data.size())};
  send({0, static_cast<uint16_t>(Command::kRegionWrite), 0, Header::kTypeCommand | Header::kNoReply,
        0},
       encode_region_access(access, data.data(), data.size()));
}

void RemoteDevice::reset(ReadDone done) { ask(Command::kDeviceReset, {}, 0, 0, std::move(done)); }

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
  if (drained && alive())
    for (const unsigned vector : std::exchange(noted_, {})) host_.interrupt(vector);
  if (alive() && !order_.empty() && requests_.at(order_.front()).deadline <= Clock::now()) {
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
  ++dmas_;
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
  ++dmas_;
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
  --dmas_;
  if (!alive() || !request.wants_reply()) return;
  const uint32_t flags = Header::kTypeReply | (error != 0 ? Header::kError : 0);
  send({request.id, request.command, 0, flags, static_cast<uint32_t>(error)}, payload);
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
  if (!alive() || order_.empty()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      requests_.at(order_.front()).deadline - Clock::now());
  return static_cast<int>(std::max<int64_t>(0, left.count()));
}

}  // namespace exrnic::vfio_user

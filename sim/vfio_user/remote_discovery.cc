// SPDX-License-Identifier: BSD-2-Clause
// What a device is: how RemoteDevice finds out.
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "sim/vfio_user/remote_device.h"
#include "sim/vfio_user/wire.h"

namespace exrnic::vfio_user {
namespace {

constexpr uint64_t kLeastBar = 16;
constexpr unsigned kMostVectors = PCI_MSIX_FLAGS_QSIZE + 1;
constexpr size_t kLeastConfig = PCI_CFG_SPACE_SIZE;
constexpr size_t kMostConfig = PCI_CFG_SPACE_EXP_SIZE;

// All that a host has: which of it the device may reach, the host knows.
constexpr uint64_t kEveryAddress = (uint64_t{1} << 63) - kDmaPageSize;

// Capabilities stand at dwords behind the header: there are no more, even if their list is a ring.
constexpr unsigned kMostCapabilities = (PCI_CFG_SPACE_SIZE - PCI_STD_HEADER_SIZEOF) / 4;
constexpr unsigned kPendingBitsAtOnce = 64;

[[noreturn]] void refuse(const std::string& reason) { throw std::runtime_error(reason); }

pid_t process_at(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer.pid : 0;
}

VfioUserClient::Options client_options(std::chrono::milliseconds limit) {
  VfioUserClient::Options options;
  options.timeout_ms = static_cast<int>(limit.count());
  return options;
}

// Where MSI-X stands among the capabilities; 0: nowhere.
unsigned find_msix_capability(const Bytes& config) {
  if ((config[PCI_STATUS] & PCI_STATUS_CAP_LIST) == 0) return 0;
  unsigned at = config[PCI_CAPABILITY_LIST];
  for (unsigned i = 0; i < kMostCapabilities; ++i) {
    at &= ~3u;
    if (at < PCI_STD_HEADER_SIZEOF) return 0;
    if (config[at + PCI_CAP_LIST_ID] == PCI_CAP_ID_MSIX) return at;
    at = config[at + PCI_CAP_LIST_NEXT];
  }
  return 0;
}

}  // namespace

RemoteDevice::RemoteDevice(UniqueFd socket, RemoteHost& host, const Limits& limits)
    : host_(host),
      limits_(limits),
      server_process_(process_at(socket.get())),
      client_(std::move(socket), client_options(limits.answer)) {
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
  Bytes config(PCI_CFG_SPACE_SIZE);
  require(client_.read(VFIO_PCI_CONFIG_REGION_INDEX, 0, config.data(), config.size()));
  find_msix(config);
  if (info.count == 0) return;
  if (!msix_) {
    refuse("the device has " + std::to_string(info.count) +
           " MSI-X vectors, and no table of them in its BARs");
  }
  take_interrupts(std::min(info.count, msix_->vectors));
}

void RemoteDevice::find_msix(const Bytes& config) {
  const unsigned at = find_msix_capability(config);
  // Of a capability that begins in the last dwords nothing would be there.
  if (at == 0 || at + PCI_CAP_MSIX_SIZEOF > config.size()) return;
  const auto flags = load<uint16_t>(config.data() + at + PCI_MSIX_FLAGS);
  const auto table = load<uint32_t>(config.data() + at + PCI_MSIX_TABLE);
  const auto pba = load<uint32_t>(config.data() + at + PCI_MSIX_PBA);
  const unsigned vectors = (flags & PCI_MSIX_FLAGS_QSIZE) + 1u;
  const MsixTable found{
      at,      table & PCI_MSIX_TABLE_BIR, table & PCI_MSIX_TABLE_OFFSET, pba & PCI_MSIX_PBA_OFFSET,
      vectors, pba & PCI_MSIX_PBA_BIR};
  const uint64_t pending_bytes = (vectors + kPendingBitsAtOnce - 1) / kPendingBitsAtOnce * 8;
  if (within_bar(found.bar, found.table_offset, uint64_t{PCI_MSIX_ENTRY_SIZE} * vectors) &&
      within_bar(found.pba_bar, found.pba_offset, pending_bytes)) {
    msix_ = found;
  }
}

bool RemoteDevice::within_bar(unsigned index, uint64_t offset, uint64_t length) const {
  return std::any_of(bars_.begin(), bars_.end(), [&](const Bar& bar) {
    return bar.index == index && offset <= bar.size && length <= bar.size - offset;
  });
}

void RemoteDevice::take_interrupts(unsigned count) {
  const size_t at_once =
      std::clamp<uint64_t>(client_.server_capabilities().max_message_fds, 1, kMaxMessageFds);
  while (interrupts_.size() < count) {
    SetIrqsRequest request;
    request.data = IrqData::kEventfd;
    request.action = IrqAction::kTrigger;
    request.index = VFIO_PCI_MSIX_IRQ_INDEX;
    request.start = static_cast<uint32_t>(interrupts_.size());
    request.count = static_cast<uint32_t>(std::min(at_once, count - interrupts_.size()));
    std::vector<int> fds;
    for (uint32_t i = 0; i < request.count; ++i) {
      interrupts_.emplace_back(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
      if (!interrupts_.back()) refuse(std::string("an eventfd: ") + strerror(errno));
      fds.push_back(interrupts_.back().get());
    }
    require(client_.set_irqs(request, fds));
  }
}

}  // namespace exrnic::vfio_user

// SPDX-License-Identifier: BSD-2-Clause
#include "sim_link.h"

#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "exrnic_hw.h"
#include "sim/posix/unix_socket.h"
#include "sim_error.h"

namespace exrnic {

namespace {

using vfio_user::RegionWrite;
using vfio_user::VfioUserClient;

// This process is the only user of the device: it has all pages, and takes the first.
constexpr uint64_t kUserPage = 0;

constexpr int kLookMs = 100;  // between two looks at the clock while a reply is awaited

// A program that polls takes the processor that the simulator needs: it yields at one in so many
// empty looks.
constexpr uint32_t kLooksPerYield = 4;

UniqueFd Connect(const std::string& path) {
  try {
    return connect_unix(path);
  } catch (const std::system_error& error) {
    const int code = error.code().value();
    const bool absent = code == ENOENT || code == ECONNREFUSED;
    throw SimError(code, std::string(error.what()) + (absent ? " (is exrnic-sim running?)" : ""));
  } catch (const std::runtime_error& error) {
    throw SimError(EINVAL, error.what());
  }
}

// Whether the connection is of no use any more after this answer of the client.
bool IsLost(int error) { return error == -ECONNRESET || error == -EPROTO || error == -ETIMEDOUT; }

std::string Hex(uint32_t value) { return vfio_user::hex(value); }

}  // namespace

SimLink::SimLink(const std::string& path, std::chrono::milliseconds patience)
    : path_(path), patience_(patience) {
  UniqueFd socket = Connect(path);
  fd_ = socket.get();
  VfioUserClient::Options options;
  options.timeout_ms = static_cast<int>(patience.count());
  options.idle = [this] { WaitForReply(); };
  client_ = std::make_unique<VfioUserClient>(std::move(socket), std::move(options));
  Negotiate();
  CheckFunction();
  CheckRegions();
  EnableFunction();
}

SimLink::~SimLink() = default;

// Called with io_ held: others post while this thread waits.
void SimLink::WaitForReply() {
  io_.unlock();
  pollfd ready = {fd_, POLLIN, 0};
  poll(&ready, 1, kLookMs);
  io_.lock();
}

void SimLink::CutLocked(const std::string& why) {
  if (!usable_.exchange(false)) return;
  why_cut_ = path_ + ": " + why;
  // The simulator drops all grants when it sees the end of the stream.
  shutdown(fd_, SHUT_RDWR);
}

void SimLink::Cut(const std::string& why) {
  std::lock_guard<std::mutex> guard(io_);
  CutLocked(why);
}

void SimLink::ThrowCut() { throw SimError(ENODEV, why_cut_); }

template <typename Call>
void SimLink::Request(const std::string& what, Call call) {
  std::lock_guard<std::mutex> request(requests_);
  std::lock_guard<std::mutex> io(io_);
  if (!usable_) ThrowCut();
  const int error = call(*client_);
  if (error == 0) return;
  const std::string text = what + ": " + client_->last_error();
  if (!IsLost(error)) throw SimError(-error, path_ + ": " + text);
  CutLocked(text);
  throw SimError(error == -ETIMEDOUT ? ETIMEDOUT : ENODEV, why_cut_);
}

// Nobody answers what is posted, so only a simulator that takes no more bytes makes it wait.
template <typename Call>
void SimLink::Post(Call call) {
  std::lock_guard<std::mutex> io(io_);
  if (!usable_) return;
  if (call(*client_) != 0) return CutLocked("the simulator is gone");
  if (client_->connection().queued_bytes() > 0) Drain();
}

void SimLink::Drain() {
  vfio_user::Connection& connection = client_->connection();
  const auto until = std::chrono::steady_clock::now() + patience_;
  while (connection.queued_bytes() > 0) {
    pollfd ready = {fd_, POLLOUT, 0};
    poll(&ready, 1, kLookMs);
    if (!connection.flush()) return CutLocked("the simulator is gone");
    if (std::chrono::steady_clock::now() >= until) {
      return CutLocked("the simulator took no byte for " + std::to_string(patience_.count()) +
                       " ms");
    }
  }
}

void SimLink::Negotiate() {
  try {
    Request("VERSION", [](VfioUserClient& client) { return client.negotiate(); });
  } catch (const SimError& error) {
    if (error.error() != ENODEV) throw;
    // It closed the connection, or sent what is none of vfio-user.
    throw SimError(EBUSY, std::string(error.what()) +
                              " (another process uses this node, or it is no node of exrnic-sim)");
  }
}

void SimLink::CheckFunction() {
  VfioUserClient::DeviceInfo info;
  Request("DEVICE_GET_INFO", [&](VfioUserClient& client) { return client.get_device_info(&info); });
  uint16_t id[2] = {0, 0};  // vendor, device
  if ((info.flags & VFIO_DEVICE_FLAGS_PCI) != 0) {
    Request("reading the PCI identifiers", [&](VfioUserClient& client) {
      return client.read(VFIO_PCI_CONFIG_REGION_INDEX, PCI_VENDOR_ID, id, sizeof(id));
    });
  }
  if (id[0] != EXRNIC_PCI_VENDOR_ID || id[1] != EXRNIC_PCI_DEVICE_ID) {
    throw SimError(ENODEV, path_ + ": a vfio-user device, but no exrnic: PCI identifiers " +
                               Hex(id[0]) + ", " + Hex(id[1]));
  }
}

void SimLink::CheckRegions() {
  constexpr std::pair<uint32_t, uint64_t> kNeeded[] = {
      {EXRNIC_BAR_REGISTERS, EXRNIC_BAR0_SIZE},
      {EXRNIC_BAR_USER, EXRNIC_USER_PAGE_SIZE},
  };
  for (const auto& [bar, size] : kNeeded) {
    VfioUserClient::RegionInfo info;
    Request("GET_REGION_INFO", [&, bar = bar](VfioUserClient& client) {
      return client.get_region_info(VFIO_PCI_BAR0_REGION_INDEX + bar, &info);
    });
    if (info.size >= size) continue;
    throw SimError(EPROTONOSUPPORT, path_ + ": BAR " + std::to_string(bar) + " has " +
                                        std::to_string(info.size) + " bytes, not " +
                                        std::to_string(size));
  }
  VfioUserClient::IrqInfo irqs;
  Request("GET_IRQ_INFO", [&](VfioUserClient& client) {
    return client.get_irq_info(VFIO_PCI_MSIX_IRQ_INDEX, &irqs);
  });
  vectors_ = irqs.count;
  if (vectors_ == 0) throw SimError(EPROTONOSUPPORT, path_ + ": the device has no MSI-X vector");
}

void SimLink::EnableFunction() {
  const uint16_t command = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER;
  Request("enabling the PCI function", [&](VfioUserClient& client) {
    return client.write(VFIO_PCI_CONFIG_REGION_INDEX, PCI_COMMAND, &command, sizeof(command));
  });
}

uint32_t SimLink::Read(uint32_t reg) {
  uint32_t value = 0;
  Request("reading register " + Hex(reg), [&](VfioUserClient& client) {
    return client.read(VFIO_PCI_BAR0_REGION_INDEX + EXRNIC_BAR_REGISTERS, reg, &value,
                       sizeof(value));
  });
  return value;
}

void SimLink::Write(const std::vector<RegisterWrite>& writes) {
  constexpr uint32_t kRegion = VFIO_PCI_BAR0_REGION_INDEX + EXRNIC_BAR_REGISTERS;
  std::vector<RegionWrite> posted;
  for (const RegisterWrite& write : writes) {
    posted.push_back({{write.reg, kRegion, sizeof(write.value)},
                      reinterpret_cast<const uint8_t*>(&write.value)});
  }
  Post([&](VfioUserClient& client) { return client.post_many(posted); });
}

void SimLink::Store(uint32_t offset, const uint64_t* words, size_t count) {
  constexpr uint32_t kRegion = VFIO_PCI_BAR0_REGION_INDEX + EXRNIC_BAR_USER;
  const uint64_t at = kUserPage * EXRNIC_USER_PAGE_SIZE + offset;
  if (count == 1) {
    Post([&](VfioUserClient& client) { return client.post(kRegion, at, words, sizeof(*words)); });
    return;
  }
  std::vector<RegionWrite> posted;
  for (size_t i = 0; i < count; ++i) {
    posted.push_back({{at + i * sizeof(*words), kRegion, sizeof(*words)},
                      reinterpret_cast<const uint8_t*>(words + i)});
  }
  Post([&](VfioUserClient& client) { return client.post_many(posted); });
}

std::vector<SimLink::RegisterWrite> SimLink::WordsAt(uint32_t reg, const void* words,
                                                     size_t bytes) {
  std::vector<RegisterWrite> writes(bytes / sizeof(uint32_t));
  for (size_t i = 0; i < writes.size(); ++i) {
    const size_t at = i * sizeof(uint32_t);
    writes[i].reg = reg + static_cast<uint32_t>(at);
    memcpy(&writes[i].value, static_cast<const uint8_t*>(words) + at, sizeof(uint32_t));
  }
  return writes;
}

uint32_t SimLink::AwaitChange(uint32_t reg, uint32_t busy) {
  const auto until = std::chrono::steady_clock::now() + patience_;
  for (;;) {
    const uint32_t value = Read(reg);
    if (value != busy || std::chrono::steady_clock::now() >= until) return value;
  }
}

void SimLink::Grant(uint64_t bus, uint64_t size, int file, uint64_t offset) {
  vfio_user::DmaMapRequest request;
  request.readable = true;
  request.writable = true;
  request.offset = offset;
  request.address = bus;
  request.size = size;
  Request("DMA_MAP", [&](VfioUserClient& client) { return client.dma_map(request, file); });
}

void SimLink::ConnectVectors(const std::vector<int>& eventfds) {
  for (size_t start = 0; start < eventfds.size(); start += vfio_user::kMaxMessageFds) {
    const size_t count = std::min(eventfds.size() - start, vfio_user::kMaxMessageFds);
    vfio_user::SetIrqsRequest request;
    request.data = vfio_user::IrqData::kEventfd;
    request.action = vfio_user::IrqAction::kTrigger;
    request.index = VFIO_PCI_MSIX_IRQ_INDEX;
    request.start = static_cast<uint32_t>(start);
    request.count = static_cast<uint32_t>(count);
    const auto first = eventfds.begin() + static_cast<ptrdiff_t>(start);
    const std::vector<int> fds(first, first + static_cast<ptrdiff_t>(count));
    Request("SET_IRQS", [&](VfioUserClient& client) { return client.set_irqs(request, fds); });
  }
}

bool SimLink::WhileEmpty() {
  const uint32_t looks = empty_looks_.fetch_add(1, std::memory_order_relaxed);
  if (looks % kLooksPerYield == 0) sched_yield();
  return usable();
}

}  // namespace exrnic

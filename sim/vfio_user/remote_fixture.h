// SPDX-License-Identifier: BSD-2-Clause
// A RemoteDevice in front of a server of ours, or of one that lies, and the host that it serves.
#pragma once

#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "sim/vfio_user/remote_device.h"
#include "sim/vfio_user/server_fixture.h"
#include "sim/vfio_user/wire.h"

namespace exrnic::vfio_user {

// Memory of 64 KiB at 1 MiB, and what the device did.
class NotedHost : public RemoteHost {
 public:
  static constexpr uint64_t kBase = 1 << 20;

  void dma_read(uint64_t address, size_t length, ReadDone done) override {
    if (hold) return held.push_back(std::move(done));
    if (!granted(address, length)) return done(nullptr);
    const auto first = memory.begin() + static_cast<std::ptrdiff_t>(address - kBase);
    const Bytes data(first, first + static_cast<std::ptrdiff_t>(length));
    done(&data);
  }
  void dma_write(uint64_t address, Bytes data, WriteDone done) override {
    if (!granted(address, data.size())) return done(false);
    std::copy(data.begin(), data.end(),
              memory.begin() + static_cast<std::ptrdiff_t>(address - kBase));
    if (when_written) when_written();
    done(true);
  }
  void interrupt(unsigned vector) override { interrupts.push_back(vector); }

  Bytes memory = Bytes(1 << 16);
  std::vector<unsigned> interrupts;
  bool hold = false;
  std::vector<ReadDone> held;
  std::function<void()> when_written;

 private:
  bool granted(uint64_t address, size_t length) const {
    return address >= kBase && address - kBase <= memory.size() &&
           length <= memory.size() - (address - kBase);
  }
};

inline RemoteDevice::Limits quick() {
  RemoteDevice::Limits limits;
  limits.answer = std::chrono::milliseconds(200);
  return limits;
}

// Our server, in this thread but for what waits for it.
struct Served : ServerFixture {
  Served() {
    server->reach_memory_by_messages(std::chrono::milliseconds(2000));
    std::atomic<bool> over{false};
    std::thread serving([&] {
      while (!over) server->service();
    });
    remote = std::make_unique<RemoteDevice>(connect_unix(path), host, RemoteDevice::Limits());
    over = true;
    serving.join();
  }

  void both() {
    for (bool more = true; more;) {
      more = server->service();
      more |= remote->service();
    }
  }
  void enable(uint8_t bits = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER) {
    remote->write(VFIO_PCI_CONFIG_REGION_INDEX, PCI_COMMAND, {bits, 0});
    both();
  }
  // What the device does while its client answers.
  template <typename Action>
  auto meanwhile(Action action) {
    auto result = std::async(std::launch::async, action);
    while (result.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      remote->service();
    }
    return result.get();
  }

  NotedHost host;
  std::unique_ptr<RemoteDevice> remote;
};

// The configuration space of a device whose table of 2 vectors is at 0x800 of BAR 0.
inline Bytes honest_config() {
  Bytes config(PCI_CFG_SPACE_SIZE);
  config[PCI_STATUS] = PCI_STATUS_CAP_LIST;
  config[PCI_CAPABILITY_LIST] = 0x40;
  config[0x40] = PCI_CAP_ID_MSIX;
  config[0x40 + PCI_MSIX_FLAGS] = 2 - 1;
  config[0x40 + PCI_MSIX_TABLE + 1] = 0x08;
  config[0x40 + PCI_MSIX_PBA + 1] = 0x0c;
  return config;
}

// A server that is honest, but for what `lie` says: nothing: no lie; no payload: no answer.
class Liar {
 public:
  using Lie = std::function<std::optional<std::optional<Bytes>>(const Message& request)>;

  explicit Liar(Lie lie) : lie_(std::move(lie)) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    client_ = UniqueFd(ends[0]);
    connection_ = std::make_unique<Connection>(UniqueFd(ends[1]), Connection::Peer::kClient);
    connection_->talk_both_ways();
  }

  // Why there is no device; empty: there is one.
  std::string discovered() {
    std::atomic<bool> over{false};
    std::thread serving([&] {
      while (!over) serve();
    });
    std::string reason;
    try {
      remote = std::make_unique<RemoteDevice>(std::move(client_), host, quick());
    } catch (const std::runtime_error& error) {
      reason = error.what();
    }
    over = true;
    serving.join();
    return reason;
  }

  void serve() {
    Message request;
    while (connection_->receive(&request) == Connection::Status::kMessage) {
      if (request.header.is_reply()) continue;
      const auto lie = lie_ ? lie_(request) : std::nullopt;
      const std::optional<Bytes> reply = lie ? *lie : honest(request);
      if (!reply || !request.header.wants_reply()) continue;
      connection_->send({request.header.id, request.header.command, 0, Header::kTypeReply, 0},
                        *reply);
    }
  }
  void say(uint16_t id, Command command, uint32_t flags, const Bytes& payload) {
    connection_->send({id, static_cast<uint16_t>(command), 0, flags, 0}, payload);
  }

  NotedHost host;
  std::unique_ptr<RemoteDevice> remote;

 private:
  static Bytes honest(const Message& request) {
    switch (static_cast<Command>(request.header.command)) {
      case Command::kVersion:
        return encode_version({0, 0, {8, 4096, true}});
      case Command::kDeviceGetInfo:
        return encode_device_info(VFIO_DEVICE_FLAGS_PCI, VFIO_PCI_NUM_REGIONS, VFIO_PCI_NUM_IRQS);
      case Command::kDeviceGetRegionInfo: {
        const auto index = load<uint32_t>(request.payload.data() + 8);
        return encode_region_info(0, index,
                                  index == VFIO_PCI_CONFIG_REGION_INDEX ? 256
                                  : index == 0                          ? 4096
                                                                        : 0);
      }
      case Command::kDeviceGetIrqInfo:
        return encode_irq_info(0, VFIO_PCI_MSIX_IRQ_INDEX, 2);
      case Command::kRegionRead: {
        const auto access = load<RegionAccessWire>(request.payload.data());
        Bytes bytes = honest_config();
        bytes.resize(std::max<size_t>(bytes.size(), access.offset + access.count));
        return encode_region_access({access.offset, access.region, access.count},
                                    bytes.data() + access.offset, access.count);
      }
      default:
        return {};
    }
  }

  Lie lie_;
  UniqueFd client_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace exrnic::vfio_user

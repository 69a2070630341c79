// SPDX-License-Identifier: BSD-2-Clause
// A server whose device is somewhere else, that device, and a client, in one thread.
#pragma once

#include <linux/pci_regs.h>
#include <linux/vfio.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/vfio_user/server_fixture.h"

namespace exrnic::vfio_user {

constexpr size_t kBar0Bytes = 4096;
constexpr size_t kBar2Bytes = 16384;
constexpr unsigned kVectors = 20;
constexpr unsigned kCapability = 0x50;
constexpr uint32_t kTable = 0x800;

inline PciDescription a_device(size_t config_bytes = 4096) {
  PciDescription description;
  description.vendor_id = 0x1234;
  description.bars = {{0, kBar0Bytes, false, false}, {2, kBar2Bytes, true, true}};
  description.msix = {kVectors, 0, kTable, 0xc00, kCapability};
  description.config_bytes = config_bytes;
  return description;
}

// Of which each byte of a region is memory.
struct Distant : FakeDevice {
  void mmio_write(unsigned bar, uint64_t offset, unsigned size, uint64_t value) override {
    FakeDevice::mmio_write(bar, offset, size, value);
    std::memcpy(memory.at(bar).data() + offset, &value, size);
  }
  void reset() override {
    if (keeps_silent) return;
    FakeDevice::reset();
    answered = reads.size();
  }
  // The oldest load, as a device in simulated time does: later.
  void answer_one() {
    const Access access = reads.at(answered++);
    uint64_t value = 0;
    std::memcpy(&value, memory.at(access.bar).data() + access.offset, access.size);
    answer(value);
  }

  std::map<unsigned, Bytes> memory{
      {0, Bytes(kBar0Bytes)}, {2, Bytes(kBar2Bytes)}, {kConfigSpace, Bytes(4096)}};
  size_t answered = 0;
  bool keeps_silent = false;  // resets, too, are no reason to answer
};

struct PassedOn : ServerFixture {
  PassedOn() {
    server.reset();
    server = std::make_unique<VfioUserServer>(
        path, [this](const std::string& line) { log.push_back(line); });
    server->attach(distant);
    for (auto& [bar, bytes] : distant.memory) {
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 256);
    }
  }

  // Whose waits let the server work, and the device.
  std::unique_ptr<VfioUserClient> new_client() {
    return std::make_unique<VfioUserClient>(connect_unix(path),
                                            VfioUserClient::Options{2000, [this] {
                                                                      server->service();
                                                                      if (!distant.pending.empty())
                                                                        distant.answer_one();
                                                                    }});
  }
  void connect(const PciDescription& description = a_device()) {
    server->describe(description);
    client = new_client();
    REQUIRE(client->negotiate() == 0);
  }
  // Nobody waits for the answer.
  void ask_to_read(uint32_t region, uint64_t offset, uint32_t count) {
    client->connection().send({77, 9, 0, 0, 0},
                              encode_region_access({offset, region, count}, nullptr, 0));
  }
  bool has_reply() {
    Message reply;
    return client->connection().receive(&reply) == Connection::Status::kMessage;
  }
  int set_up(uint32_t start, const std::vector<int>& fds) {
    return client->set_irqs({IrqData::kEventfd,
                             IrqAction::kTrigger,
                             VFIO_PCI_MSIX_IRQ_INDEX,
                             start,
                             static_cast<uint32_t>(fds.size()),
                             {}},
                            fds);
  }
  int release() {
    return client->set_irqs(
        {IrqData::kNone, IrqAction::kTrigger, VFIO_PCI_MSIX_IRQ_INDEX, 0, 0, {}});
  }
  long lines_with(const char* part) const {
    return std::count_if(log.begin(), log.end(), [&](const std::string& line) {
      return line.find(part) != std::string::npos;
    });
  }

  Distant distant;
  std::unique_ptr<VfioUserClient> client;
};

}  // namespace exrnic::vfio_user

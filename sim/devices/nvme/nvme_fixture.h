// SPDX-License-Identifier: BSD-2-Clause
// A controller with one namespace, and a host in the same thread that drives its queues.
#pragma once

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/devices/nvme/controller.h"
#include "sim/testing/temp_dir.h"

namespace exrnic::nvme {

// Memory that the controller may touch, and nothing beside it.
class FakeHost final : public HostPort {
 public:
  static constexpr uint64_t kBase = 0x10000000;
  static constexpr uint64_t kSize = 4 << 20;

  bool dma_read(uint64_t address, uint8_t* out, size_t length) override {
    if (!granted(address, length)) return false;
    ++reads;
    std::memcpy(out, at(address), length);
    return true;
  }
  bool dma_write(uint64_t address, const uint8_t* data, size_t length) override {
    if (!granted(address, length)) return false;
    std::memcpy(at(address), data, length);
    return true;
  }
  void fire_msix(unsigned vector) override { interrupts.push_back(vector); }

  uint8_t* at(uint64_t address) { return memory_.data() + (address - kBase); }
  template <typename T>
  T load(uint64_t address) {
    T value;
    std::memcpy(&value, at(address), sizeof value);
    return value;
  }
  template <typename T>
  void store(uint64_t address, const T& value) {
    std::memcpy(at(address), &value, sizeof value);
  }

  std::vector<unsigned> interrupts;
  unsigned reads = 0;

 private:
  static bool granted(uint64_t address, size_t length) {
    return address >= kBase && address - kBase <= kSize && length <= kSize - (address - kBase);
  }
  std::vector<uint8_t> memory_ = std::vector<uint8_t>(kSize);
};

// A queue pair as its host keeps it.
struct HostQueue {
  uint64_t submission = 0;
  uint64_t completion = 0;
  uint32_t entries = 0;
  uint32_t tail = 0;
  uint32_t head = 0;
  bool phase = true;
};

class NvmeFixture {
 public:
  static constexpr uint32_t kAdminEntries = 8;
  static constexpr uint32_t kIoEntries = 4;
  static constexpr uint64_t kBlocks = 4096;
  static constexpr uint32_t kBlockBytes = 512;
  static constexpr uint64_t kQueueMemory = FakeHost::kBase;
  static constexpr uint64_t kData = FakeHost::kBase + (2 << 20);
  static constexpr uint32_t kEnable = kConfigEnable | kCommandShift << kConfigSubmissionEntryShift |
                                      kCompletionShift << kConfigCompletionEntryShift;

  NvmeFixture() {
    std::ofstream(path()).close();
    std::filesystem::resize_file(path(), kBlocks * kBlockBytes);
    Namespaces namespaces;
    namespaces.emplace_back(path(), NamespaceFile::kLeastBlockShift);
    controller = std::make_unique<Controller>(host, std::move(namespaces), "4711");
  }

  std::string path() const { return folder / "disk"; }

  uint64_t read(uint64_t offset, unsigned size = 4) {
    uint64_t value = 0;
    controller->mmio_read(0, offset, size, [&](uint64_t answer) { value = answer; });
    return value;
  }
  void write(uint64_t offset, uint64_t value, unsigned size = 4) {
    controller->mmio_write(0, offset, size, value);
  }

  // The controller runs, with empty admin queues.
  void enable() {
    write(kRegConfiguration, 0);
    admin_ = queue_at(0, kAdminEntries);
    write(kRegAdminQueueAttributes, (kAdminEntries - 1) << 16 | (kAdminEntries - 1));
    write(kRegAdminSubmissionQueue, admin_.submission, 8);
    write(kRegAdminCompletionQueue, admin_.completion, 8);
    write(kRegConfiguration, kEnable);
    REQUIRE(read(kRegStatus) == kStatusReady);
  }
  // And has one pair of I/O queues with interrupt 1.
  void enable_io() {
    enable();
    io_ = queue_at(1, kIoEntries);
    REQUIRE(create_completion_queue(1, kIoEntries, io_.completion, 1) == Status::kSuccess);
    REQUIRE(create_submission_queue(1, kIoEntries, io_.submission, 1) == Status::kSuccess);
    host.interrupts.clear();
  }

  void work() {
    while (controller->work()) {
    }
  }

  static Command command_of(AdminOpcode opcode) {
    Command command{};
    command.opcode = static_cast<uint8_t>(opcode);
    return command;
  }
  static Command command_of(IoOpcode opcode, uint64_t block, uint32_t blocks) {
    Command command{};
    command.opcode = static_cast<uint8_t>(opcode);
    command.nsid = 1;
    command.prp1 = kData;
    command.cdw10 = static_cast<uint32_t>(block);
    command.cdw11 = static_cast<uint32_t>(block >> 32);
    command.cdw12 = blocks - 1;
    return command;
  }

  // Puts a command into the queue and rings; its identifier is the returned one.
  uint16_t submit(unsigned id, Command command) {
    HostQueue& queue = id == 0 ? admin_ : io_;
    command.id = ++last_id_;
    host.store(queue.submission + queue.tail * sizeof command, command);
    queue.tail = (queue.tail + 1) % queue.entries;
    write(kRegDoorbells + 8 * id, queue.tail);
    return command.id;
  }
  // The next completion, if there is one.
  std::optional<Completion> reap(unsigned id, bool ring = true) {
    HostQueue& queue = id == 0 ? admin_ : io_;
    const auto completion =
        host.load<Completion>(queue.completion + queue.head * sizeof(Completion));
    if (((completion.status & 1) != 0) != queue.phase) return std::nullopt;
    queue.head = (queue.head + 1) % queue.entries;
    if (queue.head == 0) queue.phase = !queue.phase;
    if (ring) write(kRegDoorbells + 8 * id + 4, queue.head);
    return completion;
  }
  uint64_t io_commands() const { return io_.submission; }
  // One command from doorbell to completion.
  Completion run(unsigned id, const Command& command) {
    const uint16_t sent = submit(id, command);
    work();
    const auto completion = reap(id);
    REQUIRE(completion);
    REQUIRE(completion->id == sent);
    REQUIRE(completion->submission_queue == id);
    return *completion;
  }
  Completion admin(const Command& command) { return run(0, command); }
  Status io(const Command& command) { return status_of(run(1, command)); }

  static Status status_of(const Completion& completion) {
    return static_cast<Status>(completion.status >> 1 & 0x7ff);
  }

  Status create_completion_queue(uint32_t id, uint32_t entries, uint64_t address, uint32_t vector) {
    Command command = command_of(AdminOpcode::kCreateCompletionQueue);
    command.prp1 = address;
    command.cdw10 = (entries - 1) << 16 | id;
    command.cdw11 = vector << 16 | 3;
    return status_of(admin(command));
  }
  Status create_submission_queue(uint32_t id, uint32_t entries, uint64_t address,
                                 uint32_t completion) {
    Command command = command_of(AdminOpcode::kCreateSubmissionQueue);
    command.prp1 = address;
    command.cdw10 = (entries - 1) << 16 | id;
    command.cdw11 = completion << 16 | 1;
    return status_of(admin(command));
  }
  Status delete_queue(AdminOpcode opcode, uint32_t id) {
    Command command = command_of(opcode);
    command.cdw10 = id;
    return status_of(admin(command));
  }

  // Bytes of the disk, from outside.
  std::vector<uint8_t> disk(uint64_t block, uint64_t blocks) const {
    std::vector<uint8_t> bytes(blocks * kBlockBytes);
    std::ifstream file(path(), std::ios::binary);
    file.seekg(static_cast<std::streamoff>(block * kBlockBytes));
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return bytes;
  }
  std::vector<uint8_t> fill_data(uint64_t address, size_t length, unsigned seed) {
    std::vector<uint8_t> bytes(length);
    for (size_t i = 0; i < length; ++i) bytes[i] = static_cast<uint8_t>(seed + i * 7 + i / 251);
    std::memcpy(host.at(address), bytes.data(), length);
    return bytes;
  }
  std::vector<uint8_t> memory(uint64_t address, size_t length) {
    return {host.at(address), host.at(address) + length};
  }

  TempDir folder;
  FakeHost host;
  std::unique_ptr<Controller> controller;

 private:
  HostQueue queue_at(unsigned id, uint32_t entries) {
    const uint64_t address = kQueueMemory + id * uint64_t{4} * kPageBytes;
    std::memset(host.at(address), 0, 4 * kPageBytes);
    return {address, address + 2 * kPageBytes, entries, 0, 0, true};
  }

  HostQueue admin_;
  HostQueue io_;
  uint16_t last_id_ = 0;
};

}  // namespace exrnic::nvme

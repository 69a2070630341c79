// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/nvme_driver.h"

#include <linux/pci_regs.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace exrnic::bench {
namespace {

using nvme::kPageBytes;

// The host's memory: a page for each end of each queue, one for the list of each buffer's pages,
// and the buffers.
constexpr uint64_t kAdminQueue = kPageBytes;
constexpr uint64_t kIoQueue = 3 * kPageBytes;
constexpr uint64_t kLists = 8 * kPageBytes;
constexpr uint64_t kBuffers = 1 << 20;
constexpr uint64_t kMemoryBytes = kBuffers + NvmeDriver::kDepth * NvmeDriver::kMostBytes;

constexpr unsigned kEntries = 64;  // of each queue
constexpr uint32_t kSizes = kEntries - 1;
constexpr uint32_t kContiguous = 1;

uint64_t buffer_address(unsigned buffer) { return kBuffers + buffer * NvmeDriver::kMostBytes; }

}  // namespace

NvmeDriver::NvmeDriver(DevicePort& device, Await await)
    : device_(device),
      await_(std::move(await)),
      memory_(kMemoryBytes),
      admin_{0, kAdminQueue, kAdminQueue + kPageBytes},
      io_{1, kIoQueue, kIoQueue + kPageBytes} {}

void NvmeDriver::start() {
  device_.mmio_write(kConfigSpace, PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
  store(nvme::kRegAdminQueueAttributes, kSizes << nvme::kAdminCompletionSizeShift | kSizes, 4);
  store(nvme::kRegAdminSubmissionQueue, admin_.commands, 8);
  store(nvme::kRegAdminCompletionQueue, admin_.completions, 8);
  store(nvme::kRegConfiguration,
        nvme::kConfigEnable | nvme::kCommandShift << nvme::kConfigSubmissionEntryShift |
            nvme::kCompletionShift << nvme::kConfigCompletionEntryShift,
        4);
  if (load(nvme::kRegStatus) != nvme::kStatusReady)
    throw std::runtime_error("the NVMe controller is not ready when it is enabled");
  administer(nvme::AdminOpcode::kCreateCompletionQueue, io_.completions, kContiguous);
  administer(nvme::AdminOpcode::kCreateSubmissionQueue, io_.commands,
             io_.number << 16 | kContiguous);
}

void NvmeDriver::administer(nvme::AdminOpcode opcode, uint64_t queue, uint32_t cdw11) {
  nvme::Command command{};
  command.opcode = static_cast<uint8_t>(opcode);
  command.prp1 = queue;
  command.cdw10 = kSizes << 16 | io_.number;
  command.cdw11 = cdw11;
  put(admin_, command);
  ring(admin_);
  complete(admin_);
}

void NvmeDriver::put(nvme::IoOpcode opcode, unsigned buffer, uint64_t disk_offset, uint32_t bytes) {
  nvme::Command command{};
  command.opcode = static_cast<uint8_t>(opcode);
  command.id = static_cast<uint16_t>(buffer);
  command.nsid = 1;
  command.prp1 = buffer_address(buffer);
  command.prp2 = second_pointer(buffer, bytes);
  command.cdw10 = static_cast<uint32_t>(disk_offset / kBlockBytes);
  command.cdw12 = bytes / kBlockBytes - 1;
  put(io_, command);
}

// Of the second page, or of the list of all pages but the first.
uint64_t NvmeDriver::second_pointer(unsigned buffer, uint32_t bytes) {
  const uint64_t second = buffer_address(buffer) + kPageBytes;
  if (bytes <= kPageBytes) return 0;
  if (bytes <= 2 * kPageBytes) return second;
  const uint64_t list = kLists + buffer * kPageBytes;
  for (uint64_t i = 0; i < bytes / kPageBytes - 1; ++i) {
    const uint64_t page = second + i * kPageBytes;
    std::memcpy(memory_.data() + list + i * sizeof page, &page, sizeof page);
  }
  return list;
}

void NvmeDriver::put(Queue& queue, const nvme::Command& command) {
  std::memcpy(memory_.data() + queue.commands + queue.tail * sizeof command, &command,
              sizeof command);
  queue.tail = (queue.tail + 1) % kEntries;
}

void NvmeDriver::ring() { ring(io_); }

void NvmeDriver::ring(const Queue& queue) {
  store(nvme::kRegDoorbells + 8 * queue.number, queue.tail, 4);
}

unsigned NvmeDriver::complete() { return complete(io_).id; }

nvme::Completion NvmeDriver::complete(Queue& queue) {
  nvme::Completion completion;
  const uint8_t* entry = memory_.data() + queue.completions + queue.head * sizeof completion;
  await_([&] {
    std::memcpy(&completion, entry, sizeof completion);
    return (completion.status & 1) == queue.phase;
  });
  if (completion.status >> 1 != 0)
    throw std::runtime_error("an NVMe command has ended with status " +
                             std::to_string(completion.status >> 1));
  queue.head = (queue.head + 1) % kEntries;
  if (queue.head == 0) queue.phase ^= 1;
  store(nvme::kRegDoorbells + 8 * queue.number + 4, queue.head, 4);
  return completion;
}

uint8_t* NvmeDriver::data(unsigned buffer) { return memory_.data() + buffer_address(buffer); }

void NvmeDriver::store(uint64_t place, uint64_t value, unsigned bytes) {
  device_.mmio_write(0, place, bytes, value);
}

uint32_t NvmeDriver::load(uint64_t place) {
  bool done = false;
  uint64_t value = 0;
  device_.mmio_read(0, place, 4, [&](uint64_t read) {
    value = read;
    done = true;
  });
  await_([&] { return done; });
  return static_cast<uint32_t>(value);
}

bool NvmeDriver::dma_read(uint64_t address, uint8_t* out, size_t length) {
  if (address > memory_.size() || length > memory_.size() - address) return false;
  std::memcpy(out, memory_.data() + address, length);
  return true;
}

bool NvmeDriver::dma_write(uint64_t address, const uint8_t* data, size_t length) {
  if (address > memory_.size() || length > memory_.size() - address) return false;
  std::memcpy(memory_.data() + address, data, length);
  return true;
}

}  // namespace exrnic::bench

// SPDX-License-Identifier: BSD-2-Clause
// The host of an NVMe controller: registers, doorbells, and whatever lies in its memory. An input
// is a list of steps, each a byte that says which, and what it needs.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include "sim/devices/nvme/controller.h"
#include "tests/fuzz/target.h"

namespace exrnic::fuzz {
// Of its own: other targets of this folder have other commands.
namespace nvme_target {
namespace {

using namespace nvme;

enum Step : uint8_t { kStore, kRegister, kPlace, kWork, kResetFunction, kSteps };

constexpr uint64_t kHostBase = 0x10000;
constexpr size_t kHostBytes = 64 * 1024;
constexpr uint64_t kBarBytes = 16384;
constexpr off_t kDiskBytes = 64 * 1024;
constexpr uint64_t kAdminQueue = kHostBase;
constexpr uint64_t kCompletions = kHostBase + kPageBytes;
constexpr uint64_t kData = kHostBase + 2 * kPageBytes;

// Memory of a host, in which an access beside what was granted is found.
class Host final : public HostPort {
 public:
  bool dma_read(uint64_t address, uint8_t* out, size_t length) override {
    if (!granted(address, length)) return false;
    std::memcpy(out, memory_.data() + (address - kHostBase), length);
    return true;
  }
  bool dma_write(uint64_t address, const uint8_t* data, size_t length) override {
    if (!granted(address, length)) return false;
    std::memcpy(memory_.data() + (address - kHostBase), data, length);
    return true;
  }
  void fire_msix(unsigned vector) override {
    if (vector >= kInterruptVectors) found("interrupt " + std::to_string(vector));
  }

 private:
  static bool granted(uint64_t address, size_t length) {
    if (length > kMaxTransferBytes) found("DMA of " + std::to_string(length) + " bytes");
    return address >= kHostBase && address - kHostBase <= kHostBytes &&
           length <= kHostBytes - (address - kHostBase);
  }
  std::vector<uint8_t> memory_ = std::vector<uint8_t>(kHostBytes);
};

Namespaces disk() {
  const int file = ::memfd_create("disk", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, kDiskBytes) != 0) found("no file for a disk");
  Namespaces namespaces;
  namespaces.emplace_back("/proc/self/fd/" + std::to_string(file), NamespaceFile::kLeastBlockShift);
  ::close(file);
  return namespaces;
}

void put_store(Bytes& to, uint16_t offset, unsigned log_size, uint64_t value) {
  put<uint8_t>(to, kStore);
  put<uint16_t>(to, offset);
  put<uint8_t>(to, static_cast<uint8_t>(log_size));
  put<uint64_t>(to, value);
}

void put_command(Bytes& to, unsigned slot, const Command& command) {
  put<uint8_t>(to, kPlace);
  put<uint16_t>(to, static_cast<uint16_t>(slot * sizeof command));
  put<uint8_t>(to, sizeof command);
  put(to, command);
}

// A controller that is enabled, gets a pair of I/O queues, and reads.
std::vector<Bytes> seeds() {
  Bytes seed;
  put_store(seed, kRegAdminQueueAttributes, 2, 15u << 16 | 15);
  put_store(seed, kRegAdminSubmissionQueue, 3, kAdminQueue);
  put_store(seed, kRegAdminCompletionQueue, 3, kCompletions);
  put_store(seed, kRegConfiguration, 2, 0x460001);
  Command commands[4] = {};
  commands[0].opcode = static_cast<uint8_t>(AdminOpcode::kIdentify);
  commands[0].prp1 = kData;
  commands[0].cdw10 = kIdentifyController;
  commands[1].opcode = static_cast<uint8_t>(AdminOpcode::kCreateCompletionQueue);
  commands[1].prp1 = kData + kPageBytes;
  commands[1].cdw10 = 7u << 16 | 1;
  commands[1].cdw11 = 1u << 16 | 3;
  commands[2] = commands[1];
  commands[2].opcode = static_cast<uint8_t>(AdminOpcode::kCreateSubmissionQueue);
  commands[2].prp1 = kAdminQueue;
  commands[3].opcode = static_cast<uint8_t>(IoOpcode::kRead);
  commands[3].nsid = 1;
  commands[3].prp1 = kData + 4;
  commands[3].prp2 = kData + 2 * kPageBytes;
  commands[3].cdw12 = 7;
  for (unsigned slot = 0; slot < 4; ++slot) put_command(seed, slot, commands[slot]);
  put_store(seed, kRegDoorbells, 2, 3);
  for (unsigned i = 0; i < 3; ++i) put<uint8_t>(seed, kWork);
  put_command(seed, 0, commands[3]);
  put_store(seed, kRegDoorbells + 8, 2, 1);
  put<uint8_t>(seed, kWork);
  return {seed};
}

void run(const uint8_t* data, size_t size) {
  Host host;
  Controller controller(host, disk(), "fuzz");
  for (Reader in(data, size); !in.empty();) {
    switch (in.take<uint8_t>() % kSteps) {
      case kStore: {
        const uint64_t offset = in.take<uint16_t>() % kBarBytes;
        const unsigned bytes = 1u << in.take<uint8_t>() % 4;
        controller.mmio_write(0, offset / bytes * bytes, bytes, in.take<uint64_t>());
        break;
      }
      case kRegister: {
        const uint64_t offset = in.take<uint16_t>() % kBarBytes;
        const unsigned bytes = 1u << in.take<uint8_t>() % 4;
        bool answered = false;
        controller.mmio_read(0, offset / bytes * bytes, bytes, [&](uint64_t) { answered = true; });
        if (!answered) found("a register does not answer");
        break;
      }
      case kPlace: {
        const uint64_t offset = in.take<uint16_t>();
        const Bytes bytes = in.bytes(in.take<uint8_t>());
        host.dma_write(kHostBase + offset, bytes.data(), bytes.size());
        break;
      }
      case kWork:
        controller.work();
        break;
      default:
        controller.reset();
    }
  }
}

}  // namespace
}  // namespace nvme_target

std::vector<Bytes> nvme_seeds() { return nvme_target::seeds(); }
void fuzz_nvme(const uint8_t* data, size_t size) { nvme_target::run(data, size); }

}  // namespace exrnic::fuzz

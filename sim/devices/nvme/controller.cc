// SPDX-License-Identifier: BSD-2-Clause
#include "sim/devices/nvme/controller.h"

#include <algorithm>
#include <utility>

namespace exrnic::nvme {
namespace {

constexpr uint64_t kPageMask = kPageBytes - 1;
constexpr uint32_t kMostAhead = 8;  // commands that one read has
constexpr uint32_t kTimeout = 20;   // 10 s to become ready: it takes none

constexpr uint64_t kCapabilities = (kMaxQueueEntries - 1) | kCapContiguousQueues |
                                   kTimeout << kCapTimeoutShift | kCapNvmCommandSet;

uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

void set_low(uint64_t& to, uint32_t value) { to = (to >> 32 << 32) | value; }
void set_high(uint64_t& to, uint32_t value) { to = uint64_t{value} << 32 | low(to); }

}  // namespace

Controller::Controller(HostPort& host, Namespaces namespaces, std::string serial)
    : host_(host),
      namespaces_(std::move(namespaces)),
      serial_(std::move(serial)),
      admin_({host_, namespaces_, serial_, queues_, features_, events_, logs_, configuration_}),
      io_(host_, namespaces_, logs_.traffic) {}

// ---- Registers

void Controller::mmio_read(unsigned /*bar*/, uint64_t offset, unsigned size, ReadDone done) {
  const uint64_t dword = offset & ~(kDwordBytes - 1);
  const uint64_t value = uint64_t{register_at(dword + kDwordBytes)} << 32 | register_at(dword);
  // Naturally aligned: so it lies in these 8 bytes.
  const uint64_t shifted = value >> (8 * (offset - dword));
  done(size == sizeof value ? shifted : shifted & ((uint64_t{1} << (8 * size)) - 1));
}

void Controller::mmio_write(unsigned /*bar*/, uint64_t offset, unsigned size, uint64_t value) {
  for (unsigned at = 0; at + kDwordBytes <= size; at += kDwordBytes) {
    write_register(offset + at, low(value >> (8 * at)));
  }
}

uint32_t Controller::register_at(uint64_t offset) const {
  switch (offset) {
    case kRegCapabilities:
      return low(kCapabilities);
    case kRegCapabilities + kDwordBytes:
      return high(kCapabilities);
    case kRegVersion:
      return kVersion14;
    case kRegConfiguration:
      return configuration_;
    case kRegStatus:
      return status_;
    case kRegAdminQueueAttributes:
      return admin_sizes_;
    case kRegAdminSubmissionQueue:
      return low(admin_submission_);
    case kRegAdminSubmissionQueue + kDwordBytes:
      return high(admin_submission_);
    case kRegAdminCompletionQueue:
      return low(admin_completion_);
    case kRegAdminCompletionQueue + kDwordBytes:
      return high(admin_completion_);
    default:
      return 0;
  }
}

void Controller::write_register(uint64_t offset, uint32_t value) {
  if (offset >= kRegDoorbells) return ring(offset, value);
  if (offset == kRegConfiguration) return write_configuration(value);
  if (enabled()) return;  // the others do not change then
  switch (offset) {
    case kRegAdminQueueAttributes:
      admin_sizes_ = value & kAdminQueueSizes;
      break;
    case kRegAdminSubmissionQueue:
      set_low(admin_submission_, value & ~low(kPageMask));
      break;
    case kRegAdminSubmissionQueue + kDwordBytes:
      set_high(admin_submission_, value);
      break;
    case kRegAdminCompletionQueue:
      set_low(admin_completion_, value & ~low(kPageMask));
      break;
    case kRegAdminCompletionQueue + kDwordBytes:
      set_high(admin_completion_, value);
      break;
    default:
      break;
  }
}

void Controller::write_configuration(uint32_t value) {
  const bool was_enabled = enabled();
  configuration_ = value & kConfigWritable;
  if (was_enabled && !enabled()) stop();
  if (!was_enabled && enabled()) start();
  if ((configuration_ & kConfigShutdown) != 0) shut_down();
}

void Controller::ring(uint64_t offset, uint32_t value) {
  if (!running()) return;
  const auto doorbell = static_cast<unsigned>((offset - kRegDoorbells) / kDwordBytes);
  const unsigned queue = doorbell / 2;
  const auto wrong = doorbell % 2 == 0 ? queues_.ring_submission(queue, value)
                                       : queues_.ring_completion(queue, value);
  if (!wrong) return;
  logs_.add_error(Logs::kNoCommand, Logs::kNoCommand,
                  static_cast<uint16_t>(static_cast<uint16_t>(Status::kInvalidField) << 1), 0);
  events_.raise(*wrong);
}

// ---- From reset to shutdown

void Controller::start() {
  constexpr uint32_t kOnlyZero = kConfigCommandSet | kConfigPageSize | kConfigArbitration;
  const uint32_t submission = (admin_sizes_ & 0xfff) + 1;
  const uint32_t completion = (admin_sizes_ >> kAdminCompletionSizeShift) + 1;
  if ((configuration_ & kOnlyZero) != 0 || submission < 2 || completion < 2) return fail();
  ++logs_.starts;
  queues_.add_completion(0, admin_completion_, completion, 0);
  queues_.add_submission(0, admin_submission_, submission, 0);
  status_ = kStatusReady;
}

void Controller::stop() {
  queues_.clear();
  features_ = Features();
  events_.clear();
  status_ = 0;
}

void Controller::shut_down() {
  if ((status_ & kStatusShutdownComplete) != 0) return;
  io_.flush_all();
  status_ |= kStatusShutdownComplete;
}

void Controller::reset() {
  if (running()) ++logs_.sudden_ends;
  stop();
  configuration_ = 0;
  admin_sizes_ = 0;
  admin_submission_ = 0;
  admin_completion_ = 0;
}

// ---- Commands

bool Controller::work() {
  if (!running()) return false;
  if (tell_event()) return true;
  const auto queue = queues_.next();
  if (!queue) return false;
  SubmissionQueue& commands = *queues_.submission(*queue);
  if (commands.ahead.empty() &&
      !read(commands, std::min(commands.waiting_in_a_row(), kMostAhead)) && !read(commands, 1)) {
    fail();
    return true;
  }
  const Command command = commands.take();
  if (const auto result = execute(*queue, command)) {
    complete(*queue, command.id, command.nsid, *result);
  }
  return true;
}

// So many at once, as each read is a way to the host and back. False: not all of them are in its
// memory.
bool Controller::read(SubmissionQueue& commands, uint32_t count) {
  commands.ahead.resize(count);
  if (!host_.dma_read(commands.next_command(), reinterpret_cast<uint8_t*>(commands.ahead.data()),
                      count * sizeof(Command))) {
    commands.ahead.clear();
    return false;
  }
  std::reverse(commands.ahead.begin(), commands.ahead.end());
  return true;
}

std::optional<Result> Controller::execute(unsigned queue, const Command& command) {
  if (command.flags != 0) return Result{Status::kInvalidField};
  if (queue == 0) return admin_.execute(command);
  return io_.execute(command, features_.write_cache());
}

bool Controller::tell_event() {
  if (!events_.ready() || queues_.completion(0)->full()) return false;
  const auto [id, result] = events_.take();
  complete(0, id, 0, result);
  return true;
}

void Controller::complete(unsigned queue, uint16_t id, uint32_t nsid, Result result) {
  const SubmissionQueue& commands = *queues_.submission(queue);
  CompletionQueue& completions = *queues_.completion(commands.completion_queue);
  auto field = static_cast<uint16_t>(result.status);
  if (result.status != Status::kSuccess) field |= kDoNotRetry;
  const Completion completion{result.value,
                              0,
                              static_cast<uint16_t>(commands.head),
                              static_cast<uint16_t>(queue),
                              id,
                              static_cast<uint16_t>(field << 1 | (completions.phase ? 1 : 0))};
  if (result.status != Status::kSuccess)
    logs_.add_error(completion.submission_queue, id, completion.status, nsid);
  if (!host_.dma_write(completions.next_completion(), reinterpret_cast<const uint8_t*>(&completion),
                       sizeof completion)) {
    return fail();
  }
  completions.put();
  if (completions.vector) host_.fire_msix(*completions.vector);
}

}  // namespace exrnic::nvme

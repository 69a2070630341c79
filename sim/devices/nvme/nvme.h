// SPDX-License-Identifier: BSD-2-Clause
// The numbers of NVM Express: registers, opcodes, status codes, and the layout of what queues hold.
//
// Source: NVM Express Base Specification 1.4, whose section each part names.
// Byte order: little-endian, which is that of the hosts that this is built for.
#pragma once

#include <cstdint>

namespace exrnic::nvme {

constexpr uint64_t kDwordBytes = 4;
constexpr uint32_t kPageBytes = 4096;  // the only memory page size that the controller has

// ---- Registers, offsets in BAR 0 (3.1)
constexpr uint64_t kRegCapabilities = 0x00;
constexpr uint64_t kRegVersion = 0x08;
constexpr uint64_t kRegConfiguration = 0x14;
constexpr uint64_t kRegStatus = 0x1c;
constexpr uint64_t kRegAdminQueueAttributes = 0x24;
constexpr uint64_t kRegAdminSubmissionQueue = 0x28;
constexpr uint64_t kRegAdminCompletionQueue = 0x30;
constexpr uint64_t kRegDoorbells = 0x1000;  // of queue N: submission at 8 N, completion behind it

constexpr uint32_t kVersion14 = 0x00010400;

// CAP
constexpr uint64_t kCapContiguousQueues = 1u << 16;
constexpr unsigned kCapTimeoutShift = 24;  // in units of 500 ms
constexpr uint64_t kCapNvmCommandSet = uint64_t{1} << 37;

// CC
constexpr uint32_t kConfigEnable = 1;
constexpr uint32_t kConfigCommandSet = 7u << 4;
constexpr uint32_t kConfigPageSize = 15u << 7;
constexpr uint32_t kConfigArbitration = 7u << 11;
constexpr uint32_t kConfigShutdown = 3u << 14;
constexpr unsigned kConfigSubmissionEntryShift = 16;  // log2 of the bytes, 4 bits
constexpr unsigned kConfigCompletionEntryShift = 20;
constexpr uint32_t kConfigWritable = 0x00fffff1;

// CSTS
constexpr uint32_t kStatusReady = 1;
constexpr uint32_t kStatusFatal = 2;
constexpr uint32_t kStatusShutdownComplete = 2u << 2;

// AQA
constexpr uint32_t kAdminQueueSizes = 0x0fff0fff;
constexpr unsigned kAdminCompletionSizeShift = 16;

// ---- Commands (4.2) and completions (4.6)
struct Command {
  uint8_t opcode;
  uint8_t flags;  // fused operation, and how data is pointed to: both zero here
  uint16_t id;
  uint32_t nsid;
  uint32_t cdw2;
  uint32_t cdw3;
  uint64_t metadata;
  uint64_t prp1;
  uint64_t prp2;
  uint32_t cdw10;
  uint32_t cdw11;
  uint32_t cdw12;
  uint32_t cdw13;
  uint32_t cdw14;
  uint32_t cdw15;
};
static_assert(sizeof(Command) == 64);
constexpr unsigned kCommandShift = 6;

struct Completion {
  uint32_t result;
  uint32_t reserved;
  uint16_t submission_head;
  uint16_t submission_queue;
  uint16_t id;
  uint16_t status;  // bit 0: phase; then the status field
};
static_assert(sizeof(Completion) == 16);
constexpr unsigned kCompletionShift = 4;

constexpr uint32_t kEveryNamespace = 0xffffffff;

enum class AdminOpcode : uint8_t {  // 5
  kDeleteSubmissionQueue = 0x00,
  kCreateSubmissionQueue = 0x01,
  kGetLogPage = 0x02,
  kDeleteCompletionQueue = 0x04,
  kCreateCompletionQueue = 0x05,
  kIdentify = 0x06,
  kAbort = 0x08,
  kSetFeatures = 0x09,
  kGetFeatures = 0x0a,
  kAsynchronousEvent = 0x0c,
};

enum class IoOpcode : uint8_t {  // 6
  kFlush = 0x00,
  kWrite = 0x01,
  kRead = 0x02,
  kWriteZeroes = 0x08,
  kDatasetManagement = 0x09,
};

// Status code type and status code, as in the status field (4.6.1).
enum class Status : uint16_t {
  kSuccess = 0x000,
  kInvalidOpcode = 0x001,
  kInvalidField = 0x002,
  kCommandIdConflict = 0x003,
  kDataTransferError = 0x004,
  kAbortRequested = 0x007,
  kInvalidNamespace = 0x00b,
  kCommandSequenceError = 0x00c,
  kInvalidPrpOffset = 0x013,
  kLbaOutOfRange = 0x080,
  kCompletionQueueInvalid = 0x100,
  kInvalidQueueIdentifier = 0x101,
  kInvalidQueueSize = 0x102,
  kEventRequestLimit = 0x105,
  kInvalidInterruptVector = 0x108,
  kInvalidLogPage = 0x109,
  kInvalidQueueDeletion = 0x10c,
  kFeatureNotSaveable = 0x10d,
  kWriteFault = 0x280,
  kUnrecoveredRead = 0x281,
};
constexpr uint16_t kDoNotRetry = 1u << 14;

// What a command comes to; `value` is dword 0 of its completion.
struct Result {
  Status status = Status::kSuccess;
  uint32_t value = 0;
};

// ---- Identify (5.15)
constexpr uint32_t kIdentifyBytes = 4096;
constexpr uint8_t kIdentifyNamespace = 0x00;
constexpr uint8_t kIdentifyController = 0x01;
constexpr uint8_t kIdentifyActiveNamespaces = 0x02;
constexpr uint8_t kIdentifyNamespaceDescriptors = 0x03;

// ---- Log pages (5.14)
enum class LogPage : uint8_t { kError = 1, kHealth = 2, kFirmware = 3 };

// ---- Features (5.21)
enum class Feature : uint8_t {
  kArbitration = 0x01,
  kPowerManagement = 0x02,
  kTemperatureThreshold = 0x04,
  kErrorRecovery = 0x05,
  kVolatileWriteCache = 0x06,
  kNumberOfQueues = 0x07,
  kInterruptCoalescing = 0x08,
  kInterruptVector = 0x09,
  kWriteAtomicity = 0x0a,
  kEventConfiguration = 0x0b,
};

// ---- Asynchronous events (5.2)
constexpr uint32_t kEventError = 0;  // its type
constexpr uint8_t kEventUnknownDoorbell = 0;
constexpr uint8_t kEventWrongDoorbellValue = 1;

// ---- What this controller has. Its host reads each in CAP, by Identify or from a feature.
constexpr uint32_t kMaxIoQueues = 64;  // of each kind
constexpr uint32_t kMaxQueueEntries = 1024;
constexpr unsigned kMaxTransferShift = 7;  // log2 of the pages of one command
constexpr uint32_t kMaxTransferBytes = kPageBytes << kMaxTransferShift;
constexpr unsigned kMaxEventRequests = 4;
constexpr unsigned kMaxAborts = 4;
constexpr unsigned kErrorLogEntries = 64;
constexpr unsigned kInterruptVectors = kMaxIoQueues + 1;

}  // namespace exrnic::nvme

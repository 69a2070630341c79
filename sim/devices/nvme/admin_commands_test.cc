// SPDX-License-Identifier: BSD-2-Clause
// The commands of the admin queue.
#include "sim/devices/nvme/nvme_fixture.h"

namespace exrnic::nvme {
namespace {

constexpr uint64_t kQueue = NvmeFixture::kQueueMemory + 0x10000;

Command identify(uint32_t what, uint32_t nsid) {
  Command command = NvmeFixture::command_of(AdminOpcode::kIdentify);
  command.nsid = nsid;
  command.prp1 = NvmeFixture::kData;
  command.cdw10 = what;
  return command;
}

Command feature(AdminOpcode opcode, Feature which, uint32_t value = 0) {
  Command command = NvmeFixture::command_of(opcode);
  command.cdw10 = static_cast<uint32_t>(which);
  command.cdw11 = value;
  return command;
}

Command get_log(LogPage page, uint32_t dwords, uint64_t offset = 0) {
  Command command = NvmeFixture::command_of(AdminOpcode::kGetLogPage);
  command.prp1 = NvmeFixture::kData;
  command.cdw10 = (dwords - 1) << 16 | static_cast<uint32_t>(page);
  command.cdw11 = (dwords - 1) >> 16;
  command.cdw12 = static_cast<uint32_t>(offset);
  command.cdw13 = static_cast<uint32_t>(offset >> 32);
  return command;
}

}  // namespace

TEST_CASE_METHOD(NvmeFixture, "Identify tells controller and namespaces") {
  enable();
  CHECK(status_of(admin(identify(kIdentifyController, 0))) == Status::kSuccess);
  CHECK(host.load<uint32_t>(kData + 80) == kVersion14);
  CHECK(host.load<uint32_t>(kData + 516) == 1);
  CHECK(std::memcmp(host.at(kData + 4), "4711                ", 20) == 0);
  CHECK(std::memcmp(host.at(kData + 768), "nqn.2014-08.org.nvmexpress:uuid:", 32) == 0);

  CHECK(status_of(admin(identify(kIdentifyNamespace, 1))) == Status::kSuccess);
  CHECK(host.load<uint64_t>(kData) == kBlocks);
  CHECK(host.load<uint8_t>(kData + 130) == NamespaceFile::kLeastBlockShift);

  CHECK(status_of(admin(identify(kIdentifyActiveNamespaces, 0))) == Status::kSuccess);
  CHECK(host.load<uint64_t>(kData) == 1);
  CHECK(status_of(admin(identify(kIdentifyActiveNamespaces, 1))) == Status::kSuccess);
  CHECK(host.load<uint64_t>(kData) == 0);

  CHECK(status_of(admin(identify(kIdentifyNamespaceDescriptors, 1))) == Status::kSuccess);
  CHECK(host.load<uint16_t>(kData) == 0x1003);  // a UUID of 16 bytes
}

TEST_CASE_METHOD(NvmeFixture, "Identify refuses what there is not") {
  enable();
  for (const uint32_t nsid : {0u, 2u, kEveryNamespace}) {
    CHECK(status_of(admin(identify(kIdentifyNamespace, nsid))) == Status::kInvalidNamespace);
    CHECK(status_of(admin(identify(kIdentifyNamespaceDescriptors, nsid))) ==
          Status::kInvalidNamespace);
  }
  CHECK(status_of(admin(identify(kIdentifyActiveNamespaces, kEveryNamespace))) ==
        Status::kInvalidNamespace);
  CHECK(status_of(admin(identify(0x77, 1))) == Status::kInvalidField);
  Command beyond = identify(kIdentifyController, 0);
  beyond.prp1 = 0x1000;
  CHECK(status_of(admin(beyond)) == Status::kDataTransferError);
}

TEST_CASE_METHOD(NvmeFixture, "I/O queues are created and deleted in order") {
  enable();
  CHECK(create_submission_queue(1, 4, kQueue, 1) == Status::kCompletionQueueInvalid);
  CHECK(create_completion_queue(1, 4, kQueue, 1) == Status::kSuccess);
  CHECK(create_completion_queue(1, 4, kQueue, 1) == Status::kInvalidQueueIdentifier);
  CHECK(create_submission_queue(1, 4, kQueue, 1) == Status::kSuccess);
  CHECK(create_submission_queue(1, 4, kQueue, 1) == Status::kInvalidQueueIdentifier);
  CHECK(delete_queue(AdminOpcode::kDeleteCompletionQueue, 1) == Status::kInvalidQueueDeletion);
  CHECK(delete_queue(AdminOpcode::kDeleteSubmissionQueue, 1) == Status::kSuccess);
  CHECK(delete_queue(AdminOpcode::kDeleteSubmissionQueue, 1) == Status::kInvalidQueueIdentifier);
  CHECK(delete_queue(AdminOpcode::kDeleteCompletionQueue, 1) == Status::kSuccess);
  CHECK(delete_queue(AdminOpcode::kDeleteCompletionQueue, 1) == Status::kInvalidQueueIdentifier);
}

TEST_CASE_METHOD(NvmeFixture, "queues that cannot be are refused by what is wrong with them") {
  enable();
  REQUIRE(create_completion_queue(1, 4, kQueue, 1) == Status::kSuccess);
  for (const uint32_t id : {0u, kMaxIoQueues + 1, 0xffffu}) {
    CHECK(create_completion_queue(id, 4, kQueue, 0) == Status::kInvalidQueueIdentifier);
    CHECK(create_submission_queue(id, 4, kQueue, 1) == Status::kInvalidQueueIdentifier);
    CHECK(create_submission_queue(2, 4, kQueue, id) == Status::kInvalidQueueIdentifier);
    CHECK(delete_queue(AdminOpcode::kDeleteCompletionQueue, id) == Status::kInvalidQueueIdentifier);
    CHECK(delete_queue(AdminOpcode::kDeleteSubmissionQueue, id) == Status::kInvalidQueueIdentifier);
  }
  for (const uint32_t entries : {1u, kMaxQueueEntries + 1, 0x10000u}) {
    CHECK(create_completion_queue(2, entries, kQueue, 0) == Status::kInvalidQueueSize);
    CHECK(create_submission_queue(2, entries, kQueue, 1) == Status::kInvalidQueueSize);
  }
  CHECK(create_completion_queue(2, 4, kQueue + 8, 0) == Status::kInvalidPrpOffset);
  CHECK(create_completion_queue(2, 4, kQueue, kInterruptVectors) ==
        Status::kInvalidInterruptVector);
  Command scattered = command_of(AdminOpcode::kCreateCompletionQueue);
  scattered.prp1 = kQueue;
  scattered.cdw10 = 3u << 16 | 2;
  CHECK(status_of(admin(scattered)) == Status::kInvalidField);
}

TEST_CASE_METHOD(NvmeFixture, "queues need the sizes of their entries") {
  enable();
  write(kRegConfiguration, kConfigEnable);
  CHECK(create_completion_queue(1, 4, kQueue, 0) == Status::kInvalidQueueSize);
  write(kRegConfiguration, kEnable);
  CHECK(create_completion_queue(1, 4, kQueue, 0) == Status::kSuccess);
}

TEST_CASE_METHOD(NvmeFixture,
                 "the number of queues is granted before there are any, and limits them") {
  enable();
  const auto set = [&](uint32_t value) {
    return admin(feature(AdminOpcode::kSetFeatures, Feature::kNumberOfQueues, value));
  };
  CHECK(set(0xffffffff).status >> 1 == (kDoNotRetry | static_cast<int>(Status::kInvalidField)));
  CHECK(set(999u << 16 | 999).result == ((kMaxIoQueues - 1) << 16 | (kMaxIoQueues - 1)));
  CHECK(set(1u << 16 | 1).result == (1u << 16 | 1));
  CHECK(create_completion_queue(3, 4, kQueue, 0) == Status::kInvalidQueueIdentifier);
  CHECK(create_completion_queue(2, 4, kQueue, 0) == Status::kSuccess);
  CHECK(status_of(set(0)) == Status::kCommandSequenceError);
}

TEST_CASE_METHOD(NvmeFixture, "features are kept until a reset") {
  enable();
  struct Kept {
    Feature which;
    uint32_t first;
    uint32_t set;
    uint32_t then;
  };
  const Kept kept[] = {{Feature::kArbitration, 7, 0x01020303, 0x01020303},
                       {Feature::kTemperatureThreshold, 343, 300, 300},
                       {Feature::kErrorRecovery, 0, 0x10005, 5},
                       {Feature::kVolatileWriteCache, 1, 0, 0},
                       {Feature::kInterruptCoalescing, 0, 0x0405, 0x0405},
                       {Feature::kWriteAtomicity, 0, 1, 1},
                       {Feature::kEventConfiguration, 0, 0xff, 0xff}};
  for (const Kept& one : kept) {
    INFO("feature " << static_cast<int>(one.which));
    CHECK(admin(feature(AdminOpcode::kGetFeatures, one.which)).result == one.first);
    CHECK(status_of(admin(feature(AdminOpcode::kSetFeatures, one.which, one.set))) ==
          Status::kSuccess);
    CHECK(admin(feature(AdminOpcode::kGetFeatures, one.which)).result == one.then);
  }
  const uint32_t vector = 3 | 1u << 16;
  CHECK(status_of(admin(feature(AdminOpcode::kSetFeatures, Feature::kInterruptVector, vector))) ==
        Status::kSuccess);
  CHECK(admin(feature(AdminOpcode::kGetFeatures, Feature::kInterruptVector, 3)).result == vector);
  CHECK(admin(feature(AdminOpcode::kGetFeatures, Feature::kInterruptVector, 4)).result == 4);
  enable();
  for (const Kept& one : kept) {
    CHECK(admin(feature(AdminOpcode::kGetFeatures, one.which)).result == one.first);
  }
}

TEST_CASE_METHOD(NvmeFixture, "features that there are not are refused") {
  enable();
  const auto set = [&](uint32_t cdw10, uint32_t value) {
    return status_of(admin(feature(AdminOpcode::kSetFeatures, static_cast<Feature>(cdw10), value)));
  };
  const auto get = [&](uint32_t cdw10, uint32_t value) {
    return status_of(admin(feature(AdminOpcode::kGetFeatures, static_cast<Feature>(cdw10), value)));
  };
  for (const uint32_t id : {0x00u, 0x03u, 0x0cu, 0x7fu, 0xffu}) {
    CHECK(set(id, 0) == Status::kInvalidField);
    CHECK(get(id, 0) == Status::kInvalidField);
  }
  const auto write_cache = static_cast<uint8_t>(Feature::kVolatileWriteCache);
  CHECK(admin([&] {
          Command command = feature(AdminOpcode::kSetFeatures, Feature::kVolatileWriteCache);
          command.cdw10 = 1u << 31 | write_cache;
          return command;
        }())
                .status >>
            1 ==
        (kDoNotRetry | static_cast<int>(Status::kFeatureNotSaveable)));
  CHECK(set(static_cast<uint8_t>(Feature::kPowerManagement), 1) == Status::kInvalidField);
  CHECK(get(static_cast<uint8_t>(Feature::kInterruptVector), kInterruptVectors) ==
        Status::kInvalidField);
  CHECK(set(static_cast<uint8_t>(Feature::kInterruptVector), 0xffff) == Status::kInvalidField);
  CHECK(set(static_cast<uint8_t>(Feature::kTemperatureThreshold), 2u << 20) ==
        Status::kInvalidField);
  CHECK(get(static_cast<uint8_t>(Feature::kTemperatureThreshold), 5u << 16) ==
        Status::kInvalidField);
}

TEST_CASE_METHOD(NvmeFixture, "log pages tell of errors and of what was done") {
  enable_io();
  CHECK(io(command_of(IoOpcode::kRead, kBlocks, 1)) == Status::kLbaOutOfRange);
  CHECK(io(command_of(IoOpcode::kWrite, 0, 4)) == Status::kSuccess);
  CHECK(status_of(admin(get_log(LogPage::kError, 32))) == Status::kSuccess);
  CHECK(host.load<uint64_t>(kData) == 1);
  CHECK(host.load<uint16_t>(kData + 8) == 1);
  CHECK((host.load<uint16_t>(kData + 12) >> 1 & 0x7ff) == static_cast<int>(Status::kLbaOutOfRange));
  CHECK(host.load<uint32_t>(kData + 24) == 1);
  CHECK(host.load<uint64_t>(kData + 64) == 0);  // no second one
  CHECK(status_of(admin(get_log(LogPage::kHealth, 128))) == Status::kSuccess);
  CHECK(host.load<uint64_t>(kData + 48) == 1);   // 2,048 bytes, rounded up
  CHECK(host.load<uint64_t>(kData + 80) == 1);   // a write
  CHECK(host.load<uint64_t>(kData + 176) == 1);  // an error
  CHECK(status_of(admin(get_log(LogPage::kFirmware, 128, 8))) == Status::kSuccess);
  CHECK(std::memcmp(host.at(kData), "1       ", 8) == 0);
}

TEST_CASE_METHOD(NvmeFixture, "log pages are read no further than they go") {
  enable();
  host.store(kData, ~uint64_t{0});
  CHECK(status_of(admin(get_log(LogPage::kHealth, 2, 512))) == Status::kSuccess);
  CHECK(host.load<uint64_t>(kData) == 0);
  CHECK(status_of(admin(get_log(LogPage::kHealth, 1, 516))) == Status::kInvalidField);
  CHECK(status_of(admin(get_log(LogPage::kHealth, 1, 2))) == Status::kInvalidField);
  CHECK(status_of(admin(get_log(LogPage::kHealth, 1, ~uint64_t{3}))) == Status::kInvalidField);
  CHECK(status_of(admin(get_log(LogPage::kHealth, kMaxTransferBytes / 4 + 1))) ==
        Status::kInvalidField);
  CHECK(status_of(admin(get_log(static_cast<LogPage>(0x80), 1))) == Status::kInvalidLogPage);
}

TEST_CASE_METHOD(NvmeFixture, "commands that there are not, and SGLs, are refused") {
  enable_io();
  Command unknown{};
  for (const uint8_t opcode : {0x03, 0x0d, 0x10, 0x80, 0xff}) {
    unknown.opcode = opcode;
    CHECK(status_of(admin(unknown)) == Status::kInvalidOpcode);
  }
  unknown.opcode = 0x7f;
  CHECK(io(unknown) == Status::kInvalidOpcode);
  for (const uint8_t flags : {1, 2, 0x40, 0x80}) {
    Command command = command_of(IoOpcode::kRead, 0, 1);
    command.flags = flags;
    CHECK(io(command) == Status::kInvalidField);
  }
}

}  // namespace exrnic::nvme

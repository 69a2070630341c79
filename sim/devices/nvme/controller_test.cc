// SPDX-License-Identifier: BSD-2-Clause
// Registers, queues, doorbells, events: from reset to shutdown.
#include "sim/devices/nvme/nvme_fixture.h"

namespace exrnic::nvme {
namespace {

constexpr uint64_t kAdminTail = kRegDoorbells;
constexpr uint64_t kIoHead = kRegDoorbells + 12;

Command event_request() { return NvmeFixture::command_of(AdminOpcode::kAsynchronousEvent); }

Command read_error_log() {
  Command command = NvmeFixture::command_of(AdminOpcode::kGetLogPage);
  command.prp1 = NvmeFixture::kData;
  command.cdw10 = 15u << 16 | static_cast<uint32_t>(LogPage::kError);
  return command;
}

}  // namespace

TEST_CASE_METHOD(NvmeFixture, "registers read alike in each width, and only what is defined") {
  CHECK(read(kRegVersion) == kVersion14);
  const uint64_t capabilities = read(kRegCapabilities, 8);
  CHECK((capabilities & 0xffff) == kMaxQueueEntries - 1);
  CHECK((capabilities & kCapNvmCommandSet) != 0);
  CHECK(read(kRegCapabilities) == (capabilities & 0xffffffff));
  CHECK(read(kRegCapabilities + 4) == capabilities >> 32);
  CHECK(read(kRegVersion + 2, 2) == 1);
  CHECK(read(kRegVersion + 1, 1) == 4);
  CHECK(read(0x60, 8) == 0);
  CHECK(read(16380) == 0);
  write(kRegVersion, 0);
  CHECK(read(kRegVersion) == kVersion14);
  write(kRegAdminSubmissionQueue, 0x123456789abcdef, 8);
  CHECK(read(kRegAdminSubmissionQueue, 8) == 0x123456789abc000);
}

TEST_CASE_METHOD(NvmeFixture, "a controller that is not enabled does nothing") {
  write(kAdminTail, 1);
  CHECK_FALSE(controller->work());
  CHECK(read(kRegStatus) == 0);
}

TEST_CASE_METHOD(NvmeFixture, "what it cannot be configured to fails, and a reset mends it") {
  for (const uint32_t wrong : {1u << 4, 1u << 7, 1u << 11}) {
    enable();
    write(kRegConfiguration, 0);
    write(kRegConfiguration, kEnable | wrong);
    CHECK(read(kRegStatus) == kStatusFatal);
  }
  write(kRegConfiguration, 0);
  write(kRegAdminQueueAttributes, kAdminEntries - 1);  // completion queue of one entry
  write(kRegConfiguration, kEnable);
  CHECK(read(kRegStatus) == kStatusFatal);
  enable();
}

TEST_CASE_METHOD(NvmeFixture, "admin queues stay where they are while it is enabled") {
  enable();
  const uint64_t before = read(kRegAdminCompletionQueue, 8);
  write(kRegAdminCompletionQueue, 0, 8);
  write(kRegAdminQueueAttributes, 0);
  CHECK(read(kRegAdminCompletionQueue, 8) == before);
  CHECK(read(kRegAdminQueueAttributes) != 0);
}

TEST_CASE_METHOD(NvmeFixture,
                 "a reset by CC.EN forgets I/O queues and features, not admin queues") {
  enable_io();
  const uint64_t admin_queue = read(kRegAdminSubmissionQueue, 8);
  write(kRegConfiguration, 0);
  CHECK(read(kRegStatus) == 0);
  CHECK(read(kRegAdminSubmissionQueue, 8) == admin_queue);
  enable();
  CHECK(delete_queue(AdminOpcode::kDeleteSubmissionQueue, 1) == Status::kInvalidQueueIdentifier);
}

TEST_CASE_METHOD(NvmeFixture,
                 "a shutdown completes, and nothing is executed until it is enabled anew") {
  enable_io();
  write(kRegConfiguration, kEnable | 1u << 14);
  CHECK(read(kRegStatus) == (kStatusReady | kStatusShutdownComplete));
  submit(1, command_of(IoOpcode::kRead, 0, 1));
  CHECK_FALSE(controller->work());
  write(kRegConfiguration, kEnable);
  CHECK((read(kRegStatus) & kStatusShutdownComplete) != 0);
  enable_io();
  CHECK(io(command_of(IoOpcode::kRead, 0, 1)) == Status::kSuccess);
}

TEST_CASE_METHOD(NvmeFixture, "a function reset forgets everything") {
  enable_io();
  controller->reset();
  CHECK(read(kRegStatus) == 0);
  CHECK(read(kRegConfiguration) == 0);
  CHECK(read(kRegAdminSubmissionQueue, 8) == 0);
  enable_io();
}

TEST_CASE_METHOD(NvmeFixture,
                 "completions tell queue, head and phase over many passes, and interrupt") {
  enable_io();
  for (unsigned i = 1; i <= 5 * kIoEntries; ++i) {
    const Completion completion = run(1, command_of(IoOpcode::kRead, i, 1));
    CHECK(status_of(completion) == Status::kSuccess);
    CHECK(completion.submission_head == i % kIoEntries);
    CHECK(host.interrupts.size() == i);
    CHECK(host.interrupts.back() == 1);
  }
}

TEST_CASE_METHOD(NvmeFixture, "no completion is lost when its queue is full") {
  enable_io();
  for (unsigned i = 0; i < kIoEntries - 1; ++i) submit(1, command_of(IoOpcode::kRead, 0, 1));
  work();
  const uint16_t last = submit(1, command_of(IoOpcode::kRead, 0, 1));
  work();
  CHECK(host.interrupts.size() == kIoEntries - 1);
  for (unsigned i = 0; i < kIoEntries - 1; ++i) REQUIRE(reap(1, false));
  CHECK_FALSE(reap(1, false));
  write(kIoHead, 1);
  work();
  const auto completion = reap(1, false);
  REQUIRE(completion);
  CHECK(completion->id == last);
}

TEST_CASE_METHOD(NvmeFixture, "commands that wait are read at once, and each is executed once") {
  enable_io();
  std::vector<uint16_t> sent;
  for (unsigned round = 0; round < 5; ++round) {
    host.reads = 0;
    const unsigned before_end = kIoEntries - (kIoEntries - 1) * round % kIoEntries;
    sent.clear();
    for (unsigned i = 0; i < kIoEntries - 1; ++i)
      sent.push_back(submit(1, command_of(IoOpcode::kFlush, 0, 1)));
    work();
    // A ring's end is the end of a read, too.
    CHECK(host.reads == (before_end < kIoEntries - 1 ? 2 : 1));
    for (const uint16_t id : sent) {
      const auto completion = reap(1);
      REQUIRE(completion);
      CHECK(completion->id == id);
      CHECK(status_of(*completion) == Status::kSuccess);
    }
  }
}

TEST_CASE_METHOD(NvmeFixture,
                 "commands that a host takes back are read anew when it tells them again") {
  enable_io();
  for (unsigned i = 0; i < 3; ++i) submit(1, command_of(IoOpcode::kFlush, 0, 1));
  REQUIRE(controller->work());
  write(kRegDoorbells + 8, 1);
  Command other = command_of(IoOpcode::kFlush, 0, 1);
  for (unsigned i = 1; i < 3; ++i) {
    other.id = static_cast<uint16_t>(0x700 + i);
    host.store(io_commands() + i * sizeof other, other);
  }
  write(kRegDoorbells + 8, 3);
  work();
  REQUIRE(reap(1));
  CHECK(reap(1)->id == 0x701);
  CHECK(reap(1)->id == 0x702);
}

TEST_CASE_METHOD(NvmeFixture,
                 "a queue that ends where the host's memory does is read as far as it is") {
  enable_io();
  const uint64_t last = FakeHost::kBase + FakeHost::kSize - kPageBytes;
  constexpr uint32_t kHalfBeyond = 2 * kPageBytes / sizeof(Command);
  REQUIRE(create_submission_queue(2, kHalfBeyond, last, 1) == Status::kSuccess);
  for (uint32_t i = 0; i < kPageBytes / sizeof(Command); ++i)
    host.store(last + i * sizeof(Command), command_of(IoOpcode::kFlush, 0, 1));
  // All but one, which are executed; and the last of this memory with one beyond it.
  for (uint32_t tail = 1; tail <= kPageBytes / sizeof(Command) + 1; ++tail) {
    if (tail == kPageBytes / sizeof(Command)) continue;
    write(kRegDoorbells + 16, tail);
    CHECK(controller->work());
    CHECK(reap(1));
  }
  CHECK(read(kRegStatus) == kStatusReady);
  work();
  CHECK(read(kRegStatus) == (kStatusReady | kStatusFatal));
}

TEST_CASE_METHOD(NvmeFixture, "queues take turns") {
  enable_io();
  HostQueue second{kQueueMemory + 0x10000, kQueueMemory + 0x11000, kIoEntries};
  REQUIRE(create_submission_queue(2, kIoEntries, second.submission, 1) == Status::kSuccess);
  for (unsigned i = 0; i < 2; ++i) {
    submit(1, command_of(IoOpcode::kRead, 0, 1));
    Command other = command_of(IoOpcode::kRead, 0, 1);
    other.id = 0x7000;
    host.store(second.submission + i * sizeof other, other);
  }
  write(kRegDoorbells + 16, 2);
  std::vector<unsigned> order;
  while (controller->work()) order.push_back(reap(1)->submission_queue);
  CHECK(order == std::vector<unsigned>{1, 2, 1, 2});
}

TEST_CASE_METHOD(NvmeFixture,
                 "a doorbell that makes no sense is told by an event, once until its log is read") {
  enable_io();
  const uint16_t request = submit(0, event_request());
  work();
  CHECK_FALSE(reap(0));
  SECTION("of a queue that is not there") { write(kRegDoorbells + 8 * 7, 1); }
  SECTION("behind the last queue that there could be") { write(16380, 1); }
  SECTION("of a tail beyond the queue") { write(kRegDoorbells + 8, kIoEntries); }
  SECTION("of a head beyond what was completed") { write(kIoHead, 1); }
  work();
  const auto told = reap(0);
  REQUIRE(told);
  CHECK(told->id == request);
  CHECK(status_of(*told) == Status::kSuccess);
  CHECK((told->result >> 16) == static_cast<uint32_t>(LogPage::kError));
  CHECK((told->result & 7) == kEventError);
  submit(0, event_request());
  write(kRegDoorbells + 8 * 7, 1);
  work();
  CHECK_FALSE(reap(0));
  CHECK(status_of(admin(read_error_log())) == Status::kSuccess);
  CHECK(host.load<uint64_t>(kData) == 2);  // errors, the newest first
  write(kRegDoorbells + 8 * 7, 1);
  work();
  CHECK(reap(0));
}

TEST_CASE_METHOD(NvmeFixture, "event requests wait, are limited, and can be aborted") {
  enable();
  std::vector<uint16_t> requests;
  for (unsigned i = 0; i < kMaxEventRequests; ++i) requests.push_back(submit(0, event_request()));
  work();
  CHECK_FALSE(reap(0));
  CHECK(status_of(admin(event_request())) == Status::kEventRequestLimit);
  Command abort = command_of(AdminOpcode::kAbort);
  abort.cdw10 = uint32_t{requests[1]} << 16;
  CHECK(admin(abort).result == 0);
  const auto aborted = reap(0);
  REQUIRE(aborted);
  CHECK(aborted->id == requests[1]);
  CHECK(status_of(*aborted) == Status::kAbortRequested);
  CHECK(admin(abort).result == 1);  // it does not wait any more
  submit(0, event_request());
  work();
  CHECK_FALSE(reap(0));
}

TEST_CASE_METHOD(NvmeFixture, "queues beyond the host's memory are a fatal error, and no more") {
  enable_io();
  SECTION("of commands") {
    REQUIRE(create_submission_queue(2, 2, 0x1000, 1) == Status::kSuccess);
    write(kRegDoorbells + 16, 1);
  }
  SECTION("of completions") {
    REQUIRE(create_completion_queue(2, 2, 0x1000, 0) == Status::kSuccess);
    REQUIRE(create_submission_queue(2, 2, kQueueMemory + 0x10000, 2) == Status::kSuccess);
    host.store(kQueueMemory + 0x10000, command_of(IoOpcode::kRead, 0, 1));
    write(kRegDoorbells + 16, 1);
  }
  work();
  CHECK(read(kRegStatus) == (kStatusReady | kStatusFatal));
  submit(0, command_of(AdminOpcode::kIdentify));
  CHECK_FALSE(controller->work());
  enable_io();
  CHECK(io(command_of(IoOpcode::kRead, 0, 1)) == Status::kSuccess);
}

}  // namespace exrnic::nvme

// SPDX-License-Identifier: BSD-2-Clause
#include "sim/devices/nvme/admin_commands.h"

#include <algorithm>
#include <vector>

#include "sim/devices/nvme/data_pointer.h"

namespace exrnic::nvme {
namespace {

constexpr uint32_t kContiguous = 1;  // dword 11 of what creates a queue
constexpr uint32_t kInterrupts = 2;
constexpr uint32_t kKeepEvent = 1u << 15;  // dword 10 of Get Log Page
constexpr uint32_t kNotAborted = 1;        // dword 0 of the completion of Abort

unsigned queue_id(const Command& command) { return command.cdw10 & 0xffff; }
uint32_t queue_entries(const Command& command) { return (command.cdw10 >> 16) + 1; }

}  // namespace

std::optional<Result> AdminCommands::execute(const Command& command) {
  switch (static_cast<AdminOpcode>(command.opcode)) {
    case AdminOpcode::kDeleteSubmissionQueue:
      return delete_submission_queue(command);
    case AdminOpcode::kCreateSubmissionQueue:
      return create_submission_queue(command);
    case AdminOpcode::kGetLogPage:
      return get_log_page(command);
    case AdminOpcode::kDeleteCompletionQueue:
      return delete_completion_queue(command);
    case AdminOpcode::kCreateCompletionQueue:
      return create_completion_queue(command);
    case AdminOpcode::kIdentify:
      return identify(command);
    case AdminOpcode::kAbort:
      return abort(command);
    case AdminOpcode::kSetFeatures:
      return context_.features.set(command, has_io_queues());
    case AdminOpcode::kGetFeatures:
      return context_.features.get(command);
    case AdminOpcode::kAsynchronousEvent: {
      const Status status = context_.events.request(command.id);
      if (status == Status::kSuccess) return std::nullopt;
      return Result{status};
    }
  }
  return Result{Status::kInvalidOpcode};
}

// What queues of both kinds have in common; `entry_shift_at` is the place of their entries' size in
// the register CC.
Status AdminCommands::check_new_queue(const Command& command, unsigned entry_shift_at,
                                      unsigned entry_shift) const {
  const unsigned id = queue_id(command);
  if (id == 0 || id > context_.features.io_queues()) return Status::kInvalidQueueIdentifier;
  if (queue_entries(command) < 2 || queue_entries(command) > kMaxQueueEntries)
    return Status::kInvalidQueueSize;
  if ((context_.configuration >> entry_shift_at & 15) != entry_shift)
    return Status::kInvalidQueueSize;
  if ((command.cdw11 & kContiguous) == 0) return Status::kInvalidField;
  return command.prp1 % kPageBytes == 0 ? Status::kSuccess : Status::kInvalidPrpOffset;
}

Result AdminCommands::create_completion_queue(const Command& command) {
  const Status status = check_new_queue(command, kConfigCompletionEntryShift, kCompletionShift);
  if (status != Status::kSuccess) return {status};
  if (context_.queues.completion(queue_id(command)) != nullptr)
    return {Status::kInvalidQueueIdentifier};
  std::optional<unsigned> vector;
  if ((command.cdw11 & kInterrupts) != 0) {
    vector = command.cdw11 >> 16;
    if (*vector >= kInterruptVectors) return {Status::kInvalidInterruptVector};
  }
  context_.queues.add_completion(queue_id(command), command.prp1, queue_entries(command), vector);
  return {};
}

Result AdminCommands::create_submission_queue(const Command& command) {
  const Status status = check_new_queue(command, kConfigSubmissionEntryShift, kCommandShift);
  if (status != Status::kSuccess) return {status};
  if (context_.queues.submission(queue_id(command)) != nullptr)
    return {Status::kInvalidQueueIdentifier};
  const unsigned completion = command.cdw11 >> 16;
  if (completion == 0 || completion > context_.features.io_queues())
    return {Status::kInvalidQueueIdentifier};
  if (context_.queues.completion(completion) == nullptr) return {Status::kCompletionQueueInvalid};
  context_.queues.add_submission(queue_id(command), command.prp1, queue_entries(command),
                                 completion);
  return {};
}

Result AdminCommands::delete_submission_queue(const Command& command) {
  const unsigned id = queue_id(command);
  if (id == 0 || context_.queues.submission(id) == nullptr)
    return {Status::kInvalidQueueIdentifier};
  context_.queues.remove_submission(id);
  return {};
}

Result AdminCommands::delete_completion_queue(const Command& command) {
  const unsigned id = queue_id(command);
  const CompletionQueue* queue = context_.queues.completion(id);
  if (id == 0 || queue == nullptr) return {Status::kInvalidQueueIdentifier};
  if (queue->users > 0) return {Status::kInvalidQueueDeletion};
  context_.queues.remove_completion(id);
  return {};
}

bool AdminCommands::has_io_queues() {
  for (unsigned id = 1; id <= kMaxIoQueues; ++id) {
    if (context_.queues.completion(id) != nullptr) return true;
  }
  return false;
}

// Behind the end of a page are zeroes.
Result AdminCommands::get_log_page(const Command& command) {
  const auto which = static_cast<LogPage>(command.cdw10 & 0xff);
  std::vector<uint8_t> page = context_.logs.page(which);
  if (page.empty()) return {Status::kInvalidLogPage};
  const uint64_t dwords = (uint64_t{command.cdw11 & 0xffff} << 16 | command.cdw10 >> 16) + 1;
  const uint64_t offset = uint64_t{command.cdw13} << 32 | command.cdw12;
  if (dwords > kMaxTransferBytes / kDwordBytes) return {Status::kInvalidField};
  if (offset % kDwordBytes != 0 || offset > page.size()) return {Status::kInvalidField};
  page.erase(page.begin(), page.begin() + static_cast<std::ptrdiff_t>(offset));
  page.resize(dwords * kDwordBytes);
  const Status status = copy_to_host(context_.host, command, page.data(), page.size());
  if (status == Status::kSuccess && which == LogPage::kError && (command.cdw10 & kKeepEvent) == 0)
    context_.events.log_was_read();
  return {status};
}

Result AdminCommands::identify(const Command& command) {
  const uint32_t nsid = command.nsid;
  const auto namespaces = static_cast<uint32_t>(context_.namespaces.size());
  std::vector<uint8_t> answer;
  switch (command.cdw10 & 0xff) {
    case kIdentifyNamespace:
      if (!has_namespace(nsid)) return {Status::kInvalidNamespace};
      answer = identify_namespace(context_.namespaces[nsid - 1]);
      break;
    case kIdentifyController:
      answer = identify_controller(context_.serial, namespaces);
      break;
    case kIdentifyActiveNamespaces:
      if (nsid >= kEveryNamespace - 1) return {Status::kInvalidNamespace};
      answer = identify_active_namespaces(nsid, namespaces);
      break;
    case kIdentifyNamespaceDescriptors:
      if (!has_namespace(nsid)) return {Status::kInvalidNamespace};
      answer = identify_namespace_descriptors(context_.serial, nsid);
      break;
    default:
      return {Status::kInvalidField};
  }
  return {copy_to_host(context_.host, command, answer.data(), answer.size())};
}

// A command is executed when it is taken from its queue: only event requests wait.
Result AdminCommands::abort(const Command& command) {
  const uint32_t queue = command.cdw10 & 0xffff;
  const auto id = static_cast<uint16_t>(command.cdw10 >> 16);
  if (queue != 0 || !context_.events.abort(id)) return {Status::kSuccess, kNotAborted};
  return {};
}

}  // namespace exrnic::nvme

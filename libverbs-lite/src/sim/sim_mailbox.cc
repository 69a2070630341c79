// SPDX-License-Identifier: BSD-2-Clause
#include "sim_mailbox.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "sim_error.h"
#include "sim_names.h"

namespace exrnic {

namespace {

constexpr size_t kWord = sizeof(uint32_t);

uint32_t DataRegister(size_t word) {
  return static_cast<uint32_t>(EXRNIC_REG_MBOX_DATA + word * kWord);
}

int ErrnoOf(exrnic_mbox_op op, uint32_t status) {
  if (status == EXRNIC_MBOX_STATUS_BAD_PARAMETER) return EINVAL;
  const bool state = status == EXRNIC_MBOX_STATUS_BAD_STATE;
  switch (op) {
    case EXRNIC_MBOX_OP_MODIFY_QP:
      return state ? EPERM : EIO;
    case EXRNIC_MBOX_OP_ATTACH_GROUP:
      return state ? EEXIST : ENOSPC;
    case EXRNIC_MBOX_OP_DETACH_GROUP:
      return state ? ENOENT : EIO;
    default:
      return EIO;
  }
}

std::string CommandText(exrnic_mbox_op op) {
  return "mailbox command " + NameOf(kMailboxCommands, op);
}

}  // namespace

uint32_t SimMailbox::AwaitStatus(exrnic_mbox_op op) {
  const auto until = std::chrono::steady_clock::now() + link_->patience();
  for (;;) {
    const uint32_t status = link_->Read(EXRNIC_REG_MBOX_STATUS);
    if (status != EXRNIC_MBOX_STATUS_BUSY) return status;
    if (std::chrono::steady_clock::now() < until) continue;
    const std::string text = "no answer to " + CommandText(op) + " in " +
                             std::to_string(link_->patience().count()) + " ms";
    link_->Cut(text);
    throw SimError(ETIMEDOUT, text);
  }
}

void SimMailbox::Execute(exrnic_mbox_op op, const void* in, size_t in_bytes, void* out,
                         size_t out_bytes) {
  uint32_t words[EXRNIC_MBOX_DATA_BYTES / kWord];
  memcpy(words, in, in_bytes);
  std::vector<SimLink::RegisterWrite> writes;
  for (size_t i = 0; i < in_bytes / kWord; ++i) writes.push_back({DataRegister(i), words[i]});
  // Behind its payload: the link keeps the order.
  writes.push_back({EXRNIC_REG_MBOX_COMMAND, static_cast<uint32_t>(op)});

  std::lock_guard<std::mutex> guard(mutex_);
  link_->Write(writes);
  const uint32_t status = AwaitStatus(op);
  if (status != EXRNIC_MBOX_STATUS_OK) {
    throw SimError(ErrnoOf(op, status), "the device refused " + CommandText(op) + " with " +
                                            StatusText(kMailboxStatuses, status));
  }
  for (size_t i = 0; i < out_bytes / kWord; ++i) words[i] = link_->Read(DataRegister(i));
  if (out_bytes > 0) memcpy(out, words, out_bytes);
}

void SimMailbox::End(exrnic_mbox_op op, uint32_t index) {
  try {
    Set(op, exrnic_mbox_object{index});
  } catch (const SimError& error) {
    link_->Cut(error.what());
    throw;
  }
}

}  // namespace exrnic

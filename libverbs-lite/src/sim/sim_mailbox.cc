// SPDX-License-Identifier: BSD-2-Clause
#include "sim_mailbox.h"

#include <cerrno>
#include <cstring>
#include <string>

#include "exrnic_driver.h"
#include "sim_error.h"
#include "sim_names.h"

namespace exrnic {

namespace {

std::string CommandText(exrnic_mbox_op op) {
  return "mailbox command " + NameOf(kMailboxCommands, op);
}

// What there is no room for the caller of the verb knows.
std::string RefusalText(exrnic_mbox_op op, uint32_t status) {
  if (status == EXRNIC_MBOX_STATUS_NO_ROOM) return "";
  return "the device refused " + CommandText(op) + " with " + StatusText(kMailboxStatuses, status);
}

}  // namespace

uint32_t SimMailbox::AwaitStatus(exrnic_mbox_op op) {
  const uint32_t status = link_->AwaitChange(EXRNIC_REG_MBOX_STATUS, EXRNIC_MBOX_STATUS_BUSY);
  if (status != EXRNIC_MBOX_STATUS_BUSY) return status;
  const std::string text = "no answer to " + CommandText(op) + " in " +
                           std::to_string(link_->patience().count()) + " ms";
  link_->Cut(text);
  throw SimError(ETIMEDOUT, text);
}

void SimMailbox::Execute(exrnic_mbox_op op, const void* in, size_t in_bytes, void* out,
                         size_t out_bytes) {
  auto writes = SimLink::WordsAt(EXRNIC_REG_MBOX_DATA, in, in_bytes);
  // Behind its payload: the link keeps the order.
  writes.push_back({EXRNIC_REG_MBOX_COMMAND, static_cast<uint32_t>(op)});

  std::lock_guard<std::mutex> guard(mutex_);
  link_->Write(writes);
  const uint32_t status = AwaitStatus(op);
  if (status != EXRNIC_MBOX_STATUS_OK) {
    throw SimError(exrnic_mbox_status_errno(op, status), RefusalText(op, status));
  }
  for (size_t at = 0; at < out_bytes; at += sizeof(uint32_t)) {
    const uint32_t word = link_->Read(static_cast<uint32_t>(EXRNIC_REG_MBOX_DATA + at));
    memcpy(static_cast<uint8_t*>(out) + at, &word, sizeof(word));
  }
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

// SPDX-License-Identifier: BSD-2-Clause
#include "sim_message_channel.h"

#include <cerrno>

#include "sim_error.h"

namespace exrnic {

namespace {

// Never 0, and another one each time: what peers still say to the owner before finds nobody.
uint32_t NewIncarnation() { return Random32() | 1; }

}  // namespace

SimMessageChannel::SimMessageChannel(const Device& device, uint32_t user_page,
                                     const MessageChannelRequest& request)
    : device_(device),
      memory_(device.arena, request.memory, request.bytes),
      stag_(device.stags),
      events_(device.events, request.number, request.channel_fd),
      bytes_(request.bytes) {
  open_.channel = request.number;
  open_.page = user_page;
  open_.stag = stag_.value();
  open_.incarnation = NewIncarnation();
  open_.base = reinterpret_cast<uintptr_t>(request.memory);
  open_.status = request.status;
  open_.work = request.work;
  open_.log_work = request.log_work;
  open_.events = request.events;
  open_.log_events = request.log_events;
  open_.slots = request.slots;
  open_.slot_bytes = request.slot_bytes;
  open_.num_slots = request.num_slots;
  Register();
  try {
    device_.firmware->OpenChannel(&open_);
  } catch (const SimError&) {
    device_.mailbox->End(EXRNIC_MBOX_OP_INVALIDATE_MR, open_.stag);
    throw;
  }
}

void SimMessageChannel::Register() {
  exrnic_mbox_register_mr in = {};
  in.stag = open_.stag;
  in.pd = EXRNIC_FW_PD;
  in.base = open_.base;
  in.length = bytes_;
  in.pbl_address = memory_.pbl_bus();
  in.access = EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE;
  in.page_shift = EXRNIC_PAGE_SHIFT;
  device_.mailbox->Set(EXRNIC_MBOX_OP_REGISTER_MR, in);
}

void SimMessageChannel::Close() {
  closed_ = true;
  device_.firmware->CloseChannel(&open_);
  device_.mailbox->End(EXRNIC_MBOX_OP_INVALIDATE_MR, open_.stag);
}

SimMessageChannel::~SimMessageChannel() {
  if (closed_) return;
  try {
    Close();
  } catch (const SimError&) {
    // The device is cut off.
  }
}

}  // namespace exrnic

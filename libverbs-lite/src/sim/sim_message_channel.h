// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_SIM_MESSAGE_CHANNEL_H
#define EXRNIC_LIBVERBS_SIM_MESSAGE_CHANNEL_H

#include <cstdint>

#include "exrnic_hw.h"
#include "sim_events.h"
#include "sim_firmware.h"
#include "sim_mailbox.h"
#include "sim_memory.h"
#include "sim_numbers.h"
#include "transport/transport.h"

namespace exrnic {

// A message channel: memory that firmware may touch. The device checks each of firmware's accesses
// against the memory's STag, so what firmware does, or a peer's does, stays within it.
class SimMessageChannel {
 public:
  struct Device {
    SimMailbox* mailbox;
    SimFirmware* firmware;
    SimArena* arena;
    SimStags* stags;
    SimEvents* events;
  };

  // Throws SimError: EINVAL if the request makes no sense, and as SimFirmware::OpenChannel.
  SimMessageChannel(const Device& device, uint32_t user_page, const MessageChannelRequest& request);
  ~SimMessageChannel();
  SimMessageChannel(const SimMessageChannel&) = delete;
  SimMessageChannel& operator=(const SimMessageChannel&) = delete;

  uint32_t number() const { return open_.channel; }
  // Behind this neither firmware nor the device touches the memory, or the device is cut off.
  // Throws what the device says.
  void Close();

 private:
  void Register();

  const Device device_;
  const SimRing memory_;
  Taken<SimStags> stag_;
  const SimMessageEvents events_;
  const uint64_t bytes_;
  exrnic_channel_open open_ = {};
  bool closed_ = false;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SIM_MESSAGE_CHANNEL_H

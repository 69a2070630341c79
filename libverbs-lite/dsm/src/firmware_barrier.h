// SPDX-License-Identifier: BSD-2-Clause
// Barriers by firmware of the RNICs (exrnic/messages.h), which bring the bits of all nodes
// together.
#ifndef EXRNIC_DSM_FIRMWARE_BARRIER_H
#define EXRNIC_DSM_FIRMWARE_BARRIER_H

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "exrnic/verbs.hpp"

namespace exrnic {

class FirmwareBarrier {
 public:
  // Null: this RNIC has no firmware, or another process has the message channel.
  static std::unique_ptr<FirmwareBarrier> Make(vl_rnic* rnic);

  // Their RNICs. False: they cannot meet so.
  bool SetNodes(const std::vector<uint32_t>& node_ids);
  // One at a time, until it is done.
  void Begin(uint64_t bits);
  enum class State { kUnderWay, kDone, kFailed };
  State Poll(uint64_t* bits);

 private:
  explicit FirmwareBarrier(vl::Owned<vl_message_channel> channel) : channel_(std::move(channel)) {}

  vl::Owned<vl_message_channel> channel_;
  uint8_t nodes_[VL_MESSAGE_NODES / 8] = {};
  uint32_t round_ = 0;
};

}  // namespace exrnic

#endif  // EXRNIC_DSM_FIRMWARE_BARRIER_H

// SPDX-License-Identifier: BSD-2-Clause
#include "firmware_barrier.h"

namespace exrnic {

namespace {

constexpr uint32_t kBarrierChannel = 0;
constexpr unsigned kBarrierGroup = 0xd5;

}  // namespace

std::unique_ptr<FirmwareBarrier> FirmwareBarrier::Make(vl_rnic* rnic) {
  const vl_message_channel_attr attr = {kBarrierChannel, VL_MESSAGE_SHORT, 2, 2};
  vl::Owned<vl_message_channel> channel(vl_create_message_channel(rnic, &attr));
  if (channel == nullptr) return nullptr;
  return std::unique_ptr<FirmwareBarrier>(new FirmwareBarrier(std::move(channel)));
}

bool FirmwareBarrier::SetNodes(const std::vector<uint32_t>& node_ids) {
  for (const uint32_t id : node_ids) {
    if (id >= VL_MESSAGE_NODES) return false;
    uint8_t* const byte = &nodes_[id / 8];
    const uint8_t bit = static_cast<uint8_t>(1u << id % 8);
    if ((*byte & bit) != 0) return false;  // two processes of one RNIC
    *byte |= bit;
  }
  return true;
}

void FirmwareBarrier::Begin(uint64_t bits) {
  vl::Check(vl_reduce(channel_.get(), kBarrierGroup, nodes_, ++round_, VL_REDUCE_OR, bits,
                      VL_MESSAGE_TIMEOUT_MAX),
            "vl_reduce");
}

FirmwareBarrier::State FirmwareBarrier::Poll(uint64_t* bits) {
  vl_message message;
  const int found = vl_poll_message(channel_.get(), &message);
  vl::Check(found, "vl_poll_message");
  if (found == 0) return State::kUnderWay;
  *bits = message.value;
  const bool done = message.kind == VL_MESSAGE_REDUCED && message.id == round_;
  const bool failed = message.kind == VL_MESSAGE_FAILED;
  vl::Check(vl_release_messages(channel_.get(), 1), "vl_release_messages");
  return done ? State::kDone : failed ? State::kFailed : State::kUnderWay;
}

}  // namespace exrnic

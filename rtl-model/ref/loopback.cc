// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/loopback.h"

#include <algorithm>
#include <utility>

namespace exrnic::ref {

void Loopback::transmit(FrameSink& sink, Frame&& frame) {
  const uint64_t to = exrnic_eth_dst(frame.data.data());
  if (to == mac_of(state_.config.node_id)) return go_round(sink, std::move(frame));
  const bool attached = std::any_of(
      state_.attachments.begin(), state_.attachments.end(),
      [&](const auto& attachment) { return attachment && to == mac_of_group(attachment->group); });
  if (attached) go_round(sink, Frame(frame));
  sink.transmit(std::move(frame));
}

// There is no MAC that would pad it.
void Loopback::go_round(FrameSink& sink, Frame&& frame) {
  state_.count(EXRNIC_COUNTER_FRAMES_LOOPED);
  frame.data.resize(std::max<size_t>(frame.data.size(), EXRNIC_ETH_FRAME_MIN));
  frame.looped = true;
  sink.looped(frame);
  if (!sink.keeps_looped()) frames_.push_back(std::move(frame));
}

void Loopback::run() {
  for (; !frames_.empty(); frames_.pop_front()) efe_rx_.receive(frames_.front());
}

}  // namespace exrnic::ref

// SPDX-License-Identifier: BSD-2-Clause
#include "channel.h"

#include <algorithm>

namespace exrnic {

namespace {

constexpr std::chrono::milliseconds kFirstPatience(2);
constexpr std::chrono::milliseconds kLastPatience(200);

}  // namespace

uint64_t PmSender::Released() {
  // Each is right, or old: the most that was ever said. What is beyond `sent` nobody has released.
  for (const uint64_t said : {FromDevice(released_at_), FromDevice(reread_at_)})
    if (said <= sent_) released_ = std::max(released_, said);
  return released_;
}

void PmSender::Send(const void* bytes, uint32_t length, uint64_t released) {
  uint32_t place;
  const PmEntry* const entry = Fill(bytes, length, released, &place);
  const bool is_short = length <= kPmShort;
  port_->PushMessage(place, is_short ? nullptr : bytes, is_short ? 0 : length, *entry);
}

bool PmSender::Remind(PmClock::time_point now) {
  if (Released() == sent_ || released_ != waits_at_ || patience_ == PmClock::duration{}) {
    waits_at_ = released_;
    patience_ = kFirstPatience;
    again_ = now + patience_;
    return false;
  }
  if (now < again_) return false;
  patience_ = std::min<PmClock::duration>(2 * patience_, kLastPatience);
  again_ = now + patience_;
  port_->PullReleased();
  for (uint64_t number = released_; number < sent_; ++number) {
    const auto place = static_cast<uint32_t>(number % said_.size());
    port_->PushMessage(place, nullptr, 0, said_[place]);
  }
  return true;
}

void PmReceiver::TellReleased() { port_->PushReleased(Tell()); }

}  // namespace exrnic

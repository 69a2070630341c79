// SPDX-License-Identifier: BSD-2-Clause
#include "channel.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace exrnic {

namespace {

constexpr std::chrono::milliseconds kFirstPatience(2);
constexpr std::chrono::milliseconds kLastPatience(200);

template <typename T>
T FromDevice(const T* at) {
  return *const_cast<const volatile T*>(at);
}

}  // namespace

uint64_t PmSender::Released() {
  // Each is right, or old: the most that was ever said. What is beyond `sent` nobody has released.
  for (const uint64_t said : {FromDevice(released_at_), FromDevice(reread_at_)})
    if (said <= sent_) released_ = std::max(released_, said);
  return released_;
}

bool PmSender::HasPlace() {
  return sent_ - released_ < said_.size() || sent_ - Released() < said_.size();
}

void PmSender::Send(const void* bytes, uint32_t length) {
  const auto place = static_cast<uint32_t>(sent_ % said_.size());
  PmEntry* const entry = &said_[place];
  *entry = {};
  entry->number = entry->number_again = static_cast<uint32_t>(++sent_);
  entry->length = length;
  const bool is_short = length <= kPmShort;
  if (is_short && length != 0) memcpy(entry->bytes, bytes, length);
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

bool PmReceiver::Take(const void** bytes, uint32_t* length) {
  const auto place = static_cast<uint32_t>(taken_ % places_);
  const PmEntry* const entry = &entries_[place];
  const auto number = static_cast<uint32_t>(taken_ + 1);
  if (FromDevice(&entry->number) != number || FromDevice(&entry->number_again) != number)
    return false;
  std::atomic_thread_fence(std::memory_order_acquire);
  const uint32_t said = entry->length;
  *length = said <= slot_bytes_ ? said : UINT32_MAX;
  *bytes = said <= kPmShort ? entry->bytes : slots_ + size_t{place} * slot_bytes_;
  ++taken_;
  return true;
}

void PmReceiver::Release() {
  *own_released_ = ++released_;
  // A quarter of the places at once, so that the sender never waits for one of them.
  if (released_ - told_ < std::max(1u, places_ / 4)) return;
  told_ = released_;
  port_->PushReleased(released_);
}

}  // namespace exrnic

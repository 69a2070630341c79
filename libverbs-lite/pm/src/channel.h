// SPDX-License-Identifier: BSD-2-Clause
// Messages between two nodes: which place is whose. No verbs here: a port does the PUSHes.
//
// A receiver has lent `places` to this sender. Message n (from 0) lies in place n % places: its
// bytes in a slot, if there are more than kPmShort, and an entry that says n, which is PUSHed
// behind them. The receiver tells how many it has released since the beginning: with the messages
// that it sends itself, and by an update of its own where it has sent none for long. Nothing counts
// relatively: an update that comes twice changes nothing, and the next one makes up for one that is
// lost. For the last ones there is Remind: a sender that has waited for a while says its entries
// again, and reads the receiver's own count, by PULL.
#ifndef EXRNIC_PM_CHANNEL_H
#define EXRNIC_PM_CHANNEL_H

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace exrnic {

using PmClock = std::chrono::steady_clock;

constexpr uint32_t kPmShort = 20;  // bytes of a message that its entry has

struct PmEntry {
  uint32_t number;  // n + 1 modulo 2^32, and again at the end: the device writes both by one store
  uint16_t length;  // of the message
  uint16_t released;                           // messages of the other direction, modulo 2^16
  uint8_t bytes[kPmShort + sizeof(uint32_t)];  // of a short message, then the number
};
static_assert(sizeof(PmEntry) == 32);

// Where the number stands again in `bytes`, of a message of that length.
inline uint32_t PmEntryTail(uint32_t length) { return length <= kPmShort ? (length + 3) & ~3u : 0; }
// What of an entry is PUSHed.
inline uint32_t PmEntryBytes(const PmEntry& entry) {
  return offsetof(PmEntry, bytes) + PmEntryTail(entry.length) + sizeof(uint32_t);
}

template <typename T>
T FromDevice(const T* at) {
  return *const_cast<const volatile T*>(at);
}

// To the peer of a channel.
class PmPort {
 public:
  virtual ~PmPort() = default;
  // Bytes of a message to its slot, then its entry; without bytes the entry alone.
  virtual void PushMessage(uint32_t place, const void* bytes, uint32_t length,
                           const PmEntry& entry) = 0;
  virtual void PushReleased(uint64_t released) = 0;
  // The peer's own count of what it has released comes to PmSender::reread.
  virtual void PullReleased() = 0;
};

class PmSender {
 public:
  // released, reread: where the peer, and PullReleased, write.
  PmSender(PmPort* port, uint32_t places, const uint64_t* released, const uint64_t* reread)
      : port_(port), released_at_(released), reread_at_(reread), said_(places) {}

  bool HasPlace() { return HasKnownPlace() || sent_ - Released() < said_.size(); }
  // Without a look at what the peer has written.
  bool HasKnownPlace() const { return sent_ - released_ < said_.size(); }
  // HasPlace was true. bytes: length of them, in memory that the port may read until it is done.
  // released: of this end's receiver.
  void Send(const void* bytes, uint32_t length, uint64_t released);
  // Its first half: the entry, which the caller is to PUSH to the place, of a short message.
  const PmEntry* Fill(const void* bytes, uint32_t length, uint64_t released, uint32_t* place) {
    *place = place_;
    PmEntry* const entry = &said_[place_];
    if (++place_ == said_.size()) place_ = 0;
    const auto number = static_cast<uint32_t>(++sent_);
    entry->number = number;
    entry->length = static_cast<uint16_t>(length);
    entry->released = static_cast<uint16_t>(released);
    if (length <= kPmShort) memcpy(entry->bytes, bytes, length);
    memcpy(entry->bytes + PmEntryTail(length), &number, sizeof(number));
    return entry;
  }
  // What an entry of the peer says of `released`.
  void Hear(uint16_t released) {
    const uint64_t said = released_ + static_cast<uint16_t>(released - released_);
    if (said <= sent_) released_ = said;  // else it is older than what is known
  }
  // Now and then: whether there was something to say again.
  bool Remind(PmClock::time_point now);
  uint64_t sent() const { return sent_; }

 private:
  uint64_t Released();

  PmPort* const port_;
  const uint64_t* const released_at_;
  const uint64_t* const reread_at_;
  uint64_t sent_ = 0;
  uint32_t place_ = 0;  // of the next one
  uint64_t released_ = 0;
  std::vector<PmEntry> said_;  // the last one of each place
  uint64_t waits_at_ = 0;      // of what was released when the waiting began
  PmClock::time_point again_{};
  PmClock::duration patience_{};
};

class PmReceiver {
 public:
  // entries, slots: where the peer writes, a place after the other. own_released: whence it reads.
  PmReceiver(PmPort* port, uint32_t places, const PmEntry* entries, const uint8_t* slots,
             uint32_t slot_bytes, uint64_t* own_released)
      : port_(port),
        places_(places),
        told_each_(places < 4 ? 1 : places / 4),
        entries_(entries),
        slots_(slots),
        slot_bytes_(slot_bytes),
        own_released_(own_released) {}

  // Whether the next message has come, or some of its entry.
  bool IsThere() const {
    return FromDevice(&entries_[place_].number) == static_cast<uint32_t>(taken_ + 1);
  }
  // The next message, whose bytes stay until it is released, and the entry's `released`. An entry
  // that says what cannot be has a length of none: UINT32_MAX.
  bool Take(const void** bytes, uint32_t* length, uint16_t* released) {
    const PmEntry* const entry = &entries_[place_];
    const auto number = static_cast<uint32_t>(taken_ + 1);
    if (!IsThere()) return false;
    std::atomic_thread_fence(std::memory_order_acquire);
    const uint32_t said = entry->length;
    uint32_t again;
    memcpy(&again, entry->bytes + PmEntryTail(said), sizeof(again));
    if (again != number) return false;
    // Who keeps to what was released never has more under way than there are places.
    const bool possible = said <= slot_bytes_ && taken_ - released_ < places_;
    *length = possible ? said : UINT32_MAX;
    *bytes = said <= kPmShort ? entry->bytes : slots_ + size_t{place_} * slot_bytes_;
    *released = entry->released;
    ++taken_;
    if (++place_ == places_) place_ = 0;
    return true;
  }
  // The oldest that was taken.
  void Release() {
    *own_released_ = ++released_;
    // A quarter of the places at once, so that the sender never waits for one of them.
    if (released_ - told_ >= told_each_) TellReleased();
  }
  // How many were released, which the peer is told now.
  uint64_t Tell() { return told_ = released_; }
  uint64_t taken() const { return taken_; }

 private:
  void TellReleased();

  PmPort* const port_;
  const uint32_t places_;
  const uint32_t told_each_;
  const PmEntry* const entries_;
  const uint8_t* const slots_;
  const uint32_t slot_bytes_;
  uint64_t* const own_released_;
  uint64_t taken_ = 0;
  uint32_t place_ = 0;  // of the next one
  uint64_t released_ = 0;
  uint64_t told_ = 0;
};

}  // namespace exrnic

#endif  // EXRNIC_PM_CHANNEL_H

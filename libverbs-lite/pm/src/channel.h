// SPDX-License-Identifier: BSD-2-Clause
// Messages between two nodes: which place is whose. No verbs here: a port does the PUSHes.
//
// A receiver has lent `places` to this sender. Message n (from 0) lies in place n % places: its
// bytes in a slot, if there are more than kPmShort, and an entry that says n, which is PUSHed
// behind them. The receiver tells how many it has released since the beginning. Nothing counts
// relatively: an update that comes twice changes nothing, and the next one makes up for one that is
// lost. For the last ones there is Remind: a sender that has waited for a while says its entries
// again, and reads the receiver's own count, by PULL.
#ifndef EXRNIC_PM_CHANNEL_H
#define EXRNIC_PM_CHANNEL_H

#include <chrono>
#include <cstdint>
#include <vector>

namespace exrnic {

using PmClock = std::chrono::steady_clock;

constexpr uint32_t kPmShort = 20;  // bytes of a message that its entry has

struct PmEntry {
  uint32_t number;  // n + 1 modulo 2^32, here and at the end: the device writes both by one store
  uint32_t length;
  uint8_t bytes[kPmShort];
  uint32_t number_again;
};
static_assert(sizeof(PmEntry) == 32);

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

  bool HasPlace();
  // HasPlace was true. bytes: length of them, in memory that the port may read until it is done.
  void Send(const void* bytes, uint32_t length);
  // Now and then: whether there was something to say again.
  bool Remind(PmClock::time_point now);
  uint64_t sent() const { return sent_; }

 private:
  uint64_t Released();

  PmPort* const port_;
  const uint64_t* const released_at_;
  const uint64_t* const reread_at_;
  uint64_t sent_ = 0;
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
        entries_(entries),
        slots_(slots),
        slot_bytes_(slot_bytes),
        own_released_(own_released) {}

  // The next message, whose bytes stay until it is released. An entry that says what cannot be has
  // a length of none: UINT32_MAX.
  bool Take(const void** bytes, uint32_t* length);
  // The oldest that was taken.
  void Release();
  uint64_t taken() const { return taken_; }

 private:
  PmPort* const port_;
  const uint32_t places_;
  const PmEntry* const entries_;
  const uint8_t* const slots_;
  const uint32_t slot_bytes_;
  uint64_t* const own_released_;
  uint64_t taken_ = 0;
  uint64_t released_ = 0;
  uint64_t told_ = 0;
};

}  // namespace exrnic

#endif  // EXRNIC_PM_CHANNEL_H

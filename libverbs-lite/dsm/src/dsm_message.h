// SPDX-License-Identifier: BSD-2-Clause
// What nodes say to each other: a head, and behind it ranges of pages or a clock. Bytes of peers
// are untrusted: Read checks all that can be checked without knowing what is under way.
#ifndef EXRNIC_DSM_MESSAGE_H
#define EXRNIC_DSM_MESSAGE_H

#include <cstdint>
#include <string>
#include <vector>

namespace exrnic {

constexpr uint32_t kDsmMessageBytes = 4096;  // of the longest
constexpr uint32_t kDsmLocks = 1024;
constexpr uint32_t kDsmConditions = 256;

enum class DsmKind : uint32_t {
  kNotice = 1,  // ranges: the sender has written there, and it is at the homes
  kArrive,      // number: of the meeting; what: DsmMeeting and bits; value: digest of the layout
  kAcquire,     // number: a lock
  kGrant,       // number: a lock; clock
  kRelease,     // likewise
  kSet,         // number: a condition variable; clock
  kReset,       // number; both are answered: who is told of them later finds them done
  kAwait,       // number
  kIsSet,       // number; clock
  kShare,       // ranges: the sender reads them often, the receiver is their home
  kTracked,     // ranges: the sender is their home, and tells when it writes there from now on
  kClaim,       // number: a page without a home that the sender touches, the receiver keeps it
  kHome,        // number: a page; value: its home
  kDone,        // number: of a condition variable that is set or reset
};
constexpr uint32_t kDsmKinds = static_cast<uint32_t>(DsmKind::kDone);

enum class DsmMeeting : uint32_t { kBarrier, kWait, kExit };
// A meeting, and these bits. Asks: firmware was not used, or has failed the sender, which waits for
// messages of all. Answers: to who asks about a meeting that has been.
constexpr uint32_t kDsmAsks = 0x100, kDsmAnswers = 0x200;
const char* NameOfDsmMeeting(uint32_t meeting);  // its call

struct DsmRange {  // of pages
  uint32_t first;
  uint32_t count;
};
constexpr uint32_t kDsmRangesMost = 500;  // of a message

// Of each node, how many notices of it are known. Who acquires waits until it has as many.
using DsmClock = std::vector<uint64_t>;

struct DsmMessage {
  DsmKind kind = DsmKind::kNotice;
  uint32_t number = 0;
  uint32_t what = 0;
  uint64_t value = 0;
  std::vector<DsmRange> ranges;
  DsmClock clock;
  // The receiver's program may compute for long: its other thread is to wake. What a node waits for
  // it takes itself.
  bool wakes = false;
};

std::vector<uint8_t> WriteDsmMessage(const DsmMessage& message);
// "" if it is a message among `nodes` nodes about an area of `pages`; else what is wrong.
std::string ReadDsmMessage(const uint8_t* bytes, size_t length, unsigned nodes, uint32_t pages,
                           DsmMessage* message);

// Sorted pages, each once or more, as ranges.
std::vector<DsmRange> DsmRangesOf(std::vector<uint32_t> pages);

}  // namespace exrnic

#endif  // EXRNIC_DSM_MESSAGE_H

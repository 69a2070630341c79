// SPDX-License-Identifier: BSD-2-Clause
#include "dsm_message.h"

#include <algorithm>
#include <cstring>

namespace exrnic {

namespace {

struct DsmHead {
  DsmKind kind;
  uint32_t number;
  uint32_t what;
  uint32_t count;  // of ranges or of the clock
  uint64_t value;
};
static_assert(sizeof(DsmHead) + kDsmRangesMost * sizeof(DsmRange) <= kDsmMessageBytes);
static_assert(sizeof(DsmRange) == sizeof(uint64_t));

bool HasRanges(DsmKind kind) {
  return kind == DsmKind::kNotice || kind == DsmKind::kShare || kind == DsmKind::kTracked;
}
bool HasClock(DsmKind kind) {
  return kind == DsmKind::kGrant || kind == DsmKind::kRelease || kind == DsmKind::kSet ||
         kind == DsmKind::kIsSet;
}

// Numbers of the kind are below.
uint64_t LimitOf(DsmKind kind, uint32_t pages) {
  switch (kind) {
    case DsmKind::kAcquire:
    case DsmKind::kGrant:
    case DsmKind::kRelease:
      return kDsmLocks;
    case DsmKind::kSet:
    case DsmKind::kReset:
    case DsmKind::kAwait:
    case DsmKind::kIsSet:
    case DsmKind::kDone:
      return kDsmConditions;
    case DsmKind::kClaim:
    case DsmKind::kHome:
      return pages;
    default:
      return uint64_t{1} << 32;
  }
}

std::string Beyond(const char* what, uint64_t value, uint64_t limit) {
  return std::string(what) + " " + std::to_string(value) + ": below " + std::to_string(limit);
}

}  // namespace

const char* NameOfDsmMeeting(uint32_t meeting) {
  switch (static_cast<DsmMeeting>(meeting)) {
    case DsmMeeting::kBarrier:
      return "jia_barrier";
    case DsmMeeting::kWait:
      return "jia_wait";
    default:
      return "jia_exit";
  }
}

std::vector<uint8_t> WriteDsmMessage(const DsmMessage& message) {
  const size_t count = message.ranges.size() + message.clock.size();
  const DsmHead head = {message.kind, message.number, message.what, static_cast<uint32_t>(count),
                        message.value};
  std::vector<uint8_t> bytes(sizeof(head) + count * sizeof(uint64_t));
  memcpy(bytes.data(), &head, sizeof(head));
  const void* const body = message.clock.empty() ? static_cast<const void*>(message.ranges.data())
                                                 : message.clock.data();
  if (count > 0) memcpy(bytes.data() + sizeof(head), body, count * sizeof(uint64_t));
  return bytes;
}

std::string ReadDsmMessage(const uint8_t* bytes, size_t length, unsigned nodes, uint32_t pages,
                           DsmMessage* message) {
  DsmHead head;
  if (length < sizeof(head)) return Beyond("a message of bytes", length, sizeof(head));
  memcpy(&head, bytes, sizeof(head));
  const auto kind = static_cast<uint32_t>(head.kind);
  if (kind == 0 || kind > kDsmKinds) return Beyond("a message of kind", kind, kDsmKinds + 1);
  const uint64_t limit = LimitOf(head.kind, pages);
  if (head.number >= limit) return Beyond("a message about number", head.number, limit);
  const uint64_t body = length - sizeof(head);
  const uint64_t most = HasRanges(head.kind) ? kDsmRangesMost : HasClock(head.kind) ? nodes : 0;
  if (head.count > most) return Beyond("a message with parts", head.count, most + 1);
  if (body != head.count * sizeof(uint64_t)) {
    return "a message of " + std::to_string(body) + " bytes behind its head, which says " +
           std::to_string(head.count * sizeof(uint64_t));
  }
  if (head.kind == DsmKind::kHome && head.value >= nodes) return Beyond("home", head.value, nodes);
  const uint32_t meeting = head.what & ~(kDsmAsks | kDsmAnswers);
  if (head.kind == DsmKind::kArrive && meeting > static_cast<uint32_t>(DsmMeeting::kExit))
    return Beyond("meeting", meeting, static_cast<uint32_t>(DsmMeeting::kExit) + 1);
  *message = {head.kind, head.number, head.what, head.value, {}, {}, false};
  if (HasClock(head.kind)) {
    if (head.count != nodes) return "a clock of " + std::to_string(head.count) + " nodes";
    message->clock.resize(head.count);
    memcpy(message->clock.data(), bytes + sizeof(head), body);
    return "";
  }
  message->ranges.resize(head.count);
  if (body > 0) memcpy(message->ranges.data(), bytes + sizeof(head), body);
  uint64_t before = 0;  // no page is named twice: so what they all ask for is limited, too
  for (const DsmRange& range : message->ranges) {
    const uint64_t end = uint64_t{range.first} + range.count;
    if (end > pages) return Beyond("page", end - 1, pages);
    if (range.count == 0 || range.first < before)
      return "pages out of order, at page " + std::to_string(range.first);
    before = end;
  }
  return "";
}

std::vector<DsmRange> DsmRangesOf(std::vector<uint32_t> pages) {
  std::sort(pages.begin(), pages.end());
  std::vector<DsmRange> ranges;
  for (const uint32_t page : pages) {
    if (!ranges.empty()) {
      const uint32_t end = ranges.back().first + ranges.back().count;
      if (page < end) continue;
      if (page == end) {
        ++ranges.back().count;
        continue;
      }
    }
    ranges.push_back({page, 1});
  }
  return ranges;
}

}  // namespace exrnic

// SPDX-License-Identifier: BSD-2-Clause
#include "sim/trace/reception_watch.h"

#include <utility>

namespace exrnic::trace {
namespace {

constexpr unsigned kChecks[] = {EXRNIC_COUNTER_RX_MALFORMED, EXRNIC_COUNTER_RX_MISDIRECTED,
                                EXRNIC_COUNTER_RX_SESSION, EXRNIC_COUNTER_RX_OVERFLOW};
// The first that has counted says most.
constexpr unsigned kUnreliable[] = {EXRNIC_COUNTER_UNRELIABLE_NO_RECEIVE, EXRNIC_COUNTER_BAD_PKEY,
                                    EXRNIC_COUNTER_BAD_QKEY, EXRNIC_COUNTER_UNRELIABLE_DROPPED};
constexpr unsigned kOthers[] = {EXRNIC_COUNTER_RX_DISCARDED, EXRNIC_COUNTER_REFUSALS_PUT_OFF,
                                EXRNIC_COUNTER_FW_DROPPED};

bool is_for_group(const Frame& frame) { return (frame.data[0] & 1) != 0; }

}  // namespace

// The line has told of a frame that it damaged.
void ReceptionWatch::arrived(const Frame& frame) {
  arrivals_.push_back(frame.fcs_error ? std::nullopt : std::optional(frame));
}

void ReceptionWatch::reset() {
  arrivals_.clear();
  seen_ = {};
}

// Of a core that was reset counters begin anew.
uint64_t ReceptionWatch::news(const Core& core, unsigned counter) {
  const uint64_t now = core.peek_counter(counter);
  const uint64_t before = std::exchange(seen_[counter], now);
  return now < before ? now : now - before;
}

void ReceptionWatch::taken(const At& at, const Core& core, const exrnic_trace_args& segment) {
  look_at_responder(at, core);
  segment_ = segment;
}

void ReceptionWatch::look(const At& at, const Core& core) {
  look_at_checks(at, core);
  look_at_responder(at, core);
}

// The line brings one in a cycle, or several where it repeats or has held them back; then it is the
// last ones that were dropped.
void ReceptionWatch::look_at_checks(const At& at, const Core& core) {
  uint64_t checked = news(core, EXRNIC_COUNTER_FRAMES_RX);
  if (checked == 0) return;
  std::deque<unsigned> reasons;
  for (const unsigned counter : kChecks)
    reasons.insert(reasons.end(), news(core, counter), counter);
  for (; checked > 0 && !arrivals_.empty(); --checked) {
    const std::optional<Frame> frame = std::move(arrivals_.front());
    arrivals_.pop_front();
    if (reasons.size() < checked) {
      // Nobody here is in its group.
      if (frame && is_for_group(*frame)) news(core, EXRNIC_COUNTER_UNRELIABLE_DROPPED);
      continue;
    }
    if (frame) observer_.dropped(at, *frame, reasons.front());
    reasons.pop_front();
  }
}

void ReceptionWatch::look_at_responder(const At& at, const Core& core) {
  const auto tell = [&](unsigned counter) { observer_.unserved(at, segment_, counter); };
  unsigned first = EXRNIC_COUNTERS;
  for (const unsigned counter : kUnreliable)
    if (news(core, counter) != 0 && first == EXRNIC_COUNTERS) first = counter;
  if (first != EXRNIC_COUNTERS) tell(first);
  for (const unsigned counter : kOthers)
    if (news(core, counter) != 0) tell(counter);
}

void ReceptionWatch::transmitted(const At& at, const Frame& frame) {
  if (frame.data.size() < EXRNIC_HEADER_UNTAGGED_BYTES + EXRNIC_TERMINATE_BYTES) return;
  const uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
  const uint64_t number = exrnic_efe_refusal(efe);
  if (exrnic_efe_klass(efe) != EXRNIC_EFE_CLASS_RELIABLE || number == 0) return;
  const auto peer = static_cast<unsigned>(exrnic_eth_dst(frame.data.data()) & 0xffff);
  const auto id = static_cast<unsigned>(exrnic_efe_peer_session(efe) << 8 | number);
  if (std::exchange(refusals_[peer], id) == id) return;  // told again
  observer_.refused(at, peer, static_cast<uint16_t>(exrnic_efe_seq(efe)),
                    static_cast<unsigned>(
                        exrnic_terminate_code(frame.data.data() + EXRNIC_HEADER_UNTAGGED_BYTES)),
                    (exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_RNR) != 0);
}

}  // namespace exrnic::trace

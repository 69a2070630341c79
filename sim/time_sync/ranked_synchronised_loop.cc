// SPDX-License-Identifier: BSD-2-Clause
#include "sim/time_sync/ranked_synchronised_loop.h"

#include <sched.h>

#include <algorithm>
#include <optional>

#include "sim/time_sync/nanoseconds.h"
#include "sim/time_sync/pace.h"

namespace exrnic {
namespace {

// Of a word that is sent.
constexpr uint64_t kReady = 1;
constexpr uint64_t kJoin = 2;
constexpr uint64_t kWorked = 4;

}  // namespace

RankedSynchronisedLoop::RankedSynchronisedLoop(Testbed& testbed, SocketService::Servers& servers,
                                               const StopSignal& stop, GuestClocks& clocks,
                                               Ranks& ranks, Meeting& meeting, uint64_t to_host_ns)
    : testbed_(testbed),
      clocks_(clocks),
      ranks_(ranks),
      sockets_(testbed, servers, stop, meeting),
      to_host_ns_(to_host_ns) {
  for (unsigned id = 0; id < servers.size(); ++id) {
    if (!servers[id]) continue;
    Node& node = testbed.node(id);
    const auto index = static_cast<unsigned>(guests_.size());
    guests_.push_back(
        {id, std::make_unique<TimedNode>(index, node.scheduler(), node.combined_device(),
                                         *servers[id], clocks)});
    servers[id]->attach(*guests_.back().timed);
    node.connect_host(guests_.back().timed.get());
  }
}

RankedSynchronisedLoop::Word RankedSynchronisedLoop::own_word() {
  Word word{GuestClocks::kNever, ~uint64_t{0}, GuestClocks::kNever, true, true, worked_};
  for (unsigned index = 0; index < guests_.size(); ++index) {
    TimedNode* const timed = guests_[index].timed.get();
    guests_[index].joins = clocks_.state(index) == EXRNIC_GUEST_JOINING;
    word.join &= guests_[index].joins;
    const auto access = started_ && timed != begun_ ? timed->access_ns() : std::nullopt;
    const uint64_t bound = clocks_.bound(index);
    const bool ready = access && *access == bound;
    if (bound < word.bound) {
      word.bound = bound;
      word.first = guests_[index].node;
      word.ready = ready;
    } else if (bound == word.bound) {
      word.ready &= ready;
    }
    const PcieLink& link = testbed_.node(guests_[index].node).pcie();
    word.touch = std::min(word.touch, nanoseconds_up(link.next_touch()));
  }
  // Again, as in exrnic_time_least_bound(): a byte may be for one that was looked at before.
  if (const uint64_t least = clocks_.least_bound(); least < word.bound) {
    word.bound = least;
    word.ready = false;
  }
  return word;
}

RankedSynchronisedLoop::Word RankedSynchronisedLoop::share() {
  const Word own = own_word();
  worked_ = false;
  const uint64_t flags =
      (own.ready ? kReady : 0) | (own.join ? kJoin : 0) | (own.worked ? kWorked : 0);
  const std::vector<Ranks::Word> words = ranks_.share({own.bound, own.first, own.touch, flags});
  Word all{GuestClocks::kNever, ~uint64_t{0}, GuestClocks::kNever, true, true, false};
  others_ = GuestClocks::kNever;
  for (unsigned rank = 0; rank < words.size(); ++rank) {
    const auto& [bound, first, touch, said] = words[rank];
    if (rank != ranks_.rank()) others_ = std::min(others_, bound);
    if (bound < all.bound) {
      all.bound = bound;
      all.first = first;
      all.ready = (said & kReady) != 0;
    } else if (bound == all.bound) {
      all.first = std::min(all.first, first);
      all.ready &= (said & kReady) != 0;
    }
    all.touch = std::min(all.touch, touch);
    all.join &= (said & kJoin) != 0;
    all.worked |= (said & kWorked) != 0;
  }
  return all;
}

// The others first: one of them that was woken may be behind what it said before, and the horizon
// that was drawn then has kept ours behind it.
void RankedSynchronisedLoop::draw_horizon(uint64_t touch) {
  clocks_.set_others(others_);
  next_ = testbed_.next_event();
  horizon_ns_ = next_ == Testbed::kNothing
                    ? GuestClocks::kNever
                    : std::min(touch, nanoseconds_up(next_ + picoseconds(to_host_ns_)));
  clocks_.set_horizon(horizon_ns_);
}

void RankedSynchronisedLoop::admit(bool all_join) {
  if (!started_ && !all_join) return;
  started_ = true;
  const uint64_t now = nanoseconds_up(testbed_.now());
  for (unsigned index = 0; index < guests_.size(); ++index) {
    // One that has come since waits: the others' step does not count it yet.
    if (!guests_[index].joins) continue;
    const uint64_t others = all_join ? 0 : std::min(others_, clocks_.least_bound(index));
    clocks_.set(index, EXRNIC_GUEST_RUNNING,
                std::max(now, others == GuestClocks::kNever ? 0 : others));
    worked_ = true;
  }
}

bool RankedSynchronisedLoop::simulate(const Word& all) {
  const SimTime end = picoseconds(std::min(all.bound, horizon_ns_));
  if (next_ == Testbed::kNothing || next_ > end) return false;
  testbed_.run_to(end);
  return true;
}

// Of equal moments, the lower node is first.
bool RankedSynchronisedLoop::take_access(const Word& all) {
  if (!all.ready || all.bound >= GuestClocks::kNever || next_ <= picoseconds(all.bound))
    return false;
  testbed_.run_to(std::max(picoseconds(all.bound), testbed_.now()));
  for (Guest& guest : guests_) {
    if (guest.node != all.first || guest.timed->stalls()) continue;
    guest.timed->begin();
    begun_ = guest.timed.get();
  }
  return true;
}

bool RankedSynchronisedLoop::step() {
  // Before the start, too: who has come and gone until then is noticed.
  for (const Guest& guest : guests_)
    if (guest.timed.get() != begun_) worked_ |= guest.timed->settle();
  const Word all = share();
  nobody_runs_ = all.bound >= GuestClocks::kNever;
  draw_horizon(all.touch);
  if (begun_ != nullptr) std::exchange(begun_, nullptr)->release();
  admit(all.join);
  if (!started_) return all.worked;
  return simulate(all) || take_access(all) || all.worked;
}

void RankedSynchronisedLoop::run() {
  unsigned idle = 0;
  for (unsigned steps = 0;; ++steps) {
    const bool worked = step();
    idle = worked ? 0 : idle + 1;
    if (worked && steps % pace::kStepsBetweenLooks != 0) continue;
    if (idle > 1) sched_yield();
    if (idle == pace::kIdleSteps && at_rest_) at_rest_();
    // Guests that run wait for the word of the other ranks.
    if (!started_ || (nobody_runs_ && idle > pace::kIdleSteps)) sockets_.await(pace::kNap);
    if (!sockets_.meet({}).stays) return;
  }
}

}  // namespace exrnic

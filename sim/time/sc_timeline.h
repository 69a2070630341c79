// SPDX-License-Identifier: BSD-2-Clause
// Simulated time on SystemC: one module with one process, however many actions wait. The process
// runs all that is due up to the end of the context's run, one point in time after the other, ahead
// of SystemC's own time (temporal decoupling, as in TLM-2.0): for each of them SystemC would take
// as long as the action.
//
// Islands of time (scheduler.h) run side by side in windows: nothing that one does can touch
// another before the lookahead is over, so all that is due within it runs in any order, in several
// threads (conservative, synchronous parallel discrete-event simulation). The results are those of
// one thread. A window costs what the islands cost in which something is due; the others nothing.
//
// Islands may be in other processes (ranks), too: all have the same windows.
//
// The outside, which knows of several islands (memory that processes share with them, say), would
// see what one thread has done before what another has not. So it is an island of its own, which
// runs when the others have.
#pragma once

#include <chrono>
#include <memory>
#include <queue>
#include <systemc>
#include <utility>
#include <vector>

#include "sim/time/crew.h"
#include "sim/time/event_queue.h"
#include "sim/time/other_ranks.h"
#include "sim/time/sim_context.h"

namespace exrnic {

class ScTimeline final : public sc_core::sc_module {
 public:
  // `islands`, 1 or more, in at most `threads` threads. `lookahead`, 1 or more, means nothing to
  // one island, which alone keeps the context's clock exact while it runs. `others`: ranks with
  // other islands; nullptr: there are none.
  ScTimeline(const sc_core::sc_module_name& name, SimContext& context, unsigned islands = 1,
             unsigned threads = 1, SimTime lookahead = 1, OtherRanks* others = nullptr);

  // Among ranks, before each run, and before the context is asked for what is pending: that is of
  // all, then. Does nothing without others; under a Scope.
  void agree();

  unsigned threads() const { return crew_.threads(); }
  unsigned islands() const { return static_cast<unsigned>(islands_.size()); }
  Scheduler& island(unsigned index) { return islands_.at(index)->queue; }
  // Through an entrance to this, an action of an island acts on the outside, at the island's own
  // time: after the window, in order of time among all islands, in the thread that runs the
  // simulation. nullptr of one island: what it does is in order by itself.
  Scheduler* outside() { return one_island_ ? nullptr : &outside_.queue; }
  uint64_t actions() const;  // that have run, but for the outside

  // From now on it is measured how long each island works; not of one island, which does all.
  void measure() { measures_ = !one_island_; }
  double worked_s(unsigned island) const { return islands_.at(island)->worked.count(); }

 private:
  struct alignas(64) Island {  // a cache line of its own
    Island(SimTime& clock, EventQueue::Gate& gate, std::function<void()> sooner)
        : queue(clock, gate, std::move(sooner)) {}
    Island(EventQueue::Gate& gate, std::function<void()> sooner)
        : queue(now, gate, std::move(sooner)) {}
    SimTime now = 0;
    SimTime listed = EventQueue::kNever;  // its entry in next_ that counts
    EventQueue queue;
    std::chrono::duration<double> worked{0};
  };
  using Due = std::pair<SimTime, unsigned>;  // an island, by index

  void run_due();  // SystemC process
  void run_windows(SimTime end);
  void run_window(SimTime end);
  void run_island(unsigned island, SimTime end);
  void take_due(SimTime end);
  void list(unsigned island);
  SimTime next();
  void arm(SimTime first);

  SimContext& context_;
  const SimTime lookahead_;
  OtherRanks* const others_;
  const bool one_island_;  // of all there are
  EventQueue::Gate gate_;
  EventQueue::Gate outside_gate_;
  Island outside_{outside_gate_, [] {}};
  std::vector<std::unique_ptr<Island>> islands_;
  // When islands have something to do. An entry counts if its island says so, and may come too
  // soon: what it stood for was cancelled.
  std::priority_queue<Due, std::vector<Due>, std::greater<Due>> next_;
  std::vector<std::vector<unsigned>> due_in_;  // this window, by thread: its islands
  Crew crew_;
  SimTime agreed_ = EventQueue::kNever;  // when something happens next at any rank
  bool running_ = false;
  bool measures_ = false;
  sc_core::sc_event due_;
};

}  // namespace exrnic

// SPDX-License-Identifier: BSD-2-Clause
// The simulator in synchronised time where several ranks have guests. It does what SynchronisedLoop
// does, in the same order: before each step the ranks tell each other how far their guests are, and
// where the simulation may touch one. To its own guests each rank shows the others' as one more
// guest. README.md says why that suffices.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "sim/ranks/ranks.h"
#include "sim/service/ranked_sockets.h"
#include "sim/time_sync/guest_clocks.h"
#include "sim/time_sync/timed_node.h"

namespace exrnic {

class RankedSynchronisedLoop {
 public:
  // `clocks`: of the guests that are here, in the order of their nodes, with others. `to_host_ns`:
  // what the device does now reaches its host no sooner.
  RankedSynchronisedLoop(Testbed& testbed, SocketService::Servers& servers, const StopSignal& stop,
                         GuestClocks& clocks, Ranks& ranks, Meeting& meeting, uint64_t to_host_ns);

  void serve(SideSocket& socket) { sockets_.serve(socket); }
  // Called when nothing has been done for a while.
  void at_rest(std::function<void()> action) { at_rest_ = std::move(action); }

  // Returns when no rank stays (RankedSockets). Time starts when the guests of all ranks are there.
  void run();

 private:
  // What a rank says of its guests, and what all say together.
  struct Word {
    uint64_t bound;  // the least of their bounds
    uint64_t first;  // the lowest node that has it
    uint64_t touch;  // what is under way to a host of them is there no sooner
    bool ready;      // whoever has that bound waits for its access to be taken
    bool join;       // all wait for their first moment
    bool worked;     // since the last time
  };
  struct Guest {
    unsigned node;
    std::unique_ptr<TimedNode> timed;
    bool joins = false;  // waits for its first moment, as the others were told
  };

  bool step();  // true: something was done at any rank
  Word own_word();
  Word share();
  void draw_horizon(uint64_t touch);
  void admit(bool all_join);
  bool simulate(const Word& all);
  bool take_access(const Word& all);

  Testbed& testbed_;
  GuestClocks& clocks_;
  Ranks& ranks_;
  RankedSockets sockets_;
  std::function<void()> at_rest_;
  std::vector<Guest> guests_;  // in the order of clocks_
  uint64_t to_host_ns_;
  SimTime next_ = Testbed::kNothing;  // event, at any rank
  uint64_t horizon_ns_ = 0;
  uint64_t others_ = 0;         // the least bound of guests of other ranks
  TimedNode* begun_ = nullptr;  // its access; it goes on once the horizon is drawn
  bool started_ = false;
  bool nobody_runs_ = false;
  bool worked_ = false;  // here, since the others were told
};

}  // namespace exrnic

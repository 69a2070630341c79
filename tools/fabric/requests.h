// SPDX-License-Identifier: BSD-2-Clause
// Requests on their way: each is sent until its answer comes or patience ends. No more are out than
// the host has room for answers; the others wait here. Times are in ns, of the caller's clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>

#include "tools/fabric/frames.h"
#include "tools/fabric/port.h"
#include "tools/fabric/transactions.h"

namespace exrnic::fabric {

constexpr uint64_t kNever = ~uint64_t{0};

struct RequestCounts {
  uint64_t requests = 0;  // sent, without retries
  uint64_t retries = 0;
  uint64_t answers = 0;  // that somebody waited for
  uint64_t silent = 0;   // requests that nobody has answered
  uint64_t strange = 0;  // frames that fit nothing
  uint64_t traps = 0;
};

class Requests {
 public:
  struct Options {
    uint64_t key = 0;
    uint64_t timeout_ns = 0;  // of the first try; the nth waits n times as long
    unsigned tries = 1;
    std::optional<uint64_t> seed;
  };
  // nullptr: nobody has answered. It may ask for more, but not call poll() or clear().
  using Done = std::function<void(const Answer*)>;
  using OnTrap = std::function<void(const Trap&)>;

  // The port outlives it.
  Requests(ManagementPort& port, const Options& options, OnTrap on_trap);

  // `tries`: 0 for as many as the options have. `next`: before all that wait.
  void ask(Request request, Done done, unsigned tries = 0, bool next = false);

  // Before all others, once; clear() leaves it.
  void ask_first(Request request, Done done);

  // Forgets all requests but those; nobody hears of their answers.
  void clear();

  bool idle() const;  // but for those of ask_first()

  // Takes what has come, sends what it can. Returns when it wants to be called at the latest.
  uint64_t poll(uint64_t now_ns);

  const RequestCounts& counts() const { return counts_; }

 private:
  struct Pending {
    Request request;
    Done done;
    unsigned tries_left = 0;
    unsigned tried = 0;
    uint64_t due_ns = 0;
    bool send = true;
    bool stays = false;
  };

  bool take_frames();
  void take(const Frame& frame);
  void give_up_late(uint64_t now_ns);
  bool send_waiting(uint64_t now_ns);

  ManagementPort& port_;
  const Options options_;
  const OnTrap on_trap_;
  Transactions transactions_;
  std::deque<Pending> waiting_;
  std::unordered_map<uint64_t, Pending> out_;  // by transaction
  RequestCounts counts_;
};

}  // namespace exrnic::fabric

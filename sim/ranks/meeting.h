// SPDX-License-Identifier: BSD-2-Clause
// Where the ranks of a run meet between two slices of simulated time: each gives its word, and rank
// 0 may ask something of all of them meanwhile.
//
// Threads: none; every call comes from the thread that serves the sockets.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "sim/ranks/ranks.h"

namespace exrnic {

class Meeting {
 public:
  struct Word {
    bool stays;                     // in the simulation
    std::chrono::nanoseconds took;  // the last slice
  };
  // Is called in all ranks for one request, at the same simulated time, and may gather. What it
  // returns at rank 0 is the answer.
  using Answer = std::function<std::string(const std::string& request)>;

  Meeting(Ranks& ranks, Answer answer) : ranks_(ranks), answer_(std::move(answer)) {}

  // Waits for all ranks. What they say together: whether any stays, and the longest slice. Answers
  // what rank 0 asks before it comes itself.
  Word meet(const Word& own);

  // At rank 0, when it does not meet.
  std::string ask(const std::string& request);

 private:
  std::string answer(const std::string& request);

  Ranks& ranks_;
  const Answer answer_;
};

}  // namespace exrnic

// SPDX-License-Identifier: BSD-2-Clause
// How often the main loops in synchronised time look at their sockets, and how they wait.
#pragma once

#include <chrono>

namespace exrnic::pace {

// While work goes on the sockets are looked at once in so many steps; a message that anybody waits
// for stops the work soon.
constexpr unsigned kStepsBetweenLooks = 64;

// Steps without work: at first the processor is only given to others, then it sleeps. Messages wake
// it; what guests say in shared memory alone does not.
constexpr unsigned kIdleSteps = 200;
constexpr std::chrono::microseconds kNap{50};
constexpr std::chrono::microseconds kSleep{20'000};

}  // namespace exrnic::pace

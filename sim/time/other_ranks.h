// SPDX-License-Identifier: BSD-2-Clause
// Processes (ranks) that simulate islands of the same time, each some of them. All of them call
// these functions equally often, in the same order: each waits for the others.
#pragma once

#include "rtl-model/systemc/scheduler.h"

namespace exrnic {

class OtherRanks {
 public:
  virtual ~OtherRanks() = default;

  // The least of what the ranks say: when something happens next.
  virtual SimTime least(SimTime own) = 0;
  // The greatest.
  virtual SimTime greatest(SimTime own) = 0;

  // A window is over in all ranks: what crosses from one to another goes through the entrances of
  // its islands. `own`: when something happens next here, but for that. Returns when anything
  // happens next at any rank.
  virtual SimTime exchange(SimTime own) = 0;
};

}  // namespace exrnic

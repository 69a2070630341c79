// SPDX-License-Identifier: BSD-2-Clause
// The processes of a run that is distributed by MPI. Each is a rank, and simulates its part of the
// network. All of them call these functions equally often, in the same order.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rtl-model/systemc/core.h"
#include "sim/ethernet/border.h"
#include "sim/ranks/time_use.h"
#include "sim/time/other_ranks.h"

namespace exrnic {

class Ranks : public OtherRanks {
 public:
  virtual unsigned rank() const = 0;
  virtual unsigned size() const = 0;

  // What crosses between ranks; it must outlive the last exchange().
  virtual void connect(Border& border) = 0;

  // At rank 0 what each rank has given, in their order; elsewhere nothing.
  virtual std::vector<Bytes> gather(const Bytes& own) = 0;
  // Whether it is so at any rank.
  virtual bool any(bool own) = 0;
  // The words of all ranks, in their order.
  using Word = std::array<uint64_t, 4>;
  virtual std::vector<Word> share(const Word& own) = 0;
  // At all ranks what rank 0 has given.
  virtual Bytes tell(const Bytes& of_rank_0) = 0;

  // Waits so long at most for something to come from outside; whether it has.
  using Await = std::function<bool(std::chrono::microseconds most)>;
  // Sleeps until something has come at any rank.
  virtual void rest(const Await& await) = 0;

  // Of this rank, from when all had begun.
  virtual const TimeUse& time_use() const = 0;

  // Ends all ranks at once, with this exit code.
  [[noreturn]] virtual void abort(int code) = 0;
};

// nullptr: the program runs alone, as it was started so, or knows no MPI. Once, at its begin.
std::unique_ptr<Ranks> join_ranks();

}  // namespace exrnic

// SPDX-License-Identifier: BSD-2-Clause
// MPI ends all ranks when one of its calls fails, and mpirun does when a process dies: so no status
// is looked at here.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "sim/ranks/ranks.h"

namespace exrnic {
namespace {

// Of a window's frames.
int count_of(const Bytes& batch) {
  if (batch.size() > INT_MAX)
    throw std::runtime_error("ranks: a window's frames to one of them have " +
                             std::to_string(batch.size()) + " bytes; MPI takes " +
                             std::to_string(INT_MAX) + "; take more ranks");
  return static_cast<int>(batch.size());
}

// What MPI takes at once of something larger.
struct Piece {
  size_t at;
  int bytes;
};

std::vector<Piece> pieces_of(size_t size) {
  constexpr size_t kMost = 1 << 30;
  std::vector<Piece> pieces;
  for (size_t at = 0; at < size; at += kMost)
    pieces.push_back({at, static_cast<int>(std::min(kMost, size - at))});
  return pieces;
}

void append(Bytes& bytes, SimTime time) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof time);
  std::memcpy(bytes.data() + at, &time, sizeof time);
}

// What was appended.
SimTime cut_off(Bytes& bytes) {
  SimTime time = 0;
  if (bytes.size() < sizeof time)
    throw std::runtime_error("ranks: a batch of " + std::to_string(bytes.size()) +
                             " bytes, and its end has " + std::to_string(sizeof time));
  const size_t at = bytes.size() - sizeof time;
  std::memcpy(&time, bytes.data() + at, sizeof time);
  bytes.resize(at);
  return time;
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiRanks() override { MPI_Finalize(); }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  unsigned rank() const override { return static_cast<unsigned>(rank_); }
  unsigned size() const override { return static_cast<unsigned>(size_); }

  void connect(Border& border) override {
    border_ = &border;
    neighbours_ = border.neighbours();
    all_are_neighbours_ = !any(neighbours_.size() + 1 < size());
  }

  SimTime least(SimTime own) override { return reduce(own, MPI_MIN); }
  SimTime greatest(SimTime own) override { return reduce(own, MPI_MAX); }
  bool any(bool own) override { return reduce(own ? 1 : 0, MPI_MAX) != 0; }

  // Each pair of neighbours has a message in each direction, if only an empty one. Behind it stands
  // when something happens next, what is sent included: where all are neighbours, nothing more has
  // to be asked.
  SimTime exchange(SimTime own) override {
    const Spending spending(use_, TimeUse::kExchange);
    const SimTime next = std::min(own, border_->first());
    SimTime least = next;
    MPI_Request reduction = MPI_REQUEST_NULL;
    if (!all_are_neighbours_)
      MPI_Iallreduce(&next, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD, &reduction);
    std::vector<Bytes> out;
    std::vector<MPI_Request> sends(neighbours_.size());
    out.reserve(neighbours_.size());
    for (size_t i = 0; i < neighbours_.size(); ++i) {
      out.push_back(border_->take(neighbours_[i]));
      append(out.back(), next);
      MPI_Isend(out.back().data(), count_of(out.back()), MPI_BYTE, static_cast<int>(neighbours_[i]),
                kTag, MPI_COMM_WORLD, &sends[i]);
    }
    for (const unsigned neighbour : neighbours_) {
      Bytes batch = receive(neighbour);
      const SimTime theirs = cut_off(batch);
      if (all_are_neighbours_) least = std::min(least, theirs);
      border_->give(batch);
    }
    MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
    MPI_Wait(&reduction, MPI_STATUS_IGNORE);
    return least;
  }

  std::vector<Bytes> gather(const Bytes& own) override {
    if (rank_ != 0) {
      const uint64_t size = own.size();
      MPI_Send(&size, 1, MPI_UINT64_T, 0, kGatherTag, MPI_COMM_WORLD);
      for (const Piece piece : pieces_of(size))
        MPI_Send(own.data() + piece.at, piece.bytes, MPI_BYTE, 0, kGatherTag, MPI_COMM_WORLD);
      return {};
    }
    std::vector<Bytes> all = {own};
    for (int from = 1; from < size_; ++from) {
      uint64_t size = 0;
      MPI_Recv(&size, 1, MPI_UINT64_T, from, kGatherTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      all.emplace_back(size);
      for (const Piece piece : pieces_of(size))
        MPI_Recv(all.back().data() + piece.at, piece.bytes, MPI_BYTE, from, kGatherTag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return all;
  }

  std::vector<Word> share(const Word& own) override {
    const Spending spending(use_, TimeUse::kAgreement);
    std::vector<Word> all(size());
    MPI_Allgather(own.data(), static_cast<int>(own.size()), MPI_UINT64_T, all.data(),
                  static_cast<int>(own.size()), MPI_UINT64_T, MPI_COMM_WORLD);
    return all;
  }

  Bytes tell(const Bytes& of_rank_0) override {
    Bytes bytes = of_rank_0;
    uint64_t size = bytes.size();
    MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    bytes.resize(size);
    for (const Piece piece : pieces_of(size))
      MPI_Bcast(bytes.data() + piece.at, piece.bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    return bytes;
  }

  // MPI has nothing to poll for: so it is looked at after pauses, of which each is as long as all
  // before, up to a limit.
  void rest(const Await& await) override {
    const Spending spending(use_, TimeUse::kRest);
    ++rest_;
    for (std::chrono::microseconds pause = kLeastPause; !is_woken();
         pause = std::min(2 * pause, kMostPause)) {
      if (!await(pause)) continue;
      for (int other = 0; other < size_; ++other)
        if (other != rank_) MPI_Send(&rest_, 1, MPI_UINT64_T, other, kWakeTag, MPI_COMM_WORLD);
      return;
    }
  }

  const TimeUse& time_use() const override { return use_; }

  void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }

 private:
  static constexpr int kTag = 1;
  static constexpr int kGatherTag = 2;
  static constexpr int kWakeTag = 3;
  static constexpr std::chrono::microseconds kLeastPause{10};
  static constexpr std::chrono::microseconds kMostPause{1'000};

  // Counts what passes until it ends.
  class Spending {
   public:
    Spending(TimeUse& use, TimeUse::What what) : use_(use), what_(what) {}
    ~Spending() { use_.spend(what_, begin_, TimeUse::Clock::now()); }
    Spending(const Spending&) = delete;
    Spending& operator=(const Spending&) = delete;

   private:
    TimeUse& use_;
    const TimeUse::What what_;
    const TimeUse::Clock::time_point begin_ = TimeUse::Clock::now();
  };

  // When all are there.
  static TimeUse::Clock::time_point begin() {
    // Only this thread calls MPI; others simulate.
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Barrier(MPI_COMM_WORLD);
    return TimeUse::Clock::now();
  }

  SimTime reduce(SimTime own, MPI_Op how) {
    const Spending spending(use_, TimeUse::kAgreement);
    SimTime all = own;
    MPI_Allreduce(&own, &all, 1, MPI_UINT64_T, how, MPI_COMM_WORLD);
    return all;
  }

  // Several ranks may wake the others from one rest: all but the first word of it come too late,
  // and are read in a later one.
  bool is_woken() const {
    bool woken = false;
    int there = 0;
    while (MPI_Iprobe(MPI_ANY_SOURCE, kWakeTag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE), there) {
      uint64_t of_rest = 0;
      MPI_Recv(&of_rest, 1, MPI_UINT64_T, MPI_ANY_SOURCE, kWakeTag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      woken |= of_rest == rest_;
    }
    return woken;
  }

  // A batch.
  static Bytes receive(unsigned from) {
    MPI_Status status;
    MPI_Probe(static_cast<int>(from), kTag, MPI_COMM_WORLD, &status);
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    Bytes bytes(static_cast<size_t>(count));
    MPI_Recv(bytes.data(), count, MPI_BYTE, static_cast<int>(from), kTag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    return bytes;
  }

  int rank_ = 0;
  int size_ = 1;
  uint64_t rest_ = 0;  // its number
  Border* border_ = nullptr;
  std::vector<unsigned> neighbours_;
  bool all_are_neighbours_ = false;  // of each other
  TimeUse use_{begin()};
};

}  // namespace

std::unique_ptr<Ranks> join_ranks() {
  auto ranks = std::make_unique<MpiRanks>();
  if (ranks->size() == 1) return nullptr;
  return ranks;
}

}  // namespace exrnic

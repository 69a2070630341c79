// SPDX-License-Identifier: BSD-2-Clause
// MPI ends all ranks when one of its calls fails, and mpirun does when a process dies: so no status
// is looked at here.
#include <mpi.h>

#include <chrono>
#include <climits>
#include <cstdlib>
#include <stdexcept>

#include "sim/ranks/ranks.h"

namespace exrnic {
namespace {

using Clock = std::chrono::steady_clock;

int count_of(const Bytes& bytes) {
  if (bytes.size() > INT_MAX)
    throw std::runtime_error("ranks: " + std::to_string(bytes.size()) +
                             " bytes for one of them at once; MPI takes " +
                             std::to_string(INT_MAX) + "; take more ranks, or less traffic");
  return static_cast<int>(bytes.size());
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    // Only this thread calls MPI; others simulate.
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
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
  }

  SimTime least(SimTime own) override { return reduce(own, MPI_MIN); }
  SimTime greatest(SimTime own) override { return reduce(own, MPI_MAX); }
  bool any(bool own) override { return reduce(own ? 1 : 0, MPI_MAX) != 0; }

  // Each pair of neighbours has a message in each direction, if only an empty one.
  void exchange() override {
    const Waiting waiting(*this);
    std::vector<Bytes> out;
    std::vector<MPI_Request> sends(neighbours_.size());
    out.reserve(neighbours_.size());
    for (size_t i = 0; i < neighbours_.size(); ++i) {
      out.push_back(border_->take(neighbours_[i]));
      MPI_Isend(out.back().data(), count_of(out.back()), MPI_BYTE, static_cast<int>(neighbours_[i]),
                kTag, MPI_COMM_WORLD, &sends[i]);
    }
    for (const unsigned neighbour : neighbours_) border_->give(receive(neighbour));
    MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
  }

  std::vector<Bytes> gather(const Bytes& own) override {
    if (rank_ != 0) {
      MPI_Send(own.data(), count_of(own), MPI_BYTE, 0, kGatherTag, MPI_COMM_WORLD);
      return {};
    }
    std::vector<Bytes> all = {own};
    for (unsigned from = 1; from < size(); ++from) all.push_back(receive(from, kGatherTag));
    return all;
  }

  double waited_s() const override { return waited_.count(); }

  void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }

 private:
  static constexpr int kTag = 1;
  static constexpr int kGatherTag = 2;

  // Counts what passes until it ends.
  class Waiting {
   public:
    explicit Waiting(MpiRanks& ranks) : ranks_(ranks) {}
    ~Waiting() { ranks_.waited_ += Clock::now() - begin_; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    MpiRanks& ranks_;
    const Clock::time_point begin_ = Clock::now();
  };

  SimTime reduce(SimTime own, MPI_Op how) {
    const Waiting waiting(*this);
    SimTime all = own;
    MPI_Allreduce(&own, &all, 1, MPI_UINT64_T, how, MPI_COMM_WORLD);
    return all;
  }

  static Bytes receive(unsigned from, int tag = kTag) {
    MPI_Status status;
    MPI_Probe(static_cast<int>(from), tag, MPI_COMM_WORLD, &status);
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    Bytes bytes(static_cast<size_t>(count));
    MPI_Recv(bytes.data(), count, MPI_BYTE, static_cast<int>(from), tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    return bytes;
  }

  int rank_ = 0;
  int size_ = 1;
  Border* border_ = nullptr;
  std::vector<unsigned> neighbours_;
  std::chrono::duration<double> waited_{0};
};

}  // namespace

std::unique_ptr<Ranks> join_ranks() {
  auto ranks = std::make_unique<MpiRanks>();
  if (ranks->size() == 1) return nullptr;
  return ranks;
}

}  // namespace exrnic

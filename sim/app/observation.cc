// SPDX-License-Identifier: BSD-2-Clause
#include "sim/app/observation.h"

#include <utility>
#include <vector>

#include "rtl-model/systemc/clock.h"

namespace exrnic {
namespace {

constexpr size_t kAtOnce = size_t{1} << 20;  // bytes of records of one rank

// Records of one rank, of which some have been played.
struct Part {
  Bytes records;
  size_t played = 0;
  bool ended = false;

  bool empty() const { return played == records.size(); }
  SimTime next() const { return trace::time_of_first(records, played); }
};

// The one that has the oldest record; nullptr: one that may have it has to be asked for more, or
// all have ended. Of equal time the lower rank is first.
Part* oldest(std::vector<Part>& parts) {
  Part* found = nullptr;
  for (Part& part : parts) {
    if (part.empty() && !part.ended) return nullptr;
    if (!part.empty() && (found == nullptr || part.next() < found->next())) found = &part;
  }
  return found;
}

}  // namespace

Observation::Observation(const Options& options, Ranks* ranks, SimTime lookahead, const Log& log)
    : ranks_(ranks) {
  const bool watches_losses = !options.losses_path.empty();
  if (options.trace_path.empty() && !watches_losses) return;
  if (ranks != nullptr) recorder_.emplace(lookahead, watches_losses, log);
  if (ranks != nullptr && ranks->rank() != 0) return;
  if (watches_losses) losses_ = std::make_unique<LossLog>(options.losses_path, log);
  tracer_ = std::make_unique<Tracer>(options.trace_path, log, losses_.get());
  if (ranks != nullptr)
    tracer_->start(Clock::period_of(options.profile.clock_khz), options.topology->nodes);
}

trace::Observer* Observation::observer() {
  if (recorder_) return &*recorder_;
  return tracer_.get();
}

void Observation::flush() {
  if (recorder_) gather();
  if (losses_) losses_->flush();
}

// Rank 0 says whose records it has played; who is told so gives more, and nothing if it has none.
void Observation::gather() {
  recorder_->settle();
  std::vector<Part> parts(ranks_->rank() == 0 ? ranks_->size() : 0);
  for (;;) {
    while (Part* const part = oldest(parts))
      part->played = trace::play(part->records, part->played, *tracer_);
    Bytes asked;
    bool any = false;
    for (const Part& part : parts) {
      asked.push_back(part.empty() && !part.ended ? 1 : 0);
      any |= asked.back() != 0;
    }
    asked = ranks_->tell(any ? asked : Bytes{});
    if (asked.empty()) return;
    const bool asks_this = asked.at(ranks_->rank()) != 0;
    Bytes own;
    if (asks_this) {
      own = recorder_->take(kAtOnce);
      own.push_back(recorder_->has_more() ? 1 : 0);
    }
    std::vector<Bytes> given = ranks_->gather(own);
    for (size_t rank = 0; rank < parts.size(); ++rank) {
      if (asked[rank] == 0) continue;
      const bool more = given[rank].back() != 0;
      given[rank].pop_back();
      parts[rank] = {std::move(given[rank]), 0, !more};
    }
  }
}

}  // namespace exrnic

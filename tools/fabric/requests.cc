// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/requests.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace exrnic::fabric {
namespace {

constexpr size_t kMostOut = EXRNIC_MANAGEMENT_WAITING;
constexpr unsigned kMostFrames = 64;  // of one call: who floods the host does not hold it
constexpr uint64_t kBusyNs = 1'000;   // until a port that was busy is tried again
constexpr unsigned kLongestWait = 8;  // times timeout_ns

}  // namespace

Requests::Requests(ManagementPort& port, const Options& options, OnTrap on_trap)
    : port_(port), options_(options), on_trap_(std::move(on_trap)), transactions_(options.seed) {}

void Requests::ask(Request request, Done done, unsigned tries, bool next) {
  Pending pending;
  pending.request = std::move(request);
  pending.done = std::move(done);
  pending.tries_left = tries == 0 ? options_.tries : tries;
  if (next) {
    waiting_.push_front(std::move(pending));
  } else {
    waiting_.push_back(std::move(pending));
  }
}

void Requests::ask_first(Request request, Done done) {
  Pending pending;
  pending.request = std::move(request);
  pending.done = std::move(done);
  pending.tries_left = 1;
  pending.stays = true;
  waiting_.push_front(std::move(pending));
}

void Requests::clear() {
  const auto goes = [](const Pending& pending) { return !pending.stays; };
  waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(), goes), waiting_.end());
  for (auto it = out_.begin(); it != out_.end();) {
    it = goes(it->second) ? out_.erase(it) : std::next(it);
  }
}

bool Requests::idle() const {
  const auto stays = [](const Pending& pending) { return pending.stays; };
  return std::all_of(waiting_.begin(), waiting_.end(), stays) &&
         std::all_of(out_.begin(), out_.end(),
                     [&](const auto& item) { return stays(item.second); });
}

uint64_t Requests::poll(uint64_t now_ns) {
  const bool more = take_frames();
  give_up_late(now_ns);
  const bool busy = send_waiting(now_ns);
  if (more) return now_ns;
  if (busy) return now_ns + kBusyNs;
  uint64_t due = kNever;
  for (const auto& [transaction, pending] : out_) due = std::min(due, pending.due_ns);
  return due;
}

// True: there may be more.
bool Requests::take_frames() {
  for (unsigned i = 0; i < kMostFrames; ++i) {
    const std::optional<Frame> frame = port_.receive();
    if (!frame) return false;
    take(*frame);
  }
  return true;
}

void Requests::take(const Frame& frame) {
  if (const std::optional<Trap> trap = parse_trap(frame)) {
    ++counts_.traps;
    on_trap_(*trap);
    return;
  }
  const auto found = out_.find(transaction_of(frame));
  const std::optional<Answer> answer =
      found == out_.end() ? std::nullopt : parse_answer(frame, found->second.request);
  if (!answer) {
    ++counts_.strange;
    return;
  }
  ++counts_.answers;
  const Done done = std::move(found->second.done);
  out_.erase(found);
  done(&*answer);
}

void Requests::give_up_late(uint64_t now_ns) {
  std::vector<Done> silent;
  for (auto it = out_.begin(); it != out_.end();) {
    Pending& pending = it->second;
    if (pending.send || pending.due_ns > now_ns) {
      ++it;
    } else if (pending.tries_left > 0) {
      pending.send = true;
      ++it;
    } else {
      silent.push_back(std::move(pending.done));
      it = out_.erase(it);
    }
  }
  counts_.silent += silent.size();
  for (const Done& done : silent) done(nullptr);
}

// True: the port was busy.
bool Requests::send_waiting(uint64_t now_ns) {
  const auto send = [&](uint64_t transaction, Pending& pending) {
    if (!port_.send(build(pending.request, transaction, options_.key))) return false;
    ++(pending.tried == 0 ? counts_.requests : counts_.retries);
    pending.send = false;
    --pending.tries_left;
    pending.tried = std::min(pending.tried + 1, kLongestWait);
    pending.due_ns = now_ns + pending.tried * options_.timeout_ns;
    return true;
  };
  for (auto& [transaction, pending] : out_) {
    if (pending.send && !send(transaction, pending)) return true;
  }
  while (!waiting_.empty() && out_.size() < kMostOut) {
    uint64_t transaction = transactions_.next();
    while (out_.count(transaction) != 0) transaction = transactions_.next();
    if (!send(transaction, waiting_.front())) return true;
    out_.emplace(transaction, std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return false;
}

}  // namespace exrnic::fabric

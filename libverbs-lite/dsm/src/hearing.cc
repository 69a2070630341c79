// SPDX-License-Identifier: BSD-2-Clause
// What other nodes say to a node, and what it answers; whether they live.
#include <poll.h>

#include <exception>

#include "dsm_error.h"
#include "node.h"

namespace exrnic {

namespace {

constexpr std::chrono::milliseconds kDsmWatchPause(1);
constexpr std::chrono::milliseconds kServePause(100);  // longest sleep between looks at the nodes
// A queue pair that fails may be its node's end, of which TCP is about to tell.
constexpr std::chrono::milliseconds kDsmEnd(300);

}  // namespace

void DsmNode::FailPeer(unsigned node, const std::string& what) {
  throw DsmError(Name(node) + " sent " + what);
}

void DsmNode::Serve() {
  while (!ends_) {
    pollfd fds[] = {{links_->fd(), POLLIN, 0}, {wake_fd_, POLLIN, 0}};
    const int ready = poll(fds, 2, static_cast<int>(kServePause.count()));
    if (ends_) return;
    try {
      if (ready > 0 && fds[0].revents != 0) links_->TakeEvent();
    } catch (const std::exception& error) {
      Fail(error.what());
    }
    // Who waits takes the messages, and arms when it has done so.
    if (waiting_ > 0) continue;
    Do("shared memory", [&] {
      Progress();
      links_->Arm();
    });
  }
}

void DsmNode::Progress() {
  if (links_ == nullptr) return;
  unsigned node;
  DsmMessage message;
  const auto pages = static_cast<uint32_t>(area_.bytes() / kDsmPage);
  while (links_->Take(pages, &node, &message)) Hear(node, message);
  Watch();
}

void DsmNode::Watch() {
  const auto now = MeshClock::now();
  if (now < next_watch_) return;
  next_watch_ = now + kDsmWatchPause;
  mesh_->Watch(
      [this](unsigned node, const MeshMessage& message) {
        if (message.kind == MeshKind::kBye) left_[node] = true;
        if (message.kind != MeshKind::kGaveUp) return;
        const std::string text(message.body.begin(), message.body.end());
        throw DsmError(Name(node) + " has given up: " + text);
      },
      [this](unsigned node) {
        if (left_[node] && exiting_) return;
        throw DsmError(Name(node) + " has died, or ended without jia_exit");
      });
  for (const DsmLinks::Failure& failure : links_->failures()) {
    if (left_[failure.node] || now < failure.since + kDsmEnd) continue;
    throw DsmError(Name(failure.node) + " does not answer: " + failure.why);
  }
}

void DsmNode::HearArrival(unsigned node, const DsmMessage& message) {
  std::deque<Arrival>* const queue = &arrivals_[node];
  const auto meeting = message.what & ~(kDsmAsks | kDsmAnswers);
  if ((message.what & kDsmAsks) != 0) by_firmware_ = false;
  // The same one again, now without firmware; or one that has been, at which it was by firmware.
  if (!queue->empty() && queue->back().number == message.number) return;
  if (message.number == meetings_ && (message.what & kDsmAsks) != 0)
    return Arrive(node, message.number, meeting | kDsmAnswers);
  if (message.number <= meetings_ && (message.what & kDsmAnswers) != 0) return;
  const uint32_t after = queue->empty() ? meetings_ : queue->back().number;
  if (message.number <= after || message.number > meetings_ + 2) {
    FailPeer(node, "its arrival at meeting " + std::to_string(message.number) + ": that at " +
                       std::to_string(after + 1) + " is due");
  }
  queue->push_back({message.number, static_cast<DsmMeeting>(meeting), message.value});
}

void DsmNode::Hear(unsigned node, const DsmMessage& message) {
  const uint32_t number = message.number;
  const unsigned manager = number % nodes_;  // of a lock, a condition variable, a page
  const auto expect = [&](bool right, const std::string& what) {
    if (!right) FailPeer(node, what + " " + std::to_string(number));
  };
  switch (message.kind) {
    case DsmKind::kNotice:
      pages_.HearNotice(message.ranges, node);
      ++heard_[node];
      return;
    case DsmKind::kArrive:
      return HearArrival(node, message);
    case DsmKind::kAcquire:
      expect(manager == self_, "a wish for a lock that is not managed here, lock");
      if (manager_.Acquire(number, node)) Grant(number, node);
      return;
    case DsmKind::kRelease: {
      expect(manager == self_, "a lock that is not managed here, lock");
      const auto next = manager_.Release(number, node, message.clock);
      if (next) Grant(number, *next);
      return;
    }
    case DsmKind::kGrant:
      expect(manager == node && wanted_lock_ == number && !granted_,
             "a lock that was not asked for, lock");
      granted_ = message.clock;
      return;
    case DsmKind::kSet:
      expect(manager == self_, "a condition that is not managed here, condition");
      SetHere(number, message.clock);
      return Confirm(node, number);
    case DsmKind::kReset:
      expect(manager == self_, "a condition that is not managed here, condition");
      manager_.Reset(number);
      return Confirm(node, number);
    case DsmKind::kAwait: {
      expect(manager == self_, "a condition that is not managed here, condition");
      if (!manager_.Await(number, node)) return;
      DsmMessage is_set;
      is_set.kind = DsmKind::kIsSet;
      is_set.number = number;
      is_set.clock = manager_.ClockOfCondition(number);
      return links_->Send(node, is_set);
    }
    case DsmKind::kDone:
      expect(manager == node && wanted_done_ == number, "that it has done, unasked, condition");
      wanted_done_.reset();
      return;
    case DsmKind::kIsSet:
      expect(manager == node && wanted_condition_ == number && !granted_,
             "a condition that was not asked for, condition");
      granted_ = message.clock;
      return;
    case DsmKind::kShare: {
      const std::vector<uint32_t> tracked = pages_.Track(message.ranges);
      if (!tracked.empty()) SendPages(DsmKind::kTracked, node, tracked, false);
      return;
    }
    case DsmKind::kTracked:
      return pages_.HearTracked(message.ranges, node);
    case DsmKind::kClaim: {
      expect(manager == self_, "a claim of a page that is not kept here, page");
      if (!layout_.HasHome(number)) layout_.SetHome(number, node);
      DsmMessage home;
      home.kind = DsmKind::kHome;
      home.number = number;
      home.value = layout_.Home(number);
      return links_->Send(node, home);
    }
    case DsmKind::kHome:
      expect(wanted_page_ == number && manager == node, "the home, unasked, of page");
      wanted_page_.reset();
      layout_.SetHome(number, static_cast<unsigned>(message.value));
      if (message.value == self_) pages_.Open(number, 1);
      return;
  }
}

}  // namespace exrnic

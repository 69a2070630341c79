// SPDX-License-Identifier: BSD-2-Clause
#include "node.h"

#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "dsm_error.h"
#include "exrnic/cluster.hpp"

namespace exrnic {

namespace {

constexpr unsigned kLooksBetweenYields = 64;

// Adds the time that it lives.
class DsmStopwatch {
 public:
  explicit DsmStopwatch(double* seconds) : seconds_(seconds), begin_(MeshClock::now()) {}
  ~DsmStopwatch() { *seconds_ += std::chrono::duration<double>(MeshClock::now() - begin_).count(); }
  DsmStopwatch(const DsmStopwatch&) = delete;
  DsmStopwatch& operator=(const DsmStopwatch&) = delete;

 private:
  double* const seconds_;
  const MeshClock::time_point begin_;
};

std::string DsmSeconds(std::chrono::milliseconds limit) {
  char text[32];
  snprintf(text, sizeof(text), "%g s", static_cast<double>(limit.count()) / 1000);
  return text;
}

}  // namespace

thread_local bool DsmNode::Guard::in_call_ = false;

class DsmNode::Waiting {
 public:
  explicit Waiting(DsmNode* node) : node_(node) { ++node_->waiting_; }
  ~Waiting() {
    --node_->waiting_;
    if (node_->links_ != nullptr && node_->waiting_ == 0) node_->links_->Arm();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  DsmNode* const node_;
};

DsmNode::DsmNode(const DsmOptions& options)
    : self_(options.self),
      nodes_(static_cast<unsigned>(std::max<size_t>(1, options.addresses.size()))),
      limit_(options.limit),
      layout_(options.area, nodes_),
      area_(options.area),
      pages_(&area_, &layout_, self_, this),
      manager_(nodes_),
      heard_(nodes_),
      arrivals_(nodes_),
      left_(nodes_) {
  if (nodes_ == 1) return;
  const auto deadline = MeshClock::now() + limit_;
  mesh_ = std::make_unique<Mesh>(options.addresses, self_);
  mesh_->Meet(deadline);
  links_ = std::make_unique<DsmLinks>(options.device, mesh_.get(), area_.view(), area_.bytes(),
                                      deadline);
  by_firmware_ = links_->firmware() != nullptr;
  links_->Arm();
  wake_fd_ = eventfd(0, EFD_CLOEXEC);
  // Signals are the program's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Serve(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

DsmNode::~DsmNode() {
  if (!thread_.joinable()) return;
  ends_ = true;
  eventfd_write(wake_fd_, 1);
  thread_.join();
  close(wake_fd_);
}

// ---- Errors

std::string DsmNode::Name(unsigned node) const {
  return mesh_ == nullptr ? "node " + std::to_string(node) : mesh_->Name(node);
}

void DsmNode::Fail(const std::string& text) {
  const Guard guard(this, "the program's end");
  End(text);
}

// The others are told first. Standard output may be locked by a thread that waits for this one, in
// a fault within printf(), or be a pipe that nobody reads.
void DsmNode::End(const std::string& text) {
  constexpr size_t kTextMost = 900;  // of the mesh, with a name before it
  for (unsigned node = 0; node < nodes_; ++node) {
    if (node == self_) continue;
    const std::string told = text.substr(0, kTextMost);
    mesh_->Tell(node, {MeshKind::kGaveUp, std::vector<uint8_t>(told.begin(), told.end())});
  }
  dprintf(STDERR_FILENO, "jia: node %u: %s\n", self_, text.c_str());
  if (std::this_thread::get_id() != thread_.get_id() && ftrylockfile(stdout) == 0) fflush(stdout);
  _exit(1);
}

void DsmNode::CheckNumber(const char* name, int value, uint32_t limit) const {
  if (value >= 0 && static_cast<uint32_t>(value) < limit) return;
  throw DsmError(std::string(name) + " is " + std::to_string(value) + ": 0 to " +
                 std::to_string(limit - 1));
}

// ---- Memory

template <typename Call>
void* DsmNode::AllocateBy(const char* call, Call&& allocate) {
  return Do(call, [&]() -> void* {
    const uint32_t before = layout_.pages();
    const size_t offset = allocate();
    pages_.Open(before, layout_.pages() - before);
    return area_.program() + offset;
  });
}

void* DsmNode::Allocate(const char* call, size_t bytes, size_t block, unsigned first) {
  return AllocateBy(call, [&] { return layout_.Allocate(bytes, block, first); });
}

void* DsmNode::AllocateInTurn(const char* call, size_t bytes) {
  return AllocateBy(call, [&] { return layout_.AllocateInTurn(bytes); });
}

void* DsmNode::AllocateForFirstTouch(const char* call, size_t bytes) {
  return Do(call,
            [&]() -> void* { return area_.program() + layout_.AllocateForFirstTouch(bytes); });
}

bool DsmNode::Fault(void* address, std::optional<bool> write) {
  if (!area_.Has(address)) return false;
  Do("access to shared memory", [&] {
    const DsmStopwatch time(&statistics_.faults);
    const auto offset = static_cast<size_t>(static_cast<uint8_t*>(address) - area_.program());
    const auto page = static_cast<uint32_t>(offset / kDsmPage);
    if (page >= layout_.pages()) {
      throw DsmError("byte " + std::to_string(offset) + " of the area: " +
                     std::to_string(layout_.pages() * kDsmPage) + " bytes are allocated");
    }
    FindHome(page);
    pages_.Fault(page, write.value_or(pages_.IsThere(page)));
  });
  return true;
}

void DsmNode::FindHome(uint32_t page) {
  if (layout_.HasHome(page)) return;
  const unsigned keeper = layout_.Keeper(page);
  if (keeper == self_) {
    layout_.SetHome(page, self_);
    return pages_.Open(page, 1);
  }
  DsmMessage claim;
  claim.kind = DsmKind::kClaim;
  claim.wakes = true;
  claim.number = page;
  wanted_page_ = page;
  links_->Send(keeper, claim);
  AwaitThat([&] { return layout_.HasHome(page); },
            [&] { return Name(keeper) + " did not say who is the home of a page"; });
}

void DsmNode::Pull(unsigned node, uint64_t offset, uint32_t bytes) {
  links_->Pull(node, offset, bytes, PageWatch());
}

void DsmNode::Push(unsigned node, const std::vector<DsmRun>& runs, uint64_t offset) {
  links_->Push(node, runs, offset, PageWatch());
}

std::function<void()> DsmNode::PageWatch() {
  return [this, deadline = MeshClock::now() + limit_] {
    Watch();
    if (MeshClock::now() > deadline)
      throw DsmError("pages did not come or go within " + DsmSeconds(limit_) + " (JIA_LIMIT)");
    sched_yield();
  };
}

void DsmNode::AwaitPages() { links_->AwaitPages(PageWatch()); }

void DsmNode::Share(unsigned home, const std::vector<uint32_t>& pages) {
  SendPages(DsmKind::kShare, home, pages, true);
}

// ---- Synchronisation

DsmClock DsmNode::Known() const { return heard_; }

void DsmNode::SendPages(DsmKind kind, unsigned node, const std::vector<uint32_t>& pages,
                        bool wakes) {
  const std::vector<DsmRange> ranges = DsmRangesOf(pages);
  for (size_t at = 0; at < ranges.size(); at += kDsmRangesMost) {
    DsmMessage message;
    message.kind = kind;
    message.wakes = wakes || ranges.size() > kDsmRangesMost;
    const auto begin = ranges.begin() + static_cast<ptrdiff_t>(at);
    const size_t count = std::min<size_t>(kDsmRangesMost, ranges.size() - at);
    message.ranges.assign(begin, begin + static_cast<ptrdiff_t>(count));
    if (kind != DsmKind::kNotice) {
      links_->Send(node, message);
      continue;
    }
    for (unsigned other = 0; other < nodes_; ++other)
      if (other != self_) links_->Send(other, message);
    ++heard_[self_];
    noticed_ = true;
  }
}

void DsmNode::ReleaseAll(bool wakes) {
  const DsmStopwatch time(&statistics_.diffs);
  const std::vector<uint32_t> written = pages_.Release();
  if (!written.empty()) SendPages(DsmKind::kNotice, self_, written, wakes);
}

void DsmNode::AcquireAll(const DsmClock& clock) {
  const auto late_of = [&] {
    for (unsigned node = 0; node < nodes_; ++node)
      if (heard_[node] < clock[node]) return std::optional<unsigned>(node);
    return std::optional<unsigned>();
  };
  AwaitThat([&] { return !late_of(); },
            [&] { return Name(*late_of()) + " did not tell what it has written"; });
  pages_.Acquire();
}

template <typename Condition, typename Late>
void DsmNode::AwaitThat(Condition&& condition, Late&& late) {
  if (condition()) return;
  const Waiting waiting(this);
  const auto deadline = MeshClock::now() + limit_;
  for (unsigned looks = 1; !condition(); ++looks) {
    Progress();
    if (looks % kLooksBetweenYields == 0) sched_yield();
    if (!condition() && MeshClock::now() > deadline)
      throw DsmError(late() + " within " + DsmSeconds(limit_) + " (JIA_LIMIT)");
  }
}

void DsmNode::Grant(uint32_t lock, unsigned node) {
  if (node == self_) {
    granted_ = manager_.ClockOfLock(lock);
    return;
  }
  DsmMessage grant;
  grant.kind = DsmKind::kGrant;
  grant.number = lock;
  grant.clock = manager_.ClockOfLock(lock);
  links_->Send(node, grant);
}

void DsmNode::Lock(int lock) {
  Do("jia_lock", [&] {
    const DsmStopwatch time(&statistics_.locks);
    CheckNumber("lock", lock, kDsmLocks);
    if (held_.count(lock) != 0)
      throw DsmError("lock is " + std::to_string(lock) + ": this node holds it already");
    const auto number = static_cast<uint32_t>(lock);
    const unsigned manager = number % nodes_;
    wanted_lock_ = number;
    granted_.reset();
    if (manager != self_) {
      DsmMessage acquire;
      acquire.kind = DsmKind::kAcquire;
      acquire.wakes = true;
      acquire.number = number;
      links_->Send(manager, acquire);
    } else if (manager_.Acquire(number, self_)) {
      Grant(number, self_);
    }
    AwaitThat([&] { return granted_.has_value(); },
              [&] {
                const std::string text = "lock " + std::to_string(lock) + ", of which ";
                const auto holder = manager_.Holder(number);
                if (manager == self_ && holder)
                  return text + Name(*holder) + " is the holder, was not released";
                return text + Name(manager) + " is the manager, was not granted";
              });
    wanted_lock_.reset();
    held_.insert(lock);
    AcquireAll(*granted_);
  });
}

void DsmNode::Unlock(int lock) {
  Do("jia_unlock", [&] {
    CheckNumber("lock", lock, kDsmLocks);
    if (held_.erase(lock) == 0)
      throw DsmError("lock is " + std::to_string(lock) + ": this node does not hold it");
    ReleaseAll(true);
    DsmMessage release;
    release.kind = DsmKind::kRelease;
    release.wakes = true;
    release.number = static_cast<uint32_t>(lock);
    release.clock = Known();
    const unsigned manager = release.number % nodes_;
    if (manager != self_) return links_->Send(manager, release);
    const auto next = manager_.Release(release.number, self_, release.clock);
    if (next) Grant(release.number, *next);
  });
}

// A later set or reset comes by another node's queue pair: only when this one is done may anybody
// hear of it.
void DsmNode::AskManager(const DsmMessage& message) {
  const unsigned manager = message.number % nodes_;
  wanted_done_ = message.number;
  links_->Send(manager, message);
  AwaitThat([&] { return !wanted_done_; },
            [&] { return Name(manager) + " did not set or reset a condition variable"; });
}

void DsmNode::Confirm(unsigned node, uint32_t condition) {
  DsmMessage done;
  done.kind = DsmKind::kDone;
  done.number = condition;
  links_->Send(node, done);
}

void DsmNode::SetHere(uint32_t condition, const DsmClock& clock) {
  DsmMessage message;
  message.number = condition;
  message.kind = DsmKind::kIsSet;
  for (const unsigned node : manager_.Set(condition, clock)) {
    message.clock = manager_.ClockOfCondition(condition);
    if (node == self_) {
      granted_ = message.clock;
    } else {
      links_->Send(node, message);
    }
  }
}

void DsmNode::Set(int condition) {
  Do("jia_setcv", [&] {
    CheckNumber("condition", condition, kDsmConditions);
    ReleaseAll(true);
    DsmMessage set;
    set.kind = DsmKind::kSet;
    set.wakes = true;
    set.number = static_cast<uint32_t>(condition);
    set.clock = Known();
    if (set.number % nodes_ != self_) return AskManager(set);
    SetHere(set.number, set.clock);
  });
}

void DsmNode::Reset(int condition) {
  Do("jia_resetcv", [&] {
    CheckNumber("condition", condition, kDsmConditions);
    DsmMessage reset;
    reset.kind = DsmKind::kReset;
    reset.wakes = true;
    reset.number = static_cast<uint32_t>(condition);
    if (reset.number % nodes_ != self_) return AskManager(reset);
    manager_.Reset(reset.number);
  });
}

void DsmNode::Await(int condition) {
  Do("jia_waitcv", [&] {
    const DsmStopwatch time(&statistics_.locks);
    CheckNumber("condition", condition, kDsmConditions);
    const auto number = static_cast<uint32_t>(condition);
    const unsigned manager = number % nodes_;
    wanted_condition_ = number;
    granted_.reset();
    if (manager != self_) {
      DsmMessage wait;
      wait.kind = DsmKind::kAwait;
      wait.wakes = true;
      wait.number = number;
      links_->Send(manager, wait);
    } else if (manager_.Await(number, self_)) {
      granted_ = manager_.ClockOfCondition(number);
    }
    AwaitThat([&] { return granted_.has_value(); },
              [&] {
                return "condition variable " + std::to_string(condition) + ", of which " +
                       Name(manager) + " is the manager, was not set";
              });
    wanted_condition_.reset();
    AcquireAll(*granted_);
  });
}

// ---- Meetings of all nodes

bool DsmNode::HasArrived(unsigned node) const {
  return node == self_ ||
         (!arrivals_[node].empty() && arrivals_[node].front().number == meetings_ + 1);
}

bool DsmNode::HaveArrived(uint64_t nodes) const {
  for (unsigned node = 0; node < nodes_; ++node)
    if ((nodes >> node & 1) != 0 && !HasArrived(node)) return false;
  return true;
}

std::string DsmNode::Missing() const {
  std::vector<unsigned> missing;
  for (unsigned node = 0; node < nodes_; ++node)
    if (!HasArrived(node)) missing.push_back(node);
  return mesh_->Names(missing) + " did not come";
}

// All that have arrived by messages; they are as this node is.
void DsmNode::CheckArrivals(DsmMeeting meeting) {
  for (unsigned node = 0; node < nodes_; ++node) {
    if (node == self_ || !HasArrived(node)) continue;
    const Arrival arrival = arrivals_[node].front();
    if (arrival.meeting != meeting) {
      throw DsmError(Name(node) + " has come to " +
                     NameOfDsmMeeting(static_cast<uint32_t>(arrival.meeting)) + " instead");
    }
    if (arrival.digest != layout_.digest())
      throw DsmError(Name(node) + " has allocated otherwise than this node");
  }
}

void DsmNode::Arrive(unsigned node, uint32_t number, uint32_t what) {
  DsmMessage arrive;
  arrive.kind = DsmKind::kArrive;
  arrive.number = number;
  arrive.what = what;
  arrive.value = layout_.digest();
  // Who has been at it by firmware may not be waiting.
  arrive.wakes = (what & kDsmAsks) != 0;
  links_->Send(node, arrive);
}

void DsmNode::ArriveAtAll(uint32_t what) {
  for (unsigned node = 0; node < nodes_; ++node)
    if (node != self_) Arrive(node, meetings_ + 1, what);
}

// Firmware says which nodes have sent notices; their arrivals follow these.
bool DsmNode::MeetByFirmware() {
  const auto barrier = static_cast<uint32_t>(DsmMeeting::kBarrier);
  if (noticed_) ArriveAtAll(barrier);
  FirmwareBarrier* const firmware = links_->firmware();
  firmware->Begin(noticed_ ? uint64_t{1} << self_ : 0);
  // Time is left to hear by messages who is missing. In a simulation firmware's own time is
  // another.
  const auto until = MeshClock::now() + limit_ / 4;
  std::optional<uint64_t> noticed;
  AwaitThat(
      [&] {
        uint64_t bits;
        if (!noticed && by_firmware_) {
          const auto state = firmware->Poll(&bits);
          if (state == FirmwareBarrier::State::kDone) noticed = bits;
          if (state == FirmwareBarrier::State::kFailed) by_firmware_ = false;
          if (state == FirmwareBarrier::State::kUnderWay && MeshClock::now() > until)
            by_firmware_ = false;
        }
        CheckArrivals(DsmMeeting::kBarrier);
        return noticed ? HaveArrived(*noticed) : !by_firmware_;
      },
      [&] { return Missing(); });
  return noticed.has_value();
}

void DsmNode::Meet(DsmMeeting meeting) {
  Do(NameOfDsmMeeting(static_cast<uint32_t>(meeting)), [&] {
    if (!held_.empty() && meeting == DsmMeeting::kExit)
      throw DsmError("lock " + std::to_string(*held_.begin()) + " is held by this node");
    if (links_ == nullptr) return;
    if (meeting == DsmMeeting::kBarrier) ReleaseAll(false);
    const DsmStopwatch time(&statistics_.barrier);
    exiting_ = meeting == DsmMeeting::kExit;
    const auto number = static_cast<uint32_t>(meeting);
    const bool firmware = by_firmware_ && meeting == DsmMeeting::kBarrier;
    if (firmware && MeetByFirmware()) {
      ++statistics_.firmware_barriers;
      // It has failed somebody, who waits for messages.
      if (!by_firmware_) ArriveAtAll(number | kDsmAnswers);
    } else {
      // Who was failed by firmware asks those who were not, and may have gone on.
      ArriveAtAll(number | (firmware ? kDsmAsks : 0));
      AwaitThat(
          [&] {
            CheckArrivals(meeting);
            return HaveArrived(~uint64_t{0});
          },
          [&] { return Missing(); });
    }
    CheckArrivals(meeting);
    ++meetings_;
    for (auto& arrivals : arrivals_)
      while (!arrivals.empty() && arrivals.front().number <= meetings_) arrivals.pop_front();
    if (meeting == DsmMeeting::kBarrier) noticed_ = false;
    // All notices of a node have come before its arrival.
    if (meeting == DsmMeeting::kBarrier) pages_.Acquire();
    if (!exiting_) return;
    AwaitThat([&] { return links_->AllSent(); },
              [] { return std::string("other nodes did not take the last message"); });
    for (unsigned node = 0; node < nodes_; ++node)
      if (node != self_) mesh_->Tell(node, {MeshKind::kBye, {}});
  });
}

jia_stat DsmNode::Statistics() {
  const Guard guard(this, "jia_statistics");
  jia_stat now = statistics_;
  const DsmPageCounts& counts = pages_.counts();
  now.read_faults = counts.read_faults;
  now.write_faults = counts.write_faults;
  now.pages_fetched = counts.pulled;
  now.pages_pushed = counts.pushed;
  now.bytes_pushed = counts.pushed_bytes;
  return now;
}

}  // namespace exrnic

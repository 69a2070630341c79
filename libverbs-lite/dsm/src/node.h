// SPDX-License-Identifier: BSD-2-Clause
// A node of shared memory: what the calls of exrnic/jia.h do. One of a process, as the area has one
// address. The program's thread calls; a thread of the library answers other nodes while the
// program computes. Both do so under one lock. The program's thread, when it waits, takes messages
// itself.
//
// What goes wrong ends the process, with one line that names who or what it was; the other nodes
// are told, and end with that. A fault has no other way to say that it failed.
#ifndef EXRNIC_DSM_NODE_H
#define EXRNIC_DSM_NODE_H

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "area.h"
#include "exrnic/jia.h"
#include "layout.h"
#include "links.h"
#include "lock_manager.h"
#include "pages.h"

namespace exrnic {

struct DsmOptions {
  std::vector<std::string> addresses;  // of all nodes; of a single one it is not used
  unsigned self = 0;
  size_t area = size_t{64} << 20;  // bytes
  std::chrono::milliseconds limit{60000};
  std::string device;  // "": as vl_open_rnic(NULL)
};

class DsmNode : private DsmHomes {
 public:
  // Throws, while there is nobody else to be told.
  explicit DsmNode(const DsmOptions& options);
  ~DsmNode() override;

  unsigned self() const { return self_; }
  unsigned nodes() const { return nodes_; }

  // All of these end the process when something is wrong. call: its name, for errors.
  void* Allocate(const char* call, size_t bytes, size_t block, unsigned first);
  void* AllocateInTurn(const char* call, size_t bytes);
  void* AllocateForFirstTouch(const char* call, size_t bytes);
  void Lock(int lock);
  void Unlock(int lock);
  void Meet(DsmMeeting meeting);  // kExit: nothing else is called after it
  void Set(int condition);
  void Reset(int condition);
  void Await(int condition);
  jia_stat Statistics();

  // False: the address is not of the area.
  bool Fault(void* address, std::optional<bool> write);
  [[noreturn]] void Fail(const std::string& text);

 private:
  class Guard;    // while it lives, this thread has the node
  class Waiting;  // while it lives, the program's thread takes the messages

  void Pull(unsigned node, uint64_t offset, uint32_t bytes) override;
  void Push(unsigned node, const std::vector<DsmRun>& runs, uint64_t offset) override;
  void AwaitPages() override;
  void Share(unsigned home, const std::vector<uint32_t>& pages) override;

  [[noreturn]] void End(const std::string& text);
  // What looks after other nodes while pages are under way, for `limit` at most.
  std::function<void()> PageWatch();
  // What `allocate` gives, an offset, is there from now on.
  template <typename Call>
  void* AllocateBy(const char* call, Call&& allocate);
  // What `body` throws ends the process.
  template <typename Body>
  auto Do(const char* call, Body&& body);
  void CheckNumber(const char* name, int value, uint32_t limit) const;
  std::string Name(unsigned node) const;

  void Serve();
  void Progress();  // takes messages, looks after other nodes
  void Watch();
  void Hear(unsigned node, const DsmMessage& message);
  void HearArrival(unsigned node, const DsmMessage& message);
  // Until it is so, `limit` at most; late() says what was waited for.
  template <typename Condition, typename Late>
  void AwaitThat(Condition&& condition, Late&& late);

  void FindHome(uint32_t page);
  void ReleaseAll(bool wakes);  // diffs, then notices
  void AcquireAll(const DsmClock& clock);
  DsmClock Known() const;
  // wakes: as of a message; what takes several messages does.
  void SendPages(DsmKind kind, unsigned node, const std::vector<uint32_t>& pages, bool wakes);
  void SetHere(uint32_t condition, const DsmClock& clock);
  void AskManager(const DsmMessage& message);  // until it has done so
  void Confirm(unsigned node, uint32_t condition);
  // At the meeting that is next.
  bool HasArrived(unsigned node) const;
  bool HaveArrived(uint64_t nodes) const;
  void CheckArrivals(DsmMeeting meeting);
  void Arrive(unsigned node, uint32_t number, uint32_t what);
  void ArriveAtAll(uint32_t what);
  bool MeetByFirmware();  // false: not all have come so
  std::string Missing() const;
  void Grant(uint32_t lock, unsigned node);
  // Of a peer that says what it may not.
  [[noreturn]] void FailPeer(unsigned node, const std::string& what);

  const unsigned self_;
  const unsigned nodes_;
  const std::chrono::milliseconds limit_;
  std::mutex mutex_;
  DsmLayout layout_;
  DsmArea area_;
  std::unique_ptr<Mesh> mesh_;  // these two are null if it is the only node
  std::unique_ptr<DsmLinks> links_;
  DsmPages pages_;
  DsmLockManager manager_;

  DsmClock heard_;  // notices of each node; of this one: that it has sent
  struct Arrival {
    uint32_t number;  // of the meeting
    DsmMeeting meeting;
    uint64_t digest;
  };
  std::vector<std::deque<Arrival>> arrivals_;  // of each node: at the next meeting, and after it
  uint32_t meetings_ = 0;                      // that have been
  // By firmware, until it fails one node, which then asks the others to do without.
  bool by_firmware_ = false;
  bool noticed_ = false;  // since the last meeting this node has sent notices
  std::set<int> held_;
  std::optional<uint32_t> wanted_lock_, wanted_condition_, wanted_page_, wanted_done_;
  std::optional<DsmClock> granted_;  // what was wanted has come
  std::vector<bool> left_;
  bool exiting_ = false;
  jia_stat statistics_ = {};
  MeshClock::time_point next_watch_{};

  std::atomic<int> waiting_{0};
  std::atomic<bool> ends_{false};
  int wake_fd_ = -1;  // for the end of the thread
  std::thread thread_;
};

// A handler of a signal that came within a call would wait for itself: that is an error instead.
class DsmNode::Guard {
 public:
  Guard(DsmNode* node, const char* call) : node_(node) {
    if (in_call_) {
      dprintf(STDERR_FILENO, "jia: node %u: %s: by a handler of a signal, within another call\n",
              node->self_, call);
      _exit(1);
    }
    in_call_ = true;
    node_->mutex_.lock();
  }
  ~Guard() {
    node_->mutex_.unlock();
    in_call_ = false;
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  static thread_local bool in_call_;
  DsmNode* const node_;
};
template <typename Body>
auto DsmNode::Do(const char* call, Body&& body) {
  const Guard guard(this, call);
  try {
    return body();
  } catch (const std::exception& error) {
    End(std::string(call) + ": " + error.what());
  }
}

}  // namespace exrnic

#endif  // EXRNIC_DSM_NODE_H

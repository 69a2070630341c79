// SPDX-License-Identifier: BSD-2-Clause
// A node of PM: what its calls do, with errors as PmError. All of it is under one lock.
//
// Memory: PM_SLOTS places for messages, shared out to the other nodes once; PM_SEND_BUFFERS buffers
// for own ones; for each node a line of control words. Nothing else grows with the number of nodes.
#ifndef EXRNIC_PM_CONTEXT_H
#define EXRNIC_PM_CONTEXT_H

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "areas.h"
#include "channel.h"
#include "exrnic/ntb.h"
#include "exrnic/pm.h"
#include "exrnic/verbs.hpp"
#include "mesh.h"
#include "pm_error.h"
#include "yielding_lock.h"

namespace exrnic {

enum class PmWork : uint64_t { kMessage, kWrite, kRead, kOther };
constexpr uint64_t kNoBuffer = 0xff;

// node, work requests that end with it, kind, buffer
inline uint64_t PmWorkId(unsigned node, PmWork work, uint64_t buffer = kNoBuffer,
                         uint32_t covers = 1) {
  return uint64_t{node} << 32 | uint64_t{covers} << 16 | static_cast<uint64_t>(work) << 8 | buffer;
}

}  // namespace exrnic

struct pm_context {
 public:
  explicit pm_context(const pm_attr& attr);
  ~pm_context();
  void Close();  // its orderly end

  int self() const { return static_cast<int>(mesh_.self()); }
  int nodes() const { return static_cast<int>(mesh_.nodes()); }
  void* GetSendBuffer(const int* nodes, int count, size_t length);
  void Send();
  void ReceiveNone();  // nothing came: goes on with what else there is to do
  void Release();

  // What these mostly are, in the fewest instructions: they wait for no other thread and throw
  // nothing. Null, or false: nothing was done, and they are to be called.
  [[gnu::always_inline]] void* GetNow(int node, size_t length);
  [[gnu::always_inline]] bool SendNow();
  [[gnu::always_inline]] bool ReceiveNow(void** buffer, size_t* length, int* node);
  [[gnu::always_inline]] bool ReleaseNow();
  pm_handle Lock(int node, void* address, size_t length);
  void Unlock(pm_handle handle);
  void Write(int node, pm_handle remote, pm_handle local, size_t length);
  void Read(int node, pm_handle remote, pm_handle local, size_t length);
  bool TransfersDone(bool writes);
  void WaitDone();

 private:
  static constexpr uint32_t kSignalEach = 16;  // work requests of messages
  using Guard = std::lock_guard<exrnic::YieldingLock>;

  // Written by the peer; and `told`, which it reads.
  struct Control {
    uint64_t released;      // of the messages to the peer
    uint64_t version;       // of the peer's areas: a new one whenever one was unlocked
    uint64_t reread;        // PullReleased writes it, and
    uint64_t own_released;  // the peer's reads it
    exrnic::PmArea area;    // of the peer, as it was read last
  };

  struct Info {  // that two peers tell each other over TCP
    uint32_t node_id, message_qpn, transfer_qpn;
    uint32_t window_qpn;  // kNoQueuePair: there is none
    uint32_t stag;        // of `shared`
    uint32_t zero;
    uint64_t control, entries, slots, areas;
  };

  // A peer.
  struct Peer : exrnic::PmPort {
    void PushMessage(uint32_t place, const void* bytes, uint32_t length,
                     const exrnic::PmEntry& entry) override;
    void PushReleased(uint64_t released) override;
    // By the window, which is there.
    void StoreEntry(uint32_t place, const exrnic::PmEntry& entry) {
      constexpr uint32_t kWords = sizeof(entry) / sizeof(uint64_t);
      const auto* from = reinterpret_cast<const uint8_t*>(&entry);
      const uint8_t* const end = from + PmEntryBytes(entry);
      volatile uint64_t* to = entries_there + place * kWords;
      for (; from < end; from += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, from, sizeof(word));
        *to++ = word;
      }
      vl_window_flush();
    }
    void PullReleased() override;

    pm_context* context = nullptr;
    unsigned node = 0;
    vl::Owned<vl_qp> messages, transfers;
    // By these entries of short messages go, in stores, if there are remote windows.
    vl::Owned<vl_qp> window_qp;
    vl::Owned<vl_window> window;
    volatile uint64_t* entries_there = nullptr;
    Info theirs = {};
    vl_sge inline_bytes = {};     // of
    vl_send_wr inline_push = {};  // what PostInline fills
    std::optional<exrnic::PmSender> sender;
    std::optional<exrnic::PmReceiver> receiver;
    uint32_t message_work = 0;                       // in the send queue of messages,
    uint32_t unsignaled = 0;                         // the last of them without a completion,
    std::deque<uint32_t> sending;                    // and the send buffers that it reads
    uint32_t writes = 0, reads = 0, other_work = 0;  // and in that of transfers
    std::optional<exrnic::PmClock::time_point> broken_until;  // the queue pair has failed
    bool gone = false;
    bool dead = false;  // not told by pmReceive yet
    bool left = false;  // has said farewell
    std::string why;
    bool transfers_gone = false;
    std::string transfers_why;
    std::map<uint32_t, exrnic::PmArea> known;  // areas of the peer, of one version
    uint64_t known_version = 0;
  };
  struct SendBuffer {
    uint32_t users = 0;  // PUSHes that read it
  };

  static constexpr uint32_t kNoQueuePair = UINT32_MAX;
  [[gnu::always_inline]] void* GetLocked(int node, size_t length);
  [[gnu::always_inline]] bool ReceiveLocked(void** buffer, size_t* length, int* node);
  // The message that is held is to one node, and its entry has all of it.
  [[gnu::always_inline]] bool IsShortOfThisThread() const;
  [[gnu::always_inline]] const exrnic::PmEntry* FillHeld(Peer* peer, uint32_t* place);
  bool PushShort();
  void OpenRnic(const pm_attr& attr);
  void OpenWindow(Peer* peer);
  void CheckWindow(Peer* peer);
  void CloseWindow(Peer* peer);
  void MakePeers();
  Info InfoFor(unsigned node);
  vl_qp_init_attr QueuePair(uint32_t work, uint32_t reads) const;
  Control* ControlOf(unsigned node) { return &control_[node]; }
  unsigned IndexAt(unsigned node, unsigned at) const;

  Peer* CheckPeer(const char* name, int node) {
    if (node < 0 || node >= nodes() || node == self()) FailPeer(name, node);
    return peers_[static_cast<size_t>(node)].get();
  }
  [[noreturn]] void FailPeer(const char* name, int node) const;
  void ExpectConnected(const Peer& peer) const {
    if (peer.gone) throw exrnic::PmError(ECONNRESET, peer.why, static_cast<int>(peer.node));
  }
  // There is room for it.
  [[gnu::always_inline]] inline void PostNow(Peer* peer, const void* bytes, uint32_t length,
                                             uint64_t remote, bool signaled) {
    uint32_t covers = 1;
    const bool signals = Signals(peer, 1, signaled, &covers);
    peer->inline_bytes = {vl::AddressOf(bytes), length, 0};
    vl_send_wr* const wr = &peer->inline_push;
    wr->wr_id = exrnic::PmWorkId(peer->node, exrnic::PmWork::kMessage, exrnic::kNoBuffer, covers);
    wr->flags = VL_SEND_INLINE | (signals ? VL_SEND_SIGNALED : 0);
    wr->remote_address = remote;
    Post(peer, peer->messages.get(), *wr);
  }
  void PostInline(Peer* peer, const void* bytes, uint32_t length, uint64_t remote,
                  bool signaled = false);
  void Post(Peer* peer, vl_qp* qp, const vl_send_wr& wr) {
    if (!peer->gone && vl_post_sq(qp, &wr, nullptr) != 0) BuryUnposted(peer);
  }
  void BuryUnposted(Peer* peer);
  // Whether the next one is to complete visibly, of so many work requests. *covers: with which.
  bool Signals(Peer* peer, uint32_t work, bool always, uint32_t* covers) {
    peer->message_work += work;
    peer->unsignaled += work;
    if (!always && peer->unsignaled < kSignalEach) return false;
    *covers = peer->unsignaled;
    peer->unsignaled = 0;
    return true;
  }
  void Flush(Peer* peer);  // so that all of messages completes visibly
  // Whether all messages to it have ended; makes them end, reminders that came later, too.
  bool Settled(Peer* peer);
  // A message takes two work requests; the rest is for releases, and for what is said again.
  bool HasRoom(Peer* peer) const { return HasWork(*peer) && peer->sender->HasPlace(); }
  bool HasWork(const Peer& peer) const {
    return peer.message_work + 2 <= message_work_ - PM_SLOTS_OF_NODE;
  }
  // As a number. It may come back for another thread, when this one has ended.
  static const void* ThisThread() {
    [[gnu::tls_model("initial-exec")]] static thread_local char own;
    return &own;
  }
  uint8_t* MemoryOf(uint32_t buffer) {
    return send_memory_.get() + size_t{buffer} * PM_MESSAGE_MAX;
  }
  void* Hold(uint32_t buffer, size_t length) {
    held_ = true;
    holder_ = ThisThread();
    held_buffer_ = buffer;
    held_length_ = static_cast<uint32_t>(length);
    next_buffer_ = buffer + 1;
    return MemoryOf(buffer);
  }
  std::optional<uint32_t> FreeBuffer();

  void Progress();
  void PollQueue();
  void Take(const vl_wc& wc);
  void Watch();
  // tell: pmReceive says so.
  void Bury(Peer* peer, const std::string& why, bool tell = true);
  void EndTransfers(Peer* peer, const std::string& why);
  void Transfer(vl_wr_opcode opcode, int node, pm_handle remote, pm_handle local, size_t length);
  const exrnic::PmArea& AreaOf(Peer* peer, pm_handle handle);
  void FetchArea(Peer* peer, uint32_t index);
  template <typename Condition>
  void Await(const std::string& what, Condition&& condition);

  const std::chrono::milliseconds limit_;
  exrnic::YieldingLock lock_;
  exrnic::Mesh mesh_;
  vl::Owned<vl_rnic> own_rnic_;
  vl_rnic* rnic_ = nullptr;
  uint32_t node_id_ = 0;
  uint32_t places_ = 0;
  bool windows_ = false;       // short messages may go by them
  uint32_t message_work_ = 0;  // work requests that a queue pair for messages holds
  vl::Owned<vl_pd> pd_;
  vl::Owned<vl_cq> cq_;
  // Registered as one region, which peers write and read: control words, entries, slots, areas.
  std::unique_ptr<uint8_t, void (*)(void*)> shared_{nullptr, nullptr};
  size_t shared_bytes_ = 0;
  vl::Owned<vl_mr> shared_region_;
  Control* control_ = nullptr;
  exrnic::PmEntry* entries_ = nullptr;
  uint8_t* slots_ = nullptr;
  std::unique_ptr<exrnic::PmAreas> areas_;
  std::unique_ptr<uint8_t, void (*)(void*)> send_memory_{nullptr, nullptr};
  vl::Owned<vl_mr> send_region_;
  std::array<SendBuffer, PM_SEND_BUFFERS> buffers_;
  uint32_t next_buffer_ = 0;

  // From get to send.
  bool held_ = false;
  const void* holder_ = nullptr;  // a thread
  uint32_t held_buffer_ = 0;
  uint32_t held_length_ = 0;
  Peer* held_for_one_ = nullptr;  // or
  std::vector<Peer*> held_for_, wanted_;
  uint32_t sending_ = 0;  // the buffer that PushMessage posts

  std::vector<std::unique_ptr<Peer>> peers_;  // of each node; the own one is null
  std::vector<Peer*> others_;                 // all of them
  size_t next_source_ = 0;                    // of these
  size_t looks_ = 0;                          // of a pmReceive at them
  // Whose buffers the program has, the oldest first: by the count of what was received, and
  // released.
  std::array<Peer*, PM_SLOTS> received_{};
  uint32_t received_count_ = 0, released_count_ = 0;
  unsigned empty_polls_ = 0;
  bool some_dead_ = false;  // and not told
  Peer* liar_ = nullptr;    // has sent what is no message, and is to be buried
  uint64_t version_ = 0;    // of the own areas
  std::vector<std::string> failed_writes_, failed_reads_;
  exrnic::PmClock::time_point next_watch_{};
};

inline void* pm_context::GetLocked(int node, size_t length) {
  const uint32_t buffer = next_buffer_ % PM_SEND_BUFFERS;
  if (held_ || length > PM_MESSAGE_MAX || static_cast<unsigned>(node) >= peers_.size() ||
      buffers_[buffer].users != 0)
    return nullptr;
  Peer* const peer = peers_[static_cast<unsigned>(node)].get();
  if (peer == nullptr || peer->gone || !HasWork(*peer) || !peer->sender->HasKnownPlace())
    return nullptr;
  held_for_one_ = peer;
  return Hold(buffer, length);
}

inline void* pm_context::GetNow(int node, size_t length) {
  if (!lock_.try_lock()) return nullptr;
  void* const memory = GetLocked(node, length);
  lock_.unlock();
  return memory;
}

inline bool pm_context::ReceiveLocked(void** buffer, size_t* length, int* node) {
  for (size_t looks = looks_; looks != 0; --looks) {
    Peer* const peer = others_[next_source_];
    if (++next_source_ == others_.size()) next_source_ = 0;
    if (!peer->receiver->IsThere()) continue;
    const void* bytes;
    uint32_t count;
    uint16_t released;
    if (!peer->receiver->Take(&bytes, &count, &released)) continue;
    if (count == UINT32_MAX) {
      liar_ = peer;
      return false;
    }
    peer->sender->Hear(released);
    received_[received_count_++ % PM_SLOTS] = peer;
    *buffer = const_cast<void*>(bytes);
    *length = count;
    if (node != nullptr) *node = static_cast<int>(peer->node);
    return true;
  }
  return false;
}

inline bool pm_context::ReceiveNow(void** buffer, size_t* length, int* node) {
  if (!lock_.try_lock()) return false;
  const bool received = ReceiveLocked(buffer, length, node);
  lock_.unlock();
  return received;
}

inline bool pm_context::IsShortOfThisThread() const {
  return held_ && held_for_one_ != nullptr && holder_ == ThisThread() &&
         held_length_ <= exrnic::kPmShort;
}

inline const exrnic::PmEntry* pm_context::FillHeld(Peer* peer, uint32_t* place) {
  held_ = false;
  return peer->sender->Fill(MemoryOf(held_buffer_), held_length_, peer->receiver->Tell(), place);
}

inline bool pm_context::SendNow() {
  if (!lock_.try_lock()) return false;
  Peer* const peer = held_for_one_;
  const bool can = IsShortOfThisThread() && !peer->gone && peer->entries_there != nullptr;
  if (can) {
    uint32_t place;
    const exrnic::PmEntry* const entry = FillHeld(peer, &place);
    peer->StoreEntry(place, *entry);
  }
  lock_.unlock();
  return can;
}

inline bool pm_context::ReleaseNow() {
  if (!lock_.try_lock()) return false;
  const bool can = received_count_ != released_count_;
  if (can) received_[released_count_++ % PM_SLOTS]->receiver->Release();
  lock_.unlock();
  return can;
}

#endif  // EXRNIC_PM_CONTEXT_H

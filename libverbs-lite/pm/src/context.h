// SPDX-License-Identifier: BSD-2-Clause
// A node of PM: what its calls do, with errors as PmError. All of it is under one lock.
//
// Memory: PM_SLOTS places for messages, shared out to the other nodes once; PM_SEND_BUFFERS buffers
// for own ones; for each node a line of control words. Nothing else grows with the number of nodes.
#ifndef EXRNIC_PM_CONTEXT_H
#define EXRNIC_PM_CONTEXT_H

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "areas.h"
#include "channel.h"
#include "exrnic/pm.h"
#include "exrnic/verbs.hpp"
#include "mesh.h"
#include "pm_error.h"

struct pm_context {
 public:
  explicit pm_context(const pm_attr& attr);
  ~pm_context();
  void Close();  // its orderly end

  int self() const { return static_cast<int>(mesh_.self()); }
  int nodes() const { return static_cast<int>(mesh_.nodes()); }
  void* GetSendBuffer(const int* nodes, int count, size_t length);
  void Send();
  void Receive(void** buffer, size_t* length, int* node);
  void Release();
  pm_handle Lock(int node, void* address, size_t length);
  void Unlock(pm_handle handle);
  void Write(int node, pm_handle remote, pm_handle local, size_t length);
  void Read(int node, pm_handle remote, pm_handle local, size_t length);
  bool TransfersDone(bool writes);
  void WaitDone();

 private:
  using Guard = std::lock_guard<std::mutex>;

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
    uint32_t stag;  // of `shared`
    uint64_t control, entries, slots, areas;
  };

  // A peer.
  struct Peer : exrnic::PmPort {
    void PushMessage(uint32_t place, const void* bytes, uint32_t length,
                     const exrnic::PmEntry& entry) override;
    void PushReleased(uint64_t released) override;
    void PullReleased() override;

    pm_context* context = nullptr;
    unsigned node = 0;
    vl::Owned<vl_qp> messages, transfers;
    Info theirs = {};
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

  void OpenRnic(const pm_attr& attr);
  void MakePeers();
  Info InfoFor(unsigned node);
  vl_qp_init_attr QueuePair(uint32_t work, uint32_t reads) const;
  uint32_t MessageWork() const { return 2 * places_ + 2 * PM_SLOTS_OF_NODE + 4; }
  Control* ControlOf(unsigned node) { return &control_[node]; }
  unsigned IndexAt(unsigned node, unsigned at) const;

  Peer* CheckPeer(const char* name, int node);
  void ExpectConnected(const Peer& peer) const;
  void PostInline(Peer* peer, const void* bytes, uint32_t length, uint64_t remote,
                  bool signaled = false);
  void Post(Peer* peer, vl_qp* qp, const vl_send_wr& wr);
  // Whether the next one is to complete visibly, of so many work requests. *covers: with which.
  bool Signals(Peer* peer, uint32_t work, bool always, uint32_t* covers);
  void Flush(Peer* peer);  // so that all of messages completes visibly
  // Whether all messages to it have ended; makes them end, reminders that came later, too.
  bool Settled(Peer* peer);
  bool HasRoom(Peer* peer);
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
  std::mutex mutex_;
  exrnic::Mesh mesh_;
  vl::Owned<vl_rnic> own_rnic_;
  vl_rnic* rnic_ = nullptr;
  uint32_t node_id_ = 0;
  uint32_t places_ = 0;
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
  std::thread::id holder_;
  uint32_t held_buffer_ = 0;
  uint32_t held_length_ = 0;
  std::vector<unsigned> held_for_, wanted_;
  uint32_t sending_ = 0;  // the buffer that PushMessage posts

  std::vector<std::unique_ptr<Peer>> peers_;  // of each node; the own one is null
  std::deque<unsigned> received_;             // whose buffers the program has, the oldest first
  unsigned next_source_ = 0;
  unsigned empty_polls_ = 0;
  bool some_dead_ = false;  // and not told
  uint64_t version_ = 0;    // of the own areas
  std::vector<std::string> failed_writes_, failed_reads_;
  exrnic::PmClock::time_point next_watch_{};
};

#endif  // EXRNIC_PM_CONTEXT_H

// SPDX-License-Identifier: BSD-2-Clause
// What moves the transfers of a node: a link for each peer, one completion queue for all.
//
// A receive posts its buffer to the queue pair, and PUSHes an Offer of it into a ring at the peer.
// The peer takes offers in turn, and answers each by one message that takes that receive: a SEND, a
// PUSH_IMM of the data, or, of a plain WRITE, a PUSH of the data and behind it a PUSH_IMM of no
// bytes, whose immediate data is a Word. So a sender knows how much room there is before it sends,
// and one that cannot send says so with a Word, too: queue pairs do not end over it.
//
// An offer's place in the ring is written again only when its receive has completed, and so was
// answered: it was read before.
#ifndef EXRNIC_CLUSTER_ENGINE_H
#define EXRNIC_CLUSTER_ENGINE_H

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "exrnic/cluster.hpp"
#include "exrnic/verbs.hpp"
#include "mesh.h"

namespace vl {

struct ClusterTransfer {
  unsigned peer = 0;
  bool is_send = false;
  ClusterOperation operation = ClusterOperation::kSend;
  uint32_t immediate = 0;
  uint32_t word = 0;  // if not 0: no message, but this Word in place of one
  void* address = nullptr;
  size_t length = 0;
  Owned<vl_mr> own_region;  // unless it lies in a Registration
  uint32_t stag = 0;

  bool done = false;
  Received received;
  int error = 0;  // behind an end that was not good
  std::string text;
  unsigned blame = 0;  // the node whose fault it was
};

// Immediate data of a PUSH_IMM of no bytes: bytes of the WRITE before it; or, with kWordRefused,
// that there is none: so many bytes were too long for the offer; or, from kWordAborted on, that the
// node kWordAborted + n failed in a pattern.
constexpr uint32_t kWordRefused = 0x8000'0000;
constexpr uint32_t kWordAborted = 0xffff'fe00;
static_assert(kClusterMessageMax < (kWordAborted & ~kWordRefused));

class ClusterEngine {
 public:
  explicit ClusterEngine(ClusterOptions options);
  ~ClusterEngine();

  void Meet();
  void CreateObjects();
  void ConnectQueuePairs();
  void Leave();
  void Close();  // all links end; transfers that programs still hold have failed

  const ClusterOptions& options() const { return options_; }
  std::string Name(unsigned node) const { return mesh_.Name(node); }
  std::string WhyGone(unsigned peer);
  void Cut(unsigned peer, const std::string& why);

  std::shared_ptr<ClusterTransfer> Send(unsigned peer, ClusterOperation operation,
                                        ConstBytes message, uint32_t immediate);
  std::shared_ptr<ClusterTransfer> Receive(unsigned peer, Bytes buffer);
  // The same in two steps: all that can be wrong with a call is thrown by the first one, and
  // nothing is under way. So a pattern prepares all of its transfers, and only then starts them.
  std::shared_ptr<ClusterTransfer> PrepareSend(unsigned peer, ClusterOperation operation,
                                               ConstBytes message, uint32_t immediate);
  std::shared_ptr<ClusterTransfer> PrepareReceive(unsigned peer, Bytes buffer);
  void Start(const std::shared_ptr<ClusterTransfer>& transfer);
  // In place of a message: the peer's receive ends with ECONNRESET, which names `blame`.
  std::shared_ptr<ClusterTransfer> SendAbort(unsigned peer, unsigned blame);

  void Progress();
  bool Done(ClusterTransfer* transfer);
  Received Wait(ClusterTransfer* transfer, std::chrono::milliseconds limit);
  // Its number, for Unregister.
  uint64_t Register(ConstBytes memory, bool receives);
  void Unregister(uint64_t number);
  // Whether it lies in memory that is registered for that.
  bool IsRegistered(ConstBytes memory, bool receives);

 private:
  using Lock = std::lock_guard<std::mutex>;
  using TransferPointer = std::shared_ptr<ClusterTransfer>;

  struct Offer {
    uint64_t
        number;  // from 1; written with the rest by one store of 32 bytes, and again at its end
    uint64_t address;
    uint32_t stag;
    uint32_t length;
    uint64_t number_again;
  };
  static_assert(sizeof(Offer) == 32);

  struct Info {  // that two peers tell each other over TCP
    uint32_t node_id;
    uint32_t qpn;
    uint64_t ring;
    uint32_t stag;
    uint32_t receives;
  };

  struct Farewell {     // of a peer that leaves:
    uint64_t sent;      // messages that took receives of this node
    uint64_t received;  // messages of this node that it has
  };

  enum class Step { kNew, kMet, kMade, kConnected, kLeft };

  struct Link {
    Owned<vl_mr> ring;  // where it offers
    Owned<vl_qp> qp;    // null: there is none any more, or none yet
    bool gone = false;
    int error = 0;  // and why
    std::string why;
    Info theirs = {};
    uint64_t offered = 0;     // offers that were made
    uint32_t offers_out = 0;  // of which the send queue still has the work request
    uint64_t answered = 0;    // offers of the peer that were taken
    uint64_t sent = 0;        // messages that took a receive of the peer
    uint64_t received = 0;    // receives that ended well
    std::deque<TransferPointer> sends_waiting, sends_out;
    std::deque<TransferPointer> receives_waiting, receives_out;
    // The peer has left, or the queue pair has failed, which may be its leaving: the link ends when
    // all that had arrived is taken, or then.
    std::optional<exrnic::MeshClock::time_point> ends_by;
    bool leaving = false;
    bool broken = false;
    Farewell farewell = {};
  };

  void Expect(Step step, const char* call) const;
  void CheckPeer(unsigned peer, const char* call) const;
  void MakeLink(unsigned peer);
  Offer* RingOf(unsigned peer) { return &ring_[size_t{peer} * options_.receives]; }
  void Prepare(ClusterTransfer* transfer, const char* call);
  void StartLocked(const TransferPointer& transfer);
  struct Registered;
  const Registered* FindRegistered(const void* address, size_t length, bool receives) const;

  void ProgressLocked();
  void Take(const vl_wc& wc);
  void TakeReceive(Link* link, const vl_wc& wc);
  void Advance(unsigned peer);
  bool OfferNext(unsigned peer);
  bool AnswerNext(unsigned peer);
  bool PostMessage(unsigned peer, ClusterTransfer* transfer, const Offer& offer);
  void PostWork(unsigned peer, const vl_send_wr& wr);
  void WatchPeers();
  void EndLink(unsigned peer, int error, const std::string& why);
  void LetGo(unsigned peer);
  void EndAll(int error, const std::string& why);
  static void FinishSend(ClusterTransfer* transfer);
  static void FailTransfer(const TransferPointer& transfer, int error, const std::string& text,
                           unsigned blame);

  const ClusterOptions options_;
  std::mutex mutex_;
  exrnic::Mesh mesh_;
  exrnic::MeshClock::time_point deadline_{};  // of the steps up to connected
  Step step_ = Step::kNew;
  Owned<vl_rnic> rnic_;
  Owned<vl_pd> pd_;
  Owned<vl_cq> cq_;
  uint32_t node_id_ = 0;
  std::vector<Offer> ring_;  // of each peer: options_.receives
  struct Registered {
    uintptr_t first;
    size_t length;
    bool receives;
    Owned<vl_mr> region;
  };
  std::map<uint64_t, Registered> registered_;  // by number
  uint64_t registrations_ = 0;
  std::vector<Link> links_;
  exrnic::MeshClock::time_point next_watch_{};
};

}  // namespace vl

#endif  // EXRNIC_CLUSTER_ENGINE_H

// SPDX-License-Identifier: BSD-2-Clause
// The verbs below shared memory. To each other node there are two queue pairs: one for messages,
// which somebody has to take; and one for pages, PULLed from there and PUSHed to there, of which
// the other process notices nothing.
//
// Whoever calls has the lock of the node. Nothing here waits but AwaitPages.
#ifndef EXRNIC_DSM_LINKS_H
#define EXRNIC_DSM_LINKS_H

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "diff.h"
#include "dsm_message.h"
#include "exrnic/verbs.hpp"
#include "firmware_barrier.h"
#include "mesh.h"

namespace exrnic {

class DsmLinks {
 public:
  // view: bytes that peers read and write. The mesh has met. Throws.
  DsmLinks(const std::string& device, Mesh* mesh, void* view, size_t bytes,
           MeshClock::time_point deadline);

  // Arrives after those that were sent to the node before.
  void Send(unsigned node, const DsmMessage& message);
  // A message that came, with who sent it; false: there is none. Posts what waits to be sent.
  // Throws DsmError of one that is none, naming the node.
  bool Take(uint32_t pages, unsigned* node, DsmMessage* message);
  bool AllSent() const { return sending_ == 0 && outbox_.empty(); }

  // Is called now and then by who waits; what it throws ends that.
  using Idle = std::function<void()>;
  // Offsets in the area, the same here and there. The bytes stay as they are until AwaitPages. They
  // wait while there is no room in the queue.
  void Pull(unsigned node, uint64_t offset, uint32_t bytes, const Idle& idle);
  void Push(unsigned node, const std::vector<DsmRun>& runs, uint64_t offset, const Idle& idle);
  // Until all of them are placed.
  void AwaitPages(const Idle& idle);

  // Null where not all nodes have it, or messages are faster.
  FirmwareBarrier* firmware() const { return firmware_.get(); }

  // A queue pair to it has failed: why, and since when. Its end may have a better reason.
  struct Failure {
    unsigned node;
    std::string why;
    MeshClock::time_point since;
  };
  const std::vector<Failure>& failures() const { return failures_; }

  // For who sleeps: armed, the file descriptor becomes readable at the next message that wakes.
  void Arm();
  int fd() const { return vl_comp_channel_fd(channel_.get()); }
  void TakeEvent();  // after that

 private:
  struct Info {  // that two nodes tell each other over TCP
    uint32_t node_id, message_qpn, page_qpn, stag;
    uint64_t view, bytes;
    uint64_t firmware;  // whether it has barriers
  };
  struct Peer {
    unsigned node;
    vl::Owned<vl_qp> messages, pages;
    Info theirs;
    uint32_t page_work = 0;  // in the send queue of pages
  };

  void MakePeers(unsigned self, unsigned nodes);
  void AgreeOnFirmware(uint32_t node_id);
  void PostReceive(uint32_t place);
  void PostOutbox();
  void TakeSent(const vl_wc& wc);
  void PollPages();
  void PostPages(Peer* peer, vl_send_wr* list, uint32_t count, const Idle& idle);
  void Fail(unsigned node, const std::string& why);
  Peer* PeerOf(const vl_wc& wc);

  Mesh* const mesh_;
  const uint32_t receive_places_;
  uint8_t* const view_;
  const size_t bytes_;
  vl::Owned<vl_rnic> rnic_;
  std::unique_ptr<FirmwareBarrier> firmware_;
  vl::Owned<vl_pd> pd_;
  vl::Owned<vl_comp_channel> channel_;
  vl::Owned<vl_cq> message_queue_, page_queue_;
  vl::Owned<vl_srq> receives_;
  std::vector<uint8_t> message_memory_;  // places for receives, and behind them for sends
  vl::Owned<vl_mr> message_region_, area_;
  std::vector<std::unique_ptr<Peer>> peers_;  // of each node; the own one is null
  std::vector<uint32_t> free_sends_;
  uint32_t sending_ = 0;
  struct Waiting {
    unsigned node;
    std::vector<uint8_t> bytes;
    bool wakes;
  };
  std::deque<Waiting> outbox_;
  std::vector<Failure> failures_;
};

}  // namespace exrnic

#endif  // EXRNIC_DSM_LINKS_H

// SPDX-License-Identifier: BSD-2-Clause
// Transmit side of the reliable class of EFE: numbers segments, keeps each until its peer has
// placed it, resends (go-back-N per pair of nodes), and says how each ended.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "rtl-model/ref/efe_rx.h"
#include "rtl-model/ref/segment.h"

namespace exrnic::ref {

class EfeTx {
 public:
  using End = std::function<void(const Ended& ended)>;

  // `end` is told of every segment submitted, once; in order for each node.
  EfeTx(State& state, EfeRx& efe_rx, End end)
      : state_(state), efe_rx_(efe_rx), end_(std::move(end)) {}

  // Room for a segment of a work request; terminate messages always find room.
  bool has_room() const { return kept_ < kWindow; }
  // A node may keep as many segments as there is room for; work for it begins with a quarter less,
  // unless it has not answered in time.
  bool has_share(uint32_t node);
  bool may_begin(uint32_t node);
  void submit(Segment&& segment);

  // From the receive side: where the peer is in a session of ours.
  void acknowledged(uint32_t node, const EfeRx::Position& position, bool nak);
  // `session` is the one of ours that the peer speaks of, 0 if none.
  void peer_restarted(uint32_t node, uint16_t session);
  void owe_ack(uint32_t node, bool nak);

  void run(CoreSink& sink);
  bool idle() const;

 private:
  static constexpr size_t kWindow = 120;

  struct Peer {
    uint16_t session = 0;      // ours; 0: none yet
    bool established = false;  // something of it was acknowledged: no SYN any more
    uint32_t una = EXRNIC_INITIAL_SEQ;
    uint32_t next = EXRNIC_INITIAL_SEQ;
    std::deque<Segment> unacked;  // those never sent have no number
    std::deque<Segment> fresh;    // not sent yet
    size_t kept() const { return unacked.size() + fresh.size(); }
    uint32_t retries = 0;
    bool nak_served = false;
    bool resending = false;
    bool probing = false;     // una was resent because of a time-out; the others wait for its end
    size_t cursor = 0;        // with resending: the next one to send again
    uint32_t cursor_seq = 0;  // and its number
    uint64_t since = 0;       // cycle from which the time-out counts
    bool ack_owed = false;
    bool nak_owed = false;
    unsigned terminates = 0;      // submitted and not sent yet
    uint32_t last_terminate = 0;  // number of the last one sent
    bool answering = false;       // we hold back acknowledgements until those are dealt with
  };

  void strike_timeouts();
  void end_hold(uint32_t node);
  void give_up(uint32_t node);
  void start_resend(Peer& peer);
  void end_oldest(uint32_t node, exrnic_cqe_status status);
  void end_unsent_in_front(uint32_t node);
  void end_segment(const Segment& segment, uint32_t seq, exrnic_cqe_status status);

  bool resend_one(CoreSink& sink);
  bool send_new(CoreSink& sink);
  void send_first(CoreSink& sink, uint32_t node);
  bool send_ack(CoreSink& sink);
  void send(CoreSink& sink, uint32_t node, uint32_t seq, const Segment* segment);
  uint8_t put_acknowledgement(uint8_t* efe, uint32_t node);

  State& state_;
  EfeRx& efe_rx_;
  End end_;
  std::map<uint32_t, Peer> peers_;  // by node
  uint32_t last_served_ = 0;        // node that sent the last new segment
  size_t kept_ = 0;                 // segments that have not ended
};

}  // namespace exrnic::ref

// SPDX-License-Identifier: BSD-2-Clause
// Transmit side of EFE: numbers segments, keeps each until its peer has placed it, resends what is
// lost, and says how each ended. Those of the unreliable class are sent once among them.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "rtl-model/ref/congestion_window.h"
#include "rtl-model/ref/efe_rx.h"
#include "rtl-model/ref/loopback.h"
#include "rtl-model/ref/round_trip.h"
#include "rtl-model/ref/segment.h"

namespace exrnic::ref {

class EfeTx final : public EfeRx::Answerer {
 public:
  using End = std::function<void(const Ended& ended)>;

  // `end` is told of every segment submitted, once; in order for each node.
  EfeTx(EfeState& state, EfeRx& efe_rx, Loopback& loopback, End end)
      : state_(state), efe_rx_(efe_rx), loopback_(loopback), end_(std::move(end)) {}

  // Room for a segment of a work request.
  bool has_room() const { return kept_ < kWindow; }
  // A node may keep as many segments as there is room for; work for it begins with a quarter less,
  // unless it has not answered in time.
  bool has_share(uint32_t node);
  bool may_begin(uint32_t node, size_t segments = 1);  // that must not wait for each other
  void submit(Segment&& segment);

  // EfeRx::Answerer
  void acknowledged(uint32_t node, const EfeRx::Position& said) override;
  void peer_restarted(uint32_t node, uint16_t session) override;
  void owe_ack(uint32_t node, bool alone) override;

  void owe_credit(const CreditUpdate& update) { credits_.push_back(update); }

  void run(FrameSink& sink);
  bool idle() const;

  // The first of the next cycles in which it acts if nothing comes: 1 is the next one.
  uint64_t next_act(FrameSink& sink) const;

 private:
  static constexpr size_t kWindow = 128;

  // A segment that left, or that never will but has to end behind others.
  struct UnderWay {
    Segment segment;
    uint32_t seq = 0;      // unless it is never sent
    uint64_t sent_at = 0;  // cycle, of the last time
    bool again = false;    // not the first time
    bool arrived = false;  // though not acknowledged yet
    bool lost = false;     // to be sent again
  };

  struct Peer {
    uint16_t session = 0;      // ours; 0: none yet
    bool established = false;  // something of it was acknowledged: no SYN any more
    uint32_t una = EXRNIC_INITIAL_SEQ;
    uint32_t next = EXRNIC_INITIAL_SEQ;
    std::deque<UnderWay> unacked;
    size_t lost = 0;            // of unacked
    std::deque<Segment> fresh;  // not sent yet
    size_t kept() const { return unacked.size() + fresh.size(); }
    uint32_t under_way() const { return next - una; }
    uint32_t retries = 0;  // time-outs without progress
    bool heard = false;    // it has answered since the last one
    bool greeting =
        false;  // we have greeted it, and nothing came yet; `deadline` is when we do again
    RoundTrip round_trip;
    CongestionWindow window;
    uint64_t newest = 0;    // when that frame left that left last of those known to have arrived
    bool suspects = false;  // `deadline` is when a frame that left before that counts as lost
    uint64_t deadline = 0;  // else when the time-out strikes
    bool ack_owed = false;
    bool alone_owed = false;  // with ack_owed
    bool is_busy() const { return kept() != 0 || ack_owed || greeting; }
  };

  Peer& busy(uint32_t node);  // it has something to do from now on
  void stop_broken(Segment& segment);
  void strike_timeouts();
  static void ask_again(Peer& peer);
  void give_up(uint32_t node);
  void arrived(Peer& peer, const UnderWay& frame);
  void mark_arrived(Peer& peer, const EfeRx::Position& said);
  void judge_losses(Peer& peer);
  void restart_clock(Peer& peer);
  void end_oldest(uint32_t node, exrnic_cqe_status status);
  void end_unsent_in_front(uint32_t node);
  void end_segment(const Segment& segment, uint32_t seq, exrnic_cqe_status status);

  bool resend_one(FrameSink& sink);
  void greet_again();
  bool may_send_new(const Peer& peer) const;
  bool send_new(FrameSink& sink);
  void send_first(FrameSink& sink, uint32_t node);
  bool send_ack(FrameSink& sink);
  bool send_credit(FrameSink& sink);
  void send(FrameSink& sink, uint32_t node, uint32_t seq, const Segment* segment,
            const CreditUpdate* credit = nullptr);
  static uint8_t put_refusal(Frame& frame, const Refusal& refusal);
  void send_once(FrameSink& sink, uint32_t node, const Segment& segment);
  static void put_datagram(Frame& frame, const Segment& segment);
  Frame make_frame(uint32_t node, exrnic_efe_class klass, const Segment* segment) const;
  static void put_segment(Frame& frame, const Segment& segment);
  static uint8_t put_numbered(Frame& frame, const Segment& segment);
  void transmit(FrameSink& sink, Frame&& frame, unsigned flags);
  uint8_t put_acknowledgement(uint8_t* efe, uint32_t node, bool alone);

  EfeState& state_;
  EfeRx& efe_rx_;
  Loopback& loopback_;
  End end_;
  std::map<uint32_t, Peer> peers_;  // by node
  std::map<uint32_t, Peer*> busy_;  // those that have, or had until the end of this cycle
  std::deque<CreditUpdate> credits_;
  uint32_t last_served_ = 0;  // node that sent the last new segment
  size_t kept_ = 0;           // segments that have not ended
};

}  // namespace exrnic::ref

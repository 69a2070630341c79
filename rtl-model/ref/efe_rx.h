// SPDX-License-Identifier: BSD-2-Clause
// Receive side of EFE: checks frames, keeps segments until they are the next ones of their senders,
// and knows what of them is placed or refused. Those of the unreliable class go by as they come.
#pragma once

#include <deque>
#include <map>

#include "rtl-model/ref/segment.h"

namespace exrnic::ref {

class EfeRx {
 public:
  struct Position;

  // Who hears what frames say of the other way, and answers them: the transmit side.
  class Answerer {
   public:
    virtual ~Answerer() = default;
    // Where the peer is in a session of ours.
    virtual void acknowledged(uint32_t node, const Position& said) = 0;
    // `session` is the one of ours that the peer speaks of, 0 if none.
    virtual void peer_restarted(uint32_t node, uint16_t session) = 0;
    // `alone`: in a frame without a segment, which tells of a refusal, or of what is held.
    virtual void owe_ack(uint32_t node, bool alone) = 0;
  };

  explicit EfeRx(EfeState& state) : state_(state) {}
  void connect(Answerer& answerer) { answerer_ = &answerer; }

  void receive(const Frame& frame);

  // For the responder: those of the reliable class, in sequence, go first, but behind some of them
  // one that is sent once, so that it is not kept waiting for ever.
  bool has_segment() const { return !segments_.empty() || !once_.empty(); }
  const Received& next_segment() const { return (turn_of_once() ? once_ : segments_).front(); }
  Received take_segment();
  // Forgotten, or of a session that has ended: nobody looks at it.
  bool is_stale(const Received& segment) const;
  void placed(const Received& segment);

  // Of a segment that has not ended. What comes of it:
  enum class Told {
    kNow,     // the refusal is in force
    kNever,   // its sender has another session
    kPutOff,  // another one is in force: the segment and all behind it are forgotten
  };
  Told refuse(const Received& segment, Segment&& message, std::optional<uint8_t> pause);
  // The one in force for this node, or nullptr.
  const Refusal* refusal(uint32_t node) const;
  void heard(uint32_t node, uint8_t number);  // from the transmit side: the node has

  // What a frame to this node has to say of what came from it; session 0: nothing came.
  struct Position {
    uint16_t session = 0;
    uint32_t ack = 0;
    uint8_t heard = 0;           // number of its last refusal that was dealt with,
    uint16_t heard_session = 0;  // of a segment of that session of ours
    // Segments are held behind a missing one: bit i of `arrived` is number missing + 1 + i.
    bool sack = false;
    uint32_t missing = 0;
    uint32_t arrived = 0;
    bool ece = false;  // a segment came with CE since the last frame with ACK
  };
  Position position(uint32_t node) const;
  void echoed(uint32_t node) { peers_[node].marked = false; }

 private:
  // A refusal of ours: of a segment of that session of ours, and its number.
  struct RefusalId {
    uint16_t session = 0;
    uint8_t number = 0;  // 0: none
    bool operator==(const RefusalId& other) const {
      return session == other.session && number == other.number;
    }
    bool is_newer(const RefusalId& than) const;
  };

  struct Peer {
    uint16_t session = 0;                // 0: none
    uint16_t previous = 0;               // the one before
    uint32_t next = 0;                   // sequence number expected
    std::map<uint32_t, Received> early;  // by number: came before one that is missing
    uint32_t placed = 0;                 // all before it are placed, or refused
    std::optional<Refusal> refusal;      // in force
    uint8_t refusals = 0;                // number of the last one, of any session
    RefusalId seen;                      // its last one to us, in its session
    RefusalId heard;                     // the last one that was dealt with
    bool marked = false;
  };

  static constexpr uint32_t kWindow = 32;  // numbers from the expected one on that are kept
  static constexpr unsigned kTurns = 8;    // one of them is that of what is sent once

  bool turn_of_once() const {
    return !once_.empty() && (segments_.empty() || turns_ == kTurns - 1);
  }

  bool adopt(Peer& peer, uint16_t session, bool syn) const;
  void keep_segment(Peer& peer, uint32_t node, const uint8_t* efe);
  void take_refusal(Peer& peer, uint32_t node, const uint8_t* efe);
  void forget_from(Peer& peer, const Received& segment);
  void hand_out(Peer& peer);
  void mark(Peer& peer);
  void replicate(const Received& segment);

  EfeState& state_;
  Answerer* answerer_ = nullptr;
  std::map<uint32_t, Peer> peers_;  // by node
  std::deque<Received> segments_;
  std::deque<Received> once_;  // of the other classes
  unsigned turns_ = 0;         // of the reliable class, while one of the others waits
};

}  // namespace exrnic::ref

// SPDX-License-Identifier: BSD-2-Clause
// A port of a PEB: what its bus says to that of its one peer, and hears from it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>

#include "rtl-model/ref/efe_tx.h"
#include "rtl-model/ref/peb/completer.h"
#include "rtl-model/ref/peb/order_queue.h"
#include "rtl-model/ref/peb/peb_core.h"
#include "rtl-model/ref/peb/requester.h"

namespace exrnic::peb {

class Port {
 public:
  Port(ref::EfeState& state, ref::EfeTx& efe_tx, Side side, unsigned number, PebSink& sink,
       Counters& counters)
      : state_(state),
        efe_tx_(efe_tx),
        side_(side),
        number_(number),
        sink_(sink),
        counters_(counters),
        requester_(state.config.max_read, state.config.read_timeout_shift),
        completer_(state.config.max_payload) {}

  void assign(const std::optional<Peer>& peer);
  const std::optional<Peer>& peer() const { return peer_; }
  bool is_up() const { return met_; }

  // From the bus. What it says beyond the room is kept as well, and waits the longer. Each flow has
  // room of its own: requests that wait keep no writes from being taken.
  bool has_room(Flow flow) const { return out_.count(flow) < kOutRoom; }
  void write(uint64_t address, const Bytes& data);
  void request(BusRequest&& request);
  void complete(uint64_t name, exrnic_completion_status status, const Bytes& data);

  // From the peer, or from who pretends it; false: it is refused.
  bool take(const ref::Received& segment);
  void ended(const ref::Ended& ended);

  void run();
  bool idle() const;
  uint64_t wakes_at_ns() const;

  ref::BrokenLives broken;

 private:
  static constexpr size_t kOutRoom = 64;       // TLPs of a flow
  static constexpr size_t kServing = 64;       // requests of the peer, and completions that wait
  static constexpr unsigned kIntroducing = 2;  // under way
  using Inward = std::variant<Write, Request, Answer>;
  static constexpr std::array<uint16_t, kCompletions> kRoom = {EXRNIC_PEB_POSTED_ROOM,
                                                               EXRNIC_PEB_REQUEST_ROOM};
  // Of posted and of non-posted ones; modulo 2^16, since the life began.
  struct Flowing {
    uint16_t limit = 0;     // of the peer's room, as it has told
    uint16_t sent = 0;      // to it
    uint16_t told = 0;      // of our room
    uint16_t received = 0;  // from it
    uint16_t handed = 0;    // of these, to the bus
  };

  void begin_life();
  void introduce(uint64_t kind);
  bool asks() const;
  bool may_be_handed(const Inward& inward) const;
  bool take_introduction(const ref::Received& segment);
  bool take_message(const ref::Received& segment);
  bool take_tlp(Tlp&& tlp);
  void send(const Tlp* tlp);
  ref::Segment to_peer() const;
  bool may_leave(const Tlp& tlp) const;
  uint16_t room_limit(unsigned flow) const;
  bool owes_limits() const;
  void send_all();
  void hand_all();
  void answer_all(std::deque<Answer>&& answers);

  ref::EfeState& state_;
  ref::EfeTx& efe_tx_;
  const Side side_;
  const unsigned number_;
  PebSink& sink_;
  Counters& counters_;

  std::optional<Peer> peer_;
  uint16_t life_ = 0;               // ours; 0: there was none
  uint16_t peer_life_ = 0;          // 0: not known
  bool met_ = false;                // each knows the other's
  bool lost_ = false;               // a segment of this life, for good
  bool owes_introduction_ = false;  // before anything else
  unsigned introductions_ = 0;      // under way
  uint64_t interval_ = 0;           // in which it introduced itself last
  uint32_t messages_sent_ = 0;
  uint32_t messages_taken_ = 0;
  std::array<Flowing, kCompletions> flowing_;
  OrderQueue<Tlp> out_;
  OrderQueue<Inward> in_;
  Requester requester_;
  Completer completer_;
};

}  // namespace exrnic::peb

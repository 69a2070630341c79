// SPDX-License-Identifier: BSD-2-Clause
// What the blocks of the reference core share: the tables that the driver fills, the settings, the
// counters, and whose turn it is. Widths, encodings and meanings: rtl-model/gen/reference.md.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "exrnic_records.h"
#include "exrnic_registers.h"
#include "rtl-model/ref/atomic.h"
#include "rtl-model/ref/efe_state.h"
#include "rtl-model/ref/pio.h"
#include "rtl-model/ref/sizes.h"
#include "rtl-model/ref/table.h"
#include "rtl-model/systemc/core.h"

namespace exrnic::ref {

using records::Pull;

inline bool is_atomic(const Pull& pull) { return exrnic_of_wqe_opcode(pull.opcode).atomic; }

// An RDMA Read Request of the peer, or an Atomic Request.
struct Read {
  uint32_t sink_stag = 0;
  uint64_t sink_to = 0;
  uint32_t length = 0;
  uint32_t source_stag = 0;
  uint64_t source_to = 0;
  uint32_t msn = 0;
  uint32_t mo = 0;
  uint32_t done = 0;                  // bytes that were submitted
  std::optional<Atomic> atomic = {};  // then only msn and mo count of the others
  // It was refused as it came: the peer hears of it behind the answers to those before it, and
  // nothing that came behind it is served.
  std::optional<exrnic_term_code> refused = {};
};

// Where the receive side of a queue pair stands.
struct Inbound {
  uint32_t messages = 0;  // that ended, of the queue SEND_QN
  uint32_t reads = 0;     // Read Requests and Atomic Requests taken
  uint32_t atomics = 0;   // Atomic Responses taken
  // The receive of the message that has begun and not ended.
  bool open = false;
  uint16_t wqe_index = 0;
  std::vector<exrnic_sge> elements;
  uint32_t room = 0;
  uint32_t received = 0;
  // The next message found no receive: what comes is discarded until that message comes again.
  bool refused = false;
  // The RDMA Write message that goes on, or the last one that ended.
  uint32_t written = 0;
  bool write_ended = true;
  // UC: the frame that comes next, and whether all is dropped until a message begins.
  uint32_t next = 0;
  bool skips = false;
  // In ERROR: the session of the peer's node in which a refusal has told it; in another one it may
  // not have heard.
  std::optional<uint16_t> told_in = {};
  // In ERROR: it was told that nothing of a shared receive queue is left to it.
  bool emptied = false;
  // In ERROR: what failed its receive was put off. It is refused with this code when it comes
  // again.
  std::optional<exrnic_term_code> owed = {};

  // Nothing more of the message is served; its receive is there for the next one.
  void abandon(bool skip) {
    received = 0;
    write_ended = true;
    skips = skip;
  }
  // The peer has begun another life: it sends from the beginning, and nothing comes again.
  void renew() {
    abandon(/*skip=*/false);
    next = 0;
    refused = false;
  }
};

// From one number of messages to another.
inline int credit_distance(uint32_t from, uint32_t to) {
  return static_cast<int16_t>((to - from) << 1) / 2;
}

// Never zero.
inline uint16_t next_generation(uint16_t generation) {
  return static_cast<uint16_t>(generation == UINT16_MAX ? 1 : generation + 1);
}

// Objects are what the driver's commands have made them, and how they stand.

// A queue pair. Ring indices are free-running, modulo 2^16.
struct QueuePair : exrnic_mbox_create_qp {
  bool valid = false;
  uint16_t generation = 0;  // tells a life of a queue pair of this number from the one before
  BrokenLives broken;       // of this number

  // Attributes: see mbox_modify_qp.
  uint32_t dest_node = 0;
  uint32_t dest_qpn = 0;
  struct Attributes {
    uint32_t qkey = 0;  // these two of UD
    uint32_t pkey_index = 0;
    uint32_t access = EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ |
                      EXRNIC_ACCESS_REMOTE_ATOMIC;  // what the peer may do
    uint32_t path_mtu = EXRNIC_MTU_MAX;
    uint8_t reads_in = 0;  // that there may be now, of max_reads_in and max_reads_out
    uint8_t reads_out = 0;
    uint8_t rnr_timer = 0;    // code of the pause that a message without a receive is answered by
    uint8_t rnr_retry = 0;    // how often one of ours is sent again
    uint8_t timeout = 0;      // how long nothing may be heard of its work,
    uint8_t retry_count = 0;  // and how often more
  } has;
  Attributes new_attributes() const {
    Attributes attributes;
    attributes.reads_in = static_cast<uint8_t>(max_reads_in);
    attributes.reads_out = static_cast<uint8_t>(max_reads_out);
    return attributes;
  }

  using Status = records::QpStatus;
  Status status;  // how it stands

  // All of it is forgotten with a reset.
  struct Progress {
    bool halted = false;        // a work request failed: no other is taken
    bool reads_halted = false;  // a response could not be read: no other is sent
    bool turn_of_reads = false;
    uint16_t sq_producer = 0;
    uint16_t sq_consumer = 0;
    uint16_t rq_producer = 0;
    uint16_t rq_consumer = 0;
    std::optional<HeldWork> held;  // the work request at sq_consumer, if it came through the page
    uint32_t submitted = 0;        // bytes of the work request at sq_consumer, in earlier turns
    uint32_t send_msn = 0;         // messages sent, of each untagged queue
    uint32_t read_msn = 0;
    uint32_t window_msn = 0;  // likewise of loads: a queue pair has one or the other
    uint32_t atomic_msn = 0;
    uint32_t frames = 0;     // UC, UD: frames sent
    uint16_t issued = 0;     // work requests other than PULL whose last segment is submitted...
    uint16_t ended = 0;      // ...and those of them whose end was seen
    uint16_t ended_to = 0;   // sq_consumer behind the last that ended and does not come again,
    uint32_t ended_msn = 0;  // and send_msn behind the last that ended well
    // Its own time-out: see RetryWatch.
    bool heard = false;      // a word came since the present interval began
    uint32_t silent = 0;     // whole intervals without one
    bool timed_out = false;  // they were too many
    bool withdrawn = false;  // how the work under way then ends counts no more
    // Behind a pause the first segment of the message leaves alone: it asks for a receive.
    enum class Probe { kNone, kDue, kOut } probe = Probe::kNone;
    uint64_t pause_until = 0;        // ns; 0: no pause
    bool pauses_for_credit = false;  // then a rise of the limit ends it
    std::optional<uint32_t> limit;   // of messages to the peer, as far as it has told
    bool credit_wait = false;        // the next message has waited for that
    // What the peer knows of our receives.
    struct Told {
      bool peer_sends = false;  // messages that take them
      bool any = false;
      bool lapsed = false;  // what it was told has not come, or does not hold
      uint32_t limit = 0;
    } told;
    // What it knows of its peer. It sends work of its own only when they have met.
    struct Peer {
      uint16_t generation = 0;  // 0: not known
      bool met = false;         // the peer has shown that it knows ours
      uint32_t changes = 0;     // introductions of the peer that want one of ours
    } peer;
    bool introduced = false;  // it has introduced itself to its peer,
    uint32_t answered = 0;    // when peer.changes was that,
    bool asked = false;       // and asked for an answer
    bool needs_peer = false;  // its next work request is for the peer
    uint32_t rnr_msn = 0;     // the message that found no receive, with rnr_count != 0
    uint32_t rnr_count = 0;   // how often
    std::deque<Pull> pulls;
    bool pulls_silent = false;  // nothing was heard of them since the present interval began,
    bool asks = false;          // or in a whole one: the peer is to show that it is still there
    std::deque<Read> reads;
    Inbound inbound;
    bool drained = false;  // status.drains of when all had ended in SQD
    uint32_t reports = 0;  // receives and PULLs that ended: the completer is still to see them

    void heard_of_pulls() { pulls_silent = asks = false; }
  } at;

  bool has_srq() const { return srqn != EXRNIC_NO_SRQ; }
  bool is_datagram() const { return service == EXRNIC_SERVICE_UD; }
  // Bytes that a datagram leaves to software at the begin of its receive.
  uint32_t left_to_software() const { return flags & EXRNIC_QP_FLAGS_GRH ? EXRNIC_GRH_BYTES : 0; }
  // Payload bytes of its frames, at most.
  uint32_t mtu(uint32_t of_device) const { return std::min(has.path_mtu, of_device); }
  bool in_error() const { return status.state == EXRNIC_QP_STATE_ERROR; }
  bool serves_peer() const { return status.state == EXRNIC_QP_STATE_RTR || sends(); }
  // Work of its own may be under way.
  bool sends() const {
    return status.state == EXRNIC_QP_STATE_RTS || status.state == EXRNIC_QP_STATE_SQD;
  }
  // The next work request has: its message may have, and have found no receive.
  bool has_begun() const { return at.submitted != 0 || at.probe == Progress::Probe::kDue; }
  // Nobody knows yet that all work which had begun has ended.
  bool is_draining() const {
    return status.state == EXRNIC_QP_STATE_SQD && status.drains != at.drained;
  }
  bool is_drained() const {
    return status.state == EXRNIC_QP_STATE_SQD && !has_begun() && !status.rnr && all_ended() &&
           at.pulls.empty();
  }
  bool sq_posted() const { return at.sq_producer != at.sq_consumer; }
  // The next message is one more than the peer has told of receives.
  bool beyond_limit() const { return at.limit && credit_distance(*at.limit, at.send_msn + 1) > 0; }
  bool all_ended() const { return at.issued == at.ended; }
  // Sent and not acknowledged, or not answered. Behind a message that found no receive nothing is.
  bool has_work_out() const {
    return !all_ended() || !at.pulls.empty() || (at.submitted != 0 && !status.rnr);
  }
  void hears() {
    at.heard = true;
    at.timed_out = false;
    at.silent = 0;
  }
  bool has_peer() const { return !is_datagram(); }
  bool has_work() const {
    // In SQD the one in hand goes on, and no other one begins.
    const bool works = status.state == EXRNIC_QP_STATE_RTS || (sends() && has_begun());
    return works && sq_posted() && !at.halted && !status.rnr && at.pause_until == 0;
  }
  // Work waits until it and its peer have met, or nobody is there.
  bool knows_its_peer() const { return !has_peer() || at.peer.met || status.alone; }
  bool wants_answer() const { return has_work() && at.needs_peer && !knows_its_peer(); }
  bool may_work() const { return has_work() && !wants_answer(); }
  // Each change at the peer is answered once; who has work asks once in between, and again when
  // nothing is heard for long.
  bool introduces() const {
    return serves_peer() && has_peer() &&
           (!at.introduced || at.answered != at.peer.changes ||
            (wants_answer() && (!at.asked || at.asks)));
  }
  bool has_refused_request() const { return !at.reads.empty() && at.reads.back().refused; }
  bool answers_peer() const { return serves_peer() && !at.reads.empty() && !at.reads_halted; }
  void fail(Status how) {
    if (status.rnr) {
      how.rnr = how.exact = true;
      how.fault_seq = status.fault_seq;
    }
    status = how;
    status.state = EXRNIC_QP_STATE_ERROR;
  }
};

struct SharedReceiveQueue : exrnic_mbox_create_srq {  // limit 0: none is armed
  bool valid = false;
  uint16_t producer = 0;
  uint16_t consumer = 0;
};

struct CompletionQueue : exrnic_mbox_create_cq {
  bool valid = false;
  uint32_t producer = 0;  // free-running, modulo 2^32
  uint32_t consumer = 0;
  enum class Arm { kNone, kAny, kSolicited } arm = Arm::kNone;
  uint32_t counted = 0;   // completions that the arm waits for, since it was set
  uint64_t deadline = 0;  // with counted != 0: when it fires at the latest
};

struct EventQueue : exrnic_mbox_create_eq {
  bool valid = false;
  uint32_t producer = 0;  // free-running, modulo 2^32
  uint32_t consumer = 0;
  bool armed = false;
  bool due = false;   // it fires as soon as it can
  bool late = false;  // an event had to wait for room since the one before
};

// Something that has happened, and is to be told.
struct Event {
  exrnic_eqe_type type = EXRNIC_EQE_TYPE_COMPLETION;
  uint32_t number = 0;
  uint32_t detail = 0;
  uint32_t eqn = EXRNIC_EQN_ASYNC;
  bool parked = false;  // its queue has no room
};

// Behind an STag: a memory region, or a memory window.
struct Region : exrnic_mbox_register_mr {
  bool valid = false;
  // By a work request or a peer, or never registered by one: no access, but still the driver's.
  bool invalidated = false;
  uint32_t life = 0;  // of what has been behind this STag: the driver's commands count, and
                      // registrations by work requests
  records::MwBinding behind{};  // of a memory window; base, length and access are its own
};

struct Window : exrnic_mbox_set_window {
  uint16_t generation = 0;  // of the queue pair: a later one of that number is not meant
  bool owed = false;        // a load was given up; its answer may still come
};

struct State final : EfeState {
  State(const CoreConfig& config, const RefSizes& sizes, CoreSink* trace_sink)
      : EfeState(config, sizes.nodes, trace_sink), sizes(sizes) {
    settings.max_qp = sizes.qps;
    settings.max_cq = sizes.cqs;
    settings.max_srq = sizes.srqs;
    settings.max_stag = sizes.stags;
    settings.read_pool = sizes.reads;
    settings.max_window = sizes.windows;
    settings.max_node = sizes.nodes;
  }

  BrokenLives& broken(uint32_t qpn) override { return qps[qpn].broken; }
  void peer_is_dead(uint32_t node) override { happens({EXRNIC_EQE_TYPE_PEER_DEAD, node}); }

  uint32_t window_size() const { return uint32_t{1} << config.window_shift; }

  // A segment of its own work leaves it: if none was under way, that begins the time of its
  // time-out.
  void work_begins(uint32_t qpn) {
    QueuePair& qp = qps.at(qpn);
    if (qp.service != EXRNIC_SERVICE_RC || qp.has.timeout == 0 || config.patient) return;
    if (watched.insert(qpn).second) qp.hears();
  }
  // Something was heard of it.
  void work_heard(uint32_t qpn) {
    QueuePair& qp = qps.at(qpn);
    qp.hears();
    if (!qp.has_work_out()) watched.erase(qpn);
  }

  // A queue pair has something to do. Each is queued at most once.
  void wake(uint32_t qpn) {
    if (queued.at(qpn)) return;
    queued.at(qpn) = true;
    turns.push_back(qpn);
  }

  // A message of its peer has taken a receive, or found none; the peer may not know of any more.
  void takes_message(uint32_t qpn, bool lapsed) {
    QueuePair& qp = qps.at(qpn);
    if (qp.has_srq()) return;
    qp.at.told.peer_sends = true;
    qp.at.told.lapsed |= lapsed;
    credits_changed.insert(qpn);
  }

  // Of itself, with what its status is to say besides.
  void go_to_error(uint32_t qpn, exrnic_qp_cause cause, const QueuePair::Status& how) {
    qps.at(qpn).fail(how);
    happens({EXRNIC_EQE_TYPE_QP_ERROR, qpn, cause});
    wake(qpn);
  }

  // What happens to an object again before it is told is told once.
  void happens(const Event& event) {
    for (Event& other : events) {
      if (other.type != event.type || other.number != event.number) continue;
      other.detail = event.detail;
      return;
    }
    events.push_back(event);
  }
  // An object is created or destroyed: nothing is to be told of the one before.
  void forget_events(exrnic_eqe_object object, uint32_t number) {
    const auto of_object = [&](const Event& event) {
      return exrnic_of_eqe_type(event.type).object == object && event.number == number;
    };
    events.erase(std::remove_if(events.begin(), events.end(), of_object), events.end());
  }
  // It is reset: that it held no receive any more, or has drained, is told no longer.
  void forget_life(uint32_t qpn) {
    const auto of_life = [&](const Event& event) {
      return event.number == qpn &&
             (event.type == EXRNIC_EQE_TYPE_LAST_WQE || event.type == EXRNIC_EQE_TYPE_SQ_DRAINED);
    };
    events.erase(std::remove_if(events.begin(), events.end(), of_life), events.end());
  }
  void unpark_events() {
    for (Event& event : events) event.parked = false;
  }

  uint32_t next_turn() {
    const uint32_t qpn = turns.front();
    turns.pop_front();
    queued.at(qpn) = false;
    return qpn;
  }

  const RefSizes sizes;
  Table<QueuePair> qps{sizes.qps};
  uint32_t pulls_free = sizes.reads;  // places that no queue pair has, for PULLs of ours,
  uint32_t reads_free = sizes.reads;  // and of peers
  Table<CompletionQueue> cqs{sizes.cqs};
  Table<SharedReceiveQueue> srqs{sizes.srqs};
  Table<Region> regions{sizes.stags};
  std::vector<Window> windows = std::vector<Window>(sizes.windows);
  std::array<uint16_t, EXRNIC_PKEYS> pkeys = {EXRNIC_PKEY_DEFAULT};
  Table<PioAssembly> pio{EXRNIC_USER_PAGES};
  std::deque<uint32_t> turns;
  std::vector<bool> queued = std::vector<bool>(sizes.qps);
  std::set<uint32_t> pauses;   // queue pairs whose pause_until counts
  std::set<uint32_t> pulling;  // queue pairs with PULLs under way, or that wait for their peer
  std::set<uint32_t> watched;  // queue pairs with work under way, and a time-out for it
  std::set<uint32_t> credits_changed;  // queue pairs: receives were posted or taken
  bool quiesce = false;                // the driver changes something: begin nothing
  uint32_t causes = 0;                 // flags INT_CAUSE that came since the registers looked
  std::vector<EventQueue> eqs{EXRNIC_MAX_EQ};
  std::deque<Event> events;  // that are still to be told
};

}  // namespace exrnic::ref

// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/efe_tx.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace exrnic::ref {
namespace {

constexpr size_t kHeaders = EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES;

uint16_t nonzero(uint64_t session) {
  const auto low = static_cast<uint16_t>(session);
  return low == 0 ? 1 : low;
}

unsigned trace_flags(const Segment& segment) {
  const Tag& tag = segment.tag;
  unsigned flags = tag.signaled ? EXRNIC_TRACE_FLAGS_SIGNALED : 0;
  if (segment.unsent) flags |= EXRNIC_TRACE_FLAGS_UNSENT;
  if (tag.kind == Tag::Kind::kLast || tag.kind == Tag::Kind::kFlush)
    flags |= EXRNIC_TRACE_FLAGS_LAST;
  if (tag.kind == Tag::Kind::kResponse) flags |= EXRNIC_TRACE_FLAGS_RESPONSE;
  if (tag.kind == Tag::Kind::kTerminate) flags |= EXRNIC_TRACE_FLAGS_TERMINATE;
  if (tag.kind == Tag::Kind::kPort) flags |= EXRNIC_TRACE_FLAGS_PORT;
  if (tag.kind == Tag::Kind::kSegment && tag.opcode == EXRNIC_WQE_OPCODE_PULL)
    flags |= EXRNIC_TRACE_FLAGS_PULL;
  return flags;
}

}  // namespace

void EfeTx::submit(Segment&& segment) {
  state_.trace(EXRNIC_TRACE_SUBMIT, segment.tag.qpn, segment.tag.wqe_index, segment.node,
               trace_flags(segment));
  ++kept_;
  stop_broken(segment);
  std::deque<Segment>& fresh = busy(segment.node).fresh;
  fresh.push_back(std::move(segment));
}

EfeTx::Peer& EfeTx::busy(uint32_t node) {
  Peer& peer = peers_[node];
  busy_.emplace(node, &peer);
  return peer;
}

// What is behind a segment that is lost for good does not leave.
void EfeTx::stop_broken(Segment& segment) {
  const bool broken = segment.stream && state_.broken(segment.tag.qpn).has(segment.tag.generation);
  if (!broken || segment.unsent) return;
  segment.unsent = true;
  segment.status = EXRNIC_CQE_STATUS_WR_FLUSH_ERR;
}

bool EfeTx::has_share(uint32_t node) { return has_room() && peers_[node].kept() < kWindow - kept_; }

bool EfeTx::may_begin(uint32_t node, size_t segments) {
  const Peer& peer = peers_[node];
  if (kept_ + segments > kWindow) return false;
  const size_t room = kWindow - kept_;
  return peer.kept() == 0 || (peer.kept() + segments - 1 < room - room / 4 && peer.retries == 0);
}

void EfeTx::owe_ack(uint32_t node, bool alone) {
  Peer& peer = busy(node);
  peer.ack_owed = true;
  peer.alone_owed |= alone;
}

// ---- What the peer says

void EfeTx::acknowledged(uint32_t node, const EfeRx::Position& said) {
  Peer& peer = peers_[node];
  if (said.session == 0 || said.session != peer.session ||
      said.ack - peer.una > peer.next - peer.una)
    return state_.count(EXRNIC_COUNTER_RX_BAD_ACK);
  peer.established = peer.heard = true;
  efe_rx_.heard(node, said.heard);
  const uint32_t under_way = peer.under_way();
  const uint32_t acked = said.ack - peer.una;
  bool late = false;
  while (peer.una != said.ack) {
    end_unsent_in_front(node);
    arrived(peer, peer.unacked.front());
    const UnderWay& oldest = peer.unacked.front();
    if (!oldest.again && !oldest.arrived) {
      late |= peer.round_trip.late(state_.cycle - oldest.sent_at);
      peer.round_trip.measured(state_.cycle - oldest.sent_at);
    }
    end_oldest(node, EXRNIC_CQE_STATUS_SUCCESS);
  }
  end_unsent_in_front(node);
  peer.window.acknowledged(acked, under_way, said.ece || late);
  if (acked != 0) {
    peer.retries = 0;
    restart_clock(peer);
  }
  if (said.sack) mark_arrived(peer, said);
  judge_losses(peer);
}

// ---- What was lost: time tells reordering from loss

// A copy that has an answer too soon is not what is answered.
void EfeTx::arrived(Peer& peer, const UnderWay& frame) {
  const bool trusted = !frame.again || state_.cycle - frame.sent_at >= peer.round_trip.mean() / 2;
  if (trusted) peer.newest = std::max(peer.newest, frame.sent_at);
}

void EfeTx::mark_arrived(Peer& peer, const EfeRx::Position& said) {
  for (UnderWay& frame : peer.unacked) {
    if (frame.segment.unsent) continue;
    const uint32_t behind = frame.seq - said.missing;
    const bool before = static_cast<int32_t>(behind) < 0;
    if (!before && (behind == 0 || behind > 32 || !(said.arrived >> (behind - 1) & 1))) continue;
    frame.arrived = true;
    arrived(peer, frame);
  }
}

// A frame counts as lost when one that left later has arrived, and it is old enough.
void EfeTx::judge_losses(Peer& peer) {
  const uint64_t patience = peer.round_trip.patience(state_.settings.rto_cycles);
  uint32_t losses = 0;
  for (UnderWay& frame : peer.unacked) {
    if (frame.segment.unsent || frame.arrived || frame.lost || frame.sent_at >= peer.newest)
      continue;
    frame.lost = state_.cycle - frame.sent_at >= patience;
    losses += frame.lost;
    peer.lost += frame.lost;
    if (frame.lost) continue;
    const uint64_t then = frame.sent_at + patience;
    peer.deadline = peer.suspects ? std::min(peer.deadline, then) : then;
    peer.suspects = true;
  }
  peer.window.lost(losses);
}

void EfeTx::restart_clock(Peer& peer) {
  peer.suspects = false;
  peer.deadline = state_.cycle + peer.round_trip.time_out(state_.settings.rto_cycles, peer.retries);
}

// A peer that starts a session but knows ours has given up on us, not forgotten us; one that knows
// an older one of ours will take the current one from its first frame, while that has SYN.
void EfeTx::peer_restarted(uint32_t node, uint16_t session) {
  const Peer& peer = peers_[node];
  const bool knows_us = session != 0 && (session == peer.session || !peer.established);
  if (!knows_us) give_up(node);
}

// ---- How segments end

void EfeTx::end_segment(const Segment& segment, uint32_t seq, exrnic_cqe_status status) {
  state_.trace(EXRNIC_TRACE_ENDED, segment.tag.qpn, segment.tag.wqe_index, segment.node,
               trace_flags(segment) & ~EXRNIC_TRACE_FLAGS_UNSENT);
  --kept_;
  if (!segment.unsent && status != EXRNIC_CQE_STATUS_SUCCESS && segment.stream)
    state_.broken(segment.tag.qpn).add(segment.tag.generation);
  end_({segment.tag, segment.node, seq, segment.unsent ? segment.status : status});
}

void EfeTx::end_oldest(uint32_t node, exrnic_cqe_status status) {
  Peer& peer = peers_[node];
  const UnderWay oldest = std::move(peer.unacked.front());
  peer.unacked.pop_front();
  peer.lost -= oldest.lost;
  const uint32_t seq = peer.una;
  if (!oldest.segment.unsent) ++peer.una;
  end_segment(oldest.segment, seq, status);
}

void EfeTx::end_unsent_in_front(uint32_t node) {
  Peer& peer = peers_[node];
  while (!peer.unacked.empty() && peer.unacked.front().segment.unsent)
    end_oldest(node, EXRNIC_CQE_STATUS_SUCCESS);
}

// A dead or restarted peer: all that is not acknowledged ends, a new session starts.
void EfeTx::give_up(uint32_t node) {
  Peer& peer = peers_[node];
  while (!peer.unacked.empty()) end_oldest(node, EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  for (const Segment& segment : std::exchange(peer.fresh, {}))
    end_segment(segment, peer.next,
                segment.once ? EXRNIC_CQE_STATUS_SUCCESS : EXRNIC_CQE_STATUS_RETRY_EXC_ERR);
  Peer anew;
  anew.session = nonzero(peer.session + 1);
  anew.ack_owed = peer.ack_owed;
  anew.alone_owed = peer.alone_owed;
  peer = anew;
}

// ---- Sending again

// For the first frame that is not acknowledged. If the peer has told that it has come, it may have
// forgotten that, and all else that it told.
void EfeTx::ask_again(Peer& peer) {
  const auto first = std::find_if(peer.unacked.begin(), peer.unacked.end(),
                                  [](const UnderWay& frame) { return !frame.segment.unsent; });
  if (first == peer.unacked.end()) return;
  if (first->arrived)
    for (UnderWay& frame : peer.unacked) frame.arrived = false;
  peer.lost += !std::exchange(first->lost, true);
}

void EfeTx::strike_timeouts() {
  for (const auto& entry : busy_) {
    const uint32_t node = entry.first;
    Peer& peer = *entry.second;
    if (peer.unacked.empty() || state_.cycle < peer.deadline) continue;
    if (peer.suspects) {
      restart_clock(peer);
      judge_losses(peer);
      continue;
    }
    state_.count(EXRNIC_COUNTER_TIMEOUTS);
    // One that is heard from is not dead, however slow.
    if (peer.retries >= state_.settings.retry_limit && !peer.heard) {
      // Whom only introductions were for, which nobody waits for, is nobody's loss.
      const bool missed =
          std::any_of(peer.unacked.begin(), peer.unacked.end(), [](const UnderWay& frame) {
            return !frame.segment.unsent && frame.segment.tag.kind != Tag::Kind::kIntroduction;
          });
      if (missed) {
        state_.count(EXRNIC_COUNTER_PEERS_DEAD);
        state_.peer_is_dead(node);
      }
      give_up(node);
      continue;
    }
    // One frame is enough to ask again: a peer that does not answer gets no more of the line.
    ++peer.retries;
    peer.heard = false;
    peer.window.timed_out();
    ask_again(peer);
    restart_clock(peer);
  }
}

// A greeting goes out again until something comes from the node.
void EfeTx::greet_again() {
  for (const auto& entry : busy_) {
    const uint32_t node = entry.first;
    Peer& peer = *entry.second;
    if (!peer.greeting) continue;
    if (efe_rx_.position(node).session != 0 || !peer.unacked.empty()) peer.greeting = false;
    if (!peer.greeting || state_.cycle < peer.deadline) continue;
    peer.greeting = peer.retries < state_.settings.retry_limit;
    peer.ack_owed |= peer.greeting;
    peer.retries = peer.greeting ? peer.retries + 1 : 0;
    restart_clock(peer);
  }
}

bool EfeTx::resend_one(FrameSink& sink) {
  for (const auto& [node, of_node] : busy_) {
    Peer& peer = *of_node;
    if (peer.lost == 0 || !peer.window.due(state_.cycle)) continue;
    const auto found = std::find_if(peer.unacked.begin(), peer.unacked.end(),
                                    [](const UnderWay& frame) { return frame.lost; });
    peer.window.sent(state_.cycle, peer.round_trip.mean());
    state_.count(EXRNIC_COUNTER_RETRANSMITS);
    found->lost = found->arrived = false;
    --peer.lost;
    found->again = true;
    found->sent_at = state_.cycle;
    if (!peer.suspects) restart_clock(peer);
    send(sink, node, found->seq, &found->segment);
    return true;
  }
  return false;
}

// ---- Sending

bool EfeTx::may_send_new(const Peer& peer) const {
  if (peer.fresh.empty()) return false;
  return peer.fresh.front().unsent ||
         (peer.window.open(peer.under_way()) && peer.window.due(state_.cycle));
}

// Segments to a node leave in the order of their submission; nodes take turns. (While a node is
// being resent to, that comes first.)
bool EfeTx::send_new(FrameSink& sink) {
  const auto waits = [this](const auto& entry) { return may_send_new(*entry.second); };
  auto found = std::find_if(busy_.upper_bound(last_served_), busy_.end(), waits);
  if (found == busy_.end()) found = std::find_if(busy_.begin(), busy_.end(), waits);
  if (found == busy_.end()) return false;
  last_served_ = found->first;
  send_first(sink, last_served_);
  return true;
}

void EfeTx::send_first(FrameSink& sink, uint32_t node) {
  Peer& peer = peers_[node];
  UnderWay frame;
  frame.segment = std::move(peer.fresh.front());
  peer.fresh.pop_front();
  stop_broken(frame.segment);
  if (frame.segment.once && !frame.segment.unsent) {
    peer.window.sent(state_.cycle, peer.round_trip.mean());
    send_once(sink, node, frame.segment);
    return end_segment(frame.segment, 0, EXRNIC_CQE_STATUS_SUCCESS);
  }
  if (frame.segment.unsent) {
    if (peer.unacked.empty() || frame.segment.once) {
      end_segment(frame.segment, peer.next, frame.segment.status);
    } else {
      peer.unacked.push_back(std::move(frame));
    }
    return;
  }
  if (peer.unacked.empty()) {
    if (std::exchange(peer.greeting, false)) peer.retries = 0;
    restart_clock(peer);
  }
  peer.window.sent(state_.cycle, peer.round_trip.mean());
  if (frame.segment.tag.kind == Tag::Kind::kTerminate) state_.count(EXRNIC_COUNTER_TERMINATES_TX);
  frame.seq = peer.next++;
  frame.sent_at = state_.cycle;
  send(sink, node, frame.seq, &frame.segment);
  peer.unacked.push_back(std::move(frame));
}

bool EfeTx::send_ack(FrameSink& sink) {
  for (const auto& [node, of_node] : busy_) {
    Peer& peer = *of_node;
    if (!peer.ack_owed) continue;
    state_.count(EXRNIC_COUNTER_ACKS_TX);
    send(sink, node, peer.next, nullptr);
    if (efe_rx_.position(node).session == 0 && peer.unacked.empty()) {
      peer.greeting = true;
      restart_clock(peer);
    }
    return true;
  }
  return false;
}

// To whom nothing is to be acknowledged, nothing is told.
bool EfeTx::send_credit(FrameSink& sink) {
  if (credits_.empty()) return false;
  const CreditUpdate update = credits_.front();
  credits_.pop_front();
  if (efe_rx_.position(update.node).session == 0) return true;
  state_.count(EXRNIC_COUNTER_ACKS_TX);
  state_.count(EXRNIC_COUNTER_CREDIT_UPDATES_TX);
  send(sink, update.node, peers_[update.node].next, nullptr, &update);
  return true;
}

// With a segment, a credit update, or as an acknowledgement only: that is the refusal in force.
void EfeTx::send(FrameSink& sink, uint32_t node, uint32_t seq, const Segment* segment,
                 const CreditUpdate* credit) {
  Peer& peer = peers_[node];
  if (peer.session == 0) peer.session = nonzero((state_.time_ns ^ state_.time_ns >> 16) ^ node);
  Frame frame = make_frame(node, EXRNIC_EFE_CLASS_RELIABLE, segment);
  uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
  uint8_t flags = peer.established ? 0 : EXRNIC_EFE_FLAGS_SYN;
  exrnic_efe_set_session(efe, peer.session);
  exrnic_efe_set_seq(efe, seq);
  const Refusal* refusal = efe_rx_.refusal(node);
  const bool alone = segment == nullptr && credit == nullptr;
  flags |= put_acknowledgement(efe, node, alone || (segment == nullptr && refusal == nullptr));
  if (segment != nullptr) {
    if (segment->ask) exrnic_efe_set_credit(efe, EXRNIC_CREDIT_ASK);
    flags |= put_numbered(frame, *segment);
  } else if (alone && refusal != nullptr) {
    flags |= put_refusal(frame, *refusal);
  }
  if (credit != nullptr) {
    exrnic_efe_set_credit(efe, EXRNIC_CREDIT_VALID | credit->limit);
    exrnic_efe_set_dst_qpn(efe, credit->dst_qpn);
    exrnic_efe_set_src_qpn(efe, credit->src_qpn);
    exrnic_efe_set_src_generation(efe, credit->src_generation);
    exrnic_efe_set_dst_generation(efe, credit->dst_generation);
  }
  transmit(sink, std::move(frame), flags);
}

void EfeTx::send_once(FrameSink& sink, uint32_t node, const Segment& segment) {
  Frame frame = make_frame(node, EXRNIC_EFE_CLASS_UNRELIABLE, &segment);
  exrnic_efe_set_seq(frame.data.data() + EXRNIC_ETH_BYTES, segment.once->number);
  const uint8_t flags = put_numbered(frame, segment);
  if (segment.datagram) put_datagram(frame, segment);
  const bool begins = segment.once->first && !segment.datagram;
  transmit(sink, std::move(frame), begins ? flags | EXRNIC_EFE_FLAGS_SYN : unsigned{flags});
}

void EfeTx::put_datagram(Frame& frame, const Segment& segment) {
  uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
  const uint32_t group = segment.dst_qpn - EXRNIC_GROUP_QPN;
  exrnic_eth_set_dst(frame.data.data(), is_group(segment.dst_qpn) ? mac_of_group(group)
                                                                  : mac_of(segment.datagram->node));
  exrnic_efe_set_klass(efe, EXRNIC_EFE_CLASS_DATAGRAM);
  exrnic_efe_set_ack(efe, segment.datagram->qkey);
  exrnic_efe_set_peer_session(efe, segment.datagram->pkey);
}

// With room for the segment, and for what the MAC appends.
Frame EfeTx::make_frame(uint32_t node, exrnic_efe_class klass, const Segment* segment) const {
  constexpr size_t kAppended = 32;
  Frame frame;
  frame.data.reserve(kHeaders + (segment == nullptr ? 0 : segment->ddp.size()) + kAppended);
  frame.data.resize(kHeaders);
  exrnic_eth_set_dst(frame.data.data(), mac_of(node));
  exrnic_eth_set_src(frame.data.data(), mac_of(state_.config.node_id));
  exrnic_eth_set_ethertype(frame.data.data(), EXRNIC_ETHERTYPE);
  uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
  exrnic_efe_set_version(efe, EXRNIC_EFE_VERSION);
  exrnic_efe_set_klass(efe, klass);
  exrnic_efe_set_src_node(efe, state_.config.node_id);
  return frame;
}

void EfeTx::put_segment(Frame& frame, const Segment& segment) {
  uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
  exrnic_efe_set_length(efe, segment.ddp.size());
  exrnic_efe_set_dst_qpn(efe, segment.dst_qpn);
  exrnic_efe_set_src_qpn(efe, segment.src_qpn);
  exrnic_efe_set_src_generation(efe, segment.src_generation);
  exrnic_efe_set_dst_generation(efe, segment.dst_generation);
  frame.data.insert(frame.data.end(), segment.ddp.begin(), segment.ddp.end());
}

// Returns the flags for it, as the next two do.
uint8_t EfeTx::put_numbered(Frame& frame, const Segment& segment) {
  if (segment.imm) exrnic_efe_set_sack_imm(frame.data.data() + EXRNIC_ETH_BYTES, *segment.imm);
  put_segment(frame, segment);
  return segment.imm ? EXRNIC_EFE_FLAGS_SEQ | EXRNIC_EFE_FLAGS_IMM : EXRNIC_EFE_FLAGS_SEQ;
}

uint8_t EfeTx::put_refusal(Frame& frame, const Refusal& refusal) {
  uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
  exrnic_efe_set_refusal(efe, refusal.number);
  exrnic_efe_set_seq(efe, refusal.seq);
  exrnic_efe_set_sack_imm(efe, refusal.pause.value_or(0));
  put_segment(frame, refusal.message);
  return refusal.pause ? EXRNIC_EFE_FLAGS_RNR : 0;
}

void EfeTx::transmit(FrameSink& sink, Frame&& frame, unsigned flags) {
  exrnic_efe_set_flags(frame.data.data() + EXRNIC_ETH_BYTES, flags);
  state_.count(EXRNIC_COUNTER_FRAMES_TX);
  loopback_.transmit(sink, std::move(frame));
}

// Every frame says what came from its addressee. What is refused, or else held, only one does that
// is `alone`: it is what is owed.
uint8_t EfeTx::put_acknowledgement(uint8_t* efe, uint32_t node, bool alone) {
  Peer& peer = peers_[node];
  const bool with_sack = peer.alone_owed && alone && efe_rx_.refusal(node) == nullptr;
  if (!peer.alone_owed || alone) peer.ack_owed = peer.alone_owed = false;
  const EfeRx::Position position = efe_rx_.position(node);
  if (position.session == 0) return 0;
  exrnic_efe_set_peer_session(efe, position.session);
  exrnic_efe_set_ack(efe, position.ack);
  // What was refused in an earlier session of ours is over.
  exrnic_efe_set_heard(efe, position.heard_session == peer.session ? position.heard : 0);
  efe_rx_.echoed(node);
  const uint8_t flags =
      position.ece ? EXRNIC_EFE_FLAGS_ACK | EXRNIC_EFE_FLAGS_ECE : EXRNIC_EFE_FLAGS_ACK;
  if (!with_sack || !position.sack) return flags;
  exrnic_efe_set_seq(efe, position.missing);
  exrnic_efe_set_sack_imm(efe, position.arrived);
  return flags | EXRNIC_EFE_FLAGS_SACK;
}

void EfeTx::run(FrameSink& sink) {
  if (!state_.enabled()) return;
  strike_timeouts();
  greet_again();
  while (sink.can_transmit() &&
         (resend_one(sink) || send_new(sink) || send_credit(sink) || send_ack(sink))) {
  }
  for (auto entry = busy_.begin(); entry != busy_.end();)
    entry = entry->second->is_busy() ? std::next(entry) : busy_.erase(entry);
}

bool EfeTx::idle() const {
  return kept_ == 0 && credits_.empty() &&
         std::none_of(busy_.begin(), busy_.end(), [](const auto& entry) {
           return entry.second->ack_owed || entry.second->greeting;
         });
}

uint64_t EfeTx::next_act(FrameSink& sink) const {
  const uint64_t now = state_.cycle;
  const uint64_t room = now + 1 + sink.busy_cycles(FrameSink::Ready::kTransmit);
  uint64_t next = credits_.empty() ? kNever : room;
  for (const auto& entry : busy_) {
    const Peer& peer = *entry.second;
    if (peer.greeting) return 1;
    if (peer.ack_owed) next = std::min(next, room);
    if (!peer.unacked.empty()) next = std::min(next, peer.deadline);
    const bool fresh = !peer.fresh.empty();
    if (fresh && peer.fresh.front().unsent) next = std::min(next, room);
    if (peer.lost != 0 || (fresh && peer.window.open(peer.under_way())))
      next = std::min(next, std::max(room, peer.window.due_at()));
  }
  return next == kNever ? kNever : std::max(next, now + 1) - now;
}

}  // namespace exrnic::ref

// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/efe_rx.h"

#include <algorithm>

namespace exrnic::ref {
namespace {

constexpr size_t kHeaders = EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES;
constexpr uint16_t kLateSessions = 4;  // numbers below the current session that are not believed

// Numbers of refusals begin at 1.
uint8_t next_refusal(uint8_t number) { return static_cast<uint8_t>(number % UINT8_MAX + 1); }

bool length_good(const Bytes& frame, const uint8_t* efe) {
  const uint64_t length = exrnic_efe_length(efe);
  if (frame.size() != std::max<uint64_t>(EXRNIC_ETH_FRAME_MIN, kHeaders + length)) return false;
  const bool refusal = exrnic_efe_refusal(efe) != 0;
  if (!(exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_SEQ) && !refusal) return length == 0;
  const uint8_t* ddp = frame.data() + kHeaders;
  const bool tagged = exrnic_ddp_tagged_t(ddp);
  if (refusal && (tagged || exrnic_ddp_untagged_opcode(ddp) != EXRNIC_RDMAP_OPCODE_TERMINATE))
    return false;
  return length >= (tagged ? EXRNIC_DDP_TAGGED_BYTES : EXRNIC_DDP_UNTAGGED_BYTES) &&
         length <= EXRNIC_MTU_MAX + EXRNIC_DDP_UNTAGGED_BYTES;
}

bool flags_good(uint64_t flags) {
  constexpr uint64_t kKnown = EXRNIC_EFE_FLAGS_SEQ | EXRNIC_EFE_FLAGS_ACK | EXRNIC_EFE_FLAGS_SYN |
                              EXRNIC_EFE_FLAGS_SACK | EXRNIC_EFE_FLAGS_IMM | EXRNIC_EFE_FLAGS_CE |
                              EXRNIC_EFE_FLAGS_ECE | EXRNIC_EFE_FLAGS_RNR;
  if ((flags & ~kKnown) != 0) return false;
  const bool sequenced = flags & EXRNIC_EFE_FLAGS_SEQ;
  const bool acknowledges = flags & EXRNIC_EFE_FLAGS_ACK;
  if ((flags & EXRNIC_EFE_FLAGS_IMM) && !sequenced) return false;
  if ((flags & EXRNIC_EFE_FLAGS_ECE) && !acknowledges) return false;
  return !(flags & EXRNIC_EFE_FLAGS_SACK) || (acknowledges && !sequenced);
}

bool class_good(uint64_t flags, const uint8_t* efe) {
  constexpr uint64_t kFlags = EXRNIC_EFE_FLAGS_SEQ | EXRNIC_EFE_FLAGS_IMM | EXRNIC_EFE_FLAGS_CE;
  const auto once = [&](uint64_t allowed) {
    return (flags & EXRNIC_EFE_FLAGS_SEQ) && (flags & ~allowed) == 0 &&
           exrnic_efe_session(efe) == 0;
  };
  switch (exrnic_efe_klass(efe)) {
    case EXRNIC_EFE_CLASS_RELIABLE:
      return exrnic_efe_session(efe) != 0;
    case EXRNIC_EFE_CLASS_UNRELIABLE:
      return once(kFlags | EXRNIC_EFE_FLAGS_SYN) && exrnic_efe_peer_session(efe) == 0 &&
             exrnic_efe_ack(efe) == 0;
    case EXRNIC_EFE_CLASS_DATAGRAM:
      return once(kFlags);
    default:
      return false;
  }
}

bool sack_imm_good(uint64_t flags, const uint8_t* efe) {
  if (flags & (EXRNIC_EFE_FLAGS_IMM | EXRNIC_EFE_FLAGS_SACK)) return true;
  return exrnic_efe_sack_imm(efe) <= (flags & EXRNIC_EFE_FLAGS_RNR ? EXRNIC_RNR_TIMER_MAX : 0);
}

// They belong to queue pairs that have a peer.
bool generations_good(uint64_t flags, const uint8_t* efe) {
  const bool none = exrnic_efe_src_generation(efe) == 0 && exrnic_efe_dst_generation(efe) == 0;
  return none || (exrnic_efe_klass(efe) != EXRNIC_EFE_CLASS_DATAGRAM &&
                  ((flags & EXRNIC_EFE_FLAGS_SEQ) || exrnic_efe_credit(efe) != 0 ||
                   exrnic_efe_refusal(efe) != 0));
}

// One is told by a frame that otherwise only acknowledges. (ACK is a flag of the reliable class.)
bool refusal_good(uint64_t flags, const uint8_t* efe) {
  constexpr uint64_t kOthers = EXRNIC_EFE_FLAGS_SEQ | EXRNIC_EFE_FLAGS_SACK;
  const bool acknowledges = flags & EXRNIC_EFE_FLAGS_ACK;
  if (exrnic_efe_heard(efe) != 0 && !acknowledges) return false;
  if (exrnic_efe_refusal(efe) == 0) return !(flags & EXRNIC_EFE_FLAGS_RNR);
  return acknowledges && !(flags & kOthers) && exrnic_efe_credit(efe) == 0;
}

bool credit_good(uint64_t flags, const uint8_t* efe) {
  const uint64_t credit = exrnic_efe_credit(efe);
  if (credit == 0) return true;
  if (exrnic_efe_klass(efe) != EXRNIC_EFE_CLASS_RELIABLE) return false;
  if (flags & EXRNIC_EFE_FLAGS_SEQ) return credit == EXRNIC_CREDIT_ASK;
  return (flags & EXRNIC_EFE_FLAGS_ACK) && (credit & EXRNIC_CREDIT_VALID);
}

bool well_formed(const Bytes& frame) {
  if (frame.size() < EXRNIC_ETH_FRAME_MIN) return false;
  const uint8_t* efe = frame.data() + EXRNIC_ETH_BYTES;
  const uint64_t flags = exrnic_efe_flags(efe);
  return exrnic_eth_ethertype(frame.data()) == EXRNIC_ETHERTYPE &&
         exrnic_efe_version(efe) == EXRNIC_EFE_VERSION && class_good(flags, efe) &&
         flags_good(flags) && credit_good(flags, efe) && sack_imm_good(flags, efe) &&
         generations_good(flags, efe) && refusal_good(flags, efe) && length_good(frame, efe);
}

// What a frame with ACK says of what has come from us.
EfeRx::Position said(const uint8_t* efe) {
  EfeRx::Position position;
  position.session = static_cast<uint16_t>(exrnic_efe_peer_session(efe));
  position.ack = static_cast<uint32_t>(exrnic_efe_ack(efe));
  position.heard = static_cast<uint8_t>(exrnic_efe_heard(efe));
  position.sack = exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_SACK;
  position.missing = static_cast<uint32_t>(exrnic_efe_seq(efe));
  position.arrived = static_cast<uint32_t>(exrnic_efe_sack_imm(efe));
  position.ece = exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_ECE;
  return position;
}

Received segment_of(const uint8_t* efe) {
  Received segment;
  const uint64_t flags = exrnic_efe_flags(efe);
  segment.node = static_cast<uint32_t>(exrnic_efe_src_node(efe));
  segment.session = static_cast<uint16_t>(exrnic_efe_session(efe));
  segment.seq = static_cast<uint32_t>(exrnic_efe_seq(efe));
  segment.refusal = static_cast<uint8_t>(exrnic_efe_refusal(efe));
  segment.ours = static_cast<uint16_t>(exrnic_efe_peer_session(efe));
  segment.ack = segment.refusal != 0 ? segment.seq : static_cast<uint32_t>(exrnic_efe_ack(efe));
  segment.dst_qpn = static_cast<uint32_t>(exrnic_efe_dst_qpn(efe));
  segment.src_qpn = static_cast<uint32_t>(exrnic_efe_src_qpn(efe));
  segment.src_generation = static_cast<uint16_t>(exrnic_efe_src_generation(efe));
  segment.dst_generation = static_cast<uint16_t>(exrnic_efe_dst_generation(efe));
  if (flags & EXRNIC_EFE_FLAGS_IMM) segment.imm = static_cast<uint32_t>(exrnic_efe_sack_imm(efe));
  if (flags & EXRNIC_EFE_FLAGS_RNR) segment.pause = static_cast<uint8_t>(exrnic_efe_sack_imm(efe));
  segment.ask = exrnic_efe_credit(efe) != 0;
  segment.unreliable = exrnic_efe_klass(efe) != EXRNIC_EFE_CLASS_RELIABLE;
  segment.first = flags & EXRNIC_EFE_FLAGS_SYN;
  if (exrnic_efe_klass(efe) == EXRNIC_EFE_CLASS_DATAGRAM) {
    segment.first = true;
    segment.datagram = {segment.ack, static_cast<uint16_t>(exrnic_efe_peer_session(efe))};
  }
  const uint8_t* ddp = efe + EXRNIC_EFE_BYTES;
  segment.ddp.assign(ddp, ddp + exrnic_efe_length(efe));
  return segment;
}

bool is_for_group(const uint8_t* efe) {
  return exrnic_efe_klass(efe) == EXRNIC_EFE_CLASS_DATAGRAM &&
         is_group(static_cast<uint32_t>(exrnic_efe_dst_qpn(efe)));
}

bool addressed(const Frame& frame, const EfeState& state) {
  const uint16_t to = state.config.node_id;
  const uint8_t* ethernet = frame.data.data();
  const uint8_t* efe = ethernet + EXRNIC_ETH_BYTES;
  const auto from = static_cast<uint32_t>(exrnic_efe_src_node(efe));
  const uint64_t group = exrnic_efe_dst_qpn(efe) - EXRNIC_GROUP_QPN;
  const uint64_t dst = is_for_group(efe) ? mac_of_group(group) : mac_of(to);
  return exrnic_eth_dst(ethernet) == dst && exrnic_eth_src(ethernet) == mac_of(from) &&
         state.has_node(from) && frame.looped == (from == to);
}

}  // namespace

void EfeRx::receive(const Frame& frame) {
  state_.count(EXRNIC_COUNTER_FRAMES_RX);
  if (!state_.enabled()) return state_.count(EXRNIC_COUNTER_RX_OVERFLOW);
  if (frame.fcs_error) return state_.count(EXRNIC_COUNTER_RX_FCS_ERROR);
  if (!well_formed(frame.data)) return state_.count(EXRNIC_COUNTER_RX_MALFORMED);
  if (!addressed(frame, state_)) return state_.count(EXRNIC_COUNTER_RX_MISDIRECTED);

  const uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
  const auto node = static_cast<uint32_t>(exrnic_efe_src_node(efe));
  const auto session = static_cast<uint16_t>(exrnic_efe_session(efe));
  const uint64_t flags = exrnic_efe_flags(efe);
  const bool has_ack = flags & EXRNIC_EFE_FLAGS_ACK;
  const uint16_t ours = has_ack ? static_cast<uint16_t>(exrnic_efe_peer_session(efe)) : 0;
  Peer& peer = peers_[node];
  if (exrnic_efe_klass(efe) != EXRNIC_EFE_CLASS_RELIABLE) {
    if (flags & EXRNIC_EFE_FLAGS_CE) mark(peer);
    return is_for_group(efe) ? replicate(segment_of(efe)) : once_.push_back(segment_of(efe));
  }
  const bool knew_another = peer.session != 0;
  if (session != peer.session) {
    if (!adopt(peer, session, flags & EXRNIC_EFE_FLAGS_SYN))
      return state_.count(EXRNIC_COUNTER_RX_SESSION);
    if (knew_another) {
      answerer_->peer_restarted(node, ours);
      state_.restarted.push_back(node);
    }
  }
  if (has_ack) answerer_->acknowledged(node, said(efe));
  if (flags & EXRNIC_EFE_FLAGS_SEQ) {
    if (flags & EXRNIC_EFE_FLAGS_CE) mark(peer);
    return keep_segment(peer, node, efe);
  }
  state_.count(EXRNIC_COUNTER_ACKS_RX);
  if (const uint64_t credit = exrnic_efe_credit(efe)) {
    state_.count(EXRNIC_COUNTER_CREDIT_UPDATES_RX);
    state_.credits_heard.push_back({node, static_cast<uint32_t>(exrnic_efe_dst_qpn(efe)),
                                    static_cast<uint32_t>(exrnic_efe_src_qpn(efe)),
                                    static_cast<uint16_t>(exrnic_efe_src_generation(efe)),
                                    static_cast<uint16_t>(exrnic_efe_dst_generation(efe)),
                                    static_cast<uint32_t>(credit & ~EXRNIC_CREDIT_VALID)});
  }
  if (exrnic_efe_refusal(efe) != 0) take_refusal(peer, node, efe);
  // A greeting is answered: so its sender knows that it has been heard.
  if ((flags & EXRNIC_EFE_FLAGS_SYN) && !has_ack) answerer_->owe_ack(node, false);
}

// A copy for each queue pair that is attached to the group; without one it is for nobody.
void EfeRx::replicate(const Received& segment) {
  bool copied = false;
  for (const auto& attachment : state_.attachments) {
    if (!attachment || attachment->group != segment.dst_qpn - EXRNIC_GROUP_QPN) continue;
    if (copied) state_.count(EXRNIC_COUNTER_GROUP_COPIES);
    copied = true;
    once_.push_back(segment);
    once_.back().dst_qpn = attachment->qpn;
    once_.back().group = static_cast<uint16_t>(attachment->group);
  }
  if (!copied) state_.count(EXRNIC_COUNTER_UNRELIABLE_DROPPED);
}

void EfeRx::mark(Peer& peer) {
  state_.count(EXRNIC_COUNTER_RX_MARKED);
  peer.marked = true;
}

// Late frames must not bring an old session back.
bool EfeRx::adopt(Peer& peer, uint16_t session, bool syn) const {
  const auto behind = static_cast<uint16_t>(peer.session - session);
  const bool late = session == peer.previous || (peer.session != 0 && behind <= kLateSessions);
  if (!syn || late) return false;
  peer.previous = peer.session;
  peer.session = session;
  peer.next = peer.placed = EXRNIC_INITIAL_SEQ;
  peer.early.clear();
  peer.refusal.reset();
  peer.seen = peer.heard = {};
  return true;
}

void EfeRx::keep_segment(Peer& peer, uint32_t node, const uint8_t* efe) {
  const auto seq = static_cast<uint32_t>(exrnic_efe_seq(efe));
  const uint32_t ahead = seq - peer.next;
  if (static_cast<int32_t>(ahead) < 0 || peer.early.count(seq) != 0) {
    state_.count(EXRNIC_COUNTER_RX_DUPLICATE);
    return answerer_->owe_ack(node, peer.refusal.has_value());
  }
  if (ahead >= kWindow) return state_.count(EXRNIC_COUNTER_RX_OVERFLOW);
  peer.early.emplace(seq, segment_of(efe));
  if (ahead == 0) return hand_out(peer);
  state_.count(EXRNIC_COUNTER_RX_OUT_OF_ORDER);
  answerer_->owe_ack(node, true);
}

void EfeRx::hand_out(Peer& peer) {
  while (auto next = peer.early.extract(peer.next)) {
    segments_.push_back(std::move(next.mapped()));
    ++peer.next;
  }
}

// Which sessions of ours have begun since does not matter: in a later one all are new.
bool EfeRx::RefusalId::is_newer(const RefusalId& than) const {
  const auto later = static_cast<int16_t>(session - than.session);
  return later != 0 ? later > 0 : static_cast<int8_t>(number - than.number) > 0;
}

// A node that repeats one that was dealt with has not been told so. A late copy of an older one
// means nothing.
void EfeRx::take_refusal(Peer& peer, uint32_t node, const uint8_t* efe) {
  const RefusalId brought{static_cast<uint16_t>(exrnic_efe_peer_session(efe)),
                          static_cast<uint8_t>(exrnic_efe_refusal(efe))};
  if (brought == peer.seen && brought == peer.heard) answerer_->owe_ack(node, false);
  if (peer.seen.number != 0 && !brought.is_newer(peer.seen)) return;
  peer.seen = brought;
  segments_.push_back(segment_of(efe));
}

Received EfeRx::take_segment() {
  std::deque<Received>& queue = turn_of_once() ? once_ : segments_;
  turns_ = &queue == &once_ || once_.empty() ? 0 : turns_ + 1;
  Received segment = std::move(queue.front());
  queue.pop_front();
  return segment;
}

bool EfeRx::is_stale(const Received& segment) const {
  if (segment.unreliable) return false;
  return segment.stale || peers_.at(segment.node).session != segment.session;
}

// One that is stale has come again, or will: its sender is answered all the same.
void EfeRx::placed(const Received& segment) {
  if (segment.unreliable) return;
  answerer_->owe_ack(segment.node, false);
  if (is_stale(segment)) return;
  Peer& peer = peers_[segment.node];
  if (segment.refusal == 0) {
    peer.placed = segment.seq + 1;
  } else {
    peer.heard = {segment.ours, segment.refusal};
  }
}

// ---- Refusals

EfeRx::Told EfeRx::refuse(const Received& segment, Segment&& message,
                          std::optional<uint8_t> pause) {
  Peer& peer = peers_[segment.node];
  if (peer.session != segment.session) return Told::kNever;
  if (peer.refusal) {
    state_.count(EXRNIC_COUNTER_REFUSALS_PUT_OFF);
    forget_from(peer, segment);
    return Told::kPutOff;
  }
  state_.count(EXRNIC_COUNTER_TERMINATES_TX);
  peer.refusals = next_refusal(peer.refusals);
  peer.refusal = {peer.refusals, segment.seq, std::move(message), pause};
  answerer_->owe_ack(segment.node, true);
  return Told::kNow;
}

// As if the network had lost them. Refusals are not behind it: they have no number.
void EfeRx::forget_from(Peer& peer, const Received& segment) {
  peer.next = segment.seq;
  peer.early.clear();
  for (Received& behind : segments_)
    if (behind.node == segment.node && behind.refusal == 0) behind.stale = true;
}

const Refusal* EfeRx::refusal(uint32_t node) const {
  const auto found = peers_.find(node);
  return found != peers_.end() && found->second.refusal ? &*found->second.refusal : nullptr;
}

void EfeRx::heard(uint32_t node, uint8_t number) {
  Peer& peer = peers_[node];
  if (!peer.refusal || peer.refusal->number != number) return;
  peer.refusal.reset();
  answerer_->owe_ack(node, true);
}

EfeRx::Position EfeRx::position(uint32_t node) const {
  const auto found = peers_.find(node);
  if (found == peers_.end()) return {};
  const Peer& peer = found->second;
  // One in force is for a segment that was placed or refused since.
  Position position{peer.session, peer.refusal ? peer.refusal->seq : peer.placed, peer.heard.number,
                    peer.heard.session};
  position.sack = !peer.early.empty();
  position.ece = peer.marked;
  position.missing = peer.next;
  if (!position.sack) return position;
  for (uint32_t i = 0; i + 1 < kWindow; ++i)
    position.arrived |= static_cast<uint32_t>(peer.early.count(peer.next + 1 + i)) << i;
  return position;
}

}  // namespace exrnic::ref
